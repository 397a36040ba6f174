"""Test that SDCA converges for any loss, kernel, intercept, weights, scale and C.

Independent optima come from an interior point method or Newton's method on dense float64 matrices.
Each gives a primal and a dual value, so the comparison holds at any accuracy: our dual value is at
most the other primal value, and the other dual value at most our primal value.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from pegasos import SDCA
from pegasos.kernels import Gaussian, Polynomial

Array = np.ndarray[Any, Any]

KERNELS: dict[str, Any] = {
    "linear": None,
    "gaussian": Gaussian(1.5),
    "cubic": Polynomial(3, coef0=1.0),
    "precomputed": "precomputed",
}
LOSSES = pytest.mark.parametrize("loss", ["hinge", "logistic"])


# the optimum from elsewhere


@dataclass(frozen=True)
class Problem:
    """One predictor in units of λ: features or a kernel matrix, labels ±1, bounds C_i."""

    loss: str
    features: Array | None
    K: Array
    labels: Array
    bounds: Array
    free: bool

    def scores(self, c: Array) -> tuple[Array, float]:
        """Return scores and ‖w‖² of w = Σ c_i φ(x_i)."""
        if self.features is None:
            scores = self.K @ c
            return scores, float(c @ scores)
        w = self.features.T @ c
        return self.features @ w, float(w @ w)

    def primal(self, scores: Array, squared: float, bias: float = 0.0) -> float:
        """Return F for these scores and squared norm."""
        margins = self.labels * (scores + bias)
        losses = np.maximum(0, 1 - margins) if self.loss == "hinge" else np.logaddexp(0, -margins)
        return float(squared / 2 + self.bounds @ losses)

    def dual(self, a: Array) -> float:
        """Return G of a feasible a."""
        squared = self.scores(self.labels * a)[1]
        if self.loss == "hinge":
            return float(a.sum() - squared / 2)
        share = np.divide(a, self.bounds, out=np.zeros_like(a), where=self.bounds > 0)
        entropy = -sum(
            np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0) for p in (share, 1 - share)
        )
        return float(self.bounds @ entropy - squared / 2)

    def feasible(self, a: Array) -> Array:
        """Clip a to the box; with a free intercept scale one class so that Σ a_i y_i = 0."""
        a = np.clip(a, 0, self.bounds)
        if self.free:
            weights = [a[self.labels > 0].sum(), a[self.labels < 0].sum()]
            a = a * np.where(
                self.labels > 0,
                *(min(weights) / weight if weight > 0 else 0.0 for weight in weights),
            )
        return a

    def best_bias(self, scores: Array) -> float:
        """Return the b that minimizes Σ C_i max(0, 1 - y_i (s_i + b)), one of its kinks."""
        kinks = self.labels - scores
        return float(
            kinks[
                (np.maximum(0, 1 - self.labels * (scores + kinks[:, None])) @ self.bounds).argmin()
            ]
        )


def interior_point(problem: Problem) -> tuple[float, float]:
    """Return primal and dual values of the hinge problem by an interior point method."""
    there = np.flatnonzero(problem.bounds)
    y, C = problem.labels[there], problem.bounds[there]
    Q, m = y[:, None] * problem.K[np.ix_(there, there)] * y, len(there)
    a, room, bias = C / 2, C / 2, 0.0
    low = high = np.full(m, 1.0 + np.abs(Q @ a - 1).max())
    best = (np.inf, -np.inf)
    for _ in range(100):
        inside = np.zeros(len(problem.labels))
        inside[there] = a
        inside = problem.feasible(inside)
        scores, squared = problem.scores(problem.labels * inside)
        primal = problem.primal(scores, squared, problem.best_bias(scores) if problem.free else 0.0)
        best = (min(best[0], primal), max(best[1], problem.dual(inside)))
        if best[0] - best[1] <= 1e-10 * best[0] or a @ low + room @ high <= 1e-13 * best[0]:
            break
        aim = 0.1 * (a @ low + room @ high) / (2 * m)
        rest = Q @ a - 1 + bias * y - aim / a + aim / room
        matrix = Q + np.diag(low / a + high / room)
        if problem.free:
            matrix, rest = (
                np.block([[matrix, y[:, None]], [y[None, :], np.zeros((1, 1))]]),
                np.append(rest, y @ a),
            )
        scale = 1 / np.sqrt(matrix.diagonal() + (matrix.diagonal() == 0))
        step = (
            -scale * np.linalg.lstsq(matrix * scale[:, None] * scale, rest * scale, rcond=None)[0]
        )
        step, up = step[:m], float(step[m]) if problem.free else 0.0
        low_step, high_step = aim / a - low - low / a * step, aim / room - high + high / room * step
        values, steps = np.r_[a, room, low, high], np.r_[step, -step, low_step, high_step]
        share = min(1.0, 0.99 * float(np.min(-values[steps < 0] / steps[steps < 0], initial=2.0)))
        a, room, bias = a + share * step, room - share * step, bias + share * up
        low, high = low + share * low_step, high + share * high_step
    return best


def newton(problem: Problem) -> tuple[float, float]:
    """Return primal and dual values of the logistic problem by a damped Newton method."""
    features = problem.features
    if features is None or features.shape[1] > len(features):
        values, basis = np.linalg.eigh(problem.K)
        features = basis * np.sqrt(np.maximum(values, 0))
    features = features[:, (features != 0).any(axis=0)]
    units = np.sqrt(
        (features**2).sum(axis=0)
    )  # columns of length 1: what is solved is not the worse for their scale
    features, penalty = features / units, 1 / units**2
    if problem.free:
        features, penalty = np.c_[features, np.ones(len(features))], np.append(penalty, 0.0)
    w = np.zeros(features.shape[1])

    def value(w: Array) -> float:
        return problem.primal(features @ w, float(penalty @ w**2))

    best = (np.inf, -np.inf)
    for _ in range(200):
        p = 1 / (1 + np.exp(np.minimum(problem.labels * (features @ w), 700)))
        best = (
            min(best[0], value(w)),
            max(best[1], problem.dual(problem.feasible(problem.bounds * p))),
        )
        if best[0] - best[1] <= 1e-10 * best[0]:
            break
        gradient = penalty * w - features.T @ (problem.labels * problem.bounds * p)
        curvature = (features * (problem.bounds * p * (1 - p))[:, None]).T @ features + np.diag(
            penalty
        )
        scale = 1 / np.sqrt(curvature.diagonal() + 1e-300)
        step, size = (
            -scale
            * np.linalg.lstsq(curvature * scale[:, None] * scale, gradient * scale, rcond=None)[0],
            1.0,
        )
        while value(w + size * step) > value(w) + 1e-4 * size * (gradient @ step) and size > 1e-12:
            size /= 2
        w = w + size * step
    return best


def gram(kernel: str, X: Array) -> Array:
    """Compute a kernel matrix in float64."""
    if kernel == "gaussian":
        return np.exp(-cdist(X, X, "sqeuclidean") / 3)
    return (X @ X.T + 1) ** 3 if kernel == "cubic" else X @ X.T


def problems(clf: SDCA, X: Array, kernel: str, y: Array, weights: Array | None) -> list[Problem]:
    """Return the problem of each column for a learner and rows."""
    omega = np.ones(len(y)) if weights is None else weights
    augmented = clf.fit_intercept is True
    features = np.c_[X, np.full(len(X), float(augmented))] if kernel == "linear" else None
    columns = clf.classes_[1:] if len(clf.classes_) == 2 else clf.classes_
    common = (omega / (clf.lam * omega.sum()), clf.fit_intercept == "free")
    return [
        Problem(
            clf.loss, features, gram(kernel, X) + augmented, np.where(y == each, 1.0, -1.0), *common
        )
        for each in columns
    ]


def fit(clf: SDCA, rows: Any, y: Array, weights: Array | None = None) -> SDCA:
    """Fit to the tolerance without a warning, and check the certificate."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        clf.fit(rows, y, weights)
    assert clf.gap_ <= clf.tol
    assert clf.gap_ == pytest.approx(
        ((clf.objective_ - clf.dual_objective_) / clf.objective_).max(), abs=1e-12
    )
    return clf


