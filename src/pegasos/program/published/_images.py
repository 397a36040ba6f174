"""Maps of small images, row by row and without statistics or labels: blurred pixels, directions of edges, shifted copies."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

#: One pixel to each side.
SHIFTS = ((0, 1), (0, -1), (1, 0), (-1, 0))


def raw(images: Array) -> Array:
    """Pixels as they are, a row each."""
    return np.ascontiguousarray(images.reshape(len(images), -1), dtype=np.float32)


def blurred(images: Array, width: float = 0.7) -> Array:
    """Pixels after a Gaussian blur, each row scaled to length 1."""
    return _unit_rows(_blur(images, width))


def edges(images: Array, width: float, directions: int = 8) -> Array:
    """How strongly the image rises in each direction, blurred, at every second pixel; each row scaled to length 1."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    across = (padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2]) / 2
    down = (padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1]) / 2
    maps = []
    for angle in 2 * np.pi * np.arange(directions) / directions:
        rise = np.maximum(0, across * np.cos(angle) + down * np.sin(angle))
        maps.append(_blur(rise, width)[:, ::2, ::2].reshape(len(images), -1))
    return _unit_rows(np.concatenate(maps, axis=1))


def shifted(images: Array, down: int, across: int) -> Array:
    """The images moved by so many pixels; what enters is empty.

    >>> shifted(np.array([[[1, 2], [3, 4]]]), 1, 0)
    array([[[0, 0],
            [1, 2]]])
    """
    moved = np.zeros_like(images)
    height, width = images.shape[1:]
    moved[:, max(0, down) : height + min(0, down), max(0, across) : width + min(0, across)] = (
        images[:, max(0, -down) : height - max(0, down), max(0, -across) : width - max(0, across)]
    )
    return moved


def _blur(images: Array, width: float) -> Array:
    from scipy.ndimage import gaussian_filter

    return np.asarray(gaussian_filter(images, (0, width, width), mode="constant"))


def _unit_rows(values: Array) -> Array:
    rows = values.reshape(len(values), -1)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)
