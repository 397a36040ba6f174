"""Linear Pegasos on two classes of dense rows."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.data import dense_binary
from benchmarks.harness import Benchmark, Row
from benchmarks.linear import EPOCHS, compare


def run(repeats: int) -> Iterator[Row]:
    X, y = dense_binary(200_000, 50)
    for dtype in ("float32", "float64"):
        yield from compare(dtype, X.astype(dtype), y, repeats, goal=1)


BENCHMARK = Benchmark(
    "linear_binary_dense",
    f"Linear Pegasos on two classes, 200,000 x 50 dense: a fit of {EPOCHS} epochs / SGDClassifier's (hinge)",
    run,
)
