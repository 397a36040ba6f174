"""Where rows come from: explicit features (dense, CSR), a stored Gram matrix, or a kernel computed on the fly.

A walk asks four things of rows, always for a block of drawn examples `index`:

    scores   of the drawn examples under all columns, from the walk's weights
    cross    the kernel between the drawn examples
    add      the changes of a block to the weights
    diagonal K_ii

In the primal the weights are the vectors V (columns x features). In the dual they are the scores of all rows, F = A·K
(columns x rows): reading a block's scores is free, and only examples at which some coefficient changed cost a row of K.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.kernels.distances import Pairs, canonical, fill_gram, squared_norms
from pegasos.engine.rows.products import (
    combine_rows,
    row_parts,
    row_tiles,
    times_transposed,
)
from pegasos.engine.runtime.buffers import Buffers
from pegasos.engine.runtime.compiling import compiled
from pegasos.engine.runtime.interruption import check_interruption
from pegasos.engine.runtime.threads import blas_threads, run_blocks

Array = np.ndarray[Any, Any]

#: Rows of a kernel computed or gathered at once; columns of a product with them, and of a kernel computed on the fly: these
#: tiles stay in a core's cache until they are used.
GATHERED_ROWS = 256
TILE_COLUMNS = 2048
COMPUTED_COLUMNS = 512
#: A matrix product adds a column's changes about this many times faster than adding them row by row.
PRODUCT_ADVANTAGE = 5
#: Kernel values up to which float32 serves for a first approximation.
MOST_ROUNDED = 1e6


def read_only(array: Array) -> Array:
    """A view that compiled code cannot write to, so that writable and memory-mapped input compile to one signature."""
    view = array.view()
    view.flags.writeable = False
    return view


@compiled
def add_lines(index: Array, changes: Array, gram: Array, weights: Array) -> None:
    """weights[j] += changes[j, r] K[index[r]] for all changes, line by line: the cheap way where changes are rare."""
    for r in range(index.size):
        row = gram[index[r]]
        for j in range(changes.shape[0]):
            u = changes[j, r]
            if u != 0.0:
                for q in range(row.size):
                    weights[j, q] += u * row[q]


class Rows(Protocol):
    """What methods ask of rows, explicit features or a kernel; classes of rows differ in nothing else.

    Parameters
    ----------
    count, dtype : number of rows and dtype of values.
    width : length of the vector that a predictor has on these rows.
    dual : whether a predictor is a combination of rows (a kernel), not a vector of features.
    stored : whether the kernel matrix is an array.
    is_sparse, is_mapped : whether features are CSR, or are computed in every pass.
    computes_rows : whether kernel values have yet to be computed, and are not shared with others.
    """

    count: int
    width: int
    dtype: Any
    dual: bool
    stored: bool
    is_sparse: bool
    is_mapped: bool
    computes_rows: bool
    X: Any

    @property
    def diagonal(self) -> Array:
        """K_ii of all rows."""

    @property
    def computed(self) -> KernelRows | None:
        """The same kernel computed from rows; None for features or a matrix alone."""

    @property
    def product_nanoseconds(self) -> tuple[float, float]:
        """About the time of a product with one column, which reads memory, and of each of many."""

    def kernel_scores(self, coefficients: Array, members: Array | None) -> Array:
        """Return coefficients·K (vectors x rows) for the members, in fixed tiles."""

    def kernel_lines(self, index: Array, members: Array | None) -> Array:
        """Return K between chosen rows and the members."""

    def weights_of(self, coefficients: Array) -> Array:
        """Return w = Σ c_i x_i (explicit features only)."""

    def matrix(self) -> Array:
        """Return K between all rows (kernels only)."""

    def evaluate(self, index: Array, vectors: Array) -> Array:
        """Return the scores of chosen rows, vectors x rows."""

    def add(self, index: Array, changes: Array, weights: Array) -> None:
        """Add changes of coefficients of chosen rows to the weights of a walk."""


def _selected(scores: Array, members: Array | None) -> Array:
    return scores if members is None else scores[:, members]


class ExplicitRows:
    """Explicit features: what dense and CSR rows share."""

    dual = stored = computes_rows = is_sparse = is_mapped = False
    computed: KernelRows | None = None

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
        """X·weightsᵀ for all rows."""
        return np.asarray(self.X @ weights.T)

    def evaluate(self, index: Array, vectors: Array) -> Array:
        """vectors·x of chosen rows, vectors x rows."""
        return np.asarray(self.X[index] @ vectors.T).T

    @property
    def product_nanoseconds(self) -> tuple[float, float]:
        """About the time of two products with X for one column, and for each of many more."""
        entries = 2.0 * self.count * self.width
        return 0.06 * self.dtype.itemsize * entries, 0.1 * entries

    def kernel_scores(self, coefficients: Array, members: Array | None) -> Array:
        """Return coefficients·K (vectors x rows) for the members."""
        return _selected(self.scores_of(self.weights_of(coefficients)), members)

    def kernel_lines(self, index: Array, members: Array | None) -> Array:
        """Return inner products between chosen rows and the members."""
        return _selected(self.scores_of(self.X[index]), members)

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
    """Explicit features in CSR: walked row by row only."""

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
    def _parts(self) -> list[tuple[slice, Any]]:
        return row_parts(self.X)

    def weights_of(self, coefficients: Array) -> Array:
        sums: list[Array] = [coefficients] * len(self._parts)

        def work(numbers: slice, _: slice) -> None:
            rows, X = self._parts[numbers.start]
            sums[numbers.start] = np.asarray(X.T @ np.ascontiguousarray(coefficients[:, rows].T)).T

        run_blocks(row_tiles(len(self._parts), 1), work)
        return np.asarray(sum(sums[1:], sums[0]))

    def scores_of(self, weights: Array) -> Array:
        out = np.empty((len(weights), self.count))
        columns = np.ascontiguousarray(weights.T)

        def work(numbers: slice, _: slice) -> None:
            rows, X = self._parts[numbers.start]
            out[:, rows] = np.asarray(X @ columns).T

        run_blocks(row_tiles(len(self._parts), 1), work)
        return out

    def kernel_lines(self, index: Array, members: Array | None) -> Array:
        lines = np.asarray((self.X[index] @ self.X.T).toarray())
        return _selected(lines, members)

    def cross(self, index: Array) -> Array:
        block = self.X[index]
        return np.asarray((block @ block.T).toarray())

    def add(self, index: Array, changes: Array, weights: Array) -> None:
        weights += np.asarray((self.X[index].T @ changes.T).T)


class DualRows:
    """A kernel: the weights of a walk are the scores of all rows."""

    dual = True
    is_sparse = is_mapped = False

    def weights_of(self, coefficients: Array) -> Array:
        """Raise: a kernel has no vector of features."""
        raise AssertionError("a predictor with a kernel is a combination of rows")

    def scores(self, index: Array, weights: Array, out: Array) -> None:
        np.take(weights, index, axis=1, out=out, mode="clip")

    def cross(self, index: Array) -> Array:
        return self.between(index, index)

    def between(self, rows: Array, columns: Any) -> Array:
        """The kernel between two sets of rows."""
        raise AssertionError("each kind of rows has its own")


class GramRows(DualRows):
    """A stored kernel matrix, symmetric, in the dtype in which to compute."""

    stored = True

    def __init__(self, K: Array | None, kernel: Kernel | None = None, X: Any = None) -> None:
        self._K = None if K is None else read_only(np.ascontiguousarray(K))
        self._kernel, self._X = kernel, X
        given = X if K is None else K
        self.dtype = given.dtype
        self.count = self.width = given.shape[0]
        self._buffers = Buffers()

    @classmethod
    def of(cls, kernel: Kernel, X: Any) -> GramRows:
        """The Gram matrix of a resolved kernel, computed when it is first looked at as a whole."""
        return cls(None, kernel, X)

    @property
    def pending(self) -> bool:
        """Whether the matrix is still to be computed."""
        return self._K is None

    @property
    def K(self) -> Array:  # noqa: N802 - its name everywhere
        """The matrix."""
        if self._K is None:
            assert self._kernel is not None
            self._K = read_only(self._kernel.matrix(self._X, self._X))
        return self._K

    def matrix(self) -> Array:
        """Return the matrix."""
        return self.K

    def some(self, index: Array) -> GramRows:
        """Some of the rows."""
        return GramRows(self.between(index, index))

    @property
    def computes_rows(self) -> bool:
        """Whether the matrix is still to be computed."""
        return self.pending

    @property
    def computed(self) -> KernelRows | None:
        """The same rows without the matrix; None for a matrix alone."""
        return None if self._kernel is None else self.flying

    @property
    def product_nanoseconds(self) -> tuple[float, float]:
        """About the time of a product with K for one column, and for each of many more."""
        entries = float(self.count) ** 2
        return 0.06 * self.dtype.itemsize * entries, 0.1 * entries

    def kernel_scores(self, coefficients: Array, members: Array | None) -> Array:
        """Return coefficients·K (vectors x rows) for the members."""
        return _selected(times_transposed(self.K, coefficients), members)

    def kernel_lines(self, index: Array, members: Array | None) -> Array:
        """Return rows of K for the members."""
        return _selected(self.K[index], members)

    @cached_property
    def flying(self) -> KernelRows:
        """The same rows without the matrix."""
        assert self._kernel is not None
        return KernelRows(self._kernel, self._X)

    @cached_property
    def diagonal(self) -> Array:
        """K_ii of all rows."""
        return self.flying.diagonal if self._K is None else self._K.diagonal().astype(np.float64)

    def between(self, rows: Array, columns: Any) -> Array:
        return (
            self.flying.between(rows, columns)
            if self._K is None
            else self._K[np.ix_(rows, columns)]
        )

    def add(self, index: Array, changes: Array, weights: Array) -> None:
        dense = np.flatnonzero((changes != 0).sum(axis=1) * PRODUCT_ADVANTAGE >= changes.shape[1])
        if len(dense) >= 4:
            self._add_product(index, changes[dense], weights, dense)
            changes = changes.copy()
            changes[dense] = 0
        add_lines(index, changes, self.K, weights)

    def products(self, coefficients: Array, out: Array) -> None:
        """The scores A·K of all rows."""
        np.matmul(coefficients, self.K, out=out)

    def evaluate(self, index: Array, vectors: Array) -> Array:
        """A·K of chosen rows, vectors x rows."""
        return vectors @ self.K[index].T

    def _add_product(self, index: Array, changes: Array, weights: Array, columns: Array) -> None:
        used = np.flatnonzero(changes.any(axis=0))
        chosen = slice(None) if len(columns) == len(weights) else columns
        gathered = self._buffers.take("gathered", (GATHERED_ROWS, self.width), self.dtype)
        product = self._buffers.take("product", (len(columns), TILE_COLUMNS), self.dtype)
        for start in range(0, len(used), GATHERED_ROWS):
            part = used[start : start + GATHERED_ROWS]
            lines = gathered[: len(part)]
            np.take(self.K, index[part], axis=0, out=lines, mode="clip")
            values = np.ascontiguousarray(changes[:, part])
            for c in range(
                0, self.width, TILE_COLUMNS
            ):  # tiles of the product stay in the cache until they are added
                tile = lines[:, c : c + TILE_COLUMNS]
                added = product[:, : tile.shape[1]]
                np.matmul(values, tile, out=added)
                weights[chosen, c : c + TILE_COLUMNS] += added


class SharedDistances:
    """The measure's values between a block of drawn rows and all rows, held for the kernels that walk the same blocks."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs
        self._index: Array = np.empty(0, dtype=np.int64)
        self._values: Array = np.empty((0, pairs.shape[1]), dtype=pairs.dtype)

    def block(self, index: Array) -> Array:
        """Values between X[index] and all rows; the last block asked for is kept."""
        if not np.array_equal(index, self._index):
            if len(self._values) != len(index):
                self._values = np.empty((len(index), self.pairs.shape[1]), dtype=self.pairs.dtype)
            values = self._values

            def work(_: slice, columns: slice) -> None:
                self.pairs.tile(index, columns, out=values[:, columns])

            tiles = column_tiles(len(index), self.pairs.shape[1], COMPUTED_COLUMNS)
            run_blocks(tiles, work, most_workers=self.pairs.most_workers)
            self._index = index.copy()
        return self._values


