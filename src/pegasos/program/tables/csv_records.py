"""Records of a table of text: how they are laid out, and their fields; fast where the text is plain, exact where it is odd."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import polars as pl

from pegasos.program.tables.cell_values import is_missing, number
from pegasos.program.tables.column_roles import LABEL_NAMES
from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import listed, plain, shown
from pegasos.program.tables.read_options import MOST_COLUMNS, TOO_WIDE
from pegasos.program.tables.text_chunks import LONGEST, Chunk

#: White space is written " ": runs of blanks and tabs count as one.
SEPARATORS = ("\t", ";", "|", ",", " ")
#: How much of a file shows its layout.
SAMPLE_BYTES, _SAMPLE_RECORDS = 2**20, 200
#: A quote within a field, where quoted fields are empty.
_STRAY = re.compile(r'[^\s;|,]""|""[^\s;|,]')
#: Characters of a field in a column that counts: a longer one is no number and no category. Python's own reader stops there, too.
LONGEST_FIELD = 131_072
_BLANK = re.compile(rb"(?:\A|\n)[ \t\r]*+\n")
_QUOTED = re.compile(rb'"[^"]*+(?:""[^"]*+)*+"')


@dataclass(frozen=True)
class Layout:
    """What holds for every record of the file."""

    separator: str
    names: list[str]
    header: bool
    notes: list[str] = field(default_factory=list)

    @property
    def commas(self) -> bool:
        """Whether a comma may be the decimal point."""
        return self.separator != ","


def find_layout(file: str, beginning: Chunk, expected: Sequence[str] = ()) -> Layout:
    """The layout, from the beginning of a file; `expected` are names that a header is likely to have."""
    end = (
        beginning.data.rfind(b"\n", 0, SAMPLE_BYTES) + 1
        if len(beginning.data) > SAMPLE_BYTES
        else 0
    )
    sample = Chunk(
        beginning.data[: end or None], beginning.line
    )  # without a record that the end of the sample cuts
    separator = _separator(sample.data)
    rows = [row for _, row in itertools.islice(records(sample, separator), _SAMPLE_RECORDS)]
    if not rows:
        raise BadData(f"{file}, line {sample.line}: all is blank.")
    width, agreeing = Counter(map(len, rows[1:] or rows)).most_common(1)[
        0
    ]  # what most rows have, and how many these are
    if (most := max(width, len(rows[0]))) > MOST_COLUMNS:
        raise BadData(f"{file} has {most} columns; {TOO_WIDE}")
    header, note = _header(rows, expected)
    if not header:
        return Layout(separator, [f"x{place}" for place in range(1, width + 1)], False, note)
    if len(rows[0]) != width and agreeing > 1:
        raise BadData(
            f"{file}, line {sample.line}: the names of columns have {len(rows[0])} fields, other lines {width}."
        )
    names = [name.strip() or f"x{place}" for place, name in enumerate(rows[0], 1)]
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise BadData(
            f"{file}, line {sample.line}: two columns are called {shown(twice[0])}; give every column its own name."
        )
    return Layout(separator, names, True, note)


def _separator(sample: bytes) -> str:
    """The separator that cuts lines most evenly; of equals the one whose fields are most like single values."""
    text = without_quotes(sample).decode("utf-8")
    if stray := _STRAY.search(text):  # from here on it is not certain what stands in quotes
        text = text[: text.rfind("\n", 0, stray.start()) + 1] or text
    lines = [line for line in text.split("\n") if line.strip()][:_SAMPLE_RECORDS]
    best, chosen = (0.0, 0.0), ","
    for separator in SEPARATORS if lines else ():
        rows = [line.split(None if separator == " " else separator) for line in lines]
        width, agreeing = Counter(map(len, rows)).most_common(1)[0]
        if width < 2:
            continue
        cells, others = (
            [cell for row in rows[:50] for cell in row[:200]],
            {*SEPARATORS[:4]} - {separator},
        )
        tidy = sum(
            number(cell, separator != ",") is not None or not any(other in cell for other in others)
            for cell in cells
        )
        score = (agreeing / len(rows) if agreeing > 1 or len(rows) == 1 else 0.0, tidy / len(cells))
        if score > best:
            best, chosen = score, separator
    return chosen


def _header(rows: list[list[str]], expected: Sequence[str]) -> tuple[bool, list[str]]:
    """Whether the first record holds names, and what to say if that was a guess."""
    first = [cell.strip() for cell in rows[0]]
    if expected and set(expected) <= set(first):
        return True, []
    values = [number(cell, False) for cell in first]
    if len(first) > 2 and values in (
        [float(n) for n in range(len(first))],
        [float(n + 1) for n in range(len(first))],
    ):
        return True, ["the first row counts the columns and is taken as their names"]
    below = [[row[place] for row in rows[1:] if place < len(row)] for place in range(len(first))]
    named = [
        value is None and not is_missing(cell) for value, cell in zip(values, first, strict=True)
    ]
    over_numbers = any(
        word and _all_numbers(cells) for word, cells in zip(named, below, strict=True)
    )
    fractions = any(value is not None and not float(value).is_integer() for value in values)
    if over_numbers and not fractions and sum(named) * 2 >= len(first):
        return True, []
    if len(rows) == 1:
        return all(named) and not expected, []
    if any(value is not None for value in values) or len(set(first)) < len(first) or "" in first:
        return False, []
    fresh = all(
        cell not in {each.strip() for each in cells}
        for cell, cells in zip(first, below, strict=True)
    )
    if fresh or any(cell.lower() in LABEL_NAMES for cell in first):
        return True, [
            f"all columns are words; the first row is taken as their names: {listed(first)}"
        ]
    return False, []


def _all_numbers(cells: list[str]) -> bool:
    present = [cell for cell in cells if not is_missing(cell)]
    return bool(present) and all(number(cell, True) is not None for cell in present)


def parse(
    file: str, chunk: Chunk, separator: str, names: list[str], keep: list[int]
) -> pl.DataFrame:
    """The columns `keep` of a chunk as words, named by their place "0", "1"; every record must have a field for each name."""
    frame = _fast(chunk, separator, len(names), keep)
    frame = _exact(file, chunk, separator, len(names), keep) if frame is None else frame
    if len(chunk.data) > LONGEST_FIELD:
        _check_lengths(file, chunk, separator, names, frame)
    return frame


def _check_lengths(
    file: str, chunk: Chunk, separator: str, names: list[str], frame: pl.DataFrame
) -> None:
    """Refuse fields that are too long, in columns that play a part."""
    for place, longest in frame.select(pl.all().str.len_chars().max()).row(0, named=True).items():
        if longest is not None and longest > LONGEST_FIELD:
            row = int((frame[place].str.len_chars() > LONGEST_FIELD).arg_true()[0])
            line, name = (
                next(itertools.islice(records(chunk, separator), row, None))[0],
                names[int(place)],
            )
            raise BadData(
                f"{file}, line {line}, column {shown(name)}: {longest:,} characters in a field; {LONGEST_FIELD:,} are the most. "
                f"Is a quote opened and never closed? If not, shorten it, or leave the column out: --drop {plain(name, 40)}."
            )


def _fast(chunk: Chunk, separator: str, width: int, keep: list[int]) -> pl.DataFrame | None:
    """The frame, or None where it is not certain that it is right."""
    data, mark = chunk.data, separator.encode()
    quoted = b'"' in data
    if separator == " ":
        data = collapsed(data.decode()).encode()
    # most files are cleared of blank lines by searches that are faster than the expression
    maybe = data[:1] in b"\r\n \t" or any(
        sign in data for sign in (b"\n\n", b"\n\r", b"\n ", b"\n\t")
    )
    if maybe and _BLANK.search(data):
        if quoted:
            return None
        blanks = (
            b" \r" if separator == "\t" else b" \t\r"
        )  # a line of tabs may be a record of missing values
        data = b"\n".join(line for line in data.split(b"\n") if line.strip(blanks)) + b"\n"
    if (
        not data.strip()
        or (quoted and not _tidy(data, mark))
        or data.count(b"\r") != data.count(b"\r\n")
    ):
        return None
    try:
        columns, schema = (
            sorted({*keep, width - 1}) if quoted else keep,
            {str(place): pl.String for place in range(width)},
        )
        frame = pl.read_csv(
            data, has_header=False, separator=separator, columns=columns, schema=schema
        )
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


def without_quotes(data: bytes) -> bytes:
    """Text in which every quoted field is empty: what remains between fields is separators and ends of lines."""
    return _QUOTED.sub(b'""', data) if b'"' in data else data


def _tidy(data: bytes, separator: bytes) -> bool:
    """Whether every quote opens, closes or is doubled as it should: counted, as that is faster than one long expression."""
    short = without_quotes(data)
    fields = short.count(b'""')
    opened = short.count(separator + b'""') + short.count(b'\n""') + short.startswith(b'""')
    closed = (
        short.count(b'""' + separator)
        + short.count(b'""\n')
        + short.count(b'""\r\n')
        + short.endswith(b'""')
    )
    return short.count(b'"') == 2 * fields and opened == closed == fields


def collapsed(text: str) -> str:
    """Runs of blanks and tabs outside quotes as one blank, none at the ends of lines."""
    text = (
        re.sub(r'("[^"\n]*+")|[ \t]+', lambda match: match[1] or " ", text)
        if '"' in text
        else re.sub(r"[ \t]+", " ", text)
    )
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
                raise BadData(
                    f"{file}, line {line}: {fields} where other lines have {width}.{hint}"
                )
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
    ended = io.StringIO(text, newline="\n")  # only a line feed ends a line
    lines = (
        line.replace("\r", " ").rstrip(" ") + "\n" if "\r" in line.rstrip("\r\n") else line
        for line in ended
    )
    csv.field_size_limit(LONGEST)  # of all of Python: a field has at most the length of a record
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=separator != "\t")
    line = chunk.line
    for row in reader:
        if len(row) > 1 or (row and row[0].strip()):
            yield line, row
        line = chunk.line + reader.line_num
