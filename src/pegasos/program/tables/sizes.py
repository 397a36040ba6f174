"""Numbers that are finite, but too large to learn from: their squares, summed over rows, would not be."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from pegasos.program.tables.dataset import BadData, Dataset, holds_words
from pegasos.program.tables.messages import shown

#: Rows by the million may have squares of this size and sums that are numbers.
LARGEST = 1e140


def check_sizes(dataset: Dataset) -> None:
    """Refuse the first number that is too large, with its row and column."""
    if dataset.has_frame:
        columns = [
            (place, series)
            for place, series in enumerate(dataset.X.get_columns())
            if not holds_words(series)
        ]
        wide = [(place, series) for place, series in columns if _beyond(series.min(), series.max())]
        if wide:
            place, series = wide[0]
            raise _refused(dataset, int((series.abs() > LARGEST).arg_true()[0]), place)
        return
    numbers = dataset.X.data if sparse.issparse(dataset.X) else dataset.X
    if numbers.size and _beyond(numbers.min(), numbers.max()):
        rows, places = (abs(dataset.X) > LARGEST).nonzero()
        raise _refused(dataset, int(rows[0]), int(places[0]))


def _beyond(low: Any, high: Any) -> bool:
    return low is not None and max(-float(low), float(high)) > LARGEST


def _refused(dataset: Dataset, row: int, place: int) -> BadData:
    value, name = float(dataset.X[row, place]), dataset.columns[place].name
    remedy = "Correct it, leave it empty if it is not known, or divide the column by a constant"
    return BadData(
        f"{dataset.at(row)}, column {shown(name)}: {value:g} is too large to learn from (at most {LARGEST:g}). {remedy}."
    )
