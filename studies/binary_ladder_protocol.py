"""The protocol of binary_ladder: its rows, its learners, and the errors of all models."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import clone

from pegasos import Pegasos, Perceptron, SweepCV
from pegasos.kernels import Exponential, Polynomial
from pegasos.studies import Run
from studies.common import Array, Split, collect_errors

#: Errors by model, scaling or kernel, part, λ and side (train or test): numbers where nothing is
#: drawn, else one value per seed. λ is 0 where there is none, or where validation chooses it.
Found = dict[tuple[str, str, str, float, str], Any]

TRAIN, TUNE, ROWS = 8000, 6000, 10_000
SCALINGS = ("none", "normalize", "standardize")
LAMS = {
    "pegasos": (1e-4, 1e-3, 1e-2, 0.1, 1.0),
    "logistic": (0.1, 1.0, 10.0, 100.0),
    "pegasos+degree2": (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0),
    "logistic+degree2": (1e-3, 0.1, 1.0, 10.0, 100.0, 1000.0),
}
#: A run of degree-2 Pegasos (a million steps) takes seconds, a run of a linear model 0.1 s.
RUNS_PER_SEED = {"pegasos": 40, "logistic": 40, "pegasos+degree2": 2, "logistic+degree2": 8}
KERNEL_LAMS = (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0)
#: The constant feature is part of z: the printed (1 + z·z')^n is (2 + z·z')^n of the ten features.
KERNELS: dict[str, Any] = {
    **{f"polynomial {degree}": Polynomial(degree, 2.0) for degree in (1, 2, 3, 4)},
    **{f"exponential {gamma:g}": Exponential(gamma) for gamma in (0.01, 0.1, 1.0, 10.0)},
}


class Data:
    """Rows in the report's order, with its three scalings, with and without products."""

    def __init__(self, run: Run) -> None:
        order = np.random.RandomState(31415).permutation(ROWS)
        self.X, self.y = np.asarray(run.X, dtype=np.float64)[order], run.y[order].astype(np.float64)
        train = self.X[:TRAIN]
        low, high = train.min(axis=0), train.max(axis=0)
        self.scaled = {
            "none": self.X,
            "normalize": (self.X - low) / (high - low),
            "standardize": (self.X - train.mean(axis=0)) / train.std(axis=0),
        }
        self.splits = {
            "tune": (np.arange(TUNE), np.arange(TUNE, TRAIN)),
            "whole": (np.arange(TRAIN), np.arange(TRAIN, ROWS)),
        }

    def rows(self, scaling: str, squares: bool = False) -> Array:
        """Return the scaled rows with a constant; with `squares` followed by their 66 products."""
        with_one = np.column_stack([self.scaled[scaling], np.ones(ROWS)])
        if not squares:
            return with_one
        i, j = np.triu_indices(with_one.shape[1])
        return np.column_stack([with_one, with_one[:, i] * with_one[:, j]])


def fit_perceptron(
    Z: Array, y: Array, rows: Array, epochs: int = 20, kernel: Any = None
) -> Perceptron:
    """Fit the report's Perceptron: rows in their order, the last vector."""
    plain = {"shuffle": False, "average": False, "fit_intercept": False}
    return Perceptron(epochs=epochs, kernel=kernel, **plain).fit(Z[rows], y[rows])


def make_pegasos(model: str) -> Pegasos:
    """Return the report's Pegasos of a model's name."""
    loss = "logistic" if "logistic" in model else "hinge"
    steps = 1_000_000 if model == "pegasos+degree2" else 100_000
    return Pegasos(loss, n_iter=steps, sampling="uniform", average=False, fit_intercept=False)


def repeat_sweep(
    learner: Any, lams: Iterable[float], Z: Array, y: Array, split: Split, seeds: Iterable[int]
) -> list[SweepCV]:
    """Return the searches over λ on one split, one per seed; nothing is stored."""
    options: dict[str, Any] = {"cv": [split], "refit": False, "return_train_score": True}
    seeded = (clone(learner).set_params(random_state=seed) for seed in seeds)
    with warnings.catch_warnings(action="ignore"):
        return [SweepCV(model, {"lam": list(lams)}, **options).fit(Z, y) for model in seeded]


def run_models(run: Run, data: Data) -> Found:
    """Return the errors of all models."""
    found: Found = {}
    _run_perceptrons(run, data, found)
    _run_pegasos(run, data, found)
    _run_kernel_pegasos(run, data, found)
    return found


def _run_perceptrons(run: Run, data: Data, found: Found) -> None:
    """Count errors on scaled rows, on products and with kernels."""
    run.log("Perceptrons")
    cases: list[tuple[str, str, str, Array, Any]] = []
    for scaling in SCALINGS:
        cases += [("perceptron", scaling, "whole", data.rows(scaling), None)]
        cases += [("perceptron+degree2", scaling, "whole", data.rows(scaling, True), None)]
    for name, kernel in KERNELS.items():
        cases += [("kernel perceptron", name, "tune", data.scaled["standardize"], kernel)]
    for model, variant, part, Z, kernel in cases:
        split = data.splits[part]
        fitted = fit_perceptron(Z, data.y, split[0], 10 if kernel else 20, kernel)
        for side, rows in zip(("train", "test"), split, strict=True):
            wrong = fitted.predict(Z[rows]) != data.y[rows]
            found[model, variant, part, 0.0, side] = float(wrong.mean())


def _run_pegasos(run: Run, data: Data, found: Found) -> None:
    """Run the λ grid with many seeds on the tuning rows and on all training rows.

    λ is chosen as in the report.
    """
    for model, lams in LAMS.items():
        count = len(run.seeds) * RUNS_PER_SEED[model]
        seeds = {"tune": range(count), "whole": range(count, 2 * count)}
        for scaling in SCALINGS if model == "pegasos" else ("standardize",):
            run.log(f"{model}, {scaling}, {count} seeds")
            Z, tables = data.rows(scaling, "degree2" in model), {}
            for part, split in data.splits.items():
                searches = repeat_sweep(make_pegasos(model), lams, Z, data.y, split, seeds[part])
                for side in ("train", "test"):
                    errors = collect_errors(searches, side)
                    found |= {(model, scaling, part, lam, side): errors[(lam,)] for lam in lams}
                tables[part] = np.array(list(errors.values()))
            chosen = tables["whole"][tables["tune"].argmin(axis=0), np.arange(count)]
            found[model, scaling, "whole", 0.0, "test"] = chosen


def _run_kernel_pegasos(run: Run, data: Data, found: Found) -> None:
    Z = data.scaled["standardize"]  # In float32 a narrow exponential kernel would be 0.
    grids = {
        "tune": {"kernel": list(KERNELS.values()), "lam": list(KERNEL_LAMS)},
        "whole": {"kernel": [KERNELS["polynomial 3"]], "lam": [0.1]},
    }
    options = {"X": Z, "y": data.y, "return_train_score": True}
    for part, grid in grids.items():
        name, learner, cv = f"kernel Pegasos, {part}", make_pegasos("pegasos"), [data.splits[part]]
        searches = [run.sweep(name, learner, grid, cv, seed=seed, **options) for seed in run.seeds]
        for side in ("train", "test"):
            for (kernel, lam), errors in collect_errors(searches, side, KERNELS).items():
                found["kernel pegasos", kernel, part, lam, side] = errors
