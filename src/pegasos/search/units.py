"""Unit of work of a search: all cells of a group on one fold, which share one run of solvers."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

from pegasos.engine.walk.solvers import advance_together
from pegasos.learners.task import Task
from pegasos.search.grid import Cell

Array = np.ndarray[Any, Any]


@dataclass
class UnitResult:
    """Results of one unit, in the order of its cells.

    `labels` (cells, rows) are class codes of the search, and `scores` (cells, rows, predictors)
    belong to the predictors of the fold's `classes`. Rows are the test rows, followed by the
    training rows if requested.
    """

    labels: Array
    scores: Array
    classes: Array
    support: Array
    gaps: Array
    seconds: float = 0.0


class UnitRun:
    """Solvers of one unit, and the results of its cells, recorded at their stops.

    `rows` are the rows to score.
    """

    def __init__(
        self, cells: list[Cell], task: Task, classes: Array, rows: Array, seed: int
    ) -> None:
        self._learner, self._is_kernel, self._rows = cells[0].learner, task.rows.dual, rows
        total, count = task.total_weight, len(cells)
        lams = [cell.learner._lam_for(total) for cell in cells]
        each, self._lam_of = np.unique([lam or 1.0 for lam in lams], return_inverse=True)
        self._stop_of = np.array([cell.learner._planned_stop(task.m) for cell in cells])
        self.stops = sorted({int(stop) for stop in self._stop_of})
        self.solvers = self._learner._make_solvers(task, each, self.stops, seed)
        self._columns, self._lams = self._learner.predictor_count(classes), len(each)
        self.result = UnitResult(
            labels=np.empty((count, len(rows)), dtype=np.int32),
            scores=np.empty((count, len(rows), self._columns), dtype=task.rows.dtype),
            classes=classes,
            support=np.zeros(count, dtype=np.int64),
            gaps=np.full(count, np.nan),
        )

    def read(self, stop: int) -> None:
        """Record the results of the cells that end at this stop."""
        for solver in self.solvers:
            solver.complete()
        here = np.flatnonzero(self._stop_of == stop)
        which, result = self._lam_of[here], self.result
        scores = self._by_lam([solver.scores(self._rows) for solver in self.solvers])
        result.scores[here] = scores.swapaxes(1, 2)[which]
        values = self._learner.decision_values(result.scores[here])
        result.labels[here] = result.classes[decide(values)]
        if self._is_kernel:
            support = self._by_lam([solver.support() for solver in self.solvers])
            result.support[here] = support.any(axis=1).sum(axis=1)[which]
        gaps = [solver.gaps for solver in self.solvers if solver.gaps is not None]
        if gaps:
            result.gaps[here] = self._by_lam(gaps).max(axis=1)[which]

    def _by_lam(self, parts: list[Array]) -> Array:
        """Join values of all solvers, which are ordered by predictor, to (λ, predictors, ...)."""
        joined = np.concatenate(parts)
        return joined.reshape(self._columns, self._lams, *joined.shape[1:]).swapaxes(0, 1)


def run_together(runs: list[UnitRun]) -> list[UnitResult]:
    """Advance the solvers of all units together, and record the cells of each stop."""
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
    for run in runs:
        run.result.seconds = (time.perf_counter() - begin) / len(runs)
    return [run.result for run in runs]


def decide(scores: Array) -> Array:
    """Return the index of the predicted class: by the sign of one score, else the largest score."""
    return (scores[..., 0] > 0).astype(np.intp) if scores.shape[-1] == 1 else scores.argmax(axis=-1)


class FoldAnswers(ClassifierMixin, BaseEstimator):
    """Predictions of one cell on some rows, as a fitted classifier for scikit-learn's scorers.

    Decision values and probabilities (computed on request) are optional.
    """

    def __init__(
        self,
        classes: Array | None = None,
        labels: Array | None = None,
        scores: Any = None,
        probabilities: Any = None,
    ) -> None:
        self.classes_, self._labels = classes, labels
        self._scores, self._probabilities = scores, probabilities

    def predict(self, X: Any) -> Any:
        """Return the predicted labels of the rows."""
        return self._labels

    @available_if(lambda self: self._scores is not None)
    def decision_function(self, X: Any) -> Any:
        """Return the decision values of the rows."""
        return self._scores[:, 0] if self._scores.shape[1] == 1 else self._scores

    @available_if(lambda self: self._probabilities is not None)
    def predict_proba(self, X: Any) -> Any:
        """Return the class probabilities of the rows."""
        return self._probabilities()
