"""The protocol of binary_ladder: its rows, its learners, and the errors of all models."""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos import Pegasos, Perceptron
from pegasos.kernels import Exponential, Polynomial
from pegasos.studies import Run
from studies import binary

Array = np.ndarray[Any, Any]
#: Model, preparation and split of a result.
Key = tuple[Any, ...]

TRAIN, TUNE, ROWS = 8000, 6000, 10_000
LINEAR_STEPS, SQUARE_STEPS = 100_000, 1_000_000
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
KERNELS: dict[Key, Any] = {
    ("polynomial", degree): Polynomial(degree, 2.0) for degree in (1, 2, 3, 4)
}
KERNELS |= {("exponential", gamma): Exponential(gamma) for gamma in (0.01, 0.1, 1.0, 10.0)}


class Data:
    """The rows in the report's order, with its three scalings, with and without products."""

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
        self.test_split = np.arange(TRAIN), np.arange(TRAIN, ROWS)
        self.tune_split = np.arange(TUNE), np.arange(TUNE, TRAIN)

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
    learner = Perceptron(
        epochs=epochs, shuffle=False, average=False, fit_intercept=False, kernel=kernel
    )
    return learner.fit(Z[rows], y[rows])


def run_models(run: Run, data: Data) -> dict[Key, Any]:
    """Return the errors of all models: numbers where nothing is drawn, else one value per seed."""
    found: dict[Key, Any] = {}
    _run_perceptrons(run, data, found)
    _run_kernel_perceptrons(run, data, found)
    _run_pegasos(run, data, found)
    _run_kernel_pegasos(run, data, found)
    return found


def _run_perceptrons(run: Run, data: Data, found: dict[Key, Any]) -> None:
    """Count errors of the Perceptron on scaled rows and on products; keep the vectors."""
    run.log("Perceptrons")
    for scaling in data.scaled:
        for model, squares in (("perceptron", False), ("perceptron+degree2", True)):
            Z = data.rows(scaling, squares)
            fitted = fit_perceptron(Z, data.y, data.test_split[0])
            wrong = fitted.predict(Z) != data.y
            for split, rows in zip(("train", "test"), data.test_split, strict=True):
                found[model, scaling, split] = float(wrong[rows].mean())
            found["weights", model, scaling] = fitted.coef_[0]


def _run_kernel_perceptrons(run: Run, data: Data, found: dict[Key, Any]) -> None:
    run.log("kernel Perceptrons")
    Z = data.scaled["standardize"]
    for (family, param), kernel in KERNELS.items():
        fitted = fit_perceptron(Z, data.y, data.tune_split[0], 10, kernel)
        for split, rows in zip(("train", "validation"), data.tune_split, strict=True):
            wrong = fitted.predict(Z[rows]) != data.y[rows]
            found["kernel perceptron", family, param, split] = float(wrong.mean())


def make_pegasos(model: str) -> Pegasos:
    """Return the report's Pegasos of a model's name."""
    loss = "logistic" if "logistic" in model else "hinge"
    steps = SQUARE_STEPS if model == "pegasos+degree2" else LINEAR_STEPS
    return Pegasos(loss, n_iter=steps, sampling="uniform", average=False, fit_intercept=False)


def _run_pegasos(run: Run, data: Data, found: dict[Key, Any]) -> None:
    """Run the λ grid with many seeds on the tuning rows and on all training rows.

    λ is chosen as in the report.
    """
    for model, lams in LAMS.items():
        squares = "degree2" in model
        count = len(run.seeds) * RUNS_PER_SEED[model]
        scalings = tuple(data.scaled) if model == "pegasos" else ("standardize",)
        for scaling in scalings:
            run.log(f"{model}, {scaling}, {count} seeds")
            Z, grid = data.rows(scaling, squares), {"lam": list(lams)}
            parts = {"tune": (data.tune_split, 0), "whole": (data.test_split, count)}
            for part, (split, first) in parts.items():
                seeds = range(first, first + count)
                train, test = binary.repeat(make_pegasos(model), grid, Z, data.y, split, seeds)
                for column, lam in enumerate(lams):
                    found[model, scaling, part, lam, "train"] = train[:, column]
                    found[model, scaling, part, lam, "test"] = test[:, column]
            errors = np.array([found[model, scaling, "tune", lam, "test"] for lam in lams])
            chosen = errors.argmin(axis=0)
            final = np.array([found[model, scaling, "whole", lam, "test"] for lam in lams])
            found[model, scaling, "chosen"] = final[chosen, np.arange(count)]


def _run_kernel_pegasos(run: Run, data: Data, found: dict[Key, Any]) -> None:
    Z = data.scaled["standardize"]  # In float32 a narrow exponential kernel would be 0.
    grid = {"kernel": list(KERNELS.values()), "lam": list(KERNEL_LAMS)}
    whole = {"kernel": [KERNELS["polynomial", 3]], "lam": [0.1]}
    parts = {"tune": (data.tune_split, grid), "whole": (data.test_split, whole)}
    for part, (split, cells) in parts.items():
        errors = []
        for seed in run.seeds:
            search = run.sweep(
                f"kernel Pegasos, {part}",
                make_pegasos("pegasos"),
                cells,
                [split],
                seed=seed,
                X=Z,
                y=data.y,
                return_train_score=True,
            )
            results = search.cv_results_
            errors.append([1 - results["mean_train_score"], 1 - results["mean_test_score"]])
        params = search.cv_results_["params"]
        names = {repr(kernel): key for key, kernel in KERNELS.items()}
        for number, each in enumerate(params):
            key = ("kernel pegasos", part, *names[repr(each["kernel"])], each["lam"])
            for place, side in enumerate(("train", "test")):
                found[*key, side] = np.array([error[place][number] for error in errors])
