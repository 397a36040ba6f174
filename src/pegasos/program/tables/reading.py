"""A file, or many that are one table, into a dataset, whole or chunk by chunk; the format is found by its content."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pegasos.program.files import NoSpace
from pegasos.program.tables.dataset import BadData, Column, Dataset
from pegasos.program.tables.formats import Format, chosen
from pegasos.program.tables.messages import plain
from pegasos.program.tables.read_options import Outline, ReadOptions, Wanted
from pegasos.program.tables.shards import Shards, opened_shards
from pegasos.program.tables.sizes import check_sizes

_DEFAULT = ReadOptions()


@contextlib.contextmanager
def _format(source: str | Path, options: ReadOptions, what: str) -> Iterator[tuple[Shards, Format]]:
    """The files and the format they are in; `what` of them is read at once."""
    with opened_shards(source) as found:
        try:
            yield found, chosen(found, options.format)
        except MemoryError as error:
            raise BadData(f"{found.name}{what} does not fit into memory.") from error
        except NoSpace:  # for what is kept while reading
            raise
        except OSError as error:
            raise BadData(f"{found.name} cannot be read: {plain(error)}.") from error


def read(source: str | Path, options: ReadOptions = _DEFAULT) -> Dataset:
    """All rows of a file, of all files in a folder or of a pattern such as "part-*.csv", or of standard input ("-"), with labels
    and notes; BadData where something is wrong.
    """
    with _format(source, options, "") as (found, form):
        dataset = form.read(found, options)
        check_sizes(dataset)
        dataset.notes[:0] = found.notes()
        return dataset


def outline(source: str | Path, options: ReadOptions = _DEFAULT) -> Outline | None:
    """What the first rows tell about a table of any size; None where the format cannot tell (HDF5, npz)."""
    with _format(source, options, "") as (found, form):
        look = getattr(form, "outline", None)
        return (
            None
            if look is None
            else replace(told := look(found, options), notes=[*found.notes(), *told.notes])
        )


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
    """Chunks of rows with the columns of a model, in its order and of its kinds; the whole file is never held.

    Columns are found by name where the file has names, else by position. Rows are an array, or a polars frame if `frame`; without
    a frame a missing number is BadData. Labels come along if `options.label` says where they are, or if the file has a column
    called `label_name`; if `labelled`, rows without a label are left out and counted. A chunk comes from about `chunk` bytes.
    The notes of the first chunk tell what files are read.
    """
    with _format(source, options, ": a chunk of rows") as (found, form):
        wanted = Wanted(columns, frame, label_name, labelled, chunk)
        for number, part in enumerate(_with_rows(form.stream(found, wanted, options))):
            if number == 0:
                part.notes[:0] = found.notes()
            yield part


def _with_rows(parts: Iterator[Dataset]) -> Iterator[Dataset]:
    """Leave out parts in which no row has a label; their rows are counted with the part before or after."""
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
