"""The parts of a round of working sets in compiled code, and whole rounds of a predictor whose lines of K are all stored."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pegasos.engine.optimum.certificate import stretched
from pegasos.engine.optimum.hinge.lines import add_lines
from pegasos.engine.optimum.hinge.pair_steps import SetKernel, climb_pairs
from pegasos.engine.optimum.hinge.set_choice import choose_rows
from pegasos.engine.runtime.compiling import compiled
from pegasos.engine.runtime.float_bits import bits_of, number_of

Array = np.ndarray[Any, Any]

#: Rows of a set at most: it grows from round to round, the last time only if its rows need many steps.
USUAL_SET, LARGEST_SET = 1400, 4000
#: Rounds after which a set has at most so many times the rows that have a coefficient, and may be as small as this.
SETTLED_ROUNDS, TIMES_USED, SETTLED_SET = 2, 3, 128
#: Rounds after which more rows than that are inside their box, and must move together; and the largest set for them.
MANY_ROUNDS, LAST_SET = 25, 10_000
#: A step is worth it if it gains this share of the gap, spread over the set, or of the largest gain that there is.
SHARE_OF_GAP, SHARE_OF_GAIN = 3e-4, 0.03
#: From this multiple of the tolerance on a round may be the last: then so much smaller a gain is worth a step, that it is.
LAST_ROUND, DEEPER = 30.0, 0.03
#: Pair steps times the rows of their set between two looks at the keyboard, and sets' worth of steps in a round at most.
EFFORT_AT_ONCE, STEPS_A_ROW = 4 * 10**8, 100


@partial(compiled, any_order=True)
def survey(
    labels: Array,
    bounds: Array,
    c: Array,
    scores: Array,
    diagonal: Array,
    bias: float,
    gains: Array,
) -> tuple[float, float, float]:
    """‖w‖², G and the largest of the `gains`: what each coordinate's own best step gains (or would, at this intercept)."""
    squared, linear, most = 0.0, 0.0, bits_of(0.0)
    for i in range(c.size):
        y, own, v = labels[i], c[i], labels[i] - scores[i] - bias
        squared += own * scores[i]
        linear += y * own
        low, high = min(0.0, y * bounds[i]) - own, max(0.0, y * bounds[i]) - own
        step = min(max(v / max(diagonal[i], 1e-300), low), high)
        gains[i] = step * (v - 0.5 * diagonal[i] * step)
        most = max(most, bits_of(gains[i]))
    return squared, linear - 0.5 * squared, number_of(most)


@compiled
def certified(
    labels: Array,
    bounds: Array,
    c: Array,
    scores: Array,
    diagonal: Array,
    bias: float,
    gains: Array,
    tol: float,
    times: int,
) -> tuple[float, float, float, float]:
    """The factor t of w, F there, G and the largest gain; t is 1 where that is enough for a relative gap of tol, or w = 0."""
    squared, bound, most = survey(labels, bounds, c, scores, diagonal, bias, gains)
    factor, primal = stretched(labels, bounds, scores, bias, squared, 0)
    if primal - bound > tol * primal and (squared > 0.0 or bias != 0.0):
        factor, primal = stretched(labels, bounds, scores, bias, squared, times)
    return factor, primal, bound, most


@compiled
def certified_at(
    products: Array,
    constant: float,
    labels: Array,
    bounds: Array,
    c: Array,
    scores: Array,
    diagonal: Array,
    gains: Array,
    tol: float,
    times: int,
) -> tuple[float, float, float, float]:
    """The same without a free intercept, after scores have become products with the constant feature."""
    bias = constant * np.sum(c)
    for i in range(c.size):
        scores[i] = products[i] + bias
    return certified(labels, bounds, c, scores, diagonal, 0.0, gains, tol, times)


@compiled
def whatever_rounding_did(
    labels: Array, bounds: Array, c: Array, scores: Array, bias: float, error: float, times: int
) -> tuple[float, float, float]:
    """The factor t of w, F there at most, and G at least, if each value of the kernel may be off by `error`."""
    squared, linear, total = 0.0, 0.0, 0.0
    for i in range(c.size):
        squared += c[i] * scores[i]
        linear += labels[i] * c[i]
        total += abs(c[i])
    beside = error * total  # of a score
    squared += beside * total
    factor, primal = stretched(labels, bounds, scores - beside * labels, bias, squared, times)
    return factor, primal, linear - 0.5 * squared


