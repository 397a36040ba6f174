"""Dual coordinate ascent with shrinking: the hinge loss on many sparse rows of many features.

Near the optimum most rows have a_i = 0 or a_i = C_i, and their steps change nothing. A row at a
bound is skipped if its gradient g_i = 1 - y_i (w·x_i + b) points out of the box, and is larger than
that of every row that could move in the last epoch. When the others have converged, all rows
become active again. The method stops on the duality gap of all rows.

References
----------
Hsieh, Chang, Lin, Keerthi, Sundararajan (2008), A dual coordinate descent method for large-scale
linear SVM.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.engine.kernels.distances import squared_norms
from pegasos.engine.optimum.problem import Intercept, Optimum, Target, bisections, rescale
from pegasos.engine.runtime.compiling import announced, compiled
from pegasos.engine.runtime.interruption import check_interruption, deadline_reached, tell_gap
from pegasos.engine.runtime.threads import run_each

Array = np.ndarray[Any, Any]

#: Violation max g - min g at which the first stage ends, and its ratio in successive stages.
FIRST_VIOLATION, NEXT_SHARE = 0.1, 0.3
#: Steps per row between two computations of the gap, and steps between checks for interruption.
STEPS_PER_ROW, STEPS_AT_ONCE = 10, 200_000


def solve_hinge_by_ascent(
    X: Any,
    targets: list[Target],
    intercept: Intercept,
    tol: float,
    members: Array | None = None,
    start: Array | None = None,
) -> list[Optimum]:
    """Solve all targets on CSR rows; `start` contains initial coefficients y·a."""
    rows = X if members is None else X[members]
    constant = 1.0 if intercept is Intercept.AUGMENTED else 0.0
    diagonal = squared_norms(rows) + constant
    starts = [None] * len(targets) if start is None else list(start)
    pairs = zip(targets, starts, strict=True)
    with announced("shrinking-ascent"):
        ascents = [_Ascent(rows, diagonal, constant, *pair) for pair in pairs]
        live = [ascent for ascent in ascents if not ascent.certify(tol)]
        while live:
            check_interruption()
            run_each(lambda ascent: ascent.advance(tol), live)
            tell_gap(max(ascent.best.relative for ascent in live), tol)
            live = [ascent for ascent in live if not ascent.is_done]
    return [
        replace(ascent.best, rounds=len(ascent.history), history=tuple(ascent.history))
        for ascent in ascents
    ]


class _Ascent:
    """Solver state of one target: coefficients, their vector, and the active rows."""

    best: Optimum

    def __init__(
        self, rows: Any, diagonal: Array, constant: float, target: Target, start: Array | None
    ) -> None:
        self._rows, self._diagonal, self._constant = rows, diagonal, constant
        self._labels, self._bounds = target.labels, target.bounds
        start = np.zeros(rows.shape[0]) if start is None else start
        self.dual = np.clip(target.labels * start, 0.0, target.bounds)
        self._all = np.flatnonzero(target.bounds > 0.0)
        self._random = np.random.default_rng(0)
        self._vector = np.zeros(rows.shape[1] + 1)
        self._violation, self._steps, self._idle = FIRST_VIOLATION, 0, 0
        self._activate_all()
        self.is_done = False
        self.history: list[tuple[float, float]] = []

    def advance(self, tol: float) -> None:
        """Run an epoch, and compute the gap at the end of a stage.

        A stage ends when the gradients of all rows that may move differ by at most `_violation`,
        which the next stage lowers. In long stages the gap is also computed after STEPS_PER_ROW
        steps per row.
        """
        is_whole = len(self._active) == len(self._all)
        self._steps += len(self._active)
        low, high = self._run_epoch()
        if deadline_reached():
            self.certify(tol)
            self.is_done = True
            return
        has_converged = high - low <= self._violation
        if has_converged:
            self._activate_all()
        else:
            self._limits = np.array([low if low < 0.0 else -np.inf, high if high > 0.0 else np.inf])
        if has_converged and is_whole:
            self._violation *= NEXT_SHARE
        elif self._steps < STEPS_PER_ROW * len(self._all):
            return
        self._steps = 0
        self.certify(tol)

    def _activate_all(self) -> None:
        self._active, self._limits = self._all, np.array([-np.inf, np.inf])

    def _run_epoch(self) -> tuple[float, float]:
        """Take a step for each active row; return the range of gradients of rows that may move."""
        order = self._random.permutation(self._active)
        stays, seen = np.ones(len(order), dtype=bool), np.zeros(2)
        csr = self._rows.indptr, self._rows.indices, self._rows.data
        state = self._labels, self._bounds, self._diagonal, self.dual, self._vector
        for first in range(0, len(order), STEPS_AT_ONCE):
            check_interruption()
            if first and deadline_reached():
                break
            part = slice(first, first + STEPS_AT_ONCE)
            ascend(*csr, self._constant, order[part], *state, self._limits, stays[part], seen)
        self._active = order[stays]
        return float(seen[0]), float(seen[1])

    def certify(self, tol: float) -> bool:
        """Recompute w and the gap; tell whether no further epoch is needed."""
        coefficients = self._labels * self.dual
        self._vector[:-1] = self._rows.T @ coefficients
        self._vector[-1] = self._constant * coefficients.sum()
        weights, bias = self._vector[:-1], float(self._vector[-1])
        squared = float(self._vector @ self._vector)
        given = self._labels, self._bounds, np.asarray(self._rows @ weights), bias, squared
        bound = float(self.dual.sum()) - 0.5 * squared
        factor, primal = rescale(*given, 0)
        if primal - bound > tol * primal:
            factor, primal = rescale(*given, bisections(tol))
        found = Optimum(factor * weights, factor * bias, self.dual.copy(), primal, bound, 0)
        is_better = not self.history or found.relative < self.best.relative
        self._idle = 0 if is_better else self._idle + 1
        self.best = found if is_better else self.best
        self.history.append((primal, bound))
        is_stuck = self._idle > 20 or len(self.history) > 300
        self.is_done = self.best.relative <= tol or is_stuck
        return self.is_done


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
    """Take a step for each row in this order, and update w, whose last element is the intercept.

    `stays` tells which rows remain active, `seen` is the range of gradients of rows that can move,
    `limits` that of the last epoch.
    """
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
