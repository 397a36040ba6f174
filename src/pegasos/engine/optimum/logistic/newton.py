"""The logistic loss solved to its optimum on few explicit features: Newton's method with the d x d matrix I + Σ C σ' x xᵀ.

An iteration is two passes over the rows: step, gradient and matrix; then the new direction's scores, from which follow the
objective after the full step, its certificate, and (without products) the objective after any shorter step. Tall data start at
the optimum of every k-th row, from where one or two iterations are left to do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.engine.optimum.logistic import logistic_rows
from pegasos.engine.optimum.logistic.logistic_rows import CHANGE, LINES, MARGIN
from pegasos.engine.optimum.normal_matrix import NormalMatrix
from pegasos.engine.optimum.problem import Intercept, Optimum, Target, trivial_optimum
from pegasos.engine.rows.blocks import (
    WIDE,
    Block,
    Part,
    RowBlocks,
    batches,
    workspace,
)
from pegasos.engine.runtime.compiling import announced
from pegasos.engine.runtime.interruption import tell_gap

Array = np.ndarray[Any, Any]

MOST_ITERATIONS = 200
#: Rounds without a better gap after which nothing more is to be had from this arithmetic.
PATIENCE = 12
#: Steps tried where the full one does not lower the objective by this share of what its slope promises.
STEPS = 0.5 ** np.arange(1, 13)
PROMISED = 1e-4
#: A sample takes every 16th row if it has this many rows for each feature left, and of either label at least so many.
STRIDE = 16
SAMPLE_ROWS_PER_FEATURE = 20
SAMPLE_TOL = 1e-3
#: A score at which the loss is zero: e⁻⁸⁰⁰ is.
ENOUGH = 800.0


def solve_logistic(
    X: Any, targets: list[Target], intercept: Intercept, tol: float, members: Array | None = None
) -> list[Optimum]:
    """All targets on the same rows (those that `members` names; None: all), each until its relative gap is at most tol."""
    answers: list[Optimum] = []
    with RowBlocks(X, members) as blocks, announced("newton"):
        for batch in batches(len(targets), blocks.count, blocks.width, LINES):
            answers += _solve(blocks, [targets[k] for k in batch], intercept, tol)
    return answers


def workspace_bytes(m: int, width: int, targets: int, itemsize: int) -> int:
    """Memory beside X, at most."""
    sample = (m // STRIDE + 1) * (width * 8 + 8 * (LINES + 4) * targets)
    return workspace(targets, m, width, LINES, itemsize) + sample


class _Path:
    """Where one target stands: its vector (the intercept last, if there is one), the direction, and the gap after a full step."""

    def __init__(self, number: int, width: int, intercept: Intercept, start: Array | None) -> None:
        self.number = number
        self.free = intercept is Intercept.FREE
        self.diagonal = np.ones(width + (intercept is not Intercept.NONE))
        if self.free:
            self.diagonal[-1] = 0.0
        self.vector = np.zeros(len(self.diagonal)) if start is None else start
        self.move = self.vector
        self.step = 0.0
        self.precise = width < WIDE
        self.factors = np.ones(2)
        self.relative = self.least = np.inf
        self.rounds = self.since = 0
        self.course: list[tuple[float, float]] = []

    def begin(self, nowhere: float, there: float) -> None:
        """The first step is from zero to the start, if that is better."""
        if self.primal(self.vector, there) < nowhere:
            self.step = 1.0
        else:
            self.vector = np.zeros(len(self.vector))

    def arrive(self, loss: Array, combination: Array, matrix: Array) -> None:
        """After a step: the direction of the next one."""
        gradient = self.diagonal * self.vector - combination[0]
        self.value = self.primal(self.vector, float(loss))
        matrix.flat[:: len(matrix) + 1] += self.diagonal
        self.move = NormalMatrix(matrix).solve(-gradient)
        self.slope = float(gradient @ self.move)
        self.rounds += 1

    def look(self, scalars: Array, combination: Array) -> None:
        """What the full step would lead to."""
        loss, terms, positive, negative = (float(number) for number in scalars)
        self.ahead = self.primal(self.vector + self.move, loss)
        least = min(positive, negative)
        self.factors = (
            np.array([least / positive, least / negative])
            if self.free and least > 0.0
            else np.ones(2)
        )
        bound = terms - 0.5 * float(self.diagonal * combination[0] @ combination[0])
        self.relative = (self.ahead - bound) / self.ahead if self.ahead > 0.0 else 0.0
        self.course.append((min(self.value, self.ahead), bound))
        better = self.relative < self.least or self.ahead < 0.999 * self.value
        self.since = 0 if better else self.since + 1
        self.precise |= not self.relative < 0.1 * self.least or self.relative < 1e-4
        self.least = min(self.least, self.relative)
        self.step = 1.0 if self.falls(1.0, self.ahead) else 0.0

    def falls(self, step: float, value: float) -> bool:
        # near the optimum the objective cannot tell steps apart: then they are taken
        return value <= self.value + PROMISED * step * self.slope + 1e-14 * abs(self.value)

    def shorten(self, losses: Array) -> None:
        """The best of the shorter steps."""
        values = [
            self.primal(self.vector + step * self.move, float(loss))
            for step, loss in zip(STEPS, losses, strict=True)
        ]
        self.step = float(STEPS[int(np.argmin(values))])

    def primal(self, vector: Array, loss: float) -> float:
        return 0.5 * float(self.diagonal * vector @ vector) + loss

    @property
    def stuck(self) -> bool:
        return self.rounds >= MOST_ITERATIONS or self.since >= PATIENCE


def _solve(
    blocks: RowBlocks, targets: list[Target], intercept: Intercept, tol: float
) -> list[Optimum]:
    answers = [trivial_optimum(target, blocks.width, intercept, ENOUGH) for target in targets]
    todo = [k for k, answer in enumerate(answers) if answer is None]
    starts = _starts(blocks, [targets[k] for k in todo], intercept)
    live = [_Path(k, blocks.width, intercept, start) for k, start in zip(todo, starts, strict=True)]
    if live:
        (losses,), _ = blocks.map_sum(_open, targets, [(path.number, path.vector) for path in live])
        for path, both in zip(live, losses, strict=True):
            path.begin(*both)
    while live:
        sums, _ = blocks.map_sum(
            _advance, [(p.number, p.step, p.precise) for p in live], len(live[0].vector)
        )
        for path, *own in zip(live, *sums, strict=True):
            path.arrive(*own)
        sums, _ = blocks.map_sum(_look, [(p.number, p.move) for p in live])
        for path, *own in zip(live, *sums, strict=True):
            path.look(*own)
        for path in [path for path in live if path.relative <= tol or path.stuck]:
            answer = _settle(blocks, path)
            if answer.relative <= tol or path.stuck:
                answers[path.number] = answer
                live.remove(path)
        tell_gap(max((path.relative for path in live), default=0.0), tol)
        short = [path for path in live if path.step == 0.0]
        if short:
            for path, losses in zip(
                short, blocks.map_sum(_losses, [p.number for p in short]).sums[0], strict=True
            ):
                path.shorten(losses)
        for path in live:
            path.vector = path.vector + path.step * path.move
    for block in blocks.blocks:
        block.own = None
    return [answer for answer in answers if answer is not None]


def _starts(blocks: RowBlocks, targets: list[Target], intercept: Intercept) -> list[Array | None]:
    """The optimum of a sample of the rows, weighted to stand for all, for targets of which it has rows enough."""
    starts: list[Array | None] = [None] * len(targets)
    if blocks.count < STRIDE * SAMPLE_ROWS_PER_FEATURE * blocks.width:
        return starts
    parts = [Target(target.labels[::STRIDE], target.bounds[::STRIDE]) for target in targets]
    known = [k for k, target in enumerate(parts) if _fewest(target) >= SAMPLE_ROWS_PER_FEATURE]
    if known:
        scaled = [
            Target(parts[k].labels, parts[k].bounds * _share(targets[k], parts[k])) for k in known
        ]
        constant = intercept is not Intercept.NONE
        for k, found in zip(
            known,
            _solve(blocks.sample(STRIDE), scaled, intercept, SAMPLE_TOL),
            strict=True,
        ):
            starts[k] = np.append(found.vector, found.bias) if constant else found.vector
    return starts


def _fewest(target: Target) -> int:
    present = target.labels[target.bounds > 0.0]
    return min(int((present > 0.0).sum()), int((present < 0.0).sum()))


def _share(target: Target, sample: Target) -> float:
    return float(target.bounds.sum() / sample.bounds.sum())


def _settle(blocks: RowBlocks, path: _Path) -> Optimum:
    """The pair after the full step, certified from products with the very rows and coefficients."""
    vector = path.vector + path.move
    dual = blocks.map_rows(_coefficients, path.number, path.factors)
    scalars, combined = blocks.map_sum(_exact, path.number, vector, path.factors).sums
    bound = float(scalars[1]) - 0.5 * float(path.diagonal * combined[0] @ combined[0])
    bias = float(vector[-1]) if len(vector) > blocks.width else 0.0
    primal, course = path.primal(vector, float(scalars[0])), tuple(path.course)
    return Optimum(vector[: blocks.width].copy(), bias, dual, primal, bound, path.rounds, course)


# The work on one block ------------------------------------------------------------------------------------------------


class _Own:
    """What a block keeps about its rows for one target."""

    def __init__(self, target: Target, span: slice) -> None:
        self.labels = target.labels[span]
        self.bounds = target.bounds[span]
        self.state = np.zeros((LINES, span.stop - span.start))


def _open(block: Block, targets: list[Target], starts: list[tuple[int, Array]]) -> Part:
    """Losses at zero and at the starts."""
    block.own = {number: _Own(targets[number], block.span) for number, _ in starts}
    sums = np.zeros((len(starts), 2))
    for j, (number, start) in enumerate(starts):
        own = block.own[number]
        if start.any():
            own.state[CHANGE] = own.labels * block.scores(block.rows(), start)
        logistic_rows.losses_along(own.state, own.bounds, np.array([0.0, 1.0]), sums[j])
    return Part((sums,))


def _advance(block: Block, orders: list[tuple[int, float, bool]], size: int) -> Part:
    rows = block.rows()
    losses, matrices = np.empty(len(orders)), np.empty((len(orders), size, size))
    combinations = np.empty((len(orders), 1, size))
    out = np.empty((2, block.count))
    for j, (number, step, precise) in enumerate(orders):
        own = block.own[number]
        losses[j] = logistic_rows.advance(own.state, own.labels, own.bounds, step, out)
        block.combine(rows, out[:1], combinations[j])
        block.squares(rows, out[1], matrices[j], precise)
    return Part((losses, combinations, matrices))


def _look(block: Block, orders: list[tuple[int, Array]]) -> Part:
    rows = block.rows()
    scalars, combinations = (
        np.zeros((len(orders), 4)),
        np.empty((len(orders), 1, len(orders[0][1]))),
    )
    out = np.empty((1, block.count))
    for j, (number, move) in enumerate(orders):
        own = block.own[number]
        own.state[CHANGE] = own.labels * block.scores(rows, move)
        logistic_rows.look_ahead(own.state, own.labels, own.bounds, np.ones(2), out, scalars[j])
        block.combine(rows, out, combinations[j])
    return Part((scalars, combinations))


def _losses(block: Block, numbers: list[int]) -> Part:
    sums = np.zeros((len(numbers), len(STEPS)))
    for j, number in enumerate(numbers):
        logistic_rows.losses_along(
            block.own[number].state, block.own[number].bounds, STEPS, sums[j]
        )
    return Part((sums,))


def _exact(block: Block, number: int, vector: Array, factors: Array) -> Part:
    rows, own = block.rows(), block.own[number]
    scalars, out, combination = np.zeros(4), np.empty((1, block.count)), np.empty((1, len(vector)))
    logistic_rows.look_ahead(own.state, own.labels, own.bounds, factors, out, scalars)
    block.combine(rows, out, combination)
    # the loss of the very vector; should this not be the end, the rounding of many steps goes with the next one
    margins = own.labels * block.scores(rows, vector)
    own.state[CHANGE] = margins - own.state[MARGIN]
    loss = np.zeros(1)
    logistic_rows.losses_along(own.state, own.bounds, np.ones(1), loss)
    scalars[0] = loss[0]
    return Part((scalars, combination))


def _coefficients(block: Block, number: int, factors: Array) -> Array:
    own = block.own[number]
    out = np.empty((1, block.count))
    logistic_rows.look_ahead(own.state, own.labels, own.bounds, factors, out, np.zeros(4))
    return own.labels * out[0]
