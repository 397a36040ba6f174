"""Conjugate gradients for (I + W K W) v = W K r: many systems in step, each preconditioned as soon as that pays."""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.engine.optimum.function_space import FunctionSpace
from pegasos.engine.optimum.low_rank import Factor, Preconditioner, without
from pegasos.engine.runtime.interruption import deadline_reached

Array = np.ndarray[Any, Any]

#: The first rank of a factor of K, doubled as need be up to the largest; the memory it may take, and the triangles made of it.
FIRST_RANK = 128
LARGEST_RANK = 1024
FACTOR_BYTES = 2**28
#: Iterations before a better preconditioner is thought of, and with the best one.
LEAST_PATIENCE = 6
MOST_ITERATIONS = 300
#: Uses of a preconditioner that are weighed, too, on explicit rows.
USES = 100


def largest_rank(m: int, targets: int) -> int:
    """The largest factor within the memory allowed."""
    return max(
        1,
        min(
            m,
            LARGEST_RANK,
            FACTOR_BYTES // (8 * max(m, 1)),
            int((FACTOR_BYTES / 8 / max(targets, 1)) ** 0.5),
        ),
    )


def systems_bytes(m: int, targets: int) -> int:
    """An upper estimate of all arrays of `Systems`."""
    rank = largest_rank(m, targets)
    return 8 * rank * (m + (targets + 1) * rank) + 8 * targets * m * 14


class Systems:
    """The systems of one Newton step after the other; what was learned about K, and about who is slow, is kept."""

    def __init__(self, space: FunctionSpace, targets: int) -> None:
        self.space = space
        self.most = largest_rank(space.m, targets)
        self.factor: Factor | None = None
        self.slow = np.zeros(targets, dtype=bool)
        self.products = 0

    def solve(self, system: System, targets: Array) -> None:
        """Solve the systems of these targets."""
        numbers = np.arange(len(targets))
        while True:
            chosen = numbers[self.slow[targets[numbers]]]
            inverse = None
            if len(chosen) and self.factor is not None:
                inverse = Preconditioner(
                    self.factor.lines, chosen, system.roots[chosen], system.along(chosen)
                )
            numbers = self._iterate(system, numbers, inverse, self._patience(len(numbers), inverse))
            if not len(numbers) or deadline_reached() or not self._improve(targets[numbers]):
                break

    def _improve(self, targets: Array) -> bool:
        """Whether there is a better preconditioner for these: the factor that others have, or a larger one."""
        if self.slow[targets].all():
            if self.factor is None or self.factor.full:
                return False
            self.factor.grow(2 * self.factor.rank)
        elif self.factor is None:
            self.factor = Factor(self.space.kernel_rows, self.space.diagonal, self.most)
            self.factor.grow(FIRST_RANK)
        self.slow[targets] = True
        return self.factor.rank > 0

    def _patience(self, columns: int, inverse: Preconditioner | None) -> int:
        """As many iterations as take the time of making the next preconditioner: at most twice the time of the best choice."""
        rank = FIRST_RANK
        if inverse is not None and self.factor is not None:
            if self.factor.full:
                return MOST_ITERATIONS
            rank = 2 * self.factor.rank
        rank, m = min(rank, self.most), self.space.m
        making = (
            2.0 * m * rank
            + self.space.nanoseconds(1) * rank / m
            + 0.1 * m * rank**2
            + columns * (0.06 * m * rank**2 + 0.03 * rank**3)
        )
        if (
            not self.space.rows.dual
        ):  # with few numbers a row to use it takes as long as a product, again and again
            making += USES * 1.25 * m * rank * columns
        return int(
            min(max(making / self.space.nanoseconds(columns), LEAST_PATIENCE), MOST_ITERATIONS)
        )

    def _iterate(
        self, system: System, numbers: Array, inverse: Preconditioner | None, most: int
    ) -> Array:
        """At most so many iterations; who is not done after them."""

        def preconditioned(columns: Array) -> Array:
            return columns if inverse is None else inverse(columns, numbers)

        roots = system.roots[numbers]
        improved = preconditioned(system.residual[numbers])
        direction, height = improved, _dots(system.residual[numbers], improved)
        for _ in range(most):
            scores = self.space.scores(roots * direction)
            self.products += len(numbers)
            image = system.project(direction + roots * scores, numbers)
            with np.errstate(divide="ignore", invalid="ignore"):
                length = height / _dots(direction, image)
            broken = ~(np.isfinite(length) & (length > 0))
            length[broken] = 0.0
            system.advance(numbers, length[:, None], direction, scores, image)
            going = ~(system.solved(numbers) | broken)
            if not going.any():
                return numbers[:0]
            if deadline_reached():
                break
            if not going.all():
                numbers, roots = numbers[going], roots[going]
                direction, height = direction[going], height[going]
            improved = preconditioned(system.residual[numbers])
            before, height = height, _dots(system.residual[numbers], improved)
            direction = improved + (height / before)[:, None] * direction
        return numbers


class System:
    """All systems of one Newton step: v, K W v and the residual ρ of each, targets x m.

    One is solved when ‖ρ‖²/2 is below `gaps`, or below the part `left` of what the model of F has fallen by. With `centred` the
    system is projected: v is orthogonal to W.
    """

    def __init__(
        self, roots: Array, rest: Array, rest_scores: Array, gaps: Array, left: Array, centred: bool
    ) -> None:
        self.roots, self.rest, self.rest_scores, self.gaps, self.left = (
            roots,
            rest,
            rest_scores,
            gaps,
            left,
        )
        self.solution, self.scores = np.zeros_like(rest), np.zeros_like(rest)
        self._along = None
        if centred:
            lengths = np.sqrt(_dots(roots, roots))[:, None]
            self._along = roots / np.where(lengths > 0, lengths, 1.0)
        self.residual = self.project(roots * rest_scores, np.arange(len(roots)))

    def along(self, numbers: Array) -> Array | None:
        """Directions of length 1 that are projected out."""
        return None if self._along is None else self._along[numbers]

    def project(self, columns: Array, numbers: Array) -> Array:
        return columns if self._along is None else without(columns, self._along[numbers])

    def advance(
        self, numbers: Array, length: Array, direction: Array, scores: Array, image: Array
    ) -> None:
        self.solution[numbers] += length * direction
        self.scores[numbers] += length * scores
        self.residual[numbers] -= length * image

    def steps(self, numbers: Array) -> tuple[Array, Array, Array]:
        """Newton's step δ of the coefficients, its scores K δ, and δb."""
        roots = self.roots[numbers]
        steps = self.rest[numbers] - roots * self.solution[numbers]
        scores = self.rest_scores[numbers] - self.scores[numbers]
        if self._along is None:
            return steps, scores, np.zeros(len(numbers))
        weights = roots * roots
        total = weights.sum(axis=1)
        return steps, scores, -_dots(weights, scores) / np.where(total > 0, total, 1.0)

    def solved(self, numbers: Array) -> Array:
        residual = self.residual[numbers]
        steps, scores, shift = self.steps(numbers)
        bends = self.roots[numbers] * (scores + shift[:, None])
        fallen = (
            _dots(self.rest[numbers], scores)
            - 0.5 * _dots(steps, scores)
            - 0.5 * _dots(bends, bends)
        )
        return 0.5 * _dots(residual, residual) <= np.maximum(
            self.gaps[numbers], self.left[numbers] * fallen
        )


def _dots(left: Array, right: Array) -> Array:
    """Row by row; pairwise sums, and not BLAS, whose threads would change the bits."""
    return np.asarray((left * right).sum(axis=1))
