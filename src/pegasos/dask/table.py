"""Tables on a cluster: passes over their blocks, and the statistics of a first pass."""

from __future__ import annotations

import contextlib
import pickle
from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, Future, get_client
from sklearn.utils.multiclass import check_classification_targets

from pegasos.cluster_tasks import guarded, some_done
from pegasos.dask import blocks, inputs
from pegasos.dask.blocks import Counted, Described
from pegasos.engine.rows.blocks import Part
from pegasos.engine.rows.plan import Plan, budget_bytes
from pegasos.engine.runtime.interruption import check_interruption
from pegasos.engine.runtime.memory import parse_bytes

Array = np.ndarray[Any, Any]

#: Largest share of a worker's memory for blocks kept between passes, and largest share of it in use
#: with them: from 70 % on Dask spills blocks to disk in every pass.
KEPT_SHARE, FULL_SHARE = 0.5, 0.6
#: Seconds to wait for the first worker.
WORKER_SECONDS = 10
#: Number of parts summed by one task.
FAN_IN = 8
#: Arguments of more bytes become a separate task, sent to each worker once, instead of being part
#: of every task.
LARGE = 1 << 16
#: Bytes of rows that may be fetched to the client, if its memory allows.
ROOM = 1 << 32


@dataclass
class Table:
    """Coded blocks of rows on a cluster, and passes over them.

    Blocks are futures on the workers, or lazy objects, recomputed from their source in every pass.
    Sums are formed by a tree whose shape depends only on the number of blocks, so that rounding
    does not depend on the number of workers. `whole` counts the rows of each class, and `training`
    those of each fold's training part. `reach` is the largest squared norm of a row, `room` the
    bytes of rows that may be fetched to the client, and `count` the number of passes.
    """

    client: Client
    blocks: list[Any]
    width: int
    row_bytes: float
    classes: Array
    whole: Counted
    training: tuple[Counted, ...]
    reach: float
    dtype: np.dtype[Any]
    plan: Plan
    room: float
    count: int = 0

    def map_sum(self, work: Any, *arguments: Any) -> Part:
        """Return the sum of ``work(block, *arguments)`` over all blocks."""
        parts, add = self._tasks("map_sum", work, *arguments), dask.delayed(blocks.add, pure=False)
        while len(parts) > 1:
            groups = [parts[start : start + FAN_IN] for start in range(0, len(parts), FAN_IN)]
            parts = [add(group) for group in groups]
        return results(self.client, parts)[0]

    def map_join(self, work: Any, join: Any, *arguments: Any) -> Any:
        """Return the joined results of ``work(block, *arguments)`` for all blocks, in order."""
        return join(results(self.client, self._tasks("map_join", work, join, *arguments)))

    def _tasks(self, method: str, *given: Any) -> list[Any]:
        """Return a task for each block.

        Shared arguments are pickled once, here: Dask would otherwise search every field of them for
        lazy objects, for every task.
        """
        self.count += 1
        packed: Any = pickle.dumps((method, given))
        if len(packed) > LARGE:
            packed = dask.delayed(packed, pure=False)
        run = dask.delayed(blocks.run, pure=False)
        return [run(block, packed) for block in self.blocks]


