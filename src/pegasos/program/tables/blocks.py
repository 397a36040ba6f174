"""Rows of a table as files give them, before they are features, labels, groups and weights."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from pegasos.program.tables.cells import as_numbers, as_words
from pegasos.program.tables.column_roles import Roles
from pegasos.program.tables.dataset import Array, BadData
from pegasos.program.tables.messages import plain, shown


@dataclass
class Block:
    """Rows of a table; all of them if the table is in memory."""

    #: Columns named by position, "0", "1": text or floats, null where missing.
    frame: pl.DataFrame
    #: Returns the place of a row, such as "line 12".
    where: Callable[[int], str]
    #: Approximate share of the file, then of the table.
    share: float = 1.0
    #: Whether text may have decimal commas.
    commas: bool = False
    #: Whether rows are the file's own test part; None if it has none.
    test: Array | None = None
    #: Features of a file of arrays, as an array or a CSR matrix.
    array: Any = None
    #: Names of the table, of the file and of all columns, for messages.
    table: str = ""
    file: str = ""
    names: Sequence[str] = ()

    def __len__(self) -> int:
        return self.frame.height if self.array is None else int(self.array.shape[0])

    def bad(self, row: int, what: str) -> BadData:
        """Return an error about a row."""
        return BadData(f"{self.table}, {self.where(row)}{what}")

    def column(self, place: int) -> pl.Series:
        """Return a column as it was read."""
        return self.frame[str(place)]

    def features(self, roles: Roles) -> list[pl.Series]:
        """Return the features of text or of finite numbers, by their names."""
        return [
            self.settle(place, place in roles.text).alias(self.names[place])
            for place in roles.features
        ]

    def settle(self, place: int, text: bool = False) -> pl.Series:
        """Return a column of text or of finite numbers, as text if `text`: 7, not 7.0."""
        series = self.column(place)
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
        series = self.column(place)
        if series.dtype != pl.String:
            return self.finite(series, self.names[place])
        found = as_numbers(series, self.commas, amounts=False)
        rounded = (found.values.abs() >= 2**53) & found.values.is_finite()
        return as_words(series) if len(found.wrong) or rounded.any() else found.values

    def labelled(self, place: int) -> Block:
        """Return the rows that have a label."""
        labels = self.labels(place)
        if not labels.null_count():
            return self
        rows, where = labels.is_not_null().arg_true().to_numpy(), self.where
        test, array = (None if each is None else each[rows] for each in (self.test, self.array))
        found = replace(self, frame=self.frame[rows], test=test, array=array)
        found.where = lambda row: where(int(rows[row]))
        return found


@contextlib.contextmanager
def decoding(name: str, decoder: str) -> Iterator[None]:
    """Report errors and panics of a decoder as a damaged file."""
    try:
        yield
    except (BadData, MemoryError, FileNotFoundError):
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        reason = plain(str(error).strip(), 300)
        what = f"is damaged: the {decoder} decoder stopped ({reason})"
        raise BadData(f"{name} {what}. Write it again.") from error


def row_after(start: int, row: int) -> str:
    """Return the location of a row of a block that begins with row `start`."""
    return f"row {start + row + 1}"
