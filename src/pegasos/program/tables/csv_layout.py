"""How a table of text is laid out: what stands between fields, and whether the first record holds names."""

from __future__ import annotations

import contextlib
import csv
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from pegasos.program.tables.cell_values import is_missing, number
from pegasos.program.tables.column_roles import LABEL_NAMES
from pegasos.program.tables.csv_records import records, without_quotes
from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import listed, shown
from pegasos.program.tables.read_options import MOST_COLUMNS, TOO_WIDE
from pegasos.program.tables.text_chunks import Chunk

#: White space is written " ": runs of blanks and tabs count as one.
SEPARATORS = ("\t", ";", "|", ",", " ")
#: How much of a file shows its layout.
SAMPLE_BYTES, _SAMPLE_RECORDS = 2**20, 200
#: A quote within a field, where quoted fields are empty.
_STRAY = re.compile(r'[^\s;|,]""|""[^\s;|,]')


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


def find(file: str, beginning: Chunk, expected: Sequence[str] = ()) -> Layout:
    """The layout, from the beginning of a file; `expected` are names that a header is likely to have."""
    end = beginning.data.rfind(b"\n", 0, SAMPLE_BYTES) + 1 if len(beginning.data) > SAMPLE_BYTES else 0
    sample = Chunk(beginning.data[: end or None], beginning.line)  # without a record that the end of the sample cuts
    separator = _separator(sample.data)
    rows: list[list[str]] = []
    with contextlib.suppress(csv.Error):  # a field beyond the reader's bound: the rows before it are the sample
        rows.extend(row for _, row in itertools.islice(records(sample, separator), _SAMPLE_RECORDS))
    if not rows:
        raise BadData(f"{file}, line {sample.line}: a field is too long (is a quote opened and never closed?), or all is blank.")
    width, agreeing = _usual_width(rows[1:] or rows)
    if (most := max(width, len(rows[0]))) > MOST_COLUMNS:
        raise BadData(f"{file} has {most} columns; {TOO_WIDE}")
    header, note = _header(rows, expected)
    if not header:
        return Layout(separator, [f"x{place}" for place in range(1, width + 1)], False, note)
    if len(rows[0]) != width and agreeing > 1:
        raise BadData(f"{file}, line {sample.line}: the names of columns have {len(rows[0])} fields, other lines {width}.")
    names = [name.strip() or f"x{place}" for place, name in enumerate(rows[0], 1)]
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise BadData(f"{file}, line {sample.line}: two columns are called {shown(twice[0])}; give every column its own name.")
    return Layout(separator, names, True, note)


def _usual_width(rows: list[list[str]]) -> tuple[int, int]:
    """How many fields most rows have, and how many rows these are."""
    return Counter(len(row) for row in rows).most_common(1)[0]


def _separator(sample: bytes) -> str:
    """The separator that cuts lines most evenly; of equals the one whose fields are most like single values."""
    text = without_quotes(sample).decode("utf-8")
    if stray := _STRAY.search(text):  # from here on it is not certain what stands in quotes
        text = text[: text.rfind("\n", 0, stray.start()) + 1] or text
    lines = [line for line in text.split("\n") if line.strip()][:_SAMPLE_RECORDS]
    best, chosen = (0.0, 0.0), ","
    for separator in SEPARATORS if lines else ():
        rows = [line.split(None if separator == " " else separator) for line in lines]
        width, agreeing = _usual_width(rows)
        if width < 2:
            continue
        cells, others = [cell for row in rows[:50] for cell in row[:200]], {*SEPARATORS[:4]} - {separator}
        tidy = sum(number(cell, separator != ",") is not None or not any(other in cell for other in others) for cell in cells)
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
    if len(first) > 2 and values in ([float(n) for n in range(len(first))], [float(n + 1) for n in range(len(first))]):
        return True, ["the first row counts the columns and is taken as their names"]
    below = [[row[place] for row in rows[1:] if place < len(row)] for place in range(len(first))]
    named = [value is None and not is_missing(cell) for value, cell in zip(values, first, strict=True)]
    over_numbers = any(word and _all_numbers(cells) for word, cells in zip(named, below, strict=True))
    fractions = any(value is not None and not float(value).is_integer() for value in values)
    if over_numbers and not fractions and sum(named) * 2 >= len(first):
        return True, []
    if len(rows) == 1:
        return all(named) and not expected, []
    if any(value is not None for value in values) or len(set(first)) < len(first) or "" in first:
        return False, []
    fresh = all(cell not in {each.strip() for each in cells} for cell, cells in zip(first, below, strict=True))
    if fresh or any(cell.lower() in LABEL_NAMES for cell in first):
        return True, [f"all columns are words; the first row is taken as their names: {listed(first)}"]
    return False, []


def _all_numbers(cells: list[str]) -> bool:
    present = [cell for cell in cells if not is_missing(cell)]
    return bool(present) and all(number(cell, True) is not None for cell in present)
