"""Greedy pair steps on a small set of dual coefficients, in compiled code.

Random-order steps crawl where large coefficients must move together (a wide kernel and a large C). Here both coordinates of a
step are chosen by their gain, and solved for together. After Steinwart, Hush and Scovel (2011), training SVMs without offset, and
Fan, Chen and Lin (2005), second order working set selection, for a free intercept.

Coefficients are c_i = y_i a_i, so that labels are nowhere: maximize v·e - e·K·e/2 over changes low <= e <= high, where
v_i = y_i - s_i is the gradient at e = 0. All arrays have one dtype. In float32 a step takes half the time; what is lost to
rounding is seen, and made up for, when the scores are next computed from the coefficients.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pegasos.engine.compiling import compiled

Array = np.ndarray[Any, Any]

#: Gains of which the largest is found at once.
STRETCH = 256


class SetKernel(NamedTuple):
    """The kernel within a set, whose lines are gathered when a step first needs one: most sets end before all of them did."""

    #: The kernel, times `factor`, where a line is `known`.
    K: Array
    known: Array
    #: values[slots[i], columns[j]] is the kernel between rows i and j of the set, without the constant feature.
    values: Array
    slots: Array
    columns: Array
    constant: float
    factor: float

    @classmethod
    def whole(cls, K: Array, factor: float) -> SetKernel:
        """One that is there already, times the factor."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(K, np.ones(len(K), dtype=bool), K[:0], nothing, nothing, 0.0, factor)


@compiled
def line_of(kernel: Any, place: int) -> Array:
    """A line of a `SetKernel`."""
    line = kernel.K[place]
    if not kernel.known[place]:
        kernel.known[place] = True
        source, columns = kernel.values[kernel.slots[place]], kernel.columns
        for j in range(columns.size):
            line[j] = kernel.factor * (source[columns[j]] + kernel.constant)
    return line


@compiled
def largest(bits: Array) -> int:
    """Where the largest of some gains is, which are not negative: as integers their bits have the same order.

    A maximum of integers is searched in vector registers, one of floating point numbers is not (NaN is in the way); where it is,
    is searched in one stretch only.
    """
    best, place = bits[0], 0
    for start in range(0, bits.size, STRETCH):
        part = bits[start : start + STRETCH]
        top = part[0]
        for i in range(part.size):
            top = max(top, part[i])
        if top > best:
            best, place = top, start
    while bits[place] != best:
        place += 1
    return place


@partial(compiled, any_order=True)
def single_gains(v: Array, diagonal: Array, inverse: Array, low: Array, high: Array, gains: Array) -> None:
    """What each coordinate gains by its own best step."""
    half = v.dtype.type(0.5)
    for i in range(v.size):
        step = min(max(v[i] * inverse[i], low[i]), high[i])
        gains[i] = step * (v[i] - half * diagonal[i] * step)


@partial(compiled, any_order=True)
def pair_gains(p: int, row: Array, v: Array, diagonal: Array, low: Array, high: Array, tiny: Any, gains: Array) -> None:
    """What coordinate p gains together with each other one: the other's best, p at its own best; then p's best after that."""
    half = v.dtype.type(0.5)
    own, slope, least, most = diagonal[p], v[p], low[p], high[p]
    inverse = v.dtype.type(1) / own
    for j in range(v.size):
        share = row[j] * inverse
        # nearly parallel rows gain nothing together
        rest = max(diagonal[j] - row[j] * share, tiny * diagonal[j])
        second = min(max((v[j] - slope * share) / rest, low[j]), high[j])
        first = min(max(slope * inverse - share * second, least), most)
        gains[j] = first * (slope - half * own * first - row[j] * second) + second * (v[j] - half * diagonal[j] * second)


@compiled
def partners_step(p: int, q: int, row: Array, v: Array, diagonal: Array, low: Array, high: Array, tiny: Any) -> Any:
    """The step of q that `pair_gains` has found best together with p."""
    share = row[q] / diagonal[p]
    rest = max(diagonal[q] - row[q] * share, tiny * diagonal[q])
    return min(max((v[q] - v[p] * share) / rest, low[q]), high[q])


@partial(compiled, any_order=True)
def gains_after(
    first: Any,
    row: Array,
    second: Any,
    other: Array,
    v: Array,
    diagonal: Array,
    inverse: Array,
    low: Array,
    high: Array,
    gains: Array,
) -> None:
    """`take_steps` and `single_gains` in one pass."""
    half = v.dtype.type(0.5)
    for i in range(v.size):
        now = v[i] - (first * row[i] + second * other[i])
        v[i] = now
        step = min(max(now * inverse[i], low[i]), high[i])
        gains[i] = step * (now - half * diagonal[i] * step)


