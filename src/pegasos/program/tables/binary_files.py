"""Binary files: NumPy archives, HDF5 and Parquet."""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import sys
import threading
import zipfile
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.lib import format as npy_format

from pegasos.program.tables.array_files import ArrayFile
from pegasos.program.tables.dataset import MOST_COLUMNS, TOO_WIDE, Array, BadData, ReadOptions
from pegasos.program.tables.messages import plain, shown, size
from pegasos.program.tables.sources import Source
from pegasos.program.tables.table import Block, TableFile, decoding, row_after

#: Maximum ratio of an array's declared size to its stored size; larger ones are corrupt or
#: malicious.
_SWELL = 2000
#: Standard error is one per process.
_stderr_lock = threading.RLock()
#: Types of values in Thrift's compact protocol, in which Parquet writes its headers.
_TRUE, _FALSE, _DOUBLE, _BYTES, _LISTS, _STRUCT = 1, 2, 7, 8, (9, 10), 12
_TEXT = (pl.String, pl.Categorical, pl.Enum, pl.Date, pl.Datetime)


def open_npz(
    source: Source, options: ReadOptions, expected: Sequence[str], limit: int | None
) -> ArrayFile:
    """Open an archive of arrays."""
    with decoding(source.name, "npz"):
        archive = zipfile.ZipFile(source.path)
    arrays: dict[str, Any] = {}
    for entry in archive.infolist():
        if entry.filename.endswith(".npy"):
            name = entry.filename.removesuffix(".npy")
            arrays[name] = _Member(source.name, name, archive, entry, options.allowed())
    if "indptr" in arrays:
        todo = "write it with sklearn.datasets.dump_svmlight_file"
        raise BadData(f"{source.name} is a sparse matrix, which is not read; {todo}.")
    return ArrayFile(source.name, "npz", arrays, options, archive.close)