def column_tiles(rows: int, width: int, columns: int = TILE_COLUMNS) -> list[tuple[slice, slice]]:
    """All columns in tiles, for `run_blocks`."""
    return [(slice(0, rows), slice(c, min(c + columns, width))) for c in range(0, width, columns)]


class KernelRows(DualRows):
    """A kernel computed on the fly, for the rows that changed only, tile by tile.

    With a `bank` the inner products or distances of a block are taken from it: several kernels in step share them.
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
        """Where inner products or distances come from; centred rows take time, so whoever needs none does not wait for them."""
        if self._distances is not None:
            return self._distances.pairs
        return None if self.kernel.measure is None else Pairs(self.kernel.measure, self.X)

    @property
    def most_workers(self) -> int | None:
        """How many threads may ask at once (None: any number)."""
        # A user's function is called from one thread only: it need not be prepared for more.
        return 1 if self._pairs is None else self._pairs.most_workers

    @cached_property
    def diagonal(self) -> Array:
        """K_ii of all rows."""
        return self.kernel.lengths(self.X).astype(np.float64)

    @property
    def can_be_rounded(self) -> bool:
        """Whether float32 has room for these values, and would be something else."""
        return (
            self.dtype == np.float64
            and self.kernel.measure is not None
            and bool(self.diagonal.max(initial=0) <= MOST_ROUNDED)
        )

    @property
    def computed(self) -> KernelRows:
        """These rows."""
        return self

    @property
    def product_nanoseconds(self) -> tuple[float, float]:
        """About the time of a product with K for one column, and for each of many more."""
        pairs = float(self.count) ** 2
        return (4.0 + 0.1 * self.X.shape[1]) * pairs, 0.1 * pairs

    def kernel_scores(self, coefficients: Array, members: Array | None) -> Array:
        """Return coefficients·K (vectors x rows) for the members, in float64."""
        index = np.arange(self.count) if members is None else members
        out = np.zeros((len(coefficients), len(index)))

        def work(_: slice, columns: slice) -> None:
            for start in range(0, len(index), GATHERED_ROWS):
                part = index[start : start + GATHERED_ROWS]
                out[:, columns] += coefficients[:, part] @ self.between(part, index[columns])

        tiles = column_tiles(1, len(index))
        together = min(blas_threads(), self.most_workers or blas_threads())
        for first in range(0, len(tiles), together):  # one tile for each thread at once
            check_interruption()
            run_blocks(tiles[first : first + together], work)
        return out

    def kernel_lines(self, index: Array, members: Array | None) -> Array:
        """Return K between chosen rows and the members."""
        others = np.arange(self.count) if members is None else members
        lines = np.empty((len(index), len(others)))

        def work(_: slice, columns: slice) -> None:
            lines[:, columns] = self.between(index, others[columns])

        tiles = column_tiles(len(index), len(others))
        run_blocks(tiles, work, most_workers=self.most_workers)
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
        """The same kernel between the same rows in float64."""
        return (
            self if self.dtype == np.float64 else KernelRows(self.kernel, self.X.astype(np.float64))
        )

    def some(self, index: Array) -> KernelRows:
        """The same kernel between some of the rows."""
        return KernelRows(self.kernel, self.X[index])

    def matrix(self) -> Array:
        """The kernel between all rows."""
        if self._pairs is None:
            return self.kernel.matrix(self.X, self.X)
        return fill_gram(self._pairs, self.kernel.transform)

    def between(self, rows: Array, columns: Any) -> Array:
        if self._pairs is None:
            return self.kernel(self.X[rows], self.X[columns])
        tile = self._pairs.tile(rows, columns)
        self.kernel.transform(tile)
        return tile

    def passing(self, rows: Array, columns: slice | Array) -> Array:
        """The same in an array of this thread that the next call overwrites: fresh pages are slow."""
        if self._pairs is None:
            return self.between(rows, columns)
        width = columns.stop - columns.start if isinstance(columns, slice) else len(columns)
        tile = self._buffers.take("tile", (len(rows), width), self.dtype)
        self._pairs.tile(rows, columns, out=tile)
        self.kernel.transform(tile)
        return tile

    def cross(self, index: Array) -> Array:
        if self._distances is None:
            return super().cross(index)
        tile = self._distances.block(index)[:, index]
        self.kernel.transform(tile)
        return tile

    def add(self, index: Array, changes: Array, weights: Array) -> None:
        used = np.flatnonzero(changes.any(axis=0))
        if self._distances is not None and len(index) <= GATHERED_ROWS:
            self._add_from_shared(self._distances.block(index), used, changes, weights)
            return
        for start in range(0, len(used), GATHERED_ROWS):
            part = used[start : start + GATHERED_ROWS]
            rows, values = index[part], np.ascontiguousarray(changes[:, part])

            def work(_: slice, columns: slice, rows: Array = rows, values: Array = values) -> None:
                weights[:, columns] += values @ self.passing(rows, columns)

            run_blocks(
                column_tiles(len(rows), self.width, COMPUTED_COLUMNS),
                work,
                most_workers=self.most_workers,
            )

    def _add_from_shared(self, base: Array, used: Array, changes: Array, weights: Array) -> None:
        values = np.ascontiguousarray(changes[:, used])

        def work(_: slice, columns: slice) -> None:
            tile = base[used, columns]
            self.kernel.transform(tile)
            weights[:, columns] += values @ tile

        run_blocks(column_tiles(len(used), self.width), work)

    def products(self, coefficients: Array, out: Array) -> None:
        """The scores A·K of all rows."""
        out[:] = 0
        self.add(np.arange(self.count), coefficients, out)

    def evaluate(self, index: Array, vectors: Array) -> Array:
        """A·K of chosen rows, vectors x rows."""
        support = np.flatnonzero(vectors.any(axis=0))
        out = np.zeros((len(vectors), len(index)), dtype=self.dtype)

        def work(_: slice, columns: slice) -> None:
            for start in range(0, len(support), GATHERED_ROWS):
                part = support[start : start + GATHERED_ROWS]
                out[:, columns] += vectors[:, part] @ self.between(part, index[columns])

        run_blocks(column_tiles(1, len(index)), work, most_workers=self.most_workers)
        return out


def explicit_rows(X: Any) -> DenseRows | SparseRows:
    """Rows of explicit features."""
    return SparseRows(X) if sparse.issparse(X) else DenseRows(X)
