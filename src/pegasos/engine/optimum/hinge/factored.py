"""The hinge loss with a kernel where pair steps crawl: an interior point method on a factor of the kernel matrix.

Pair steps crawl where C is large and K has nearly a low rank. Then K = FFᵀ with few columns, the rows of F are explicit features,
and a vector w of them is Σ c_i φ(x_i) with c = F (FᵀF)⁻¹ w. What is found is certified by K itself, not by its factor.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from pegasos.engine.optimum.function_space import FunctionSpace
from pegasos.engine.optimum.low_rank import Factor
from pegasos.engine.optimum.passes.newton import solve_rows
from pegasos.engine.optimum.problem import Intercept, Optimum, Target
from pegasos.engine.runtime.threads import single_threaded_blas

Array = np.ndarray[Any, Any]

#: The largest rank of a factor, and bytes of the factor, its basis and its features.
LARGEST_RANK, FACTOR_BYTES = 2000, 2**30


class Spectrum(NamedTuple):
    """K ≈ basis · roots² · basisᵀ: an orthonormal basis (rows x rank), and roots of eigenvalues."""

    basis: Array
    roots: Array


def spectrum_of(K: Array) -> Spectrum:
    """Return the spectrum of a whole matrix, without eigenvalues that are rounding errors."""
    values, vectors = eigh(K.astype(np.float64, copy=False))
    return _kept(values, vectors, float(np.finfo(K.dtype).eps) * len(K))


def low_rank_spectrum(
    space: FunctionSpace, memory: int, rank: int | None = None
) -> Spectrum | None:
    """Return the spectrum of K on many rows if its rank is low or known, else None.

    It takes at most `memory` bytes.
    """
    diagonal = space.diagonal
    trace = float(diagonal.sum())
    most = min(space.m, LARGEST_RANK, min(memory, FACTOR_BYTES) // (24 * space.m))
    factor = Factor(space.kernel_rows, diagonal, most)
    # A factor of rank 256 that lacks more than this share of the trace shows that the rank is not low.
    looks = ((256, 1e-3), (LARGEST_RANK, 1e-9))
    for size, share in looks if rank is None else looks[1:]:
        factor.grow(size)
        if not factor.lacking <= share * trace:
            return None
    with single_threaded_blas():
        values, vectors = eigh(factor.lines @ factor.lines.T)
        small = _kept(values, vectors, float(np.finfo(np.float64).eps) * len(values))
        return Spectrum(
            np.ascontiguousarray(factor.lines.T @ (small.basis / small.roots)), small.roots
        )


def _kept(values: Array, vectors: Array, precision: float) -> Spectrum:
    kept = (
        values > precision * max(float(values[-1]), 0.0) if len(values) else np.zeros(0, dtype=bool)
    )
    if not kept.any():  # no row has a length: one feature that is zero
        return Spectrum(np.zeros((len(vectors), 1)), np.ones(1))
    return Spectrum(vectors[:, kept], np.sqrt(values[kept]))


def solve_by_factor(
    spectrum: Spectrum,
    space: FunctionSpace,
    targets: list[Target],
    intercept: Intercept,
    tol: float,
) -> list[Optimum]:
    """The optimum of the hinge loss for each target; `space` has the kernel without the constant feature."""
    basis, roots = spectrum
    solved = solve_rows(np.ascontiguousarray(basis * roots), True, targets, intercept, tol)
    pairs = zip(targets, solved, strict=True)
    return [
        _certified(space, basis @ (optimum.vector / roots), target, optimum, intercept)
        for target, optimum in pairs
    ]


def _certified(
    space: FunctionSpace, c: Array, target: Target, optimum: Optimum, intercept: Intercept
) -> Optimum:
    """The same predictor by its coefficients of rows, with F and G as K has them."""
    constant = 1.0 if intercept is Intercept.AUGMENTED else 0.0
    own = target.labels * optimum.dual
    products, own_products = space.scores(np.stack([c, own]), exact=True)
    losses = np.maximum(0.0, 1.0 - target.labels * (products + optimum.bias))
    primal = float(0.5 * (c @ products + constant * optimum.bias**2) + target.bounds @ losses)
    bound = float(optimum.dual.sum() - 0.5 * (own @ own_products + constant * own.sum() ** 2))
    return Optimum(c, optimum.bias, optimum.dual, primal, bound, optimum.rounds, optimum.course)
