"""Reading of tables, whole or in blocks of rows, from one file or many."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pegasos.program.files import NoSpace
from pegasos.program.tables import column_tables
from pegasos.program.tables.dataset import BadData, Column, Dataset, check_sizes
from pegasos.program.tables.formats import Format, choose_format
from pegasos.program.tables.messages import plain
from pegasos.program.tables.read_options import Opening, Outline, ReadOptions, Wanted
from pegasos.program.tables.shards import Shards, opened_shards
from pegasos.program.tables.table import Table

_DEFAULT = ReadOptions()


def read(source: str | Path, options: ReadOptions = _DEFAULT) -> Dataset:
    """Read all rows, with labels and notes.

    `source` is a file, a folder or pattern such as "part-*.csv" for files of one table, or "-" for
    standard input. Anything wrong raises BadData.
    """
    with _opened(source, options, "") as (found, form):
        how = Opening(options, limit=options.allowed())
        dataset = column_tables.read(Table(found, form.open_file, how), options)
        check_sizes(dataset)
        dataset.notes[:0] = found.notes()
        return dataset


def outline(source: str | Path, options: ReadOptions = _DEFAULT) -> Outline | None:
    """Describe a table by its first rows; None for formats without columns (HDF5, npz)."""
    with _opened(source, options, "") as (found, form):
        table = Table(found, form.open_file, Opening(options))
        outline = column_tables.outline(table, options)
        return outline and replace(outline, notes=[*found.notes(), *outline.notes])


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
    with _opened(source, options, ": a chunk of rows") as (found, form):
        wanted = Wanted(columns, frame, label_name, labelled, chunk)
        table = Table(found, form.open_file, Opening(options, wanted=wanted))
        for number, part in enumerate(_with_rows(column_tables.stream(table, wanted, options))):
            if number == 0:
                part.notes[:0] = found.notes()
            yield part


@contextlib.contextmanager
def _opened(source: str | Path, options: ReadOptions, what: str) -> Iterator[tuple[Shards, Format]]:
    """Open the files and detect their format; `what` names the rows held in memory."""
    with opened_shards(source) as found:
        try:
            yield found, choose_format(found, options.format)
        except MemoryError as error:
            raise BadData(f"{found.name}{what} does not fit into memory.") from error
        except NoSpace:  # for temporary files
            raise
        except OSError as error:
            raise BadData(f"{found.name} cannot be read: {plain(error)}.") from error


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
