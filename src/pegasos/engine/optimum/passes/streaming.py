"""The optimum in passes over rows of which nothing is kept between passes: beyond memory, and beyond one machine.

Newton's method on F_μ(w) = ‖w‖²/2 + Σ φ_μ(m_i) while μ goes to zero, where φ_μ(m) = min over s, ξ > 0 with s - ξ = m - 1 of
C ξ - μ log s - μ log ξ is the hinge loss with rounded corners: a = -φ' is a point of the central path, φ'' = 1/(s/a + ξ/(C - a)).
(The logistic loss is smooth as it is: μ stays 0.) F_μ/μ is self-concordant, so that damped steps arrive from anywhere.

An iteration is **one** pass. It takes the vector w, the direction and a guess of the step's length; it tells the values of
F_μ after several lengths, and gradient and matrix after the guessed one. Only where that one was much worse than another length
is the next pass spent on the same direction. a follows from margins alone, so every pass has two feasible dual points: that of
the new vector, and the tangent from the old one, which the full step would lead to.

On wide rows no matrix is made: for the logistic loss past gradients shape the direction (L-BFGS), in the same passes otherwise;
for the hinge loss there is `cutting_planes.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.engine.optimum.normal_matrix import NormalMatrix
from pegasos.engine.optimum.passes import streaming_rows
from pegasos.engine.optimum.passes.passes import MOST_FEATURES, Certified, Column, Passes, follow
from pegasos.engine.optimum.passes.streaming_rows import (
    FIRST,
    LOSS,
    NEW,
    RIGHT,
    SUMS,
    TANGENT,
    WEIGHT,
)
from pegasos.engine.optimum.problem import Intercept
from pegasos.engine.rows.blocks import MATRIX_BYTES, WIDE, Block, Part
from pegasos.engine.runtime.compiling import announced
from pegasos.engine.walk.losses import Loss

Array = np.ndarray[Any, Any]

#: Lengths of steps whose values every pass tells, and how much of the best one's gain the guessed one must have.
STEPS = np.array([0.0, 1.0, 0.6, 0.3, 0.15, 0.06, 0.02, 0.005])
GOOD_SHARE, SHORTEST = 0.3, STEPS[-1]
#: How far μ falls at once, at first and at best, and where steps had to be short.
FALL, SLOW_FALL = 0.1, 0.5
#: How near the path a point must be for that, by the decrement √(gradient·step/μ). As long as the gap is large a share of √rows
#: will do: half the decrement's square is how far F_μ is from its least in units of μ, the path's gap about as many as rows.
NEAR, NEAR_SHARE, LARGE_GAP = 10.0, 0.05, 0.02
#: The last μ, as a share of the one whose gap would be the tolerance.
LAST = 0.3
#: The first μ of a predictor that begins where another ended, as a share of the one whose gap would be the whole objective.
START = 0.1
#: Past steps that shape the next one on wide rows.
PAST = 20


@dataclass(frozen=True)
class Order:
    """What a pass is to do for one predictor; vectors: w, its change, and the new point."""

    column: Column
    vectors: Array
    mu: float
    aim: float
    steps: Array
    precise: bool


def solve_in_passes(
    blocks: Passes,
    loss: Loss,
    chains: Sequence[Sequence[Column]],
    intercept: Intercept,
    tol: float,
    most: int = 1000,
) -> list[list[Certified]]:
    """All columns, each until its relative gap is at most tol; every pass serves all that are under way (see `follow`)."""
    square = blocks.width <= MOST_FEATURES
    numbers = (blocks.width + 1) ** 2 if square else 3 * (blocks.width + 1)
    make, sides = _Path if square else _WidePath, 2 if intercept is Intercept.FREE else 1

    def begin(column: Column, before: _Path | None) -> _Path:
        return make(column, blocks.width, loss, intercept, tol, before)

    def serve(paths: list[_Path]) -> None:
        part = blocks.map_sum(
            _look, loss.linear_dual, [path.order() for path in paths], sides, square
        )
        for path, *own in zip(paths, *part.sums, strict=True):
            path.arrive(*own)

    return follow(chains, max(1, MATRIX_BYTES // (8 * numbers)), begin, serve, tol, most)


class _Path:
    """Where one predictor stands: its vector (the intercept last, if there is one), the direction, and the best pair so far."""

    def __init__(
        self,
        column: Column,
        width: int,
        loss: Loss,
        intercept: Intercept,
        tol: float,
        before: _Path | None = None,
    ) -> None:
        self.column, self.width, self.tol = column, width, tol
        self.hinge = loss.linear_dual
        self.free = intercept is Intercept.FREE
        self.diagonal = np.ones(width + (intercept is not Intercept.NONE))
        if self.free:
            self.diagonal[-1] = 0.0
        self.vector = self.move = self.best = np.zeros(len(self.diagonal))
        self.mu = self.aim = (
            column.unit * sum(column.sides) / max(1, column.rows) if self.hinge else 0.0
        )
        self.fall, self.guess, self.last = FALL, 1.0, LAST
        self.primal, self.bound = np.inf, -np.inf
        self.course: list[tuple[float, float]] = []
        self.since = 0
        self.trivial = sum(column.sides) <= 0.0 or (self.free and min(column.sides) <= 0.0)
        if self.trivial:  # no rows, or one label and a free intercept: this margin is without loss
            self.best = self.best.copy()
            if self.free:
                self.best[-1] = (1.0 if self.hinge else 800.0) * (
                    1.0 if column.sides[0] > 0.0 else -1.0
                )
            self.primal = self.bound = 0.0
        elif before is not None:
            self._begin_at(before)

    def _begin_at(self, before: _Path) -> None:
        """The best vector for the same rows and another C; the higher μ, the more that may change."""
        self.vector = self.best = before.best
        squared = self._squared(before.best)
        objective = squared + self.column.unit / before.column.unit * (before.primal - squared)
        if self.hinge:
            self.mu = self.aim = min(self.mu, START * objective / max(1, self.column.rows))

    @property
    def relative(self) -> float:
        return (self.primal - self.bound) / self.primal if self.primal > 0.0 else 0.0

    def order(self) -> Order:
        first = not self.course
        vectors = np.stack([self.vector, self.move, self.vector + self.guess * self.move])
        steps = np.zeros(0) if first else np.append(STEPS, self.guess)
        precise = self.width < WIDE or self.relative < 1e-3 or self.since > 3
        return Order(self.column, vectors, self.mu, self.aim, steps, precise)

    def arrive(
        self, sums: Array, values: Array, combinations: Array, matrix: Array | None = None
    ) -> None:
        """What the pass has told: the pair of the new point, and whether the guessed step is taken."""
        first = not self.course
        new = self.vector + self.guess * self.move
        self._judge(new, sums, combinations)
        best = self.guess
        if not first:
            values = values + [
                self._squared(self.vector + step * self.move) for step in (*STEPS, self.guess)
            ]
            start, lowest = float(values[0]), int(np.argmin(values))
            best = float(STEPS[lowest]) if lowest < len(STEPS) else self.guess
            if start - values[-1] < GOOD_SHARE * (start - values[lowest]) - 1e-13 * abs(start):
                if best == 0.0:
                    self.move, best = SHORTEST * self.move, 1.0
                self.guess = best
                return
        self.vector = new
        self._turn(combinations, matrix, best, first)

    def _turn(self, combinations: Array, matrix: Array | None, best: float, first: bool) -> None:
        """The next direction, and the μ that it aims at."""
        assert matrix is not None
        self.mu = self.aim
        gradient = self._gradient(combinations)
        matrix.flat[:: len(matrix) + 1] += self.diagonal
        system = NormalMatrix(matrix)
        self.move = system.solve(-gradient)
        if self.hinge:
            decrement = np.sqrt(max(0.0, -float(gradient @ self.move)) / self.mu)
            near = decrement < (
                max(NEAR, NEAR_SHARE * np.sqrt(self.column.rows))
                if self.relative > LARGE_GAP
                else NEAR
            )
            if not first and best >= 1.0 and near:
                self.fall = max(0.5 * self.fall, FALL)
            elif not first and best < 0.5:
                self.fall = min(1.5 * self.fall, SLOW_FALL)
            floor = self.last * self.tol * self.primal / self.column.rows
            if (
                self.mu <= floor and decrement < 1.0
            ):  # at the end of the path, and not there: the path goes on
                self.last *= FALL
            if near:
                self.aim = max(self.fall * self.mu, min(self.mu, floor))
                self.move = self.move + (self.aim - self.mu) * system.solve(combinations[0])
        self.guess = 1.0 if first else min(1.0, 2.0 * best)

    def _gradient(self, combinations: Array) -> Array:
        return np.asarray(self.diagonal * self.vector - combinations[1 : 2 + self.free].sum(axis=0))

    def _judge(self, new: Array, sums: Array, combinations: Array) -> None:
        """The best objective and the best bound so far; either may be of an earlier point."""
        before = self.relative if self.course else np.inf
        primal = self._squared(new) + float(sums[LOSS])
        if primal < self.primal:
            self.primal, self.best = primal, new
        lines = 2 if self.free else 1
        for place, start in ((1, NEW), (1 + lines, TANGENT)):
            self.bound = max(
                self.bound,
                self._bound(sums[start : start + 4], combinations[place : place + lines]),
            )
        self.course.append((self.primal, self.bound))
        self.since = 0 if self.relative < before else self.since + 1

    def _bound(self, sums: Array, combinations: Array) -> float:
        """G of coefficients that are made feasible: d is concave and d(0) = 0, so that d(f a) >= f d(a) for f <= 1."""
        weights, terms = sums[:2], sums[2:]
        factors = np.ones(len(combinations))
        if self.free:  # Σ a y = 0: the heavier side shrinks
            factors = weights.min() / np.maximum(weights, np.finfo(float).tiny)
            terms = factors * terms
        combined = factors @ combinations
        squared, total = float(self.diagonal * combined @ combined), float(terms.sum())
        if self.hinge and squared > total > 0.0:
            return 0.5 * total * total / squared
        return total - 0.5 * squared

    def _squared(self, vector: Array) -> float:
        return 0.5 * float(self.diagonal * vector @ vector)

    def certified(self) -> Certified:
        bias = float(self.best[-1]) if len(self.best) > self.width else 0.0
        return Certified(
            self.best[: self.width].copy(), bias, self.primal, self.bound, tuple(self.course)
        )


class _WidePath(_Path):
    """The same where no matrix is made: directions from past steps and how they changed the gradient (Nocedal 1980)."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        assert not self.hinge
        self.past: deque[tuple[Array, Array]] = deque(maxlen=PAST)
        self.here: tuple[Array, Array] | None = None

    def _turn(self, combinations: Array, matrix: Array | None, best: float, first: bool) -> None:
        gradient = self._gradient(combinations)
        if self.here is not None:
            step, change = self.vector - self.here[0], gradient - self.here[1]
            if step @ change > 0.0:
                self.past.append((step, change))
        self.here = self.vector, gradient
        self.move, self.guess = self._direction(-gradient), 1.0

    def _direction(self, move: Array) -> Array:
        shares = []
        for step, change in reversed(self.past):
            shares.append(float(step @ move) / float(step @ change))
            move = move - shares[-1] * change
        if self.past:
            step, change = self.past[-1]
            move = move * (float(step @ change) / float(change @ change))
        for step, change in self.past:
            move = move + (shares.pop() - float(change @ move) / float(step @ change)) * step
        return move


