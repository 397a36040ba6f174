"""Part of `solvers`: certified grids against uncertified ones and GridSearchCV(SVC)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from benchmarks.data import binary10, usps
from benchmarks.harness import Row, in_turns, quietly
from pegasos import SDCA, SweepCV
from pegasos.kernels import Gaussian

Array = np.ndarray[Any, Any]

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
C_VALUES = np.geomspace(0.1, 1000, 20)
#: Rows of the fits before the first measurement.
TRIED_ROWS = 600


def sweeps(learner: SDCA, grid: dict[str, Any]) -> dict[str, SweepCV]:
    """Return a certified sweep, and one along the path of λ."""
    return {
        "certified": SweepCV(learner, grid, cv=FOLDS, refit=False),
        "warm path": SweepCV(learner, grid, cv=FOLDS, refit=False, warm_path=True),
    }


def turns(sides: dict[str, Any], X: Array, y: Array, repeats: int) -> dict[str, float]:
    """Return the seconds of each side; a fit on few rows first loads all code."""
    for each in sides.values():
        quietly(each.fit, X[:TRIED_ROWS], y[:TRIED_ROWS])
    return in_turns(
        {name: partial(quietly, each.fit, X, y) for name, each in sides.items()}, repeats
    )


def describe_gaps(sweep: Any, tol: float) -> str:
    """Return how many cells reached the tolerance, and the largest gap."""
    gaps = sweep.cv_results_["mean_gap"]
    share = float((gaps <= tol).mean())
    return (
        f"{100 * share:.0f} % of {len(gaps)} cells have a mean gap of at most {tol:g}, "
        f"the largest is {gaps.max():.1e}"
    )


def usps_rows(repeats: int, largest: int) -> Iterator[Row]:
    """Run a grid on USPS with and without certificates."""
    X, y = (each[: min(7291, largest)] for each in usps())
    grid = {
        "kernel": [Gaussian(v) for v in np.geomspace(2, 60, 10)],
        "lam": np.geomspace(1e-7, 1e-3, 10),
    }
    learner = SDCA(tol=0.01, max_epochs=8, random_state=0)
    plain = SweepCV(
        SDCA(tol=0.01, max_epochs=8, finish=False, random_state=0), grid, cv=FOLDS, refit=False
    )
    ours = sweeps(learner, grid)
    times = turns({"plain": plain, **ours}, X, y, repeats)
    for name, sweep in ours.items():
        errors = f"errors {1 - sweep.best_score_:.4f} / {1 - plain.best_score_:.4f}"
        note = f"{describe_gaps(sweep, 0.01)}; without: {describe_gaps(plain, 0.01)}; {errors}"
        case = f"USPS, 10 variances x 10 λ x 5 folds, {name} / finish=False"
        yield Row(
            case,
            times[name] / times["plain"],
            "times",
            1.6,
            False,
            times[name],
            times["plain"],
            note,
        )


def binary10_rows(repeats: int, largest: int) -> Iterator[Row]:
    """Run 20 values of C on binary10 against GridSearchCV(SVC)."""
    X, y = (each[:largest] for each in binary10())
    grid = {"lam": 1 / (C_VALUES * len(y) * 0.8)}
    theirs = GridSearchCV(
        SVC(gamma=1 / 32, cache_size=1000), {"C": C_VALUES}, cv=FOLDS, n_jobs=2, refit=False
    )
    ours = sweeps(SDCA(kernel=Gaussian(16.0), random_state=0), grid)
    times = turns({"SVC": theirs, **ours}, X, y, repeats)
    for name, sweep in ours.items():
        errors = f"errors {1 - sweep.best_score_:.4f} / {1 - theirs.best_score_:.4f}"
        note = f"{describe_gaps(sweep, 1e-3)}; {errors}"
        case = f"binary10, {len(y):,} rows, 20 values of C x 5 folds, {name}, "
        case += "against GridSearchCV(SVC, n_jobs=2)"
        yield Row(
            case,
            times["SVC"] / times[name],
            "x",
            None,
            True,
            times[name],
            times["SVC"],
            note,
            "grids",
        )
