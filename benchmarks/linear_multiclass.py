"""Linear Pegasos on ten classes."""

from __future__ import annotations

from collections.abc import Iterator

from sklearn.datasets import load_digits

from benchmarks.data import usps
from benchmarks.harness import Benchmark, NotHereError, Row
from benchmarks.linear import EPOCHS, compare


def run(repeats: int) -> Iterator[Row]:
    try:
        name, (X, y) = "USPS", usps()
    except NotHereError:
        name, (X, y) = "digits", load_digits(return_X_y=True)
        X = X / 16
    for dtype in ("float32", "float64"):
        yield from compare(f"{name}, {dtype}", X.astype(dtype), y, repeats, goal=3)


BENCHMARK = Benchmark(
    "linear_multiclass",
    f"Linear Pegasos on ten classes, dense: a fit of {EPOCHS} epochs / SGDClassifier's (hinge)",
    run,
)
