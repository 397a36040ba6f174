"""Solve the dual of the hinge loss on a working set by greedy pair steps, in compiled code.

Coefficients are c_i = y_i a_i, so that labels appear only in the box: maximize v·e - e·K·e/2 over
changes low <= e <= high, where v_i = y_i - s_i is the gradient at e = 0. Both coordinates of a
step are selected by their gain and solved for together. All arrays have one dtype: in float32 a
step takes half the time, and the next round corrects the rounding errors.

References
----------
Steinwart, Hush, Scovel (2011), Training SVMs without offset.
Fan, Chen, Lin (2005), Working set selection using second order information for training SVMs.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pegasos.engine.runtime.compiling import compiled

Array = np.ndarray[Any, Any]

#: Numbers of a block whose maximum is vectorized; only the block of the maximum is searched for its
#: place (measured on sets of 1,400 rows: a step takes 1.8 us, and 4.1 us if all are searched).
SEARCHED_AT_ONCE = 128


class SetKernel(NamedTuple):
    """Kernel matrix of a working set, whose rows are gathered when a step first needs them.

    Parameters
    ----------
    K : gathered rows in the order of first use, so that the few used rows stay in the CPU cache.
    line : index in K of each row of the set, -1 where it is not gathered yet.
    gathered : number of gathered rows, in an array of one element.
    values, slots, columns : values[slots[i], columns[j]] is the kernel between rows i and j of the
        set, without the constant feature.
    constant : square of the constant feature, added to every value.
    factor : every value is multiplied by it, so that the range of float32 suffices.
    """

    K: Array
    line: Array
    gathered: Array
    values: Array
    slots: Array
    columns: Array
    constant: float
    factor: float


@compiled
def set_row(kernel: Any, place: int) -> Array:
    """Return a row of a `SetKernel`, gathering it first if necessary."""
    if kernel.line[place] < 0:
        kernel.line[place] = kernel.gathered[0]
        kernel.gathered[0] += 1
        row, kind = kernel.K[kernel.line[place]], kernel.K.dtype.type
        factor, constant = kind(kernel.factor), kind(kernel.constant)
        source, columns = kernel.values[kernel.slots[place]], kernel.columns
        for j in range(columns.size):
            row[j] = factor * (kind(source[columns[j]]) + constant)
    return kernel.K[kernel.line[place]]


@compiled
def argmax(bits: Array) -> int:
    """Return the index of the first maximum of floats, given their bits; it must be >= 0.

    Compilers vectorize the maximum of integers, but not of floats. Nonnegative floats are ordered
    as their bits are, and the bits of negative floats are smaller integers.
    """
    best, first = bits[0], 0
    for start in range(0, bits.size, SEARCHED_AT_ONCE):
        top = bits[start]
        for i in range(start, min(start + SEARCHED_AT_ONCE, bits.size)):
            top = max(top, bits[i])
        if top > best:
            best, first = top, start
    while bits[first] != best:
        first += 1
    return first


@compiled
def argmax_of_any_sign(bits: Array) -> int:
    """Return the index of the first maximum of floats of any sign; `bits` are overwritten.

    The order of the bits of negative floats, apart from the sign, is reversed.
    """
    kind = bits.dtype.type
    last, all_but_sign = kind(8 * bits.itemsize - 1), kind(np.iinfo(bits.dtype).max)
    for i in range(bits.size):
        bits[i] ^= (bits[i] >> last) & all_but_sign
    return argmax(bits)


@partial(compiled, any_order=True)
def solve_pairs(
    kernel: Any,
    diagonal: Array,
    v: Array,
    low: Array,
    high: Array,
    tiny: float,
    least: float,
    most: int,
    gains: Array,
    bits: Array,
    change: Array,
) -> int:
    """Take pair steps, in place, until no single coordinate gains more than `least`.

    A step moves the coordinate p of the largest gain together with the one that gains most with
    it (p itself if no pair is better). `tiny` bounds the relative Schur complement from below;
    `bits` are an integer view of `gains`. Returns the number of steps, at most `most`.
    """
    kind = v.dtype.type
    half, zero, small = kind(0.5), kind(0), kind(tiny)
    for count in range(most):
        for i in range(v.size):
            step = min(max(v[i] / diagonal[i], low[i]), high[i])
            gains[i] = step * (v[i] - half * diagonal[i] * step)
        p = argmax(bits)
        if not gains[p] > least:
            return count
        row = set_row(kernel, p)
        own, slope, down, up = diagonal[p], v[p], low[p], high[p]
        inverse = kind(1) / own
        low[p] = high[p] = zero
        for j in range(v.size):
            share = row[j] * inverse
            # The Schur complement of p vanishes for a row parallel to it.
            schur = max(diagonal[j] - row[j] * share, small * diagonal[j])
            second = min(max((v[j] - slope * share) / schur, low[j]), high[j])
            first = min(max(slope * inverse - share * second, down), up)
            gains[j] = first * (slope - half * own * first - row[j] * second) + second * (
                v[j] - half * diagonal[j] * second
            )
        q = argmax(bits)
        share = row[q] * inverse
        schur = max(diagonal[q] - row[q] * share, small * diagonal[q])
        second = min(max((v[q] - slope * share) / schur, low[q]), high[q])
        first = min(max((slope - row[q] * second) * inverse, down), up)
        change[p] += first
        low[p], high[p] = min(down - first, zero), max(up - first, zero)
        if second != zero:
            change[q] += second
            low[q], high[q] = min(low[q] - second, zero), max(high[q] - second, zero)
        other = set_row(kernel, q)
        for i in range(v.size):
            v[i] -= first * row[i] + second * other[i]
    return most


@partial(compiled, any_order=True)
def solve_balanced_pairs(
    kernel: Any,
    diagonal: Array,
    v: Array,
    low: Array,
    high: Array,
    tiny: float,
    least: float,
    most: int,
    gains: Array,
    bits: Array,
    change: Array,
) -> int:
    """Take pair steps that keep the sum of coefficients: one rises by as much as another falls.

    The first is the one of the largest gradient that can rise, the second gains most with it.
    """
    kind = v.dtype.type
    half, zero, small, nothing = kind(0.5), kind(0), kind(tiny), kind(-np.inf)
    shortest = kind(np.inf)
    for i in range(v.size):
        if diagonal[i] > small * small:
            shortest = min(shortest, diagonal[i])
    for count in range(most):
        for i in range(v.size):
            gains[i] = -v[i] if low[i] < zero else nothing
        lowest = argmax_of_any_sign(bits)
        for i in range(v.size):
            gains[i] = v[i] if high[i] > zero else nothing
        p = argmax_of_any_sign(bits)
        slope = v[p] - v[lowest]
        if not (high[p] > zero and low[lowest] < zero and slope > zero):
            return count
        row = set_row(kernel, p)
        own, top, up = diagonal[p], v[p], high[p]
        for j in range(v.size):
            pull = top - v[j]
            curve = max(own + diagonal[j] - (row[j] + row[j]), small * (own + diagonal[j]))
            step = min(max(pull / curve, zero), up, -low[j])
            gains[j] = step * (pull - half * curve * step)
        q = argmax(bits)
        pull = top - v[q]
        # A small gain alone is no reason to stop: a coordinate close to its bound gains little, but
        # others can move once it is there. Nor is a small slope: parallel rows gain at any slope.
        if not pull > zero or not (gains[q] > least or slope * slope > 4.0 * shortest * least):
            return count
        curve = max(own + diagonal[q] - (row[q] + row[q]), small * (own + diagonal[q]))
        step = min(pull / curve, up, -low[q])
        change[p] += step
        change[q] -= step
        low[p], high[p] = min(low[p] - step, zero), max(high[p] - step, zero)
        low[q], high[q] = min(low[q] + step, zero), max(high[q] + step, zero)
        other = set_row(kernel, q)
        for i in range(v.size):
            v[i] -= step * (row[i] - other[i])
    return most
