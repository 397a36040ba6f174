"""Evaluation of cells on folds: from the store where it has them, else on threads or a cluster."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pegasos.search.cluster import run_on_cluster
from pegasos.search.grid import Cell, Group, make_groups
from pegasos.search.progress import Progress
from pegasos.search.results import Table
from pegasos.search.schedule import Schedule, Unit
from pegasos.search.settings import freeze, thaw
from pegasos.search.store import ALGORITHMS, Store, check_storable, failing_clearly, fingerprint

if TYPE_CHECKING:
    from pegasos.search.sweep import SweepCV
    from pegasos.search.units import UnitResult


class Filling:
    """Context in which a search fills one of its tables.

    `rows` restricts the data to the rows of the table's folds; a folder of its own within the store
    keeps those results.
    """

    def __init__(self, search: SweepCV, table: Table, rows: Any = None) -> None:
        self._search, self._table = search, table
        self._problem = table.problem if rows is None else table.problem.take(rows)
        self._store: Store | None = None
        self._progress = Progress(search.verbose > 0)
        if search.store is not None:
            folder = Path(search.store)
            self._store = self._open(folder if rows is None else folder / f"rows-{len(rows)}")

    def _open(self, folder: Path) -> Store:
        for cell in self._table.cells:
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

    def __enter__(self) -> Filling:
        """Return the context itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        """Close the store; say what it keeps after Ctrl-C."""
        folder = self._search.store
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            kept = f"finished cells are kept in {folder}; the same call goes on from there"
            kept = kept if folder is not None else "nothing is kept without a `store`"
            self._progress.warn(f"interrupted: {kept}")
        self._progress.close()
        if self._store is not None:
            self._store.close()

    def run(self, cells: list[Cell], until: float | None = None) -> bool:
        """Evaluate cells on all folds; return False if the moment `until` came before all."""
        search = self._search
        given = (self._problem, search.memory, search.seed_, search.warm_path)
        schedule = Schedule(make_groups(cells), *given)
        search.plan_ = schedule.source
        units = [each for unit in schedule.units if (each := self._unfinished(unit)).group.cells]
        self._progress.expect(sum(len(unit.group.cells) for unit in units))
        self._progress.say(schedule.describe(units))
        on_training = search.return_train_score
        left = None if until is None else max(0.0, until - time.monotonic())
        if search.client is not None:
            return run_on_cluster(schedule, search.client, units, self._take, on_training, left)
        return schedule.run(units, self._take, search.n_jobs, on_training, left)

    def _take(self, unit: Unit, result: UnitResult) -> None:
        table, cells = self._table, unit.group.cells
        table.take(unit, result)
        if self._store is not None:
            found = ((self._key(cell), unit.fold, table.record(cell, unit)) for cell in cells)
            self._store.save(found, result.seconds)
        what = f"{unit.group.learner!r} fold {unit.fold + 1}"
        self._progress.advance(len(cells), what, table.best())

    def _key(self, cell: Cell) -> str:
        search = self._search
        asked = {"scoring": thaw(freeze(search.scoring)), "training": search.return_train_score}
        asked |= {"warm path": True} if search.warm_path else {}
        return f"{cell.setting.key()} {json.dumps(asked, sort_keys=True)}"

    def _unfinished(self, unit: Unit) -> Unit:
        """Return the unit without stored cells, whose results go into the table."""
        if self._store is None:
            return unit
        missing = Group(unit.group.setting)
        for cell in unit.group.cells:
            found = self._store.load(self._key(cell), unit.fold)
            if found is None:
                missing.cells.append(cell)
            else:
                with failing_clearly(self._store.path):
                    self._table.restore(cell, unit, found)
        return replace(unit, group=missing)
