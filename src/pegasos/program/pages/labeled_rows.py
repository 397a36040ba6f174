"""Labeled rows of a page, and numbers of samples of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.program.tables.dataset import NUMBER, TEXT, Column, Dataset, holds_words
from pegasos.program.tables.labels import label_texts

Array = np.ndarray[Any, Any]

#: Rows of statistics of features.
STATISTICS_ROWS = 50_000


@dataclass(frozen=True)
class LabeledRows:
    """Rows with a class each: `codes` are places in `names`, `positions` rows of the source."""

    dataset: Dataset
    names: list[str]
    positions: Any = None

    @classmethod
    def of(cls, dataset: Dataset, positions: Any = None, known: Sequence[Any] = ()) -> LabeledRows:
        """Return the rows of a data set; classes that are `known` but absent come last."""
        own = label_texts(np.unique(dataset.labels)).tolist()
        more = [name for name in label_texts(known).tolist() if name not in own]
        return cls(dataset, [*own, *more], positions)

    def __len__(self) -> int:
        return len(self.dataset)

    @cached_property
    def codes(self) -> Array:
        """Code of the class of each row."""
        return self.encode(self.dataset.labels)

    @cached_property
    def separation(self) -> Separation:
        """Ranking of the features."""
        return Separation(self)

    @property
    def counts(self) -> list[int]:
        """Number of rows of each class."""
        return np.bincount(self.codes, minlength=len(self.names)).tolist()

    def encode(self, labels: Any) -> Array:
        """Return the codes of labels of any type."""
        places = {name: code for code, name in enumerate(self.names)}
        found, inverse = np.unique(np.asarray(labels), return_inverse=True)
        codes = np.array([places[text] for text in label_texts(found).tolist()], dtype=int)
        return np.asarray(codes[inverse.reshape(-1)])

    def number(self, row: int) -> int:
        """Return the number of a row in its source, from 1."""
        return 1 + (row if self.positions is None else int(self.positions[row]))

    def numbers(self, rows: Array) -> tuple[Array, list[int]]:
        """Return the numeric columns of some rows as float64, and the positions of these columns.

        Missing values are filled with the mean.
        """
        dataset = self.dataset
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
            X, places = X[:, keep], np.asarray(places)[keep].tolist()
            X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
        return X, places

    def scaled(self, X: Array) -> tuple[Array, Array, Array]:
        """Return centered rows, their mean, and the std they are divided by.

        The pixels of images share a unit and are not divided.
        """
        std, is_image = X.std(axis=0), self.dataset.image is not None
        std = np.ones(X.shape[1]) if is_image else np.where(std > 0, std, 1.0)
        mean = X.mean(axis=0)
        return (X - mean) / std, mean, std


class Separation:
    """Features of labeled rows, ranked by the share of their variance between classes."""

    def __init__(self, rows: LabeledRows) -> None:
        shown = sample(len(rows), STATISTICS_ROWS)
        shown = shown[sample(len(shown), 5000)]
        self.names = feature_names(rows.dataset)
        self.X, self.places = rows.numbers(shown)
        self.codes = rows.codes[shown]
        total, away = self.X.var(axis=0), np.zeros(self.X.shape[1])
        for code in np.unique(self.codes):
            mine = self.X[self.codes == code]
            away += len(mine) * (mine.mean(axis=0) - self.X.mean(axis=0)) ** 2
        shares = np.where(total > 0, away / (len(shown) * np.where(total > 0, total, 1.0)), 0.0)
        self.shares = dict(zip(self.places, shares.tolist(), strict=True))
        self.order = sorted(range(len(self.names)), key=lambda j: -self.shares.get(j, -1.0))

    def leading(self, most: int) -> list[int]:
        """Return the first numeric features of the ranking, in the order of the columns."""
        return sorted(j for j in self.order[:most] if j in self.shares)

    def values(self, features: list[int]) -> Array:
        """Return the columns of some numeric features."""
        return self.X[:, [self.places.index(j) for j in features]]


def as_dataset(X: Any, y: Any, facts: dict[str, Any]) -> Dataset | None:
    """Return arrays or frames as a data set.

    `name`, `image` and `columns` are taken out of `facts`. Frames are added to it as `rows`,
    because a model takes them as they are.
    """
    name, image = str(facts.pop("name", "the data")), facts.pop("image", None)
    columns = facts.pop("columns", None)
    if X is None or isinstance(X, Dataset):
        return X
    from pegasos.sklearn_private import get_feature_names

    labels = None if y is None else np.asarray(y)
    columns = get_feature_names(X) if columns is None else columns
    listed = [] if columns is None else [Column(str(each)) for each in columns]
    if hasattr(X, "columns"):
        facts["rows"] = X
        frame = _polars_frame(X)
        if frame is not None:
            kinds = [TEXT if holds_words(each) else NUMBER for each in frame.get_columns()]
            listed = [Column(*each) for each in zip(frame.columns, kinds, strict=True)]
            return Dataset(name, frame, listed, labels, image=image)
    return Dataset(name, X if sparse.issparse(X) else np.asarray(X), listed, labels, image=image)


def _polars_frame(X: Any) -> Any:
    """Return a frame as a Polars frame; None if all values are numbers, none missing."""
    import polars as pl

    found = []
    for name in X.columns:
        each = pl.Series(str(name), np.asarray(X[name]).tolist(), strict=False)
        is_text = holds_words(each)
        found.append(each.cast(pl.String) if is_text else each.cast(pl.Float64).fill_nan(None))
    plain = not any(holds_words(each) or each.null_count() for each in found)
    return None if plain else pl.DataFrame(found)


def feature_names(dataset: Dataset) -> list[str]:
    """Return the names of features, by default x1, x2, ..."""
    names = [column.name for column in dataset.columns]
    return names or [f"x{j + 1}" for j in range(dataset.X.shape[1])]


def brief(value: Any, digits: int = 4) -> Any:
    """Round numbers, in lists too, to a few digits; numbers that are not finite become None."""
    if isinstance(value, list):
        return [brief(each, digits) for each in value]
    if not isinstance(value, float):
        return value
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None


def dense(part: Any) -> Array:
    """Return rows as a dense array."""
    return np.asarray(part.toarray() if sparse.issparse(part) else part)


def sample(count: int, most: int) -> Array:
    """Return the sorted positions of a random sample of at most `most` of `count` rows."""
    return np.sort(np.random.default_rng(0).permutation(count)[:most])
