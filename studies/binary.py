"""Data of the two studies of ten-feature rows: statistics, the rule of the labels, best error."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from pegasos import SDCA, SweepCV
from pegasos.studies import Run
from studies import common
from studies.common import Array

STATISTICS: dict[str, Any] = {"min": np.min, "max": np.max, "mean": np.mean, "std": np.std}


def show_statistics(run: Run) -> None:
    """Add a table of each feature's statistics, and the rule behind the labels."""
    x = np.asarray(run.X, dtype=np.float64).T
    rows = [
        {"feature": f"x{number}", **{name: float(of(values)) for name, of in STATISTICS.items()}}
        for number, values in enumerate(x, start=1)
    ]
    caption = "Population standard deviations, all rows."
    run.figure("table", "Statistics of the features", rows, caption=caption)
    rule = 4 * x[1] * x[8] - 2 * x[0] * x[3] * x[7] + 4 * x[4] - 2 * x[5] + x[6] - 6
    wrong = int(np.sum(np.sign(rule) != run.y.astype(np.float64)))
    run.claim(
        "the labels are sign(4·x2·x9 - 2·x1·x4·x8 + 4·x5 - 2·x6 + x7 - 6), without noise",
        wrong == 0,
        f"{wrong} errors in {len(rule)} rows; found by a sparse cubic fit to all rows, and used by "
        "no model here",
        source="ours",
    )


def reach_best(run: Run, theirs: float) -> None:
    """Add the five-fold error of SDCA on cubic terms, whose number is chosen by nested folds."""
    X = np.asarray(run.X, dtype=np.float64)
    learner = SDCA(lam=1e-6, tol=0.01, random_state=0)
    ranking = clone(learner).set_params(lam=1e-5)
    fewer = [SelectFromModel(ranking, max_features=terms, threshold=-np.inf) for terms in (40, 20)]
    steps = [
        ("scale", StandardScaler()),
        ("cubic", PolynomialFeatures(3, include_bias=False)),
        ("again", StandardScaler()),
        ("select", "passthrough"),
        ("learn", learner),
    ]
    grid = {"select": ["passthrough", *fewer], "learn__lam": [1e-6, 1e-5]}
    inner = StratifiedKFold(3, shuffle=True, random_state=1)

    def predict(train: Array, test: Array) -> Array:
        search = SweepCV(Pipeline(steps), grid, cv=inner).fit(X[train], run.y[train])
        return np.asarray(search.predict(X[test]))

    what = (
        "SDCA on all terms up to degree 3, standardized; their number and λ are chosen inside the "
        f"training rows (the report's best: {100 * theirs:.2f} %)"
    )
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(X, run.y)
    common.reach_best(run, what, predict, folds)
