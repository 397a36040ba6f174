"""Statistics of a table that is fed block by block: moments of numeric columns, labels."""

from __future__ import annotations

import contextlib
import copy
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
    is_pixel_range,
)
from pegasos.program.tables.labels import check_classes, distinct_texts, plausible_labels
from pegasos.program.tables.sampling import Sample

#: Numbers that are worked on at once (2 MB).
_BLOCK = 2**18
#: Labels with more distinct values than this are not classes in any table.
MOST_LABELS = 10_000


def numeric_blocks(X: Any, columns: list[Column]) -> Iterator[tuple[slice, Any]]:
    """Yield some rows at a time with their numeric columns, as a float64 array or as CSR.

    NaN stands for a missing number.
    """
    if is_frame(X):
        kinds = zip(X.columns, columns, strict=True)
        X = X.select(name for name, column in kinds if column.kind != TEXT).cast(float)
    rows = X.shape[0]
    numbers = X.nnz if sparse.issparse(X) else math.prod(X.shape)
    step = max(1, rows * _BLOCK // max(1, numbers))
    for start in range(0, rows, step):
        span = slice(start, min(start + step, rows))
        part = X[span]
        if is_frame(part):
            part = part.to_numpy(order="c", writable=True)
        else:
            part = part.astype(np.float64)
        if sparse.issparse(part):
            part = sparse.csr_matrix(part)
            part.sum_duplicates()
        yield span, part


class Moments:
    """Count, mean, squared deviations and range of numeric columns.

    Blocks are merged by their own means and squared deviations, which loses no digits where the
    mean is large.

    References
    ----------
    Chan, Golub and LeVeque (1983), Algorithms for computing the sample variance.

    >>> found = Moments(1)
    >>> for block in ([[1.0], [2.0]], [[np.nan], [6.0]]):
    ...     found.see(np.array(block))
    >>> found.count.tolist(), found.mean.tolist(), found.variance.tolist(), found.high.tolist()
    ([3.0], [3.0], [4.666666666666667], [6.0])
    """

    _ARRAYS = ("count", "mean", "squares", "low", "high")

    def __init__(self, width: int = 0) -> None:
        self.rows = 0
        #: Stored numbers that are not zero.
        self.nonzero = 0
        self.count, self.mean, self.squares = np.zeros((3, width))
        self.low, self.high = np.full(width, np.inf), np.full(width, -np.inf)
        #: Whether all numbers of dense blocks are whole.
        self.whole = True

    def see(self, X: Any) -> None:
        """Add rows: an array in which NaN is missing, or CSR rows, which may become wider."""
        if not X.shape[0]:
            return
        with np.errstate(over="ignore", invalid="ignore"):  # numbers near 1e300
            if sparse.issparse(X):
                self._widen(X.shape[1])
                self._add(*self._of_sparse(X))
            else:
                self._add(*self._of_dense(X))
        self.rows += X.shape[0]

    def _of_dense(self, X: Array) -> tuple[Array, ...]:
        there = ~np.isnan(X)
        count, complete = there.sum(axis=0), there.all()
        filled = X if complete else np.where(there, X, 0.0)
        mean = filled.sum(axis=0) / np.maximum(count, 1)
        away = filled - mean if complete else np.where(there, filled - mean, 0.0)
        squares = np.square(away).sum(axis=0)
        self.whole = self.whole and bool((filled == np.rint(filled)).all())
        low, high = np.fmin.reduce(X, initial=np.inf), np.fmax.reduce(X, initial=-np.inf)
        return count, mean, squares, low, high

    def _of_sparse(self, X: Any) -> tuple[Array, ...]:
        rows, width = X.shape[0], len(self.count)
        there = ~np.isnan(X.data)
        values, places = X.data[there], X.indices[there]
        self.nonzero += int(np.count_nonzero(X.data))
        stored = np.bincount(places, minlength=width)
        count = rows - np.bincount(X.indices[~there], minlength=width)
        mean = np.bincount(places, values, minlength=width) / np.maximum(count, 1)
        squares = np.bincount(places, (values - mean[places]) ** 2, minlength=width)
        squares = squares + (count - stored) * mean * mean
        low, high = np.where(stored < count, [[0.0], [0.0]], [[np.inf], [-np.inf]])
        np.minimum.at(low, places, values)
        np.maximum.at(high, places, values)
        return count, mean, squares, low, high

    def _widen(self, width: int) -> None:
        """Append columns that were zero in all rows so far."""
        more = max(0, width - len(self.count))
        ends = (0.0, 0.0) if self.rows else (np.inf, -np.inf)
        for name, value in zip(self._ARRAYS, (self.rows, 0.0, 0.0, *ends), strict=True):
            setattr(self, name, np.append(getattr(self, name), np.full(more, float(value))))

    def _add(self, count: Array, mean: Array, squares: Array, low: Array, high: Array) -> None:
        total, away = self.count + count, mean - self.mean
        share = count / np.maximum(total, 1)
        self.squares = self.squares + squares + away * away * self.count * share
        self.mean = self.mean + away * share
        self.count = total
        self.low, self.high = np.minimum(self.low, low), np.maximum(self.high, high)

    def of(self, places: Array) -> Moments:
        """Return the moments of some columns."""
        found = copy.copy(self)
        for name in self._ARRAYS:
            setattr(found, name, getattr(self, name)[places])
        return found

    @property
    def variance(self) -> Array:
        """Squared deviations divided by the count."""
        return self.squares / np.maximum(self.count, 1)

    def are_pixels(self) -> bool:
        """Return whether columns without gaps are whole numbers in the range of pixels."""
        if not self.whole or not len(self.count) or (self.count < self.rows).any():
            return False
        return is_pixel_range(len(self.count), float(self.low.min()), float(self.high.max()))


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
    """Add the way out to errors that later rows of a column cause.

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
