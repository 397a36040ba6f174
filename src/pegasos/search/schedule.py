"""Schedule of a search: order of its units, source of kernel rows, and execution.

Units run on threads, or on the workers of a Dask cluster.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.kernels.distances import Pairs
from pegasos.engine.rows.kernel_rows import KernelRows, SharedDistances
from pegasos.engine.rows.plan import DUAL_BLOCK, Plan, budget_bytes, plan_primal
from pegasos.engine.runtime.interruption import interruptible
from pegasos.engine.runtime.threads import blas_threads, single_threaded_blas
from pegasos.learners import task as tasks
from pegasos.search.grid import Cell, make_groups
from pegasos.search.settings import freeze
from pegasos.search.units import (
    Lazy,
    Outcome,
    Problem,
    Unit,
    UnitRun,
    base_values,
    make_rows,
    prepare,
    run_together,
)

Array = np.ndarray[Any, Any]

#: Function that takes the outcomes of a finished unit.
Done = Callable[[Unit, list[Outcome]], None]


class Schedule:
    """Units of cells on all folds, ordered so that they share most work, and their execution.

    `source` of the rows of learners is "explicit" (features), "shared" (kernel matrices from shared
    distances), "gram" (kernel matrices one by one), or "on the fly" (rows of kernels).
    """

    def __init__(
        self,
        cells: list[Cell],
        problem: Problem,
        seed: int,
        memory: Any,
        on_training: bool,
        warm_path: bool,
    ) -> None:
        self._problem, self._seed = problem, seed
        self._on_training, self._warm_path = on_training, warm_path
        self.units, self.budget = self._ordered(make_groups(cells)), budget_bytes(memory)
        self.source = self._choose_source()

    def _ordered(self, groups: list[list[Cell]]) -> list[Unit]:
        """Return all units, with those of one measure, and of one kernel, next to each other."""
        units = [Unit(cells, fold) for cells in groups for fold in range(len(self._problem.splits))]
        bases = list(dict.fromkeys(unit.base_key for unit in units))
        rows = list(dict.fromkeys(unit.rows_key for unit in units))

        def position(unit: Unit) -> Any:
            own = unit.fold if unit.transforms else -1
            return own, bases.index(unit.base_key), rows.index(unit.rows_key)

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

    def run(
        self, units: list[Unit], on_done: Done, n_jobs: int | None, until: float | None
    ) -> bool:
        """Run units on threads, each with one BLAS thread; return False if time ran out.

        On the fly all kernels of a fold advance together, and all threads compute their tiles.
        """
        on_the_fly, halt = self.source == "on the fly", threading.Event()
        shared = dict[Any, Lazy]()
        bundles = [(each, self._share(each, shared)) for each in self._bundles(units)]
        if self.source == "shared" and units[0].has_measure:
            shared[units[0].base_key]()  # with all threads
        del shared  # tasks keep what they need
        threads = blas_threads()
        if n_jobs is not None:  # as in joblib
            threads = n_jobs if n_jobs > 0 else max(1, threads + 1 + n_jobs)
        pool = ThreadPoolExecutor(1 if on_the_fly else threads)
        running = {
            pool.submit(self._work, bundle, given, halt): bundle for bundle, given in bundles
        }
        del bundles

        def done_within(futures: list[Any], seconds: float) -> Any:
            timeout = None if seconds == math.inf else seconds
            return wait(futures, timeout=timeout, return_when=FIRST_COMPLETED).done

        try:
            with contextlib.nullcontext() if on_the_fly else single_threaded_blas():
                return _collect(running, done_within, on_done, until)
        finally:
            halt.set()
            pool.shutdown(wait=True, cancel_futures=True)

    def run_on_cluster(
        self, units: list[Unit], on_done: Done, client: Any, until: float | None
    ) -> bool:
        """Run units on the workers of a distributed.Client; return False if time ran out.

        `on_done` is called here, for each unit when its task ends. Ctrl-C, an error and the end of
        time cancel tasks that have not begun.
        """
        from pegasos.cluster_tasks import guarded, some_done

        sent = client.scatter(self, broadcast=True, hash=False)
        options = {"pure": False, "retries": 3}  # of a task whose worker was lost
        running = {
            client.submit(_run_units, sent, bundle, **options): bundle
            for bundle in self._bundles(units)
        }
        with guarded(client, list(running)):
            if _collect(running, partial(some_done, client), on_done, until):
                return True
            client.cancel(list(running))
            return False

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

    def _share(self, bundle: list[Unit], shared: dict[Any, Lazy]) -> list[tuple[Lazy, Lazy]]:
        """Return the transformed rows of each unit and the rows of its kernel, made on first use.

        Units with equal keys get equal objects, which are freed with the last unit.
        """
        found = []
        for unit in bundle:
            problem, parts = self._problem, unit.cells[0].parts
            given = (parts, problem.X, problem.y, problem.splits[unit.fold][0])
            prepared = shared.setdefault(unit.prepared_key, Lazy(prepare, *given))
            base = None
            if self.source == "shared" and unit.has_measure:
                base = shared.setdefault(unit.base_key, Lazy(base_values, unit.kernel, prepared))
            rows = shared.setdefault(unit.rows_key, Lazy(make_rows, unit, prepared, base))
            found.append((prepared, rows))
        return found

    def _work(
        self, bundle: list[Unit], given: list[tuple[Lazy, Lazy]], halt: threading.Event
    ) -> list[list[Outcome]]:
        with interruptible(halt.is_set):
            distances = None
            if len(bundle) > 1:  # compute the distances of a block once for all
                kernel: Any = bundle[0].kernel
                distances = SharedDistances(Pairs(kernel.measure, given[0][0]()[0]))
            both = zip(bundle, given, strict=True)
            return run_together([self._start(unit, *own, distances) for unit, own in both])

    def _start(self, unit: Unit, prepared: Lazy, rows: Lazy, distances: Any) -> UnitRun:
        """Return the unstarted run of a unit, in which rows not trained on have weight 0."""
        (X, members), learner, problem = prepared(), unit.learner, self._problem
        kernel = unit.resolve_kernel(X, members)
        if self.source == "on the fly" and isinstance(kernel, Kernel):
            found: Any = KernelRows(kernel, X, distances)
        else:
            found = rows()
        classes, local = np.unique(problem.codes[members], return_inverse=True)
        if len(classes) < 2:
            raise ValueError("a fold has training rows of one class only: use stratified folds.")
        codes, weights = np.full(found.count, -1, dtype=np.int64), np.zeros(found.count)
        part = None if problem.weights is None else problem.weights[members]
        given = (learner.class_weight, problem.classes[classes], local, X[members])
        codes[members], weights[members] = local, tasks.combined_weights(part, *given)
        columns, constant = tasks.column_codes(len(classes)), tasks.constant_feature(learner)
        made = (X, codes, weights, columns, kernel, constant, self._plan(unit, X, kernel), found)
        task = tasks.Task(*made, members, warm_path=self._warm_path)
        train, test = problem.splits[unit.fold]
        scored = np.concatenate([test, train]) if self._on_training else test
        return UnitRun(unit.cells, task, classes, scored, self._seed)

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


def _collect(
    running: dict[Any, list[Unit]],
    done_within: Callable[[list[Any], float], Any],
    on_done: Done,
    until: float | None,
) -> bool:
    """Pass on the outcomes of tasks as they end; return False if time ran out."""
    while running:
        left = math.inf if until is None else until - time.monotonic()
        if left <= 0:
            return False
        for future in done_within(list(running), left):
            for unit, outcomes in zip(running.pop(future), future.result(), strict=True):
                on_done(unit, outcomes)
    return True


def _run_units(schedule: Schedule, units: list[Unit]) -> list[list[Outcome]]:
    """Run one bundle of units on a worker, and return their outcomes in order."""
    found = list[list[Outcome]]()
    schedule.run(units, lambda _, outcomes: found.append(outcomes), 1, None)
    return found
