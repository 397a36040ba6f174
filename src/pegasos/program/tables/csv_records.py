"""Records of delimited text: parsed by polars where the text is plain, else by Python's reader."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator, Sequence

import polars as pl

from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import plain
from pegasos.program.tables.text_chunks import LONGEST, Chunk

_QUOTED = re.compile(rb'"[^"]*+(?:""[^"]*+)*+"')


def parse(
    file: str, chunk: Chunk, separator: str, width: int, places: Sequence[int]
) -> pl.DataFrame:
    """Return some columns of a chunk as text, named by position ("0", "1").

    Every record must have `width` fields. A separator " " stands for any run of blanks and tabs.
    """
    frame = _parse_fast(chunk, separator, width, places)
    return _parse_exactly(file, chunk, separator, width, places) if frame is None else frame


def line_of(chunk: Chunk, separator: str, row: int) -> int:
    """Return the line of the file on which a record begins."""
    return next(itertools.islice(records(chunk, separator), row, None))[0]


def without_quotes(data: bytes) -> bytes:
    """Return text in which every quoted field is empty."""
    return _QUOTED.sub(b'""', data) if b'"' in data else data


def _parse_fast(
    chunk: Chunk, separator: str, width: int, places: Sequence[int]
) -> pl.DataFrame | None:
    """Return the columns as polars reads them, or None if that may be wrong."""
    data, mark = chunk.data, separator.encode()
    quoted = b'"' in data
    if separator == " ":
        data = _collapsed(data.decode()).encode()
    if not quoted:
        data = data.replace(b"\r\n", b"\n").lstrip(b"\n")
        while b"\n\n" in data:
            data = data.replace(b"\n\n", b"\n")
    if not data.strip() or data.count(b"\r") != data.count(b"\r\n"):
        return None
    if quoted and not _is_well_quoted(data, mark):
        return None
    columns = sorted({*places, width - 1})
    schema = {str(place): pl.String for place in range(width)}
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
    short = without_quotes(data)
    fields = short.count(b'""')
    opened = short.count(separator + b'""') + short.count(b'\n""') + short.startswith(b'""')
    ends = (separator, b"\n", b"\r\n")
    closed = sum(short.count(b'""' + end) for end in ends) + short.endswith(b'""')
    return short.count(b'"') == 2 * fields and opened == closed == fields


def _collapsed(text: str) -> str:
    """Return text with runs of blanks and tabs outside quotes as one blank, none at line ends."""
    if '"' in text:
        text = re.sub(r'("[^"\n]*+")|[ \t]+', lambda match: match[1] or " ", text)
    else:
        text = re.sub(r"[ \t]+", " ", text)
    return re.sub(r"(?m)^ | (?=\r?$)", "", text)


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


def records(chunk: Chunk, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield line and fields of every record that is not blank, as Python's reader finds them."""
    text = chunk.data.decode("utf-8")
    if separator == " ":
        text = _collapsed(text)
    lines = (  # only a line feed ends a line
        line.replace("\r", " ").rstrip(" ") + "\n" if "\r" in line.rstrip("\r\n") else line
        for line in io.StringIO(text, newline="\n")
    )
    csv.field_size_limit(LONGEST)  # of all of Python: a field is never longer than a record
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=separator != "\t")
    line = chunk.line
    for row in reader:
        if len(row) > 1 or (row and row[0].strip()):
            yield line, row
        line = chunk.line + reader.line_num
