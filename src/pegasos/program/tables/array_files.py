"""Files of arrays, such as HDF5 and npz, as tables: features are an array, labels a column."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import polars as pl
from scipy import sparse

from pegasos.program.tables.blocks import Block, decoding, row_after
from pegasos.program.tables.column_kinds import column_notes
from pegasos.program.tables.column_roles import Roles, place, places_of
from pegasos.program.tables.dataset import (
    MOST_COLUMNS,
    TOO_WIDE,
    Array,
    BadData,
    Column,
    Dataset,
    ReadOptions,
    holds_pixels,
)
from pegasos.program.tables.labels import cast, simplest
from pegasos.program.tables.messages import listed, near, shown, size
from pegasos.program.tables.table import ArrayTableFile

#: Usual names of the arrays of rows, and of labels.
_ROWS, _LABELS = ("X", "x", "data"), ("y", "target", "label", "labels")


@dataclass(frozen=True)
class Part:
    """Names of the arrays of rows and labels; `test` says whether they are the test part."""

    rows: str
    labels: str | None
    test: bool | None = None


class ArrayLike(Protocol):
    """Array in a file: rows are read when they are indexed."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __getitem__(self, rows: slice) -> Any:
        """Return some rows."""


class ArrayFile(ArrayTableFile):
    """Arrays of an open file: features, and columns of labels, groups and weights.

    Parameters
    ----------
    name, decoder : str
        Names of the file and of its format.
    arrays : mapping of str to ArrayLike
        The arrays by name.
    options : ReadOptions
        Options, of which `label`, `group` and `weight` are names of arrays.
    close : callable
        Closes the file.
    """

    def __init__(
        self,
        name: str,
        decoder: str,
        arrays: Mapping[str, ArrayLike],
        options: ReadOptions,
        close: Callable[[], None],
    ) -> None:
        self._name, self._decoder, self._arrays, self._close = name, decoder, arrays, close
        self._limit = options.allowed()
        asked = [options.label, options.usual_label]
        self._parts = find_parts(list(arrays), asked, options.labelled, name)
        self._shape = self._row_shape()
        self.notes, self.width = [], math.prod(self._shape)
        self.is_sparse = sparse.issparse(arrays[self._parts[0].rows])
        self._counts = [self._shape_of(part.rows)[0] for part in self._parts]
        self.rows = sum(self._counts)
        self._features = self._feature_names()
        self._label = None
        if all(part.labels for part in self._parts):
            self._label = str(self._parts[0].labels).rpartition("/")[2]
        self._group = self._extra(options.group, "groups")
        self._weight = self._extra(options.weight, "weights")
        self.names = [each for each in (self._label, self._group, self._weight) if each]

    def close(self) -> None:
        """Close the file."""
        self._close()

    def roles(self, options: ReadOptions, name: str) -> Roles:
        """Return the roles of the columns."""
        if options.text:
            what = "holds arrays of numbers; --text is for tables (CSV, Parquet)"
            raise BadData(f"{name} {what}.")
        label, group, weight = (
            None if each is None else self.names.index(each)
            for each in (self._label, self._group, self._weight)
        )
        note = None if self._label is None else f"label: array {shown(self._label)}"
        return Roles([], label, group, weight, note=note)

    def match_roles(self, columns: list[Column], options: ReadOptions, name: str) -> Roles:
        """Return the position of the label; features are matched block by block."""
        return Roles([], None if self._label is None else 0)

    def blocks(self, places: Sequence[int], amount: int) -> Iterator[Block]:
        """Yield the rows, about `amount` bytes at a time, with some columns."""
        columns = {str(place): self._column(self.names[place]) for place in places}
        first = 0
        for part in self._parts:
            for X in self._slices(part.rows, amount):
                count = X.shape[0]
                frame = pl.DataFrame(
                    {key: each[first : first + count] for key, each in columns.items()}
                )
                share = count / max(1, self.rows or 1)
                where = partial(row_after, first)
                test = None if part.test is None else np.full(count, part.test)
                yield Block(frame, where, share, test=test, array=self._as_table(X))
                first += count

    def add_features(self, found: Dataset, X: Any, options: ReadOptions) -> None:
        """Give the data set its features and their names."""
        names, image = self._features, self._shape if len(self._shape) == 2 else None
        if options.drop:
            dropped = {place(names, asked, "--drop", found.name) for asked in options.drop}
            kept = [here for here in range(len(names)) if here not in dropped]
            if not kept:
                raise BadData(f"{found.name}: --drop leaves no feature.")
            X, names = X[:, kept], [names[here] for here in kept]
        else:
            found.image = (image[0], image[1]) if image else _image_shape(X)
        if not np.isfinite(X if isinstance(X, np.ndarray) else X.data).all():
            X = _frame(X, names, found)
            found.notes += column_notes(X.get_columns(), found.name, options.strict)
        found.X, found.columns = X, [Column(name) for name in names]

    def match_features(self, found: Dataset, X: Any, columns: list[Column], as_frame: bool) -> Any:
        """Return the features of a model, by name if the file has these, else by position."""
        names, rows = self._features, X if isinstance(X, np.ndarray) else X.toarray()
        wanted = [column.name for column in columns]
        if names != wanted and set(wanted) <= set(names):
            rows = rows[:, places_of(wanted, names, found.name)]
        if rows.shape[1] != len(wanted):
            counts = f"{rows.shape[1]} columns, and the model {len(wanted)}"
            raise BadData(f"{found.name} has {counts}.")
        if as_frame or not np.isfinite(rows).all():
            frame = _frame(rows, wanted, found)
            if as_frame:
                return frame
            row, column = np.argwhere(np.isnan(rows))[0].tolist()
            what = "has no number; the model was trained without missing values"
            raise BadData(f"{found.at(row)}: column {shown(wanted[column])} {what}.")
        return cast(rows, np.float64)

    def _row_shape(self) -> tuple[int, ...]:
        """Return the shape of a row, which all parts share."""
        shapes = [self._shape_of(part.rows) for part in self._parts]
        for part, shape in zip(self._parts, shapes, strict=True):
            what = f"{self._name}: {shown(part.rows)} has the shape {shape}"
            if len(shape) not in (2, 3) or not math.prod(shape):
                raise BadData(f"{what}; rows and features are needed.")
            if math.prod(shape[1:]) > MOST_COLUMNS and not self.is_sparse:
                raise BadData(f"{what}; {TOO_WIDE}")
            if shape[1:] != shapes[0][1:]:
                raise BadData(f"{what}, and {shown(self._parts[0].rows)} {shapes[0]}.")
        return shapes[0][1:]

    def _extra(self, asked: str | None, usual: str) -> str | None:
        """Return the name of the array of groups or weights, if there is one."""
        if asked is not None and asked not in self._arrays:
            known = listed(self._arrays)
            raise BadData(f"{self._name} has no array called {shown(asked)}; it has {known}.")
        return asked or (usual if usual in self._arrays else None)

    def _as_table(self, X: Any) -> Any:
        """Return rows as floats of two dimensions, in their own precision."""
        if X.dtype.kind not in "iufb":
            raise BadData(f"{self._name}: the rows are of type {X.dtype}, not numbers.")
        single = X.dtype.kind == "f" and X.dtype.itemsize <= 4
        return cast(X.reshape(X.shape[0], self.width), np.float32 if single else np.float64)

    def _feature_names(self) -> list[str]:
        """Return the names of the features in the file, if they fit, else x1, x2."""
        if "feature_names" in self._arrays:
            found = simplest(self._array("feature_names").ravel()).astype(str).tolist()
            if len(found) == len({*found}) == self.width:
                return list(found)
        return [f"x{number}" for number in range(1, self.width + 1)]

    def _column(self, name: str) -> pl.Series:
        """Return labels, groups or weights of all rows."""
        arrays, counts = [name], [sum(self._counts)]
        if name == self._label:
            arrays, counts = [str(part.labels) for part in self._parts], self._counts
        values = []
        for array, count in zip(arrays, counts, strict=True):
            if (shape := self._shape_of(array)) != (count,):
                what = f"{count} rows, but {shown(array)} of shape {shape}"
                raise BadData(f"{self._name}: {what}; one value a row is needed.")
            values.append(simplest(self._array(array)))
        found = np.concatenate(values)
        return pl.Series(found.tolist() if found.dtype.kind == "U" else found)

    def _shape_of(self, name: str) -> tuple[int, ...]:
        with decoding(self._name, self._decoder):
            return self._arrays[name].shape

    def _slices(self, name: str, amount: int) -> Iterator[Any]:
        """Yield the rows of an array, about `amount` bytes at a time."""
        (count, *row), array = self._shape_of(name), self._arrays[name]
        line = math.prod(row) * array.dtype.itemsize
        if not sparse.issparse(array):
            self._check_bytes(f"a row of {shown(name)}", line)
        step = max(1, amount // max(1, line))
        for start in range(0, count, step):
            with decoding(self._name, self._decoder):
                rows = array[start : start + step]
            yield rows

    def _array(self, name: str) -> Array:
        """Return a whole array within the limit."""
        shape = self._shape_of(name)
        self._check_bytes(shown(name), math.prod(shape) * self._arrays[name].dtype.itemsize)
        with decoding(self._name, self._decoder):
            return np.asarray(self._arrays[name][:]) if shape else np.zeros(())

    def _check_bytes(self, what: str, taken: int) -> None:
        """Refuse what takes more than the limit."""
        if taken > self._limit:
            most = f"{size(taken)}, and {size(self._limit)} are allowed"
            raise BadData(f"{self._name}: {what} takes {most}.")


def _image_shape(X: Any) -> tuple[int, int] | None:
    """Return height and width if rows look like square images of at least 8 by 8 gray levels."""
    side = math.isqrt(X.shape[1])
    if side * side != X.shape[1] or side < 8 or not isinstance(X, np.ndarray):
        return None
    is_gray = X.min() >= 0 and 0 < X.max() <= 1
    return (side, side) if is_gray or holds_pixels(X) else None


def _frame(X: Any, names: Sequence[str], found: Dataset) -> pl.DataFrame:
    """Return rows as a frame, with NaN as missing; refuse infinite numbers."""
    if not isinstance(X, np.ndarray):
        raise BadData(f"{found.name}: the sparse matrix holds numbers that are not finite.")
    if (infinite := np.argwhere(np.isinf(X))).size:
        row, column = infinite[0].tolist()
        what = f"column {shown(names[column])}: the number is infinite"
        raise BadData(f"{found.at(row)}, {what}.")
    return pl.DataFrame(cast(X, np.float64), schema=list(names), orient="row").fill_nan(None)


def find_parts(
    arrays: Sequence[str], asked: Sequence[str | None], labelled: bool, file: str
) -> list[Part]:
    """Return the arrays of rows and labels, training rows first.

    Test rows are in arrays such as X_test, or in the groups train and test. `asked` are names that
    labels may have; the first one, if given, must exist.
    """
    if any(name.startswith("train/") for name in arrays):
        groups: dict[str, bool | None] = {"train/": False, "test/": True}
    else:
        groups = {"": None}
    parts: list[Part] = []
    for group, test in groups.items():
        inside = [name.removeprefix(group) for name in arrays if name.startswith(group)]
        known = [name for name in inside if "/" not in name]
        if known or not parts:
            rows, label = _find_pair(known, asked, labelled, file)
            parts.append(Part(group + rows, label and group + label, test))
    rows, label = parts[0].rows, parts[0].labels
    test_label = f"{label}_test" if f"{label}_test" in arrays else None
    if len(parts) == 1 and f"{rows}_test" in arrays and (test_label or not labelled):
        return [Part(rows, label, False), Part(f"{rows}_test", test_label, True)]
    return parts


def _find_pair(
    known: Sequence[str], asked: Sequence[str | None], labelled: bool, file: str
) -> tuple[str, str | None]:
    if asked[0] is not None and asked[0] not in known:
        hint = f"it has {listed(known)}.{near(asked[0], known)}"
        raise BadData(f"{file} has no array called {shown(asked[0])}; {hint}")
    rows = next((name for name in _ROWS if name in known), None)
    label = next((name for name in (*asked, *_LABELS) if name in known and name != rows), None)
    if rows is None:
        has = listed(known) or "none"
        raise BadData(f"{file} has no arrays called X and y, or data and target; it has {has}.")
    if label is None and labelled:
        todo = "add an array called y, or use --label ARRAY"
        raise BadData(f"{file} has rows ({shown(rows)}), but no labels; {todo}.")
    return rows, label
