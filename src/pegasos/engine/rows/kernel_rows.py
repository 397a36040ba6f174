"""Kernels whose values are computed when they are needed, tile by tile."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.kernels.distances import Pairs, fill_gram
from pegasos.engine.runtime.interruption import check_interruption
from pegasos.engine.runtime.memory import Buffers
from pegasos.engine.runtime.threads import blas_threads, run_each, slices

Array = np.ndarray[Any, Any]

#: Rows of a kernel computed or gathered at once; columns of a product with them, and of a kernel
#: computed on the fly: these tiles stay in a core's cache until they are used.
GATHERED_ROWS, TILE_COLUMNS, COMPUTED_COLUMNS = 256, 2048, 512


class DualRows:
    """Rows of a kernel: the weights of a walk are the scores of all rows."""

    dual = True
    is_sparse = is_mapped = False

    def weights_of(self, coefficients: Array) -> Array:
        """Raise: a kernel has no vector of features."""
        raise AssertionError("a predictor with a kernel is a combination of rows")

    def scores(self, index: Array, weights: Array, out: Array) -> None:
        """Copy the scores of the drawn examples."""
        np.take(weights, index, axis=1, out=out, mode="clip")

    def cross(self, index: Array) -> Array:
        """Return the kernel between the drawn examples."""
        return self.between(index, index)

    def between(self, rows: Array, columns: Any) -> Array:
        """Return the kernel between two sets of rows."""
        raise NotImplementedError


class SharedDistances:
    """Distances (or inner products) between a block of drawn rows and all rows.

    Kernels that are trained together share one instance.
    """

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs
        self._index: Array = np.empty(0, dtype=np.int64)
        self._values: Array = np.empty((0, pairs.shape[1]), dtype=pairs.dtype)

    def block(self, index: Array) -> Array:
        """Return the values between X[index] and all rows; the last block is cached."""
        if not np.array_equal(index, self._index):
            if len(self._values) != len(index):
                self._values = np.empty((len(index), self.pairs.shape[1]), dtype=self.pairs.dtype)
            values = self._values

            def work(columns: slice) -> None:
                self.pairs.tile(index, columns, out=values[:, columns])

            tiles = slices(self.pairs.shape[1], COMPUTED_COLUMNS)
            run_each(work, tiles, self.pairs.most_workers)
            self._index = index.copy()
        return self._values


class KernelRows(DualRows):
    """Kernel computed on the fly, for changed rows only.

    With a `bank`, inner products or distances of a block are shared with other kernels.
    """

    stored = False

    def __init__(self, kernel: Kernel, X: Any, bank: SharedDistances | None = None) -> None:
        self._distances = bank
        self.kernel = kernel
        self.X = X
        self.dtype = X.dtype
        self.count = self.width = X.shape[0]
        self.computes_rows = bank is None
        self._buffers = Buffers()

    @cached_property
    def _pairs(self) -> Pairs | None:
        """Inner products or distances, made on first use because centering rows takes time."""
        if self._distances is not None:
            return self._distances.pairs
        return None if self.kernel.measure is None else Pairs(self.kernel.measure, self.X)

    @property
    def most_workers(self) -> int | None:
        """Number of threads that may compute values at once (None: any number)."""
        # A user's function need not be thread-safe.
        return 1 if self._pairs is None else self._pairs.most_workers

    @cached_property
    def diagonal(self) -> Array:
        """K_ii of all rows."""
        return self.kernel.lengths(self.X).astype(np.float64)

    @property
    def can_be_rounded(self) -> bool:
        """Whether these values are float64, and float32 can represent them approximately."""
        if self.dtype != np.float64 or self.kernel.measure is None:
            return False
        return bool(self.diagonal.max(initial=0) <= 1e6)

    @property
    def computed(self) -> KernelRows:
        """The rows themselves: their kernel values are computed."""
        return self

    def kernel_scores(self, coefficients: Array, members: Array | None) -> Array:
        """Return coefficients·K (vectors x rows) for the members, in float64."""
        index = np.arange(self.count) if members is None else members
        return self.combine(coefficients[:, index], index, index, np.float64)

    def evaluate(self, index: Array, vectors: Array) -> Array:
        """Return A·K of chosen rows, vectors x rows."""
        support = np.flatnonzero(vectors.any(axis=0))
        return self.combine(vectors[:, support], support, index, self.dtype)

    def combine(self, coefficients: Array, rows: Array, columns: Array, dtype: Any) -> Array:
        """Return coefficients·K[rows, columns], computed tile by tile."""
        out = np.zeros((len(coefficients), len(columns)), dtype=dtype)

        def work(tile: slice) -> None:
            for start in range(0, len(rows), GATHERED_ROWS):
                part = slice(start, start + GATHERED_ROWS)
                out[:, tile] += coefficients[:, part] @ self.passing(rows[part], columns[tile])

        tiles = slices(len(columns), TILE_COLUMNS)
        together = min(blas_threads(), self.most_workers or blas_threads())
        for first in range(0, len(tiles), together):  # one tile for each thread at once
            check_interruption()
            run_each(work, tiles[first : first + together])
        return out

    def kernel_lines(self, index: Array, members: Array | None) -> Array:
        """Return K between chosen rows and the members."""
        lines = np.empty((len(index), self.count if members is None else len(members)))

        def work(columns: slice) -> None:
            own = columns if members is None else members[columns]
            lines[:, columns] = self.between(index, own)

        run_each(work, slices(lines.shape[1], TILE_COLUMNS), self.most_workers)
        return lines

    def rounded(self) -> KernelRows:
        """Return the same kernel between rows rounded to float32.

        For distances rows are centered first, where float32 has most digits.
        """
        X = self.X
        if self.kernel.measure in ("squared", "manhattan") and not sparse.issparse(X):
            X = X - X.mean(axis=0)
        return KernelRows(self.kernel, X.astype(np.float32))

    def doubled(self) -> KernelRows:
        """Return the same kernel between the same rows in float64."""
        exact = self.dtype == np.float64
        return self if exact else KernelRows(self.kernel, self.X.astype(np.float64))

    def some(self, index: Array) -> KernelRows:
        """Return kernel rows of a subset of the rows."""
        return KernelRows(self.kernel, self.X[index])

    def matrix(self) -> Array:
        """Return the kernel between all rows."""
        if self._pairs is None:
            return self.kernel.matrix(self.X, self.X)
        return fill_gram(self._pairs, self.kernel.transform)

    def between(self, rows: Array, columns: Any) -> Array:
        """Return the kernel between two sets of rows."""
        if self._pairs is None:
            return self.kernel(self.X[rows], self.X[columns])
        tile = self._pairs.tile(rows, columns)
        self.kernel.transform(tile)
        return tile

    def passing(self, rows: Array, columns: slice | Array) -> Array:
        """Return `between` in an array that this thread's next call overwrites."""
        if self._pairs is None:
            return self.between(rows, columns)
        width = columns.stop - columns.start if isinstance(columns, slice) else len(columns)
        tile = self._buffers.take("tile", (len(rows), width), self.dtype)
        self._pairs.tile(rows, columns, out=tile)
        self.kernel.transform(tile)
        return tile

    def cross(self, index: Array) -> Array:
        """Return the kernel between the drawn examples."""
        if self._distances is None:
            return super().cross(index)
        tile = self._distances.block(index)[:, index]
        self.kernel.transform(tile)
        return tile

    def add(self, index: Array, changes: Array, weights: Array) -> None:
        """Add changes·K[index] to the scores of all rows."""
        used = np.flatnonzero(changes.any(axis=0))
        if self._distances is not None and len(index) <= GATHERED_ROWS:
            self._add_from_shared(self._distances.block(index), used, changes, weights)
            return
        for start in range(0, len(used), GATHERED_ROWS):
            part = used[start : start + GATHERED_ROWS]
            rows, values = index[part], np.ascontiguousarray(changes[:, part])

            def work(columns: slice, rows: Array = rows, values: Array = values) -> None:
                weights[:, columns] += values @ self.passing(rows, columns)

            run_each(work, slices(self.width, COMPUTED_COLUMNS), self.most_workers)

    def _add_from_shared(self, base: Array, used: Array, changes: Array, weights: Array) -> None:
        values = np.ascontiguousarray(changes[:, used])

        def work(columns: slice) -> None:
            tile = base[used, columns]
            self.kernel.transform(tile)
            weights[:, columns] += values @ tile

        run_each(work, slices(self.width, TILE_COLUMNS))

    def products(self, coefficients: Array, out: Array) -> None:
        """Compute the scores A·K of all rows."""
        out[:] = 0
        self.add(np.arange(self.count), coefficients, out)
