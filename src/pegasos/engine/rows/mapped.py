"""Explicit features that are computed from rows when they are needed: φ(x) = Wᵀ k(x), k(x) = K(landmarks, x).

Products need no features: φ(x)·v = k(x)·(W v), which costs one kernel value a landmark instead of a product with W.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.kernels.distances import Pairs
from pegasos.engine.rows.features import ExplicitRows
from pegasos.engine.runtime.interruption import check_interruption
from pegasos.engine.runtime.threads import run_blocks

Array = np.ndarray[Any, Any]

#: Kernel values of a block of rows, and blocks between two looks at the keyboard.
BLOCK_VALUES, BLOCKS_AT_ONCE = 1 << 21, 16


class FeatureMap:
    """x -> Wᵀ K(landmarks, x), in the dtype of the landmarks; the kernel is resolved, W (landmarks x features) is float64."""

    def __init__(self, kernel: Kernel, landmarks: Any, weights: Array) -> None:
        self.kernel, self.landmarks, self.weights = kernel, landmarks, weights
        self.dtype = landmarks.dtype
        self.count, self.width = weights.shape

    @cached_property
    def rounded(self) -> Array:
        """W in the dtype of the features."""
        return self.weights.astype(self.dtype)

    def values(self, X: Any) -> Array:
        """K(landmarks, rows): distances are centred at the landmarks, so that a row's values do not depend on its neighbours."""
        X = X.astype(self.dtype, copy=False)
        self.kernel.check_range(X)
        if self.kernel.measure is None:
            return np.asarray(self.kernel.matrix(X, self.landmarks)).T
        values = Pairs(self.kernel.measure, self.landmarks, X).tile(
            slice(0, self.count), slice(0, X.shape[0])
        )
        self.kernel.transform(values)
        return values

    def fill(self, X: Any, out: Array) -> Array:
        """The features of rows, block by block, in threads."""
        return self._each(
            X, lambda part, values: np.matmul(values.T, self.rounded, out=out[part]), out
        )

    def products(self, X: Any, vectors: Array) -> Array:
        """features·vectors (features x columns), without the features."""
        combined = (self.weights @ vectors).astype(self.dtype)
        out = np.empty((X.shape[0], vectors.shape[1]), dtype=self.dtype)
        return self._each(X, lambda part, values: np.matmul(values.T, combined, out=out[part]), out)

    def _each(self, X: Any, work: Any, out: Array) -> Array:
        size = min(max(BLOCK_VALUES // max(1, self.count), 256), 8192)
        spans = [
            slice(start, min(start + size, X.shape[0])) for start in range(0, X.shape[0], size)
        ]
        most = (
            1 if self.kernel.measure is None else None
        )  # a function of the user's is not called from several threads
        for start in range(0, len(spans), BLOCKS_AT_ONCE):
            blocks = [(span, slice(0)) for span in spans[start : start + BLOCKS_AT_ONCE]]
            run_blocks(blocks, lambda part, _: work(part, self.values(X[part])), most_workers=most)
            check_interruption()
        return out


class MappedRows:
    """The features of rows X as a matrix that is never there as a whole: parts of it are, when somebody asks for their numbers.

    `rows[part]` is again such a matrix, `np.asarray(rows[part])` its numbers, `rows @ vectors` a product that needs none of them.
    """

    ndim = 2

    def __init__(self, map: FeatureMap, X: Any) -> None:  # noqa: A002 - what it is
        self.map, self.X = map, X
        self.shape = (X.shape[0], map.width)
        self.dtype = np.dtype(map.dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part: Any) -> MappedRows:
        return MappedRows(self.map, self.X[part])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        numbers = self.map.fill(self.X, np.empty(self.shape, dtype=self.dtype))
        return numbers if dtype is None else numbers.astype(dtype, copy=False)

    def __matmul__(self, vectors: Array) -> Array:
        return self.map.products(self.X, vectors)


class MappedFeatures(ExplicitRows):
    """Mapped features as rows of a walk."""

    is_mapped = True

    @cached_property
    def diagonal(self) -> Array:
        """|φ(x)|² of all rows."""
        found = np.empty(self.count)
        for start in range(0, self.count, 4096):
            rows = np.asarray(self.X[start : start + 4096])
            found[start : start + 4096] = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
        return found

    def scores(self, index: Array, weights: Array, out: Array) -> None:
        np.matmul(weights, np.asarray(self.X[index]).T, out=out)

    def cross(self, index: Array) -> Array:
        block = np.asarray(self.X[index])
        return np.asarray(block @ block.T)

    def add(self, index: Array, changes: Array, weights: Array) -> None:
        weights += changes @ np.asarray(self.X[index])
