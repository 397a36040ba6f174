"""One predictor of the logistic loss on its way to the optimum: its place, its derivatives, and the best pair that was seen."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pegasos.engine.optimum.problem import Intercept, Optimum, Target
from pegasos.engine.runtime.compiling import compiled
from pegasos.engine.walk.losses import LOSSES, dual_term, sigmoid, value

Array = np.ndarray[Any, Any]

#: A look at a state has found something better if the gap has fallen by this part.
LEAST_PROGRESS = 1e-3
#: The part of a dual value that a squared length may be below zero by rounding.
ROUNDING = 1e-12
#: A line search ends where the slope has fallen to this part.
SLOPE_LEFT = 0.1
#: A free intercept at which no loss is left, for rows of one class.
FAR = 800.0

_LOGISTIC = LOSSES["logistic"].code


def _nothing() -> Array:
    return np.empty(0)


@dataclass
class Pair:
    """A predictor with its objective, and dual coefficients with their bound."""

    coefficients: Array
    bias: float
    primal: float
    dual: Array
    bound: float


@dataclass
class State:
    """c and b, the scores K c, and there: β = `push`, the curvature D, r = β - c = `rest` and its scores K r.

    bounds      C_i, of which `share` is in force now
    whole_step  c after a whole Newton step, however far the line search went: the dual candidate
    """

    number: int
    labels: Array
    all_bounds: Array
    free: bool
    coefficients: Array = field(default_factory=_nothing)
    scores: Array = field(default_factory=_nothing)
    whole_step: Array = field(default_factory=_nothing)
    bias: float = 0.0
    bounds: Array = field(default_factory=_nothing)
    share: float = 1.0
    best: Pair = field(default_factory=lambda: Pair(_nothing(), 0.0, 0.0, _nothing(), 0.0))
    rounds: int = 0
    stalled: int = 0
    primal: float = math.inf
    push: Array = field(default_factory=_nothing)
    clipped: Array = field(default_factory=_nothing)
    rest: Array = field(default_factory=_nothing)
    rest_scores: Array = field(default_factory=_nothing)
    curvature: Array = field(default_factory=_nothing)
    course: list[tuple[float, float]] = field(default_factory=list)

    @classmethod
    def make(cls, number: int, target: Target, free: bool) -> State:
        labels = np.ascontiguousarray(target.labels, dtype=np.float64)
        state = cls(number, labels, np.ascontiguousarray(target.bounds, dtype=np.float64), free)
        state.restart(1.0)
        seen = labels[state.all_bounds > 0]
        if free and len(seen) and (seen == seen[0]).all():  # no minimum: F falls to 0 as b grows
            state.best.bias, state.best.primal = FAR * float(seen[0]), 0.0
        return state

    def restart(self, share: float) -> None:
        """At zero, with this part of the bounds."""
        self.coefficients, self.scores, self.bias = (
            np.zeros(len(self.labels)),
            np.zeros(len(self.labels)),
            0.0,
        )
        self.whole_step = self.coefficients
        self.enter(share)

    def enter(self, share: float) -> None:
        """Go on from here with this part of the bounds."""
        self.share = 1.0 if share > 0.99 else share
        self.bounds = self.share * self.all_bounds
        zero = np.zeros(len(self.labels))
        self.best, self.stalled = (
            Pair(zero, 0.0, float(self.bounds.sum()) * math.log(2.0), zero, 0.0),
            0,
        )

    @property
    def trivial(self) -> bool:
        return self.best.primal <= 0.0

    @property
    def relative(self) -> float:
        return 0.0 if self.trivial else (self.best.primal - self.best.bound) / self.best.primal

    def answer(self, vector: Array, intercept: Intercept) -> Optimum:
        best = self.best
        bias = float(best.coefficients.sum()) if intercept is Intercept.AUGMENTED else best.bias
        return Optimum(
            vector, bias, best.dual, best.primal, best.bound, self.rounds, tuple(self.course)
        )

    def center(self) -> None:
        """A free intercept at its best for these scores."""
        if self.free:
            self.bias = _best_bias(self.labels, self.bounds, self.scores, self.bias)

    def settle(self) -> None:
        """The best free intercept for these scores, β and D."""
        self.center()
        self.push, self.curvature = np.empty_like(self.scores), np.empty_like(self.scores)
        derivatives(self.labels, self.bounds, self.scores, self.bias, self.push, self.curvature)
        self.clipped = self.labels * np.clip(self.labels * self.whole_step, 0.0, self.bounds)
        if self.free:
            balance(self.push)
            balance(self.clipped)

    def note(self, scores: Array, push_scores: Array, clipped_scores: Array) -> bool:
        """Keep what is better than before by these exact scores of c, β and c in its box; whether anything is."""
        self.scores = scores
        squared = dot(self.coefficients, scores)
        self.primal = 0.5 * squared + loss_of_scores(self.labels, self.bounds, scores, self.bias)
        self.rest, self.rest_scores = self.push - self.coefficients, push_scores - self.scores
        best, before = self.best, self.best.primal - self.best.bound
        if squared < 0:  # rounding, which proves nothing
            self.primal = math.inf
        dual, bound = self._best_dual(push_scores, clipped_scores)
        self.improve(Pair(self.coefficients, self.bias, self.primal, dual, bound))
        if self.share == 1.0:  # before that it is another objective
            self.course.append((best.primal, best.bound))
        return best.primal - best.bound < before * (1.0 - LEAST_PROGRESS)

    def improve(self, other: Pair) -> None:
        """Keep the better predictor and the better bound, for the same bounds."""
        best = self.best
        if other.primal <= best.primal:
            best.coefficients, best.bias, best.primal = other.coefficients, other.bias, other.primal
        if other.bound > best.bound:
            best.dual, best.bound = other.dual, other.bound

    def _best_dual(self, push_scores: Array, clipped_scores: Array) -> tuple[Array, float]:
        """The best bound on the way from β to c.

        The gap is about (1-τ)² rᵀKr/2 + τ² rᵀD⁻¹r/2 at β - τ r: where K is large, c is much the better one.
        """
        found: list[tuple[float, Array]] = []

        def gap_at(tau: float) -> float:
            coefficients = (1.0 - tau) * self.push + tau * self.clipped
            scores = (1.0 - tau) * push_scores + tau * clipped_scores
            dual = self.labels * coefficients
            squared, terms = dot(coefficients, scores), dual_terms(self.bounds, dual)
            possible = (
                squared >= -ROUNDING * terms
            )  # a w that is zero may have a length a rounding below
            found.append((terms - 0.5 * max(squared, 0.0) if possible else -math.inf, dual))
            return self.primal - found[-1][0]

        at_push, at_clipped = gap_at(0.0), gap_at(1.0)
        if 0 < at_push < math.inf and 0 < at_clipped < math.inf:
            gap_at(at_push / (at_push + at_clipped))
        bound, dual = max(found, key=lambda pair: pair[0])
        return dual, bound

    def line_search(self, direction: Array, slope: float, curvature: float) -> float:
        """About the best t >= 0 along scores; slope + t·curvature is the derivative of ‖w‖²/2."""
        scores = self.scores + self.bias
        out = np.empty(2)

        def derivative(t: float) -> tuple[float, float]:
            slopes_along(self.labels, self.bounds, scores, direction, t, out)
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


def balance(coefficients: Array) -> None:
    """Shorten the heavier side so that the sum is 0, in place."""
    up, down = (
        float(np.maximum(coefficients, 0.0).sum()),
        float(-np.minimum(coefficients, 0.0).sum()),
    )
    if up > down:
        coefficients[coefficients > 0] *= down / up
    elif down > up:
        coefficients[coefficients < 0] *= up / down


def dot(left: Array, right: Array) -> float:
    """Pairwise sums, and not BLAS, whose threads would change the bits."""
    return float((left * right).sum())


@compiled
def derivatives(
    labels: Array, bounds: Array, scores: Array, bias: float, push: Array, curvature: Array
) -> None:
    """β and D."""
    for i in range(labels.size):
        margin = labels[i] * (scores[i] + bias)
        a = bounds[i] * sigmoid(-margin)
        push[i] = labels[i] * a
        curvature[i] = a * sigmoid(margin)


@compiled
def loss_of_scores(labels: Array, bounds: Array, scores: Array, bias: float) -> float:
    total = 0.0
    for i in range(labels.size):
        total += bounds[i] * value(_LOGISTIC, labels[i] * (scores[i] + bias))
    return total


@compiled
def slopes_along(
    labels: Array, bounds: Array, scores: Array, direction: Array, t: float, out: Array
) -> None:
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
def dual_terms(bounds: Array, dual: Array) -> float:
    total = 0.0
    for i in range(bounds.size):
        total += dual_term(_LOGISTIC, dual[i], bounds[i])
    return total
