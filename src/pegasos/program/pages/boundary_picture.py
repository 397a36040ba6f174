"""The plane of a decision boundary as a picture: colours of classes, the stronger the larger the lead, lines and margins."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np

from pegasos.program.records.pages import Boundary

Array = np.ndarray[Any, Any]

#: Pixels, and the grey of lines: it is seen on light and dark pages.
WIDTH, HEIGHT, LINE = 600, 400, (112, 118, 128)


def fields(edge: Boundary) -> tuple[Array, Array]:
    """At each pixel, upper lines first: the place of the leading class in `codes`, and its lead (of two classes the score)."""
    from scipy import ndimage

    side = round(len(edge.scores[0]) ** 0.5)
    parts = [np.asarray(each).reshape(side, side)[::-1] for each in edge.scores]
    grown = [
        ndimage.zoom(each, (HEIGHT / side, WIDTH / side), order=3, mode="nearest") for each in parts
    ]
    if len(grown) == 1:
        both = len(edge.codes) > 1
        return (
            (grown[0] > 0).astype(int) if both else np.zeros(grown[0].shape, dtype=int)
        ), np.abs(grown[0])
    stacked = np.sort(np.stack(grown), axis=0)
    return np.argmax(np.stack(grown), axis=0), stacked[-1] - stacked[-2]


def picture(edge: Boundary, colours: list[str]) -> str:
    """The picture as the address of an image; `colours` are those of all classes."""
    best, lead = fields(edge)
    inks = np.array(
        [[int(colours[code][at : at + 2], 16) for at in (1, 3, 5)] for code in edge.codes],
        dtype=np.float64,
    )
    strength = 0.14 + 0.36 * np.tanh(lead / (2 if edge.holding else np.median(lead) + 1e-12))
    alpha = np.round(48 * strength) / 48  # few steps are packed well
    line = _near(lead, 0.0, 1.1)
    if edge.holding:
        down, across = np.indices(lead.shape)
        line = np.maximum(line, 0.85 * _near(lead, 1.0, 0.8) * ((across + down) % 12 < 7))
    mixed = line[..., None] * np.array(LINE) + (1 - line[..., None]) * inks[best]
    pixels = (
        np.concatenate([mixed, 255 * (line + (1 - line) * alpha)[..., None]], axis=2)
        .round()
        .astype(np.uint8)
    )
    return "data:image/png;base64," + base64.b64encode(_png(pixels)).decode()


def _near(values: Array, level: float, width: float) -> Array:
    """1 where values are within so many pixels of a level, and softly 0 beyond."""
    slopes = [np.abs(np.diff(values, axis=axis)) for axis in (0, 1)]
    steep = np.zeros_like(values)
    for axis, slope in enumerate(slopes):  # the steeper side: at a boundary the lead has a kink
        before, after = [(0, 0), (0, 0)], [(0, 0), (0, 0)]
        before[axis], after[axis] = (1, 0), (0, 1)
        steep = np.hypot(steep, np.maximum(np.pad(slope, before), np.pad(slope, after)))
    return np.asarray(
        np.clip(width + 0.5 - np.abs(values - level) / np.maximum(steep, 1e-12), 0.0, 1.0)
    )


def _png(pixels: Array) -> bytes:
    """Red, green, blue and alpha as a PNG file."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    height, width, _ = pixels.shape
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(lines, 9))
        + chunk(b"IEND", b"")
    )
