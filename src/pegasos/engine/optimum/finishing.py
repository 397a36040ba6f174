"""Which method takes over where coordinate ascent crawls, and when: a choice by the rows, the loss and how fast the gap falls.

    hinge     few features: interior point, on very many rows for those near the margin; many sparse rows: coordinate ascent
              that skips rows at rest; else working sets
    logistic  few features: Newton's method (if not so few: gradients first); else Newton's method with conjugate gradients,
              for the weights of many sparse rows at once

"Few" means that a matrix of features x features is cheap: then not one epoch is worth while. Every choice is made for one
predictor by itself, so that it is the same in a fit as in a sweep over many of them. A sweep has its kernel matrices anyway; a
fit on many rows for which no epoch is worth while computes only the lines that working sets need, if a sample tells that these
will be few.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.engine.optimum.function_space import FunctionSpace
from pegasos.engine.optimum.hinge.factored import (
    LARGEST_RANK,
    Spectrum,
    low_rank_spectrum,
    solve_by_factor,
    spectrum_of,
)
from pegasos.engine.optimum.hinge.held_rows import LARGEST_SHARE, solve_hinge_on_many
from pegasos.engine.optimum.hinge.interior_point import workspace_bytes
from pegasos.engine.optimum.hinge.kernel_sources import (
    ROWS_AT_ONCE,
    SMALL_MATRIX_BYTES,
    CachedKernel,
    KernelSource,
    RoundedKernel,
    StoredKernel,
    kernel_source,
)
from pegasos.engine.optimum.hinge.resting_rows import solve_hinge_by_ascent
from pegasos.engine.optimum.hinge.sample_start import TOO_FEW, predict_coefficients
from pegasos.engine.optimum.hinge.working_set import Limit, WorkingSetSolver
from pegasos.engine.optimum.logistic.limited_memory import solve_logistic_by_gradients
from pegasos.engine.optimum.logistic.newton import solve_logistic
from pegasos.engine.optimum.logistic.sparse_newton import solve_logistic_sparsely
from pegasos.engine.optimum.logistic.truncated_newton import solve_logistic_iteratively
from pegasos.engine.optimum.passes.passes import MOST_FEATURES
from pegasos.engine.optimum.problem import Intercept, Optimum, Target
from pegasos.engine.rows.mapped import MappedRows
from pegasos.engine.rows.sources import ExplicitRows, GramRows, KernelRows
from pegasos.engine.runtime.threads import our_threads
from pegasos.engine.walk.losses import Loss

Array = np.ndarray[Any, Any]

#: Rows for each feature that make a square matrix of features worth while.
ROWS_A_FEATURE = 0.5
#: Explicit rows of many features up to which working sets follow epochs: on more rows a set holds
#: too small a part of them.
FEW_ROWS = 4000
#: Features from which gradients alone are tried first for the logistic loss.
GRADIENTS_FROM = 300
#: Epochs before the pace of a gap is believed, and how many more make another method worth while: working sets (on explicit
#: features of more rows than a set can hold epochs are always better), conjugate gradients on kernels, and on explicit features,
#: where an epoch takes the time of some twenty products.
WALKED_EPOCHS = 3
EPOCHS_WORTH_SETS, EPOCHS_WORTH_ITERATING, EPOCHS_WORTH_PRODUCTS = 4.0, 30.0, 4.0
#: The same for epochs that skip rows at rest.
EPOCHS_WORTH_RESTING = 4.0
#: Rows up to which a factor of the whole kernel matrix is made, and how long working sets go on before one is thought of: rounds,
#: and steps times rows, at most as many as the matrix of a known rank has products.
FACTORED_ROWS, BEFORE_FACTOR = 1500, Limit(40, 3e9)
#: Mean of C_i K_ii above which epochs crawl: one epoch leaves a relative gap above 0.1 from there on
#: (measured on USPS, digits and generated rows with Gaussian and polynomial kernels, all C); and up
#: to which a sample predicts coefficients: there one epoch leaves a gap of 0.9.
CRAWLING_COST, PREDICTED_COST = 0.1, 10.0
#: Rows up to which epochs are walked on a kernel matrix; the smallest tolerance for which it may be rounded at first.
SMALL_MATRIX, LEAST_ROUNDED_GAP = 1500, 1e-7
#: A matrix instead of a cache of rows: for so many predictors, or if the start has so large a share
#: of nonzero coefficients (a row of the cache is computed whole, of the matrix one half only); and
#: bytes of either at most: fresh memory may cost seconds per GB.
PREDICTORS_WORTH_MATRIX, SHARE_WORTH_MATRIX, MOST_KERNEL_BYTES = 3, 0.15, 2**30


class Finisher:
    """The method that solves predictors on these rows: `members` of them are the training rows (None: all)."""

    def __init__(
        self,
        rows: Any,
        loss: Loss,
        intercept: Intercept,
        tol: float,
        members: Array | None,
        memory: int,
        warm_path: bool = False,
    ) -> None:
        self._rows, self._loss, self._intercept, self._tol = rows, loss, intercept, tol
        self._members, self._memory = members, memory
        self.warm_path = warm_path and not isinstance(rows, ExplicitRows)
        self._m = rows.count if members is None else len(members)
        self._explicit = isinstance(rows, ExplicitRows)
        few = (
            self._explicit
            and rows.width <= MOST_FEATURES
            and self._m >= ROWS_A_FEATURE * rows.width
        )
        # bytes of each number that are copied: of members, and of rows near the margin
        copied = 1.0 if members is not None else LARGEST_SHARE if loss.linear_dual else 0.0
        gathered = math.ceil(copied * rows.dtype.itemsize)
        self.second_order = (
            bool(few) and workspace_bytes(self._m, rows.width, 1, gathered) <= memory
        )
        # steps of dense rows cost less than to skip them, and one by one coefficients cannot keep their sum
        self._resting = (
            loss.linear_dual and self._explicit and sparse.issparse(rows.X) and self._m > FEW_ROWS
        )
        self._resting &= not self.second_order and intercept is not Intercept.FREE
        # products with all rows are faster than as many steps with single ones, unless there are few or their weights are many
        self._sparse = (
            not loss.linear_dual
            and self._explicit
            and sparse.issparse(rows.X)
            and rows.X.nnz >= rows.width
        )
        self._sparse &= (
            self._m > FEW_ROWS and not self.second_order and intercept is not Intercept.FREE
        )
        self._sets: WorkingSetSolver | None = None
        self._factored = False

    @property
    def method(self) -> str:
        """The method in words."""
        if self._resting:
            return "coordinate ascent without the rows at rest"
        if self._loss.linear_dual:
            sets = (
                "working sets and an interior point method on a factor of the kernel matrix"
                if self._factored
                else "working sets"
            )
            return "an interior point method" if self.second_order else sets
        return (
            "Newton's method" if self.second_order else "Newton's method with conjugate gradients"
        )

    def solve(
        self, targets: list[Target], start: Array | None, names: list[int] | None = None
    ) -> list[Optimum]:
        """All targets to their optimum; `start` are dual coefficients y·a to begin with (targets x members), where that helps.

        With `names` a later call that starts near the end of this one, under the same names, is cheaper.
        """
        common = (targets, self._intercept, self._tol, self._members)
        if self.second_order:
            return (
                solve_hinge_on_many(self._rows.X, *common)
                if self._loss.linear_dual
                else self._solve_logistic(targets)
            )
        if self._sparse:
            return self._solve_sparsely(targets, start)
        if not self._loss.linear_dual:
            return solve_logistic_iteratively(self._rows, *common, start)
        if self._resting:
            return self._solve_by_ascent(targets, start)
        with our_threads():
            return self._solve_by_sets(targets, start, names)

    def _solve_by_ascent(self, targets: list[Target], start: Array | None) -> list[Optimum]:
        """Solve by coordinate ascent; predictors that stall go on by working sets."""
        common = (targets, self._intercept, self._tol, self._members)
        found = solve_hinge_by_ascent(self._rows.X, *common, start)
        for place in self._late(found):
            target = targets[place]
            with our_threads():
                (again,) = self._solve_by_sets(
                    [target], (target.labels * found[place].dual)[None], None
                )
            if again.relative < found[place].relative:
                found[place] = _after(found[place], again)
        return found

    def _solve_by_sets(
        self, targets: list[Target], start: Array | None, names: list[int] | None
    ) -> list[Optimum]:
        if start is None and self._by_rows and self._m > TOO_FEW:
            start = self._predict_coefficients(targets)
        if self._sets is None or names is None:
            self._sets = WorkingSetSolver(
                self._make_kernel(targets, start),
                self._rows.diagonal,
                self._intercept,
                self._members,
            )
        if self._explicit:
            return [
                self._with_weights(optimum)
                for optimum in self._sets.solve(targets, self._tol, start, names)
            ]
        limit = BEFORE_FACTOR
        if self._rank is not None:
            limit = limit._replace(effort=min(limit.effort, float(self._m * self._rank**2)))
        found = self._sets.solve(targets, self._tol, start, names, limit)
        self._take_factor(targets, found)
        if self._m > FACTORED_ROWS:
            self._go_on(targets, found, list(range(len(targets))) if names is None else names)
        return found

    @property
    def path_pays(self) -> bool:
        """Whether those who walk no epoch are better solved one λ after the other; on few rows cells do not depend on others."""
        return self._loss.linear_dual and not self._explicit and self._m > SMALL_MATRIX

    def solve_path(self, targets: list[Target], classes: list[int]) -> list[Optimum]:
        """The same along the path of λ: the predictors of a class one after the other, each from where the one before ended."""
        turns: dict[int, list[int]] = {}
        for place in np.argsort([target.bounds.sum() for target in targets], kind="stable"):
            turns.setdefault(classes[place], []).append(int(place))
        found: dict[int, Optimum] = {}
        for step in range(max(map(len, turns.values()))):
            names = [name for name, places in turns.items() if step < len(places)]
            now = [turns[name][step] for name in names]
            start = None
            if step:
                start = np.stack(
                    [
                        self._continued(targets, found, turns[name][step], turns[name][step - 1])
                        for name in names
                    ]
                )
            found |= zip(
                now, self.solve([targets[place] for place in now], start, names), strict=True
            )
        return [found[place] for place in range(len(targets))]

    def _continued(
        self, targets: list[Target], found: dict[int, Optimum], place: int, before: int
    ) -> Array:
        """Coefficients to begin with: those at the smaller C; who was at the bound goes to the new one unless sums must stay."""
        a, old, new = found[before].dual, targets[before].bounds, targets[place].bounds
        if self._intercept is not Intercept.FREE and self._loss.linear_dual:
            a = np.where(a >= old, new, np.minimum(a, new))
        return np.asarray(targets[place].labels * a)

    def _solve_logistic(self, targets: list[Target]) -> list[Optimum]:
        """Newton's method; on wide rows gradients come first, one target after the other, until they fail for one."""
        X, given = self._rows.X, (self._intercept, self._tol, self._members)
        found: list[Optimum] = []
        if (
            self._rows.width >= GRADIENTS_FROM
            and self._intercept is not Intercept.FREE
            and not isinstance(X, MappedRows)
        ):
            for target in targets:
                optimum = solve_logistic_by_gradients(X, target, *given)
                if optimum is None:
                    break
                found.append(optimum)
        late = targets[len(found) :]
        return [*found, *(solve_logistic(X, late, *given) if late else [])]

    def _solve_sparsely(self, targets: list[Target], start: Array | None) -> list[Optimum]:
        """Newton's method for the weights; who does not arrive goes on in the space of the rows' coefficients."""
        given = (self._intercept, self._tol, self._members)
        found = solve_logistic_sparsely(self._rows.X, targets, *given)
        for place in self._late(found):
            own = None if start is None else start[place : place + 1]
            (again,) = solve_logistic_iteratively(self._rows, [targets[place]], *given, own)
            if again.relative < found[place].relative:
                found[place] = _after(found[place], again)
        return found

    def _take_factor(self, targets: list[Target], found: list[Optimum]) -> None:
        """Those that have not arrived by an interior point method on a factor of the matrix, if it has one and that is better."""
        late = self._late(found)
        spectrum = self._spectrum if late else None
        if spectrum is None:
            return
        solved = solve_by_factor(
            spectrum, self._space, [targets[place] for place in late], self._intercept, self._tol
        )
        for place, optimum in zip(late, solved, strict=True):
            if abs(optimum.relative) < found[place].relative:
                found[place] = _after(found[place], optimum)
                self._factored = True

    def _go_on(self, targets: list[Target], found: list[Optimum], names: list[int]) -> None:
        """Those that still have not arrived by sets again, from where they are."""
        late = self._late(found)
        if not late:
            return
        assert self._sets is not None
        start = np.stack([targets[place].labels * found[place].dual for place in late])
        solved = self._sets.solve(
            [targets[place] for place in late], self._tol, start, [names[place] for place in late]
        )
        for place, optimum in zip(late, solved, strict=True):
            if optimum.relative < found[place].relative:
                found[place] = _after(found[place], optimum)

    def _late(self, found: list[Optimum]) -> list[int]:
        return [place for place, optimum in enumerate(found) if optimum.relative > self._tol]

    @cached_property
    def _space(self) -> FunctionSpace:
        rows = self._kernel_rows  # in float64: rounding of float32 has no low rank
        return FunctionSpace(self._rows if rows is None else rows.doubled(), self._members, 0.0)

    @property
    def _kernel_rows(self) -> KernelRows | None:
        """Rows that compute their kernel; None for a matrix alone."""
        rows = (
            self._rows.flying
            if isinstance(self._rows, GramRows) and self._rows.has_rows
            else self._rows
        )
        return rows if isinstance(rows, KernelRows) else None

    @cached_property
    def _rank(self) -> int | None:
        """The rank of the kernel matrix, if it is known and low."""
        rows = self._kernel_rows
        rank = None if rows is None else rows.kernel.rank(rows.X.shape[1])
        return rank if rank is not None and 2 * rank <= self._m and rank <= LARGEST_RANK else None

    @cached_property
    def _spectrum(self) -> Spectrum | None:
        """Of few rows always, of many if their rank is low."""
        if self._m <= FACTORED_ROWS:
            return spectrum_of(self._cross(np.arange(self._m)))
        return (
            low_rank_spectrum(self._space, self._memory, self._rank)
            if self._space.rows.dtype == np.float64
            else None
        )

    def _with_weights(self, optimum: Optimum) -> Optimum:
        """The same optimum with the weights of the features that its coefficients of rows are."""
        weights = np.zeros(self._rows.width)
        used = np.flatnonzero(optimum.vector)
        for start in range(0, len(used), ROWS_AT_ONCE):
            part = used[start : start + ROWS_AT_ONCE]
            block = self._rows.X[part if self._members is None else self._members[part]]
            weights += block.T.astype(np.float64) @ optimum.vector[part]
        return replace(optimum, vector=weights)

    def straight(self, targets: list[Target]) -> Array:
        """For which targets not even one epoch is worth while."""
        if self._intercept is Intercept.FREE or self.warm_path:
            return np.ones(len(targets), dtype=bool)
        if self.second_order or self._explicit or not self._loss.linear_dual:
            return np.full(len(targets), self.second_order or self._sparse)
        return np.array([self._by_rows or self._cost(each) > CRAWLING_COST for each in targets])

    def _cost(self, target: Target) -> float:
        """Return the mean of C_i K_ii, which tells how fast coordinate ascent converges."""
        diagonal = self._rows.diagonal
        own = diagonal if self._members is None else diagonal[self._members]
        constant = 1.0 if self._intercept is Intercept.AUGMENTED else 0.0
        return float(target.bounds @ (own + constant)) / self._m

    @property
    def _by_rows(self) -> bool:
        """Whether there are many rows and no matrix yet: then no epoch is walked."""
        if self._explicit or not self._loss.linear_dual or self._m <= SMALL_MATRIX:
            return False
        return self._rows.pending if isinstance(self._rows, GramRows) else not self._rows.shared

    def _predict_coefficients(self, targets: list[Target]) -> Array | None:
        """Return coefficients that a sample predicts: most are right unless C is large."""
        easy = [k for k, target in enumerate(targets) if self._cost(target) <= PREDICTED_COST]
        if self._intercept is Intercept.FREE or not easy:
            return None
        rows = self._rows.flying if isinstance(self._rows, GramRows) else self._rows
        rows = rows.rounded() if self._may_round and rows.can_be_rounded else rows
        rows = rows if self._members is None else rows.some(self._members)
        start = np.zeros((len(targets), self._m))
        given = ([targets[k] for k in easy], self._intercept, self._memory)
        start[easy] = predict_coefficients(rows, *given)
        return start

    def worth(self, gaps: list[Array]) -> Array:
        """For which predictors, by their gaps after the last epochs, walking on would take longer than the other method."""
        if len(gaps) < WALKED_EPOCHS:
            return np.zeros(gaps[-1].shape, dtype=bool)
        past, now = gaps[-3], gaps[-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            pace = np.log(now / past) / 2
            needed = np.where(pace < 0, np.log(self._tol / now) / pace, np.inf)
        return np.asarray((now > self._tol) & (needed > self._epochs_worth()))

    def _epochs_worth(self) -> float:
        if self.second_order:
            return 0.0
        if not self._loss.linear_dual:
            return EPOCHS_WORTH_PRODUCTS if self._explicit else EPOCHS_WORTH_ITERATING
        if self._resting:
            return EPOCHS_WORTH_RESTING
        return np.inf if self._explicit and self._m > FEW_ROWS else EPOCHS_WORTH_SETS

    # -- a sample of the rows ------------------------------------------------------------------------------------------

    def _of_all(self, sample: Array) -> Array:
        """Places among all rows of places among the training rows."""
        return sample if self._members is None else self._members[sample]

    def _cross(self, sample: Array) -> Array:
        index = self._of_all(sample)
        return np.ascontiguousarray(self._rows.between(index, index))

    @property
    def _may_round(self) -> bool:
        # Few rows give the same model whether their matrix fits the memory or not.
        return self._tol >= LEAST_ROUNDED_GAP and self._m > SMALL_MATRIX

    def _make_kernel(self, targets: list[Target], start: Array | None) -> KernelSource:
        """Return a matrix where most of it is needed, else a cache of kernel rows."""
        rows = self._rows
        if not isinstance(rows, GramRows) or not self._by_rows:
            return kernel_source(rows, self._memory, self._may_round)
        flying = rows.flying
        rounded = self._may_round and flying.can_be_rounded
        row_bytes = rows.count * (4 if rounded else rows.dtype.itemsize)
        share = 0.0 if start is None else np.count_nonzero(start.any(axis=0)) / self._m
        wanted = len(targets) >= PREDICTORS_WORTH_MATRIX or share >= SHARE_WORTH_MATRIX
        if rows.count * row_bytes <= (MOST_KERNEL_BYTES if wanted else SMALL_MATRIX_BYTES):
            return RoundedKernel(flying) if rounded else StoredKernel(rows.K)
        return CachedKernel(flying, MOST_KERNEL_BYTES // row_bytes, rounded)


def _after(before: Optimum, optimum: Optimum) -> Optimum:
    """An optimum that another method went on to: the rounds and the course of both."""
    return replace(
        optimum, rounds=before.rounds + optimum.rounds, course=before.course + optimum.course
    )
