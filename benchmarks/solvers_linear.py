"""Part of `solvers`: linear fits against LinearSVC (hinge) and LogisticRegression (logistic).

Both sides have one objective: SDCA with fit_intercept=True, the peers with a constant column and
without an intercept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from benchmarks.data import dense_binary, generated, shuffled, sparse_binary, standardized
from benchmarks.harness import Row, in_turns, quietly
from benchmarks.solvers_kernel import C_VALUES, Fit
from pegasos import SDCA

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Table:
    """Rows, values of C, suitable solvers of LogisticRegression, and the target for the hinge loss.

    `fewer` is the number of iterations of LinearSVC from C = 1 on, where its 1,000 would take a
    quarter of an hour.
    """

    name: str
    rows: Callable[[], tuple[Any, Array]]
    values: tuple[float, ...]
    solvers: tuple[str, ...]
    goal: float
    fewer: int | None = None


def covtype() -> tuple[Array, Array]:
    """Return all standardized rows of covtype."""
    X, y = shuffled("covtype")
    return standardized(X), y


LONG = (0.01, 1.0, 100.0)
#: Rows of the fits before the first measurement: enough for all our methods.
TRIED_ROWS = 30_000
TABLES = {
    "tall": Table(
        "200,000 x 50", lambda: generated(200_000), LONG, ("lbfgs", "newton-cholesky"), 10
    ),
    "covtype": Table(
        "covtype, 581,012 x 54, 7 classes",
        covtype,
        LONG,
        ("lbfgs", "newton-cholesky"),
        8,
        fewer=100,
    ),
    "wide": Table(
        "20,000 x 1,000",
        lambda: dense_binary(20_000, 1000),
        LONG,
        ("lbfgs", "newton-cholesky", "newton-cg"),
        1,
    ),
    "csr": Table(
        "CSR 100,000 x 50,000",
        lambda: sparse_binary(100_000, 50_000, 60),
        C_VALUES,
        ("lbfgs", "liblinear", "newton-cg"),
        1,
    ),
}


def with_constant(X: Any) -> Any:
    """Return the rows with a column of ones."""
    ones = np.ones((X.shape[0], 1))
    return sparse.hstack([X, ones], format="csr") if sparse.issparse(X) else np.hstack([X, ones])


def objective(loss: str, X: Any, y: Array, W: Array, lam: float) -> float:
    """Return the sum of the primal objectives; the constant column is the last one of W."""
    classes = np.unique(y)
    total = 0.0
    for w, label in zip(W, classes[-len(W) :], strict=True):
        margins = np.where(y == label, 1.0, -1.0) * (X @ w)
        losses = np.maximum(0, 1 - margins) if loss == "hinge" else np.logaddexp(0, -margins)
        total += float(lam / 2 * w @ w + losses.mean())
    return total


def weights(model: Any) -> Array:
    """Return the weights of all predictors of a model."""
    if isinstance(model, OneVsRestClassifier):
        return np.vstack([each.coef_ for each in model.estimators_])
    return (
        np.c_[model.coef_, model.intercept_] if isinstance(model, SDCA) else np.asarray(model.coef_)
    )


def peers(loss: str, table: Table, classes: int, C: float) -> dict[str, Any]:
    """Return the peers by name."""
    if loss == "hinge":
        iterations = table.fewer if table.fewer and C >= 1 else 1000
        return {
            "LinearSVC": LinearSVC(
                loss="hinge",
                dual=True,
                C=C,
                fit_intercept=False,
                max_iter=iterations,
                random_state=0,
            )
        }
    models = {
        name: LogisticRegression(
            C=C, solver=name, fit_intercept=False, max_iter=1000, random_state=0
        )
        for name in table.solvers
    }
    return (
        models
        if classes == 2
        else {name: OneVsRestClassifier(model) for name, model in models.items()}
    )


def compare(table: Table, X: Any, y: Array, loss: str, C: float, repeats: int) -> Row:
    """Compare with the fastest peer whose objective is within 1e-3 of the lowest."""
    wide, lam = with_constant(X), 1 / (C * len(y))
    ours = Fit(SDCA(loss, lam, fit_intercept=True, random_state=0), X, y)
    others = peers(loss, table, len(np.unique(y)), C)
    works = {
        "ours": ours,
        **{name: partial(quietly, model.fit, wide, y) for name, model in others.items()},
    }
    times = in_turns(works, repeats)
    mine = objective(loss, wide, y, weights(ours.learner), lam)
    theirs = {name: objective(loss, wide, y, weights(model), lam) for name, model in others.items()}
    lowest = min(theirs.values())
    fastest = min(
        (name for name in theirs if theirs[name] <= 1.001 * lowest), key=lambda name: times[name]
    )
    difference = (mine - theirs[fastest]) / theirs[fastest]
    note = (
        f"objective {difference:+.1e} of {fastest}'s{' (above 1e-3!)' if difference > 1e-3 else ''}"
    )
    note += f", gap {ours.learner.gap_:.1e}; " + ", ".join(
        f"{name} {time:.3g} s" for name, time in times.items()
    )
    note += f"; {ours.learner.plan_.method}" + ("; ConvergenceWarning" if ours.warned else "")
    if loss == "hinge" and others["LinearSVC"].max_iter < 1000:
        note += f"; LinearSVC was stopped after {table.fewer} of 1,000 iterations"
    goal = table.goal if loss == "hinge" else 1 / 1.2
    case, mine_seconds, seconds = f"{loss}, {table.name}, C = {C:g}", times["ours"], times[fastest]
    return Row(
        case, seconds / mine_seconds, "x", goal, True, mine_seconds, seconds, note, f"linear {loss}"
    )


def rows(table: Table, repeats: int, largest: int) -> Iterator[Row]:
    """Yield both losses at all C of a table; fits on few rows first load all code."""
    X, y = table.rows()
    X, y = X[:largest], y[:largest]
    for loss in ("hinge", "logistic"):
        for C in (min(table.values), max(table.values)):
            compare(table, X[:TRIED_ROWS], y[:TRIED_ROWS], loss, C, 1)
    for loss in ("hinge", "logistic"):
        for C in table.values:
            yield compare(table, X, y, loss, C, repeats)
