"""How a table of text is laid out: what stands between fields, and whether the first record holds names."""

from __future__ import annotations

import csv
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pegasos.program.tables.cell_values import is_missing, number
from pegasos.program.tables.column_roles import LABEL_NAMES
from pegasos.program.tables.csv_chunks import Chunk, chunks
from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import listed, shown
from pegasos.program.tables.read_options import MOST_COLUMNS, ReadOptions
from pegasos.program.tables.source import Source

#: White space is written " ": runs of blanks and tabs count as one.
SEPARATORS = ("\t", ";", "|", ",", " ")
_SAMPLE_RECORDS, _SAMPLE_FIELDS, _SAMPLE_BYTES = 200, 300_000, 2**20


@dataclass(frozen=True)
class Layout:
    """What holds for every record of the file."""

    separator: str
    names: list[str]
    header: bool
    notes: list[str] = field(default_factory=list)

    @property
    def width(self) -> int:
        return len(self.names)

    @property
    def commas(self) -> bool:
        """Whether a comma may be the decimal point."""
        return self.separator != ","


def find(source: Source, options: ReadOptions, expected: Sequence[str] = (), amount: int = 2**20) -> Layout:
    """The layout, from the first records; `expected` are names that a header is likely to have."""
    first = next((chunk for chunk in chunks(source, options.encoding, amount, options.allowed()) if chunk.data.strip()), None)
    if first is None:
        raise BadData(f"{source.name} holds nothing but blank lines.")
    separator = _separator(first, source)
    rows = sample(first, separator)
    if not rows:
        raise BadData(f"{source.name} holds nothing but blank lines.")
    width = Counter(len(row) for row in rows[1:] or rows).most_common(1)[0][0]
    if max(width, len(rows[0])) > MOST_COLUMNS:
        raise BadData(f"{source.name} has {width} columns; a table may have {MOST_COLUMNS}. Write wide, sparse data as svmlight.")
    header, note = _header(rows, expected)
    if not header:
        return Layout(separator, [f"x{place}" for place in range(1, width + 1)], False, note)
    names = [name.strip() or f"x{place}" for place, name in enumerate(rows[0], 1)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise BadData(
            f"{source.name}, line {first.line}: two columns are called {shown(twice[0])}; give every column its own name."
        )
    return Layout(separator, names, True, note)


def records(chunk: Chunk, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Line and fields of every record that is not blank, as Python's own reader sees them: slow, exact, for odd cases."""
    text = chunk.data.decode("utf-8").removeprefix("\ufeff")
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
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        line = text[start:end]
        yield line if line.rstrip("\r\n").find("\r") < 0 else line.replace("\r", " ").rstrip(" ") + "\n"
        start = end


def collapsed(text: str) -> str:
    """Runs of blanks and tabs outside quotes as one blank, none at the ends of lines."""
    if '"' in text:
        text = re.sub(r'("[^"\n]*+")|[ \t]+', lambda match: match[1] or " ", text)
    else:
        text = re.sub(r"[ \t]+", " ", text)
    return re.sub(r"(?m)^ | (?=\r?$)", "", text)


def sample(chunk: Chunk, separator: str) -> list[list[str]]:
    """Fields of the first records; a record that was cut at the end of the sample is left out."""
    data = chunk.data
    if len(data) > _SAMPLE_BYTES:
        end = data.rfind(b"\n", 0, _SAMPLE_BYTES) + 1
        data = data[:end] if end else data
    rows: list[list[str]] = []
    fields = 0
    try:
        for _, row in itertools.islice(records(Chunk(data, chunk.line), separator), _SAMPLE_RECORDS):
            rows.append(row)
            fields += len(row)
            if fields > _SAMPLE_FIELDS:
                break
    except csv.Error:
        pass  # a field beyond the reader's bound; what came before it is the sample
    return rows


def _separator(chunk: Chunk, source: Source) -> str:
    """The separator that cuts the sample most evenly; of equals the one whose fields are most like single values."""
    best, chosen, seen = (0.0, 0.0), ",", False
    for separator in SEPARATORS:
        rows = sample(chunk, separator)
        width, agreeing = Counter(len(row) for row in rows).most_common(1)[0] if rows else (0, 0)
        seen |= bool(rows)
        if width < 2:
            continue
        cells = [cell for row in rows[:50] for cell in row[:200]]
        tidy = sum(_tidy(cell, separator) for cell in cells) / len(cells)
        score = (agreeing / len(rows) if agreeing > 1 or len(rows) == 1 else 0.0, tidy)
        if score > best:
            best, chosen = score, separator
    if not seen:
        raise BadData(f"{source.name}, line {chunk.line}: a field is too long; a quote may have been opened and never closed.")
    return chosen


def _tidy(cell: str, separator: str) -> bool:
    if number(cell, separator != ",") is not None:
        return True
    return not any(other in cell for other in SEPARATORS[:4] if other != separator)


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
