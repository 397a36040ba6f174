"""Tiles of a kernel that decays with whole-number distances, from words in panels to their two places in a matrix, in one call.

Threads that come back to Python after each part of a tile wait for each other there: (measured on two threads, 1,797 rows of 64
features) 1.6 ms for the matrix part by part, 1.3 ms so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.engine.compiling import announced, compiled
from pegasos.engine.exponential import decay_double, decay_single, range_of
from pegasos.engine.integer_products import IntegerSquares, fill_panels, pack
from pegasos.engine.transposing import copy_columns, mirror_square

Array = NDArray[Any]

#: Columns of a tile whose values are used at once.
COLUMNS_AT_ONCE = 256


@compiled
def _place(block: Array, top: int, left: int, result: Array, mirrored: bool) -> None:
    """A block of a matrix goes to its place, and to the mirrored one."""
    height, width = block.shape
    if mirrored and top == left:
        mirror_square(block)
    for i in range(height):
        source, target = block[i], result[top + i, left : left + width]
        for j in range(width):
            target[j] = source[j]
    if mirrored and top != left:
        copy_columns(block, result[left : left + width, top : top + height])


@compiled
def _single(
    panels: Any, step: Any, factor: Any, least: Any, block: Array, top: int, left: int, result: Array, mirrored: bool
) -> None:
    fill_panels(panels[0], panels[1], panels[2], panels[3], step, block)
    decay_single(block.reshape(-1), factor, least)
    _place(block, top, left, result, mirrored)


@compiled
def _double(
    panels: Any, step: Any, factor: Any, least: Any, block: Array, top: int, left: int, result: Array, mirrored: bool
) -> None:
    fill_panels(panels[0], panels[1], panels[2], panels[3], step, block)
    decay_double(block.reshape(-1), factor, least)
    _place(block, top, left, result, mirrored)


@compiled
def _scores(
    words: Any, index: Array, places: Array, coefficients: Array, numbers: Array, step: float, factor: float, least: float
) -> Array:
    """coefficients·K between the rows `index` and those at these places, in float64."""
    added = np.zeros((coefficients.shape[0], places.size))
    first, norms = pack(words[0], index).view(numbers.dtype), words[2][index]
    block = np.empty((index.size, min(places.size, COLUMNS_AT_ONCE)))
    for start in range(0, places.size, COLUMNS_AT_ONCE):
        part = places[start : start + COLUMNS_AT_ONCE]
        tile = block.reshape(-1)[: index.size * part.size].reshape(index.size, part.size)
        fill_panels(first, pack(words[1], part).view(numbers.dtype), norms, words[3][part], step, tile)
        decay_double(tile.reshape(-1), factor, least)
        for k in range(coefficients.shape[0]):
            target = added[k, start : start + COLUMNS_AT_ONCE]
            for i in range(index.size):
                value, row = coefficients[k, i], tile[i]
                for j in range(row.size):
                    target[j] += value * row[j]
    return added


def decayed_scores(squares: IntegerSquares, index: Array, coefficients: Array, places: Array, width: float) -> Array:
    """coefficients·exp(-squares / width) of the rows at these places, (vectors x places), where K is between them and `index`."""
    with announced("decayed-scores"):
        numbers = squares.no_numbers, squares.factor
        return _scores(squares.words(), index, places, coefficients, *numbers, *range_of(coefficients.dtype, width))


def place_tile(
    squares: IntegerSquares, rows: slice, columns: slice, width: float, block: Array, result: Array, mirrored: bool
) -> None:
    """exp(-squares / width) between these rows and columns, by way of `block`, to its place in `result`, or to both."""
    factor, least = range_of(block.dtype, width)
    work = _single if block.itemsize == 4 else _double
    with announced("tiles", block.dtype):
        panels, step = squares.panels(rows, columns), block.dtype.type(squares.factor)
        work(panels, step, factor, least, block, rows.start, columns.start, result, mirrored)
