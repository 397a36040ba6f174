"""Rows of a search: folds, samples, preprocessing fitted per fold, and kernel matrices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.kernels.distances import Pairs, fill_gram
from pegasos.engine.rows.features import MappedFeatures, MappedRows, explicit_rows
from pegasos.engine.rows.sources import GramRows
from pegasos.search.anatomy import Anatomy
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

    def restrict(self, rows: Array) -> Problem:
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


def prepare(parts: Anatomy, X: Any, y: Any, train: Array) -> tuple[Any, Array]:
    """Fit the steps before the learner to the training rows, and transform all rows.

    Returns the rows, and the indices of the training rows that no step has dropped.
    """
    members = train
    for drops, stages in groupby(parts.stages, key=lambda stage: stage.drops):
        if drops:
            for stage in stages:
                members = members[stage.part.kept_rows(safe_indexing(X, members))]
        else:
            steps = clone(Pipeline([(stage.name, stage.part) for stage in stages]))
            X = steps.fit(safe_indexing(X, members), safe_indexing(y, members)).transform(X)
    if not isinstance(X, MappedRows):
        X = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32), order="C")
    return X, members


def resolve_kernel(kernel: Kernel, X: Any, members: Array) -> Kernel:
    """Return a kernel with its relative parameters resolved on the training rows alone."""
    resolved = kernel.resolve(X[members])
    resolved.check_range(X)
    return resolved


def make_rows(kernel: Kernel | str | None, X: Any, base: Array | None) -> Any:
    """Return rows over all of X, so that test rows are scored during training.

    `base`, if given, holds the values of the kernel's measure.
    """
    if kernel is None:
        return MappedFeatures(X) if isinstance(X, MappedRows) else explicit_rows(X)
    if isinstance(kernel, str):
        return GramRows(X.toarray() if sparse.issparse(X) else X)
    if base is None:
        return GramRows(kernel.matrix(X, X), kernel, X)
    K = base.copy()
    for start in range(0, len(K), 256):  # in blocks that stay in the CPU cache
        kernel.transform(K[start : start + 256])
    return GramRows(K, kernel, X)


def base_values(kernel: Kernel, X: Any) -> Array:
    """Return the kernel's measure (distances or inner products) between all rows."""
    assert kernel.measure is not None
    return fill_gram(Pairs(kernel.measure, X), lambda tile: None)
