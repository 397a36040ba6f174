"""Which rows make the next working set: those that gain most, found by counting instead of sorting.

Numbers are ordered by the leading bits of their float32 form (sign, exponent and four digits), so that one pass counts how many
stand in each class of about equal ones, and another one marks the classes from the top. Who is last to be taken is a matter of
a sixteenth of its number: as good a set as the exact one, in half the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.engine.compiling import compiled

Array = np.ndarray[Any, Any]

#: Bits of a float32 that do not matter, and the classes that the others make.
IGNORED_BITS = 19
CLASSES = 1 << (32 - IGNORED_BITS)


def keys_of(values: Array) -> Array:
    """The bits of numbers in float32, as integers that `mark_largest` can order."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32).view(np.int32)


@compiled
def _class_of(key: int) -> int:
    """Of the bits of a negative number all but the sign count backwards."""
    ordered = key if key >= 0 else key ^ 0x7FFFFFFF
    return (ordered >> IGNORED_BITS) + (CLASSES >> 1)


@compiled
def mark_largest(keys: Array, able: Array, count: int, chosen: Array) -> int:
    """Mark `count` more of the able rows, those of the largest keys (all, if they are fewer), and answer how many those are."""
    population = np.zeros(CLASSES, dtype=np.int32)
    total, last = 0, 0
    for i in range(keys.size):
        if able[i] and not chosen[i]:
            own = _class_of(keys[i])
            population[own] += 1
            last = max(last, own)
            total += 1
    left = min(max(count, 0), total)
    marked = left
    if left == 0:
        return 0
    while population[last] < left:
        left -= population[last]
        last -= 1
    crowd, turn = population[last], 0
    for i in range(keys.size):
        if able[i] and not chosen[i]:
            own = _class_of(keys[i])
            if own == last:  # the class that is not taken whole: evenly spread over the rows
                turn += left
                if turn >= crowd:
                    turn -= crowd
                    chosen[i] = True
            elif own > last:
                chosen[i] = True
    return marked


@compiled
def choose_rows(labels: Array, bounds: Array, c: Array, scores: Array, bias: float, gains: Array, size: int) -> Array:
    """The rows of a set: half of it those that would go furthest, then rows inside their box, then others, both by their gains.

    Of the first half those that go up are as many as those that go down: else the mean score swings from round to round.
    """
    chosen, able = np.zeros(c.size, dtype=np.bool_), np.empty(c.size, dtype=np.bool_)
    up, by_gain = np.empty(c.size, dtype=np.float32), gains.astype(np.float32).view(np.int32)
    quarter = max(2, size // 2) // 2
    for i in range(c.size):
        able[i] = c[i] < max(labels[i] * bounds[i], 0.0)
        up[i] = labels[i] - scores[i] - bias  # small numbers where all is well: their leading bits tell them apart
    left = size - mark_largest(up.view(np.int32), able, quarter, chosen)
    for i in range(c.size):
        able[i] = c[i] > min(labels[i] * bounds[i], 0.0)
    left -= mark_largest((-up).view(np.int32), able, quarter, chosen)
    for i in range(c.size):
        able[i] = c[i] != 0.0 and abs(c[i]) < bounds[i]
    left -= mark_largest(by_gain, able, left, chosen)
    for i in range(c.size):
        able[i] = gains[i] > 0.0
    mark_largest(by_gain, able, left, chosen)
    return np.flatnonzero(chosen)
