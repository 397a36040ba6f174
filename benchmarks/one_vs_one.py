"""One-vs-one with a Gaussian kernel against SVC at equal C."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from benchmarks.data import usps
from benchmarks.harness import Benchmark, Row, ratio
from pegasos import SDCA
from pegasos.kernels import Gaussian

Array = np.ndarray[Any, Any]

C_VALUES = (1.0, 10.0, 100.0)


def compared(
    name: str, X: Array, y: Array, variance: float, goal: float | None, repeats: int
) -> Iterator[Row]:
    """Fit both in turns for each C."""
    for C in C_VALUES:
        for intercept in ("free", True):
            ours = SDCA(
                C=C,
                kernel=Gaussian(variance),
                fit_intercept=intercept,
                multiclass="one-vs-one",
                random_state=0,
            )
            theirs = SVC(C=C, gamma=1 / (2 * variance), cache_size=1000)
            case = (
                f"{name}, C = {C:g}, {'free' if intercept == 'free' else 'regularized'} intercept"
            )
            yield ratio(
                case, partial(ours.fit, X, y), partial(theirs.fit, X, y), repeats, goal=goal
            )


def on_usps(repeats: int) -> Iterator[Row]:
    """Compare on the USPS training rows."""
    X, y = usps()
    yield from compared("USPS, 45 pairs of 7,291 rows", X[:7291], y[:7291], 32.0, 1.5, repeats)


def on_digits(repeats: int) -> Iterator[Row]:
    """Compare on the digits of scikit-learn."""
    X, y = load_digits(return_X_y=True)
    yield from compared("digits, 45 pairs of 1,797 rows", X / 16, y, 8.0, None, repeats)


BENCHMARK = Benchmark.of_cases(
    "one_vs_one",
    "One-vs-one, Gaussian kernel, hinge loss, gap 1e-3: SVC / ours at equal C; digits may take "
    "0.1 s more than SVC",
    {"usps": on_usps, "digits": on_digits},
)
