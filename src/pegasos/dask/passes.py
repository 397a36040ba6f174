"""Maps over the blocks on a cluster, and their sums by a tree whose shape depends on nothing but the number of blocks."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from distributed import Client, Future

from pegasos.dask import blocks
from pegasos.engine.rows.blocks import Part
from pegasos.engine.rows.plan import budget_bytes
from pegasos.learners.cluster_tasks import ClusterLost, guarded, results_as_done, results_of

__all__ = ["ClusterLost", "ClusterPasses", "guarded"]

#: Parts that one task adds up.
FAN_IN = 8
#: Bytes of arguments from which on they are a task of their own, sent to each worker once, instead of a part of every task.
LARGE = 1 << 16
#: Bytes in which rows may be fetched, if there is so much memory here.
ROOM = 1 << 32


class ClusterPasses:
    """Coded blocks on the workers (`kept`: futures), or made again from their source in every pass (lazy objects)."""

    def __init__(
        self, client: Client, coded: Sequence[Any], width: int, kept: bool, row_bytes: float
    ) -> None:
        self.client, self.width = client, width
        self.row_bytes, self.room = row_bytes, min(ROOM, budget_bytes(None))
        self.count = 0
        self._coded, self._kept = list(coded), kept

    def map_sum(self, work: Any, *arguments: Any) -> Part:
        """work(block, *arguments) for all blocks, and the sums over them."""
        tasks, parts = self._tasks(blocks.work_on, (work, arguments))
        while len(parts) > 1:
            groups = [parts[start : start + FAN_IN] for start in range(0, len(parts), FAN_IN)]
            sums = {
                (f"add-{len(parts)}-{uuid4().hex}", place): group
                for place, group in enumerate(groups)
                if len(group) > 1
            }
            tasks.update({part: (blocks.add, group) for part, group in sums.items()})
            parts = [*sums, *(group[0] for group in groups[len(sums) :])]
        return self._results(tasks, parts, results_of)[0]

    def map_join(self, work: Any, join: Any, *arguments: Any) -> Any:
        """join of work(block, *arguments) for all blocks, in their order, here."""
        return join(
            self._results(*self._tasks(blocks.join_on, (work, join, arguments)), results_as_done)
        )

    def _tasks(
        self, task: Any, given: tuple[Any, ...]
    ) -> tuple[dict[Any, Any], list[tuple[str, int]]]:
        """A task for each block, and its key.

        What all of them are given is packed once, here: Dask would look for lazy objects in every field of it, for every task.
        """
        self.count += 1
        number = uuid4().hex
        tasks: dict[Any, Any] = {}
        held: Any = pickle.dumps(given)
        if len(held) > LARGE:
            tasks[f"hold-{number}", 0] = (blocks.hold, held)
            held = (f"hold-{number}", 0)
        parts = [(f"{task.__name__}-{number}", place) for place in range(len(self._coded))]
        for part, coded in zip(parts, self._coded, strict=True):
            tasks[part] = (task, coded.key if isinstance(coded, Delayed) else coded, held)
        return tasks, parts

    def _results(
        self, tasks: dict[Any, Any], parts: list[tuple[str, int]], fetch: Any
    ) -> list[Any]:
        """All tasks of a pass are one graph: a message for each of them would take longer than many a block."""
        lazy = [coded for coded in self._coded if isinstance(coded, Delayed)]
        graph = HighLevelGraph.from_collections(parts[0][0], tasks, lazy)
        futures: list[Future] = []
        with guarded(self.client, futures):
            futures += self.client.get(graph, parts, sync=False)
            return list(fetch(self.client, futures))
