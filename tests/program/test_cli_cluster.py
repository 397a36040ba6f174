"""Test train and tune on real clusters: equal results, and one line for each failure."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from distributed import LocalCluster

import pegasos
from command_line import call, fine, messy, numbers, written
from pegasos.program.tables.dataset import ReadOptions
from pegasos.program.tables.reading import read

#: All tests of clusters run in one process.
pytestmark = pytest.mark.xdist_group("dask")


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Start two workers in this process, with a scheduler on loopback."""
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
    ) as made:
        yield made


def holds(folder: Path, words: str) -> list[str]:
    """Return the files that contain any of these words."""
    return [
        str(path)
        for path in folder.rglob("*")
        if path.is_file() and words.encode() in path.read_bytes()
    ]


@pytest.mark.parametrize("memory", [(), ("--memory", "15kB")], ids=["in memory", "in a file"])
@pytest.mark.parametrize("frame", [numbers(900), messy(900)], ids=["two classes", "three"])
def test_train_finds_the_optimum_that_it_finds_here(
    frame: pl.DataFrame, memory: tuple[str, ...], cluster: LocalCluster, place: Path
) -> None:
    written(frame, place / "table.csv")
    given = (
        "train",
        "table.csv",
        *memory,
        "--lam",
        0.01,
        "--tol",
        1e-4,
        "--class-weight",
        "balanced",
        "--json",
    )
    here = fine(*given, "-o", "here.model").json
    answer = fine(*given, "-o", "there.model", "--cluster", cluster.scheduler_address)
    assert "cluster: 2 workers" in answer.err
    there = answer.json
    assert {name: each["rows"] for name, each in here["errors"].items()} == {
        n: e["rows"] for n, e in there["errors"].items()
    }
    one, other = pegasos.load("here.model"), pegasos.load("there.model")
    whole = read("table.csv", ReadOptions())
    np.testing.assert_array_equal(one[:-1].transform(whole.X), other[:-1].transform(whole.X))
    local, far = one.steps[-1][1], other.steps[-1][1]
    assert type(local) is type(far) is pegasos.SDCA and far.gap_ <= 1e-4
    assert (far.dual_objective_ <= local.objective_ * (1 + 1e-6)).all()
    assert (local.dual_objective_ <= far.objective_ * (1 + 1e-6)).all()
    assert holds(place, "127.0.0.1") == [] and not list((place / "temporary").iterdir())
    assert "--cluster" not in fine("show", "there.model", "--json").json["card"]["command"]


def test_tune_has_the_same_cells_and_the_same_model(cluster: LocalCluster, place: Path) -> None:
    written(numbers(), place / "table.csv")
    grid = (
        "--kernel",
        "linear",
        "--kernel",
        "gaussian:1s",
        "--lam",
        "1e-3:1e-1:2",
        "--cv",
        "3",
        "--json",
    )
    here = fine("tune", "table.csv", *grid, "-o", "here").json
    there = fine(
        "tune", "table.csv", *grid, "-o", "there", f"--cluster={cluster.scheduler_address}"
    ).json
    for name in ("cells", "best", "honest", "errors", "choice", "decision"):
        assert here[name] == there[name], name
    X = numbers().select("a", "b", "c").to_numpy()
    scores = [pegasos.load(f"{name}/best.model").decision_function(X) for name in ("here", "there")]
    np.testing.assert_array_equal(*scores)
    assert (place / "there/report.html").exists() and holds(place, "127.0.0.1") == []


def test_tune_beyond_memory(cluster: LocalCluster, place: Path) -> None:
    written(numbers(2500), place / "table.csv")
    given = (
        "tune",
        "table.csv",
        "--memory",
        "50kB",
        "--kernel",
        "linear",
        "--lam",
        "1e-2",
        "--cv",
        2,
        "--no-page",
        "--json",
    )
    here = fine(*given, "-o", "here").json
    there = fine(*given, "-o", "there", "--cluster", cluster.scheduler_address).json
    assert here["cells"] == there["cells"] and there["whole"]["gap"] <= 1e-3
    assert here["errors"]["test"]["rows"] == there["errors"]["test"]["rows"]
    assert abs(here["errors"]["test"]["mistakes"] - there["errors"]["test"]["mistakes"]) <= 5
    assert holds(place, "127.0.0.1") == []


