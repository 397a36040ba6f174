"""The losses: what each costs at a margin y·s, and what its dual pays for a coefficient.

P(w) = λ/2 ‖w‖² + Σ ω_i ℓ(y_i w·x_i)/Σω is at least D(a) = λ (Σ_i d(a_i, C_i) - ‖Σ a_i y_i x_i‖²/2) for all 0 <= a_i <= C_i,
C_i = ω_i/(λ Σω).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, xlogy

Array = np.ndarray[Any, Any]


def _hinge(margin: Array) -> Array:
    return np.maximum(0.0, 1.0 - margin)


def _hinge_slope(margin: Array) -> Array:
    return np.where(margin < 1.0, -1.0, 0.0)


def _hinge_dual(a: Array, bound: Array) -> Array:
    return a


def _logistic(margin: Array) -> Array:
    return np.logaddexp(0.0, -margin)


def _logistic_slope(margin: Array) -> Array:
    return -expit(-margin)


def _logistic_dual(a: Array, bound: Array) -> Array:
    share = np.divide(a, bound, out=np.zeros_like(a), where=bound > 0)
    return -bound * (xlogy(share, share) + xlogy(1.0 - share, 1.0 - share))


def _perceptron(margin: Array) -> Array:
    return np.maximum(0.0, -margin)


def _perceptron_slope(margin: Array) -> Array:
    return np.where(margin <= 0.0, -1.0, 0.0)


@dataclass(frozen=True)
class Loss:
    """value ℓ(margin), a slope in its subdifferential, and the dual term d(a, C) (None: no dual is kept).

    >>> LOSSES["hinge"].value(np.array([-1.0, 0.0, 2.0]))
    array([2., 1., 0.])
    """

    name: str
    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    dual: Callable[[Array, Array], Array] | None


LOSSES = {
    loss.name: loss
    for loss in (
        Loss("hinge", _hinge, _hinge_slope, _hinge_dual),
        Loss("logistic", _logistic, _logistic_slope, _logistic_dual),
        Loss("perceptron", _perceptron, _perceptron_slope, None),
    )
}
