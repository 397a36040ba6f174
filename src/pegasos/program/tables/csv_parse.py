"""A chunk of records into a frame of words: fast where the text is plain, exact where it is odd."""

from __future__ import annotations

import csv
import re

import polars as pl

from pegasos.program.tables.csv_chunks import Chunk
from pegasos.program.tables.csv_layout import Layout, collapsed, records
from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import plain
from pegasos.program.tables.source import Source

_BLANK = re.compile(rb"(?:\A|\n)[ \t\r]*+\n")
_QUOTED = re.compile(rb'"[^"]*+(?:""[^"]*+)*+"')


def parse(source: Source, chunk: Chunk, layout: Layout, keep: list[int], first: bool) -> pl.DataFrame:
    """The columns `keep` as words, named by their place "0", "1"; `first`: the chunk begins with the header, if there is one."""
    frame = _fast(chunk, layout, keep)
    if frame is None:
        frame = _exact(source, chunk, layout, keep)
    return frame.slice(1) if first and layout.header else frame


def _fast(chunk: Chunk, layout: Layout, keep: list[int]) -> pl.DataFrame | None:
    """The frame, or None where it is not certain that it is right."""
    data = chunk.data.removeprefix(b"\xef\xbb\xbf")
    separator = layout.separator.encode()
    quoted = b'"' in data
    if separator == b" ":
        data = collapsed(data.decode()).encode()
    if _has_blank_lines(data):
        if quoted:
            return None
        blanks = b" \r" if separator == b"\t" else b" \t\r"  # a line of tabs may be a record of missing values
        data = b"\n".join(line for line in data.split(b"\n") if line.strip(blanks)) + b"\n"
    if not data.strip() or (quoted and not _tidy(data, separator)) or data.count(b"\r") != data.count(b"\r\n"):
        return None
    try:
        frame = pl.read_csv(
            data,
            has_header=False,
            separator=layout.separator,
            columns=sorted({*keep, layout.width - 1}) if quoted else keep,
            schema={str(place): pl.String for place in range(layout.width)},
        )
    except (Exception, pl.exceptions.PanicException):
        return None  # whatever it was, the exact reader says it better
    # Long rows raise; short ones are padded silently. They show as a lack of separators, or where separators may stand in quotes
    # as a last field that is null: then the exact reader looks whether it was empty or not there.
    if quoted:
        full = not frame[str(layout.width - 1)].null_count()
    else:
        full = data.count(separator) == (layout.width - 1) * frame.height
        full = full and frame.height == data.count(b"\n") + (data[-1:] != b"\n")
    return frame.select([str(place) for place in keep]) if full else None


def _has_blank_lines(data: bytes) -> bool:
    """Whether a line is blank; most files are cleared by searches that are faster than the expression."""
    signs = (b"\n\n", b"\n\r", b"\n ", b"\n\t")
    return (data[:1] in b"\r\n \t" or any(sign in data for sign in signs)) and _BLANK.search(data) is not None


def _tidy(data: bytes, separator: bytes) -> bool:
    """Whether every quote opens, closes or is doubled as it should: counted, as that is faster than one long expression."""
    short = _QUOTED.sub(b'""', data)
    fields = short.count(b'""')
    opened = short.count(separator + b'""') + short.count(b'\n""') + short.startswith(b'""')
    closed = short.count(b'""' + separator) + short.count(b'""\n') + short.count(b'""\r\n') + short.endswith(b'""')
    return short.count(b'"') == 2 * fields and opened == closed == fields


def _exact(source: Source, chunk: Chunk, layout: Layout, keep: list[int]) -> pl.DataFrame:
    columns: list[list[str]] = [[] for _ in keep]
    width = layout.width
    open_quote = chunk.data.count(b'"') % 2 == 1
    hint = " A quote may have been opened and never closed." if open_quote else ""
    line = chunk.line
    try:
        for line, row in records(chunk, layout.separator):
            if len(row) != width:
                raise BadData(
                    f"{source.name}, line {line}: {len(row)} field{'s' * (len(row) != 1)} where other lines have {width}.{hint}"
                )
            if open_quote and row[-1].endswith("\n"):
                raise BadData(f"{source.name}, line {line}: a quote is opened and never closed.")
            for column, place in zip(columns, keep, strict=True):
                column.append(row[place])
    except csv.Error as error:
        raise BadData(f"{source.name}, after line {line}: {plain(error)}.{hint}") from error
    return pl.DataFrame({str(place): pl.Series(column, dtype=pl.String) for place, column in zip(keep, columns, strict=True)})


def line_of(chunk: Chunk, layout: Layout, row: int) -> int:
    """The line of the file on which a row of the chunk begins."""
    for count, (line, _) in enumerate(records(chunk, layout.separator)):
        if count == row:
            return line
    return chunk.line
