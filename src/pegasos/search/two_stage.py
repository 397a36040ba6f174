"""TwoStageSearchCV: all settings on a sample of the rows, then the best ones on all rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from pegasos.engine.kernels.standard import Polynomial
from pegasos.engine.runtime.interruption import Interrupted, interruptible
from pegasos.estimates import standard_error
from pegasos.learners.task import is_precomputed
from pegasos.search.evaluation import Evaluation
from pegasos.search.grid import STOP, STRENGTH, WIDTH, Cell, make_groups, roughness
from pegasos.search.sweep import SweepCV
from pegasos.search.units import Problem, stratified
from pegasos.sklearn_private import check_method_params, safe_indexing

Array = np.ndarray[Any, Any]

#: The share of `max_time` for the search; the rest is for the refit.
SEARCH_SHARE = 0.7
#: Families in the second stage at most, and by how many standard errors (of the paired difference
#: over folds) the best setting of a family may be behind the best of all.
FAMILIES, BEHIND = 2, 2.0
#: Scores that differ by less are equal: sums over folds are rounded.
EQUAL = 1e-12
#: Rows of the first refit within a time limit, and their ratio in successive refits. A fit takes at
#: least linear time, so smaller refits together take at most two thirds of the last one's time.
FIRST_ROWS, GROWTH = 400, 4


@dataclass(eq=False, repr=False, kw_only=True)
class TwoStageSearchCV(SweepCV):
    """Search a grid in two stages, then refine around the best setting.

    Stage 1 evaluates every setting of the grid by cross-validation on the same rows: all of them,
    or a stratified sample of `first_rows`, on which each fold keeps its rows (and groups). Stage 2
    evaluates the best setting of at most two families (learner and type of kernel) that are not
    clearly behind, and their neighbors in the grid, on all rows, at most `max_rows`; then the
    `variants` of these best settings, and of their neighbors along λ or C. Then up to `refinements`
    rounds evaluate half steps (in log10) of λ and of the kernel's variance around the best setting,
    until the score stops rising by more than its standard error. The best setting is refitted on
    all rows.

    With fewer rows λ is larger by the same factor, so that C = 1/(λ Σω) is the same. Of settings
    with equal scores the simplest one is chosen: linear before polynomial before Gaussian, wide
    before narrow, large before small λ.

    Parameters
    ----------
    estimator : Pegasos, Perceptron, SDCA, Pipeline or DropOutliers
        As in `SweepCV`, like all parameters that are not listed here.
    param_grid : dict or list of dict
        The settings.
    max_time : float, optional
        Seconds for search and refit together. When they are over, the best setting so far is
        chosen; there always is one.
    first_rows : int, default=2000
        Rows of the first stage.
    max_rows : int, default=20_000
        Rows of the second stage.
    refinements : int, default=3
        Rounds of half steps; 0 for none.
    variants : list of dict, default=()
        Other values of parameters, such as `{"multiclass": "one-vs-one"}`, which only the second
        stage tries, one after the other, each around the best settings so far.
    exhaustive : bool, default=False
        Evaluate all settings of the grid on all rows, and no others. A first stage takes place only
        where `max_time` is given.

    Attributes
    ----------
    cv_results_ : dict
        As in `SweepCV`, on the rows of the second stage; nan for settings that only the first stage
        evaluated. `stage` is 3 for variants and half steps, 2 for other settings of the second
        stage, else 1. If the first stage used a sample, its scores are `split0_first_score`, ...,
        `mean_first_score` and `std_first_score`.
    first_rows_, search_rows_ : int
        Rows of the first and of the second stage.
    decided_by_ : {"folds", "sample"}
        "sample" if time was over before stage 2 had evaluated the best setting of stage 1.
    refit_rows_ : int
        Rows that `best_estimator_` was fitted to; fewer than all only if time was over.

    See Also
    --------
    SweepCV : Evaluate a complete grid.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pegasos import SDCA, TwoStageSearchCV
    >>> X, y = load_digits(return_X_y=True)
    >>> grid = {"kernel": ["linear", "gaussian"], "lam": [1e-5, 1e-3, 1e-1]}
    >>> search = TwoStageSearchCV(SDCA(tol=0.01, random_state=0), grid, cv=3, first_rows=500)
    >>> search.fit(X, y).best_params_["kernel"]
    'gaussian'
    >>> search.first_rows_, search.cv_results_["stage"].tolist()[:6]
    (500, [1, 1, 1, 2, 2, 1])
    """

    first_rows: int = 2000
    max_rows: int = 20_000
    refinements: int = 3
    variants: Sequence[dict[str, Any]] = ()
    exhaustive: bool = False

    def _search(self, cells: list[Cell], problem: Problem, scoring: tuple[Any, Any]) -> Evaluation:
        self._started, self.completed_, self.decided_by_ = time.monotonic(), True, "folds"
        codes, self._first, self._grid = problem.codes, None, cells
        whole = any(is_precomputed(cell.learner.kernel) for cell in cells)
        rows = None
        if not (self.exhaustive or whole) and len(codes) > self.max_rows:
            rows = stratified(codes, self.max_rows)
            problem = problem.restrict(rows)
        self.search_rows_ = len(codes) if rows is None else len(rows)
        self.first_rows_ = self.search_rows_ if whole else min(self.first_rows, self.search_rows_)
        if self.first_rows_ < len(codes) and not (self.exhaustive and self.max_time is None):
            sample = stratified(codes, self.first_rows_)
            sampled = problem.restrict(sample)
            if sampled.splits:
                with Evaluation(self, cells, sampled, scoring, sample) as self._first:
                    self._evaluate_all(self._first)
        with Evaluation(self, cells, problem, scoring, rows) as evaluation:
            return self._second_stage(evaluation)

    def _run(self, evaluation: Evaluation, cells: list[Cell]) -> None:
        """Evaluate cells if there is time left."""
        if self.completed_ and cells:
            share = None if self.max_time is None else SEARCH_SHARE * self.max_time
            until = None if share is None else self._started + share
            self.completed_ = evaluation.run(cells, until)

    def _evaluate_all(self, evaluation: Evaluation) -> None:
        """Evaluate the grid; its first walk without a time limit, so that a cell is complete."""
        groups = [self._grid] if self.max_time is None else make_groups(self._grid)
        evaluation.run(groups[0])
        self._run(evaluation, [cell for group in groups[1:] for cell in group])

    def _second_stage(self, evaluation: Evaluation) -> Evaluation:
        """Evaluate the leading settings (or all), then refine; return what to choose from."""
        chosen = self._grid
        if self._first is None:
            self._evaluate_all(evaluation)
        else:
            leader = chosen[_best(self._first.values())]
            if not self.exhaustive:
                near = self._leading(self._first, (STRENGTH, WIDTH, STOP))
                chosen = list({cell.number: cell for part in near for cell in part}.values())
            # The family of the best setting comes first, in case time runs out.
            for first in (True, False):
                own = [cell for cell in chosen if (cell.family == leader.family) == first]
                self._run(evaluation, own)
            if not evaluation.complete()[leader.number]:
                self.decided_by_ = "sample"
                return self._first
        if not self.exhaustive:
            for params in self.variants:
                self._evaluate(evaluation, self._make_variants(evaluation, params))
            self._refine(evaluation)
        return evaluation

    def _leading(self, evaluation: Evaluation, axes: Sequence[int]) -> list[list[Cell]]:
        """Return the best cell of each family not clearly behind, followed by its neighbors."""
        scores, found = evaluation.values(), dict[Any, Cell]()
        means, leader = scores.mean(axis=1), _best(scores)
        for number in np.argsort(-means, kind="stable"):
            behind, cell = scores[leader] - scores[number], evaluation.cells[number]
            if np.isfinite(means[number]) and behind.mean() <= BEHIND * standard_error(behind):
                found.setdefault(cell.family, cell)
        best = list(found.values())[:FAMILIES]
        return [[cell, *cell.neighbors(evaluation.cells, axes)] for cell in best]

    def _make_variants(self, evaluation: Evaluation, params: dict[str, Any]) -> list[Cell]:
        """Return a variant of the leading settings and of their neighbors along λ or C."""
        found = []
        for near in self._leading(evaluation, [STRENGTH]):
            scales_rows = not any(name.startswith(near[0].parts.prefix) for name in params)
            if scales_rows and isinstance(near[0].setting.kernel, Polynomial):
                continue  # unscaled outliers raised to a power: one fit took minutes
            found += [cell.replace(params) for cell in near]
        return found

    def _evaluate(self, evaluation: Evaluation, cells: list[Cell]) -> bool:
        """Evaluate cells that may be new; return whether any was missing."""
        if not self.completed_:
            return False
        asked = dict[int, Cell]()
        for cell in cells:
            known = next((each for each in evaluation.cells if cell.is_near(each)), cell)
            if known is cell:
                cell.number = len(evaluation.cells)
                evaluation.extend([cell])
            asked[known.number] = known
        complete = evaluation.complete()
        missing = [cell for number, cell in asked.items() if not complete[number]]
        self._run(evaluation, missing)
        return bool(missing) and self.completed_

    def _refine(self, evaluation: Evaluation) -> None:
        """Evaluate half steps around the best setting, as long as they help by more than noise."""
        for _ in range(self.refinements):
            best = _best(evaluation.values())
            if not self._evaluate(evaluation, evaluation.cells[best].half_steps(self._grid)):
                return
            scores = evaluation.values()
            gain = scores[_best(scores)] - scores[best]
            if gain.mean() <= standard_error(gain):
                return

    def _choose(self, evaluation: Evaluation, metric: Any) -> None:
        super()._choose(evaluation, metric)
        first, count = self._first, len(evaluation.cells)
        second = evaluation.complete() & (first is not None and evaluation is not first)
        fresh = np.arange(count) >= len(self._grid)
        self.cv_results_["stage"] = np.where(fresh, 3, np.where(second, 2, 1))
        if first is not None:
            scores = np.full((count, first.folds), np.nan)
            scores[: len(self._grid)] = first.values()
            self.cv_results_ |= {f"split{k}_first_score": each for k, each in enumerate(scores.T)}
            self.cv_results_["mean_first_score"] = scores.mean(axis=1)
            self.cv_results_["std_first_score"] = scores.std(axis=1)
        del self._first, self._grid

    def _best_index(self, metric: Any) -> int:
        best, cells = super()._best_index(metric), self.cells_
        if callable(self.refit):
            return best
        scores = self.cv_results_[f"mean_test_{metric}"]
        kinds = [replace(cell.setting.walk, kernel=None) for cell in cells]

        def simplicity(number: int) -> Any:
            setting, place = cells[number].setting, kinds.index(kinds[number])
            return (*roughness(setting), place, -setting.strength)

        tied = np.flatnonzero(scores >= scores[best] - EQUAL)
        return min(map(int, tied), key=simplicity)

    def _fit_best(self, estimator: Any, X: Any, y: Any, fit_params: Any) -> Any:
        until = None if self.max_time is None else self._started + self.max_time
        given = (estimator, X, y, self._truth, fit_params, until)
        model, self.refit_rows_ = fit_in_time(*given)
        return model


def _best(scores: Array) -> int:
    """Return the cell with the best mean over folds."""
    return int(np.nanargmax(scores.mean(axis=1)))


def fit_in_time(
    estimator: Any, X: Any, y: Any, codes: Array, params: Any, until: float | None
) -> tuple[Any, int]:
    """Fit an estimator to as many rows as possible before a moment of the monotonic clock.

    With a limit it is fitted to 400 rows first, in any case, then to more; the last fit that ends
    in time is returned, with its number of rows.
    """
    model, known, size = None, 0, FIRST_ROWS
    try:
        while until is not None and 2 * size <= len(codes):
            rows = stratified(codes, size)
            given = check_method_params(X, params=params, indices=rows)
            part = safe_indexing(X, rows), safe_indexing(y, rows)
            with limited(until if known else None):
                model, known = clone(estimator).fit(*part, **given), size
            size *= GROWTH
        with limited(until if known else None):
            return clone(estimator).fit(X, y, **params), len(codes)
    except Interrupted:
        if not known:
            raise
    return model, known


def limited(until: float | None) -> AbstractContextManager[None]:
    """Make fits of this thread raise `Interrupted` at this moment of the monotonic clock."""
    if until is None:
        return nullcontext()
    if time.monotonic() >= until:
        raise Interrupted
    return interruptible(lambda: time.monotonic() >= until)
