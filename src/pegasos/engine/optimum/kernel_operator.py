"""Kernel matrices as linear operators, and their low-rank Cholesky factors.

Predictors are combinations of training rows, w = Σ c_i φ(x_i), and their scores are products K·c.

References
----------
Chen, Epperly, Tropp, Webber (2022), Randomly pivoted Cholesky.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.linalg import eigh

from pegasos.engine.rows.sources import Rows
from pegasos.engine.runtime.interruption import check_interruption
from pegasos.engine.runtime.threads import run_each, single_threaded_blas, slices

Array = np.ndarray[Any, Any]

#: Pivots added to a factor at once.
BLOCK = 64
#: Tiles of products with a factor: rows of the factor, and training rows. They fix the order of
#: summation, so that results do not depend on the number of threads.
TILE, STRIP = 128, 1024
#: The largest rank, and the largest size in bytes of a factor, its basis and its features together.
LARGEST_RANK, FACTOR_BYTES = 2000, 2**30


class KernelOperator:
    """The kernel matrix K + constant of the rows `members` (None: all)."""

    def __init__(self, rows: Rows, members: Array | None, constant: float) -> None:
        self.rows, self.members, self.constant = rows, members, constant
        self._index = np.arange(rows.count) if members is None else members
        self.m = len(self._index)

    @property
    def diagonal(self) -> Array:
        """K_ii of the members, with the constant."""
        return np.asarray(self.rows.diagonal, dtype=np.float64)[self._index] + self.constant

    def scores(self, coefficients: Array, exact: bool = False) -> Array:
        """Return (K + constant)·c of all members, for columns c of float64.

        Products with a kernel are in the dtype of the rows unless `exact`. Explicit features take
        two products, X·(Σ c_i x_i), whose rounding errors add up: they are always in float64.
        """
        check_interruption()
        is_rounded = self.rows.dual and not exact
        full = self._full(coefficients, self.rows.dtype if is_rounded else np.float64)
        scores = self.rows.kernel_scores(full, self.members)
        return scores + self.constant * coefficients.sum(axis=1, keepdims=True)

    def vectors(self, coefficients: Array) -> Array:
        """Return the coefficients c for kernels, the weights Σ c_i x_i for explicit features."""
        if self.rows.dual:
            return coefficients
        return self.rows.weights_of(self._full(coefficients, np.float64))

    def kernel_rows(self, chosen: Array) -> Array:
        """Return the rows of K + constant of the chosen members, in float64."""
        check_interruption()
        lines = self.rows.kernel_lines(self._index[chosen], self.members)
        return lines.astype(np.float64) + self.constant

    def _full(self, coefficients: Array, dtype: Any) -> Array:
        with np.errstate(over="ignore"):
            if self.members is None:
                return np.ascontiguousarray(coefficients, dtype=dtype)
            full = np.zeros((len(coefficients), self.rows.count), dtype=dtype)
            full[:, self.members] = coefficients
        return full


class Factor:
    """L (rank x m) with LᵀL ≈ K: a Cholesky factor with random pivots (fixed seed).

    Pivots are drawn in proportion to the diagonal of K - LᵀL: its maxima are often outliers.
    """

    def __init__(self, kernel_rows: Callable[[Array], Array], diagonal: Array, most: int) -> None:
        self._kernel_rows = kernel_rows
        self._residuals = np.where(np.isfinite(diagonal), np.maximum(diagonal, 0.0), 0.0)
        self._negligible = 1e-13 * float(self._residuals.max(initial=0.0))
        self._random = np.random.default_rng(0)
        self._store = np.empty((most, len(diagonal)))
        self.rank = 0

    @property
    def lines(self) -> Array:
        """L, rank x m."""
        return self._store[: self.rank]

    @property
    def residual_trace(self) -> float:
        """The trace of K - LᵀL."""
        return float(np.maximum(self._residuals, 0.0).sum())

    @property
    def is_exhausted(self) -> bool:
        """Whether the largest rank is reached, or K is factored up to rounding."""
        return self.rank == len(self._store) or not bool((self._residuals > self._negligible).any())

    def grow(self, rank: int) -> None:
        """Add rows until there are `rank` of them, or K is exhausted."""
        rank = min(rank, len(self._store))
        while self.rank < rank and not self.is_exhausted:
            self._add_block(min(BLOCK, rank - self.rank))

    def _add_block(self, size: int) -> None:
        check_interruption()
        candidates = np.flatnonzero(self._residuals > self._negligible)
        shares = self._residuals[candidates] / self._residuals[candidates].sum()
        chosen = np.sort(
            self._random.choice(candidates, min(size, len(candidates)), replace=False, p=shares)
        )
        lines = self._kernel_rows(chosen)
        with single_threaded_blas():
            pivot_rows = np.ascontiguousarray(self.lines[:, chosen].T)
        _subtract_product(lines, pivot_rows, self.lines)
        order, triangle = _pivoted(lines[:, chosen])
        new = self._store[self.rank : self.rank + len(order)]
        if len(order):
            with single_threaded_blas():
                new[:] = linalg.solve_triangular(
                    triangle, lines[order], lower=True, check_finite=False
                )
        self._residuals -= np.einsum("ij,ij->j", new, new)
        self._residuals[chosen[order]] = 0.0
        if not len(order):
            self._residuals[chosen] = 0.0  # rounding only
        self.rank += len(order)


def _subtract_product(lines: Array, pivot_rows: Array, L: Array) -> None:
    def work(columns: slice) -> None:
        lines[:, columns] -= pivot_rows @ L[:, columns]

    if len(L):
        run_each(work, slices(lines.shape[1], STRIP))


def _pivoted(block: Array) -> tuple[Array, Array]:
    """Return pivots and triangle of a Cholesky factor, without pivots below 1 % of the largest."""
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


class Spectrum(NamedTuple):
    """K ≈ basis · roots² · basisᵀ: an orthonormal basis (rows x rank), and roots of eigenvalues."""

    basis: Array
    roots: Array


def spectrum_of(K: Array) -> Spectrum:
    """Return the spectrum of a stored matrix, without eigenvalues that are rounding errors."""
    values, vectors = eigh(K.astype(np.float64, copy=False))
    return _make_spectrum(values, vectors, float(np.finfo(K.dtype).eps) * len(K))


def low_rank_spectrum(
    space: KernelOperator, memory: int, rank: int | None = None
) -> Spectrum | None:
    """Return the spectrum of K on many rows if its rank is low or known, else None.

    It takes at most `memory` bytes.
    """
    diagonal = space.diagonal
    trace = float(diagonal.sum())
    most = min(space.m, LARGEST_RANK, min(memory, FACTOR_BYTES) // (24 * space.m))
    factor = Factor(space.kernel_rows, diagonal, most)
    # If a factor of rank 256 leaves more than 0.1 % of the trace, the rank is not low.
    checks = ((256, 1e-3), (LARGEST_RANK, 1e-9))
    for size, share in checks if rank is None else checks[1:]:
        factor.grow(size)
        if not factor.residual_trace <= share * trace:
            return None
    with single_threaded_blas():
        values, vectors = eigh(factor.lines @ factor.lines.T)
        small = _make_spectrum(values, vectors, float(np.finfo(np.float64).eps) * len(values))
        return Spectrum(
            np.ascontiguousarray(factor.lines.T @ (small.basis / small.roots)), small.roots
        )


def _make_spectrum(values: Array, vectors: Array, precision: float) -> Spectrum:
    kept = (
        values > precision * max(float(values[-1]), 0.0) if len(values) else np.zeros(0, dtype=bool)
    )
    if not kept.any():  # K = 0: one feature that is zero
        return Spectrum(np.zeros((len(vectors), 1)), np.ones(1))
    return Spectrum(vectors[:, kept], np.sqrt(values[kept]))
