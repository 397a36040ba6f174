"""Delimited text with any common separator, with or without header, quotes and compression.

Files are read once: a column is numeric until its first text, and categorical from then on.
"""

from __future__ import annotations

import codecs
import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from pegasos.program.tables import column_tables
from pegasos.program.tables.cell_values import as_numbers, as_words
from pegasos.program.tables.column_roles import Roles, matched, outlined, roles
from pegasos.program.tables.column_tables import Table
from pegasos.program.tables.csv_records import SAMPLE_BYTES, Layout, find_layout, parse, records
from pegasos.program.tables.dataset import BadData, Dataset, NoRows, TooLarge
from pegasos.program.tables.messages import listed, shown, size
from pegasos.program.tables.read_options import PACKED, Outline, ReadOptions, Wanted
from pegasos.program.tables.shards import REMEDY, Shards, same_columns
from pegasos.program.tables.source import Source
from pegasos.program.tables.text_chunks import Chunk, chunks

NAME = "csv"
EXTENSIONS = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data")
_AMOUNT = 8 * 2**20
#: Maximum ratio of decompressed text to the memory limit for decoded values.
_SWELL = 8
#: Maximum number of bytes of blank lines that are skipped.
_MOST_BLANK = 64 * 10**6
#: From this share of numbers on, text among them is an error.
_MOSTLY = 0.95
#: After this many texts that form the majority of a column, numbers are no longer parsed.
_ENOUGH_WORDS = 1000


def sniff(head: bytes) -> bool:
    """Return whether the bytes have no zeros and few control characters."""
    odd = sum(head.count(bytes([code])) for code in range(32) if code not in (9, 10, 12, 13))
    return head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or (
        b"\0" not in head and odd <= len(head) // 100
    )


def read(shards: Shards, options: ReadOptions) -> Dataset:
    """Read the whole table."""
    limit = options.allowed()
    found = TextTables(shards, options, most=_SWELL * limit)
    layout = found.layout
    parts = roles(layout.names, options, shards.name, layout.header)
    columns, notes = read_columns(found, parts, limit)
    table = Table(shards.name, layout.names, columns, found.where, found.commas)
    return column_tables.dataset(table, parts, options, [*layout.notes, *notes])


def outline(shards: Shards, options: ReadOptions) -> Outline:
    """Describe a table by its first chunk.

    The size of compressed files is estimated by a fixed ratio.
    """
    found = TextTables(shards, options)
    parts = roles(found.layout.names, options, shards.name, found.layout.header)
    first = list(itertools.islice(found.pieces(parts.needed), 1))
    if not first:
        raise NoRows(f"{shards.name} has names of columns, but no rows.")
    columns, notes = read_columns(found, parts, sys.maxsize, first)
    text = sum(
        source.path.stat().st_size * (1 if source.packer is None else PACKED)
        for source in shards.sources
    )
    swell = sum(series.estimated_size() for series in columns.values()) / len(first[0].chunk.data)
    parts, kinds, more = column_tables.parts_and_kinds(columns, found.layout.names, parts)
    return outlined(
        found.layout.names, parts, kinds, swell * text, [*found.layout.notes, *notes, *more]
    )


def stream(shards: Shards, wanted: Wanted, options: ReadOptions) -> Iterator[Dataset]:
    """Yield chunks of rows with the column types of a model."""
    found = TextTables(shards, options, amount=wanted.chunk, expected=wanted.names)
    parts = matched(found.layout.names, found.layout.header, wanted, options, shards.name)
    for piece in found.pieces(parts.needed):
        columns = {place: piece.frame[str(place)] for place in parts.needed}
        yield column_tables.chunk(
            Table(shards.name, found.layout.names, columns, piece.where, piece.commas),
            parts,
            wanted,
        )


@dataclass
class Piece:
    """Rows as text, with columns named by their position.

    The raw text is kept to find line numbers.
    """

    frame: pl.DataFrame
    chunk: Chunk
    skipped: int
    separator: str
    #: " of FILE" if there are several files.
    of: str

    @property
    def commas(self) -> bool:
        """Whether decimal commas are possible: the separator is no comma."""
        return self.separator != ","

    def where(self, row: int) -> str:
        """Return the line of the file on which a row begins."""
        return f"line {next(itertools.islice(records(self.chunk, self.separator), row + self.skipped, None))[0]}{self.of}"


