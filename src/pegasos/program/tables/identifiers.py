"""Columns that number the rows instead of telling something of them: a model that learns from them learns nothing."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

import numpy as np
import polars as pl

from pegasos.program.tables.messages import listed

#: Names that identifiers have: id, row_id, customerID, account no.
_NAMED = re.compile(
    r"(?i:id|index|idx|row|rowid|uid|uuid|guid|unnamed: 0)|.*(?i:[_ .-](?:id|uid|uuid|guid|no|nr|number))|.*[a-z](?:Id|ID|No|Nr)"
)
#: Whole numbers that no two different rows share, though chance would make so many pairs equal, are no measurement.
_REPEATS = 10
#: In fewer rows numbers that grow by one may be anything.
_COUNTING = 10
#: So many of the values must be different, where rows are there twice, once they are more than a few.
_DIFFERENT, _FEW = 0.9, 20
#: So many words in a column are a reason to look at it; they identify rows where more than half of the values are different.
MANY_WORDS, _HALF = 1000, 0.5


def identifiers(series: list[pl.Series]) -> list[pl.Series]:
    """The columns that look like identifiers, whether or not whole rows are there twice.

    >>> [
    ...     each.name
    ...     for each in identifiers(
    ...         [pl.Series("customer_id", [17, 4, 9, 30]), pl.Series("calls", [1, 0, 1, 1])]
    ...     )
    ... ]
    ['customer_id']
    """

    @functools.cache
    def different_rows() -> int:
        return (
            pl.DataFrame([each.alias(str(place)) for place, each in enumerate(series)])
            .hash_rows(seed=0)
            .n_unique()
        )

    return [
        each
        for each in series
        if (_names_rows(each) if each.dtype == pl.String else _numbers_rows(each, different_rows))
    ]


def identifiers_note(found: list[pl.Series]) -> str:
    """What a person should know of them."""
    many = len(found) > 1
    what, them = ("look like IDs and are", "them") if many else ("looks like an ID and is", "it")
    words = [each.dtype == pl.String for each in found]
    options = [
        f"--{option} {listed([found[words.index(kind)].name])}"
        for option, kind in (("number", False), ("text", True))
        if kind in words
    ]
    use = f"{' and '.join(options)} use{'s' * (len(options) == 1)} {'such columns' if many else 'it'} all the same"
    return f"{listed(each.name for each in found)} {what} left out, for a model should not see {them}: {use}"


def _names_rows(words: pl.Series) -> bool:
    """Whether nearly every row has a word of its own: as a column for each word they could only be learned by heart."""
    present = len(words) - words.null_count()
    if present < _FEW:
        return False
    different = words.drop_nulls().n_unique()
    return different > _DIFFERENT * present or (
        different > MANY_WORDS and different > _HALF * present
    )


def _numbers_rows(series: pl.Series, different_rows: Callable[[], int]) -> bool:
    """Whether whole numbers count rows or each belong to one: under a name such as 'id', or where chance would repeat some."""
    named = _NAMED.fullmatch(series.name.strip()) is not None
    there = series.drop_nulls() if series.dtype.is_numeric() else series.clear()
    if len(there) < (3 if named else _COUNTING):
        return False
    values = there.to_numpy()
    if not np.all(values == np.rint(values)):
        return False
    if np.all(np.abs(np.diff(values)) == 1) and abs(values[-1] - values[0]) == len(values) - 1:
        return True
    by_chance = len(values) ** 2 / (
        2 * (values.max() - values.min() + 1)
    )  # so many pairs would be equal
    if not named and by_chance < _REPEATS:
        return False
    different = there.n_unique()
    mostly = len(there) >= _FEW and different > _DIFFERENT * len(there)
    return different == len(there) or (mostly and (named or different == different_rows()))
