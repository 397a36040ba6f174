"""Rows with the columns of a model, in its order and of its kinds."""

from __future__ import annotations

from typing import Any

import polars as pl

from pegasos.program.tables.blocks import Block
from pegasos.program.tables.cells import EXAMPLES, as_days, as_numbers, as_words
from pegasos.program.tables.column_roles import Roles
from pegasos.program.tables.dataset import COMPACT_DATE, DATES, TEXT, Column, Dataset, NotNumber
from pegasos.program.tables.labels import simplest
from pegasos.program.tables.messages import shown


def fit_block(
    rows: Block, roles: Roles, columns: list[Column], frame: bool, labelled: bool
) -> Dataset:
    """Return rows as a model takes them.

    Labels are kept if all rows have one; if `labelled`, other rows are left out.
    """
    whole = len(rows)
    if roles.label is not None and labelled:
        rows = rows.labelled(roles.label)
    found = Dataset(rows.table, None, columns, test=rows.test, where=rows.where)
    found.unlabelled = whole - len(rows)
    if roles.label is not None:
        found.label_name, labels = rows.names[roles.label], rows.labels(roles.label)
        found.y = None if labels.null_count() else simplest(rows.full(labels, ""))
    if rows.array is not None:
        found.X = _fit_sparse(rows, columns, frame)
        return found
    found.kept = {rows.names[place]: rows.column(place).to_list() for place in roles.kept}
    pairs = zip(roles.features, columns, strict=True)
    X = pl.DataFrame([_as_wanted(rows, place, column) for place, column in pairs])
    for each in [] if frame else X.get_columns():
        what = "has no number; the model was trained without missing values."
        if each.null_count():
            rows.full(each, f"column {shown(each.name)} {what}")
    found.X = X if frame else as_array(X)
    return found


def as_array(X: pl.DataFrame) -> Any:
    """Return numbers without gaps as an array, else a frame of Float64 and String."""
    if any(each.dtype == pl.String or each.null_count() for each in X.get_columns()):
        return X.cast({pl.Float32: pl.Float64})
    return X.to_numpy(order="c", writable=True)


def _fit_sparse(rows: Block, columns: list[Column], frame: bool) -> Any:
    """Return the features of a model without unknown indices.

    If no columns are requested, positions are the indices of the file.
    """
    X, names = rows.array, [column.name for column in columns]
    if not columns:
        return X
    lowest = int(names[0] != "x0")
    if X.indices.min(initial=lowest) < lowest:
        raise rows.bad(0, ": index 0, but the indices of the model begin with 1.")
    stop = lowest + len(names)
    X.resize(X.shape[0], max(X.shape[1], stop))
    X = X[:, lowest:stop]
    return pl.DataFrame(X.toarray(), schema=names) if frame else X


def _as_wanted(rows: Block, place: int, column: Column) -> pl.Series:
    """Return a column as a model needs it: numbers, text or days."""
    series, is_text = rows.column(place), column.kind == TEXT
    if series.dtype != pl.String or is_text:
        series = rows.settle(place, is_text).cast(pl.String if is_text else pl.Float64)
    elif column.kind in DATES and column.kind != COMPACT_DATE:
        series = as_words(series)
    else:
        found = as_numbers(series, rows.commas)
        if len(found.wrong):
            row = int(found.wrong[0])
            raise _unfit(rows, row, column, shown(series[row]), "a number")
        series = rows.finite(found.values, column.name)
    if column.kind == COMPACT_DATE or (column.kind in DATES and series.dtype == pl.String):
        days = as_days(series, column.kind)
        if days.null_count() > series.null_count():
            row = int((days.is_null() & series.is_not_null()).arg_max() or 0)
            value = shown(series[row]) if series.dtype == pl.String else f"{series[row]:.15g}"
            raise _unfit(rows, row, column, value, f"a date such as {EXAMPLES[column.kind]}")
        series = days
    return series.alias(column.name)


def _unfit(rows: Block, row: int, column: Column, value: str, what: str) -> NotNumber:
    said = f", column {shown(column.name)}: {value} is not {what}, as the model needs it."
    return NotNumber(str(rows.bad(row, said)), column.name)
