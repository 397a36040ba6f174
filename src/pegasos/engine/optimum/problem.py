"""Interface between problems and exact solvers.

With C_i = ω_i/(λ Σω) the problem is, in units of λ: minimize F(w, b) = ‖w‖²/2 [+ b²/2] + Σ C_i
ℓ(y_i (w·x_i + b)). Its dual: maximize G(a) = Σ d(a_i, C_i) - ‖Σ a_i y_i x_i‖²/2 [- (Σ a_i
y_i)²/2] over 0 <= a_i <= u(C_i). The terms in brackets are there for an intercept that is a
constant feature; a free one has neither of them, and requires Σ a_i y_i = 0 instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pegasos.engine.runtime.compiling import announced, compiled
from pegasos.engine.walk.losses import Loss, dual_term, value

if TYPE_CHECKING:  # predictions need certificates and no rows
    from pegasos.engine.rows.sources import Rows

Array = np.ndarray[Any, Any]
#: Primal and dual objective after each round.
History = tuple[tuple[float, float], ...]


class Intercept(Enum):
    """Kind of intercept: none, weight of a constant feature (regularized), or free."""

    NONE = "none"
    AUGMENTED = "augment"
    FREE = "free"


@dataclass(frozen=True)
class FixedRows:
    """Rows of the hinge loss fixed at a_i = C_i; their loss is C_i (1 - m_i) at any margin.

    Parameters
    ----------
    vector : Σ C_i y_i x_i, with Σ C_i y_i last if there is a constant feature.
    total : Σ C_i.
    scale : F at a known point, the denominator of relative gaps: F without these rows may be < 0.
    """

    vector: Array
    total: float
    scale: float


@dataclass(frozen=True)
class Target:
    """One predictor to be solved: labels ±1 and C_i of the m training rows (0: the row is ignored).

    `fixed` summarizes further rows, fixed at C_i (not with a free intercept).
    """

    labels: Array
    bounds: Array
    fixed: FixedRows | None = None
    unit: ClassVar[float] = 1.0

    @cached_property
    def label_weights(self) -> tuple[float, float]:
        """Σ C_i of the rows with label 1 and of those with label -1."""
        return float(self.bounds @ (self.labels > 0.0)), float(self.bounds @ (self.labels < 0.0))

    @cached_property
    def rows(self) -> int:
        """The number of rows with C_i > 0."""
        return int(np.count_nonzero(self.bounds > 0.0))

    def labels_and_bounds(self, own: tuple[Array, ...]) -> tuple[Array, Array]:
        """Return the labels and C_i of a block's rows, whose numbers are `own[0]`."""
        return self.labels[own[0]], self.bounds[own[0]]


@dataclass(frozen=True)
class Optimum:
    """A predictor and its certificate.

    Parameters
    ----------
    vector : w (explicit features), or coefficients c with w = Σ c_i φ(x_i) (kernels), in float64.
    bias : b, 0 without an intercept.
    dual : a, inside its box, with Σ a_i y_i = 0 for a free intercept.
    primal, bound : F(w, b) of this vector and bias, and G(a) <= min F, both exact.
    rounds : iterations of the method.
    history : F and G after each iteration, as the method computed them.
    scores : scores of all rows that the method was given, where it has them.
    method : the name of the method that succeeded.
    """

    vector: Array
    bias: float
    dual: Array
    primal: float
    bound: float
    rounds: int
    history: History = ()
    scores: Array | None = None
    method: str = ""

    @property
    def relative(self) -> float:
        """The relative gap (F - G)/F, 0 where F is 0."""
        return (self.primal - self.bound) / self.primal if self.primal > 0 else 0.0


