"""Newton-CG for the logistic loss, on kernels and on sparse features.

With the scores s of w let β_i = y_i C_i σ(-y_i s_i) and D_i = C_i σ(s_i) σ(-s_i). The gradient is
-r = w - Σ β_i x_i, and Newton's step δ solves (I + Σ D_i x_i x_iᵀ) δ = r. The gap of the pair (w,
y β) is exactly ‖r‖²/2. As far as F is quadratic, a residual ρ of conjugate gradients contributes
‖ρ‖²/2 to the next gap, which determines when to stop them.

Large C is reached in stages, each ten times the last. That takes fewer steps, and avoids
coefficients much larger than necessary, whose scores would lose their digits to rounding.

Predictors are either weights w of sparse features (`WeightSpace`) or combinations of rows w = Σ
c_i φ(x_i) (`KernelSpace`). Each space evaluates certificates and solves for Newton steps.

References
----------
Lin, Weng, Keerthi (2008), Trust region Newton method for large-scale logistic regression.
Dembo, Eisenstat, Steihaug (1982), Inexact Newton methods.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pegasos.engine.optimum.conjugate_gradients import (
    MOST_ITERATIONS,
    KernelSystem,
    KernelSystems,
    System,
    dots,
)
from pegasos.engine.optimum.kernel_operator import KernelOperator
from pegasos.engine.optimum.logistic_state import Point, State, dot
from pegasos.engine.optimum.problem import Intercept, Optimum, Target
from pegasos.engine.rows.features import SparseRows
from pegasos.engine.runtime.compiling import announced
from pegasos.engine.runtime.interruption import check_interruption, deadline_reached, tell_gap

Array = np.ndarray[Any, Any]

#: Steps without progress, each solved ten times more exactly than the last, before giving up.
PATIENCE = 3
#: Conjugate gradients stop at these shares of the model's decrease and of the gap asked for.
FORCING_TERM, GAP_SHARE = 0.05, 0.2
#: Largest C·K_ii of the first stage, ratio of C in successive stages, relative gap that ends one.
FIRST_STAGE, STAGE_FACTOR, STAGE_GAP = 10.0, 10.0, 0.5


class Step(NamedTuple):
    """Newton step: move of w, its scores, change of the intercept, and a dual candidate y·a."""

    move: Point
    scores: Array
    shift: float
    newton_dual: Array


def solve_logistic_iteratively(
    rows: Any,
    targets: list[Target],
    intercept: Intercept,
    tol: float,
    members: Array | None = None,
) -> list[Optimum]:
    """Return the optimum of each target to a relative gap of `tol`, as combinations of any rows.

    The rows' dtype or a deadline may leave a larger gap, which the optimum then states. All
    targets advance together: each product with K serves all of them.
    """
    if not targets:
        return []
    operator = KernelOperator(rows, members, 1.0 if intercept is Intercept.AUGMENTED else 0.0)
    space = KernelSpace(operator, len(targets))
    free = intercept is Intercept.FREE
    states = [State(k, target, free, space.size) for k, target in enumerate(targets)]
    with announced("newton-float64"):
        _solve_in_stages(space, [state for state in states if not state.is_trivial], tol)
    c = np.stack([state.best.vector for state in states])
    bias = c.sum(axis=1) if intercept is Intercept.AUGMENTED else [s.best.bias for s in states]
    vectors = operator.vectors(c)
    found = zip(states, vectors, bias, strict=True)
    return [state.to_optimum(v, float(b)) for state, v, b in found]


def solve_logistic_sparsely(
    X: Any, targets: list[Target], intercept: Intercept, tol: float, members: Array | None = None
) -> list[Optimum]:
    """Return the weights of each target on CSR rows, to a relative gap of `tol` if possible.

    A free intercept is not supported. No epochs of coordinate ascent come first: an epoch takes
    the time of ten to twenty products, and products use all cores.
    """
    space = WeightSpace(X if members is None else X[members], intercept is Intercept.AUGMENTED)
    found = []
    with announced("sparse-newton"):
        for target in targets:
            state = State(0, target, False, space.size)
            _solve_in_stages(space, [state], tol)
            w = state.best.vector
            found.append(state.to_optimum(w[: space.width].copy(), float(w[space.width :].sum())))
    return found


class KernelSpace:
    """Predictors w = Σ c_i φ(x_i): points are c with the scores K c."""

    most_steps = 200

    def __init__(self, operator: KernelOperator, targets: int) -> None:
        self._operator, self.size = operator, operator.m
        self._systems = KernelSystems(operator, targets)

    @property
    def largest_diagonal(self) -> float:
        """The largest K_ii."""
        return float(self._operator.diagonal.max(initial=0.0))

    def certify(self, states: list[State]) -> list[bool]:
        """Compute exact certificates in one product; tell which states have improved."""
        columns = [c for state in states for c in (state.point.vector, state.beta, state.clipped)]
        scores = self._operator.scores(np.stack(columns), exact=True).reshape(len(states), 3, -1)
        return [
            state.certify(own[0], Point(state.beta, own[1]), Point(state.clipped, own[2]), own[0])
            for state, own in zip(states, scores, strict=True)
        ]

    def steps(self, states: list[State], gaps: Array, forcing: Array) -> list[Step]:
        """Solve the systems of all states side by side."""
        roots = np.sqrt(np.stack([state.curvature for state in states]))
        descent = np.stack([state.descent.vector for state in states])
        images = np.stack([state.descent.image for state in states])
        system = KernelSystem(self._operator, roots, descent, images, gaps, forcing, states[0].free)
        self._systems.solve(system)
        return [
            Step(Point(step, scores), scores, float(shift), state.point.vector + step)
            for state, step, scores, shift in zip(
                states, *system.steps(np.arange(len(states))), strict=True
            )
        ]

    def scores(self, point: Point) -> Array:
        """Return the scores of all rows at a point."""
        return point.image


class WeightSpace:
    """Weights of sparse features, with that of a constant feature last; points are (w, w).

    The matrix Σ D_i x_i x_iᵀ is never formed: an iteration takes a product with X and one with
    its transpose.
    """

    most_steps = 60

    def __init__(self, X: Any, constant: bool) -> None:
        self._rows, self._constant = SparseRows(X), constant
        self.count, self.width = X.shape
        self.size = self.width + constant

    @property
    def largest_diagonal(self) -> float:
        """The largest squared length of a row."""
        return float(self._rows.diagonal.max(initial=0.0)) + self._constant

    def certify(self, states: list[State]) -> list[bool]:
        """Compute exact scores and certificates; tell which states have improved."""
        improved = []
        for state in states:
            w = state.point.vector
            beta, clipped = self.combined(state.beta), self.combined(state.clipped)
            given = Point(beta, beta), Point(clipped, clipped)
            improved.append(state.certify(w, *given, self.scores(state.point)))
        return improved

    def steps(self, states: list[State], gaps: Array, forcing: Array) -> list[Step]:
        """Solve the system of each state, with a power of its diagonal as the preconditioner."""
        found = []
        for k, state in enumerate(states):
            system = _WeightSystem(self, state, gaps[k : k + 1], forcing[k : k + 1])
            # The diagonal itself suits word counts, but slows down convergence where columns are
            # correlated, such as a constant feature beside rows of length one. Measured: powers of
            # 1/2 to 4/5 suit both.
            inverse = (1.0 + self.squares(state.curvature)) ** (-2.0 / 3.0)
            system.iterate(np.arange(1), partial(_scaled, inverse), MOST_ITERATIONS)
            move, scores = system.solution[0], system.scores[0]
            newton_dual = state.beta - state.curvature * scores
            found.append(Step(Point(move, move), scores, 0.0, newton_dual))
        return found

    def scores(self, point: Point) -> Array:
        """Return the scores of all rows at a point."""
        check_interruption()
        w = point.vector
        scores = self._rows.scores_of(w[None, : self.width])[0]
        return np.asarray(scores + w[-1] if self._constant else scores)

    def combined(self, coefficients: Array) -> Array:
        """Return Σ c_i x_i."""
        total = [coefficients.sum()] * self._constant
        return np.append(self._rows.weights_of(coefficients[None])[0], total)

    def squares(self, weights: Array) -> Array:
        """Return Σ weights_i x_i², feature by feature."""
        sums = np.zeros(self.size)
        for rows, X in self._rows.parts:
            sums[: self.width] += X.power(2).T @ weights[rows]
        sums[self.width :] = weights.sum()
        return sums


def _scaled(inverse: Array, columns: Array, numbers: Array) -> Array:
    return inverse * columns


class _WeightSystem(System):
    """The system (I + Σ D_i x_i x_iᵀ) δ = r of a Newton step."""

    def __init__(self, space: WeightSpace, state: State, gaps: Array, forcing: Array) -> None:
        self._space, self._curvature = space, state.curvature
        self._right = state.descent.vector[None]
        super().__init__(self._right.copy(), space.count, gaps, forcing)

    def product(self, direction: Array, numbers: Array) -> tuple[Array, Array]:
        scores = self._space.scores(Point(direction[0], direction[0]))
        return scores[None], direction + self._space.combined(self._curvature * scores)

    def decrease(self, numbers: Array) -> Array:
        return 0.5 * dots(self.solution, self.residual + self._right)


Space = KernelSpace | WeightSpace


def _solve_in_stages(space: Space, active: list[State], tol: float) -> None:
    """Take Newton steps from zero, increasing C in stages, until all have converged or stalled."""
    for state in active:
        steepest = space.largest_diagonal * float(state.all_bounds.max(initial=0.0))
        state.restart(FIRST_STAGE / steepest if 0 < steepest < math.inf else 1.0)
    for step in range(space.most_steps + 1):
        last = step == space.most_steps or deadline_reached()
        for state in active:
            if last and state.share < 1.0:
                state.enter_stage(1.0)
        active = _certify(space, active, tol, step)
        if not active or last:
            return
        tell_gap(max(state.relative for state in active), tol)
        _take_step(space, active, tol)


def _certify(space: Space, states: list[State], tol: float, step: int) -> list[State]:
    """Certify all states, start the next stage where one ends; return the unconverged states."""
    if not states:
        return []
    for state in states:
        state.update_derivatives()
    unconverged, changed = [], []
    for state, improved in zip(states, space.certify(states), strict=True):
        state.rounds = step
        state.stalled = 0 if improved else state.stalled + 1
        ends_stage = state.relative <= max(STAGE_GAP, tol) or state.stalled >= PATIENCE
        if state.share < 1.0 and ends_stage:
            state.enter_stage(STAGE_FACTOR * state.share)
            changed.append(state)
        elif state.share < 1.0 or (state.relative > tol and state.stalled < PATIENCE):
            unconverged.append(state)
    return unconverged + _certify(space, changed, tol, step)


def _take_step(space: Space, states: list[State], tol: float) -> None:
    """Take a Newton step, with line search, for each state."""
    exactness = np.array([0.1**state.stalled for state in states])
    wanted = [(tol if state.share == 1.0 else STAGE_GAP) * state.best.primal for state in states]
    gaps = GAP_SHARE * exactness * np.array(wanted)
    for state, step in zip(
        states, space.steps(states, gaps, FORCING_TERM * exactness), strict=True
    ):
        move, scores, shift, state.newton_dual = step
        # Rounding has spoiled the step: use the negative gradient.
        if not dot(state.descent.vector, move.image) > 0:
            move, scores, shift = state.descent, space.scores(state.descent), 0.0
        curvature = max(0.0, dot(move.vector, move.image))
        t = state.line_search(scores + shift, dot(state.point.vector, move.image), curvature)
        state.point = Point(
            state.point.vector + t * move.vector, state.point.image + t * move.image
        )
        state.scores = state.scores + t * scores
        state.bias += t * shift
