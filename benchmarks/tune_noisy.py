"""`pegasos tune` without options against GridSearchCV over 25 cells of SVC.

Both run as processes of their own, alternating, from the start of Python to the end. Their errors
are counted on equal rows. The grid of `tune` is set on other data (docs/defaults.md).
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.harness import Benchmark, NotHereError, Row

FOLDER = Path(
    os.environ.get("PEGASOS_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data"
)
GRID = {"svc__C": [0.1, 1, 10, 100, 1000], "svc__gamma": ["scale", 0.001, 0.01, 0.1, 1]}
#: Rows up to which both sides are timed more than once.
REPEATED_ROWS = 3000

Rows = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Table:
    """Table by its name; `make` returns its rows and labels."""

    name: str
    make: Callable[[], Rows]


def noisy(rows: int, width: int, classes: int, noise: float, seed: int) -> Rows:
    """Return clusters at the corners of a cube; `noise` is the probability of a wrong label."""
    from sklearn.datasets import make_classification

    random = np.random.default_rng(seed)
    X, y = make_classification(
        rows, width, n_informative=width // 2, n_classes=classes, flip_y=0.0, random_state=seed
    )
    moved = (y + random.integers(1, classes, size=rows)) % classes
    return X, np.where(random.random(rows) < noise, moved, y)


def part_of(name: str, rows: int, labels: Callable[[Any], Any] = lambda y: y) -> Rows:
    """Return random rows of a stored data set."""
    path = FOLDER / f"{name}.npz"
    if not path.exists():
        raise NotHereError(f"needs {path}: set PEGASOS_DATA to the folder that holds it")
    with np.load(path) as file:
        X, y = file["X"], file["y"]
    chosen = np.sort(np.random.default_rng(0).choice(len(y), rows, replace=False))
    return X[chosen].astype(np.float64), labels(y[chosen]).astype(np.int64)


TABLES = {
    "noisy-300": Table("noise 0.1, 300 x 10", lambda: noisy(300, 10, 2, 0.1, 101)),
    "noisy-1500": Table("noise 0.4, 1500 x 20", lambda: noisy(1500, 20, 2, 0.4, 102)),
    "noisy-6000": Table("noise 0.25, 6000 x 30, 3 classes", lambda: noisy(6000, 30, 3, 0.25, 103)),
    "covtype-3000": Table(
        "covtype, 3000, class 2 or not", lambda: part_of("covtype", 3000, lambda y: y == 2)
    ),
    "covtype-6000": Table("covtype, 6000, 7 classes", lambda: part_of("covtype", 6000)),
    "covtype-20000": Table(
        "covtype, 20000, class 2 or not", lambda: part_of("covtype", 20_000, lambda y: y == 2)
    ),
    "mnist": Table("MNIST, 2000", lambda: part_of("mnist", 2000)),
    "fashion": Table("Fashion-MNIST, 3000", lambda: part_of("fashion", 3000)),
}


def write(table: Table, folder: Path) -> Path:
    """Write the table as CSV, and as npz with the split of `tune`."""
    from pegasos.program.datasets import split_rows
    from pegasos.program.tables.reading import read

    X, y = table.make()
    path = folder / f"{''.join(letter if letter.isalnum() else '-' for letter in table.name)}.csv"
    head = ",".join([*(f"x{place + 1}" for place in range(X.shape[1])), "y"])
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header=head, comments="", fmt="%.10g")
    dataset = read(str(path))
    split = split_rows(dataset, None, 0)
    np.savez(
        path.with_suffix(".npz"), X=dataset.X, y=dataset.labels, train=split.train, test=split.test
    )
    return path


def ours(path: Path, folder: Path) -> tuple[float, float]:
    """Return seconds and test error of `pegasos tune`."""
    with tempfile.TemporaryDirectory(dir=folder) as out:
        seconds, answer = _timed(
            [sys.executable, "-m", "pegasos", "tune", str(path), "--json", "-q", "-o", f"{out}/run"]
        )
    return seconds, float(answer["errors"]["test"]["error"])


def theirs(path: Path) -> tuple[float, float]:
    """Return seconds and test error of GridSearchCV in a fresh process."""
    seconds, answer = _timed(
        [sys.executable, "-m", "benchmarks.tune_noisy", str(path.with_suffix(".npz"))]
    )
    return seconds, float(answer["error"])


def _timed(command: list[str]) -> tuple[float, Any]:
    # Let Python write bytecode, which installed packages have.
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, check=True, env=environment)
    return time.perf_counter() - begin, json.loads(done.stdout)


def compare(table: Table, folder: Path, repeats: int) -> Iterator[Row]:
    """Run both sides in turns."""
    path = write(table, folder)
    with np.load(path.with_suffix(".npz")) as file:
        rows, tested = len(file["y"]), len(file["test"])
    times: list[tuple[float, float]] = []
    for _ in range(repeats if rows <= REPEATED_ROWS else 1):
        (our_seconds, our_error), (their_seconds, their_error) = ours(path, folder), theirs(path)
        times.append((our_seconds, their_seconds))
    fast, slow = (median(side) for side in zip(*times, strict=True))
    deviation = math.sqrt(max(their_error, 1 / tested) * (1 - their_error) / tested)
    note = f"test error {our_error:.4f} against {their_error:.4f} on {tested} rows"
    excess = (our_error - their_error) / deviation
    yield Row(
        f"{table.name}: faster", slow / fast, "x", goal=2.0, ours_seconds=fast, theirs_seconds=slow
    )
    yield Row(
        f"{table.name}: test error above SVC's",
        excess,
        "standard errors",
        goal=1.0,
        at_least=False,
        note=note,
    )


def measure(table: Table, repeats: int) -> Iterator[Row]:
    """Measure one table; a small one first compiles all functions."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ours(
            write(Table("warm up", lambda: noisy(300, 6, 3, 0.1, 0)), folder), folder
        )  # compiles, once on a machine
        yield from compare(table, folder, repeats)


def search(path: str) -> None:
    """Search a grid of SVC on the rows of a file, and print the test error."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    with np.load(path) as file:
        X, y, train, test = (file[name] for name in ("X", "y", "train", "test"))
    grid = GridSearchCV(
        Pipeline([("scale", StandardScaler()), ("svc", SVC())]), GRID, cv=5, n_jobs=2
    )
    grid.fit(X[train], y[train])
    print(json.dumps({"error": 1 - grid.score(X[test], y[test])}))


COMPARES = (
    "`pegasos tune` without options against GridSearchCV over 25 cells of SVC, start-up included"
)
BENCHMARK = Benchmark.of_cases(
    "tune_noisy", COMPARES, {name: partial(measure, table) for name, table in TABLES.items()}
)

if __name__ == "__main__":
    search(sys.argv[1])
