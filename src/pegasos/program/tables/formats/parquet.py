"""Parquet tables."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from functools import partial

import polars as pl

from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.messages import shown
from pegasos.program.tables.parquet_pages import check_pages
from pegasos.program.tables.read_options import MOST_COLUMNS, TOO_WIDE, Opening
from pegasos.program.tables.source import Source
from pegasos.program.tables.table import Block, TableFile, decoding, row_after

NAME = "parquet"
EXTENSIONS = (".parquet", ".pq")
#: Standard error is one per process.
_stderr_lock = threading.RLock()
_TEXT = (pl.String, pl.Categorical, pl.Enum, pl.Date, pl.Datetime)


def sniff(head: bytes) -> bool:
    """Return whether the bytes are the signature of Parquet."""
    return head.startswith(b"PAR1")


class ParquetFile(TableFile):
    """One Parquet file; dates and times are read as text, times in UTC."""

    header, typed, rows = True, True, 0

    def __init__(self, source: Source, expected: Sequence[str], how: Opening) -> None:
        source.check_unpacked("Parquet")
        self._source, self.notes = source, list[str]()
        with decoding(source.name, "Parquet"), _silent_stderr():
            status = source.path.stat()
            check_pages(source.path, status.st_size, status.st_mtime_ns)
            self._lazy = pl.scan_parquet(source.path, glob=False, cache=False)
            self._schema = self._lazy.collect_schema()
            self.rows = int(self._lazy.select(pl.len()).collect().item())
        self.names = self._schema.names()
        if len(self.names) > MOST_COLUMNS:
            raise BadData(f"{source.name} has {len(self.names)} columns; {TOO_WIDE}")

    def blocks(self, places: Sequence[int], amount: int) -> Iterator[Block]:
        """Yield the rows of some columns as text, float32 or float64."""
        names = [self.names[place] for place in places]
        dtypes = [self._read_as(name) for name in names]
        step = max(1, amount // (8 * max(1, len(names))))
        for start in range(0, self.rows, step):
            with decoding(self._source.name, "Parquet"), _silent_stderr():
                frame = self._lazy.select(names).slice(start, step).collect()
                moments = pl.selectors.datetime().dt.convert_time_zone("UTC")
                frame = frame.with_columns(moments.dt.strftime("%Y-%m-%d %H:%M:%S"))
                frame = frame.cast(dict(zip(names, dtypes, strict=True)))
                if not frame.height:
                    raise ValueError(f"{self.rows} rows are declared, and {start} are there")
            yield Block(frame, partial(row_after, start), frame.height / self.rows)

    def _read_as(self, name: str) -> type[pl.DataType]:
        """Return the type as which a column is read."""
        dtype = self._schema[name]
        if dtype == pl.Float32:
            return pl.Float32
        if dtype in _TEXT:
            return pl.String
        if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
            return pl.Float64
        what = f"column {shown(name)} is of type {shown(dtype)}, neither numbers nor words"
        todo = f"turn it into one of them, or leave it out with --drop {shown(name)}"
        raise BadData(f"{self._source.name}: {what}; {todo}.")


@contextlib.contextmanager
def _silent_stderr() -> Iterator[None]:
    """Discard what the decoder's threads write: a panic prints there before it is raised."""
    with _stderr_lock, contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError, ValueError):  # standard error may be closed
            sys.stderr.flush()
            kept = os.dup(2)
            stack.callback(os.close, kept)
            with open(os.devnull, "wb") as null:
                os.dup2(null.fileno(), 2)
            stack.callback(os.dup2, kept, 2)
        yield


open_file = ParquetFile
