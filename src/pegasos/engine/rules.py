"""The rules: at one drawn example a learner reads a score and answers one change of one coefficient.

s is the raw score of the example, y in ±1 its label, own = y·A[i] its own (dual) coefficient, kii = K(x_i, x_i), t the step
(from 1), weight the example's weight. `param` is the column's one number:

    rule            param            change of A[i]
    PERCEPTRON      η                y η ω          if y s <= 0
    HINGE           λ k              y ω            if y s < λ k t              (k examples a step; the predictor is A/(λ k T))
    LOGISTIC        λ k              y ω σ(-y s / (λ k t))
    SDCA_HINGE      1/(λ Σω)         y (clip(own + (1 - y s)/kii, 0, C) - own),  C = param·ω
    SDCA_LOGISTIC   1/(λ Σω)         y (z - own),  z minimizes z ln z + (C-z) ln(C-z) + kii (z-own)²/2 + y s (z-own)
"""

from __future__ import annotations

import math

from pegasos.engine.compiling import compiled

PERCEPTRON, HINGE, LOGISTIC, SDCA_HINGE, SDCA_LOGISTIC = range(5)

#: Rules whose answer for a sorted set of params is settled by the two ends: columns that decided alike may stay one column.
MERGEABLE = frozenset({HINGE, SDCA_HINGE})


@compiled
def sigmoid(z: float) -> float:
    """1/(1 + exp(-z)), without overflow."""
    if z >= 0.0:
        return 1.0 / (1.0 + math.exp(-z))
    e = math.exp(z)
    return e / (1.0 + e)


@compiled
def softplus(z: float) -> float:
    """ln(1 + exp(z)), without overflow."""
    return max(z, 0.0) + math.log1p(math.exp(-abs(z)))


@compiled
def logistic_dual_step(ys: float, own: float, kii: float, bound: float) -> float:
    """The minimizer z = C σ(θ) of the one-variable logistic dual: Newton on the logit θ, kept inside a bracket.

    h(θ) = θ + kii (C σ(θ) - own) + y s is increasing, with slope 1 + kii C σ(θ) σ(-θ) >= 1.
    """
    low = -ys - kii * (bound - own)
    high = -ys + kii * own
    theta = min(max(math.log(own) - math.log(bound - own), low), high) if 0.0 < own < bound else 0.5 * (low + high)
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
        if not low < new < high or abs(step) > 0.5 * last:  # Newton leaves the bracket, or does not halve it: bisect
            new = 0.5 * (low + high)
        last = abs(new - theta)
        theta = new
        if last <= 1e-15 * max(1.0, abs(theta)):
            break
    return bound * sigmoid(theta)


@compiled
def change(rule: int, s: float, y: float, own: float, kii: float, t: float, param: float, weight: float) -> float:
    """The change of A[i] that the rule answers."""
    ys = y * s
    if rule == HINGE:
        return y * weight if ys < param * t else 0.0
    if rule == LOGISTIC:
        return y * weight * sigmoid(-ys / (param * t))
    if rule == PERCEPTRON:
        return y * weight * param if ys <= 0.0 else 0.0
    bound = param * weight
    if rule == SDCA_LOGISTIC:
        return y * (logistic_dual_step(ys, own, kii, bound) - own) if bound > 0.0 else 0.0
    if kii > 0.0:
        return y * (min(max(own + (1.0 - ys) / kii, 0.0), bound) - own)
    return y * ((bound if ys < 1.0 else 0.0) - own)


@compiled
def loss(rule: int, s: float, y: float, t: float, param: float) -> float:
    """The loss of the drawn example under the predictor that the rule just tested."""
    ys = y * s
    if rule == PERCEPTRON:
        return max(0.0, -ys)
    if rule == HINGE or rule == LOGISTIC:
        ys /= param * t
    if rule == HINGE or rule == SDCA_HINGE:
        return max(0.0, 1.0 - ys)
    return softplus(-ys)
