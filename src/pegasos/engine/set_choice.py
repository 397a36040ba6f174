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
#: Bits of a class that do not matter for crowds, which are counted, too: most classes are empty.
CROWD_BITS = 8


@compiled
def classes_of(values: Array) -> Array:
    """The class of each number, the higher the larger."""
    keys = values.astype(np.float32).view(np.int32)
    found = np.empty(keys.size, dtype=np.int32)
    for i in range(keys.size):
        # of the bits of a negative number all but the sign count backwards
        found[i] = ((keys[i] ^ ((keys[i] >> 31) & 0x7FFFFFFF)) >> IGNORED_BITS) + (CLASSES >> 1)
    return found


@compiled
def mark_largest(classes: Array, able: Array, count: int, chosen: Array) -> int:
    """Mark `count` more of the able rows, those of the highest classes (all, if they are fewer), and answer how many those are.

    Both are 0 or 1 for each row, so that loops have no branches; who is chosen already is no longer able.
    """
    population, crowds = np.zeros(CLASSES, dtype=np.int32), np.zeros(CLASSES >> CROWD_BITS, dtype=np.int32)
    for i in range(classes.size):
        able[i] &= np.int32(1) - chosen[i]
    for i in range(classes.size):
        population[classes[i]] += able[i]
    for crowd in range(crowds.size):
        crowds[crowd] = np.sum(population[crowd << CROWD_BITS : (crowd + 1) << CROWD_BITS])
    left = min(max(count, 0), int(np.sum(crowds)))
    marked = left
    if left == 0:
        return 0
    crowd = crowds.size - 1
    while crowds[crowd] < left:
        left -= crowds[crowd]
        crowd -= 1
    last = ((crowd + 1) << CROWD_BITS) - 1
    while population[last] < left:
        left -= population[last]
        last -= 1
    for i in range(classes.size):
        chosen[i] |= able[i] & np.int32(classes[i] > last)
    turn = 0
    for i in range(classes.size):
        if classes[i] == last and able[i] != 0:  # the class that is not taken whole: evenly spread over the rows
            turn += left
            if turn >= population[last]:
                turn -= population[last]
                chosen[i] = 1
    return marked


@compiled
def choose_rows(labels: Array, bounds: Array, c: Array, scores: Array, bias: float, gains: Array, size: int) -> Array:
    """The rows of a set: half of it those that would go furthest, then rows inside their box, then others, both by their gains.

    Of the first half those that go up are as many as those that go down: else the mean score swings from round to round.
    """
    chosen, able, up = np.zeros(c.size, dtype=np.int32), np.empty(c.size, dtype=np.int32), np.empty(c.size, dtype=np.float32)
    for i in range(c.size):
        able[i] = c[i] < max(labels[i] * bounds[i], 0.0)
        up[i] = labels[i] - scores[i] - bias  # small numbers where all is well: their leading bits tell them apart
    ways, by_gain = classes_of(up), classes_of(gains)
    quarter = max(2, size // 2) // 2
    left = size - mark_largest(ways, able, quarter, chosen)
    for i in range(c.size):
        able[i] = c[i] > min(labels[i] * bounds[i], 0.0)
        ways[i] = CLASSES - 1 - ways[i]  # those of -up
    left -= mark_largest(ways, able, quarter, chosen)
    for i in range(c.size):
        able[i] = np.int32(c[i] != 0.0) & np.int32(abs(c[i]) < bounds[i])
    left -= mark_largest(by_gain, able, left, chosen)
    for i in range(c.size):
        able[i] = gains[i] > 0.0
    mark_largest(by_gain, able, left, chosen)
    return np.flatnonzero(chosen)