class Problem:
    """Rows, loss, intercept and tolerance that several targets share.

    Parameters
    ----------
    rows : row source, explicit features or a kernel.
    members : the training rows; None means all.
    memory : bytes that a solver may use.
    needs_dual : whether a later fit starts from the dual coefficients.
    """

    def __init__(
        self,
        rows: Rows,
        loss: Loss,
        intercept: Intercept,
        tol: float,
        members: Array | None,
        memory: int,
        needs_dual: bool = True,
    ) -> None:
        self.rows, self.loss, self.intercept, self.tol = rows, loss, intercept, tol
        self.members, self.memory, self.needs_dual = members, memory, needs_dual
        self.m = rows.count if members is None else len(members)

    @property
    def is_explicit(self) -> bool:
        """Whether rows are explicit features."""
        return not self.rows.dual

    def mean_cost(self, target: Target) -> float:
        """Return the mean of C_i K_ii, which tells how fast coordinate ascent converges."""
        diagonal = self.rows.diagonal
        own = diagonal if self.members is None else diagonal[self.members]
        constant = 1.0 if self.intercept is Intercept.AUGMENTED else 0.0
        return float(target.bounds @ (own + constant)) / self.m


@dataclass(frozen=True)
class Certificate:
    """P(w) and D(a) <= min P of each column, so that P(w) - min P <= gap = P(w) - D(a)."""

    primal: Array
    dual: Array

    @property
    def gap(self) -> Array:
        """P - D."""
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

    w = Σ coefficients·x has these scores. Predictor k is column columns[k] of scores (plus
    bias[column]) and of coefficients; signs and weights belong to the training rows `rows`. By
    default predictor k is column k, without a bias, on all rows.
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

    For D, coefficients are clipped to their box: in float32 rounding may move them out of it.
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
            a = min(max(y * own, 0.0), bound)
            length += own * score
            dual_length += a * y * score
            cost += weights[r] * value(loss, y * score)
            terms += dual_term(loss, a, bound)
        primal[k] = 0.5 * lam * length + cost / total
        dual[k] = lam * (terms - 0.5 * dual_length)


def bisections(tol: float) -> int:
    """Return the number of bisections in `rescale` that a relative gap of tol needs."""
    return max(6, 6 + math.ceil(-math.log2(tol)))


@partial(compiled, any_order=True)
def rescale(
    labels: Array, bounds: Array, scores: Array, bias: float, squared: float, times: int
) -> tuple[float, float]:
    """Return the t that minimizes F(t (w, b)) after `times` bisections, and that minimum.

    Where nearly all margins are almost 1 and C is large, a slightly longer w has no loss. The
    slope t ‖w‖² - Σ C_i u_i over t u_i < 1, where u_i = y_i (w·x_i + b), increases with t.
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


#: Points of a history, evenly spaced in log(iteration); a chart shows no more.
MOST_POINTS = 40


def summarize_histories(histories: Sequence[Array], primal: Array, dual: Array) -> Array:
    """Return iteration, mean objective and mean bound (points x 3) of several predictors.

    Each history has P and D after each step (steps x 2). Converged predictors keep their last
    values while others continue. All end with the certified `primal` and `dual`.

    >>> summarize_histories(
    ...     [np.array([[1.0, 0.0], [0.5, 0.4]]), np.array([[1.0, 0.2]])],
    ...     np.array([0.5, 0.4]),
    ...     np.array([0.45, 0.4]),
    ... )
    array([[1.   , 0.7  , 0.2  ],
           [2.   , 0.45 , 0.425]])
    """
    sums = np.zeros((max(1, *map(len, histories)), 2))
    for history, end in zip(histories, np.column_stack([primal, dual]), strict=True):
        sums[: max(0, len(history) - 1)] += history[:-1]
        sums[max(0, len(history) - 1) :] += end
    numbered = np.column_stack([np.arange(1.0, len(sums) + 1), sums / len(histories)])
    numbered = numbered[np.isfinite(numbered).all(axis=1)]
    return numbered[_places(len(numbered))]


@cache
def _places(count: int) -> Array:
    """Return the indices of the points that are kept out of `count`."""
    return (np.unique(np.geomspace(1, max(count, 1), MOST_POINTS).round().astype(int)) - 1)[:count]


def empty_history() -> Array:
    """Return the convergence history of a fit that recorded none, or has no bound."""
    return np.empty((0, 3))
