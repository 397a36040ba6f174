"""Reading of tables, whole or in blocks of rows, from one file or many."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from pegasos.program.files import NoSpace
from pegasos.program.tables.blocks import Block
from pegasos.program.tables.cells import as_days
from pegasos.program.tables.column_kinds import column_notes, find_kinds, oddities
from pegasos.program.tables.column_roles import Roles
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
    check_sizes,
    guess_image_shape,
)
from pegasos.program.tables.formats import choose_format
from pegasos.program.tables.labels import (
    checked_labels,
    checked_weights,
    plausible_labels,
    simplest,
    unlabelled_note,
)
from pegasos.program.tables.messages import listed, plain, shown
from pegasos.program.tables.model_rows import as_array, fit_block
from pegasos.program.tables.sources import opened_sources
from pegasos.program.tables.table import Table
from pegasos.program.tables.whole_table import array_bytes, read_rows

_DEFAULT = ReadOptions()


def read(source: str | Path, options: ReadOptions = _DEFAULT) -> Dataset:
    """Read all rows, with labels and notes.

    `source` is a file, a folder or pattern such as "part-*.csv" for files of one table, or "-" for
    standard input. Anything wrong raises BadData.
    """
    with _opened(source, options, limit=options.allowed()) as table:
        roles = table.first.roles(options, table.name)
        rows, notes = read_rows(table, roles)
        found, rows = _add_labels(rows, notes, roles, options)
        if rows.array is not None:
            _add_sparse_features(found, rows.array)
        else:
            _add_features(found, rows, roles, options, table.first.is_array)
            if table.first.is_array and not options.drop:
                found.image = table.first.image_shape() or guess_image_shape(found.X)
        check_sizes(found)
        found.notes[:0] = table.sources.notes()
        return found


def outline(source: str | Path, options: ReadOptions = _DEFAULT) -> Outline | None:
    """Describe a table by its first rows; None for formats without columns (HDF5, npz)."""
    with _opened(source, options) as table:
        if table.first.is_array:
            return None
        roles = table.first.roles(options, table.name)
        first = next(table.blocks(roles.needed), None)
        if first is None:
            raise NoRows(f"{table.name} has names of columns, but no rows.")
        found, notes = read_rows(table, roles, [first])
        size = (found.frame.estimated_size() + array_bytes(found.array)) / first.share
        kinds, more = find_kinds(found.features(roles), _asked(roles, found))
        label, weight, group = (
            None if place is None else table.names[place]
            for place in (roles.label, roles.weight, roles.group)
        )
        notes = [*table.sources.notes(), *notes, *more, *([roles.note] if roles.note else [])]
        features = [Column(name, kind) for name, kind in kinds.items()]
        return Outline(features, label, weight, group, size, notes, found.array is not None)


def stream(
    source: str | Path,
    columns: list[Column],
    options: ReadOptions = _DEFAULT,
    *,
    frame: bool = False,
    label_name: str | None = None,
    chunk: int = 8 * 2**20,
    labelled: bool = False,
) -> Iterator[Dataset]:
    """Yield blocks of rows with the columns of a model; the file is never held whole.

    Parameters
    ----------
    source : str or Path
        As in `read`.
    columns : list of Column
        Columns of the model, found by name if the file has names, else by position.
    options : ReadOptions
        Options; `label` names the label.
    frame : bool
        Whether to yield polars frames; arrays cannot have missing numbers.
    label_name : str, optional
        Name of the label if `options.label` is not given and the file has it.
    chunk : int
        Approximate bytes of the file in a block.
    labelled : bool
        Whether to leave out, and count, rows without a label.

    Yields
    ------
    Dataset
        Rows; the notes of the first block name the files.
    """
    options = replace(options, usual_label=label_name, labelled=False)
    expected = [column.name for column in columns]
    with _opened(source, options, expected, ": a chunk of rows") as table:
        roles = table.first.match_roles(columns, options, table.name)
        blocks = table.blocks(roles.needed, chunk)
        parts = (fit_block(each, roles, columns, frame, labelled) for each in blocks)
        for number, part in enumerate(_with_rows(parts)):
            if number == 0:
                part.notes[:0] = table.sources.notes()
            yield part


@contextlib.contextmanager
def _opened(
    source: str | Path,
    options: ReadOptions,
    expected: list[str] | None = None,
    what: str = "",
    limit: int | None = None,
) -> Iterator[Table]:
    """Open the files of a table; `what` names the rows held in memory."""
    with opened_sources(source) as sources:
        try:
            form = choose_format(sources, options.format)
            yield Table(sources, form.open_file, options, expected or (), limit)
        except MemoryError as error:
            raise BadData(f"{sources.name}{what} does not fit into memory.") from error
        except NoSpace:  # for temporary files
            raise
        except OSError as error:
            raise BadData(f"{sources.name} cannot be read: {plain(error)}.") from error


def _with_rows(parts: Iterator[Dataset]) -> Iterator[Dataset]:
    """Leave out blocks without a label in any row; their rows are counted with a neighbor."""
    last: Dataset | None = None
    for part in parts:
        if last is None or (len(last) and len(part)):
            if last is not None:
                yield last
            last = part
        else:
            kept = part if len(part) else last
            last = replace(kept, unlabelled=last.unlabelled + part.unlabelled)
    if last is not None:
        yield last


def _asked(roles: Roles, rows: Block) -> set[str]:
    """Return the names of columns whose kind the user gave."""
    return {rows.names[place] for place in roles.numbers | roles.text}


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
        found.y = _checked_labels(rows, roles, label)

    def full(part: str, place: int) -> Array:
        missing = f"the {part} (column {shown(names[place])}) is missing."
        return rows.full(rows.settle(place), missing)

    if roles.group is not None:
        found.groups = simplest(full("group", roles.group))
    if (place := roles.weight) is not None:
        weights = full("weight", place)
        found.weights = checked_weights(weights, names[place], rows.table, rows.where)
    return found, rows


def _checked_labels(rows: Block, roles: Roles, place: int) -> Array:
    labels = rows.full(rows.labels(place), "the label is missing.")
    try:
        return checked_labels(labels, rows.names[place], rows.table, rows.where)
    except NotClasses as error:
        distinct = {each.name: each.drop_nulls().n_unique() for each in rows.features(roles)}
        raise NotClasses(f"{error}{plausible_labels(distinct, len(rows))}") from None


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
        kinds, more = find_kinds(series, _asked(roles, rows))
    found.columns = [Column(name, kind) for name, kind in kinds.items()]
    series = [
        as_days(each, kinds[each.name]).alias(each.name) if kinds[each.name] in DATES else each
        for each in series
        if each.name in kinds
    ]
    notes += more + column_notes(series, rows.table, options.strict)
    notes += [] if is_array else oddities(series, found.y)
    found.X = as_array(pl.DataFrame(series))


def _add_sparse_features(found: Dataset, X: Any) -> None:
    """Give the data set its features, named by index from x1, or x0 if there is one."""
    if not np.isfinite(X.data).all():
        raise BadData(f"{found.name}: the sparse matrix holds numbers that are not finite.")
    lowest = int(X.indices.min(initial=1))
    if X.shape[1] <= lowest:
        raise BadData(f"{found.name} has no features: no line holds a pair index:value.")
    found.X = X[:, lowest:]
    found.columns = [Column(f"x{place}") for place in range(lowest, X.shape[1])]
