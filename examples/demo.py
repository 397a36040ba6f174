"""The main job on data that come with scikit-learn: compare the learners, sweep a grid, refit the choice, write a report."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split

from pegasos import SDCA, Pegasos, Perceptron, SweepCV
from pegasos.kernels import Gaussian, Polynomial


def compare(X: np.ndarray, y: np.ndarray) -> list[str]:
    """Cross-validated error of each learner with its defaults."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    lines = ["| learner | linear | Gaussian |", "|---|---|---|"]
    for name, make in {
        "Perceptron": lambda kernel: Perceptron(kernel=kernel, random_state=0),
        "Pegasos, hinge": lambda kernel: Pegasos("hinge", kernel=kernel, random_state=0),
        "Pegasos, logistic": lambda kernel: Pegasos("logistic", kernel=kernel, random_state=0),
        "SDCA, hinge": lambda kernel: SDCA("hinge", kernel=kernel, random_state=0),
        "SDCA, logistic": lambda kernel: SDCA("logistic", kernel=kernel, random_state=0),
    }.items():
        errors = [1 - cross_val_score(make(kernel), X, y, cv=folds).mean() for kernel in (None, "gaussian")]
        lines.append(f"| {name} | " + " | ".join(f"{error:.2%}" for error in errors) + " |")
    return lines


def sweep(X: np.ndarray, y: np.ndarray) -> list[str]:
    """A grid of kernels, λ and steps by cross-validation inside the training rows; the choice on rows set aside before."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
    grid = {
        "kernel": [Polynomial(2), Polynomial(3), Polynomial(4), Gaussian(1), Gaussian(2), Gaussian(4), Gaussian(8)],
        "lam": np.logspace(-6, 0, 7),
        "n_iter": [500, 2000, 10_000, 30_000],
    }
    start = time.perf_counter()
    search = SweepCV(Pegasos(random_state=0), grid, cv=5).fit(X_train, y_train)
    seconds = time.perf_counter() - start
    best, cells = search.best_params_, len(search.cv_results_["params"])
    spread = search.cv_results_["std_test_score"][search.best_index_]
    return [
        f"{cells} settings x 5 folds x 10 classes in {seconds:.1f} s.",
        "",
        f"- best: `{best['kernel']}`, λ = {best['lam']:.0e} (C = {1 / (best['lam'] * len(y_train)):.3g}), {best['n_iter']} steps",
        f"- its cross-validated error, optimistic because it chose it: {1 - search.best_score_:.2%} ± {spread:.2%} over folds",
        f"- its error on {len(y_test)} rows set aside before: {1 - search.score(X_test, y_test):.2%}",
    ]


def main() -> None:
    X, y = load_digits(return_X_y=True)
    X = X / 16
    report = [
        "# Digits",
        "",
        f"{len(y)} images of 8 x 8 pixels, ten classes.",
        "",
        "## Five learners with their defaults, 5-fold error",
        "",
        *compare(X, y),
        "",
        "## A sweep",
        "",
        *sweep(X, y),
        "",
    ]
    text = "\n".join(report)
    print(text)
    path = Path("demo-report.md")
    path.write_text(text, encoding="utf-8")
    print(f"written to {path}")


if __name__ == "__main__":
    main()
