"""One predictor on its way to the optimum by working sets: its coefficients, its certificate, the next set, and steps within it.

Everything is in terms of c_i = y_i a_i and of the gradient v_i = y_i - s_i, so that labels matter only for the box of c.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pegasos.engine.certificate import halvings, stretched
from pegasos.engine.compiling import compiled
from pegasos.engine.float_bits import bits_of, number_of
from pegasos.engine.interruption import check_interruption
from pegasos.engine.optimum import Optimum, Target
from pegasos.engine.pair_steps import SetKernel, climb
from pegasos.engine.set_choice import choose_rows

Array = np.ndarray[Any, Any]

#: Rows of a set at first, and at most: it grows from round to round, the last time only if its rows need many steps.
SMALLEST_SET, USUAL_SET, LARGEST_SET = 1000, 1400, 4000
#: Rounds after which more rows than that are inside their box, and must move together; and the largest set for them.
MANY_ROUNDS, LAST_SET = 25, 10_000
#: A step is worth it if it gains this share of the gap, spread over the set, or of the largest gain that there is.
SHARE_OF_GAP, SHARE_OF_GAIN = 3e-4, 0.03
#: From this multiple of the tolerance on a round may be the last: then so much smaller a gain is worth a step, that it is.
LAST_ROUND, DEEPER = 30.0, 0.03
#: Pair steps between two looks at the keyboard, and sets' worth of steps in a round at most.
STEPS_AT_ONCE, STEPS_A_ROW = 20_000, 100
#: Rounds in double precision that may gain nothing, and rounds at most.
PATIENCE, MOST_ROUNDS = 3, 10_000


class Limit(NamedTuple):
    """How long a predictor may be on its way: rounds, and pair steps times the rows of their sets."""

    rounds: int = MOST_ROUNDS
    effort: float = math.inf


NO_LIMIT = Limit()


@partial(compiled, any_order=True)
def survey(
    labels: Array, bounds: Array, c: Array, scores: Array, diagonal: Array, bias: float, gains: Array
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
    labels: Array, bounds: Array, c: Array, scores: Array, diagonal: Array, bias: float, gains: Array, tol: float, times: int
) -> tuple[float, float, float, float]:
    """The factor t of w, F there, G and the largest gain; t is 1 where that is enough for a relative gap of tol."""
    squared, bound, most = survey(labels, bounds, c, scores, diagonal, bias, gains)
    factor, primal = stretched(labels, bounds, scores, bias, squared, 0)
    if primal - bound > tol * primal:
        factor, primal = stretched(labels, bounds, scores, bias, squared, times)
    return factor, primal, bound, most


@compiled
def uncertain_rows(labels: Array, bounds: Array, c: Array, scores: Array, bias: float, factor: float, error: float) -> Array:
    """Rows with a coefficient, and those whose loss at t (w, b) may not be zero if scores are off by error (1 + |score|)."""
    found = np.empty(c.size, dtype=np.bool_)
    for i in range(c.size):
        margin = labels[i] * (scores[i] + bias)
        least = factor * (margin - error * (1.0 + abs(margin)))
        found[i] = c[i] != 0.0 or (bounds[i] > 0.0 and not least >= 1.0)
    return found


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
    index: Array, places: Array, labels: Array, bounds: Array, c: Array, change: Array, factor: float, down: Array, up: Array
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


class Predictor:
    """One target on its way to the optimum: its coefficients, scores, certificate, and the next set."""

    def __init__(self, target: Target, diagonal: Array, constant: float, free: bool) -> None:
        self.labels, self.bounds = target.labels, target.bounds
        self.kind = hash(target.labels.tobytes())  # the same for those who tell the same class from the others
        self._diagonal, self._constant, self._free = diagonal, constant, free
        self.c = np.zeros(len(diagonal))
        self.scores = np.zeros(len(diagonal))
        self.gains = np.empty(len(diagonal))
        self.bias, self.factor, self.primal, self.bound, self._most_gain = 0.0, 1.0, math.inf, -math.inf, 0.0
        self.rounds = self.steps = self._effort = 0  # steps of the last round
        self._size, self._share = SMALLEST_SET, SHARE_OF_GAP
        self.precise = False
        self.exact_at = -1  # the round after which scores were last computed exactly
        self._idle = 0
        self._course: list[tuple[float, float]] = []  # after each round, as last looked at

    @property
    def relative(self) -> float:
        return (self.primal - self.bound) / self.primal if self.primal > 0 else 0.0

    @property
    def kind_of_sets(self) -> Any:
        """The dtype of the kernel within a set."""
        return np.float64 if self.precise else np.float32

    @property
    def gave_up(self) -> bool:
        """Whether rounding leaves nothing to gain."""
        return self._idle > PATIENCE

    def take_heart(self) -> None:
        """What could not be gained may be gained now, with more precise scores."""
        self._idle, self.exact_at = 0, self.rounds

    def goes_on(self, tol: float, limit: Limit) -> bool:
        """Whether it has not arrived, and another round may help."""
        return self.relative > tol and not self.gave_up and self.rounds < limit.rounds and self._effort < limit.effort

    def look(self, products: Array, tol: float) -> None:
        """The certificate at scores that follow from the coefficients; products are those without the constant feature."""
        constant = self._constant * float(self.c.sum())
        self.scores = products + constant if constant else products
        self.bias = best_bias(self.labels - self.scores, self.bounds, self.labels) if self._free else 0.0
        before, gap = self.bound, self.relative
        own = (self.labels, self.bounds, self.c, self.scores, self._diagonal)
        self.factor, self.primal, self.bound, self._most_gain = certified(*own, self.bias, self.gains, tol, halvings(tol))
        self._share = SHARE_OF_GAP * (DEEPER if self.relative <= LAST_ROUND * tol else 1.0)
        self._course[self.rounds :] = [(self.primal, self.bound)]
        if self.rounds and self.exact_at != self.rounds and not self.bound > before and not self.relative < gap:
            # rounding ate the round's gain: from now on in double precision, and then this is as far as one gets
            self._idle += self.precise
            self.precise = True

    def uncertain(self, error: float) -> Array:
        """Which rows the certificate depends on, if scores may be off by this share of 1 + |score|."""
        return uncertain_rows(self.labels, self.bounds, self.c, self.scores, self.bias, self.factor, error)

    def choose(self) -> Array:
        """The rows of the next set."""
        own = (self.labels, self.bounds, self.c, self.scores)
        return choose_rows(*own, self.bias, self.gains, min(len(self.c), self._size))

    def improve(self, index: Array, places: Array, kernel: SetKernel) -> Array:
        """The set's coefficients after pair steps; their changes are returned.

        The kernel is that of a set of `len(kernel.K)` rows, of which those of `index` are at `places`.
        """
        scale, size = 1.0 / kernel.factor, len(kernel.K)
        own = (self.labels, self.bounds, self.c, self.scores, self._diagonal)
        work = np.empty((4, size), dtype=kernel.K.dtype)
        start_of_steps(index, places, *own, self.bias, scale, work)
        worth = self._share * (self.primal - self.bound) / len(index)
        least = scale * min(worth, SHARE_OF_GAIN * self._most_gain)
        change, taken = np.zeros(size), 0
        while taken < STEPS_A_ROW * len(index):
            check_interruption()
            steps = climb(kernel, work, least, STEPS_AT_ONCE, self._free, change)
            taken += steps
            if steps < STEPS_AT_ONCE:
                break
        before = self.c[index]
        after, at_bound = end_of_steps(index, places, *own[:3], change, kernel.factor, work[2], work[3])
        if self._free:
            top = self.labels[index] * self.bounds[index]
            after = rebalanced(after, np.minimum(0.0, top), np.maximum(0.0, top), float(before.sum()))
        self.c[index] = after
        # who is not there soon has many rows that must move together; if most go straight to their bound, a large set is cheap
        if self.rounds % 2 or 2 * at_bound > len(index):
            self._size = max(self._size, min(2 * self._size, self._most(taken > len(index))))
        self.rounds += 1
        self.steps = taken
        self._effort += taken * size
        return np.asarray(after - before)

    def _most(self, steps_were_many: bool) -> int:
        """The largest set by now: after many rounds one with room for all rows inside their box and as many others."""
        usual = LARGEST_SET if steps_were_many else USUAL_SET
        if self.rounds < MANY_ROUNDS:
            return usual
        inside = np.count_nonzero((self.c != 0) & (np.abs(self.c) < self.bounds))
        return max(usual, min(2 * int(inside), LAST_SET))

    def optimum(self, products: Array | None) -> Optimum:
        """Where it is; products are the scores of all rows without the constant feature, if they are exact."""
        bias = self.bias if self._free else self._constant * float(self.c.sum())
        scores = None if products is None else self.factor * (products + bias)
        certified = self.primal, self.bound, self.rounds, tuple(self._course)
        return Optimum(self.factor * self.c, self.factor * bias, self.labels * self.c, *certified, scores)


def best_bias(v: Array, bounds: Array, labels: Array) -> float:
    """The free intercept of least loss, given v = y - s: Σ C_i max(0, y_i (v_i - b)) has its kinks at the v_i."""
    order = np.argsort(v, kind="stable")
    order = order[bounds[order] > 0]
    passed = np.cumsum(bounds[order])
    place = int(np.searchsorted(passed, bounds[labels > 0].sum() * (1 - 1e-12)))
    return float(v[order[min(place, len(order) - 1)]])


def rebalanced(c: Array, low: Array, high: Array, total: float) -> Array:
    """c moved within its box until it sums to `total` again: rounding of single steps must not add up."""
    for _ in range(4):
        missing = total - math.fsum(c)
        room = np.where((c > low) & (c < high), (high if missing > 0 else low) - c, 0.0)
        available = math.fsum(room)
        if missing == 0 or available == 0:
            break
        c = np.clip(c + room * min(1.0, missing / available), low, high)
    return c
