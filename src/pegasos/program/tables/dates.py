"""Columns of dates: how they are written, and the days since 1970 began that they are."""

from __future__ import annotations

import datetime
import math

import polars as pl

from pegasos.program.tables.dataset import COMPACT_DATE, DATE, DAY_FIRST, MONTH_FIRST

_TIME = r"(?:[T ](\d\d?):(\d\d)(?::(\d\d(?:\.\d+)?))?(?:Z|([+-])(\d\d):?(\d\d))?)?$"
#: 2024-05-31 or 2024/5/31; 31.5.2024; and 31/5/2024 or 5/31/2024, of which only a whole column may tell which it is.
_YEAR_FIRST = r"^(\d{4})[-/.](\d\d?)[-/.](\d\d?)" + _TIME
_DOTTED = r"^(\d\d?)\.(\d\d?)\.(\d{4})" + _TIME
_SLASHED = r"^(\d\d?)[/-](\d\d?)[/-](\d{4})" + _TIME
#: 20240531, from the year 1900 to 2099.
_COMPACT = (19_000_101, 20_991_231)
#: Fewer numbers may look like 20240531 by chance.
_FEW = 10
#: What a date looks like, for messages.
EXAMPLES = {
    DATE: "2024-05-31 or 31.05.2024",
    DAY_FIRST: "31/05/2024",
    MONTH_FIRST: "05/31/2024",
    COMPACT_DATE: "20240531",
}


def date_kind(series: pl.Series) -> str | None:
    """How the dates of a column are written; None if any of it is no date, or if day and month cannot be told apart.

    >>> (
    ...     date_kind(pl.Series(["1970-01-02", None])),
    ...     date_kind(pl.Series(["1/2/1970", "31/1/1970"])),
    ...     date_kind(pl.Series(["soon"])),
    ... )
    ('date', 'day-first date', None)
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
    """Dates as days, a time being the share of its day; null where something is no date of that kind.

    >>> as_days(pl.Series(["1970-01-02", None, "1.1.1970 12:00", "soon"]), DATE).to_list()
    [1.0, None, 0.5, None]
    """
    if kind == COMPACT_DATE:
        number = series.cast(pl.Float64).round()
        valid = number.is_between(*_COMPACT) & (number == series)
        whole = number.set(~valid.fill_null(False), None).cast(pl.Int64)
        return _days(whole // 10_000, whole // 100 % 100, whole % 100)
    found = _read(series, _YEAR_FIRST, "ymd")
    if found.null_count() > series.null_count():
        found = found.zip_with(found.is_not_null(), _read(series, _DOTTED, "dmy"))
    if kind != DATE and found.null_count() > series.null_count():
        found = found.zip_with(
            found.is_not_null(), _read(series, _SLASHED, "mdy" if kind == MONTH_FIRST else "dmy")
        )
    return found


def day(days: float) -> str:
    """The day that a number of days since 1970 began lies in, for people.

    >>> day(19874.6)
    '2024-05-31'
    """
    return str(datetime.date(1970, 1, 1) + datetime.timedelta(math.floor(days)))


def _read(words: pl.Series, pattern: str, order: str) -> pl.Series:
    """What fits a pattern; `order` says which of its first groups are year, month and day."""
    groups = words.str.extract_groups(pattern).struct.unnest().get_columns()
    date = dict(zip(order, (each.cast(pl.Int64, strict=False) for each in groups[:3]), strict=True))
    hours, minutes, seconds, sign, away_hours, away_minutes = groups[3:]
    parts = [
        each.cast(pl.Float64, strict=False).fill_null(0.0)
        for each in (hours, minutes, seconds, away_hours, away_minutes)
    ]
    share = parts[0] / 24 + parts[1] / (24 * 60) + parts[2] / (24 * 3600)
    east = (sign == "-").fill_null(False).cast(pl.Float64) * -2.0 + 1.0
    return (
        _days(date["y"], date["m"], date["d"])
        + share
        - east * (parts[3] / 24 + parts[4] / (24 * 60))
    )


def _days(year: pl.Series, month: pl.Series, day: pl.Series) -> pl.Series:
    """Null where there is no such day."""
    texts = year.cast(pl.String) + "-" + month.cast(pl.String) + "-" + day.cast(pl.String)
    return texts.str.to_date("%Y-%m-%d", strict=False).cast(pl.Int32).cast(pl.Float64)
