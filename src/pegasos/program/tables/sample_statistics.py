"""Statistics from a sample of rows: quartiles, outliers and correlations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.program.tables.dataset import Array, is_frame
from pegasos.program.tables.description import Description, Feature

#: Correlations come from at most this many numbers (128 MB), of at most this many columns.
CORRELATED_NUMBERS, CORRELATED_FEATURES = 16_000_000, 500
TOP_PAIRS = 10
#: Least outlier threshold for which most rows of a column cannot be outliers: if three quarters
#: of the numbers are zero, the mean is at most 1.2 stds away from zero.
_RARE = 1.2


def measure_columns(found: Description, X: Any) -> None:
    """Add quartiles and outliers to a description, from all rows or a sample of them."""
    rows = X.shape[0]
    odd, factor = np.zeros(rows, bool), found.rows / rows
    if found.sparse:
        X = X.tocsc()
        X.sum_duplicates()
    for place, feature in enumerate(found.columns):
        if feature.mean is not None:
            values, places = _column(X, place, found.outlier)
            there = np.isfinite(values)
            flags = _measure(feature, values[there], len(values) < rows, found.outlier)
            odd[places[there][flags]] = True
            feature.outliers = round(factor * int(flags.sum()))
    found.outlier_rows = round(factor * int(odd.sum()))


def _measure(feature: Feature, values: Array, mostly_zero: bool, outlier: float) -> Array:
    """Set the quartiles of a column, and return which values are outliers.

    If `mostly_zero`, `values` lacks the zeros, which are at least three quarters of the column.
    """
    mean, std, low, high = feature.mean, feature.std, feature.min, feature.max
    assert mean is not None and std is not None and low is not None and high is not None
    if mostly_zero:
        feature.quartile1 = feature.median = feature.quartile3 = 0.0
    elif len(values):
        quartiles = np.quantile(values, [0.25, 0.5, 0.75]).tolist()
        feature.quartile1, feature.median, feature.quartile3 = quartiles
    # Of two values the rarer one is no outlier.
    is_binary = ((values == low) | (values == high)).all() and not (mostly_zero and low < 0 < high)
    if std == 0 or is_binary:
        return np.zeros(len(values), bool)
    with np.errstate(over="ignore"):
        return np.abs(values - mean) >= outlier * std


def _column(X: Any, place: int, outlier: float) -> tuple[Array, Array]:
    """Return the values of a numeric column, and their rows.

    Zeros of a sparse column are left out if they are the quartiles and no outliers.
    """
    if sparse.issparse(X):
        part = slice(X.indptr[place], X.indptr[place + 1])
        values, rows = X.data[part].astype(np.float64), X.indices[part]
    if not sparse.issparse(X) or outlier < _RARE or 4 * (len(values) + 2) >= X.shape[0]:
        values, rows = _dense(X, place), np.arange(X.shape[0])
    return values, rows


def _dense(X: Any, place: int) -> Array:
    """Return a numeric column as an array of float64."""
    if is_frame(X):
        return np.asarray(X.to_series(place).cast(float).to_numpy())
    column = X[:, [place]].toarray()[:, 0] if sparse.issparse(X) else X[:, place]
    return np.asarray(column, dtype=np.float64)


def correlate(found: Description, X: Any) -> None:
    """Add the strongest correlations, each from the rows in which both numbers are present."""
    stds = {place: feature.std or 0.0 for place, feature in enumerate(found.columns)}
    chosen = [place for place, std in stds.items() if 0 < std < math.inf]
    if len(chosen) < 2:
        return
    if len(chosen) > CORRELATED_FEATURES:
        chosen = sorted(sorted(chosen, key=lambda place: -stds[place])[:CORRELATED_FEATURES])
        among = f"the {CORRELATED_FEATURES} features with the largest variance"
        found.notes.append(f"Correlations are among {among}.")
    most = max(1000, CORRELATED_NUMBERS // len(chosen))
    if X.shape[0] > most:
        X = X[np.sort(np.random.default_rng(0).choice(X.shape[0], most, replace=False))]
    if X.shape[0] < found.rows:
        found.notes.append(f"Correlations come from a sample of {X.shape[0]} rows.")
    features = [found.columns[place] for place in chosen]
    Z = np.column_stack([_dense(X, place) for place in chosen])
    Z -= [feature.mean for feature in features]
    Z /= [feature.std for feature in features]
    r = _correlations(Z)
    first, second = np.triu_indices(len(chosen), 1)
    order = np.argsort(-np.abs(r[first, second]), kind="stable")[:TOP_PAIRS]
    found.correlations = [
        (features[i].name, features[j].name, float(r[i, j]))
        for i, j in zip(first[order].tolist(), second[order].tolist(), strict=True)
    ]


def _correlations(Z: Array) -> Array:
    """Return r of each pair of standardized columns, from the rows in which both are present.

    It is 0 where one is constant or few rows have both.
    """
    there = np.isfinite(Z)
    Z, there = np.where(there, Z, 0.0), there.astype(np.float64)
    count = there.T @ there
    some = np.maximum(count, 1)
    with np.errstate(all="ignore"):  # numbers near 1e300
        mean = Z.T @ there / some  # of the first column, where the second is present
        spread = np.maximum((Z * Z).T @ there / some - mean * mean, 0)
        scale = np.sqrt(spread * spread.T)
        scale[count < min(10, len(Z))] = 0  # two rows in common always correlate
        r = (Z.T @ Z / some - mean * mean.T) / np.maximum(scale, 1e-9)
    return np.clip(np.where(scale > 1e-9, r, 0), -1, 1)
