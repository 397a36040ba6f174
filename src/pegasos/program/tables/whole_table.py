"""Reading of a table that fits in memory as one block."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from pegasos.program.tables.accumulators import joined
from pegasos.program.tables.blocks import Block
from pegasos.program.tables.cells import as_numbers
from pegasos.program.tables.column_roles import Roles
from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import listed, shown
from pegasos.program.tables.table import Table

#: Text columns with this share of numbers are refused as columns of numbers with typing errors.
_MOSTLY = 0.95
#: Columns of text whose first rows are mostly no numbers are not searched for numbers.
_FIRST_ROWS = 2000


def read_rows(
    table: Table, roles: Roles, blocks: Iterable[Block] | None = None
) -> tuple[Block, list[str]]:
    """Return all rows, or those of some blocks, as one block, and notes.

    Text becomes numbers in columns in which all of it can; labels stay text until all are known.
    """
    blocks = table.blocks(roles.needed) if blocks is None else blocks
    as_text = {*roles.text, roles.label}
    columns = {
        place: _Column(table.names[place], table.first.typed, place in as_text)
        for place in roles.needed
    }
    arrays, tests, used, commas = [], [], 0, False
    for block in blocks:
        used += sum(column.add(block, place) for place, column in columns.items())
        commas |= block.commas
        if block.array is not None:
            arrays.append(block.array)
            used += array_bytes(block.array)
        if block.test is not None:
            tests.append(block.test)
        table.check_bytes(used)
    if late := [place for place, column in columns.items() if column.is_late]:
        again = [block.frame for block in table.blocks(late)]
        for place in late:
            columns[place].parts = [frame[str(place)] for frame in again]
    found = Block(
        pl.DataFrame({str(place): column.values() for place, column in columns.items()}),
        table.where,
        commas=commas,
        test=np.concatenate(tests) if tests else None,
        array=joined(arrays) if arrays else None,
        table=table.name,
        names=table.names,
    )
    for place in roles.features:
        if columns[place].is_guessed and columns[place].is_text:
            _check_words(found, place)
    notes, numeric = list(table.first.notes), [each for each in columns.values() if each.is_guessed]
    for names, words in (
        ([each.name for each in numeric if each.commas], "commas are read as decimal points in"),
        (
            [each.name for each in numeric if each.amounts],
            "amounts such as $1,234.50 or 12 % are read as numbers in",
        ),
    ):
        notes += [f"{words} {listed(names)}"] * bool(names)
    return found, notes


def array_bytes(array: Any) -> int:
    """Return the bytes of an array or a CSR matrix, 0 for None."""
    if sparse.issparse(array):
        return int(array.data.nbytes + array.indices.nbytes + array.indptr.nbytes)
    return 0 if array is None else int(array.nbytes)


class _Column:
    """Column being read.

    In a text file it is numeric until its first text; where it is empty it may have any type.
    """

    def __init__(self, name: str, typed: bool, is_text: bool) -> None:
        self.name, self.parts = name, list[pl.Series]()
        self.is_guessed = not typed and not is_text
        self.is_text = None if typed else is_text
        #: Whether text came after parts that were read as numbers.
        self.is_late = False
        #: Whether there are numbers with decimal commas, and amounts.
        self.commas = self.amounts = False

    def add(self, block: Block, place: int) -> int:
        """Add the rows of a block, and return their bytes."""
        series = block.column(place)
        if self.is_guessed and not self.is_text:
            found = as_numbers(series, block.commas)
            self.is_text = len(found.wrong) > 0
            if self.is_text:
                self.is_late, self.commas, self.amounts = len(self.parts) > 0, False, False
            else:
                series = found.values
                self.commas |= found.commas
                self.amounts |= found.amounts
        elif series.null_count() < len(series):
            is_text = series.dtype == pl.String
            if self.is_text not in (None, is_text):
                here, there = ("words", "numbers") if is_text else ("numbers", "words")
                what = f"column {shown(self.name)} holds {here}, and {there} in files before"
                todo = "write it as one of them in all files, or leave it out with"
                raise BadData(f"{block.file}: {what}; {todo} --drop {self.name}.")
            self.is_text = is_text
        self.parts.append(series)
        return int(series.estimated_size())

    def values(self) -> pl.Series:
        """Return all values in a common type."""
        if len({part.dtype for part in self.parts}) > 1:
            dtype = pl.String if self.is_text else pl.Float64
            self.parts = [part.cast(dtype) for part in self.parts]
        return pl.concat(self.parts) if self.parts else pl.Series(dtype=pl.Float64)


def _check_words(rows: Block, place: int) -> None:
    """Refuse a column of numbers with a few texts among them."""
    name, words = rows.names[place], rows.column(place)
    first = words.head(_FIRST_ROWS)
    if 2 * len(as_numbers(first, rows.commas).wrong) > len(first):
        return
    found = as_numbers(words, rows.commas)
    numbers = len(words) - found.values.null_count()
    total = numbers + len(found.wrong)
    if numbers >= max(20, _MOSTLY * total):
        row = int(found.wrong[0])
        what = f"{shown(words[row])} is not a number, but {numbers} of {total} values there are"
        todo = f"Correct it or leave it empty; if these are categories, use --text {name}"
        raise rows.bad(row, f", column {shown(name)}: {what}. {todo}.")
