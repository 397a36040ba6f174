"""Support vectors with the largest coefficients, matched with their training rows."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
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

    They are looked up among training rows with labels and row numbers. A linear model has none.
    """
    parts = anatomy(model, fitted=True)
    learner: Any = parts.learner
    if learner.kernel is None or not len(learner.support_):
        return []
    from pegasos.learners.one_vs_one import sum_over_pairs  # pages of runs import no learner

    pairs, vectors = learner.has_pairs(learner.classes_), learner.support_vectors_
    coefficients = sum_over_pairs(learner.dual_coef_) if pairs else learner.dual_coef_
    sizes = np.abs(learner.dual_coef_).max(axis=0)
    largest = np.argsort(-sizes, kind="stable")[:ROWS]
    places: list[int | None] = [None] * len(largest)
    if training is not None and vectors.shape[0]:
        rows = training
        for stage in parts.stages:
            rows = rows if stage.drops else stage.part.transform(rows)
        known: dict[bytes, int] = {}
        for place, key in enumerate(_keys(rows, vectors.dtype)):
            known.setdefault(key, place)  # of equal rows, the first one
        places = [known.get(key) for key in _keys(vectors[largest], vectors.dtype)]
    found = []
    for each, where in zip(largest, places, strict=True):
        one = Decider(int(learner.support_[each]) + 1, coefficients[:, each].tolist())
        if where is not None:
            row = where if numbers is None else int(numbers[where])
            label = None if labels is None else np.asarray(labels)[where].item()
            one = replace(one, row=row, label=label, values=_row(training, where))
        found.append(one)
    return found


def _keys(rows: Any, dtype: Any) -> list[bytes]:
    """Return hashes of the rows; adding 0.0 makes 0.0 and -0.0 equal."""
    found, step = list[bytes](), max(1, _NUMBERS_AT_ONCE // max(1, rows.shape[1]))
    for start in range(0, rows.shape[0], step):
        part = rows[start : start + step]
        part = part.toarray() if sparse.issparse(part) else np.asarray(part)
        part = np.ascontiguousarray(part.astype(dtype) + 0.0)
        found += [hashlib.blake2b(row.tobytes()).digest() for row in part]
    return found


def _row(table: Any, place: Any) -> list[Any]:
    if hasattr(table, "row"):  # polars
        return list(table.row(place))
    line = table.iloc[place] if hasattr(table, "iloc") else table[place]
    line = line.toarray()[0] if sparse.issparse(line) else line
    return [each.item() if isinstance(each, np.generic) else each for each in list(line)]
