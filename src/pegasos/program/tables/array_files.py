"""Arrays of numbers into a dataset: what HDF5 and npz files hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pegasos.program.tables.column_roles import place
from pegasos.program.tables.dataset import Array, BadData, Column, Dataset
from pegasos.program.tables.labels import cast, checked_labels, checked_weights, simplest
from pegasos.program.tables.messages import listed, shown
from pegasos.program.tables.read_options import ReadOptions, Wanted

#: Names that rows and their labels have, as pairs.
PAIRS = (("X", "y"), ("x", "y"), ("data", "target"), ("data", "label"), ("data", "labels"), ("X", "labels"))


def pair(known: Sequence[str], options: ReadOptions, file: str) -> tuple[str, str | None]:
    """Names of the arrays with rows and labels."""
    if options.label is not None and options.label in known:
        rows = next((rows for rows, _ in PAIRS if rows in known), None)
        if rows is not None:
            return rows, options.label
    for rows, labels in PAIRS:
        if rows in known and labels in known:
            return rows, labels
    alone = next((rows for rows, _ in PAIRS if rows in known), None)
    if alone is not None and not options.labelled:
        return alone, None
    raise BadData(f"{file} has no arrays called X and y, or data and target; it has {listed(known) or 'none'}.")


def extra(known: Sequence[str], asked: str | None, usual: str, file: str) -> str | None:
    """Name of the array with groups or weights, if there is one."""
    if asked is not None and asked not in known:
        raise BadData(f"{file} has no array called {shown(asked)}; it has {listed(known)}.")
    return asked or (usual if usual in known else None)


def dataset(
    file: str,
    X: Any,
    y: Array | None,
    options: ReadOptions,
    label_name: str | None = None,
    names: list[str] | None = None,
    groups: Array | None = None,
    weights: Array | None = None,
    test: Array | None = None,
) -> Dataset:
    """The dataset of arrays that were read whole; X may be a CSR matrix."""
    if options.text:
        raise BadData(f"{file} holds arrays of numbers; --text is for tables (CSV, Parquet).")
    image = None
    if X.ndim == 3:
        image = (int(X.shape[1]), int(X.shape[2]))
    X = rows_of(X, file)
    count, width = X.shape
    if not count or not width:
        raise BadData(f"{file}: the rows have shape {X.shape}; there is nothing to learn from.")
    names = names if names is not None and len(names) == width and len(set(names)) == width else default_names(width)
    for part, values in (("labels", y), ("groups", groups), ("weights", weights)):
        if values is not None and values.shape != (count,):
            raise BadData(f"{file}: {count} rows, but {part} of shape {values.shape}; one number a row is needed.")
    notes = []
    if y is not None:
        y = checked_labels(y, label_name or "y", file, where)
        notes.append(f"label: array {shown(label_name or 'y')}")
    groups = None if groups is None else simplest(groups)
    weights = None if weights is None else checked_weights(weights, "weights", file, where)
    if options.drop:
        gone = {place(names, asked, "--drop", file) for asked in options.drop}
        keep = [here for here in range(width) if here not in gone]
        if not keep:
            raise BadData(f"{file}: --drop leaves no feature.")
        X, names = X[:, keep], [names[here] for here in keep]
    elif image is None:
        image = square(X)
    X, found = _finite(X, names, file, options)
    notes += found
    return Dataset(file, X, [Column(name) for name in names], y, label_name, groups, weights, test, image, notes)


def where(row: int) -> str:
    return f"row {row + 1}"


def default_names(width: int) -> list[str]:
    return [f"x{place}" for place in range(1, width + 1)]


def rows_of(X: Any, file: str) -> Any:
    """Rows as floats of two dimensions; single precision stays."""
    if X.dtype.kind not in "iufb":
        raise BadData(f"{file}: the rows are of type {X.dtype}, not numbers.")
    if X.ndim == 3:
        X = X.reshape(X.shape[0], -1)
    if X.ndim != 2:
        raise BadData(f"{file}: the rows have {X.ndim} dimensions; two are needed: rows and features.")
    if X.dtype.kind == "f" and X.dtype.itemsize <= 4:
        return cast(X, np.float32)
    return cast(X, np.float64)


def square(X: Any) -> tuple[int, int] | None:
    """Height and width if rows look like square images: at least 8 × 8, and levels of grey."""
    side = math.isqrt(X.shape[1])
    if side * side != X.shape[1] or side < 8 or not isinstance(X, np.ndarray):
        return None
    low, high = float(X.min()), float(X.max())
    if low < 0 or not high > 0:
        return None
    levels = high <= 1 or (high <= 255 and bool(np.all(np.rint(X) == X)) and (high > 100 or high == 16))
    return (side, side) if levels else None


def _finite(X: Any, names: list[str], file: str, options: ReadOptions) -> tuple[Any, list[str]]:
    """Rows without gaps as they are, rows with NaN as a frame; infinite numbers are refused."""
    values = X if isinstance(X, np.ndarray) else X.data
    if np.isfinite(values).all():
        return X, []
    if not isinstance(X, np.ndarray):
        raise BadData(f"{file}: the sparse matrix holds numbers that are not finite.")
    refuse_infinite(X, names, file, where)
    import polars as pl

    from pegasos.program.tables.column_tables import gaps_and_words

    frame = pl.DataFrame(cast(X, np.float64), schema=names).fill_nan(None)
    return frame, gaps_and_words(frame.get_columns(), file, options.strict)


def refuse_infinite(X: Array, names: Sequence[str], file: str, row_name: Any) -> None:
    bad = np.argwhere(np.isinf(X))
    if len(bad):
        row, column = (int(n) for n in bad[0])
        raise BadData(f"{file}, {row_name(row)}, column {shown(names[column])}: the number is infinite.")


def chunk(
    file: str, X: Array, y: Array | None, names: Sequence[str] | None, wanted: Wanted, label: str | None, first: int
) -> Dataset:
    """Some rows for a model; `names` are those of the file, if it has any; `first` is the number of rows before these."""
    X = rows_of(X, file)
    chosen: list[int] | slice = slice(None)
    if names is not None and set(wanted.names) <= set(names):
        places = {name: here for here, name in enumerate(names)}
        chosen = [places[name] for name in wanted.names]
    elif X.shape[1] != len(wanted.columns):
        raise BadData(f"{file} has {X.shape[1]} columns, and the model {len(wanted.columns)}.")
    if names is not None and list(names) == wanted.names:
        chosen = slice(None)
    X = cast(X[:, chosen], np.float64)
    refuse_infinite(X, wanted.names, file, lambda row: where(row + first))
    if wanted.frame:
        import polars as pl

        return Dataset(file, pl.DataFrame(X, schema=wanted.names).fill_nan(None), wanted.columns, y, label)
    gaps = np.argwhere(np.isnan(X))
    if len(gaps):
        row, column = (int(n) for n in gaps[0])
        raise BadData(
            f"{file}, {where(row + first)}: column {shown(wanted.names[column])} has no number; the model was trained without "
            "missing values."
        )
    return Dataset(file, X, wanted.columns, y, label)
