"""Maps over the blocks on a cluster, and their sums by a tree whose shape depends on nothing but the number of blocks."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import dask
from distributed import Client, Future, KilledWorker, wait
from distributed.client import ClosedClientError, FutureCancelledError
from distributed.comm.core import CommClosedError

from pegasos.dask import blocks
from pegasos.engine.interruption import check_interruption
from pegasos.engine.row_blocks import Part

#: Parts that one task adds up.
FAN_IN = 8
#: Bytes of arguments from which on they are a task of their own, sent to each worker once, instead of a part of every task.
LARGE = 1 << 16
#: Seconds between two looks whether somebody asked to stop.
LOOK_SECONDS = 0.25


class ClusterLost(ConnectionError):  # noqa: N818 - it says what happened
    """The scheduler, or too many workers, went away in the middle of a fit."""


class ClusterPasses:
    """Coded blocks on the workers (`kept`: futures), or made again from their source in every pass (lazy objects)."""

    def __init__(self, client: Client, coded: Sequence[Any], width: int, kept: bool) -> None:
        self.client, self.width = client, width
        self._coded, self._kept = list(coded), kept

    def map_sum(self, work: Any, *arguments: Any) -> Part:
        """work(block, *arguments) for all blocks, and the sums over them."""
        client = self.client
        everything: list[Future] = []
        with guarded(client, everything):
            held: Any = (work, arguments)
            if len(pickle.dumps(held)) > LARGE:
                held = client.submit(blocks.hold, work, arguments, pure=False)
                everything.append(held)
            if self._kept:
                parts = [client.submit(blocks.work_on, coded, held, pure=False) for coded in self._coded]
            else:
                parts = client.compute([dask.delayed(blocks.work_on, pure=False)(coded, held) for coded in self._coded])
            everything += parts
            while len(parts) > 1:
                groups = [parts[start : start + FAN_IN] for start in range(0, len(parts), FAN_IN)]
                parts = [client.submit(blocks.add, group, pure=False) if len(group) > 1 else group[0] for group in groups]
                everything += parts
            return results_of(client, parts)[0]


def results_of(client: Client, futures: list[Future]) -> list[Any]:
    """The results of some futures; asks now and then whether somebody wants an end."""
    while True:
        check_interruption()
        try:
            with client.as_current():
                wait(futures, timeout=LOOK_SECONDS)
            return list(client.gather(futures))
        except TimeoutError:
            if client.status != "running":
                raise ClusterLost(_LOST) from None


def some_done(client: Client, futures: list[Future], seconds: float) -> set[Future]:
    """Those that are done, as soon as one is; perhaps none, after a while."""
    try:
        with client.as_current():
            return set(wait(futures, timeout=min(seconds, LOOK_SECONDS), return_when="FIRST_COMPLETED").done)
    except TimeoutError:
        if client.status != "running":
            raise ClusterLost(_LOST) from None
        return set()


@contextmanager
def guarded(client: Client, futures: list[Future]) -> Iterator[None]:
    """Whatever ends the work inside (Ctrl-C, too) cancels these tasks; what a lost cluster causes is a `ClusterLost`."""
    try:
        yield
    except KilledWorker as error:
        raise ClusterLost(
            f"a block was lost with every worker that tried it ({error.allowed_failures + 1} of them): it may need more memory "
            "than a worker has. Use smaller blocks or larger workers."
        ) from error
    except (CommClosedError, ClosedClientError, FutureCancelledError) as error:
        raise ClusterLost(_LOST) from error
    except ClusterLost:
        raise
    except BaseException:
        if client.status == "running":
            client.cancel(list(futures), force=True)
        raise


_LOST = "the connection to the Dask scheduler was lost in the middle of the fit: start the cluster again, and fit again."
