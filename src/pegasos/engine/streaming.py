"""The optimum in passes over rows of which nothing is kept between passes: beyond memory, and beyond one machine.

Newton's method on F_μ(w) = ‖w‖²/2 + Σ φ_μ(m_i) while μ goes to zero, where φ_μ(m) = min over s, ξ > 0 with s - ξ = m - 1 of
C ξ - μ log s - μ log ξ is the hinge loss with rounded corners: a = -φ' is a point of the central path, φ'' = 1/(s/a + ξ/(C - a)).
(The logistic loss is smooth as it is: μ stays 0.) F_μ/μ is self-concordant, so that damped steps arrive from anywhere.

An iteration is **one** pass. It takes the vector w, the direction and a guess of the step's length; it tells the values of
F_μ after several lengths, and gradient and matrix after the guessed one. Only where that one was much worse than another length
is the next pass spent on the same direction. a follows from margins alone, so every pass has two feasible dual points: that of
the new vector, and the tangent from the old one, which the full step would lead to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pegasos.engine import streaming_rows
from pegasos.engine.interruption import tell_gap
from pegasos.engine.losses import Loss
from pegasos.engine.normal_matrix import NormalMatrix
from pegasos.engine.optimum import Intercept
from pegasos.engine.row_blocks import MATRIX_BYTES, WIDE, Block, Part, RowBlocks
from pegasos.engine.streaming_rows import FIRST, LOSS, NEW, RIGHT, SUMS, TANGENT, WEIGHT

Array = np.ndarray[Any, Any]

#: Passes without a better gap after which nothing more is to be had from this arithmetic.
PATIENCE = 60
#: Lengths of steps whose values every pass tells, and how much of the best one's gain the guessed one must have.
STEPS = np.array([0.0, 1.0, 0.6, 0.3, 0.15, 0.06, 0.02, 0.005])
GOOD_SHARE = 0.3
#: How far μ falls at once, at first and at best, and where steps had to be short; and how near the path that needs to be (the
#: decrement √(gradient·step/μ)).
FALL, SLOW_FALL, NEAR = 0.1, 0.5, 10.0
#: The last μ, as a share of the one whose gap would be the tolerance.
LAST = 0.3


class Passes(Protocol):
    """Rows in blocks, wherever they are (see `RowBlocks.map_sum`); a block's `own` are the codes and weights of its rows."""

    width: int

    def map_sum(self, work: Any, *arguments: Any) -> Part: ...


class LabelledBlocks(RowBlocks):
    """Blocks whose `own` are the class codes and weights of their rows."""

    def __init__(self, X: Any, codes: Array, weights: Array) -> None:
        super().__init__(X)
        for block in self.blocks:
            block.own = codes[block.span], weights[block.span]


@dataclass(frozen=True)
class Column:
    """One predictor: rows with this class code are +1, all others -1; C_i = unit ω_i.

    sides  Σ ω_i of either label;  rows  how many rows have ω_i > 0
    """

    code: int
    unit: float
    sides: tuple[float, float]
    rows: int


@dataclass(frozen=True)
class Certified:
    """A predictor, its objective F and a bound below all objectives (see `optimum.py`); the relative gap after each pass."""

    vector: Array
    bias: float
    primal: float
    bound: float
    curve: tuple[float, ...]

    @property
    def relative(self) -> float:
        """(F - G)/F, 0 where F is 0."""
        return (self.primal - self.bound) / self.primal if self.primal > 0.0 else 0.0


@dataclass(frozen=True)
class Order:
    """What a pass is to do for one predictor; vectors: w, its change, and the new point."""

    code: int
    unit: float
    vectors: Array
    mu: float
    aim: float
    steps: Array
    precise: bool