def check_certificate(clf: SDCA, rows: Any, y: Array, weights: Array | None, exact: float) -> None:
    """Check that a certificate computed from the predictor bounds the same optimum."""
    bounds = clf.certificate(rows, y, weights)
    np.testing.assert_allclose(bounds.primal, clf.objective_, rtol=exact)
    assert (bounds.dual <= clf.objective_ * (1 + exact)).all()
    assert (clf.dual_objective_ <= bounds.primal * (1 + exact)).all()


def check_optimum(
    clf: SDCA,
    X: Array,
    kernel: str,
    y: Array,
    weights: Array | None,
    exact: float,
    near: float | None,
) -> None:
    """Check that both intervals overlap in each column; `near` bounds the other solver's."""
    for column, problem in enumerate(problems(clf, X, kernel, y, weights)):
        upper, lower = interior_point(problem) if problem.loss == "hinge" else newton(problem)
        assert near is None or upper - lower <= near * upper
        assert clf.lam_ * lower <= clf.objective_[column] * (1 + exact)
        assert clf.dual_objective_[column] <= clf.lam_ * upper * (1 + exact)


# the properties


@dataclass(frozen=True)
class Table:
    """Rows with properties that slow solvers down."""

    m: int = 30
    d: int = 3
    classes: int = 2
    noise: bool = False  # labels that the rows know nothing of
    duplicated: bool = False  # with other labels, too
    constant: bool = False
    lone: bool = False  # a class of one row
    empty: bool = False  # rows without length
    weighted: bool = False
    seed: int = 0

    def make(self) -> tuple[Array, Array, Array | None]:
        random = np.random.default_rng(self.seed)
        y = np.arange(self.m) % self.classes
        X = random.normal(size=(self.m, self.d)) + (
            0 if self.noise else random.normal(size=(self.classes, self.d))[y]
        )
        X = X[random.integers(self.m, size=self.m)] if self.duplicated else X
        X[:, 0] = 1.0 if self.constant else X[:, 0]
        X[:2] = 0.0 if self.empty else X[:2]
        y = np.where(np.arange(self.m) == 0, 1, 0) if self.lone else y
        weights = random.integers(0, 4, self.m) / 2 if self.weighted else None
        if weights is not None:
            weights[[np.flatnonzero(y == label)[0] for label in np.unique(y)]] = 1.0
        return X, y, weights


