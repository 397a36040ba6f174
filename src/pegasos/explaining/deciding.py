"""The rows that decide: support vectors with the largest coefficients, found again among the rows of training."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.learners.one_vs_one import sum_over_pairs
from pegasos.search.anatomy import anatomy

Array = np.ndarray[Any, Any]

#: How many are told.
ROWS = 12
#: Numbers of sparse rows that are written out at once.
_NUMBERS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Decider:
    """A row of training that holds a kernel model: its number among the rows that were learned from, and its coefficients.

    `coefficients`: one for each class, of two classes for the second (one-vs-one: their sum over the
    pairs of a class). `row` is its place among the training rows that were
    given, or its number if they have some (None: none were given, or it is not among them).
    """

    number: int
    coefficients: list[float]
    row: int | None = None
    label: Any = None
    values: list[Any] = field(default_factory=list)


def deciders(
    model: Any, training: Any = None, labels: Any = None, numbers: Any = None
) -> list[Decider]:
    """The support vectors with the largest coefficients, the largest first; none for a linear model."""
    parts = anatomy(model, fitted=True)
    learner: Any = parts.learner
    if learner.kernel is None or not len(learner.support_):
        return []
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
        }  # the first of equal rows
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
    """Hashes of rows: equal rows have equal ones (0.0 and -0.0 are one number)."""
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
