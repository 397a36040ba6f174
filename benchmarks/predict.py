"""Prediction with a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from sklearn.svm import SVC

from benchmarks.data import usps
from benchmarks.harness import Benchmark, Row, ratio
from pegasos import Pegasos
from pegasos.kernels import Gaussian

TRAINING, GAMMA = 7291, 1 / 16


def run(repeats: int) -> Iterator[Row]:
    """Measure, and yield the rows."""
    X, y = usps()
    for dtype in ("float32", "float64"):
        train, test = X[:TRAINING].astype(dtype), X[TRAINING:].astype(dtype)
        theirs = SVC(kernel="rbf", gamma=GAMMA, C=10).fit(train, y[:TRAINING])
        # With so large a λ no example reaches its margin: all of SVC's support vectors are ours.
        ours = Pegasos(
            lam=1e6, kernel=Gaussian.from_gamma(GAMMA), epochs=1, average=False, random_state=0
        )
        ours.fit(train[theirs.support_], y[:TRAINING][theirs.support_])
        support = len(ours.support_)
        assert support == len(theirs.support_)
        row = ratio(
            f"USPS, {dtype}",
            partial(ours.predict, test),
            partial(theirs.predict, test),
            repeats,
            goal=8,
        )
        million = row.milliseconds(len(test) * support / 1e6)
        yield row.noting(
            f"{support} support vectors; {million} per million kernel values; SVC: 45 pairs"
        )


BENCHMARK = Benchmark(
    "predict",
    "Predicting USPS' 2007 test rows, Gaussian kernel: ours / SVC with as many support vectors",
    run,
)
