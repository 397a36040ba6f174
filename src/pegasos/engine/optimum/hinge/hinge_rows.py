"""What the interior point method does with single rows: compiled loops over one block of one target.

A row has a and t = C - a, both above 0, and s, ξ above 0 with s - ξ = m - 1 for its margin m. On the central path a s = t ξ = μ.
All directions of an iteration start at the same point and differ in what they aim at, so they are not stored: from the changes
z of the margins, one number a row for each direction, `_direction` tells them again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pegasos.engine.runtime.compiling import compiled

Array = np.ndarray[Any, Any]

#: Lines of a block's state: the point, the changes of margins along the three directions, and a of the best point so far.
A, T, S, XI, PREDICTED, CORRECTED, CENTRED, BEST = range(8)
LINES = 8
#: Products of complementary numbers this many times too small or too large are pulled back towards the aim.
SPREAD = 10.0


@compiled
def _direction(
    a: float, t: float, s: float, xi: float, rs: float, rx: float, z: float
) -> tuple[float, float, float]:
    """(da, ds, dξ) with s da + a ds = rs, -ξ da + t dξ = rx and ds - dξ = z."""
    da = (rs * t - rx * a - z * a * t) / (s * t + xi * a)
    return da, (rs - s * da) / a, (rx + xi * da) / t


@compiled
def _pull(product: float, aim: float) -> float:
    return max(min(max(product, aim / SPREAD), aim * SPREAD) - product, -aim * SPREAD)


@compiled
def _move(state: Array, i: int, aim: float, stage: int) -> tuple[float, float, float, float, float]:
    """(rs, rx, da, ds, dξ) of a row: predicted (Mehrotra's first direction), corrected (his second), or centred (Gondzio's)."""
    a, t, s, xi = state[A, i], state[T, i], state[S, i], state[XI, i]
    rs, rx = -a * s, -t * xi
    da, ds, dx = _direction(a, t, s, xi, rs, rx, state[PREDICTED, i])
    if stage > PREDICTED:
        rs, rx = aim - a * s - da * ds, aim - t * xi + da * dx
        da, ds, dx = _direction(a, t, s, xi, rs, rx, state[CORRECTED, i])
    if stage > CORRECTED:
        rs += _pull((a + da) * (s + ds), aim)
        rx += _pull((t - da) * (xi + dx), aim)
        da, ds, dx = _direction(a, t, s, xi, rs, rx, state[CENTRED, i])
    return rs, rx, da, ds, dx


@compiled
def _blocking(state: Array, i: int, da: float, ds: float, dx: float) -> float:
    """1/(the longest step that keeps the row's four numbers above 0), at least 0."""
    return max(0.0, -da / state[A, i], da / state[T, i], -ds / state[S, i], -dx / state[XI, i])


@compiled
def open_rows(state: Array, bounds: Array, mu: float) -> None:
    """The point of the central path for margins 0 (w = 0) and this μ."""
    for i in range(bounds.size):
        if bounds[i] > 0.0:
            h = 2.0 * mu / bounds[i]
            root = math.sqrt(1.0 + h * h)
            state[S, i] = (
                0.5 * h * (1.0 + h / (1.0 + root))
            )  # (h - 1 + root)/2 without cancellation
            state[XI, i] = 0.5 * (1.0 + h + root)
            state[T, i] = mu / state[XI, i]
            state[A, i] = bounds[i] - state[T, i]


@compiled
def advance(
    state: Array,
    labels: Array,
    bounds: Array,
    aim: float,
    stage: int,
    step: float,
    out: Array,
    sums: Array,
) -> None:
    """Take the step. sums: Σ C max(0, 1 - m), Σ a of either label, Σ (a s + t ξ).

    out: a of label 1, a of label -1, the right side of the first direction, and the weights 1/D of the matrix.
    """
    loss, positive, negative, products = 0.0, 0.0, 0.0, 0.0
    for i in range(bounds.size):
        if bounds[i] <= 0.0:
            out[0, i] = out[1, i] = out[2, i] = out[3, i] = 0.0
            continue
        if step > 0.0:
            _, _, da, ds, dx = _move(state, i, aim, stage)
            state[S, i] += step * ds
            state[XI, i] += step * dx
            if (
                state[A, i] < state[T, i]
            ):  # the smaller one is exact, the larger one what it leaves of C
                state[A, i] += step * da
                state[T, i] = bounds[i] - state[A, i]
            else:
                state[T, i] -= step * da
                state[A, i] = bounds[i] - state[T, i]
        a, t, s, xi = state[A, i], state[T, i], state[S, i], state[XI, i]
        loss += bounds[i] * max(0.0, xi - s)
        products += a * s + t * xi
        first = labels[i] > 0.0
        out[0, i] = a if first else 0.0
        out[1, i] = 0.0 if first else a
        positive += out[0, i]
        negative += out[1, i]
        weight = a * t / (s * t + xi * a)
        out[2, i] = labels[i] * weight * (xi - s)
        out[3, i] = weight
    sums[0] += loss
    sums[1] += positive
    sums[2] += negative
    sums[3] += products


@compiled
def predict(state: Array, labels: Array, bounds: Array, out: Array, sums: Array) -> float:
    """The first direction: what blocks it; sums: Σ products after a step α as c₁ α + c₂ α²; out: lines of the next right side."""
    peak, linear, square = 0.0, 0.0, 0.0
    for i in range(bounds.size):
        if bounds[i] <= 0.0:
            out[0, i] = out[1, i] = 0.0
            continue
        a, t, s, xi = state[A, i], state[T, i], state[S, i], state[XI, i]
        _, _, da, ds, dx = _move(state, i, 0.0, PREDICTED)
        peak = max(peak, _blocking(state, i, da, ds, dx))
        linear += a * ds + s * da + t * dx - xi * da
        square += da * ds - da * dx
        scale = labels[i] / (s * t + xi * a)
        out[0, i] = scale * (-da * ds * t - da * dx * a)
        out[1, i] = scale * (t - a)
    sums[0] += linear
    sums[1] += square
    return peak


@compiled
def correct(state: Array, labels: Array, bounds: Array, aim: float, out: Array) -> float:
    """The second direction: what blocks it; out: what the third adds to the right side."""
    peak = 0.0
    for i in range(bounds.size):
        if bounds[i] <= 0.0:
            out[0, i] = 0.0
            continue
        a, t, s, xi = state[A, i], state[T, i], state[S, i], state[XI, i]
        _, _, da, ds, dx = _move(state, i, aim, CORRECTED)
        peak = max(peak, _blocking(state, i, da, ds, dx))
        pulled = _pull((a + da) * (s + ds), aim) * t - _pull((t - da) * (xi + dx), aim) * a
        out[0, i] = labels[i] * pulled / (s * t + xi * a)
    return peak


@compiled
def centre(state: Array, bounds: Array, aim: float) -> float:
    """The third direction: what blocks it."""
    peak = 0.0
    for i in range(bounds.size):
        if bounds[i] > 0.0:
            _, _, da, ds, dx = _move(state, i, aim, CENTRED)
            peak = max(peak, _blocking(state, i, da, ds, dx))
    return peak


@compiled
def settle(
    state: Array,
    labels: Array,
    bounds: Array,
    scores: Array,
    line: int,
    factors: Array,
    out: Array,
    sums: Array,
) -> None:
    """The margins of these scores, exactly. sums: Σ C max(0, 1 - m), Σ a; out: y a. Each a is multiplied by its side's factor."""
    loss, total = 0.0, 0.0
    for i in range(bounds.size):
        out[0, i] = 0.0
        if bounds[i] > 0.0:
            above = labels[i] * scores[i] - 1.0
            loss += bounds[i] * max(0.0, -above)
            change = (
                above - state[S, i] + state[XI, i]
            )  # rounding of many steps: goes to the larger of the two
            if state[S, i] > state[XI, i]:
                state[S, i] = max(state[S, i] + change, state[XI, i])
            else:
                state[XI, i] = max(state[XI, i] - change, state[S, i])
            a = min(max(state[line, i], 0.0), bounds[i]) * (
                factors[0] if labels[i] > 0.0 else factors[1]
            )
            total += a
            out[0, i] = labels[i] * a
    sums[0] += loss
    sums[1] += total
