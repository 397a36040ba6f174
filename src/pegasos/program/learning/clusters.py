"""Connect to a Dask cluster: one that is running, or local processes for one command."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
from collections.abc import Iterator
from typing import Any

from pegasos.program.errors import UsageError
from pegasos.program.files import temporary_folder
from pegasos.program.tables.messages import plain
from pegasos.program.terminal import console
from pegasos.program.terminal.options import RunningOptions

#: Seconds in which a scheduler must answer, and in which a local cluster must end.
_ANSWER_SECONDS, _CLOSE_SECONDS = 5, 2
#: Preload of local workers: Ctrl-C on a terminal reaches all its processes, but this command
#: decides when the workers end.
_IGNORE_INTERRUPTS = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"


@contextlib.contextmanager
def cluster_of(options: RunningOptions) -> Iterator[Any]:
    """Yield a client of the requested cluster, or None; the loss of the cluster is one error."""
    if not options.asks_for_cluster:
        yield None
        return
    if options.cluster is not None and options.workers is not None:
        raise UsageError(
            "give --cluster (one that is running) or --workers (some for this command), not both."
        )
    from pegasos.cluster_tasks import guarded

    with _client(options) as client, guarded(client, []):
        workers = len(client.nthreads())
        if not workers:
            raise ConnectionError(
                "the Dask cluster has no workers: start some with `dask worker`, and try again."
            )
        console.say(f"cluster: {workers} worker{'s' * (workers > 1)}")
        yield client


def fit_on_cluster(learner: Any, client: Any, *blocks: Any) -> None:
    """Fit a linear SDCA to blocks of rows, labels and perhaps weights on the workers."""
    from pegasos.dask import DaskSDCA

    names = set(DaskSDCA._get_param_names())
    params = {name: value for name, value in learner.get_params().items() if name in names}
    if client.cluster is None:  # --memory limits this machine
        params["memory"] = None
    found = DaskSDCA(**params, client=client).fit(*blocks).to_local()
    vars(learner).update(vars(found.set_params(memory=learner.memory)))


@contextlib.contextmanager
def _client(options: RunningOptions) -> Iterator[Any]:
    """Connect, after starting local processes if requested; close both on exit."""
    from distributed import Client, LocalCluster

    with contextlib.ExitStack() as stack:
        stack.callback(logging.disable, logging.root.manager.disable)
        logging.disable(logging.CRITICAL)  # errors are reported once, by this program
        where: Any = options.cluster
        if where is None:
            folder = stack.enter_context(temporary_folder())
            with console.working(f"starting {options.workers} workers"):
                where = LocalCluster(
                    n_workers=options.workers,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    local_directory=str(folder),
                    silence_logs=logging.CRITICAL,
                    preload=[_IGNORE_INTERRUPTS],
                )
            stack.callback(_end, where)
        try:
            with console.working("looking for the cluster"):
                client = Client(where, timeout=_ANSWER_SECONDS, set_as_default=False)
        except Exception as error:  # of any kind: addresses are parsed in many places
            address = plain(options.cluster or "this machine")
            remedy = "start one with `dask scheduler`, or use --workers N"
            raise ConnectionError(f"no Dask scheduler answers at {address}: {remedy}.") from error
        stack.callback(_close, client)
        yield client


def _close(opened: Any) -> None:
    with contextlib.suppress(Exception):  # it may be gone already
        opened.close(timeout=_CLOSE_SECONDS)


def _end(local: Any) -> None:
    """Kill the processes of a local cluster: closing it would wait for work in progress."""
    kill = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has the second only
    for nanny in local.workers.values():
        nanny.auto_restart = False
        with contextlib.suppress(OSError):
            if nanny.pid:
                os.kill(nanny.pid, kill)
    _close(local)
