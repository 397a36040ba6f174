"""Data sets as readers return them, the options of readers, and the errors of bad data."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pegasos.engine.runtime.memory import total_bytes
from pegasos.program.errors import BadData as BadData
from pegasos.program.tables.messages import shown

Array = np.ndarray[Any, Any]

#: Kinds of columns: numbers, categories, and dates, which are read as days: 2024-05-31 or
#: 31.05.2024; 31/05/2024; 05/31/2024; 20240531.
NUMBER, TEXT = "number", "text"
DATES = DATE, DAY_FIRST, MONTH_FIRST, COMPACT_DATE = (
    "date",
    "day-first date",
    "month-first date",
    "compact date",
)

#: Wider tables are refused: such data are nearly always sparse.
MOST_COLUMNS = 100_000
TOO_WIDE = f"a table may have {MOST_COLUMNS} columns. Write wide, sparse data as svmlight."


class NoRows(BadData):
    """File without rows."""


class TooLarge(BadData):
    """Rows that exceed the memory limit."""


class NotClasses(BadData):
    """Label column that does not hold classes."""


class NotNumber(BadData):
    """Text in a column of numbers."""

    def __init__(self, message: str, column: str) -> None:
        super().__init__(message)
        self.column = column


@dataclass(frozen=True)
class Column:
    """Name and kind of a feature."""

    name: str
    kind: str = NUMBER


@dataclass(frozen=True)
class ReadOptions:
    """Roles of columns, and limits.

    A column is given by its name, else by its position: from 1, or negative from the end.
    """

    label: str | None = None
    drop: tuple[str, ...] = ()
    group: str | None = None
    weight: str | None = None
    #: Columns read as categories although they look like numbers.
    text: tuple[str, ...] = ()
    #: Columns read as features although they look like identifiers.
    number: tuple[str, ...] = ()
    #: Refuse text columns, missing numbers and missing labels instead of noting them.
    strict: bool = False
    encoding: str | None = None
    #: Maximum bytes of the decoded data; by default half of the machine's memory.
    limit: int | None = None
    #: If False, a label is optional, and the last column is not taken as one.
    labelled: bool = True
    #: Name of the format, detected by default.
    format: str | None = None
    #: Columns copied to predictions, such as an identifier.
    keep: tuple[str, ...] = ()
    #: Name of the label in training, which is read if the file has it and `label` is not given.
    usual_label: str | None = None

    def allowed(self) -> int:
        """Return the limit in bytes."""
        return total_bytes() // 2 if self.limit is None else self.limit


@dataclass(frozen=True)
class Outline:
    """Description of a table from its first rows: roles of columns, and estimated bytes."""

    columns: list[Column]
    label: str | None
    weight: str | None
    group: str | None
    bytes: float
    notes: list[str]
    #: Whether rows are sparse; then the columns are known only after all rows were read.
    sparse: bool = False


def is_frame(X: Any) -> bool:
    """Return whether rows are a polars frame, without importing polars."""
    from scipy import sparse

    return not isinstance(X, np.ndarray) and not sparse.issparse(X)


#: Largest number to learn from: sums of squares over millions of rows stay finite.
LARGEST = 1e140
#: Minimum number of pixels of an image: tables often have a few columns of small whole numbers.
FEWEST_PIXELS = 16


def holds_pixels(X: Any) -> bool:
    """Return whether rows are an array of pixels: whole levels from 0 to 16 or 0 to 255.

    >>> holds_pixels(np.arange(32.0).reshape(2, 16) // 2 % 17), holds_pixels(np.full((2, 16), 0.5))
    (False, False)
    >>> holds_pixels(np.full((2, 16), 16) * [[0], [1]])
    True
    """
    if not isinstance(X, np.ndarray) or not X.size or X.dtype.kind not in "iuf":
        return False
    low, high = float(X.min()), float(X.max())
    in_range = low == 0 and (high == 16 or 100 < high <= 255)
    return X.shape[1] >= FEWEST_PIXELS and in_range and bool((np.rint(X) == X).all())


def guess_image_shape(X: Any) -> tuple[int, int] | None:
    """Return height and width if rows look like square images of at least 8 by 8 gray levels."""
    side = math.isqrt(X.shape[1])
    if side * side != X.shape[1] or side < 8 or not isinstance(X, np.ndarray):
        return None
    is_gray = X.min() >= 0 and 0 < X.max() <= 1
    return (side, side) if is_gray or holds_pixels(X) else None


def holds_words(column: Any) -> bool:
    """Return whether a column of a frame holds text."""
    import polars as pl

    return not column.dtype.is_numeric() and column.dtype not in (pl.Boolean, pl.Null)


@dataclass
class Dataset:
    """Rows with their labels.

    X is an array (float32 or float64) or a CSR matrix of numbers without gaps, or a polars frame of
    Float64 and String columns, null where missing.
    """

    name: str
    X: Any
    columns: list[Column]
    y: Array | None = None
    label_name: str | None = None
    groups: Array | None = None
    weights: Array | None = None
    #: Whether rows belong to the file's own test part; None if it has none.
    test: Array | None = None
    #: Number of rows left out because they have no label.
    unlabelled: int = 0
    #: Columns that are copied to predictions.
    kept: dict[str, list[Any]] = field(default_factory=dict)
    #: Height and width if a row is an image.
    image: tuple[int, int] | None = None
    #: Returns the place of a row, such as "line 12".
    where: Callable[[int], str] | None = None
    #: Notes for the user: the label column, imputed or encoded columns, oddities.
    notes: list[str] = field(default_factory=list)

    @property
    def has_frame(self) -> bool:
        """Whether rows are a frame, with text or missing numbers."""
        return is_frame(self.X)

    def at(self, row: int) -> str:
        """Return the file and the line or row number of a row, for messages."""
        with contextlib.suppress(OSError):  # the file may no longer exist
            if self.where is not None:
                return f"{self.name}, {self.where(row)}"
        return f"{self.name}, row {row + 1}"

    @property
    def labels(self) -> Array:
        """The labels; an error if there are none."""
        if self.y is None:
            raise BadData(f"{self.name} has no labels.")
        return self.y

    def __len__(self) -> int:
        return int(self.X.shape[0])


def take(dataset: Dataset, rows: Array) -> Dataset:
    """Return some rows of a data set with their labels, groups and weights."""
    values = {name: getattr(dataset, name) for name in ("X", "y", "groups", "weights")}
    parts: dict[str, Any] = {
        name: None if value is None else value[rows] for name, value in values.items()
    }
    whole = dataset.where
    where = None if whole is None else lambda row: whole(int(rows[row]))
    return replace(dataset, test=None, where=where, **parts)


def check_sizes(dataset: Dataset) -> None:
    """Refuse the first finite number that is too large: squares summed over rows would overflow."""
    from scipy import sparse

    X = dataset.X
    parts = X.get_columns() if dataset.has_frame else [X.data if sparse.issparse(X) else X]
    for place, part in enumerate(parts):
        if not len(part) or 0 in X.shape or (dataset.has_frame and holds_words(part)):
            continue
        low, high = part.min(), part.max()  # without a copy of all numbers
        if low is None or max(-float(low), float(high)) <= LARGEST:
            continue
        if dataset.has_frame:
            row = int((part.abs() > LARGEST).arg_true()[0])
        else:
            row, place = (int(each[0]) for each in (abs(X) > LARGEST).nonzero())
        where = f"{dataset.at(row)}, column {shown(dataset.columns[place].name)}"
        what = f"{float(X[row, place]):g} is too large to learn from (at most {LARGEST:g})"
        todo = "Correct it, leave it empty if it is not known, or divide the column by a constant"
        raise BadData(f"{where}: {what}. {todo}.")
