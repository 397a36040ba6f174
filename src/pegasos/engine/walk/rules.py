"""Update rules: a learner reads the score of a drawn example and changes one coefficient.

s is the raw score of the example, y in ±1 its label, own = y·A[i] its own (dual) coefficient, kii
= K(x_i, x_i), t the step (from 1), ω the example's weight. A rule is a way to use a loss ℓ;
`param` is the column's one number:

    rule         param        change of A[i]
    PERCEPTRON   η            -y ω η ℓ'(y s)
    PEGASOS      λ k          -y ω ℓ'(y s/(λ k t))   (k examples per step; predictor A/(λ k T))
    SDCA         1/(λ Σω)     y (z - own),  z the best dual coefficient for C = param·ω

References
----------
Rosenblatt (1958), The perceptron.
Shalev-Shwartz, Singer, Srebro, Cotter (2011), Pegasos.
Shalev-Shwartz, Zhang (2013), Stochastic dual coordinate ascent methods for regularized loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pegasos.engine.runtime.compiling import compiled
from pegasos.engine.walk.losses import Loss, dual_step, slope, value

_PERCEPTRON, _PEGASOS, _SDCA = range(3)


@dataclass(frozen=True)
class Rule:
    """Code of a rule; `reads_own`: it needs its coefficients also for explicit features."""

    code: int
    reads_own: bool = False


PERCEPTRON, PEGASOS, SDCA = Rule(_PERCEPTRON), Rule(_PEGASOS), Rule(_SDCA, reads_own=True)


@dataclass(frozen=True)
class Method:
    """Rule, loss and options of a walk, equal for all columns.

    `constant` is the value of a constant feature (0: none), `batch` the examples per step.
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
    """Return the loss of the drawn example under the predictor that the rule tested."""
    return value(loss, y * s / (param * t) if rule == _PEGASOS else y * s)


@compiled
def tick(rule: int, scale: float, t: float) -> float:
    """Return what step t adds to the clock of averages."""
    return scale / t if rule == _PEGASOS else 1.0
