"""TwoStageSearchCV: all settings on a sample of the rows, then the best ones and their neighbors on all rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from pegasos.engine.kernels.standard import Polynomial
from pegasos.learners.task import is_precomputed
from pegasos.search.advice import roughness, strength
from pegasos.search.grid import Cell
from pegasos.search.limits import fit_in_time
from pegasos.search.neighbors import Neighborhood, family_of, find_alike, for_fewer_rows
from pegasos.search.problem import stratified
from pegasos.search.results import Table
from pegasos.search.running import Filling
from pegasos.search.sweep import SweepCV

Array = np.ndarray[Any, Any]

#: The share of `max_time` for the search; the rest is for the refit.
SEARCH_SHARE = 0.7
#: Families that enter the second stage at most, and standard errors of the paired difference over folds by which the best
#: setting of a family may be behind the best of all.
FAMILIES, BEHIND = 2, 2.0
#: Scores that differ by less are equal: sums over folds are rounded.
EQUAL = 1e-12


class TwoStageSearchCV(SweepCV):
    """Search a grid in two stages, then refine around the best setting.

    Stage 1 evaluates every setting of the grid by cross-validation on the same rows: all of them, or a stratified sample of
    `first_rows`, on which each fold keeps its rows (and groups). Stage 2 evaluates the best setting of at most two families
    (learner, type of kernel, preparation) that are not clearly behind, and their neighbors in the grid, on all rows, at most
    `max_rows`; then the `variants` of the best setting of each of these families, and of its neighbors along λ or C.
    Then up to `refinements` rounds evaluate half steps (in log10) of λ and of the kernel width around the best setting, until
    the score stops rising by more than its standard error. The best setting is refitted on all rows.

    With fewer rows λ is larger by the same factor, so that C = 1/(λ Σω) is the same. Of settings with equal scores the simplest
    one is chosen: linear before polynomial before Gaussian, wide before narrow, large before small λ.

    Parameters
    ----------
    first_rows : int, default=2000
        Rows of the first stage.
    max_rows : int, default=20_000
        Rows of the second stage.
    refinements : int, default=3
        Rounds of half steps; 0 for none.
    variants : list of dict, default=()
        Other values of parameters, such as `{"multiclass": "one-vs-one"}`, which only the second stage tries, one after the
        other, each around the best settings so far.
    exhaustive : bool, default=False
        Evaluate all settings of the grid on all rows, and no others. A first stage takes place only where `max_time` is given.
    max_time : float, default=None
        Seconds for search and refit together. When they are over, the best setting so far is chosen; there always is one.
    **options
        The other parameters are those of :class:`SweepCV`.

    Attributes
    ----------
    cv_results_ : dict
        As in SweepCV, on the rows of the second stage; nan for settings that only the first stage evaluated. `stage` is 3 for
        variants and half steps, 2 for other settings of the second stage, else 1. If the first stage had a sample, its scores are
        `split0_first_score`, ..., `mean_first_score` and `std_first_score`.
    first_rows_, search_rows_ : int
        Rows of the first and of the second stage.
    decided_by_ : str
        "folds", or "sample" if time was over before the second stage had evaluated the best setting of the first.
    refit_rows_ : int
        Rows that `best_estimator_` was fitted to; fewer than all only if time was over.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pegasos import SDCA, TwoStageSearchCV
    >>> X, y = load_digits(return_X_y=True)
    >>> grid = {"kernel": ["linear", "gaussian"], "lam": [1e-5, 1e-3, 1e-1]}
    >>> search = TwoStageSearchCV(SDCA(tol=0.01, random_state=0), grid, cv=3, first_rows=500).fit(
    ...     X, y
    ... )
    >>> search.best_params_["kernel"], search.first_rows_, search.cv_results_["stage"].tolist()[:6]
    ('gaussian', 500, [1, 1, 1, 2, 2, 1])
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        cv: Any = 5,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        store: Any = None,
        return_train_score: bool = False,
        memory: Any = None,
        max_time: float | None = None,
        warm_path: bool = False,
        client: Any = None,
        verbose: int = 0,
        first_rows: int = 2000,
        max_rows: int = 20_000,
        refinements: int = 3,
        variants: Sequence[dict[str, Any]] = (),
        exhaustive: bool = False,
    ) -> None:
        options = {"cv": cv, "scoring": scoring, "n_jobs": n_jobs, "refit": refit, "store": store}
        options |= {"return_train_score": return_train_score, "memory": memory, "client": client}
        options |= {"max_time": max_time, "warm_path": warm_path, "verbose": verbose}
        super().__init__(estimator, param_grid, **options)
        self.first_rows = first_rows
        self.max_rows = max_rows
        self.refinements = refinements
        self.variants = variants
        self.exhaustive = exhaustive

    # -- stages ------------------------------------------------------------------------------------------------------

    def _search(self, table: Table) -> Table:
        self._started, self.completed_, self.decided_by_ = time.monotonic(), True, "folds"
        codes, self._first = table.problem.codes, None
        whole = any(is_precomputed(cell.learner.kernel) for cell in table.cells)
        rows = None
        if not (self.exhaustive or whole) and len(codes) > self.max_rows:
            rows = stratified(codes, self.max_rows)
            table = table.like(table.cells, table.problem.only(rows))
        self.search_rows_ = len(codes) if rows is None else len(rows)
        self.first_rows_ = self.search_rows_ if whole else min(self.first_rows, self.search_rows_)
        self._grid = Neighborhood(table.cells)
        if self.first_rows_ < len(codes) and not (self.exhaustive and self.max_time is None):
            sample = stratified(codes, self.first_rows_)
            problem = table.problem.only(sample)
            if problem.splits:
                self._first = table.like(table.cells, problem)
                with Filling(self, self._first, sample) as filling:
                    self._fill_first(filling, self._first, len(codes) / len(sample))
        with Filling(self, table, rows) as filling:
            return self._second_stage(filling, table, len(codes) / self.search_rows_)

    def _until(self) -> float | None:
        """Return the moment of the monotonic clock at which the search ends."""
        return None if self.max_time is None else self._started + SEARCH_SHARE * self.max_time

    def _fill_first(self, filling: Filling, table: Table, times: float) -> None:
        """Evaluate the whole grid; its first kernel whatever the time, so that there is something to choose from."""
        cells = [for_fewer_rows(cell, times) for cell in table.cells]
        first = [cell for cell in cells if cell.setting.walk == cells[0].setting.walk]
        rest = [cell for cell in cells if cell not in first]
        if self.max_time is None:
            filling.run(cells)
            return
        filling.run(first)
        self.completed_ = not rest or filling.run(rest, self._until())

    def _second_stage(self, filling: Filling, table: Table, times: float) -> Table:
        """Evaluate the leading settings (or all), then refine; return the table to choose from."""
        if self._first is None:
            if self.max_time is None and self.exhaustive:
                filling.run(table.cells)
            else:
                self._fill_first(filling, table, times)
        elif self.completed_:
            values = _means(self._first, self._metric())
            leader = int(np.nanargmax(values))
            chosen = list(range(len(table.cells)))
            if not self.exhaustive:
                best = self._leading(self._first)
                near = [n for each in best for n in (each, *self._grid.neighbors(each))]
                chosen = list(dict.fromkeys(near))
            own = [number for number in chosen if self._grid.alike(number, leader)]
            rest = [number for number in chosen if number not in own]
            for part in (own, rest):
                cells = [for_fewer_rows(table.cells[number], times) for number in part]
                self.completed_ &= self.completed_ and filling.run(cells, self._until())
            if not table.complete()[leader]:
                self.decided_by_ = "sample"
        else:
            self.decided_by_ = "sample"
        if self.decided_by_ == "sample":
            assert self._first is not None
            return self._first
        if not self.exhaustive:
            for params in self.variants:
                self._vary(filling, table, times, params)
            self._refine(filling, table, times)
        return table

    def _metric(self) -> str | None:
        """Return the metric by which settings are chosen, where there are several."""
        return self.refit if isinstance(self.refit, str) else None

    def _leading(self, table: Table) -> list[int]:
        """Return the best setting of each family that is not clearly behind, variants included."""
        scores = table.values(self._metric())
        means, found = scores.mean(axis=1), dict[Any, int]()
        leader = int(np.nanargmax(means))
        for number in np.argsort(-means, kind="stable"):
            behind = scores[leader] - scores[number]
            if np.isfinite(means[number]) and behind.mean() <= BEHIND * _standard_error(behind):
                found.setdefault(self._grid.origin(table.cells[number]), int(number))
        return list(found.values())[:FAMILIES]

    def _vary(self, filling: Filling, table: Table, times: float, params: dict[str, Any]) -> None:
        """Evaluate a variant of the leading settings and of their neighbors along λ or C."""
        fresh: list[Cell] = []
        for number in self._leading(table):
            best = table.cells[number]
            if _scales_rows(params, best) and isinstance(best.learner.kernel, Polynomial):
                continue  # far values raised to a power: one fit took minutes
            alike = [cell for cell in table.cells if cell.setting.walk == best.setting.walk]
            alike.sort(key=lambda cell: strength(cell.setting))
            place = alike.index(best)
            near = alike[max(0, place - 1) : place + 2]
            fresh += [self._grid.variant(cell, params) for cell in near]
        self._evaluate(filling, table, times, fresh)

    def _evaluate(self, filling: Filling, table: Table, times: float, cells: list[Cell]) -> bool:
        """Evaluate cells that may be new to the table; return whether any was missing and time sufficed."""
        complete, missing = table.complete(), []
        for cell in cells:
            known = find_alike(cell, table.cells)
            if known is None:
                cell.number = len(table.cells)
                table.extend([cell])
            elif complete[known.number]:
                continue
            missing.append(known or cell)
        if not self.completed_ or not missing:
            return False
        missing = [for_fewer_rows(cell, times) for cell in missing]
        self.completed_ = filling.run(missing, self._until())
        return self.completed_

    def _refine(self, filling: Filling, table: Table, times: float) -> None:
        """Evaluate half steps around the best setting, as long as they help by more than noise and time allows."""
        for _ in range(self.refinements):
            best = int(np.nanargmax(_means(table, self._metric())))
            steps = self._grid.half_steps(self.estimator, table.cells[best])
            if not self._evaluate(filling, table, times, steps):
                return
            scores = table.values(self._metric())
            gain = scores[int(np.nanargmax(scores.mean(axis=1)))] - scores[best]
            if gain.mean() <= _standard_error(gain):
                return

    # -- the choice --------------------------------------------------------------------------------------------------

    def _choose(self, table: Table, metric: Any) -> None:
        super()._choose(table, metric)
        second = table.complete() & (self._first is not None and table is not self._first)
        fresh = np.arange(len(table.cells)) >= len(self._grid.family)
        self.cv_results_["stage"] = np.where(fresh, 3, np.where(second, 2, 1))
        if self._first is not None:
            scores = np.full((len(table.cells), self._first.folds), np.nan)
            scores[: len(self._first.cells)] = self._first.values(self._metric())
            self.cv_results_ |= {f"split{k}_first_score": each for k, each in enumerate(scores.T)}
            self.cv_results_["mean_first_score"] = scores.mean(axis=1)
            self.cv_results_["std_first_score"] = scores.std(axis=1)
        del self._first, self._grid

    def _best_index(self, cells: list[Cell], results: dict[str, Any], metric: Any) -> int:
        best = super()._best_index(cells, results, metric)
        if callable(self.refit):
            return best
        scores, families = (
            results[f"mean_test_{metric}"],
            [family_of(cell.setting) for cell in cells],
        )

        def simplicity(number: int) -> Any:
            setting = cells[number].setting
            place = families.index(families[number])
            return (*roughness(setting.kernel), place, -strength(setting))

        tied = np.flatnonzero(scores >= scores[best] - EQUAL)
        return min(map(int, tied), key=simplicity)

    def _fit_best(self, estimator: Any, X: Any, y: Any, fit_params: Any) -> Any:
        until = None if self.max_time is None else self._started + self.max_time
        found = fit_in_time(estimator, X, y, self._truth, fit_params, until)
        model, self.refit_rows_ = found
        return model


def _means(table: Table, metric: str | None) -> Array:
    return table.values(metric).mean(axis=1)


def _standard_error(differences: Array) -> float:
    """Return the standard error of a mean over folds; of a single fold it is not known, and 0."""
    count = len(differences)
    return float(differences.std(ddof=1) / np.sqrt(count)) if count > 1 else 0.0


def _scales_rows(params: dict[str, Any], cell: Cell) -> bool:
    """Tell whether a variant changes the preparation of rows, not the learner."""
    own = cell.learner.get_params()
    return not any(name.rpartition("__")[2] in own for name in params)
