"""Data sets from files of arrays, such as HDF5 and npz."""

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

#: Usual names of the arrays of rows and labels.
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
    """Names of the arrays of rows and labels; `test` says whether they are the test part."""

    rows: str
    labels: str | None
    test: bool | None = None

    @property
    def label_name(self) -> str | None:
        """Name of the labels without that of their group."""
        return None if self.labels is None else self.labels.rpartition("/")[2]


class ArrayFile(ABC):
    """Arrays of an open file by name; their declared sizes are checked before they are read.

    Parameters
    ----------
    name : str
        Name of the file.
    limit : int
        Maximum number of bytes of the arrays that are read whole.
    names : iterable of str
        Names of the arrays.
    """

    def __init__(self, name: str, limit: int, names: Iterable[str]) -> None:
        self.name, self.limit, self.used, self.names = name, limit, 0, list(names)

    @abstractmethod
    def declared(self, name: str) -> tuple[tuple[int, ...], int]:
        """Return shape and item size of an array without reading it."""

    @abstractmethod
    def slices(self, name: str, amount: int) -> Iterator[Any]:
        """Yield the rows of an array, about `amount` bytes at a time; nothing is without rows."""

    @abstractmethod
    def parts(self, asked: Sequence[str | None], labelled: bool) -> list[Part]:
        """Return where rows and labels are, training rows first; `asked` as in `find_pair`."""

    def array(self, name: str) -> Array:
        """Return a whole array within the limit."""
        shape = self.spend(name)
        parts = list(self.slices(name, self.limit + 1)) if shape else []
        if len(parts) == 1:
            return np.asarray(parts[0])
        return np.concatenate(parts) if parts else np.zeros(shape)

    def spend(self, name: str) -> tuple[int, ...]:
        """Count the bytes of an array, and refuse it if there are too many; return its shape."""
        shape, itemsize = self.declared(name)
        self.used += math.prod(shape) * itemsize
        if self.used > self.limit:
            taken = f"the arrays take {size(self.used)}, and {size(self.limit)} are allowed"
            raise BadData(f"{self.name}: with {shown(name)} {taken}.")
        return shape

    def feature_names(self) -> list[str] | None:
        """Return the names of columns, if the file has them."""
        if "feature_names" not in self.names:
            return None
        return simplest(self.array("feature_names").ravel()).tolist()

    def extra(self, asked: str | None, usual: str) -> Array | None:
        """Return the array of groups or weights, if there is one."""
        if asked is not None and asked not in self.names:
            known = listed(self.names)
            raise BadData(f"{self.name} has no array called {shown(asked)}; it has {known}.")
        name = asked or usual
        return self.array(name) if name in self.names else None


#: Opens a file whose arrays may take so many bytes.
Opener = Callable[[Source, int], AbstractContextManager[ArrayFile]]


def find_pair(
    known: Sequence[str], asked: Sequence[str | None], labelled: bool, file: str
) -> tuple[str, str | None]:
    """Return the names of the arrays of rows and labels.

    `asked` are names that labels may have; the first one, if given, must exist.
    """
    if asked[0] is not None and asked[0] not in known:
        hint = f"it has {listed(known)}.{near(asked[0], known)}"
        raise BadData(f"{file} has no array called {shown(asked[0])}; {hint}")
    rows, usual = next((each for each in PAIRS if set(each) <= set(known)), (None, None))
    rows = rows or next((rows for rows, _ in PAIRS if rows in known), None)
    label = next((name for name in asked if name in known and name != rows), usual)
    if rows is None:
        has = listed(known) or "none"
        raise BadData(f"{file} has no arrays called X and y, or data and target; it has {has}.")
    if label is None and labelled:
        todo = "add an array called y, or use --label ARRAY"
        raise BadData(f"{file} has rows ({shown(rows)}), but no labels; {todo}.")
    return rows, label


def read(shards: Shards, opener: Opener, options: ReadOptions) -> Dataset:
    """Read all rows of all files; a test part is marked."""
    found: list[Dataset] = []
    left, names = options.allowed(), None
    for source in shards.sources:
        with opener(source, left) as file:
            whole = _joined(file.name, list(_parts(file, options)))
            whole.groups = file.extra(options.group, "groups")
            whole.weights = file.extra(options.weight, "weights")
            names, left = names or file.feature_names(), left - file.used
        found.append(whole)
        if not len(whole) and len(shards.sources) > 1:
            shards.skip(source, NoRows(""))
    where = shards.rows_of([len(each) for each in found])
    return _checked(_joined(shards.name, found), names, options, where)


