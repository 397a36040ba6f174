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
from pegasos.engine.row_blocks import Part
from pegasos.learners.cluster_tasks import ClusterLost, guarded, results_of

__all__ = ["ClusterLost", "ClusterPasses", "guarded"]

#: Parts that one task adds up.
FAN_IN = 8
#: Bytes of arguments from which on they are a task of their own, sent to each worker once, instead of a part of every task.
LARGE = 1 << 16


class ClusterPasses:
    """Coded blocks on the workers (`kept`: futures), or made again from their source in every pass (lazy objects)."""

    def __init__(self, client: Client, coded: Sequence[Any], width: int, kept: bool) -> None:
        self.client, self.width = client, width
        self.count = 0
        self._coded, self._kept = list(coded), kept

    def map_sum(self, work: Any, *arguments: Any) -> Part:
        """work(block, *arguments) for all blocks, and the sums over them."""
        self.count += 1
        tasks, last = self._tasks(pickle.dumps((work, arguments)))
        lazy = [coded for coded in self._coded if isinstance(coded, Delayed)]
        graph = HighLevelGraph.from_collections(last[0], tasks, lazy)
        futures: list[Future] = []
        with guarded(self.client, futures):
            futures.append(self.client.get(graph, last, sync=False))
            return results_of(self.client, futures)[0]

    def _tasks(self, packed: bytes) -> tuple[dict[Any, Any], tuple[str, int]]:
        """All tasks of a pass as one graph, and the key of its sum: a message for each would take longer than many a block.

        What all of them are given is packed once, here: Dask would look for lazy objects in every field of it, for every task.
        """
        number = uuid4().hex
        tasks: dict[Any, Any] = {}
        held: Any = packed
        if len(packed) > LARGE:
            held = (f"hold-{number}", 0)
            tasks[held] = (blocks.hold, packed)
        parts = [(f"work_on-{number}", place) for place in range(len(self._coded))]
        for part, coded in zip(parts, self._coded, strict=True):
            tasks[part] = (blocks.work_on, coded.key if isinstance(coded, Delayed) else coded, held)
        while len(parts) > 1:
            groups = [parts[start : start + FAN_IN] for start in range(0, len(parts), FAN_IN)]
            sums = {(f"add-{len(parts)}-{number}", place): group for place, group in enumerate(groups) if len(group) > 1}
            tasks.update({part: (blocks.add, group) for part, group in sums.items()})
            parts = [*sums, *(group[0] for group in groups[len(sums) :])]
        return tasks, parts[0]
