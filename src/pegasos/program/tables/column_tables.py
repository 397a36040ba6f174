"""Columns of numbers and words into a dataset: parts given, gaps and words noted, odd columns pointed at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from pegasos.program.tables import data_quality
from pegasos.program.tables.cell_values import as_numbers, as_words
from pegasos.program.tables.column_roles import Roles
from pegasos.program.tables.dataset import NUMBER, TEXT, Array, BadData, Column, Dataset
from pegasos.program.tables.labels import checked_labels, checked_weights, simplest
from pegasos.program.tables.messages import listed, shown
from pegasos.program.tables.read_options import ReadOptions, Wanted


@dataclass
class Table:
    """Columns that were read, by place: floats or strings, null where missing."""

    file: str
    names: list[str]
    columns: dict[int, pl.Series]
    #: From row counted from 0 to words such as "line 12".
    where: Callable[[int], str]
    #: Whether a comma may be a decimal point in words that stand for numbers.
    commas: bool = False

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())))


def dataset(table: Table, roles: Roles, options: ReadOptions, notes: list[str]) -> Dataset:
    """The dataset of a table of which all rows were read."""
    if not table.rows:
        raise BadData(f"{table.file} has names of columns, but no rows.")
    notes = [*notes, *([roles.note] if roles.note else [])]
    y = None
    if roles.label is not None:
        y = _full(table, roles.label, "label", _labels(table, roles.label))
        y = checked_labels(y, table.names[roles.label], table.file, table.where)
    groups = None if roles.group is None else simplest(_full(table, roles.group, "group", table.columns[roles.group]))
    weights = None
    if roles.weight is not None:
        weights = _full(table, roles.weight, "weight", table.columns[roles.weight])
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


def _full(table: Table, place: int, part: str, series: pl.Series) -> Array:
    """A column that may have no gaps."""
    return _values(table, series, f"the {part} (column {shown(table.names[place])}) is missing.")


def _values(table: Table, series: pl.Series, missing: str) -> Array:
    """A column as an array; `missing` is what to answer if it has gaps."""
    if series.null_count():
        raise BadData(f"{table.file}, {table.where(int(series.is_null().arg_true()[0]))}: {missing}")
    return np.asarray(series.to_list(), dtype=str) if series.dtype == pl.String else series.to_numpy()


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


def finite(table: Table, place: int) -> pl.Series:
    """A column of numbers with NaN as missing; infinite ones are refused."""
    series = table.columns[place].fill_nan(None)
    if (infinite := series.is_infinite().arg_true()).len():
        where = table.where(int(infinite[0]))
        raise BadData(f"{table.file}, {where}, column {shown(table.names[place])}: the number is infinite.")
    return series


def number_words(numbers: pl.Series) -> pl.Series:
    """Numbers as the words that a person would write: 7 rather than 7.0."""
    double = numbers.cast(pl.Float64)
    if ((double == double.round()) & (double.abs() < 2**53)).all():
        return numbers.cast(pl.Int64).cast(pl.String)
    return numbers.cast(pl.String)


def chunk(table: Table, roles: Roles, wanted: Wanted) -> Dataset:
    """Some rows for a model: its columns, in its order and of its kinds, whatever they look like; labels where all have one."""
    series = [_as_wanted(table, place, column) for place, column in zip(roles.features, wanted.columns, strict=True)]
    y = label = None
    if roles.label is not None:
        y, label = _chunk_labels(table, roles.label), table.names[roles.label]
    if wanted.frame:
        return Dataset(table.file, pl.DataFrame(series), wanted.columns, y, label)
    for each in series:
        if each.null_count():
            _values(table, each, f"column {shown(each.name)} has no number; the model was trained without missing values.")
    return Dataset(table.file, rows_of(series), wanted.columns, y, label)


def _as_wanted(table: Table, place: int, column: Column) -> pl.Series:
    series = table.columns[place]
    if series.dtype != pl.String:
        numbers = finite(table, place)
        return (number_words(numbers) if column.kind == TEXT else numbers.cast(pl.Float64)).alias(column.name)
    if column.kind == TEXT:
        return as_words(series).alias(column.name)
    found = as_numbers(series, table.commas)
    for rows, what in ((found.wrong, "a number, as the model needs it"), (found.infinite, "a finite number")):
        if len(rows):
            where, word = table.where(int(rows[0])), shown(series[int(rows[0])])
            raise BadData(f"{table.file}, {where}, column {shown(column.name)}: {word} is not {what}.")
    return found.values.alias(column.name)


def _labels(table: Table, place: int) -> pl.Series:
    """A column of labels: numbers if all are, but words where a float would round them, as that might make two classes one."""
    series = table.columns[place]
    if series.dtype != pl.String:
        return finite(table, place)
    found = as_numbers(series, table.commas)
    rounded = (found.values.abs() >= 2**53) & found.values.is_finite()
    return as_words(series) if len(found.wrong) or rounded.any() else found.values


def _chunk_labels(table: Table, place: int) -> Array | None:
    """Labels of some rows; None where none of them has one."""
    series = _labels(table, place)
    if series.null_count() == len(series):
        return None
    name = shown(table.names[place])
    return simplest(_values(table, series, f"the label (column {name}) is missing, though other rows have one."))
