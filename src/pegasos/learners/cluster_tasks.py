"""Tasks on a Dask cluster: waiting for them, cancelling them, and what a lost cluster means. Needs Dask."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from distributed import Client, Future, KilledWorker, wait
from distributed.client import ClosedClientError, FutureCancelledError
from distributed.comm.core import CommClosedError

from pegasos.engine.runtime.interruption import check_interruption

#: Seconds between two looks whether somebody asked to stop.
LOOK_SECONDS = 0.25


class ClusterLost(ConnectionError):  # noqa: N818 - it says what happened
    """The scheduler, or too many workers, went away in the middle of a fit."""


def results_of(client: Client, futures: list[Future]) -> list[Any]:
    """The results of some futures, which workers need not keep after that; asks now and then whether somebody wants an end."""
    while True:
        check_interruption()
        try:
            with client.as_current():
                wait(futures, timeout=LOOK_SECONDS)
            found = list(client.gather(futures))
            for future in futures:  # a frame of a wait that was given up may know it for long
                future.release()
            return found
        except TimeoutError:
            if client.status != "running":
                raise ClusterLost(_LOST) from None


def results_as_done(client: Client, futures: list[Future]) -> list[Any]:
    """The same where results are large: each is fetched as soon as it is there, so that workers hold few of them."""
    found: dict[Any, Any] = {}
    waiting = list(futures)
    while waiting:
        check_interruption()
        done = some_done(client, waiting, LOOK_SECONDS)
        waiting = [future for future in waiting if future not in done]
        if done:
            found |= zip(
                (future.key for future in done), results_of(client, list(done)), strict=True
            )
    return [found[future.key] for future in futures]


def some_done(client: Client, futures: list[Future], seconds: float) -> set[Future]:
    """Those that are done, as soon as one is; perhaps none, after a while."""
    try:
        with client.as_current():
            return set(
                wait(
                    futures, timeout=min(seconds, LOOK_SECONDS), return_when="FIRST_COMPLETED"
                ).done
            )
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
