"""Interface between problems and exact solvers.

With C_i = ω_i/(λ Σω) the problem is, in units of λ: minimize F(w, b) = ‖w‖²/2 [+ b²/2] + Σ C_i ℓ(y_i (w·x_i + b)). Its dual:
maximize G(a) = Σ d(a_i, C_i) - ‖Σ a_i y_i x_i‖²/2 [- (Σ a_i y_i)²/2] over 0 <= a_i <= u(C_i). The terms in brackets are there for
an intercept that is a constant feature; a free one has neither of them, and asks for Σ a_i y_i = 0 instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pegasos.engine.rows.sources import Rows
from pegasos.engine.walk.losses import Loss

Array = np.ndarray[Any, Any]
#: Primal and dual objective after each round.
Course = tuple[tuple[float, float], ...]


class Intercept(Enum):
    """Kind of intercept: none, the weight of a constant feature (regularized), or free (not regularized)."""

    NONE = "none"
    AUGMENTED = "augment"
    FREE = "free"


@dataclass(frozen=True)
class Held:
    """Rows of the hinge loss that are held at a_i = C_i and whose loss is taken as C_i (1 - m_i), whatever their margin m_i.

    vector  Σ C_i y_i x_i, with Σ C_i y_i last if there is a constant feature;  total  Σ C_i
    scale   F at a known point: gaps are shares of it, as what is left of F here may be less than nothing
    """

    vector: Array
    total: float
    scale: float


@dataclass(frozen=True)
class Target:
    """One predictor to be solved: labels ±1 and C_i of the m training rows (float64; C_i = 0: the row is ignored).

    held  other rows that are decided already (for methods that take them; not with a free intercept)
    """

    labels: Array
    bounds: Array
    held: Held | None = None
    unit: ClassVar[float] = 1.0

    @cached_property
    def sides(self) -> tuple[float, float]:
        """Σ C_i of the rows with label 1 and of those with label -1."""
        return tuple(float(self.bounds[self.labels == label].sum()) for label in (1.0, -1.0))  # type: ignore[return-value]

    @cached_property
    def rows(self) -> int:
        """The number of rows with C_i > 0."""
        return int(np.count_nonzero(self.bounds > 0.0))

    def of(self, own: tuple[Array, ...]) -> tuple[Array, Array]:
        """Return the labels and bounds of the rows whose numbers are `own[0]`."""
        return self.labels[own[0]], self.bounds[own[0]]


@dataclass(frozen=True)
class Optimum:
    """A predictor and its certificate.

    vector  w (explicit features), or coefficients c with w = Σ c_i φ(x_i) over the m training rows (kernels); float64
    bias    b, 0 without an intercept
    dual    a, feasible: inside its box, and Σ a_i y_i = 0 for a free intercept
    primal  F(w, b), exact for this very vector and bias;  bound  G(a) <= min F, exact for this very a
    rounds  iterations of the method
    course  F and G after each of them, as the method saw them on its way
    scores  those of all rows that the method was given, where it has them anyway
    method  the name of the method that succeeded
    """

    vector: Array
    bias: float
    dual: Array
    primal: float
    bound: float
    rounds: int
    course: Course = ()
    scores: Array | None = None
    method: str = ""

    @property
    def relative(self) -> float:
        """(F - G)/F, 0 where F is 0."""
        return (self.primal - self.bound) / self.primal if self.primal > 0 else 0.0


class Problem:
    """Rows, loss and intercept that several targets share, as the choice of a method reads them.

    Parameters
    ----------
    rows : row source, explicit features or a kernel.
    members : the training rows; None means all.
    memory : bytes that a solver may use.
    """

    def __init__(
        self,
        rows: Rows,
        loss: Loss,
        intercept: Intercept,
        tol: float,
        members: Array | None,
        memory: int,
    ) -> None:
        self.rows, self.loss, self.intercept, self.tol = rows, loss, intercept, tol
        self.members, self.memory = members, memory
        self.m = rows.count if members is None else len(members)

    @property
    def is_explicit(self) -> bool:
        """Whether rows are explicit features."""
        return not self.rows.dual

    @property
    def is_sparse(self) -> bool:
        """Whether rows are CSR features."""
        return self.rows.is_sparse

    @property
    def is_mapped(self) -> bool:
        """Whether features are computed from a kernel in every pass."""
        return self.rows.is_mapped

    def mean_cost(self, target: Target) -> float:
        """Return the mean of C_i K_ii, which tells how fast coordinate ascent converges."""
        diagonal = self.rows.diagonal
        own = diagonal if self.members is None else diagonal[self.members]
        constant = 1.0 if self.intercept is Intercept.AUGMENTED else 0.0
        return float(target.bounds @ (own + constant)) / self.m
