"""Test lost workers, lost schedulers and interruptions of real clusters."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client, Event, LocalCluster
from numpy.testing import assert_array_equal

import pegasos
from clusters import in_blocks, same, start_cluster, three_classes, wide_rows
from pegasos import SDCA, SweepCV
from pegasos.dask import ClusterLost, DaskNystroem, DaskSDCA, DaskSweepCV
from pegasos.engine.optimum.passes import margin_rows
from pegasos.engine.runtime.interruption import Interrupted, interruptible, listening

Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.xdist_group("dask")


@pytest.fixture(scope="module")
def rows() -> tuple[Array, Array]:
    return three_classes()


def wait_for(client: Client, workers: int) -> None:
    deadline = time.monotonic() + 90
    while (
        len(client.scheduler_info(n_workers=-1)["workers"]) != workers
        and time.monotonic() < deadline
    ):
        time.sleep(0.05)
    assert len(client.scheduler_info(n_workers=-1)["workers"]) == workers


@pytest.mark.parametrize("counts", [(3, 1), pytest.param((3, 2, 1), marks=pytest.mark.slow)])
def test_any_number_of_workers_gives_the_same_bits(
    counts: tuple[int, ...],
    rows: Any,
    cluster: LocalCluster,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        margin_rows, "MANY_ROWS", 100
    )  # for these few rows, too, those near the margin are fetched
    monkeypatch.setattr(margin_rows, "ROWS_A_FEATURE", 10)
    weights = np.random.default_rng(0).uniform(0, 2, 600)
    learned: list[list[DaskSDCA]] = []
    swept: list[DaskSweepCV] = []
    try:
        for workers in counts:
            cluster.scale(workers)
            wait_for(client, workers)
            A, b = in_blocks(*rows, 67)  # nine: more than one task adds up
            few = in_blocks(*rows, 150)
            features = DaskNystroem(landmarks=40, random_state=0, client=client).fit(few[0])
            sweep = DaskSweepCV(
                DaskSDCA("logistic", tol=1e-2), {"lam": [0.01, 0.1]}, cv=2, client=client
            ).fit(*few, weights)
            swept.append(sweep)
            learned.append(
                [
                    DaskSDCA("hinge", 0.01, tol=1e-2, fit_intercept="free", client=client).fit(
                        A, b, weights
                    ),
                    DaskSDCA("hinge", 0.01, client=client).fit(A, b, weights),
                    DaskSDCA("logistic", tol=1e-2, client=client).fit(
                        features.transform(few[0]), few[1]
                    ),
                    DaskSDCA("hinge", 0.1, tol=1e-2, client=client).fit(*wide_rows()[:2]),
                    sweep.best_estimator_,
                ]
            )
    finally:
        cluster.scale(3)
        wait_for(client, 3)
    assert "rows near the margin" in learned[0][1].plan_.method and learned[0][1].gap_ <= 1e-3
    for several in learned[1:]:
        for one, other in zip(learned[0], several, strict=True):
            same(one, other)
    for sweep in swept[1:]:
        for name in ("objective_", "dual_objective_", "counts_"):
            assert_array_equal(getattr(swept[0], name), getattr(sweep, name), err_msg=name)


def test_a_killed_worker_does_not_change_the_result(rows: Any, client: Client) -> None:
    A, b = in_blocks(*rows, 67)
    quiet = DaskSDCA(tol=1e-2, client=client).fit(A, b)
    gaps: list[float] = []

    def kill_once(gap: float, tol: float) -> None:
        gaps.append(gap)
        if len(gaps) == 3:
            os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)

    with listening(kill_once):
        through = DaskSDCA(tol=1e-2, client=client).fit(A, b)
    assert len(gaps) > 3
    same(quiet, through)


def idle(client: Client, seconds: float = 10.0) -> bool:
    """Return whether the workers become idle and stay so: a graph may arrive with a delay."""
    deadline, quiet = time.monotonic() + seconds, 0
    while quiet < 5 and time.monotonic() < deadline:
        quiet = 0 if any(client.processing().values()) else quiet + 1
        time.sleep(0.05)
    return quiet == 5


def test_an_interruption_cancels_the_tasks(rows: Any, client: Client) -> None:
    halt = threading.Event()
    with (
        interruptible(halt.is_set),
        listening(lambda gap, tol: halt.set()),
        pytest.raises(Interrupted),
    ):
        DaskSDCA(client=client).fit(*in_blocks(*rows, 70))
    assert idle(client, 20.0)


def slowly(values: Array, started: str) -> Array:
    Event(started).set()
    time.sleep(0.5)
    return values


def interrupt_after(started: Event) -> None:
    """Send SIGINT during the first task; earlier, imports and finalizers may swallow the signal."""
    started.wait(60)
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("search", [False, True], ids=["fit", "sweep"])
def test_ctrl_c_cancels_the_tasks(search: bool, rows: Any, client: Client) -> None:
    """Three workers get sixty blocks of 0.5 s each, and are interrupted during the first."""
    X, y = rows
    started = Event(f"started {search}", client=client)
    parts = [slice(start, start + 10) for start in range(0, 600, 10)]
    lazy = (
        [dask.delayed(slowly, pure=False)(X[part], started.name) for part in parts],
        [dask.delayed(y[part]) for part in parts],
    )
    learner = DaskSDCA(client=client)
    threading.Thread(target=interrupt_after, args=(started,), daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        (DaskSweepCV(learner, {"lam": [0.1]}, cv=2) if search else learner).fit(*lazy)
    assert idle(client)


def test_a_lost_scheduler_is_a_clear_error(rows: Any) -> None:
    with start_cluster(1) as cluster, Client(cluster, set_as_default=False) as client:
        learner = DaskSDCA(client=client)
        with (
            listening(lambda gap, tol: cluster.close()),
            pytest.raises(ClusterLost, match="connection to the Dask scheduler was lost"),
        ):
            learner.fit(*in_blocks(*rows, 300))


def test_no_address_reaches_a_file_or_a_page(rows: Any, client: Client, tmp_path: Path) -> None:
    X, y = rows
    A, b = in_blocks(X, y, 300)
    address = client.scheduler.address.encode()
    learner = DaskSDCA("logistic", client=client).fit(A, b)
    swept = DaskSweepCV(learner, {"lam": [0.1]}, cv=2).fit(A, b)
    features = DaskNystroem(landmarks=20, random_state=0, client=client).fit(A)
    units = SweepCV(SDCA(random_state=0), {"lam": [0.1, 0.01]}, cv=2, client=client).fit(X, y)
    pegasos.save(learner.to_local(), tmp_path / "trees.model")
    texts = [
        pickle.dumps(each)
        for each in (learner, learner.to_local(), swept, features, features.to_local(), units)
    ]
    texts += [(tmp_path / "trees.model").read_bytes()]
    texts += [pegasos.report(units, X, y).html.encode()]
    for text in texts:
        for secret in (b"tcp://", b"127.0.0.1", address, str(client.id).encode()):
            assert secret not in text
    assert pickle.loads(texts[0]).client is None
