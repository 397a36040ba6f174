"""The rules: at one drawn example a learner reads a score and answers one change of one coefficient.

s is the raw score of the example, y in ±1 its label, own = y·A[i] its own (dual) coefficient, kii =
K(x_i, x_i), t the step (from 1), ω the example's weight. A rule is a way to use a loss ℓ; `param`
is the column's one number:

    rule         param        change of A[i]
    PERCEPTRON   η            -y ω η ℓ'(y s)
    PEGASOS      λ k          -y ω ℓ'(y s/(λ k t))       (k examples a step; the predictor is A/(λ k T))
    SDCA         1/(λ Σω)     y (z - own),  z the best dual coefficient for C = param·ω, all others as they are
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pegasos.engine.runtime.compiling import compiled
from pegasos.engine.walk.losses import Loss, dual_step, slope, value

_PERCEPTRON, _PEGASOS, _SDCA = range(3)


@dataclass(frozen=True)
class Rule:
    """`reads_own`: the rule reads its own coefficient, which is therefore kept, also where features are explicit."""

    code: int
    reads_own: bool = False


PERCEPTRON, PEGASOS, SDCA = Rule(_PERCEPTRON), Rule(_PEGASOS), Rule(_SDCA, reads_own=True)


@dataclass(frozen=True)
class Method:
    """Rule, loss and options of a walk, equal for all columns.

    `constant` is the value of a constant feature (0: none), `batch` the examples a step.
    """

    rule: Rule
    loss: Loss
    batch: int = 1
    constant: float = 0.0
    projecting: bool = False
    averaging: bool = False
    tracking: bool = False

    @property
    def merges(self) -> bool:
        """Whether columns that have decided alike can be one column."""
        return self.loss.mergeable and not self.projecting and not self.tracking


@compiled
def change(
    rule: int,
    loss: int,
    s: float,
    y: float,
    own: float,
    kii: float,
    t: float,
    param: float,
    weight: float,
    dual: Any,
) -> float:
    """Return the rule's change of A[i]; `dual` is None unless the rule is SDCA.

    Where it is None the dual steps are not compiled.
    """
    ys = y * s
    if dual is not None:
        return y * (dual_step(loss, ys, own, kii, param * weight) - own)
    if rule == _PEGASOS:
        return y * weight * -slope(loss, ys, param * t)
    if rule == _PERCEPTRON:
        return y * weight * param * -slope(loss, ys, 1.0)
    raise ValueError("no formula for this rule")


@compiled
def drawn_loss(rule: int, loss: int, s: float, y: float, t: float, param: float) -> float:
    """The loss of the drawn example under the predictor that the rule just tested."""
    return value(loss, y * s / (param * t) if rule == _PEGASOS else y * s)


@compiled
def tick(rule: int, scale: float, t: float) -> float:
    """What step t adds to the clock of averages: Pegasos' predictor is the raw vector times scale/t, but for a factor."""
    return scale / t if rule == _PEGASOS else 1.0
