"""How much memory there is, and what a person means by "2GB"."""

from __future__ import annotations

import ctypes
import math
import numbers
import os
import re
import sys
import time
from pathlib import Path

_UNITS = {
    "": 1,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "KI": 2**10,
    "MI": 2**20,
    "GI": 2**30,
    "TI": 2**40,
}


#: How long what was free counts as free, and when that was last looked at.
SECONDS_OF_TRUST = 1.0
_seen: tuple[float, int] = (-math.inf, 0)
#: More than any machine has, and a whole number of 64 bits wherever it is kept.
_MOST = 2**62


def parse_bytes(memory: int | float | str) -> int:
    """A number of bytes from a number or a text such as "2GB", "512 MiB" (units of 1000 and 1024).

    >>> parse_bytes("2GB"), parse_bytes("1.5 GiB"), parse_bytes(4096)
    (2000000000, 1610612736, 4096)
    """
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([KMGT]?I?)B?\s*", memory.upper())
        if match is None or match[2] not in _UNITS:
            raise ValueError(
                f"memory={memory!r} is not understood; write a number of bytes, or for example '2GB' or '512MiB'."
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


def free_bytes() -> int:
    """Memory that could be used now without swapping, within the limits of the process's control group."""
    free = _machine_free()
    for limit, used in _group_limits():
        free = min(free, max(0, limit - used))
    return free


def recently_free() -> int:
    """The same, as it was a second ago at most: fits of few rows end sooner than one would ask ten times."""
    global _seen
    now = time.monotonic()
    if now - _seen[0] > SECONDS_OF_TRUST:
        _seen = now, free_bytes()
    return _seen[1]


def _machine_free() -> int:
    if sys.platform == "win32":
        return _windows_free()
    try:
        with open("/proc/meminfo") as lines:  # a `Path` takes twice as long
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return (
        os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    )  # no better number: half of what is built in


def _windows_free() -> int:
    class Status(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ulong), ("load", ctypes.c_ulong)] + [
            (name, ctypes.c_ulonglong)
            for name in (
                "total",
                "free",
                "page_total",
                "page_free",
                "virtual_total",
                "virtual_free",
                "extended",
            )
        ]

    status = Status(length=ctypes.sizeof(Status))
    ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # type: ignore[attr-defined, unused-ignore]
    return int(status.free)


def _group_limits() -> list[tuple[int, int]]:
    """Limit and use of memory of this control group, as version 2 and version 1 of the interface tell it."""
    root = Path("/sys/fs/cgroup")
    names = [
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ]
    found = []
    for limit, used in names:
        try:
            found.append((int((root / limit).read_text()), int((root / used).read_text())))
        except (OSError, ValueError):
            continue
    return found
