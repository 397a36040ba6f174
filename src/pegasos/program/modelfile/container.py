"""The file format: safetensors with a JSON description and a SHA-256 checksum in its header.

The header begins with the description, and the description with the checksum, which therefore has
a fixed position. The checksum covers every other byte of the file: lengths, description and arrays.
It detects damage, not intent: the author of a malicious file can write a valid checksum, so sizes,
dtypes and shapes are checked as well.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError, safe_open

from pegasos.program.errors import BadModel, NotAModel, short
from pegasos.program.modelfile.values import parse

Array = np.ndarray[Any, Any]

MOST_HEADER_BYTES = 16 * 2**20

_KEY = "pegasos"
#: The bytes between the length of the header (8 bytes) and the checksum in every model file. The
#: checksum is followed by a space.
_START = b'{"__metadata__":{"pegasos":"'
_BLANK = "0" * 64
#: The first bytes after `_START` in files of formats 2 and 3, which have no checksum.
_WITHOUT_CHECKSUM = b'{\\"format\\":'
_CHUNK = 2**20

_CODES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U64": "<u8", "BOOL": "?"}
DTYPES: dict[str, np.dtype[Any]] = {name: np.dtype(code) for name, code in _CODES.items()}
FLOATS, WHOLES = ("F64", "F32"), ("I64", "I32")
NUMBERS = (*FLOATS, *WHOLES)

#: Beginnings of files that are taken for models.
_PICKLES = (b"\x80", b"(lp", b"(dp", b"ccopy", b"x\x9c")
_KINDS = (
    (_PICKLES, "it is a pickle. pegasos never opens pickles, which can run any code"),
    (b"PK", "it is a zip archive (npz, skops, a spreadsheet?)"),
    (b"\x1f\x8b", "it is compressed with gzip"),
    (b"\x89HDF", "it is an HDF5 file: data, not a model"),
)


def write(path: Path, arrays: Mapping[str, Array], description: str) -> int:
    """Write arrays and a description with their checksum, and return the size of the file."""
    content = safetensors.numpy.save(dict(arrays), metadata={_KEY: f"{_BLANK} {description}"})
    before = memoryview(content)[: 8 + len(_START)]
    after = memoryview(content)[len(before) + len(_BLANK) :]
    digest = hashlib.sha256(before)
    digest.update(after)
    with open(path, "wb") as file:
        file.writelines((before, digest.hexdigest().encode(), after))
    return len(content)


class Container:
    """Open model file with a valid checksum: its description and its arrays."""

    def __init__(self, path: str | os.PathLike[str], limit: int) -> None:
        _check_file(path, limit)
        opened: Any = safe_open  # its stubs are untyped
        try:
            self._file = opened(os.fspath(path), framework="numpy")
        except SafetensorError as error:
            raise BadModel(
                f"its header is wrong ({error!s:.200}): the file was not written by pegasos."
            ) from None
        self.head = parse(self._file.metadata()[_KEY][len(_BLANK) :].encode(), limit)
        self._names = set(self._file.keys())

    def __contains__(self, name: str) -> bool:
        """Return whether the file has an array."""
        return name in self._names

    def read(self, name: str, dtypes: tuple[str, ...], *shapes: tuple[int | None, ...]) -> Array:
        """Return an array with one of these dtypes and shapes.

        None in a shape stands for any length; without shapes, every shape is accepted.
        """
        if name not in self._names:
            raise BadModel(f"the array {short(name)} is missing.")
        entry = self._file.get_slice(name)
        dtype, shape = entry.get_dtype(), tuple(entry.get_shape())
        if dtype not in dtypes:
            raise BadModel(
                f"the array {short(name)} has the dtype {dtype} instead of {' or '.join(dtypes)}."
            )
        if shapes and not any(_fits(shape, wanted) for wanted in shapes):
            wanted = " or ".join(str(each).replace("None", "any") for each in shapes)
            raise BadModel(f"the array {short(name)} has the shape {shape} instead of {wanted}.")
        array: Array = self._file.get_tensor(name)
        # Bytes other than 0 and 1 are not valid booleans.
        return array.view(np.uint8) != 0 if dtype == "BOOL" else array


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(
        want in (None, have) for want, have in zip(wanted, shape, strict=True)
    )


def _check_file(path: str | os.PathLike[str], limit: int) -> None:
    """Refuse files of another format, files larger than the limit, and wrong checksums."""
    # Opening a pipe without O_NONBLOCK would wait for its writer.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise NotAModel("this is not a regular file, so it holds no model.")
        if status.st_size > limit:
            raise BadModel(
                f"the file has {status.st_size / 1e6:,.1f} MB, more than the limit of "
                f"{limit / 1e6:,.1f} MB. If you trust it and there is memory for it, raise it."
            )
        _check_beginning(file.read(500), status.st_size)
        file.seek(0)
        beginning, stored = file.read(8 + len(_START)), file.read(len(_BLANK))
        digest = hashlib.sha256(beginning)
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    if stored.startswith(_WITHOUT_CHECKSUM):
        raise BadModel(
            "the file was written by an older pegasos, whose files have no checksum: "
            "fit the model again and save it."
        )
    if digest.hexdigest().encode() != stored:
        raise BadModel(
            "the file is damaged or cut off: its checksum does not match its content. "
            "Copy it again, or fit the model again and save it."
        )


def _check_beginning(beginning: bytes, size: int) -> None:
    """Refuse a file without the beginning of a model; the error suggests its likely format."""
    if not beginning:
        raise BadModel("the file is empty.")
    length = int.from_bytes(beginning[:8], "little")
    if beginning[8:9] != b"{" or length < 2:
        raise NotAModel(f"this is not a model of pegasos: {_kind_of(beginning)}.")
    if length > MOST_HEADER_BYTES or 8 + length > size:
        raise NotAModel(
            f"the header claims {length:,} bytes, in a file of {size:,}: the file is cut off, "
            f"damaged or not a model (headers have at most {MOST_HEADER_BYTES:,} bytes)."
        )
    if not beginning.startswith(_START, 8):
        raise NotAModel(
            "this may be a safetensors file, but it is not a model of pegasos: "
            "the description of the model is missing or damaged."
        )


def _kind_of(beginning: bytes) -> str:
    """Return the likely format of a file that is not a model, as a clause of an error message."""
    kind = next((kind for marks, kind in _KINDS if beginning.startswith(marks)), None)
    is_text = all(32 <= byte < 127 or byte in b"\t\r\n" for byte in beginning)
    return kind or ("it is text (a table?)" if is_text else "it is damaged, or of another kind")


def begins_like_model(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins like a safetensors file: a header length, then JSON."""
    with open(path, "rb") as file:
        beginning = file.read(9)
    length = int.from_bytes(beginning[:8], "little")
    return beginning[8:] == b"{" and 2 <= length <= MOST_HEADER_BYTES
