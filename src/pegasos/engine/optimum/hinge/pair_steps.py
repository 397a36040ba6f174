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

from pegasos.engine.runtime.compiling import compiled
from pegasos.engine.runtime.float_bits import LAST_PLACE, key_of, ordered_bits_of, place_of

Array = np.ndarray[Any, Any]


class SetKernel(NamedTuple):
    """The kernel within a set, whose lines are gathered when a step first needs one: most sets end before all of them did.

    Gathered lines lie side by side in the order in which they were needed: the fewer they are, the nearer is the cache they fit.
    """

    #: Lines of the kernel, times `factor`: which of them is that of a row (-1: none yet), and how many there are.
    K: Array
    line: Array
    gathered: Array
    #: values[slots[i], columns[j]] is the kernel between rows i and j of the set, without the constant feature; without columns
    #: it is values[slots[i], j].
    values: Array
    slots: Array
    columns: Array
    constant: float
    factor: float

    @classmethod
    def whole(cls, K: Array, factor: float) -> SetKernel:
        """One that is there already, times the factor."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(K, np.arange(len(K)), np.array([len(K)]), K[:0], nothing, nothing, 0.0, factor)


@compiled
def gather_line(kernel: Any, place: int) -> None:
    """The line of a row comes to its place in K."""
    line, kind = kernel.K[kernel.line[place]], kernel.K.dtype.type
    factor, constant = kind(kernel.factor), kind(kernel.constant)
    source, columns = kernel.values[kernel.slots[place]], kernel.columns
    if columns.size == 0:
        for j in range(source.size):
            line[j] = factor * (kind(source[j]) + constant)
    else:
        for j in range(columns.size):
            line[j] = factor * (kind(source[columns[j]]) + constant)


@compiled
def line_of(kernel: Any, place: int) -> Array:
    """A line of a `SetKernel`."""
    if kernel.line[place] < 0:
        kernel.line[place] = kernel.gathered[0]
        kernel.gathered[0] += 1
        gather_line(kernel, place)
    return kernel.K[kernel.line[place]]


@partial(compiled, any_order=True)
def best_alone(v: Array, diagonal: Array, inverse: Array, low: Array, high: Array) -> int:
    """The coordinate that gains most by its own best step."""
    half = v.dtype.type(0.5)
    best = key_of(v.dtype.type(-np.inf), LAST_PLACE)
    for i in range(v.size):
        step = min(max(v[i] * inverse[i], low[i]), high[i])
        best = max(best, key_of(step * (v[i] - half * diagonal[i] * step), i))
    return place_of(best)


@partial(compiled, any_order=True)
def best_partner(
    p: int, row: Array, v: Array, diagonal: Array, low: Array, high: Array, tiny: Any
) -> int:
    """With which other one coordinate p gains most: the other's best, p at its own best; then p's best after that.

    It is p itself, where no pair gains more than p does alone: as a partner of its own p has no room.
    """
    half, zero = v.dtype.type(0.5), v.dtype.type(0)
    own, slope, least, most = diagonal[p], v[p], low[p], high[p]
    low[p] = high[p] = zero
    inverse = v.dtype.type(1) / own
    best = key_of(v.dtype.type(-np.inf), LAST_PLACE)
    for j in range(v.size):
        share = row[j] * inverse
        # nearly parallel rows gain nothing together
        rest = max(diagonal[j] - row[j] * share, tiny * diagonal[j])
        second = min(max((v[j] - slope * share) / rest, low[j]), high[j])
        first = min(max(slope * inverse - share * second, least), most)
        gain = first * (slope - half * own * first - row[j] * second) + second * (
            v[j] - half * diagonal[j] * second
        )
        best = max(best, key_of(gain, j))
    low[p], high[p] = least, most
    return place_of(best)


@compiled
def partners_step(
    p: int, q: int, row: Array, v: Array, diagonal: Array, low: Array, high: Array, tiny: Any
) -> Any:
    """The step of q that is best together with p."""
    share = row[q] / diagonal[p]
    rest = max(diagonal[q] - row[q] * share, tiny * diagonal[q])
    return min(max((v[q] - v[p] * share) / rest, low[q]), high[q])


@partial(compiled, any_order=True)
def best_after(
    first: Any,
    row: Array,
    second: Any,
    other: Array,
    v: Array,
    diagonal: Array,
    inverse: Array,
    low: Array,
    high: Array,
) -> int:
    """`take_steps` and `best_alone` in one pass."""
    half = v.dtype.type(0.5)
    best = key_of(v.dtype.type(-np.inf), LAST_PLACE)
    for i in range(v.size):
        now = v[i] - (first * row[i] + second * other[i])
        v[i] = now
        step = min(max(now * inverse[i], low[i]), high[i])
        best = max(best, key_of(step * (now - half * diagonal[i] * step), i))
    return place_of(best)


@compiled
def steepest(v: Array, low: Array, high: Array) -> tuple[int, int]:
    """Of those that may go up the one of the largest gradient, of those that may go down the one of the smallest.

    To the last bit: gradients differ by little from each other where the intercept is not yet right.
    """
    nothing = v.dtype.type(-np.inf)
    most = least = ordered_bits_of(nothing)
    for i in range(v.size):
        most = max(most, ordered_bits_of(v[i] if high[i] > 0.0 else nothing))
        least = max(least, ordered_bits_of(-v[i] if low[i] < 0.0 else nothing))
    up = down = 0
    while up < v.size - 1 and not (high[up] > 0.0 and ordered_bits_of(v[up]) == most):
        up += 1
    while down < v.size - 1 and not (low[down] < 0.0 and ordered_bits_of(-v[down]) == least):
        down += 1
    return up, down


@partial(compiled, any_order=True)
def best_opposite(
    p: int, row: Array, v: Array, diagonal: Array, low: Array, high: Array, tiny: Any
) -> int:
    """Which coordinate gains most by going down as far as p goes up."""
    half, zero = v.dtype.type(0.5), v.dtype.type(0)
    own, slope, most = diagonal[p], v[p], high[p]
    best = key_of(v.dtype.type(-np.inf), LAST_PLACE)
    for j in range(v.size):
        pull = slope - v[j]  # of p itself: none
        curve = max(own + diagonal[j] - (row[j] + row[j]), tiny * (own + diagonal[j]))
        step = min(max(pull / curve, zero), most, -low[j])
        best = max(best, key_of(step * (pull - half * curve * step), j))
    return place_of(best)


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
def tiny_for(v: Array) -> float:
    """The share of a row's length below which nothing is known of it."""
    return 1e-6 if v.itemsize == 4 else 1e-12


