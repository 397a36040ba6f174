"""Reading of the columns of a table that fits in memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from pegasos.program.tables.cell_values import as_numbers
from pegasos.program.tables.column_roles import Roles
from pegasos.program.tables.columns import Columns
from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import listed, shown
from pegasos.program.tables.table import BLOCK_BYTES, Block, Table

#: Text columns with this share of numbers are refused as columns of numbers with typing errors.
_MOSTLY = 0.95
#: Columns of text whose first rows are mostly no numbers are not searched for numbers.
_FIRST_ROWS = 2000


def read_columns(
    table: Table, roles: Roles, limit: int, blocks: Iterable[Block] | None = None
) -> Columns:
    """Read the columns that are used.

    Parameters
    ----------
    table : Table
        The table.
    roles : Roles
        Roles of its columns.
    limit : int
        Maximum number of bytes of their values.
    blocks : iterable of Block, optional
        Blocks to read; all by default.
    """
    if blocks is None:
        amount = limit if table.first.width else BLOCK_BYTES
        blocks = table.blocks(roles.needed, amount, limit)
    if table.first.typed:
        columns: dict[int, Any] = {place: _Column() for place in roles.needed}
    else:
        as_text = {*roles.text, roles.label}  # labels stay text until all of them are known
        columns = {place: _TextColumn(place in as_text) for place in roles.needed}
    arrays, tests, used = [], [], 0
    for block in blocks:
        for place, column in columns.items():
            used += column.add(block, str(place), table.names[place])
        if block.array is not None:
            arrays.append(block.array)
            used += array_bytes(block.array)
        if block.test is not None:
            tests.append(np.full(len(block), block.test))
        if used > limit:
            raise table.too_large(limit)
    notes = list(table.first.notes)
    if not table.first.typed:
        notes += _finish_text(table, roles, columns)
    found = {place: column.values() for place, column in columns.items()}
    test = np.concatenate(tests) if tests else None
    array = _stacked(arrays) if arrays else None
    return Columns(table.name, table.names, found, table.where, table.commas, test, array, notes)


def array_bytes(array: Any) -> int:
    """Return the bytes of an array or a CSR matrix, 0 for None."""
    if sparse.issparse(array):
        return int(array.data.nbytes + array.indices.nbytes + array.indptr.nbytes)
    return 0 if array is None else int(array.nbytes)


def _stacked(arrays: list[Any]) -> Any:
    if not any(sparse.issparse(each) for each in arrays):
        return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
    width = max(each.shape[1] for each in arrays)
    for each in arrays:
        each.resize(each.shape[0], width)
    return sparse.vstack(arrays, "csr")


class _Column:
    """Column being read, of files that know its type; where it is empty it may have any."""

    def __init__(self, is_text: bool | None = None) -> None:
        self.parts: list[pl.Series] = []
        self.is_text = is_text

    def add(self, block: Block, key: str, name: str) -> int:
        """Add the rows of a block, and return their bytes."""
        series = block.frame[key]
        if series.null_count() < len(series):
            is_text = series.dtype == pl.String
            if self.is_text not in (None, is_text):
                here, there = ("words", "numbers") if is_text else ("numbers", "words")
                what = f"column {shown(name)} holds {here}, and {there} in files before"
                todo = f"write it as one of them in all files, or leave it out with --drop {name}"
                raise BadData(f"{block.file}: {what}; {todo}.")
            self.is_text = is_text
        return self._append(series)

    def _append(self, part: pl.Series) -> int:
        self.parts.append(part)
        return int(part.estimated_size())

    def values(self) -> pl.Series:
        """Return all values in a common type."""
        if len({part.dtype for part in self.parts}) > 1:
            dtype = pl.String if self.is_text else pl.Float64
            self.parts = [part.cast(dtype) for part in self.parts]
        return pl.concat(self.parts) if self.parts else pl.Series(dtype=pl.Float64)


class _TextColumn(_Column):
    """Column of text files, numeric until its first text."""

    def __init__(self, is_text: bool) -> None:
        super().__init__(is_text)
        self.is_guessed = not is_text
        #: Number of parts read as numbers before the first text.
        self.numeric = 0
        #: Whether there are numbers with decimal commas, and amounts.
        self.commas = self.amounts = False

    def add(self, block: Block, key: str, name: str) -> int:
        """Add the rows of a block, as numbers if all are."""
        series = block.frame[key]
        if not self.is_text:
            found = as_numbers(series, block.commas)
            if not len(found.wrong):
                self.commas |= found.commas
                self.amounts |= found.amounts
                return self._append(found.values)
            self.is_text, self.numeric = True, len(self.parts)
        return self._append(series)

    def check(self, table: Table, name: str) -> None:
        """Refuse numbers with a few texts among them."""
        words = self.values()
        first = words.head(_FIRST_ROWS)
        if 2 * len(as_numbers(first, table.commas).wrong) > len(first):
            return
        found = as_numbers(words, table.commas)
        numbers = len(words) - found.values.null_count()
        total = numbers + len(found.wrong)
        if numbers >= max(20, _MOSTLY * total):
            row = int(found.wrong[0])
            raise BadData(
                f"{table.name}, {table.where(row)}, column {shown(name)}: {shown(words[row])} "
                f"is not a number, but {numbers} of {total} values there are. Correct it or leave "
                f"it empty; if these are categories, use --text {name}."
            )


def _finish_text(table: Table, roles: Roles, columns: dict[int, _TextColumn]) -> list[str]:
    """Read the beginning of columns again whose first text came late; check, return notes."""
    late = {place: column.numeric for place, column in columns.items() if column.numeric}
    again = table.blocks(list(late)) if late else iter(())
    for number, block in enumerate(itertools.islice(again, max(late.values(), default=0))):
        for place, numeric in late.items():
            if number < numeric:
                columns[place].parts[number] = block.frame[str(place)]
    for place, column in columns.items():
        if place in roles.features and column.is_guessed and column.is_text:
            column.check(table, table.names[place])
    numeric_columns = [(table.names[p], c) for p, c in columns.items() if not c.is_text]
    commas = [name for name, column in numeric_columns if column.commas]
    amounts = [name for name, column in numeric_columns if column.amounts]
    notes = [f"commas are read as decimal points in {listed(commas)}"] if commas else []
    if amounts:
        notes.append(f"amounts such as $1,234.50 or 12 % are read as numbers in {listed(amounts)}")
    return notes