def solve_in_passes(
    blocks: Passes, loss: Loss, columns: list[Column], intercept: Intercept, tol: float, most: int = 1000
) -> list[Certified]:
    """All columns, each until its relative gap is at most tol; every pass serves all that have not arrived."""
    found: list[Certified] = []
    size = max(1, MATRIX_BYTES // (8 * (blocks.width + 1) ** 2))
    for start in range(0, len(columns), size):
        paths = [_Path(column, blocks.width, loss, intercept, tol) for column in columns[start : start + size]]
        _follow(blocks, loss, intercept, [path for path in paths if not path.trivial], tol, most)
        found += [path.certified() for path in paths]
    return found


def _follow(blocks: Passes, loss: Loss, intercept: Intercept, live: list[_Path], tol: float, most: int) -> None:
    sides = 2 if intercept is Intercept.FREE else 1
    while live:
        part = blocks.map_sum(_look, loss.linear_dual, [path.order() for path in live], sides)
        for path, *own in zip(live, *part.sums, strict=True):
            path.arrive(*own)
        tell_gap(max(path.relative for path in live), tol)
        live = [path for path in live if path.relative > tol and not path.stuck and len(path.curve) < most]


class _Path:
    """Where one predictor stands: its vector (the intercept last, if there is one), the direction, and the best pair so far."""

    def __init__(self, column: Column, width: int, loss: Loss, intercept: Intercept, tol: float) -> None:
        self.column, self.width, self.tol = column, width, tol
        self.hinge = loss.linear_dual
        self.free = intercept is Intercept.FREE
        self.diagonal = np.ones(width + (intercept is not Intercept.NONE))
        if self.free:
            self.diagonal[-1] = 0.0
        self.vector = self.move = self.best = np.zeros(len(self.diagonal))
        self.mu = self.aim = column.unit * sum(column.sides) / max(1, column.rows) if self.hinge else 0.0
        self.fall, self.guess, self.last = FALL, 1.0, LAST
        self.primal, self.bound = np.inf, -np.inf
        self.curve: list[float] = []
        self.since = 0
        self.trivial = sum(column.sides) <= 0.0 or (self.free and min(column.sides) <= 0.0)
        if self.trivial:  # no rows, or one label and a free intercept: this margin is without loss
            self.best = self.best.copy()
            if self.free:
                self.best[-1] = (1.0 if self.hinge else 800.0) * (1.0 if column.sides[0] > 0.0 else -1.0)
            self.primal = self.bound = 0.0

    @property
    def relative(self) -> float:
        return (self.primal - self.bound) / self.primal if self.primal > 0.0 else 0.0

    @property
    def stuck(self) -> bool:
        return self.since > PATIENCE

    def order(self) -> Order:
        first = not self.curve
        vectors = np.stack([self.vector, self.move, self.vector + self.guess * self.move])
        steps = np.zeros(0) if first else np.append(STEPS, self.guess)
        precise = self.width < WIDE or self.relative < 1e-3 or self.since > 3
        return Order(self.column.code, self.column.unit, vectors, self.mu, self.aim, steps, precise)

    def arrive(self, sums: Array, values: Array, combinations: Array, matrix: Array) -> None:
        """What the pass has told: the pair of the new point, and whether the guessed step is taken."""
        first = not self.curve
        new = self.vector + self.guess * self.move
        self._judge(new, sums, combinations)
        best = self.guess
        if not first:
            values = values + [self._squared(self.vector + step * self.move) for step in (*STEPS, self.guess)]
            start, lowest = float(values[0]), int(np.argmin(values))
            best = float(STEPS[lowest]) if lowest < len(STEPS) else self.guess
            if start - values[-1] < GOOD_SHARE * (start - values[lowest]) - 1e-13 * abs(start):
                self.guess = best
                return
        self.vector = new
        self._turn(combinations, matrix, best, first)

    def _turn(self, combinations: Array, matrix: Array, best: float, first: bool) -> None:
        """The next direction, and the μ that it aims at."""
        self.mu = self.aim
        gradient = self.diagonal * self.vector - combinations[1 : 2 + self.free].sum(axis=0)
        matrix.flat[:: len(matrix) + 1] += self.diagonal
        system = NormalMatrix(matrix)
        self.move = system.solve(-gradient)
        if self.hinge:
            decrement = np.sqrt(max(0.0, -float(gradient @ self.move)) / self.mu)
            if not first and best >= 1.0 and decrement < NEAR:
                self.fall = max(0.5 * self.fall, FALL)
            elif not first and best < 0.5:
                self.fall = min(1.5 * self.fall, SLOW_FALL)
            floor = self.last * self.tol * self.primal / self.column.rows
            if self.mu <= floor and decrement < 1.0:  # at the end of the path, and not there: the path goes on
                self.last *= FALL
            if decrement < NEAR:
                self.aim = max(self.fall * self.mu, min(self.mu, floor))
                self.move = self.move + (self.aim - self.mu) * system.solve(combinations[0])
        self.guess = 1.0 if first else min(1.0, 2.0 * best)

    def _judge(self, new: Array, sums: Array, combinations: Array) -> None:
        """The best objective and the best bound so far; either may be of an earlier point."""
        before = self.relative if self.curve else np.inf
        primal = self._squared(new) + float(sums[LOSS])
        if primal < self.primal:
            self.primal, self.best = primal, new
        lines = 2 if self.free else 1
        for place, start in ((1, NEW), (1 + lines, TANGENT)):
            self.bound = max(self.bound, self._bound(sums[start : start + 4], combinations[place : place + lines]))
        self.curve.append(self.relative)
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
        return Certified(self.best[: self.width].copy(), bias, self.primal, self.bound, tuple(self.curve))


def _look(block: Block, hinge: bool, orders: list[Order], sides: int) -> Part:
    """One pass over a block: sums, values along the direction, combinations and matrices of all orders."""
    rows, (codes, weights) = block.rows(), block.own
    size, lines = orders[0].vectors.shape[1], FIRST + 2 * sides
    sums, values = np.zeros((len(orders), SUMS)), np.zeros((len(orders), max(len(order.steps) for order in orders)))
    combinations, matrices = np.empty((len(orders), lines - RIGHT, size)), np.empty((len(orders), size, size))
    out = np.empty((lines, block.count))
    look = streaming_rows.look_hinge if hinge else streaming_rows.look_logistic
    vectors = np.concatenate([order.vectors for order in orders])
    scores = vectors[:, : block.width] @ rows.T
    if size > block.width:
        scores += vectors[:, -1:]
    for j, order in enumerate(orders):
        own = scores[3 * j : 3 * j + 3]
        given = (order.code, order.unit, codes, weights, own, order.mu, order.aim, order.steps)
        look(*given, sides, out, sums[j], values[j])
        block.combine(rows, out[RIGHT:], combinations[j])
        block.squares(rows, out[WEIGHT], matrices[j], order.precise)
    return Part((sums, values, combinations, matrices))
