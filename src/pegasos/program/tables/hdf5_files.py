"""HDF5 files with data and target, or X and y, at the top level or in the groups train and test."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from pegasos.program.tables.array_files import ArrayFile
from pegasos.program.tables.blocks import decoding
from pegasos.program.tables.dataset import BadData, ReadOptions
from pegasos.program.tables.messages import plain
from pegasos.program.tables.sources import Source

#: Maximum ratio of an array's declared size to its stored size; larger ones are corrupt or
#: malicious.
_SWELL = 2000


def open_file(
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
            raise ValueError(f"an array of shape {self.shape} is not what is stored for it")
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
                kinds = "only numbers and words of fixed length are read"
                raise BadData(f"{name}: {plain(path)} is of type {item.dtype}; {kinds}.")
            yield path, _Hdf5Array(item)
