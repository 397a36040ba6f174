"""Scratch arrays that a thread uses again and again: fresh pages can cost as much as the work."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class Buffers:
    """Scratch memory by name, one set per thread, which grows to the largest shape asked for.

    >>> buffers = Buffers()
    >>> buffers.take("tile", (2, 3), np.float32).shape
    (2, 3)
    >>> buffers.take("tile", (2, 3), np.float32).base is buffers.take(
    ...     "tile", (1, 2), np.float64
    ... ).base
    True
    """

    def __init__(self) -> None:
        self._thread = threading.local()

    def take(self, name: str, shape: tuple[int, ...], dtype: Any) -> Array:
        """Return an uninitialized array; its values last until this thread asks for the name again."""
        needed = math.prod(shape) * np.dtype(dtype).itemsize
        kept: Array | None = getattr(self._thread, name, None)
        if kept is None or len(kept) < needed:
            kept = np.empty(needed, dtype=np.uint8)
            setattr(self._thread, name, kept)
        return kept[:needed].view(dtype).reshape(shape)
