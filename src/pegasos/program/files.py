"""Files that are there whole or not at all, and values as JSON has them."""

from __future__ import annotations

import contextlib
import math
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np


@contextlib.contextmanager
def whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A name beside the target to write to (and to check); the file takes its place when all went well, and goes when it did not.

    A link stays, and what it points to is replaced. The file and its new name are on the disk when this ends.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; give the name of a file.")
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.part")
    try:
        yield unfinished
        with unfinished.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # not every system can do this for a folder
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """A text file, whole or not at all."""
    with whole(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def as_json(value: Any) -> Any:
    """Only what JSON has: arrays become lists, and what is not finite becomes None.

    >>> as_json({"a": np.array([1.0, np.inf])})
    {'a': [1.0, None]}
    """
    if isinstance(value, dict):
        return {str(name): as_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(each) for each in value]
    if isinstance(value, np.ndarray | np.generic):
        return as_json(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
