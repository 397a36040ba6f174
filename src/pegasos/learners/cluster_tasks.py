"""Tasks on a Dask cluster: waiting, cancelling, and errors of lost clusters. Needs Dask."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from distributed import Client, Future, KilledWorker, wait
from distributed.client import ClosedClientError, FutureCancelledError
from distributed.comm.core import CommClosedError

from pegasos.engine.runtime.interruption import check_interruption

#: Seconds between two checks whether a stop was requested.
CHECK_SECONDS = 0.25
_LOST = (
    "the connection to the Dask scheduler was lost in the middle of the fit: start the cluster "
    "again, and fit again."
)


class ClusterLost(ConnectionError):  # noqa: N818 - it describes an event
    """The scheduler, or too many workers, went away in the middle of a fit."""


def results_of(client: Client, futures: list[Future]) -> list[Any]:
    """Return the results of some futures, and release these on the workers."""
    while True:
        check_interruption()
        try:
            with client.as_current():
                wait(futures, timeout=CHECK_SECONDS)
            found = list(client.gather(futures))
            for future in futures:  # an abandoned wait may keep references for long
                future.release()
            return found
        except TimeoutError:
            _check_running(client)


def results_as_done(client: Client, futures: list[Future]) -> list[Any]:
    """Return large results: each is fetched once it is there, so that workers hold few of them."""
    found: dict[Any, Any] = {}
    waiting = list(futures)
    while waiting:
        check_interruption()
        done = list(some_done(client, waiting, CHECK_SECONDS))
        waiting = [future for future in waiting if future not in done]
        if done:
            found |= zip((each.key for each in done), results_of(client, done), strict=True)
    return [found[future.key] for future in futures]


def some_done(client: Client, futures: list[Future], seconds: float) -> set[Future]:
    """Return finished futures as soon as there is one, or none after some time."""
    seconds = min(seconds, CHECK_SECONDS)
    try:
        with client.as_current():
            return set(wait(futures, timeout=seconds, return_when="FIRST_COMPLETED").done)
    except TimeoutError:
        _check_running(client)
        return set()


def _check_running(client: Client) -> None:
    if client.status != "running":
        raise ClusterLost(_LOST) from None


@contextmanager
def guarded(client: Client, futures: list[Future]) -> Iterator[None]:
    """Cancel these tasks if the work inside ends with an exception; name losses `ClusterLost`."""
    try:
        yield
    except KilledWorker as error:
        raise ClusterLost(
            f"a block was lost with every worker that tried it ({error.allowed_failures + 1} of "
            "them): it may need more memory than a worker has. Use smaller blocks or larger "
            "workers."
        ) from error
    except (CommClosedError, ClosedClientError, FutureCancelledError) as error:
        raise ClusterLost(_LOST) from error
    except ClusterLost:
        raise
    except BaseException:
        if client.status == "running":
            client.cancel(list(futures), force=True)
        raise
