"""The hinge loss on very many rows of few features: most rows are decided before the interior point method sees them.

At the optimum a row with a margin below 1 has a_i = C_i, and one above has a_i = 0. The optimum of a sample, which has nearly the
same w, tells on which side all those rows are whose margin is not near 1. The first kind is held at C_i, the second left out, and
the rest is solved. What was decided wrongly is seen when the margins of all rows are next computed, for the certificate: these
rows are then solved together with the others; if the new vector is a worse one because of them, only a part of the way to it is
gone, and only those join that are met on that part. The sample itself is solved the same way, if it is large.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.engine.optimum.hinge.interior_point import solve_hinge
from pegasos.engine.optimum.hinge.sample_start import sampled
from pegasos.engine.optimum.problem import Held, Intercept, Optimum, Target
from pegasos.engine.rows.blocks import Block, Part, RowBlocks
from pegasos.engine.rows.mapped import MappedRows
from pegasos.engine.runtime.compiling import compiled
from pegasos.engine.runtime.interruption import tell_gap
from pegasos.engine.runtime.threads import our_threads

Array = np.ndarray[Any, Any]

#: Rows, and rows for each feature, from which this is worth while.
MANY_ROWS, ROWS_A_FEATURE = 20_000, 200
#: One row in so many makes the sample, and the gap to which it is solved: its w is off by more than that.
ONE_IN, SAMPLE_GAP = 8, 0.003
#: The vector of n rows with d features is off by a share of about √(d/n): rows in a band so many times as wide, or this share of
#: them at most, are solved first; the share from which all rows are; and how often wrong decisions are mended.
BAND, FIRST_SHARE, LARGEST_SHARE, MOST_TIMES = 3.0, 0.45, 0.5, 12
#: Steps tried on the way to the vector of the rows that were solved. If the best of them, t, is not the whole one, rows that were
#: decided wrongly are looked for up to t to this power: too few of them, and there are many more times; all, and most rows join.
STEPS, FARTHER = np.append(0.5 ** np.arange(20), 0.0), 0.25
#: What the rows that are solved may leave of the gap: the rest is for those that were decided wrongly.
INNER = 0.5


def worth(X: Any, rows: int, intercept: Intercept) -> bool:
    """Whether there are so many rows for each feature that most are better decided first."""
    if intercept is Intercept.FREE or isinstance(X, MappedRows):
        return False
    return rows >= max(MANY_ROWS, ROWS_A_FEATURE * X.shape[1])


def solve_hinge_on_many(
    X: Any, targets: list[Target], intercept: Intercept, tol: float, members: Array | None = None
) -> list[Optimum]:
    """All targets on the same rows (those that `members` names; None: all), each until its relative gap is at most tol."""
    rows = X.shape[0] if members is None else len(members)
    if not worth(X, rows, intercept):
        return solve_hinge(X, targets, intercept, tol, members)
    if members is not None:  # once, and not for each target
        X = X[members]
    # what is solved inside of a pool of threads may use all of them, too
    with our_threads():
        sample = spread_sample(rows, ONE_IN)
        few = [sampled(target, sample) for target in targets]
        starts = solve_hinge_on_many(X, few, intercept, max(tol, SAMPLE_GAP), sample)
        pairs = zip(targets, starts, strict=True)
        return [_solve(X, target, start, intercept, tol) for target, start in pairs]


def spread_sample(count: int, one_in: int) -> Array:
    """One of every so many places, always the same ones, in no step in which labels might repeat."""
    size = count // one_in
    return np.arange(size) * one_in + np.random.default_rng(0).integers(one_in, size=size)


def _solve(X: Any, target: Target, start: Optimum, intercept: Intercept, tol: float) -> Optimum:
    """From a vector that is nearly the best one: the rows near its margin, until the gap of all rows is at most tol."""
    vector, rounds = with_bias(start, intercept), start.rounds
    with RowBlocks(X) as blocks:
        margins = blocks.map_rows(_margins, target.labels, vector)
        scale = 0.5 * float(vector @ vector) + loss_of(margins, target.bounds)
        course = [(scale, 0.0)]
        below, open_rows = margins < 1.0, np.zeros(len(margins), dtype=bool)
        share = min(FIRST_SHARE, BAND * math.sqrt(len(vector) * ONE_IN / len(margins)))
        count = int(share * len(margins))
        open_rows[np.argpartition(np.abs(margins - 1.0), count)[:count]] = True
        for _ in range(MOST_TIMES):
            index = np.flatnonzero(open_rows)
            dual = np.where(below & ~open_rows, target.bounds, 0.0)
            (combined,) = blocks.map_sum(_combined, target.labels * dual, len(vector)).sums
            held = Held(combined[0], float(dual.sum()), scale)
            (part,) = solve_hinge(
                X,
                [Target(target.labels[index], target.bounds[index], held)],
                intercept,
                INNER * tol,
                index,
            )
            dual[index], ahead, rounds = part.dual, with_bias(part, intercept), rounds + part.rounds
            margins_ahead = blocks.map_rows(_margins, target.labels, ahead)
            wrong = (margins_ahead < 1.0) != below
            step, primal = best_step(vector, ahead, margins, margins_ahead, target.bounds)
            if (
                step < 1.0
            ):  # rows that were decided wrongly did not stop it: the first of them that it met may suffice
                first = (margins + step**FARTHER * (margins_ahead - margins) < 1.0) != below
                wrong = first if (first & ~open_rows).any() else wrong
                ahead = vector + step * (ahead - vector)
                margins_ahead = blocks.map_rows(_margins, target.labels, ahead)
                primal = 0.5 * float(ahead @ ahead) + loss_of(margins_ahead, target.bounds)
            vector, margins = ahead, margins_ahead
            course += [*((scale, bound) for _, bound in part.course), (primal, part.bound)]
            bias = float(vector[-1]) if len(vector) > blocks.width else 0.0
            found = Optimum(
                vector[: blocks.width], bias, dual, primal, part.bound, rounds, tuple(course)
            )
            if found.relative <= tol:
                return found
            tell_gap(found.relative, tol)
            open_rows |= wrong
            scale = min(scale, primal)
            now = np.count_nonzero(open_rows)
            if now == len(index) or now > LARGEST_SHARE * len(margins):
                break
    (whole,) = solve_hinge(X, [target], intercept, tol)
    return replace(whole, rounds=whole.rounds + rounds, course=(*course, *whole.course))


def margins_of(X: Any, labels: Array, vector: Array) -> Array:
    """y_i w·x_i of rows, the intercept last in w if it is longer than they are."""
    with RowBlocks(X) as blocks:
        return blocks.map_rows(_margins, labels, vector)


def with_bias(optimum: Optimum, intercept: Intercept) -> Array:
    """w, with the intercept last where it is a constant feature."""
    return (
        optimum.vector if intercept is Intercept.NONE else np.append(optimum.vector, optimum.bias)
    )


@compiled
def loss_of(margins: Array, bounds: Array) -> float:
    """Σ C_i max(0, 1 - m_i)."""
    loss = 0.0
    for i in range(margins.size):
        loss += bounds[i] * max(0.0, 1.0 - margins[i])
    return loss


@compiled
def best_step(
    before: Array, after: Array, margins: Array, ahead: Array, bounds: Array
) -> tuple[float, float]:
    """Which of STEPS from one vector to another, with these margins, has the least F, and that F; the whole one if it helps."""
    best, least = 1.0, np.inf
    start = _value_along(before, after, margins, ahead, bounds, 0.0)
    for k in range(STEPS.size):
        value = _value_along(before, after, margins, ahead, bounds, STEPS[k])
        if value < least:
            best, least = STEPS[k], value
        if k == 0 and value <= start:
            break
    return best, least


@compiled
def _value_along(
    before: Array, after: Array, margins: Array, ahead: Array, bounds: Array, step: float
) -> float:
    value = 0.0
    for k in range(before.size):
        value += 0.5 * (before[k] + step * (after[k] - before[k])) ** 2
    for i in range(margins.size):
        value += bounds[i] * max(0.0, 1.0 - margins[i] - step * (ahead[i] - margins[i]))
    return value


def _margins(block: Block, labels: Array, vector: Array) -> Array:
    return np.asarray(labels[block.span] * block.scores(block.whole(), vector))


def _combined(block: Block, coefficients: Array, size: int) -> Part:
    out = np.empty((1, size))
    block.combine(block.whole(), coefficients[None, block.span], out)
    return Part((out,))
