"""Losses: value, slope, dual term and dual step of each, in compiled code.

P(w) = λ/2 ‖w‖² + Σ ω_i ℓ(y_i w·x_i)/Σω is at least D(a) = λ (Σ_i d(a_i, C_i) - ‖Σ a_i y_i
x_i‖²/2) for all 0 <= a_i <= C_i = ω_i/(λ Σω). A loss is a line of `LOSSES` and a branch in each
of the compiled functions below, which all other code calls:

    value        ℓ(m)
    slope        ℓ'(m) at m = ys/scale (of a kink the side that the rules take)
    dual_term    d(a, C), the smallest C ℓ(m) + a m of all m
    dual_step    the z in 0..C that maximizes d(z, C) - kii (z - own)²/2 - ys (z - own)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.engine.runtime.compiling import compiled

Array = np.ndarray[Any, Any]

_HINGE, _LOGISTIC, _PERCEPTRON = range(3)
_UNKNOWN = "no formula for this loss"


@dataclass(frozen=True)
class Loss:
    """Properties of a loss beside its formulas.

    Parameters
    ----------
    default_kernel_lam : "auto" for λ with a kernel; None for a loss without regularization or dual.
    has_probabilities : whether σ(score) is the probability of the class.
    mergeable : whether the two ends of a sorted set of λ settle the changes of all: predictors
        with equal decisions may stay one column.
    linear_dual : whether d(a, C) = a, so that a dual candidate can be scaled to its best length.

    >>> LOSSES["hinge"].slopes(np.array([-1.0, 1.0, 2.0]))
    array([-1.,  0.,  0.])
    """

    name: str
    code: int
    formula: str
    default_kernel_lam: float | None
    has_probabilities: bool = False
    mergeable: bool = False
    linear_dual: bool = False

    def slopes(self, margins: Array) -> Array:
        """Return the slope at each margin."""
        out = np.empty(margins.shape, dtype=margins.dtype)
        _fill_slopes(self.code, margins.ravel(), out.reshape(-1))
        return out


LOSSES = {
    loss.name: loss
    for loss in (
        Loss("hinge", _HINGE, "max(0, 1 - m)", 1e-4, mergeable=True, linear_dual=True),
        Loss("logistic", _LOGISTIC, "log(1 + exp(-m))", 1e-5, has_probabilities=True),
        Loss("perceptron", _PERCEPTRON, "max(0, -m)", None),
    )
}

#: The losses whose scores are the logits of probabilities.
PROBABILISTIC = tuple(loss.name for loss in LOSSES.values() if loss.has_probabilities)


@compiled
def sigmoid(z: float) -> float:
    """Return 1/(1 + exp(-z)) without overflow."""
    if z >= 0.0:
        return 1.0 / (1.0 + math.exp(-z))
    e = math.exp(z)
    return e / (1.0 + e)


@compiled
def softplus(z: float) -> float:
    """Return ln(1 + exp(z)) without overflow."""
    return max(z, 0.0) + math.log1p(math.exp(-abs(z)))


@compiled
def value(loss: int, margin: float) -> float:
    """Return ℓ(m)."""
    if loss == _HINGE:
        return max(0.0, 1.0 - margin)
    if loss == _LOGISTIC:
        return softplus(-margin)
    if loss == _PERCEPTRON:
        return max(0.0, -margin)
    raise ValueError(_UNKNOWN)


@compiled
def slope(loss: int, ys: float, scale: float) -> float:
    """Return ℓ'(ys/scale)."""
    if loss == _HINGE:
        return -1.0 if ys < scale else 0.0
    if loss == _LOGISTIC:
        return -sigmoid(-ys / scale)
    if loss == _PERCEPTRON:
        return -1.0 if ys <= 0.0 else 0.0
    raise ValueError(_UNKNOWN)


@compiled
def dual_term(loss: int, a: float, bound: float) -> float:
    """Return d(a, C)."""
    if loss == _HINGE:
        return a
    if loss == _LOGISTIC:
        if not 0.0 < a < bound:
            return 0.0
        share = a / bound
        return -(bound * (share * math.log(share) + (1.0 - share) * math.log1p(-share)))
    raise ValueError(_UNKNOWN)


@compiled
def dual_step(loss: int, ys: float, own: float, kii: float, bound: float) -> float:
    """Return the best dual coefficient, all others fixed."""
    if loss == _HINGE:
        if kii > 0.0:
            return min(max(own + (1.0 - ys) / kii, 0.0), bound)
        return bound if ys < 1.0 else 0.0
    if loss == _LOGISTIC:
        return _logistic_step(ys, own, kii, bound) if bound > 0.0 else own
    raise ValueError(_UNKNOWN)


@compiled
def _logistic_step(ys: float, own: float, kii: float, bound: float) -> float:
    """Return z = C σ(θ) by Newton's method on the logit θ, kept inside a bracket.

    h(θ) = θ + kii (C σ(θ) - own) + y s is increasing, with slope 1 + kii C σ(θ) σ(-θ) >= 1.
    """
    low = -ys - kii * (bound - own)
    high = -ys + kii * own
    theta = (
        min(max(math.log(own) - math.log(bound - own), low), high)
        if 0.0 < own < bound
        else 0.5 * (low + high)
    )
    last = high - low
    for _ in range(200):
        p = sigmoid(theta)
        h = theta + kii * (bound * p - own) + ys
        if h > 0.0:
            high = theta
        else:
            low = theta
        step = h / (1.0 + kii * bound * p * sigmoid(-theta))
        new = theta - step
        # Newton leaves the bracket, or does not halve it: bisect.
        if not low < new < high or abs(step) > 0.5 * last:
            new = 0.5 * (low + high)
        last = abs(new - theta)
        theta = new
        if last <= 1e-15 * max(1.0, abs(theta)):
            break
    return bound * sigmoid(theta)


@compiled
def _fill_slopes(loss: int, margins: Array, out: Array) -> None:
    for k in range(margins.size):
        out[k] = slope(loss, float(margins[k]), 1.0)
