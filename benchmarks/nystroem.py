"""Nyström features and exact linear solvers: error against time by number of landmarks.

Widths and C were chosen on rows held out from the training rows, with fewer rows and landmarks, and
then fixed. liquidSVM's published figure for covtype is 398 s on 3 threads of another machine.
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
    """Training and test rows, the kernel's variance, C, and numbers of landmarks by loss."""

    name: str
    rows: Callable[[int], Sets]
    variance: float
    C: float
    landmarks: dict[str, tuple[int, ...]]


def covtype(most: int) -> Sets:
    """Return covtype with a random fifth as test rows."""
    X, y = shuffled("covtype")
    X = standardized(X).astype(np.float32)
    train = len(y) * 4 // 5
    return X[: min(train, most)], y[: min(train, most)], X[train:], y[train:]


def images(name: str) -> Callable[[int], Sets]:
    """Return a function that reads pixels from 0 to 1; the last 10,000 rows are test rows."""

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
    """Choose landmarks, map the rows, and solve."""
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
    note = (
        f"choose {chosen - start:.1f} s, map {made - chosen:.1f} s, solve {solved - made:.1f} s; "
    )
    note += f"gap {learner.gap_:.1e}; {learner.plan_.method}"
    name = f"{case.name}, {len(y):,} rows, {landmarks} landmarks, {loss}"
    return Row(name, 100 * error, "% errors", ours_seconds=solved - start, note=note)


def compile_once() -> None:
    """Compile all functions, so that no measurement includes it."""
    tiny = np.random.default_rng(0).normal(size=(300, 3))
    for loss in ("hinge", "logistic"):
        SDCA(loss).fit(tiny, (tiny[:, 0] > 0).astype(int))


def measured(case: Case, loss: str, landmarks: int, repeats: int) -> Iterator[Row]:
    """Measure one case."""
    compile_once()
    yield measure(case, case.rows(largest()), loss, landmarks)


def against_others(repeats: int) -> Iterator[Row]:
    """Compare with LogisticRegression on equal features and an equal objective."""
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
    "Nyström features of a Gaussian kernel and SDCA (tol 1e-3): test errors and seconds, choice of "
    "landmarks and features included; LogisticRegression one-vs-rest on the features",
    {**PARTS, "others": against_others},
)
