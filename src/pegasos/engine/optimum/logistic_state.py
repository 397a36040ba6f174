"""Solver state of a predictor with the logistic loss: point, derivatives, best certificate."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr

from pegasos.engine.optimum.problem import Optimum, Target
from pegasos.engine.runtime.compiling import compiled
from pegasos.engine.walk.losses import sigmoid

Array = np.ndarray[Any, Any]


class Point(NamedTuple):
    """An element w of the space of predictors; inner products are p.vector · q.image.

    On a kernel `vector` are coefficients c and `image` is K c; else both are w.
    """

    vector: Array
    image: Array


class PrimalDual(NamedTuple):
    """A predictor with its objective, and dual coefficients with their bound."""

    vector: Array
    bias: float
    primal: float
    dual: Array
    bound: float


class State:
    """A predictor, its derivatives, and the best primal-dual pair so far.

    Parameters
    ----------
    number : index of the target.
    target : labels and C_i; `bounds` are the C_i of the present stage, a `share` of the final ones.
    free : whether the intercept is free.
    size : length of the vector of a predictor.

    Attributes
    ----------
    point, scores, bias : w, its scores without the intercept, and the intercept.
    beta, curvature : β_i = y_i C_i σ(-y_i s_i), the negative derivative of the loss by the score
        s_i (intercept included), and D_i = C_i σ(s_i) σ(-s_i), the second derivative.
    descent : negative gradient r = Σ β_i x_i - w.
    newton_dual, clipped : dual candidate y·a of a full Newton step, and the same in its box.
    """

    beta: Array
    curvature: Array
    clipped: Array
    descent: Point
    best: PrimalDual

    def __init__(self, number: int, target: Target, free: bool, size: int) -> None:
        self.number, self.free, self.size = number, free, size
        self.labels = np.ascontiguousarray(target.labels, dtype=np.float64)
        self.all_bounds = np.ascontiguousarray(target.bounds, dtype=np.float64)
        self.rounds = 0
        self.history: list[tuple[float, float]] = []
        self.restart(1.0)
        seen = self.labels[self.all_bounds > 0]
        if free and len(seen) and (seen == seen[0]).all():
            # There is no minimum: F falls to 0 as b grows, and is exactly 0 in float64 at 800.
            self.best = self.best._replace(bias=800.0 * float(seen[0]), primal=0.0)

    def restart(self, share: float) -> None:
        """Restart from zero, at this share of C."""
        zero, self.scores = np.zeros(self.size), np.zeros(len(self.labels))
        self.point, self.bias, self.newton_dual = Point(zero, zero), 0.0, self.scores
        self.enter_stage(share)

    def enter_stage(self, share: float) -> None:
        """Continue from the present point at this share of C."""
        self.share = 1.0 if share > 0.99 else share
        self.bounds = self.share * self.all_bounds
        primal = float(self.bounds.sum()) * math.log(2.0)
        self.best = PrimalDual(np.zeros(self.size), 0.0, primal, np.zeros(len(self.labels)), 0.0)
        self.stalled = 0

    @property
    def is_trivial(self) -> bool:
        """Whether the best objective is 0, the smallest possible value."""
        return self.best.primal <= 0.0

    @property
    def relative(self) -> float:
        """The relative gap of the best pair."""
        return 0.0 if self.is_trivial else (self.best.primal - self.best.bound) / self.best.primal

    def to_optimum(self, vector: Array, bias: float) -> Optimum:
        """Return the best certificate as an optimum with this vector and intercept."""
        best, history = self.best, tuple(self.history)
        return Optimum(vector, bias, best.dual, best.primal, best.bound, self.rounds, history)

    def fit_bias(self) -> None:
        """Set a free intercept to its optimal value for the present scores."""
        if self.free:
            self.bias = _best_bias(self.labels, self.bounds, self.scores, self.bias)

    def update_derivatives(self) -> None:
        """Compute the free intercept, β, D and the clipped dual candidate at the present scores."""
        self.fit_bias()
        self.beta, self.curvature = np.empty_like(self.scores), np.empty_like(self.scores)
        derivatives(self.labels, self.bounds, self.scores, self.bias, self.beta, self.curvature)
        self.clipped = self.labels * np.clip(self.labels * self.newton_dual, 0.0, self.bounds)
        if self.free:
            balance(self.beta)
            balance(self.clipped)

    def certify(self, image: Array, beta: Point, clipped: Point, scores: Array) -> bool:
        """Certify the present point; tell whether the gap has fallen by at least 0.1 %.

        Parameters
        ----------
        image, scores : image and scores of the predictor, computed exactly.
        beta, clipped : Σ β_i x_i and Σ c_i x_i, where c is the clipped dual candidate.
        """
        self.scores, self.point = scores, Point(self.point.vector, image)
        self.descent = Point(beta.vector - self.point.vector, beta.image - image)
        squared = dot(self.point.vector, image)
        losses = np.logaddexp(0.0, -self.labels * (scores + self.bias))
        primal = 0.5 * squared + dot(self.bounds, losses)
        if squared < 0:  # by rounding: no valid bound
            primal = math.inf
        before = self.best.primal - self.best.bound
        dual, bound = self._best_dual(primal, beta, clipped)
        self.keep_better(PrimalDual(self.point.vector, self.bias, primal, dual, bound))
        if self.share == 1.0:  # earlier stages have another objective
            self.history.append((self.best.primal, self.best.bound))
        return self.best.primal - self.best.bound < before * (1.0 - 1e-3)

    def keep_better(self, other: PrimalDual) -> None:
        """Keep the better predictor and the better bound, for the same bounds."""
        if other.primal <= self.best.primal:
            self.best = other._replace(dual=self.best.dual, bound=self.best.bound)
        if other.bound > self.best.bound:
            self.best = self.best._replace(dual=other.dual, bound=other.bound)

    def _best_dual(self, primal: float, beta: Point, clipped: Point) -> tuple[Array, float]:
        """Return the best dual coefficients on the line from β to c, and their dual objective.

        At β - τ r the gap is about (1-τ)² rᵀKr/2 + τ² rᵀD⁻¹r/2: for large K, c is much better.
        """
        found: list[tuple[float, Array]] = []

        def gap_at(tau: float) -> float:
            vector, image = ((1.0 - tau) * p + tau * c for p, c in zip(beta, clipped, strict=True))
            dual = self.labels * ((1.0 - tau) * self.beta + tau * self.clipped)
            squared, terms = dot(vector, image), dual_terms(self.bounds, dual)
            is_valid = squared >= -1e-12 * terms  # w = 0 may have ‖w‖² < 0 by rounding
            found.append((terms - 0.5 * max(squared, 0.0) if is_valid else -math.inf, dual))
            return primal - found[-1][0]

        at_beta, at_clipped = gap_at(0.0), gap_at(1.0)
        if 0 < at_beta < math.inf and 0 < at_clipped < math.inf:
            gap_at(at_beta / (at_beta + at_clipped))
        bound, dual = max(found, key=lambda pair: pair[0])
        return dual, bound

    def line_search(self, direction: Array, slope: float, curvature: float) -> float:
        """Return a step size t >= 0 at which |slope| is at most a tenth of that at 0.

        `slope` + t·`curvature` is the derivative of ‖w‖²/2; `direction` are the scores of the step.
        """
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
            if abs(height) <= -0.1 * first:
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
    """Scale down the positive or the negative coefficients so that the sum is 0, in place."""
    up = float(np.maximum(coefficients, 0.0).sum())
    down = float(-np.minimum(coefficients, 0.0).sum())
    if up > down:
        coefficients[coefficients > 0] *= down / up
    elif down > up:
        coefficients[coefficients < 0] *= up / down


def dot(left: Array, right: Array) -> float:
    """Return the dot product by pairwise sums, which do not depend on the number of threads."""
    return float((left * right).sum())


@compiled
def derivatives(
    labels: Array, bounds: Array, scores: Array, bias: float, beta: Array, curvature: Array
) -> None:
    """Compute β and D."""
    for i in range(labels.size):
        margin = labels[i] * (scores[i] + bias)
        a = bounds[i] * sigmoid(-margin)
        beta[i] = labels[i] * a
        curvature[i] = a * sigmoid(margin)


@compiled
def slopes_along(
    labels: Array, bounds: Array, scores: Array, direction: Array, t: float, out: Array
) -> None:
    """Compute the first and second derivative of the loss at scores + t·direction."""
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
    """Return the b at which Σ y C σ(-y (s + b)) = 0, by Newton's method in a bracket."""
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


def dual_terms(bounds: Array, dual: Array) -> float:
    """Return Σ d(a, C) = Σ C H(a/C), where H is the binary entropy."""
    share = np.divide(dual, bounds, out=np.zeros_like(dual), where=bounds > 0.0).clip(0.0, 1.0)
    return dot(bounds, entr(share) + entr(1.0 - share))