def _look(block: Block, hinge: bool, orders: list[Order], sides: int, square: bool) -> Part:
    """One pass over a block: sums, values along the direction, combinations and (square) matrices of all orders."""
    codes = block.own[0]
    size, lines = orders[0].vectors.shape[1], FIRST + 2 * sides
    sums, values = (
        np.zeros((len(orders), SUMS)),
        np.zeros((len(orders), max(len(order.steps) for order in orders))),
    )
    combinations = np.empty((len(orders), lines - RIGHT, size))
    matrices = np.empty((len(orders), size, size) if square else 0)
    out = np.empty((lines, block.count))
    look = streaming_rows.look_hinge if hinge else streaming_rows.look_logistic
    vectors = np.concatenate([order.vectors for order in orders])
    rows = (
        block.rows() if square and not block.thin else None
    )  # whole rows, or what is stored of them
    scores = block.products(vectors, rows)
    with announced("streaming-hinge" if hinge else "streaming-logistic"):
        for j, order in enumerate(orders):
            column, weights = order.column, order.column.weights(*block.own)
            given = (
                column.code,
                column.unit,
                codes,
                weights,
                scores[3 * j : 3 * j + 3],
                order.mu,
                order.aim,
                order.steps,
            )
            look(*given, sides, out, sums[j], values[j])
            block.combine(rows, out[RIGHT:], combinations[j])
            if square:
                block.squares(rows, out[WEIGHT], matrices[j], order.precise)
    return Part((sums, values, combinations, matrices) if square else (sums, values, combinations))
