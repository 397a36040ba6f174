"""The schedule: which units there are, in which order they share most, how rows are had within the budget, and their running."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
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
from pegasos.learners.task import (
    Task,
    column_codes,
    combined_weights,
    constant_feature,
    is_precomputed,
)
from pegasos.search.folds import Prepared, Shared, base_values, make_rows, prepare, resolved_kernel
from pegasos.search.grid import Group
from pegasos.search.problem import Problem
from pegasos.search.settings import freeze
from pegasos.search.units import UnitResult, UnitRun, run_together

Array = np.ndarray[Any, Any]


#: Where the rows of walks come from.
_SOURCES = {
    "explicit": "explicit features",
    "shared": "kernel matrices from shared distances",
    "gram": "kernel matrices one by one",
    "on the fly": "kernel rows on the fly",
}


@dataclass(frozen=True)
class Unit:
    """One group on one fold, and the names under which what it shares is kept."""

    group: Group
    fold: int
    prepared_key: Any
    base_key: Any
    rows_key: Any


def named_kernel(group: Group) -> Kernel | None:
    """The group's kernel as an object; None for explicit features and precomputed matrices."""
    return None if is_precomputed(group.learner.kernel) else as_kernel(group.learner.kernel)


def measured_kernel(group: Group) -> Kernel | None:
    """The same if it is a map of a measure, which kernels can share."""
    kernel = named_kernel(group)
    return None if kernel is None or kernel.measure is None else kernel