def open_table(
    client: Client, X: Any, y: Any, sample_weight: Any, memory: Any, folds: Any = None
) -> Table:
    """Validate and describe all blocks.

    Blocks that fit into `memory`, by default a share of the workers' memory, are kept there; others
    are recomputed when needed. `folds` are those of a cross-validation, in the blocks of X.
    """
    if y is None:
        raise ValueError("y is None: a classifier needs labels.")
    read, describe, encode = (
        dask.delayed(each, pure=False) for each in (blocks.read, blocks.describe, blocks.encode)
    )
    pieces = inputs.split(X, y, sample_weight, folds)
    rows = [read(number, *piece) for number, piece in enumerate(pieces)]
    budget = parse_bytes(memory) if memory is not None else _room(client)
    if isinstance(X, da.Array) and X.nbytes <= budget:  # else its size is found first
        rows = client.compute(rows)
    described = results(client, [describe(each) for each in rows])
    full = {number: found for number, found in enumerate(described) if found.rows}
    classes = _classes(full)
    coded = [encode(rows[number], classes) for number in full]
    every, first = list(full.values()), next(iter(full.values()))
    size, count = (sum(getattr(each, name) for each in every) for name in ("bytes", "rows"))
    kept = size <= budget
    place = "kept on the workers" if kept else "made again from their source in every pass"
    totals = _totals(classes, every)
    folds = (np.delete(totals, fold, axis=0).sum(axis=0) for fold in range(1, len(totals)))
    return Table(
        client,
        client.compute(coded) if kept else coded,
        first.width,
        size / count,
        classes,
        whole=Counted(*totals.sum(axis=0)),
        training=tuple(Counted(*each) for each in folds),
        reach=max(found.reach for found in every),
        dtype=np.result_type(*(found.dtype for found in every)),
        plan=Plan(first.kind, "by blocks", 0, size, budget, 1, f"blocks {place}"),
        room=min(ROOM, budget_bytes(None)),
    )


def _totals(classes: Array, described: list[Described]) -> Array:
    """Return the sums of the blocks' totals, in their order, with the labels of all blocks."""
    folds = max(len(found.totals) for found in described)
    totals = np.zeros((folds, 3, len(classes)))
    for found in described:
        totals[: len(found.totals), :, np.searchsorted(classes, found.labels)] += found.totals
    return totals


def _classes(full: dict[int, Described]) -> Array:
    """Return the sorted labels of all blocks, which have the same columns and kind of labels."""
    if not full:
        raise ValueError("X has no rows: all its blocks are empty.")
    first = next(iter(full))
    width, labels = full[first].width, full[first].labels
    for number, found in full.items():
        if found.width != width:
            raise ValueError(
                f"block {number} of X has {found.width} columns, block {first} has {width}."
            )
        if (found.labels.dtype.kind in "OUST") != (labels.dtype.kind in "OUST"):  # is text
            raise ValueError(
                f"the labels in block {number} of y are of another kind ({found.labels.dtype}) "
                f"than those in block {first} ({labels.dtype})."
            )
    try:
        classes = np.unique(np.concatenate([found.labels for found in full.values()]))
    except TypeError:
        raise ValueError(
            f"y has labels of different types, which have no order: {blocks.ALIKE}."
        ) from None
    check_classification_targets(classes)
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only ({classes[0]!r}); "
            "a classifier needs examples of at least two classes."
        )
    return classes


def _room(client: Client) -> int:
    """Return how many bytes of blocks the workers can keep."""
    with contextlib.suppress(TimeoutError):  # the only worker may be restarting
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    if not workers:
        raise ValueError(
            "the Dask cluster has no workers (yet): start some, "
            "or wait with client.wait_for_workers(1)."
        )
    room = 0.0
    for worker in workers:
        limit = worker["memory_limit"] or 0
        room += max(0.0, min(KEPT_SHARE * limit, FULL_SHARE * limit - worker["metrics"]["memory"]))
    return int(room)


def results(client: Client, lazy: list[Any]) -> list[Any]:
    """Compute lazy objects; the tasks are cancelled if this is interrupted.

    Each result is fetched once it is done, and released on its worker: few are there at a time.
    """
    futures: list[Future] = []
    found: dict[Any, Any] = {}
    with guarded(client, futures):
        futures += client.compute(lazy)
        waiting = list(futures)
        while waiting:
            check_interruption()
            done = some_done(client, waiting)
            waiting = [future for future in waiting if future not in done]
            for future, result in zip(done, client.gather(list(done)), strict=True):
                found[future.key] = result
                future.release()  # an abandoned wait may keep references for long
        return [found[future.key] for future in futures]


def current_client(client: Any) -> Client:
    """Return the given client, or the current one."""
    if client is not None:
        return client
    try:
        return get_client()
    except ValueError:
        raise ValueError(
            "no Dask client: make one first, client = distributed.Client(...), "
            "or give it as client=."
        ) from None
