"""Response of a model to one column: partial dependence (Friedman 2001), and coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.explaining.tables import Columns, gaps, is_number
from pegasos.search.anatomy import anatomy

Array = np.ndarray[Any, Any]

#: Partial dependence: values of a numeric and of a categorical column, and rows averaged over.
_NUMBERS, _WORDS, _AVERAGED_ROWS = 20, 12, 300
#: Coefficients: rows at which slopes are compared, categories per column, and relative rounding
#: tolerance of slopes.
_ROWS, _CATEGORIES, _ROUNDING = 5, 30, 1e-4
_MISSING = "(missing)"


@dataclass(frozen=True)
class Dependence:
    """Mean response of a model as a function of one column.

    `means` has one list for each of `classes`. `what` is "probability" or "score".
    """

    column: str
    numeric: bool
    values: list[Any]
    classes: list[Any]
    means: list[list[float]]
    what: str


@dataclass(frozen=True)
class Effect:
    """Change of the score per unit of a numeric column, or for a category.

    For a categorical column, `value` is the category and the change is relative to the mean over
    the categories of the rows. For the slope of a numeric column `value` is None. The value
    "(missing)" compares a missing value with the median of a numeric column, or with the mean over
    the categories. `gains` has one number per class, for two classes only one.
    """

    column: str
    value: str | None
    gains: list[float]


def dependence(
    model: Any, table: Columns, place: int, seed: int, classes: list[Any], of_first: bool
) -> Dependence:
    """Return the partial dependence on the column at a position, averaged over a sample of rows.

    It is evaluated at values that occur in the column, since others may be meaningless for integers
    and codes: quantiles of many numbers, or the most frequent values. `of_first` selects the
    response of the first of two classes.
    """
    rows = table.rows(np.sort(np.random.default_rng(seed).permutation(len(table))[:_AVERAGED_ROWS]))
    known = table.known(place)
    numeric = is_number(known)
    values, counts = np.unique(known, return_counts=True)
    if numeric and len(values) > _NUMBERS:
        shares = np.linspace(0.01, 0.99, _NUMBERS)
        values = np.unique(np.quantile(known, shares, method="nearest"))
    else:
        most = _NUMBERS if numeric else _WORDS
        values = np.sort(values[np.argsort(-counts, kind="stable")[:most]])
    X = rows.constant(place, values.tolist())
    scores = np.asarray(model.decision_function(X))
    p = class_probabilities(model, X, scores)
    if p is None:
        response = -scores if of_first else scores
    elif p.shape[1] == 2:
        response = p[:, :1] if of_first else p[:, 1:]
    else:
        response = p
    each = response.reshape(len(values), len(rows), -1).mean(axis=1).T.tolist()
    learner: Any = anatomy(model, fitted=True).learner
    what = "probability" if learner.has_probabilities else "score"
    return Dependence(table.names[place], numeric, values.tolist(), classes, each, what)


def effects(model: Any, table: Columns, of_first: bool = False) -> list[Effect]:
    """Return the coefficients of a linear model on the original columns, in their units.

    If all preprocessing steps are affine, the score is affine in each column, and two values give
    its slope exactly. Slopes are compared between rows: if they differ, as with expansions, row
    normalization and clipping, there are no coefficients, nor for kernels and one-vs-one.
    """
    learner: Any = anatomy(model, fitted=True).learner
    if learner.kernel is not None or learner.has_pairs(learner.classes_):
        return []
    sign, rows = (-1.0 if of_first else 1.0), table.rows(np.arange(min(_ROWS, len(table))))
    found = list[Effect]()

    for place, name in enumerate(table.names):

        def scores_at(values: list[Any], place: int = place) -> Array:
            """Return scores (values x rows x classes) with the column set to each value."""
            each = model.decision_function(rows.constant(place, values))
            return sign * np.reshape(each, (len(values), len(rows), -1)).astype(np.float64)

        known, missing = table.known(place), gaps(table.values(place))
        if not len(known):
            continue
        if is_number(known):
            gains = _slope(scores_at, known)
        else:
            gains = _categories(scores_at, known.astype(str), bool(missing.any()))
        if gains is None:
            return []
        if is_number(known) and missing.any():
            whole = (known == np.round(known)).all()
            median = float(np.quantile(known, 0.5, method="nearest" if whole else "linear"))
            at, gap = scores_at([median, None])
            gains.append((_MISSING, gap - at))
        found += [Effect(name, value, gain.mean(axis=0).tolist()) for value, gain in gains]
    return found


def _slope(scores_at: Any, known: Array) -> list[tuple[str | None, Array]] | None:
    """Return the slope of a numeric column, or None if it is not constant.

    The scores at both ends and at one inner value of the column are compared.
    """
    values = np.unique(known.astype(np.float64))
    low, high = values[[0, -1]].tolist()
    if low == high:
        return []
    inner = values[1:-1]
    points = np.array([low, *inner[np.abs(inner - low - 0.37 * (high - low)).argsort()[:1]], high])
    scores = scores_at(points.tolist())
    slope = (scores[-1] - scores[0]).mean(axis=0) / (high - low)
    apart = np.abs(scores - scores[0] - (points - low)[:, None, None] * slope).max()
    return None if apart > _noise(scores) else [(None, slope[None])]


def _categories(
    scores_at: Any, words: Array, has_missing: bool
) -> list[tuple[str | None, Array]] | None:
    """Return the effects of categories relative to their mean, or None if they differ by row."""
    names, counts = np.unique(words, return_counts=True)
    kept = np.sort(np.argsort(-counts, kind="stable")[:_CATEGORIES])
    names, shares = names[kept].tolist(), counts[kept] / counts[kept].sum()
    scores = scores_at(names)
    mean = np.tensordot(shares, scores, axes=1)
    if np.ptp(scores - mean, axis=1).max() > _noise(scores):
        return None
    missing = [(_MISSING, scores_at([None])[0] - mean)] if has_missing else []
    return [*zip(names, scores - mean, strict=True), *missing]


def _noise(scores: Array) -> float:
    """Return the largest difference that rounding explains."""
    return float(_ROUNDING * max(np.abs(scores).max(), 1e-300))


def class_probabilities(model: Any, X: Any, scores: Any) -> Any:
    """Return class probabilities of rows with known decision values; None if there are none."""
    learner = anatomy(model, fitted=True).learner
    if not learner.has_probabilities:
        return None
    return model.predict_proba(X) if learner.couples_pairs else learner.probabilities_of(scores)