class TextTable:
    """Table in one file; each call of `pieces` reads it once."""

    def __init__(
        self, source: Source, of: str, options: ReadOptions, amount: int, most: int | None
    ) -> None:
        self.file, self.source, self._of, self._options, self._amount, self._most = (
            source.name,
            source,
            of,
            options,
            amount,
            most,
        )
        self._begun: Iterator[Chunk] | None = None
        self.layout: Layout | None = None

    def find_layout(self, expected: Sequence[str] = ()) -> Layout:
        """Detect the layout from the first chunks, which `pieces` reuses."""
        walk, first, length = self._chunks(), [], 0
        while length < SAMPLE_BYTES and (chunk := next(walk, None)) is not None:
            first.append(chunk)
            length += len(chunk.data)
        if not first:
            raise NoRows(f"{self.file} holds nothing but blank lines.")
        self._begun = itertools.chain(first, walk)
        beginning = Chunk(b"".join(chunk.data for chunk in first), first[0].line)
        self.layout = find_layout(self.file, beginning, expected)
        return self.layout

    def _chunks(self) -> Iterator[Chunk]:
        blank = 0
        for chunk in chunks(self.source, self._options.encoding, self._amount, self._most):
            if chunk.data.strip():
                yield chunk
            elif (blank := blank + len(chunk.data)) > _MOST_BLANK:
                raise BadData(
                    f"{self.file}, line {chunk.line}: more than {size(_MOST_BLANK)} of blank lines; delete them."
                )

    def pieces(self, keep: Iterable[int]) -> Iterator[Piece]:
        """Yield the rows in chunks, with the columns `keep` only."""
        assert self.layout is not None
        walk, self._begun, places = self._begun or self._chunks(), None, sorted(keep)
        skipped = int(self.layout.header)
        for chunk in walk:
            frame = parse(self.file, chunk, self.layout.separator, self.layout.names, places).slice(
                skipped
            )
            if frame.height:
                yield Piece(frame, chunk, skipped, self.layout.separator, self._of)
            skipped = 0


class TextTables:
    """Table in several files; columns are numbered as in the first file."""

    def __init__(
        self,
        shards: Shards,
        options: ReadOptions,
        *,
        amount: int = _AMOUNT,
        most: int | None = None,
        expected: Sequence[str] = (),
    ) -> None:
        self.file, self._shards, self.commas = shards.name, shards, False
        self._tables = [
            TextTable(source, shards.of(source), options, amount, most) for source in shards.sources
        ]
        for table in self._tables:
            try:
                self.layout, self._first = table.find_layout(expected), table.file
            except NoRows as error:
                shards.skip(table.source, error)
            else:
                return

    def pieces(self, keep: Iterable[int]) -> Iterator[Piece]:
        """Yield the rows in chunks, with the columns `keep` only."""
        keep = list(keep)
        for table in self._tables:
            if table.file in self._shards.skipped:
                continue
            try:
                places = self._places(table)
            except NoRows as error:
                self._shards.skip(table.source, error)
                continue
            empty = True
            for piece in table.pieces(places[place] for place in keep):
                empty, self.commas = False, self.commas or piece.commas
                yield replace(
                    piece,
                    frame=piece.frame.select(
                        pl.col(str(places[place])).alias(str(place)) for place in keep
                    ),
                )
            if empty and len(self._tables) > 1:
                self._shards.skip(table.source, NoRows(""))

    def _places(self, table: TextTable) -> list[int]:
        """Return the positions of the first file's columns in another file.

        The layout of a file is detected when its turn comes, since this begins to read it.
        """
        first = self.layout
        layout = table.layout or table.find_layout(first.names if first.header else ())
        if layout.header != first.header:
            lacking, having = (
                (table.file, self._first) if first.header else (self._first, table.file)
            )
            what = f"{lacking} begins without the names of its columns, and {having} with them"
            raise BadData(f"{what}; write them into all files of a table, or into none. {REMEDY}")
        return same_columns(first.names, layout.names, table.file, self._first)

    def where(self, row: int) -> str:
        """Return the line of a row for an error message; the files are read again to find it."""
        for piece in self.pieces([0]):
            if row < piece.frame.height:
                return piece.where(row)
            row -= piece.frame.height
        return "at the end"


