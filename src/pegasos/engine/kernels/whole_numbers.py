"""Rows whose numbers are whole multiples of one step from one origin, such as pixels, counts or rounded readings.

    x = origin + step·q,   q whole

A sample of the rows tells the step: the greatest common divisor of the differences of its numbers, as far as floating point
knows them. All numbers are then held to it; one that does not fit, and the rows are ordinary ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pegasos.engine.kernels.moments import extremes
from pegasos.engine.runtime.compiling import announced, compiled
from pegasos.engine.runtime.float_bits import bits_of, number_of
from pegasos.engine.runtime.threads import run_blocks

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
    if not numbers.size:
        return None
    values = np.sort(numbers, axis=None)
    with announced("grid", values.dtype):
        step, tolerance = _step_and_tolerance(values, float(UNITS * np.finfo(values.dtype).eps))
    return Grid(float(values[0]), step, tolerance) if step > 0.0 else None


@compiled
def _step_and_tolerance(values: Array, share: float) -> tuple[float, float]:
    """The step of sorted numbers, or 0, and the tolerance, that share of the largest one."""
    tolerance = share * max(abs(np.float64(values[0])), abs(np.float64(values[-1])))
    distances, count, least = np.empty(values.size), 0, np.inf
    for i in range(1, values.size):
        if values[i] != values[i - 1]:
            distances[count] = np.float64(values[i]) - np.float64(values[0])
            least = min(least, distances[count] - (distances[count - 1] if count else 0.0))
            count += 1
    if count == 0 or not np.isfinite(tolerance):
        return 0.0, tolerance
    return _common_step(distances[:count], least, tolerance), tolerance


@compiled
def _common_step(distances: Array, least: float, tolerance: float) -> float:
    """The greatest common divisor of rising distances, of which neighbours are `least` apart or more; 0 if there is none."""
    step, error = least, 2.0 * tolerance  # the step, and how far from it the true one may be
    for _ in range(MOST_DIVISORS):
        if step * MOST_STEPS < distances[-1] or tolerance > SHARE_OF_STEP * step:
            return 0.0
        step, error, left, left_error = _refined(step, error, distances, tolerance)
        if left < 0.0:
            return step
        if left_error > SHARE_OF_STEP * step:  # too few digits to tell multiples from others
            return 0.0
        while left > max(left_error, tolerance / SHARE_OF_STEP):  # Euclid's algorithm
            rest, rest_error = _modulo(step, error, left, left_error)
            step, error, left, left_error = left, left_error, rest, rest_error
    return 0.0


@compiled
def _modulo(value: float, error: float, step: float, step_error: float) -> tuple[float, float]:
    """How far a number is from the nearest multiple of another one, and how far from that the truth may be."""
    times = max(1.0, np.rint(value / step))
    return abs(value - times * step), error + times * step_error


@compiled
def _refined(
    step: float, error: float, distances: Array, tolerance: float
) -> tuple[float, float, float, float]:
    """The step in more digits, and what is left of a distance that is not a multiple of it (-1: none is), with errors.

    The larger a multiple, the more digits it tells; each that is looked at is at most twice the one before, or the next one.
    """
    place = 0
    while True:
        distance = distances[place]
        left, left_error = _modulo(distance, tolerance, step, error)
        if left > left_error or left_error > SHARE_OF_STEP * step:
            return step, error, left, left_error
        times = max(1.0, np.rint(distance / step))
        if tolerance / times < error:
            step, error = distance / times, tolerance / times
        if place == distances.size - 1:
            break
        place = max(place + 1, np.searchsorted(distances, 2.0 * distance, side="right") - 1)
    worst = 0.0
    for distance in distances:
        worst = max(worst, abs(distance - step * np.rint(distance / step)))
    return step, error, worst if worst > tolerance else -1.0, tolerance


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
    below, above = (
        round((least - grid.origin) / grid.step),
        round((largest - grid.origin) / grid.step),
    )
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
        run_blocks(
            [(slice(start, start + step), slice(0, 0)) for start in range(0, len(X), step)], work
        )
    return whole if max(beside) <= grid.tolerance else None
