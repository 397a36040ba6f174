"""What a set looks like before anything is learned from it: counts, statistics, correlations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.engine.runtime.threads import single_threaded_blas
from pegasos.program.tables.dataset import (
    TEXT,
    Array,
    BadData,
    Dataset,
    holds_pixels,
    holds_words,
    is_frame,
)
from pegasos.program.tables.description import Description, Feature, advise
from pegasos.program.tables.labels import distinct_texts, label_texts
from pegasos.program.tables.leaks import leaks
from pegasos.program.tables.row_hashes import hash_rows

#: Columns are read in blocks of about this many numbers (64 MB); correlations come from at most so many numbers twice over.
BLOCK = 8_000_000
#: More values than this in a column, and its quartiles come from a sample of as many.
QUARTILE_ROWS = 1_000_000
#: Correlations are sought among so many features: those with the largest variance.
CORRELATED_FEATURES = 500
TOP_PAIRS = 10
#: More distinct labels than this are not counted one by one.
MOST_CLASSES = 1000


def describe(dataset: Dataset, outlier: float = 3.0) -> Description:
    """Describe a set: any size of rows that fit in memory; statistics are computed in float64.

    Beyond a million rows quartiles come from a sample, and so do correlations beyond 16 million numbers; notes say so.

    >>> found = describe(Dataset("two", np.array([[0.0, 5.0], [2.0, 5.0]]), [], np.array([1, 1])))
    >>> found.columns[0].mean, found.columns[0].std, found.constant, found.guessing_error
    (1.0, 1.0, ['x2'], 0.0)
    """
    m, n = dataset.X.shape
    if m == 0 or n == 0:
        raise BadData(f"{dataset.name}: {m} rows and {n} features; there is nothing to describe.")
    if not outlier > 0:
        raise ValueError(
            f"outlier must be a positive number of standard deviations, got {outlier!r}."
        )
    names = [column.name for column in dataset.columns] or [f"x{j + 1}" for j in range(n)]
    words = sum(map(holds_words, dataset.X.get_columns())) if dataset.has_frame else 0
    dtype = (
        f"{n - words} columns of numbers, {words} of words"
        if dataset.has_frame
        else str(dataset.X.dtype)
    )
    found = Description(
        dataset.name, m, n, dtype, sparse.issparse(dataset.X), outlier=float(outlier)
    )
    if found.sparse:
        found.density = dataset.X.count_nonzero() / (m * n)
    _count_classes(found, dataset.y)
    with (
        single_threaded_blas()
    ):  # tall, narrow products gain nothing by threads, and on a busy machine lose much
        _describe_columns(found, dataset.X, names)
        for feature, column in zip(found.columns, dataset.columns, strict=False):
            feature.kind = column.kind
        correlate(found, dataset.X)
    _count_repeats(found, dataset)
    found.advice = list(advise(found, dataset.image is not None, holds_pixels(dataset.X)))
    if dataset.y is not None:
        texts = label_texts(dataset.y)
        found.advice += (f"Leak: {each}." for each in leaks(dataset.X, dataset.columns, texts))
    return found


def _count_classes(found: Description, y: Array | None) -> None:
    if y is None or len(y) == 0:
        return
    counts: Counter[str] = Counter()  # texts may be there twice
    texts, places = distinct_texts(y)
    for text, count in zip(texts, np.bincount(places).tolist(), strict=True):
        counts[text] += count
    list_classes(found, counts)


def list_classes(found: Description, counts: Counter[str]) -> None:
    """The balance of classes, from the rows of each."""
    found.classes = counts.most_common(MOST_CLASSES)
    if len(counts) > MOST_CLASSES:
        found.notes.append(
            f"{len(counts)} distinct labels; the {MOST_CLASSES} largest classes are listed."
        )
    found.largest_share = found.classes[0][1] / counts.total()
    found.guessing_error = 1 - found.largest_share


def _columns(X: Any) -> Iterator[tuple[Array | None, Array | None]]:
    """Each column's stored values (None for words, which have no statistics and would be slow to fetch), and their rows where
    the others are zeros that are not stored."""
    m, n = X.shape
    if sparse.issparse(X):
        X = X.tocsc()
        X.sum_duplicates()
        for j in range(n):
            part = slice(X.indptr[j], X.indptr[j + 1])
            yield X.data[part].astype(np.float64), X.indices[part]
    elif is_frame(X):
        for column in X.get_columns():
            yield None if holds_words(column) else column.cast(float).to_numpy(), None
    else:
        width = max(1, BLOCK // m)
        for start in range(
            0, n, width
        ):  # columns of a block lie near each other: read once, not once a column
            yield from (
                (column, None)
                for column in X[:, start : start + width].T.astype(np.float64, order="C")
            )


def _describe_columns(found: Description, X: Any, names: list[str]) -> None:
    odd, gaps, infinite = np.zeros(found.rows, bool), np.zeros(found.rows, bool), 0
    for j, (values, rows) in enumerate(_columns(X)):
        if values is None:
            distinct, missing = X[:, j].drop_nulls().n_unique(), X[:, j].is_null()
            gaps |= missing.to_numpy()
            found.columns.append(Feature(names[j], TEXT, int(missing.sum()), distinct=distinct))
            if X[:, j].n_unique() == 1:  # a gap beside one word tells something
                found.constant.append(names[j])
            continue
        there = np.isfinite(values)
        if not there.all():
            gaps[~there if rows is None else rows[~there]] = True
            infinite += int(np.isinf(values).sum())
        zeros = 0 if rows is None else found.rows - len(values)
        feature, flags, zeros_odd = _statistics(names[j], values[there], zeros, found.outlier)
        feature.missing = len(values) - int(there.sum())
        found.columns.append(feature)
        odd[np.flatnonzero(there)[flags] if rows is None else rows[there][flags]] = True
        if zeros_odd:
            zero = np.ones(found.rows, bool)
            zero[rows] = False
            odd |= zero
        if feature.min == feature.max:  # also where no value is there: None is None
            found.constant.append(feature.name)
    found.missing = sum(feature.missing for feature in found.columns)
    found.rows_with_missing, found.outlier_rows = int(gaps.sum()), int(odd.sum())
    if infinite:
        found.notes.append(f"{infinite} infinite values are counted as missing.")
    if found.rows > QUARTILE_ROWS:
        found.notes.append(f"Quartiles come from a sample of {QUARTILE_ROWS} values a feature.")


def _statistics(
    name: str, values: Array, zeros: int, outlier: float
) -> tuple[Feature, Array, bool]:
    """A feature from its values and a number of zeros; which values are outliers, and whether the zeros are."""
    count = len(values) + zeros
    if count == 0:
        return Feature(name), np.zeros(0, bool), False
    with np.errstate(over="ignore", invalid="ignore"):  # numbers near 1e300 may have no deviation
        mean = float(values.sum() / count)
        away = values - mean
        std = math.sqrt((float(np.dot(away, away)) + zeros * mean * mean) / count)
    low, high = (
        float(values.min(initial=0.0 if zeros else np.inf)),
        float(values.max(initial=0.0 if zeros else -np.inf)),
    )
    if low == high:  # the mean of equal numbers may differ from them in the last digit
        mean, std, away = low, 0.0, np.zeros(len(values))
    third_value = zeros and low < 0 < high
    measured = std > 0 and (third_value or not is_binary(values, low, high))
    flags = np.abs(away) >= outlier * std if measured else np.zeros(len(values), bool)
    zeros_odd = bool(zeros and measured and abs(mean) >= outlier * std)
    if zeros and 4 * (len(values) + 2) < count:
        quartiles = [0.0, 0.0, 0.0]  # fewer than a quarter are not zero
    else:
        if count > QUARTILE_ROWS:
            keep = round(len(values) * QUARTILE_ROWS / count)
            values, zeros = (
                np.random.default_rng(0).choice(values, keep, replace=False),
                QUARTILE_ROWS - keep,
            )
        quartiles = np.quantile(
            np.concatenate([values, np.zeros(zeros)]), [0.25, 0.5, 0.75]
        ).tolist()
    feature = Feature(
        name, mean=mean, std=std, min=low, max=high, outliers=int(flags.sum()) + zeros_odd * zeros
    )
    feature.quartile1, feature.median, feature.quartile3 = quartiles
    return feature, flags, zeros_odd


def is_binary(values: Array, low: float, high: float) -> bool:
    """Return whether a column holds two values only, of which the rarer one is no outlier."""
    return bool(((values == low) | (values == high)).all())


def correlate(found: Description, X: Any) -> None:
    """The strongest correlations, each from the rows in which both features are there."""
    chosen = [
        j for j, feature in enumerate(found.columns) if feature.std and math.isfinite(feature.std)
    ]
    if len(chosen) > CORRELATED_FEATURES:
        chosen = sorted(
            sorted(chosen, key=lambda j: -(found.columns[j].std or 0))[:CORRELATED_FEATURES]
        )
        found.notes.append(
            f"Correlations are among the {CORRELATED_FEATURES} features with the largest variance."
        )
    if len(chosen) < 2:
        return
    most = max(1000, 2 * BLOCK // len(chosen))
    if X.shape[0] > most:
        X = X[np.sort(np.random.default_rng(0).choice(X.shape[0], most, replace=False))]
        found.notes.append(f"Correlations come from a sample of {most} rows.")
    if is_frame(X):
        Z = np.column_stack([X[:, j].cast(float).to_numpy() for j in chosen])
    else:
        Z = (X[:, chosen].toarray() if found.sparse else X[:, chosen]).astype(np.float64)
    Z -= [found.columns[j].mean for j in chosen]
    Z /= [found.columns[j].std for j in chosen]
    sums = PairSums(len(chosen))
    sums.add(Z)
    found.correlations = strongest(sums, [found.columns[j].name for j in chosen])


class PairSums:
    """What correlations are made of: sums over rows for each pair of features, of the rows in which both are there."""

    def __init__(self, width: int) -> None:
        self.count, self.first, self.square, self.product = np.zeros((4, width, width))
        self.rows = 0

    def add(self, Z: Array) -> None:
        """Some more rows, each feature shifted and scaled to about 0 and 1; what is not finite is missing."""
        there = np.isfinite(Z).astype(np.float64)
        Z = np.where(there == 0, 0.0, Z)
        self.count += there.T @ there
        self.first += Z.T @ there  # of the first feature, where the second is there
        self.square += (Z * Z).T @ there
        self.product += Z.T @ Z
        self.rows += len(Z)

    def correlations(self) -> Array:
        """r of each pair; 0 where one of them does not vary, or where they have few rows in common."""
        count = np.maximum(self.count, 1)
        mean, square = self.first / count, self.square / count
        spread = np.maximum(square - mean * mean, 0)
        scale = np.sqrt(spread * spread.T)
        scale[self.count < min(10, self.rows)] = 0  # two rows in common always correlate
        r = np.where(
            scale > 1e-9, (self.product / count - mean * mean.T) / np.maximum(scale, 1e-9), 0
        )
        return np.clip(r, -1, 1)


def strongest(sums: PairSums, names: list[str]) -> list[tuple[str, str, float]]:
    """The pairs with the largest |r|."""
    r = sums.correlations()
    first, second = np.triu_indices(len(names), 1)
    order = np.argsort(-np.abs(r[first, second]), kind="stable")[:TOP_PAIRS]
    return [(names[first[k]], names[second[k]], float(r[first[k], second[k]])) for k in order]


def _count_repeats(found: Description, dataset: Dataset) -> None:
    hashes, both = feature_and_row_hashes(dataset)
    alone, together = len(np.unique(hashes)), len(np.unique(both))
    found.duplicates, found.contradictions = found.rows - together, together - alone


def feature_and_row_hashes(dataset: Dataset) -> tuple[Array, Array]:
    """The hash of each row without its label, and with it."""
    hashes = hash_rows(dataset.X)
    # Hashes are sums, so the labels' part may be added afterwards: it is the hash of rows without features.
    labels = 0 if dataset.y is None else hash_rows(np.empty((len(dataset), 0)), dataset.y)
    return hashes, hashes + np.uint64(labels)
