"""The hinge loss on very many rows of few features: Newton's method on a smoothed loss, from a vector that is nearly the best.

Where a row's margin m is within δ/2 of 1, the corner of the loss becomes a parabola: there a falls from C to 0 along a line.
At the optimum of that loss w = Σ a_i y_i x_i, so that w and a are a pair of the hinge loss itself, with the gap

    Σ C_i (|u_i|/2 - u_i²/δ) over the rows of the band |u_i| < δ/2, u_i = 1 - m_i

which grows as δ². So a relative gap of 1e-3 allows a band that holds a tenth of the rows or so, and Newton's matrix is
I + Σ C_i/δ x_i x_iᵀ over these rows alone. An iteration is one pass: the margins after the step tell objective, gap, gradient and
matrix. The steps are few if the band is wide beside the error of the start and has rows for every feature. Where they come to be
short (columns that few rows have, margins that are nearly all 1), the answer is None: other methods know better then.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pegasos.engine.optimum.normal_matrix import NormalMatrix
from pegasos.engine.optimum.problem import Optimum, Target
from pegasos.engine.rows.blocks import WIDE, Block, Part, RowBlocks
from pegasos.engine.runtime.compiling import announced, compiled
from pegasos.engine.runtime.interruption import tell_gap

Array = np.ndarray[Any, Any]

#: Passes at most, and short steps (less than so much of Newton's) after which this is given up.
MOST_PASSES, SHORT, MOST_SHORT = 15, 0.25, 3
#: What the band may leave of the gap, the rest being for w; and how much narrower it becomes at most from one pass to the next.
CORNER, NARROWER = 0.6, 0.25
#: Rows whose margins tell the first band, and halvings to find it.
FEW_ROWS, HALVINGS = 4096, 30
#: Steps tried where the whole one does not lower the objective by this share of what its slope promises.
STEPS = 0.5 ** np.arange(1, 13)
PROMISED = 1e-4
#: What a block keeps about a row for a target: its margins at the vector and at the trial.
LINES = 2


def solve_hinge_smoothed(
    blocks: RowBlocks, targets: list[Target], starts: list[Array], tol: float
) -> list[Optimum | None]:
    """All targets on the same rows, each until its relative gap is at most tol; None for those who do not get there soon.

    starts  vectors to begin with, longer by one than the rows where there is a constant feature
    """
    answers: list[Optimum | None] = [None] * len(targets)
    live = [
        _Path(k, start, _first_band(blocks, targets[k], start, tol))
        for k, start in enumerate(starts)
    ]
    with announced("smoothed-hinge"):
        while live := [path for path in live if not path.hopeless]:
            orders = [(p.number, p.trial, p.taken, p.before, p.band) for p in live]
            sums, _ = blocks.map_sum(_look, targets, orders)
            for path, *own in zip(live, *sums, strict=True):
                path.arrive(*own)
            tell_gap(max(path.relative for path in live), tol)
            for path in [path for path in live if path.taken and path.relative <= tol]:
                answers[path.number] = _answer(blocks, targets[path.number], path)
                live.remove(path)
            late = [path for path in live if not path.taken]
            if late:
                (values,), _ = blocks.map_sum(
                    _along, targets, [(path.number, path.before) for path in late]
                )
                for path, losses in zip(late, values, strict=True):
                    path.shorten(losses)
            for path in live:
                if path.taken:
                    path.go_on(tol)
    for block in blocks.blocks:
        block.own = None
    return answers


class _Path:
    """Where one target stands: its vector, the direction from there, and the trial that the next pass looks at.

    before, band  δ at the vector, and at the trial
    taken         whether the last trial is the vector now
    """

    def __init__(self, number: int, start: Array, band: float) -> None:
        self.number = number
        self.trial = self.vector = start
        self.before = self.band = band
        self.taken, self.searched = False, True
        self.step, self.slope, self.value = 1.0, 0.0, math.inf
        self.passes = self.short = 0
        self.relative = math.inf
        self.course: list[tuple[float, float]] = []

    @property
    def hopeless(self) -> bool:
        useful = 0.0 < self.band < math.inf and bool(np.isfinite(self.trial).all())
        return not useful or self.passes >= MOST_PASSES or self.short >= MOST_SHORT

    def arrive(self, scalars: Array, combination: Array, matrix: Array) -> None:
        """At the trial, which becomes the vector if it is better."""
        self.passes += 1
        loss, total, smoothed_before, smoothed = (float(number) for number in scalars)
        square = 0.5 * float(self.trial @ self.trial)
        enough = self.value + PROMISED * self.step * self.slope + 1e-14 * abs(self.value)
        self.taken = self.searched or square + smoothed_before <= enough
        if not self.taken:
            return
        self.vector, self.value, self.before = self.trial, square + smoothed, self.band
        self.primal, self.bound = (
            square + loss,
            total - 0.5 * float(combination[0] @ combination[0]),
        )
        self.relative = (self.primal - self.bound) / self.primal if self.primal > 0.0 else 0.0
        self.course.append((self.primal, self.bound))
        self.gradient = self.vector - combination[0]
        self.corner = self.primal - self.bound - 0.5 * float(self.gradient @ self.gradient)
        matrix.flat[:: len(matrix) + 1] += 1.0
        self.matrix = matrix

    def go_on(self, tol: float) -> None:
        """The next trial: Newton's step, with a narrower band if this one's loss is nearly at its minimum."""
        self.move = NormalMatrix(self.matrix).solve(-self.gradient)
        self.slope, self.step, self.searched = float(self.gradient @ self.move), 1.0, False
        allowed = CORNER * tol * self.primal
        if self.corner > 1.2 * allowed and -0.5 * self.slope <= max(self.corner, tol * self.primal):
            self.band *= max(NARROWER, math.sqrt(allowed / self.corner))
        self.trial = self.vector + self.move

    def shorten(self, losses: Array) -> None:
        """The best of the shorter steps, with the same band."""
        trials = self.vector + STEPS[:, None] * self.move
        best = int(np.argmin(0.5 * (trials * trials).sum(axis=1) + losses))
        self.step, self.trial, self.searched, self.band = (
            float(STEPS[best]),
            trials[best],
            True,
            self.before,
        )
        self.short += self.step < SHORT


def _first_band(blocks: RowBlocks, target: Target, start: Array, tol: float) -> float:
    """The δ whose gap is tol, by the margins of few rows."""
    few = slice(None, None, max(1, blocks.count // FEW_ROWS))
    rows, labels, bounds = blocks.X[few], target.labels[few], target.bounds[few]
    margins = labels * (np.asarray(rows @ start[: blocks.width]) + start[blocks.width :].sum())
    total = float(target.bounds.sum())
    share = float(bounds.sum()) / total if total > 0.0 else 0.0
    return float(
        band_of(
            np.abs(1.0 - margins), margins < 1.0, bounds, tol, 0.5 * share * float(start @ start)
        )
    )


def _answer(blocks: RowBlocks, target: Target, path: _Path) -> Optimum:
    dual = blocks.map_rows(_coefficients, target, path.number, path.before)
    bias = float(path.vector[-1]) if len(path.vector) > blocks.width else 0.0
    vector = path.vector[: blocks.width].copy()
    return Optimum(
        vector, bias, dual, path.primal, path.bound, path.passes, tuple(path.course), smoothed=True
    )


# The work on one block ------------------------------------------------------------------------------------------------


def _look(
    block: Block, targets: list[Target], orders: list[tuple[int, Array, bool, float, float]]
) -> Part:
    """At the trials of all: losses, Σ a_i y_i x_i and the matrices."""
    rows, size = block.whole(), len(orders[0][1])
    if block.own is None:
        block.own = {number: np.empty((LINES, block.count)) for number, *_ in orders}
    scalars, combinations = np.zeros((len(orders), 4)), np.empty((len(orders), 1, size))
    matrices = np.empty((len(orders), size, size))
    out, weights = np.empty((1, block.count)), np.empty(block.count)
    for j, (number, trial, taken, before, band) in enumerate(orders):
        labels, bounds = targets[number].labels[block.span], targets[number].bounds[block.span]
        margins = block.own[number]
        if taken:
            margins[0] = margins[1]
        np.multiply(labels, block.scores(rows, trial), out=margins[1])
        look(margins[1], labels, bounds, before, band, out[0], weights, scalars[j])
        block.combine(rows, out, combinations[j])
        block.squares_of_some(rows, weights, matrices[j], block.width < WIDE)
    return Part((scalars, combinations, matrices))


def _along(block: Block, targets: list[Target], orders: list[tuple[int, float]]) -> Part:
    """Smoothed losses after shorter steps than to the trial."""
    sums = np.zeros((len(orders), len(STEPS)))
    for j, (number, band) in enumerate(orders):
        before, after = block.own[number]
        smoothed_along(before, after, targets[number].bounds[block.span], band, STEPS, sums[j])
    return Part((sums,))


def _coefficients(block: Block, target: Target, number: int, band: float) -> Array:
    out = np.empty(block.count)
    look(
        block.own[number][1],
        np.ones(block.count),
        target.bounds[block.span],
        band,
        band,
        out,
        np.empty(block.count),
        np.zeros(4),
    )
    return out


@compiled
def _share(u: float, band: float) -> float:
    """a/C where the margin is u below 1."""
    return min(max(0.5 + u / band, 0.0), 1.0)


@compiled
def _smoothed(u: float, band: float) -> float:
    """The loss whose slope that is."""
    share = _share(u, band)
    return 0.5 * band * share * share + max(0.0, u - 0.5 * band)


@compiled
def look(
    margins: Array,
    labels: Array,
    bounds: Array,
    before: float,
    band: float,
    out: Array,
    weights: Array,
    sums: Array,
) -> None:
    """out: y a; weights: C/δ of the rows of the band. sums: Σ C max(0, 1 - m), Σ a, and the losses smoothed by either δ."""
    loss, total, smoothed_before, smoothed = 0.0, 0.0, 0.0, 0.0
    for i in range(margins.size):
        u, bound = 1.0 - margins[i], bounds[i]
        a = bound * _share(u, band)
        loss += bound * max(0.0, u)
        total += a
        smoothed_before += bound * _smoothed(u, before)
        smoothed += bound * _smoothed(u, band)
        out[i] = labels[i] * a
        weights[i] = bound / band if 0.0 < a < bound else 0.0
    sums[0] += loss
    sums[1] += total
    sums[2] += smoothed_before
    sums[3] += smoothed


@compiled
def smoothed_along(
    before: Array, after: Array, bounds: Array, band: float, steps: Array, sums: Array
) -> None:
    """Σ C times the smoothed loss after each of these steps on the way from one place to another."""
    for k in range(steps.size):
        total = 0.0
        for i in range(bounds.size):
            total += bounds[i] * _smoothed(
                1.0 - before[i] - steps[k] * (after[i] - before[i]), band
            )
        sums[k] += total


@compiled
def band_of(distances: Array, below: Array, bounds: Array, share: float, length: float) -> float:
    """The δ whose gap is this share of the objective `length` + Σ C max(0, u), for distances |u|; u > 0 is `below` the margin."""
    allowed, farthest = length, 0.0
    for i in range(bounds.size):
        farthest = max(farthest, distances[i])
        if below[i]:
            allowed += bounds[i] * distances[i]
    allowed *= share
    low, high = 0.0, 2.0 * farthest
    for _ in range(HALVINGS):
        middle, gap = 0.5 * (low + high), 0.0
        for i in range(bounds.size):
            if distances[i] < 0.5 * middle:
                gap += bounds[i] * distances[i] * (0.5 - distances[i] / middle)
        if gap <= allowed:
            low = middle
        else:
            high = middle
    return low
