"""Helpers for tests on real clusters; the cluster of the session is in conftest.py."""

from __future__ import annotations

import logging
import os
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import LocalCluster
from distributed.utils import get_mp_context
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import make_classification

from pegasos.dask import DaskSDCA

Array = np.ndarray[Any, Any]

#: Workers are forked from one process that has loaded all modules (worker_code.py), and monitor
#: themselves
#: less often, which dominates their time when tasks are small.
dask.config.set(
    {
        "distributed.worker.multiprocessing-method": "forkserver",
        "distributed.worker.profile.enabled": False,
        "distributed.worker.memory.monitor-interval": "1s",
        "distributed.admin.system-monitor.interval": "5s",
        "distributed.admin.tick.interval": "1s",
    }
)


def _start_fork_server() -> None:
    """Start the process from which workers are forked.

    In Python 3.11 it has another search path, and silently skips modules that it cannot find.
    """
    get_mp_context().set_forkserver_preload(
        ["worker_code"]
    )  # after its first call, which names other modules
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
        forkserver.ensure_running()


def start_cluster(workers: int) -> LocalCluster:
    """Start workers in processes of this machine, connected through loopback only."""
    _start_fork_server()
    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        memory_limit="2GB",
        silence_logs=logging.ERROR,
    )


def three_classes() -> tuple[Array, Array]:
    """Return 600 rows of three classes with text labels."""
    X, y = make_classification(600, 8, n_informative=5, n_classes=3, class_sep=0.8, random_state=0)
    return X, np.array(["ash", "birch", "cedar"])[y]


def in_blocks(X: Array, y: Array, size: int) -> tuple[Any, Any]:
    return da.from_array(X, chunks=(size, -1)), da.from_array(y, chunks=size)


def same(one: DaskSDCA, other: DaskSDCA) -> None:
    """Assert that two fitted classifiers are bitwise equal."""
    for name in (
        "coef_",
        "intercept_",
        "objective_",
        "dual_objective_",
        "gap_curve_",
        "objective_curve_",
        "classes_",
    ):
        assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def wide_rows() -> tuple[list[Any], list[Any], Any, Array]:
    """Return delayed parts of CSR rows and labels, and all rows and labels."""
    X = sparse.random(400, 2500, density=0.01, format="csr", random_state=0)
    y = np.random.default_rng(0).integers(0, 2, 400)
    parts = [slice(0, 150), slice(150, 220), slice(220, 400)]
    return (
        [dask.delayed(X[part]) for part in parts],
        [dask.delayed(y[part]) for part in parts],
        X,
        y,
    )
