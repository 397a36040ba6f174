"""Arrays in NumPy archives and in HDF5 files."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from pegasos.program.tables.array_files import ArrayFile
from pegasos.program.tables.dataset import Array, BadData, ReadOptions
from pegasos.program.tables.messages import plain, shown, size
from pegasos.program.tables.sources import Source
from pegasos.program.tables.table import decoding

#: Maximum ratio of an array's declared size to its stored size; larger ones are corrupt or
#: malicious.
_SWELL = 2000


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
