"""Values of cells: missing values, numbers, text and dates."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from pegasos.program.tables.dataset import COMPACT_DATE, DATE, DAY_FIRST, MONTH_FIRST

#: Texts of missing values, in lower case.
MISSING = ("", "na", "n/a", "nan", "null", "none", "?")
_COMMA = r"^[+-]?\d+,\d+(?:[eE][+-]?\d+)?$"
_BEFORE, _AFTER = r"^(?:[+-]?\s?[$€£¥]?\s?|[$€£¥]\s?[+-])", r"\s?[%$€£¥]?$"
#: Amounts such as $1,234.50 and 12 %, where a comma separates thousands.
_AMOUNT = _BEFORE + r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?" + _AFTER
#: Amounts where a comma may be a decimal point: it separates thousands only if a point follows.
_AMOUNT_WITH_COMMA = _BEFORE + r"(?:\d{1,3}(?:,\d{3})+\.\d+|\d+(?:[.,]\d+)?)" + _AFTER
_SIGNS = r"[$€£¥%\s]"
_TIME = r"(?:[T ](\d\d?):(\d\d)(?::(\d\d(?:\.\d+)?))?(?:Z|([+-])(\d\d):?(\d\d))?)?$"
#: 2024-05-31 or 2024/5/31; 31.5.2024; and 31/5/2024 or 5/31/2024, as the whole column shows.
_YEAR_FIRST = r"^(\d{4})[-/.](\d\d?)[-/.](\d\d?)" + _TIME
_DOTTED = r"^(\d\d?)\.(\d\d?)\.(\d{4})" + _TIME
_SLASHED = r"^(\d\d?)[/-](\d\d?)[/-](\d{4})" + _TIME
#: 20240531, from the year 1900 to 2099, in columns of at least this many numbers.
_COMPACT, _FEW = (19_000_101, 20_991_231), 10
#: Examples for messages.
EXAMPLES = {
    DATE: "2024-05-31 or 31.05.2024",
    DAY_FIRST: "31/05/2024",
    MONTH_FIRST: "05/31/2024",
    COMPACT_DATE: "20240531",
}


@dataclass
class Numbers:
    """Column as numbers, null where missing or no number."""

    values: pl.Series
    #: Rows whose text is no number.
    wrong: np.ndarray[Any, Any] = field(default_factory=lambda: np.empty(0, np.int64))
    #: Whether there are decimal commas, and amounts such as $1,234.50 or 12 %.
    commas: bool = False
    amounts: bool = False


def as_numbers(words: pl.Series, commas: bool, *, amounts: bool = True) -> Numbers:
    """Return text as numbers.

    >>> as_numbers(pl.Series([" 1.5", "NA", "$1,234.50", "-12 %"]), False).values.to_list()
    [1.5, None, 1234.5, -12.0]
    >>> as_numbers(pl.Series(["1,5", "1,5 €", "x"]), True).values.to_list()
    [1.5, 1.5, None]

    With `commas`, a comma may be a decimal point; with `amounts`, texts such as $1,234.50 or 12 %
    are numbers.
    """
    values = words.cast(pl.Float64, strict=False)
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


def date_kind(series: pl.Series) -> str | None:
    """Return the kind of date of a column; None if a value is no date, or the kind is ambiguous.

    >>> date_kind(pl.Series(["1970-01-02", None])), date_kind(pl.Series(["soon"]))
    ('date', None)
    >>> date_kind(pl.Series(["1/2/1970", "31/1/1970"]))
    'day-first date'
    """
    there = series.drop_nulls()
    kinds: tuple[str, ...] = (DATE, DAY_FIRST, MONTH_FIRST)
    if series.dtype != pl.String:
        kinds = (COMPACT_DATE,) if len(there) >= _FEW and series.dtype.is_numeric() else ()
    elif not len(there) or not there[0][:1].isdigit():
        return None
    fits = [kind for kind in kinds if as_days(there, kind).null_count() == 0]
    return fits[0] if DATE in fits or len(fits) == 1 else None


def as_days(series: pl.Series, kind: str) -> pl.Series:
    """Return dates as days since 1970-01-01, times as fractions; null for anything else.

    >>> as_days(pl.Series(["1970-01-02", None, "1.1.1970 12:00", "soon"]), DATE).to_list()
    [1.0, None, 0.5, None]
    """
    if kind == COMPACT_DATE:
        number = series.cast(pl.Float64).round()
        valid = number.is_between(*_COMPACT) & (number == series)
        whole = number.set(~valid.fill_null(False), None).cast(pl.Int64)
        return _days(whole // 10_000, whole // 100 % 100, whole % 100)
    patterns = [(_YEAR_FIRST, "ymd"), (_DOTTED, "dmy")]
    if kind != DATE:
        patterns.append((_SLASHED, "mdy" if kind == MONTH_FIRST else "dmy"))
    found = pl.Series([None], dtype=pl.Float64).new_from_index(0, len(series))
    for pattern, order in patterns:
        if found.null_count() > series.null_count():
            found = found.zip_with(found.is_not_null(), _parse(series, pattern, order))
    return found


def day(days: float) -> str:
    """Return the date of a number of days since 1970-01-01.

    >>> day(19874.6)
    '2024-05-31'
    """
    return str(datetime.date(1970, 1, 1) + datetime.timedelta(math.floor(days)))


def _parse(words: pl.Series, pattern: str, order: str) -> pl.Series:
    """Return the days of texts that match; `order` names the pattern's first three groups."""
    groups = words.str.extract_groups(pattern).struct.unnest().get_columns()
    date = dict(zip(order, (each.cast(pl.Int64, strict=False) for each in groups[:3]), strict=True))
    hours, minutes, seconds, zone_hours, zone_minutes = (
        groups[place].cast(pl.Float64, strict=False).fill_null(0.0) for place in (3, 4, 5, 7, 8)
    )
    share = hours / 24 + minutes / (24 * 60) + seconds / (24 * 3600)
    east = (groups[6] == "-").fill_null(False).cast(pl.Float64) * -2.0 + 1.0
    zone = east * (zone_hours / 24 + zone_minutes / (24 * 60))
    return _days(date["y"], date["m"], date["d"]) + share - zone


def _days(year: pl.Series, month: pl.Series, day: pl.Series) -> pl.Series:
    """Return days since 1970-01-01; null for dates that do not exist."""
    texts = year.cast(pl.String) + "-" + month.cast(pl.String) + "-" + day.cast(pl.String)
    return texts.str.to_date("%Y-%m-%d", strict=False).cast(pl.Int32).cast(pl.Float64)
