"""The hinge loss solved to its optimum on few explicit features: a primal-dual interior point method on the dual.

The conditions of the optimum, with margins m_i = y_i (w·x_i + b), a_i s_i = μ and (C_i - a_i) ξ_i = μ where s_i - ξ_i = m_i - 1,
and w = Σ a_i y_i x_i, are solved by Newton's method while μ goes to zero. With D = s/a + ξ/(C - a) a step is one system of the
d x d matrix I + Σ x_i x_iᵀ/D_i (Ferris and Munson 2002). A free intercept is a constant feature whose entry of I is zero.

An iteration is four passes over the rows: step and matrix; the direction that Mehrotra (1992) predicts; the one that he corrects;
and one that is centred (Gondzio 1996), which saves a third of the iterations. The start is the central path's point for w = 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.engine.optimum.hinge import hinge_rows
from pegasos.engine.optimum.hinge.hinge_rows import BEST, CENTRED, CORRECTED, LINES, PREDICTED, A
from pegasos.engine.optimum.normal_matrix import NormalMatrix
from pegasos.engine.optimum.problem import Held, Intercept, Optimum, Target, trivial_optimum
from pegasos.engine.rows.blocks import (
    WIDE,
    Block,
    Part,
    RowBlocks,
    batches,
    workspace,
)
from pegasos.engine.rows.thin import THIN_ROWS, is_thin
from pegasos.engine.runtime.compiling import announced
from pegasos.engine.runtime.interruption import tell_gap

Array = np.ndarray[Any, Any]

MOST_ITERATIONS = 200
#: Iterations without a better gap or a smaller μ after which nothing more is to be had from this arithmetic.
PATIENCE = 15
#: How much of the way to the boundary a step goes.
SHARE = 0.995
#: A direction aims at no more than this share of μ: where few rows block the first direction, hoping for the next ones is better.
LEAST_AMBITION = 0.3
#: A column is nearly constant if it varies by less than this share of its mean, as so many rows tell.
NEARLY_CONSTANT, SAMPLED_ROWS = 0.01, 4096


def solve_hinge(
    X: Any, targets: list[Target], intercept: Intercept, tol: float, members: Array | None = None
) -> list[Optimum]:
    """All targets on the same rows (those that `members` names; None: all), each until its relative gap is at most tol."""
    thin, far = is_thin(X), are_far_from_zero(X)
    answers: list[Optimum] = []
    with (
        RowBlocks(X, members, size=THIN_ROWS if thin else None) as blocks,
        announced("interior-point"),
    ):
        for batch in batches(len(targets), blocks.count, blocks.width, LINES):
            answers += _solve(blocks, [targets[k] for k in batch], intercept, tol, precise=far)
        if not far and blocks.width >= WIDE:
            _solve_precisely(blocks, targets, answers, intercept, tol)
    return answers


def are_far_from_zero(X: Any) -> bool:
    """Whether a column of dense rows varies by less than a hundredth of its mean: of products in float32 too little is left."""
    if not isinstance(X, np.ndarray) or X.shape[1] < WIDE:
        return False
    few = X[:: max(1, len(X) // SAMPLED_ROWS)].astype(np.float64)
    spread, mean = few.std(axis=0), np.abs(few.mean(axis=0))
    return bool(((spread > 0.0) & (spread < NEARLY_CONSTANT * mean)).any())


def _solve_precisely(
    blocks: RowBlocks,
    targets: list[Target],
    answers: list[Optimum],
    intercept: Intercept,
    tol: float,
) -> None:
    """Who is stuck begins again, with products in float64 from the first iteration on."""
    for k, (target, answer) in enumerate(zip(targets, answers, strict=True)):
        if _gap(target, answer) > tol:
            (again,) = _solve(blocks, [target], intercept, tol, precise=True)
            answers[k] = min(answer, again, key=lambda found: abs(_gap(target, found)))


def _gap(target: Target, answer: Optimum) -> float:
    """The relative gap, where rows are held as a share of the objective that is known."""
    scale = answer.primal if target.held is None else target.held.scale
    return (answer.primal - answer.bound) / scale if scale > 0.0 else 0.0


def workspace_bytes(m: int, width: int, targets: int, itemsize: int) -> int:
    """Memory beside X, at most."""
    return workspace(targets, m, width, LINES, itemsize)


class _Path:
    """Where one target stands: its vector (the intercept last, if there is one) and what the last pass has told."""

    def __init__(
        self, number: int, target: Target, width: int, intercept: Intercept, precise: bool
    ) -> None:
        self.number = number
        self.rows = int(np.count_nonzero(target.bounds > 0.0))
        self.mu = float(target.bounds.sum()) / self.rows
        self.free = intercept is Intercept.FREE
        self.diagonal = np.ones(width + (intercept is not Intercept.NONE))
        if self.free:
            self.diagonal[-1] = 0.0
        self.vector = np.zeros(len(self.diagonal))
        self.held = target.held or Held(self.vector, 0.0, 0.0)
        self.move = self.corrected = self.right = self.vector
        self.aim, self.stage, self.step = 0.0, PREDICTED, 0.0
        self.factors = np.ones(2)
        self.best = self.vector, self.factors
        self.relative = self.least = self.missing = np.inf
        self.noisy = False
        self.precise = precise or width < WIDE
        self.rounds = self.since = self.idle = 0
        self.course: list[tuple[float, float]] = []

    def arrive(self, scalars: Array, combinations: Array, matrix: Array) -> None:
        """After a step: the gap of this point, and the first direction from it."""
        loss, positive, negative, products = (float(number) for number in scalars)
        first, second, right = combinations
        self.factors = np.ones(2)
        if self.free:  # Σ a y = 0: the heavier side shrinks
            least = min(positive, negative)
            self.factors = np.array([least / positive, least / negative])
        total = float(self.factors @ (positive, negative)) + self.held.total
        combined = self.factors[0] * first - self.factors[1] * second + self.held.vector
        squared = float(self.diagonal * combined @ combined)
        shrink = min(1.0, total / squared) if squared > 0.0 and not self.held.scale else 1.0
        self.factors *= shrink
        residual = self.diagonal * self.vector - first + second - self.held.vector
        missing = float(np.linalg.norm(residual))
        falling = (
            1e-12 * loss < products < 1.8 * self.rows * self.mu or missing < 0.9 * self.missing
        )
        self._judge(self.primal(loss), shrink * total - 0.5 * shrink**2 * squared, falling)
        self.mu = products / (2 * self.rows)
        self.noisy = (
            0.5 * missing**2 > products and missing > 3.0 * (1.0 - self.step) * self.missing
        )
        self.missing = missing
        self.precise |= self.noisy or self.idle > 3 or self.relative < 1e-4
        matrix.flat[:: len(matrix) + 1] += self.diagonal
        self.system = NormalMatrix(matrix)
        self.right = right - residual

    def _judge(self, primal: float, bound: float, falling: bool) -> None:
        self.relative = self.share(primal, bound)
        self.course.append((primal, bound))
        self.since += 1
        if falling:
            self.idle = 0
        if self.relative < self.least:
            self.since, self.idle, self.least, self.best = (
                0,
                0,
                self.relative,
                (self.vector, self.factors),
            )
        self.idle += 1

    def correct(self, scalars: Array, combinations: Array, peak: float) -> None:
        """Where the first direction led: how far to aim, and the second direction."""
        step = min(1.0, 1.0 / max(peak, 1.0))
        products = 2 * self.rows * self.mu
        left = max(0.0, products + step * (float(scalars[0]) + step * float(scalars[1])))
        self.aim = (
            self.mu * min(max((left / products) ** 3, 1e-10), LEAST_AMBITION)
            if products > 0.0
            else 0.0
        )
        if (
            self.noisy
        ):  # w and Σ a y x differ by what rounding left: a step towards the same μ repairs that
            self.aim = self.mu
        self.right = self.right + combinations[0] + self.aim * combinations[1]

    def centre(self, combinations: Array, peak: float) -> None:
        """What the second direction can do, and the third."""
        self.peak, self.corrected = peak, self.move
        self.right = self.right + combinations[0]

    def choose(self, peak: float) -> None:
        """The longer of the last two steps is taken."""
        self.stage = CENTRED if peak < self.peak else CORRECTED
        if self.stage == CORRECTED:
            self.move, peak = self.corrected, self.peak
        self.step = min(1.0, SHARE / max(peak, SHARE))
        self.vector = self.vector + self.step * self.move
        self.rounds += 1

    def primal(self, loss: float, vector: Array | None = None) -> float:
        """F, at this point or at another, from the loss of the rows that are not held."""
        vector = self.vector if vector is None else vector
        return (
            float((0.5 * self.diagonal * vector - self.held.vector) @ vector)
            + loss
            + self.held.total
        )

    def share(self, primal: float, bound: float) -> float:
        """The relative gap."""
        scale = self.held.scale or primal
        return (primal - bound) / scale if scale > 0.0 else 0.0

    @property
    def stuck(self) -> bool:
        return self.rounds >= MOST_ITERATIONS or self.idle > PATIENCE


def _solve(
    blocks: RowBlocks,
    targets: list[Target],
    intercept: Intercept,
    tol: float,
    precise: bool = False,
) -> list[Optimum]:
    answers = [trivial_optimum(target, blocks.width, intercept, 1.0) for target in targets]
    live = [
        _Path(k, targets[k], blocks.width, intercept, precise)
        for k, answer in enumerate(answers)
        if answer is None
    ]
    if live:
        blocks.map_sum(_open, targets, {path.number: path.mu for path in live})
    while live:
        orders = [(p.number, p.aim, p.stage, p.step, p.precise) for p in live]
        sums, _ = blocks.map_sum(_advance, orders, len(live[0].vector))
        for path, *own in zip(live, *sums, strict=True):
            path.arrive(*own)
        for path in [path for path in live if path.relative <= tol or path.stuck]:
            answer = _settle(blocks, path)
            if path.share(answer.primal, answer.bound) <= tol or path.stuck:
                answers[path.number] = answer
                live.remove(path)
        if live:
            tell_gap(max(path.relative for path in live), tol)
            _directions(blocks, live)
    for block in blocks.blocks:
        block.own = None
    return [answer for answer in answers if answer is not None]


def _directions(blocks: RowBlocks, live: list[_Path]) -> None:
    """The three directions, each from one pass, and the step along the best."""

    def solve() -> None:
        for path in live:
            path.move = path.system.solve(path.right)

    solve()
    sums, peaks = blocks.map_sum(_predict, [(p.number, p.move, p.since == 0) for p in live])
    for path, peak, *own in zip(live, peaks, *sums, strict=True):
        path.correct(*own, float(peak))
    solve()
    sums, peaks = blocks.map_sum(_correct, [(p.number, p.move, p.aim) for p in live])
    for path, peak, *own in zip(live, peaks, *sums, strict=True):
        path.centre(*own, float(peak))
    solve()
    _, peaks = blocks.map_sum(_centre, [(p.number, p.move, p.aim) for p in live])
    for path, peak in zip(live, peaks, strict=True):
        path.choose(float(peak))


def _settle(blocks: RowBlocks, path: _Path) -> Optimum:
    """The pair of this point, certified from products with the very rows and coefficients."""
    vector, factors = path.best
    line = A if path.since == 0 else BEST
    sums, combined = blocks.map_sum(_exact, path.number, vector, line, factors).sums
    width, whole = blocks.width, combined[0] + path.held.vector
    bound = float(sums[1]) + path.held.total - 0.5 * float(path.diagonal * whole @ whole)
    dual = blocks.map_rows(_coefficients, path.number, line, factors)
    bias = float(vector[-1]) if len(vector) > width else 0.0
    primal, course = path.primal(float(sums[0]), vector), tuple(path.course)
    return Optimum(vector[:width].copy(), bias, dual, primal, bound, path.rounds, course)


# The work on one block ------------------------------------------------------------------------------------------------


class _Own:
    """What a block keeps about its rows for one target."""

    def __init__(self, target: Target, span: slice, mu: float) -> None:
        self.labels = target.labels[span]
        self.bounds = target.bounds[span]
        self.state = np.zeros((LINES, span.stop - span.start))
        hinge_rows.open_rows(self.state, self.bounds, mu)


def _open(block: Block, targets: list[Target], starts: dict[int, float]) -> Part:
    block.own = {k: _Own(targets[k], block.span, mu) for k, mu in starts.items()}
    return Part(())


def _advance(block: Block, orders: list[tuple[int, float, int, float, bool]], size: int) -> Part:
    rows = block.whole()
    scalars, combinations, matrices = (
        np.zeros((len(orders), 4)),
        np.empty((len(orders), 3, size)),
        np.empty((len(orders), size, size)),
    )
    out = np.empty((4, block.count))
    for j, (number, aim, stage, step, precise) in enumerate(orders):
        own = block.own[number]
        hinge_rows.advance(own.state, own.labels, own.bounds, aim, stage, step, out, scalars[j])
        block.combine(rows, out[:3], combinations[j])
        block.squares(rows, out[3], matrices[j], precise)
    return Part((scalars, combinations, matrices))


def _predict(block: Block, orders: list[tuple[int, Array, bool]]) -> Part:
    rows = block.whole()
    scalars, combinations, peaks = (
        np.zeros((len(orders), 2)),
        np.empty((len(orders), 2, len(orders[0][1]))),
        np.empty(len(orders)),
    )
    out = np.empty((2, block.count))
    for j, (number, move, best) in enumerate(orders):
        own = block.own[number]
        if best:
            own.state[BEST] = own.state[A]
        own.state[PREDICTED] = own.labels * block.scores(rows, move)
        peaks[j] = hinge_rows.predict(own.state, own.labels, own.bounds, out, scalars[j])
        block.combine(rows, out, combinations[j])
    return Part((scalars, combinations), peaks)


def _correct(block: Block, orders: list[tuple[int, Array, float]]) -> Part:
    rows = block.whole()
    combinations, peaks = np.empty((len(orders), 1, len(orders[0][1]))), np.empty(len(orders))
    out = np.empty((1, block.count))
    for j, (number, move, aim) in enumerate(orders):
        own = block.own[number]
        own.state[CORRECTED] = own.labels * block.scores(rows, move)
        peaks[j] = hinge_rows.correct(own.state, own.labels, own.bounds, aim, out)
        block.combine(rows, out, combinations[j])
    return Part((combinations,), peaks)


def _centre(block: Block, orders: list[tuple[int, Array, float]]) -> Part:
    rows = block.whole()
    peaks = np.empty(len(orders))
    for j, (number, move, aim) in enumerate(orders):
        own = block.own[number]
        own.state[CENTRED] = own.labels * block.scores(rows, move)
        peaks[j] = hinge_rows.centre(own.state, own.bounds, aim)
    return Part((), peaks)


def _exact(block: Block, number: int, vector: Array, line: int, factors: Array) -> Part:
    rows, own = block.whole(), block.own[number]
    sums, out, combination = np.zeros(2), np.empty((1, block.count)), np.empty((1, len(vector)))
    hinge_rows.settle(
        own.state, own.labels, own.bounds, block.scores(rows, vector), line, factors, out, sums
    )
    block.combine(rows, out, combination)
    return Part((sums, combination))


def _coefficients(block: Block, number: int, line: int, factors: Array) -> Array:
    own = block.own[number]
    return np.clip(own.state[line], 0.0, own.bounds) * np.where(
        own.labels > 0.0, factors[0], factors[1]
    )