class _Member:
    """Array of an archive: its header is compared with its size before it is read."""

    def __init__(
        self, file: str, name: str, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limit: int
    ) -> None:
        self._file, self._name, self._archive, self._entry = file, name, archive, entry
        self._limit = limit

    @cached_property
    def _header(self) -> tuple[tuple[int, ...], np.dtype[Any]]:
        with self._archive.open(self._entry) as stream:
            version = npy_format.read_magic(stream)
            read_header = npy_format.read_array_header_2_0
            if version == (1, 0):
                read_header = npy_format.read_array_header_1_0
            shape, _, dtype = read_header(stream)
            if dtype.hasobject or dtype.kind not in "biufSU":
                what = f"the array {shown(self._name)} holds {plain(dtype)}, which is not read"
                raise BadData(f"{self._file}: {what}: only numbers and text are.")
            needed = math.prod(shape) * dtype.itemsize
            stored = self._entry.file_size - stream.tell()
            if min(shape, default=0) < 0 or not dtype.itemsize or needed != stored:
                what = f"should take {needed} bytes, but has {stored}"
                raise ValueError(f"the array {shown(self._name)} of shape {shape} {what}")
            return shape, dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self._header[0]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the array."""
        return self._header[1]

    @cached_property
    def values(self) -> Array:
        """The whole array: an archive can be read only from its beginning."""
        if (taken := self._entry.file_size) > self._limit:
            most = f"{size(taken)}, more than the memory limit of {size(self._limit)}"
            raise BadData(f"{self._file}: {shown(self._name)} takes {most}; write it as Parquet.")
        with self._archive.open(self._entry) as stream:
            array: Array = npy_format.read_array(stream, allow_pickle=False)
        if array.dtype.kind == "U":  # refuse what is not Unicode
            "".join(array.ravel().tolist()).encode()
        return array

    def __getitem__(self, rows: slice) -> Array:
        return self.values[rows]


def open_hdf5(
    source: Source, options: ReadOptions, expected: Sequence[str], limit: int | None
) -> ArrayFile:
    """Open a file; its arrays are named by their paths."""
    source.check_unpacked("HDF5")
    try:
        import h5py
    except ImportError as error:
        what = f"reading HDF5 needs a package ({plain(error)})"
        raise BadData(f"{source.name}: {what}; pip install '.[all]' in a clone.") from error
    with decoding(source.name, "HDF5"):
        file = h5py.File(source.path, "r", locking=False)
        arrays = dict(_arrays(source.name, file, "", deeper=True))
    return ArrayFile(source.name, "HDF5", arrays, options, file.close)


class _Hdf5Array:
    """Array of an open file, whose declared size is compared with its stored size."""

    def __init__(self, item: Any) -> None:
        self._item = item
        self.shape, self.dtype = tuple(item.shape or ()), item.dtype

    def __getitem__(self, rows: slice) -> Any:
        stored = self._item.id.get_storage_size()
        if math.prod(self.shape) * self.dtype.itemsize > _SWELL * (stored + 2**16):
            raise ValueError(f"an array of shape {self.shape} declares more than the file stores")
        return self._item[rows]


def _arrays(name: str, group: Any, prefix: str, deeper: bool) -> Iterator[tuple[str, _Hdf5Array]]:
    """Yield path and array of each array, at most one group deep; refuse links."""
    import h5py

    for key in group:
        path, link = prefix + key, group.get(key, getlink=True)
        if not isinstance(link, h5py.HardLink):
            kind = "an external" if isinstance(link, h5py.ExternalLink) else "a soft"
            raise BadData(f"{name}: {plain(path)} is {kind} link, which is not followed.")
        item = group[key]
        if isinstance(item, h5py.Group) and deeper:
            yield from _arrays(name, item, f"{path}/", deeper=False)
        elif isinstance(item, h5py.Dataset):
            if item.is_virtual or item.external:
                raise BadData(f"{name}: {plain(path)} has its values in other files.")
            if item.dtype.kind not in "biufS":
                kinds = "only numbers and text of fixed length are read"
                raise BadData(f"{name}: {plain(path)} is of type {item.dtype}; {kinds}.")
            yield path, _Hdf5Array(item)


class ParquetFile(TableFile):
    """One Parquet file; dates and times are read as text, times in UTC."""

    header, typed, rows = True, True, 0

    def __init__(
        self, source: Source, options: ReadOptions, expected: Sequence[str], limit: int | None
    ) -> None:
        source.check_unpacked("Parquet")
        self._source, self.notes = source, list[str]()
        with decoding(source.name, "Parquet"), _silent_stderr():
            status = source.path.stat()
            _check_pages(source.path, status.st_size, status.st_mtime_ns)
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
    """Discard stderr: threads of the decoder print a panic there before Python raises it."""
    with _stderr_lock, contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError, ValueError):  # standard error may be closed
            sys.stderr.flush()
            kept = os.dup(2)
            stack.callback(os.close, kept)
            with open(os.devnull, "wb") as null:
                os.dup2(null.fileno(), 2)
            stack.callback(os.dup2, kept, 2)
        yield


@lru_cache
def _check_pages(path: Path, size: int, changed: int) -> None:
    """Raise ValueError if a page declares impossible sizes, for which polars aborts the process.

    Size and time of change identify the file.
    """
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        footer, _ = _read(data, size - 8 - int.from_bytes(data[-8:-4], "little"), _STRUCT)
        for group in footer[4]:
            for column in (each[3] for each in group[1]):
                at = min(column[9], column.get(11, column[9]))  # of data, of a dictionary
                most = group[3] if len(column[3]) == 1 else column[5]  # lists have more than rows
                end = at + column[7]
                while at < end:
                    header, at = _read(data, at, _STRUCT)
                    page = header.get(5) or header.get(8) or header.get(7, {})
                    limit = header[2] if 7 in header else most  # a dictionary may be longer
                    if min(header[2], header[3]) < 0 or not 0 <= page.get(1, 0) <= limit:
                        raise ValueError("a page declares a size that it cannot have")
                    at += header[3]


def _read(data: Any, at: int, kind: int) -> tuple[Any, int]:
    """Return a value (None for text and fractions) that begins at a byte, and its end."""
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, at
    if kind == _DOUBLE:
        _ = data[at + 7]  # an IndexError beyond the end
        return None, at + 8
    if kind == _STRUCT:
        fields, number = dict[int, Any](), 0
        while head := data[at]:
            number, at = (number + (head >> 4), at + 1) if head >> 4 else _read(data, at + 1, 4)
            fields[number], at = _read(data, at, head & 15)
        return fields, at + 1
    if kind in _LISTS:
        head, items = data[at], list[Any]()
        count, at = (head >> 4, at + 1) if head >> 4 < 15 else _varint(data, at + 1)
        for _ in range(count):  # booleans of a list take a byte each
            item, at = _read(data, at, head & 15 if head & 15 > _FALSE else 4)
            items.append(item)
        return items, at
    number, at = _varint(data, at)
    return (None, at + number) if kind == _BYTES else ((number >> 1) ^ -(number & 1), at)


def _varint(data: Any, at: int) -> tuple[int, int]:
    number = shift = 0
    while (byte := data[at]) > 127:
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if shift > 63:
            raise ValueError("a number has more than 64 bits")
    return number | byte << shift, at + 1
