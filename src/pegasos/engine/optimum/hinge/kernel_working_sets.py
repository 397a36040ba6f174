"""Working sets on a kernel: storage of K, warm start, and an interior point on a factor of K.

Above 1,500 rows the optimum of a sample predicts most coefficients, unless C is large. If rounds
do not converge and K has low rank, an interior point method on a factor of K takes over;
predictors that still have not converged continue with working sets.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from pegasos.engine.optimum.hinge.kernel_sources import (
    MOST_KERNEL_BYTES,
    SMALL_MATRIX_BYTES,
    KernelSource,
    kernel_source,
)
from pegasos.engine.optimum.hinge.set_predictor import Limit
from pegasos.engine.optimum.hinge.working_set import WorkingSetSolver
from pegasos.engine.optimum.kernel_operator import (
    LARGEST_RANK,
    KernelOperator,
    Spectrum,
    low_rank_spectrum,
    spectrum_of,
)
from pegasos.engine.optimum.passes.newton import solve_rows
from pegasos.engine.optimum.problem import Intercept, Optimum, Problem, Target
from pegasos.engine.rows.blocks import sample_of
from pegasos.engine.rows.kernel_rows import KernelRows
from pegasos.engine.rows.sources import GramRows
from pegasos.engine.runtime.interruption import deadline_reached
from pegasos.engine.runtime.threads import our_threads

Array = np.ndarray[Any, Any]

FACTOR = "interior point on a low-rank factor"
#: Rows up to which K is always factored (all eigenvalues), and the rounds, and pair steps times
#: rows, that working sets may take before that; for a known rank r, at most m r² of the latter (a
#: factor makes 30 cubic fits on 2,000 rows of spam7 take 6 s instead of 44 s).
FACTORED_ROWS, BEFORE_FACTOR = 1500, Limit(40, 3e9)
#: Rows up to which epochs may come first, and smallest tolerance for which the kernel values of
#: more rows are rounded to float32 at first.
SMALL_MATRIX, LEAST_ROUNDED_GAP = 1500, 1e-7
#: Mean of C_i K_ii up to which a sample predicts coefficients; there one epoch leaves a gap of 0.9.
PREDICTED_COST = 10.0
#: Predictors, and share of nonzero coefficients at the start, from which K is stored, not cached: a
#: cache computes whole rows, the matrix half of them (faster on 8,000 rows).
PREDICTORS_WORTH_MATRIX, SHARE_WORTH_MATRIX = 3, 0.15
#: Rows up to which solving a sample first saves no time.
UNSAMPLED_ROWS = 2000


def computes_rows(problem: Problem) -> bool:
    """Tell whether to skip epochs: there are many rows and no kernel matrix yet."""
    return problem.m > SMALL_MATRIX and problem.rows.computes_rows


class KernelWorkingSets:
    """Solver of one problem on a kernel, which keeps scores between calls."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._sets: WorkingSetSolver | None = None

    def solve(
        self, targets: list[Target], start: Array | None, names: list[int] | None = None
    ) -> list[Optimum]:
        """Solve all targets from coefficients y·a; a later call with `names` reuses scores."""
        problem = self._problem
        with our_threads():
            if start is None and computes_rows(problem) and problem.m > UNSAMPLED_ROWS:
                start = self._predict_coefficients(targets)
            if self._sets is None or names is None:
                kernel = self._make_kernel(targets, start)
                diagonal, given = problem.rows.diagonal, (problem.intercept, problem.members)
                self._sets = WorkingSetSolver(kernel, diagonal, *given)
            limit = BEFORE_FACTOR
            if self._rank is not None:
                limit = limit._replace(effort=min(limit.effort, float(problem.m * self._rank**2)))
            found = self._sets.solve(targets, problem.tol, start, names, limit)
            self._solve_by_factor(targets, found)
            if problem.m > FACTORED_ROWS:
                self._resume(targets, found, list(range(len(targets))) if names is None else names)
            return found

    def _solve_by_factor(self, targets: list[Target], found: list[Optimum]) -> None:
        todo = self._find_unconverged(found)
        spectrum = self._spectrum if todo else None
        if spectrum is not None:
            given = (self._problem.intercept, self._problem.tol)
            own = [targets[k] for k in todo]
            solved = solve_by_factor(spectrum, self._kernel, own, *given)
            _keep_better(found, todo, [replace(optimum, method=FACTOR) for optimum in solved])

    def _resume(self, targets: list[Target], found: list[Optimum], names: list[int]) -> None:
        todo = self._find_unconverged(found)
        if todo:
            assert self._sets is not None
            start = np.stack([targets[k].labels * found[k].dual for k in todo])
            own, own_names = [targets[k] for k in todo], [names[k] for k in todo]
            _keep_better(found, todo, self._sets.solve(own, self._problem.tol, start, own_names))

    def _find_unconverged(self, found: list[Optimum]) -> list[int]:
        """Return the indices of targets whose gap is too large; none after the deadline."""
        if deadline_reached():
            return []
        return [k for k, optimum in enumerate(found) if optimum.relative > self._problem.tol]

    @cached_property
    def _kernel(self) -> KernelOperator:
        rows = self._problem.rows.computed  # in float64: rounding to float32 destroys a low rank
        source = self._problem.rows if rows is None else rows.doubled()
        return KernelOperator(source, self._problem.members, 0.0)

    @cached_property
    def _rank(self) -> int | None:
        """The rank of the kernel matrix, if it is known and low."""
        rows = self._problem.rows.computed
        rank = None if rows is None else rows.kernel.rank(rows.X.shape[1])
        low = rank is not None and 2 * rank <= self._problem.m and rank <= LARGEST_RANK
        return rank if low else None

    @cached_property
    def _spectrum(self) -> Spectrum | None:
        """Spectrum of K, or None for many rows unless the rank is low."""
        if self._problem.m <= FACTORED_ROWS:
            rows, members = self._problem.rows, self._problem.members
            index = np.arange(self._problem.m) if members is None else members
            return spectrum_of(np.ascontiguousarray(rows.kernel_lines(index, members)))
        if self._kernel.rows.dtype != np.float64:
            return None
        return low_rank_spectrum(self._kernel, self._problem.memory, self._rank)

    @property
    def _may_round(self) -> bool:
        # Few rows are never rounded, so that their model does not depend on the memory budget.
        return self._problem.tol >= LEAST_ROUNDED_GAP and self._problem.m > SMALL_MATRIX

    def _predict_coefficients(self, targets: list[Target]) -> Array | None:
        """Return coefficients that a sample predicts; None if C is large for all targets."""
        problem = self._problem
        easy = [k for k, each in enumerate(targets) if problem.mean_cost(each) <= PREDICTED_COST]
        if problem.intercept is Intercept.FREE or not easy:
            return None
        rows = problem.rows.computed
        assert rows is not None
        rows = rows.rounded() if self._may_round and rows.can_be_rounded else rows
        rows = rows if problem.members is None else rows.some(problem.members)
        start = np.zeros((len(targets), problem.m))
        given = ([targets[k] for k in easy], problem.intercept, problem.memory)
        start[easy] = predict_coefficients(rows, *given)
        return start

    def _make_kernel(self, targets: list[Target], start: Array | None) -> KernelSource:
        """Return a stored matrix if most of it is needed, else a cache of kernel rows."""
        problem = self._problem
        share = 0.0 if start is None else np.count_nonzero(start.any(axis=0)) / problem.m
        is_wanted = len(targets) >= PREDICTORS_WORTH_MATRIX or share >= SHARE_WORTH_MATRIX
        matrix_bytes = MOST_KERNEL_BYTES if is_wanted else SMALL_MATRIX_BYTES
        return kernel_source(problem.rows, problem.memory, self._may_round, matrix_bytes)


