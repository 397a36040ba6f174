"""Preconditioned conjugate gradients for the systems of Newton steps, several systems at once.

On a kernel the Newton step δ of the coefficients c comes from a symmetric system. Let s be the
scores, β_i = y_i C_i σ(-y_i s_i), D_i = C_i σ(s_i) σ(-s_i), r = β - c, and W the diagonal matrix
D½. Then

    δ = r - W v,   (I + W K W) v = W K r

A free intercept always has its optimal value, and its direction W is projected out of the system.
Conjugate gradients need about as many products as the root of the largest eigenvalue. If that takes
long, a low-rank factor of K preconditions them, by Woodbury's identity.

References
----------
Hestenes, Stiefel (1952), Methods of conjugate gradients for solving linear systems.
Frangella, Tropp, Udell (2023), Randomized Nyström preconditioning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg

from pegasos.engine.optimum.kernel_operator import (
    STRIP,
    TILE,
    Factor,
    KernelOperator,
)
from pegasos.engine.optimum.normal_matrix import lifted_cholesky
from pegasos.engine.rows.features import combine_rows, times_transposed
from pegasos.engine.runtime.interruption import check_interruption, deadline_reached
from pegasos.engine.runtime.threads import blas_threads, run_each, slices

Array = np.ndarray[Any, Any]
Precondition = Callable[[Array, Array], Array]

#: First rank of a factor of K, which is doubled up to the largest, and largest size in bytes of the
#: factor and of all Cholesky factors of its preconditioners.
FIRST_RANK, LARGEST_RANK, FACTOR_BYTES = 128, 1024, 2**28
#: Iterations at least before a better preconditioner is made, and at most with the best one.
LEAST_PATIENCE, MOST_ITERATIONS = 6, 300


class System:
    """Positive definite systems A v = b, one per row of the arrays, solved side by side.

    A system counts as solved when its residual ρ has ‖ρ‖²/2 below `gaps`, or below the share
    `forcing` of the decrease of the quadratic model. The gap after the step is about ‖ρ‖²/2.
    """

    def __init__(self, right: Array, rows: int, gaps: Array, forcing: Array) -> None:
        self.residual, self.gaps, self.forcing = right, gaps, forcing
        self.solution, self.scores = np.zeros_like(right), np.zeros((len(right), rows))

    def product(self, direction: Array, numbers: Array) -> tuple[Array, Array]:
        """Return the scores of the directions of some systems, and A times each."""
        raise NotImplementedError

    def decrease(self, numbers: Array) -> Array:
        """Return the decrease of the quadratic model so far."""
        raise NotImplementedError

    def solved(self, numbers: Array) -> Array:
        """Tell which of these systems are solved."""
        residual = self.residual[numbers]
        allowed = np.maximum(self.gaps[numbers], self.forcing[numbers] * self.decrease(numbers))
        return 0.5 * dots(residual, residual) <= allowed

    def iterate(self, numbers: Array, precondition: Precondition, most: int) -> Array:
        """Run at most `most` iterations; return the systems that are still unsolved."""
        direction = precondition(self.residual[numbers], numbers)
        rho = dots(self.residual[numbers], direction)
        for _ in range(most):
            scores, image = self.product(direction, numbers)
            with np.errstate(divide="ignore", invalid="ignore"):
                length = rho / dots(direction, image)
            broken = ~(np.isfinite(length) & (length > 0))
            length = np.where(broken, 0.0, length)[:, None]
            self.solution[numbers] += length * direction
            self.scores[numbers] += length * scores
            self.residual[numbers] -= length * image
            going = ~(self.solved(numbers) | broken)
            numbers, direction, rho = numbers[going], direction[going], rho[going]
            if not len(numbers) or deadline_reached():
                break
            improved = precondition(self.residual[numbers], numbers)
            before, rho = rho, dots(self.residual[numbers], improved)
            direction = improved + (rho / before)[:, None] * direction
        return numbers


class KernelSystem(System):
    """Systems (I + W K W) v = W K r; `roots` are W, `descent` r; if `centered`, v ⊥ W."""

    def __init__(
        self,
        kernel: KernelOperator,
        roots: Array,
        descent: Array,
        descent_scores: Array,
        gaps: Array,
        forcing: Array,
        centered: bool,
    ) -> None:
        self.kernel, self.roots = kernel, roots
        self.descent, self.descent_scores = descent, descent_scores
        lengths = np.sqrt(dots(roots, roots))[:, None]
        #: Unit vectors that are projected out.
        self.axes = roots / np.where(lengths > 0, lengths, 1.0) if centered else None
        right = self._project(roots * descent_scores, np.arange(len(roots)))
        super().__init__(right, kernel.m, gaps, forcing)

    def product(self, direction: Array, numbers: Array) -> tuple[Array, Array]:
        """Return K W times the directions, and the systems times them."""
        roots = self.roots[numbers]
        scores = self.kernel.scores(roots * direction)
        return scores, self._project(direction + roots * scores, numbers)

    def steps(self, numbers: Array) -> tuple[Array, Array, Array]:
        """Return Newton's step δ of the coefficients, its scores K δ, and δb."""
        roots = self.roots[numbers]
        steps = self.descent[numbers] - roots * self.solution[numbers]
        scores = self.descent_scores[numbers] - self.scores[numbers]
        if self.axes is None:
            return steps, scores, np.zeros(len(numbers))
        weights = roots * roots
        total = weights.sum(axis=1)
        return steps, scores, -dots(weights, scores) / np.where(total > 0, total, 1.0)

    def decrease(self, numbers: Array) -> Array:
        """Return the decrease of the quadratic model so far."""
        steps, scores, shift = self.steps(numbers)
        weighted = self.roots[numbers] * (scores + shift[:, None])
        return np.asarray(
            dots(self.descent[numbers] - 0.5 * steps, scores) - 0.5 * dots(weighted, weighted)
        )

    def _project(self, columns: Array, numbers: Array) -> Array:
        return columns if self.axes is None else project_out(columns, self.axes[numbers])


