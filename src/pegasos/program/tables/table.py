"""Tables of named columns: one file or several, read block by block."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from pegasos.program.tables.cells import as_numbers, as_words
from pegasos.program.tables.columns import Roles, find_roles, match_roles
from pegasos.program.tables.dataset import Array, BadData, Column, NoRows, ReadOptions, TooLarge
from pegasos.program.tables.messages import listed, plain, shown, size
from pegasos.program.tables.sources import REMEDY, Source, Sources

#: Approximate bytes of a block.
BLOCK_BYTES = 8 * 2**20


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
    #: Features of sparse rows, as a CSR matrix.
    sparse: Any = None
    #: Names of the table, of the file and of all columns, for messages.
    table: str = ""
    file: str = ""
    names: Sequence[str] = ()

    def __len__(self) -> int:
        return self.frame.height if self.sparse is None else int(self.sparse.shape[0])

    @property
    def sparse_bytes(self) -> int:
        """Bytes of the sparse features."""
        X = self.sparse
        return 0 if X is None else int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)

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
        """Replace NaN by null; raise BadData if a number is infinite."""
        if numbers.dtype.is_integer():
            return numbers
        numbers = numbers.fill_nan(None)
        if len(infinite := numbers.is_infinite().arg_true()):
            raise self.bad(int(infinite[0]), f", column {shown(name)}: the number is infinite.")
        return numbers

    def full(self, series: pl.Series, missing: str) -> Array:
        """Return a column as an array; `missing` is the error for missing values."""
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
        test, sparse = (None if each is None else each[rows] for each in (self.test, self.sparse))
        found = replace(self, frame=self.frame[rows], test=test, sparse=sparse)
        found.where = lambda row: where(int(rows[row]))
        return found


def as_array(X: pl.DataFrame) -> Any:
    """Return numbers without missing values as an array, else a frame of Float64 and String."""
    if any(each.dtype == pl.String or each.null_count() for each in X.get_columns()):
        return X.cast({pl.Float32: pl.Float64})
    return X.to_numpy(order="c", writable=True)


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


class TableFile(ABC):
    """One open file."""

    #: Names of the columns; "x1", "x2" if the file has none.
    names: list[str]
    header: bool
    notes: list[str]
    #: Whether columns have types; otherwise text may stand for numbers.
    typed = False
    #: Whether features come from an array, their number, and the shape of rows that are matrices.
    is_array = False
    width = 0
    image: tuple[int, int] | None = None
    #: Number of rows; None if all of them must be read to know it.
    rows: int | None = None

    def roles(self, options: ReadOptions, name: str) -> Roles:
        """Return the roles of the columns; `name` is that of the table."""
        return find_roles(self.names, options, name, self.header)

    def match_roles(self, columns: list[Column], options: ReadOptions, name: str) -> Roles:
        """Return the columns of a model."""
        return match_roles(self.names, self.header, columns, options, name)

    def close(self) -> None:  # noqa: B027 - only some formats keep a file open
        """Close the file."""

    @abstractmethod
    def blocks(self, places: Sequence[int], amount: int) -> Iterator[Block]:
        """Yield the rows of some columns, in this order, about `amount` bytes at a time."""


class Table:
    """Table in one or several files; columns are numbered as in the first file with rows.

    `open_file` is the function of the files' format, `expected` are names that a header probably
    contains. `limit` is the maximum number of bytes of the values of all rows; without it, rows are
    read in blocks.
    """

    def __init__(
        self,
        sources: Sources,
        open_file: Callable[..., TableFile],
        options: ReadOptions,
        expected: Sequence[str] = (),
        limit: int | None = None,
    ) -> None:
        self.name, self.sources, self.limit = sources.name, sources, limit
        self._open, self._options = open_file, options
        self.first = next(self._files(expected))[1]
        self.names, self.header = self.first.names, self.first.header

    def _files(self, expected: Sequence[str]) -> Iterator[tuple[Source, TableFile]]:
        """Yield the files one after the other, without those that hold no rows."""
        for source in self.sources.files:
            if source.name not in self.sources.skipped:
                try:
                    found = self._open(source, self._options, expected, self.limit)
                except NoRows as error:
                    self.sources.skip(source, error)
                else:
                    with contextlib.closing(found):
                        yield source, found

    def blocks(self, places: Sequence[int], amount: int = BLOCK_BYTES) -> Iterator[Block]:
        """Yield the rows of some columns; refuse files that declare more than the limit."""
        cells, first = 0, ""
        whole = sum(source.unpacked_bytes for source in self.sources.files)
        for source, file in self._files(self.names if self.header else ()):
            first = first or source.name
            own = self._places(file, source.name, first)
            cells += (file.rows or 0) * len(places)
            self.check_bytes(4 * cells)
            empty = True
            for block in file.blocks([own[place] for place in places], amount):
                empty = False
                block.frame.columns = [str(place) for place in places]
                block.share *= source.unpacked_bytes / whole
                block.table, block.file, block.names = self.name, source.name, self.names
                if not self.sources.is_single:
                    block.where = partial(_in_file, source.name, block.where)
                yield block
            if empty and len(self.sources.files) > 1:
                self.sources.skip(source, NoRows(""))

    def _places(self, file: TableFile, name: str, first: str) -> list[int]:
        """Return the positions of the table's columns in a file, which must have the same."""
        places = {each: place for place, each in enumerate(file.names)}
        lacking = [shown(each) for each in self.names if each not in places]
        more = [shown(each) for each in file.names if each not in {*self.names}]
        if file.header != self.header:
            differs = f"begins {'with' if file.header else 'without'} names of columns"
        elif file.width != self.first.width:
            differs = f"has {file.width} features, not {self.first.width}"
        elif lacking or more:
            pairs = (("lacks", lacking), ("also has", more))
            differs = " and ".join(f"{verb} {listed(those)}" for verb, those in pairs if those)
        else:
            return [places[each] for each in self.names]
        rule = "the files of one table have the same columns"
        raise BadData(f"{name} {differs}, unlike {first}: {rule}. {REMEDY}")

    def where(self, row: int) -> str:
        """Return the location of a row for a message; the files are read again to find it."""
        for block in self.blocks([0] if self.names else []):
            if row < len(block):
                return block.where(row)
            row -= len(block)
        return "at the end"

    def check_bytes(self, taken: int) -> None:
        """Refuse a table of more bytes than the limit."""
        if self.limit is not None and taken > self.limit:
            more = f"takes more than {size(self.limit)} once read"
            raise TooLarge(f"{self.name} {more}; give it more memory, or --drop columns.")


def _in_file(file: str, where: Callable[[int], str], row: int) -> str:
    return f"{where(row)} of {file}"
