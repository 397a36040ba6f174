"""Linear Pegasos on two classes of CSR rows."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.data import sparse_binary
from benchmarks.harness import Benchmark, Row
from benchmarks.linear import EPOCHS, compare


def run(repeats: int) -> Iterator[Row]:
    X, y = sparse_binary(100_000, 50_000, 80)
    yield from compare("float64", X, y, repeats, goal=1, lam=1e-6)


BENCHMARK = Benchmark(
    "linear_csr",
    f"Linear Pegasos on two classes, CSR 100,000 x 50,000 with 80 non-zeros a row: a fit of {EPOCHS} epochs / "
    "SGDClassifier's (hinge)",
    run,
)
