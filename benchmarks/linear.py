"""Linear Pegasos against SGDClassifier: whole fits with equal numbers of epochs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier

from benchmarks.data import dense_binary, sparse_binary, usps
from benchmarks.harness import Benchmark, NotHereError, Row, ratio
from pegasos import Pegasos

EPOCHS = 5


def compare(
    case: str, X: Any, y: Any, repeats: int, goal: float, lam: float = 1e-4
) -> Iterator[Row]:
    """Compare the default (average of the last half) and the last vector, as SGDClassifier's."""
    theirs = SGDClassifier(
        loss="hinge", alpha=lam, max_iter=EPOCHS, tol=None, shuffle=True, random_state=0
    )
    for words, average in (("last vector", False), ("default: average of the last half", 0.5)):
        ours = Pegasos(lam=lam, epochs=EPOCHS, average=average, random_state=0)
        name = f"{case}, {words}"
        work, other = partial(ours.fit, X, y), partial(theirs.fit, X, y)
        row = ratio(name, work, other, repeats, goal=goal)
        accuracy = f"{ours.score(X, y):.3f} / {theirs.score(X, y):.3f}"
        yield row.noting(f"an epoch: {row.milliseconds(EPOCHS)}; training accuracy {accuracy}")


def dense(repeats: int) -> Iterator[Row]:
    """Fit two classes of 200,000 x 50 dense rows."""
    X, y = dense_binary(200_000, 50)
    for dtype in ("float32", "float64"):
        yield from compare(f"dense, 2 classes, {dtype}", X.astype(dtype), y, repeats, goal=1)


def csr(repeats: int) -> Iterator[Row]:
    """Fit two classes of 100,000 x 50,000 CSR rows with 80 nonzeros each."""
    X, y = sparse_binary(100_000, 50_000, 80)
    yield from compare("CSR, 2 classes, float64", X, y, repeats, goal=1, lam=1e-6)


def multiclass(repeats: int) -> Iterator[Row]:
    """Fit ten classes of dense rows."""
    try:
        name, (X, y) = "USPS", usps()
    except NotHereError:
        name, (X, y) = "digits", load_digits(return_X_y=True)
        X = X / 16
    for dtype in ("float32", "float64"):
        yield from compare(f"{name}, 10 classes, {dtype}", X.astype(dtype), y, repeats, goal=3)


BENCHMARK = Benchmark.of_cases(
    "linear",
    f"Linear Pegasos: a fit of {EPOCHS} epochs / SGDClassifier's (hinge)",
    {"dense": dense, "csr": csr, "multiclass": multiclass},
)
