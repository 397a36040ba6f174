"""The units of a sweep on the workers of a Dask cluster: the same code on the same rows, so the same bits as on one machine."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pegasos.search.schedule import Schedule, Unit, named_kernel
from pegasos.search.units import UnitResult

#: Tasks a worker should have at least, so that none waits for the longest; until then units that could share rows part.
TASKS_A_WORKER = 2
#: How often a task is tried again whose worker was lost.
RETRIES = 3


@dataclass(frozen=True)
class Shipment:
    """Data that a worker needs beside the units (see `Schedule.given`): sent to every worker once."""

    given: dict[str, Any]


def work_on(shipment: Shipment, units: list[Unit], on_training: bool) -> list[UnitResult]:
    """Return the results of these units, in their order, on this machine."""
    schedule = Schedule([], **shipment.given)
    found: dict[int, UnitResult] = {}
    schedule.run(
        units, lambda unit, result: found.__setitem__(id(unit), result), 1, on_training, None
    )
    return [found[id(unit)] for unit in units]


def run_on_cluster(
    schedule: Schedule,
    client: Any,
    units: list[Unit],
    done: Callable[[Unit, UnitResult], None],
    on_training: bool,
    max_time: float | None,
) -> bool:
    """Run units on the workers of a distributed.Client; False if time was up before all were done.

    `done` is called here, for each unit when its task ends. Ctrl-C, an error and the end of time cancel what has not begun.
    """
    from pegasos.learners.cluster_tasks import guarded, some_done

    if not units:
        return True
    deadline = math.inf if max_time is None else time.monotonic() + max_time
    shipment = client.scatter(Shipment(schedule.given), broadcast=True, hash=False)
    tasks = _tasks(schedule, units, len(client.scheduler_info(n_workers=-1)["workers"]))
    futures = [
        client.submit(work_on, shipment, task, on_training, pure=False, retries=RETRIES)
        for task in tasks
    ]
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


def _tasks(schedule: Schedule, units: Sequence[Unit], workers: int) -> list[list[Unit]]:
    """Units that share a kernel's rows are one task, as long as there are enough tasks for all workers."""
    tasks: dict[Any, list[Unit]] = {}
    for number, unit in enumerate(units):
        tasks.setdefault(
            unit.rows_key if named_kernel(unit.group) is not None else number, []
        ).append(unit)
    if len(tasks) >= TASKS_A_WORKER * workers or schedule.source == "on the fly":
        return list(tasks.values())
    return [[unit] for unit in units]