@compiled
def is_uncertain(label: float, bound: float, score: float, factor: float, error: float) -> bool:
    """Whether the loss of a row at t (w, b) may not be zero, if its score is off by error (1 + |score|)."""
    margin = label * score
    return bound > 0.0 and not factor * (margin - error * (1.0 + abs(margin))) >= 1.0


@compiled
def changed_and_uncertain(
    labels: Array,
    bounds: Array,
    c: Array,
    scores: Array,
    bias: float,
    factor: float,
    known: Array,
    error: float,
) -> tuple[Array, Array, Array]:
    """Rows whose coefficients are others than those known, by how much, and all rows that the certificate depends on."""
    used, changes, wanted = (
        np.empty(c.size, dtype=np.int64),
        np.empty(c.size),
        np.empty(c.size, dtype=np.int64),
    )
    moved = count = 0
    for i in range(c.size):
        change = c[i] - known[i]
        used[moved], changes[moved], wanted[count] = i, change, i
        moved += change != 0.0
        count += (
            change != 0.0
            or c[i] != 0.0
            or is_uncertain(labels[i], bounds[i], scores[i] + bias, factor, error)
        )
    return used[:moved].copy(), changes[:moved].copy(), wanted[:count].copy()


@compiled
def is_uncertain_beyond(
    labels: Array,
    bounds: Array,
    scores: Array,
    bias: float,
    factor: float,
    wanted: Array,
    error: float,
) -> bool:
    """Whether the certificate depends on other rows, too."""
    place = 0
    for i in range(labels.size):
        if place < wanted.size and wanted[place] == i:
            place += 1
        elif is_uncertain(labels[i], bounds[i], scores[i] + bias, factor, error):
            return True
    return False


@compiled
def start_of_steps(
    index: Array,
    places: Array,
    labels: Array,
    bounds: Array,
    c: Array,
    scores: Array,
    diagonal: Array,
    bias: float,
    scale: float,
    work: Array,
) -> None:
    """Gradient, K_ii and room (down and up) of the rows `index`, at their places in a set; all others of the set have none."""
    work[:] = 0.0
    v, own, down, up = work[0], work[1], work[2], work[3]
    for k in range(index.size):
        i, place = index[k], places[k]
        top = labels[i] * bounds[i]
        v[place] = labels[i] - scores[i] - bias
        own[place] = diagonal[i] / scale
        down[place] = (min(0.0, top) - c[i]) * scale
        up[place] = (max(0.0, top) - c[i]) * scale


@compiled
def end_of_steps(
    index: Array,
    places: Array,
    labels: Array,
    bounds: Array,
    c: Array,
    change: Array,
    factor: float,
    down: Array,
    up: Array,
) -> tuple[Array, int]:
    """Coefficients after the changes, and how many are at their bound: who ran out of room is at the bound itself."""
    after, at_bound = np.empty(index.size), 0
    for k in range(index.size):
        place, top = places[k], labels[index[k]] * bounds[index[k]]
        low, high = min(0.0, top), max(0.0, top)
        if down[place] >= 0.0:
            after[k] = low
        elif up[place] <= 0.0:
            after[k] = high
        else:
            after[k] = min(max(c[index[k]] + change[place] * factor, low), high)
        at_bound += abs(after[k]) >= bounds[index[k]]
    return after, at_bound


@compiled
def worth_a_step(primal: float, bound: float, most_gain: float, rows: int, tol: float) -> float:
    """The gain from which on a step is worth it, in a set of so many rows."""
    gap = primal - bound
    share = SHARE_OF_GAP * (DEEPER if gap <= LAST_ROUND * tol * primal else 1.0)
    return min(share * gap / rows, SHARE_OF_GAIN * most_gain)


@compiled
def next_size(
    size: int, rounds: int, steps: int, rows: int, at_bound: int, c: Array, bounds: Array
) -> int:
    """Rows of the next set, after so many rounds, of which the last took these steps on these rows.

    Who is not there soon has many rows that must move together, after many rounds all that are inside their box (and as many
    others); and if most go straight to their bound, a large set is cheap.
    """
    if rounds % 2 and 2 * at_bound <= rows:
        return size
    most = LARGEST_SET if steps > rows else USUAL_SET
    if rounds > MANY_ROUNDS:
        inside = 0
        for i in range(c.size):
            inside += c[i] != 0.0 and abs(c[i]) < bounds[i]
        most = max(most, min(2 * inside, LAST_SET))
    return max(size, min(2 * size, most))


