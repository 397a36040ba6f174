"""Support vectors with the largest coefficients, matched with their training rows."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.search.anatomy import anatomy

Array = np.ndarray[Any, Any]

#: Number of support vectors reported.
ROWS = 12
#: Values of sparse rows that are converted to dense at once.
_NUMBERS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Decider:
    """Support vector of a kernel model.

    Attributes
    ----------
    number : int
        Its number among the rows the model was trained on, from 1.
    coefficients : list of float
        One coefficient per class; for two classes that of the second, and for one-vs-one the sum
        over the pairs of a class.
    row : int, optional
        Position among the given training rows, or their number where numbers are given; None if it
        is not found.
    label, values : object, list
        Label and values of that training row.
    """

    number: int
    coefficients: list[float]
    row: int | None = None
    label: Any = None
    values: list[Any] = field(default_factory=list)


def deciders(
    model: Any, training: Any = None, labels: Any = None, numbers: Any = None
) -> list[Decider]:
    """Return the support vectors with the largest coefficients, largest first.

    Parameters
    ----------
    model : estimator
        Fitted model.
    training, labels, numbers : array-like, optional
        Training rows, their labels and their row numbers.

    Returns
    -------
    list of Decider
        Empty for a linear model.
    """
    parts = anatomy(model, fitted=True)
    learner: Any = parts.learner
    if learner.kernel is None or not len(learner.support_):
        return []
    from pegasos.learners.one_vs_one import sum_over_pairs  # pages of runs import no learner

    pairs = learner.has_pairs(learner.classes_)
    coefficients = sum_over_pairs(learner.dual_coef_) if pairs else learner.dual_coef_
    sizes = np.abs(learner.dual_coef_).max(axis=0)
    largest = np.argsort(-sizes, kind="stable")[:ROWS]
    places = dict[bytes, int]()
    if training is not None and learner.support_vectors_.shape[0]:
        rows = training
        for stage in parts.stages:
            rows = rows if stage.drops else stage.part.transform(rows)
        keys = _keys(rows, learner.support_vectors_.dtype)
        places = {
            key: len(keys) - 1 - place for place, key in enumerate(reversed(keys))
        }  # of equal rows, the first one
    found = []
    keys = (
        _keys(learner.support_vectors_[largest], learner.support_vectors_.dtype) if places else []
    )
    for order, each in enumerate(largest):
        row = places.get(keys[order]) if keys else None
        known = row is not None
        values = _row(training, row) if known else []
        label = np.asarray(labels)[row].item() if known and labels is not None else None
        row = row if row is None or numbers is None else int(numbers[row])
        found.append(
            Decider(
                int(learner.support_[each]) + 1,
                coefficients[:, each].tolist(),
                row,
                label,
                values,
            )
        )
    return found


def _keys(rows: Any, dtype: Any) -> list[bytes]:
    """Return hashes of the rows; adding 0.0 makes 0.0 and -0.0 equal."""
    found, step = list[bytes](), max(1, _NUMBERS_AT_ONCE // max(1, rows.shape[1]))
    for start in range(0, rows.shape[0], step):
        part = rows[start : start + step]
        part = part.toarray() if sparse.issparse(part) else np.asarray(part)
        found += [
            hashlib.blake2b(row.tobytes()).digest()
            for row in np.ascontiguousarray(part.astype(dtype) + 0.0)
        ]
    return found


def _row(table: Any, place: Any) -> list[Any]:
    if hasattr(table, "row"):  # polars
        return list(table.row(place))
    line = table.iloc[place] if hasattr(table, "iloc") else table[place]
    line = line.toarray()[0] if sparse.issparse(line) else line
    return [each.item() if isinstance(each, np.generic) else each for each in list(line)]
