"""What sparse rows look like that do not fit into memory: one pass, exact for counts, means, deviations and ends."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.program.large.description import (
    HASH_BYTES,
    HASH_SHARE,
    SAMPLE_SHARE,
    HashSample,
    count_repeats,
)
from pegasos.program.large.sample import Sample
from pegasos.program.large.survey import LabelCounts
from pegasos.program.tables.dataset import BadData, Column, Dataset
from pegasos.program.tables.description import Description, Feature, advise
from pegasos.program.tables.statistics import (
    QUARTILE_ROWS,
    describe,
    feature_and_row_hashes,
    list_classes,
)

Array = np.ndarray[Any, Any]

#: Bytes of a sparse row, about, before any was seen.
_ROW_BYTES = 1000


class SparseStream:
    """Of each column: numbers that are not zero, their sum, squares and ends; places are the indices in the file."""

    def __init__(self, budget: int) -> None:
        self.sample = Sample(
            0, min(QUARTILE_ROWS, max(100, int(SAMPLE_SHARE * budget / _ROW_BYTES)))
        )
        self.hashes = HashSample(max(1000, int(HASH_SHARE * budget / HASH_BYTES)))
        self.labels = LabelCounts()
        self.rows, self.lowest = 0, 1
        self.nonzero, self.sums, self.squares = np.zeros((3, 0))
        self.low, self.high = np.zeros((2, 0))

    def see(self, part: Dataset) -> None:
        """Some more rows, as wide as their largest index."""
        X, width = part.X, part.X.shape[1]
        more = max(0, width - len(self.sums))
        self.nonzero, self.sums, self.squares = (
            np.append(each, np.zeros(more)) for each in (self.nonzero, self.sums, self.squares)
        )
        self.low, self.high = (
            np.append(self.low, np.full(more, np.inf)),
            np.append(self.high, np.full(more, -np.inf)),
        )
        for total, values in (
            (self.nonzero, X.data != 0),
            (self.sums, X.data),
            (self.squares, X.data**2),
        ):
            total[:width] += np.bincount(X.indices, values, minlength=width)
        np.minimum.at(self.low, X.indices, X.data)
        np.maximum.at(self.high, X.indices, X.data)
        if X.nnz:
            self.lowest = min(self.lowest, int(X.indices.min()))
        self.rows += len(part)
        self.labels.see(part.labels, part.name)
        self.hashes.add(*feature_and_row_hashes(part))
        self.sample.see(X)

    def description(self, name: str, outlier: float) -> Description:
        """The sample's description, with what is known of all rows in its place."""
        X, _ = self.sample.rows()
        X = sparse.csr_matrix((X.data, X.indices, X.indptr), (X.shape[0], len(self.sums)))[
            :, self.lowest :
        ]
        columns = [Column(f"x{place}") for place in range(self.lowest, len(self.sums))]
        found = describe(Dataset(name, X, columns), outlier)
        seen, found.rows = found.rows, self.rows
        found.density = float(self.nonzero.sum() / (self.rows * len(columns)))
        found.columns = [
            self._feature(each, place) for place, each in enumerate(found.columns, self.lowest)
        ]
        found.constant = [each.name for each in found.columns if each.min == each.max]
        found.outlier_rows = round(found.outlier_rows / seen * self.rows)
        for each in found.columns:
            each.outliers = round(each.outliers / seen * self.rows)
        list_classes(found, self.labels.counts)
        if not self.sample.whole:
            found.notes.append(
                f"Quartiles, outliers and correlations are estimated from a sample of {seen} of {self.rows} rows."
            )
        count_repeats(found, self.hashes)
        found.advice = list(advise(found, False))
        return found

    def _feature(self, sampled: Feature, place: int) -> Feature:
        mean = self.sums[place] / self.rows
        low, high = float(self.low[place]), float(self.high[place])
        if self.nonzero[place] < self.rows:  # all others are zero
            low, high = min(low, 0.0), max(high, 0.0)
        std = (
            math.sqrt(max(0.0, self.squares[place] / self.rows - mean * mean))
            if low < high
            else 0.0
        )
        return replace(sampled, mean=float(mean) if low < high else low, std=std, min=low, max=high)


def describe_sparse_stream(
    name: str, parts: Iterable[Dataset], outlier: float, budget: int
) -> Description:
    """Describe sparse rows that come by once."""
    found = SparseStream(budget)
    for part in parts:
        found.see(part)
    if not found.rows or len(found.sums) <= found.lowest:
        raise BadData(f"{name} has no rows, or none with a pair index:value.")
    found.labels.check(found.rows, f"{name}: the label")
    return found.description(name, outlier)
