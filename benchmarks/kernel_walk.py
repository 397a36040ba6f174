"""Kernel walk on a stored Gram matrix against the textbook loop on the same matrix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.data import usps
from benchmarks.harness import Benchmark, Row, ratio
from pegasos.engine.rows.sources import GramRows
from pegasos.engine.walk.draws import Draws
from pegasos.engine.walk.losses import LOSSES
from pegasos.engine.walk.rules import PEGASOS, Method
from pegasos.engine.walk.walk import Walk
from pegasos.kernels import Gaussian

Array = np.ndarray[Any, Any]

ROWS, STEPS, LAM = 7438, 50_000, 1e-5
SLOW = 1  # the textbook takes seconds: it is timed this often


def textbook(K: Array, y: Array, drawn: Array) -> Array:
    """Run kernel Pegasos as in the paper for one class, each score a vectorized dot product."""
    alpha = np.zeros(len(y), dtype=K.dtype)
    for t, i in enumerate(drawn, start=1):
        if y[i] / (LAM * t) * ((alpha * y) @ K[i]) < 1:
            alpha[i] += 1
    return alpha * y


def run(repeats: int) -> Iterator[Row]:
    """Measure, and yield the rows."""
    X, target = usps()
    rows, codes = GramRows.of(Gaussian(2), X[:ROWS]), target[:ROWS]
    classes = np.unique(codes)
    labels = [np.where(codes == code, 1, -1).astype(np.float32) for code in classes]
    results: dict[str, Array] = {}

    def ours() -> None:
        walk = Walk(
            rows,
            codes,
            np.ones(ROWS),
            classes,
            np.array([LAM]),
            Method(PEGASOS, LOSSES["hinge"]),
            Draws("uniform", ROWS, seed=0),
        )
        walk.advance(STEPS)
        results["ours"] = walk.vectors()[0][walk.column_of()[:, 0]]

    def theirs() -> None:
        drawn = Draws("uniform", ROWS, seed=0).take(0, STEPS)
        results["theirs"] = np.stack([textbook(rows.K, y, drawn) for y in labels])

    yield ratio(
        "USPS, Gaussian(2), 50,000 steps", ours, theirs, repeats, goal=10, theirs_repeats=SLOW
    )
    different = float((results["ours"] != results["theirs"]).sum())
    yield Row("different coefficients", different, "", 0, False, note=f"of {results['ours'].size}")
    with threadpool_limits(1, "blas"):
        yield ratio("USPS, BLAS with one thread", ours, theirs, repeats, theirs_repeats=SLOW)


BENCHMARK = Benchmark(
    "kernel_walk",
    "Pegasos (hinge) with a stored float32 Gram matrix, 7438 rows, ten classes: our walk / ten "
    "vectorized textbook loops (float32), equal draws, Gram matrix not counted",
    run,
)
