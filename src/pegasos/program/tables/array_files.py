"""Arrays of numbers into a dataset: what HDF5 and npz files hold."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from pegasos.program.tables.column_roles import place, places_of
from pegasos.program.tables.column_tables import gaps_and_words
from pegasos.program.tables.dataset import Array, BadData, Column, Dataset, NoRows, take
from pegasos.program.tables.labels import (
    Where,
    cast,
    checked_labels,
    checked_weights,
    simplest,
    unlabelled_note,
)
from pegasos.program.tables.messages import listed, near, shown, size
from pegasos.program.tables.read_options import MOST_COLUMNS, TOO_WIDE, ReadOptions, Wanted
from pegasos.program.tables.shards import REMEDY, Shards
from pegasos.program.tables.source import Source

#: Names that rows and their labels have, as pairs.
PAIRS = (
    ("X", "y"),
    ("x", "y"),
    ("data", "target"),
    ("data", "label"),
    ("data", "labels"),
    ("X", "labels"),
    ("data", "y"),
)


@dataclass(frozen=True)
class Part:
    """Names of the arrays that hold some of the rows, and their labels; `test`: whether it is the test part, if there is one."""

    rows: str
    labels: str | None
    test: bool | None = None

    @property
    def label_name(self) -> str | None:
        return None if self.labels is None else self.labels.rpartition("/")[2]


class ArrayFile(ABC):
    """Arrays of one file by name; what they take is compared with the limit before any is read."""

    def __init__(self, name: str, limit: int, names: Iterable[str]) -> None:
        self.name, self.limit, self.used, self.names = name, limit, 0, list(names)

    @abstractmethod
    def declared(self, name: str) -> tuple[tuple[int, ...], int]:
        """Shape of an array and bytes of one value, without reading it."""

    @abstractmethod
    def load(self, name: str) -> Array:
        """An array that fits into memory."""

    @abstractmethod
    def slices(self, name: str, amount: int) -> Iterator[Array]:
        """The rows in an array, about `amount` bytes at a time."""

    @abstractmethod
    def parts(self, asked: Sequence[str | None], labelled: bool) -> list[Part]:
        """Where rows and labels are, training rows first; `asked` as in `pair`."""

    def array(self, name: str) -> Array:
        """A whole array, within the limit."""
        self.spend(name)
        return self.load(name)

    def spend(self, name: str) -> None:
        shape, itemsize = self.declared(name)
        self.used += math.prod(shape) * itemsize
        if self.used > self.limit:
            taken = f"the arrays take {size(self.used)}, and {size(self.limit)} are allowed"
            raise BadData(f"{self.name}: with {shown(name)} {taken}.")

    def rows(self, name: str) -> Any:
        """All rows in an array."""
        self.check_width(name)
        return self.array(name)

    def check_width(self, name: str) -> None:
        shape, _ = self.declared(name)
        if not shape:
            raise BadData(f"{self.name}: {shown(name)} is a single value, not a table.")
        if math.prod(shape[1:]) > MOST_COLUMNS:
            raise BadData(f"{self.name}: {shown(name)} has rows of shape {shape[1:]}; {TOO_WIDE}")

    def feature_names(self) -> list[str] | None:
        return (
            simplest(self.array("feature_names").ravel()).tolist()
            if "feature_names" in self.names
            else None
        )


def pair(
    known: Sequence[str], asked: Sequence[str | None], labelled: bool, file: str
) -> tuple[str, str | None]:
    """Names of the arrays with rows and labels; `asked` are names that labels may have, first the one that must be there."""
    if asked[0] is not None and asked[0] not in known:
        raise BadData(
            f"{file} has no array called {shown(asked[0])}; it has {listed(known)}.{near(asked[0], known)}"
        )
    rows, usual = next((each for each in PAIRS if set(each) <= set(known)), (None, None))
    rows = rows or next((rows for rows, _ in PAIRS if rows in known), None)
    label = next((name for name in asked if name in known and name != rows), usual)
    if rows is None:
        raise BadData(
            f"{file} has no arrays called X and y, or data and target; it has {listed(known) or 'none'}."
        )
    if label is None and labelled:
        raise BadData(
            f"{file} has rows ({shown(rows)}), but no labels; add an array called y, or use --label ARRAY."
        )
    return rows, label


#: Opens a file; the number is what its arrays may take.
Opener = Callable[[Source, int], AbstractContextManager[ArrayFile]]


def read(shards: Shards, opener: Opener, options: ReadOptions) -> Dataset:
    """All rows of all files."""
    found: list[Dataset] = []
    left, names = options.allowed(), None
    for source in shards.sources:
        with opener(source, left) as file:
            found.append(_found(file, options))
            names, left = names or file.feature_names(), left - file.used
        if not len(found[-1]) and len(shards.sources) > 1:
            shards.skip(source, NoRows(""))
    return _checked(
        _joined(shards, found), names, options, shards.rows_of([len(each) for each in found])
    )


def _joined(shards: Shards, found: list[Dataset]) -> Dataset:
    """The arrays of all files as one; each must have the same arrays, with rows of one shape."""
    first = found[0]
    if len(found) == 1:
        return replace(first, name=shards.name)
    for each in found:
        if each.X.shape[1:] != first.X.shape[1:] or type(each.X) is not type(first.X):
            shapes = (
                f"rows of shape {each.X.shape[1:]}, and {first.name} of shape {first.X.shape[1:]}"
            )
            raise BadData(
                f"{each.name} has {shapes} or of another kind; the files of one table have the same columns. {REMEDY}"
            )
        for what in ("y", "groups", "weights"):
            if (getattr(each, what) is None) != (getattr(first, what) is None):
                lacking, having = (each, first) if getattr(each, what) is None else (first, each)
                word = "labels" if what == "y" else what
                raise BadData(
                    f"{lacking.name} has no {word}, and {having.name} has; all files of one table have them. {REMEDY}"
                )

    def all_of(name: str) -> Array | None:
        return (
            None
            if getattr(first, name) is None
            else np.concatenate([getattr(each, name) for each in found])
        )

    rows = [each.X for each in found]
    X = np.concatenate(rows) if isinstance(first.X, np.ndarray) else sparse.vstack(rows, "csr")
    tests = [np.zeros(len(each), bool) if each.test is None else each.test for each in found]
    test = np.concatenate(tests) if any(each.test is not None for each in found) else None
    return Dataset(
        shards.name, X, [], all_of("y"), first.label_name, all_of("groups"), all_of("weights"), test
    )


def _found(file: ArrayFile, options: ReadOptions) -> Dataset:
    """All rows of a file as they are; a test part is pooled with the others, and marked."""
    parts = file.parts((options.label,), options.labelled)
    tables, labels = [file.rows(part.rows) for part in parts], []
    if len({rows.shape[1:] for rows in tables}) > 1:
        raise BadData(
            f"{file.name}: the rows in {shown(parts[0].rows)} and {shown(parts[1].rows)} are not of the same shape."
        )
    for part, rows in zip(parts, tables, strict=True):
        if part.labels is not None:
            labels.append(file.array(part.labels))
            _check_length(file.name, rows.shape[0], shown(part.labels), labels[-1])
    X = tables[0] if len(tables) == 1 else np.concatenate(tables)
    y = np.concatenate(labels) if len(labels) == len(parts) else None
    test = None if len(parts) == 1 else np.arange(X.shape[0]) >= tables[0].shape[0]
    groups, weights = _extra(file, options.group, "groups"), _extra(file, options.weight, "weights")
    return Dataset(file.name, X, [], y, parts[0].label_name, groups, weights, test)


def _extra(file: ArrayFile, asked: str | None, usual: str) -> Array | None:
    """The array with groups or weights, if there is one."""
    if asked is not None and asked not in file.names:
        raise BadData(
            f"{file.name} has no array called {shown(asked)}; it has {listed(file.names)}."
        )
    name = asked or usual
    return file.array(name) if name in file.names else None


def _check_length(file: str, rows: int, name: str, values: Array) -> None:
    if values.shape != (rows,):
        raise BadData(
            f"{file}: {rows} rows, but {name} of shape {values.shape}; one value a row is needed."
        )


def stream(
    shards: Shards, opener: Opener, wanted: Wanted, options: ReadOptions
) -> Iterator[Dataset]:
    """Slices of rows, file by file."""
    for source in shards.sources:
        with opener(source, options.allowed()) as file:
            yield from _slices(file, wanted, options)


def _slices(file: ArrayFile, wanted: Wanted, options: ReadOptions) -> Iterator[Dataset]:
    """Slices of rows, those of the test part last; labels, which are small, are read at once."""
    names, before = file.feature_names(), 0
    for part in file.parts((options.label, wanted.label_name), labelled=False):
        file.check_width(part.rows)
        y = None if part.labels is None else simplest(file.array(part.labels))
        first = 0
        for rows in file.slices(part.rows, wanted.chunk):
            count = rows.shape[0]
            labels = None if y is None else y[first : first + count]
            if labels is not None and labels.shape != (count,):
                raise BadData(
                    f"{file.name}: {shown(part.rows)} has more rows than there are labels in {shown(part.labels)}."
                )
            yield _chunk(file.name, rows, labels, names, wanted, part, before + first)
            first += count
        before += first


def _checked(
    found: Dataset, names: list[str] | None, options: ReadOptions, where: Where
) -> Dataset:
    """The dataset of arrays that were read at once; X may be a CSR matrix."""
    file, image = found.name, found.X.shape[1:] if found.X.ndim == 3 else None
    if options.text:
        raise BadData(f"{file} holds arrays of numbers; --text is for tables (CSV, Parquet).")
    X = as_table(found.X, file)
    count, width = X.shape
    if not count or not width:
        raise BadData(f"{file}: the rows have shape {X.shape}; there is nothing to learn from.")
    if names is None or len(names) != width or len(set(names)) != width:
        names = [f"x{number}" for number in range(1, width + 1)]
    if found.groups is not None:
        _check_length(file, count, "groups", found.groups)
        found.groups = simplest(found.groups)
    if found.weights is not None:
        _check_length(file, count, "weights", found.weights)
    if found.y is not None:
        label = found.label_name or "y"
        found = labelled_rows(replace(found, X=X, where=where))
        X, where = found.X, found.where or where
        found.notes += unlabelled_note(found.unlabelled, count, label, file, options.strict)
        found.y = checked_labels(found.labels, label, file, where)
        found.notes.append(f"label: array {shown(label)}")
    if found.weights is not None:
        found.weights = checked_weights(found.weights, "weights", file, where)
    if options.drop:
        gone = {place(names, asked, "--drop", file) for asked in options.drop}
        keep = [here for here in range(width) if here not in gone]
        if not keep:
            raise BadData(f"{file}: --drop leaves no feature.")
        X, names = X[:, keep], [names[here] for here in keep]
    elif image is None:
        image = square(X)
    if not np.isfinite(X if isinstance(X, np.ndarray) else X.data).all():
        X = _frame(X, names, file, where)
        found.notes += gaps_and_words(X.get_columns(), file, options.strict)
    found.X, found.columns, found.image, found.where = (
        X,
        [Column(name) for name in names],
        image,
        where,
    )
    return found


def as_table(X: Any, file: str) -> Any:
    """Rows as floats of two dimensions; single precision stays."""
    if X.dtype.kind not in "iufb":
        raise BadData(f"{file}: the rows are of type {X.dtype}, not numbers.")
    if X.ndim == 3:
        X = X.reshape(X.shape[0], -1)
    if X.ndim != 2:
        raise BadData(
            f"{file}: the rows have {X.ndim} dimensions; two are needed: rows and features."
        )
    return cast(X, np.float32 if X.dtype.kind == "f" and X.dtype.itemsize <= 4 else np.float64)


def square(X: Any) -> tuple[int, int] | None:
    """Height and width if rows look like square images: at least 8 × 8, and levels of grey."""
    side = math.isqrt(X.shape[1])
    if side * side != X.shape[1] or side < 8 or not isinstance(X, np.ndarray):
        return None
    low, high = float(X.min()), float(X.max())
    if low < 0 or not high > 0:
        return None
    levels = high <= 1 or (
        high <= 255 and bool(np.all(np.rint(X) == X)) and (high > 100 or high == 16)
    )
    return (side, side) if levels else None


def _frame(X: Any, names: Sequence[str], file: str, where: Where) -> Any:
    """Rows as a frame, with NaN as missing; infinite numbers are refused."""
    if not isinstance(X, np.ndarray):
        raise BadData(f"{file}: the sparse matrix holds numbers that are not finite.")
    for row, column in np.argwhere(np.isinf(X)).tolist():
        raise BadData(
            f"{file}, {where(row)}, column {shown(names[column])}: the number is infinite."
        )
    return pl.DataFrame(cast(X, np.float64), schema=list(names)).fill_nan(None)


def _chunk(
    file: str,
    X: Array,
    y: Array | None,
    names: list[str] | None,
    wanted: Wanted,
    part: Part,
    first: int,
) -> Dataset:
    """Some rows for a model; `names` are those of the file, if it has any; `first` is the number of rows before these."""
    X = as_table(X, file)
    if names is not None and names != wanted.names and set(wanted.names) <= set(names):
        X = X[:, places_of(wanted.names, names, file)]
    if X.shape[1] != len(wanted.columns):
        raise BadData(f"{file} has {X.shape[1]} columns, and the model {len(wanted.columns)}.")
    rows: Any = cast(X, np.float64)

    def where(row: int) -> str:
        return f"row {row + first + 1}"

    if wanted.frame or not np.isfinite(rows).all():
        rows = _frame(X, wanted.names, file, where)
        if not wanted.frame:
            row, column = np.argwhere(np.isnan(X))[0].tolist()
            what = f"column {shown(wanted.names[column])} has no number; the model was trained without missing values"
            raise BadData(f"{file}, {where(row)}: {what}.")
    test = None if part.test is None else np.full(len(X), part.test)
    found = Dataset(file, rows, wanted.columns, y, part.label_name, test=test, where=where)
    return labelled_rows(found) if wanted.labelled else found


def labelled_rows(dataset: Dataset) -> Dataset:
    """The rows whose label is not NaN, and the number of the others."""
    if dataset.y is None or dataset.y.dtype.kind != "f" or not np.isnan(dataset.y).any():
        return dataset
    there = ~np.isnan(dataset.y)
    test = None if dataset.test is None else dataset.test[there]
    left_out = len(there) - int(there.sum())
    return replace(take(dataset, np.flatnonzero(there)), test=test, unlabelled=left_out)
