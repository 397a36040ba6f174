"""Rows of explicit features in blocks, over which methods map functions and sum the results.

What belongs to a row (labels, bounds, coefficients, margins) stays with its block, and nothing
but sums (vectors and matrices as wide as the features) leaves it. So a method written this way
needs no more to run where each block lives on another machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from pegasos.engine.rows.features import read_only
from pegasos.engine.runtime.compiling import compiled
from pegasos.engine.runtime.interruption import check_interruption
from pegasos.engine.runtime.memory import Buffers
from pegasos.engine.runtime.threads import blas_threads, our_threads, run_each

Array = np.ndarray[Any, Any]

#: Numbers in a block of float64 rows (1 MB): it stays in a core's cache while all targets use it;
#: and the largest number of rows in it.
BLOCK_NUMBERS, MOST_ROWS = 1 << 17, 1 << 13
#: Width from which d x d products start in float32: on 50 features a pass takes 0.16 µs per row
#: instead of 0.22.
WIDE = 32
#: Bytes (64 MB) of the d x d matrices of the targets that are solved side by side.
MATRIX_BYTES = 1 << 26
#: Blocks per thread whose results are stored until they are added in order: results take memory.
WAVE = 2
#: CSR rows with at most one stored number in this many columns are thin: summing over pairs of
#: stored numbers is faster than a product of dense matrices.
THIN = 3
#: Rows in a block of thin rows: more than in others, as each block has its own d x d matrix.
THIN_ROWS = 1 << 16


class Part(NamedTuple):
    """Result of a function for one block: arrays that are added over the blocks."""

    sums: tuple[Array, ...]


class Block:
    """Some rows, and in `own` whatever a method keeps about them."""

    def __init__(self, X: Any, span: slice, buffers: Buffers) -> None:
        self.span = span
        self.count = span.stop - span.start
        self.width = X.shape[1]
        self.own: Any = None
        self._rows = X[span]
        self._buffers = buffers

    def rows(self) -> Array:
        """Return the rows as float64, which this thread's next call for any block overwrites."""
        if isinstance(self._rows, np.ndarray) and self._rows.dtype == np.float64:
            return self._rows
        out = self.buffer("rows")
        if sparse.issparse(self._rows):
            self._rows.astype(np.float64).toarray(out=out)
        else:
            out[:] = self._rows
        return out

    def whole(self) -> Any:
        """Return the rows as float64, but thin rows unchanged: their products cost less."""
        return self._rows if is_thin(self._rows) else self.rows()

    def stored(self) -> Any:
        """Return CSR rows unchanged, others as float64."""
        return self._rows if sparse.issparse(self._rows) else self.rows()

    def take(self, index: Array) -> Any:
        """Return chosen rows in the stored form."""
        return self._rows[index]

    def buffer(self, name: str, dtype: Any = np.float64) -> Array:
        """Return a scratch array with the shape of the block."""
        return self._buffers.take(name, (self.count, self.width), dtype)

    def scores(self, rows: Any, vector: Array) -> Array:
        """Return vector·x, plus the last element of a vector longer than the rows."""
        scores: Array = rows @ vector[: self.width]
        if len(vector) > self.width:
            scores += vector[-1]
        return scores

    def products(self, vectors: Array) -> Array:
        """Return vectors·x (vectors x rows), plus last elements of vectors longer than the rows."""
        rows, columns = self.stored(), vectors[:, : self.width]
        scores = (rows @ columns.T).T if sparse.issparse(rows) else columns @ rows.T
        if vectors.shape[1] > self.width:
            scores += vectors[:, -1:]
        return scores

    def combine(self, rows: Any, weights: Array, out: Array) -> None:
        """Compute out[k] = Σ weights[k, i] x_i, and Σ weights[k, i] last if out is wider."""
        if sparse.issparse(rows):
            out[:, : self.width] = (rows.T @ np.ascontiguousarray(weights.T)).T
        else:
            # Products of the rows with one vector each take half the time of one with all.
            for line, own in zip(weights, out, strict=True):
                np.matmul(line, rows, out=own[: self.width])
        if out.shape[1] > self.width:
            out[:, -1] = weights.sum(axis=1)

    def squares(self, rows: Any, weights: Array, out: Array, precise: bool) -> None:
        """Compute Σ weights_i x_i x_iᵀ (weights >= 0), with a constant feature if out is wider.

        Products in float32 (not `precise`) take half the time, and serve for a direction. Of CSR
        rows pairs of stored numbers are multiplied.
        """
        d = self.width
        if sparse.issparse(rows):
            out[:d, :d], sums = pairs(rows, weights)
        else:
            scaled = self.buffer("scaled") if precise else self.buffer("scaled32", np.float32)
            sums = weights @ rows
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                _scale_rows(read_only(rows), weights, scaled)
                out[:d, :d] = scaled.T @ scaled
        if len(out) > d:
            out[d, :d] = out[:d, d] = sums
            out[d, d] = weights.sum()


