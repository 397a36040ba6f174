"""The file as a container: a JSON header and arrays, in the format safetensors.

Nothing in the header is believed: an array is allocated only after its size was checked against the size of the file, and it is
read from the very file that was checked. (safetensors' own readers take a path, or the file's bytes a second time.)
"""

from __future__ import annotations

import math
import os
import stat
from typing import Any, BinaryIO

import numpy as np

from pegasos.program.errors import BadModel, NotAModel, short
from pegasos.program.modelfile import strictjson

Array = np.ndarray[Any, Any]

#: The one key of ours in the header's free part.
KEY = "pegasos"
MOST_HEADER_BYTES = 16 * 2**20
MOST_ARRAYS = 10_000
MOST_DIMENSIONS = 3

_CODES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U64": "<u8", "BOOL": "?"}
DTYPES: dict[str, np.dtype[Any]] = {name: np.dtype(code) for name, code in _CODES.items()}
FLOATS = ("F64", "F32")
WHOLES = ("I64", "I32")
NUMBERS = (*FLOATS, *WHOLES)

_PICKLE = (
    "it is a Python pickle. pegasos never opens pickles, which can run any code; "
    "load it where it was made, if you trust it, and save it with pegasos.save"
)
_BEGINNINGS: list[tuple[bytes | tuple[bytes, ...], str]] = [
    ((b"\x80", b"(lp", b"(dp", b"ccopy"), _PICKLE),
    (b"PK", "it is a zip archive (npz, skops, a spreadsheet?), and a model is never one"),
    (b"\x1f\x8b", "it is compressed with gzip (a joblib pickle, or a model to unpack first?)"),
    (
        b"x\x9c",
        "it is compressed with zlib, as joblib does. pegasos never opens pickles; save with pegasos.save",
    ),
    (b"BZh", "it is compressed with bzip2; unpack it first"),
    (b"\xfd7zXZ", "it is compressed with xz; unpack it first"),
    (b"\x93NUMPY", "it is a single NumPy array"),
    (b"\x89HDF", "it is an HDF5 file: data, not a model"),
    (b"PAR1", "it is a Parquet file: data, not a model"),
    (b"SQLite", "it is a SQLite database (the store of a sweep?)"),
    (b"<", "it is HTML or XML (a download page instead of the file?)"),
    (b"version http", "it is a pointer of Git LFS; fetch the file itself"),
    (b"{", "it is JSON or text, without the arrays of a model"),
]


class Container:
    """A file that was opened and checked: the text of our own header, and arrays by name, each of which is read once."""

    def __init__(self, file: BinaryIO, limit: int) -> None:
        self._file = file
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise NotAModel("this is not a regular file, so it holds no model.")
        if status.st_size > limit:
            raise BadModel(
                f"the file has {status.st_size / 1e6:,.1f} MB, more than the limit of {limit / 1e6:,.1f} MB. "
                "If you trust it and there is memory for it, raise the limit."
            )
        length = self._header_length(status.st_size)
        header = strictjson.parse(file.read(length), "the header", limit)
        metadata = header.pop("__metadata__", None) if isinstance(header, dict) else None
        if not isinstance(metadata, dict) or not isinstance(metadata.get(KEY), str):
            raise NotAModel(
                "this is a safetensors file, but not a model of pegasos: the description of the model is missing."
            )
        self._entries = _checked_entries(header, 8 + length, status.st_size)
        self.head = strictjson.parse(
            metadata[KEY].encode("utf-8"), "the model's description", limit
        )

    def _header_length(self, size: int) -> int:
        beginning = self._file.read(9)
        if not beginning:
            raise BadModel("the file is empty: it holds no model.")
        length = int.from_bytes(beginning[:8], "little")
        if len(beginning) < 9 or beginning[8:] != b"{" or length < 2:
            raise NotAModel(
                f"this is not a model of pegasos: {_kind_of(beginning + self._file.read(500))}."
            )
        if length > MOST_HEADER_BYTES or 8 + length > size:
            raise NotAModel(
                f"the header claims {length:,} bytes, in a file of {size:,}: the file is cut off, damaged or not a model "
                f"(headers have at most {MOST_HEADER_BYTES:,} bytes)."
            )
        self._file.seek(8)
        return length

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def read(self, name: str, dtypes: tuple[str, ...], *shapes: tuple[int | None, ...]) -> Array:
        """An array that must be there, with one of these dtypes and shapes (None: any length; no shapes: any shape)."""
        if name not in self._entries:
            raise BadModel(f"the array {short(name)} is missing: the file is damaged.")
        dtype, shape, begin = self._entries.pop(name)
        if dtype not in dtypes:
            raise BadModel(
                f"the array {short(name)} has the dtype {dtype} instead of {' or '.join(dtypes)}."
            )
        if shapes and not any(_fits(shape, wanted) for wanted in shapes):
            wanted = " or ".join(str(each).replace("None", "any") for each in shapes)
            raise BadModel(
                f"the array {short(name)} has the shape {shape} instead of {wanted}: the file is damaged."
            )
        logical = dtype == "BOOL"  # bytes other than 0 and 1 are not valid booleans
        array = np.empty(shape, dtype=np.uint8 if logical else DTYPES[dtype])
        view: Any = memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
        self._file.seek(begin)
        if array.size and self._file.readinto(view) != len(view):  # type: ignore[attr-defined]
            raise BadModel("the file became shorter while it was read.")
        return array != 0 if logical else array.astype(array.dtype.newbyteorder("="), copy=False)

    def check_all_read(self) -> None:
        """Each array belongs to some part of the model."""
        if self._entries:
            raise BadModel(
                f"the file holds arrays that no part of the model asks for: {short(sorted(self._entries))}."
            )


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(
        want in (None, have) for want, have in zip(wanted, shape, strict=True)
    )