def stream(
    shards: Shards, opener: Opener, wanted: Wanted, options: ReadOptions
) -> Iterator[Dataset]:
    """Yield rows with the columns of a model, file by file."""
    for source in shards.sources:
        with opener(source, options.allowed()) as file:
            names, before = file.feature_names(), 0
            for part in file.parts((options.label, wanted.label_name), labelled=False):
                for block in _blocks(file, part, wanted.chunk):
                    count = block.X.shape[0]
                    yield _as_wanted(block, names, wanted, before)
                    before += count


def _parts(file: ArrayFile, options: ReadOptions) -> Iterator[Dataset]:
    """Yield the parts of a file whole, with labels if all parts have them."""
    parts = file.parts((options.label,), options.labelled)
    labelled = all(part.labels is not None for part in parts)
    for part in parts:
        part = part if labelled else replace(part, labels=None)
        for block in _blocks(file, part, None):
            yield replace(block, name=f"{file.name}: {shown(part.rows)}")


def _blocks(file: ArrayFile, part: Part, amount: int | None) -> Iterator[Dataset]:
    """Yield the rows of a part, about `amount` bytes at a time, or all at once."""
    shape, _ = file.declared(part.rows)
    if not shape:
        raise BadData(f"{file.name}: {shown(part.rows)} is a single value, not a table.")
    if math.prod(shape[1:]) > MOST_COLUMNS:
        raise BadData(f"{file.name}: {shown(part.rows)} has rows of shape {shape[1:]}; {TOO_WIDE}")
    if amount is None:
        file.spend(part.rows)
    y = None if part.labels is None else file.array(part.labels)
    if y is not None:
        _check_length(file.name, shape[0], shown(part.labels), y)
        y = y if amount is None else simplest(y)
    first = 0
    whole = [np.zeros(shape)] if not shape[0] else None
    for X in whole or file.slices(part.rows, file.limit + 1 if amount is None else amount):
        last = first + X.shape[0]
        labels = None if y is None else y[first:last]
        test = None if part.test is None else np.full(last - first, part.test)
        yield Dataset(file.name, X, [], labels, part.label_name, test=test)
        first = last


def _joined(name: str, parts: list[Dataset]) -> Dataset:
    """Return the rows of all parts; each must have the same arrays, with rows of one shape."""
    first = parts[0]
    if len(parts) == 1:
        return replace(first, name=name)
    rule = f"all parts of a table have the same columns. {REMEDY}"
    for each in parts:
        if each.X.shape[1:] != first.X.shape[1:] or type(each.X) is not type(first.X):
            other = f"and {first.name} of shape {first.X.shape[1:]} or of another kind"
            raise BadData(f"{each.name} has rows of shape {each.X.shape[1:]}, {other}; {rule}")
        for what in ("y", "groups", "weights"):
            if (getattr(each, what) is None) != (getattr(first, what) is None):
                lacking, having = (each, first) if getattr(each, what) is None else (first, each)
                word = "labels" if what == "y" else what
                raise BadData(f"{lacking.name} has no {word}, and {having.name} has; {rule}")

    def all_of(values: list[Array | None]) -> Array | None:
        return None if values[0] is None else np.concatenate(values)  # type: ignore[arg-type]

    rows = [each.X for each in parts]
    tests = [np.zeros(len(each), bool) if each.test is None else each.test for each in parts]
    return replace(
        first,
        name=name,
        X=np.concatenate(rows) if isinstance(rows[0], np.ndarray) else sparse.vstack(rows, "csr"),
        y=all_of([each.y for each in parts]),
        groups=all_of([each.groups for each in parts]),
        weights=all_of([each.weights for each in parts]),
        test=np.concatenate(tests) if any(each.test is not None for each in parts) else None,
    )


def _check_length(file: str, rows: int, name: str, values: Array) -> None:
    if values.shape != (rows,):
        shape = f"{rows} rows, but {name} of shape {values.shape}; one value a row is needed"
        raise BadData(f"{file}: {shape}.")


