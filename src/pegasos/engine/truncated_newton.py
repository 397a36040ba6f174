"""Newton's method for the logistic loss, its steps by preconditioned conjugate gradients: any rows, any C.

The predictor is w = Σ c_i φ(x_i) with scores s = K c (+ b). With β_i = y_i C_i σ(-y_i s_i), D_i = C_i σ(s_i) σ(-s_i) the gradient is
w - Σ β_i φ(x_i), so that with r = β - c Newton's step δ solves (I + D K) δ = r. It is had from a symmetric system:

    δ = r - W v,   (I + W K W) v = W K r,   W = D½

K r is known from the certificate (a = y β is the dual candidate), and where conjugate gradients leave the residual ρ, the model
of F is within ‖ρ‖²/2 of its minimum, and so will be the next duality gap (as far as F is quadratic): that is when to stop them.
A free intercept stands at its best at any time, which makes Σ β_i = 0, and is projected out of the system.

All predictors go in step: one product with K for all of them. (Keerthi and others, 2005; Lin, Weng and Keerthi, 2008.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pegasos.engine.compiling import announced, compiled
from pegasos.engine.conjugate_gradients import System, Systems, systems_bytes
from pegasos.engine.function_space import FunctionSpace
from pegasos.engine.losses import LOSSES, dual_term, sigmoid, value
from pegasos.engine.optimum import Intercept, Optimum, Target

Array = np.ndarray[Any, Any]

#: Newton steps at most, and steps without progress (each solved more exactly than the last) after which a target rests.
MOST_STEPS = 200
PATIENCE = 3
LEAST_PROGRESS = 1e-3
#: Part of the model's decrease that conjugate gradients may leave, and part of the gap asked for.
LEFT_OF_MODEL = 0.05
LEFT_OF_GAP = 0.2
#: A line search ends where the slope has fallen to this part.
SLOPE_LEFT = 0.1
#: The intercept, in units of which F no longer changes, where all rows are of one class.
FAR = 800.0
FIRST_STAGE = 10.0
STAGE_GAP = 0.5
STAGE_FACTOR = 10.0

_LOGISTIC = LOSSES["logistic"].code


def solve_logistic_iteratively(
    rows: Any,
    targets: list[Target],
    intercept: Intercept,
    tol: float,
    members: Array | None = None,
    start: Array | None = None,
) -> list[Optimum]:
    """The optimum of each target to a relative gap of `tol`, or the best pair that the rows' dtype allows.

    start  targets x m dual coefficients y·a from which to go, None: zero
    """
    if not targets:
        return []
    space = FunctionSpace(rows, members, 1.0 if intercept is Intercept.AUGMENTED else 0.0)
    states = [_State.make(k, target, intercept is Intercept.FREE) for k, target in enumerate(targets)]
    systems = Systems(space, len(targets))
    with announced("newton-float64"):
        if start is not None:
            _begin(space, states, np.asarray(start, dtype=np.float64))
        active = [state for state in states if not state.trivial]
        largest = float(space.diagonal.max())
        for state in active:
            if start is None:
                state.enter(FIRST_STAGE / (largest * float(state.bounds.max())))
        for step in range(MOST_STEPS + 1):
            active = _look(space, active, tol, step)
            if not active or step == MOST_STEPS:
                break
            _move(systems, active, tol)
    vectors = space.vectors(np.stack([state.best.coefficients for state in states]))
    return [state.answer(vector, intercept) for state, vector in zip(states, vectors, strict=True)]


def workspace_bytes(m: int, count: int, width: int, targets: int, itemsize: int = 8) -> int:
    """An upper estimate of all arrays, X and K excluded: m of `count` rows, of `width` features (kernels: 0)."""
    state = targets * m * 8 * 26
    products = 2 * targets * (count * (itemsize + 16) + 6 * width * itemsize)
    return state + products + systems_bytes(m, targets)


@dataclass
class _Pair:
    """The best predictor and the best bound that were seen."""

    coefficients: Array
    bias: float
    primal: float
    dual: Array
    bound: float


@dataclass
class _State:
    """A target on its way: c, its scores K c, b; r = β - c with K r; the curvature D."""

    number: int
    labels: Array
    bounds: Array
    free: bool
    coefficients: Array
    scores: Array
    best: _Pair
    all_bounds: Array
    share: float = 1.0
    bias: float = 0.0
    rounds: int = 0
    stalled: int = 0
    primal: float = math.inf
    clipped: Array = field(default_factory=lambda: np.empty(0))
    whole_step: Array = field(default_factory=lambda: np.empty(0))
    push: Array = field(default_factory=lambda: np.empty(0))
    rest: Array = field(default_factory=lambda: np.empty(0))
    rest_scores: Array = field(default_factory=lambda: np.empty(0))
    curvature: Array = field(default_factory=lambda: np.empty(0))

    @classmethod
    def make(cls, number: int, target: Target, free: bool) -> _State:
        labels = np.ascontiguousarray(target.labels, dtype=np.float64)
        bounds = np.ascontiguousarray(target.bounds, dtype=np.float64)
        zero = np.zeros(len(labels))
        at_zero = float(bounds.sum()) * math.log(2.0)
        state = cls(number, labels, bounds, free, zero, zero.copy(), _Pair(zero, 0.0, at_zero, zero, 0.0), bounds)
        if free:
            seen = labels[bounds > 0]
            if len(seen) and (seen == seen[0]).all():  # no minimum: F falls to 0 as b grows
                state.best = _Pair(zero, FAR * float(seen[0]), 0.0, zero, 0.0)
        return state

    @property
    def trivial(self) -> bool:
        return self.best.primal <= 0.0

    @property
    def relative(self) -> float:
        return (self.best.primal - self.best.bound) / self.best.primal

    def answer(self, vector: Array, intercept: Intercept) -> Optimum:
        best = self.best
        bias = float(best.coefficients.sum()) if intercept is Intercept.AUGMENTED else best.bias
        return Optimum(vector, bias, best.dual, best.primal, best.bound, self.rounds)

    def __post_init__(self) -> None:
        self.whole_step = self.coefficients

    def enter(self, share: float) -> None:
        """Go on with this part of the bounds."""
        self.share = min(1.0, share) if share < 0.99 else 1.0
        self.bounds = self.share * self.all_bounds
        zero = np.zeros(len(self.labels))
        self.best, self.stalled = _Pair(zero, 0.0, float(self.bounds.sum()) * math.log(2.0), zero, 0.0), 0

    def settle(self) -> None:
        """The best free intercept for these scores, β and D."""
        if self.free:
            self.bias = _best_bias(self.labels, self.bounds, self.scores, self.bias)
        self.push, self.curvature = np.empty_like(self.scores), np.empty_like(self.scores)
        _derivatives(self.labels, self.bounds, self.scores, self.bias, self.push, self.curvature)
        self.clipped = self.labels * np.clip(self.labels * self.whole_step, 0.0, self.bounds)
        if self.free:
            _balance(self.push)
            _balance(self.clipped)

    def note(self, scores: Array, push_scores: Array, clipped_scores: Array) -> bool:
        """Keep what is better than before by these exact scores of c, β and c in its box; whether anything is."""
        self.scores = scores
        self.primal = 0.5 * _dot(self.coefficients, scores) + _loss(self.labels, self.bounds, scores, self.bias)
        self.rest, self.rest_scores = self.push - self.coefficients, push_scores - self.scores
        best, before = self.best, self.best.primal - self.best.bound
        if self.primal <= best.primal:
            best.coefficients, best.bias, best.primal = self.coefficients, self.bias, self.primal
        dual, bound = self._best_dual(push_scores, clipped_scores)
        if bound > best.bound:
            best.dual, best.bound = dual, bound
        return best.primal - best.bound < before * (1.0 - LEAST_PROGRESS)

    def _best_dual(self, push_scores: Array, clipped_scores: Array) -> tuple[Array, float]:
        """The best bound on the way from β to c.

        The gap is about (1-τ)² rᵀKr/2 + τ² rᵀD⁻¹r/2 at β - τ r: where K is large, c is much the better one.
        """
        found: list[tuple[float, Array]] = []

        def gap_at(tau: float) -> float:
            coefficients = (1.0 - tau) * self.push + tau * self.clipped
            scores = (1.0 - tau) * push_scores + tau * clipped_scores
            dual = self.labels * coefficients
            found.append((_dual_terms(self.bounds, dual) - 0.5 * _dot(coefficients, scores), dual))
            return self.primal - found[-1][0]

        at_push, at_clipped = gap_at(0.0), gap_at(1.0)
        if at_push > 0 and at_clipped > 0:
            gap_at(at_push / (at_push + at_clipped))
        bound, dual = max(found, key=lambda pair: pair[0] if pair[0] == pair[0] else -math.inf)
        return dual, bound


def _begin(space: FunctionSpace, states: list[_State], start: Array) -> None:
    """Go from zero towards `start` as far as that is good."""
    directions = np.array(start)
    for state, direction in zip(states, directions, strict=True):
        direction[~np.isfinite(direction) | (state.bounds == 0)] = 0.0
        if state.free:
            _balance(direction)
    for state, direction, scores in zip(states, directions, space.scores(directions), strict=True):
        length = _dot(direction, scores)
        if state.trivial or not 0 < length < math.inf:
            continue
        if state.free:
            state.bias = _best_bias(state.labels, state.bounds, state.scores, state.bias)
        t = _line_search(state, scores, 0.0, length)
        state.coefficients, state.scores, state.whole_step = t * direction, t * scores, direction


def _look(space: FunctionSpace, states: list[_State], tol: float, step: int) -> list[_State]:
    """Exact scores and certificates of all, in one product; those that go on."""
    for state in states:
        state.settle()
    going: list[_State] = []
    if not states:
        return going
    columns = [(state.coefficients, state.push, state.clipped) for state in states]
    scores = space.scores(np.stack([column for three in columns for column in three]), exact=True)
    changed = []
    for state, three in zip(states, scores.reshape(len(states), 3, -1), strict=True):
        state.rounds = step
        state.stalled = 0 if state.note(*three) else state.stalled + 1
        if state.share < 1.0:
            if state.relative <= max(STAGE_GAP, tol) or state.stalled >= PATIENCE:
                state.enter(STAGE_FACTOR * state.share)
                changed.append(state)
            else:
                going.append(state)
        elif state.relative > tol and state.stalled < PATIENCE:
            going.append(state)
    return going + _look(space, changed, tol, step)


def _move(systems: Systems, states: list[_State], tol: float) -> None:
    """One Newton step of all."""
    exactness = np.array([0.1**state.stalled for state in states])
    gaps = LEFT_OF_GAP * tol * exactness * np.array([state.best.primal for state in states])
    system = System(
        np.sqrt(np.stack([state.curvature for state in states])),
        np.stack([state.rest for state in states]),
        np.stack([state.rest_scores for state in states]),
        gaps,
        LEFT_OF_MODEL * exactness,
        states[0].free,
    )
    systems.solve(system, np.array([state.number for state in states]))
    for state, step, scores, shift in zip(states, *system.steps(np.arange(len(states))), strict=True):
        if not _dot(state.rest, scores) > 0:  # no way down, by rounding: the gradient is one
            step, scores, shift = state.rest, state.rest_scores, 0.0
        t = _line_search(state, scores + shift, _dot(state.coefficients, scores), max(0.0, _dot(step, scores)))
        state.whole_step = state.coefficients + step
        state.coefficients = state.coefficients + t * step
        state.scores = state.scores + t * scores
        state.bias += t * float(shift)


def _line_search(state: _State, direction: Array, slope: float, curvature: float) -> float:
    """About the best t >= 0 along scores; slope + t·curvature is the derivative of ‖w‖²/2."""
    scores = state.scores + state.bias
    out = np.empty(2)

    def derivative(t: float) -> tuple[float, float]:
        _along(state.labels, state.bounds, scores, direction, t, out)
        return slope + t * curvature + out[0], curvature + out[1]

    first = derivative(0.0)[0]
    if not first < 0:
        return 0.0
    low, high, t = 0.0, math.inf, 1.0
    for _ in range(60):
        height, bend = derivative(t)
        if abs(height) <= SLOPE_LEFT * -first:
            return t
        low, high = (t, high) if height < 0 else (low, t)
        new = t - height / bend if bend > 0 else math.inf
        if high == math.inf:
            t = min(max(new, 1.5 * t), 8.0 * t)
        elif low < new < high:
            t = min(max(new, low + 0.05 * (high - low)), high - 0.05 * (high - low))
        else:
            t = 0.5 * (low + high)
    return low


def _balance(coefficients: Array) -> None:
    """Shorten the heavier side so that the sum is 0, in place."""
    up, down = float(np.maximum(coefficients, 0.0).sum()), float(-np.minimum(coefficients, 0.0).sum())
    if up > down:
        coefficients[coefficients > 0] *= down / up
    elif down > up:
        coefficients[coefficients < 0] *= up / down


def _dot(left: Array, right: Array) -> float:
    return float((left * right).sum())  # pairwise sums, and not BLAS, whose threads would change the bits


@compiled
def _derivatives(labels: Array, bounds: Array, scores: Array, bias: float, push: Array, curvature: Array) -> None:
    """β and D."""
    for i in range(labels.size):
        margin = labels[i] * (scores[i] + bias)
        a = bounds[i] * sigmoid(-margin)
        push[i] = labels[i] * a
        curvature[i] = a * sigmoid(margin)


@compiled
def _loss(labels: Array, bounds: Array, scores: Array, bias: float) -> float:
    total = 0.0
    for i in range(labels.size):
        total += bounds[i] * value(_LOGISTIC, labels[i] * (scores[i] + bias))
    return total


@compiled
def _along(labels: Array, bounds: Array, scores: Array, direction: Array, t: float, out: Array) -> None:
    """First and second derivative of the loss at scores + t·direction."""
    slope = 0.0
    curvature = 0.0
    for i in range(labels.size):
        margin = labels[i] * (scores[i] + t * direction[i])
        a = bounds[i] * sigmoid(-margin)
        slope -= labels[i] * a * direction[i]
        curvature += a * sigmoid(margin) * direction[i] * direction[i]
    out[0] = slope
    out[1] = curvature


@compiled
def _best_bias(labels: Array, bounds: Array, scores: Array, bias: float) -> float:
    """The b at which Σ y C σ(-y (s + b)) = 0, by Newton's method in a bracket."""
    low, high, width = -math.inf, math.inf, 1.0
    for _ in range(200):
        total = 0.0
        size = 0.0
        bend = 0.0
        for i in range(labels.size):
            margin = labels[i] * (scores[i] + bias)
            a = bounds[i] * sigmoid(-margin)
            total += labels[i] * a
            size += a
            bend += a * sigmoid(margin)
        if abs(total) <= 1e-15 * size:
            break
        if total > 0.0:
            low = bias
        else:
            high = bias
        new = bias + total / bend if bend > 0.0 else math.inf
        if low == -math.inf or high == math.inf:
            if not abs(new - bias) <= width:
                new = bias + width if total > 0.0 else bias - width
            width *= 2.0
        elif not low < new < high:
            new = 0.5 * (low + high)
        if abs(new - bias) <= 1e-16 * abs(bias):
            break
        bias = new
    return bias


@compiled
def _dual_terms(bounds: Array, dual: Array) -> float:
    total = 0.0
    for i in range(bounds.size):
        total += dual_term(_LOGISTIC, dual[i], bounds[i])
    return total
