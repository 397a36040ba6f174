"""The hinge loss with a kernel where pair steps crawl, on few rows: an interior point method on a factor of the kernel matrix.

Pair steps crawl where C is large and K has nearly a low rank. Then K = FFᵀ with few columns, the rows of F are explicit features,
and a vector w of them is Σ c_i φ(x_i) with c = F (FᵀF)⁻¹ w. What is found is certified by K itself, not by its factor.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh

from pegasos.engine.interior_point import solve_hinge
from pegasos.engine.optimum import Intercept, Optimum, Target

Array = np.ndarray[Any, Any]


def solve_by_factor(K: Array, targets: list[Target], intercept: Intercept, tol: float) -> list[Optimum]:
    """The optimum of the hinge loss for each target; K between all training rows, without the constant feature."""
    precision = np.finfo(K.dtype).eps * len(K)
    K = K.astype(np.float64, copy=False)
    values, basis = eigh(K)
    kept = values > precision * max(values[-1], 0.0)
    roots, basis = np.sqrt(values[kept]), basis[:, kept]
    if not len(roots):  # no row has a length: one feature that is zero
        roots, basis = np.ones(1), np.zeros((len(K), 1))
    solved = solve_hinge(np.ascontiguousarray(basis * roots), targets, intercept, tol)
    pairs = zip(targets, solved, strict=True)
    return [_certified(K, basis @ (optimum.vector / roots), target, optimum, intercept) for target, optimum in pairs]


def _certified(K: Array, c: Array, target: Target, optimum: Optimum, intercept: Intercept) -> Optimum:
    """The same predictor by its coefficients of rows, with F and G as K has them."""
    constant = 1.0 if intercept is Intercept.AUGMENTED else 0.0
    products = K @ c
    losses = np.maximum(0.0, 1.0 - target.labels * (products + optimum.bias))
    primal = float(0.5 * (c @ products + constant * optimum.bias**2) + target.bounds @ losses)
    own = target.labels * optimum.dual
    bound = float(optimum.dual.sum() - 0.5 * (own @ (K @ own) + constant * own.sum() ** 2))
    return Optimum(c, optimum.bias, optimum.dual, primal, bound, optimum.rounds, optimum.course)
