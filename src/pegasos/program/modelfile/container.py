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

Array = np.ndarray[Any, Any]

MOST_HEADER_BYTES = 16 * 2**20

_KEY = "pegasos"
#: The bytes between the length of the header (8 bytes) and the checksum in every model file. The
#: checksum is followed by a space.
_START = b'{"__metadata__":{"pegasos":"'
_BLANK = "0" * 64


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


def read(path: str | os.PathLike[str], limit: int) -> tuple[bytes, dict[str, Array]]:
    """Return the description and the arrays of a file with a valid checksum."""
    _check_file(path, limit)
    opened: Any = safe_open  # its stubs are untyped
    try:
        with opened(os.fspath(path), framework="numpy") as file:
            description = file.metadata()[_KEY][len(_BLANK) :].encode()
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, LookupError, TypeError, ValueError) as error:
        raise BadModel(
            f"its header is wrong ({short(str(error))}): the file was not written by pegasos."
        ) from None
    for name, values in arrays.items():
        if values.dtype == bool:  # bytes other than 0 and 1 are not valid booleans
            arrays[name] = values.view(np.uint8) != 0
    return description, arrays


def _check_file(path: str | os.PathLike[str], limit: int) -> None:
    """Refuse files of another format, files larger than the limit, and wrong checksums."""
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise NotAModel(f"this is {kind}, so it holds no model.")
    with open(path, "rb") as file:
        if status.st_size > limit:
            raise BadModel(
                f"the file has {status.st_size / 1e6:,.1f} MB, more than the limit of "
                f"{limit / 1e6:,.1f} MB. If you trust the file, raise the limit."
            )
        beginning, stored = file.read(8 + len(_START)), file.read(len(_BLANK))
        if not beginning.startswith(_START, 8):
            raise NotAModel("this is not a model of pegasos, which never opens pickles.")
        header = int.from_bytes(beginning[:8], "little")
        if header > MOST_HEADER_BYTES:
            raise BadModel(
                f"the header has {header:,} bytes, more than {MOST_HEADER_BYTES:,}: "
                "names, categories and card are too large, or the file is damaged."
            )
        digest = hashlib.file_digest(file, lambda: hashlib.sha256(beginning))
    if digest.hexdigest().encode() != stored:
        raise BadModel(
            "the file is damaged or cut off: its checksum does not match its content. "
            "Copy it again, or fit the model again and save it."
        )


def begins_like_model(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins like a model file."""
    with open(path, "rb") as file:
        return file.read(8 + len(_START)).startswith(_START, 8)
