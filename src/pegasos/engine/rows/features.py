"""Rows of explicit features, dense or CSR, and products in fixed tiles.

Each tile is a product on one BLAS thread, so that bits are equal for any number of threads.
"""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.kernels.distances import Pairs, canonical, squared_norms
from pegasos.engine.runtime.interruption import check_interruption
from pegasos.engine.runtime.threads import run_each, slices

Array = np.ndarray[Any, Any]

#: Rows of a tile of explicit features or of a stored matrix.
TILE_ROWS = 512


def read_only(array: Array) -> Array:
    """Return a read-only view: writable and memory-mapped input compile to one signature."""
    view = array.view()
    view.flags.writeable = False
    return view


def selected(scores: Array, members: Array | None) -> Array:
    """Return the columns of the members (None: all)."""
    return scores if members is None else scores[:, members]


class ExplicitRows:
    """Base of dense and CSR rows of explicit features."""

    dual = stored = computes_rows = is_sparse = is_mapped = False
    computed = None

    def matrix(self) -> Array:
        """Raise AssertionError: explicit features store no kernel matrix."""
        raise AssertionError("explicit features have no stored kernel")

    def __init__(self, X: Any) -> None:
        self.X = X
        self.dtype = X.dtype
        self.count, self.width = X.shape

    @cached_property
    def diagonal(self) -> Array:
        """K_ii of all rows."""
        return squared_norms(self.X)

    def products(self, weights: Array) -> Array:
        """Return X·weightsᵀ for all rows."""
        return np.asarray(self.X @ weights.T)

    def evaluate(self, index: Array, vectors: Array) -> Array:
        """Return vectors·x of chosen rows, vectors x rows."""
        return np.asarray(self.X[index] @ vectors.T).T

    def scores(self, index: Array, weights: Array, out: Array) -> None:
        """Compute the scores of the drawn examples."""
        np.matmul(weights, np.asarray(self.X[index]).T, out=out)

    def cross(self, index: Array) -> Array:
        """Return inner products between the drawn examples."""
        block = np.asarray(self.X[index])
        return np.asarray(block @ block.T)

    def add(self, index: Array, changes: Array, weights: Array) -> None:
        """Add changes·X[index] to the weights."""
        weights += changes @ np.asarray(self.X[index])

    def kernel_scores(self, coefficients: Array, members: Array | None) -> Array:
        """Return coefficients·K (vectors x rows) for the members."""
        return selected(self.scores_of(self.weights_of(coefficients)), members)

    def kernel_lines(self, index: Array, members: Array | None) -> Array:
        """Return inner products between chosen rows and the members."""
        return selected(self.scores_of(self.X[index]), members)

    def weights_of(self, coefficients: Array) -> Array:
        """Return w = Σ c_i x_i."""
        return combine_rows(coefficients, self.X)

    def scores_of(self, weights: Array) -> Array:
        """Return w·x of all rows in fixed tiles, vectors x rows."""
        return times_transposed(self.X, weights)


class DenseRows(ExplicitRows):
    """Explicit features in a C-contiguous array."""

    def __init__(self, X: Array) -> None:
        super().__init__(read_only(np.ascontiguousarray(X)))

    @property
    def matrices(self) -> tuple[Any, Any]:
        """The dense array, and None in place of CSR arrays."""
        return self.X, None


class SparseRows(ExplicitRows):
    """Explicit features in CSR, walked row by row only."""

    is_sparse = True

    def __init__(self, X: Any) -> None:
        super().__init__(canonical(X))

    @property
    def matrices(self) -> tuple[Any, Any]:
        """None in place of a dense array, and the data, indices and indptr of the CSR matrix."""
        X = self.X
        return None, (read_only(X.data), read_only(X.indices), read_only(X.indptr))

    @cached_property
    def parts(self) -> list[tuple[slice, Any]]:
        """Row slices and their CSR matrices."""
        return row_parts(self.X)

    def weights_of(self, coefficients: Array) -> Array:
        """Return w = Σ c_i x_i, summed in parts."""
        sums: list[Array] = [coefficients] * len(self.parts)

        def work(number: int) -> None:
            rows, X = self.parts[number]
            sums[number] = np.asarray(X.T @ np.ascontiguousarray(coefficients[:, rows].T)).T

        run_each(work, range(len(self.parts)))
        return np.asarray(sum(sums[1:], sums[0]))

    def scores_of(self, weights: Array) -> Array:
        """Return w·x of all rows, computed in parts."""
        out = np.empty((len(weights), self.count))
        columns = np.ascontiguousarray(weights.T)

        def work(part: tuple[slice, Any]) -> None:
            rows, X = part
            out[:, rows] = np.asarray(X @ columns).T

        run_each(work, self.parts)
        return out

    def kernel_lines(self, index: Array, members: Array | None) -> Array:
        """Return inner products between chosen rows and the members."""
        lines = np.asarray((self.X[index] @ self.X.T).toarray())
        return selected(lines, members)

    def cross(self, index: Array) -> Array:
        """Return inner products between the drawn examples."""
        block = self.X[index]
        return np.asarray((block @ block.T).toarray())

    def add(self, index: Array, changes: Array, weights: Array) -> None:
        """Add changes·X[index] to the weights."""
        weights += np.asarray((self.X[index].T @ changes.T).T)


