"""Data sets from tables of named columns: roles, dates, identifiers, gaps and oddities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl

from pegasos.program.tables.array_files import ArrayTableFile
from pegasos.program.tables.cell_values import as_numbers, as_words
from pegasos.program.tables.column_reading import array_bytes, read_columns
from pegasos.program.tables.column_roles import Roles
from pegasos.program.tables.columns import Columns
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
from pegasos.program.tables.gaps import column_notes
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
    parts = table.first.roles(options, table.name)
    rows = read_columns(table, parts, options.allowed()).settled(parts)
    found, rows, parts = _labelled(rows, parts, options)
    if isinstance(table.first, ArrayTableFile):
        return table.first.add_features(found, rows.array, options)
    return _add_features(found, rows, parts, options)


def outline(table: Table, options: ReadOptions) -> Outline | None:
    """Describe a table by its first block, as if the others were alike; None for dense arrays."""
    is_array = isinstance(table.first, ArrayTableFile)
    if is_array and table.first.rows is not None:
        return None
    parts = table.first.roles(options, table.name)
    first = next(table.blocks(parts.needed), None)
    if first is None:
        raise NoRows(f"{table.name} has names of columns, but no rows.")
    found = read_columns(table, parts, 2**62, [first])
    size = sum(series.estimated_size() for series in found.columns.values())
    size = (size + array_bytes(found.array)) / first.share
    found = replace(found, where=first.where).settled(parts)
    kinds, notes = _kinds(found.features(parts), parts, table.names)
    label, weight, group = (
        None if place is None else table.names[place]
        for place in (parts.label, parts.weight, parts.group)
    )
    notes = [*found.notes, *notes, *([parts.note] if parts.note else [])]
    features = [Column(name, kind) for name, kind in kinds.items()]
    return Outline(features, label, weight, group, size, notes, sparse=is_array)


def stream(table: Table, wanted: Wanted, options: ReadOptions) -> Iterator[Dataset]:
    """Yield blocks of rows with the columns of a model."""
    parts = table.first.matched(wanted, options, table.name)
    for block in table.blocks(parts.needed, wanted.chunk):
        yield _block(table, block, parts, wanted)


def _labelled(table: Columns, parts: Roles, options: ReadOptions) -> tuple[Dataset, Columns, Roles]:
    """Return a data set without features, and the rows and roles that it has."""
    names, whole, notes = table.names, len(table), table.notes
    if not whole:
        raise NoRows(f"{table.file} has names of columns, but no rows.")
    if parts.label is not None:
        labelled = table.labelled(parts.label)
        if len(labelled) or options.labelled:
            table = labelled
        else:
            notes.append(f"column {shown(names[parts.label])} holds no label in any row")
            parts = replace(parts, label=None, note=None)
    if parts.note:
        notes.append(parts.note)
    found = Dataset(table.file, None, [], test=table.test, where=table.where, notes=notes)
    if parts.label is not None:
        name, count = names[parts.label], len(table)
        found.label_name, found.unlabelled = name, whole - count
        notes += unlabelled_note(whole - count, whole, name, table.file, options.strict)
        found.y = _checked_labels(table, parts, parts.label)

    def full(part: str, place: int) -> Array:
        missing = f"the {part} (column {shown(names[place])}) is missing."
        return table.full(table.columns[place], missing)

    if parts.group is not None:
        found.groups = simplest(full("group", parts.group))
    if (place := parts.weight) is not None:
        weights = full("weight", place)
        found.weights = checked_weights(weights, names[place], table.file, table.where)
    return found, table, parts


def _add_features(found: Dataset, table: Columns, parts: Roles, options: ReadOptions) -> Dataset:
    """Return the data set with its features."""
    series, notes, count = table.features(parts), found.notes, len(table)
    if empty := [each.name for each in series if each.null_count() == count]:
        notes.append(f"empty columns are excluded: {listed(empty)}")
    series = [each for each in series if each.null_count() < count]
    if not series:
        raise BadData(f"{table.file}: no feature has a value in any row.")
    kinds, more = _kinds(series, parts, table.names)
    found.columns = [Column(name, kind) for name, kind in kinds.items()]
    series = [
        as_days(each, kinds[each.name]).alias(each.name) if kinds[each.name] in DATES else each
        for each in series
        if each.name in kinds
    ]
    notes += more + column_notes(series, table.file, options.strict)
    notes += _oddities(series, found.y)
    found.X = _rows(series)
    return found


def _checked_labels(table: Columns, parts: Roles, place: int) -> Array:
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
        notes.append(f"dates in {listed(how)}: read as days since 1970-01-01")
    left_out = {each.name for each in ids}
    kinds = {
        each.name: dates.get(each.name, TEXT if each.dtype == pl.String else NUMBER)
        for each in series
        if each.name not in left_out
    }
    return kinds, notes


def _oddities(series: list[pl.Series], y: Array | None) -> list[str]:
    """Return notes about constant columns, text of many values, and repeated rows."""
    notes = []
    # Comparing the ends first saves the count of distinct values in nearly all columns.
    if constant := [
        each.name
        for each in series
        if len(each) > 1 and each[0] == each[-1] and each.n_unique() == 1
    ]:
        notes.append(f"constant columns carry no information: {listed(constant)}")
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
        notes.append(f"{contrary} {what}: no model can predict all of them correctly")
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
    test = None if block.test is None else np.full(len(block), block.test)
    rows = Columns(table.name, table.names, columns, block.where, block.commas, test, block.array)
    whole = len(rows)
    if parts.label is not None and wanted.labelled:
        rows = rows.labelled(parts.label)
    found = Dataset(rows.file, None, wanted.columns, test=rows.test, where=rows.where)
    found.unlabelled = whole - len(rows)
    if parts.label is not None:
        found.label_name, labels = rows.names[parts.label], rows.labels(parts.label)
        found.y = None if labels.null_count() else simplest(rows.full(labels, ""))
    if isinstance(table.first, ArrayTableFile):
        found.X = table.first.wanted_features(found, rows.array, wanted)
        return found
    found.kept = {rows.names[place]: rows.columns[place].to_list() for place in parts.kept}
    series = [
        _as_wanted(rows, place, column)
        for place, column in zip(parts.features, wanted.columns, strict=True)
    ]
    for each in [] if wanted.frame else series:
        if each.null_count():
            what = "has no number; the model was trained without missing values."
            rows.full(each, f"column {shown(each.name)} {what}")
    found.X = pl.DataFrame(series) if wanted.frame else _rows(series)
    return found


def _as_wanted(rows: Columns, place: int, column: Column) -> pl.Series:
    """Return a column as a model needs it: numbers, text or days."""
    series, is_text = rows.columns[place], column.kind == TEXT
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


def _unfit(rows: Columns, row: int, column: Column, value: str, what: str) -> NotNumber:
    said = f", column {shown(column.name)}: {value} is not {what}, as the model needs it."
    return NotNumber(str(rows.bad(row, said)), column.name)