def test_workers_that_cannot_see_the_rows(
    cluster: LocalCluster, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers do not see the file, as on another machine."""
    written(numbers(900), place / "table.csv")
    monkeypatch.setattr("pegasos.program.learning.prepared._can_read", lambda path: False)
    answer = call("train", "table.csv", "--memory", "15kB", "--cluster", cluster.scheduler_address)
    assert answer.code == 3
    assert (
        "2 of 2 workers cannot read" in answer.err
        and "set TMPDIR to a folder that all of them share" in answer.err
    )


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (
            ("--cluster", "tcp://127.0.0.1:9"),
            1,
            "no Dask scheduler answers at tcp://127.0.0.1:9: start one with `dask scheduler`",
        ),
        (("--cluster", "nowhere.invalid"), 1, "no Dask scheduler answers at nowhere.invalid"),
        (("--cluster", "odd://1:2"), 1, "no Dask scheduler answers at odd://1:2"),
        (
            ("--cluster", "tcp://a:1", "--workers", 2),
            2,
            "give --cluster (one that is running) or --workers",
        ),
        (("--workers", 0), 2, "--workers"),
    ],
)
def test_addresses_that_are_wrong(
    options: tuple[object, ...],
    code: int,
    message: str,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pegasos.program.learning.clusters._ANSWER_SECONDS", 0.3)
    written(numbers(), place / "table.csv")
    for command in ("train", "tune"):
        answer = call(command, "table.csv", *options)
        assert answer.code == code and message in answer.err, answer.err


def test_what_train_does_not_send(place: Path) -> None:
    written(numbers(), place / "table.csv")
    answer = call("train", "table.csv", "--kernel", "gaussian", "--workers", 1)
    assert (
        answer.code == 2
        and "in passes sdca and sdca-logistic learn, without a kernel" in answer.err
    )
    assert call("train", "table.csv", "-m", "pegasos", "--workers", 1).code == 2
    assert call("train", "table.csv", "--drop-outliers", 3, "--workers", 1).code == 2


def test_a_scheduler_that_goes_away(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(numbers(900), place / "table.csv")
    with LocalCluster(
        n_workers=1,
        processes=False,
        protocol="tcp",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=50,
    ) as lost:
        from pegasos.dask.table import Table

        map_sum, passes = Table.map_sum, []

        def closing(self: Table, *given: object) -> object:
            passes.append(1)
            if len(passes) == 3:
                lost.close()
            return map_sum(self, *given)

        monkeypatch.setattr(Table, "map_sum", closing)
        answer = call(
            "train",
            "table.csv",
            "--memory",
            "15kB",
            "--cluster",
            lost.scheduler_address,
            "-o",
            "lost.model",
        )
    assert answer.code == 1 and "the connection to the Dask scheduler was lost" in answer.err, (
        answer.err
    )
    assert not Path("lost.model").exists() and not list((place / "temporary").glob("pegasos-*"))


@pytest.mark.slow
@pytest.mark.parametrize("interrupted", [False, True])
def test_processes_of_this_machine_end_with_the_command(interrupted: bool, place: Path) -> None:
    random = np.random.default_rng(0)
    rows = 400_000 if interrupted else 2000
    frame = pl.DataFrame({f"f{k}": random.normal(size=rows).astype(np.float32) for k in range(10)})
    written(frame.with_columns(y=(random.random(rows) < 0.5).astype(int)), place / "table.parquet")
    command = [
        sys.executable,
        "-m",
        "pegasos",
        "train",
        "table.parquet",
        "--memory",
        "1MB" if interrupted else "30kB",
    ]
    environment = {**os.environ, "TMPDIR": str(place / "temporary")}
    options = ["--workers", "2", "-o", "m.model", "--tol", "1e-9"]
    process = subprocess.Popen(
        [*command, *options],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if interrupted and "cluster: 2 workers" in line:
            time.sleep(1.0)
            begin = time.monotonic()
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does: all processes get it
    process.wait(60)
    assert "Traceback" not in "".join(said)
    if interrupted:
        assert (
            time.monotonic() - begin < 5 and process.returncode == 130 and "interrupted" in said[-1]
        )
    else:
        assert process.returncode == 0 and Path("m.model").exists()
    assert not list((place / "temporary").iterdir())
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
