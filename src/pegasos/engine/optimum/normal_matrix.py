"""Cholesky factors of badly scaled matrices that rounding may have made indefinite."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

Array = np.ndarray[Any, Any]


def lifted_cholesky(matrix: Array) -> Array:
    """Return the lower Cholesky factor after raising the diagonal as little as necessary.

    >>> lifted_cholesky(np.array([[4.0, 2.0], [2.0, 1.0]])).round(3)
    array([[2., 0.],
           [1., 0.]])
    """
    diagonal, lift, lifted = matrix.diagonal(), 0.0, matrix
    while lift < 1e6:
        try:
            return np.asarray(linalg.cholesky(lifted, lower=True, check_finite=False))
        except linalg.LinAlgError:
            lift = max(100.0 * lift, 1e-15 * len(matrix))
            lifted = matrix + lift * np.diag(diagonal)
    return np.diag(np.sqrt(np.maximum(diagonal, 1.0)))


class NormalMatrix:
    """Positive semidefinite matrix of a Newton step, scaled to a unit diagonal.

    >>> NormalMatrix(np.diag([4e12, 1e-12])).solve(np.array([4e12, 1e-12])).round(9)
    array([1., 1.])
    """

    def __init__(self, matrix: Array) -> None:
        if not np.isfinite(matrix).all():
            matrix = np.eye(len(matrix))  # overflow: take a step along the gradient
        diagonal = matrix.diagonal()
        largest = max(float(diagonal.max()), np.finfo(float).tiny)
        self.scale = 1.0 / np.sqrt(np.maximum(diagonal, 1e-200 * largest))
        self.scaled = matrix * self.scale
        self.scaled *= self.scale[:, None]
        self.factor = (lifted_cholesky(self.scaled), True)

    def solve(self, right: Array) -> Array:
        """Return the solution after up to three steps of iterative refinement."""
        right = self.scale * right
        solution = linalg.cho_solve(self.factor, right, check_finite=False)
        residual = right - self.scaled @ solution
        for _ in range(3):
            better = solution + linalg.cho_solve(self.factor, residual, check_finite=False)
            left = right - self.scaled @ better
            if not np.abs(left).max() < np.abs(residual).max():
                break
            solution, residual = better, left
        return self.scale * solution
