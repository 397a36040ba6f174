"""Schedule of a search: order of its units, source of kernel rows, and execution on threads."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.kernels.distances import Pairs
from pegasos.engine.kernels.standard import as_kernel
from pegasos.engine.rows.kernel_rows import KernelRows, SharedDistances
from pegasos.engine.rows.plan import DUAL_BLOCK, Plan, budget_bytes, plan_primal
from pegasos.engine.runtime.interruption import interruptible
from pegasos.engine.runtime.threads import blas_threads, single_threaded_blas
from pegasos.learners import task as tasks
from pegasos.search import folds
from pegasos.search.folds import Prepared, Problem, Shared
from pegasos.search.grid import Cell
from pegasos.search.settings import freeze
from pegasos.search.units import UnitResult, UnitRun, run_together

Array = np.ndarray[Any, Any]

#: Sources of the rows of learners: `plan_` of a search, and a description.
SOURCES = {
    "explicit": "explicit features",
    "shared": "kernel matrices from shared distances",
    "gram": "kernel matrices one by one",
    "on the fly": "kernel rows on the fly",
}


@dataclass(frozen=True)
class Unit:
    """Cells of one group on one fold.

    Attributes
    ----------
    cells : list of Cell
        Cells with equal preparation, kernel and options.
    fold : int
        Number of the fold.
    kernel : Kernel or None
        None for explicit features and precomputed kernels.
    prepared_key, base_key, rows_key : object
        Keys of values that units share: transformed rows, values of the kernel's measure, and rows
        of the kernel.
    """

    cells: list[Cell]
    fold: int
    kernel: Kernel | None
    prepared_key: Any
    base_key: Any
    rows_key: Any

    @classmethod
    def of(cls, cells: list[Cell], fold: int) -> Unit:
        """Return the unit of a group on a fold."""
        setting, given = cells[0].setting, cells[0].learner.kernel
        kernel = None if tasks.is_precomputed(given) else as_kernel(given)
        preparation = setting.preparation
        # Rows that no step transforms are equal in all folds; a relative width differs by fold.
        own = (preparation, fold) if cells[0].parts.transforms else None
        numbers = (preparation, fold) if kernel is not None and kernel.relative else None
        base_key = ("base", own, None if kernel is None else kernel.measure)
        rows_key = ("rows", own, setting.kernel, numbers)
        return cls(cells, fold, kernel, ("prepared", preparation, fold), base_key, rows_key)

    @property
    def learner(self) -> Any:
        """Learner of one cell."""
        return self.cells[0].learner

    @property
    def transforms(self) -> bool:
        """Whether the learner sees transformed rows, which differ by fold."""
        return self.cells[0].parts.transforms

    @property
    def has_measure(self) -> bool:
        """Whether the kernel is a map of a measure, which other kernels can share."""
        return self.kernel is not None and self.kernel.measure is not None


class Schedule:
    """Units of groups on all folds, ordered so that they share most work, and their execution."""

    def __init__(
        self,
        groups: list[list[Cell]],
        problem: Problem,
        memory: Any,
        seed: int,
        warm_path: bool = False,
        source: str | None = None,
    ) -> None:
        self._problem, self._seed, self._warm_path = problem, seed, warm_path
        self._splits, self._shared = problem.splits, Shared()
        self.units, self.budget = self._ordered(groups), budget_bytes(memory)
        self.source = self._choose_source() if source is None else source

    def __reduce__(self) -> Any:
        """Pickle without units: workers of a cluster get theirs task by task."""
        given = (self._problem, self.budget, self._seed, self._warm_path, self.source)
        return Schedule, ([], *given)

    # -- order and memory --------------------------------------------------------------------------

    def _ordered(self, groups: list[list[Cell]]) -> list[Unit]:
        """Return all units, with those of one measure, and of one kernel, next to each other."""
        units = [Unit.of(cells, fold) for cells in groups for fold in range(len(self._splits))]
        bases = _places(unit.base_key for unit in units)
        rows = _places(unit.rows_key for unit in units)

        def position(unit: Unit) -> Any:
            own = unit.fold if unit.transforms else -1
            return own, bases[unit.base_key], rows[unit.rows_key]

        return sorted(units, key=position)

    def _choose_source(self) -> str:
        """Return the fastest source of kernel rows within the memory budget."""
        if all(unit.kernel is None for unit in self.units):
            return "explicit"
        X = self._problem.X
        itemsize = 4 if getattr(X, "dtype", np.float64) == np.float32 else 8
        gram = X.shape[0] ** 2 * itemsize
        columns = max(self._columns(unit) for unit in self.units)
        state = columns * X.shape[0] * (4 * itemsize + 16)
        each = 2 if any(unit.transforms for unit in self.units) else 1
        kernels = len({unit.rows_key for unit in self.units})
        several = kernels > len({unit.base_key for unit in self.units})
        if several and (2 + each) * gram + 2 * state <= self.budget:
            return "shared"
        return "gram" if 2 * gram + 2 * state <= self.budget else "on the fly"

    def describe(self, units: list[Unit]) -> str:
        """Describe the planned work in one line."""
        fits, kernels = sum(len(unit.cells) for unit in units), {u.rows_key for u in units}
        work = f"{fits} fits ({len(self._splits)} folds) in {len(units)} walks over {len(kernels)}"
        return f"{work} sets of rows; {SOURCES[self.source]}; budget {self.budget / 1e9:.1f} GB"

    # -- running -----------------------------------------------------------------------------------

    def run(
        self,
        units: list[Unit],
        on_done: Callable[[Unit, UnitResult], None],
        n_jobs: int | None,
        on_training: bool,
        until: float | None,
    ) -> bool:
        """Run units on threads, each with one BLAS thread; return False if time ran out.

        On the fly all kernels of a fold advance together, and all threads compute their tiles.
        """
        if not units:
            return True
        uses = (key for unit in units for key in (unit.prepared_key, unit.rows_key))
        self._shared.expect(uses)
        self._shared.expect({unit.rows_key: unit.base_key for unit in units}.values())
        on_the_fly = self.source == "on the fly"
        if self.source == "shared" and units[0].has_measure:
            self._base(units[0], self._prepared(units[0]))  # with all threads
        halt = threading.Event()
        pool = ThreadPoolExecutor(1 if on_the_fly else _thread_count(n_jobs))
        running = {
            pool.submit(self._work, bundle, on_training, halt): bundle
            for bundle in self._bundles(units)
        }
        try:
            with contextlib.nullcontext() if on_the_fly else single_threaded_blas():
                while running:
                    left = None if until is None else max(0.0, until - time.monotonic())
                    finished, _ = wait(running, timeout=left, return_when=FIRST_COMPLETED)
                    if not finished:
                        return False
                    for future in finished:
                        for unit, result in zip(running.pop(future), future.result(), strict=True):
                            on_done(unit, result)
            return True
        finally:
            halt.set()
            pool.shutdown(wait=True, cancel_futures=True)

    def _bundles(self, units: list[Unit]) -> list[list[Unit]]:
        """Return units that advance together: on the fly, kernels of one measure on one fold."""
        bundles: dict[Any, list[Unit]] = {}
        for number, unit in enumerate(units):
            learner, key = unit.learner, (number,)
            if self.source == "on the fly" and unit.has_measure:
                if not learner.has_pairs(self._problem.classes):
                    draws = (freeze(getattr(learner, name)) for name in learner.declaration.draws)
                    key = (unit.base_key, unit.prepared_key, type(learner), *draws)
            bundles.setdefault(key, []).append(unit)
        return list(bundles.values())

    def _work(
        self, bundle: list[Unit], on_training: bool, halt: threading.Event
    ) -> list[UnitResult]:
        with interruptible(halt):
            try:
                return run_together(self._start_runs(bundle, on_training))
            finally:
                for unit in bundle:
                    self._shared.release(unit.prepared_key)
                    self._shared.release(unit.rows_key)

    def _start_runs(self, bundle: list[Unit], on_training: bool) -> list[UnitRun]:
        runs, distances = [], None
        if len(bundle) > 1:  # compute the distances of a block once for all
            first = bundle[0].kernel
            assert first is not None and first.measure is not None
            distances = SharedDistances(Pairs(first.measure, self._prepared(bundle[0]).X))
        for unit in bundle:
            prepared = self._prepared(unit)
            kernel = folds.resolved_kernel(unit.learner, prepared)
            if isinstance(kernel, Kernel) and self.source == "on the fly":
                rows = KernelRows(kernel, prepared.X, distances)
            else:
                make = partial(self._make_rows, unit, kernel, prepared)
                rows = self._shared.get(unit.rows_key, make)
            task, classes = self._task(unit, prepared, kernel, rows)
            train, test = self._splits[unit.fold]
            scored = np.concatenate([test, train]) if on_training else test
            runs.append(UnitRun(unit.cells, task, classes, scored, self._seed))
        return runs

    def _prepared(self, unit: Unit) -> Prepared:
        problem, train = self._problem, self._splits[unit.fold][0]
        make = partial(folds.prepare, unit.cells[0].parts, problem.X, problem.y, train)
        return self._shared.get(unit.prepared_key, make)

    def _base(self, unit: Unit, prepared: Prepared) -> Array:
        assert unit.kernel is not None
        return self._shared.get(unit.base_key, partial(folds.base_values, unit.kernel, prepared.X))

    def _make_rows(self, unit: Unit, kernel: Any, prepared: Prepared) -> Any:
        def base() -> Array:
            is_last = self._shared.is_last_use(unit.base_key)
            values = self._base(unit, prepared)
            return values if is_last else values.copy()

        shares = self.source == "shared" and unit.has_measure
        try:
            return folds.make_rows(kernel, prepared.X, base if shares else None)
        finally:
            self._shared.release(unit.base_key)

    def _task(
        self, unit: Unit, prepared: Prepared, kernel: Any, rows: Any
    ) -> tuple[tasks.Task, Array]:
        """Return the learner's task on all rows, and the classes of its training rows."""
        X, members = prepared.X, prepared.members
        learner, problem = unit.learner, self._problem
        classes, local = np.unique(problem.codes[members], return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                "a fold has training rows of one class only: use a stratified splitter or fewer "
                "folds."
            )
        codes, weights = np.full(rows.count, -1, dtype=np.int64), np.zeros(rows.count)
        part = None if problem.weights is None else problem.weights[members]
        given = (learner.class_weight, problem.classes[classes], local, X[members])
        codes[members], weights[members] = local, tasks.combined_weights(part, *given)
        columns, constant = tasks.column_codes(len(classes)), tasks.constant_feature(learner)
        made = (X, codes, weights, columns, kernel, constant, self._plan(unit, X, kernel), rows)
        return tasks.Task(*made, members, warm_path=self._warm_path), classes

    def _columns(self, unit: Unit) -> int:
        lams = len({cell.learner._strength for cell in unit.cells})
        return lams * len(tasks.column_codes(len(self._problem.classes)))

    def _plan(self, unit: Unit, X: Any, kernel: Any) -> Plan:
        if kernel is not None:
            reason = "one walk of a sweep"
            return Plan(self.source, "by blocks", DUAL_BLOCK, 0, self.budget, 1, reason)
        keeps, (rows, width) = unit.learner.declaration.keeps_coefficients, X.shape
        given = (rows, width, self._columns(unit), X.dtype.itemsize, self.budget, keeps)
        return plan_primal(sparse.issparse(X), *given)


def _places(keys: Iterable[Any]) -> dict[Any, int]:
    """Return a number for each key, in the order of first appearance."""
    return {key: place for place, key in enumerate(dict.fromkeys(keys))}


def _thread_count(n_jobs: int | None) -> int:
    """Return the number of threads that `n_jobs` means, as in joblib."""
    most = blas_threads()
    if n_jobs is None:
        return most
    return n_jobs if n_jobs > 0 else max(1, most + 1 + n_jobs)
