"""Units of work: all cells of one group on one fold, which share one run of solvers."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.engine.kernels.standard import as_kernel
from pegasos.engine.walk.solvers import advance_together
from pegasos.learners.task import Task, is_precomputed
from pegasos.search.grid import Cell

Array = np.ndarray[Any, Any]


class Unit:
    """Cells of one group on one fold.

    Equal keys of units mean equal values: `prepared_key` of the transformed rows, `base_key` of the
    values of a kernel's measure, and `rows_key` of the rows of a kernel. `kernel` is None for
    explicit features and precomputed kernels.
    """

    def __init__(self, cells: list[Cell], fold: int) -> None:
        self.cells, self.fold, self.learner = cells, fold, cells[0].learner
        setting, given = cells[0].setting, self.learner.kernel
        self.transforms = cells[0].parts.transforms
        self.kernel = kernel = None if is_precomputed(given) else as_kernel(given)
        #: Whether the kernel is a map of a measure, which other kernels can share.
        self.has_measure = kernel is not None and kernel.measure is not None
        # Rows that no step transforms are equal in all folds; a relative width differs by fold.
        this_fold = (setting.preparation, fold)
        own = this_fold if self.transforms else None
        numbers = this_fold if kernel is not None and kernel.relative else None
        self.prepared_key = ("prepared", *this_fold)
        self.base_key = ("base", own, None if kernel is None else kernel.measure)
        self.rows_key = ("rows", own, setting.kernel, numbers)


@dataclass
class Outcome:
    """Predictions of a cell on the test rows of a fold, then on its training rows if requested.

    `labels` are class codes of the search; `scores` (rows x predictors) belong to the predictors of
    the `classes` in the training rows.
    """

    labels: Array
    scores: Array
    classes: Array
    support: float
    gap: float
    seconds: float = 0.0


class UnitRun:
    """Solvers of one unit, and the outcomes of its cells, recorded at their stops.

    `rows` are the rows to score.
    """

    def __init__(
        self, cells: list[Cell], task: Task, classes: Array, rows: Array, seed: int
    ) -> None:
        self._learner, self._classes = cells[0].learner, classes
        self._is_kernel, self._dtype, self._rows = task.rows.dual, task.rows.dtype, rows
        lams = [cell.learner._lam_for(task.total_weight) or 1.0 for cell in cells]
        each, self._lam_of = np.unique(lams, return_inverse=True)
        self._stop_of = np.array([cell.learner._planned_stop(task.m) for cell in cells])
        self.stops = sorted({int(stop) for stop in self._stop_of})
        self.solvers = self._learner._make_solvers(task, each, self.stops, seed)
        self._shape = self._learner.predictor_count(classes), len(each)
        self._outcomes: dict[int, Outcome] = {}

    def read(self, stop: int) -> None:
        """Record the outcomes of the cells that end at this stop."""
        for solver in self.solvers:
            solver.complete()
        scores = self._by_lam([solver.scores(self._rows) for solver in self.solvers])
        support, gaps = np.zeros(len(scores)), np.full(len(scores), np.nan)
        if self._is_kernel:
            found = self._by_lam([solver.support() for solver in self.solvers])
            support = found.any(axis=1).sum(axis=1)
        if known := [solver.gaps for solver in self.solvers if solver.gaps is not None]:
            gaps = self._by_lam(known).max(axis=1)
        for place in np.flatnonzero(self._stop_of == stop).tolist():
            lam = self._lam_of[place]
            own = np.ascontiguousarray(scores[lam].T, dtype=self._dtype)
            labels = self._classes[decide(self._learner.decision_values(own))].astype(np.int32)
            given = (labels, own, self._classes, float(support[lam]), float(gaps[lam]))
            self._outcomes[place] = Outcome(*given)

    def _by_lam(self, parts: list[Array]) -> Array:
        """Join values of all solvers, which are ordered by predictor, to (λ, predictors, ...)."""
        joined = np.concatenate(parts)
        return joined.reshape(*self._shape, *joined.shape[1:]).swapaxes(0, 1)

    def outcomes(self, seconds: float) -> list[Outcome]:
        """Return the outcomes in the order of the cells, which share the seconds of the run."""
        found = [outcome for _, outcome in sorted(self._outcomes.items())]
        for outcome in found:
            outcome.seconds = seconds / len(found)
        return found


def run_together(runs: list[UnitRun]) -> list[list[Outcome]]:
    """Advance the solvers of all units together, and return the outcomes of their cells."""
    begin = time.perf_counter()
    for stop in sorted({stop for run in runs for stop in run.stops}):
        active = [run for run in runs if run.stops[-1] >= stop]
        for solvers in zip(*(run.solvers for run in active), strict=True):
            if len(solvers) > 1:
                advance_together(list(solvers), stop)
            else:
                solvers[0].advance(stop)
        for run in active:
            if stop in run.stops:
                run.read(stop)
    seconds = (time.perf_counter() - begin) / len(runs)
    return [run.outcomes(seconds) for run in runs]


def decide(scores: Array) -> Array:
    """Return the index of the predicted class: by the sign of one score, else the largest score."""
    return (scores[..., 0] > 0).astype(np.intp) if scores.shape[-1] == 1 else scores.argmax(axis=-1)
