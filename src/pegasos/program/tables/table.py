"""Tables of named columns: one file or several, read block by block."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from pegasos.program.tables.cell_values import as_numbers
from pegasos.program.tables.column_roles import Roles, find_roles, matched
from pegasos.program.tables.columns import Columns
from pegasos.program.tables.dataset import BadData, NoRows, TooLarge
from pegasos.program.tables.messages import listed, shown, size
from pegasos.program.tables.read_options import ReadOptions, Wanted
from pegasos.program.tables.shards import REMEDY, Shards, same_columns
from pegasos.program.tables.source import Source

#: Approximate bytes of a block.
BLOCK_BYTES = 8 * 2**20
#: Text columns with this share of numbers are refused as columns of numbers with typing errors.
_MOSTLY = 0.95
#: Columns of text whose first rows are mostly no numbers are not searched for numbers.
_FIRST_ROWS = 2000


@dataclass
class Block:
    """Rows of a file."""

    #: Columns named by position, "0", "1".
    frame: pl.DataFrame
    #: Returns the place of a row, such as "line 12".
    where: Callable[[int], str]
    #: Approximate share of the file, then of the table.
    share: float
    #: Whether text may have decimal commas.
    commas: bool = False
    #: Whether the rows are the file's own test part; None if it has none.
    test: bool | None = None
    #: Features of a file of arrays, as an array or a CSR matrix.
    array: Any = None
    file: str = ""

    def __len__(self) -> int:
        return self.frame.height if self.array is None else int(self.array.shape[0])


class TableFile(ABC):
    """One open file."""

    #: Names of the columns; "x1", "x2" if the file has none.
    names: list[str]
    header: bool
    notes: list[str]
    #: Whether columns have types; otherwise text may stand for numbers.
    typed = False
    #: Number of features that are not columns, but those of an array.
    width = 0
    #: Number of rows if known, to refuse a file before it is decompressed.
    rows: int | None = None

    def roles(self, options: ReadOptions, name: str) -> Roles:
        """Return the roles of the columns; `name` is that of the table."""
        return find_roles(self.names, options, name, self.header)

    def matched(self, wanted: Wanted, options: ReadOptions, name: str) -> Roles:
        """Return the columns of a model."""
        return matched(self.names, self.header, wanted, options, name)

    @abstractmethod
    def blocks(self, places: Sequence[int], amount: int) -> Iterator[Block]:
        """Yield the rows of some columns, about `amount` bytes at a time."""


class Table:
    """Table in one or several files; columns are numbered as in the first file with rows.

    Parameters
    ----------
    shards : Shards
        The files.
    open_file : callable
        Opens a file; its second argument are the names that a header probably contains.
    expected : sequence of str
        Such names for the first file.
    """

    def __init__(
        self,
        shards: Shards,
        open_file: Callable[[Source, Sequence[str]], TableFile],
        expected: Sequence[str] = (),
    ) -> None:
        self.name, self._shards, self._open = shards.name, shards, open_file
        self.first = next(self._files(expected))[1]
        self.names, self.header = self.first.names, self.first.header
        #: Whether text that was read may have decimal commas.
        self.commas = False

    def _files(self, expected: Sequence[str]) -> Iterator[tuple[Source, TableFile]]:
        """Yield the files one after the other, without those that hold no rows."""
        for source in self._shards.sources:
            if source.name not in self._shards.skipped:
                try:
                    found = self._open(source, expected)
                except NoRows as error:
                    self._shards.skip(source, error)
                else:
                    yield source, found

    def blocks(
        self, places: Sequence[int], amount: int = BLOCK_BYTES, limit: int | None = None
    ) -> Iterator[Block]:
        """Yield the rows of some columns; refuse files that declare more than `limit` bytes."""
        cells, first = 0, ""
        whole = sum(source.unpacked_bytes for source in self._shards.sources)
        for source, file in self._files(self.names if self.header else ()):
            first = first or source.name
            own = self._places(file, source.name, first)
            cells += (file.rows or 0) * (len(places) + file.width)
            if limit is not None and 4 * cells > limit:
                raise self._too_large(limit)
            empty, of = True, self._shards.of(source)
            for block in file.blocks([own[place] for place in places], amount):
                empty, self.commas = False, self.commas or block.commas
                block.frame.columns = [str(place) for place in places]
                block.share *= source.unpacked_bytes / whole
                block.file, block.where = source.name, _located(block.where, of)
                yield block
            if empty and len(self._shards.sources) > 1:
                self._shards.skip(source, NoRows(""))

    def _places(self, file: TableFile, name: str, first: str) -> list[int]:
        """Return the positions of the table's columns in a file."""
        if file.header != self.header:
            lacking, having = (name, first) if self.header else (first, name)
            raise BadData(
                f"{lacking} begins without the names of its columns, and {having} with them; "
                f"write them into all files of a table, or into none. {REMEDY}"
            )
        if file.width != self.first.width:
            widths = f"has {file.width} features, and {first} {self.first.width}"
            rule = "the files of one table have the same columns"
            raise BadData(f"{name} {widths}; {rule}. {REMEDY}")
        return same_columns(self.names, file.names, name, first)

    def where(self, row: int) -> str:
        """Return the place of a row for a message; the files are read again to find it."""
        for block in self.blocks([0] if self.names else []):
            if row < len(block):
                return block.where(row)
            row -= len(block)
        return "at the end"

    def _too_large(self, limit: int) -> TooLarge:
        more = f"takes more than {size(limit)} once read; give it more memory, or --drop columns"
        return TooLarge(f"{self.name} {more}.")

    def read(self, roles: Roles, limit: int, blocks: Iterable[Block] | None = None) -> Columns:
        """Read the columns that are used.

        A column of text files is numeric until its first text; then its beginning is read again.

        Parameters
        ----------
        roles : Roles
            Roles of the columns.
        limit : int
            Maximum number of bytes of their values.
        blocks : iterable of Block, optional
            Blocks to read; all by default.
        """
        typed, used = self.first.typed, 0
        as_text = {*roles.text, roles.label}  # labels stay text until all of them are known
        columns = {
            place: _Column(self.names[place], typed, place in as_text) for place in roles.needed
        }
        arrays, tests, has_test = [], [], False
        if blocks is None:
            amount = limit if self.first.width else BLOCK_BYTES
            blocks = self.blocks(roles.needed, amount, limit)
        for block in blocks:
            maybe = [str(place) for place, column in columns.items() if not column.is_text]
            numbers = None if typed else block.frame.select(maybe).cast(pl.Float64, strict=False)
            for place, column in columns.items():
                plain = None if numbers is None else numbers.get_column(str(place), default=None)
                column.add(block, block.frame[str(place)], plain)
                used += int(column.parts[-1].estimated_size())
            if block.array is not None:
                arrays.append(block.array)
                used += block.array.data.nbytes
            tests.append(np.full(len(block), bool(block.test)))
            has_test |= block.test is not None
            if used > limit:
                raise self._too_large(limit)
        late = {place: column.numeric for place, column in columns.items() if column.numeric}
        again = self.blocks(list(late)) if late else iter(())
        for number, block in enumerate(itertools.islice(again, max(late.values(), default=0))):
            for place, numeric in late.items():
                if number < numeric:
                    columns[place].parts[number] = block.frame[str(place)]
        for place, column in columns.items():
            column.check(self, place in roles.features and place not in as_text)
        found = {place: column.values() for place, column in columns.items()}
        test = np.concatenate(tests) if has_test else None
        notes = list(self.first.notes)
        commas = [column.name for column in columns.values() if column.commas]
        amounts = [column.name for column in columns.values() if column.amounts]
        if commas:
            notes.append(f"commas are read as decimal points in {listed(commas)}")
        if amounts:
            how = "amounts such as $1,234.50 or 12 % are read as numbers"
            notes.append(f"{how} in {listed(amounts)}")
        array = _stacked(arrays) if arrays else None
        return Columns(self.name, self.names, found, self.where, self.commas, test, array, notes)


