"""Tasks on a Dask cluster: waiting, cancelling, and errors of lost clusters. Needs Dask."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from distributed import Client, Future, KilledWorker, wait
from distributed.client import ClosedClientError, FutureCancelledError
from distributed.comm.core import CommClosedError

#: Seconds between two checks whether a stop was requested.
CHECK_SECONDS = 0.25
_LOST = (
    "the connection to the Dask scheduler was lost in the middle of the fit: start the cluster "
    "again, and fit again."
)


class ClusterLost(ConnectionError):  # noqa: N818 - it describes an event
    """The scheduler, or too many workers, went away in the middle of a fit."""


def some_done(client: Client, futures: list[Future], seconds: float = CHECK_SECONDS) -> set[Future]:
    """Return finished futures as soon as there is one, or none after some time."""
    seconds = min(seconds, CHECK_SECONDS)
    try:
        with client.as_current():
            return set(wait(futures, timeout=seconds, return_when="FIRST_COMPLETED").done)
    except TimeoutError:
        if client.status != "running":
            raise ClusterLost(_LOST) from None
        return set()


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