@partial(compiled, any_order=True)
def balanced_gains(p: int, row: Array, v: Array, diagonal: Array, low: Array, high: Array, tiny: Any, gains: Array) -> None:
    """What is gained by moving p up and another coordinate down by as much."""
    half = v.dtype.type(0.5)
    own, slope, most = diagonal[p], v[p], high[p]
    for j in range(v.size):
        pull = slope - v[j]
        curve = max(own + diagonal[j] - (row[j] + row[j]), tiny * (own + diagonal[j]))
        step = min(max(pull / curve, v.dtype.type(0)), most, -low[j])
        gains[j] = step * (pull - half * curve * step)


@compiled
def take_steps(first: Any, row: Array, second: Any, other: Array, v: Array) -> None:
    """The gradient after two coordinates moved."""
    for i in range(v.size):
        v[i] -= first * row[i] + second * other[i]


@compiled
def move(place: int, step: Any, low: Array, high: Array, change: Array) -> None:
    """One coordinate moves; at a bound its room is exactly zero."""
    change[place] += step
    low[place] = min(low[place] - step, low.dtype.type(0))
    high[place] = max(high[place] - step, high.dtype.type(0))


@compiled
def climb_pairs(
    kernel: Any,
    diagonal: Array,
    v: Array,
    low: Array,
    high: Array,
    least: float,
    most: int,
    tiny: Any,
    gains: Array,
    bits: Array,
    change: Array,
) -> int:
    """Pair steps, in place, until no single step gains more than `least`; `bits` is a view of `gains`. Returns their number."""
    inverse = np.empty_like(v)
    zero = v.dtype.type(0)
    for i in range(v.size):
        # of a row of length zero nothing but its own bound ends the step
        diagonal[i] = max(diagonal[i], tiny * tiny)
        inverse[i] = v.dtype.type(1) / diagonal[i]
    single_gains(v, diagonal, inverse, low, high, gains)
    for count in range(most):
        p = largest(bits)
        alone = gains[p]
        if not alone > least:
            return count
        row = line_of(kernel, p)
        pair_gains(p, row, v, diagonal, low, high, tiny, gains)
        gains[p] = alone
        q = largest(bits)
        second = zero if q == p else partners_step(p, q, row, v, diagonal, low, high, tiny)
        first = min(max((v[p] - row[q] * second) * inverse[p], low[p]), high[p])
        move(p, first, low, high, change)
        if second != zero:
            move(q, second, low, high, change)
        gains_after(first, row, second, line_of(kernel, q), v, diagonal, inverse, low, high, gains)
    return most


@compiled
def climb_balanced_pairs(
    kernel: Any,
    diagonal: Array,
    v: Array,
    low: Array,
    high: Array,
    least: float,
    most: int,
    tiny: Any,
    gains: Array,
    bits: Array,
    change: Array,
) -> int:
    """The same where the sum of all coefficients must stay as it is: one goes up by as much as another goes down."""
    size = v.size
    shortest = np.inf
    for i in range(size):
        if diagonal[i] > 0.0:
            shortest = min(shortest, diagonal[i])
        diagonal[i] = max(diagonal[i], tiny * tiny)
    for count in range(most):
        p, lowest = -1, np.inf
        for i in range(size):
            if high[i] > 0.0 and (p < 0 or v[i] > v[p]):
                p = i
            if low[i] < 0.0 and v[i] < lowest:
                lowest = v[i]
        if p < 0 or not v[p] > lowest:
            return count
        row = line_of(kernel, p)
        balanced_gains(p, row, v, diagonal, low, high, tiny, gains)
        gains[p] = v.dtype.type(0)
        q = largest(bits)
        # not the gain alone ends it: a coordinate with hardly any room gains little, must make way, and others come after it;
        # nor the slope alone: nearly parallel rows gain much at any
        slope = v[p] - lowest
        if not v[p] > v[q] or not (gains[q] > least or slope * slope > 4.0 * shortest * least):
            return count
        curve = max(diagonal[p] + diagonal[q] - (row[q] + row[q]), tiny * (diagonal[p] + diagonal[q]))
        step = min((v[p] - v[q]) / curve, high[p], -low[q])
        take_steps(step, row, -step, line_of(kernel, q), v)
        move(p, step, low, high, change)
        move(q, -step, low, high, change)
    return most


def climb(
    kernel: SetKernel, diagonal: Array, v: Array, low: Array, high: Array, least: float, most: int, balanced: bool
) -> tuple[Array, int]:
    """The changes of a set of coefficients by pair steps, in K's dtype, and how many steps they took.

    All arrays but `kernel` are consumed: v, low and high end as gradient and room after the steps.
    """
    change, gains = np.zeros_like(v), np.empty_like(v)
    bits = gains.view(np.int32 if v.itemsize == 4 else np.int64)
    tiny = v.dtype.type(1e-6 if v.itemsize == 4 else 1e-12)
    step = climb_balanced_pairs if balanced else climb_pairs
    return change, step(kernel, diagonal, v, low, high, least, most, tiny, gains, bits, change)
