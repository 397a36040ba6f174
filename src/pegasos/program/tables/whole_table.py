"""Tables that fit in memory: their rows as one block, and as a data set."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from pegasos.program.tables.accumulators import joined
from pegasos.program.tables.cells import as_days, as_numbers
from pegasos.program.tables.columns import Roles, find_kinds, gap_notes, oddities
from pegasos.program.tables.dataset import (
    DATES,
    NUMBER,
    Array,
    BadData,
    Column,
    Dataset,
    NoRows,
    NotClasses,
    Outline,
    ReadOptions,
    guess_image_shape,
)
from pegasos.program.tables.labels import (
    checked_labels,
    checked_weights,
    plausible_labels,
    simplest,
    unlabelled_note,
)
from pegasos.program.tables.messages import listed, shown
from pegasos.program.tables.table import Block, Table, as_array

#: Text columns with this share of numbers are refused as columns of numbers with typing errors.
_MOSTLY = 0.95
#: Columns of text whose first rows are mostly no numbers are not searched for numbers.
_FIRST_ROWS = 2000


def read_whole(table: Table, options: ReadOptions) -> Dataset:
    """Return all rows, with labels and notes."""
    roles = table.first.roles(options, table.name)
    rows, notes = _read_rows(table, roles)
    found, rows = _add_labels(rows, notes, roles, options)
    if rows.sparse is not None:
        _add_sparse_features(found, rows.sparse)
        return found
    _add_features(found, rows, roles, options, table.first.is_array)
    if table.first.is_array and not options.drop:
        found.image = table.first.image or guess_image_shape(found.X)
    return found


def outline_whole(table: Table, options: ReadOptions) -> Outline | None:
    """Describe a table by its first block, as if the others were alike; None for arrays."""
    if table.first.is_array:
        return None
    roles = table.first.roles(options, table.name)
    first = next(table.blocks(roles.needed), None)
    if first is None:
        raise NoRows(f"{table.name} has names of columns, but no rows.")
    found, notes = _read_rows(table, roles, [first])
    size = (found.frame.estimated_size() + found.sparse_bytes) / first.share
    kinds, more = find_kinds(found.features(roles), roles.given(table.names))
    label, weight, group = (
        None if place is None else table.names[place]
        for place in (roles.label, roles.weight, roles.group)
    )
    notes += more + ([roles.note] if roles.note else [])
    features = [Column(name, kind) for name, kind in kinds.items()]
    return Outline(features, label, weight, group, size, notes, found.sparse is not None)


def _read_rows(
    table: Table, roles: Roles, blocks: Iterable[Block] | None = None
) -> tuple[Block, list[str]]:
    """Return all rows, or those of some blocks, as one block, and notes.

    Text becomes numbers in columns in which all of it can; labels stay text until all are known.
    """
    blocks = table.blocks(roles.needed) if blocks is None else blocks
    as_text = {*roles.text, roles.label}
    columns = {
        place: _Column(table.names[place], table.first.typed, place in as_text)
        for place in roles.needed
    }
    arrays, tests, used, commas = [], [], 0, False
    for block in blocks:
        for place, column in columns.items():
            column.add(block, place)
            used += int(column.parts[-1].estimated_size())
        used += block.sparse_bytes
        table.check_bytes(used)
        commas |= block.commas
        arrays += [] if block.sparse is None else [block.sparse]
        tests += [] if block.test is None else [block.test]
    if late := [place for place, column in columns.items() if column.is_late]:
        again = [block.frame for block in table.blocks(late)]
        for place in late:
            columns[place].parts = [frame[str(place)] for frame in again]
    found = Block(
        pl.DataFrame({str(place): column.values() for place, column in columns.items()}),
        table.where,
        commas=commas,
        test=np.concatenate(tests) if tests else None,
        sparse=joined(arrays) if arrays else None,
        table=table.name,
        names=table.names,
    )
    for place in roles.features:
        if columns[place].is_guessed and columns[place].is_text:
            _check_words(found, place)
    notes = [*table.sources.notes(), *table.first.notes]
    if names := [column.name for column in columns.values() if column.commas]:
        notes.append(f"commas are read as decimal points in {listed(names)}")
    if names := [column.name for column in columns.values() if column.amounts]:
        notes.append(f"amounts such as $1,234.50 or 12 % are read as numbers in {listed(names)}")
    return found, notes


class _Column:
    """Column being read.

    In a text file it is numeric until its first text; where it is empty it may have any type.
    """

    def __init__(self, name: str, typed: bool, is_text: bool) -> None:
        self.name, self.parts = name, list[pl.Series]()
        self.is_guessed = not typed and not is_text
        self.is_text = None if typed else is_text
        #: Whether text came after parts that were read as numbers.
        self.is_late = False
        #: Whether there are numbers with decimal commas, and amounts.
        self.commas = self.amounts = False

    def add(self, block: Block, place: int) -> None:
        """Add the rows of a block."""
        series = block.column(place)
        if self.is_guessed and not self.is_text:
            found = as_numbers(series, block.commas)
            self.is_text = len(found.wrong) > 0
            if self.is_text:
                self.is_late, self.commas, self.amounts = len(self.parts) > 0, False, False
            else:
                series = found.values
                self.commas |= found.commas
                self.amounts |= found.amounts
        elif series.null_count() < len(series):
            is_text = series.dtype == pl.String
            if self.is_text not in (None, is_text):
                here, there = ("words", "numbers") if is_text else ("numbers", "words")
                what = f"column {shown(self.name)} holds {here}, and {there} in files before"
                todo = "write it as one of them in all files, or leave it out with"
                raise BadData(f"{block.file}: {what}; {todo} --drop {self.name}.")
            self.is_text = is_text
        self.parts.append(series)

    def values(self) -> pl.Series:
        """Return all values in a common type."""
        if len({part.dtype for part in self.parts}) > 1:
            dtype = pl.String if self.is_text else pl.Float64
            self.parts = [part.cast(dtype) for part in self.parts]
        return pl.concat(self.parts) if self.parts else pl.Series(dtype=pl.Float64)


def _check_words(rows: Block, place: int) -> None:
    """Refuse a column of numbers with a few texts among them."""
    name, words = rows.names[place], rows.column(place)
    first = words.head(_FIRST_ROWS)
    if 2 * len(as_numbers(first, rows.commas).wrong) > len(first):
        return
    found = as_numbers(words, rows.commas)
    numbers = len(words) - found.values.null_count()
    total = numbers + len(found.wrong)
    if numbers >= max(20, _MOSTLY * total):
        row = int(found.wrong[0])
        what = f"{shown(words[row])} is not a number, but {numbers} of {total} values there are"
        todo = f"Correct it or leave it empty; if these are categories, use --text {name}"
        raise rows.bad(row, f", column {shown(name)}: {what}. {todo}.")


def _add_labels(
    rows: Block, notes: list[str], roles: Roles, options: ReadOptions
) -> tuple[Dataset, Block]:
    """Return a data set without features, and the rows that it has."""
    names, whole, label = rows.names, len(rows), roles.label
    if not whole:
        raise NoRows(f"{rows.table} has names of columns, but no rows.")
    if label is not None:
        kept = rows.labelled(label)
        if not len(kept) and not options.labelled:
            notes.append(f"column {shown(names[label])} holds no label in any row")
            label = None
        else:
            rows = kept
            notes += [roles.note] if roles.note else []
    found = Dataset(rows.table, None, [], test=rows.test, where=rows.where, notes=notes)
    if label is not None:
        name, count = names[label], len(rows)
        found.label_name, found.unlabelled = name, whole - count
        notes += unlabelled_note(whole - count, whole, name, rows.table, options.strict)
        try:
            labels = rows.full(rows.labels(label), "the label is missing.")
            found.y = checked_labels(labels, name, rows.table, rows.where)
        except NotClasses as error:
            distinct = {each.name: each.drop_nulls().n_unique() for each in rows.features(roles)}
            raise NotClasses(f"{error}{plausible_labels(distinct, count)}") from None

    def full(part: str, place: int) -> Array:
        missing = f"the {part} (column {shown(names[place])}) is missing."
        return rows.full(rows.settle(place), missing)

    if roles.group is not None:
        found.groups = simplest(full("group", roles.group))
    if (place := roles.weight) is not None:
        weights = full("weight", place)
        found.weights = checked_weights(weights, names[place], rows.table, rows.where)
    return found, rows


def _add_features(
    found: Dataset, rows: Block, roles: Roles, options: ReadOptions, is_array: bool
) -> None:
    """Give the data set its features; numbers are float32 if all columns are.

    Columns of an array are numbers, never dates or identifiers.
    """
    series, notes, count = rows.features(roles), found.notes, len(rows)
    if empty := [each.name for each in series if each.null_count() == count]:
        notes.append(f"empty columns are excluded: {listed(empty)}")
    series = [each for each in series if each.null_count() < count]
    if not series:
        raise BadData(f"{rows.table}: no feature has a value in any row.")
    kinds, more = dict.fromkeys((each.name for each in series), NUMBER), list[str]()
    if not is_array:
        kinds, more = find_kinds(series, roles.given(rows.names))
    found.columns = [Column(name, kind) for name, kind in kinds.items()]
    series = [
        as_days(each, kinds[each.name]).alias(each.name) if kinds[each.name] in DATES else each
        for each in series
        if each.name in kinds
    ]
    words = [each.name for each in series if each.dtype == pl.String]
    gaps = {each.name: each.null_count() for each in series if each.dtype != pl.String}
    notes += more + gap_notes(gaps, words, rows.table, options.strict)
    notes += [] if is_array else oddities(series, found.y)
    found.X = as_array(pl.DataFrame(series))


def _add_sparse_features(found: Dataset, X: Any) -> None:
    """Give the data set its features, named by index from x1, or x0 if there is one."""
    lowest = int(X.indices.min(initial=1))
    if X.shape[1] <= lowest:
        raise BadData(f"{found.name} has no features: no line holds a pair index:value.")
    found.X = X[:, lowest:]
    found.columns = [Column(f"x{place}") for place in range(lowest, X.shape[1])]