@compiled
def climb_pairs(
    kernel: Any,
    diagonal: Array,
    v: Array,
    low: Array,
    high: Array,
    least: float,
    most: int,
    change: Array,
) -> int:
    """Pair steps, in place, until no single step gains more than `least`. Returns their number."""
    inverse = np.empty_like(v)
    half, zero, tiny = v.dtype.type(0.5), v.dtype.type(0), v.dtype.type(tiny_for(v))
    for i in range(v.size):
        # of a row of length zero nothing but its own bound ends the step
        diagonal[i] = max(diagonal[i], tiny * tiny)
        inverse[i] = v.dtype.type(1) / diagonal[i]
    p = best_alone(v, diagonal, inverse, low, high)
    for count in range(most):
        step = min(max(v[p] * inverse[p], low[p]), high[p])
        alone = step * (v[p] - half * diagonal[p] * step)
        if not alone > least:
            return count
        row = line_of(kernel, p)
        q = best_partner(p, row, v, diagonal, low, high, tiny)
        second = zero if q == p else partners_step(p, q, row, v, diagonal, low, high, tiny)
        first = min(max((v[p] - row[q] * second) * inverse[p], low[p]), high[p])
        move(p, first, low, high, change)
        if second != zero:
            move(q, second, low, high, change)
        p = best_after(first, row, second, line_of(kernel, q), v, diagonal, inverse, low, high)
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
    change: Array,
) -> int:
    """The same where the sum of all coefficients must stay as it is: one goes up by as much as another goes down."""
    shortest, tiny = np.inf, v.dtype.type(tiny_for(v))
    for i in range(v.size):
        if diagonal[i] > 0.0:
            shortest = min(shortest, diagonal[i])
        diagonal[i] = max(diagonal[i], tiny * tiny)
    for count in range(most):
        p, lowest = steepest(v, low, high)
        slope = v[p] - v[lowest]
        if not (high[p] > 0.0 and low[lowest] < 0.0 and slope > 0.0):
            return count
        row = line_of(kernel, p)
        q = best_opposite(p, row, v, diagonal, low, high, tiny)
        curve = max(
            diagonal[p] + diagonal[q] - (row[q] + row[q]), tiny * (diagonal[p] + diagonal[q])
        )
        step = min((v[p] - v[q]) / curve, high[p], -low[q])
        gain = step * (v[p] - v[q] - 0.5 * curve * step)
        # not the gain alone ends it: a coordinate with hardly any room gains little, must make way, and others come after it;
        # nor the slope alone: nearly parallel rows gain much at any
        if not v[p] > v[q] or not (gain > least or slope * slope > 4.0 * shortest * least):
            return count
        take_steps(step, row, -step, line_of(kernel, q), v)
        move(p, step, low, high, change)
        move(q, -step, low, high, change)
    return most


def climb(
    kernel: SetKernel, work: Array, least: float, most: int, balanced: bool, change: Array
) -> int:
    """Add the changes of a set of coefficients by pair steps to `change`, and answer how many steps they took.

    work  gradient, K_ii, and room down and up, in K's dtype; they end as those after the steps
    """
    v, diagonal, low, high = work
    part = np.zeros_like(v)
    step = climb_balanced_pairs if balanced else climb_pairs
    steps = step(kernel, diagonal, v, low, high, least, most, part)
    change += part
    return steps
