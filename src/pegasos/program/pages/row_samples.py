"""What a sample of rows shows: a map in two dimensions, a decision boundary, and statistics of features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.engine.threads import single_threaded_blas
from pegasos.program.tables.dataset import NUMBER, Dataset
from pegasos.program.tables.statistics import describe

Array = np.ndarray[Any, Any]

#: Rows of a map, of a boundary's points and of statistics; the boundary's grid; features shown; rows above which no boundary.
MAP_ROWS, POINTS, STATISTICS_ROWS, GRID, FEATURES, BOUNDARY_ROWS = 1000, 300, 50_000, 60, 40, 50_000
CORRELATED = 16


def sample(count: int, most: int) -> Array:
    """At most so many rows, in order."""
    return np.sort(np.random.default_rng(0).permutation(count)[:most])


def numbers(dataset: Dataset, rows: Array) -> tuple[Array, list[int]]:
    """Columns of numbers of some rows as float64, gaps filled with the column's mean; and which columns they are."""
    if dataset.has_frame:
        part = dataset.X[rows.tolist()]
        places = [j for j, column in enumerate(dataset.columns) if column.kind == NUMBER]
        found = [part[:, j].cast(float).to_numpy() for j in places]
        X = np.column_stack(found) if found else np.empty((len(rows), 0))
    else:
        part = dataset.X[rows]
        X = np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=np.float64)
        places = list(range(X.shape[1]))
    X = np.asarray(np.where(np.isfinite(X), X, np.nan))
    if np.isnan(X).any():
        keep = np.asarray(~np.isnan(X).all(axis=0))
        X, places = X[:, keep], [place for place, kept in zip(places, keep, strict=True) if kept]
        X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    return X, places


def _scaled(X: Array, image: bool) -> tuple[Array, Array, Array]:
    """Rows around their mean, in deviations unless they are pictures, whose pixels have one unit."""
    mean = X.mean(axis=0)
    std = np.ones(X.shape[1]) if image else np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    return (X - mean) / std, mean, std


def place(dataset: Dataset, codes: Array, wrong: Array | None, tsne: bool) -> dict[str, Any] | None:
    """A sample of rows on a map: t-SNE of features in deviations, or two principal components."""
    if hasattr(dataset.X, "tocsr") and dataset.X.shape[1] > 2000:
        return None
    rows = sample(len(dataset), MAP_ROWS)
    X, _ = numbers(dataset, rows)
    if len(rows) < 3 or X.shape[1] < 2:
        return None
    Z, _, _ = _scaled(X, dataset.image is not None)
    method = "two features" if Z.shape[1] == 2 else "PCA"
    with single_threaded_blas():
        left, sizes, right = np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)
        places = left[:, :2] * sizes[:2] if Z.shape[1] > 2 else X
        if tsne and Z.shape[1] > 2 and len(rows) >= 30:
            from sklearn.manifold import TSNE
            from threadpoolctl import threadpool_limits

            width = min(30, right.shape[0])  # thirty components carry the neighbourhoods, at a fraction of the time
            spread = max(5.0, min(30.0, len(rows) / 5))
            learner = TSNE(init="pca", random_state=0, perplexity=spread, max_iter=500)
            with threadpool_limits(1):  # on a busy machine its threads wait for each other, ten times as long
                places = learner.fit_transform(left[:, :width] * sizes[:width])
            method = "t-SNE"
    span = np.abs(places).max() or 1.0
    places = places if method == "two features" else 100 * places / span
    found: dict[str, Any] = {"method": method, "of": len(dataset), "rows": rows.tolist(), "classes": codes[rows].tolist()}
    found["places"] = [[float(f"{a:.4g}"), float(f"{b:.4g}")] for a, b in places.tolist()]
    if wrong is not None:
        found["wrong"] = wrong[rows].astype(int).tolist()
    return found


