"""Greedy pair steps on a small set of dual coefficients: slow columns are finished with them.

Random-order steps crawl where large coefficients must move together (a wide kernel and a large C). Here both coordinates of a
step are chosen by their gain, and solved for together. After Steinwart, Hush and Scovel (2011), training SVMs without offset.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.engine.compiling import compiled

Array = np.ndarray[Any, Any]


@compiled
def climb_pairs(Q: Array, a: Array, gradient: Array, bounds: Array, least: float, most: int, gains: Array, steps: Array) -> int:
    """Maximize Σa - aᵀQa/2 over 0 <= a <= bounds by pair steps, in place, until no single step gains more than `least`.

    Q[i, j] = y_i y_j K_ij, gradient = 1 - Q a. Gains are written to an array and searched after that: the loops run in vector
    registers. Returns the number of steps.
    """
    size = a.size
    diagonal = np.empty(size)
    inverse = np.empty(size)
    for i in range(size):
        diagonal[i] = Q[i, i]
        inverse[i] = 1.0 / Q[i, i] if Q[i, i] > 0.0 else 0.0
    for count in range(most):
        for i in range(size):
            step = min(max(a[i] + gradient[i] * inverse[i], 0.0), bounds[i]) - a[i]
            gains[i] = step * (gradient[i] - 0.5 * diagonal[i] * step)
        p = np.argmax(gains)
        if not gains[p] > least:
            return count
        alone = gains[p]
        row, own, slope, at, bound = Q[p], diagonal[p], gradient[p], a[p], bounds[p]
        for j in range(size):
            cross = row[j]
            # the second coordinate's best, with the first at its own best; nearly parallel rows gain nothing together
            rest = diagonal[j] - cross * cross / own
            free = (gradient[j] - slope * cross / own) / max(rest, 1e-12 * diagonal[j] + 1e-300)
            second = min(max(a[j] + free, 0.0), bounds[j]) - a[j]
            first = min(max(at + (slope - cross * second) / own, 0.0), bound) - at
            gains[j] = first * (slope - 0.5 * own * first - cross * second) + second * (gradient[j] - 0.5 * diagonal[j] * second)
            steps[j] = second
        gains[p] = alone
        steps[p] = 0.0
        q = np.argmax(gains)
        second = steps[q]
        first = min(max(at + (slope - row[q] * second) / own, 0.0), bound) - at
        a[p] += first
        if second == 0.0:
            for i in range(size):
                gradient[i] -= first * row[i]
        else:
            a[q] += second
            other = Q[q]
            for i in range(size):
                gradient[i] -= first * row[i] + second * other[i]
    return most


def active_rows(a: Array, gradient: Array, bounds: Array, most: int) -> Array:
    """The rows worth moving: those inside their box, and those at a bound that the gradient pulls inside, strongest first."""
    pull = np.where(a <= 0, gradient, np.where(a >= bounds, -gradient, np.inf))
    pull[bounds <= 0] = 0
    candidates = np.flatnonzero(pull > 0)
    if len(candidates) > most:
        candidates = candidates[np.argpartition(-pull[candidates], most)[:most]]
    return np.sort(candidates)


def finish_round(Q: Array, a: Array, gradient: Array, bounds: Array, tol: float) -> Array:
    """The coefficients of a set after pair steps on it; `tol` is the gain, as a share of Σa's scale, that is worth a step."""
    size = len(a)
    a, gradient = a.copy(), gradient.copy()
    climb_pairs(
        np.ascontiguousarray(Q),
        a,
        gradient,
        np.ascontiguousarray(bounds),
        tol,
        20 * size,
        np.empty(size),
        np.empty(size),
    )
    return a
