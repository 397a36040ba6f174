"""Rows whose numbers are whole multiples of one step from one origin, such as pixels, counts or rounded readings.

    x = origin + step·q,   q whole

A sample of the rows tells the step: the greatest common divisor of the differences of its numbers, as far as floating point
knows them. All numbers are then held to it; one that does not fit, and the rows are ordinary ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pegasos.engine.compiling import announced, compiled
from pegasos.engine.float_bits import bits_of, number_of
from pegasos.engine.moments import extremes
from pegasos.engine.threads import run_blocks

Array = NDArray[Any]

#: Steps between the least and the largest number: what fits into 16 bits.
MOST_STEPS = 2**16 - 1
#: Rows in which the step is looked for.
SAMPLED_ROWS = 16
#: How far from its place a number may lie: units in the last place of the largest one, and this share of a step at most.
UNITS, SHARE_OF_STEP = 2, 1 / 8
#: Divisors that are tried before a sample counts as ordinary numbers.
MOST_DIVISORS = 8
#: Numbers that a thread takes at once: fewer are converted sooner than another thread is started.
NUMBERS_AT_ONCE = 2**18


class Grid(NamedTuple):
    """Where numbers may lie: origin + step·q, give or take the tolerance."""

    origin: float
    step: float
    tolerance: float


def grid_of(numbers: Array) -> Grid | None:
    """The coarsest grid on which these numbers lie, None if it has too many steps or there is only one number.

    >>> grid_of(np.array([0.5, 0.1, 0.2, 0.4]))
    Grid(origin=0.1, step=0.1, tolerance=2.220446049250313e-16)
    >>> grid_of(np.random.default_rng(0).normal(size=1000)) is None
    True
    """
    values = np.unique(numbers)
    tolerance = float(UNITS * np.finfo(numbers.dtype).eps * np.abs(values).max(initial=0))
    distances = np.subtract(values, values[:1], dtype=np.float64)[1:]
    if not len(distances) or not np.isfinite(tolerance):
        return None
    step = _Known(float(np.diff(distances, prepend=0.0).min()), 2.0 * tolerance)
    for _ in range(MOST_DIVISORS):
        if step.value * MOST_STEPS < distances[-1] or tolerance > SHARE_OF_STEP * step.value:
            return None
        step, left = _refined(step, distances, tolerance)
        if left is None:
            return Grid(float(values[0]), step.value, tolerance)
        if left.error > SHARE_OF_STEP * step.value:  # too few digits to tell multiples from others
            return None
        while left.value > max(left.error, tolerance / SHARE_OF_STEP):  # Euclid's algorithm
            step, left = left, step.modulo(left)
    return None


class _Known(NamedTuple):
    """A number, and how far from it the true one may be."""

    value: float
    error: float

    def modulo(self, other: _Known) -> _Known:
        """How far it is from the nearest multiple of another one."""
        times = max(1, round(self.value / other.value))
        return _Known(abs(self.value - times * other.value), self.error + times * other.error)


def _refined(step: _Known, distances: Array, tolerance: float) -> tuple[_Known, _Known | None]:
    """The step in more digits, and what is left of a distance that is not a multiple of it (None: there is none).

    The larger a multiple, the more digits it tells; each that is looked at is at most twice the one before, or the next one.
    """
    place = 0
    while True:
        distance = _Known(float(distances[place]), tolerance)
        left = distance.modulo(step)
        if left.value > left.error or left.error > SHARE_OF_STEP * step.value:
            return step, left
        times = max(1, round(distance.value / step.value))
        if tolerance / times < step.error:
            step = _Known(distance.value / times, tolerance / times)
        if place == len(distances) - 1:
            break
        place = max(place + 1, int(np.searchsorted(distances, 2.0 * distance.value, side="right")) - 1)
    beside = np.abs(distances - step.value * np.rint(distances / step.value))
    worst = int(beside.argmax())
    return step, None if beside[worst] <= tolerance else _Known(float(beside[worst]), tolerance)


@compiled
def _to_whole(X: Array, origin: float, step: float, whole: Array) -> float:
    """The whole numbers of X; returned is how far a number lies from its place at most."""
    beside, inverse = bits_of(0.0), 1.0 / step
    for i in range(X.size):
        distance = X[i] - origin
        q = np.rint(distance * inverse)
        beside = max(beside, bits_of(abs(distance - q * step)))
        whole[i] = np.int32(q)
    return number_of(beside)


def whole_numbers(matrices: list[Array]) -> tuple[list[Array], float] | None:
    """The rows of these matrices as whole numbers around 0, int8 or else int16, and the step; None if they are not whole.

    >>> whole_numbers([np.array([[0.0, 0.5], [1.5, 2.0]])])
    ([array([[-2, -1],
           [ 1,  2]], dtype=int8)], 0.5)
    """
    if not all(X.size for X in matrices):
        return None
    grid = grid_of(matrices[0][:: max(1, len(matrices[0]) // SAMPLED_ROWS)])
    if grid is None:
        return None
    ends = [extremes(X.reshape(-1)) for X in matrices]
    least, largest = float(min(low for low, _ in ends)), float(max(high for _, high in ends))
    if not largest - least <= MOST_STEPS * grid.step:
        return None
    below, above = round((least - grid.origin) / grid.step), round((largest - grid.origin) / grid.step)
    origin = grid.origin + grid.step * ((below + above + 1) // 2)
    kind = np.int8 if above - below < 2**8 else np.int16
    found = [_converted(X, origin, grid, kind) for X in matrices]
    whole = [part for part in found if part is not None]
    return (whole, grid.step) if len(whole) == len(matrices) else None


def _converted(X: Array, origin: float, grid: Grid, kind: Any) -> Array | None:
    """The whole numbers of X, None if some lie beside their places."""
    whole = np.empty(X.shape, dtype=kind)
    beside: list[float] = []

    def work(rows: slice, _: slice) -> None:
        beside.append(_to_whole(X[rows].reshape(-1), origin, grid.step, whole[rows].reshape(-1)))

    step = max(1, NUMBERS_AT_ONCE // X.shape[1])
    with announced("whole-numbers", X.dtype, whole.dtype):
        run_blocks([(slice(start, start + step), slice(0, 0)) for start in range(0, len(X), step)], work)
    return whole if max(beside) <= grid.tolerance else None
