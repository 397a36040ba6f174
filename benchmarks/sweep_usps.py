"""Grid of the usps_kernels study: 7 kernels x 7 λ x 5 T x 5 folds x 10 classes, one sweep."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.data import usps
from benchmarks.harness import Benchmark, Row, seconds
from pegasos import Pegasos, SweepCV
from pegasos.engine.walk.draws import Draws
from pegasos.kernels import Gaussian, Kernel, Polynomial

Array = np.ndarray[Any, Any]

KERNELS: list[Kernel] = [
    *(Polynomial(d) for d in (2, 3, 4, 7)),
    *(Gaussian(v) for v in (0.25, 0.75, 2.0)),
]
LAMS = [1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0]
STOPS = [1000, 5000, 10_000, 25_000, 50_000]
FOLDS = StratifiedKFold(5, shuffle=True, random_state=42)
SAMPLE = 21  # cells of the textbook side that are run


def textbook(K: Array, K_test: Array, labels: list[Array], drawn: Array, lam: float) -> None:
    """Run one cell on one fold: kernel Pegasos for each class, then the test scores."""
    alphas = []
    for y in labels:
        alpha = np.zeros(len(y), dtype=K.dtype)
        for t, i in enumerate(drawn, start=1):
            if y[i] / (lam * t) * ((alpha * y) @ K[i]) < 1:
                alpha[i] += 1
        alphas.append(alpha * y)
    (K_test @ np.stack(alphas).T).argmax(axis=1)


def textbook_seconds(X: Array, y: Array) -> float:
    """Return the textbook's time for the whole grid, extrapolated from a sample of its cells."""
    train, test = next(iter(FOLDS.split(X, y)))
    labels = [np.where(y[train] == code, 1, -1).astype(np.float32) for code in range(10)]
    random = np.random.default_rng(0)
    spent = steps = 0.0
    for kernel in KERNELS:
        K, K_test = kernel(X[train]), kernel(X[test], X[train])
        for _ in range(max(1, SAMPLE // len(KERNELS))):
            lam, stop = float(random.choice(LAMS)), 1000
            drawn = Draws("uniform", len(train), seed=0).take(0, stop)
            spent += seconds(
                lambda K=K, K_test=K_test, drawn=drawn, lam=lam: textbook(
                    K, K_test, labels, drawn, lam
                )
            )  # type: ignore[misc]
            steps += stop
    return spent / steps * len(KERNELS) * len(LAMS) * sum(STOPS) * 5


def sweep(learner: Any, prefix: str, X: Array, y: Array) -> SweepCV:
    """Run the grid with SweepCV."""
    grid = {f"{prefix}kernel": KERNELS, f"{prefix}lam": LAMS, f"{prefix}n_iter": STOPS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the study's grid has its best cell on the border
        return SweepCV(learner, grid, cv=FOLDS, refit=False).fit(X, y)


def run(repeats: int) -> Iterator[Row]:
    """Measure, and yield the rows."""
    X, y = usps()
    learner = Pegasos(sampling="uniform", average=False, fit_intercept=False, random_state=0)
    found: list[SweepCV] = []
    sweep(learner, "", X[:300], y[:300])  # compile
    ours = seconds(lambda: found.append(sweep(learner, "", X, y)))
    best = found[0]
    note = f"best: {best.best_params_}, error {1 - best.best_score_:.4f}"
    yield Row("the whole grid", ours, "s", 20, False, ours, note=note)
    theirs = textbook_seconds(X, y)
    yield Row(
        "against textbook loops",
        theirs / ours,
        "x",
        60,
        True,
        ours,
        theirs,
        f"extrapolated from {SAMPLE} cells",
    )
    scaled = seconds(
        lambda: found.append(sweep(make_pipeline(StandardScaler(), learner), "pegasos__", X, y))
    )
    yield Row("with a scaler fitted in each fold", scaled / ours, "times", 1.5, False, scaled, ours)


BENCHMARK = Benchmark(
    "sweep_usps",
    "SweepCV over 245 settings x 5 folds x 10 classes on 9298 USPS digits / vectorized float32 "
    "textbook loops",
    run,
)
