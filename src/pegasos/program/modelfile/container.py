"""The file as a container: a JSON header and arrays, in the format safetensors.

Nothing in the header is believed. All of it is checked against the size of the file before one array is allocated, and arrays are
read from the very file that was checked.
"""

from __future__ import annotations

import math
import os
import stat
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from pegasos.program.modelfile import strictjson
from pegasos.program.modelfile.errors import BadModel, short
from pegasos.program.modelfile.foreign_files import kind_of

Array = np.ndarray[Any, Any]

#: The one key of ours in the header's free part.
KEY = "pegasos"
MOST_HEADER_BYTES = 16 * 2**20
MOST_ARRAYS = 10_000
MOST_DIMENSIONS = 3
#: No side of an array is longer, not even of an empty one.
LONGEST_SIDE = 2**40

DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "U64": np.dtype("<u8"),
    "BOOL": np.dtype("?"),
}
FLOATS = ("F64", "F32")
WHOLES = ("I64", "I32")


@dataclass(frozen=True)
class Entry:
    """One array as the header tells it: checked, not yet read."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


class Container:
    """A file that was opened and checked: the text of our own header, and arrays by name."""

    def __init__(self, file: BinaryIO, limit: int) -> None:
        self._file = file
        size = _regular_size(file)
        if size > limit:
            raise BadModel(
                f"the file has {size / 1e6:,.1f} MB, more than the limit of {limit / 1e6:,.1f} MB. "
                "If you trust it and there is memory for it, raise the limit."
            )
        most_values = min(strictjson.MOST_VALUES, limit // strictjson.BYTES_A_VALUE)
        length = self._header_length(size)
        header = strictjson.parse(file.read(length), "the header", most_values)
        if not isinstance(header, dict):
            raise BadModel("the header is not a table of arrays: the file is damaged.")
        metadata = header.pop("__metadata__", None)
        if not isinstance(metadata, dict) or not isinstance(metadata.get(KEY), str):
            raise BadModel("this is a safetensors file, but not a model of pegasos: it lacks our header.")
        self._start = 8 + length
        self.entries = _checked_entries(header, size - self._start)
        strictjson.check_text(metadata[KEY], "the header")
        self.head = strictjson.parse(metadata[KEY].encode("utf-8"), "the model's description", most_values)
        strictjson.check_all_text(self.head, "the model's description")
        self._asked: set[str] = set()

    def _header_length(self, size: int) -> int:
        beginning = self._file.read(9)
        if not beginning:
            raise BadModel("the file is empty: it holds no model.")
        length = int.from_bytes(beginning[:8], "little")
        if len(beginning) < 9 or beginning[8:] != b"{" or length < 2:
            raise BadModel(f"this is not a model of pegasos: {kind_of(beginning + self._file.read(500))}.")
        if length > MOST_HEADER_BYTES or 8 + length > size:
            raise BadModel(
                f"the header claims {length:,} bytes, in a file of {size:,}: the file is cut off, damaged or not a model "
                f"(headers have at most {MOST_HEADER_BYTES:,} bytes)."
            )
        self._file.seek(8)
        return length

    def __contains__(self, name: str) -> bool:
        return name in self.entries

    def expect(self, name: str, dtypes: tuple[str, ...], shape: tuple[int | None, ...] | None) -> Entry:
        """An array that must be there, with one of these dtypes and this shape (None: any length, or any shape)."""
        entry = self.entries.get(name)
        if entry is None:
            raise BadModel(f"the array {short(name)} is missing: the file is damaged.")
        if entry.dtype not in dtypes:
            raise BadModel(f"the array {short(name)} has the dtype {entry.dtype} instead of {' or '.join(dtypes)}.")
        if shape is not None:
            fits = len(shape) == len(entry.shape) and all(
                want is None or want == have for want, have in zip(shape, entry.shape, strict=True)
            )
            if not fits:
                wanted = tuple("any" if side is None else side for side in shape)
                raise BadModel(f"the array {short(name)} has the shape {entry.shape} instead of {wanted}: the file is damaged.")
        self._asked.add(name)
        return entry

    def check_all_asked(self) -> None:
        """Each array belongs to some part of the model."""
        unknown = sorted(set(self.entries) - self._asked)
        if unknown:
            raise BadModel(f"the file holds arrays that no part of the model asks for: {short(unknown)}.")

    def read(self, name: str) -> Array:
        """An array of its own memory, read from the file that was checked."""
        entry = self.entries[name]
        array = np.empty(entry.shape, dtype=DTYPES[entry.dtype].newbyteorder("="))
        if not array.size:
            return array
        if entry.dtype == "BOOL":
            return self._read_into(entry, np.empty(entry.shape, dtype=np.uint8)) != 0  # other bytes are no valid booleans
        self._read_into(entry, array)
        return array if DTYPES[entry.dtype].isnative else array.byteswap()

    def _read_into(self, entry: Entry, array: Array) -> Array:
        self._file.seek(self._start + entry.begin)
        view: Any = memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
        done = 0
        while done < len(view):
            count = self._file.readinto(view[done:])  # type: ignore[attr-defined]
            if not count:
                raise BadModel("the file became shorter while it was read.")
            done += count
        return array


def _regular_size(file: BinaryIO) -> int:
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise BadModel("this is not a regular file, so it holds no model.")
    return status.st_size


def _checked_entries(header: dict[str, Any], size: int) -> dict[str, Entry]:
    """All arrays, which must fill the rest of the file without gap or overlap."""
    if len(header) > MOST_ARRAYS:
        raise BadModel(f"the file claims {len(header):,} arrays; a model has at most {MOST_ARRAYS:,}.")
    entries = {name: _checked_entry(name, told) for name, told in header.items()}
    place = 0
    for name, entry in sorted(entries.items(), key=lambda item: (item[1].begin, item[1].end)):
        if entry.begin != place:
            raise BadModel(f"the array {short(name)} begins at byte {entry.begin} instead of {place}: the file is damaged.")
        place = entry.end
    if place != size:
        raise BadModel(f"the arrays should fill {place:,} bytes, but the file has {size:,}: it is cut off or damaged.")
    return entries


def _checked_entry(name: str, told: Any) -> Entry:
    if not isinstance(told, dict) or set(told) != {"dtype", "shape", "data_offsets"}:
        raise BadModel(f"the header does not tell dtype, shape and place of the array {short(name)}.")
    dtype, shape, offsets = told["dtype"], told["shape"], told["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise BadModel(f"the array {short(name)} has the dtype {short(dtype)}; models hold {', '.join(DTYPES)}.")
    if not _are_sizes(shape, LONGEST_SIDE) or len(shape) > MOST_DIMENSIONS or math.prod(map(_at_least_one, shape)) > 2**58:
        raise BadModel(f"the array {short(name)} has the shape {short(shape)}, which no array of a model has.")
    if not _are_sizes(offsets, 2**63) or len(offsets) != 2:
        raise BadModel(f"the array {short(name)} has the place {short(offsets)}, which is none.")
    if math.prod(shape) * DTYPES[dtype].itemsize != offsets[1] - offsets[0]:
        raise BadModel(f"the array {short(name)} of shape {short(shape)} and dtype {dtype} does not fit its place {offsets}.")
    return Entry(dtype, tuple(shape), offsets[0], offsets[1])


def _are_sizes(values: Any, most: int) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value <= most for value in values)


def _at_least_one(side: int) -> int:
    return max(side, 1)  # an empty array may not have absurd other sides: NumPy counts them


def begins_like_model(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as a model does: with the length of its header, then the header's JSON."""
    with open(path, "rb") as file:
        beginning = file.read(9)
    return beginning[8:] == b"{" and 2 <= int.from_bytes(beginning[:8], "little") <= MOST_HEADER_BYTES
