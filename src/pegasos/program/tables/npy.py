"""Arrays in a ZIP archive (npz), believed only as far as their bytes go: nothing is allocated on the word of a header."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format

from pegasos.program.tables.dataset import Array, BadData
from pegasos.program.tables.messages import plain, shown, size

_PIECE = 2**20


@dataclass(frozen=True)
class Entry:
    """What the header of an array declares."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


class Archive:
    """An npz file; every array is checked against the limit and against the size that the archive gives for it."""

    def __init__(self, stream: IO[bytes], name: str, limit: int) -> None:
        self.name, self.limit, self.used = name, limit, 0
        try:
            self._zip = zipfile.ZipFile(stream)
        except Exception as error:
            raise self._damaged(error) from error
        self._known = {
            info.filename.removesuffix(".npy"): info for info in self._zip.infolist() if info.filename.endswith(".npy")
        }

    def _damaged(self, error: object) -> BadData:
        return BadData(f"{self.name} is damaged: {plain(error)}; write it again with numpy.savez.")

    @property
    def names(self) -> list[str]:
        return list(self._known)

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def header(self, name: str) -> Entry:
        """What an array is, without its values."""
        try:
            with self._zip.open(self._known[name]) as stream:
                return self._header(stream, name)
        except BadData:
            raise
        except Exception as error:
            raise self._damaged(error) from error

    def _header(self, stream: IO[bytes], name: str) -> Entry:
        version = npy_format.read_magic(stream)
        read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
        shape, fortran, dtype = read(stream)
        if dtype.hasobject or dtype.kind not in "biufSU":
            raise BadData(
                f"{self.name}: the array {shown(name)} holds {plain(dtype)}, which is not read: only numbers and words are."
            )
        entry = Entry(shape, fortran, dtype)
        declared = self._known[name].file_size - stream.tell()
        if min(shape, default=0) < 0 or entry.nbytes != declared:
            raise self._damaged(f"the array {shown(name)} of shape {shape} should take {entry.nbytes} bytes, but has {declared}")
        return entry

    def array(self, name: str) -> Array:
        """A whole array."""
        parts = list(self.slices(name, None))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def slices(self, name: str, rows: int | None) -> Iterator[Array]:
        """An array, `rows` rows at a time (None: whole); one in the order of Fortran is always read whole first."""
        entry = self.header(name)
        whole = rows is None or entry.fortran or not entry.shape
        line = entry.nbytes if whole else entry.nbytes // max(1, entry.shape[0])
        count = 1 if whole else entry.shape[0]
        step = 1 if whole else max(1, int(rows or 1))
        if whole:
            self._spend(name, entry.nbytes)
        elif line * min(step, count) > self.limit:
            raise BadData(f"{self.name}: a row of {shown(name)} takes {size(line)}, and {size(self.limit)} are allowed.")
        try:
            with self._zip.open(self._known[name]) as stream:
                self._header(stream, name)
                for start in range(0, count, step):
                    piece = self._exactly(stream, line * min(step, count - start), name)
                    array = np.frombuffer(piece, dtype=entry.dtype)
                    shape = entry.shape if whole else (min(step, count - start), *entry.shape[1:])
                    array = array.reshape(shape, order="F" if entry.fortran else "C")
                    if array.dtype.byteorder == ">":
                        array = array.astype(array.dtype.newbyteorder("="))
                    self._check_words(array, name)
                    yield from self._cut(array, rows) if whole and rows else [array]
        except BadData:
            raise
        except Exception as error:
            raise self._damaged(error) from error

    def _check_words(self, array: Array, name: str) -> None:
        """Refuse words with characters that do not exist; NumPy itself notices them only when a word is looked at."""
        if array.dtype.kind == "U" and array.dtype.itemsize and array.size:
            codes = np.ascontiguousarray(array).reshape(-1).view(np.uint32)
            if np.any((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes < 0xE000))):
                raise self._damaged(f"the words in {shown(name)} are no Unicode")

    @staticmethod
    def _cut(array: Array, rows: int) -> Iterator[Array]:
        for start in range(0, len(array), rows):
            yield array[start : start + rows]

    def _spend(self, name: str, count: int) -> None:
        self.used += count
        if self.used > self.limit:
            raise BadData(
                f"{self.name}: with {shown(name)} the arrays take {size(self.used)}, and {size(self.limit)} are allowed."
            )

    def _exactly(self, stream: IO[bytes], count: int, name: str) -> bytearray:
        """So many bytes, taken as they come: memory grows with what is really there."""
        found = bytearray()
        while len(found) < count:
            piece = stream.read(min(_PIECE, count - len(found)))
            if not piece:
                raise self._damaged(f"the array {shown(name)} ends after {len(found)} of {count} bytes")
            found += piece
        return found
