"""Values of cells: missing values, numbers and text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

#: Texts of missing values, in lower case.
MISSING = ("", "na", "n/a", "nan", "null", "none", "?")
_COMMA = r"^[+-]?\d+,\d+(?:[eE][+-]?\d+)?$"
_BEFORE, _AFTER = r"^(?:[+-]?\s?[$€£¥]?\s?|[$€£¥]\s?[+-])", r"\s?[%$€£¥]?$"
#: Amounts such as $1,234.50 and 12 %, where a comma separates thousands.
_AMOUNT = _BEFORE + r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?" + _AFTER
#: Amounts where a comma may be a decimal point: it separates thousands only if a point follows.
_AMOUNT_WITH_COMMA = _BEFORE + r"(?:\d{1,3}(?:,\d{3})+\.\d+|\d+(?:[.,]\d+)?)" + _AFTER
_SIGNS = r"[$€£¥%\s]"


@dataclass
class Numbers:
    """Column as numbers, null where missing or no number."""

    values: pl.Series
    #: Rows whose text is no number.
    wrong: np.ndarray[Any, Any] = field(default_factory=lambda: np.empty(0, np.int64))
    #: Whether there are decimal commas, and amounts such as $1,234.50 or 12 %.
    commas: bool = False
    amounts: bool = False


def as_numbers(
    words: pl.Series, commas: bool, values: pl.Series | None = None, *, amounts: bool = True
) -> Numbers:
    """Return text as numbers.

    >>> as_numbers(pl.Series([" 1.5", "NA", "$1,234.50", "-12 %"]), False).values.to_list()
    [1.5, None, 1234.5, -12.0]
    >>> as_numbers(pl.Series(["1,5", "1,5 €", "x"]), True).values.to_list()
    [1.5, 1.5, None]

    Parameters
    ----------
    words : Series
        The text.
    commas : bool
        Whether a comma may be a decimal point.
    values : Series, optional
        The text cast to float, if that was already done.
    amounts : bool
        Whether amounts such as $1,234.50 or 12 % are numbers.
    """
    values = words.cast(pl.Float64, strict=False) if values is None else values
    unsure = (values.is_null() | ~values.is_finite().fill_null(False)).arg_true()
    if not len(unsure):
        return Numbers(values)
    pieces = words.gather(unsure).str.strip_chars()
    missing = pieces.is_null() | pieces.str.to_lowercase().is_in(list(MISSING)).fill_null(True)
    has_commas = has_amounts = False
    if commas:
        fits = pieces.str.contains(_COMMA).fill_null(False)
        has_commas = bool(fits.any())
        pieces = pieces.str.replace(",", ".", literal=True).zip_with(fits, pieces)
    parsed = pieces.cast(pl.Float64, strict=False).fill_nan(None)
    if amounts and (parsed.is_null() & ~missing).any():
        fits = pieces.str.contains(_AMOUNT_WITH_COMMA if commas else _AMOUNT) & parsed.is_null()
        has_amounts = bool(fits.any())
        if has_amounts:
            bare = pieces.str.replace_all(_SIGNS, "")
            point = bare.str.contains(".", literal=True) | (not commas)
            decimal = bare.str.replace(",", ".", literal=True)
            bare = bare.str.replace_all(",", "", literal=True).zip_with(point, decimal)
            parsed = bare.cast(pl.Float64, strict=False).zip_with(fits.fill_null(False), parsed)
    wrong = (parsed.is_null() & ~missing).to_numpy()
    places = unsure.to_numpy().astype(np.int64)
    found = values.clone().scatter(places, parsed)
    return Numbers(found, places[wrong], has_commas, has_amounts)


def as_words(words: pl.Series) -> pl.Series:
    """Return text without blanks around it, null where missing."""
    words = words.str.strip_chars()
    return words.set(words.str.to_lowercase().is_in(list(MISSING)).fill_null(False), None)
