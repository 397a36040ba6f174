"""The parts of a round of working sets in compiled code, and a whole round of a predictor whose lines of K are all stored."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from pegasos.engine.certificate import stretched
from pegasos.engine.compiling import compiled
from pegasos.engine.float_bits import bits_of, number_of
from pegasos.engine.lines import add_lines
from pegasos.engine.pair_steps import SetKernel, climb_pairs
from pegasos.engine.set_choice import choose_rows

Array = np.ndarray[Any, Any]


@partial(compiled, any_order=True)
def survey(
    labels: Array, bounds: Array, c: Array, scores: Array, diagonal: Array, bias: float, gains: Array
) -> tuple[float, float, float]:
    """‖w‖², G and the largest of the `gains`: what each coordinate's own best step gains (or would, at this intercept)."""
    squared, linear, most = 0.0, 0.0, bits_of(0.0)
    for i in range(c.size):
        y, own, v = labels[i], c[i], labels[i] - scores[i] - bias
        squared += own * scores[i]
        linear += y * own
        low, high = min(0.0, y * bounds[i]) - own, max(0.0, y * bounds[i]) - own
        step = min(max(v / max(diagonal[i], 1e-300), low), high)
        gains[i] = step * (v - 0.5 * diagonal[i] * step)
        most = max(most, bits_of(gains[i]))
    return squared, linear - 0.5 * squared, number_of(most)


@compiled
def certified(
    labels: Array, bounds: Array, c: Array, scores: Array, diagonal: Array, bias: float, gains: Array, tol: float, times: int
) -> tuple[float, float, float, float]:
    """The factor t of w, F there, G and the largest gain; t is 1 where that is enough for a relative gap of tol."""
    squared, bound, most = survey(labels, bounds, c, scores, diagonal, bias, gains)
    factor, primal = stretched(labels, bounds, scores, bias, squared, 0)
    if primal - bound > tol * primal:
        factor, primal = stretched(labels, bounds, scores, bias, squared, times)
    return factor, primal, bound, most


@compiled
def uncertain_rows(labels: Array, bounds: Array, c: Array, scores: Array, bias: float, factor: float, error: float) -> Array:
    """Rows with a coefficient, and those whose loss at t (w, b) may not be zero if scores are off by error (1 + |score|)."""
    found = np.empty(c.size, dtype=np.bool_)
    for i in range(c.size):
        margin = labels[i] * (scores[i] + bias)
        least = factor * (margin - error * (1.0 + abs(margin)))
        found[i] = c[i] != 0.0 or (bounds[i] > 0.0 and not least >= 1.0)
    return found


@compiled
def start_of_steps(
    index: Array,
    places: Array,
    labels: Array,
    bounds: Array,
    c: Array,
    scores: Array,
    diagonal: Array,
    bias: float,
    scale: float,
    work: Array,
) -> None:
    """Gradient, K_ii and room (down and up) of the rows `index`, at their places in a set; all others of the set have none."""
    work[:] = 0.0
    v, own, down, up = work[0], work[1], work[2], work[3]
    for k in range(index.size):
        i, place = index[k], places[k]
        top = labels[i] * bounds[i]
        v[place] = labels[i] - scores[i] - bias
        own[place] = diagonal[i] / scale
        down[place] = (min(0.0, top) - c[i]) * scale
        up[place] = (max(0.0, top) - c[i]) * scale


@compiled
def end_of_steps(
    index: Array, places: Array, labels: Array, bounds: Array, c: Array, change: Array, factor: float, down: Array, up: Array
) -> tuple[Array, int]:
    """Coefficients after the changes, and how many are at their bound: who ran out of room is at the bound itself."""
    after, at_bound = np.empty(index.size), 0
    for k in range(index.size):
        place, top = places[k], labels[index[k]] * bounds[index[k]]
        low, high = min(0.0, top), max(0.0, top)
        if down[place] >= 0.0:
            after[k] = low
        elif up[place] <= 0.0:
            after[k] = high
        else:
            after[k] = min(max(c[index[k]] + change[place] * factor, low), high)
        at_bound += abs(after[k]) >= bounds[index[k]]
    return after, at_bound


@compiled
def own_round(
    values: Array,
    rows: Array,
    labels: Array,
    bounds: Array,
    c: Array,
    scores: Array,
    diagonal: Array,
    gains: Array,
    products: Array,
    size: int,
    constant: float,
    factor: float,
    worth: float,
    largest: float,
    most: int,
    square: Array,
    tol: float,
    times: int,
) -> tuple[int, int, int, float, float, float, float]:
    """A round, in place: the set, its pair steps, the scores that follow, and the certificate there.

    values    the kernel matrix, of which `rows` are the training rows; products are scores of all its rows, without the constant
    worth     the gain of a step that is worth it, times the rows of the set, if that is no more than `largest`; most  steps
    square    room for the kernel of the set
    Returned are steps, rows of the set and how many of them are at their bound, and what `certified` finds.
    """
    index = choose_rows(labels, bounds, c, scores, 0.0, gains, size)
    places, own = np.arange(index.size), rows[index]
    columns = own[:0] if index.size == values.shape[1] else own
    K = square[: index.size * index.size].reshape(index.size, index.size)
    kernel = SetKernel(K, np.zeros(index.size, dtype=np.bool_), values, own, columns, constant, factor)
    work, change = np.empty((4, index.size), dtype=K.dtype), np.zeros(index.size, dtype=K.dtype)
    start_of_steps(index, places, labels, bounds, c, scores, diagonal, 0.0, 1.0 / factor, work)
    least = min(worth / index.size, largest) / factor
    steps = climb_pairs(kernel, work[1], work[0], work[2], work[3], least, most, change)
    after, at_bound = end_of_steps(index, places, labels, bounds, c, change, factor, work[2], work[3])
    moved = np.empty((1, index.size))
    for k in range(index.size):
        moved[0, k] = after[k] - c[index[k]]
        c[index[k]] = after[k]
    add_lines(own, moved, values, products)
    bias = constant * np.sum(c)
    for i in range(rows.size):
        scores[i] = products[0, rows[i]] + bias
    found = certified(labels, bounds, c, scores, diagonal, 0.0, gains, tol, times)
    return steps, index.size, at_bound, found[0], found[1], found[2], found[3]
