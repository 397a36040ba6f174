"""What a fitted model looks at: columns that it needs, how its answer moves with them, the rows that hold it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pegasos.explaining.deciding import Decider, deciders
from pegasos.explaining.dependence import Dependence, dependence
from pegasos.explaining.effects import Effect, effects
from pegasos.explaining.importance import Importance, ask, importances
from pegasos.explaining.tables import Columns
from pegasos.metrics import Metric
from pegasos.search.anatomy import anatomy
from pegasos.search.figures import Figure, measured

__all__ = ["Decider", "Dependence", "Effect", "Explanation", "Importance", "explain"]

#: Predictions that all shuffles together may take: with more columns fewer rows are looked at.
PREDICTIONS = 500_000
_FEWEST_ROWS = 100


@dataclass(frozen=True)
class Explanation:
    """Importances of all columns, dependence on the leading ones, effects of a linear model, deciding rows of a kernel model.

    rows: so many were looked at; `figure` is the metric on them beside what guessing gives. `classes` are those that gains,
    coefficients and answers are told for: of two classes the one that the metric looks at, else the second. `dates` are columns
    that hold days since 1970 began.
    """

    metric: str
    rows: int
    figure: Figure
    classes: list[Any]
    columns: list[str]
    importance: list[Importance]
    dependence: list[Dependence] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    deciding: list[Decider] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)


def explain(
    model: Any,
    X: Any,
    y: Any,
    *,
    metric: Metric | str = "error",
    repeats: int = 5,
    features: int = 4,
    training: tuple[Any, ...] | None = None,
    names: Sequence[str] | None = None,
    random_state: int = 0,
) -> Explanation:
    """What a fitted learner, pipeline or sweep looks at, on rows that it does not know.

    importance: by how much `metric` gets worse when a column, as it comes in, is shuffled among rows, mean of `repeats` shuffles,
    with a 95 % interval. A column that others replace seems to be of little use, and one of little use is not one without a
    cause. dependence: the mean answer against the values of the `features` leading columns. effects: of a linear model, in the
    units of the columns. deciding: of a kernel model the support vectors with the largest coefficients; `training` are rows in
    which they are looked for: X, y and, if they are not 0, 1, ..., their numbers. Of many rows with many columns a sample is
    looked at. names: of the columns, where neither X nor the model has some.

    >>> from pegasos import SDCA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> found = explain(SDCA(lam=0.01, random_state=0).fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> found.importance[0].column, found.importance[0].sure, len(found.effects)
    ('x3', True, 4)
    """
    from sklearn.utils.validation import check_is_fitted

    model = getattr(model, "best_estimator_", model)
    learner: Any = anatomy(model, fitted=True).learner
    check_is_fitted(learner)
    if repeats < 1 or features < 0:
        raise ValueError(
            f"repeats must be at least 1 and features at least 0, got {repeats} and {features}."
        )
    table, y = Columns(X, getattr(model, "feature_names_in_", names)), np.asarray(y)
    if len(table) != len(y) or not len(y):
        raise ValueError(
            f"X has {len(table)} rows and y {len(y)} labels; there must be as many, and some."
        )
    most = max(_FEWEST_ROWS, PREDICTIONS // (repeats * len(table.names)))
    if len(y) > most:
        some = np.sort(np.random.default_rng(random_state).permutation(len(y))[:most])
        table, y = table.rows(some), y[some]
    chosen = (Metric(metric) if isinstance(metric, str) else metric).settled(y, learner.classes_)
    ranked = importances(model, table, y, chosen, repeats, random_state)
    leading = [each for each in ranked if each.value > 0.0][:features]
    curves = [dependence(model, table, each.place, random_state) for each in leading]
    classes = np.asarray(learner.classes_).tolist()
    found = Explanation(
        metric=chosen.name,
        rows=len(y),
        figure=measured(chosen, ask(model, table.X, y)),
        classes=classes[1:] if len(classes) == 2 else classes,
        columns=table.names,
        importance=ranked,
        dependence=[each for each in curves if len(each.values) > 1],
        effects=effects(model, table),
        deciding=deciders(model, *(training or ())),
    )
    return (
        _of_the_first(found, classes[0])
        if len(classes) == 2 and chosen.positive == classes[0]
        else found
    )


def _of_the_first(found: Explanation, label: Any) -> Explanation:
    """What is told for the second of two classes, for the first."""
    curves = [
        replace(
            each,
            classes=[label],
            means=[[(each.what == "probability") - mean for mean in each.means[0]]],
        )
        for each in found.dependence
    ]
    effects = [replace(each, gains=[0.0 - gain for gain in each.gains]) for each in found.effects]
    deciding = [
        replace(each, coefficients=[0.0 - value for value in each.coefficients])
        for each in found.deciding
    ]
    return replace(found, classes=[label], dependence=curves, effects=effects, deciding=deciding)
