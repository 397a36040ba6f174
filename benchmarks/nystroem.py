"""Nyström features and the exact linear method: error against time by landmarks, and the solver against LogisticRegression's.

Widths and C were chosen on rows held out from the training rows, with fewer rows and landmarks, and then fixed. liquidSVM's
published figure for covtype is 398 s on 3 threads of another machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.data import shuffled, standardized, stored
from benchmarks.harness import Benchmark, Row, largest
from benchmarks.solvers_linear import Table, compare
from pegasos import SDCA, Nystroem
from pegasos.kernels import Gaussian

Array = np.ndarray[Any, Any]
Sets = tuple[Array, Array, Array, Array]


@dataclass(frozen=True)
class Case:
    """Training and test rows with labels, the kernel's variance, C, and which losses are solved with how many landmarks."""

    name: str
    rows: Callable[[int], Sets]
    variance: float
    C: float
    landmarks: dict[str, tuple[int, ...]]


def covtype(most: int) -> Sets:
    """A fifth of the rows, at random, are test rows."""
    X, y = shuffled("covtype")
    X = standardized(X).astype(np.float32)
    train = len(y) * 4 // 5
    return X[: min(train, most)], y[: min(train, most)], X[train:], y[train:]


def images(name: str) -> Callable[[int], Sets]:
    """The last 10,000 rows are the test rows; pixels from 0 to 1."""

    def rows(most: int) -> Sets:
        with np.load(stored(f"{name}.npz")) as file:
            X, y = file["X"] / np.float32(255), file["y"].astype(np.int64)
        return X[: min(60_000, most)], y[: min(60_000, most)], X[60_000:], y[60_000:]

    return rows


CASES = (
    Case("covtype", covtype, 10.0, 100.0, {"logistic": (500, 2000, 4000), "hinge": (500,)}),
    Case(
        "mnist", images("mnist"), 20.0, 10.0, {"logistic": (500, 2000, 4000), "hinge": (500, 2000)}
    ),
    Case(
        "fashion",
        images("fashion"),
        30.0,
        10.0,
        {"logistic": (500, 2000, 4000), "hinge": (500, 2000)},
    ),
)


def measure(case: Case, sets: Sets, loss: str, landmarks: int) -> Row:
    X, y, test, expected = sets
    start = time.perf_counter()
    features = Nystroem(Gaussian(case.variance), landmarks, random_state=0).fit(X)
    chosen = time.perf_counter()
    mapped = features.transform(X)
    made = time.perf_counter()
    learner = SDCA(loss, lam=1 / (case.C * len(y)), random_state=0).fit(mapped, y)
    solved = time.perf_counter()
    del mapped
    error = float((learner.predict(features.transform(test)) != expected).mean())
    note = f"choose {chosen - start:.1f} s, map {made - chosen:.1f} s, solve {solved - made:.1f} s; gap {learner.gap_:.1e}; "
    note += f"{learner.plan_.method}"
    name = f"{case.name}, {len(y):,} rows, {landmarks} landmarks, {loss}"
    return Row(name, 100 * error, "% errors", ours_seconds=solved - start, note=note)


def compile_once() -> None:
    """What is compiled once on a machine is compiled before anything is timed."""
    tiny = np.random.default_rng(0).normal(size=(300, 3))
    for loss in ("hinge", "logistic"):
        SDCA(loss).fit(tiny, (tiny[:, 0] > 0).astype(int))


def measured(case: Case, loss: str, landmarks: int, repeats: int) -> Iterator[Row]:
    compile_once()
    yield measure(case, case.rows(largest()), loss, landmarks)


def against_others(repeats: int) -> Iterator[Row]:
    """The same features, the same objective."""
    X, y, _, _ = covtype(min(largest(), 50_000))
    mapped = Nystroem(Gaussian(10.0), 500, random_state=0).fit_transform(X)
    table = Table(
        "covtype, 500 landmarks, at most 50,000 rows",
        lambda: (mapped, y),
        (),
        ("lbfgs", "newton-cholesky"),
        1,
    )
    yield compare(table, mapped, y, "logistic", 100.0, repeats)


PARTS: dict[str, Callable[[int], Iterator[Row]]] = {
    f"{case.name}-{loss}-{landmarks}": partial(measured, case, loss, landmarks)
    for case in CASES
    for loss, numbers in case.landmarks.items()
    for landmarks in numbers
}
BENCHMARK = Benchmark.of_cases(
    "nystroem",
    "Nyström features of a Gaussian kernel and SDCA with its defaults (tol 1e-3): test errors and seconds, landmarks chosen and "
    "features made included; LogisticRegression one-vs-rest on the same features",
    {**PARTS, "others": against_others},
)
