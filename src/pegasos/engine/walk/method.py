"""What is walked: a rule with its loss and its options."""

from __future__ import annotations

from dataclasses import dataclass

from pegasos.engine.walk.losses import Loss
from pegasos.engine.walk.rules import Rule


@dataclass(frozen=True)
class Method:
    """What is walked: the rule, its loss and its options, the same for all columns.

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
