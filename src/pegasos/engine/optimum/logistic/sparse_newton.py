"""The logistic loss on many sparse rows: Newton's method for the weights themselves, its steps by conjugate gradients.

With a_i = C_i σ(-m_i) the gradient is g = w - Σ a_i y_i x_i, and the gap of the pair (w, a) is ‖g‖²/2 exactly. Newton's step δ
solves (I + Σ D_i x_i x_iᵀ) δ = -g, D_i = a_i σ(m_i), with two products an iteration, of X and of its transpose: Σ D_i x_i x_iᵀ is
never made. What conjugate gradients leave, ‖ρ‖²/2, will be left of the gap (as far as F is quadratic): that is when to stop them.
After a step a - D y (X δ) in its box is a second dual candidate, much the better one where C is large.

An epoch of coordinate ascent takes the time of ten or twenty products on one core, and these use all of them: so from some
thousand rows on no epoch comes first. Large C is reached in stages, each ten times the last.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pegasos.engine.optimum.logistic.logistic_state import (
    derivatives,
    dot,
    dual_terms,
    loss_of_scores,
)
from pegasos.engine.optimum.problem import Intercept, Optimum, Target
from pegasos.engine.rows.features import row_parts, row_tiles
from pegasos.engine.runtime.compiling import announced, compiled
from pegasos.engine.runtime.interruption import check_interruption, tell_gap
from pegasos.engine.runtime.threads import run_blocks

Array = np.ndarray[Any, Any]

#: Newton steps at most, steps without a better gap after which nothing more is to be had, and products for one step.
MOST_STEPS, PATIENCE, MOST_ITERATIONS = 60, 4, 300
#: A gap is better if it is smaller by this part.
LEAST_PROGRESS = 1e-3
#: Part of the model's decrease that conjugate gradients may leave, and part of the gap asked for.
LEFT_OF_MODEL, LEFT_OF_GAP = 0.05, 0.2
#: The preconditioner is the diagonal to this power: the diagonal itself serves words of which few are in most rows, but it tears
#: apart columns that belong together, as those of rows of length one and the constant feature do. (Measured: 1/2 to 4/5 do.)
POWER = 2.0 / 3.0
#: Stages: C·K_ii of the first one, how much larger that of the next one is, and the relative gap that suffices to enter it.
FIRST_STAGE, STAGE_FACTOR, STAGE_GAP = 10.0, 10.0, 0.5
#: A step is halved until it lowers F by this share of what its slope promises.
PROMISED, MOST_HALVINGS = 1e-4, 30


def solve_logistic_sparsely(
    X: Any, targets: list[Target], intercept: Intercept, tol: float, members: Array | None = None
) -> list[Optimum]:
    """Each target on these CSR rows until its relative gap is at most tol, or as near as this gets; not for a free intercept."""
    products = _Products(X if members is None else X[members], intercept is Intercept.AUGMENTED)
    with announced("sparse-newton"):
        return [_Descent(products, target, tol).solve() for target in targets]


class _Products:
    """X·v and Xᵀ·c in parts whose sums are always taken in the same order; a constant feature is the last of v."""

    def __init__(self, X: Any, constant: bool) -> None:
        self._parts, self.constant = row_parts(X), constant
        self.count, self.width = X.shape
        self.size = self.width + constant

    def scores(self, vector: Array) -> Array:
        out = np.empty(self.count)

        def work(numbers: slice, _: slice) -> None:
            rows, X = self._parts[numbers.start]
            out[rows] = X @ vector[: self.width]

        check_interruption()
        run_blocks(row_tiles(len(self._parts), 1), work)
        if self.constant:
            out += vector[-1]
        return out

    def combined(self, coefficients: Array) -> Array:
        """Σ c_i x_i."""
        return self._summed(lambda rows, X: X.T @ coefficients[rows], coefficients)

    def squares(self, weights: Array) -> Array:
        """Σ weights_i x_i², feature by feature."""

        def own(rows: slice, X: Any) -> Array:
            sums = np.zeros(self.width)
            _add_squares(X.indptr, X.indices, X.data, weights[rows], sums)
            return sums

        return self._summed(own, weights)

    def _summed(self, part_of: Any, coefficients: Array) -> Array:
        sums: list[Array] = [coefficients] * len(self._parts)

        def work(numbers: slice, _: slice) -> None:
            sums[numbers.start] = part_of(*self._parts[numbers.start])

        run_blocks(row_tiles(len(self._parts), 1), work)
        out = np.empty(self.size)
        out[: self.width] = sum(sums[1:], sums[0])
        if self.constant:
            out[-1] = coefficients.sum()
        return out

    def largest(self) -> float:
        """The largest squared length of a row."""
        # of a row without numbers this is a number of the next one, which is no larger than that row
        lengths = [
            np.add.reduceat(np.append(X.data**2, 0.0), X.indptr[:-1])
            for _, X in self._parts
            if X.nnz
        ]
        return max((float(each.max()) for each in lengths), default=0.0) + self.constant


class _Descent:
    """One target: its vector and scores, and at them: a, y a combined, the gradient, and the best pair that was seen."""

    def __init__(self, products: _Products, target: Target, tol: float) -> None:
        self._products, self._tol = products, tol
        self._labels = np.ascontiguousarray(target.labels, dtype=np.float64)
        self._all_bounds = np.ascontiguousarray(target.bounds, dtype=np.float64)
        self._vector, self._scores = np.zeros(products.size), np.zeros(products.count)
        self._second: Array | None = None
        steepest = products.largest() * float(self._all_bounds.max(initial=0.0))
        self._enter(FIRST_STAGE / steepest if 0.0 < steepest < math.inf else 1.0)
        self.course: list[tuple[float, float]] = []

    def solve(self) -> Optimum:
        steps = idle = 0
        while True:
            better = self._look()
            if self._share == 1.0:
                self.course.append((self._primal, self._bound))
                tell_gap(self._relative, self._tol)
                if self._relative <= self._tol and self._exact():
                    break
                idle = 0 if better else idle + 1
                if idle >= PATIENCE:
                    break
            elif self._relative <= STAGE_GAP:
                self._enter(STAGE_FACTOR * self._share)
                continue
            if steps == MOST_STEPS:
                break
            steps += 1
            self._step()
        if self._share < 1.0:
            self._enter(1.0)
            self._look()
        self._exact()
        vector = self._vector[: self._products.width].copy()
        bias = float(self._vector[-1]) if self._products.constant else 0.0
        return Optimum(
            vector, bias, self._dual, self._primal, self._bound, steps, tuple(self.course)
        )

    @property
    def _relative(self) -> float:
        return (self._primal - self._bound) / self._primal if self._primal > 0.0 else 0.0

    def _enter(self, share: float) -> None:
        """Go on with this part of the bounds."""
        self._share = 1.0 if share > 0.99 else share
        self._bounds = self._share * self._all_bounds
        self._dual, self._bound, self._second = np.zeros(len(self._bounds)), 0.0, None
        self._least = math.inf

    def _look(self) -> bool:
        """a, the gradient and the gap here; whether the gap is smaller than any before."""
        push, self._curvature = np.empty_like(self._scores), np.empty_like(self._scores)
        derivatives(self._labels, self._bounds, self._scores, 0.0, push, self._curvature)
        combined = self._products.combined(push)
        self._push, self._gradient = push, self._vector - combined
        self._primal = self._value(self._vector, self._scores)
        self._offer(push, combined)
        if self._second is not None and self._relative > self._tol:
            self._offer_between(push, combined, self._second, self._products.combined(self._second))
        before, self._least = self._least, min(self._least, self._primal - self._bound)
        return self._least < (1.0 - LEAST_PROGRESS) * before

    def _offer_between(
        self, push: Array, combined: Array, second: Array, second_combined: Array
    ) -> None:
        """The second candidate, and the one between both where the gap should be least."""
        gaps = (
            self._primal - self._offer(push, combined),
            self._primal - self._offer(second, second_combined),
        )
        if min(gaps) > 0.0 and math.isfinite(sum(gaps)):
            t = gaps[0] / sum(gaps)
            self._offer((1.0 - t) * push + t * second, (1.0 - t) * combined + t * second_combined)

    def _offer(self, coefficients: Array, combined: Array) -> float:
        """G of these coefficients y a, which are kept if it is the best."""
        dual = self._labels * coefficients
        bound = float(dual_terms(self._bounds, dual)) - 0.5 * dot(combined, combined)
        if bound > self._bound:
            self._dual, self._bound = dual, bound
        return bound

    def _value(self, vector: Array, scores: Array) -> float:
        return 0.5 * dot(vector, vector) + float(
            loss_of_scores(self._labels, self._bounds, scores, 0.0)
        )

    def _exact(self) -> bool:
        """The objective of the very vector, without the rounding of many steps; whether the gap is still small enough."""
        self._scores = self._products.scores(self._vector)
        self._primal = self._value(self._vector, self._scores)
        return self._relative <= self._tol

    def _step(self) -> None:
        move, scores = self._direction()
        slope = dot(self._gradient, move)
        if not slope < 0.0:  # no way down, by rounding: the gradient is one
            move = -self._gradient
            scores, slope = self._products.scores(move), -dot(move, move)
        second = self._labels * (self._push - self._curvature * scores)
        self._second = self._labels * np.clip(second, 0.0, self._bounds)
        t, allowed = 1.0, 1e-14 * abs(self._primal)
        for _ in range(MOST_HALVINGS):
            value = self._value(self._vector + t * move, self._scores + t * scores)
            if value <= self._primal + PROMISED * t * slope + allowed:
                break
            t *= 0.5
        self._vector, self._scores = self._vector + t * move, self._scores + t * scores

    def _direction(self) -> tuple[Array, Array]:
        """Newton's step and its scores, by conjugate gradients."""
        products, curvature, gradient = self._products, self._curvature, self._gradient
        tol = self._tol if self._share == 1.0 else STAGE_GAP
        inverse = (1.0 + products.squares(curvature)) ** -POWER
        move, move_scores, residual = np.zeros(products.size), np.zeros(products.count), -gradient
        improved = inverse * residual
        direction, height = improved, dot(residual, improved)
        for _ in range(MOST_ITERATIONS):
            scores = products.scores(direction)
            image = direction + products.combined(curvature * scores)
            bend = dot(direction, image)
            if not 0.0 < bend < math.inf:
                break
            length = height / bend
            move, move_scores, residual = (
                move + length * direction,
                move_scores + length * scores,
                residual - length * image,
            )
            fallen = 0.5 * (dot(move, residual) - dot(move, gradient))
            if 0.5 * dot(residual, residual) <= max(
                LEFT_OF_GAP * tol * self._primal, LEFT_OF_MODEL * fallen
            ):
                break
            improved = inverse * residual
            before, height = height, dot(residual, improved)
            direction = improved + (height / before) * direction
        return move, move_scores


@compiled
def _add_squares(ends: Array, columns: Array, values: Array, weights: Array, sums: Array) -> None:
    for i in range(weights.size):
        for p in range(ends[i], ends[i + 1]):
            sums[columns[p]] += weights[i] * values[p] * values[p]
