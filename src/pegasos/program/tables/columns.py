"""Columns that were read from a table, before they are features, labels, groups and weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from pegasos.program.tables.cell_values import as_numbers, as_words
from pegasos.program.tables.column_roles import Roles
from pegasos.program.tables.dataset import Array, BadData
from pegasos.program.tables.messages import shown


@dataclass
class Columns:
    """Columns that were read, by position: floats or strings, null where missing."""

    file: str
    names: list[str]
    columns: dict[int, pl.Series]
    where: Callable[[int], str]
    #: Whether text may have decimal commas.
    commas: bool = False
    #: Which rows are the file's own test part, if it has one.
    test: Array | None = None
    #: Features of a file of arrays.
    array: Any = None
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        if self.array is not None:
            return int(self.array.shape[0])
        return len(next(iter(self.columns.values()), ()))

    def bad(self, row: int, what: str) -> BadData:
        """Return an error about a row."""
        return BadData(f"{self.file}, {self.where(row)}{what}")

    def features(self, parts: Roles) -> list[pl.Series]:
        """Return the features, by their names."""
        return [self.columns[place].alias(self.names[place]) for place in parts.features]

    def settled(self, parts: Roles) -> Columns:
        """Return columns of text or of finite numbers, but labels as they are."""
        columns = {
            place: series if place == parts.label else self.settle(place, place in parts.text)
            for place, series in self.columns.items()
        }
        return replace(self, columns=columns)

    def settle(self, place: int, text: bool) -> pl.Series:
        """Return a column of text or of finite numbers, as text if `text`: 7, not 7.0."""
        series = self.columns[place]
        if series.dtype == pl.String:
            return as_words(series)
        numbers = self.finite(series, self.names[place])
        if not text:
            return numbers
        double = numbers.cast(pl.Float64)
        whole = ((double == double.round()) & (double.abs() < 2**53)).all()
        return (numbers.cast(pl.Int64) if whole else numbers).cast(pl.String)

    def finite(self, numbers: pl.Series, name: str) -> pl.Series:
        """Return numbers with NaN as missing; refuse infinite ones."""
        if numbers.dtype.is_integer():
            return numbers
        numbers = numbers.fill_nan(None)
        if len(infinite := numbers.is_infinite().arg_true()):
            raise self.bad(int(infinite[0]), f", column {shown(name)}: the number is infinite.")
        return numbers

    def full(self, series: pl.Series, missing: str) -> Array:
        """Return a column as an array; `missing` is the error for gaps."""
        if series.null_count():
            raise self.bad(int(series.is_null().arg_true()[0]), f": {missing}")
        if series.dtype == pl.String:
            return np.asarray(series.to_list(), dtype=str)
        return series.to_numpy()

    def labels(self, place: int) -> pl.Series:
        """Return labels as numbers if all are; as text if a float would round them."""
        series = self.columns[place]
        if series.dtype != pl.String:
            return self.finite(series, self.names[place])
        found = as_numbers(series, self.commas, amounts=False)
        rounded = (found.values.abs() >= 2**53) & found.values.is_finite()
        return as_words(series) if len(found.wrong) or rounded.any() else found.values

    def labelled(self, place: int) -> Columns:
        """Return the rows that have a label."""
        labels = self.labels(place)
        if not labels.null_count():
            return self
        kept = labels.is_not_null().arg_true()
        rows, where = kept.to_numpy(), self.where
        columns = {each: series.gather(kept) for each, series in self.columns.items()}
        found = replace(self, columns=columns, where=lambda row: where(int(rows[row])))
        found.test = None if self.test is None else self.test[rows]
        found.array = None if self.array is None else self.array[rows]
        return found
