"""SDCA grids: USPS with ten variances and ten λ, and a binary table with C up to 1000 against GridSearchCV(SVC)."""

from __future__ import annotations

import importlib.util
import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from benchmarks.data import usps
from benchmarks.harness import Benchmark, NotHereError, Row, child, seconds
from pegasos import SDCA, SweepCV
from pegasos.kernels import Gaussian

Array = np.ndarray[Any, Any]

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
C_VALUES = np.geomspace(0.1, 1000, 20)

INTELEX = """
import json, time
from sklearnex import patch_sklearn
patch_sklearn(verbose=False)
import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC
table = np.loadtxt({path!r}, delimiter=",", skiprows=1)[:8000]
X = (table[:, :10] - table[:, :10].mean(axis=0)) / table[:, :10].std(axis=0)
start = time.perf_counter()
folds = StratifiedKFold(5, shuffle=True, random_state=0)
grid = {{"C": np.geomspace(0.1, 1000, 20)}}
search = GridSearchCV(SVC(gamma=1 / 32), grid, cv=folds, n_jobs=2, refit=False).fit(X, table[:, 10])
print(json.dumps([time.perf_counter() - start, 1 - search.best_score_]))
"""


def binary10() -> Path:
    folder = Path(
        os.environ.get("PEGASOS_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data"
    )
    if not (folder / "binary10.csv").exists():
        raise NotHereError("needs binary10.csv: set PEGASOS_DATA to the folder that holds it")
    return folder / "binary10.csv"


def usps_rows() -> Iterator[Row]:
    X, y = usps()
    grid = {
        "kernel": [Gaussian(v) for v in np.geomspace(2, 60, 10)],
        "lam": np.geomspace(1e-7, 1e-3, 10),
    }
    found: list[SweepCV] = []

    def ours() -> None:
        learner = SDCA(max_epochs=8, tol=1e-2, finish=False, random_state=0)
        found.append(SweepCV(learner, grid, cv=FOLDS).fit(X[:7291], y[:7291]))

    took = seconds(ours)
    note = f"8 epochs at most, tol 0.01; choice {found[0].best_params_}"
    yield Row(
        "USPS, 10 variances x 10 λ x 5 folds, choice refitted",
        took,
        "s",
        25,
        False,
        took,
        note=note,
    )
    error = 1 - found[0].score(X[7291:], y[7291:])
    yield Row("its error on the 2007 test digits", error, "", 0.046, False)


def binary_rows() -> Iterator[Row]:
    path = binary10()
    table = np.loadtxt(path, delimiter=",", skiprows=1)[:8000]
    X, y = (table[:, :10] - table[:, :10].mean(axis=0)) / table[:, :10].std(axis=0), table[:, 10]
    found: list[Any] = []

    def ours() -> None:
        learner = SDCA(kernel=Gaussian(16.0), tol=1e-3, random_state=0)
        found.append(
            SweepCV(learner, {"lam": 1 / (C_VALUES * 6400)}, cv=FOLDS, refit=False).fit(X, y)
        )

    def theirs() -> None:
        found.append(
            GridSearchCV(SVC(gamma=1 / 32), {"C": C_VALUES}, cv=FOLDS, n_jobs=2, refit=False).fit(
                X, y
            )
        )

    mine, others = seconds(ours), seconds(theirs)
    gaps = found[0].cv_results_["mean_gap"]
    note = (
        f"errors {1 - found[0].best_score_:.4f} / {1 - found[1].best_score_:.4f}; largest gap {gaps.max():.1e}, "
        f"{int((gaps > 1e-3).sum())} of {len(gaps)} cells missed the tolerance"
    )
    yield Row(
        "binary10, 20 values of C, against GridSearchCV(SVC, n_jobs=2)",
        others / mine,
        "x",
        1,
        True,
        mine,
        others,
        note,
    )
    if importlib.util.find_spec("sklearnex") is not None:
        other, error = json.loads(child(INTELEX.format(path=str(path))).splitlines()[-1])
        yield Row(
            "the same, SVC from scikit-learn-intelex",
            other / mine,
            "x",
            None,
            True,
            mine,
            other,
            f"error {error:.4f}",
        )


def run(repeats: int) -> Iterator[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from usps_rows()
        yield from binary_rows()


BENCHMARK = Benchmark(
    "sweep_sdca",
    "SDCA sweeps with certificates: a grid on USPS, and large C on a binary table / SVC",
    run,
)
