"""Data sets from tables of named columns: roles, dates, identifiers, gaps and oddities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from pegasos.program.tables.cell_values import as_numbers, as_words
from pegasos.program.tables.column_roles import Roles, matched, roles
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
    NoRows,
    NotClasses,
    NotNumber,
)
from pegasos.program.tables.dates import EXAMPLES, as_days, date_kind
from pegasos.program.tables.identifiers import MANY_WORDS, identifiers, identifiers_note
from pegasos.program.tables.labels import (
    checked_labels,
    checked_weights,
    plausible_labels,
    simplest,
    unlabelled_note,
)
from pegasos.program.tables.messages import listed, shown
from pegasos.program.tables.read_options import Outline, ReadOptions, Wanted
from pegasos.program.tables.table import Block, Table

#: Repeated rows are not searched in tables of more cells.
_CELLS = 5_000_000


def read(table: Table, options: ReadOptions) -> Dataset:
    """Read the whole table; numbers are float32 if all columns are."""
    parts = roles(table.names, options, table.name, table.header)
    columns, notes = table.read(parts, options.allowed())
    found = _Columns(table.name, table.names, columns, table.where, table.commas)
    return _dataset(found.settled(parts), parts, options, [*table.first.notes, *notes])


def outline(table: Table, options: ReadOptions) -> Outline:
    """Describe a table by its first block; other files are taken to be alike."""
    parts = roles(table.names, options, table.name, table.header)
    first = next(table.blocks(parts.needed), None)
    if first is None:
        raise NoRows(f"{table.name} has names of columns, but no rows.")
    columns, notes = table.read(parts, 2**62, [first])
    size = sum(series.estimated_size() for series in columns.values()) / first.share
    found = _Columns(table.name, table.names, columns, first.where).settled(parts)
    kinds, more = _kinds(found.features(parts), parts, table.names)
    label, weight, group = (
        None if place is None else table.names[place]
        for place in (parts.label, parts.weight, parts.group)
    )
    notes = [*table.first.notes, *notes, *more, *([parts.note] if parts.note else [])]
    features = [Column(name, kind) for name, kind in kinds.items()]
    return Outline(features, label, weight, group, size, notes)


def stream(table: Table, wanted: Wanted, options: ReadOptions) -> Iterator[Dataset]:
    """Yield blocks of rows with the columns of a model."""
    parts = matched(table.names, table.header, wanted, options, table.name)
    for block in table.blocks(parts.needed, wanted.chunk):
        yield _block(table, block, parts, wanted)


@dataclass
class _Columns:
    """Columns that were read, by position: floats or strings, null where missing."""

    file: str
    names: list[str]
    columns: dict[int, pl.Series]
    where: Callable[[int], str]
    #: Whether text may have decimal commas.
    commas: bool = False

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def bad(self, row: int, what: str) -> BadData:
        """Return an error about a row."""
        return BadData(f"{self.file}, {self.where(row)}{what}")

    def features(self, parts: Roles) -> list[pl.Series]:
        """Return the features, by their names."""
        return [self.columns[place].alias(self.names[place]) for place in parts.features]

    def settled(self, parts: Roles) -> _Columns:
        """Return columns of text or of finite numbers, but labels as they are."""
        columns = {
            place: series if place == parts.label else self.settle(place, place in parts.text)
            for place, series in self.columns.items()
        }
        return replace(self, columns=columns)

    def settle(self, place: int, text: bool) -> pl.Series:
        """Return a column of text or of finite numbers, as text if `text`: 7, not 7.0."""
        if self.columns[place].dtype == pl.String:
            return as_words(self.columns[place])
        numbers = self.finite(place)
        if not text:
            return numbers
        double = numbers.cast(pl.Float64)
        whole = ((double == double.round()) & (double.abs() < 2**53)).all()
        return (numbers.cast(pl.Int64) if whole else numbers).cast(pl.String)

    def finite(self, place: int) -> pl.Series:
        """Return a column of numbers with NaN as missing; refuse infinite ones."""
        series = self.columns[place].fill_nan(None)
        if len(infinite := series.is_infinite().arg_true()):
            what = f", column {shown(self.names[place])}: the number is infinite."
            raise self.bad(int(infinite[0]), what)
        return series

    def full(self, series: pl.Series, missing: str) -> Array:
        """Return a column as an array; `missing` is the error for gaps."""
        if series.null_count():
            raise self.bad(int(series.is_null().arg_true()[0]), f": {missing}")
        if series.dtype == pl.String:
            return np.asarray(series.to_list(), dtype=str)
        return series.to_numpy()

    def labels(self, place: int) -> pl.Series:
        """Return labels as numbers if all are; as text if a float would round them."""
        series = self.columns[place]
        if series.dtype != pl.String:
            return self.finite(place)
        found = as_numbers(series, self.commas, amounts=False)
        rounded = (found.values.abs() >= 2**53) & found.values.is_finite()
        return as_words(series) if len(found.wrong) or rounded.any() else found.values

    def labelled(self, place: int) -> _Columns:
        """Return the rows that have a label."""
        kept = self.labels(place).is_not_null().arg_true()
        rows, where = kept.to_numpy(), self.where
        columns = {each: series.gather(kept) for each, series in self.columns.items()}
        return replace(self, columns=columns, where=lambda row: where(int(rows[row])))


def _dataset(table: _Columns, parts: Roles, options: ReadOptions, notes: list[str]) -> Dataset:
    """Return the data set of a table whose rows were all read."""
    names, whole = table.names, len(table)
    if not whole:
        raise NoRows(f"{table.file} has names of columns, but no rows.")
    if parts.label is not None:
        labelled = table.labelled(parts.label)
        if len(labelled) or options.labelled:
            table = labelled
        else:
            notes = [*notes, f"column {shown(names[parts.label])} holds no label in any row"]
            parts = replace(parts, label=None, note=None)
    count, notes = len(table), [*notes, *([parts.note] if parts.note else [])]
    found = Dataset(table.file, None, [], where=table.where, notes=notes)
    if parts.label is not None:
        found.label_name, found.unlabelled = names[parts.label], whole - count
        notes += unlabelled_note(whole - count, whole, found.label_name, table.file, options.strict)
        found.y = _checked_labels(table, parts, parts.label)

    def full(part: str, place: int) -> Array:
        missing = f"the {part} (column {shown(names[place])}) is missing."
        return table.full(table.columns[place], missing)

    if parts.group is not None:
        found.groups = simplest(full("group", parts.group))
    if (place := parts.weight) is not None:
        weights = full("weight", place)
        found.weights = checked_weights(weights, names[place], table.file, table.where)
    series = table.features(parts)
    if empty := [each.name for each in series if each.null_count() == count]:
        notes.append(f"columns without any value are left out: {listed(empty)}")
    series = [each for each in series if each.null_count() < count]
    if not series:
        raise BadData(f"{table.file}: no feature has a value in any row.")
    kinds, more = _kinds(series, parts, names)
    found.columns = [Column(name, kind) for name, kind in kinds.items()]
    series = [
        as_days(each, kinds[each.name]).alias(each.name) if kinds[each.name] in DATES else each
        for each in series
        if each.name in kinds
    ]
    notes += more + gaps_and_words(series, table.file, options.strict) + _oddities(series, found.y)
    found.X = _rows(series)
    return found


def _checked_labels(table: _Columns, parts: Roles, place: int) -> Array:
    labels = table.full(table.labels(place), "the label is missing.")
    try:
        return checked_labels(labels, table.names[place], table.file, table.where)
    except NotClasses as error:
        distinct = {each.name: each.drop_nulls().n_unique() for each in table.features(parts)}
        raise NotClasses(f"{error}{plausible_labels(distinct, len(table))}") from None


def _kinds(
    series: list[pl.Series], parts: Roles, names: list[str]
) -> tuple[dict[str, str], list[str]]:
    """Return the kind of each feature that is no identifier, and notes.

    Columns named by --number or --text are neither dates nor identifiers; identifiers stay if
    nothing else would.
    """
    asked = {names[place] for place in parts.numbers | parts.text}
    dates: dict[str, str] = {
        each.name: kind
        for each in series
        if each.name not in asked and (kind := date_kind(each)) is not None
    }
    ids = [each for each in identifiers(series) if each.name not in asked | dates.keys()]
    ids = ids if len(ids) < len(series) else []
    notes = [identifiers_note(ids)] if ids else []
    if dates:
        how = [
            name if kind == DATE else f"{name} (as {EXAMPLES[kind]})"
            for name, kind in dates.items()
        ]
        notes.append(f"dates in {listed(how)}: days since 1970 began")
    left_out = {each.name for each in ids}
    kinds = {
        each.name: dates.get(each.name, TEXT if each.dtype == pl.String else NUMBER)
        for each in series
        if each.name not in left_out
    }
    return kinds, notes


def gaps_and_words(series: list[pl.Series], file: str, strict: bool) -> list[str]:
    """Return notes about missing numbers and text columns; raise BadData if `strict`."""
    words = [each.name for each in series if each.dtype == pl.String]
    missing = {each.name: each.null_count() for each in series if each.dtype != pl.String}
    return told_gaps({name: count for name, count in missing.items() if count}, words, file, strict)


def told_gaps(missing: dict[str, int], words: list[str], file: str, strict: bool) -> list[str]:
    """Return these notes from the number of gaps by column, and the names of text columns."""
    gaps = listed(f"{name} ({count})" for name, count in missing.items())
    columns = f"column{'s' * (len(words) > 1)} {listed(words)}"
    if strict and gaps:
        todo = f"missing numbers in {gaps}; --strict allows none. Fill or drop them"
        raise BadData(f"{file}: {todo}.")
    if strict and words:
        raise BadData(f"{file}: text in {columns}; --strict allows only numbers. Drop it.")
    notes = []
    if gaps:
        how = "the median takes their place, and an indicator column tells where"
        notes.append(f"missing numbers in {gaps}: {how}")
    return [*notes, f"text {columns}: one-hot, unseen values allowed"] if words else notes


def _oddities(series: list[pl.Series], y: Array | None) -> list[str]:
    """Return notes about constant columns, text of many values, and repeated rows."""
    notes = []
    # Comparing the ends first saves the count of distinct values in nearly all columns.
    if constant := [
        each.name
        for each in series
        if len(each) > 1 and each[0] == each[-1] and each.n_unique() == 1
    ]:
        notes.append(f"constant and so of no use: {listed(constant)}")
    for each in series:
        if each.dtype == pl.String and (different := each.n_unique()) > MANY_WORDS:
            what = f"has {different} different values in {len(each)} rows: --drop it if an ID"
            notes.append(f"text column {listed([each.name])} {what}")
    return notes + (_repeated(series, y) if len(series) * len(series[0]) <= _CELLS else [])


def _repeated(series: list[pl.Series], y: Array | None) -> list[str]:
    """Return notes about repeated rows, and about equal rows with different labels."""
    columns = [each.alias(str(place)) for place, each in enumerate(series)]
    hashes = pl.DataFrame(columns).hash_rows(seed=0)
    different, count = hashes.n_unique(), len(hashes)
    if different == count:
        return []
    codes = np.zeros(count) if y is None else np.unique(y, return_inverse=True)[1]
    rows = pl.DataFrame({"row": hashes, "label": codes})
    notes, pairs = [], rows.n_unique()
    if pairs < count:
        what = "rows are exact repeats of others: in validation they may be on both sides"
        notes.append(f"{count - pairs} {what}")
    if pairs > different:
        contrary = rows.filter(pl.col("label").n_unique().over("row") > 1).height
        what = "rows are equal to others in all features but not in the label"
        notes.append(f"{contrary} {what}: no model can get all of them right")
    return notes


def _rows(series: list[pl.Series]) -> Array | pl.DataFrame:
    """Return an array of numbers without gaps, else a frame of Float64 and String."""
    frame = pl.DataFrame(series)
    if any(each.dtype == pl.String or each.null_count() for each in series):
        return frame.cast({pl.Float32: pl.Float64})
    return frame.to_numpy(order="c", writable=True)


def _block(table: Table, block: Block, parts: Roles, wanted: Wanted) -> Dataset:
    """Return rows with the columns of a model, in its order and of its kinds.

    Labels are kept if all rows have one; if the model needs labels, other rows are left out.
    """
    columns = {place: block.frame[str(place)] for place in parts.needed}
    rows = _Columns(table.name, table.names, columns, block.where, block.commas)
    whole = len(rows)
    if parts.label is not None and wanted.labelled:
        rows = rows.labelled(parts.label)
    series = [
        _as_wanted(rows, place, column)
        for place, column in zip(parts.features, wanted.columns, strict=True)
    ]
    y = label = None
    if parts.label is not None:
        label, labels = rows.names[parts.label], rows.labels(parts.label)
        y = None if labels.null_count() else simplest(rows.full(labels, ""))
    for each in [] if wanted.frame else series:
        if each.null_count():
            what = "has no number; the model was trained without missing values."
            rows.full(each, f"column {shown(each.name)} {what}")
    kept = {rows.names[place]: rows.columns[place].to_list() for place in parts.kept}
    X = pl.DataFrame(series) if wanted.frame else _rows(series)
    left_out = whole - len(rows)
    return Dataset(
        rows.file, X, wanted.columns, y, label, kept=kept, where=rows.where, unlabelled=left_out
    )


def _as_wanted(rows: _Columns, place: int, column: Column) -> pl.Series:
    """Return a column as a model needs it: numbers, text or days."""
    series = rows.columns[place]
    if series.dtype != pl.String or column.kind == TEXT:
        dtype = pl.String if column.kind == TEXT else pl.Float64
        series = rows.settle(place, column.kind == TEXT).cast(dtype)
    elif column.kind in DATES and column.kind != COMPACT_DATE:
        series = as_words(series)
    else:
        found = as_numbers(series, rows.commas)
        for wrong, what in (
            (found.wrong, "a number, as the model needs it"),
            (found.infinite, "a finite number"),
        ):
            if len(wrong):
                row = int(wrong[0])
                what = f": {shown(series[row])} is not {what}."
                raise _not_number(rows, row, column, what)
        series = found.values
    if column.kind == COMPACT_DATE or (column.kind in DATES and series.dtype == pl.String):
        days = as_days(series, column.kind)
        if days.null_count() > series.null_count():
            row = int((days.is_null() & series.is_not_null()).arg_max() or 0)
            value = shown(series[row]) if series.dtype == pl.String else f"{series[row]:.15g}"
            what = (
                f": {value} is not a date such as {EXAMPLES[column.kind]}, as the model needs it."
            )
            raise _not_number(rows, row, column, what)
        series = days
    return series.alias(column.name)


def _not_number(rows: _Columns, row: int, column: Column, what: str) -> NotNumber:
    error = rows.bad(row, f", column {shown(column.name)}{what}")
    return NotNumber(str(error), column.name)
