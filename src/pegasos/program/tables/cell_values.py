"""Single values of a table: what is missing, what is a number, what is a word."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

#: Ways to write that nothing is known, in small letters.
MISSING = ("", "na", "n/a", "nan", "null", "none", "?")
_COMMA = r"^[+-]?\d+,\d+(?:[eE][+-]?\d+)?$"
_NUMBER = re.compile(
    r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?inf(?:inity)?", re.IGNORECASE | re.ASCII
)


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
    wrong, infinite = (
        (parsed.is_null() & ~missing).to_numpy(),
        parsed.is_infinite().fill_null(False).to_numpy(),
    )
    places = unsure.to_numpy().astype(np.int64)
    return Numbers(
        values.clone().scatter(places, parsed), places[wrong], places[infinite], has_commas
    )


def as_words(words: pl.Series) -> pl.Series:
    """Words without blanks around them; null where missing."""
    words = words.str.strip_chars()
    return words.set(words.str.to_lowercase().is_in(list(MISSING)).fill_null(False), None)
