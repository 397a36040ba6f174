"""What every reader answers: rows, labels and where they came from; and how bad data are refused."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

#: A column of numbers, of words that stand for categories, or of dates, which are numbers of days once they are read: 2024-05-31
#: or 31.05.2024; 31/05/2024; 05/31/2024; 20240531.
NUMBER, TEXT = "number", "text"
DATES = DATE, DAY_FIRST, MONTH_FIRST, COMPACT_DATE = (
    "date",
    "day-first date",
    "month-first date",
    "compact date",
)


class BadData(ValueError):  # noqa: N818 - people read it as "bad data"
    """Data that cannot be used; the message names file, row and column, and what to do."""


class NoRows(BadData):
    """A file in which there is nothing to read."""


class TooLarge(BadData):
    """Rows that do not fit into the memory that they may take."""


class NotClasses(BadData):
    """A column that was taken for the label and does not hold classes."""


class NotNumber(BadData):
    """A word where a column was taken for numbers."""

    def __init__(self, message: str, column: str) -> None:
        super().__init__(message)
        self.column = column


@dataclass(frozen=True)
class Column:
    """A feature: its name, and whether it holds numbers, words or dates."""

    name: str
    kind: str = NUMBER


def is_frame(X: Any) -> bool:
    """Whether rows are a polars frame: what is neither an array nor a sparse matrix. So polars is not loaded to ask."""
    from scipy import sparse

    return not isinstance(X, np.ndarray) and not sparse.issparse(X)


#: Fewer columns than this are no image: columns of small whole numbers are common in ordinary tables.
FEWEST_PIXELS = 16


def is_pixel_range(columns: int, low: float, high: float) -> bool:
    """Return whether so many columns of whole numbers from `low` to `high` look like pixels: levels 0 to 16 or 0 to 255."""
    return columns >= FEWEST_PIXELS and low == 0 and (high == 16 or 100 < high <= 255)


def holds_pixels(X: Any) -> bool:
    """Return whether rows are pixels: an array of whole numbers in such a range.

    >>> holds_pixels(np.arange(32.0).reshape(2, 16) // 2 % 17), holds_pixels(np.full((2, 16), 0.5))
    (False, False)
    >>> holds_pixels(np.full((2, 16), 16) * [[0], [1]])
    True
    """
    if not isinstance(X, np.ndarray) or not X.size or X.dtype.kind not in "iuf":
        return False
    in_range = is_pixel_range(X.shape[1], float(X.min()), float(X.max()))
    return in_range and bool((np.rint(X) == X).all())


def holds_words(column: Any) -> bool:
    """Whether a column of a frame holds words."""
    import polars as pl

    return not column.dtype.is_numeric() and column.dtype not in (pl.Boolean, pl.Null)


@dataclass
class Dataset:
    """Rows with their labels, as a reader found them.

    X is an array (float32 or float64) or a CSR matrix of numbers without gaps; where a column holds words or numbers are
    missing it is a polars frame whose columns are Float64 (null: missing) or String (null: missing).
    """

    name: str
    X: Any
    columns: list[Column]
    y: Array | None = None
    label_name: str | None = None
    groups: Array | None = None
    weights: Array | None = None
    #: True for the rows of the file's own test group; None where the file has none.
    test: Array | None = None
    #: Rows of the file that were left out because they have no label.
    unlabelled: int = 0
    #: Columns that are carried along with predictions, as they stand in the file.
    kept: dict[str, list[Any]] = field(default_factory=dict)
    #: Height and width where a row is an image.
    image: tuple[int, int] | None = None
    #: From a row counted from 0 to words such as "line 12", where the file knows more than its number.
    where: Callable[[int], str] | None = None
    #: What a person should know: which column was taken as the label, what is imputed or encoded, what looks odd.
    notes: list[str] = field(default_factory=list)

    @property
    def has_frame(self) -> bool:
        """Whether rows are a frame: words or missing numbers are among them."""
        return is_frame(self.X)

    def at(self, row: int) -> str:
        """Where a row stands, for messages."""
        with contextlib.suppress(
            OSError
        ):  # what was read once, such as standard input, may be gone
            if self.where is not None:
                return f"{self.name}, {self.where(row)}"
        return f"{self.name}, row {row + 1}"

    @property
    def labels(self) -> Array:
        """The labels, where there must be some."""
        if self.y is None:
            raise BadData(f"{self.name} has no labels.")
        return self.y

    def __len__(self) -> int:
        return int(self.X.shape[0])


def take(dataset: Dataset, rows: Array) -> Dataset:
    """Some rows of a data set, with all that belongs to them."""
    values = {name: getattr(dataset, name) for name in ("X", "y", "groups", "weights")}
    parts: dict[str, Any] = {
        name: None if value is None else value[rows] for name, value in values.items()
    }
    whole = dataset.where
    where = None if whole is None else lambda row: whole(int(rows[row]))
    return replace(dataset, test=None, where=where, **parts)