class RowBlocks:
    """Blocks of a fixed number of rows, mapped in threads inside `with`, with the same bits."""

    def __init__(self, X: Any, members: Array | None = None, size: int | None = None) -> None:
        if members is not None:
            X = X[members]
        if sparse.issparse(X):
            X = X.tocsr()
        self.X = X
        self.count, self.width = X.shape
        size = size or _block_rows(self.width)
        buffers = Buffers()
        self.blocks = [
            Block(X, slice(k, min(k + size, self.count)), buffers)
            for k in range(0, self.count, size)
        ]
        self._workers = 1
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._workers = min(blas_threads(), len(self.blocks))
        self._stack.enter_context(our_threads())
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def map_sum(self, work: Callable[..., Part], *arguments: Any) -> Part:
        """Return the sums of work(block, *arguments) over all blocks, in their order."""
        total: Part | None = None
        for part in self._parts(work, arguments):
            total = part if total is None else _joined(total, part)
            check_interruption()
        if total is None:
            raise ValueError("no rows")
        return total

    def map_join(
        self, work: Callable[..., Any], join: Callable[[list[Any]], Any], *arguments: Any
    ) -> Any:
        """Return join of work(block, *arguments) for all blocks, in their order."""
        found = []
        for part in self._parts(work, arguments):
            found.append(part)
            check_interruption()
        return join(found)

    def _parts(self, work: Callable[..., Any], arguments: Sequence[Any]) -> Iterator[Any]:
        """Yield work(block, *arguments) for all blocks in order; threads compute a wave of them."""
        if self._workers == 1:
            yield from (work(block, *arguments) for block in self.blocks)
            return
        for start in range(0, len(self.blocks), WAVE * self._workers):
            blocks = self.blocks[start : start + WAVE * self._workers]
            found: list[Any] = [None] * len(blocks)

            def run(number: int, blocks: list[Block] = blocks, found: list[Any] = found) -> None:
                found[number] = work(blocks[number], *arguments)

            run_each(run, range(len(blocks)))
            yield from found


def _block_rows(width: int) -> int:
    # A block of wide rows has at least twice as many rows as features, so that its d x d product
    # takes longer than adding that to the sum.
    return max(min(BLOCK_NUMBERS // max(1, width), MOST_ROWS), 2 * width)


def _joined(total: Part, part: Part) -> Part:
    for mine, other in zip(total.sums, part.sums, strict=True):
        mine += other
    return total


@lru_cache(maxsize=8)  # blocks of equal size have equal samples
def sample_of(count: int, size: int) -> Array:
    """Return the same `size` of `count` places each time, spread without a period."""
    return np.sort(np.random.default_rng(0).permutation(count)[:size])


def workspace(together: int, rows: int, width: int, itemsize: int) -> int:
    """Return the bytes of workspace of passes: copied rows, matrices and blocks, without X."""
    # 1,000 x 200 rows and two predictors took 20 MB on two threads, of 22 MB that this allows
    matrices = 12 * (width + 1) ** 2 * (together * (WAVE * blas_threads() + 5) + 8)
    blocks = 8 * (4 * width + 16) * _block_rows(width) * blas_threads()
    return rows * width * itemsize + matrices + blocks


def is_thin(X: Any) -> bool:
    """Tell whether rows are sparse enough to multiply stored numbers alone."""
    return bool(sparse.issparse(X)) and THIN * X.nnz <= X.shape[0] * X.shape[1]


def pairs(rows: Any, weights: Array) -> tuple[Array, Array]:
    """Return Σ weights_i u_i u_iᵀ and Σ weights_i u_i of CSR rows."""
    out, sums = np.zeros((rows.shape[1], rows.shape[1])), np.zeros(rows.shape[1])
    _add_pairs(rows.indptr, rows.indices, rows.data, weights, out, sums)
    low = np.tril_indices(len(out), -1)
    out[low[1], low[0]] = out[low]
    return out, sums


@compiled
def _scale_rows(rows: Array, weights: Array, out: Array) -> None:
    """Compute √weights_i x_i: NumPy takes three times as long for rows of few numbers."""
    for i in range(weights.size):
        root = math.sqrt(weights[i])
        for k in range(rows.shape[1]):
            out[i, k] = root * rows[i, k]


@compiled
def _add_pairs(
    ends: Array, columns: Array, values: Array, weights: Array, out: Array, sums: Array
) -> None:
    """Add every pair of stored numbers of a row, once, to the lower half of the matrix."""
    for i in range(weights.size):
        for p in range(ends[i], ends[i + 1]):
            column, scaled = columns[p], weights[i] * values[p]
            sums[column] += scaled
            for q in range(ends[i], p + 1):
                other, product = columns[q], scaled * values[q]
                if other < column:
                    out[column, other] += product
                elif other > column:
                    out[other, column] += product
                else:
                    # A column that a row stores twice.
                    out[column, column] += product if p == q else 2.0 * product