def row_after(start: int, row: int) -> str:
    """Return the place of a row of a block that begins with row `start`."""
    return f"row {start + row + 1}"


def _stacked(arrays: list[Any]) -> Any:
    if len(arrays) == 1:
        return arrays[0]
    is_sparse = any(sparse.issparse(each) for each in arrays)
    return sparse.vstack(arrays, "csr") if is_sparse else np.concatenate(arrays)


def _located(where: Callable[[int], str], of: str) -> Callable[[int], str]:
    return lambda row: where(row) + of


@dataclass
class _Column:
    """Column being read."""

    name: str
    typed: bool
    is_text: bool
    parts: list[pl.Series] = field(default_factory=list)
    #: Number of parts read as numbers before the first text.
    numeric: int = 0
    #: Whether there are numbers with decimal commas, and amounts.
    commas: bool = False
    amounts: bool = False
    #: Place and text of the first infinite number.
    infinite: tuple[str, str] | None = None
    #: Whether the values of typed files are text, and the file that says so.
    kind: tuple[bool, str] | None = None

    def add(self, block: Block, series: pl.Series, numbers: pl.Series | None) -> None:
        """Add rows; `numbers` are the plain numbers among them, if they may be numeric."""
        if self.typed:
            self._check_kind(series, block.file)
        elif not self.is_text:
            found = as_numbers(series, block.commas, numbers)
            if not len(found.wrong):
                self.commas |= found.commas
                self.amounts |= found.amounts
                if len(found.infinite) and self.infinite is None:
                    row = int(found.infinite[0])
                    self.infinite = block.where(row), series[row]
                self.parts.append(found.values)
                return
            self.is_text, self.numeric = True, len(self.parts)
            self.commas = self.amounts = False
        self.parts.append(series)

    def _check_kind(self, series: pl.Series, file: str) -> None:
        """Refuse a column that is text in one file and numbers in another; empty ones are both."""
        if series.null_count() == len(series):
            return
        kind = series.dtype == pl.String
        self.kind = self.kind or (kind, file)
        if kind != self.kind[0]:
            here, there = ("words", "numbers") if kind else ("numbers", "words")
            raise BadData(
                f"{file}: column {shown(self.name)} holds {here}, and {there} in {self.kind[1]}; "
                f"write it as one of them in all files, or leave it out with --drop {self.name}."
            )

    def check(self, table: Table, is_guessed: bool) -> None:
        """Refuse infinite numbers, and columns of numbers with a few texts."""
        if self.typed:
            return
        if not self.is_text:
            if self.infinite is not None:
                line, word = self.infinite
                where = f"{table.name}, {line}, column {shown(self.name)}"
                raise BadData(f"{where}: {shown(word)} is not a finite number.")
        elif is_guessed:
            self._check_texts(table)

    def _check_texts(self, table: Table) -> None:
        words = pl.concat(self.parts)
        first = words.head(_FIRST_ROWS)
        if 2 * len(as_numbers(first, table.commas).wrong) > len(first):
            return
        found = as_numbers(words, table.commas)
        numbers = len(words) - found.values.null_count()
        total = numbers + len(found.wrong)
        if numbers >= max(20, _MOSTLY * total):
            row = int(found.wrong[0])
            raise BadData(
                f"{table.name}, {table.where(row)}, column {shown(self.name)}: {shown(words[row])} "
                f"is not a number, but {numbers} of {total} values there are. Correct it or leave "
                f"it empty; if these are categories, use --text {self.name}."
            )

    def values(self) -> pl.Series:
        """Return all values."""
        if not self.parts:
            return pl.Series(dtype=pl.Float64)
        if not self.typed:
            return pl.concat(self.parts)
        dtypes = {part.dtype for part in self.parts}
        text = self.kind is not None and self.kind[0]
        dtype = pl.String if text else dtypes.pop() if len(dtypes) == 1 else pl.Float64
        return pl.concat([part.cast(dtype) for part in self.parts])
