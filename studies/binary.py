"""Shared parts of the two studies of ten-feature rows: repeated runs, statistics, best error."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from pegasos import SDCA, SweepCV
from pegasos.studies import Run

Array = np.ndarray[Any, Any]
Split = tuple[Array, Array]


def repeat(
    learner: Any, grid: dict[str, Any], X: Array, y: Array, split: Split, seeds: Iterable[int]
) -> tuple[Array, Array]:
    """Return training and test errors (seeds x cells) of a grid on one split."""
    found = []
    for seed in seeds:
        model = clone(learner).set_params(random_state=seed)
        search = SweepCV(model, grid, cv=[split], refit=False, return_train_score=True)
        with warnings.catch_warnings(action="ignore"):
            results = search.fit(X, y).cv_results_
        found.append([1 - results["mean_train_score"], 1 - results["mean_test_score"]])
    train, test = np.swapaxes(np.array(found), 0, 1)
    return train, test


def show_statistics(run: Run) -> None:
    """Add a table of each feature's statistics, and the rule behind the labels."""
    X = np.asarray(run.X, dtype=np.float64)
    rows = [
        {
            "feature": f"x{number + 1}",
            "min": float(column.min()),
            "max": float(column.max()),
            "mean": float(column.mean()),
            "std": float(column.std()),
        }
        for number, column in enumerate(X.T)
    ]
    run.figure(
        "table",
        "Statistics of the features",
        rows,
        caption="Population standard deviations, all rows.",
    )
    x = X.T
    rule = 4 * x[1] * x[8] - 2 * x[0] * x[3] * x[7] + 4 * x[4] - 2 * x[5] + x[6] - 6
    wrong = int(np.sum(np.sign(rule) != run.y.astype(np.float64)))
    run.claim(
        "the labels are sign(4·x2·x9 - 2·x1·x4·x8 + 4·x5 - 2·x6 + x7 - 6), without noise",
        "holds" if wrong == 0 else "does not hold",
        f"{wrong} errors in {len(rule)} rows; found by a sparse cubic fit to all rows, and used by no model here",
        source="ours",
    )


def reach_best(run: Run, report: str, theirs: float) -> None:
    """Add the five-fold error of SDCA on cubic terms, whose number is chosen by nested folds."""
    run.log("the best error reached here")
    begin, wrong = time.perf_counter(), 0
    X, y = np.asarray(run.X, dtype=np.float64), run.y
    learner = SDCA(lam=1e-6, tol=0.01, random_state=0)
    steps = [
        ("scale", StandardScaler()),
        ("cubic", PolynomialFeatures(3, include_bias=False)),
        ("again", StandardScaler()),
        ("select", "passthrough"),
        ("learn", learner),
    ]
    ranking = clone(learner).set_params(lam=1e-5)
    fewer = [SelectFromModel(ranking, max_features=terms, threshold=-np.inf) for terms in (40, 20)]
    grid = {"select": ["passthrough", *fewer], "learn__lam": [1e-6, 1e-5]}
    inner = StratifiedKFold(3, shuffle=True, random_state=1)
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        with warnings.catch_warnings(action="ignore"):
            search = SweepCV(Pipeline(steps), grid, cv=inner).fit(X[train], y[train])
        wrong += int((search.predict(X[test]) != y[test]).sum())
    what = (
        "SDCA on all terms up to degree 3, standardized; their number and λ are chosen inside the training rows "
        f"({report}: {theirs:.2%})"
    )
    run.best(what, wrong / len(y), len(y), time.perf_counter() - begin)


def describe_values(values: Sequence[float] | Array) -> str:
    """Return mean and standard deviation as text."""
    spread = f" ± {np.std(values, ddof=1):.4f}" if len(values) > 1 else ""
    return f"{np.mean(values):.4f}{spread}"


def is_lower(values: Array, others: Array) -> bool:
    """Return whether the mean of some errors is lower than another by two standard errors."""
    if min(len(values), len(others)) < 2:
        return False
    noise = np.sqrt(values.var(ddof=1) / len(values) + others.var(ddof=1) / len(others))
    return bool(others.mean() - values.mean() > 2 * noise)
