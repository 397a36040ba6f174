"""Tables of named columns: one file or several, read block by block."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from pegasos.program.tables.column_roles import Roles, find_roles, matched
from pegasos.program.tables.dataset import BadData, NoRows, TooLarge
from pegasos.program.tables.messages import listed, plain, shown, size
from pegasos.program.tables.read_options import Opening, ReadOptions, Wanted
from pegasos.program.tables.shards import REMEDY, Shards
from pegasos.program.tables.source import Source

#: Approximate bytes of a block.
BLOCK_BYTES = 8 * 2**20


@dataclass
class Block:
    """Rows of a file."""

    #: Columns named by position, "0", "1".
    frame: pl.DataFrame
    #: Returns the place of a row in its file, such as "line 12".
    place: Callable[[int], str]
    #: Approximate share of the file, then of the table.
    share: float
    #: Whether text may have decimal commas.
    commas: bool = False
    #: Whether the rows are the file's own test part; None if it has none.
    test: bool | None = None
    #: Features of a file of arrays, as an array or a CSR matrix.
    array: Any = None
    #: Name of the file, and the words after the place of a row if there are several files.
    file: str = ""
    of: str = ""

    def __len__(self) -> int:
        return self.frame.height if self.array is None else int(self.array.shape[0])

    def where(self, row: int) -> str:
        """Return the location of a row, for messages."""
        return self.place(row) + self.of


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
    #: Whether these features are sparse.
    is_sparse = False
    #: Number of rows; None if all of them must be read to know it.
    rows: int | None = None

    def roles(self, options: ReadOptions, name: str) -> Roles:
        """Return the roles of the columns; `name` is that of the table."""
        return find_roles(self.names, options, name, self.header)

    def matched(self, wanted: Wanted, options: ReadOptions, name: str) -> Roles:
        """Return the columns of a model."""
        return matched(self.names, self.header, wanted, options, name)

    def close(self) -> None:  # noqa: B027 - only some formats keep a file open
        """Close the file."""

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
    how : Opening
        Options and purpose.
    """

    def __init__(
        self,
        shards: Shards,
        open_file: Callable[[Source, Sequence[str], Opening], TableFile],
        how: Opening,
    ) -> None:
        self.name, self._shards, self._open, self._how = shards.name, shards, open_file, how
        self.first = next(self._files(()))[1]
        self.names, self.header = self.first.names, self.first.header
        #: Whether text that was read may have decimal commas.
        self.commas = False

    def _files(self, expected: Sequence[str]) -> Iterator[tuple[Source, TableFile]]:
        """Yield the files one after the other, without those that hold no rows."""
        for source in self._shards.sources:
            if source.name not in self._shards.skipped:
                try:
                    found = self._open(source, expected, self._how)
                except NoRows as error:
                    self._shards.skip(source, error)
                else:
                    with contextlib.closing(found):
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
            cells += (file.rows or 0) * (len(places) + (0 if file.is_sparse else file.width))
            if limit is not None and 4 * cells > limit:
                raise self.too_large(limit)
            empty, of = True, self._shards.of(source)
            for block in file.blocks([own[place] for place in places], amount):
                empty, self.commas = False, self.commas or block.commas
                block.frame.columns = [str(place) for place in places]
                block.share *= source.unpacked_bytes / whole
                block.file, block.of = source.name, of
                yield block
            if empty and len(self._shards.sources) > 1:
                self._shards.skip(source, NoRows(""))

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

    def too_large(self, limit: int) -> TooLarge:
        """Return the error about a table of more than `limit` bytes."""
        more = f"takes more than {size(limit)} once read; give it more memory, or --drop columns"
        return TooLarge(f"{self.name} {more}.")


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
