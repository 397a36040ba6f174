"""Newton's method over row blocks, for either loss: rows in memory, on disk or on a cluster.

For the hinge loss it minimizes F_μ(w) = ‖w‖²/2 + Σ φ_μ(m_i) while μ goes to zero, where
φ_μ(m) = min over s, ξ > 0 with s - ξ = m - 1 of C ξ - μ log s - μ log ξ is the loss with rounded
corners: a barrier method. a = -φ' is a point of the central path, and φ'' = 1/(s/a + ξ/(C - a)).
F_μ/μ is self-concordant, so damped steps converge from anywhere. The logistic loss needs no μ.

An iteration is one pass over the rows. It takes the vector, a direction and a guessed step size,
and returns F_μ at several step sizes, and gradient and Hessian at the guessed one. If another step
size is much better, the next pass repeats the line search along the same direction. The margins
determine a, so every pass yields two feasible dual points: that of the new vector, and the tangent
from the old one. With many rows per feature the iteration starts at the optimum of a sample. In
memory, on many features, a pass without a Hessian finds the step size first.

References
----------
Boyd, Vandenberghe (2004), Convex Optimization, chapters 9 to 11.
Ferris, Munson (2002), Interior-point methods for massive support vector machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import entr

from pegasos.engine.optimum.normal_matrix import NormalMatrix
from pegasos.engine.optimum.passes import newton_rows
from pegasos.engine.optimum.passes.newton_rows import (
    FIRST,
    LOSS,
    NEW,
    RIGHT,
    SCRATCH_LINES,
    SUMS,
    TANGENT,
    WEIGHT,
)
from pegasos.engine.optimum.passes.passes import (
    LabelledBlocks,
    Passes,
    Predictor,
    Sample,
    SolverState,
    fetch_sample,
    solve_chains,
    with_bias,
    with_dual,
)
from pegasos.engine.optimum.problem import Intercept, Optimum, Target
from pegasos.engine.rows.blocks import MATRIX_BYTES, WIDE, Block, Part, workspace
from pegasos.engine.runtime.compiling import announced
from pegasos.engine.runtime.threads import our_threads

Array = np.ndarray[Any, Any]

#: Step sizes at which every pass evaluates F_μ; the guessed one is accepted if its gain is at least
#: this share of the best one's.
STEPS = np.array([0.0, 1.0, 0.6, 0.3, 0.15, 0.06, 0.02, 0.005])
GOOD_SHARE = 0.3
#: Factor of μ per iteration: at first and at least, and at most after steps had to be short.
MU_FACTOR, SLOW_MU_FACTOR = 0.1, 0.5
#: μ is lowered once the Newton decrement √(gradient·step/μ) is below this limit. While the relative
#: gap is large, a share of √rows is enough: F_μ is above its minimum by half the squared decrement
#: in units of μ, and the gap on the central path is about as many units as there are rows.
MOST_DECREMENT, DECREMENT_SHARE, LARGE_GAP = 10.0, 0.05, 0.02
#: The last μ, as a share of the one whose gap on the central path is the tolerance.
LAST_MU = 0.3
#: The first μ after a warm start, as a share of the one whose gap is the whole objective: at most
#: START_ERROR. The optimum of a sample of n rows with d features has a relative error of about d/n;
#: at 3 times that, 100,000 x 20 rows take 4, 4, 5 passes, at START_ERROR 6, 6, 7.
START_ERROR, SAMPLE_ERROR = 0.1, 3.0
#: Passes whose Hessian of at least `WIDE` features is computed in float32, in half the time. Where
#: float32 spoils directions (columns with means of 1,000 standard deviations), no more than these
#: passes are lost.
FLOAT32_PASSES = 20
#: Features from which the Hessian takes so much longer than the rest of a pass in memory that the
#: line search is a pass of its own: 20,000 x 1,000 rows at C = 0.01 take 14 Hessians, not 26.
SEARCHED = 128
#: A sample is one row in this many, if it has this many rows per feature (below, its passes cost
#: more than they save) and this many of either label; it is solved to this relative gap. Hinge at
#: C = 0.001, 1, 100: 30,000 x 150 rows take 10, 11, 13 passes instead of 12, 16, 18, 100,000 x 20
#: rows 4, 4, 5 instead of 9, 11, 12.
ONE_IN, ROWS_PER_FEATURE, ROWS_PER_LABEL, SAMPLE_TOL = 8, 20, 5, 1e-3


@dataclass(frozen=True)
class PassRequest:
    """Input of a pass for one predictor; `vectors` are w and the direction of a step."""

    predictor: Predictor
    vectors: Array
    step: float
    mu: float
    next_mu: float
    steps: Array
    in_float64: bool

    @property
    def point(self) -> Array:
        """The vector after the step, at which sums are computed."""
        return np.asarray(self.vectors[0] + self.step * self.vectors[1])


@dataclass(frozen=True)
class PassDual:
    """Dual point of a pass, as the input from which the blocks recompute its coefficients a.

    Parameters
    ----------
    request : input of the pass that found the point.
    tangent : whether it is the tangent from the old vector, not the point of the new vector.
    factors : multipliers of a, for the label 1 and for -1, that make the point feasible.
    terms : Σ d(a), each label's part multiplied by its factor.
    """

    request: PassRequest
    tangent: bool
    factors: Array
    terms: float


@dataclass(frozen=True)
class WarmStart:
    """A vector to start from, its expected objective, and the relative error of that."""

    vector: Array
    primal: float
    error: float


def sample_start(optimum: Optimum, rows: int, intercept: Intercept) -> WarmStart:
    """Return a warm start at the optimum of a sample of the given size."""
    error = min(START_ERROR, SAMPLE_ERROR * len(optimum.vector) / rows)
    return WarmStart(with_bias(optimum, intercept), optimum.primal, error)


def solve_in_passes(
    blocks: Passes,
    linear_dual: bool,
    chains: Sequence[Sequence[Predictor]],
    intercept: Intercept,
    tol: float,
    most: int = 1000,
    start: WarmStart | None = None,
    searches: bool = False,
) -> list[list[Optimum]]:
    """Solve all predictors to a relative gap of tol, all in each pass (see `solve_chains`).

    `linear_dual`: the hinge loss, else the logistic loss; the first predictor of each chain starts
    at `start`, or at the optimum of a sample; `searches`: each line search is a pass of its own.
    """
    sides = 2 if intercept is Intercept.FREE else 1
    samples: dict[int, WarmStart] = {}
    if start is None:
        samples = _solve_samples(blocks, linear_dual, chains, intercept)

    def make_state(number: int, predictor: Predictor, before: _NewtonState | None) -> _NewtonState:
        state = _NewtonState(predictor, blocks.width, linear_dual, intercept, tol)
        if before is not None:
            times = predictor.unit / before.predictor.unit
            squared = state.value(before.best)
            objective = squared + times * (before.primal - squared)
            state.start_at(WarmStart(before.best, objective, START_ERROR))
        elif start is not None:
            state.start_at(start)
        elif number in samples:
            state.start_at(samples[number])
        return state

    def run_pass(states: list[_NewtonState]) -> None:
        moving = [state for state in states if not (state.first or state.warm)]
        if searches and moving:
            requests = [state.request() for state in moving]
            part = blocks.map_sum(_visit, linear_dual, requests, sides, False)
            for state, values in zip(moving, part.sums[1], strict=True):
                state.search(values)
        requests = [state.request() for state in states]
        part = blocks.map_sum(_visit, linear_dual, requests, sides, True)
        for state, *own in zip(states, *part.sums, strict=True):
            state.update(*own)

    at_once = max(1, MATRIX_BYTES // (8 * (blocks.width + 1) ** 2))
    return solve_chains(chains, at_once, make_state, run_pass, tol, most)


def solve_rows(
    X: Any,
    linear_dual: bool,
    targets: list[Target],
    intercept: Intercept,
    tol: float,
    members: Array | None = None,
    most: int = 1000,
    start: WarmStart | None = None,
    needs_dual: bool = True,
) -> list[Optimum]:
    """Solve all targets on rows in memory (`members`; None: all) to the tolerance."""
    count = X.shape[0] if members is None else len(members)
    chains = [[target] for target in targets]
    with LabelledBlocks(X, np.arange(count), members=members) as blocks:
        given = intercept, tol, most, start, blocks.width >= SEARCHED
        found = solve_in_passes(blocks, linear_dual, chains, *given)
        if not needs_dual:
            return [one for [one] in found]
        pairs = zip(targets, found, strict=True)
        return [_with_dual(blocks, linear_dual, target, one) for target, [one] in pairs]


def workspace_bytes(m: int, width: int, targets: int, itemsize: int) -> int:
    """Return the memory that `solve_rows` needs beside X; `itemsize`: bytes copied per number."""
    together = min(targets, max(1, MATRIX_BYTES // (8 * (width + 1) ** 2)))
    return workspace(together, m, width, itemsize) + 8 * m * (targets + 1) + m * width // ONE_IN * 8


def _solve_samples(
    blocks: Passes, linear_dual: bool, chains: Sequence[Sequence[Predictor]], intercept: Intercept
) -> dict[int, WarmStart]:
    """Return the optimum of a sample for the first predictor of each chain with many rows."""
    firsts = {number: chain[0] for number, chain in enumerate(chains) if chain}
    rows = max((predictor.rows for predictor in firsts.values()), default=0)
    enough = ROWS_PER_FEATURE * blocks.width
    if rows < ONE_IN * enough or blocks.room < blocks.row_bytes * rows / ONE_IN:
        return {}
    sample: Sample = fetch_sample(blocks, 1.0 / ONE_IN)
    targets = {number: sample.target(predictor) for number, predictor in firsts.items()}
    known = [
        number
        for number, target in targets.items()
        if firsts[number].fixed is None
        and min(np.count_nonzero(target.bounds[target.labels == y]) for y in (1.0, -1.0))
        >= ROWS_PER_LABEL
    ]
    with our_threads():
        own = [targets[number] for number in known]
        given = linear_dual, own, intercept, SAMPLE_TOL
        found = solve_rows(sample.X, *given, needs_dual=False)
    starts = [sample_start(each, sample.X.shape[0], intercept) for each in found]
    return dict(zip(known, starts, strict=True))


class _NewtonState(SolverState):
    """Solver state of one predictor: vector (intercept last), direction, and the best pair."""

    def __init__(
        self, predictor: Predictor, width: int, linear_dual: bool, intercept: Intercept, tol: float
    ) -> None:
        super().__init__(width)
        self.predictor, self.tol = predictor, tol
        self.hinge, self.free = linear_dual, intercept is Intercept.FREE
        self.diagonal = np.ones(width + (intercept is not Intercept.NONE))
        if self.free:
            self.diagonal[-1] = 0.0
        self.vector = self.direction = self.best = np.zeros(len(self.diagonal))
        fixed, total = predictor.fixed, predictor.unit * sum(predictor.label_weights)
        self.fixed = np.zeros(len(self.diagonal)) if fixed is None else fixed.vector
        self.fixed_total, self.scale = (0.0, 0.0) if fixed is None else (fixed.total, fixed.scale)
        self.mu_at_zero = MU_FACTOR * total / max(1, predictor.rows) if self.hinge else 0.0
        self.mu = self.next_mu = self.mu_at_zero
        self.primal_at_zero = (total if self.hinge else np.log(2.0) * total) + self.fixed_total
        #: Whether no direction has been computed yet, and whether the vector is a warm start.
        self.first, self.warm, self.error = True, False, START_ERROR
        self.mu_factor, self.step_guess, self.last_mu = MU_FACTOR, 1.0, LAST_MU
        #: Whether the matrix is computed in float64 (see `FLOAT32_PASSES`).
        self.in_float64 = width < WIDE
        self.is_trivial = total <= 0.0 or (self.free and min(predictor.label_weights) <= 0.0)
        if self.is_trivial:  # no rows, or one label and a free intercept: this margin has no loss
            self.best = self.fixed.copy()
            if self.free and total > 0.0:
                sign = 1.0 if predictor.label_weights[0] > 0.0 else -1.0
                self.best[-1] = sign * (1.0 if self.hinge else 800.0)
            self.primal = self.bound = self.value(self.best) + self.fixed_total

    def start_at(self, start: WarmStart) -> None:
        """Start at the best vector of a problem with another C, or of a sample."""
        if not self.is_trivial:
            self.vector, self.warm, self.error = start.vector, True, start.error
            self._set_first_mu(start.primal)

    def _set_first_mu(self, objective: float) -> None:
        """Set the first μ after a warm start with this objective."""
        if self.hinge:
            mu = self.error * objective / max(1, self.predictor.rows)
            self.mu = self.next_mu = min(self.mu_at_zero, mu)

    def _corrects_start(self) -> bool:
        """Correct a warm start of larger objective than expected; tell whether that was needed."""
        before, self.warm = self.mu, False
        if self.primal > self.primal_at_zero:
            self.vector, self.mu = np.zeros(len(self.vector)), self.mu_at_zero
            self.next_mu = self.mu
            return True
        self._set_first_mu(self.primal)
        return self.mu > 2.0 * before

    @property
    def relative(self) -> float:
        """The relative gap; with fixed rows, as a share of the objective of all rows."""
        scale = self.scale or self.primal
        return (self.primal - self.bound) / scale if scale > 0.0 else 0.0

    def request(self) -> PassRequest:
        vectors, step = np.stack([self.vector, self.direction]), self.step_guess
        steps = np.zeros(0) if self.first else np.append(STEPS, step)
        mus = self.mu, self.next_mu
        return PassRequest(self.predictor, vectors, step, *mus, steps, self.in_float64)

    def _objectives(self, values: Array) -> Array:
        """Return F_μ at all step sizes of a request from the values of its pass."""
        squares = [self.value(self.vector + step * self.direction) for step in self.request().steps]
        return np.asarray(values + squares)

    def search(self, values: Array) -> None:
        """Set the step size to the best one of a pass without a Hessian."""
        best = float(self.request().steps[np.argmin(self._objectives(values))])
        self.step_guess = best or self.step_guess

    def update(self, sums: Array, values: Array, combinations: Array, matrix: Array) -> None:
        """Certify the new point by the sums of a pass; accept the guessed step or correct it."""
        first, request = self.first, self.request()
        self._certify(request, sums, combinations)
        if self.warm and self._corrects_start():
            return
        best, self.first = self.step_guess, False
        if not first:
            values = self._objectives(values)
            start, lowest = float(values[0]), int(np.argmin(values))
            best = float(STEPS[lowest]) if lowest < len(STEPS) else self.step_guess
            if start - values[-1] < GOOD_SHARE * (start - values[lowest]) - 1e-13 * abs(start):
                if best == 0.0:
                    self.direction, best = STEPS[-1] * self.direction, 1.0
                self.step_guess = best
                return
        self.vector = request.point
        self._plan_step(combinations, matrix, best, first)

    def _plan_step(self, combined: Array, matrix: Array, best: float, first: bool) -> None:
        """Compute the next direction, and the μ for which it is computed."""
        self.mu = self.next_mu
        gradient = self._gradient(combined)
        matrix.flat[:: len(matrix) + 1] += self.diagonal
        system = NormalMatrix(matrix)
        self.direction = system.solve(-gradient)
        if self.hinge:
            decrement = np.sqrt(max(0.0, -float(gradient @ self.direction)) / self.mu)
            limit = DECREMENT_SHARE * np.sqrt(self.predictor.rows)
            limit = max(MOST_DECREMENT, limit) if self.relative > LARGE_GAP else MOST_DECREMENT
            is_near_path = decrement < limit
            if not first and best >= 1.0 and is_near_path:
                self.mu_factor = max(0.5 * self.mu_factor, MU_FACTOR)
            elif not first and best < 0.5:
                self.mu_factor = min(1.5 * self.mu_factor, SLOW_MU_FACTOR)
            floor = self.last_mu * self.tol * (self.scale or self.primal) / self.predictor.rows
            if self.mu <= floor and decrement < 1.0:
                # The last μ is reached with a gap above tol: continue along the central path.
                self.last_mu *= MU_FACTOR
            if is_near_path:
                self.next_mu = max(self.mu_factor * self.mu, min(self.mu, floor))
                correction = system.solve(combined[0])
                self.direction = self.direction + (self.next_mu - self.mu) * correction
        self.step_guess = 1.0 if first else min(1.0, 2.0 * best)

    def _gradient(self, combinations: Array) -> Array:
        combined = combinations[1 : 2 + self.free].sum(axis=0)
        return np.asarray(self.diagonal * self.vector - combined - self.fixed)

    def _certify(self, request: PassRequest, sums: Array, combinations: Array) -> None:
        """Keep the best objective and the best bound, even if they belong to different points."""
        before = self.relative if self.history else np.inf
        primal = self.value(request.point) + float(sums[LOSS]) + self.fixed_total
        if primal < self.primal:
            self.primal, self.best = primal, request.point
        lines = 2 if self.free else 1
        for place, start in ((1, NEW), (1 + lines, TANGENT)):
            weights, terms = sums[start : start + 2], sums[start + 2 : start + 4]
            bound, factors = self._bound(weights, terms, combinations[place : place + lines])
            if bound > self.bound:
                again = replace(request, steps=request.steps[:0])
                total = float(factors @ terms)
                self.bound, self.dual = bound, PassDual(again, start == TANGENT, factors, total)
        self.record(before)
        self.in_float64 |= len(self.history) > FLOAT32_PASSES or self.stalled_passes > 2

    def _bound(self, weights: Array, terms: Array, combinations: Array) -> tuple[float, Array]:
        """Return a bound and the factors that make a feasible: d(f a) >= f d(a) for f <= 1."""
        factors = np.ones(2)
        if self.free:  # Σ a y = 0: scale down the label with the larger Σ a
            factors = weights.min() / np.maximum(weights, np.finfo(float).tiny)
        combined = factors[: len(combinations)] @ combinations + self.fixed
        squared = float(self.diagonal * combined @ combined)
        total = float(factors @ terms) + self.fixed_total
        if self.hinge and not self.scale and squared > total > 0.0:
            return 0.5 * total * total / squared, factors * (total / squared)
        return total - 0.5 * squared, factors

    def value(self, vector: Array) -> float:
        """Return ‖w‖²/2 minus w·Σ C_i y_i x_i of the fixed rows."""
        return float((0.5 * self.diagonal * vector - self.fixed) @ vector)


def _visit(
    block: Block, linear_dual: bool, requests: list[PassRequest], sides: int, square: bool
) -> Part:
    """Return a block's part of the sums that each request needs.

    These are the loss, and Σ a and Σ d(a) of both dual points; the loss terms of F_μ at all step
    sizes; Σ a y x of both dual points, and its derivative by μ; and with `square` the Hessian. For
    a free intercept (`sides` = 2) each label has its own Σ a y x.
    """
    size, lines = requests[0].vectors.shape[1], FIRST + 2 * sides
    sums = np.zeros((len(requests), SUMS))
    values = np.zeros((len(requests), max(len(request.steps) for request in requests)))
    combinations = np.empty((len(requests), lines - RIGHT, size))
    matrices = np.empty((len(requests), size, size) if square else 0)
    rows = block.whole()
    for j, request in enumerate(requests):
        out = _sum_up(block, rows, linear_dual, request, sides, sums[j], values[j])
        block.combine(rows, out[RIGHT:], combinations[j])
        if square:
            block.squares(rows, out[WEIGHT], matrices[j], request.in_float64)
    return Part((sums, values, combinations, matrices) if square else (sums, values, combinations))


def _sum_up(
    block: Block,
    rows: Any,
    linear_dual: bool,
    request: PassRequest,
    sides: int,
    sums: Array,
    values: Array,
) -> Array:
    labels, bounds = request.predictor.labels_and_bounds(block.own)
    # One vector at a time: in a product with others it may be rounded differently.
    scores = np.stack([block.scores(rows, vector) for vector in request.vectors])
    scratch = np.empty((SCRATCH_LINES, block.count))
    out = np.empty((FIRST + 2 * sides, block.count))
    given = labels, bounds, scores, request.step, request.mu, request.next_mu, request.steps
    sum_rows = newton_rows.sum_hinge if linear_dual else newton_rows.sum_logistic
    with announced("newton-hinge" if linear_dual else "newton-logistic"):
        sum_rows(*given, sides, scratch, out, sums, values)
    return out


def _with_dual(
    blocks: LabelledBlocks, linear_dual: bool, target: Target, found: Optimum
) -> Optimum:
    solved = with_dual(blocks, target, found, partial(_coefficients, linear_dual))
    origin: Any = found.dual
    if linear_dual or origin is None or (origin.factors == 1.0).all():
        return solved
    # The bound of balanced coefficients follows from d(f a) >= f d(a): return G(a) itself.
    bounds = target.bounds
    share = np.divide(solved.dual, bounds, out=np.zeros(len(bounds)), where=bounds > 0.0)
    terms = float(bounds @ (entr(share) + entr(1.0 - share)))
    return replace(solved, bound=solved.bound + terms - origin.terms)


def _coefficients(linear_dual: bool, block: Block, labels: Array, _: Array, dual: Any) -> Array:
    """Return the dual coefficients a of a block's rows."""
    sums, values = np.zeros(SUMS), np.zeros(len(dual.request.steps))
    out = _sum_up(block, block.whole(), linear_dual, dual.request, 1, sums, values)
    line = FIRST + (1 if dual.tangent else 0)
    return np.asarray(np.abs(out[line]) * np.where(labels > 0.0, *dual.factors))
