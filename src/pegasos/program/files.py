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
    """A name beside the target to write to; the file takes its place when all went well, and goes when it did not.

    A link stays, and what it points to is replaced.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.part")
    try:
        yield unfinished
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)


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
