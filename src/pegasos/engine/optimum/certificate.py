"""Certificates: the objective of a predictor, and a lower bound of the minimum from its coefficients."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pegasos.engine.runtime.compiling import announced, compiled
from pegasos.engine.walk.losses import Loss, dual_term, dual_upper, value

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Certificate:
    """P(w) and D(a) <= min P of each column, so that P(w) - min P <= gap = P(w) - D(a).

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
        """Gap divided by the primal objective (0 where that is 0)."""
        return np.divide(self.gap, self.primal, out=np.zeros_like(self.gap), where=self.primal != 0)


def certificate_of(
    loss: Loss,
    lams: Array,
    weights: Array,
    signs: Array,
    scores: Array,
    coefficients: Array,
    *,
    bias: Array | None = None,
    columns: Array | None = None,
    rows: Array | None = None,
) -> Certificate:
    """Return P and D of each predictor k with λ = lams[k] and labels signs[k].

    w = Σ coefficients·x has these scores. Predictor k is column columns[k] of scores (plus bias[column])
    and of coefficients; signs and weights belong to the training rows `rows`. By default predictor k is
    column k, without a bias, on all rows.
    """
    primal, dual = np.empty(len(lams)), np.empty(len(lams))
    bias = np.zeros(len(scores)) if bias is None else bias
    columns = np.arange(len(lams)) if columns is None else columns
    rows = np.arange(scores.shape[1]) if rows is None else rows
    with announced("gaps", scores.dtype):
        _objectives(
            loss.code, scores, bias, coefficients, columns, signs, rows, weights, lams, primal, dual
        )
    return Certificate(primal, dual)


@compiled
def _objectives(
    loss: int,
    scores: Array,
    bias: Array,
    coefficients: Array,
    columns: Array,
    signs: Array,
    rows: Array,
    weights: Array,
    lams: Array,
    primal: Array,
    dual: Array,
) -> None:
    """Compute all P and D in one pass over the scores, with sums in float64.

    For D, coefficients are clipped to their box, which float32 may leave by rounding.
    """
    total = 0.0
    for r in range(rows.size):
        total += weights[r]
    for k in range(columns.size):
        column, lam = columns[k], lams[k]
        unit = 1.0 / (lam * total)
        cost = 0.0
        terms = 0.0
        length = 0.0
        dual_length = 0.0
        for r in range(rows.size):
            y = signs[k, r]
            score = float(scores[column, rows[r]]) + bias[column]
            own = float(coefficients[column, rows[r]])
            bound = unit * weights[r]
            a = min(max(y * own, 0.0), dual_upper(loss, bound))
            length += own * score
            dual_length += a * y * score
            cost += weights[r] * value(loss, y * score)
            terms += dual_term(loss, a, bound)
        primal[k] = 0.5 * lam * length + cost / total
        dual[k] = lam * (terms - 0.5 * dual_length)


def halvings(tol: float) -> int:
    """Return the number of bisections for the best length of w at a relative gap of tol.

    >>> halvings(0.01), halvings(1e-6)
    (13, 26)
    """
    return max(6, 6 + math.ceil(-math.log2(tol)))


@partial(compiled, any_order=True)
def stretched(
    labels: Array, bounds: Array, scores: Array, bias: float, squared: float, times: int
) -> tuple[float, float]:
    """Return the factor t for which t (w, b) has the least F, after `times` bisections, and that F.

    Where nearly all margins are almost 1 and C is large, a slightly longer w has no loss. The slope
    t ‖w‖² - Σ C_i u_i over t u_i < 1, where u_i = y_i (w·x_i + b), increases with t.
    """
    low, high, t = 0.0, 2.0, 1.0
    for _ in range(times):
        slope = t * squared
        for i in range(labels.size):
            u = labels[i] * (scores[i] + bias)
            if t * u < 1.0:
                slope -= bounds[i] * u
        if slope > 0.0:
            high = t
        else:
            low = t
        t = 0.5 * (low + high)
    loss = 0.0
    for i in range(labels.size):
        loss += bounds[i] * max(0.0, 1.0 - t * labels[i] * (scores[i] + bias))
    return t, 0.5 * t * t * squared + loss


def box(lam: Array, weights: Array) -> Array:
    """Return C_i = ω_i/(λ Σω), columns x rows."""
    return np.asarray(weights / (lam[:, None] * weights.sum()))
