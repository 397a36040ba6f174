"""RacingCV: the same grid in rounds; what is clearly behind ends early, and time that is up leaves the best so far."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params, _num_samples

from pegasos.engine.runtime.interruption import Interrupted, interruptible
from pegasos.search.figures import resamples
from pegasos.search.grid import Cell, Group
from pegasos.search.narrowing import (
    BEHIND,
    BEHIND_IN_LOOK,
    MOST,
    Ended,
    Look,
    by_class,
    going_on,
    going_on_by,
    look_sizes,
    make_look,
)
from pegasos.search.results import Table
from pegasos.search.schedule import Unit
from pegasos.search.sweep import SweepCV, Work

Array = np.ndarray[Any, Any]

#: The share of `max_time` that the race may take; the rest is for the refit.
RACE_SHARE = 0.7
#: Options that a look has from the race.
_OF_LOOKS = ("scoring", "n_jobs", "memory", "warm_path", "client", "verbose")
#: Folds after which cells may end.
FOLDS_ALONE = 2
#: Bootstrap rounds that tell the noise of other metrics than the error.
ROUNDS = 40


class _Glance(SweepCV):
    """A sweep that chooses nothing: its table is what is wanted."""

    def _choose(self, cells: list[Cell], table: Table, metric: Any, codes: Array) -> None:
        self.table = table


class RacingCV(SweepCV):
    """SweepCV in rounds: the choice among the cells of a grid for a fraction of its fits.

    First all cells learn from few rows (a *look*), where the table is large enough; those that are left from more rows; then come
    folds: the first, the second, and the rest. After each round a cell ends that errs more often than the leader on the same rows
    by more than noise, and of the others the best few go on. Whatever cell is run on a fold is exactly what SweepCV gives. Where
    `scoring` is a metric of ours, who goes on is decided by it, its noise being that of a bootstrap over the same rows; with
    scikit-learn's scorers it is decided by errors.

    Parameters
    ----------
    narrow : False runs every cell on every fold, and takes a look only to have something where `max_time` is short.
    looks : "auto", or the numbers of rows to learn from in looks; () for none.
    max_time : seconds for race and refit together. When they are up, cells are compared on the folds that all of them have, and
        else by the last look: there is a choice always.
    The others are those of SweepCV.

    Attributes
    ----------
    ended_ : by number of a cell that ended early, its `Ended`: its error (or metric) and the leader's; its mean is nan.
    n_splits_ : folds on which the choice was made; fewer than asked for where time was up.
    decided_by_ : "folds", or "look" where time was up before a fold was done. refit_rows_ : rows that best_estimator_ knows.
    The others are those of SweepCV.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pegasos import RacingCV, SDCA
    >>> X, y = load_digits(return_X_y=True)
    >>> grid = {"kernel": ["linear", "gaussian"], "lam": [1e-5, 1e-3, 1e-1, 10.0]}
    >>> race = RacingCV(SDCA(tol=0.01, random_state=0), grid, cv=3).fit(X, y)
    >>> race.best_params_["kernel"], len(race.ended_) > 3
    ('gaussian', True)
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
        narrow: bool = True,
        looks: Any = "auto",
    ) -> None:
        options = {
            "cv": cv,
            "scoring": scoring,
            "n_jobs": n_jobs,
            "refit": refit,
            "store": store,
            "memory": memory,
        }
        options |= {
            "return_train_score": return_train_score,
            "max_time": max_time,
            "warm_path": warm_path,
            "client": client,
        }
        super().__init__(estimator, param_grid, **options, verbose=verbose)
        self.narrow = narrow
        self.looks = looks

    # -- rounds ------------------------------------------------------------------------------------------------------

    def _run(
        self,
        groups: list[Group],
        table: Table,
        X: Any,
        y: Any,
        codes: Array,
        weights: Array | None,
        splits: list[Any],
    ) -> None:
        self._started, self._groups, self._codes, self._splits = (
            time.monotonic(),
            groups,
            codes,
            splits,
        )
        self.ended_: dict[int, Ended] = {}
        self._rounds = 0
        self._alive = sorted(cell.number for group in groups for cell in group.cells)
        self._last_look: tuple[Look, Table] | None = None
        self.completed_, self.decided_by_ = True, "folds"
        rows = min(len(train) for train, _ in splits)
        for size in self._look_sizes(rows):
            look = make_look(splits, codes, size)
            if look is not None and self.completed_:
                self._take_look(look, rows, table, X, y, weights)
        super()._run(groups, table, X, y, codes, weights, splits)

    def _look_sizes(self, rows: int) -> list[int]:
        sizes = look_sizes(rows) if isinstance(self.looks, str) else list(self.looks)
        return sizes if self.narrow else [] if self.max_time is None else sizes[:1]

    def _left(self, share: float = 1.0) -> float | None:
        """Seconds until a share of the time is up."""
        return (
            None
            if self.max_time is None
            else max(0.0, self._started + share * self.max_time - time.monotonic())
        )

    def _take_look(
        self, look: Look, rows: int, table: Table, X: Any, y: Any, weights: Array | None
    ) -> None:
        """All cells that are left learn from few rows."""
        first, *others = [
            [cell for cell in group.cells if cell.number in self._alive] for group in self._groups
        ]
        rest = [cell for part in others for cell in part]
        cells, seen = [*first, *rest], table.over([(look.train, look.test)])
        if self.max_time is None or self._last_look is not None:
            self._look_at(cells, look, rows, seen, X, y, weights, self._left(RACE_SHARE))
        else:  # the first group is looked at in any case: something must be there to choose from
            self._look_at(first, look, rows, seen, X, y, weights, None)
            if rest:
                self._look_at(rest, look, rows, seen, X, y, weights, self._left(RACE_SHARE))
        found = [cell.number for cell in cells if seen.complete()[cell.number]]
        if found and (self.completed_ or self._last_look is None):
            self._last_look = look, seen
        if self.completed_:
            self._narrow(found, seen, [0], look.test, len(look.train), BEHIND_IN_LOOK)

    def _look_at(
        self,
        cells: list[Cell],
        look: Look,
        rows: int,
        seen: Table,
        X: Any,
        y: Any,
        weights: Array | None,
        limit: float | None,
    ) -> None:
        """A sweep of these cells over one split of few rows, into the table of the look."""
        both, size = np.concatenate([look.train, look.test]), len(look.train)
        split = (np.arange(size), np.arange(size, len(both)))
        options = {name: getattr(self, name) for name in _OF_LOOKS}
        store = None if self.store is None else Path(self.store) / f"look-{size}"
        grid = [_for_fewer_rows(cell, rows / size, self.seed_) for cell in cells]
        sweep = _Glance(
            self.estimator, grid, cv=[split], refit=False, store=store, max_time=limit, **options
        )
        given = {} if weights is None else {cells[0].parts.weight_name: weights[both]}
        sweep.fit(_safe_indexing(X, both), _safe_indexing(y, both), **given)
        self.completed_ &= sweep.completed_
        seen.copy(sweep.table, {cell.number: place for place, cell in enumerate(cells)})

    def _walk(self, work: Work) -> None:
        """Fold by fold, until time is up."""
        units, folds = work.schedule.units, sorted({unit.fold for unit in work.schedule.units})
        if self.max_time is not None and self._last_look is None:
            first = [
                unit
                for unit in units
                if unit.fold == folds[0] and unit.group.setting == self._groups[0].setting
            ]
            self._walk_units(work, first, None)
        # one by one as long as something may end, or time may be up
        alone = FOLDS_ALONE if self.narrow else 0 if self.max_time is None else len(folds)
        for number in range(min(alone + 1, len(folds))):
            here = folds[number:] if number == alone else folds[number : number + 1]
            self.completed_ = self.completed_ and self._walk_units(
                work, self._waiting(work, here), self._left(RACE_SHARE)
            )
            if self.completed_ and number < alone and number + 1 < len(folds):
                done = np.concatenate([self._splits[fold][1] for fold in folds[: number + 1]])
                learned = len(self._splits[folds[0]][0])
                self._narrow(self._alive, work.table, folds[: number + 1], done, learned, BEHIND)

    def _waiting(self, work: Work, folds: list[int]) -> list[Unit]:
        """The units of some folds with the cells that are left and not done."""
        alive, found = set(self._alive), []
        for unit in (unit for unit in work.schedule.units if unit.fold in folds):
            cells = [
                cell
                for cell in unit.group.cells
                if cell.number in alive and not work.table.has(cell.number, unit.fold)
            ]
            if cells:
                found.append(replace(unit, group=Group(unit.group.setting, cells)))
        return found

    def _narrow(
        self,
        numbers: list[int],
        table: Table,
        folds: list[int],
        rows: Array,
        learned: int,
        behind: float,
    ) -> None:
        """Compare cells on the test rows of these folds of a table, which all of them were tested on; who is behind ends."""
        if not self.narrow:
            return
        most = MOST[min(self._rounds, len(MOST) - 1)]
        if self.metric_ is None or self.metric_.name == "error":
            wrong = table.labels[np.ix_(np.array(numbers), rows)] != self._codes[rows]
            values, kept = wrong.mean(axis=1), going_on(wrong, most, behind)
        else:
            values, kept = self._by_metric(numbers, table, folds, most, behind)
        self._rounds += 1
        self._alive = sorted(numbers[place] for place in kept)
        for place in set(range(len(numbers))) - set(kept.tolist()):
            self.ended_[numbers[place]] = Ended(
                learned, len(rows), float(values[place]), float(values[kept[0]])
            )

    def _by_metric(
        self, numbers: list[int], table: Table, folds: list[int], most: int, behind: float
    ) -> tuple[Array, Array]:
        """Values of the metric, and who goes on by it. Cells whose scores were not kept are behind those of their own walk that
        were; where no scores can be joined, because folds lack classes, all go on.
        """
        metric = self.metric_
        assert metric is not None
        sign = 1 if metric.kind.least else -1
        found = {
            place: answers
            for place, number in enumerate(numbers)
            if (answers := table.answers(number, folds)) is not None
        }
        values = np.array([-sign * table.mean(number, folds) for number in numbers])
        if not found:
            return values, np.argsort(sign * values, kind="stable")
        for place, answers in found.items():
            values[place] = metric.value(answers)
        draws = [
            [sign * metric.value(answers, each) for each in resamples(len(answers), ROUNDS)]
            for answers in found.values()
        ]
        places = np.array(list(found))
        return values, places[going_on_by(sign * values[places], np.array(draws), most, behind)]

    # -- the choice --------------------------------------------------------------------------------------------------

    def _choose(self, cells: list[Cell], table: Table, metric: Any, codes: Array) -> None:
        """Among the cells that have all folds; where time was up, on what all cells that are left have in common."""
        if not self.completed_:
            folds = table.common_folds(self._alive)
            if folds or self._last_look is None:
                table = table.only(folds or table.common_folds(table.begun()))
            else:
                self.decided_by_, table = "look", self._last_look[1]
            self.n_splits_ = table.folds
        del self._groups, self._codes, self._splits, self._last_look  # they hold the rows
        super()._choose(cells, table, metric, codes)

    def _means_for_advice(self, mean: Array) -> Array:
        """Cells that ended were worse."""
        found = mean.copy()
        found[[number for number in self.ended_ if np.isnan(mean[number])]] = -np.inf
        return found

    def _refit(self, X: Any, y: Any, cells: list[Cell], fit_params: Any) -> None:
        begin = time.perf_counter()
        best = cells[self.best_index_]
        best.learner.set_params(random_state=self.seed_)
        limit = None if self.max_time is None else time.monotonic() + (self._left() or 0.0)
        codes = np.unique(np.asarray(y), return_inverse=True)[1].reshape(-1)
        self.best_estimator_, self.refit_rows_ = fit_in_time(
            best.estimator, X, y, codes, fit_params, limit
        )
        self.refit_time_ = time.perf_counter() - begin
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_


