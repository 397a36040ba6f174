"""Tables of named columns: one file or several, read block by block."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from pegasos.program.tables.blocks import Block
from pegasos.program.tables.column_roles import Roles, find_roles, match_roles
from pegasos.program.tables.dataset import (
    BadData,
    Column,
    NoRows,
    ReadOptions,
    TooLarge,
)
from pegasos.program.tables.messages import listed, shown, size
from pegasos.program.tables.sources import REMEDY, Source, Sources

#: Approximate bytes of a block.
BLOCK_BYTES = 8 * 2**20


class TableFile(ABC):
    """One open file."""

    #: Names of the columns; "x1", "x2" if the file has none.
    names: list[str]
    header: bool
    notes: list[str]
    #: Whether columns have types; otherwise text may stand for numbers.
    typed = False
    #: Whether features come from an array, and their number.
    is_array = False
    width = 0
    #: Number of rows; None if all of them must be read to know it.
    rows: int | None = None

    def roles(self, options: ReadOptions, name: str) -> Roles:
        """Return the roles of the columns; `name` is that of the table."""
        return find_roles(self.names, options, name, self.header)

    def match_roles(self, columns: list[Column], options: ReadOptions, name: str) -> Roles:
        """Return the columns of a model."""
        return match_roles(self.names, self.header, columns, options, name)

    def image_shape(self) -> tuple[int, int] | None:
        """Return the shape of a row if it is a matrix."""
        return None

    def close(self) -> None:  # noqa: B027 - only some formats keep a file open
        """Close the file."""

    @abstractmethod
    def blocks(self, places: Sequence[int], amount: int) -> Iterator[Block]:
        """Yield the rows of some columns, in this order, about `amount` bytes at a time."""


class Table:
    """Table in one or several files; columns are numbered as in the first file with rows.

    Parameters
    ----------
    sources : Sources
        The files.
    open_file : callable
        Opens a file: the function of its format.
    options : ReadOptions
        Options.
    expected : sequence of str
        Names that a header probably contains.
    limit : int, optional
        Maximum bytes of the values of all rows; without it, rows are read in blocks.
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
