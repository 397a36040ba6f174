"""Contents of pages: fitted models and searches, and labeled rows with numbers of samples."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from pegasos.program.tables.dataset import NUMBER, TEXT, Column, Dataset, holds_words
from pegasos.program.tables.labels import label_texts
from pegasos.search.anatomy import anatomy
from pegasos.search.sweep import SweepCV
from pegasos.sklearn_private import get_feature_names

Array = np.ndarray[Any, Any]

#: Rows of statistics of features, and of their ranking.
STATISTICS_ROWS, _RANKED_ROWS = 50_000, 5000


def check_shown(thing: Any, what: str) -> None:
    """Raise an error for objects that are not fitted or not of pegasos; `what` can be shown."""
    try:
        learner = thing if isinstance(thing, SweepCV) else anatomy(thing).learner
    except ValueError as error:
        raise ValueError(f"{what}. {error}") from None
    missing = "this %(name)s is not fitted yet, so there is nothing to show: call fit first."
    check_is_fitted(
        learner, "cv_results_" if isinstance(thing, SweepCV) else "classes_", msg=missing
    )


def as_dataset(X: Any, y: Any, facts: dict[str, Any]) -> Dataset | None:
    """Return arrays or frames as a data set.

    `name`, `image` and `columns` are taken out of `facts`. Frames are added to it as `rows`,
    because a model takes them as they are.
    """
    name, image = str(facts.pop("name", "the data")), facts.pop("image", None)
    columns = facts.pop("columns", None)
    if X is None or isinstance(X, Dataset):
        return X
    labels = None if y is None else np.asarray(y)
    columns = get_feature_names(X) if columns is None else columns
    listed = [] if columns is None else [Column(str(each)) for each in columns]
    if hasattr(X, "columns"):
        import polars as pl

        facts["rows"], found, words = X, [], []
        for column in X.columns:
            each = pl.Series(str(column), np.asarray(X[column]).tolist(), strict=False)
            words.append(holds_words(each))
            number = each if words[-1] else each.cast(pl.Float64).fill_nan(None)
            found.append(number.cast(pl.String) if words[-1] else number)
        if any(words) or any(each.null_count() for each in found):
            kinds = zip(found, words, strict=True)
            listed = [Column(each.name, TEXT if word else NUMBER) for each, word in kinds]
            return Dataset(name, pl.DataFrame(found), listed, labels, image=image)
    return Dataset(name, X if sparse.issparse(X) else np.asarray(X), listed, labels, image=image)


class LabeledRows:
    """Labeled rows of a data set, and their positions in its source.

    `names` are the classes; those that are `known` but absent come last.
    """

    def __init__(self, dataset: Dataset, positions: Any = None, known: Sequence[Any] = ()) -> None:
        own = label_texts(np.unique(dataset.labels)).tolist()
        more = [name for name in label_texts(known).tolist() if name not in own]
        self.dataset, self.positions, self.names = dataset, positions, [*own, *more]

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
        X = np.where(np.isfinite(X), X, np.nan)
        if np.isnan(X).any():
            keep = np.asarray(~np.isnan(X).all(axis=0))
            X, places = X[:, keep], np.asarray(places)[keep].tolist()
            X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
        return np.asarray(X), places

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
        shown = shown[sample(len(shown), _RANKED_ROWS)]
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

    def leading(self, most: int) -> tuple[list[str], Array]:
        """Return names and values of the first numeric features, in the order of the columns."""
        features = sorted(j for j in self.order[:most] if j in self.shares)
        values = self.X[:, [self.places.index(j) for j in features]]
        return [self.names[j] for j in features], values


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
