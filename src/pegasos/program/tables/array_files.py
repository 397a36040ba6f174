"""Files of arrays, such as HDF5 and npz, as tables: every feature is a column, as are labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
import polars as pl

from pegasos.program.tables.columns import Roles, place, places_of
from pegasos.program.tables.dataset import (
    MOST_COLUMNS,
    TOO_WIDE,
    Array,
    BadData,
    Column,
    ReadOptions,
)
from pegasos.program.tables.labels import cast, simplest
from pegasos.program.tables.messages import listed, near, shown, size
from pegasos.program.tables.table import Block, TableFile, decoding, row_after

#: Usual names of the arrays of rows, and of labels.
_ROWS, _LABELS = ("X", "x", "data"), ("y", "target", "label", "labels")


class ArrayLike(Protocol):
    """Array in a file: rows are read when they are indexed."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __getitem__(self, rows: slice) -> Any:
        """Return some rows."""


class ArrayFile(TableFile):
    """Arrays of an open file: features, labels, groups and weights.

    Test rows are in arrays such as X_test and y_test, or in a group test beside a group train.
    `options.label`, `group` and `weight` are names of arrays; `decoder` is the name of the format,
    and `close` closes the file.
    """

    header, typed, is_array = True, True, True

    def __init__(
        self,
        name: str,
        decoder: str,
        arrays: Mapping[str, ArrayLike],
        options: ReadOptions,
        close: Callable[[], None],
    ) -> None:
        self._name, self._decoder, self._close = name, decoder, close
        self._limit, self.notes = options.allowed(), []
        self._arrays = _without_groups(arrays)
        rows, self._label = self._find_pair(options)
        pair = [rows] if self._label is None else [rows, self._label]
        self._tested = all(f"{each}_test" in self._arrays for each in pair)
        self._rows = [rows, f"{rows}_test"] if self._tested else [rows]
        self.width = self._check_shapes()
        self._counts = [self._shape(name)[0] for name in self._rows]
        self.rows = sum(self._counts)
        self._group = options.group or ("groups" if "groups" in self._arrays else None)
        self._weight = options.weight or ("weights" if "weights" in self._arrays else None)
        self._features = self._feature_names()
        others = (self._label, self._group, self._weight)
        self.names = [*self._features, *(each for each in others if each)]

    def close(self) -> None:
        """Close the file."""
        self._close()

    def roles(self, options: ReadOptions, name: str) -> Roles:
        """Return the roles of the columns."""
        if options.text:
            what = "holds arrays of numbers; --text is for tables (CSV, Parquet)"
            raise BadData(f"{name} {what}.")
        dropped = {place(self._features, asked, "--drop", name) for asked in options.drop}
        features = [here for here in range(len(self._features)) if here not in dropped]
        if dropped and not features:
            raise BadData(f"{name}: --drop leaves no feature.")
        note = None if self._label is None else f"label: array {shown(self._label)}"
        label, group, weight = map(self._place, (self._label, self._group, self._weight))
        return Roles(features, label, group, weight, note=note)

    def match_roles(self, columns: list[Column], options: ReadOptions, name: str) -> Roles:
        """Return the features by name if the file has those of the model, else by position."""
        wanted, places = [column.name for column in columns], list(range(len(self._features)))
        if wanted != self._features and set(wanted) <= set(self._features):
            places = places_of(wanted, self._features, name)
        if len(places) != len(wanted):
            raise BadData(f"{name} has {len(places)} columns, and the model {len(wanted)}.")
        return Roles(places, self._place(self._label))

    def blocks(self, places: Sequence[int], amount: int) -> Iterator[Block]:
        """Yield the rows, about `amount` bytes at a time, with some columns."""
        width = len(self._features)
        others = {here: self._column(self.names[here]) for here in places if here >= width}
        first = 0
        for name in self._rows:
            for X in self._slices(name, amount):
                X, count = self._as_floats(X), X.shape[0]
                columns = {
                    str(here): others[here][first : first + count] if here in others else X[:, here]
                    for here in places
                }
                test = np.full(count, name != self._rows[0]) if self._tested else None
                share = count / max(1, self.rows or 1)
                yield Block(pl.DataFrame(columns), partial(row_after, first), share, test=test)
                first += count

    def _find_pair(self, options: ReadOptions) -> tuple[str, str | None]:
        """Return the names of the arrays of rows and labels."""
        known, name = list(self._arrays), self._name
        for asked in (options.label, options.group, options.weight):
            if asked is not None and asked not in known:
                hint = f"it has {listed(known)}.{near(asked, known)}"
                raise BadData(f"{name} has no array called {shown(asked)}; {hint}")
        rows = next((each for each in _ROWS if each in known), None)
        names = (options.label, options.usual_label, *_LABELS)
        label = next((each for each in names if each in known and each != rows), None)
        if rows is None:
            has = listed(known) or "none"
            raise BadData(f"{name} has no arrays called X and y, or data and target; it has {has}.")
        if label is None and options.labelled:
            todo = "add an array called y, or use --label ARRAY"
            raise BadData(f"{name} has rows ({shown(rows)}), but no labels; {todo}.")
        return rows, label

    def _check_shapes(self) -> int:
        """Set the shape of images; return the number of features, which all rows share."""
        first = self._shape(self._rows[0])
        for name in self._rows:
            shape = self._shape(name)
            what = f"{self._name}: {shown(name)} has the shape {shape}"
            if len(shape) not in (2, 3) or not math.prod(shape):
                raise BadData(f"{what}; rows and features are needed.")
            if math.prod(shape[1:]) > MOST_COLUMNS:
                raise BadData(f"{what}; {TOO_WIDE}")
            if shape[1:] != first[1:]:
                raise BadData(f"{what}, and {shown(self._rows[0])} {first}.")
        self.image = (first[1], first[2]) if len(first) == 3 else None
        return math.prod(first[1:])

    def _feature_names(self) -> list[str]:
        """Return the names of the features in the file, if they fit, else x1, x2."""
        if "feature_names" in self._arrays:
            names = simplest(self._array("feature_names").ravel()).astype(str).tolist()
            others = {self._label, self._group, self._weight}
            if len(names) == len({*names} - others) == self.width:
                return list(names)
        return [f"x{number}" for number in range(1, self.width + 1)]

    def _place(self, name: str | None) -> int | None:
        return None if name is None else self.names.index(name, len(self._features))

    def _as_floats(self, X: Any) -> Array:
        """Return rows as floats of two dimensions, in their own precision."""
        if X.dtype.kind not in "iufb":
            raise BadData(f"{self._name}: the rows are of type {X.dtype}, not numbers.")
        single = X.dtype.kind == "f" and X.dtype.itemsize <= 4
        return cast(X.reshape(X.shape[0], self.width), np.float32 if single else np.float64)

    def _column(self, name: str) -> pl.Series:
        """Return labels, groups or weights of all rows."""
        arrays, counts = [name], [sum(self._counts)]
        if name == self._label and self._tested:
            arrays, counts = [name, f"{name}_test"], self._counts
        values = []
        for array, count in zip(arrays, counts, strict=True):
            if (shape := self._shape(array)) != (count,):
                what = f"{count} rows, but {shown(array)} of shape {shape}"
                raise BadData(f"{self._name}: {what}; one value per row is needed.")
            values.append(simplest(self._array(array)))
        found = np.concatenate(values)
        return pl.Series(found.tolist() if found.dtype.kind == "U" else found)

    def _shape(self, name: str) -> tuple[int, ...]:
        with decoding(self._name, self._decoder):
            return self._arrays[name].shape

    def _slices(self, name: str, amount: int) -> Iterator[Any]:
        """Yield the rows of an array, about `amount` bytes at a time."""
        (count, *row), array = self._shape(name), self._arrays[name]
        line = math.prod(row) * array.dtype.itemsize
        self._check_bytes(f"a row of {shown(name)}", line)
        step = max(1, amount // max(1, line))
        for start in range(0, count, step):
            with decoding(self._name, self._decoder):
                rows = array[start : start + step]
            yield rows

    def _array(self, name: str) -> Array:
        """Return a whole array within the limit."""
        shape = self._shape(name)
        self._check_bytes(shown(name), math.prod(shape) * self._arrays[name].dtype.itemsize)
        with decoding(self._name, self._decoder):
            return np.asarray(self._arrays[name][:]) if shape else np.zeros(())

    def _check_bytes(self, what: str, taken: int) -> None:
        """Raise BadData for an array larger than the limit."""
        if taken > self._limit:
            most = f"{size(taken)}, more than the memory limit of {size(self._limit)}"
            raise BadData(f"{self._name}: {what} takes {most}.")


def _without_groups(arrays: Mapping[str, ArrayLike]) -> dict[str, ArrayLike]:
    """Return arrays of the groups train and test, if there are any, as X and X_test."""
    groups = {"train": "", "test": "_test"}
    if not any(name.startswith("train/") for name in arrays):
        return {name: array for name, array in arrays.items() if "/" not in name}
    found = {}
    for path, array in arrays.items():
        group, _, name = path.partition("/")
        if group in groups and name:
            found[name + groups[group]] = array
    return found