def fit_in_time(
    estimator: Any, X: Any, y: Any, codes: Array, params: Any, until: float | None
) -> tuple[Any, int]:
    """The estimator fitted to all rows, or to as many as the time allows (until: a moment of the monotonic clock).

    With a limit it is fitted to few rows first, whatever the time, then to more; the last fit that was done in time counts.
    Answers the estimator, and how many rows it learned from.
    """
    least, *larger = (
        [_num_samples(X)] if until is None else [*look_sizes(_num_samples(X)), _num_samples(X)]
    )
    model, rows = _fit_some(estimator, X, y, codes, params, least), least
    for size in larger:
        try:
            with limited(until):
                model, rows = _fit_some(estimator, X, y, codes, params, size), size
        except Interrupted:
            break
    return model, rows


def _fit_some(estimator: Any, X: Any, y: Any, codes: Array, params: Any, size: int) -> Any:
    rows = by_class(np.arange(_num_samples(X)), codes, size)
    if len(rows) == _num_samples(X):
        return clone(estimator).fit(X, y, **params)
    given = _check_method_params(X, params=params, indices=rows)
    return clone(estimator).fit(_safe_indexing(X, rows), _safe_indexing(y, rows), **given)


@contextmanager
def limited(until: float | None) -> Iterator[None]:
    """Walks of this thread end with `Interrupted` at this moment of the monotonic clock."""
    if until is None:
        yield
        return
    if until <= time.monotonic():
        raise Interrupted
    halt = threading.Event()
    timer = threading.Timer(until - time.monotonic(), halt.set)
    timer.daemon = True
    timer.start()
    try:
        with interruptible(halt):
            yield
    finally:
        timer.cancel()


def _for_fewer_rows(cell: Cell, times: float, seed: int) -> dict[str, list[Any]]:
    """A grid of this one cell for so many times fewer rows.

    What suits m rows lies between the same λ and the same C = 1/(λ m) for fewer: where labels are noisy nearer to the same C,
    where they are not nearer to the same λ. So λ grows by the square root.
    """
    prefix = cell.parts.prefix
    params: dict[str, Any] = {**cell.params, f"{prefix}random_state": seed}
    if (strength := cell.learner._strength) is not None:
        name, value = strength
        params[f"{prefix}{name}"] = value * times**0.5
    return {name: [value] for name, value in params.items()}
