"""A unit of work: all cells of one group on one fold, from one walk (one a class, where each class has its own draws)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from pegasos.engine.walk.solvers import advance_together
from pegasos.learners.task import Task
from pegasos.search.grid import Group

Array = np.ndarray[Any, Any]


@dataclass
class UnitResult:
    """Results of one unit, cell by cell (in the order of the group's cells).

    labels are codes of the sweep's classes for the fold's test rows; scores are (cells, test rows, predictors), where predictors
    belong to the fold's classes (one for two classes), or with one-vs-one to their pairs.
    """

    labels: Array
    scores: Array
    classes: Array
    support: Array
    gaps: Array
    train_rows: Array
    train_labels: Array | None
    train_scores: Array | None
    seconds: float


class UnitRun:
    """One unit under way: its solvers, the stops of its cells, and what has been read off so far."""

    def __init__(
        self,
        group: Group,
        task: Task,
        classes: Array,
        train: Array,
        test: Array,
        seed: int,
        on_training: bool,
    ) -> None:
        self.classes, self._test = classes, test
        lams, self._lam_of = _distinct(
            [cell.learner._lam_for(task.total_weight) for cell in group.cells]
        )
        self._stop_of = np.array([cell.learner._planned_stop(task.m) for cell in group.cells])
        self.stops = sorted({int(stop) for stop in self._stop_of})
        self.solvers = group.learner._make_solvers(task, lams, self.stops, seed)
        self._learner, self._is_kernel = group.learner, task.rows.dual
        self._columns, self._lams = self._learner.predictor_count(classes), len(lams)
        count, columns, dtype = len(group.cells), self._columns, task.rows.dtype
        self.result = UnitResult(
            labels=np.empty((count, len(test)), dtype=np.int32),
            scores=np.empty((count, len(test), columns), dtype=dtype),
            classes=self.classes,
            support=np.zeros(count, dtype=np.int64),
            gaps=np.full(count, np.nan),
            train_rows=train,
            train_labels=np.empty((count, len(train)), dtype=np.int32) if on_training else None,
            train_scores=np.empty((count, len(train), columns), dtype=dtype)
            if on_training
            else None,
            seconds=0.0,
        )

    def read(self, stop: int) -> None:
        """Read off the cells that stop here."""
        for solver in self.solvers:
            solver.complete()
        here = np.flatnonzero(self._stop_of == stop)
        which = self._lam_of[here]
        result = self.result
        result.scores[here] = self._scores(self._test)[which]
        result.labels[here] = self.classes[self._decide(result.scores[here])]
        result.support[here] = self._support()[which]
        result.gaps[here] = self._gaps()[which]
        if result.train_scores is not None and result.train_labels is not None:
            result.train_scores[here] = self._scores(result.train_rows)[which]
            result.train_labels[here] = self.classes[self._decide(result.train_scores[here])]

    def _decide(self, scores: Array) -> Array:
        return decide(self._learner.decision_values(scores))

    def _by_lam(self, parts: list[Array]) -> Array:
        """Members are ordered class by class within a solver, solvers by class: bring λ to the front."""
        joined = np.concatenate(parts)
        return joined.reshape(self._columns, self._lams, *joined.shape[1:]).swapaxes(0, 1)

    def _scores(self, index: Array) -> Array:
        """λ x rows x columns."""
        return self._by_lam([solver.scores(index) for solver in self.solvers]).swapaxes(1, 2)

    def _support(self) -> Array:
        """Rows with a coefficient in some column (zero for explicit features), for each λ."""
        if not self._is_kernel:
            return np.zeros(self._lams, dtype=np.int64)
        return self._by_lam([solver.support() for solver in self.solvers]).any(axis=1).sum(axis=1)

    def _gaps(self) -> Array:
        """The largest relative gap of a column, for each λ; nan without certificates."""
        parts = [solver.gaps for solver in self.solvers if solver.gaps is not None]
        return self._by_lam(parts).max(axis=1) if parts else np.full(self._lams, np.nan)


def run_together(runs: list[UnitRun]) -> list[UnitResult]:
    """Walk, stop wherever a cell stops, and read off every cell; several units (kernels of one fold) go in step."""
    begin = time.perf_counter()
    for stop in sorted({stop for run in runs for stop in run.stops}):
        going = [run for run in runs if run.stops[-1] >= stop]
        for solvers in zip(*(run.solvers for run in going), strict=True):
            if len(solvers) > 1:
                advance_together(list(solvers), stop)
            else:
                solvers[0].advance(stop)
        for run in going:
            if stop in run.stops:
                run.read(stop)
    for run in runs:
        run.result.seconds = (time.perf_counter() - begin) / len(runs)
    return [run.result for run in runs]


def decide(scores: Array) -> Array:
    """The index of the class: the sign of one column, or the largest of several (last axis)."""
    return (scores[..., 0] > 0).astype(np.intp) if scores.shape[-1] == 1 else scores.argmax(axis=-1)


def _distinct(lams: list[float | None]) -> tuple[Array, Array]:
    if lams[0] is None:
        return np.array([1.0]), np.zeros(len(lams), dtype=np.intp)
    return np.unique(np.array(lams, dtype=np.float64), return_inverse=True)


class LabelAnswers(ClassifierMixin, BaseEstimator):
    """The labels that one cell gives to a fold's rows, in the shape of a fitted classifier, for scikit-learn's scorers."""

    def __init__(self, classes: Array | None = None, labels: Array | None = None) -> None:
        self.classes = classes
        self.labels = labels

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def classes_(self) -> Any:
        return self.classes

    def predict(self, X: Any) -> Any:
        return self.labels


class FoldAnswers(LabelAnswers):
    """The same with decision values."""

    def __init__(
        self, classes: Array | None = None, labels: Array | None = None, scores: Array | None = None
    ) -> None:
        super().__init__(classes, labels)
        self.scores = scores

    def decision_function(self, X: Any) -> Any:
        assert self.scores is not None
        return self.scores[:, 0] if self.scores.shape[1] == 1 else self.scores


class ProbableAnswers(FoldAnswers):
    """The same with probabilities, which are computed when they are asked for."""

    def __init__(
        self,
        classes: Array | None = None,
        labels: Array | None = None,
        scores: Array | None = None,
        probabilities: Callable[[], Array] | None = None,
    ) -> None:
        super().__init__(classes, labels, scores)
        self.probabilities = probabilities

    def predict_proba(self, X: Any) -> Array:
        assert self.probabilities is not None
        return self.probabilities()
