"""One predictor on its way to the optimum by working sets: its coefficients, its certificate, the next set, and steps within it.

Everything is in terms of c_i = y_i a_i and of the gradient v_i = y_i - s_i, so that labels matter only for the box of c.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from pegasos.engine.optimum.certificate import halvings
from pegasos.engine.optimum.hinge.pair_steps import SetKernel, climb
from pegasos.engine.optimum.hinge.set_choice import choose_rows
from pegasos.engine.optimum.hinge.set_rounds import (
    EFFORT_AT_ONCE,
    STEPS_A_ROW,
    USUAL_SET,
    Own,
    Standing,
    Stored,
    certified,
    certified_at,
    changed_and_uncertain,
    end_of_steps,
    is_uncertain_beyond,
    next_size,
    rounds_alone,
    start_of_steps,
    useful_size,
    whatever_rounding_did,
    worth_a_step,
)
from pegasos.engine.optimum.problem import Optimum, Target
from pegasos.engine.runtime.interruption import check_interruption

Array = np.ndarray[Any, Any]

#: Rows of a set at first, and where there are more than so many rows, each of which makes a round longer.
SMALLEST_SET, FIRST_SET, FEW_ROWS = 400, 1000, 4096
#: Rounds in double precision that may gain nothing, rounds at most, and in one call.
PATIENCE, MOST_ROUNDS, ROUNDS_AT_ONCE = 3, 10_000, 8


class Limit(NamedTuple):
    """How long a predictor may be on its way: rounds, and pair steps times the rows of their sets."""

    rounds: int = MOST_ROUNDS
    effort: float = math.inf


NO_LIMIT = Limit()


class Predictor:
    """One target on its way to the optimum: its coefficients, scores, certificate, and the next set."""

    def __init__(self, target: Target, diagonal: Array, constant: float, free: bool) -> None:
        self.labels, self.bounds = target.labels, target.bounds
        self.kind = target.kind  # the same for those who tell the same class from the others
        self._diagonal, self._constant, self._free = diagonal, constant, free
        self.c = np.zeros(len(diagonal))
        self.scores = np.zeros(len(diagonal))
        self.gains = np.empty(len(diagonal))
        self.bias, self.factor, self.primal, self.bound, self._most_gain = (
            0.0,
            1.0,
            math.inf,
            -math.inf,
            0.0,
        )
        self.rounds = self.steps = self._effort = 0  # steps of the last round
        self._size, self._tol = SMALLEST_SET if len(diagonal) <= FEW_ROWS else FIRST_SET, 0.0
        self.precise = False
        self.exact_at = (
            -1
        )  # the round after which the certificate was last made to hold for exact scores,
        self.by_bound = (
            False  # and whether these were not computed, but how far they may be was counted in
        )
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
        return (
            self.relative > tol
            and not self.gave_up
            and self.rounds < limit.rounds
            and self._effort < limit.effort
        )

    def look(self, products: Array, tol: float) -> None:
        """The certificate at scores that follow from the coefficients; products are those without the constant feature."""
        own = (self.labels, self.bounds, self.c, self.scores, self._diagonal)
        if self._free:
            self.scores[:] = products
            self.bias = best_bias(self.labels - self.scores, self.bounds, self.labels)
            self._judge(certified(*own, self.bias, self.gains, tol, halvings(tol)), tol)
        else:
            self._judge(
                certified_at(products, self._constant, *own, self.gains, tol, halvings(tol)), tol
            )

    def _judge(self, found: tuple[float, float, float, float], tol: float) -> None:
        """What follows from the certificate that was found."""
        before, gap, self._tol = self.bound, self.relative, tol
        self.factor, self.primal, self.bound, self._most_gain = found
        self._course[self.rounds :] = [(self.primal, self.bound)]
        if (
            self.rounds
            and self.exact_at != self.rounds
            and not self.bound > before
            and not self.relative < gap
        ):
            self._lose_heart()

    def _lose_heart(self) -> None:
        """Rounding ate the round's gain: from now on in double precision, and then this is as far as one gets."""
        self._idle += self.precise
        self.precise = True

    def holds(self, error: float, tol: float) -> bool:
        """Whether the gap is tol even if each value of the kernel is off by `error`; then that is what it has from now on."""
        if error == math.inf:
            return False
        own = (self.labels, self.bounds, self.c, self.scores, self.bias)
        factor, primal, bound = whatever_rounding_did(*own, error, halvings(tol))
        self.by_bound = primal - bound <= tol * primal
        if self.by_bound:
            self.factor, self.primal, self.bound = factor, primal, bound
            self._course[-1] = primal, bound
        return self.by_bound

    def changed_and_uncertain(self, known: Array, error: float) -> tuple[Array, Array, Array]:
        """Rows whose coefficients are not those known, the changes, and all rows that the certificate depends on.

        It depends on rows with a coefficient and on those with a loss, if scores may be off by this share of 1 + |score|.
        """
        own = (self.labels, self.bounds, self.c, self.scores, self.bias, self.factor)
        return changed_and_uncertain(*own, known, error)

    def is_uncertain_beyond(self, wanted: Array, error: float) -> bool:
        """Whether it depends on other rows, too."""
        return is_uncertain_beyond(
            self.labels, self.bounds, self.scores, self.bias, self.factor, wanted, error
        )

    @property
    def next_size(self) -> int:
        """Rows of the next set, at most."""
        return min(len(self.c), self._size)

    @property
    def soon(self) -> int:
        """Rows of the sets that come next, at most."""
        return min(len(self.c), max(self._useful_size, USUAL_SET))

    def choose(self) -> Array:
        """The rows of the next set."""
        own = (self.labels, self.bounds, self.c, self.scores)
        return choose_rows(*own, self.bias, self.gains, self._useful_size)

    @property
    def _useful_size(self) -> int:
        return useful_size(self.next_size, self.rounds, self.c)

    def improve(self, index: Array, places: Array, kernel: SetKernel) -> Array:
        """The set's coefficients after pair steps; their changes are returned.

        The kernel is that of a set of `len(kernel.K)` rows, of which those of `index` are at `places`.
        """
        scale, size = 1.0 / kernel.factor, len(kernel.K)
        own = (self.labels, self.bounds, self.c, self.scores, self._diagonal)
        work = np.empty((4, size), dtype=kernel.K.dtype)
        start_of_steps(index, places, *own, self.bias, scale, work)
        least = scale * worth_a_step(
            self.primal, self.bound, self._most_gain, len(index), self._tol
        )
        change, taken, at_once = np.zeros(size), 0, EFFORT_AT_ONCE // size
        while taken < STEPS_A_ROW * len(index):
            check_interruption()
            steps = climb(kernel, work, least, at_once, self._free, change)
            taken += steps
            if steps < at_once:
                break
        before = self.c[index]
        after, at_bound = end_of_steps(
            index, places, *own[:3], change, kernel.factor, work[2], work[3]
        )
        if self._free:
            top = self.labels[index] * self.bounds[index]
            after = rebalanced(
                after, np.minimum(0.0, top), np.maximum(0.0, top), float(before.sum())
            )
        self.c[index] = after
        self.rounds += 1
        self.steps = taken
        self._effort += taken * size
        self._size = next_size(
            self._size, self.rounds, taken, len(index), at_bound, self.c, self.bounds
        )
        return np.asarray(after - before)

    def take_rounds(
        self, matrix: Array, rows: Array, products: Array, factor: float, square: Array, most: int
    ) -> None:
        """Whole rounds in compiled code, without a free intercept: products, and the certificate, are as after the last one.

        matrix  that of the kernel, of which `rows` are the training rows; square  room for the kernel of a set
        """
        own = Own(self.labels, self.bounds, self.c, self.scores, self._diagonal, self.gains)
        stored = Stored(matrix, rows, products, self._constant, factor, square)
        standing = Standing(self.factor, self.primal, self.bound, self._most_gain)
        course = np.empty((min(most, ROUNDS_AT_ONCE), 2))
        given = (self.next_size, self.rounds, standing, self._tol, halvings(self._tol), course)
        taken, self.steps, self._size, effort, found = rounds_alone(own, stored, *given)
        self._effort += effort
        self.rounds += taken
        self._course += [(float(primal), float(bound)) for primal, bound in course[: taken - 1]]
        self.primal, self.bound = self._course[-1]  # before the last one
        self._judge(found, self._tol)

    def optimum(self, products: Array | None) -> Optimum:
        """Where it is; products are the scores of all rows without the constant feature, if they are exact."""
        bias = self.bias if self._free else self._constant * float(self.c.sum())
        scores = None if products is None else self.factor * (products + bias)
        certified = self.primal, self.bound, self.rounds, tuple(self._course)
        return Optimum(
            self.factor * self.c, self.factor * bias, self.labels * self.c, *certified, scores
        )


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
