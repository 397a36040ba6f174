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
_BEFORE, _AFTER = r"^(?:[+-]?\s?[$€£¥]?\s?|[$€£¥]\s?[+-])", r"\s?[%$€£¥]?$"
#: Amounts such as $1,234.50 and 12 %, where a comma separates thousands.
_AMOUNT = _BEFORE + r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?" + _AFTER
#: Amounts where a comma may be a decimal point: it separates thousands only if a point follows.
_AMOUNT_WITH_COMMA = _BEFORE + r"(?:\d{1,3}(?:,\d{3})+\.\d+|\d+(?:[.,]\d+)?)" + _AFTER
_SIGNS = r"[$€£¥%\s]"
_NUMBER = re.compile(
    r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?inf(?:inity)?", re.IGNORECASE | re.ASCII
)


def is_missing(cell: str) -> bool:
    return cell.strip().lower() in MISSING


def number(cell: str, commas: bool) -> float | None:
    """Return the number that a cell holds, or None.

    >>> number(" 1.5", False), number("1,5", True), number("x", False)
    (1.5, 1.5, None)
    >>> number("$1,234.50", False), number("-12 %", False), number("1,5 €", True)
    (1234.5, -12.0, 1.5)
    """
    cell = cell.strip()
    if commas and re.match(_COMMA, cell):
        cell = cell.replace(",", ".")
    elif re.match(_AMOUNT_WITH_COMMA if commas else _AMOUNT, cell):
        cell = re.sub(_SIGNS, "", cell)
        cell = cell.replace(",", "." if commas and "." not in cell else "")
    return float(cell) if _NUMBER.fullmatch(cell) else None


@dataclass
class Numbers:
    """A column as numbers: null where missing or no number; which rows hold no number, and which an infinite one."""

    values: pl.Series
    wrong: np.ndarray[Any, Any]
    infinite: np.ndarray[Any, Any]
    commas: bool = False
    #: Whether amounts such as $1,234.50 or 12 % are among them.
    amounts: bool = False


def as_numbers(
    words: pl.Series, commas: bool, values: pl.Series | None = None, *, amounts: bool = True
) -> Numbers:
    """Words as numbers, also amounts such as $1,234.50 or 12 %; `values` are they cast plainly, if that was done already."""
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
    has_amounts = False
    if amounts and (parsed.is_null() & ~missing).any():
        fits = pieces.str.contains(_AMOUNT_WITH_COMMA if commas else _AMOUNT) & parsed.is_null()
        if has_amounts := bool(fits.any()):
            bare = pieces.str.replace_all(_SIGNS, "")
            point = bare.str.contains(".", literal=True) | (not commas)
            bare = bare.str.replace_all(",", "", literal=True).zip_with(
                point, bare.str.replace(",", ".", literal=True)
            )
            parsed = bare.cast(pl.Float64, strict=False).zip_with(fits.fill_null(False), parsed)
    wrong, infinite = (
        (parsed.is_null() & ~missing).to_numpy(),
        parsed.is_infinite().fill_null(False).to_numpy(),
    )
    places = unsure.to_numpy().astype(np.int64)
    return Numbers(
        values.clone().scatter(places, parsed),
        places[wrong],
        places[infinite],
        has_commas,
        has_amounts,
    )


def as_words(words: pl.Series) -> pl.Series:
    """Words without blanks around them; null where missing."""
    words = words.str.strip_chars()
    return words.set(words.str.to_lowercase().is_in(list(MISSING)).fill_null(False), None)
