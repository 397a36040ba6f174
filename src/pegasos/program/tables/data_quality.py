"""What a person should look at before training: IDs, constants, repeated rows."""

from __future__ import annotations

import numpy as np
import polars as pl

from pegasos.program.tables.dataset import Array
from pegasos.program.tables.messages import listed

_ID_NAMES = ("id", "index", "idx", "row", "rowid", "row_id", "uid", "uuid", "unnamed: 0")
#: Looking for repeated rows is skipped in tables of more cells.
_CELLS = 5_000_000
_MANY_WORDS = 1000
#: In fewer rows numbers that grow by one may be anything.
_COUNTING = 10


def notes(series: list[pl.Series], y: Array | None) -> list[str]:
    """Lines about columns and rows that look odd."""
    found = []
    # one value only: comparing the ends first spares the count of different values in nearly all columns
    if constant := [each.name for each in series if len(each) > 1 and each[0] == each[-1] and each.n_unique() == 1]:
        found.append(f"constant and so of no use: {listed(constant)}")
    if ids := [each.name for each in series if _counts(each)]:
        what = "looks like an ID" if len(ids) == 1 else "look like IDs"
        found.append(f"{listed(ids)} {what}, which a model should not see: --drop {listed(ids[:1])}")
    for each in series:
        if each.dtype == pl.String:
            different, present = each.n_unique(), len(each) - each.null_count()
            if different > _MANY_WORDS or (present >= 20 and different > 0.9 * present):
                what = f"has {different} different values in {len(each)} rows: --drop it if an ID"
                found.append(f"text column {listed([each.name])} {what}")
    if len(series) * len(series[0]) <= _CELLS:
        found += _repeated(series, y)
    return found


def _counts(series: pl.Series) -> bool:
    """Whether whole numbers count rows, or are all different under a name such as 'id'."""
    named = series.name.strip().lower() in _ID_NAMES
    if series.dtype == pl.String or series.null_count() or len(series) < (3 if named else _COUNTING):
        return False
    values = series.to_numpy()
    if (not named and abs(values[1] - values[0]) != 1) or not np.all(values == np.rint(values)):
        return False
    counts = bool(np.all(np.abs(np.diff(values)) == 1)) and abs(values[-1] - values[0]) == len(values) - 1
    return counts or (named and series.n_unique() == len(series))


def _repeated(series: list[pl.Series], y: Array | None) -> list[str]:
    """How many rows are there again, and how many have a twin with another label."""
    hashes = pl.DataFrame([each.alias(str(place)) for place, each in enumerate(series)]).hash_rows(seed=0)
    different = hashes.n_unique()
    if different == len(hashes):
        return []
    rows = pl.DataFrame({"row": hashes, "label": np.zeros(len(hashes)) if y is None else np.unique(y, return_inverse=True)[1]})
    found, pairs = [], rows.n_unique()
    if pairs < len(hashes):
        found.append(f"{len(hashes) - pairs} rows are exact repeats of others: in validation they may be on both sides")
    if pairs > different:
        count = rows.filter(pl.col("label").n_unique().over("row") > 1).height
        found.append(f"{count} rows are equal to others in all features but not in the label: no model can get all of them right")
    return found
