"""Layout of delimited text: its separator, and the names of its columns."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence

import polars as pl

from pegasos.program.tables.cell_values import Numbers, as_numbers
from pegasos.program.tables.column_roles import LABEL_NAMES
from pegasos.program.tables.csv_records import records, without_quotes
from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import listed, shown
from pegasos.program.tables.read_options import MOST_COLUMNS, TOO_WIDE
from pegasos.program.tables.text_chunks import Chunk

#: White space is written " ": runs of blanks and tabs count as one.
SEPARATORS = ("\t", ";", "|", ",", " ")
#: Approximate beginning of the file from which the layout is detected.
SAMPLE_BYTES, _SAMPLE_RECORDS = 2**20, 200
#: A quote within a field, where quoted fields are empty.
_STRAY = re.compile(r'[^\s;|,]""|""[^\s;|,]')


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
    separator = _find_separator(beginning.data)
    rows = [row for _, row in itertools.islice(records(beginning, separator), _SAMPLE_RECORDS)]
    if not rows:
        raise BadData(f"{line}: all is blank.")
    width, agreeing = Counter(map(len, rows[1:] or rows)).most_common(1)[0]
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


def _find_separator(sample: bytes) -> str:
    """Return the separator that splits most lines into equally many fields.

    Of several, the one whose fields look most like single values.
    """
    text = without_quotes(sample).decode("utf-8")
    if stray := _STRAY.search(text):  # from here on it is not certain what is quoted
        text = text[: text.rfind("\n", 0, stray.start()) + 1] or text
    lines = [line for line in text.split("\n") if line.strip()][:_SAMPLE_RECORDS]
    best, chosen = (0.0, 0.0), ","
    for separator in SEPARATORS if lines else ():
        rows = [line.split(None if separator == " " else separator) for line in lines]
        width, agreeing = Counter(map(len, rows)).most_common(1)[0]
        if width < 2:
            continue
        cells = [cell for row in rows[:50] for cell in row[:200]]
        others = {*SEPARATORS[:4]} - {separator}
        values = _numbers(cells, separator != ",").values.to_list()
        tidy = sum(
            value is not None or not any(other in cell for other in others)
            for value, cell in zip(values, cells, strict=True)
        )
        score = (agreeing / len(rows) if agreeing > 1 or len(rows) == 1 else 0.0, tidy / len(cells))
        if score > best:
            best, chosen = score, separator
    return chosen


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
