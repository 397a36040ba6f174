"""Solving with the d x d matrix of a Newton step, however badly its columns are scaled."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

Array = np.ndarray[Any, Any]


class NormalMatrix:
    """A positive (semi)definite matrix, scaled to a unit diagonal and lifted by as little as lets it be factored.

    >>> NormalMatrix(np.diag([4e12, 1e-12])).solve(np.array([4e12, 1e-12])).round(9)
    array([1., 1.])
    """

    def __init__(self, matrix: Array) -> None:
        if not np.isfinite(matrix).all():
            matrix = np.eye(
                len(matrix)
            )  # more than numbers can hold: then a step along the gradient
        diagonal = matrix.diagonal()
        largest = max(float(diagonal.max()), np.finfo(float).tiny)
        self.scale = 1.0 / np.sqrt(np.maximum(diagonal, 1e-200 * largest))
        self.scaled = matrix * self.scale
        self.scaled *= self.scale[:, None]
        lift = 0.0
        while True:
            lifted = self.scaled.copy() if lift else self.scaled
            lifted.flat[:: len(lifted) + 1] += lift
            try:
                self.factor = linalg.cho_factor(lifted, lower=True, check_finite=False)
                break
            except linalg.LinAlgError:
                lift = max(100.0 * lift, 1e-15 * len(lifted))
                if lift > 1e6:
                    self.factor = (np.eye(len(lifted)), True)
                    break

    def solve(self, right: Array) -> Array:
        """Return the solution, with up to three steps of refinement as long as each reduces the residual."""
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
