"""Preconditioned conjugate gradients for the systems of a Newton step, several in step.

On a kernel Newton's step δ of the coefficients comes from a symmetric system: with β, D and
r = β - c as in `newton_cg` and W = D½

    δ = r - W v,   (I + W K W) v = W K r

A free intercept has its best value at any time, and its direction W is projected out of the system.
Plain conjugate gradients need about as many products as the root of the largest eigenvalue. Where
that takes long, a low-rank factor of K preconditions them, by Woodbury's identity.

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
from pegasos.engine.runtime.interruption import check_interruption, deadline_reached
from pegasos.engine.runtime.threads import blas_threads, run_each, slices

Array = np.ndarray[Any, Any]
Precondition = Callable[[Array, Array], Array]

#: The first rank of a factor of K, which is doubled up to the largest; the memory that it may take,
#: and the triangles made of it.
FIRST_RANK, LARGEST_RANK, FACTOR_BYTES = 128, 1024, 2**28
#: Iterations before a better preconditioner is made, and with the best one.
LEAST_PATIENCE, MOST_ITERATIONS = 6, 300


class System:
    """Positive definite systems A v = b, one per row of the arrays, solved in step.

    A system counts as solved when its residual ρ has ‖ρ‖²/2 below `gaps`, or below the share
    `left` of the decrease of the quadratic model. The gap after the step is about ‖ρ‖²/2.
    """

    def __init__(self, right: Array, rows: int, gaps: Array, left: Array) -> None:
        self.residual, self.gaps, self.left = right, gaps, left
        self.solution, self.scores = np.zeros_like(right), np.zeros((len(right), rows))

    def product(self, direction: Array, numbers: Array) -> tuple[Array, Array]:
        """Return the scores of the directions of some systems, and A times each."""
        raise NotImplementedError

    def decrease(self, numbers: Array) -> Array:
        """Return by how much the quadratic model has fallen."""
        raise NotImplementedError

    def solved(self, numbers: Array) -> Array:
        """Whether each of these systems is solved."""
        residual = self.residual[numbers]
        allowed = np.maximum(self.gaps[numbers], self.left[numbers] * self.decrease(numbers))
        return 0.5 * dots(residual, residual) <= allowed

    def iterate(self, numbers: Array, precondition: Precondition, most: int) -> Array:
        """Take at most `most` iterations; return the systems that are not solved after them."""
        direction = precondition(self.residual[numbers], numbers)
        height = dots(self.residual[numbers], direction)
        for _ in range(most):
            scores, image = self.product(direction, numbers)
            with np.errstate(divide="ignore", invalid="ignore"):
                length = height / dots(direction, image)
            broken = ~(np.isfinite(length) & (length > 0))
            length = np.where(broken, 0.0, length)[:, None]
            self.solution[numbers] += length * direction
            self.scores[numbers] += length * scores
            self.residual[numbers] -= length * image
            going = ~(self.solved(numbers) | broken)
            numbers, direction, height = numbers[going], direction[going], height[going]
            if not len(numbers) or deadline_reached():
                break
            improved = precondition(self.residual[numbers], numbers)
            before, height = height, dots(self.residual[numbers], improved)
            direction = improved + (height / before)[:, None] * direction
        return numbers


class KernelSystem(System):
    """Systems (I + W K W) v = W K r; with `centered`, v is orthogonal to W."""

    def __init__(
        self,
        kernel: KernelOperator,
        roots: Array,
        rest: Array,
        rest_scores: Array,
        gaps: Array,
        left: Array,
        centered: bool,
    ) -> None:
        self.kernel, self.roots, self.rest, self.rest_scores = kernel, roots, rest, rest_scores
        lengths = np.sqrt(dots(roots, roots))[:, None]
        #: Directions of length 1 that are projected out.
        self.along = roots / np.where(lengths > 0, lengths, 1.0) if centered else None
        right = self._project(roots * rest_scores, np.arange(len(roots)))
        super().__init__(right, kernel.m, gaps, left)

    def product(self, direction: Array, numbers: Array) -> tuple[Array, Array]:
        """Return K W times the directions, and the systems times them."""
        roots = self.roots[numbers]
        scores = self.kernel.scores(roots * direction)
        return scores, self._project(direction + roots * scores, numbers)

    def steps(self, numbers: Array) -> tuple[Array, Array, Array]:
        """Return Newton's step δ of the coefficients, its scores K δ, and δb."""
        roots = self.roots[numbers]
        steps = self.rest[numbers] - roots * self.solution[numbers]
        scores = self.rest_scores[numbers] - self.scores[numbers]
        if self.along is None:
            return steps, scores, np.zeros(len(numbers))
        weights = roots * roots
        total = weights.sum(axis=1)
        return steps, scores, -dots(weights, scores) / np.where(total > 0, total, 1.0)

    def decrease(self, numbers: Array) -> Array:
        """Return by how much the quadratic model has fallen."""
        steps, scores, shift = self.steps(numbers)
        bends = self.roots[numbers] * (scores + shift[:, None])
        return np.asarray(dots(self.rest[numbers] - 0.5 * steps, scores) - 0.5 * dots(bends, bends))

    def _project(self, columns: Array, numbers: Array) -> Array:
        return columns if self.along is None else without(columns, self.along[numbers])


