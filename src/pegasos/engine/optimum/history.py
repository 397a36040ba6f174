"""Convergence histories: objectives and lower bounds at few iterations, for model files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

#: Points of a history, evenly spaced in log(iteration); a chart shows no more.
MOST_POINTS = 40


def summarize_histories(histories: Sequence[Array], primal: Array, dual: Array) -> Array:
    """Return iteration, mean objective and mean bound (points x 3) of several predictors.

    Each history has P and D after each step (steps x 2). Converged predictors keep their last
    values while others continue. All end with the certified `primal` and `dual`.

    >>> summarize_histories(
    ...     [np.array([[1.0, 0.0], [0.5, 0.4]]), np.array([[1.0, 0.2]])],
    ...     np.array([0.5, 0.4]),
    ...     np.array([0.45, 0.4]),
    ... )
    array([[1.   , 0.7  , 0.2  ],
           [2.   , 0.45 , 0.425]])
    """
    sums = np.zeros((max(1, *map(len, histories)), 2))
    for history, end in zip(histories, np.column_stack([primal, dual]), strict=True):
        sums[: max(0, len(history) - 1)] += history[:-1]
        sums[max(0, len(history) - 1) :] += end
    numbered = np.column_stack([np.arange(1.0, len(sums) + 1), sums / len(histories)])
    numbered = numbered[np.isfinite(numbered).all(axis=1)]
    return numbered[_places(len(numbered))]


@cache
def _places(count: int) -> Array:
    """Return the indices of the points that are kept out of `count`."""
    return (np.unique(np.geomspace(1, max(count, 1), MOST_POINTS).round().astype(int)) - 1)[:count]


def empty_history() -> Array:
    """Return the convergence history of a fit that recorded none, or has no bound."""
    return np.empty((0, 3))