class KernelSystems:
    """Solver of the systems of successive Newton steps, which share a factor of K."""

    def __init__(self, kernel: KernelOperator, targets: int) -> None:
        triangles = int((FACTOR_BYTES / 8 / max(targets, 1)) ** 0.5)
        lines = FACTOR_BYTES // (8 * max(kernel.m, 1))
        self.kernel = kernel
        self.most = max(1, min(kernel.m, LARGEST_RANK, lines, triangles))
        self.factor = Factor(kernel.kernel_rows, kernel.diagonal, self.most)

    def solve(self, system: KernelSystem) -> None:
        """Solve all systems, improving the preconditioner as long as some remain unsolved."""
        numbers = np.arange(len(system.residual))
        while True:
            precondition: Precondition = _identity
            if self.factor.rank > 0:
                axes = None if system.axes is None else system.axes[numbers]
                precondition = Preconditioner(
                    self.factor.lines, numbers, system.roots[numbers], axes
                )
            numbers = system.iterate(numbers, precondition, self._patience())
            if not len(numbers) or deadline_reached() or not self._improve():
                return

    def _improve(self) -> bool:
        """Enlarge the factor of K; tell whether there is a better one."""
        rank = self.factor.rank
        self.factor.grow(max(FIRST_RANK, 2 * rank))
        return self.factor.rank > rank

    def _patience(self) -> int:
        """Return how many iterations take about as long as making the next preconditioner.

        The total is then at most about twice the time of the best choice. An iteration takes m x
        width multiplications, bound by memory; rank r takes 2 m r² multiplications from cache,
        which are six times as fast.
        """
        if self.factor.is_exhausted:
            return MOST_ITERATIONS
        rank = max(FIRST_RANK, 2 * self.factor.rank)
        iterations = min(rank, self.most) ** 2 / (3 * self.kernel.rows.width)
        return int(min(max(iterations, LEAST_PATIENCE), MOST_ITERATIONS))


class Preconditioner:
    """Inverses of I + W LᵀL W by Woodbury's identity, with one small Cholesky factor per system.

    Parameters
    ----------
    L : factor of K, rank x rows.
    numbers : numbers of the systems, in ascending order.
    roots : W, systems x rows.
    axes : unit vectors (systems x rows) that are projected out, or None.
    """

    def __init__(self, L: Array, numbers: Array, roots: Array, axes: Array | None) -> None:
        self.L, self.numbers, self.roots, self.axes = L, numbers, roots, axes
        rank, squares = len(L), roots * roots
        small = np.zeros((len(roots), rank, rank))
        projected = None if axes is None else times_transposed(L, roots * axes)

        def work(place: tuple[int, slice]) -> None:
            k, tile = place
            for start in range(0, L.shape[1], STRIP):
                strip = slice(start, start + STRIP)
                weighted = L[tile, strip] * squares[k, strip]
                small[k][tile, : tile.stop] += weighted @ L[: tile.stop, strip].T

        together = blas_threads()
        for k in range(len(roots)):
            blocks = [(k, tile) for tile in slices(rank, TILE)]
            for first in range(0, len(blocks), together):
                check_interruption()
                run_each(work, blocks[first : first + together])
            if projected is not None:
                small[k] -= np.outer(projected[k], projected[k])
            small[k][np.diag_indices(rank)] += 1.0
        self.triangles = small

        def factorize(k: int) -> None:
            small[k] = lifted_cholesky(small[k])

        run_each(factorize, range(len(roots)))

    def __call__(self, columns: Array, numbers: Array) -> Array:
        """Apply the inverse of system numbers[k] to columns[k], for all k."""
        places = np.searchsorted(self.numbers, numbers)
        roots = self.roots[places]
        small = times_transposed(self.L, roots * columns)

        def work(k: int) -> None:
            triangle = (self.triangles[places[k]], True)
            small[k] = linalg.cho_solve(triangle, small[k], check_finite=False)

        run_each(work, range(len(columns)))
        out = columns - roots * combine_rows(small, self.L)
        return out if self.axes is None else project_out(out, self.axes[places])


def _identity(columns: Array, numbers: Array) -> Array:
    return columns


def dots(one: Array, other: Array) -> Array:
    """Return the dot product of each pair of rows; sums do not depend on the number of threads."""
    return np.asarray((one * other).sum(axis=1))


def project_out(columns: Array, axes: Array) -> Array:
    """Return columns minus their projections on unit vectors."""
    return np.asarray(columns - (columns * axes).sum(axis=1, keepdims=True) * axes)
