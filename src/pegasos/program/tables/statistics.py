"""Describe a table before anything is learned from it: statistics, classes, correlations, repeats.

Rows are fed in blocks; a table in memory is one block. Counts, moments and ranges are exact.
Quartiles, outliers and correlations come from a sample of the rows, repeats from a sample of their
hashes: with a memory limit each holds as much as its share allows, without one it holds all rows,
and the result is exact. Notes say what is estimated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.engine.runtime.threads import single_threaded_blas
from pegasos.program.tables.accumulators import (
    MOST_LABELS,
    LabelCounts,
    Moments,
    Sample,
    explaining_columns,
    rows_within,
    widened,
)
from pegasos.program.tables.dataset import (
    TEXT,
    Array,
    BadData,
    Column,
    Dataset,
    holds_pixels,
    is_frame,
)
from pegasos.program.tables.description import Description, Feature, advise, leaks
from pegasos.program.tables.labels import unlabelled_note
from pegasos.program.tables.messages import listed, shown
from pegasos.program.tables.row_hashes import hash_rows
from pegasos.program.tables.sample_statistics import correlate, measure_columns

#: Rows are worked on in blocks of about this many numbers (2 MB).
BLOCK = 2**18
#: Classes that are listed one by one.
MOST_CLASSES = 1000
#: Shares of a memory limit for the sample, of which twice as many rows are held, and for hashes.
_SAMPLE_SHARE, _HASH_SHARE, _HASH_BYTES = 1 / 12, 1 / 6, 48
#: Rows of a sample, and distinct words of a column that are counted one by one.
SAMPLE_ROWS, COUNTED_WORDS = 1_000_000, 50_000


def describe(dataset: Dataset, outlier: float = 3.0) -> Description:
    """Describe a data set in memory; all numbers are exact, in float64.

    Only correlations in more than 16 million numbers come from a sample.

    >>> found = describe(Dataset("two", np.array([[0.0, 5.0], [2.0, 5.0]]), [], np.array([1, 1])))
    >>> found.columns[0].mean, found.columns[0].std, found.constant, found.baseline_error
    (1.0, 1.0, ['x2'], 0.0)
    """
    columns = dataset.columns or [Column(f"x{j + 1}") for j in range(dataset.X.shape[1])]
    is_image = dataset.image is not None
    return describe_blocks(dataset.name, [dataset], columns, None, outlier, image=is_image)


def describe_blocks(
    name: str,
    blocks: Iterable[Dataset],
    columns: list[Column],
    label: str | None = None,
    outlier: float = 3.0,
    memory: float | None = None,
    image: bool = False,
) -> Description:
    """Describe a table of which every row is seen once.

    Parameters
    ----------
    name : of the table.
    blocks : frames, arrays or CSR matrices of rows, with labels if `label` is given.
    columns : of each block; none for sparse rows, which are as wide as their largest index.
    label : name of the label, if it is to be checked.
    outlier : smallest |z| of an outlier.
    memory : bytes that samples may take; None: all rows are kept.
    image : whether rows are images.
    """
    if not outlier > 0:
        raise ValueError(
            f"outlier must be a positive number of standard deviations, got {outlier!r}."
        )
    describer = Describer(columns, memory)
    explaining = explaining_columns(describer.sample, columns)
    with explaining, single_threaded_blas():  # narrow products gain no threads
        for block in blocks:
            describer.see(block)
        if not describer.rows or not len(describer.moments.count) + len(describer.words):
            raise BadData(f"{name} has no rows" + (", or none with a number." * (not columns)))
        found = describer.description(name, float(outlier), image)
        if label is not None:
            count, whole = describer.unlabelled, describer.rows + describer.unlabelled
            found.notes[:0] = unlabelled_note(count, whole, label, name, False)
            describer.labels.check(describer.rows, f"{name}: column {shown(label)}")
    return found


class Describer:
    """Accumulator of the statistics of a table that is read in blocks."""

    def __init__(self, columns: list[Column], memory: float | None = None) -> None:
        rows = self._most_hashes = self._most_words = self._most_labels = math.inf
        if memory is not None:
            rows = min(SAMPLE_ROWS, rows_within(_SAMPLE_SHARE * memory, columns))
            self._most_hashes = max(1000, _HASH_SHARE * memory / _HASH_BYTES)
            self._most_words, self._most_labels = COUNTED_WORDS, MOST_LABELS
        self.columns, self.sample = columns, Sample(0, rows)
        #: Hashes of rows without and with their label, of those that `every` divides: equal rows
        #: stay or go together.
        self.hashes, self.every = [np.zeros((0, 2), np.uint64)], np.uint64(1)
        texts = [place for place, column in enumerate(columns) if column.kind == TEXT]
        #: Hashes of the distinct words of each text column.
        self.words = {place: np.empty(0, np.uint64) for place in texts}
        self._word_gaps = dict.fromkeys(texts, 0)
        self.moments, self.labels = Moments(len(columns) - len(texts)), LabelCounts()
        self.rows = self.rows_with_missing = self.unlabelled = self.infinite = 0
        #: Least index of a sparse column, at most 1.
        self._lowest = 1

    def see(self, block: Dataset) -> None:
        """Add a block of rows to the statistics."""
        X, gaps = block.X, np.zeros(len(block), bool)
        for place, words in self.words.items():
            series = X.to_series(place)
            self._word_gaps[place] += series.null_count()
            gaps |= series.is_null().to_numpy()
            if len(words) < self._most_words:
                more = series.drop_nulls().unique().hash(seed=0).to_numpy()
                self.words[place] = np.union1d(words, more)
        step = max(1, BLOCK // max(1, X.shape[1]))
        if sparse.issparse(X):
            step = max(1, BLOCK * len(block) // max(1, X.nnz))
        for start in range(0, len(block), step):
            self._see_numbers(X[start : start + step], gaps[start : start + step])
        self.rows += len(block)
        self.unlabelled += block.unlabelled
        self.rows_with_missing += int(gaps.sum())
        hashes, texts = hash_rows(X), []
        both = hashes
        if block.y is not None and len(block.y):
            texts = [self.labels.see(np.asarray(block.y), block.name, self._most_labels)]
            # Hashes are sums: the label's part is the hash of a row without features.
            both = hashes + hash_rows(np.empty((len(block), 0)), texts[0])
        self.hashes.append(np.column_stack([hashes, both])[hashes % self.every == 0])
        if sum(map(len, self.hashes)) > self._most_hashes:
            kept = np.concatenate(self.hashes)
            while len(kept) > self._most_hashes:
                self.every *= np.uint64(2)
                kept = kept[kept[:, 0] % self.every == 0]
            self.hashes = [kept]
        self.sample.see(X, None, *texts)

    def _see_numbers(self, X: Any, gaps: Array) -> None:
        """Add rows to the moments; mark rows with missing or infinite numbers in `gaps`."""
        if is_frame(X):
            numeric = [name for place, name in enumerate(X.columns) if place not in self.words]
            X = X.select(numeric).cast(float).to_numpy(order="c")
        X = X.astype(np.float64)
        if sparse.issparse(X):
            X = sparse.csr_matrix(X)
            X.sum_duplicates()
            self._lowest = min(self._lowest, int(X.indices.min(initial=1)))
        values = X.data if sparse.issparse(X) else X
        infinite = np.isinf(values)
        self.infinite += int(infinite.sum())
        values[infinite] = np.nan
        if sparse.issparse(X):
            gaps[np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[np.isnan(X.data)]] = True
        else:
            gaps |= np.isnan(X).any(axis=1)
        self.moments.see(X)

    def description(self, name: str, outlier: float, image: bool) -> Description:
        """Return the description of all rows so far."""
        X, _, *texts = self.sample.rows()
        columns, words = self.columns, len(self.words)
        if not columns:
            lowest, width = self._lowest, len(self.moments.count)
            columns = [Column(f"x{j}") for j in range(lowest, width)]
            X = widened(X, width)[:, lowest:]
        features = self._features(columns)
        missing = sum(each.missing for each in features)
        dtype = "float64" if is_frame(X) else str(X.dtype)
        if is_frame(X) and (words or missing):
            dtype = f"{len(columns) - words} columns of numbers, {words} of categories"
        found = Description(
            name,
            self.rows,
            len(columns),
            dtype,
            sparse.issparse(X),
            missing=missing,
            rows_with_missing=self.rows_with_missing,
            outlier=outlier,
            constant=[each.name for each in features if _is_constant(each)],
            columns=features,
        )
        if found.sparse:
            found.density = self.moments.nonzero / (self.rows * len(columns))
        self._list_classes(found)
        if self.infinite:
            found.notes.append(f"{self.infinite} infinite values are counted as missing.")
        measure_columns(found, X)
        if not self.sample.whole:
            rows = f"a sample of {X.shape[0]} of {self.rows} rows"
            found.notes.append(f"Quartiles and outliers are estimated from {rows}.")
        correlate(found, X)
        self._count_repeats(found)
        many = [place for place, each in self.words.items() if len(each) >= self._most_words]
        if many:
            names = listed(columns[place].name for place in many)
            found.notes.append(f"More than {COUNTED_WORDS} distinct words are in {names}.")
        pixels = not found.sparse and not words and not missing and holds_pixels(np.asarray(X))
        found.advice = list(advise(found, image, pixels))
        for each in texts:
            found.advice += (f"Leak: {leak}." for leak in leaks(X, columns, each))
        return found

    def _list_classes(self, found: Description) -> None:
        counts = self.labels.counts
        if not counts:
            return
        found.classes = counts.most_common(MOST_CLASSES)
        if len(counts) > MOST_CLASSES:
            listing = f"the {MOST_CLASSES} largest classes are listed"
            found.notes.append(f"{len(counts)} distinct labels; {listing}.")
        found.largest_share = found.classes[0][1] / counts.total()
        found.baseline_error = 1 - found.largest_share

    def _features(self, columns: list[Column]) -> list[Feature]:
        """Return the exact statistics of each column."""
        moments, found = self.moments, []
        numeric = iter(range(0 if self.columns else self._lowest, len(moments.count)))
        for place, column in enumerate(columns):
            if place in self.words:
                distinct, gaps = len(self.words[place]), self._word_gaps[place]
                found.append(Feature(column.name, TEXT, gaps, distinct=distinct))
                continue
            at = next(numeric)
            feature = Feature(column.name, column.kind, self.rows - int(moments.count[at]))
            if moments.count[at]:
                low, high = float(moments.low[at]), float(moments.high[at])
                # The mean of equal numbers may differ from them in the last digit.
                feature.mean = float(moments.mean[at]) if low < high else low
                feature.std = math.sqrt(moments.variance[at]) if low < high else 0.0
                feature.min, feature.max = low, high
            found.append(feature)
        return found

    def _count_repeats(self, found: Description) -> None:
        hashes, every = np.concatenate(self.hashes), int(self.every)
        # Sorting takes a hundredth of the time of np.unique, which hashes the hashes again.
        alone, together = (
            1 + int(np.count_nonzero(np.diff(np.sort(hashes[:, place])))) for place in (0, 1)
        )
        found.duplicates = every * (len(hashes) - together)
        found.contradictions = every * (together - alone)
        if every > 1:
            share = f"one in {every} of the hashes of rows"
            found.notes.append(
                f"Repeats are estimated from {share}: memory has no room for all of them."
            )


def _is_constant(feature: Feature) -> bool:
    if feature.distinct is not None:  # a gap beside one word is informative
        return feature.distinct + (feature.missing > 0) <= 1
    return feature.min == feature.max  # also without any value: None is None
