"""Delimited text: its layout, and its records, parsed by polars where the text is plain."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

import polars as pl

from pegasos.program.tables.cells import Numbers, as_numbers
from pegasos.program.tables.columns import LABEL_NAMES
from pegasos.program.tables.dataset import MOST_COLUMNS, TOO_WIDE, BadData, NoRows, ReadOptions
from pegasos.program.tables.messages import listed, plain, shown
from pegasos.program.tables.sources import Source
from pegasos.program.tables.table import Block, TableFile
from pegasos.program.tables.text_files import LONGEST, Chunk, chunks

#: White space is written " ": runs of blanks and tabs count as one.
SEPARATORS = (",", "\t", ";", "|", " ")
#: Approximate beginning of the file from which the layout is detected.
SAMPLE_BYTES, _SAMPLE_RECORDS = 2**20, 200
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
    elif b"\n\n" in data or data.startswith(b"\n"):  # polars reads blank lines as gaps
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


def find_layout(
    file: str, beginning: Chunk, expected: Sequence[str] = ()
) -> tuple[str, list[str], bool, list[str]]:
    """Return separator, names of columns, whether the first record holds them, and notes.

    `beginning` are the first records, and `expected` names that a header probably contains.
    """
    line = f"{file}, line {beginning.line}"
    separator, rows = _find_separator(beginning)
    if not rows:
        raise BadData(f"{line}: the lines are blank.")
    width, agreeing = _usual_width(rows[1:] or rows)
    if (most := max(width, len(rows[0]))) > MOST_COLUMNS:
        raise BadData(f"{file} has {most} columns; {TOO_WIDE}")
    header, notes = _has_header(rows, expected)
    if not header:
        return separator, [f"x{place}" for place in range(1, width + 1)], False, notes
    if len(rows[0]) != width and agreeing > 1:
        raise BadData(
            f"{line}: {len(rows[0])} names of columns, and {width} fields in other lines."
        )
    names = [name.strip() or f"x{place}" for place, name in enumerate(rows[0], 1)]
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise BadData(f"{line}: two columns are called {shown(twice[0])}; rename one.")
    return separator, names, True, notes


def _find_separator(beginning: Chunk) -> tuple[str, list[list[str]]]:
    """Return the separator that splits most records into equally many fields, and its records.

    Of several, the one whose fields look most like single values.
    """

    def score(separator: str) -> tuple[float, float]:
        width, agreeing = _usual_width(parsed[separator])
        if width < 2:
            return 0.0, 0.0
        rows = parsed[separator]
        cells = [cell for row in rows[:50] for cell in row[:200]]
        others = {*SEPARATORS[:4]} - {separator}
        values = _numbers(cells, separator != ",").values.to_list()
        tidy = sum(
            value is not None or not any(other in cell for other in others)
            for value, cell in zip(values, cells, strict=True)
        )
        return (agreeing / len(rows) if agreeing > 1 or len(rows) == 1 else 0.0, tidy / len(cells))

    parsed = {}
    for separator in SEPARATORS:
        found = itertools.islice(records(beginning, separator), _SAMPLE_RECORDS)
        parsed[separator] = [row for _, row in found]
    chosen = max(SEPARATORS, key=score)
    return chosen, parsed[chosen]


def _usual_width(rows: list[list[str]]) -> tuple[int, int]:
    """Return the most frequent number of fields, and how many records have it."""
    counts = Counter(map(len, rows)).most_common(1)
    return counts[0] if counts else (0, 0)


def _has_header(rows: list[list[str]], expected: Sequence[str]) -> tuple[bool, list[str]]:
    """Return whether the first record holds names, and a note if that is a guess."""
    first = [cell.strip() for cell in rows[0]]
    if expected and set(expected) <= set(first):
        return True, []
    found = _numbers(first, False)
    values, words = found.values.to_list(), set(found.wrong.tolist())
    if len(first) > 2 and any(
        values == [float(n + start) for n in range(len(first))] for start in (0, 1)
    ):
        return True, ["the first row counts the columns and is taken as their names"]
    below = [[row[place] for row in rows[1:] if place < len(row)] for place in range(len(first))]
    over_numbers = any(_are_numbers(below[place]) for place in words)
    fractions = any(value is not None and not float(value).is_integer() for value in values)
    if over_numbers and not fractions and 2 * len(words) >= len(first):
        return True, []
    if len(rows) == 1:
        return len(words) == len(first) and not expected, []
    if any(value is not None for value in values) or len(set(first)) < len(first) or "" in first:
        return False, []
    fresh = all(
        cell not in {each.strip() for each in cells}
        for cell, cells in zip(first, below, strict=True)
    )
    if fresh or any(cell.lower() in LABEL_NAMES for cell in first):
        taken = f"all columns are words; the first row is taken as their names: {listed(first)}"
        return True, [taken]
    return False, []


def _are_numbers(cells: list[str]) -> bool:
    found = _numbers(cells, True)
    return not len(found.wrong) and found.values.null_count() < len(cells)


def _numbers(cells: list[str], commas: bool) -> Numbers:
    return as_numbers(pl.Series(cells, dtype=pl.String), commas)


def records(chunk: Chunk, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield line and fields of every record that is not blank, as Python's reader finds them."""
    text = chunk.data.decode("utf-8")
    lines = io.StringIO(join_blanks(text) if separator == " " else text, newline="\n")
    csv.field_size_limit(LONGEST)  # of all of Python: a field is never longer than a record
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=separator != "\t")
    line = chunk.line
    for row in reader:
        if len(row) > 1 or (row and row[0].strip()):
            yield line, row
        line = chunk.line + reader.line_num


def join_blanks(text: str) -> str:
    """Return text with runs of blanks and tabs outside quotes as one blank, none at line ends."""
    if '"' in text:
        text = re.sub(r'("[^"\n]*+")|[ \t]+', lambda match: match[1] or " ", text)
    else:
        text = re.sub(r"[ \t]+", " ", text)
    return re.sub(r"(?m)^ | $", "", text)
