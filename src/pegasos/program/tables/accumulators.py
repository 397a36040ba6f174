"""Accumulators of rows that are seen once, in blocks of any size: samples, moments, labels."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.program.tables.dataset import (
    TEXT,
    Array,
    BadData,
    Column,
    NotClasses,
    NotNumber,
    is_frame,
)
from pegasos.program.tables.labels import check_classes, distinct_texts, plausible_labels

#: Labels with more distinct values than this are not classes in any table.
MOST_LABELS = 10_000
#: Approximate bytes of a word, and of a sparse row.
_WORD_BYTES, _SPARSE_BYTES = 32, 1000


def rows_within(amount: float, columns: list[Column]) -> int:
    """Return how many rows take about `amount` bytes; at least 100."""
    row = sum(_WORD_BYTES if column.kind == TEXT else 8 for column in columns) or _SPARSE_BYTES
    return max(100, int(amount / row))


class Sample:
    """At most `most` of the wanted rows, drawn uniformly; twice as many are held meanwhile.

    The sample depends on the seed and the rows, not on the sizes of the blocks.

    >>> sample = Sample(0, most=3)
    >>> for start in range(0, 100, 10):
    ...     block = np.arange(start, start + 10.0)[:, None]
    ...     sample.see(block, wanted=block[:, 0] > 20)
    >>> rows, places = sample.rows()
    >>> len(rows), bool((rows[:, 0] == places).all()), bool((places > 20).all()), sample.seen
    (3, True, True, 79)
    """

    def __init__(self, seed: int, most: float = math.inf) -> None:
        # A stream of its own: the rows set aside must not determine the sampled ones.
        self._random, self.most = np.random.default_rng([seed, 1]), most
        #: Wanted rows, and all rows, so far.
        self.seen = self._passed = 0
        #: Of each block: rows, keys, numbers of rows, and arrays beside them.
        self._parts: list[list[Any]] = []
        self._below = 1.0

    def see(self, rows: Any, wanted: Array | None = None, *beside: Array) -> None:
        """Add rows (an array, a CSR matrix or a frame), and arrays with one value per row."""
        count = rows.shape[0]
        keys = self._random.random(count)
        wanted = np.ones(count, bool) if wanted is None else wanted
        places = np.arange(self._passed, self._passed + count)
        self._parts.append(_chosen([rows, keys, places, *beside], wanted & (keys < self._below)))
        self._passed += count
        self.seen += int(wanted.sum())
        if sum(len(part[1]) for part in self._parts) > 2 * self.most:
            self._shrink()

    def _shrink(self) -> None:
        keys = np.concatenate([part[1] for part in self._parts])
        if len(keys) > self.most:
            most = int(self.most)
            self._below = float(np.partition(keys, most)[most])
            kept = [_chosen(part, part[1] < self._below) for part in self._parts]
            self._parts = [[joined(list(pieces)) for pieces in zip(*kept, strict=True)]]

    @property
    def whole(self) -> bool:
        """Whether the sample holds all wanted rows."""
        return self.seen <= self.most

    def rows(self, most: float = math.inf) -> tuple[Any, ...]:
        """Return rows in their order, their numbers among all rows, and the arrays beside.

        At most `most` rows are those of a smaller sample with the same seed.
        """
        self._shrink()
        rows, keys, *rest = (joined(list(pieces)) for pieces in zip(*self._parts, strict=True))
        if len(keys) > most:
            chosen = keys < np.partition(keys, int(most))[int(most)]
            rows, *rest = _chosen([rows, *rest], chosen)
        return rows, *rest


def _chosen(part: list[Any], mask: Array) -> list[Any]:
    """Return copies, as a view would keep the whole block; or the block if all is chosen."""
    if mask.all():
        return part
    index = np.flatnonzero(mask)
    return [each[index] for each in part]


def joined(parts: list[Any]) -> Any:
    """Return the rows of arrays, frames or CSR matrices one below the other."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    if is_frame(parts[0]):
        import polars as pl

        return pl.concat(parts)
    width = max(part.shape[1] for part in parts)
    return sparse.vstack([widened(part, width) for part in parts], format="csr")


def widened(X: Any, width: int) -> Any:
    """Return CSR rows with zero columns appended."""
    return sparse.csr_matrix((X.data, X.indices, X.indptr), (X.shape[0], width))