class Schedule:
    """All units of a sweep, and what they share."""

    def __init__(
        self,
        groups: list[Group],
        problem: Problem,
        memory: Any,
        seed: int,
        warm_path: bool = False,
        source: str | None = None,
    ) -> None:
        self._problem, self._seed, self._warm_path = problem, seed, warm_path
        self._splits = problem.splits
        self._shared = Shared()
        self.units = self._ordered(groups)
        self.budget = budget_bytes(memory)
        self.source = self._choose_source() if source is None else source
        #: All but the groups: what another machine needs for the same answers.
        self.given = {"problem": problem, "memory": self.budget, "seed": seed}
        self.given |= {"warm_path": warm_path, "source": self.source}
        self.predicted: float | None = None

    # -- order and memory --------------------------------------------------------------------------------------------

    def _ordered(self, groups: list[Group]) -> list[Unit]:
        """Groups of one measure and one kernel follow each other; folds come innermost where they share rows."""
        units = [self._unit(group, fold) for group in groups for fold in range(len(self._splits))]
        rank = {group.setting: number for number, group in enumerate(groups)}
        bases, rows = (
            list(dict.fromkeys(getattr(unit, key) for unit in units))
            for key in ("base_key", "rows_key")
        )

        def position(unit: Unit) -> Any:
            own = unit.fold if unit.group.parts.transforms else -1
            return (
                own,
                bases.index(unit.base_key),
                rows.index(unit.rows_key),
                rank[unit.group.setting],
                unit.fold,
            )

        return sorted(units, key=position)

    def _unit(self, group: Group, fold: int) -> Unit:
        kernel, preparation = named_kernel(group), group.setting.preparation
        # rows that no step changes are the same in every fold; a width relative to the data is another number in each
        own = (preparation, fold) if group.parts.transforms else None
        numbers = (preparation, fold) if kernel is not None and kernel.relative else None
        measure = None if kernel is None else kernel.measure
        rows_key = ("rows", own, group.setting.kernel, numbers)
        return Unit(group, fold, ("prepared", preparation, fold), ("base", own, measure), rows_key)

    def _choose_source(self) -> str:
        """Distances shared by kernels, Gram matrices one by one, or kernel rows on the fly: what the budget allows."""
        if all(named_kernel(unit.group) is None for unit in self.units):
            return "explicit"
        X = self._problem.X
        n = X.shape[0]
        itemsize = 4 if getattr(X, "dtype", np.float64) == np.float32 else 8
        gram = n * n * itemsize
        state = max(self._columns(unit) for unit in self.units) * n * (4 * itemsize + 16)
        each = 2 if any(unit.group.parts.transforms for unit in self.units) else 1
        several = len({unit.rows_key for unit in self.units}) > len(
            {unit.base_key for unit in self.units}
        )
        if several and (2 + each) * gram + 2 * state <= self.budget:
            return "shared"
        return "gram" if 2 * gram + 2 * state <= self.budget else "on the fly"

    def forecast(self, units: list[Unit]) -> str:
        """Describe the next work in one line."""
        fits, kernels = (
            sum(len(unit.group.cells) for unit in units),
            len({unit.rows_key for unit in units}),
        )
        work = f"{fits} fits ({len(self._splits)} folds) in {len(units)} walks over {kernels} sets of rows"
        self.predicted = self.predicted_seconds(units)
        expected = "" if self.predicted is None else f"; about {self.predicted:.0f} s"
        return f"{work}; {_SOURCES[self.source]}; budget {self.budget / 1e9:.1f} GB{expected}"

    # -- running -----------------------------------------------------------------------------------------------------

    def run(
        self,
        units: list[Unit],
        done: Callable[[Unit, UnitResult], None],
        n_jobs: int | None,
        on_training: bool,
        max_time: float | None,
    ) -> bool:
        """Run units on threads, each with one BLAS thread; False if time was up before all were done.

        On the fly all kernels of a fold go in step, one fold after the other, and the threads share the tiles.
        """
        deadline = math.inf if max_time is None else time.monotonic() + max_time
        jobs = (
            blas_threads()
            if n_jobs is None
            else n_jobs
            if n_jobs > 0
            else max(1, blas_threads() + 1 + n_jobs)
        )
        self._shared.expect(key for unit in units for key in (unit.prepared_key, unit.rows_key))
        self._shared.expect({unit.rows_key: unit.base_key for unit in units}.values())
        if units:
            self._warm_up(units[0])
        flying = self.source == "on the fly"
        workers = 1 if flying else max(1, min(jobs, len(units)))
        halt = threading.Event()
        waiting = list(reversed(self._bundles(units)))
        running: dict[Future[list[UnitResult]], list[Unit]] = {}
        pool = ThreadPoolExecutor(workers)
        try:
            with contextlib.nullcontext() if flying else single_threaded_blas():
                while waiting or running:
                    while waiting and len(running) < workers and time.monotonic() < deadline:
                        bundle = waiting.pop()
                        running[pool.submit(self._work, bundle, on_training, halt)] = bundle
                    if not running:
                        return False
                    left = None if max_time is None else max(0.0, deadline - time.monotonic())
                    finished, _ = wait(running, timeout=left, return_when=FIRST_COMPLETED)
                    for future in finished:
                        for unit, result in zip(running.pop(future), future.result(), strict=True):
                            done(unit, result)
                    if not finished and time.monotonic() >= deadline:
                        return False
            return True
        finally:
            halt.set()
            pool.shutdown(wait=True, cancel_futures=True)

    def _bundles(self, units: list[Unit]) -> list[list[Unit]]:
        """Units that run in step: on the fly all kernels of one measure on one fold, otherwise each by itself."""
        if self.source != "on the fly":
            return [[unit] for unit in units]
        bundles: dict[Any, list[Unit]] = {}
        for unit in units:
            learner = unit.group.learner
            alone = measured_kernel(unit.group) is None or learner.has_pairs(self._problem.classes)
            draws = (freeze(getattr(learner, name)) for name in learner.declaration.draws)
            kind = (type(learner), *draws)
            key = (
                (unit.group.setting,)
                if alone
                else (unit.base_key, unit.group.setting.preparation, kind)
            )
            bundles.setdefault((*key, unit.fold), []).append(unit)
        return list(bundles.values())

    def _warm_up(self, unit: Unit) -> None:
        """The first distances with all threads, before there are workers."""
        if self.source == "shared":
            prepared, kernel = self._prepared(unit), measured_kernel(unit.group)
            if kernel is not None:
                self._shared.get(unit.base_key, lambda: base_values(kernel, prepared.X))

    def _prepared(self, unit: Unit) -> Prepared:
        problem, train = self._problem, self._splits[unit.fold][0]
        return self._shared.get(
            unit.prepared_key, lambda: prepare(unit.group.parts, problem.X, problem.y, train)
        )

    def _work(
        self, bundle: list[Unit], on_training: bool, halt: threading.Event
    ) -> list[UnitResult]:
        with interruptible(halt):
            try:
                return run_together(self._open(bundle, on_training))
            finally:
                for unit in bundle:
                    self._shared.release(unit.prepared_key)
                    self._shared.release(unit.rows_key)

    def _open(self, bundle: list[Unit], on_training: bool) -> list[UnitRun]:
        bank = self._distances(bundle)
        runs = []
        for unit in bundle:
            prepared = self._prepared(unit)
            kernel = resolved_kernel(unit.group.learner, prepared)
            if bank is None:
                rows = self._shared.get(
                    unit.rows_key, partial(self._make_rows, unit, kernel, prepared)
                )
            else:
                assert isinstance(kernel, Kernel)
                rows = KernelRows(kernel, prepared.X, bank)
            task, classes = self._task(unit, prepared, kernel, rows)
            train, test = self._splits[unit.fold]
            runs.append(UnitRun(unit.group, task, classes, train, test, self._seed, on_training))
        return runs

    def _task(self, unit: Unit, prepared: Prepared, kernel: Any, rows: Any) -> tuple[Task, Array]:
        """The learner's task on all rows, of which the members are learned from, and the classes that those have."""
        members, learner, problem = prepared.members, unit.group.learner, self._problem
        classes, local = np.unique(problem.codes[members], return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                "a fold has training rows of one class only: use a stratified splitter or fewer folds."
            )
        codes, weights = np.full(rows.count, -1, dtype=np.int64), np.zeros(rows.count)
        codes[members] = local
        part = None if problem.weights is None else problem.weights[members]
        weights[members] = combined_weights(
            part, learner.class_weight, problem.classes[classes], local, prepared.X[members]
        )
        columns, plan = column_codes(len(classes)), self._plan(unit, prepared, kernel)
        given = (
            prepared.X,
            codes,
            weights,
            columns,
            kernel,
            constant_feature(learner),
            plan,
            rows,
            members,
        )
        return Task(*given, warm_path=self._warm_path), classes

    def _make_rows(self, unit: Unit, kernel: Any, prepared: Prepared) -> Any:
        base = None
        if self.source == "shared" and isinstance(kernel, Kernel) and kernel.measure is not None:

            def base() -> tuple[Array, bool]:
                free = self._shared.last_use(unit.base_key)
                return self._shared.get(
                    unit.base_key, lambda: base_values(kernel, prepared.X)
                ), free

        try:
            return make_rows(kernel, prepared.X, self.source == "on the fly", base)
        finally:
            self._shared.release(unit.base_key)

    def _distances(self, bundle: list[Unit]) -> SharedDistances | None:
        """Inner products or distances of a block, where several kernels go in step."""
        kernel = measured_kernel(bundle[0].group)
        if len(bundle) < 2 or kernel is None or kernel.measure is None:
            return None
        return SharedDistances(Pairs(kernel.measure, self._prepared(bundle[0]).X))

    # -- forecast ----------------------------------------------------------------------------------------------------

    def predicted_seconds(self, units: list[Unit]) -> float | None:
        """On the fly, where work hardly depends on the data: from one block of the first bundle, all of its rows changing."""
        if self.source != "on the fly" or not units:
            return None
        bundles = self._bundles(units)
        bundle = bundles[0]
        prepared, bank = self._prepared(bundle[0]), self._distances(bundle)
        kernels = [resolved_kernel(unit.group.learner, prepared) for unit in bundle]
        rows = [
            KernelRows(kernel, prepared.X, bank) for kernel in kernels if isinstance(kernel, Kernel)
        ]
        columns = max(self._columns(unit) for unit in bundle)
        weights = np.zeros((columns, prepared.X.shape[0]), dtype=prepared.X.dtype)
        block = prepared.members[:DUAL_BLOCK]
        seconds = 0.0
        for _ in range(3):  # the first time meets fresh pages
            block = np.roll(block, 1)  # another order: the bank computes it anew
            begin = time.perf_counter()
            for each in rows:
                each.cross(block)
                each.add(block, np.ones((columns, len(block)), dtype=weights.dtype), weights)
            seconds = time.perf_counter() - begin
        examples = sum(max(self._examples(unit) for unit in bundle) for bundle in bundles)
        return seconds * examples / len(block)

    def _columns(self, unit: Unit) -> int:
        lams = len({cell.learner._strength for cell in unit.group.cells})
        return lams * len(column_codes(len(self._problem.classes)))

    def _examples(self, unit: Unit) -> int:
        """Examples that the unit draws at most."""
        m, learner = len(self._splits[unit.fold][0]), unit.group.learner
        return learner._examples_until(
            max(cell.learner._planned_stop(m) for cell in unit.group.cells), m
        )

    def _plan(self, unit: Unit, prepared: Prepared, kernel: Any) -> Plan:
        m, width = prepared.X.shape
        columns = self._columns(unit)
        if kernel is None:
            own = unit.group.learner.declaration.keeps_coefficients
            return plan_primal(
                sparse.issparse(prepared.X),
                m,
                width,
                columns,
                prepared.X.dtype.itemsize,
                self.budget,
                own,
            )
        return Plan(self.source, "by blocks", DUAL_BLOCK, 0, self.budget, 1, "one walk of a sweep")
