"""How far from the best possible: the objective of a predictor, and a lower bound of every objective from its coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.engine.losses import LOSSES

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Certificate:
    """One number a column: P(w), D(a) <= min P, and so P(w) - min P <= gap = P(w) - D(a).

    >>> Certificate(np.array([0.5]), np.array([0.4])).relative.round(3)
    array([0.2])
    """

    primal: Array
    dual: Array

    @property
    def gap(self) -> Array:
        return self.primal - self.dual

    @property
    def relative(self) -> Array:
        """The gap as a share of the primal objective (0 where that is 0)."""
        return np.divide(self.gap, self.primal, out=np.zeros_like(self.gap), where=self.primal != 0)


def primal_objective(loss: str, lam: Array, scores: Array, labels: Array, weights: Array, squared_norm: Array) -> Array:
    """λ/2 ‖w‖² + Σ ω ℓ(y s)/Σω of each column; scores and labels are columns x rows; sums in float64."""
    losses = LOSSES[loss].value(labels * scores.astype(np.float64))
    return lam / 2 * squared_norm + losses @ weights / weights.sum()


def dual_objective(loss: str, lam: Array, a: Array, scores: Array, labels: Array, weights: Array) -> Array:
    """λ (Σ d(a, C) - ‖w‖²/2) of each column, where `scores` belong to w = Σ a y x, so that ‖w‖² = Σ a y s."""
    dual = LOSSES[loss].dual
    assert dual is not None
    bounds = weights / (lam[:, None] * weights.sum())
    squared_norm = np.einsum("ij,ij->i", a * labels, scores, dtype=np.float64)
    return lam * (dual(a, bounds).sum(axis=1) - squared_norm / 2)


def box(lam: Array, weights: Array) -> Array:
    """C_i = ω_i/(λ Σω), columns x rows."""
    return np.asarray(weights / (lam[:, None] * weights.sum()))
