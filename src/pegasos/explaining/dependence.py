"""How the answer of a model moves with one column, all others as they are: partial dependence (Friedman 2001)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.explaining.tables import Columns, is_number
from pegasos.search.anatomy import anatomy, class_probabilities

Array = np.ndarray[Any, Any]

#: Values of a column of numbers, of words, and rows over which answers are averaged.
NUMBERS, WORDS, ROWS = 20, 12, 300


@dataclass(frozen=True)
class Dependence:
    """Mean answers of rows in which a column has each of these values: a list for each class; of two classes the second's.

    what: probability or score
    """

    column: str
    numeric: bool
    values: list[Any]
    classes: list[Any]
    means: list[list[float]]
    what: str


def dependence(model: Any, table: Columns, place: int, seed: int) -> Dependence:
    """The partial dependence on one column, at quantiles of its numbers or its most frequent words."""
    learner: Any = anatomy(model, fitted=True).learner
    random = np.random.default_rng(seed)
    rows = table.rows(np.sort(random.permutation(len(table))[:ROWS]))
    known = table.known(place)
    numeric = is_number(known)
    values = _grid(known, numeric)
    means = [_mean_answer(model, rows.constant(place, value)) for value in values]
    classes = np.asarray(learner.classes_).tolist()
    what = "probability" if learner.has_probabilities else "score"
    shown = classes[1:] if len(classes) == 2 else classes
    return Dependence(
        table.names[place],
        numeric,
        values,
        shown,
        np.array(means).reshape(len(values), -1).T.tolist(),
        what,
    )


def _grid(known: Array, numeric: bool) -> list[Any]:
    """Values to look at, in order; between the 1st and the 99th percentile of numbers. All of them stand in the column: between
    whole numbers, or numbers that are names, there may be nothing."""
    if not len(known):
        return []
    different, counts = np.unique(known, return_counts=True)
    if numeric and len(different) > NUMBERS:
        return np.unique(
            np.quantile(known, np.linspace(0.01, 0.99, NUMBERS), method="nearest")
        ).tolist()
    most = NUMBERS if numeric else WORDS
    return np.sort(different[np.argsort(-counts, kind="stable")[:most]]).tolist()


def _mean_answer(model: Any, X: Any) -> Array:
    scores = np.asarray(model.decision_function(X))
    p = class_probabilities(model, X, scores)
    if p is None:
        return np.asarray(scores.reshape(len(scores), -1).mean(axis=0))
    return np.asarray((p[:, 1:] if p.shape[1] == 2 else p).mean(axis=0))
