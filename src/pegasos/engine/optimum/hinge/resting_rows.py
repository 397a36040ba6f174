"""The hinge loss on many sparse rows of many features: coordinate ascent that leaves rows alone which rest at a bound.

Near the optimum most rows have a_i = 0 or a_i = C_i, and their steps change nothing. A row at its
bound whose gradient g_i = 1 - y_i (w·x_i + b) is farther from zero, on the side that keeps it
there, than any that moved in the last epoch, is left out. When those that are left have arrived,
all come back: so nothing rests at the wrong bound in the end. After Hsieh and others (2008), a dual
coordinate descent method for large-scale linear SVM; but who decides when to end is the duality gap
of all rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.engine.kernels.distances import squared_norms
from pegasos.engine.optimum.problem import Intercept, Optimum, Target, halvings, stretched
from pegasos.engine.runtime.compiling import announced, compiled
from pegasos.engine.runtime.interruption import check_interruption, deadline_reached, tell_gap
from pegasos.engine.runtime.threads import run_each

Array = np.ndarray[Any, Any]

#: Violation of the first stage, and its ratio in successive stages.
FIRST_VIOLATION, NEXT_SHARE = 0.1, 0.3
#: Steps for each row of the table between two computations of the gap, and between two checks for
#: an interruption.
STEPS_A_ROW, STEPS_AT_ONCE = 10, 200_000


def solve_hinge_by_ascent(
    X: Any,
    targets: list[Target],
    intercept: Intercept,
    tol: float,
    members: Array | None = None,
    start: Array | None = None,
) -> list[Optimum]:
    """All targets on the same CSR rows, each until its relative gap is at most tol; `start`: coefficients y·a to begin with."""
    rows = X if members is None else X[members]
    constant = 1.0 if intercept is Intercept.AUGMENTED else 0.0
    diagonal = squared_norms(rows) + constant
    begun = [None] * len(targets) if start is None else list(start)
    with announced("resting-rows"):
        ascents = [
            _Ascent(rows, diagonal, constant, *given) for given in zip(targets, begun, strict=True)
        ]
        live = [ascent for ascent in ascents if not ascent.look(tol)]
        while live:
            check_interruption()
            goes_on = np.ones(len(live), dtype=bool)

            def advance(
                number: int, ascents: list[_Ascent] = live, goes_on: Array = goes_on
            ) -> None:
                goes_on[number] = not ascents[number].advance(tol)

            run_each(advance, range(len(live)))
            tell_gap(max(ascent.best.relative for ascent in live), tol)
            live = [ascent for ascent, on in zip(live, goes_on, strict=True) if on]
    return [
        replace(ascent.best, rounds=len(ascent.course), course=tuple(ascent.course))
        for ascent in ascents
    ]


class _Ascent:
    """One target: its coefficients and their vector, and the rows that do not rest."""

    def __init__(
        self, rows: Any, diagonal: Array, constant: float, target: Target, start: Array | None
    ) -> None:
        self._rows, self._diagonal, self._constant = rows, diagonal, constant
        self._labels, self._bounds = target.labels, target.bounds
        self.dual = (
            np.zeros(rows.shape[0])
            if start is None
            else np.clip(target.labels * start, 0.0, target.bounds)
        )
        self._all = np.flatnonzero(target.bounds > 0.0)
        self._random = np.random.default_rng(0)
        self._vector = np.zeros(rows.shape[1] + 1)
        self._violation, self._steps, self._idle = FIRST_VIOLATION, 0, 0
        self._wake()
        self.best: Optimum
        self.course: list[tuple[float, float]] = []

    def advance(self, tol: float) -> bool:
        """One more epoch, and a look at the gap if it is time; whether this is the end."""
        everyone = len(self._active) == len(self._all)
        self._steps += len(self._active)
        low, high = self._epoch()
        if deadline_reached():
            self.look(tol)
            return True
        arrived = high - low <= self._violation
        if arrived:
            self._wake()
        else:  # who is farther inside than the farthest that had to move may rest
            self._limits = np.array([low if low < 0.0 else -np.inf, high if high > 0.0 else np.inf])
        if arrived and everyone:
            self._violation *= NEXT_SHARE
        elif self._steps < STEPS_A_ROW * len(self._all):
            return False
        self._steps = 0
        return self.look(tol)

    def _wake(self) -> None:
        self._active, self._limits = self._all, np.array([-np.inf, np.inf])

    def _epoch(self) -> tuple[float, float]:
        """A step for each row that does not rest, in random order; the least and the largest gradient of those that may move."""
        order = self._random.permutation(self._active)
        stays, seen = np.ones(len(order), dtype=bool), np.zeros(2)
        rows, state = (
            self._rows,
            (self._labels, self._bounds, self._diagonal, self.dual, self._vector),
        )
        for first in range(0, len(order), STEPS_AT_ONCE):
            check_interruption()
            if first and deadline_reached():
                break
            part = slice(first, first + STEPS_AT_ONCE)
            given = rows.indptr, rows.indices, rows.data, self._constant, order[part]
            ascend(*given, *state, self._limits, stays[part], seen)
        self._active = order[stays]
        return float(seen[0]), float(seen[1])

    def look(self, tol: float) -> bool:
        """The certificate, from a vector that is computed anew; whether tol is reached, or nothing better is to be had."""
        coefficients = self._labels * self.dual
        self._vector[:-1] = self._rows.T @ coefficients
        self._vector[-1] = self._constant * coefficients.sum()
        weights, bias = self._vector[:-1], float(self._vector[-1])
        squared = float(self._vector @ self._vector)
        given = self._labels, self._bounds, np.asarray(self._rows @ weights), bias, squared
        bound = float(self.dual.sum()) - 0.5 * squared
        factor, primal = stretched(*given, 0)
        if primal - bound > tol * primal:
            factor, primal = stretched(*given, halvings(tol))
        found = Optimum(factor * weights, factor * bias, self.dual.copy(), primal, bound, 0)
        better = not self.course or found.relative < self.best.relative
        self._idle = 0 if better else self._idle + 1
        self.best = found if better else self.best
        self.course.append((primal, bound))
        return self.best.relative <= tol or self._idle > 20 or len(self.course) > 300


@compiled
def ascend(
    ends: Array,
    columns: Array,
    values: Array,
    constant: float,
    order: Array,
    labels: Array,
    bounds: Array,
    diagonal: Array,
    a: Array,
    vector: Array,
    limits: Array,
    stays: Array,
    seen: Array,
) -> None:
    """A step for each row in this order: w, the intercept last, follows. Into `stays` who goes on, into `seen` the range of g."""
    last = vector.size - 1
    for k in range(order.size):
        i = order[k]
        y, bound = labels[i], bounds[i]
        score = constant * vector[last]
        for p in range(ends[i], ends[i + 1]):
            score += values[p] * vector[columns[p]]
        g = 1.0 - y * score
        if (a[i] <= 0.0 and g < limits[0]) or (a[i] >= bound and g > limits[1]):
            stays[k] = False
            continue
        if (a[i] <= 0.0 and g <= 0.0) or (a[i] >= bound and g >= 0.0):
            continue
        seen[0], seen[1] = min(seen[0], g), max(seen[1], g)
        wanted = a[i] + g / diagonal[i] if diagonal[i] > 0.0 else bound
        after = min(max(wanted, 0.0), bound)
        change = y * (after - a[i])
        if change != 0.0:
            a[i] = after
            vector[last] += constant * change
            for p in range(ends[i], ends[i + 1]):
                vector[columns[p]] += change * values[p]
