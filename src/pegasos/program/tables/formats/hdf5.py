"""HDF5 files with data and target, or X and y.

The arrays are at the top level, or in the groups train and test.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from pegasos.program.tables.array_files import ArrayFile
from pegasos.program.tables.dataset import Array, BadData
from pegasos.program.tables.messages import plain
from pegasos.program.tables.read_options import Opening
from pegasos.program.tables.source import Source
from pegasos.program.tables.table import decoding

NAME = "hdf5"
EXTENSIONS = (".h5", ".hdf5", ".hdf")
#: Maximum ratio of an array's declared size to its stored size; larger ones are corrupt or
#: malicious.
_SWELL = 2000


def sniff(head: bytes) -> bool:
    """Return whether the bytes are the signature of HDF5."""
    return head.startswith(b"\x89HDF\r\n\x1a\n")


class Hdf5File(ArrayFile):
    """Arrays of one HDF5 file by path."""

    def __init__(self, source: Source, expected: Sequence[str], how: Opening) -> None:
        source.check_unpacked("HDF5")
        try:
            import h5py
        except ImportError as error:
            what = f"reading HDF5 needs a package ({plain(error)})"
            raise BadData(f"{source.name}: {what}; pip install '.[all]' in a clone.") from error
        self._name, self._h5py = source.name, h5py
        with decoding(self._name, "HDF5"):
            self._file = h5py.File(source.path, "r", locking=False)
            self._found = dict(self._arrays(self._file, "", deeper=True))
        super().__init__(source.name, list(self._found), how)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _arrays(self, group: Any, prefix: str, deeper: bool) -> Iterator[tuple[str, Any]]:
        """Yield path and array of each array, at most one group deep; refuse links."""
        for key in group:
            path, link = prefix + key, group.get(key, getlink=True)
            if not isinstance(link, self._h5py.HardLink):
                kind = "an external" if isinstance(link, self._h5py.ExternalLink) else "a soft"
                raise BadData(f"{self._name}: {plain(path)} is {kind} link, which is not followed.")
            item = group[key]
            if isinstance(item, self._h5py.Group) and deeper:
                yield from self._arrays(item, f"{path}/", deeper=False)
            elif isinstance(item, self._h5py.Dataset):
                if item.is_virtual or item.external:
                    raise BadData(f"{self._name}: {plain(path)} has its values in other files.")
                if item.dtype.kind not in "biufS":
                    kinds = "only numbers and words of fixed length are read"
                    raise BadData(f"{self._name}: {plain(path)} is of type {item.dtype}; {kinds}.")
                yield path, item

    def declared(self, name: str) -> tuple[tuple[int, ...], int]:
        """Return shape and item size of an array."""
        item = self._found[name]
        return tuple(item.shape or ()), item.dtype.itemsize

    def slices(self, name: str, amount: int) -> Iterator[Array]:
        """Yield an array in slices of about `amount` bytes."""
        (shape, itemsize), item = self.declared(name), self._found[name]
        width = math.prod(shape[1:]) * itemsize
        with decoding(self._name, "HDF5"):
            stored = item.id.get_storage_size()
        if shape[0] * width > _SWELL * (stored + 2**16):
            what = f"{plain(name)} of shape {shape} is not what is stored for it"
            raise BadData(f"{self._name} is damaged: {what}.")
        step = max(1, amount // max(1, width))
        for start in range(0, shape[0], step):
            with decoding(self._name, "HDF5"):
                found = item[start : start + step]
            yield found


open_file = Hdf5File