def boundary(
    estimator: Any, dataset: Dataset, codes: Array, encode: Callable[[Array], Array], names: list[str]
) -> dict[str, Any] | str:
    """The classes that a model gives on a grid: over the two features, or over the plane of two principal components.

    Answers a sentence where there is none.
    """
    if dataset.has_frame or hasattr(dataset.X, "tocsr"):
        return "No decision boundary: rows have words or gaps, or are sparse."
    if len(dataset) > BOUNDARY_ROWS:
        return f"No decision boundary: only up to {BOUNDARY_ROWS:,} rows."
    rows = sample(len(dataset), 5000)
    X, places = numbers(dataset, rows)
    if X.shape[1] != dataset.X.shape[1] or X.shape[1] < 2:
        return "No decision boundary: it needs two features."
    Z, mean, std = _scaled(X, dataset.image is not None)
    if Z.shape[1] == 2:
        plane, origin, titles, flat = np.eye(2), np.zeros(2), [names[places[0]], names[places[1]]], X
    else:
        with single_threaded_blas():
            _, _, directions = np.linalg.svd(Z, full_matrices=False)
        plane, titles, origin = directions[:2] * std, ["first principal component", "second principal component"], mean
        flat = Z @ directions[:2].T
    low, high = np.quantile(flat, 0.005, axis=0), np.quantile(flat, 0.995, axis=0)
    margin = 0.08 * np.where(high > low, high - low, 1.0)
    low, high = low - margin, high + margin
    across, down = (np.linspace(low[k], high[k], GRID) for k in (0, 1))
    grid = np.stack(np.meshgrid(across, down), axis=-1).reshape(-1, 2)
    guessed = estimator.predict((grid @ plane + origin).astype(dataset.X.dtype))
    inside = np.flatnonzero(((flat >= low) & (flat <= high)).all(axis=1))[:POINTS]
    return {
        "titles": titles,
        "low": low.round(5).tolist(),
        "high": high.round(5).tolist(),
        "grid": encode(np.asarray(guessed)).tolist(),
        "points": [[float(f"{a:.4g}"), float(f"{b:.4g}")] for a, b in flat[inside].tolist()],
        "classes": codes[rows[inside]].tolist(),
        "exact": X.shape[1] == 2,
    }


def statistics(dataset: Dataset, codes: Array) -> dict[str, Any]:
    """Statistics of at most 40 features (those that classes differ in most), and correlations among some of them."""
    rows = sample(len(dataset), STATISTICS_ROWS)
    part = dataset if len(rows) == len(dataset) else _part(dataset, rows)
    description = describe(part).as_dict()
    X, places = numbers(part, sample(len(part), 5000))
    share = between(X, codes[rows][sample(len(part), 5000)])
    told = dict(zip(places, share.tolist(), strict=True))
    order = sorted(range(len(description["columns"])), key=lambda j: -told.get(j, -1.0))
    shown = order[:FEATURES]
    names = ("name", "kind", "missing", "mean", "std", "min", "quartile1", "median", "quartile3", "max", "outliers", "distinct")
    features = [
        {**{name: _brief(description["columns"][j][name]) for name in names}, "between": round(max(0.0, told.get(j, 0.0)), 4)}
        for j in sorted(shown)
    ]
    correlated = sorted(j for j in order[:CORRELATED] if j in told)
    at = [places.index(j) for j in correlated]
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.nan_to_num(np.atleast_2d(np.corrcoef(X[:, at], rowvar=False))) if len(at) > 1 else np.zeros((0, 0))
    notes = list(description["notes"])
    if len(rows) < len(dataset):
        notes.append(f"Statistics come from a sample of {len(rows):,} of {len(dataset):,} rows.")
    if len(order) > FEATURES:
        notes.append(f"{FEATURES} of {len(order):,} features are shown: those whose means differ most between classes.")
    return {
        "count": len(order),
        "features": features,
        "pairs": [[a, b, round(value, 3)] for a, b, value in description["correlations"]],
        "matrix": {"names": [description["columns"][j]["name"] for j in correlated], "r": r.round(2).tolist()},
        "order": shown,
        "notes": notes,
        "advice": description["advice"],
    }


def between(X: Array, codes: Array) -> Array:
    """The share of each feature's variance that lies between classes."""
    total = X.var(axis=0)
    away = np.zeros(X.shape[1])
    for code in np.unique(codes):
        mine = X[codes == code]
        away += len(mine) * (mine.mean(axis=0) - X.mean(axis=0)) ** 2
    return np.where(total > 0, away / (len(X) * np.where(total > 0, total, 1.0)), 0.0)


def class_means(dataset: Dataset, codes: Array, classes: int, most: int = 20) -> list[Array]:
    """The mean picture of each of the first classes, from a sample."""
    rows = sample(len(dataset), 20_000)
    X, _ = numbers(dataset, rows)
    mine = [X[codes[rows] == code] for code in range(min(classes, most))]
    return [each.mean(axis=0) if len(each) else np.zeros(X.shape[1]) for each in mine]


def _part(dataset: Dataset, rows: Array) -> Dataset:
    X = dataset.X[rows.tolist()] if dataset.has_frame else dataset.X[rows]
    return replace(dataset, X=X, y=None if dataset.y is None else dataset.y[rows], groups=None, weights=None, test=None)


def _brief(value: Any) -> Any:
    return float(f"{value:.5g}") if isinstance(value, float) else value
