"""Map functions over the blocks on a cluster and sum the results.

Sums are formed by a tree whose shape depends only on the number of blocks, so that rounding does
not depend on the number of workers.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from distributed import Client, Future, get_client

from pegasos.dask import blocks
from pegasos.engine.rows.blocks import Part
from pegasos.engine.rows.plan import budget_bytes
from pegasos.learners.cluster_tasks import ClusterLost, guarded, results_of

__all__ = ["ClusterLost", "ClusterPasses", "guarded"]

#: Number of parts summed by one task.
FAN_IN = 8
#: Arguments of more bytes become a separate task, sent to each worker once, instead of being part
#: of every task.
LARGE = 1 << 16
#: Bytes of rows that may be fetched to the client, if its memory allows.
ROOM = 1 << 32


class ClusterPasses:
    """Passes over coded blocks on a cluster.

    Blocks are futures on the workers, or lazy objects, recomputed from their source in every pass.
    """

    def __init__(self, client: Client, coded: Sequence[Any], width: int, row_bytes: float) -> None:
        self.client, self.width = client, width
        self.row_bytes, self.room = row_bytes, min(ROOM, budget_bytes(None))
        self.count = 0
        self._coded = list(coded)

    def map_sum(self, work: Any, *arguments: Any) -> Part:
        """Return the sum of ``work(block, *arguments)`` over all blocks."""
        tasks, parts = self._tasks("map_sum", (work, *arguments))
        while len(parts) > 1:
            groups = [parts[start : start + FAN_IN] for start in range(0, len(parts), FAN_IN)]
            sums = {
                (f"add-{len(parts)}-{uuid4().hex}", place): group
                for place, group in enumerate(groups)
                if len(group) > 1
            }
            tasks.update({part: (blocks.add, group) for part, group in sums.items()})
            parts = [*sums, *(group[0] for group in groups[len(sums) :])]
        return self._results(tasks, parts)[0]

    def map_join(self, work: Any, join: Any, *arguments: Any) -> Any:
        """Return the joined results of ``work(block, *arguments)`` for all blocks, in order."""
        tasks, parts = self._tasks("map_join", (work, join, *arguments))
        return join(self._results(tasks, parts))

    def _tasks(
        self, method: str, given: tuple[Any, ...]
    ) -> tuple[dict[Any, Any], list[tuple[str, int]]]:
        """Return a task for each block, with the keys of the results.

        Shared arguments are pickled once, here: Dask would otherwise search every field of them for
        lazy objects, for every task.
        """
        self.count += 1
        number = uuid4().hex
        tasks: dict[Any, Any] = {}
        packed: Any = pickle.dumps((method, given))
        if len(packed) > LARGE:
            tasks[f"hold-{number}", 0] = (blocks.hold, packed)
            packed = (f"hold-{number}", 0)
        parts = [(f"{method}-{number}", place) for place in range(len(self._coded))]
        for part, coded in zip(parts, self._coded, strict=True):
            tasks[part] = (blocks.run, coded.key if isinstance(coded, Delayed) else coded, packed)
        return tasks, parts

    def _results(self, tasks: dict[Any, Any], parts: list[tuple[str, int]]) -> list[Any]:
        """Compute all tasks of a pass as one graph.

        One message per task would take longer than the computation on many a block.
        """
        lazy = [coded for coded in self._coded if isinstance(coded, Delayed)]
        graph = HighLevelGraph.from_collections(parts[0][0], tasks, lazy)
        futures: list[Future] = []
        with guarded(self.client, futures):
            futures += self.client.get(graph, parts, sync=False)
            return list(results_of(self.client, futures))


def results(client: Client, lazy: list[Any]) -> list[Any]:
    """Compute lazy objects; the tasks are cancelled if this is interrupted."""
    futures = client.compute(lazy)
    with guarded(client, futures):
        return list(results_of(client, futures))


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
