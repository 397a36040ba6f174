"""Single values of a table: what is missing, what is a number, what is a word."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

#: Ways to write that nothing is known, in small letters.
MISSING = ("", "na", "n/a", "nan", "null", "none", "?")
#: A date, and perhaps a time of that day.
A_DATE = r"^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)?$"
_COMMA = r"^[+-]?\d+,\d+(?:[eE][+-]?\d+)?$"
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?inf(?:inity)?", re.IGNORECASE | re.ASCII)


def is_missing(cell: str) -> bool:
    return cell.strip().lower() in MISSING


def number(cell: str, commas: bool) -> float | None:
    """The number that a cell holds, or None.

    >>> number(" 1.5", False), number("1,5", True), number("x", False)
    (1.5, 1.5, None)
    """
    cell = cell.strip()
    if commas and re.match(_COMMA, cell):
        cell = cell.replace(",", ".")
    return float(cell) if _NUMBER.fullmatch(cell) else None


@dataclass
class Numbers:
    """A column as numbers: null where missing or no number; which rows hold no number, and which an infinite one."""

    values: pl.Series
    wrong: np.ndarray[Any, Any]
    infinite: np.ndarray[Any, Any]
    commas: bool = False


def as_numbers(words: pl.Series, commas: bool, values: pl.Series | None = None) -> Numbers:
    """Words as numbers; `values` are they cast plainly, if that was done already."""
    values = words.cast(pl.Float64, strict=False) if values is None else values
    unsure = (values.is_null() | ~values.is_finite().fill_null(False)).arg_true()
    if not len(unsure):
        return Numbers(values, np.empty(0, np.int64), np.empty(0, np.int64))
    pieces = words.gather(unsure).str.strip_chars()
    missing = pieces.is_null() | pieces.str.to_lowercase().is_in(list(MISSING)).fill_null(True)
    has_commas = False
    if commas:
        fits = pieces.str.contains(_COMMA).fill_null(False)
        if has_commas := bool(fits.any()):
            pieces = pieces.str.replace(",", ".", literal=True).zip_with(fits, pieces)
    parsed = pieces.cast(pl.Float64, strict=False).fill_nan(None)
    wrong, infinite = (parsed.is_null() & ~missing).to_numpy(), parsed.is_infinite().fill_null(False).to_numpy()
    places = unsure.to_numpy().astype(np.int64)
    return Numbers(values.clone().scatter(places, parsed), places[wrong], places[infinite], has_commas)


def as_days(words: pl.Series) -> pl.Series | None:
    """Dates (2024-05-31, also with a time behind it) as days since 1970 began; None unless all that is there are dates.

    >>> as_days(pl.Series(["1970-01-02", None, "1970-01-01 12:00"])).to_list(), as_days(pl.Series(["1970-01-02", "soon"]))
    ([1.0, None, 0.5], None)
    """
    there = words.drop_nulls()
    if not len(there) or not there.str.contains(A_DATE).all():
        return None
    days = words.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False).cast(pl.Int32).cast(pl.Float64)
    parts = words.str.slice(11, 8).str.extract_groups(r"^(\d\d):(\d\d)(?::(\d\d))?").struct.unnest()
    for part, share in zip(parts.get_columns(), (24, 24 * 60, 24 * 3600), strict=True):
        days = days + part.cast(pl.Float64, strict=False).fill_null(0.0) / share
    return None if days.null_count() > words.null_count() else days


def as_words(words: pl.Series) -> pl.Series:
    """Words without blanks around them; null where missing."""
    words = words.str.strip_chars()
    return words.set(words.str.to_lowercase().is_in(list(MISSING)).fill_null(False), None)