TABLES = st.builds(
    Table,
    m=st.integers(4, 60),
    d=st.integers(1, 5),
    classes=st.sampled_from([2, 2, 3]),
    noise=st.booleans(),
    duplicated=st.booleans(),
    constant=st.booleans(),
    lone=st.booleans(),
    empty=st.booleans(),
    weighted=st.booleans(),
    seed=st.integers(0, 10**6),
)
COST = st.sampled_from([10.0**power for power in range(-4, 6)])
INTERCEPT = st.sampled_from([True, "free", False])
LOSS = st.sampled_from(["hinge", "logistic"])


@given(
    table=TABLES,
    loss=LOSS,
    kernel=st.sampled_from(list(KERNELS)),
    intercept=INTERCEPT,
    C=COST,
    tol=st.sampled_from([1e-3, 1e-3, 1e-6]),
    csr=st.booleans(),
)
@example(
    Table(9, 3, constant=True, empty=True, seed=272),
    "hinge",
    "precomputed",
    "free",
    1e4,
    1e-6,
    False,
)  # a low rank
@example(
    Table(57, 4, 3, constant=True, weighted=True, seed=699),
    "hinge",
    "cubic",
    False,
    1e4,
    1e-3,
    False,
)
@example(
    Table(53, 2, noise=True, constant=True, lone=True, empty=True, seed=20),
    "hinge",
    "precomputed",
    "free",
    1e5,
    1e-3,
    False,
)
@example(
    Table(55, 1, constant=True, lone=True, weighted=True, seed=1534),
    "logistic",
    "precomputed",
    "free",
    1.0,
    1e-3,
    False,
)
@example(
    Table(33, 5, seed=6), "hinge", "cubic", "free", 1.0, 1e-6, False
)  # rows of very different lengths
@settings(max_examples=25)
def test_the_gap_reaches_its_tolerance(
    table: Table, loss: str, kernel: str, intercept: Any, C: float, tol: float, csr: bool
) -> None:
    X, y, weights = table.make()
    rows = gram(kernel, X) if kernel == "precomputed" else sparse.csr_matrix(X) if csr else X
    clf = fit(
        SDCA(loss, 1 / (C * len(y)), KERNELS[kernel], tol, fit_intercept=intercept, random_state=0),
        rows,
        y,
        weights,
    )
    check_certificate(clf, rows, y, weights, 1e-7)
    check_optimum(clf, X, kernel, y, weights, 1e-7, None)


@given(
    table=TABLES,
    loss=LOSS,
    kernel=st.sampled_from(list(KERNELS)),
    intercept=INTERCEPT,
    C=COST.filter(lambda C: C <= 10),
)
@settings(max_examples=20)
def test_float32_rows(table: Table, loss: str, kernel: str, intercept: Any, C: float) -> None:
    X, y, weights = table.make()
    X = X.astype(np.float32)
    exact = X.astype(np.float64)
    rows = gram(kernel, exact).astype(np.float32) if kernel == "precomputed" else X
    clf = fit(
        SDCA(loss, 1 / (C * len(y)), KERNELS[kernel], fit_intercept=intercept, random_state=0),
        rows,
        y,
        weights,
    )
    check_certificate(clf, rows, y, weights, 1e-3)
    check_optimum(clf, exact, kernel, y, weights, 1e-3, None)


