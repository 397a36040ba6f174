"""Preconditioned conjugate gradients for the systems of a Newton step, several in step.

On a kernel Newton's step δ of the coefficients comes from a symmetric system: with β, D and r = β - c
as in `logistic_state` and W = D½

    δ = r - W v,   (I + W K W) v = W K r

A free intercept stands at its best at any time, and its direction W is projected out of the system.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pegasos.engine.optimum.function_space import FunctionSpace
from pegasos.engine.optimum.low_rank import Factor, Preconditioner, without
from pegasos.engine.runtime.interruption import deadline_reached

Array = np.ndarray[Any, Any]
Precondition = Callable[[Array, Array], Array]

#: The first rank of a factor of K, which is doubled up to the largest; the memory that it may take,
#: and the triangles made of it.
FIRST_RANK, LARGEST_RANK, FACTOR_BYTES = 128, 1024, 2**28
#: Iterations before a better preconditioner is considered, and with the best one.
LEAST_PATIENCE, MOST_ITERATIONS = 6, 300


class System:
    """Positive definite systems A v = b, one per row of the arrays, solved in step.

    A system counts as solved when its residual ρ has ‖ρ‖²/2 below `gaps`, or below the share `left` of
    the decrease of the quadratic model. The gap after the step is about ‖ρ‖²/2.
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
        space: FunctionSpace,
        roots: Array,
        rest: Array,
        rest_scores: Array,
        gaps: Array,
        left: Array,
        centered: bool,
    ) -> None:
        self.space, self.roots, self.rest, self.rest_scores = space, roots, rest, rest_scores
        lengths = np.sqrt(dots(roots, roots))[:, None]
        #: Directions of length 1 that are projected out.
        self.along = roots / np.where(lengths > 0, lengths, 1.0) if centered else None
        right = self._project(roots * rest_scores, np.arange(len(roots)))
        super().__init__(right, space.m, gaps, left)

    def product(self, direction: Array, numbers: Array) -> tuple[Array, Array]:
        roots = self.roots[numbers]
        scores = self.space.scores(roots * direction)
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
        steps, scores, shift = self.steps(numbers)
        bends = self.roots[numbers] * (scores + shift[:, None])
        return np.asarray(dots(self.rest[numbers] - 0.5 * steps, scores) - 0.5 * dots(bends, bends))

    def _project(self, columns: Array, numbers: Array) -> Array:
        return columns if self.along is None else without(columns, self.along[numbers])


class KernelSystems:
    """Solver of the systems of successive Newton steps.

    The factor of K that preconditions them is kept, and for which targets it pays.
    """

    def __init__(self, space: FunctionSpace, targets: int) -> None:
        triangles = int((FACTOR_BYTES / 8 / max(targets, 1)) ** 0.5)
        lines = FACTOR_BYTES // (8 * max(space.m, 1))
        self.space = space
        self.most = max(1, min(space.m, LARGEST_RANK, lines, triangles))
        self.factor: Factor | None = None
        self.slow = np.zeros(targets, dtype=bool)

    def solve(self, system: KernelSystem, targets: Array) -> None:
        """Solve the systems of these targets, with better preconditioners while they take long."""
        numbers = np.arange(len(targets))
        while True:
            chosen = numbers[self.slow[targets[numbers]]]
            precondition: Precondition = _unchanged
            if len(chosen) and self.factor is not None:
                along = None if system.along is None else system.along[chosen]
                lines = self.factor.lines
                precondition = Preconditioner(lines, chosen, system.roots[chosen], along)
            patience = self._patience(len(numbers), precondition is not _unchanged)
            numbers = system.iterate(numbers, precondition, patience)
            if not len(numbers) or deadline_reached() or not self._improve(targets[numbers]):
                break

    def _improve(self, targets: Array) -> bool:
        """Provide a better preconditioner, the factor of other targets or a larger one, if there is any."""
        if self.slow[targets].all():
            if self.factor is None or self.factor.full:
                return False
            self.factor.grow(2 * self.factor.rank)
        elif self.factor is None:
            self.factor = Factor(self.space.kernel_rows, self.space.diagonal, self.most)
            self.factor.grow(FIRST_RANK)
        self.slow[targets] = True
        return self.factor.rank > 0

    def _patience(self, columns: int, preconditioned: bool) -> int:
        """Return the iterations that take as long as making the next preconditioner.

        So all takes at most twice the time of the best choice. Times are in nanoseconds.
        """
        rank = FIRST_RANK
        if preconditioned and self.factor is not None:
            if self.factor.full:
                return MOST_ITERATIONS
            rank = 2 * self.factor.rank
        rank, m = min(rank, self.most), self.space.m
        making = 2.0 * m * rank + self.space.nanoseconds(1) * rank / m + 0.1 * m * rank**2
        making += columns * (0.06 * m * rank**2 + 0.03 * rank**3)
        if (
            not self.space.rows.dual
        ):  # on few features each of about 100 uses takes as long as a product
            making += 100 * 1.25 * m * rank * columns
        iterations = making / self.space.nanoseconds(columns)
        return int(min(max(iterations, LEAST_PATIENCE), MOST_ITERATIONS))


def _unchanged(columns: Array, numbers: Array) -> Array:
    return columns


def dots(left: Array, right: Array) -> Array:
    """Return the dot product of each row; pairwise sums, because the bits of BLAS depend on its threads."""
    return np.asarray((left * right).sum(axis=1))
