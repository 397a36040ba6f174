"""Data of a search: rows, labels, weights and folds; and samples of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pegasos.sklearn_private import safe_indexing

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Problem:
    """Rows, labels, weights and folds; `codes` are positions of the labels in sorted `classes`."""

    X: Any
    y: Any
    classes: Array
    codes: Array
    weights: Array | None
    splits: list[tuple[Array, Array]]

    def only(self, rows: Array) -> Problem:
        """Restrict the folds to some rows; leave out folds without test rows or with one class."""
        inside = np.zeros(len(self.codes), dtype=bool)
        inside[rows] = True
        splits = [(train[inside[train]], test[inside[test]]) for train, test in self.splits]
        kept = [(a, b) for a, b in splits if len(b) and len(np.unique(self.codes[a])) > 1]
        return replace(self, splits=kept)

    def take(self, rows: Array) -> Problem:
        """Return a problem of these rows, which are sorted and contain the rows of all folds."""
        X, y = safe_indexing(self.X, rows), safe_indexing(self.y, rows)
        weights = None if self.weights is None else self.weights[rows]
        splits = [(np.searchsorted(rows, a), np.searchsorted(rows, b)) for a, b in self.splits]
        return Problem(X, y, self.classes, self.codes[rows], weights, splits)


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