@dataclass
class Cells:
    """Column being read: its values, counts by type, and the location of the first exceptions."""

    parts: list[pl.Series] = field(default_factory=list)
    #: Number of parts read as numbers before the first text; None if there is no text so far.
    turned: int | None = None
    numbers: int = 0
    wrong: int = 0
    #: Location and text of the first value that is not a number, and of the first infinite one.
    first_wrong: tuple[str, str] | None = None
    infinite: tuple[str, str] | None = None
    commas: bool = False
    amounts: bool = False

    def add(self, words: pl.Series, plain: pl.Series | None, commas: bool, piece: Piece) -> None:
        """Add rows; `plain` are their values as numbers, if they were already converted."""
        if self.wrong <= _ENOUGH_WORDS or self.numbers >= self.wrong:
            found = as_numbers(words, commas, plain)
            self.numbers += len(words) - found.values.null_count()
            self.wrong += len(found.wrong)
            self.commas |= found.commas
            self.amounts |= found.amounts
            for row in found.wrong[:1].tolist() if self.first_wrong is None else ():
                self.first_wrong = piece.where(row), words[row]
            for row in found.infinite[:1].tolist() if self.infinite is None else ():
                self.infinite = piece.where(row), words[row]
            if self.turned is None and not self.wrong:
                self.parts.append(found.values)
                return
        if self.turned is None:
            self.turned = len(self.parts)
        self.parts.append(as_words(words))


def read_columns(
    table: TextTables, roles: Roles, limit: int, pieces: Iterable[Piece] | None = None
) -> tuple[dict[int, pl.Series], list[str]]:
    """Read all columns that are used.

    Parameters
    ----------
    table : TextTables
        The table.
    roles : Roles
        Roles of its columns.
    limit : int
        Maximum number of bytes of the values.
    pieces : iterable of Piece, optional
        Chunks to read; all by default.

    Returns
    -------
    columns : dict
        Values by position of the column.
    notes : list of str
        Notes for the user.
    """
    words, used = (
        {*roles.text, roles.label},
        0,
    )  # labels remain text until all of them are known
    cells = {place: Cells(turned=0 if place in words else None) for place in roles.needed}
    for piece in table.pieces(cells) if pieces is None else pieces:
        maybe = [str(place) for place, column in cells.items() if column.turned is None]
        plain = piece.frame.select(maybe).cast(pl.Float64, strict=False)
        clean = (
            dict(
                zip(
                    maybe,
                    plain.select(pl.all().is_finite().all(ignore_nulls=False)).row(0),
                    strict=True,
                )
            )
            if maybe
            else {}
        )
        for place, column in cells.items():
            name = str(place)
            if clean.get(name):  # None if a value is missing
                column.numbers += plain.height
                column.parts.append(plain[name])
            elif place in words:
                column.parts.append(
                    piece.frame[name] if place == roles.label else as_words(piece.frame[name])
                )
            else:
                column.add(
                    piece.frame[name], plain[name] if name in clean else None, piece.commas, piece
                )
            used += int(column.parts[-1].estimated_size())
        if used > limit:
            raise TooLarge(
                f"{table.file} takes more than {size(limit)} once read; give it more memory, or --drop columns."
            )
    notes = _judge(table, roles, cells)
    # Read the beginning of the file again for columns whose first text came late.
    late = {place: column.turned for place, column in cells.items() if column.turned}
    for number, piece in (
        enumerate(itertools.islice(table.pieces(late), max(late.values()))) if late else ()
    ):
        for place in (place for place, turned in late.items() if number < turned):
            cells[place].parts[number] = as_words(piece.frame[str(place)])
    empty = pl.Series(dtype=pl.Float64)
    return {
        place: pl.concat(column.parts) if column.parts else empty for place, column in cells.items()
    }, notes


def _judge(table: TextTables, roles: Roles, cells: dict[int, Cells]) -> list[str]:
    """Reject columns of numbers with a few texts or with infinite numbers; return notes."""
    commas, amounts = [], []
    for place, column in cells.items():
        name, total = table.layout.names[place], column.numbers + column.wrong
        if (
            column.first_wrong is not None
            and place in roles.features
            and column.numbers >= max(20, _MOSTLY * total)
        ):
            line, word = column.first_wrong
            raise BadData(
                f"{table.file}, {line}, column {shown(name)}: {shown(word)} is not a number, but {column.numbers} of {total} "
                f"values there are. Correct it or leave it empty; if these are categories, use --text {name}."
            )
        if column.infinite is not None and not column.wrong:
            line, word = column.infinite
            raise BadData(
                f"{table.file}, {line}, column {shown(name)}: {shown(word)} is not a finite number."
            )
        if column.commas and not column.wrong:
            commas.append(name)
        if column.amounts and not column.wrong:
            amounts.append(name)
    notes = [f"commas are read as decimal points in {listed(commas)}"] if commas else []
    if amounts:
        notes.append(f"amounts such as $1,234.50 or 12 % are read as numbers in {listed(amounts)}")
    return notes
