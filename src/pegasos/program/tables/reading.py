"""Reading of tables, whole or in blocks of rows, from files in a format that is detected."""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
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
from pegasos.program.tables.labels import simplest
from pegasos.program.tables.messages import listed, plain, shown
from pegasos.program.tables.sources import REMEDY, Source, Sources, opened_sources
from pegasos.program.tables.table import Block, Table, TableFile, as_array
from pegasos.program.tables.whole_table import outline_whole, read_whole

_JSON = (".json", ".jsonl", ".ndjson")
_NUMBER = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_PAIRS = rb"(?:,[^\s:,]*+)*+(?:\s++qid:\d++)?(?:\s++\d++:" + _NUMBER + rb")*+"
_SVMLIGHT_LINE = re.compile(rb"\s*+" + _NUMBER + _PAIRS + rb"\s*+(?:#.*)?")
#: Function of a module in this folder for each format; CSV comes last, as it accepts most text.
#: It takes (source, options, expected, limit) and returns a `TableFile`: `expected` are the names
#: that a header probably contains, `limit` is the maximum number of bytes of a table that is read
#: whole.
OPENERS = {
    "hdf5": "binary_files.open_hdf5",
    "npz": "binary_files.open_npz",
    "parquet": "binary_files.ParquetFile",
    "svmlight": "text_files.SvmlightFile",
    "csv": "csv_files.TextFile",
}
_EXTENSIONS = {
    "hdf5": (".h5", ".hdf5", ".hdf"),
    "npz": (".npz",),
    "parquet": (".parquet", ".pq"),
    "svmlight": (".svm", ".svmlight", ".libsvm", ".scale"),
    "csv": (".csv", ".tsv", ".tab", ".txt", ".dat", ".data"),
}
_DEFAULT = ReadOptions()


def find_format(head: bytes) -> str | None:
    """Return the format of a file that begins with these bytes."""
    if head.startswith(b"\x89HDF\r\n\x1a\n"):
        return "hdf5"
    if head.startswith(b"PAR1"):
        return "parquet"
    length = int.from_bytes(head[26:28], "little")  # of the name of a ZIP archive's first entry
    if head.startswith(b"PK\x03\x04") and head[30 : 30 + length].endswith(b".npy"):
        return "npz"
    if _begins_like_svmlight(head):
        return "svmlight"
    odd = sum(head.count(bytes([code])) for code in range(32) if code not in (9, 10, 12, 13))
    is_utf16 = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return "csv" if is_utf16 or (b"\0" not in head and odd <= len(head) // 100) else None


def _begins_like_svmlight(head: bytes) -> bool:
    """Return whether the first line with a colon is a label with pairs.

    Lines before it must be labels or comments.
    """
    for line in head.split(b"\n")[:50]:
        if line.strip() and not line.lstrip().startswith(b"#"):
            if b":" in line and len(line) == len(head) >= 2**16:
                line = line.rpartition(b" ")[0]  # the sample may end within a word
            if b":" in line or not _SVMLIGHT_LINE.fullmatch(line):
                return _SVMLIGHT_LINE.fullmatch(line) is not None
    return False


def find_opener(sources: Sources, asked: str | None = None) -> Callable[..., TableFile]:
    """Return the function that opens all files, by the requested or the detected format."""
    first, remedy = sources.files[0], "" if sources.is_single else f" {REMEDY}"
    if asked is not None and asked not in OPENERS:
        raise BadData(f"there is no format called {shown(asked)}; there are {listed(OPENERS)}.")
    found = [asked or _detect(source, remedy) for source in sources.files]
    for source, name in zip(sources.files, found, strict=True):
        if name != found[0]:
            kinds = f"{source.name} is {name}, and {first.name} is {found[0]}"
            raise BadData(f"{kinds}: the files of one table have one format.{remedy}")
    module, _, function = OPENERS[found[0]].partition(".")  # imports the libraries of the format
    opener: Callable[..., TableFile] = getattr(import_module(f"{__package__}.{module}"), function)
    return opener


def _detect(source: Source, remedy: str) -> str:
    """Return the format by content; CSV, which most text looks like, yields to the extension."""
    if source.head.lstrip()[:1] in (b"{", b"[") or source.extension in _JSON:
        how = "polars.read_json (or read_ndjson for a row per line) and write_csv do that"
        raise BadData(f"{source.name} is JSON, which is not read; {how}.")
    by_content = find_format(source.head)
    by_name = next((name for name, ends in _EXTENSIONS.items() if source.extension in ends), None)
    if by_content == "csv" and by_name == "svmlight":
        return by_name
    if found := by_content or by_name:
        return found
    zipped = source.head.startswith(b"PK")
    hint = " It is a ZIP archive, as spreadsheets are: save the sheet as CSV." if zipped else ""
    what = f"is in no format that is known; there are {listed(OPENERS)}.{hint}{remedy}"
    raise BadData(f"{source.name} {what}")


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
