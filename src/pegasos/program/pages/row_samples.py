"""Data of pages that come from a sample of rows: map, decision boundary, statistics of features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.engine.runtime.threads import single_threaded_blas
from pegasos.program.records.pages import Boundary, FeatureRecord, MapRecord, Statistics
from pegasos.program.tables.dataset import NUMBER, TEXT, Column, Dataset, holds_words
from pegasos.program.tables.statistics import describe
from pegasos.search.anatomy import anatomy

Array = np.ndarray[Any, Any]

#: Rows of a map, of a boundary's points and of statistics; the boundary's grid; features shown; rows above which no boundary.
MAP_ROWS, POINTS, STATISTICS_ROWS, GRID, FEATURES, BOUNDARY_ROWS = 1000, 300, 50_000, 64, 40, 50_000
CORRELATED = 16
#: How far beyond its margin a row may lie that still counts as on it.
MARGIN_TOLERANCE = 0.01


def as_dataset(X: Any, y: Any, facts: dict[str, Any]) -> Dataset | None:
    """Return arrays or frames as a data set; name, image and columns are taken out of `facts`."""
    name, image, columns = (
        facts.pop("name", "the data"),
        facts.pop("image", None),
        facts.pop("columns", None),
    )
    if X is None or isinstance(X, Dataset):
        return X
    from pegasos.sklearn_private import get_feature_names

    columns = get_feature_names(X) if columns is None else columns
    listed, labels = (
        [Column(str(each)) for each in ([] if columns is None else columns)],
        None if y is None else np.asarray(y),
    )
    if hasattr(X, "columns"):
        facts["rows"] = X  # the model takes them as they came
    if hasattr(X, "columns") and (frame := _frame_of(X)) is not None:
        kinds = [TEXT if holds_words(each) else NUMBER for each in frame.get_columns()]
        return Dataset(
            str(name),
            frame,
            [Column(*each) for each in zip(frame.columns, kinds, strict=True)],
            labels,
            image=image,
        )
    return Dataset(
        str(name), X if sparse.issparse(X) else np.asarray(X), listed, labels, image=image
    )


def _frame_of(X: Any) -> Any:
    """Return a table with names as a Polars frame; None where all values are numbers, none missing."""
    import polars as pl

    names = [str(name) for name in X.columns]
    found = [
        pl.Series(name, np.asarray(X[own]).tolist(), strict=False)
        for name, own in zip(names, X.columns, strict=True)
    ]
    found = [
        each.cast(pl.String) if holds_words(each) else each.cast(pl.Float64).fill_nan(None)
        for each in found
    ]
    return (
        pl.DataFrame(found)
        if any(holds_words(each) or each.null_count() for each in found)
        else None
    )


def feature_names(dataset: Dataset) -> list[str]:
    """Return the names of features, x1, x2, ... where they have none."""
    return [column.name for column in dataset.columns] or [
        f"x{j + 1}" for j in range(dataset.X.shape[1])
    ]


def brief(value: Any, digits: int = 4) -> Any:
    """Round numbers to a few digits, in lists too; numbers that are not finite become None."""
    if isinstance(value, list):
        return [brief(each, digits) for each in value]
    if not isinstance(value, float):
        return value
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None


def dense(part: Any) -> Array:
    """Return rows as a dense array."""
    return np.asarray(part.toarray() if sparse.issparse(part) else part)


def sample(count: int, most: int) -> Array:
    """Return the places of at most `most` of `count` rows, sorted."""
    return np.sort(np.random.default_rng(0).permutation(count)[:most])


def numbers(dataset: Dataset, rows: Array) -> tuple[Array, list[int]]:
    """Return the numeric columns of some rows as float64, missing values imputed by the mean, and the places of these columns."""
    if dataset.has_frame:
        part = dataset.X[rows.tolist()]
        places = [j for j, column in enumerate(dataset.columns) if column.kind != TEXT]
        found = [part[:, j].cast(float).to_numpy() for j in places]
        X = np.column_stack(found) if found else np.empty((len(rows), 0))
    else:
        X = np.asarray(dense(dataset.X[rows]), dtype=np.float64)
        places = list(range(X.shape[1]))
    X = np.asarray(np.where(np.isfinite(X), X, np.nan))
    if np.isnan(X).any():
        keep = np.asarray(~np.isnan(X).all(axis=0))
        X, places = X[:, keep], [place for place, kept in zip(places, keep, strict=True) if kept]
        X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    return X, places


def _scaled(X: Array, image: bool) -> tuple[Array, Array, Array]:
    """Center rows, and scale them to unit variance unless they are images, whose pixels share a unit."""
    mean = X.mean(axis=0)
    std = np.ones(X.shape[1]) if image else np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    return (X - mean) / std, mean, std


def place(dataset: Dataset, codes: Array, wrong: Array, tsne: bool) -> MapRecord | None:
    """Return a sample of rows in two dimensions: t-SNE of scaled features, or two principal components."""
    if sparse.issparse(dataset.X) and dataset.X.shape[1] > 2000:
        return None
    rows = sample(len(dataset), MAP_ROWS)
    X, _ = numbers(dataset, rows)
    if len(rows) < 3 or X.shape[1] < 2:
        return None
    Z, _, _ = _scaled(X, dataset.image is not None)
    method = "two features" if Z.shape[1] == 2 else "PCA"
    with single_threaded_blas():
        left, sizes, _ = np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)
        places = left[:, :2] * sizes[:2] if Z.shape[1] > 2 else X
        if tsne and Z.shape[1] > 2 and len(rows) >= 30:
            from sklearn.manifold import TSNE
            from threadpoolctl import threadpool_limits

            learner = TSNE(
                init="pca",
                random_state=0,
                perplexity=max(5.0, min(30.0, len(rows) / 5)),
                max_iter=500,
            )
            with threadpool_limits(
                1
            ):  # on a busy machine its threads wait for each other, ten times as long
                # Thirty components carry the neighbourhoods, at a fraction of the time.
                places = learner.fit_transform(left[:, :30] * sizes[:30])
            method = "t-SNE"
    places = places if method == "two features" else 100 * places / (np.abs(places).max() or 1.0)
    return MapRecord(
        method,
        len(dataset),
        rows.tolist(),
        codes[rows].tolist(),
        brief(places.tolist()),
        wrong[rows].tolist(),
    )


def boundary(
    estimator: Any, dataset: Dataset, codes: Array, encode: Callable[[Array], Array]
) -> tuple[Boundary | None, str]:
    """Return the scores of a model on a grid over two features, or over the plane of two principal components.

    Without a boundary the second value is a sentence that says why.
    """
    if dataset.has_frame or sparse.issparse(dataset.X):
        return None, "No decision boundary: rows have words or gaps, or are sparse."
    if len(dataset) > BOUNDARY_ROWS:
        return None, f"No decision boundary: only up to {BOUNDARY_ROWS:,} rows."
    rows = sample(len(dataset), 5000)
    X, _ = numbers(dataset, rows)
    if X.shape[1] != dataset.X.shape[1] or X.shape[1] < 2:
        return None, "No decision boundary: it needs two features."
    Z, mean, std = _scaled(X, dataset.image is not None)
    if Z.shape[1] == 2:
        plane, origin, titles, flat = np.eye(2), np.zeros(2), feature_names(dataset), X
    else:
        with single_threaded_blas():
            _, _, directions = np.linalg.svd(Z, full_matrices=False)
        plane, titles, origin = (
            directions[:2] * std,
            ["first principal component", "second principal component"],
            mean,
        )
        flat = Z @ directions[:2].T
    low, high = np.quantile(flat, 0.005, axis=0), np.quantile(flat, 0.995, axis=0)
    margin = 0.08 * np.where(high > low, high - low, 1.0)
    low, high = low - margin, high + margin
    learner = anatomy(estimator, fitted=True).learner
    side = GRID if len(learner.classes_) <= 4 else 40
    across, down = (np.linspace(low[k], high[k], side) for k in (0, 1))
    grid = np.stack(np.meshgrid(across, down), axis=-1).reshape(-1, 2)
    inside = np.flatnonzero(((flat >= low) & (flat <= high)).all(axis=1))[:POINTS]
    try:
        scores = estimator.decision_function(
            _named(estimator, (grid @ plane + origin).astype(dataset.X.dtype))
        )
        own = estimator.decision_function(_named(estimator, X[inside].astype(dataset.X.dtype)))
    except ValueError:  # NotFinite, or what a step says of numbers that are too large for it
        return None, "No decision boundary: between these rows the model's scores are not finite."
    known, holding = encode(np.asarray(learner.classes_)), list[bool]()
    mine = codes[rows[inside]]
    if scores.ndim == 1:
        winners, scores = known.tolist(), (scores - learner.threshold_)[:, None]
        if getattr(learner, "loss", "") == "hinge" and learner.threshold_ == 0:
            holding = (np.where(mine == known[1], own, -own) <= 1.0 + MARGIN_TOLERANCE).tolist()
    else:
        best = np.unique(scores.argmax(axis=1))
        winners, scores = known[best].tolist(), scores[:, best]
    ends, answers = (low.round(5).tolist(), high.round(5).tolist()), brief(scores.T.tolist(), 3)
    places = brief(flat[inside].tolist())
    return Boundary(
        titles, *ends, winners, answers, places, mine.tolist(), holding, X.shape[1] == 2
    ), ""


def _named(estimator: Any, rows: Array) -> Any:
    """Return rows as a frame where the model was fitted to a table with names."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return rows
    import polars as pl

    return pl.DataFrame(rows, schema=list(map(str, names)))


