"""Choose the solver for a problem: the first method of the table that applies, then its fallback.

SDCA runs epochs of coordinate ascent if few of them suffice. The table says which method takes
over from them, and when. Every choice depends on one predictor alone, so that it is the same in a
fit as in a sweep over many. `plan_.method` names the row, and docs/architecture.md shows the table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pegasos.engine.optimum.hinge.kernel_sources import ExplicitKernel
from pegasos.engine.optimum.hinge.kernel_working_sets import (
    BEFORE_FACTOR,
    SMALL_MATRIX,
    KernelWorkingSets,
    computes_rows,
    prepend_history,
)
from pegasos.engine.optimum.hinge.set_predictor import NO_LIMIT
from pegasos.engine.optimum.hinge.shrinking_ascent import solve_hinge_by_ascent
from pegasos.engine.optimum.hinge.working_set import WorkingSetSolver
from pegasos.engine.optimum.kernel_operator import KernelOperator
from pegasos.engine.optimum.newton_cg import solve_logistic_iteratively, solve_logistic_sparsely
from pegasos.engine.optimum.passes.limited_memory import solve_logistic_by_gradients
from pegasos.engine.optimum.passes.margin_rows import (
    LARGEST_SHARE,
    MANY_ROWS,
    ROWS_A_FEATURE,
    solve_margin_rows,
)
from pegasos.engine.optimum.passes.newton import solve_rows, workspace_bytes
from pegasos.engine.optimum.passes.passes import MOST_FEATURES
from pegasos.engine.optimum.problem import Intercept, Optimum, Problem, Target
from pegasos.engine.runtime.interruption import deadline_reached
from pegasos.engine.runtime.threads import our_threads

Array = np.ndarray[Any, Any]
#: Problem, targets, and coefficients y·a to start from -> optima; None for targets left to the
#: fallback.
Solve = Callable[[Problem, list[Target], Array | None], list[Optimum | None]]

#: Epochs before the rate of convergence is estimated: the first two depend on the order of rows.
WALKED_EPOCHS = 3
#: Rows of many features up to which working sets replace epochs; of more, a set has too few.
FEW_ROWS = 4000
#: Mean of C_i K_ii above which epochs converge slowly: there one epoch leaves a relative gap above
#: 0.1 (measured on USPS, digits and generated rows, Gaussian and polynomial kernels, all C).
CRAWLING_COST = 0.1


@dataclass(frozen=True)
class Condition:
    """A condition on a problem, with its text; conditions are joined by `&`."""

    text: str
    holds: Callable[[Problem], bool]

    def __and__(self, other: Condition) -> Condition:
        def both(problem: Problem) -> bool:
            return self.holds(problem) and other.holds(problem)

        return Condition(f"{self.text}, {other.text}", both)


@dataclass(frozen=True)
class Epochs:
    """Epochs of coordinate ascent before a method takes over.

    The method takes over when more than `patience` further epochs are needed; `are_skipped` tells
    for which targets no epoch is run at all.
    """

    text: str
    patience: Callable[[Problem], float] = lambda problem: 0.0
    are_skipped: Callable[[Problem, Target], bool] = lambda problem, target: False


@dataclass(frozen=True)
class Method:
    """A row of the table.

    The first method whose `applies_to` and `chosen_for` both hold is chosen; a fallback is taken
    wherever its `applies_to` holds.
    """

    name: str
    applies_to: Condition
    solve: Solve
    epochs: Epochs
    chosen_for: Condition = Condition("", lambda problem: True)
    fallback: str | None = None


def _has_few_features(problem: Problem) -> bool:
    """Tell whether a matrix of features x features is cheap and fits in memory."""
    rows = problem.rows
    if not problem.is_explicit or rows.width > MOST_FEATURES:
        return False
    # Bytes copied per number of X: for members, and for rows near the margin.
    near_margin = LARGEST_SHARE if problem.loss.linear_dual else 0.0
    copied = near_margin + (1.0 if problem.members is not None else 0.0)
    gathered = math.ceil(copied * rows.dtype.itemsize)
    return bool(workspace_bytes(problem.m, rows.width, 1, gathered) <= problem.memory)


def rows_above(count: int) -> Condition:
    """Return the condition that there are more training rows than this."""
    return Condition(f"more than {count:,} rows", lambda p: p.m > count)


hinge = Condition("hinge", lambda p: p.loss.name == "hinge")
logistic = Condition("logistic", lambda p: p.loss.name == "logistic")
csr = Condition("CSR features", lambda p: p.rows.is_sparse)
few_features = Condition(
    f"at most {MOST_FEATURES:,} features, workspace within memory", _has_few_features
)
tall = Condition("at most 2 features per row", lambda p: p.is_explicit and 2 * p.m >= p.rows.width)
stored = Condition("stored features", lambda p: not p.rows.is_mapped)
regularized = Condition("no free intercept", lambda p: p.intercept is not Intercept.FREE)
#: From there on rows near the margin are faster: 9 to 11 times on 200,000 x 50 rows.
many_rows = Condition(
    f"at least {MANY_ROWS:,} rows and {ROWS_A_FEATURE} per feature",
    lambda p: p.is_explicit and p.m >= max(MANY_ROWS, ROWS_A_FEATURE * p.rows.width),
)
#: L-BFGS instead of Newton: 2.6 to 4.3 times faster on wide rows.
wide = Condition("at least 300 features", lambda p: p.is_explicit and p.rows.width >= 300)
#: Newton-CG for the weights: 5 to 31 times faster on CSR rows, unless weights outnumber stored
#: values.
dense_enough = Condition(
    "a stored number per feature", lambda p: p.rows.is_sparse and p.rows.X.nnz >= p.rows.width
)


def on_features(solve: Callable[..., Sequence[Optimum | None]], starts: bool = False) -> Solve:
    """Adapt a solver of explicit features to the common signature."""

    def run(problem: Problem, targets: list[Target], start: Array | None) -> list[Optimum | None]:
        given = (targets, problem.intercept, problem.tol, problem.members)
        return [*solve(problem.rows.X, *given, *([start] if starts else []))]

    return run


def _margin_rows(problem: Problem, targets: list[Target], start: Any) -> list[Optimum | None]:
    given = (targets, problem.intercept, problem.tol, problem.members, problem.needs_dual)
    return solve_margin_rows(problem.rows.X, *given)


def _explicit_working_sets(
    problem: Problem, targets: list[Target], start: Any
) -> list[Optimum | None]:
    """Solve by working sets; the vectors of the optima are weights of features."""
    kernel, diagonal = ExplicitKernel(problem.rows), problem.rows.diagonal
    with our_threads():
        sets = WorkingSetSolver(kernel, diagonal, problem.intercept, problem.members)
        limit = BEFORE_FACTOR if _has_few_features(problem) else NO_LIMIT
        found = sets.solve(targets, problem.tol, start, limit=limit)
    operator = KernelOperator(problem.rows, problem.members, 0.0)
    weights = operator.vectors(np.stack([optimum.vector for optimum in found]))
    return [replace(optimum, vector=w) for optimum, w in zip(found, weights, strict=True)]


def _newton(problem: Problem, targets: list[Target], start: Any) -> list[Optimum | None]:
    given = (targets, problem.intercept, problem.tol, problem.members)
    return [*solve_rows(problem.rows.X, problem.loss.linear_dual, *given)]


def _working_sets(problem: Problem, targets: list[Target], start: Any) -> list[Optimum | None]:
    if problem.is_explicit:
        return _explicit_working_sets(problem, targets, start)
    return [*KernelWorkingSets(problem).solve(targets, start)]


def _newton_cg(problem: Problem, targets: list[Target], start: Any) -> list[Optimum | None]:
    given = (problem.intercept, problem.tol, problem.members)
    return [*solve_logistic_iteratively(problem.rows, targets, *given)]


def _sets_skip_epochs(problem: Problem, target: Target) -> bool:
    if problem.is_explicit:
        return False
    return computes_rows(problem) or problem.mean_cost(target) > CRAWLING_COST


def _patience_of_sets(problem: Problem) -> float:
    return math.inf if problem.is_explicit and problem.m > FEW_ROWS else 4.0


NO_EPOCHS = Epochs("none", are_skipped=lambda problem, target: True)
#: A method takes over if it is faster than the epochs still needed: it takes the time of about 4
#: (working sets, shrinking, Newton-CG on features) or 30 epochs (Newton-CG on a kernel).
FOUR_EPOCHS = Epochs("while at most 4 more are needed", lambda problem: 4.0)
FOUR_OR_THIRTY = Epochs(
    "while at most 4 (features) or 30 (kernels) more are needed",
    lambda problem: 4.0 if problem.is_explicit else 30.0,
)
SET_EPOCHS = Epochs(
    f"while at most 4 more are needed; kernels: up to {SMALL_MATRIX:,} rows and C K_ii = "
    f"{CRAWLING_COST}; more than {FEW_ROWS:,} rows of features: all",
    _patience_of_sets,
    _sets_skip_epochs,
)

METHODS = (
    Method(
        "rows near the margin",
        hinge & few_features & regularized & stored,
        _margin_rows,
        NO_EPOCHS,
        many_rows,
        "interior point",
    ),
    Method("interior point", hinge & few_features, _newton, NO_EPOCHS, tall),
    Method(
        "coordinate ascent with shrinking",
        hinge & csr & regularized,
        on_features(solve_hinge_by_ascent, starts=True),
        FOUR_EPOCHS,
        rows_above(FEW_ROWS),
        "working sets",
    ),
    Method("working sets", hinge, _working_sets, SET_EPOCHS, fallback="interior point"),
    Method(
        "L-BFGS",
        logistic & few_features & regularized & stored,
        on_features(solve_logistic_by_gradients),
        NO_EPOCHS,
        tall & wide,
        "Newton",
    ),
    Method("Newton", logistic & few_features, _newton, NO_EPOCHS, tall),
    Method(
        "Newton-CG for the weights",
        logistic & csr & regularized,
        on_features(solve_logistic_sparsely),
        NO_EPOCHS,
        rows_above(FEW_ROWS) & dense_enough,
        "Newton-CG",
    ),
    Method("Newton-CG", logistic, _newton_cg, FOUR_OR_THIRTY, fallback="Newton"),
)


def choose_method(problem: Problem) -> Method:
    """Return the first method of `METHODS` whose conditions the problem meets."""
    for method in METHODS:
        if method.applies_to.holds(problem) and method.chosen_for.holds(problem):
            return method
    raise ValueError(f"no method solves the loss {problem.loss.name!r} to its optimum.")


def find_method(name: str) -> Method:
    """Return the method of this name."""
    return next(method for method in METHODS if method.name == name)


class ExactSolver:
    """The method of a problem: when it takes over from epochs, and its solutions.

    Parameters
    ----------
    problem : Problem
        The rows, the loss and the tolerance.
    warm_path : bool
        Whether the predictors of a kernel are solved along λ, without epochs.
    """

    def __init__(self, problem: Problem, warm_path: bool = False) -> None:
        self.problem, self.method = problem, choose_method(problem)
        self.warm_path = warm_path and not problem.is_explicit
        self._kernel_sets: KernelWorkingSets | None = None

    def skips_epochs(self, targets: list[Target]) -> Array:
        """Tell for which targets epochs are skipped."""
        if self.problem.intercept is Intercept.FREE or self.warm_path:
            return np.ones(len(targets), dtype=bool)
        are_skipped = self.method.epochs.are_skipped
        return np.array([are_skipped(self.problem, target) for target in targets], dtype=bool)

    def should_switch(self, gaps: list[Array]) -> Array:
        """Tell for which predictors the method is faster, by their gaps after the last epochs."""
        if len(gaps) < WALKED_EPOCHS:
            return np.zeros(gaps[-1].shape, dtype=bool)
        past, now, tol = gaps[-3], gaps[-1], self.problem.tol
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.log(now / past) / 2
            needed = np.where(rate < 0, np.log(tol / now) / rate, np.inf)
        return np.asarray((now > tol) & (needed > self.method.epochs.patience(self.problem)))

    def solve(
        self, targets: list[Target], start: Array | None, names: list[int] | None = None
    ) -> list[Optimum]:
        """Solve all targets; `start` are coefficients y·a (targets x members).

        On a kernel scores are kept under `names`: a later call with the same names that starts near
        these optima is cheaper.
        """
        if names is not None and self._solves_kernel_by_sets:
            if self._kernel_sets is None:
                self._kernel_sets = KernelWorkingSets(self.problem)
            found = self._kernel_sets.solve(targets, start, names)
            return [_named(optimum, self.method.name) for optimum in found]
        return self._solve(self.method, targets, start)

    def _solve(self, method: Method, targets: list[Target], start: Array | None) -> list[Optimum]:
        found = method.solve(self.problem, targets, start)
        found = [None if each is None else _named(each, method.name) for each in found]
        tol = self.problem.tol
        is_over = deadline_reached()
        unconverged = [
            k
            for k, each in enumerate(found)
            if each is None or not (each.relative <= tol or is_over)
        ]
        fallback = None if method.fallback is None else find_method(method.fallback)
        in_time = not deadline_reached() or None in found
        if unconverged and fallback and in_time and fallback.applies_to.holds(self.problem):
            starts = np.zeros((len(unconverged), self.problem.m))
            for row, k in enumerate(unconverged):
                before = found[k]
                if before is not None and before.bound > 0.0:
                    starts[row] = targets[k].labels * before.dual
                elif start is not None:
                    starts[row] = start[k]
            own = [targets[k] for k in unconverged]
            again = self._solve(fallback, own, starts if starts.any() else None)
            for k, optimum in zip(unconverged, again, strict=True):
                before = found[k]
                if before is None:
                    found[k] = optimum
                elif abs(optimum.relative) < before.relative:
                    found[k] = prepend_history(before, optimum)
        solved = [each for each in found if each is not None]
        assert len(solved) == len(targets)
        return solved

    @property
    def follows_path(self) -> bool:
        """Whether predictors without epochs are solved along the path of λ.

        On few rows they are not, so that the cells of a sweep equal separate fits.
        """
        return self._solves_kernel_by_sets and self.problem.m > SMALL_MATRIX

    @property
    def _solves_kernel_by_sets(self) -> bool:
        return self.method.name == "working sets" and not self.problem.is_explicit

    def solve_path(self, targets: list[Target], classes: list[int]) -> list[Optimum]:
        """Solve the predictors of each class along λ, each from the optimum of the one before."""
        paths: dict[int, list[int]] = {}
        for place in np.argsort([target.bounds.sum() for target in targets], kind="stable"):
            paths.setdefault(classes[place], []).append(int(place))
        found: dict[int, Optimum] = {}
        for step in range(max(map(len, paths.values()))):
            names = [name for name, places in paths.items() if step < len(places)]
            now = [paths[name][step] for name in names]
            start = None
            if step:
                pairs = [(paths[name][step], paths[name][step - 1]) for name in names]
                start = np.stack([self._scaled_start(targets, found, *pair) for pair in pairs])
            solved = self.solve([targets[place] for place in now], start, names)
            found |= zip(now, solved, strict=True)
        return [found[place] for place in range(len(targets))]

    def _scaled_start(
        self, targets: list[Target], found: dict[int, Optimum], place: int, before: int
    ) -> Array:
        """Return y·a to start target `place` from the optimum of target `before`, of smaller C.

        With the hinge loss, coefficients at the old bound move to the new one. With a free
        intercept they keep their values, so that Σ a_i y_i remains 0.
        """
        a, old, new = found[before].dual, targets[before].bounds, targets[place].bounds
        if self.problem.intercept is not Intercept.FREE and self.problem.loss.linear_dual:
            a = np.where(a >= old, new, np.minimum(a, new))
        return np.asarray(targets[place].labels * a)


def _named(optimum: Optimum, name: str) -> Optimum:
    return optimum if optimum.method else replace(optimum, method=name)
