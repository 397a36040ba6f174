"""One predictor of the working-set method: coefficients, certificate, and working set selection.

References
----------
Fan, Chen, Lin (2005), Working set selection using second order information for training SVMs.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from pegasos.engine.optimum.hinge.pair_steps import SetKernel, solve_balanced_pairs, solve_pairs
from pegasos.engine.optimum.problem import Optimum, Target, bisections, rescale
from pegasos.engine.runtime.interruption import check_interruption, deadline_reached

Array = np.ndarray[Any, Any]

#: Rows of the first and of the largest set (measured on 35 problems of 1,400 to 4,500 rows, C from
#: 0.1 to 1000: first sets of 700 or 1,000 rows, and largest sets of 1,000 or 2,000, take the same
#: time within 5 %). With more free support vectors sets have up to twice as many rows as these, but
#: at most LAST_SET (10 % less time in total; 10,000 rows take 400 MB in float32).
FIRST_SET, LARGEST_SET, LAST_SET = 400, 1400, 10_000
#: Pair steps must gain this share of the gap per row of the set, or of the largest gain if that is
#: less: a grid on USPS with a tolerance of 0.01 takes 15 % less time than with 3e-4 and 0.03;
#: single fits of 2,000 to 8,000 rows take the same time, and 4 % more with 3e-3 and 0.3.
SHARE_OF_GAP, SHARE_OF_GAIN = 1e-3, 0.1
#: Pair steps times rows of the set between two checks for interruption (about 0.1 s), and steps of
#: a round at most, per row of the set (at C = 1e6 K is factored after 1 to 8 s, else 3 to 21).
EFFORT_AT_ONCE, STEPS_PER_ROW = 4 * 10**8, 100


class Limit(NamedTuple):
    """Largest number of rounds of a predictor, and of pair steps times rows of their sets."""

    rounds: int = 10_000
    effort: float = math.inf


NO_LIMIT = Limit()


class SetPredictor:
    """Solver state of one target: coefficients, scores, certificate, and size of the next set.

    Parameters
    ----------
    diagonal : K_ii of the training rows, with the constant feature.
    products : scores of all rows without the intercept; `rows` are the training rows among them.
    """

    def __init__(
        self,
        target: Target,
        diagonal: Array,
        constant: float,
        free: bool,
        products: Array,
        rows: Array,
    ) -> None:
        self.products = products
        self._rows = rows
        self._labels, self._bounds = target.labels, target.bounds
        self._lower = np.minimum(0.0, target.labels * target.bounds)
        self._upper = np.maximum(0.0, target.labels * target.bounds)
        self._diagonal = np.maximum(diagonal, np.finfo(float).tiny)
        self._constant, self._free = constant, free
        self.c = np.zeros(len(diagonal))
        self.rounds, self.effort = 0, 0.0
        self._size = FIRST_SET
        self._primal, self._bound = math.inf, -math.inf
        self._history: list[tuple[float, float]] = []
        self.exact = False
        self._in_float64, self._stalls = False, 0

    @property
    def relative(self) -> float:
        """The relative duality gap."""
        return (self._primal - self._bound) / self._primal if self._primal > 0 else 0.0

    @property
    def dtype(self) -> Any:
        """The dtype of the kernel within a set."""
        return np.float64 if self._in_float64 else np.float32

    @property
    def is_stuck(self) -> bool:
        """Whether more than three rounds in float64 have gained nothing."""
        return self._stalls > 3

    def reset_stall_count(self) -> None:
        """Reset the count of rounds without a gain, after scores were recomputed."""
        self._stalls = 0

    def needs_round(self, tol: float, limit: Limit) -> bool:
        """Whether another round is needed and may help."""
        return self.relative > tol and not self.has_reached(limit) and not self.is_stuck

    def has_reached(self, limit: Limit) -> bool:
        """Whether no further round is allowed."""
        return self.rounds >= limit.rounds or self.effort >= limit.effort

    def certify(self, tol: float, exact: bool = False) -> None:
        """Compute gradient, gains and certificate from the scores, which may be `exact`."""
        own = self.products[self._rows]
        self._bias = self._best_bias(own) if self._free else self._constant * float(self.c.sum())
        scores = own + self._bias
        squared = float(self.c @ (own if self._free else scores))
        before, gap = self._bound, self.relative
        self._bound = float(self._labels @ self.c) - 0.5 * squared
        given = (self._labels, self._bounds, scores, 0.0, squared)
        self._factor, self._primal = rescale(*given, 0)
        if self.relative > tol and (squared > 0.0 or self._bias != 0.0):
            self._factor, self._primal = rescale(*given, bisections(tol))
        self._scores, self._gradient = scores, self._labels - scores
        step = np.clip(self._gradient / self._diagonal, self._lower - self.c, self._upper - self.c)
        self._gains = step * (self._gradient - 0.5 * self._diagonal * step)
        self._history[self.rounds :] = [(self._primal, self._bound)]
        gained = self._bound > before or self.relative < gap
        if self.rounds and not exact and not gained:
            # Rounding errors exceed the gain of the round: continue in float64.
            self._stalls += self._in_float64
            self._in_float64 = True
        self.exact = exact

    def _best_bias(self, products: Array) -> float:
        """Return the optimal free intercept: Σ C_i max(0, y_i (v_i - b)) has kinks at v_i."""
        v = self._labels - products
        order = np.argsort(v, kind="stable")
        order = order[self._bounds[order] > 0.0]
        if not len(order):
            return 0.0
        passed = np.cumsum(self._bounds[order])
        positive = self._bounds[self._labels > 0.0].sum()
        place = int(np.searchsorted(passed, positive * (1 - 1e-12)))
        return float(v[order[min(place, len(order) - 1)]])

    def depends_on(self, error: float) -> Array:
        """Tell on which rows' scores the certificate depends, if scores have this relative error.

        These are support vectors, and rows that may have a loss; errors are shares of 1 + |score|.
        """
        margins = self._labels * self._scores
        safe = self._factor * (margins - error * (1.0 + np.abs(margins))) >= 1.0
        return np.asarray((self.c != 0.0) | ((self._bounds > 0.0) & ~safe))

    def select(self) -> Array:
        """Select the next working set.

        Half of it are the rows of the largest gradients, as many that can rise as can fall
        (otherwise the mean score oscillates), then free support vectors, then others, by gain.
        """
        size = min(len(self.c), self._size)
        chosen = np.zeros(len(self.c), dtype=bool)
        can_rise, can_fall = self.c < self._upper, self.c > self._lower
        quarter = max(1, size // 4)
        _choose_largest(self._gradient, can_rise, quarter, chosen)
        _choose_largest(-self._gradient, can_fall, quarter, chosen)
        inside = can_rise & can_fall
        _choose_largest(self._gains, inside, size - int(np.count_nonzero(chosen)), chosen)
        _choose_largest(
            self._gains, self._gains > 0.0, size - int(np.count_nonzero(chosen)), chosen
        )
        return np.flatnonzero(chosen)

    def solve_set(self, index: Array, kernel: SetKernel) -> Array:
        """Take pair steps on the rows of a set and return the changes of their coefficients."""
        count, dtype, scale = len(index), kernel.K.dtype, 1.0 / kernel.factor
        tiny = 1e-6 if dtype == np.float32 else 1e-12
        before, lower, upper = self.c[index], self._lower[index], self._upper[index]
        v = self._gradient[index].astype(dtype)
        diagonal = np.maximum(self._diagonal[index] / scale, tiny**2).astype(dtype)
        low = ((lower - before) * scale).astype(dtype)
        high = ((upper - before) * scale).astype(dtype)
        gains = np.empty_like(v)
        bits = gains.view(np.int32 if dtype == np.float32 else np.int64)
        solve = solve_balanced_pairs if self._free else solve_pairs
        least = scale * self._least_gain(count)
        change, taken = np.zeros(count), 0
        at_once = min(EFFORT_AT_ONCE // count, STEPS_PER_ROW * count)
        while taken < STEPS_PER_ROW * count:
            check_interruption()
            part = np.zeros_like(v)
            steps = solve(kernel, diagonal, v, low, high, tiny, least, at_once, gains, bits, part)
            change += part
            taken += steps
            if steps < at_once or deadline_reached():
                break
        after = np.clip(before + change * kernel.factor, lower, upper)
        after = np.where(low >= 0.0, lower, np.where(high <= 0.0, upper, after))
        if self._free:
            after = rebalanced(after, lower, upper, float(before.sum()))
        self.c[index] = after
        self.rounds += 1
        self.effort += taken * count
        self._grow(count, int(np.count_nonzero(np.abs(after) >= self._bounds[index])))
        return np.asarray(after - before)

    def _least_gain(self, count: int) -> float:
        """Return the smallest gain of a pair step in a set of the given size."""
        share = SHARE_OF_GAP * (self._primal - self._bound) / count
        return min(share, SHARE_OF_GAIN * float(self._gains.max(initial=0.0)))

    def _grow(self, count: int, at_bound: int) -> None:
        """Double the size of sets after every second round, or if most rows are at C."""
        if self.rounds % 2 and 2 * at_bound <= count:
            return
        inside = int(np.count_nonzero((self.c != 0.0) & (np.abs(self.c) < self._bounds)))
        most = max(LARGEST_SET, min(2 * inside, LAST_SET))
        self._size = max(self._size, min(2 * self._size, most))

    def optimum(self, exact: bool) -> Optimum:
        """Return the current point; if `exact`, scores of all rows belong to it."""
        scores = self._factor * (self.products + self._bias) if exact else None
        return Optimum(
            self._factor * self.c,
            self._factor * self._bias,
            self._labels * self.c,
            self._primal,
            self._bound,
            self.rounds,
            tuple(self._history),
            scores,
        )


def _choose_largest(values: Array, eligible: Array, count: int, chosen: Array) -> None:
    """Mark `count` more of the eligible rows, those of the largest values."""
    index = np.flatnonzero(eligible & ~chosen)
    left_out = len(index) - max(count, 0)
    if left_out >= len(index):
        return
    if left_out > 0:
        index = index[np.argpartition(values[index], left_out)[left_out:]]
    chosen[index] = True


def rebalanced(c: Array, low: Array, high: Array, total: float) -> Array:
    """Move c within its box until it sums to `total`, so that rounding errors do not add up."""
    for _ in range(4):
        missing = total - math.fsum(c)
        room = np.where((c > low) & (c < high), (high if missing > 0 else low) - c, 0.0)
        available = math.fsum(room)
        if missing == 0 or available == 0:
            break
        c = np.clip(c + room * min(1.0, missing / available), low, high)
    return c