@given(
    table=TABLES,
    loss=LOSS,
    intercept=INTERCEPT,
    C=COST,
    powers=st.lists(st.integers(-6, 6), min_size=5, max_size=5),
    csr=st.booleans(),
)
@settings(max_examples=60)
def test_columns_of_any_scale(
    table: Table, loss: str, intercept: Any, C: float, powers: list[int], csr: bool
) -> None:
    assume(loss == "hinge" or intercept != "free" or C <= 1000)  # below: what is still too hard
    X, y, weights = table.make()
    X = X * 10.0 ** np.array(powers[: table.d])
    rows = sparse.csr_matrix(X) if csr else X
    clf = fit(
        SDCA(loss, 1 / (C * len(y)), fit_intercept=intercept, random_state=0), rows, y, weights
    )
    check_optimum(clf, X, "linear", y, weights, 1e-5, None)


@LOSSES
@pytest.mark.parametrize("intercept", [True, "free"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_with_many_features(loss: str, intercept: str, dtype: Any) -> None:
    """The predictor is a vector of weights even with very many features."""
    random = np.random.default_rng(0)
    X = (random.random((30, 3000)) * (random.random((30, 3000)) < 0.02)).astype(dtype)
    y = np.arange(30) % 2
    for C, form in (
        (0.01, np.asarray),
        (1.0, sparse.csr_matrix),
        (1e4, np.asarray),
        (1e4, sparse.csr_matrix),
    ):
        clf = fit(SDCA(loss, 1 / (C * 30), fit_intercept=intercept, random_state=0), form(X), y)
        assert clf.coef_.shape == (1, 3000)
        check_optimum(clf, X.astype(np.float64), "linear", y, None, 1e-5, 1e-5)


def test_logistic_with_a_free_intercept_and_columns_of_all_scales() -> None:
    X, y, weights = Table(10, 5, 3, duplicated=True, constant=True, weighted=True, seed=318).make()
    X = X * 10.0 ** np.array([-5, 6, 4, 3, -3])
    fit(SDCA("logistic", 1 / (1e4 * 10), fit_intercept="free", random_state=0), X, y, weights)


@LOSSES
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("intercept", [True, "free"])
def test_the_optimum_is_that_of_other_solvers(loss: str, kernel: str, intercept: str) -> None:
    """Where both solvers are accurate to 1e-6, the optimum itself is compared."""
    X, y, weights = Table(50, 3, 3, weighted=True).make()
    rows = gram(kernel, X) if kernel == "precomputed" else X
    for C in (0.01, 1.0, 100.0):
        clf = fit(
            SDCA(
                loss, 1 / (C * 50), KERNELS[kernel], 1e-6, fit_intercept=intercept, random_state=0
            ),
            rows,
            y,
            weights,
        )
        check_optimum(clf, X, kernel, y, weights, 1e-8, 1e-7)


@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("kernel", ["gaussian", "cubic"])
def test_a_free_intercept_is_that_of_svc(kernel: str, C: float) -> None:
    X, y, _ = Table(200, 4, seed=1).make()
    K = gram(kernel, X)
    clf = fit(
        SDCA("hinge", 1 / (C * 200), KERNELS[kernel], 1e-6, fit_intercept="free", random_state=0),
        X,
        y,
    )
    peer = SVC(C=C, kernel="precomputed", tol=1e-9).fit(K, y)
    c = np.zeros(200)
    c[peer.support_] = peer.dual_coef_[0]
    ours, theirs = clf.objective_[0] / clf.lam_, np.abs(c).sum() - c @ K @ c / 2
    assert theirs <= ours <= theirs * (1 + 2e-5)  # libsvm keeps its matrix in float32
    # P(w) - D(a') is at least ‖w - w'‖²/2, and |s - s'| <= ‖w - w'‖ ‖φ(x)‖ without the intercepts
    allowed = np.sqrt(2 * (ours - theirs) * K.diagonal())
    assert (np.abs(clf.decision_function(X) - clf.intercept_ - K @ c) <= allowed).all()
    assert clf.intercept_[0] == pytest.approx(peer.intercept_[0], abs=2 * np.median(allowed))
    np.testing.assert_allclose(
        clf.decision_function(X), peer.decision_function(K), atol=3 * allowed.max()
    )


@LOSSES
@pytest.mark.parametrize(
    "load",
    [load_iris, load_wine, load_breast_cancer, load_digits],
    ids=lambda load: load.__name__[5:],
)
@pytest.mark.parametrize("standardized", [False, True], ids=["raw", "standardized"])
def test_well_known_data_sets(loss: str, load: Any, standardized: bool) -> None:
    """Linear and kernel fits of well-known sets at small and large C, raw and standardized."""
    X, y = load(return_X_y=True)
    X, y = X[:600], y[:600]
    if standardized:
        X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    for kernel, C, intercept in (
        (None, 1.0, True),
        (None, 1000.0, "free"),
        ("gaussian", 100.0, "free"),
    ):
        clf = fit(
            SDCA(loss, 1 / (C * len(y)), kernel, fit_intercept=intercept, random_state=0), X, y
        )
        check_certificate(clf, X, y, None, 1e-7)
