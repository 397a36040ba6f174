"""Rows of explicit features, dense or CSR, and products in fixed tiles.

Each tile is a product on one BLAS thread, so that bits are equal for any number of threads.
"""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.engine.kernels.distances import canonical, squared_norms
from pegasos.engine.runtime.threads import run_blocks

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
    """Explicit features: what dense and CSR rows share."""

    dual = stored = computes_rows = is_sparse = is_mapped = False
    computed = None

    def matrix(self) -> Array:
        """Raise: methods on features do not ask for K."""
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

    @property
    def product_nanoseconds(self) -> tuple[float, float]:
        """About the time of two products with X for one column, and for each further column."""
        entries = 2.0 * self.count * self.width
        return 0.06 * self.dtype.itemsize * entries, 0.1 * entries

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
        """The dense array, and None for that of CSR."""
        return self.X, None

    def scores(self, index: Array, weights: Array, out: Array) -> None:
        np.matmul(weights, self.X[index].T, out=out)

    def cross(self, index: Array) -> Array:
        block = self.X[index]
        return block @ block.T

    def add(self, index: Array, changes: Array, weights: Array) -> None:
        weights += changes @ self.X[index]


class SparseRows(ExplicitRows):
    """Explicit features in CSR, walked row by row only."""

    is_sparse = True

    def __init__(self, X: Any) -> None:
        super().__init__(canonical(X))

    @property
    def matrices(self) -> tuple[Any, Any]:
        """None for a dense array, and the data, indices and indptr of CSR."""
        X = self.X
        return None, (read_only(X.data), read_only(X.indices), read_only(X.indptr))

    @property
    def product_nanoseconds(self) -> tuple[float, float]:
        return 3.0 * self.X.nnz, 3.0 * self.X.nnz

    @cached_property
    def parts(self) -> list[tuple[slice, Any]]:
        return row_parts(self.X)

    def weights_of(self, coefficients: Array) -> Array:
        sums: list[Array] = [coefficients] * len(self.parts)

        def work(numbers: slice, _: slice) -> None:
            rows, X = self.parts[numbers.start]
            sums[numbers.start] = np.asarray(X.T @ np.ascontiguousarray(coefficients[:, rows].T)).T

        run_blocks(row_tiles(len(self.parts), 1), work)
        return np.asarray(sum(sums[1:], sums[0]))

    def scores_of(self, weights: Array) -> Array:
        out = np.empty((len(weights), self.count))
        columns = np.ascontiguousarray(weights.T)

        def work(numbers: slice, _: slice) -> None:
            rows, X = self.parts[numbers.start]
            out[:, rows] = np.asarray(X @ columns).T

        run_blocks(row_tiles(len(self.parts), 1), work)
        return out

    def kernel_lines(self, index: Array, members: Array | None) -> Array:
        lines = np.asarray((self.X[index] @ self.X.T).toarray())
        return selected(lines, members)

    def cross(self, index: Array) -> Array:
        block = self.X[index]
        return np.asarray((block @ block.T).toarray())

    def add(self, index: Array, changes: Array, weights: Array) -> None:
        weights += np.asarray((self.X[index].T @ changes.T).T)


def explicit_rows(X: Any) -> DenseRows | SparseRows:
    """Return rows of explicit features."""
    return SparseRows(X) if sparse.issparse(X) else DenseRows(X)


def row_tiles(count: int, step: int = TILE_ROWS) -> list[tuple[slice, slice]]:
    """Return all rows in tiles, for `run_blocks`."""
    return [
        (slice(start, min(start + step, count)), slice(None)) for start in range(0, count, step)
    ]


def times_transposed(matrix: Array, columns: Array) -> Array:
    """Return (matrix·columnsᵀ)ᵀ, for a stored kernel or rows of features."""
    out = np.empty((len(columns), len(matrix)))

    def work(rows: slice, _: slice) -> None:
        out[:, rows] = (matrix[rows] @ columns.T).T

    run_blocks(row_tiles(len(matrix)), work)
    return out


def combine_rows(columns: Array, matrix: Array) -> Array:
    """Return columns·matrix."""
    out = np.empty((len(columns), matrix.shape[1]), dtype=columns.dtype)

    def work(_: slice, tile: slice) -> None:
        out[:, tile] = columns @ matrix[:, tile]

    run_blocks(
        [
            (slice(None), slice(start, start + TILE_ROWS))
            for start in range(0, matrix.shape[1], TILE_ROWS)
        ],
        work,
    )
    return out


def row_parts(X: Any) -> list[tuple[slice, Any]]:
    """Split a CSR matrix into four of consecutive rows, which share its memory if it is float64."""
    edges = np.linspace(0, X.shape[0], 5).astype(int)
    parts = []
    for start, stop in itertools.pairwise(edges):
        low, high = X.indptr[start], X.indptr[stop]
        pieces = (
            X.data[low:high].astype(np.float64, copy=False),
            X.indices[low:high],
            X.indptr[start : stop + 1] - low,
        )
        parts.append(
            (
                slice(start, stop),
                sparse.csr_matrix(pieces, shape=(stop - start, X.shape[1]), copy=False),
            )
        )
    return parts
