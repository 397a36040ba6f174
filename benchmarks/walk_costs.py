"""What each option of a linear walk costs; for information, no target."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.data import dense_binary, sparse_binary
from benchmarks.harness import Benchmark, Row, seconds
from pegasos.engine.rows.features import explicit_rows
from pegasos.engine.walk.draws import Draws
from pegasos.engine.walk.losses import LOSSES
from pegasos.engine.walk.rules import PEGASOS, Method
from pegasos.engine.walk.walk import Walk

#: Sampling, averaging, tracking (the running loss), in this order.
OPTIONS = {
    "in-order, nothing else": ("in-order", False, False),
    "permutation, nothing else": ("permutation", False, False),
    "uniform, nothing else": ("uniform", False, False),
    "permutation, tracking": ("permutation", False, True),
    "permutation, averaging": ("permutation", True, False),
    "permutation, averaging, tracking (default)": ("permutation", True, True),
}


def epoch(rows: Any, y: Any, lam: float, option: str) -> float:
    """Seconds of the second epoch: in the first nearly every example makes a change."""
    sampling, averaging, tracking = OPTIONS[option]
    method = Method(PEGASOS, LOSSES["hinge"], constant=1.0, averaging=averaging, tracking=tracking)
    draws = Draws(sampling, rows.count, seed=0)
    walk = Walk(
        rows, y, np.ones(rows.count), np.array([1]), np.array([lam]), method, draws, by_rows=True
    )
    walk.advance(rows.count)
    return seconds(lambda: walk.advance(2 * rows.count))


def run(repeats: int) -> Iterator[Row]:
    X, y = dense_binary(200_000, 50)
    sparse, labels = sparse_binary(100_000, 50_000, 80)
    cases = {
        "dense float64": (X, y, 1e-4),
        "dense float32": (X.astype(np.float32), y, 1e-4),
        "CSR": (sparse, labels, 1e-6),
    }
    for case, (matrix, target, lam) in cases.items():
        rows = explicit_rows(matrix)
        taken: dict[str, list[float]] = {option: [] for option in OPTIONS}
        for _ in range(repeats + 1):  # the first time may compile
            for option in OPTIONS:
                taken[option].append(epoch(rows, target, lam, option))
        for option, each in taken.items():
            typical = float(np.median(each[1:]))
            yield Row(f"{case}: {option}", 1e9 * typical / rows.count, "ns", ours_seconds=typical)


BENCHMARK = Benchmark(
    "walk_costs",
    "The rows of linear_binary_dense and linear_csr, the walk alone: nanoseconds an example, and an epoch",
    run,
)
