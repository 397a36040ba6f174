"""Columns that number the rows instead of telling something of them: a model that learns from them learns nothing."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import polars as pl

from pegasos.program.tables.messages import listed

_NAMES = ("id", "index", "idx", "row", "rowid", "row_id", "uid", "uuid", "unnamed: 0")
_ENDS = ("_id", " id", "-id")
#: Whole numbers that no two different rows share, though chance would make so many pairs equal, are no measurement.
_REPEATS = 10
#: In fewer rows numbers that grow by one may be anything.
_COUNTING = 10
#: Under a name such as 'id' so many of the numbers must be different, once rows are more than a few.
_DIFFERENT, _FEW = 0.9, 20


def identifiers(series: list[pl.Series]) -> list[str]:
    """The names of columns that look like identifiers, whether or not whole rows are there twice.

    >>> identifiers([pl.Series("customer_id", [17, 4, 9, 30]), pl.Series("calls", [1, 0, 1, 1])])
    ['customer_id']
    """

    @functools.cache
    def different_rows() -> int:
        return pl.DataFrame([each.alias(str(place)) for place, each in enumerate(series)]).hash_rows(seed=0).n_unique()

    return [each.name for each in series if _identifies(each, different_rows)]


def told_identifiers(names: list[str]) -> str:
    """What a person should know of them."""
    what = "looks like an ID and is" if len(names) == 1 else "look like IDs and are"
    return f"{listed(names)} {what} left out, for a model should not see it: --number {listed(names[:1])} uses it all the same"


def _identifies(series: pl.Series, different_rows: Callable[[], int]) -> bool:
    """Whether whole numbers count rows or each belong to one: under a name such as 'id', or where chance would repeat some."""
    name = series.name.strip().lower()
    named = name in _NAMES or name.endswith(_ENDS)
    there = series.drop_nulls() if series.dtype.is_numeric() else series.clear()
    if len(there) < (3 if named else _COUNTING):
        return False
    values = there.to_numpy()
    if not np.all(values == np.rint(values)):
        return False
    if np.all(np.abs(np.diff(values)) == 1) and abs(values[-1] - values[0]) == len(values) - 1:
        return True
    by_chance = len(values) ** 2 / (2 * (values.max() - values.min() + 1))  # so many pairs would be equal
    if not named and by_chance < _REPEATS:
        return False
    different = there.n_unique()
    if different == len(there) or (named and len(there) >= _FEW and different > _DIFFERENT * len(there)):
        return True
    counts = there.value_counts()["count"].to_numpy().astype(np.float64)
    pairs = float(counts @ (counts - 1)) / 2
    return bool(by_chance >= _REPEATS * pairs) and different == different_rows()
