"""Kinds of columns: numbers, categories, dates, identifiers; and notes on columns."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

import numpy as np
import polars as pl

from pegasos.program.tables.cells import EXAMPLES, date_kind
from pegasos.program.tables.dataset import DATE, NUMBER, TEXT, Array, BadData
from pegasos.program.tables.messages import listed

#: Names of identifiers: id, row_id, customerID, account no.
_NAMED = re.compile(
    r"(?i:id|index|idx|row|rowid|uid|uuid|guid|unnamed: 0)"
    r"|.*(?i:[_ .-](?:id|uid|uuid|guid|no|nr|number))|.*[a-z](?:Id|ID|No|Nr)"
)
#: Whole numbers are identifiers if all are distinct where chance would make this many pairs equal.
_REPEATS = 10
#: Minimum rows to recognize numbers that grow by one.
_COUNTING = 10
#: Minimum share of distinct values if rows are repeated, from this many rows on.
_DIFFERENT, _FEW = 0.9, 20
#: Text with more distinct values is noted; with more than half of the rows, it is an identifier.
MANY_WORDS, _HALF = 1000, 0.5
#: Repeated rows are not searched in tables of more cells.
_CELLS = 5_000_000


def find_kinds(series: list[pl.Series], asked: set[str]) -> tuple[dict[str, str], list[str]]:
    """Return the kind of each feature that is no identifier, and notes.

    Columns in `asked`, named by --number or --text, are neither dates nor identifiers; identifiers
    stay if nothing else would.
    """
    dates: dict[str, str] = {
        each.name: kind
        for each in series
        if each.name not in asked and (kind := date_kind(each)) is not None
    }
    ids = [each for each in _identifiers(series) if each.name not in asked | dates.keys()]
    ids = ids if len(ids) < len(series) else []
    notes = [_identifiers_note(ids)] if ids else []
    if dates:
        how = [
            name if kind == DATE else f"{name} (as {EXAMPLES[kind]})"
            for name, kind in dates.items()
        ]
        notes.append(f"dates in {listed(how)}: read as days since 1970-01-01")
    left_out = {each.name for each in ids}
    kinds = {
        each.name: dates.get(each.name, TEXT if each.dtype == pl.String else NUMBER)
        for each in series
        if each.name not in left_out
    }
    return kinds, notes


def _identifiers(series: list[pl.Series]) -> list[pl.Series]:
    """Return the columns that look like identifiers, even if whole rows are repeated."""
    different_rows = functools.cache(lambda: _hash_rows(series).n_unique())
    return [
        each
        for each in series
        if (_is_text_id(each) if each.dtype == pl.String else _is_number_id(each, different_rows))
    ]


def _hash_rows(series: list[pl.Series]) -> pl.Series:
    columns = [each.alias(str(place)) for place, each in enumerate(series)]
    return pl.DataFrame(columns).hash_rows(seed=0)


def _identifiers_note(found: list[pl.Series]) -> str:
    """Return the note about excluded identifiers, with an option for each of their types."""
    first = {each.dtype == pl.String: each.name for each in reversed(found)}
    pairs = (("--number", first.get(False)), ("--text", first.get(True)))
    options = " and ".join(f"{option} {listed([name])}" for option, name in pairs if name)
    names = listed(each.name for each in found)
    if len(found) > 1:
        return f"{names} are excluded as likely IDs; use {options} to keep them"
    return f"{names} is excluded as a likely ID; use {options} to keep it"


def _is_text_id(words: pl.Series) -> bool:
    """Return whether nearly every row has its own text."""
    present = len(words) - words.null_count()
    if present < _FEW:
        return False
    different = words.drop_nulls().n_unique()
    return different > _DIFFERENT * present or different > max(MANY_WORDS, _HALF * present)


def _is_number_id(series: pl.Series, different_rows: Callable[[], int]) -> bool:
    """Return whether whole numbers count the rows, or each belongs to one row.

    The column has a name such as "id", or chance would repeat some numbers.
    """
    named = _NAMED.fullmatch(series.name.strip()) is not None
    there = series.drop_nulls() if series.dtype.is_numeric() else series.clear()
    if len(there) < (3 if named else _COUNTING):
        return False
    values = there.to_numpy()
    if not np.all(values == np.rint(values)):
        return False
    if np.all(np.abs(np.diff(values)) == 1) and abs(values[-1] - values[0]) == len(values) - 1:
        return True
    equal_pairs = len(values) ** 2 / (2 * (values.max() - values.min() + 1))
    if not named and equal_pairs < _REPEATS:
        return False
    different = there.n_unique()
    mostly = len(there) >= _FEW and different > _DIFFERENT * len(there)
    return different == len(there) or (mostly and (named or different == different_rows()))


def gap_notes(missing: dict[str, int], words: list[str], file: str, strict: bool) -> list[str]:
    """Return notes about missing numbers by column, and about text; raise BadData if `strict`."""
    gaps = listed(f"{name} ({count})" for name, count in missing.items() if count)
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


def oddities(series: list[pl.Series], y: Array | None) -> list[str]:
    """Return notes about constant columns, text of many values, and repeated rows."""
    notes = []
    # Comparing the ends first saves the count of distinct values in nearly all columns.
    if constant := [
        each.name
        for each in series
        if len(each) > 1 and each[0] == each[-1] and each.n_unique() == 1
    ]:
        notes.append(f"constant columns carry no information: {listed(constant)}")
    for each in series:
        if each.dtype == pl.String and (different := each.n_unique()) > MANY_WORDS:
            what = f"has {different} different values in {len(each)} rows: --drop it if an ID"
            notes.append(f"text column {listed([each.name])} {what}")
    return notes + (_repeated(series, y) if len(series) * len(series[0]) <= _CELLS else [])


def _repeated(series: list[pl.Series], y: Array | None) -> list[str]:
    """Return notes about repeated rows, and about equal rows with different labels."""
    codes = np.zeros(len(series[0])) if y is None else np.unique(y, return_inverse=True)[1]
    rows = pl.DataFrame({"row": _hash_rows(series), "label": codes})
    different, pairs, notes = rows["row"].n_unique(), rows.n_unique(), []
    if pairs < rows.height:
        what = "rows are exact repeats of others: in validation they may be on both sides"
        notes.append(f"{rows.height - pairs} {what}")
    if pairs > different:
        contrary = rows.filter(pl.col("label").n_unique().over("row") > 1).height
        what = "rows are equal to others in all features but not in the label"
        notes.append(f"{contrary} {what}: no model can predict all of them correctly")
    return notes