@compiled
def useful_size(size: int, rounds: int, c: Array) -> int:
    """Rows of a set at most, if `size` are allowed: once most rows that need a coefficient have one, few others will move."""
    if rounds < SETTLED_ROUNDS:
        return size
    used = 0
    for i in range(c.size):
        used += c[i] != 0.0
    return min(size, max(SETTLED_SET, TIMES_USED * used))


class Own(NamedTuple):
    """What a predictor has of each training row; all but labels, bounds and diagonal (with the constant) change."""

    labels: Array
    bounds: Array
    c: Array
    scores: Array
    diagonal: Array
    gains: Array


class Stored(NamedTuple):
    """The kernel matrix, of which `rows` are the training rows; scores of all its rows, without the constant (1 x rows);
    the constant feature, the factor of the kernel within sets, and room for that.
    """

    values: Array
    rows: Array
    products: Array
    constant: float
    factor: float
    square: Array


class Standing(NamedTuple):
    """How far a predictor is: the factor of w, F there, G, and the largest gain of a step."""

    factor: float
    primal: float
    bound: float
    most_gain: float


@compiled
def round_alone(
    own: Any, stored: Any, size: int, standing: Any, tol: float
) -> tuple[int, int, int]:
    """A round but for its certificate, in place: the set, its pair steps, the scores. Returned are steps, rows, and at bounds."""
    labels, bounds, c, scores = own.labels, own.bounds, own.c, own.scores
    index = choose_rows(labels, bounds, c, scores, 0.0, own.gains, size)
    places, lines = np.arange(index.size), stored.rows[index]
    K = stored.square[: index.size * index.size].reshape(index.size, index.size)
    line, count = np.full(index.size, -1), np.zeros(1, dtype=np.int64)
    kernel = SetKernel(K, line, count, stored.values, lines, lines, stored.constant, stored.factor)
    work, change = np.empty((4, index.size), dtype=K.dtype), np.zeros(index.size, dtype=K.dtype)
    start_of_steps(
        index, places, labels, bounds, c, scores, own.diagonal, 0.0, 1.0 / stored.factor, work
    )
    least = (
        worth_a_step(standing.primal, standing.bound, standing.most_gain, index.size, tol)
        / stored.factor
    )
    most = min(STEPS_A_ROW * index.size, EFFORT_AT_ONCE // index.size)
    steps = climb_pairs(kernel, work[1], work[0], work[2], work[3], least, most, change)
    after, at_bound = end_of_steps(
        index, places, labels, bounds, c, change, stored.factor, work[2], work[3]
    )
    moved = np.empty((1, index.size))
    for k in range(index.size):
        moved[0, k] = after[k] - c[index[k]]
        c[index[k]] = after[k]
    add_lines(lines, moved, stored.values, stored.products)
    bias, products = stored.constant * np.sum(c), stored.products[0]
    for i in range(stored.rows.size):
        scores[i] = products[stored.rows[i]] + bias
    return steps, index.size, at_bound


@compiled
def rounds_alone(
    own: Any,
    stored: Any,
    size: int,
    rounds: int,
    standing: Any,
    tol: float,
    times: int,
    course: Array,
) -> tuple[int, int, int, int, Any]:
    """Rounds, in place, until the gap is tol or other help is needed, at most as many as `course` has lines for their P and D.

    size  that of the next set; rounds  before these; times  as for `stretched`
    Returned are the rounds, steps of the last one, the next size, the effort of all, and the standing in the end.
    """
    taken, steps, effort = 0, 0, 0
    useful = useful_size(size, rounds, own.c)
    while taken < course.shape[0]:
        steps, count, at_bound = round_alone(own, stored, useful, standing, tol)
        before = standing
        found = certified(
            own.labels, own.bounds, own.c, own.scores, own.diagonal, 0.0, own.gains, tol, times
        )
        standing = Standing(found[0], found[1], found[2], found[3])
        course[taken, 0], course[taken, 1] = standing.primal, standing.bound
        taken += 1
        effort += steps * count
        size = min(
            own.c.size, next_size(size, rounds + taken, steps, count, at_bound, own.c, own.bounds)
        )
        useful = useful_size(size, rounds + taken, own.c)
        gap = standing.primal - standing.bound
        idle = (
            not standing.bound > before.bound
            and not gap * before.primal < (before.primal - before.bound) * standing.primal
        )
        if (
            idle
            or gap <= tol * standing.primal
            or effort >= EFFORT_AT_ONCE
            or useful * useful > stored.square.size
        ):
            break
    return taken, steps, size, effort, standing
