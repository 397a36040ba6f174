"""The data of a search: rows, labels, weights and folds; and parts of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pegasos.sklearn_private import safe_indexing

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Problem:
    """Rows, labels, weights and folds; `codes` are the places of the labels in the sorted `classes`."""

    X: Any
    y: Any
    classes: Array
    codes: Array
    weights: Array | None
    splits: list[tuple[Array, Array]]

    def only(self, rows: Array) -> Problem:
        """Restrict the folds to some rows; folds without test rows, or with one class to learn from, are left out."""
        inside = np.zeros(len(self.codes), dtype=bool)
        inside[rows] = True
        splits = [(train[inside[train]], test[inside[test]]) for train, test in self.splits]
        kept = [
            (train, test)
            for train, test in splits
            if len(test) and len(np.unique(self.codes[train])) > 1
        ]
        return replace(self, splits=kept)

    def take(self, rows: Array) -> Problem:
        """Return some rows as a problem of their own; `rows` are sorted and contain the rows of all folds."""
        splits = [
            (np.searchsorted(rows, train), np.searchsorted(rows, test))
            for train, test in self.splits
        ]
        return Problem(
            safe_indexing(self.X, rows),
            safe_indexing(self.y, rows),
            self.classes,
            self.codes[rows],
            None if self.weights is None else self.weights[rows],
            splits,
        )


def stratified(codes: Array, size: int) -> Array:
    """Return `size` rows (all rows of a smaller table), each class in proportion.

    >>> stratified(np.array([0, 0, 0, 0, 0, 0, 1, 1]), 4).tolist()
    [0, 2, 3, 6]
    """
    if len(codes) <= size:
        return np.arange(len(codes))
    place = np.empty(len(codes))
    for code in np.unique(codes):
        own = np.flatnonzero(codes == code)
        # The permutation depends on the count only, so that a resumed search draws the same rows.
        order = np.random.default_rng(len(own)).permutation(own)
        place[order] = (np.arange(len(own)) + 0.5) / len(own)
    return np.sort(np.argsort(place, kind="stable")[:size])
