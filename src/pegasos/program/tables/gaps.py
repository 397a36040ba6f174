"""Notes about missing numbers and text columns."""

from __future__ import annotations

import polars as pl

from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import listed


def column_notes(series: list[pl.Series], file: str, strict: bool) -> list[str]:
    """Return notes about missing numbers and text columns; raise BadData if `strict`."""
    words = [each.name for each in series if each.dtype == pl.String]
    missing = {each.name: each.null_count() for each in series if each.dtype != pl.String}
    return gap_notes({name: count for name, count in missing.items() if count}, words, file, strict)


def gap_notes(missing: dict[str, int], words: list[str], file: str, strict: bool) -> list[str]:
    """Return these notes from the number of gaps by column, and the names of text columns."""
    gaps = listed(f"{name} ({count})" for name, count in missing.items())
    columns = f"column{'s' * (len(words) > 1)} {listed(words)}"
    if strict and gaps:
        todo = f"missing numbers in {gaps}; --strict allows none. Fill or drop them"
        raise BadData(f"{file}: {todo}.")
    if strict and words:
        raise BadData(f"{file}: text in {columns}; --strict allows only numbers. Drop it.")
    notes = []
    if gaps:
        how = "filled with the median, plus a missing-value indicator"
        notes.append(f"missing numbers in {gaps}: {how}")
    if words:
        how = "one-hot encoded; categories without training rows become zeros"
        notes.append(f"text {columns}: {how}")
    return notes
