"""Permutation importance of columns (Breiman 2001), with confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.engine.runtime.threads import slices
from pegasos.estimates import resamples
from pegasos.explaining.responses import class_probabilities
from pegasos.explaining.tables import Columns
from pegasos.metrics import LABELS, Answers, Metric, answers
from pegasos.search.anatomy import anatomy

Array = np.ndarray[Any, Any]

#: Bootstrap rounds per interval; fewer for metrics that sort the scores in every round.
_ROUNDS, _FEWER_ROUNDS = 100, 25


@dataclass(frozen=True)
class Importance:
    """Increase of an error (decrease of a score) when a column is permuted, with a 95 % interval.

    `place` is the position of the column.
    """

    column: str
    place: int
    value: float
    low: float
    high: float

    @property
    def sure(self) -> bool:
        """Whether the lower end of the interval is above zero."""
        return self.low > 0.0


def ask(model: Any, X: Any, y: Array) -> list[Answers]:
    """Return the labels, scores and probabilities that a model predicts for rows.

    X has one or several blocks of rows, each with the labels y.
    """
    learner: Any = anatomy(model, fitted=True).learner
    scores = np.asarray(model.decision_function(X))
    labels, p = learner.labels_of(scores), class_probabilities(model, X, scores)
    return [
        answers(model.classes_, y, labels[part], scores[part], None if p is None else p[part])
        for part in slices(len(scores), len(y))
    ]


def importances(
    model: Any, table: Columns, y: Array, metric: Metric, repeats: int, seed: int
) -> list[Importance]:
    """Return the permutation importance of all columns, largest first.

    Original columns are permuted, so all features derived from a column are permuted together. The
    interval is 1.96 standard deviations over bootstrap samples of the rows, the same samples with
    and without permutation.
    """
    before: Any = ask(model, table.X, y)[0]
    sign = 1.0 if metric.kind.least else -1.0
    draws = list(resamples(len(y), _ROUNDS if metric.kind.needs == LABELS else _FEWER_ROUNDS))
    base = np.array([metric.value(before), *(metric.value(before, each) for each in draws)])
    random, found, copies = np.random.default_rng(seed), [], table.repeated(repeats)
    for place, name in enumerate(table.names):
        values, worse = table.values(place), np.zeros(len(base))
        permuted = np.concatenate([random.permutation(values) for _ in range(repeats)])
        after: Any
        for after in ask(model, copies.replaced(place, permuted), y):
            if np.allclose(after.scores, before.scores, rtol=1e-6):
                continue  # the model does not use this column
            drawn = [metric.value(after), *(metric.value(after, each) for each in draws)]
            worse += sign * (np.array(drawn) - base)
        worse /= repeats
        known = worse[1:][np.isfinite(worse[1:])]
        reach = 1.96 * float(known.std()) if len(known) else np.nan
        value = float(worse[0])
        found.append(Importance(name, place, value, value - reach, value + reach))
    return sorted(found, key=lambda each: -each.value)
