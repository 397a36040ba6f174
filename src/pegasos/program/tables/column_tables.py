"""Columns of numbers and words into a dataset: parts given, gaps and words noted, odd columns pointed at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from pegasos.program.tables.cell_values import as_numbers, as_words
from pegasos.program.tables.column_roles import Roles
from pegasos.program.tables.dataset import (
    COMPACT_DATE,
    DATE,
    DATES,
    NUMBER,
    TEXT,
    Array,
    BadData,
    Column,
    Dataset,
    NotClasses,
    NotNumber,
)
from pegasos.program.tables.dates import EXAMPLES, as_days, date_kind
from pegasos.program.tables.identifiers import MANY_WORDS, identifiers, told_identifiers
from pegasos.program.tables.labels import (
    checked_labels,
    checked_weights,
    plausible_labels,
    simplest,
    unlabelled_note,
)
from pegasos.program.tables.messages import listed, shown
from pegasos.program.tables.read_options import ReadOptions, Wanted

#: Looking for repeated rows is skipped in tables of more cells.
_CELLS = 5_000_000


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

    def bad(self, row: int, what: str) -> BadData:
        return BadData(f"{self.file}, {self.where(row)}{what}")

    def values(self, series: pl.Series, missing: str) -> Array:
        """A column as an array; `missing` is what to answer if it has gaps."""
        if series.null_count():
            raise self.bad(int(series.is_null().arg_true()[0]), f": {missing}")
        return (
            np.asarray(series.to_list(), dtype=str)
            if series.dtype == pl.String
            else series.to_numpy()
        )

    def labelled_rows(self, place: int) -> Table:
        """The rows that have a label in this column."""
        kept = _labels(self, place).is_not_null().arg_true()
        rows, where = kept.to_numpy(), self.where
        columns = {each: series.gather(kept) for each, series in self.columns.items()}
        return replace(self, columns=columns, where=lambda row: where(int(rows[row])))


def dataset(table: Table, roles: Roles, options: ReadOptions, notes: list[str]) -> Dataset:
    """The dataset of a table of which all rows were read."""
    names, whole = table.names, len(next(iter(table.columns.values())))
    if not whole:
        raise BadData(f"{table.file} has names of columns, but no rows.")
    if roles.label is not None:
        labelled = table.labelled_rows(roles.label)
        if len(labelled.columns[roles.label]) or options.labelled:
            table = labelled
        else:
            notes = [*notes, f"column {shown(names[roles.label])} holds no label in any row"]
            roles = replace(roles, label=None, note=None)
    columns = table.columns
    count = len(next(iter(columns.values())))

    def full(part: str, place: int, series: pl.Series) -> Array:
        return table.values(series, f"the {part} (column {shown(names[place])}) is missing.")

    found = Dataset(
        table.file,
        None,
        [],
        where=table.where,
        notes=[*notes, *([roles.note] if roles.note else [])],
    )
    if (place := roles.label) is not None:
        found.label_name, found.unlabelled = names[place], whole - count
        found.notes += unlabelled_note(
            whole - count, whole, names[place], table.file, options.strict
        )
        labels = full("label", place, _labels(table, place))
        try:
            found.y = checked_labels(labels, names[place], table.file, table.where)
        except NotClasses as error:
            distinct = {
                names[each]: columns[each].drop_nulls().n_unique() for each in roles.features
            }
            raise NotClasses(f"{error}{plausible_labels(distinct, count)}") from None
    if (place := roles.group) is not None:
        found.groups = simplest(full("group", place, columns[place]))
    if (place := roles.weight) is not None:
        found.weights = checked_weights(
            full("weight", place, columns[place]), names[place], table.file, table.where
        )
    series = [columns[place].alias(names[place]) for place in roles.features]
    if empty := [each.name for each in series if each.null_count() == count]:
        found.notes.append(f"columns without any value are left out: {listed(empty)}")
    series = [each for each in series if each.null_count() < count]
    if not series:
        raise BadData(f"{table.file}: no feature has a value in any row.")
    asked = {names[place] for place in roles.numbers | roles.text}
    dates = _dates(series, asked)
    if ids := _left_out(series, asked | dates.keys()):
        found.notes.append(told_identifiers(ids))
        series = _without(series, ids)
    if dates:
        found.notes.append(_told_dates(dates))
        series = [
            as_days(each, dates[each.name]).alias(each.name) if each.name in dates else each
            for each in series
        ]
    found.columns = [Column(each.name, dates.get(each.name, _kind(each))) for each in series]
    found.notes += gaps_and_words(series, table.file, options.strict) + _oddities(series, found.y)
    found.X = rows_of(series)
    return found


def parts_and_kinds(
    columns: dict[int, pl.Series], names: list[str], roles: Roles
) -> tuple[Roles, dict[int, str], list[str]]:
    """The same from the first rows of a table: parts without identifiers, the kind of each column, and what to tell."""
    series = [columns[place].alias(names[place]) for place in roles.features]
    asked = {names[place] for place in roles.numbers | roles.text}
    dates = _dates(series, asked)
    ids = _left_out(series, asked | dates.keys())
    left = {each.name for each in _without(series, ids)}
    features = [place for place in roles.features if names[place] in left]
    kinds = {place: _kind(each) for place, each in columns.items()} | {
        place: dates[names[place]] for place in features if names[place] in dates
    }
    told = [*([_told_dates(dates)] if dates else []), *([told_identifiers(ids)] if ids else [])]
    return replace(roles, features=features), kinds, told


def _kind(series: pl.Series) -> str:
    return TEXT if series.dtype == pl.String else NUMBER


def _dates(series: list[pl.Series], asked: set[str]) -> dict[str, str]:
    """The columns of dates and how they are written, but for those that were asked for as numbers or words."""
    return {
        each.name: kind
        for each in series
        if each.name not in asked and (kind := date_kind(each)) is not None
    }


def _left_out(series: list[pl.Series], asked: set[str]) -> list[pl.Series]:
    """Identifiers that nobody asked for and that are no dates; none where nothing else would be left."""
    ids = [each for each in identifiers(series) if each.name not in asked]
    return ids if len(ids) < len(series) else []


def _without(series: list[pl.Series], ids: list[pl.Series]) -> list[pl.Series]:
    names = {each.name for each in ids}
    return [each for each in series if each.name not in names]


def _told_dates(dates: dict[str, str]) -> str:
    """What a person should know of them: most of all how they were read, where that might be wrong."""
    how = {
        name: name if kind == DATE else f"{name} (as {EXAMPLES[kind]})"
        for name, kind in dates.items()
    }
    return f"dates in {listed(how.values())}: days since 1970 began"


def gaps_and_words(series: list[pl.Series], file: str, strict: bool) -> list[str]:
    """Notes about missing numbers and columns of words; errors if `strict`."""
    missing = {
        each.name: each.null_count()
        for each in series
        if each.dtype != pl.String and each.null_count()
    }
    return told_gaps(
        missing, [each.name for each in series if each.dtype == pl.String], file, strict
    )


def told_gaps(missing: dict[str, int], words: list[str], file: str, strict: bool) -> list[str]:
    """The same from the numbers that are missing in each column, and the columns of words."""
    gaps = listed(f"{name} ({count})" for name, count in missing.items())
    columns = f"column{'s' * (len(words) > 1)} {listed(words)}"
    if strict and gaps:
        raise BadData(
            f"{file}: missing numbers in {gaps}; --strict allows none. Fill or drop them."
        )
    if strict and words:
        raise BadData(f"{file}: text in {columns}; --strict allows only numbers. Drop it.")
    found = (
        [
            f"missing numbers in {gaps}: the median takes their place, and an indicator column tells where"
        ]
        if gaps
        else []
    )
    return [*found, f"text {columns}: one-hot, unseen values allowed"] if words else found


def _oddities(series: list[pl.Series], y: Array | None) -> list[str]:
    """What a person should look at before training: constants, words without end, repeated rows."""
    found = []
    # one value only: comparing the ends first spares the count of different values in nearly all columns
    if constant := [
        each.name
        for each in series
        if len(each) > 1 and each[0] == each[-1] and each.n_unique() == 1
    ]:
        found.append(f"constant and so of no use: {listed(constant)}")
    for each in series:
        if each.dtype == pl.String:
            if (different := each.n_unique()) > MANY_WORDS:
                what = f"has {different} different values in {len(each)} rows: --drop it if an ID"
                found.append(f"text column {listed([each.name])} {what}")
    if len(series) * len(series[0]) <= _CELLS:
        found += _repeated(series, y)
    return found


def _repeated(series: list[pl.Series], y: Array | None) -> list[str]:
    """How many rows are there again, and how many have a twin with another label."""
    hashes = pl.DataFrame([each.alias(str(place)) for place, each in enumerate(series)]).hash_rows(
        seed=0
    )
    different = hashes.n_unique()
    if different == len(hashes):
        return []
    rows = pl.DataFrame(
        {
            "row": hashes,
            "label": np.zeros(len(hashes)) if y is None else np.unique(y, return_inverse=True)[1],
        }
    )
    found, pairs = [], rows.n_unique()
    if pairs < len(hashes):
        found.append(
            f"{len(hashes) - pairs} rows are exact repeats of others: in validation they may be on both sides"
        )
    if pairs > different:
        count = rows.filter(pl.col("label").n_unique().over("row") > 1).height
        found.append(
            f"{count} rows are equal to others in all features but not in the label: no model can get all of them right"
        )
    return found


def rows_of(series: list[pl.Series]) -> Array | pl.DataFrame:
    """An array where all are numbers without gaps, else a frame of Float64 and String."""
    frame = pl.DataFrame(series)
    if any(each.dtype == pl.String or each.null_count() for each in series):
        return frame.cast({pl.Float32: pl.Float64})
    return frame.to_numpy(order="c", writable=True)


def finite(table: Table, place: int) -> pl.Series:
    """A column of numbers with NaN as missing; infinite ones are refused."""
    series = table.columns[place].fill_nan(None)
    if (infinite := series.is_infinite().arg_true()).len():
        raise table.bad(
            int(infinite[0]), f", column {shown(table.names[place])}: the number is infinite."
        )
    return series


def settled(table: Table, place: int, text: bool) -> pl.Series:
    """A column of words, or of finite numbers; if `text`, numbers become words as a person writes them: 7, not 7.0."""
    if table.columns[place].dtype == pl.String:
        return as_words(table.columns[place])
    numbers = finite(table, place)
    if not text:
        return numbers
    double = numbers.cast(pl.Float64)
    whole = ((double == double.round()) & (double.abs() < 2**53)).all()
    return (numbers.cast(pl.Int64) if whole else numbers).cast(pl.String)


def chunk(table: Table, roles: Roles, wanted: Wanted) -> Dataset:
    """Some rows for a model: its columns, in its order and of its kinds, whatever they look like.

    Labels come along where all rows have one; if the model wants labelled rows, those without a label are left out.
    """
    whole = len(next(iter(table.columns.values())))
    if roles.label is not None and wanted.labelled:
        table = table.labelled_rows(roles.label)
    series = [
        _as_wanted(table, place, column)
        for place, column in zip(roles.features, wanted.columns, strict=True)
    ]
    y = label = None
    if roles.label is not None:
        label, labels = table.names[roles.label], _labels(table, roles.label)
        if not labels.null_count():
            y = simplest(table.values(labels, "the label is missing."))
    for each in series if not wanted.frame else ():
        if each.null_count():
            table.values(
                each,
                f"column {shown(each.name)} has no number; the model was trained without missing values.",
            )
    kept = {table.names[place]: table.columns[place].to_list() for place in roles.kept}
    X = pl.DataFrame(series) if wanted.frame else rows_of(series)
    left_out = whole - X.shape[0]
    return Dataset(
        table.file, X, wanted.columns, y, label, kept=kept, where=table.where, unlabelled=left_out
    )


def _as_wanted(table: Table, place: int, column: Column) -> pl.Series:
    series, text = table.columns[place], column.kind == TEXT
    if column.kind in DATES and column.kind != COMPACT_DATE and series.dtype == pl.String:
        return _as_dates(table, as_words(series), column)
    numbers = _as_numbers_or_words(table, place, column, text)
    return _as_dates(table, numbers, column) if column.kind == COMPACT_DATE else numbers


def _as_dates(table: Table, series: pl.Series, column: Column) -> pl.Series:
    days = as_days(series, column.kind)
    if days.null_count() > series.null_count():
        row = int((days.is_null() & series.is_not_null()).arg_max() or 0)
        value = shown(series[row]) if series.dtype == pl.String else f"{series[row]:.15g}"
        what = f": {value} is not a date such as {EXAMPLES[column.kind]}, as the model needs it."
        raise NotNumber(str(table.bad(row, f", column {shown(column.name)}{what}")), column.name)
    return days.alias(column.name)


def _as_numbers_or_words(table: Table, place: int, column: Column, text: bool) -> pl.Series:
    series = table.columns[place]
    if text or series.dtype != pl.String:
        return (
            settled(table, place, text).cast(pl.String if text else pl.Float64).alias(column.name)
        )
    found = as_numbers(series, table.commas)
    for rows, what in (
        (found.wrong, "a number, as the model needs it"),
        (found.infinite, "a finite number"),
    ):
        if len(rows):
            word = shown(series[int(rows[0])])
            error = table.bad(int(rows[0]), f", column {shown(column.name)}: {word} is not {what}.")
            raise NotNumber(str(error), column.name)
    return found.values.alias(column.name)


def _labels(table: Table, place: int) -> pl.Series:
    """A column of labels: numbers if all are, but words where a float would round them, as that might make two classes one."""
    series = table.columns[place]
    if series.dtype != pl.String:
        return finite(table, place)
    found = as_numbers(series, table.commas, amounts=False)
    rounded = (found.values.abs() >= 2**53) & found.values.is_finite()
    return as_words(series) if len(found.wrong) or rounded.any() else found.values