def _checked(
    found: Dataset, names: list[str] | None, options: ReadOptions, where: Where
) -> Dataset:
    """Return the data set of arrays that were read whole; X may be a CSR matrix."""
    file, image = found.name, found.X.shape[1:] if found.X.ndim == 3 else None
    if options.text:
        raise BadData(f"{file} holds arrays of numbers; --text is for tables (CSV, Parquet).")
    X = _as_table(found.X, file)
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
    found = replace(found, X=X, where=where)
    if found.y is not None:
        label = found.label_name or "y"
        found = _labelled_rows(found)
        where = found.where or where
        found.notes += unlabelled_note(found.unlabelled, count, label, file, options.strict)
        found.y = checked_labels(found.labels, label, file, where)
        found.notes.append(f"label: array {shown(label)}")
    if found.weights is not None:
        found.weights = checked_weights(found.weights, "weights", file, where)
    X = found.X
    if options.drop:
        dropped = {place(names, asked, "--drop", file) for asked in options.drop}
        keep = [here for here in range(width) if here not in dropped]
        if not keep:
            raise BadData(f"{file}: --drop leaves no feature.")
        X, names = X[:, keep], [names[here] for here in keep]
    elif image is None:
        image = _image_shape(X)
    if not np.isfinite(X if isinstance(X, np.ndarray) else X.data).all():
        X = _frame(X, names, file, where)
        found.notes += gaps_and_words(X.get_columns(), file, options.strict)
    found.X, found.columns, found.image = X, [Column(name) for name in names], image
    return found


def _as_table(X: Any, file: str) -> Any:
    """Return rows as floats of two dimensions, in their own precision."""
    if X.dtype.kind not in "iufb":
        raise BadData(f"{file}: the rows are of type {X.dtype}, not numbers.")
    if X.ndim == 3:
        X = X.reshape(X.shape[0], -1)
    if X.ndim != 2:
        needed = "two are needed: rows and features"
        raise BadData(f"{file}: the rows have {X.ndim} dimensions; {needed}.")
    return cast(X, np.float32 if X.dtype.kind == "f" and X.dtype.itemsize <= 4 else np.float64)


def _image_shape(X: Any) -> tuple[int, int] | None:
    """Return height and width if rows look like square images of at least 8 by 8 gray levels."""
    side = math.isqrt(X.shape[1])
    if side * side != X.shape[1] or side < 8 or not isinstance(X, np.ndarray):
        return None
    low, high = float(X.min()), float(X.max())
    if low < 0 or not high > 0:
        return None
    whole = high == 16 or 100 < high <= 255
    levels = high <= 1 or (whole and bool(np.all(np.rint(X) == X)))
    return (side, side) if levels else None


def _frame(X: Any, names: Sequence[str], file: str, where: Where) -> pl.DataFrame:
    """Return rows as a frame, with NaN as missing; refuse infinite numbers."""
    if not isinstance(X, np.ndarray):
        raise BadData(f"{file}: the sparse matrix holds numbers that are not finite.")
    if (infinite := np.argwhere(np.isinf(X))).size:
        row, column = infinite[0].tolist()
        what = f"column {shown(names[column])}: the number is infinite"
        raise BadData(f"{file}, {where(row)}, {what}.")
    return pl.DataFrame(cast(X, np.float64), schema=list(names)).fill_nan(None)


def _as_wanted(found: Dataset, names: list[str] | None, wanted: Wanted, first: int) -> Dataset:
    """Return rows with the columns of a model; `first` is the number of rows before these."""
    file, X = found.name, found.X
    X = _as_table(X.toarray() if sparse.issparse(X) else X, file)
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
            what = "has no number; the model was trained without missing values"
            raise BadData(f"{file}, {where(row)}: column {shown(wanted.names[column])} {what}.")
    found = replace(found, X=rows, columns=wanted.columns, where=where)
    return _labelled_rows(found) if wanted.labelled else found


def _labelled_rows(found: Dataset) -> Dataset:
    """Return the rows whose label is not NaN, and count the others."""
    if found.y is None or found.y.dtype.kind != "f" or not np.isnan(found.y).any():
        return found
    there = ~np.isnan(found.y)
    test = None if found.test is None else found.test[there]
    kept = take(found, np.flatnonzero(there))
    return replace(kept, test=test, unlabelled=len(there) - int(there.sum()))
