"""What the same splits tell about learners: intervals and paired tests for values whose training rows overlap.

Values of cross-validation are not independent: training parts share most of their rows, and the plain t interval is too short.
Nadeau and Bengio (2003) widen the variance of the mean of J values from s²/J to s² (1/J + test rows/training rows); Bouckaert and
Frank (2004) found that it keeps its level with repeated cross-validation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import stats

Array = np.ndarray[Any, Any]


def mean_interval(values: Array, ratio: float) -> tuple[float, float, float]:
    """Mean and corrected 95 % interval of values over splits; `ratio`: test rows for each training row.

    >>> [round(each, 3) for each in mean_interval(np.array([0.1, 0.2, 0.3]), 0.5)]
    [0.2, -0.193, 0.593]
    """
    known = values[np.isfinite(values)]
    mean, error = _mean_error(known, ratio)
    if len(known) < 2:
        return mean, math.nan, math.nan
    reach = float(stats.t.ppf(0.975, len(known) - 1)) * error
    return mean, mean - reach, mean + reach


def paired_p(differences: Array, ratio: float) -> float:
    """Two-sided p of the corrected resampled t test that differences on the same splits are 0 on average."""
    known = differences[np.isfinite(differences)]
    if len(known) < 2:
        return 1.0
    mean, error = _mean_error(known, ratio)
    if error == 0.0:
        return 1.0 if mean == 0.0 else 0.0
    return float(2 * stats.t.sf(abs(mean / error), len(known) - 1))


def _mean_error(values: Array, ratio: float) -> tuple[float, float]:
    if len(values) < 2:
        return (float(values.mean()) if len(values) else math.nan), math.nan
    return float(values.mean()), math.sqrt(float(values.var(ddof=1)) * (1 / len(values) + ratio))


def holm(p: list[float]) -> list[float]:
    """The same p values, corrected for their number: with all of them below 0.05, at most one in twenty families has a false one.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected, least = [0.0] * len(p), 0.0
    for rank, place in enumerate(sorted(range(len(p)), key=lambda place: p[place])):
        least = max(least, min(1.0, (len(p) - rank) * p[place]))
        corrected[place] = least
    return corrected
