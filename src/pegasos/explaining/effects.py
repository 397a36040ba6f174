"""The coefficients of a linear model on the columns that come in, in their units, whatever scaling and encoding lie between.

Where every step is affine in the numbers, the score is too, and its slope is found exactly from two values. That is looked at
and not assumed: expansions, normalized rows and clipped scales have slopes that differ from row to row, and then there are none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.explaining.tables import Columns, gaps, is_number
from pegasos.search.anatomy import anatomy

Array = np.ndarray[Any, Any]

#: Rows at which slopes are compared, words of a column that are listed, and how far slopes may differ by rounding.
_ROWS, _WORDS, _ROUNDING = 5, 30, 1e-4


@dataclass(frozen=True)
class Effect:
    """What the score gains: per unit of a column of numbers (`value` None), or where a column of words is `value`.

    Words are measured against the mean word of the rows; "(missing)" is against a value that is there. `gains`: one for each
    class, of two classes for the second.
    """

    column: str
    value: str | None
    gains: list[float]


def effects(model: Any, table: Columns) -> list[Effect]:
    """Coefficients on the original columns; empty for kernels, one-vs-one, and where steps before the learner are not affine."""
    learner: Any = anatomy(model, fitted=True).learner
    if learner.kernel is not None or learner.has_pairs(learner.classes_) or not len(table):
        return []
    found, rows = list[Effect](), table.rows(np.arange(min(_ROWS, len(table))))
    for place, name in enumerate(table.names):
        known = table.known(place)
        if not len(known):
            continue
        numeric = is_number(known)
        gains = (
            _slope(model, rows, place, known)
            if numeric
            else _words(model, rows, place, table.values(place))
        )
        if gains is None:
            return []
        found += [Effect(name, value, gain) for value, gain in gains]
        if numeric and gaps(table.values(place)).any():
            whole = (known == np.round(known)).all()
            median = float(np.quantile(known, 0.5, method="nearest" if whole else "linear"))
            at, gap = (_scores(model, rows.constant(place, value)) for value in (median, None))
            found.append(Effect(name, "(missing)", (gap - at).mean(axis=0).tolist()))
    return found


def _slope(
    model: Any, rows: Columns, place: int, known: Array
) -> list[tuple[str | None, list[float]]] | None:
    """Per unit of a number, if it is the same everywhere: between its ends and a value of the column that lies between them."""
    values = np.unique(known.astype(np.float64))
    low, high = values[[0, -1]].tolist()
    if low == high:
        return []
    inner = values[1:-1]
    points = np.array([low, *inner[np.abs(inner - low - 0.37 * (high - low)).argsort()[:1]], high])
    scores = np.stack([_scores(model, rows.constant(place, value)) for value in points.tolist()])
    slope = (scores[-1] - scores[0]).mean(axis=0) / (high - low)
    apart = np.abs(scores - scores[0] - (points - low)[:, None, None] * slope).max()
    return (
        None if apart > _ROUNDING * max(np.abs(scores).max(), 1e-300) else [(None, slope.tolist())]
    )


def _words(
    model: Any, rows: Columns, place: int, values: Array
) -> list[tuple[str | None, list[float]]] | None:
    """Each word against the mean word, if the difference is the same everywhere."""
    missing = gaps(values)
    words, counts = np.unique(values[~missing].astype(str), return_counts=True)
    kept = np.sort(np.argsort(-counts, kind="stable")[:_WORDS])
    words, shares = words[kept], counts[kept] / counts[kept].sum()
    scores = np.stack([_scores(model, rows.constant(place, word)) for word in words])
    mean = np.tensordot(shares, scores, axes=1)
    gains = scores - mean
    if np.ptp(gains, axis=1).max() > _ROUNDING * max(np.abs(scores).max(), 1e-300):
        return None
    found: list[tuple[str | None, list[float]]] = [
        (str(word), gain.mean(axis=0).tolist()) for word, gain in zip(words, gains, strict=True)
    ]
    if missing.any():
        found.append(
            ("(missing)", (_scores(model, rows.constant(place, None)) - mean).mean(axis=0).tolist())
        )
    return found


def _scores(model: Any, X: Any) -> Array:
    scores = np.asarray(model.decision_function(X), dtype=np.float64)
    return scores.reshape(len(scores), -1)
