"""Primal and dual objectives of many columns in one pass over their scores, without copies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pegasos.engine.compiling import compiled
from pegasos.engine.rules import softplus

Array = np.ndarray[Any, Any]


@compiled
def objectives(
    logistic: bool,
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
    """P and D of each member k, which is column columns[k] of scores and coefficients, with λ = lams[k] and labels signs[k].

    scores and coefficients are columns x all rows; `rows` are the training rows, signs and weights belong to those. Coefficients
    are clipped to their box (float32 may stand a rounding outside). Sums in float64.
    """
    total = 0.0
    for r in range(rows.size):
        total += weights[r]
    for k in range(columns.size):
        column, lam = columns[k], lams[k]
        unit = 1.0 / (lam * total)
        loss = 0.0
        entropy = 0.0
        length = 0.0
        dual_length = 0.0
        for r in range(rows.size):
            y = signs[k, r]
            score = float(scores[column, rows[r]]) + bias[column]
            own = float(coefficients[column, rows[r]])
            bound = unit * weights[r]
            a = min(max(y * own, 0.0), bound)
            length += own * score
            dual_length += a * y * score
            if logistic:
                loss += weights[r] * softplus(-y * score)
                if 0.0 < a < bound:
                    share = a / bound
                    entropy -= bound * (share * math.log(share) + (1.0 - share) * math.log1p(-share))
            else:
                loss += weights[r] * max(0.0, 1.0 - y * score)
                entropy += a
        primal[k] = 0.5 * lam * length + loss / total
        dual[k] = lam * (entropy - 0.5 * dual_length)
