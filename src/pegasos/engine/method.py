"""What is walked: a rule and its options."""

from __future__ import annotations

from dataclasses import dataclass

from pegasos.engine.rules import MERGEABLE, SDCA_HINGE, SDCA_LOGISTIC


@dataclass(frozen=True)
class Method:
    """What is walked: the rule and its options, the same for all columns.

    `constant` is the value of a constant feature (0: none), `batch` the examples a step.
    """

    rule: int
    batch: int = 1
    constant: float = 0.0
    projecting: bool = False
    averaging: bool = False
    tracking: bool = False

    @property
    def keeps_coefficients(self) -> bool:
        """Whether the rule reads its own dual coefficient."""
        return self.rule in (SDCA_HINGE, SDCA_LOGISTIC)

    @property
    def merges(self) -> bool:
        """Whether columns that have decided alike can be one column."""
        return self.rule in MERGEABLE and not self.projecting and not self.tracking
