"""Gaussian Gram matrix against its lower bound: one product and one exponential."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.data import usps
from benchmarks.harness import Benchmark, Row, ratio
from pegasos.engine.rows.sources import GramRows
from pegasos.kernels import Gaussian


def bare(X: Any) -> None:
    """Compute one matrix product and one exponential, in place."""
    product = X @ X.T
    np.exp(product, out=product)


def run(repeats: int) -> Iterator[Row]:
    """Measure, and yield the rows."""
    for dtype in ("float32", "float64"):
        X = usps()[0][:7438].astype(dtype)
        small = X / 16  # inner products at most 1: the bare exp does not overflow
        yield ratio(
            f"USPS, {dtype}",
            partial(GramRows.of, Gaussian(2), X),
            partial(bare, small),
            repeats,
            goal=0.5,
        )


BENCHMARK = Benchmark(
    "gram",
    "Gaussian Gram matrix of 7438 x 256 USPS rows: ours (accurate, symmetric) / bare X @ X.T and "
    "np.exp in place",
    run,
)