def explicit_rows(X: Any) -> DenseRows | SparseRows:
    """Return rows of explicit features."""
    return SparseRows(X) if sparse.issparse(X) else DenseRows(X)


def times_transposed(matrix: Array, columns: Array) -> Array:
    """Return (matrix·columnsᵀ)ᵀ, for a stored kernel or rows of features."""
    out = np.empty((len(columns), len(matrix)))

    def work(rows: slice) -> None:
        out[:, rows] = (matrix[rows] @ columns.T).T

    run_each(work, slices(len(matrix), TILE_ROWS))
    return out


def combine_rows(columns: Array, matrix: Array) -> Array:
    """Return columns·matrix, computed in tiles on several threads."""
    out = np.empty((len(columns), matrix.shape[1]), dtype=columns.dtype)

    def work(tile: slice) -> None:
        out[:, tile] = columns @ matrix[:, tile]

    run_each(work, slices(matrix.shape[1], TILE_ROWS))
    return out


def row_parts(X: Any) -> list[tuple[slice, Any]]:
    """Split a CSR matrix into four of consecutive rows, which share its memory if it is float64."""
    edges = np.linspace(0, X.shape[0], 5).astype(int)
    parts = []
    for start, stop in itertools.pairwise(edges):
        low, high = X.indptr[start], X.indptr[stop]
        values = X.data[low:high].astype(np.float64, copy=False)
        pieces = (values, X.indices[low:high], X.indptr[start : stop + 1] - low)
        part = sparse.csr_matrix(pieces, shape=(stop - start, X.shape[1]), copy=False)
        parts.append((slice(start, stop), part))
    return parts


#: Kernel values of a block of rows (8 MB in float32), and blocks between checks for interruption.
BLOCK_VALUES, BLOCKS_AT_ONCE = 1 << 21, 16


class FeatureMap:
    """Map x -> Wᵀ K(landmarks, x) for a resolved kernel, in the dtype of the landmarks.

    Products need no features: φ(x)·v = K(landmarks, x)·(W v) costs one kernel value per landmark.
    W (landmarks x features) is float64.
    """

    def __init__(self, kernel: Kernel, landmarks: Any, weights: Array) -> None:
        self.kernel, self.landmarks, self.weights = kernel, landmarks, weights
        self.dtype = landmarks.dtype
        self.count, self.width = weights.shape

    @cached_property
    def rounded(self) -> Array:
        """W in the dtype of the features."""
        return self.weights.astype(self.dtype)

    def values(self, X: Any) -> Array:
        """Return K(landmarks, rows).

        Distances are centered at the landmarks: values of a row do not depend on other rows.
        """
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
        """Compute the features of rows, block by block, in threads."""
        return self._each(
            X, lambda part, values: np.matmul(values.T, self.rounded, out=out[part]), out
        )

    def products(self, X: Any, vectors: Array) -> Array:
        """Return features·vectors (vectors: features x columns), without the features."""
        combined = (self.weights @ vectors).astype(self.dtype)
        out = np.empty((X.shape[0], vectors.shape[1]), dtype=self.dtype)
        return self._each(X, lambda part, values: np.matmul(values.T, combined, out=out[part]), out)

    def _each(self, X: Any, work: Any, out: Array) -> Array:
        size = min(max(BLOCK_VALUES // max(1, self.count), 256), 8192)
        spans = slices(X.shape[0], size)
        # A function of the user's is not called from several threads.
        most = 1 if self.kernel.measure is None else None
        for start in range(0, len(spans), BLOCKS_AT_ONCE):
            blocks = spans[start : start + BLOCKS_AT_ONCE]
            run_each(lambda part: work(part, self.values(X[part])), blocks, most)
            check_interruption()
        return out


class MappedRows:
    """Mapped features of rows X as a matrix of which only parts are computed.

    `rows[part]` is a `MappedRows`, too; `np.asarray(rows[part])` computes its numbers, and
    `rows @ vectors` a product without storing them.
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
