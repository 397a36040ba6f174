"""What Newton's method for the logistic loss does with single rows: compiled loops over one block of one target."""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.engine.runtime.compiling import compiled
from pegasos.engine.walk.losses import LOSSES, dual_term, sigmoid, softplus

Array = np.ndarray[Any, Any]

#: Lines of a block's state: margins y s, and their changes along the direction.
MARGIN, CHANGE = range(2)
LINES = 2
_LOGISTIC = LOSSES["logistic"].code


@compiled
def advance(state: Array, labels: Array, bounds: Array, step: float, out: Array) -> float:
    """Take the step. Σ C ℓ(m); out: the coefficients y C σ(-m), and the weights C σ(m) σ(-m) of the matrix."""
    loss = 0.0
    for i in range(bounds.size):
        state[MARGIN, i] += step * state[CHANGE, i]
        share = sigmoid(-state[MARGIN, i])
        loss += bounds[i] * softplus(-state[MARGIN, i])
        out[0, i] = labels[i] * bounds[i] * share
        out[1, i] = bounds[i] * share * sigmoid(state[MARGIN, i])
    return loss


@compiled
def look_ahead(
    state: Array, labels: Array, bounds: Array, factors: Array, out: Array, sums: Array
) -> None:
    """At the end of a full step: sums: Σ C ℓ(m), Σ d(a), Σ a of either label; out: y a.

    a is not C σ(-m) there but its tangent from where the step starts: for that one Σ a y x is the new vector itself, and the gap
    is smaller by orders. Each is multiplied by its side's factor.
    """
    for i in range(bounds.size):
        out[0, i] = 0.0
        if bounds[i] > 0.0:
            margin, change = state[MARGIN, i], state[CHANGE, i]
            share = sigmoid(-margin)
            a = bounds[i] * min(max(share - share * sigmoid(margin) * change, 0.0), 1.0)
            side = 2 if labels[i] > 0.0 else 3
            a *= factors[side - 2]
            sums[0] += bounds[i] * softplus(-margin - change)
            sums[1] += dual_term(_LOGISTIC, a, bounds[i])
            sums[side] += a
            out[0, i] = labels[i] * a


@compiled
def losses_along(state: Array, bounds: Array, steps: Array, sums: Array) -> None:
    """sums[k] += Σ C ℓ(m) after the step steps[k]."""
    for i in range(bounds.size):
        for k in range(steps.size):
            sums[k] += bounds[i] * softplus(-state[MARGIN, i] - steps[k] * state[CHANGE, i])
