"""A low-rank factor of a kernel matrix, and with it a preconditioner for I + W K W with any weights W.

Plain conjugate gradients need a number of products like the root of the largest eigenvalue: the factor takes those away.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg

from pegasos.engine.runtime.interruption import check_interruption
from pegasos.engine.runtime.threads import blas_threads, run_blocks, single_threaded_blas

Array = np.ndarray[Any, Any]

#: Rows added to a factor at once.
BLOCK = 64
#: Tiles of products with the factor: its rows, and the training rows that are weighted at once.
TILE = 128
STRIP = 1024


class Factor:
    """L (rank x m) with LᵀL ≈ K: a Cholesky factor of pivots that are drawn by what they still lack (Chen and others, 2022).

    Drawn rather than taken greedily: the largest remainders alone are often outliers. Fixed seed, so always the same rows.
    """

    def __init__(self, kernel_rows: Callable[[Array], Array], diagonal: Array, most: int) -> None:
        self._kernel_rows = kernel_rows
        self._lacking = np.where(np.isfinite(diagonal), np.maximum(diagonal, 0.0), 0.0)
        self._negligible = 1e-13 * float(self._lacking.max(initial=0.0))
        self._random = np.random.default_rng(0)
        self._store = np.empty((most, len(diagonal)))
        self.rank = 0

    @property
    def lines(self) -> Array:
        return self._store[: self.rank]

    @property
    def lacking(self) -> float:
        """The trace of K - LᵀL."""
        return float(np.maximum(self._lacking, 0.0).sum())

    @property
    def full(self) -> bool:
        """Whether nothing can be added any more."""
        return self.rank == len(self._store) or not bool((self._lacking > self._negligible).any())

    def grow(self, rank: int) -> None:
        """Add rows until there are `rank` of them, or K is exhausted."""
        rank = min(rank, len(self._store))
        while self.rank < rank and not self.full:
            self._add_block(min(BLOCK, rank - self.rank))

    def _add_block(self, size: int) -> None:
        check_interruption()
        candidates = np.flatnonzero(self._lacking > self._negligible)
        shares = self._lacking[candidates] / self._lacking[candidates].sum()
        chosen = np.sort(
            self._random.choice(candidates, min(size, len(candidates)), replace=False, p=shares)
        )
        lines = self._kernel_rows(chosen)
        with single_threaded_blas():
            held = np.ascontiguousarray(self.lines[:, chosen].T)
        _subtract_product(lines, held, self.lines)
        order, triangle = _pivoted(lines[:, chosen])
        new = self._store[self.rank : self.rank + len(order)]
        if len(order):
            with single_threaded_blas():
                new[:] = linalg.solve_triangular(
                    triangle, lines[order], lower=True, check_finite=False
                )
        self._lacking -= np.einsum("ij,ij->j", new, new)
        self._lacking[chosen[order]] = 0.0
        if not len(order):
            self._lacking[chosen] = 0.0  # rounding only
        self.rank += len(order)


def _subtract_product(lines: Array, held: Array, L: Array) -> None:
    def work(_: slice, columns: slice) -> None:
        lines[:, columns] -= held @ L[:, columns]

    if len(L):
        run_blocks(_tiles(lines.shape[1], STRIP), work)


def _pivoted(block: Array) -> tuple[Array, Array]:
    """Return order and triangle of a Cholesky factor, of pivots above 1 % of the largest."""
    size = len(block)
    triangle, left, order = (
        np.zeros((size, size)),
        block.diagonal().copy(),
        np.empty(0, dtype=np.int64),
    )
    least = 0.01 * float(left.max(initial=0.0))
    for k in range(size):
        pivot = int(np.argmax(left))
        if not left[pivot] > max(least, 0.0):
            break
        seen = (triangle[:, :k] * triangle[pivot, :k]).sum(axis=1)
        triangle[:, k] = (block[:, pivot] - seen) / np.sqrt(left[pivot])
        left -= triangle[:, k] ** 2
        order = np.append(order, pivot)
        left[order] = 0.0
    return order, triangle[order, : len(order)]


class Preconditioner:
    """The inverses of I + W LᵀL W by Woodbury's identity, a small triangle each, for the systems `numbers`; of all others 1.

    `roots` is W, systems x rows. `aside` (systems x rows, of length 1) are directions that are projected out, or None.
    """

    def __init__(self, L: Array, numbers: Array, roots: Array, aside: Array | None) -> None:
        self.L, self.numbers, self.roots, self.aside = L, numbers, roots, aside
        rank, squares = len(L), roots * roots
        small = np.zeros((len(roots), rank, rank))
        held = None if aside is None else _times_transposed(roots * aside, L)

        def work(numbers: slice, tile: slice) -> None:
            k, matrix = numbers.start, small[numbers.start]
            for start in range(0, L.shape[1], STRIP):
                strip = slice(start, start + STRIP)
                matrix[tile, : tile.stop] += (L[tile, strip] * squares[k, strip]) @ L[
                    : tile.stop, strip
                ].T

        together = blas_threads()
        for k in range(len(roots)):
            tiles = [(slice(k, k + 1), columns) for _, columns in _tiles(rank, TILE)]
            for first in range(0, len(tiles), together):
                check_interruption()
                run_blocks(tiles[first : first + together], work)
            if held is not None:
                small[k] -= np.outer(held[k], held[k])
            small[k][np.diag_indices(rank)] += 1.0
        self.triangles = small
        run_blocks([(slice(k, k + 1), slice(None)) for k in range(len(roots))], self._factorize)

    def _factorize(self, numbers: slice, _: slice) -> None:
        matrix = self.triangles[numbers.start]
        for lift in (0.0, 1e-14, 1e-12, 1e-10, 1e-8):  # rounding may have eaten the identity
            try:
                lifted = matrix + lift * np.diag(matrix.diagonal()) if lift else matrix
                matrix[:] = linalg.cholesky(lifted, lower=True, check_finite=False)
                return
            except linalg.LinAlgError:
                continue
        matrix[:] = np.diag(np.sqrt(np.maximum(matrix.diagonal(), 1.0)))

    def __call__(self, columns: Array, numbers: Array) -> Array:
        """The inverses times columns, of which the k-th belongs to the system numbers[k]."""
        mine = np.isin(numbers, self.numbers)
        if not mine.all():
            out = columns.copy()
            out[mine] = self(columns[mine], numbers[mine])
            return out
        places = np.searchsorted(self.numbers, numbers)
        roots = self.roots[places]
        small = _times_transposed(roots * columns, self.L)

        def work(block: slice, _: slice) -> None:
            k = block.start
            small[k] = linalg.cho_solve(
                (self.triangles[places[k]], True), small[k], check_finite=False
            )

        run_blocks([(slice(k, k + 1), slice(None)) for k in range(len(columns))], work)
        out = columns - roots * _times_factor(small, self.L)
        return out if self.aside is None else without(out, self.aside[places])


def without(columns: Array, aside: Array) -> Array:
    """Columns less their part along directions of length 1."""
    return np.asarray(columns - (columns * aside).sum(axis=1, keepdims=True) * aside)


def _times_transposed(columns: Array, L: Array) -> Array:
    out = np.empty((len(columns), len(L)))

    def work(_: slice, tile: slice) -> None:
        out[:, tile] = columns @ L[tile].T

    run_blocks(_tiles(len(L), TILE), work)
    return out


def _times_factor(small: Array, L: Array) -> Array:
    out = np.empty((len(small), L.shape[1]))

    def work(_: slice, tile: slice) -> None:
        out[:, tile] = small @ L[:, tile]

    run_blocks(_tiles(L.shape[1], STRIP), work)
    return out


def _tiles(width: int, step: int) -> list[tuple[slice, slice]]:
    return [
        (slice(None), slice(start, min(start + step, width))) for start in range(0, width, step)
    ]