class KernelSystems:
    """Solver of the systems of successive Newton steps, which share a factor of K."""

    def __init__(self, kernel: KernelOperator, targets: int) -> None:
        triangles = int((FACTOR_BYTES / 8 / max(targets, 1)) ** 0.5)
        lines = FACTOR_BYTES // (8 * max(kernel.m, 1))
        self.kernel = kernel
        self.most = max(1, min(kernel.m, LARGEST_RANK, lines, triangles))
        self.factor: Factor | None = None

    def solve(self, system: KernelSystem) -> None:
        """Solve all systems, with better preconditioners while they take long."""
        numbers = np.arange(len(system.residual))
        while True:
            precondition: Precondition = _unchanged
            if self.factor is not None and self.factor.rank > 0:
                along = None if system.along is None else system.along[numbers]
                precondition = Preconditioner(
                    self.factor.lines, numbers, system.roots[numbers], along
                )
            numbers = system.iterate(numbers, precondition, self._patience())
            if not len(numbers) or deadline_reached() or not self._improve():
                return

    def _improve(self) -> bool:
        """Enlarge the factor of K; tell whether there is a better one."""
        if self.factor is None:
            self.factor = Factor(self.kernel.kernel_rows, self.kernel.diagonal, self.most)
        rank = self.factor.rank
        self.factor.grow(max(FIRST_RANK, 2 * rank))
        return self.factor.rank > rank

    def _patience(self) -> int:
        """Return how many iterations take about as long as making the next preconditioner.

        So all takes at most about twice the time of the best choice. An iteration multiplies m x
        width numbers and waits for memory; rank r takes m r² multiplications from cache, which
        are six times as fast, twice.
        """
        if self.factor is not None and self.factor.full:
            return MOST_ITERATIONS
        rank = FIRST_RANK if self.factor is None else 2 * self.factor.rank
        iterations = min(rank, self.most) ** 2 / (3 * self.kernel.rows.width)
        return int(min(max(iterations, LEAST_PATIENCE), MOST_ITERATIONS))


class Preconditioner:
    """Inverses of I + W LᵀL W by Woodbury's identity, a small triangle for each of some systems.

    Parameters
    ----------
    L : factor of K, rank x rows.
    numbers : numbers of the systems, in ascending order.
    roots : W, systems x rows.
    aside : directions of length 1 (systems x rows) that are projected out, or None.
    """

    def __init__(self, L: Array, numbers: Array, roots: Array, aside: Array | None) -> None:
        self.L, self.numbers, self.roots, self.aside = L, numbers, roots, aside
        rank, squares = len(L), roots * roots
        small = np.zeros((len(roots), rank, rank))
        projected = None if aside is None else _times_transposed(roots * aside, L)

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
        """Return the inverses times columns, the k-th of which belongs to system numbers[k]."""
        places = np.searchsorted(self.numbers, numbers)
        roots = self.roots[places]
        small = _times_transposed(roots * columns, self.L)

        def work(k: int) -> None:
            triangle = (self.triangles[places[k]], True)
            small[k] = linalg.cho_solve(triangle, small[k], check_finite=False)

        run_each(work, range(len(columns)))
        out = columns - roots * _times_factor(small, self.L)
        return out if self.aside is None else without(out, self.aside[places])


def _unchanged(columns: Array, numbers: Array) -> Array:
    return columns


def dots(left: Array, right: Array) -> Array:
    """Return the dot product of each row, by sums that do not depend on threads as BLAS's do."""
    return np.asarray((left * right).sum(axis=1))


def without(columns: Array, aside: Array) -> Array:
    """Return columns less their part along directions of length 1."""
    return np.asarray(columns - (columns * aside).sum(axis=1, keepdims=True) * aside)


def _times_transposed(columns: Array, L: Array) -> Array:
    out = np.empty((len(columns), len(L)))

    def work(tile: slice) -> None:
        out[:, tile] = columns @ L[tile].T

    run_each(work, slices(len(L), TILE))
    return out


def _times_factor(small: Array, L: Array) -> Array:
    out = np.empty((len(small), L.shape[1]))

    def work(tile: slice) -> None:
        out[:, tile] = small @ L[:, tile]

    run_each(work, slices(L.shape[1], STRIP))
    return out
