"""Evaluation of cells on folds, on threads or on a Dask cluster, with a store and progress."""

from __future__ import annotations

import json
import logging
import math
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pegasos.search.grid import Cell, make_groups
from pegasos.search.results import Table
from pegasos.search.schedule import Schedule, Unit
from pegasos.search.settings import freeze, thaw
from pegasos.search.store import ALGORITHMS, Store, check_storable, failing_clearly, fingerprint

if TYPE_CHECKING:
    from pegasos.search.sweep import SweepCV
    from pegasos.search.units import UnitResult

_log = logging.getLogger("pegasos.search")
#: Seconds between two updates of the bar.
PAUSE = 0.1
#: Tasks per worker that balance the load; if there are fewer, units that share rows are split.
TASKS_PER_WORKER = 2
#: Attempts at a task whose worker was lost.
RETRIES = 3


class CellRunner:
    """Context manager that evaluates cells of a search and adds their results to a table.

    `rows` restricts the data to the rows of the table's folds; their results have a separate folder
    within the store.
    """

    def __init__(self, search: SweepCV, table: Table, rows: Any = None) -> None:
        self._search, self.table, self._problem = search, table, table.problem
        self._times, folder = 1.0, search.store
        if rows is not None:
            self._problem = table.problem.take(rows)
            self._times = len(table.problem.codes) / len(rows)
            folder = None if folder is None else Path(folder) / f"rows-{len(rows)}"
        self._store = None if folder is None else self._open(folder)
        self._progress = Progress(search.verbose > 0)

    def _open(self, folder: str | Path) -> Store:
        for cell in self.table.cells:
            check_storable(cell.learner)
        problem = self._problem
        question = {
            "data": fingerprint(problem.X),
            "labels": fingerprint(problem.y),
            "weights": "none" if problem.weights is None else fingerprint(problem.weights),
            "splits": fingerprint(*(part for split in problem.splits for part in split)),
            "seed": str(self._search.seed_),
            "version of the algorithms": str(ALGORITHMS),
        }
        return Store(folder, question)

    def __enter__(self) -> CellRunner:
        """Return the runner itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        """Close the store; after Ctrl-C report what it contains."""
        folder = self._search.store
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            kept = f"finished cells are kept in {folder}; the same call resumes there"
            kept = kept if folder is not None else "nothing is kept without a `store`"
            self._progress.warn(f"interrupted: {kept}")
        self._progress.close()
        if self._store is not None:
            self._store.close()

    def run(self, cells: list[Cell], until: float | None = None) -> bool:
        """Evaluate cells, with the same C on fewer rows; return False if time ran out."""
        search = self._search
        groups = make_groups([cell.for_fewer_rows(self._times) for cell in cells])
        schedule = Schedule(groups, self._problem, search.memory, search.seed_, search.warm_path)
        search.plan_ = schedule.source
        units = [each for unit in schedule.units if (each := self._unfinished(unit)).cells]
        self._progress.expect(sum(len(unit.cells) for unit in units), schedule.describe(units))
        on_training = search.return_train_score
        if search.client is not None:
            return run_on_cluster(schedule, search.client, units, self._take, on_training, until)
        return schedule.run(units, self._take, search.n_jobs, on_training, until)

    def _take(self, unit: Unit, result: UnitResult) -> None:
        found = self.table.add(unit, result)
        if self._store is not None:
            rows = zip(unit.cells, found, strict=True)
            self._store.save((self._key(cell), unit.fold, each) for cell, each in rows)
        what = f"{unit.learner!r} fold {unit.fold + 1}"
        self._progress.advance(len(unit.cells), what, self.table.best())

    def _key(self, cell: Cell) -> str:
        search = self._search
        asked = {"scoring": thaw(freeze(search.scoring)), "training": search.return_train_score}
        asked |= {"warm path": True} if search.warm_path else {}
        return f"{cell.setting.key()} {json.dumps(asked, sort_keys=True)}"

    def _unfinished(self, unit: Unit) -> Unit:
        """Return the unit without stored cells, and restore those to the table."""
        if self._store is None:
            return unit
        missing = list[Cell]()
        for cell in unit.cells:
            found = self._store.load(self._key(cell), unit.fold)
            if found is None:
                missing.append(cell)
            else:
                with failing_clearly(self._store.path):
                    self.table.restore(cell, unit, found)
        return replace(unit, cells=missing)


def run_on_cluster(
    schedule: Schedule,
    client: Any,
    units: list[Unit],
    on_done: Callable[[Unit, UnitResult], None],
    on_training: bool,
    until: float | None,
) -> bool:
    """Run units on the workers of a distributed.Client; return False if time ran out.

    `on_done` is called here, for each unit when its task ends. Ctrl-C, an error and the end of time
    cancel tasks that have not begun.
    """
    from pegasos.learners.cluster_tasks import guarded, some_done

    if not units:
        return True
    sent = client.scatter(schedule, broadcast=True, hash=False)
    tasks = _split(schedule, units, len(client.scheduler_info(n_workers=-1)["workers"]))
    running = {
        client.submit(_run_units, sent, task, on_training, pure=False, retries=RETRIES): task
        for task in tasks
    }
    with guarded(client, list(running)):
        while running:
            left = math.inf if until is None else until - time.monotonic()
            if left <= 0:
                client.cancel(list(running))
                return False
            for future in some_done(client, list(running), left):
                for unit, result in zip(running.pop(future), future.result(), strict=True):
                    on_done(unit, result)
    return True


def _run_units(schedule: Schedule, units: list[Unit], on_training: bool) -> list[UnitResult]:
    """Run units one by one on a worker, and return their results in order."""
    found: dict[int, UnitResult] = {}
    schedule.run(units, lambda unit, result: found.update({id(unit): result}), 1, on_training, None)
    return [found[id(unit)] for unit in units]


def _split(schedule: Schedule, units: list[Unit], workers: int) -> list[list[Unit]]:
    """Return one task per set of kernel rows if those are enough for all workers, else per unit."""
    tasks: dict[Any, list[Unit]] = {}
    for number, unit in enumerate(units):
        key = number if unit.kernel is None else unit.rows_key
        tasks.setdefault(key, []).append(unit)
    if len(tasks) >= TASKS_PER_WORKER * workers or schedule.source == "on the fly":
        return list(tasks.values())
    return [[unit] for unit in units]


class Progress:
    """Count of finished fits: a bar on a terminal or in a notebook, and log records."""

    def __init__(self, shown: bool) -> None:
        self._total = self._done = self._width = 0
        self._start, self._last = time.monotonic(), 0.0
        is_notebook = type(sys.stderr).__module__.startswith("ipykernel")
        self._shown = shown and (is_notebook or sys.stderr.isatty())

    def expect(self, fits: int, text: str) -> None:
        """Announce further fits, described by a line of text."""
        self._total = self._done + fits
        _log.info(text)
        if self._shown:
            self.warn(text)

    def warn(self, text: str) -> None:
        """Print a line of text even where progress is not shown."""
        self.close()
        print(text, file=sys.stderr, flush=True)

    def advance(self, fits: int, what: str, best: float | None) -> None:
        """Count finished fits; `best` is the best mean score of a complete cell so far."""
        self._done += fits
        elapsed = time.monotonic() - self._start
        left = elapsed / self._done * (self._total - self._done)
        score = "" if best is None else f", best score {best:.4f}"
        text = f"{self._done}/{self._total} fits{score}, {elapsed:.0f} s, about {left:.0f} s left"
        _log.info("%s: %s", what, text)
        is_due = time.monotonic() - self._last > PAUSE or self._done == self._total
        if self._shown and is_due:
            self._last = time.monotonic()
            filled = 24 * self._done // max(1, self._total)
            line = f"\r[{'#' * filled}{'.' * (24 - filled)}] {text}"
            print(line.ljust(self._width), end="", file=sys.stderr, flush=True)
            self._width = len(line)

    def close(self) -> None:
        """Erase the bar."""
        if self._width:
            print("\r" + " " * self._width + "\r", end="", file=sys.stderr, flush=True)
            self._width = 0
