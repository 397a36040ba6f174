"""NumPy archives with X and y, or data and target, and sparse matrices saved by SciPy."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from pegasos.program.tables.array_files import ArrayFile
from pegasos.program.tables.dataset import Array, BadData
from pegasos.program.tables.messages import plain, shown
from pegasos.program.tables.read_options import Opening
from pegasos.program.tables.source import Source
from pegasos.program.tables.table import decoding

NAME = "npz"
EXTENSIONS = (".npz",)
_SPARSE = ("indices", "indptr", "data", "shape", "format")


def sniff(head: bytes) -> bool:
    """Return whether the bytes begin a ZIP archive whose first entry is an array."""
    length = int.from_bytes(head[26:28], "little")
    return head.startswith(b"PK\x03\x04") and head[30 : 30 + length].endswith(b".npy")


class Archive(ArrayFile):
    """Arrays of one archive.

    NumPy and SciPy read them only after their headers were checked against the entry sizes and the
    memory limit.
    """

    def __init__(self, source: Source, expected: Sequence[str], how: Opening) -> None:
        self._name, self._path, self._limit = source.name, source.path, how.options.allowed()
        with decoding(self._name, "npz"):
            self._zip = zipfile.ZipFile(source.path)
        entries = [info for info in self._zip.infolist() if info.filename.endswith(".npy")]
        self._entries = {info.filename.removesuffix(".npy"): info for info in entries}
        self.is_sparse = set(_SPARSE) <= set(self._entries)
        self.matrix: Any = None
        if self.is_sparse:
            self.matrix = self._read_sparse()
        super().__init__(source.name, list(self._entries), how)

    def close(self) -> None:
        """Close the archive, and release the sparse matrix."""
        self._zip.close()
        self.matrix = None

    def _header(self, name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
        """Return shape, Fortran order, type, and offset of the values."""
        entry = self._entries[name]
        with decoding(self._name, "npz"), self._zip.open(entry) as stream:
            version = npy_format.read_magic(stream)
            read_header = npy_format.read_array_header_2_0
            if version == (1, 0):
                read_header = npy_format.read_array_header_1_0
            shape, fortran, dtype = read_header(stream)
            if dtype.hasobject or dtype.kind not in "biufSU":
                what = f"the array {shown(name)} holds {plain(dtype)}, which is not read"
                raise BadData(f"{self._name}: {what}: only numbers and words are.")
            needed, stored = math.prod(shape) * dtype.itemsize, entry.file_size - stream.tell()
            if min(shape, default=0) < 0 or not dtype.itemsize or needed != stored:
                what = f"should take {needed} bytes, but has {stored}"
                raise ValueError(f"the array {shown(name)} of shape {shape} {what}")
            return shape, fortran, dtype, stream.tell()

    def declared(self, name: str) -> tuple[tuple[int, ...], int]:
        """Return shape and item size of an array."""
        if self.matrix is not None and name == "data":
            return self.matrix.shape, 8
        shape, _, dtype, _ = self._header(name)
        return shape, dtype.itemsize

    def slices(self, name: str, amount: int) -> Iterator[Any]:
        """Yield an array, or the sparse matrix, in slices of about `amount` bytes."""
        shape, itemsize = self.declared(name)
        line = math.prod(shape[1:]) * itemsize
        step = max(1, amount // max(1, line))
        self.check_bytes(f"a row of {shown(name)}", line)
        if self.matrix is not None and name == "data":
            yield from (self.matrix[start : start + step] for start in range(0, shape[0], step))
            return
        _, fortran, dtype, begin = self._header(name)
        if fortran or step >= shape[0]:  # rows in Fortran order end with the last column
            array = self.array(name)
            yield from (array[start : start + step] for start in range(0, len(array), step))
            return
        with decoding(self._name, "npz"), self._zip.open(self._entries[name]) as stream:
            stream.read(begin)
            for start in range(0, shape[0], step):
                count = min(step, shape[0] - start)
                yield np.frombuffer(stream.read(count * line), dtype).reshape(count, *shape[1:])

    def array(self, name: str) -> Array:
        """Return a whole array within the limit."""
        shape, itemsize = self.declared(name)
        self.check_bytes(shown(name), math.prod(shape) * itemsize)
        with decoding(self._name, "npz"), self._zip.open(self._entries[name]) as stream:
            array: Array = npy_format.read_array(stream, allow_pickle=False)
            if array.dtype.kind == "U":  # refuse what is not Unicode
                "".join(array.ravel().tolist()).encode()
            return array

    def _read_sparse(self) -> Any:
        """Return the sparse matrix, if its parts are consistent."""
        from scipy import sparse

        declared = [self.declared(name) for name in _SPARSE]
        taken = sum(math.prod(shape) * itemsize for shape, itemsize in declared)
        self.check_bytes("the sparse matrix", taken)
        with decoding(self._name, "npz"):
            kind = self.array("format").item()
            if kind not in ("csr", "csc", b"csr", b"csc"):
                what = f"a sparse matrix of kind {shown(kind)}; save it as CSR"
                raise BadData(f"{self._name}: {what}.")
            found = sparse.load_npz(self._path)
            is_possible = min(found.shape) and max(found.shape) * 8 <= self._limit
            if not is_possible or found.dtype.kind not in "iufb":
                what = f"a sparse matrix of {found.dtype} and shape {found.shape}"
                raise BadData(f"{self._name}: {what} is not possible here.")
            found.check_format(full_check=True)
            found.sum_duplicates()
            return found.tocsr()


open_file = Archive
