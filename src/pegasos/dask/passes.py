"""Map functions over the blocks on a cluster and sum the results.

Sums are formed by a tree whose shape depends only on the number of blocks, so that rounding does
not depend on the number of workers.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import dask
from distributed import Client, get_client

from pegasos.dask import blocks
from pegasos.engine.rows.blocks import Part
from pegasos.engine.rows.plan import budget_bytes
from pegasos.learners.cluster_tasks import guarded, results_of

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
        return [run(coded, packed) for coded in self._coded]


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
