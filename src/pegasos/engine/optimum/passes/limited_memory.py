"""L-BFGS for the logistic loss on wide rows, where a Hessian costs many gradients.

An iteration is one pass over the rows, at one point for each predictor. At a = C σ(-m) the duality
gap is exactly ‖gradient‖²/2, so every pass is certified. If the objective decreases too little, the
next point is nearer to the last one, where a parabola has its minimum.

References
----------
Nocedal (1980), Updating quasi-Newton matrices with limited storage.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import expit

from pegasos.engine.optimum.passes.passes import (
    LabelledBlocks,
    Passes,
    Predictor,
    SolverState,
    solve_chains,
    with_dual,
)
from pegasos.engine.optimum.problem import Intercept, Optimum, Target
from pegasos.engine.rows.blocks import MATRIX_BYTES, Block, Part
from pegasos.engine.runtime.interruption import deadline_reached

Array = np.ndarray[Any, Any]

#: Gradients before Newton's method takes over (measured: 20,000 x 1,000 rows take 12 to 49).
MOST_GRADIENTS = 120
#: Pairs of steps and gradient changes that are kept.
MOST_PAIRS = 20


def solve_logistic_by_gradients(
    X: Any, targets: list[Target], intercept: Intercept, tol: float, members: Array | None = None
) -> list[Optimum | None]:
    """Solve targets on rows in memory, without a free intercept; None where it takes too long."""
    count = X.shape[0] if members is None else len(members)
    optima: list[Optimum | None] = []
    with LabelledBlocks(X, np.arange(count), members=members) as blocks:
        chains = [[target] for target in targets]
        found = solve_by_gradients(blocks, chains, intercept, tol, MOST_GRADIENTS)
        for target, [own] in zip(targets, found, strict=True):
            is_solved = own.relative <= tol or deadline_reached()
            optima.append(with_dual(blocks, target, own, _coefficients) if is_solved else None)
    return optima


def solve_by_gradients(
    blocks: Passes,
    chains: Sequence[Sequence[Predictor]],
    intercept: Intercept,
    tol: float,
    most: int = 1000,
) -> list[list[Optimum]]:
    """Solve all predictors to a relative gap of tol (see `solve_chains`); no free intercept."""
    size = blocks.width + (intercept is Intercept.AUGMENTED)

    def make_state(_: int, predictor: Predictor, before: _GradientState | None) -> _GradientState:
        start = np.zeros(size) if before is None else before.best
        return _GradientState(predictor, blocks.width, start)

    def run_pass(states: list[_GradientState]) -> None:
        requests = [(state.predictor, state.point) for state in states]
        for state, *own in zip(states, *blocks.map_sum(_gradients, requests).sums, strict=True):
            state.update(*own)

    at_once = max(1, MATRIX_BYTES // (8 * 3 * size))
    return solve_chains(chains, at_once, make_state, run_pass, tol, most)


class _GradientState(SolverState):
    """Solver state of one predictor: best vector and gradient, next point, and pairs of changes."""

    def __init__(self, predictor: Predictor, width: int, start: Array) -> None:
        super().__init__(width)
        self.predictor, self.best, self.point = predictor, start, start
        self.gradient: Array | None = None
        self.step = np.zeros_like(start)
        self.pairs: deque[tuple[Array, Array]] = deque(maxlen=MOST_PAIRS)
        self.is_trivial = sum(predictor.label_weights) <= 0.0
        if self.is_trivial:
            self.best, self.primal, self.bound = np.zeros_like(start), 0.0, 0.0

    def update(self, loss: float, combined: Array) -> None:
        """Certify the point of a pass; move there and choose the next one, or go back."""
        before, gradient = self.relative if self.history else np.inf, self.point - combined
        primal = float(0.5 * self.point @ self.point + loss)
        bound = primal - float(0.5 * gradient @ gradient)
        if bound > self.bound:
            self.bound, self.dual = bound, self.point
        slope = 0.0 if self.gradient is None else float(self.gradient @ self.step)
        if self.gradient is None or primal <= self.primal + 1e-4 * slope + 1e-14 * primal:
            self._move(primal, gradient)
        else:
            shrinkage = -0.5 * slope / (primal - self.primal - slope)
            self.step = min(max(shrinkage, 0.1), 0.5) * self.step
        self.point = self.best + self.step
        self.record(before)

    def _move(self, primal: float, gradient: Array) -> None:
        """Move to the point, and compute the step to the next one."""
        if self.gradient is not None:
            change = gradient - self.gradient
            if self.step @ change > 0.0:
                self.pairs.append((self.point - self.best, change))
        self.best, self.primal, self.gradient = self.point, primal, gradient
        self.step = self._two_loop_step(-gradient)

    def _two_loop_step(self, d: Array) -> Array:
        """Return the two-loop recursion of L-BFGS, applied to the negative gradient d."""
        if not self.pairs:
            return d / max(1.0, float(np.linalg.norm(d)))
        alpha = []
        for step, change in reversed(self.pairs):
            alpha.append(float(step @ d) / float(step @ change))
            d = d - alpha[-1] * change
        step, change = self.pairs[-1]
        d = d * (float(step @ change) / float(change @ change))
        for step, change in self.pairs:
            d = d + (alpha.pop() - float(change @ d) / float(step @ change)) * step
        return d


def _gradients(block: Block, requests: list[tuple[Predictor, Array]]) -> Part:
    """Return Σ C log(1 + exp(-m)) and Σ a y x of a block for each predictor."""
    rows, losses = block.whole(), np.empty(len(requests))
    combined = np.empty((len(requests), len(requests[0][1])))
    for j, (predictor, vector) in enumerate(requests):
        labels, bounds = predictor.labels_and_bounds(block.own)
        margins = labels * block.scores(rows, vector)
        losses[j] = bounds @ np.logaddexp(0.0, -margins)
        block.combine(rows, (labels * bounds * expit(-margins))[None], combined[j : j + 1])
    return Part((losses, combined))


def _coefficients(block: Block, labels: Array, bounds: Array, vector: Array) -> Array:
    """Return a = C σ(-m) of a block's rows."""
    return np.asarray(bounds * expit(-labels * block.scores(block.whole(), vector)))
