"""Layout of delimited text: its records, their separator, and the names of its columns."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence

import polars as pl

from pegasos.program.tables.cells import Numbers, as_numbers
from pegasos.program.tables.column_roles import LABEL_NAMES
from pegasos.program.tables.dataset import MOST_COLUMNS, TOO_WIDE, BadData
from pegasos.program.tables.messages import listed, shown
from pegasos.program.tables.text import LONGEST, Chunk

#: White space is written " ": runs of blanks and tabs count as one.
SEPARATORS = (",", "\t", ";", "|", " ")
#: Approximate beginning of the file from which the layout is detected.
SAMPLE_BYTES, _SAMPLE_RECORDS = 2**20, 200


def find_layout(
    file: str, beginning: Chunk, expected: Sequence[str] = ()
) -> tuple[str, list[str], bool, list[str]]:
    """Return separator, names of columns, whether the first record holds them, and notes.

    Parameters
    ----------
    file : str
        Name of the file, for messages.
    beginning : Chunk
        Its first records.
    expected : sequence of str
        Names that a header probably contains.
    """
    line = f"{file}, line {beginning.line}"
    separator, rows = _find_separator(beginning)
    if not rows:
        raise BadData(f"{line}: all is blank.")
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
