"""Detection of identifiers: columns that number the rows instead of describing them."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

import numpy as np
import polars as pl

from pegasos.program.tables.messages import listed

#: Names of identifiers: id, row_id, customerID, account no.
_NAMED = re.compile(
    r"(?i:id|index|idx|row|rowid|uid|uuid|guid|unnamed: 0)"
    r"|.*(?i:[_ .-](?:id|uid|uuid|guid|no|nr|number))|.*[a-z](?:Id|ID|No|Nr)"
)
#: Whole numbers are identifiers if all are distinct where chance would make so many pairs equal.
_REPEATS = 10
#: Minimum rows to recognize numbers that grow by one.
_COUNTING = 10
#: Minimum share of distinct values if rows are repeated, from so many rows on.
_DIFFERENT, _FEW = 0.9, 20
#: Text with more distinct values is noted; with more than half of the rows, it is an identifier.
MANY_WORDS, _HALF = 1000, 0.5


def identifiers(series: list[pl.Series]) -> list[pl.Series]:
    """Return the columns that look like identifiers, even if whole rows are repeated.

    >>> ids, calls = pl.Series("customer_id", [17, 4, 9, 30]), pl.Series("calls", [1, 0, 1, 1])
    >>> [each.name for each in identifiers([ids, calls])]
    ['customer_id']
    """

    @functools.cache
    def different_rows() -> int:
        columns = [each.alias(str(place)) for place, each in enumerate(series)]
        return pl.DataFrame(columns).hash_rows(seed=0).n_unique()

    return [
        each
        for each in series
        if (_is_text_id(each) if each.dtype == pl.String else _is_number_id(each, different_rows))
    ]


def identifiers_note(found: list[pl.Series]) -> str:
    """Return the note about excluded identifiers."""
    many = len(found) > 1
    texts = [each.dtype == pl.String for each in found]
    options = [
        f"--{option} {listed([found[texts.index(is_text)].name])}"
        for option, is_text in (("number", False), ("text", True))
        if is_text in texts
    ]
    what, them = (
        ("are excluded as likely IDs", "them") if many else ("is excluded as a likely ID", "it")
    )
    names = listed(each.name for each in found)
    return f"{names} {what}; use {' and '.join(options)} to keep {them}"


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
