"""Units of a search on a Dask cluster: the same code on the same rows, so the same results."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from pegasos.search.schedule import Schedule, Unit
from pegasos.search.units import UnitResult

#: Tasks per worker that balance the load; with fewer, units that could share rows are split.
TASKS_PER_WORKER = 2
#: Attempts at a task whose worker was lost.
RETRIES = 3


def run_units(schedule: Schedule, units: list[Unit], on_training: bool) -> list[UnitResult]:
    """Run units one by one on a worker, and return their results in order."""
    found: dict[int, UnitResult] = {}
    schedule.run(units, lambda unit, result: found.update({id(unit): result}), 1, on_training, None)
    return [found[id(unit)] for unit in units]


def run_on_cluster(
    schedule: Schedule,
    client: Any,
    units: list[Unit],
    done: Callable[[Unit, UnitResult], None],
    on_training: bool,
    max_time: float | None,
) -> bool:
    """Run units on the workers of a distributed.Client; return False if time ended before all.

    `done` is called here, for each unit when its task ends. Ctrl-C, an error and the end of time
    cancel tasks that have not begun.
    """
    from pegasos.learners.cluster_tasks import guarded, some_done

    if not units:
        return True
    deadline = math.inf if max_time is None else time.monotonic() + max_time
    sent = client.scatter(schedule, broadcast=True, hash=False)
    tasks = _split(schedule, units, len(client.scheduler_info(n_workers=-1)["workers"]))
    options = {"pure": False, "retries": RETRIES}
    futures = [client.submit(run_units, sent, task, on_training, **options) for task in tasks]
    running = dict(zip(futures, tasks, strict=True))
    with guarded(client, futures):
        while running:
            if time.monotonic() >= deadline:
                client.cancel(list(running))
                return False
            for future in some_done(client, list(running), deadline - time.monotonic()):
                for unit, result in zip(running.pop(future), future.result(), strict=True):
                    done(unit, result)
    return True


def _split(schedule: Schedule, units: list[Unit], workers: int) -> list[list[Unit]]:
    """Return tasks: units that share kernel rows, if that makes enough tasks for all workers."""
    tasks: dict[Any, list[Unit]] = {}
    for number, unit in enumerate(units):
        key = number if unit.kernel is None else unit.rows_key
        tasks.setdefault(key, []).append(unit)
    if len(tasks) >= TASKS_PER_WORKER * workers or schedule.source == "on the fly":
        return list(tasks.values())
    return [[unit] for unit in units]
