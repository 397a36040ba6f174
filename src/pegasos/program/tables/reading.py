"""Reading of tables, whole or in blocks of rows, from one file or many."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from pegasos.program.files import NoSpace
from pegasos.program.tables.cells import EXAMPLES, as_days, as_numbers, as_words
from pegasos.program.tables.columns import Roles
from pegasos.program.tables.dataset import (
    COMPACT_DATE,
    DATES,
    TEXT,
    BadData,
    Column,
    Dataset,
    NotNumber,
    Outline,
    ReadOptions,
    check_sizes,
)
from pegasos.program.tables.formats import find_opener
from pegasos.program.tables.labels import simplest
from pegasos.program.tables.messages import plain, shown
from pegasos.program.tables.sources import opened_sources
from pegasos.program.tables.table import Block, Table, as_array
from pegasos.program.tables.whole_table import outline_whole, read_whole

_DEFAULT = ReadOptions()


def read(source: str | Path, options: ReadOptions = _DEFAULT) -> Dataset:
    """Read all rows, with labels and notes.

    `source` is a file, a folder or pattern such as "part-*.csv" for files of one table, or "-" for
    standard input. Anything wrong raises BadData.
    """
    with _opened(source, options, limit=options.allowed()) as table:
        found = read_whole(table, options)
        check_sizes(found)
        return found


def outline(source: str | Path, options: ReadOptions = _DEFAULT) -> Outline | None:
    """Describe a table by its first rows; None for formats without columns (HDF5, npz)."""
    with _opened(source, options) as table:
        return outline_whole(table, options)


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

    Columns are found by name if the file has names, else by position. The notes of the first block
    name the files.

    Parameters
    ----------
    source, options
        As in `read`.
    columns : list of Column
        Columns of the model.
    frame : bool
        Whether to yield polars frames; arrays cannot have missing numbers.
    label_name : str, optional
        Name of the label if `options.label` is not given and the file has it.
    chunk : int
        Approximate bytes of the file in a block.
    labelled : bool
        Whether to leave out, and count, rows without a label.
    """
    options = replace(options, usual_label=label_name, labelled=False)
    expected = [column.name for column in columns]
    with _opened(source, options, expected) as table:
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
    limit: int | None = None,
) -> Iterator[Table]:
    """Open the files of a table."""
    with opened_sources(source) as sources:
        try:
            open_file = find_opener(sources, options.format)
            yield Table(sources, open_file, options, expected or (), limit)
        except MemoryError as error:
            raise BadData(f"{sources.name} does not fit into memory.") from error
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
    if rows.sparse is not None:
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


def _fit_sparse(rows: Block, columns: list[Column], frame: bool) -> Any:
    """Return the features of a model without unknown indices.

    If no columns are requested, positions are the indices of the file.
    """
    X, names = rows.sparse, [column.name for column in columns]
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
