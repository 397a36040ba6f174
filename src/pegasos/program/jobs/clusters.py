"""Where work is sent: a Dask cluster that is running, or one of this machine's processes that lives as long as the command."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from pegasos.engine.runtime.memory import parse_bytes
from pegasos.learners.catalogue import ONE_VS_ONE, SDCA
from pegasos.program.errors import UsageError
from pegasos.program.files import temporary_folder
from pegasos.program.large.optimum import Cluster
from pegasos.program.tables.dataset import Dataset
from pegasos.program.tables.messages import plain
from pegasos.program.terminal import console
from pegasos.program.terminal.options import ClusterOptions, LearningOptions

Array = np.ndarray[Any, Any]

#: Seconds in which a scheduler must answer, and in which a cluster of our own must be gone.
_ANSWER_SECONDS, _CLOSE_SECONDS = 5, 2
#: What a worker does first: Ctrl-C on a terminal reaches all its processes, and this one is told by us when to end.
_DEAF = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
#: Processes that are started for one command.
_MOST_WORKERS = 1000
#: Bytes of a block that goes to the workers.
_BLOCK_BYTES = 32 * 2**20


def check_cluster(options: ClusterOptions) -> None:
    """Find out before any work is done whether there is a scheduler at the address that was given."""
    if options.cluster is not None and options.workers is not None:
        raise UsageError(
            "give --cluster (one that is running) or --workers (some for this command), not both."
        )
    if options.workers is not None and options.workers > _MOST_WORKERS:
        raise UsageError(
            f"--workers starts processes on this machine, at most {_MOST_WORKERS:,}; got {options.workers:,}."
        )
    if options.cluster is None:
        return
    from distributed.comm.core import connect
    from distributed.security import Security

    address = options.cluster

    async def call() -> None:
        comm = await connect(
            address, timeout=_ANSWER_SECONDS, **Security().get_connection_args("client")
        )
        await comm.close()

    try:
        with console.working("looking for the cluster"):
            asyncio.run(call())
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise _no_answer(address) from error


def _no_answer(address: str) -> ConnectionError:
    todo = "start one with `dask scheduler`, or use --workers N"
    return ConnectionError(f"no Dask scheduler answers at {plain(address)}: {todo}.")


@contextlib.contextmanager
def cluster_of(options: ClusterOptions, memory: str | None = None) -> Iterator[Cluster | None]:
    """The cluster that was asked for, if one was; when it is lost, that is told in one line.

    `memory`: what rows may take in the processes of this machine.
    """
    if not options.asked:
        yield None
        return
    from distributed.client import ClosedClientError, FutureCancelledError
    from distributed.comm.core import CommClosedError

    from pegasos.dask.passes import ClusterLost

    kept = None if memory is None or options.workers is None else parse_bytes(memory)
    try:
        with _client(options) as client:
            workers = len(client.scheduler_info(n_workers=-1)["workers"])
            if not workers:
                raise ConnectionError(
                    "the Dask cluster has no workers: start some with `dask worker`, and try again."
                )
            console.say(f"cluster: {workers} worker{'s' * (workers > 1)}")
            yield Cluster(client, kept)
    except (ClusterLost, CommClosedError, ClosedClientError, FutureCancelledError) as error:
        told = (
            str(error)
            if isinstance(error, ClusterLost)
            else "the connection to the Dask scheduler was lost."
        )
        raise ConnectionError(told) from error


@contextlib.contextmanager
def _client(options: ClusterOptions) -> Iterator[Any]:
    """A connection that ends with the block; processes of our own end with it, too."""
    from distributed import Client, LocalCluster

    with contextlib.ExitStack() as stack:
        stack.callback(logging.disable, logging.root.manager.disable)
        logging.disable(logging.CRITICAL)  # what goes wrong is told once, by us
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
                    preload=[_DEAF],
                )
            stack.callback(_end, where)
        try:
            client = Client(where, timeout=_ANSWER_SECONDS, set_as_default=False)
        except OSError as error:
            raise _no_answer(options.cluster or "this machine") from error
        stack.callback(_close, client)
        yield client


def _close(opened: Any) -> None:
    with contextlib.suppress(Exception):  # it may be gone already
        opened.close(timeout=_CLOSE_SECONDS)


def _end(local: Any) -> None:
    """End the processes of a cluster at once: it would wait for those that are at work on what nobody wants any more."""
    for nanny in local.workers.values():
        nanny.auto_restart = False
        with contextlib.suppress(OSError):
            if nanny.pid:
                os.kill(
                    nanny.pid, getattr(signal, "SIGKILL", signal.SIGTERM)
                )  # Windows has the second only, and ends at once
    _close(local)


def check_learning(model: str, learning: LearningOptions) -> None:
    """Refuse what `train` cannot do on a cluster."""
    names = [model.name for model in SDCA.models]
    if model not in names or (learning.kernel and not learning.landmarks):
        todo = "`tune` sends every model's folds; for a kernel use --landmarks"
        raise UsageError(
            f"--cluster and --workers of train are for {' and '.join(names)} without a kernel. {todo}."
        )
    if learning.multiclass == ONE_VS_ONE:
        raise UsageError(f"--multiclass {ONE_VS_ONE} does not go with --cluster or --workers.")
    if learning.drop_outliers is not None:
        raise UsageError("--drop-outliers does not go with --cluster or --workers.")


def fit_on_cluster(estimator: Pipeline, rows: Dataset, cluster: Cluster) -> None:
    """Fit a pipeline that ends with a linear SDCA: the steps before it here, the learner on the workers.

    Prepared rows are sent to the workers in blocks, once.
    """
    from pegasos.dask import DaskSDCA

    name, learner = estimator.steps[-1]
    X = estimator[:-1].fit_transform(rows.X)
    width = max(1, X.shape[1]) if not sparse.issparse(X) else 1 + X.nnz // X.shape[0]
    size = max(
        1,
        min(
            _BLOCK_BYTES // (8 * width),
            -(-X.shape[0] // len(cluster.client.scheduler_info(n_workers=-1)["workers"])),
        ),
    )
    blocks = [slice(start, start + size) for start in range(0, X.shape[0], size)]
    parts = [
        [values[block] for block in blocks]
        for values in (X, rows.y, rows.weights)
        if values is not None
    ]
    if not sparse.issparse(X):
        parts[0] = [
            np.asarray(part) for part in parts[0]
        ]  # Nyström features may be numbers that are not there yet
    sent = [cluster.client.scatter(part, hash=False) for part in parts]
    given = {
        name: getattr(learner, name) for name in DaskSDCA._get_param_names() if name != "client"
    }
    given |= {"memory": cluster.memory, "client": cluster.client}
    local = DaskSDCA(**given).fit(*sent).to_local().set_params(memory=learner.memory)
    estimator.steps[-1] = (name, local)