def _checked_entries(
    header: dict[str, Any], begin: int, size: int
) -> dict[str, tuple[str, tuple[int, ...], int]]:
    """Dtype, shape and place of each array; they must fill the rest of the file in the header's order, without gap or overlap."""
    if len(header) > MOST_ARRAYS:
        raise BadModel(
            f"the file claims {len(header):,} arrays; a model has at most {MOST_ARRAYS:,}."
        )
    entries, place = {}, 0
    for name, described in header.items():
        dtype: Any = described.get("dtype") if isinstance(described, dict) else None
        shape: Any = described.get("shape") if isinstance(described, dict) else None
        if not isinstance(dtype, str) or dtype not in DTYPES or not _is_shape(shape):
            raise BadModel(
                f"the array {short(name)} has a dtype or a shape that no array of a model has: {short(described)}."
            )
        end = place + math.prod(shape) * DTYPES[dtype].itemsize
        if described != {"dtype": dtype, "shape": shape, "data_offsets": [place, end]}:
            raise BadModel(
                f"the array {short(name)} should fill the bytes {place:,} to {end:,}, but the header says {short(described)}: "
                "the file is damaged."
            )
        entries[name] = (dtype, tuple(shape), begin + place)
        place = end
    if begin + place != size:
        raise BadModel(
            f"the arrays should fill {place:,} bytes, but the file has {size - begin:,}: it is cut off or damaged."
        )
    return entries


def _kind_of(beginning: bytes) -> str:
    """What a file that is no model might be instead, from its first bytes: a clause for the error."""
    stripped = beginning.lstrip()
    for mark, kind in _BEGINNINGS:
        if beginning.startswith(mark) or (mark == b"<" and stripped.startswith(mark)):
            return kind
    if stripped and all(32 <= byte < 127 or byte in b"\t\r\n" for byte in beginning):
        return "it is text (a table?)"
    return "it is damaged, or of another kind"


def _is_shape(shape: Any) -> bool:
    if (
        not isinstance(shape, list)
        or len(shape) > MOST_DIMENSIONS
        or not all(type(side) is int and side >= 0 for side in shape)
    ):
        return False
    return (
        math.prod(side or 1 for side in shape) < 2**58
    )  # NumPy counts the other sides of an empty array, too


def begins_like_model(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as a model does: with the length of its header, then the header's JSON."""
    with open(path, "rb") as file:
        beginning = file.read(9)
    return (
        beginning[8:] == b"{" and 2 <= int.from_bytes(beginning[:8], "little") <= MOST_HEADER_BYTES
    )
