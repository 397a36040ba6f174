"""Columns of numbers and words into a dataset: parts given, gaps and words noted, odd columns pointed at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from pegasos.program.tables import data_quality
from pegasos.program.tables.column_roles import Roles
from pegasos.program.tables.dataset import NUMBER, TEXT, Array, BadData, Column, Dataset
from pegasos.program.tables.labels import checked_labels, checked_weights, simplest
from pegasos.program.tables.messages import listed, shown
from pegasos.program.tables.read_options import ReadOptions


@dataclass
class Table:
    """Columns that were read, by place: floats or strings, null where missing."""

    file: str
    names: list[str]
    columns: dict[int, pl.Series]
    #: From row counted from 0 to words such as "line 12".
    where: Callable[[int], str]

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())))


def dataset(table: Table, roles: Roles, options: ReadOptions, notes: list[str]) -> Dataset:
    """The dataset of a table that was read whole."""
    if not table.rows:
        raise BadData(f"{table.file} has names of columns, but no rows.")
    notes = [*notes, *([roles.note] if roles.note else [])]
    y = None
    if roles.label is not None:
        y = checked_labels(_full(table, roles.label, "label"), table.names[roles.label], table.file, table.where)
    groups = None if roles.group is None else simplest(_full(table, roles.group, "group"))
    weights = None
    if roles.weight is not None:
        weights = _full(table, roles.weight, "weight")
        weights = checked_weights(weights, table.names[roles.weight], table.file, table.where)
    features = [place for place in roles.features if table.columns[place].null_count() < table.rows]
    empty = [table.names[place] for place in roles.features if place not in set(features)]
    if empty:
        notes.append(f"columns without any value are left out: {listed(empty)}")
    if not features:
        raise BadData(f"{table.file}: no feature has a value in any row.")
    columns = [Column(table.names[place], _kind(table.columns[place])) for place in features]
    series = [table.columns[place].alias(table.names[place]) for place in features]
    notes += gaps_and_words(series, table.file, options.strict)
    notes += data_quality.notes(series, y)
    label_name = None if roles.label is None else table.names[roles.label]
    return Dataset(table.file, rows_of(series), columns, y, label_name, groups, weights, notes=notes)


def _kind(series: pl.Series) -> str:
    return TEXT if series.dtype == pl.String else NUMBER


def _full(table: Table, place: int, part: str) -> Array:
    """A column that may have no gaps."""
    series = table.columns[place]
    if series.null_count():
        row = int(series.is_null().arg_true()[0])
        raise BadData(f"{table.file}, {table.where(row)}: the {part} (column {shown(table.names[place])}) is missing.")
    return words_array(series) if series.dtype == pl.String else series.to_numpy()


def words_array(series: pl.Series) -> Array:
    """Words as an array of strings."""
    return np.asarray(series.to_list(), dtype=str)


def gaps_and_words(series: list[pl.Series], file: str, strict: bool) -> list[str]:
    """Notes about missing numbers and columns of words; errors if `strict`."""
    gaps = [f"{each.name} ({each.null_count()})" for each in series if each.dtype != pl.String and each.null_count()]
    words = [each.name for each in series if each.dtype == pl.String]
    found = []
    if gaps:
        if strict:
            raise BadData(f"{file}: missing numbers in {listed(gaps)}; --strict allows none. Fill or drop them.")
        found.append(f"missing numbers in {listed(gaps)}: the median takes their place, and an indicator column tells where")
    if words:
        if strict:
            raise BadData(
                f"{file}: text in column{'s' * (len(words) > 1)} {listed(words)}; --strict allows only numbers. Drop it."
            )
        found.append(f"text column{'s' * (len(words) > 1)} {listed(words)}: one-hot, unseen values allowed")
    return found


def rows_of(series: list[pl.Series]) -> Array | pl.DataFrame:
    """An array where all are numbers without gaps, else a frame of Float64 and String."""
    if any(each.dtype == pl.String or each.null_count() for each in series):
        return pl.DataFrame([each if each.dtype == pl.String else each.cast(pl.Float64) for each in series])
    single = all(each.dtype == pl.Float32 for each in series)
    X = np.empty((len(series[0]), len(series)), dtype=np.float32 if single else np.float64)
    for place, each in enumerate(series):
        X[:, place] = each.to_numpy()
    return X


def chunk_of(series: list[pl.Series], y: Array | None, label: str | None, frame: bool, where: Callable[[int], str]) -> Dataset:
    """A dataset of some rows for a model, in the order of its columns; `where` tells file and line."""
    columns = [Column(each.name, _kind(each)) for each in series]
    if frame:
        rows = pl.DataFrame([each if each.dtype == pl.String else each.cast(pl.Float64) for each in series])
        return Dataset("", rows, columns, y, label)
    for each in series:
        if each.null_count():
            row = int(each.is_null().arg_true()[0])
            raise BadData(f"{where(row)}: column {shown(each.name)} has no number; the model was trained without missing values.")
    return Dataset("", rows_of(series), columns, y, label)


def label_chunk(series: pl.Series, where: Callable[[int], str]) -> Array | None:
    """Labels of some rows; None where none of them has one."""
    if series.null_count() == len(series):
        return None
    if series.null_count():
        row = int(series.is_null().arg_true()[0])
        raise BadData(f"{where(row)}: the label (column {shown(series.name)}) is missing, though other rows have one.")
    return simplest(words_array(series) if series.dtype == pl.String else series.to_numpy())
