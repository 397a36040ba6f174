"""What a table looks like that does not fit into memory: one pass over its rows.

Counts, means, deviations and ends are exact. What a stream cannot tell (quartiles, outliers, correlations of many features) comes
from a sample of the rows, repeats and distinct words beyond the memory from a sample of hashes; notes say so.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from pegasos.engine.runtime.threads import single_threaded_blas
from pegasos.program.large.sample import Sample
from pegasos.program.large.survey import (
    LabelCounts,
    Numbers,
    are_pixels,
    naming_labels,
    telling_of_words,
)
from pegasos.program.tables.dataset import TEXT, BadData, Column, Dataset
from pegasos.program.tables.description import Description, Feature, advise
from pegasos.program.tables.labels import label_texts, unlabelled_note
from pegasos.program.tables.leaks import leaks
from pegasos.program.tables.messages import listed, shown
from pegasos.program.tables.statistics import (
    QUARTILE_ROWS,
    PairSums,
    correlate,
    feature_and_row_hashes,
    is_binary,
    list_classes,
    strongest,
)

Array = np.ndarray[Any, Any]

#: Features up to which all rows are counted for correlations.
PAIRED_FEATURES = 100
#: Shares of the memory for the sample, of which twice as many rows are held, and for hashes of rows, which are sorted.
SAMPLE_SHARE, HASH_SHARE = 1 / 12, 1 / 6
_WORD_BYTES, HASH_BYTES = 32, 48
#: Distinct words that are counted one by one in each column.
COUNTED_WORDS = 50_000


class HashSample:
    """Hashes that are counted one by one as long as there are few; then only those with k zeros at their end, of 2^k one.

    All rows with the same hash stay or go together: so a share of the distinct hashes is kept, with all their repeats.
    """

    def __init__(self, most: int) -> None:
        self.most, self.each = most, 1
        self._parts: list[Array] = []

    def add(self, hashes: Array, *beside: Array) -> None:
        """Some more hashes, each with others beside it."""
        self._parts.append(self._kept(np.column_stack([hashes, *beside])))
        while sum(map(len, self._parts)) > self.most:
            self.each *= 2
            self._parts = [self._kept(np.concatenate(self._parts))]

    def _kept(self, rows: Array) -> Array:
        return rows[rows[:, 0] % np.uint64(self.each) == 0] if self.each > 1 else rows

    def rows(self) -> Array:
        return np.concatenate(self._parts)


class Words(HashSample):
    """How many different words a column holds."""

    def see(self, series: Any) -> None:
        parts, self._parts = self._parts, []
        self.add(
            np.unique(
                np.concatenate(
                    [
                        *(part[:, 0] for part in parts),
                        series.drop_nulls().unique().hash(seed=0).to_numpy(),
                    ]
                )
            )
        )

    @property
    def distinct(self) -> int:
        return self.each * len(self.rows())


class Stream:
    """A description in the making."""

    def __init__(self, columns: list[Column], budget: int, seed: int = 0) -> None:
        width = sum(_WORD_BYTES if column.kind == TEXT else 8 for column in columns)
        self.columns = columns
        self.sample = Sample(seed, min(QUARTILE_ROWS, max(100, int(SAMPLE_SHARE * budget / width))))
        self.hashes = HashSample(max(1000, int(HASH_SHARE * budget / HASH_BYTES)))
        self.numbers = {column.name: Numbers() for column in columns if column.kind != TEXT}
        self.words = {
            column.name: Words(COUNTED_WORDS) for column in columns if column.kind == TEXT
        }
        self.missing: Counter[str] = Counter()
        self.labels = LabelCounts()
        self.rows = self.rows_with_missing = self.unlabelled = 0
        self.pairs = (
            PairSums(len(self.numbers)) if 2 <= len(self.numbers) <= PAIRED_FEATURES else None
        )
        self._shift: tuple[Array, Array] | None = None

    def see(self, part: Dataset) -> None:
        """Some more rows, as a frame."""
        gaps = np.zeros(len(part), bool)
        values = []
        for column, series in zip(self.columns, part.X.get_columns(), strict=True):
            if count := series.null_count():
                self.missing[column.name] += count
                gaps |= series.is_null().to_numpy()
            if column.kind == TEXT:
                self.words[column.name].see(series)
            else:
                values.append(series.to_numpy().astype(np.float64))  # null becomes NaN
                self.numbers[column.name].see(values[-1][~np.isnan(values[-1])])
        if self.pairs is not None:
            self._pair(np.column_stack(values))
        self.rows += len(part)
        self.unlabelled += part.unlabelled
        self.rows_with_missing += int(gaps.sum())
        self.hashes.add(*feature_and_row_hashes(part))
        labels = [] if part.y is None else [label_texts(part.y)]
        self.sample.see(part.X, None, *labels)
        if part.y is not None:
            self.labels.see(part.labels, part.name)

    def distinct(self) -> dict[str, int]:
        """How many values each column has in the sample."""
        rows, *_ = self.sample.rows()
        return {column.name: rows[column.name].drop_nulls().n_unique() for column in self.columns}

    def _pair(self, values: Array) -> None:
        """Sums of products are of rows that the means and deviations of the first part bring to about 0 and 1."""
        assert self.pairs is not None
        if self._shift is None:
            found = list(self.numbers.values())
            deviations = [math.sqrt(each.squares / max(1, each.present)) for each in found]
            self._shift = (
                np.array([each.mean for each in found]),
                np.array([each or 1.0 for each in deviations]),
            )
        self.pairs.add((values - self._shift[0]) / self._shift[1])

    def description(self, name: str, outlier: float) -> Description:
        words = len(self.words)
        kinds = f"{len(self.numbers)} columns of numbers, {words} of words"
        dtype = kinds if words or self.missing else "float64"
        found = Description(
            name, self.rows, len(self.columns), dtype, False, outlier=float(outlier)
        )
        if self.labels.counts:
            list_classes(found, self.labels.counts)
        rows, _, *labels = self.sample.rows()
        odd = np.zeros(rows.height, bool)
        for column in self.columns:
            found.columns.append(self._feature(column, rows, outlier, odd))
        # a gap beside one word tells something
        found.constant = [
            each.name
            for each in found.columns
            if (
                each.distinct == 1 and not each.missing
                if each.kind == TEXT
                else each.min == each.max
            )
        ]
        found.missing, found.rows_with_missing = self.missing.total(), self.rows_with_missing
        found.outlier_rows = round(odd.mean() * self.rows)
        if not self.sample.whole:
            found.notes.append(
                f"Quartiles and outliers are estimated from a sample of {rows.height} of {self.rows} rows."
            )
        self._correlate(found, rows)
        count_repeats(found, self.hashes)
        if many := [name for name, words in self.words.items() if words.each > 1]:
            found.notes.append(
                f"How many different words there are is estimated for {listed(many)}."
            )
        pixels = not words and not self.missing and are_pixels(list(self.numbers.values()))
        found.advice = list(advise(found, False, pixels))
        for texts in labels:
            found.advice += (f"Leak: {each}." for each in leaks(rows, self.columns, texts))
        return found

    def _feature(self, column: Column, rows: Any, outlier: float, odd: Array) -> Feature:
        """One column; `odd` learns which rows of the sample have an outlier."""
        missing = self.missing[column.name]
        if column.kind == TEXT:
            return Feature(column.name, TEXT, missing, distinct=self.words[column.name].distinct)
        own = self.numbers[column.name]
        if not own.present:
            return Feature(column.name, column.kind, missing)
        std = math.sqrt(own.squares / own.present) if own.low < own.high else 0.0
        mean = own.mean if own.low < own.high else own.low
        found = Feature(
            column.name, column.kind, missing, mean=mean, std=std, min=own.low, max=own.high
        )
        values = rows[column.name].to_numpy().astype(np.float64)
        there = ~np.isnan(values)
        if there.any():
            found.quartile1, found.median, found.quartile3 = np.quantile(
                values[there], [0.25, 0.5, 0.75]
            ).tolist()
        flags = (
            there & (np.abs(values - mean) >= outlier * std)
            if std > 0 and not is_binary(values[there], own.low, own.high)
            else np.zeros(len(values), bool)
        )
        odd |= flags
        found.outliers = round(flags.mean() * self.rows)
        return found

    def _correlate(self, found: Description, rows: Any) -> None:
        if self.pairs is not None:
            found.correlations = strongest(self.pairs, list(self.numbers))
        elif len(self.numbers) > 1:
            with single_threaded_blas():
                correlate(found, rows)
            if not self.sample.whole:
                found.notes.append(
                    f"Correlations of so many features come from the same sample of {rows.height} rows."
                )


def count_repeats(found: Description, sample: HashSample) -> None:
    """Rows that repeat others, from hashes of their features and of their features with the label."""
    hashes = sample.rows()
    alone, together = (len(np.unique(hashes[:, place])) for place in (0, 1))
    found.duplicates = sample.each * (len(hashes) - together)
    found.contradictions = sample.each * (together - alone)
    if sample.each > 1:
        share = f"one in {sample.each} of the hashes of rows"
        found.notes.append(
            f"Repeats are estimated from {share}: memory has no room for all of them."
        )


def describe_stream(
    name: str,
    columns: list[Column],
    parts: Iterable[Dataset],
    label: str | None,
    outlier: float,
    budget: int,
) -> Description:
    """Describe rows that come by once; `parts` are frames with exactly these columns, and labels if there is a name for them."""
    found = Stream(columns, budget)
    with telling_of_words(), naming_labels(found.distinct), single_threaded_blas():
        for part in parts:
            found.see(part)
    if not found.rows:
        raise BadData(f"{name} has no rows.")
    described = found.description(name, outlier)
    if label is not None:
        whole = found.rows + found.unlabelled
        described.notes[:0] = unlabelled_note(found.unlabelled, whole, label, name, False)
        with naming_labels(found.distinct):
            found.labels.check(found.rows, f"{name}: column {shown(label)}")
    return described