def statistics(dataset: Dataset, codes: Array) -> tuple[Statistics, list[int]]:
    """Return statistics of at most 40 features, the ones that differ most between classes, and the order of all features."""
    rows = sample(len(dataset), STATISTICS_ROWS)
    part = dataset if len(rows) == len(dataset) else part_of(dataset, rows)
    description = describe(part)
    X, places = numbers(part, sample(len(part), 5000))
    share = dict(
        zip(places, between(X, codes[rows][sample(len(part), 5000)]).tolist(), strict=True)
    )
    order = sorted(range(len(description.columns)), key=lambda j: -share.get(j, -1.0))
    features = []
    for j in sorted(order[:FEATURES]):
        known = {name: brief(value, 5) for name, value in vars(description.columns[j]).items()}
        features.append(FeatureRecord(**known, between=round(max(0.0, share.get(j, 0.0)), 4)))
    correlated = sorted(j for j in order[:CORRELATED] if j in share)
    at = [places.index(j) for j in correlated]
    with np.errstate(invalid="ignore", divide="ignore"):
        matrix = (
            np.nan_to_num(np.atleast_2d(np.corrcoef(X[:, at], rowvar=False)))
            if len(at) > 1
            else np.zeros((0, 0))
        )
    notes = list(description.notes)
    if len(rows) < len(dataset):
        notes.append(f"Statistics come from a sample of {len(rows):,} of {len(dataset):,} rows.")
    if len(order) > FEATURES:
        notes.append(
            f"{FEATURES} of {len(order):,} features are shown: those whose means differ most between classes."
        )
    pairs = [(one, two, round(r, 3)) for one, two, r in description.correlations]
    shown = [description.columns[j].name for j in correlated]
    return Statistics(len(order), features, pairs, shown, matrix.round(2).tolist(), notes), order


def between(X: Array, codes: Array) -> Array:
    """Return the share of each feature's variance between classes."""
    total, away = X.var(axis=0), np.zeros(X.shape[1])
    for code in np.unique(codes):
        mine = X[codes == code]
        away += len(mine) * (mine.mean(axis=0) - X.mean(axis=0)) ** 2
    return np.where(total > 0, away / (len(X) * np.where(total > 0, total, 1.0)), 0.0)


def class_means(dataset: Dataset, codes: Array, most: int = 20) -> list[Array]:
    """Return the mean image of each of the first classes, from a sample."""
    rows = sample(len(dataset), 20_000)
    X, _ = numbers(dataset, rows)
    mine = [X[codes[rows] == code] for code in range(min(codes.max() + 1, most))]
    return [each.mean(axis=0) if len(each) else np.zeros(X.shape[1]) for each in mine]


def part_of(dataset: Dataset, rows: Array) -> Dataset:
    """Return a data set of some rows."""
    X = dataset.X[rows.tolist()] if dataset.has_frame else dataset.X[rows]
    return replace(
        dataset,
        X=X,
        y=None if dataset.y is None else dataset.y[rows],
        groups=None,
        weights=None,
        test=None,
    )
