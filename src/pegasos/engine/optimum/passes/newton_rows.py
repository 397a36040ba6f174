"""Compiled loops of Newton's method over the rows of one block, for one predictor.

On the central path of the hinge loss a s = μ, (C - a) ξ = μ and s - ξ = m - 1. With h = 2μ/C and
r = √((m - 1)² + h²), s + ξ = h + r. So a, s and ξ follow from the margin m, and no state of a row
is stored between passes.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from pegasos.engine.runtime.compiling import compiled
from pegasos.engine.walk.losses import LOSSES, dual_term, sigmoid, softplus

Array = np.ndarray[Any, Any]

_LOGISTIC = LOSSES["logistic"].code
#: Lines of `out`: weights D of the Hessian; derivative of y a by μ; then y a of the new point and
#: of the tangent, each on one line, or on one line per label (`sides` = 2).
WEIGHT, RIGHT, FIRST = range(3)
#: Numbers of `sums`: the loss; then Σ a and Σ d(a) by label, of the new point and of the tangent.
LOSS, NEW, TANGENT = 0, 1, 5
SUMS = 9
#: Lines of `scratch`, which has numbers of each row with C > 0.
SCRATCH_LINES = 4
#: Numbers whose logarithms are summed as the logarithm of their product.
AT_ONCE = 16


@partial(compiled, any_order=True)
def barrier_values(
    bounds: Array, below: Array, change: Array, corner: Array, next_mu: float, step: float
) -> float:
    """Return the barrier function Σ (C ξ - μ log(s + ξ)) after a step, up to a constant.

    `below` is 1 - m before the step, `corner` is h = 2 μ/C.
    """
    total = 0.0
    for i in range(bounds.size):
        missing = below[i] - step * change[i]
        total += bounds[i] * (
            corner[i] + missing + math.sqrt(missing * missing + corner[i] * corner[i])
        )
    logarithms = 0.0
    for start in range(0, bounds.size, AT_ONCE):
        stop, product = min(start + AT_ONCE, bounds.size), 1.0
        for i in range(start, stop):
            missing = below[i] - step * change[i]
            product *= corner[i] + math.sqrt(missing * missing + corner[i] * corner[i])
        if 1e-250 < product < 1e250:  # far from underflow and overflow of float64
            logarithms += math.log(product)
        else:
            for i in range(start, stop):
                missing = below[i] - step * change[i]
                logarithms += math.log(
                    corner[i] + math.sqrt(missing * missing + corner[i] * corner[i])
                )
    return 0.5 * total - next_mu * logarithms


@partial(compiled, any_order=True)
def loss_values(bounds: Array, margins: Array, change: Array, scratch: Array, step: float) -> float:
    """Return Σ C log(1 + exp(-m)) after a step."""
    total = 0.0
    for i in range(bounds.size):
        ahead = margins[i] + step * change[i]
        total += bounds[i] * max(-ahead, 0.0)
        scratch[i] = math.exp(-abs(ahead))
    for start in range(0, bounds.size, AT_ONCE):
        stop, product, alike = min(start + AT_ONCE, bounds.size), 1.0, True
        for i in range(start, stop):
            product *= 1.0 + scratch[i]
            alike &= bounds[i] == bounds[start]
        if alike:
            total += bounds[start] * math.log(product)
        else:
            for i in range(start, stop):
                total += bounds[i] * math.log1p(scratch[i])
    return total


@compiled
def central_point(margin: float, bound: float, mu: float) -> tuple[float, float, float, float]:
    """Return (a, C - a, s, ξ) of the central path without cancellation."""
    above, h = margin - 1.0, 2.0 * mu / bound
    r = math.sqrt(above * above + h * h)
    larger, smaller = 0.5 * (abs(above) + h + r), 0.5 * h * (1.0 + h / (abs(above) + r))
    if above >= 0.0:
        a = mu / larger
        return a, bound - a, larger, smaller
    t = mu / larger
    return bound - t, t, smaller, larger


@compiled
def sum_hinge(
    labels: Array,
    bounds: Array,
    scores: Array,
    step: float,
    mu: float,
    next_mu: float,
    steps: Array,
    sides: int,
    scratch: Array,
    out: Array,
    sums: Array,
    values: Array,
) -> None:
    """Compute `out`, `sums` and `values` of one block for the barrier form of the hinge loss.

    `scores` are those of the vector and the direction. Everything is computed after a step of size
    `step`, for μ = next_mu. The tangent is a after a full Newton step to first order: for it
    Σ a y x is the vector itself, and the gap is smaller by orders of magnitude.

    `out` has a number for each row on each line: WEIGHT is its weight in the Hessian, RIGHT the
    derivative of y a by μ, and the lines from FIRST on are y a of the new point and of the tangent.
    The loss is added to sums[LOSS]; Σ a and Σ d(a) of each label are added to four numbers from
    sums[NEW] on for the new point, and from sums[TANGENT] on for the tangent.
    values[k] += Σ (C ξ - μ log(s + ξ)) at step size steps[k].
    """
    out[:] = 0.0
    present = 0
    for i in range(labels.size):
        bound, y = bounds[i], labels[i]
        if bound <= 0.0:
            continue
        side = 0 if y > 0.0 else 1
        line = FIRST + (side if sides == 2 else 0)
        margin, change = y * scores[0, i], y * scores[1, i]
        ahead = margin + step * change
        a, t, s, xi = central_point(margin, bound, mu)
        a = min(max(a + ((next_mu - mu) * (t - a) - change * a * t) / (s * t + xi * a), 0.0), bound)
        sums[TANGENT + side] += a
        sums[TANGENT + 2 + side] += a
        out[line + sides, i] = y * a
        a, t, s, xi = central_point(ahead, bound, next_mu)
        sums[NEW + side] += a
        sums[NEW + 2 + side] += a
        sums[LOSS] += bound * max(0.0, 1.0 - ahead)
        out[line, i] = y * a
        out[WEIGHT, i] = a * t / (s * t + xi * a)
        out[RIGHT, i] = y * (t - a) / (s * t + xi * a)
        scratch[0, present], scratch[1, present] = bound, 1.0 - margin
        scratch[2, present], scratch[3, present] = change, 2.0 * next_mu / bound
        present += 1
    bound, below, moved, corner = scratch[0], scratch[1], scratch[2], scratch[3]
    for k in range(steps.size):
        values[k] += barrier_values(
            bound[:present], below[:present], moved[:present], corner[:present], next_mu, steps[k]
        )


@compiled
def sum_logistic(
    labels: Array,
    bounds: Array,
    scores: Array,
    step: float,
    mu: float,
    next_mu: float,
    steps: Array,
    sides: int,
    scratch: Array,
    out: Array,
    sums: Array,
    values: Array,
) -> None:
    """Compute `out`, `sums` and `values` as `sum_hinge`, with a = C σ(-m) and without μ."""
    out[:] = 0.0
    present = 0
    for i in range(labels.size):
        bound, y = bounds[i], labels[i]
        if bound <= 0.0:
            continue
        side = 0 if y > 0.0 else 1
        line = FIRST + (side if sides == 2 else 0)
        margin, change = y * scores[0, i], y * scores[1, i]
        ahead = margin + step * change
        share = sigmoid(-margin)
        a = bound * min(max(share - share * sigmoid(margin) * change, 0.0), 1.0)
        sums[TANGENT + side] += a
        sums[TANGENT + 2 + side] += dual_term(_LOGISTIC, a, bound)
        out[line + sides, i] = y * a
        share = sigmoid(-ahead)
        a = bound * share
        sums[NEW + side] += a
        sums[NEW + 2 + side] += dual_term(_LOGISTIC, a, bound)
        sums[LOSS] += bound * softplus(-ahead)
        out[line, i] = y * a
        out[WEIGHT, i] = a * sigmoid(ahead)
        scratch[0, present], scratch[1, present], scratch[2, present] = bound, margin, change
        present += 1
    bound, margins, moved, powers = scratch[0], scratch[1], scratch[2], scratch[3]
    for k in range(steps.size):
        values[k] += loss_values(
            bound[:present], margins[:present], moved[:present], powers[:present], steps[k]
        )
