"""Partial dependence of the response of a model on one column (Friedman 2001)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.explaining.tables import Columns, is_number
from pegasos.search.anatomy import anatomy, class_probabilities

Array = np.ndarray[Any, Any]

#: Number of values of a numeric column, of a categorical column, and of rows averaged over.
NUMBERS, WORDS, ROWS = 20, 12, 300


@dataclass(frozen=True)
class Dependence:
    """Mean response of a model as a function of one column.

    `means` has one list for each class, of two classes for the second only. `what` is "probability"
    or "score".
    """

    column: str
    numeric: bool
    values: list[Any]
    classes: list[Any]
    means: list[list[float]]
    what: str


def dependence(model: Any, table: Columns, place: int, seed: int) -> Dependence:
    """Return the partial dependence on the column at a position, averaged over a sample of rows.

    It is evaluated at quantiles of a numeric column, and at the most frequent categories of others.
    """
    learner: Any = anatomy(model, fitted=True).learner
    rows = table.rows(np.sort(np.random.default_rng(seed).permutation(len(table))[:ROWS]))
    known, classes = table.known(place), np.asarray(learner.classes_).tolist()
    numeric = is_number(known)
    values = _grid(known, numeric)
    means = np.array([_mean_response(model, rows.constant(place, value)) for value in values])
    shown = classes[1:] if len(classes) == 2 else classes
    what = "probability" if learner.has_probabilities else "score"
    each = means.reshape(len(values), -1).T.tolist()
    return Dependence(table.names[place], numeric, values, shown, each, what)


def _grid(known: Array, numeric: bool) -> list[Any]:
    """Return the sorted values at which the response is evaluated.

    Numbers lie between the 1st and the 99th percentile. All values occur in the column:
    intermediate values of integers or of codes may be meaningless.
    """
    if not len(known):
        return []
    different, counts = np.unique(known, return_counts=True)
    if numeric and len(different) > NUMBERS:
        shares = np.linspace(0.01, 0.99, NUMBERS)
        return np.unique(np.quantile(known, shares, method="nearest")).tolist()
    most = NUMBERS if numeric else WORDS
    return np.sort(different[np.argsort(-counts, kind="stable")[:most]]).tolist()


def _mean_response(model: Any, X: Any) -> Array:
    scores = np.asarray(model.decision_function(X))
    p = class_probabilities(model, X, scores)
    if p is None:
        return np.asarray(scores.reshape(len(scores), -1).mean(axis=0))
    return np.asarray((p[:, 1:] if p.shape[1] == 2 else p).mean(axis=0))