class Moments:
    """Count, mean, variance (divided by the count) and range of numeric columns.

    >>> found = Moments(1)
    >>> for block in ([[1.0], [2.0]], [[np.nan], [6.0]]):
    ...     found.see(np.array(block))
    >>> found.count.tolist(), found.mean.tolist(), found.variance.round(9).tolist()
    ([3.0], [3.0], [4.666666667])
    """

    _ARRAYS = ("count", "mean", "variance", "low", "high")

    def __init__(self, width: int = 0) -> None:
        self.rows = 0
        #: Stored numbers that are not zero.
        self.nonzero = 0
        self.count, self.mean, self.variance = np.zeros((3, width))
        self.low, self.high = np.full(width, np.inf), np.full(width, -np.inf)

    def see(self, X: Any) -> None:
        """Add rows: an array in which NaN is missing, or CSR rows, which may become wider."""
        from sklearn.utils.sparsefuncs import incr_mean_variance_axis, min_max_axis

        from pegasos.sklearn_private import incremental_mean_and_var

        if not X.shape[0]:
            return
        with np.errstate(all="ignore"):  # numbers near 1e300, columns without numbers
            if sparse.issparse(X):
                self._widen(X.shape[1])
                X = widened(X, len(self.count))
                self.nonzero += int(np.count_nonzero(X.data))
                mean, variance, count = incr_mean_variance_axis(
                    X, axis=0, last_mean=self.mean, last_var=self.variance, last_n=self.count
                )
                low, high = min_max_axis(X, axis=0, ignore_nan=True)
            else:
                mean, variance, count = incremental_mean_and_var(
                    X, self.mean, self.variance, self.count
                )
                low, high = np.fmin.reduce(X), np.fmax.reduce(X)
        empty = count == 0
        self.count, self.mean = count.astype(float), np.where(empty, 0, mean)
        self.variance = np.where(empty, 0, variance)
        self.low, self.high = np.fmin(self.low, low), np.fmax(self.high, high)
        self.rows += X.shape[0]

    def _widen(self, width: int) -> None:
        """Append columns that were zero in all rows so far."""
        more = max(0, width - len(self.count))
        ends = (0.0, 0.0) if self.rows else (np.inf, -np.inf)
        for name, value in zip(self._ARRAYS, (self.rows, 0.0, 0.0, *ends), strict=True):
            setattr(self, name, np.append(getattr(self, name), np.full(more, float(value))))


@dataclass
class LabelCounts:
    """Number of rows of each class, and the kinds of labels."""

    counts: Counter[str] = field(default_factory=Counter)
    kinds: set[str] = field(default_factory=set)

    def see(self, y: Array, file: str, most: float = MOST_LABELS) -> Array:
        """Count more labels and return their texts."""
        texts, places = distinct_texts(y)
        self.kinds.add(y.dtype.kind)
        for text, count in zip(texts, np.bincount(places).tolist(), strict=True):
            self.counts[text] += count
        if len(self.counts) > most:
            raise NotClasses(
                f"{file}: more than {most} different labels; "
                "use --label to name the column of classes."
            )
        return np.array(texts, dtype=str)[places]

    def check(self, rows: int, column: str) -> None:
        """Refuse labels that are no classes; `column` names file and column."""
        fractions = "f" in self.kinds and self.kinds <= {"f", "i"}
        check_classes(fractions, len(self.counts), rows, column)


@contextlib.contextmanager
def explaining_columns(sample: Sample, columns: list[Column]) -> Iterator[None]:
    """Add advice to errors that later rows of a column cause.

    The sample of a frame tells which columns may be the label.
    """
    try:
        yield
    except NotNumber as error:
        raise BadData(
            f"{error} Its first rows show numbers in this column; "
            f"if it holds categories, use --text {error.column}."
        ) from error
    except NotClasses as error:
        distinct = {}
        if sample.seen and is_frame(X := sample.rows()[0]):
            pairs = zip(columns, X.get_columns(), strict=True)
            distinct = {column.name: own.drop_nulls().n_unique() for column, own in pairs}
        raise NotClasses(f"{error}{plausible_labels(distinct, 1000)}") from None
