"""Maps over the blocks on a cluster, and their sums by a tree whose shape depends on nothing but the number of blocks."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import dask
from distributed import Client, Future

from pegasos.dask import blocks
from pegasos.engine.plan import budget_bytes
from pegasos.engine.row_blocks import Part
from pegasos.learners.cluster_tasks import ClusterLost, guarded, results_of

__all__ = ["ClusterLost", "ClusterPasses", "guarded"]

#: Parts that one task adds up.
FAN_IN = 8
#: Bytes of arguments from which on they are a task of their own, sent to each worker once, instead of a part of every task.
LARGE = 1 << 16
#: Bytes in which rows may be fetched, if there is so much memory here.
ROOM = 1 << 31


class ClusterPasses:
    """Coded blocks on the workers (`kept`: futures), or made again from their source in every pass (lazy objects)."""

    def __init__(self, client: Client, coded: Sequence[Any], width: int, kept: bool, row_bytes: float) -> None:
        self.client, self.width = client, width
        self.row_bytes, self.room = row_bytes, min(ROOM, budget_bytes(None))
        self.count = 0
        self._coded, self._kept = list(coded), kept

    def map_sum(self, work: Any, *arguments: Any) -> Part:
        """work(block, *arguments) for all blocks, and the sums over them."""
        parts = self._tasks(blocks.work_on, work, arguments)
        while len(parts) > 1:
            groups = [parts[start : start + FAN_IN] for start in range(0, len(parts), FAN_IN)]
            parts = [_task(blocks.add, group) if len(group) > 1 else group[0] for group in groups]
        futures: list[Future] = []
        with guarded(self.client, futures):
            futures.append(self.client.compute(parts[0], optimize_graph=False))
            return results_of(self.client, futures)[0]

    def map_join(self, work: Any, join: Any, *arguments: Any) -> Any:
        """join of work(block, *arguments) for all blocks, in their order, here."""
        futures: list[Future] = []
        with guarded(self.client, futures):
            futures += self.client.compute(self._tasks(blocks.join_on, (work, join), arguments), optimize_graph=False)
            parts = results_of(self.client, futures)
        return join(parts)

    def _tasks(self, task: Any, work: Any, arguments: tuple[Any, ...]) -> list[Any]:
        """A task for each block."""
        self.count += 1
        held: Any = (work, arguments)
        if len(pickle.dumps(held)) > LARGE:
            held = dask.delayed(blocks.hold, pure=False)(work, arguments)
        return [_task(task, coded, held) for coded in self._coded]


def _task(work: Any, *arguments: Any) -> Any:
    """All tasks of a pass are one graph: a message for each of them would take longer than many a block."""
    return dask.delayed(work, pure=False, traverse=False)(*arguments)
