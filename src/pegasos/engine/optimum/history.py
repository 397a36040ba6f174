"""Convergence histories: objectives and lower bounds in few points, as a model file keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

#: Points that are kept at most; those between the first and the last are evenly spread over the
#: digits of their number.
MOST_POINTS = 40


def short_course(courses: Sequence[Array], primal: Array, dual: Array) -> Array:
    """Return iteration, mean objective and mean bound (points x 3) of several predictors.

    Who has arrived stays there while others go on. All end with `primal` and `dual`, which are
    certified.

    >>> short_course(
    ...     [np.array([[1.0, 0.0], [0.5, 0.4]]), np.array([[1.0, 0.2]])],
    ...     np.array([0.5, 0.4]),
    ...     np.array([0.45, 0.4]),
    ... )
    array([[1.   , 0.7  , 0.2  ],
           [2.   , 0.45 , 0.425]])
    """
    sums = np.zeros((max(1, *map(len, courses)), 2))
    for course, end in zip(courses, np.column_stack([primal, dual]), strict=True):
        sums[: max(0, len(course) - 1)] += course[:-1]
        sums[max(0, len(course) - 1) :] += end
    numbered = np.column_stack([np.arange(1.0, len(sums) + 1), sums / len(courses)])
    numbered = numbered[np.isfinite(numbered).all(axis=1)]
    return numbered[_places(len(numbered))]


@cache
def _places(count: int) -> Array:
    """Which of so many points are kept."""
    return (np.unique(np.geomspace(1, max(count, 1), MOST_POINTS).round().astype(int)) - 1)[:count]


def no_course() -> Array:
    """Of a fit that nobody watched, or that has no bound."""
    return np.empty((0, 3))
