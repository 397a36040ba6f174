"""Newton's method over row blocks, for either loss: rows in memory, on disk or on a cluster.

For the hinge loss it minimizes F_μ(w) = ‖w‖²/2 + Σ φ_μ(m_i) while μ goes to zero, where
φ_μ(m) = min over s, ξ > 0 with s - ξ = m - 1 of C ξ - μ log s - μ log ξ is the loss with rounded
corners: a barrier method. a = -φ' is a point of the central path, and φ'' = 1/(s/a + ξ/(C - a)).
F_μ/μ is self-concordant, so damped steps converge from anywhere. The logistic loss needs no μ.

An iteration is one pass over the rows. It takes the vector, the direction and a guess of the
step's length, and returns the values of F_μ after several lengths, and gradient and matrix after
the guessed one. Only where another length is much better is the next pass spent on the same
direction. Margins determine a, so every pass has two feasible dual points: that of the new
vector, and the tangent from the old one. Where there are many rows for each feature, the start is
the optimum of a sample.

Without the matrix of features x features the direction is that of L-BFGS (logistic loss only).

References
----------
Boyd, Vandenberghe (2004), Convex Optimization, chapters 9 to 11.
Ferris, Munson (2002), Interior-point methods for massive support vector machines.
Nocedal (1980), Updating quasi-Newton matrices with limited storage.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pegasos.engine.optimum.normal_matrix import NormalMatrix
from pegasos.engine.optimum.passes import newton_rows
from pegasos.engine.optimum.passes.newton_rows import (
    FIRST,
    KEPT,
    LOSS,
    NEW,
    RIGHT,
    SUMS,
    TANGENT,
    WEIGHT,
)
from pegasos.engine.optimum.passes.passes import (
    MOST_FEATURES,
    LabelledBlocks,
    Passes,
    Predictor,
    Sample,
    Search,
    as_optimum,
    fetch_sample,
    follow,
    with_bias,
)
from pegasos.engine.optimum.problem import Intercept, Optimum, Target
from pegasos.engine.rows.blocks import MATRIX_BYTES, WIDE, Block, Part, workspace
from pegasos.engine.runtime.compiling import announced
from pegasos.engine.runtime.threads import our_threads

Array = np.ndarray[Any, Any]

#: Lengths of steps whose values every pass tells, and how much of the best one's gain the guessed
#: one must have.
STEPS = np.array([0.0, 1.0, 0.6, 0.3, 0.15, 0.06, 0.02, 0.005])
GOOD_SHARE, SHORTEST = 0.3, STEPS[-1]
#: How far μ falls at once, at first and at best, and where steps had to be short.
FALL, SLOW_FALL = 0.1, 0.5
#: How near the path a point must be for that, by the decrement √(gradient·step/μ). As long as the
#: gap is large a share of √rows will do: half the decrement's square is how far F_μ is from its
#: least in units of μ, the path's gap about as many as rows.
NEAR, NEAR_SHARE, LARGE_GAP = 10.0, 0.05, 0.02
#: The last μ, as a share of the one whose gap would be the tolerance.
LAST = 0.3
#: The first μ after a warm start, as a share of the one whose gap would be the whole objective: at
#: most START; that of a sample of n rows with d features is off by a share of about d/n (times 3,
#: 100,000 x 20 rows take 4, 4, 5 passes; with START they take 6, 6, 7).
START, SAMPLE_ERROR = 0.1, 3.0
#: Passes whose matrix of at least `WIDE` features is computed in float32, which takes half the
#: time. Directions that this spoils (columns with means of 1,000 deviations) cost no more than
#: these passes.
FLOAT32_PASSES = 12
#: Past steps of L-BFGS.
PAST = 20
#: One row in so many is a sample, if it has so many rows for each feature; and the gap to which it
#: is solved. Hinge at C = 0.001, 1, 100: 30,000 x 150 rows take 10, 11, 13 passes instead of 12,
#: 16, 18, 100,000 x 20 rows 4, 4, 5 instead of 9, 11, 12.
ONE_IN, ROWS_PER_FEATURE, SAMPLE_TOL = 8, 5, 1e-3


@dataclass(frozen=True)
class Order:
    """Input of a pass for one predictor; `vectors` are w, its change, and the new point."""

    predictor: Predictor
    vectors: Array
    mu: float
    aim: float
    steps: Array
    precise: bool


@dataclass(frozen=True)
class DualPoint:
    """Dual point of a pass: the pass, whether it is the tangent, and the factor of each label."""

    order: Order
    tangent: bool
    factors: Array


@dataclass(frozen=True)
class Start:
    """A vector to start from, its expected objective, and the relative error of that."""

    vector: Array
    primal: float
    error: float


def sample_start(optimum: Optimum, rows: int, intercept: Intercept) -> Start:
    """Return the start that the optimum of a sample of so many rows is."""
    error = min(START, SAMPLE_ERROR * len(optimum.vector) / rows)
    return Start(with_bias(optimum, intercept), optimum.primal, error)


def solve_in_passes(
    blocks: Passes,
    linear_dual: bool,
    chains: Sequence[Sequence[Predictor]],
    intercept: Intercept,
    tol: float,
    most: int = 1000,
    square: bool | None = None,
    start: Start | None = None,
) -> list[list[Optimum]]:
    """Solve all predictors to a relative gap of tol; every pass serves all (see `follow`).

    `linear_dual`: the hinge loss, else the logistic loss; `square`: Newton's method, else L-BFGS
    (None: Newton's method up to 2,000 features); `start` is that of the first predictor of
    each chain; without it they start at the optimum of a sample.
    """
    square = blocks.width <= MOST_FEATURES if square is None else square
    numbers = (blocks.width + 1) ** 2 if square else 3 * (blocks.width + 1)
    make, sides = _Path if square else _LimitedMemoryPath, 2 if intercept is Intercept.FREE else 1
    samples: dict[int, Start] = {}
    if square and start is None:
        samples = _solve_samples(blocks, linear_dual, chains, intercept)

    def begin(number: int, predictor: Predictor, before: _Path | None) -> _Path:
        path = make(predictor, blocks.width, linear_dual, intercept, tol)
        if before is not None:
            times = predictor.unit / before.predictor.unit
            squared = path.value(before.best)
            objective = squared + times * (before.primal - squared)
            path.begin_at(Start(before.best, objective, START))
        elif start is not None:
            path.begin_at(start)
        elif number in samples:
            path.begin_at(samples[number])
        return path

    def serve(paths: list[_Path]) -> None:
        part = blocks.map_sum(_visit, linear_dual, [path.order() for path in paths], sides, square)
        for path, *own in zip(paths, *part.sums, strict=True):
            path.arrive(*own)

    return follow(chains, max(1, MATRIX_BYTES // (8 * numbers)), begin, serve, tol, most)


def solve_rows(
    X: Any,
    linear_dual: bool,
    targets: list[Target],
    intercept: Intercept,
    tol: float,
    members: Array | None = None,
    most: int = 1000,
    start: Start | None = None,
) -> list[Optimum]:
    """Solve all targets on rows in memory (`members`; None: all) to the tolerance."""
    count = X.shape[0] if members is None else len(members)
    chains = [[target] for target in targets]
    with LabelledBlocks(X, np.arange(count), members=members) as blocks:
        found = solve_in_passes(blocks, linear_dual, chains, intercept, tol, most, True, start)
        return [
            as_optimum(blocks, linear_dual, target, one, intercept, _coefficients)
            for target, [one] in zip(targets, found, strict=True)
        ]


def workspace_bytes(m: int, width: int, targets: int, itemsize: int) -> int:
    """Return the memory that `solve_rows` needs beside X; `itemsize`: bytes copied per number."""
    together = min(targets, max(1, MATRIX_BYTES // (8 * (width + 1) ** 2)))
    return workspace(together, m, width, itemsize) + 8 * m * (targets + 1) + m * width // ONE_IN * 8


def _solve_samples(
    blocks: Passes, linear_dual: bool, chains: Sequence[Sequence[Predictor]], intercept: Intercept
) -> dict[int, Start]:
    """Return the optimum of a sample for the first predictor of each chain with many rows."""
    firsts = {number: chain[0] for number, chain in enumerate(chains) if chain}
    rows = max((predictor.rows for predictor in firsts.values()), default=0)
    enough = ROWS_PER_FEATURE * blocks.width
    if rows < ONE_IN * enough or blocks.room < blocks.row_bytes * rows / ONE_IN:
        return {}
    sample: Sample = fetch_sample(blocks, 1.0 / ONE_IN)
    targets = {number: sample.target(predictor) for number, predictor in firsts.items()}
    known = [
        number
        for number, target in targets.items()
        if firsts[number].held is None
        and min(np.count_nonzero(target.bounds[target.labels == y]) for y in (1.0, -1.0))
        >= ROWS_PER_FEATURE
    ]
    with our_threads():
        found = solve_rows(
            sample.X, linear_dual, [targets[number] for number in known], intercept, SAMPLE_TOL
        )
    starts = [sample_start(each, sample.X.shape[0], intercept) for each in found]
    return dict(zip(known, starts, strict=True))


class _Path(Search):
    """Solver state of one predictor: vector (intercept last), direction, and the best pair."""

    def __init__(
        self, predictor: Predictor, width: int, linear_dual: bool, intercept: Intercept, tol: float
    ) -> None:
        super().__init__(width)
        self.predictor, self.tol = predictor, tol
        self.hinge, self.free = linear_dual, intercept is Intercept.FREE
        self.diagonal = np.ones(width + (intercept is not Intercept.NONE))
        if self.free:
            self.diagonal[-1] = 0.0
        self.vector = self.move = self.best = np.zeros(len(self.diagonal))
        held, total = predictor.held, predictor.unit * sum(predictor.sides)
        self.held = np.zeros(len(self.diagonal)) if held is None else held.vector
        self.held_total, self.scale = (0.0, 0.0) if held is None else (held.total, held.scale)
        self.mu = self.aim = self.mu_at_zero = total / max(1, predictor.rows) if self.hinge else 0.0
        self.at_zero = (total if self.hinge else np.log(2.0) * total) + self.held_total
        #: Whether no direction has been computed yet, and whether the vector is a warm start.
        self.first, self.warm, self.error = True, False, START
        self.fall, self.guess, self.last = FALL, 1.0, LAST
        #: Whether the matrix is computed in float64 (see `FLOAT32_PASSES`).
        self.precise = width < WIDE
        self.trivial = total <= 0.0 or (self.free and min(predictor.sides) <= 0.0)
        if self.trivial:  # no rows, or one label and a free intercept: this margin has no loss
            self.best = self.held.copy()
            if self.free and total > 0.0:
                sign = 1.0 if predictor.sides[0] > 0.0 else -1.0
                self.best[-1] = sign * (1.0 if self.hinge else 800.0)
            self.primal = self.bound = self.value(self.best) + self.held_total

    def begin_at(self, start: Start) -> None:
        """Start at the best vector of a problem with another C, or of a sample."""
        if not self.trivial:
            self.vector, self.warm, self.error = start.vector, True, start.error
            self._lower_mu(start.primal)

    def _lower_mu(self, objective: float) -> None:
        """Set the first μ after a warm start with this objective."""
        if self.hinge:
            mu = self.error * objective / max(1, self.predictor.rows)
            self.mu = self.aim = min(self.mu_at_zero, mu)

    def _corrects_start(self) -> bool:
        """Correct a warm start whose objective is much larger than expected."""
        before, self.warm = self.mu, False
        if self.primal > self.at_zero:
            self.vector, self.mu = np.zeros(len(self.vector)), self.mu_at_zero
            self.aim = self.mu
            return True
        self._lower_mu(self.primal)
        return self.mu > 2.0 * before

    @property
    def relative(self) -> float:
        """The relative gap; where rows are held, as a share of the objective of all rows."""
        scale = self.scale or self.primal
        return (self.primal - self.bound) / scale if scale > 0.0 else 0.0

    def order(self) -> Order:
        vectors = np.stack([self.vector, self.move, self.vector + self.guess * self.move])
        steps = np.zeros(0) if self.first else np.append(STEPS, self.guess)
        return Order(self.predictor, vectors, self.mu, self.aim, steps, self.precise)

    def arrive(
        self, sums: Array, values: Array, combinations: Array, matrix: Array | None = None
    ) -> None:
        """Judge the new point by the sums of a pass, and accept the guessed step or correct it."""
        first, order = self.first, self.order()
        new = order.vectors[2]
        self._judge(order, sums, combinations)
        if self.warm and self._corrects_start():
            return
        best, self.first = self.guess, False
        if not first:
            values = values + [
                self.value(self.vector + step * self.move) for step in (*STEPS, self.guess)
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
        """Compute the next direction, and the μ that it aims at."""
        assert matrix is not None
        self.mu = self.aim
        gradient = self._gradient(combinations)
        matrix.flat[:: len(matrix) + 1] += self.diagonal
        system = NormalMatrix(matrix)
        self.move = system.solve(-gradient)
        if self.hinge:
            decrement = np.sqrt(max(0.0, -float(gradient @ self.move)) / self.mu)
            near = decrement < (
                max(NEAR, NEAR_SHARE * np.sqrt(self.predictor.rows))
                if self.relative > LARGE_GAP
                else NEAR
            )
            if not first and best >= 1.0 and near:
                self.fall = max(0.5 * self.fall, FALL)
            elif not first and best < 0.5:
                self.fall = min(1.5 * self.fall, SLOW_FALL)
            floor = self.last * self.tol * (self.scale or self.primal) / self.predictor.rows
            if self.mu <= floor and decrement < 1.0:
                # the end of the path, with a gap above tol: the path goes on
                self.last *= FALL
            if near:
                self.aim = max(self.fall * self.mu, min(self.mu, floor))
                self.move = self.move + (self.aim - self.mu) * system.solve(combinations[0])
        self.guess = 1.0 if first else min(1.0, 2.0 * best)

    def _gradient(self, combinations: Array) -> Array:
        combined = combinations[1 : 2 + self.free].sum(axis=0)
        return np.asarray(self.diagonal * self.vector - combined - self.held)

    def _judge(self, order: Order, sums: Array, combinations: Array) -> None:
        """Keep the best objective and the best bound; either may be of an earlier point."""
        before = self.relative if self.history else np.inf
        primal = self.value(order.vectors[2]) + float(sums[LOSS]) + self.held_total
        if primal < self.primal:
            self.primal, self.best = primal, order.vectors[2]
        lines = 2 if self.free else 1
        for place, start in ((1, NEW), (1 + lines, TANGENT)):
            weights, terms = sums[start : start + 2], sums[start + 2 : start + 4]
            bound, factors = self._bound(weights, terms, combinations[place : place + lines])
            if bound > self.bound:
                again = replace(order, steps=order.steps[:0])
                self.bound, self.dual = bound, DualPoint(again, start == TANGENT, factors)
        self.record(before)
        self.precise |= len(self.history) > FLOAT32_PASSES or self.since > 2

    def _bound(self, weights: Array, terms: Array, combinations: Array) -> tuple[float, Array]:
        """Return a bound and the factors that make a feasible: d(f a) >= f d(a) for f <= 1."""
        factors = np.ones(2)
        if self.free:  # Σ a y = 0: the heavier side shrinks
            factors = weights.min() / np.maximum(weights, np.finfo(float).tiny)
        combined = factors[: len(combinations)] @ combinations + self.held
        squared = float(self.diagonal * combined @ combined)
        total = float(factors @ terms) + self.held_total
        if self.hinge and not self.scale and squared > total > 0.0:
            return 0.5 * total * total / squared, factors * (total / squared)
        return total - 0.5 * squared, factors

    def value(self, vector: Array) -> float:
        """Return ‖w‖²/2, less the slope of the rows that are held."""
        return float((0.5 * self.diagonal * vector - self.held) @ vector)


class _LimitedMemoryPath(_Path):
    """Solver state where no matrix is made: L-BFGS directions."""

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


def _visit(block: Block, linear_dual: bool, orders: list[Order], sides: int, square: bool) -> Part:
    """Return sums, values along the direction, combinations and (square) matrices of all orders."""
    size, lines = orders[0].vectors.shape[1], FIRST + 2 * sides
    sums = np.zeros((len(orders), SUMS))
    values = np.zeros((len(orders), max(len(order.steps) for order in orders)))
    combinations = np.empty((len(orders), lines - RIGHT, size))
    matrices = np.empty((len(orders), size, size) if square else 0)
    rows = block.whole()
    for j, order in enumerate(orders):
        out = _sum_up(block, rows, linear_dual, order, sides, sums[j], values[j])
        block.combine(rows, out[RIGHT:], combinations[j])
        if square:
            block.squares(rows, out[WEIGHT], matrices[j], order.precise)
    return Part((sums, values, combinations, matrices) if square else (sums, values, combinations))


def _sum_up(
    block: Block,
    rows: Array | None,
    linear_dual: bool,
    order: Order,
    sides: int,
    sums: Array,
    values: Array,
) -> Array:
    labels, bounds = order.predictor.of(block.own)
    # one predictor at a time: with others beside it a product may be rounded in another way
    scores = block.products(order.vectors, rows)
    kept, out = np.empty((KEPT, block.count)), np.empty((FIRST + 2 * sides, block.count))
    look = newton_rows.sum_hinge if linear_dual else newton_rows.sum_logistic
    with announced("newton-hinge" if linear_dual else "newton-logistic"):
        look(
            labels, bounds, scores, order.mu, order.aim, order.steps, sides, kept, out, sums, values
        )
    return out


def _coefficients(
    block: Block, rows: Array | None, linear_dual: bool, target: Target, dual: DualPoint
) -> Array:
    """Return the dual coefficients a of a block's rows."""
    order = dual.order
    out = _sum_up(block, rows, linear_dual, order, 1, np.zeros(SUMS), np.zeros(len(order.steps)))
    labels, _ = target.of(block.own)
    line = FIRST + (1 if dual.tangent else 0)
    return np.asarray(np.abs(out[line]) * np.where(labels > 0.0, *dual.factors))
