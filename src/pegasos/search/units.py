"""Units of work: the folds of a problem, the rows of a fold, and runs of all cells of one group."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.kernels.distances import Pairs, fill_gram
from pegasos.engine.kernels.standard import as_kernel
from pegasos.engine.rows.features import MappedFeatures, MappedRows, explicit_rows
from pegasos.engine.rows.sources import GramRows
from pegasos.engine.walk.solvers import advance_together
from pegasos.learners.task import PRECOMPUTED, Task, is_precomputed
from pegasos.search.anatomy import Anatomy
from pegasos.search.grid import Cell
from pegasos.sklearn_private import safe_indexing

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Problem:
    """Rows, labels, weights and folds; `codes` are positions of the labels in sorted `classes`."""

    X: Any
    y: Any
    classes: Array
    codes: Array
    weights: Array | None
    splits: list[tuple[Array, Array]]

    def restrict(self, rows: Array) -> Problem:
        """Restrict the folds to some rows; leave out folds without test rows or with one class."""
        inside = np.zeros(len(self.codes), dtype=bool)
        inside[rows] = True
        splits = [(train[inside[train]], test[inside[test]]) for train, test in self.splits]
        kept = [(a, b) for a, b in splits if len(b) and len(np.unique(self.codes[a])) > 1]
        return replace(self, splits=kept)

    def take(self, rows: Array) -> Problem:
        """Return a problem of these rows, which are sorted and contain the rows of all folds."""
        X, y = safe_indexing(self.X, rows), safe_indexing(self.y, rows)
        weights = None if self.weights is None else self.weights[rows]
        splits = [(np.searchsorted(rows, a), np.searchsorted(rows, b)) for a, b in self.splits]
        return Problem(X, y, self.classes, self.codes[rows], weights, splits)


def stratified(codes: Array, size: int) -> Array:
    """Return `size` rows (all rows of a smaller table), each class in proportion.

    >>> stratified(np.array([0, 0, 0, 0, 0, 0, 1, 1]), 4).tolist()
    [0, 2, 3, 6]
    """
    if len(codes) <= size:
        return np.arange(len(codes))
    place = np.empty(len(codes))
    for code in np.unique(codes):
        own = np.flatnonzero(codes == code)
        # The permutation depends on the count only, so that a resumed search draws the same rows.
        order = np.random.default_rng(len(own)).permutation(own)
        place[order] = (np.arange(len(own)) + 0.5) / len(own)
    return np.sort(np.argsort(place, kind="stable")[:size])


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

    def resolve_kernel(self, X: Any, members: Array) -> Kernel | str | None:
        """Return the kernel with its relative parameters resolved on the training rows alone."""
        if self.kernel is None:
            return PRECOMPUTED if is_precomputed(self.learner.kernel) else None
        resolved = self.kernel.resolve(X[members])
        resolved.check_range(X)
        return resolved


def prepare(parts: Anatomy, X: Any, y: Any, train: Array) -> tuple[Any, Array]:
    """Fit the steps before the learner to the training rows, and transform all rows.

    Returns the rows, and the indices of the training rows that no step has dropped.
    """
    members = train
    for drops, stages in groupby(parts.stages, key=lambda stage: stage.drops):
        if drops:
            for stage in stages:
                members = members[stage.part.kept_rows(safe_indexing(X, members))]
        else:
            steps = clone(Pipeline([(stage.name, stage.part) for stage in stages]))
            X = steps.fit(safe_indexing(X, members), safe_indexing(y, members)).transform(X)
    if not isinstance(X, MappedRows):
        X = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32), order="C")
    return X, members


class Lazy:
    """Value of a function, called once by the thread that needs it first.

    Arguments may be lazy, too; they are freed after the call.
    """

    def __init__(self, function: Any, *args: Any) -> None:
        self._call: Any = (function, args)
        self._lock, self._value = threading.Lock(), None

    def __call__(self) -> Any:
        """Return the value."""
        with self._lock:
            if self._call is not None:
                function, args = self._call
                self._value = function(*args)
                self._call = None
            return self._value


def base_values(kernel: Kernel, prepared: Lazy) -> Array:
    """Return the kernel's measure (distances or inner products) between all rows."""
    assert kernel.measure is not None
    return fill_gram(Pairs(kernel.measure, prepared()[0]), lambda tile: None)


def make_rows(unit: Unit, prepared: Lazy, base: Lazy | None) -> Any:
    """Return rows over all rows of X, so that test rows are scored during training.

    `base`, if given, has the values of the kernel's measure.
    """
    X, members = prepared()
    kernel = unit.resolve_kernel(X, members)
    if kernel is None:
        return MappedFeatures(X) if isinstance(X, MappedRows) else explicit_rows(X)
    if isinstance(kernel, str):
        return GramRows(X.toarray() if sparse.issparse(X) else X)
    if base is None:
        return GramRows(kernel.matrix(X, X), kernel, X)
    K = base().copy()
    for start in range(0, len(K), 256):  # in blocks that stay in the CPU cache
        kernel.transform(K[start : start + 256])
    return GramRows(K, kernel, X)


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
        self.outcomes: dict[int, Outcome] = {}

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
            values = self._learner.decision_values(own)
            codes = values.argmax(axis=1) if values.shape[1] > 1 else (values[:, 0] > 0).astype(int)
            labels = self._classes[codes].astype(np.int32)
            given = (labels, own, self._classes, float(support[lam]), float(gaps[lam]))
            self.outcomes[place] = Outcome(*given)

    def _by_lam(self, parts: list[Array]) -> Array:
        """Join values of all solvers, which are ordered by predictor, to (λ, predictors, ...)."""
        joined = np.concatenate(parts)
        return joined.reshape(*self._shape, *joined.shape[1:]).swapaxes(0, 1)


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
    found = [[run.outcomes[place] for place in sorted(run.outcomes)] for run in runs]
    seconds = (time.perf_counter() - begin) / sum(map(len, found))
    for outcome in chain(*found):
        outcome.seconds = seconds
    return found
