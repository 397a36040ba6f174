"""Records of a table of text: fast where the text is plain, exact where it is odd."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

import polars as pl

from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import plain
from pegasos.program.tables.text_chunks import Chunk

_BLANK = re.compile(rb"(?:\A|\n)[ \t\r]*+\n")
_QUOTED = re.compile(rb'"[^"]*+(?:""[^"]*+)*+"')


def parse(file: str, chunk: Chunk, separator: str, width: int, keep: list[int]) -> pl.DataFrame:
    """The columns `keep` of a chunk as words, named by their place "0", "1"; every record must have `width` fields."""
    frame = _fast(chunk, separator, width, keep)
    return _exact(file, chunk, separator, width, keep) if frame is None else frame


def _fast(chunk: Chunk, separator: str, width: int, keep: list[int]) -> pl.DataFrame | None:
    """The frame, or None where it is not certain that it is right."""
    data, mark = chunk.data, separator.encode()
    quoted = b'"' in data
    if separator == " ":
        data = collapsed(data.decode()).encode()
    if _has_blank_lines(data):
        if quoted:
            return None
        blanks = b" \r" if separator == "\t" else b" \t\r"  # a line of tabs may be a record of missing values
        data = b"\n".join(line for line in data.split(b"\n") if line.strip(blanks)) + b"\n"
    if not data.strip() or (quoted and not _tidy(data, mark)) or data.count(b"\r") != data.count(b"\r\n"):
        return None
    try:
        columns, schema = sorted({*keep, width - 1}) if quoted else keep, {str(place): pl.String for place in range(width)}
        frame = pl.read_csv(data, has_header=False, separator=separator, columns=columns, schema=schema)
    except (Exception, pl.exceptions.PanicException):
        return None  # whatever it was, the exact reader says it better
    # Long rows raise; short ones are padded silently. They show as a lack of separators, or where separators may stand in quotes
    # as a last field that is null: then the exact reader looks whether it was empty or not there.
    if quoted:
        full = not frame[str(width - 1)].null_count()
    else:
        full = data.count(mark) == (width - 1) * frame.height
        full = full and frame.height == data.count(b"\n") + (data[-1:] != b"\n")
    return frame.select([str(place) for place in keep]) if full else None


def _has_blank_lines(data: bytes) -> bool:
    """Whether a line is blank; most files are cleared by searches that are faster than the expression."""
    signs = (b"\n\n", b"\n\r", b"\n ", b"\n\t")
    return (data[:1] in b"\r\n \t" or any(sign in data for sign in signs)) and _BLANK.search(data) is not None


def without_quotes(data: bytes) -> bytes:
    """Text in which every quoted field is empty: what remains between fields is separators and ends of lines."""
    return _QUOTED.sub(b'""', data) if b'"' in data else data


def _tidy(data: bytes, separator: bytes) -> bool:
    """Whether every quote opens, closes or is doubled as it should: counted, as that is faster than one long expression."""
    short = without_quotes(data)
    fields = short.count(b'""')
    opened = short.count(separator + b'""') + short.count(b'\n""') + short.startswith(b'""')
    closed = short.count(b'""' + separator) + short.count(b'""\n') + short.count(b'""\r\n') + short.endswith(b'""')
    return short.count(b'"') == 2 * fields and opened == closed == fields


def collapsed(text: str) -> str:
    """Runs of blanks and tabs outside quotes as one blank, none at the ends of lines."""
    text = re.sub(r'("[^"\n]*+")|[ \t]+', lambda match: match[1] or " ", text) if '"' in text else re.sub(r"[ \t]+", " ", text)
    return re.sub(r"(?m)^ | (?=\r?$)", "", text)


def _exact(file: str, chunk: Chunk, separator: str, width: int, keep: list[int]) -> pl.DataFrame:
    columns: dict[str, list[str]] = {str(place): [] for place in keep}
    open_quote = chunk.data.count(b'"') % 2 == 1
    hint = " A quote may have been opened and never closed." if open_quote else ""
    line = chunk.line
    try:
        for line, row in records(chunk, separator):
            if len(row) != width:
                fields = f"{len(row)} field{'s' * (len(row) != 1)}"
                raise BadData(f"{file}, line {line}: {fields} where other lines have {width}.{hint}")
            if open_quote and row[-1].endswith("\n"):
                raise BadData(f"{file}, line {line}: a quote is opened and never closed.")
            for place in keep:
                columns[str(place)].append(row[place])
    except csv.Error as error:
        raise BadData(f"{file}, after line {line}: {plain(error)}.{hint}") from error
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


def records(chunk: Chunk, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Line and fields of every record that is not blank, as Python's own reader sees them: slow, exact, for odd cases."""
    text = chunk.data.decode("utf-8")
    if separator == " ":
        text = collapsed(text)
    reader = csv.reader(_lines(text), delimiter=separator, skipinitialspace=separator != "\t")
    line = chunk.line
    for row in reader:
        if len(row) > 1 or (row and row[0].strip()):
            yield line, row
        line = chunk.line + reader.line_num


def _lines(text: str) -> Iterator[str]:
    """Lines with their ends; only a line feed ends a line."""
    for line in io.StringIO(text, newline="\n"):
        yield line.replace("\r", " ").rstrip(" ") + "\n" if "\r" in line.rstrip("\r\n") else line
