"""Coefficients of a linear model on the original columns, in their units.

If all preprocessing steps are affine, the score is affine in each column, and two values give its
slope exactly. This is verified: expansions, row normalization and clipping have slopes that differ
between rows, and no coefficients are reported then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.explaining.tables import Columns, gaps, is_number
from pegasos.search.anatomy import anatomy

Array = np.ndarray[Any, Any]

#: Rows at which slopes are compared, categories listed per column, and relative rounding tolerance
#: of slopes.
_ROWS, _CATEGORIES, _ROUNDING = 5, 30, 1e-4
_MISSING = "(missing)"
#: Values of a column (None: a slope), and changes of the score (rows x classes).
_Gains = list[tuple[str | None, Array]]


@dataclass(frozen=True)
class Effect:
    """Change of the score per unit of a numeric column, or for a category.

    For a categorical column, `value` is the category and the change is relative to the mean over
    the categories of the rows. For the slope of a numeric column `value` is None. The value
    "(missing)" compares a missing value with the median of a numeric column, or with the mean over
    the categories. `gains` has one number per class, of two classes for the second only.
    """

    column: str
    value: str | None
    gains: list[float]


def effects(model: Any, table: Columns) -> list[Effect]:
    """Return the coefficients of a linear model on the original columns, evaluated on some rows.

    There are none for kernels, for one-vs-one, and if a preprocessing step is not affine.
    """
    learner: Any = anatomy(model, fitted=True).learner
    if learner.kernel is not None or learner.has_pairs(learner.classes_) or not len(table):
        return []
    found, rows = list[Effect](), table.rows(np.arange(min(_ROWS, len(table))))
    for place, name in enumerate(table.names):
        known = table.known(place)
        if not len(known):
            continue
        if is_number(known):
            gains = _slope(model, rows, place, known)
        else:
            gains = _categories(model, rows, place, table.values(place))
        if gains is None:
            return []
        if is_number(known) and gaps(table.values(place)).any():
            whole = (known == np.round(known)).all()
            median = float(np.quantile(known, 0.5, method="nearest" if whole else "linear"))
            at, gap = (_scores(model, rows.constant(place, value)) for value in (median, None))
            gains.append((_MISSING, gap - at))
        found += [Effect(name, value, gain.mean(axis=0).tolist()) for value, gain in gains]
    return found


def _slope(model: Any, rows: Columns, place: int, known: Array) -> _Gains | None:
    """Return the slope of a numeric column, or None if it is not constant.

    The scores at both ends and at one inner value of the column are compared.
    """
    values = np.unique(known.astype(np.float64))
    low, high = values[[0, -1]].tolist()
    if low == high:
        return []
    inner = values[1:-1]
    points = np.array([low, *inner[np.abs(inner - low - 0.37 * (high - low)).argsort()[:1]], high])
    scores = np.stack([_scores(model, rows.constant(place, value)) for value in points.tolist()])
    slope = (scores[-1] - scores[0]).mean(axis=0) / (high - low)
    apart = np.abs(scores - scores[0] - (points - low)[:, None, None] * slope).max()
    return None if apart > _noise(scores) else [(None, slope[None])]


def _categories(model: Any, rows: Columns, place: int, values: Array) -> _Gains | None:
    """Return the effect of each category, or None if it differs between rows.

    Effects are relative to the mean score over the categories.
    """
    missing = gaps(values)
    names, counts = np.unique(values[~missing].astype(str), return_counts=True)
    kept = np.sort(np.argsort(-counts, kind="stable")[:_CATEGORIES])
    names, shares = names[kept], counts[kept] / counts[kept].sum()
    scores = np.stack([_scores(model, rows.constant(place, name)) for name in names])
    mean = np.tensordot(shares, scores, axes=1)
    if np.ptp(scores - mean, axis=1).max() > _noise(scores):
        return None
    found: _Gains = [(str(name), own - mean) for name, own in zip(names, scores, strict=True)]
    if missing.any():
        found.append((_MISSING, _scores(model, rows.constant(place, None)) - mean))
    return found


def _noise(scores: Array) -> float:
    """Return the largest difference that rounding explains."""
    return float(_ROUNDING * max(np.abs(scores).max(), 1e-300))


def _scores(model: Any, X: Any) -> Array:
    scores = np.asarray(model.decision_function(X), dtype=np.float64)
    return scores.reshape(len(scores), -1)
