"""Predictors as combinations of training rows, w = Σ c_i φ(x_i), whatever the rows are: their scores are products K·c.

All products have fixed tiles with one BLAS thread each: the bits do not depend on the number of threads.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.engine.rows.sources import (
    GATHERED_ROWS,
    DenseRows,
    GramRows,
    KernelRows,
    SparseRows,
    column_tiles,
)
from pegasos.engine.runtime.interruption import check_interruption
from pegasos.engine.runtime.threads import blas_threads, run_blocks

Array = np.ndarray[Any, Any]

#: Rows of a tile: of explicit features and of a stored matrix; parts of a CSR matrix whose sums are added up.
TILE_ROWS = 512
SPARSE_PARTS = 4


def row_tiles(count: int, step: int = TILE_ROWS) -> list[tuple[slice, slice]]:
    """All rows in tiles, for `run_blocks`."""
    return [
        (slice(start, min(start + step, count)), slice(None)) for start in range(0, count, step)
    ]


class FunctionSpace:
    """The rows `members` (None: all) of any rows, with the kernel K + constant between them."""

    def __init__(self, rows: Any, members: Array | None, constant: float) -> None:
        self.rows, self.members, self.constant = rows, members, constant
        self.m = rows.count if members is None else len(members)
        self._index = np.arange(rows.count) if members is None else members
        self._entry, self._entry_column = _nanoseconds(rows)
        self._parts = row_parts(rows.X) if isinstance(rows, SparseRows) else []

    @property
    def diagonal(self) -> Array:
        return np.asarray(self.rows.diagonal, dtype=np.float64)[self._index] + self.constant

    def scores(self, coefficients: Array, exact: bool = False) -> Array:
        """(K + constant)·c of all members, for columns c of float64.

        Products with a kernel are in the dtype of the rows unless they are to be exact, those with explicit features, which have
        yet to be summed twice, in float64 always.
        """
        check_interruption()
        full = self._full(
            coefficients, np.float64 if exact or not self.rows.dual else self.rows.dtype
        )
        if isinstance(self.rows, KernelRows):
            scores = self._flying(full)
        elif isinstance(self.rows, GramRows):
            scores = self._selected(_times(self.rows.K, full))
        else:
            scores = self._explicit_scores(self._weights(full))
        return scores + self.constant * coefficients.sum(axis=1, keepdims=True)

    def nanoseconds(self, columns: int) -> float:
        """About the time of one product for so many columns: what to weigh other work against."""
        return max(self._entry, self._entry_column * columns)

    def vectors(self, coefficients: Array) -> Array:
        """What describes the predictors to others: c for kernels, w = Σ c_i x_i for explicit features."""
        return (
            coefficients if self.rows.dual else self._weights(self._full(coefficients, np.float64))
        )

    def kernel_rows(self, chosen: Array) -> Array:
        """Rows of K + constant, chosen among the members, as float64."""
        check_interruption()
        index = self._index[chosen]
        if isinstance(self.rows, SparseRows):
            lines = self._selected(np.asarray((self.rows.X[index] @ self.rows.X.T).toarray()))
        elif isinstance(self.rows, DenseRows):
            lines = self._explicit_scores(self.rows.X[index])
        elif isinstance(self.rows, GramRows):
            lines = self._selected(self.rows.K[index])
        else:
            lines = np.empty((len(index), self.m))

            def work(_: slice, columns: slice) -> None:
                lines[:, columns] = self.rows.between(index, self._index[columns])

            run_blocks(column_tiles(len(index), self.m), work, most_workers=self.rows.most_workers)
        return lines.astype(np.float64) + self.constant

    def _full(self, coefficients: Array, dtype: Any) -> Array:
        with np.errstate(over="ignore"):
            if self.members is None:
                return np.ascontiguousarray(coefficients, dtype=dtype)
            full = np.zeros((len(coefficients), self.rows.count), dtype=dtype)
            full[:, self.members] = coefficients
        return full

    def _selected(self, scores: Array) -> Array:
        return scores if self.members is None else scores[:, self.members]

    def _flying(self, full: Array) -> Array:
        out = np.zeros((len(full), self.m))
        tiles = column_tiles(1, self.m)
        together = min(blas_threads(), self.rows.most_workers or blas_threads())
        for first in range(
            0, len(tiles), together
        ):  # one tile for each thread, then a look whether to go on
            check_interruption()
            run_blocks(
                tiles[first : first + together], lambda _, columns: self._fly(full, out, columns)
            )
        return out

    def _fly(self, full: Array, out: Array, columns: slice) -> None:
        for start in range(0, self.m, GATHERED_ROWS):
            part = self._index[start : start + GATHERED_ROWS]
            out[:, columns] += full[:, part] @ self.rows.between(part, self._index[columns])

    def _weights(self, full: Array) -> Array:
        """w = Σ c_i x_i."""
        if isinstance(self.rows, DenseRows):
            return _sums(full, self.rows.X)
        sums: list[Array] = [full] * len(self._parts)

        def work(numbers: slice, _: slice) -> None:
            rows, X = self._parts[numbers.start]
            sums[numbers.start] = np.asarray(X.T @ np.ascontiguousarray(full[:, rows].T)).T

        run_blocks(row_tiles(len(self._parts), 1), work)
        return np.asarray(sum(sums[1:], sums[0]))

    def _explicit_scores(self, weights: Array) -> Array:
        if isinstance(self.rows, DenseRows):
            return self._selected(_times(self.rows.X, weights))
        out = np.empty((len(weights), self.rows.count))
        columns = np.ascontiguousarray(weights.T)

        def work(numbers: slice, _: slice) -> None:
            rows, X = self._parts[numbers.start]
            out[:, rows] = np.asarray(X @ columns).T

        run_blocks(row_tiles(len(self._parts), 1), work)
        return self._selected(out)


def _times(matrix: Array, columns: Array) -> Array:
    """matrix·columnsᵀ, transposed: of a stored kernel, which is symmetric, from whole rows, which lie together in memory."""
    out = np.empty((len(columns), len(matrix)))

    def work(rows: slice, _: slice) -> None:
        out[:, rows] = (matrix[rows] @ columns.T).T

    run_blocks(row_tiles(len(matrix)), work)
    return out


def _sums(columns: Array, matrix: Array) -> Array:
    """columns·matrix."""
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


def _nanoseconds(rows: Any) -> tuple[float, float]:
    """About the time of a product with one column (memory is read), and of each of many more."""
    if isinstance(rows, KernelRows):
        pairs = float(rows.count) ** 2
        return (4.0 + 0.1 * rows.X.shape[1]) * pairs, 0.1 * pairs
    if isinstance(rows, SparseRows):
        return 3.0 * rows.X.nnz, 3.0 * rows.X.nnz
    entries = float(rows.count) * rows.width * (1.0 if rows.dual else 2.0)
    return 0.06 * rows.dtype.itemsize * entries, 0.1 * entries


def row_parts(X: Any) -> list[tuple[slice, Any]]:
    """A CSR matrix as a few matrices of consecutive rows, on the same memory as far as it is float64."""
    edges = np.linspace(0, X.shape[0], SPARSE_PARTS + 1).astype(int)
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
