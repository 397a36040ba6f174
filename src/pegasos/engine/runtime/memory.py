"""Total memory of the machine, texts such as "2GB", and scratch arrays that are used again.

Nothing depends on how much memory is free at some moment: equal calls make equal plans.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import numbers
import os
import re
import sys
import threading
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_UNITS = {"": 1} | {
    f"{prefix}{binary}": base**power
    for power, prefix in enumerate("KMGT", 1)
    for binary, base in (("", 1000), ("I", 1024))
}


#: More than any machine has, and still an integer of 64 bits.
_MOST = 2**62


def parse_bytes(memory: int | float | str) -> int:
    """Return the number of bytes in a number or a text such as "2GB" or "512 MiB".

    >>> parse_bytes("2GB"), parse_bytes("1.5 GiB"), parse_bytes(4096)
    (2000000000, 1610612736, 4096)
    """
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([KMGT]?I?)B?\s*", memory.upper())
        if match is None or match[2] not in _UNITS:
            raise ValueError(
                f"memory={memory!r} is not understood; write a number of bytes, or for example "
                "'2GB' or '512MiB'."
            )
        memory = float(match[1]) * _UNITS[match[2]]
    if (
        isinstance(memory, bool)
        or not isinstance(memory, numbers.Real)
        or not math.isfinite(memory)
        or memory < 1
    ):
        raise ValueError(
            f"memory must be a positive number of bytes or a text such as '2GB', got {memory!r}."
        )
    return min(int(memory), _MOST)


@cache
def total_bytes() -> int:
    """Return the physical memory, or the limit of the process's control group if that is less."""
    return min(_machine_bytes(), *_group_limits())


def _machine_bytes() -> int:
    if sys.platform == "win32":
        return _windows_bytes()
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _windows_bytes() -> int:
    """Return the total memory, the first number after the load in Windows' MEMORYSTATUSEX."""

    class Status(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ulong), ("load", ctypes.c_ulong)] + [
            (f"field{k}", ctypes.c_ulonglong) for k in range(7)
        ]

    status = Status(length=ctypes.sizeof(Status))
    ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # type: ignore[attr-defined, unused-ignore]
    return int(status.field0)


def _group_limits() -> list[int]:
    """Return the memory limits of this control group, of versions 2 and 1 of the interface."""
    root = Path("/sys/fs/cgroup")
    found = [_MOST]
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):  # "max" means no limit
            found.append(int((root / name).read_text()))
    return found


class Buffers:
    """Scratch arrays by name, one set per thread, which grow to the largest requested shape.

    Writing to fresh pages can take as long as the work itself.
    """

    def __init__(self) -> None:
        self._thread = threading.local()

    def take(self, name: str, shape: tuple[int, ...], dtype: Any) -> Array:
        """Return an uninitialized array, which this thread's next call with the name reuses."""
        needed = math.prod(shape) * np.dtype(dtype).itemsize
        kept: Array | None = getattr(self._thread, name, None)
        if kept is None or len(kept) < needed:
            kept = np.empty(needed, dtype=np.uint8)
            setattr(self._thread, name, kept)
        return kept[:needed].view(dtype).reshape(shape)
