"""Delimited text: records parsed by polars where the text is plain, else by Python's reader."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterator, Sequence
from functools import partial

import polars as pl

from pegasos.program.tables.blocks import Block
from pegasos.program.tables.csv_layout import SAMPLE_BYTES, find_layout, join_blanks, records
from pegasos.program.tables.dataset import BadData, NoRows, ReadOptions
from pegasos.program.tables.messages import plain
from pegasos.program.tables.sources import Source
from pegasos.program.tables.table import TableFile
from pegasos.program.tables.text import Chunk, chunks

_QUOTED = re.compile(rb'"[^"]*+(?:""[^"]*+)*+"')


class TextFile(TableFile):
    """One file of delimited text."""

    def __init__(
        self, source: Source, options: ReadOptions, expected: Sequence[str], limit: int | None
    ) -> None:
        self._source, self._encoding, self._limit = source, options.encoding, limit
        beginning = next(self._chunks(SAMPLE_BYTES), None)
        if beginning is None:
            raise NoRows(f"{source.name} holds nothing but blank lines.")
        found = find_layout(source.name, beginning, expected)
        self._separator, self.names, self.header, self.notes = found

    def _chunks(self, amount: int) -> Iterator[Chunk]:
        found = chunks(self._source, self._encoding, amount, self._limit)
        return (chunk for chunk in found if chunk.data.strip())

    def blocks(self, places: Sequence[int], amount: int) -> Iterator[Block]:
        """Yield the rows of some columns as text."""
        skipped, commas = int(self.header), self._separator != ","
        for chunk in self._chunks(amount):
            frame = parse(self._source.name, chunk, self._separator, len(self.names), places)
            frame = frame.slice(skipped)
            if frame.height:
                where = partial(self._where, chunk, skipped)
                share = len(chunk.data) / self._source.unpacked_bytes
                yield Block(frame, where, share, commas)
            skipped = 0

    def _where(self, chunk: Chunk, skipped: int, row: int) -> str:
        line, _ = next(itertools.islice(records(chunk, self._separator), row + skipped, None))
        return f"line {line}"


open_file = TextFile


def parse(
    file: str, chunk: Chunk, separator: str, width: int, places: Sequence[int]
) -> pl.DataFrame:
    """Return some columns of a chunk as text, named by position ("0", "1").

    Every record must have `width` fields. A separator " " stands for any run of blanks and tabs.
    """
    frame = _parse_fast(chunk, separator, width, places)
    return _parse_exactly(file, chunk, separator, width, places) if frame is None else frame


def _parse_fast(
    chunk: Chunk, separator: str, width: int, places: Sequence[int]
) -> pl.DataFrame | None:
    """Return the columns as polars reads them, or None if that may be wrong."""
    data, mark = chunk.data, separator.encode()
    if separator == " ":
        data = join_blanks(data.decode()).encode()
    if quoted := b'"' in data:
        if not _is_well_quoted(data, mark):
            return None
    else:
        data = re.sub(rb"\n{2,}", b"\n", data).lstrip(b"\n")
    schema = {str(place): pl.String for place in range(width)}
    columns = sorted({*places, width - 1})
    try:
        frame = pl.read_csv(
            data, has_header=False, separator=separator, columns=columns, schema=schema
        )
    except (Exception, pl.exceptions.PanicException):
        return None  # the exact reader gives a better message
    # Long records raise, short ones are padded: they lack separators, or where separators may be
    # quoted, their last field is null, as is that of a blank line.
    if quoted or width == 1:
        full = not frame[str(width - 1)].null_count()
    else:
        full = data.count(mark) == (width - 1) * frame.height
    return frame.select([str(place) for place in places]) if full else None


def _is_well_quoted(data: bytes, separator: bytes) -> bool:
    """Return whether every quote opens or closes a field, or is doubled inside one."""
    short = _QUOTED.sub(b'""', data)
    fields = short.count(b'""')
    opened = short.count(separator + b'""') + short.count(b'\n""') + short.startswith(b'""')
    closed = short.count(b'""' + separator) + short.count(b'""\n') + short.endswith(b'""')
    return short.count(b'"') == 2 * fields and opened == closed == fields


def _parse_exactly(
    file: str, chunk: Chunk, separator: str, width: int, places: Sequence[int]
) -> pl.DataFrame:
    """Return the columns as Python's reader finds them; errors name the line."""
    columns: dict[str, list[str]] = {str(place): [] for place in places}
    open_quote = chunk.data.count(b'"') % 2 == 1
    hint = " A quote may have been opened and never closed." if open_quote else ""
    line = chunk.line
    try:
        for line, row in records(chunk, separator):
            if len(row) != width:
                fields = f"{len(row)} field{'s' * (len(row) != 1)}"
                raise BadData(
                    f"{file}, line {line}: {fields} where other lines have {width}.{hint}"
                )
            if open_quote and row[-1].endswith("\n"):
                raise BadData(f"{file}, line {line}: a quote is opened and never closed.")
            for place in places:
                columns[str(place)].append(row[place])
    except csv.Error as error:
        raise BadData(f"{file}, after line {line}: {plain(error)}.{hint}") from error
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