def _keep_better(found: list[Optimum], todo: list[int], solved: list[Optimum]) -> None:
    for k, optimum in zip(todo, solved, strict=True):
        if abs(optimum.relative) < found[k].relative:
            found[k] = prepend_history(found[k], optimum)


def prepend_history(before: Optimum, optimum: Optimum) -> Optimum:
    """Return an optimum that includes rounds and history of the method before it."""
    rounds, history = before.rounds + optimum.rounds, before.history + optimum.history
    return replace(optimum, rounds=rounds, history=history)


def predict_coefficients(
    rows: GramRows | KernelRows, targets: list[Target], intercept: Intercept, memory: int
) -> Array:
    """Return coefficients y·a to start from (targets x rows).

    On a sample with the same λ nearly the same function is optimal. At the optimum a row whose
    margin is below 1 has a_i = C_i, and one above has a_i = 0: the sample's margins predict most
    coefficients of all rows, and the few wrong ones hardly change w = Σ a_i y_i x_i. The sample
    itself starts from a smaller one. One row in five is sampled, at least 1,000, and solved to a
    gap of 2 %: predictions are no more accurate than that.
    """
    sample = sample_of(rows.count, max(1000, rows.count // 5))
    few = rows.some(sample)
    samples = [restrict_to_sample(target, sample) for target in targets]
    start = None
    if few.count > UNSAMPLED_ROWS:
        start = predict_coefficients(few, samples, intercept, memory)
    solver = WorkingSetSolver(kernel_source(few, memory), few.diagonal, intercept)
    found = solver.solve(samples, 0.02, start, limit=Limit(rounds=20))
    bias = np.array([[optimum.bias] for optimum in found], dtype=rows.dtype)
    scores = bias.repeat(rows.count, axis=1)
    rows.add(sample, np.array([optimum.vector for optimum in found], dtype=rows.dtype), scores)
    return np.stack(
        [
            target.labels * np.where(target.labels * own < 1.0, target.bounds, 0.0)
            for target, own in zip(targets, scores, strict=True)
        ]
    )


def restrict_to_sample(target: Target, sample: Array) -> Target:
    """Return the target on a sample, with C scaled such that Σ C_i, and so λ, is unchanged."""
    bounds = target.bounds[sample]
    total = float(bounds.sum())
    factor = float(target.bounds.sum()) / total if total > 0.0 else 1.0
    return Target(target.labels[sample], factor * bounds)


def solve_by_factor(
    spectrum: Spectrum,
    space: KernelOperator,
    targets: list[Target],
    intercept: Intercept,
    tol: float,
) -> list[Optimum]:
    """Return the optimum of each target; `space` is K without the constant feature."""
    basis, roots = spectrum
    solved = solve_rows(np.ascontiguousarray(basis * roots), True, targets, intercept, tol)
    pairs = zip(targets, solved, strict=True)
    return [
        _certified(space, basis @ (optimum.vector / roots), target, optimum, intercept)
        for target, optimum in pairs
    ]


def _certified(
    space: KernelOperator, c: Array, target: Target, optimum: Optimum, intercept: Intercept
) -> Optimum:
    """Return the predictor with coefficients c, with F and G computed from K itself."""
    constant = 1.0 if intercept is Intercept.AUGMENTED else 0.0
    own = target.labels * optimum.dual
    products, own_products = space.scores(np.stack([c, own]), exact=True)
    losses = np.maximum(0.0, 1.0 - target.labels * (products + optimum.bias))
    primal = float(0.5 * (c @ products + constant * optimum.bias**2) + target.bounds @ losses)
    bound = float(optimum.dual.sum() - 0.5 * (own @ own_products + constant * own.sum() ** 2))
    return Optimum(c, optimum.bias, optimum.dual, primal, bound, optimum.rounds, optimum.history)
