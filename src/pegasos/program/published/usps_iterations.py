"""Kernel Pegasos on digits: how the error falls with the number of steps, for four kernels and four λ."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from pegasos.engine.kernels.standard import Exponential, Gaussian, Polynomial
from pegasos.learners import Pegasos
from pegasos.program.published import _digits
from pegasos.program.published._digits_best import surpass
from pegasos.program.published._shared import described, printed_rows, seconds_of, shown
from pegasos.program.studies.results import Context
from pegasos.program.studies.study import Check, Experiment, Extra, Number, Study

LAMS = [1e-8, 1e-7, 1e-6, 1e-5]
#: T as shares of the training rows m.
SHARES = {"m/10": 0.1, "m/2": 0.5, "m": 1.0, "2m": 2.0}
TRAINING_ROWS = 7438
STEPS = {name: int(share * TRAINING_ROWS) for name, share in SHARES.items()}
WRITTEN, SQUARED, WIDE = "as written", "squared norm", "squared norm over 2γ²"
GAUSSIANS = {WRITTEN: Exponential(4.0), SQUARED: Gaussian(2.0), WIDE: Gaussian(4.0)}
POLYNOMIALS = {"with constant": 1.0, "without constant": 0.0}
DEGREES = (1, 3, 7)
LEARNER = Pegasos(sampling="uniform", draws="independent", average=False)
DECODINGS = {"argmax": "greatest score", "absolute": "greatest absolute score"}


def rotated(y: Any, seed: int) -> list[Any]:
    """Shuffle once, and rotate by a fifth: each fifth is the test once."""
    order = np.random.default_rng(seed).permutation(len(y))
    parts = np.array_split(order, 5)
    return [(np.concatenate([*parts[:k], *parts[k + 1 :]]), parts[k]) for k in range(5)]


def _experiment(name: str, kernels: list[Any]) -> Experiment:
    grid = {"kernel": kernels, "lam": LAMS, "n_iter": list(STEPS.values())}
    return Experiment(name, LEARNER, grid, rotated, decodings=tuple(DECODINGS))


def _polynomials(constant: str) -> list[Polynomial]:
    return [Polynomial(degree, POLYNOMIALS[constant]) for degree in DEGREES]


def numbers() -> list[Number]:
    """64 printed errors."""
    found = []
    for row in printed_rows("usps_iterations"):
        cell = {"split": "test", "lam": float(row["lam"]), "n_iter": STEPS[row["n_iter"]]}
        gaussian = row["kernel"] == "gaussian"
        kernels = (
            GAUSSIANS
            if gaussian
            else {name: Polynomial(int(row["param"]), c) for name, c in POLYNOMIALS.items()}
        )
        keys = {
            f"{name}, {words}": {"experiment": name, "kernel": kernel, "decoding": how, **cell}
            for name, kernel in kernels.items()
            for how, words in DECODINGS.items()
        }
        group = "gaussian" if gaussian else f"degree {row['param']}"
        found.append(_digits.number(row, keys, group, half_unit=0.00005))
    return found


def _error(
    context: Context, kernel: Any, lam: float, steps: str, decoding: str = "argmax"
) -> float:
    experiment = WIDE if isinstance(kernel, Gaussian) else "with constant"
    key = {"experiment": experiment, "kernel": kernel, "decoding": decoding, "split": "test"}
    return context.results.mean(**key, lam=lam, n_iter=STEPS[steps])


def _lam_at_polynomials(context: Context) -> tuple[str, str]:
    errors = {
        degree: [_error(context, Polynomial(degree), lam, "2m") for lam in LAMS]
        for degree in DEGREES
    }
    ranges = {degree: max(row) - min(row) for degree, row in errors.items()}
    texts = [
        f"degree {degree}: {100 * width:.2f} points between the best and the worst λ"
        for degree, width in ranges.items()
    ]
    verdict = "holds" if max(ranges[3], ranges[7]) < 0.003 else "does not hold"
    return verdict, "; ".join(texts) + ", at T = 2m"


def _steps_help(context: Context) -> tuple[str, str]:
    kernels = (GAUSSIANS[WIDE], *_polynomials("with constant"))
    falls = {
        kernel: [_error(context, kernel, 1e-5, steps) for steps in STEPS] for kernel in kernels
    }
    holds = all(np.all(np.diff(errors) < 0.002) for errors in falls.values())
    texts = [
        f"{kernel!r}: " + " ".join(f"{error:.4f}" for error in errors)
        for kernel, errors in falls.items()
    ]
    return ("holds" if holds else "does not hold"), "λ = 1e-5, T = m/10, m/2, m, 2m: " + "; ".join(
        texts
    )


def _absolute(context: Context) -> tuple[str, str]:
    plain, absolute = (
        _error(context, GAUSSIANS[WIDE], 1e-5, "2m", how) for how in ("argmax", "absolute")
    )
    verdict = (
        "the printed numbers cannot have been made so" if absolute > 5 * plain else "undecided"
    )
    scores = f"{absolute:.4f} by the greatest absolute score, {plain:.4f} by the greatest score"
    return verdict, f"{scores}: a strong no wins against a weak yes"


def _times(context: Context) -> dict[str, Any]:
    """Printed seconds of training and testing beside ours, for one λ."""
    rows = []
    X, y = context.dataset.X, context.dataset.labels
    train, test = rotated(y, 0)[0]
    for row in printed_rows("usps_iterations"):
        if row["lam"] == "1e-05":
            kernel = (
                GAUSSIANS[WIDE] if row["kernel"] == "gaussian" else Polynomial(int(row["param"]))
            )
            learner = clone(LEARNER).set_params(
                kernel=kernel, lam=1e-5, n_iter=STEPS[row["n_iter"]], random_state=0
            )
            ours = seconds_of(learner.fit, X[train], y[train]) + seconds_of(
                learner.predict, X[test]
            )
            printed = {"T": row["n_iter"], "printed seconds": float(row["seconds_train_and_test"])}
            rows.append(
                {"kernel": f"{row['kernel']} {row['param']}", **printed, "ours": round(ours, 3)}
            )
    return shown(
        rows,
        "One fold, ten classes, λ = 1e-5. The printed times are from another machine; ours are from this run.",
    )


_BEST: dict[str, Any] = {"kernel": GAUSSIANS[WIDE], "lam": 1e-5, "n_iter": STEPS["2m"]}

STUDY = Study(
    **described("usps_iterations"),
    **_digits.SET,
    experiments=(
        *(_experiment(name, [kernel]) for name, kernel in GAUSSIANS.items()),
        *(_experiment(name, list(_polynomials(name))) for name in POLYNOMIALS),
    ),
    numbers=numbers,
    checks=(
        Check("the error falls with every further step", _steps_help),
        Check("λ does not matter for polynomials of degree 3 and 7", _lam_at_polynomials),
        Check("as written, the label is the class with the greatest absolute score", _absolute),
    ),
    extras=(
        Extra("sanity", "Sanity checks on the data", _digits.sanity),
        Extra("times", "Run times", _times, slow=True),
    ),
    surpass=surpass("gaussian, λ = 1e-5, T = 2m", rotated, WIDE, **_BEST),
)
