"""Compare SDCA with the plain algorithm for its draws, and its optima with other solvers."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import reference
from pegasos import SDCA
from pegasos.engine.walk.draws import Draws
from pegasos.kernels import Gaussian, Linear, Polynomial
from pegasos.learners.parameters import NotConverged
from samples import assert_close, digits

Array = np.ndarray[Any, Any]

KERNELS = [Linear(), Polynomial(2), Gaussian(1.5)]
LOSSES = pytest.mark.parametrize("loss", ["hinge", "logistic"])
LINEAR_AND_KERNEL = pytest.mark.parametrize(
    "kernel", [None, Gaussian(1.5)], ids=["linear", "gaussian"]
)


def data(classes: int, m: int, d: int, seed: int) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    y = np.arange(m) % classes
    return random.normal(size=(classes, d))[y] + random.normal(size=(m, d)), y


def columns_of(classes: int) -> list[int]:
    return [1] if classes == 2 else list(range(classes))


def plain_gram(kernel: Any, X: Array) -> Array:
    return reference.gram(
        getattr(reference, type(kernel).__name__.lower()), X, **kernel.get_params()
    )


def factor(K: Array) -> Array:
    """Return explicit features with these inner products."""
    values, basis = np.linalg.eigh(K)
    return basis * np.sqrt(np.maximum(values, 0))


def peer(
    loss: str, features: Array, labels: Array, C: float, weights: Array | None = None
) -> Array:
    """Return the optimum by liblinear (hinge) or a quasi-Newton method (logistic)."""
    if loss == "hinge":
        solver: Any = LinearSVC(loss="hinge", C=C, fit_intercept=False, tol=1e-8, max_iter=10**6)
    else:
        solver = LogisticRegression(
            C=C, fit_intercept=False, tol=1e-9, max_iter=10**5, solver="lbfgs"
        )
    return np.asarray(solver.fit(features, labels, sample_weight=weights).coef_[0])


def objective(
    loss: str, features: Array, labels: Array, w: Array, lam: float, weights: Array | None = None
) -> float:
    """Compute P(w) with arrays, because plain loops would take too long."""
    margins = labels * (features @ w)
    losses = np.maximum(0, 1 - margins) if loss == "hinge" else np.logaddexp(0, -margins)
    return float(lam / 2 * w @ w + np.average(losses, weights=weights))


@given(
    loss=st.sampled_from(["hinge", "logistic"]),
    lam=st.sampled_from([0.003, 0.07, 0.9]),
    kernel=st.sampled_from([None, *KERNELS]),
    classes=st.integers(2, 4),
    m=st.integers(5, 25),
    epochs=st.integers(1, 5),
    sampling=st.sampled_from(["uniform", "permutation", "fixed-permutation"]),
    intercept=st.booleans(),
    class_weight=st.sampled_from([None, "balanced", {0: 3.0}]),
    weighted=st.booleans(),
    csr=st.booleans(),
    seed=st.integers(0, 1000),
)
@settings(deadline=None, max_examples=120)
def test_equals_the_plain_algorithm(
    loss: str,
    lam: float,
    kernel: Any,
    classes: int,
    m: int,
    epochs: int,
    sampling: str,
    intercept: Any,
    class_weight: Any,
    weighted: bool,
    csr: bool,
    seed: int,
) -> None:
    X, y = data(classes, m, 3, seed)
    own = np.random.default_rng(seed).integers(0, 4, m) / 2 + 0.25 if weighted else np.ones(m)
    clf = SDCA(
        loss,
        lam,
        kernel,
        1e-15,
        epochs,
        sampling=sampling,
        finish=False,
        fit_intercept=intercept,
        class_weight=class_weight,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf.fit(sparse.csr_array(X) if csr else X, y, own if weighted else None)
    each = np.ones(classes)
    if class_weight == "balanced":
        each = own.sum() / (classes * np.bincount(y, own))
    elif class_weight:
        each[0] = 3.0
    weights = own * each[y]
    constant = 1.0 if intercept else 0.0
    drawn = Draws(sampling, m, seed).take(0, epochs * m)
    K = X @ X.T if kernel is None else plain_gram(kernel, X)
    for number, column in enumerate(columns_of(classes)):
        labels = np.where(y == column, 1.0, -1.0)
        if kernel is None:
            run = reference.sdca_linear(
                X, labels, drawn, lam, loss=loss, weights=weights, constant=constant
            )
            found = (
                np.append(clf.coef_[number], clf.intercept_[number])
                if constant
                else clf.coef_[number]
            )
        else:
            run = reference.sdca_kernel(
                K, labels, drawn, lam, loss=loss, weights=weights, constant=constant
            )
            found = np.zeros(m)
            found[clf.support_] = clf.dual_coef_[number]
            bias = run.coefficients.sum() if constant else 0.0
            assert clf.intercept_[number] == pytest.approx(
                bias, abs=1e-9 * np.abs(run.coefficients).sum()
            )
        # A column stops at a gap of 1e-15, its coefficients about 3e-8 from the optimum.
        rested = clf.gap_curve_[:-1, number].min(initial=1) < 1e-13 or clf.n_iter_ < epochs
        assert_close(found, run.coefficients, 1e-6 if rested else 1e-9)
        assert run.dual is not None
        upper = reference.primal_kernel(
            loss, K, labels, run.dual * labels, lam, weights=weights, constant=constant
        )
        lower = reference.dual(loss, K, labels, run.dual, lam, weights=weights, constant=constant)
        assert clf.objective_[number] == pytest.approx(upper, rel=1e-8)
        assert clf.dual_objective_[number] == pytest.approx(lower, rel=1e-8, abs=1e-10)
    assert clf.gap_curve_.shape == (clf.n_iter_, len(columns_of(classes)))
    relative = 1 - clf.dual_objective_ / clf.objective_
    np.testing.assert_allclose(clf.gap_curve_[-1], relative, atol=1e-9)
    assert clf.gap_ == pytest.approx(relative.max(), abs=1e-12)


# optima


#: Pair steps are for the hinge loss only.
WAYS = pytest.mark.parametrize(
    ("loss", "finish"), [("hinge", True), ("hinge", False), ("logistic", True)]
)
#: Walking alone takes 1500 epochs here.
WAYS_OF_DIGITS = pytest.mark.parametrize(
    ("loss", "finish"),
    [("hinge", True), pytest.param("hinge", False, marks=pytest.mark.slow), ("logistic", True)],
)


@WAYS_OF_DIGITS
def test_digits_linear_against_independent_solvers(loss: str, finish: bool) -> None:
    """At C = 1 liblinear and L-BFGS find no objective below the certified bound."""
    X, y = digits()
    X, lam = X / 16, 1 / len(y)
    clf = SDCA(
        loss, lam, tol=1e-5, max_epochs=5000, finish=finish, fit_intercept=False, random_state=0
    ).fit(X, y)
    assert clf.gap_ <= 1e-5
    for digit in range(10):
        labels = np.where(y == digit, 1.0, -1.0)
        best = objective(loss, X, labels, peer(loss, X, labels, 1.0), lam)
        own = objective(loss, X, labels, clf.coef_[digit], lam)
        assert clf.objective_[digit] == pytest.approx(own, rel=1e-10)
        assert abs(clf.objective_[digit] - best) <= 1e-4 * best
        assert clf.dual_objective_[digit] <= best * (1 + 1e-9)
        assert best <= clf.objective_[digit] * (1 + 1e-6)


@WAYS_OF_DIGITS
@pytest.mark.parametrize("m", [500, pytest.param(1797, marks=pytest.mark.slow)])
def test_digits_gaussian_against_independent_solvers(loss: str, finish: bool, m: int) -> None:
    """Other solvers get the m features of a factor of K."""
    X, y = digits()
    X, y, lam = X[:m] / 16, y[:m], 1 / m
    kernel = Gaussian()
    clf = SDCA(
        loss,
        lam,
        kernel,
        tol=1e-5,
        max_epochs=5000,
        finish=finish,
        fit_intercept=False,
        random_state=0,
    ).fit(X, y)
    assert clf.gap_ <= 1e-5
    K = np.exp(-cdist(X, X, "sqeuclidean") / (64 * X.var()))
    features = factor(K)
    for digit in range(10):
        labels = np.where(y == digit, 1.0, -1.0)
        best = objective(loss, features, labels, peer(loss, features, labels, 1.0), lam)
        c = np.zeros(len(y))
        c[clf.support_] = clf.dual_coef_[digit]
        scores = K @ c
        losses = (
            np.maximum(0, 1 - labels * scores)
            if loss == "hinge"
            else np.logaddexp(0, -labels * scores)
        )
        assert clf.objective_[digit] == pytest.approx(
            lam / 2 * c @ scores + losses.mean(), rel=1e-9
        )
        assert abs(clf.objective_[digit] - best) <= 1e-4 * best
        assert clf.dual_objective_[digit] <= best * (1 + 1e-9)
        assert best <= clf.objective_[digit] * (1 + 1e-6)


@WAYS
@LINEAR_AND_KERNEL
@pytest.mark.parametrize("intercept", [True, False])
def test_weighted_optimum(loss: str, finish: bool, kernel: Any, intercept: Any) -> None:
    """Certificates and other solvers agree for weights, a constant feature and a small λ."""
    X, y = data(3, 80, 3, 0)
    weights = np.random.default_rng(1).uniform(0.1, 4, 80)
    lam, tol = 2e-3, 1e-5
    clf = SDCA(
        loss, lam, kernel, tol, 3000, finish=finish, fit_intercept=intercept, random_state=0
    ).fit(X, y, weights)
    assert clf.gap_ <= tol
    constant = 1.0 if intercept else 0.0
    K = X @ X.T if kernel is None else plain_gram(kernel, X)
    features = reference.rows_with_constant(X, constant) if kernel is None else factor(K + constant)
    for column in range(3):
        labels = np.where(y == column, 1.0, -1.0)
        best = objective(
            loss,
            features,
            labels,
            peer(loss, features, labels, 1 / (lam * weights.sum()), weights),
            lam,
            weights,
        )
        assert clf.dual_objective_[column] <= best * (1 + 1e-9)
        assert best <= clf.objective_[column] * (1 + 1e-9)
        assert clf.objective_[column] == pytest.approx(best, rel=2 * tol)


@pytest.mark.parametrize("tol", [1e-7, 1e-10])
@LINEAR_AND_KERNEL
def test_pair_steps_reach_any_gap(tol: float, kernel: Any) -> None:
    """A column finished by pair steps reaches gaps that epochs reach in a thousand rounds."""
    X, y = data(3, 80, 3, 0)
    weights = np.random.default_rng(1).uniform(0.1, 4, 80)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf = SDCA("hinge", 2e-3, kernel, tol, 300, random_state=0).fit(X, y, weights)
    assert clf.gap_ <= tol


@LOSSES
@LINEAR_AND_KERNEL
def test_integer_weights_equal_repeated_rows(loss: str, kernel: Any) -> None:
    """A row of weight 3 has the optimum of three equal rows."""
    X, y = data(2, 40, 3, 0)
    times = np.random.default_rng(1).integers(0, 4, 40)
    times[:2] = 1
    options: dict[str, Any] = {
        "lam": 0.05,
        "kernel": kernel,
        "tol": 1e-9,
        "max_epochs": 3000,
        "finish": False,
    }
    weighted = SDCA(loss, **options, random_state=0).fit(X, y, times)
    repeated = SDCA(loss, **options, random_state=1).fit(
        np.repeat(X, times, axis=0), np.repeat(y, times)
    )
    assert max(weighted.gap_, repeated.gap_) <= 1e-9
    np.testing.assert_allclose(weighted.objective_, repeated.objective_, rtol=2e-9)
    # Strong convexity: λ/2 ‖w - w*‖² <= P(w) - P(w*) <= 1e-9 P for both fits, and
    # |s - s'| <= ‖w - w'‖ ‖x‖.
    length = np.linalg.norm(X, axis=1).max() if kernel is None else 1.0
    allowed = (
        2 * np.sqrt(2 * 1e-9 * weighted.objective_[0] / 0.05) * np.hypot(length, kernel is None)
    )
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=allowed, rtol=0
    )


@LOSSES
@LINEAR_AND_KERNEL
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("tol", [0.3, 1e-5])
def test_gap_is_that_of_the_certificate(loss: str, kernel: Any, intercept: Any, tol: float) -> None:
    X, y = data(3, 60, 3, 0)
    weights = np.random.default_rng(1).uniform(0.1, 4, 60)
    clf = SDCA(loss, 0.01, kernel, tol, 10_000, fit_intercept=intercept, random_state=0).fit(
        X, y, weights
    )
    bounds = clf.certificate(X, y, weights)
    np.testing.assert_allclose(bounds.primal, clf.objective_, rtol=1e-9)
    if kernel is not None:
        # The certificate is as good as the learner's own, up to the best length of w.
        assert (bounds.dual >= clf.dual_objective_ - 1e-3 * tol * clf.objective_).all()
        assert bounds.relative.max() <= clf.gap_ + 1e-9
        for column in range(3):
            labels = np.where(y == column, 1.0, -1.0)
            c = np.zeros(60)
            c[clf.support_] = clf.dual_coef_[column]
            constant = 1.0 if intercept else 0.0
            plain = reference.certificate(
                loss, plain_gram(kernel, X), labels, c, 0.01, weights=weights, constant=constant
            )
            assert clf.objective_[column] == pytest.approx(plain.primal, rel=1e-9)
            assert clf.dual_objective_[column] == pytest.approx(plain.dual, rel=1e-9)
    # both bounds stand on the same optimum
    assert (bounds.dual <= clf.objective_ * (1 + 1e-12)).all()
    assert (clf.dual_objective_ <= bounds.primal * (1 + 1e-12)).all()


@LINEAR_AND_KERNEL
@LOSSES
def test_a_converged_column_stays_within_tol(loss: str, kernel: Any) -> None:
    """Converged columns keep their coefficients and gaps."""
    X, y = data(4, 80, 3, 0)
    X[y == 0] += 6
    clf = SDCA(loss, 1e-2, kernel, 1e-4, 3000, finish=False, random_state=0).fit(X, y)
    assert (clf.gap_curve_[-1] <= 1e-4).all()
    assert clf.gap_ <= 1e-4
    ended = (clf.gap_curve_ > 1e-4).sum(axis=0)
    assert len(set(ended.tolist())) > 1
    for column, epoch in enumerate(ended):
        assert np.ptp(clf.gap_curve_[epoch:, column]) <= 1e-9


@LOSSES
def test_warm_start_along_a_path_of_lam(loss: str) -> None:
    """Coefficients are clipped to the new box, and the certificate holds."""
    X, y = data(3, 60, 3, 0)
    for kernel in (None, Gaussian(1.5)):
        clf = SDCA(loss, 1e-2, kernel, 1e-5, 3000, warm_start=True, random_state=0)
        for lam in (1e-2, 1.0, 1e-1):
            clf.set_params(lam=lam).fit(X, y)
            alone = SDCA(loss, lam, kernel, 1e-5, 3000, random_state=0).fit(X, y)
            assert clf.gap_ <= 1e-5
            np.testing.assert_allclose(clf.objective_, alone.objective_, rtol=2e-5)


@LOSSES
@LINEAR_AND_KERNEL
def test_warm_start_keeps_converged_columns(loss: str, kernel: Any) -> None:
    """Converged columns stay unchanged: T1 + T2 epochs equal T1 and then T2."""
    X, y = data(4, 80, 3, 0)
    X[y == 0] += 6
    tol = 1e-4 if loss == "hinge" else 1e-9
    options: dict[str, Any] = {
        "lam": 1e-2,
        "kernel": kernel,
        "tol": tol,
        "finish": False,
        "random_state": 0,
    }
    whole = SDCA(loss, max_epochs=3000, **options).fit(X, y)
    ended = np.sort((whole.gap_curve_ > tol).sum(axis=0))
    assert ended[0] + 1 < whole.n_iter_
    clf = SDCA(loss, max_epochs=int(ended[0]) + 1, warm_start=True, **options)
    with pytest.warns(ConvergenceWarning):
        clf.fit(X, y)
    clf.set_params(max_epochs=3000).fit(X, y)
    assert clf.n_iter_ == whole.n_iter_
    np.testing.assert_allclose(clf.decision_function(X), whole.decision_function(X), atol=1e-8)
    again = clf.decision_function(X)
    clf.fit(X, y)
    np.testing.assert_allclose(clf.decision_function(X), again, atol=1e-12)


@LOSSES
@LINEAR_AND_KERNEL
def test_checkpoints_do_not_change_a_run_that_converges(loss: str, kernel: Any) -> None:
    X, y = data(4, 80, 3, 0)
    X[y == 0] += 6
    options: dict[str, Any] = {
        "lam": 1e-2,
        "kernel": kernel,
        "tol": 1e-4,
        "finish": False,
        "random_state": 0,
    }
    plain = SDCA(loss, max_epochs=3000, **options).fit(X, y)
    stops = sorted({1, 2, 5, plain.n_iter_ // 2, plain.n_iter_, 2 * plain.n_iter_})
    clf = SDCA(loss, max_epochs=3000, checkpoints=stops, **options).fit(X, y)
    assert clf.n_iter_ == plain.n_iter_ < 3000
    np.testing.assert_allclose(clf.decision_function(X), plain.decision_function(X), atol=1e-10)
    np.testing.assert_allclose(clf.gap_curve_, plain.gap_curve_, atol=1e-10)
    for stop, scores in zip(stops, clf.staged_decision_function(X), strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            ended = SDCA(loss, max_epochs=stop, **options).fit(X, y)
        np.testing.assert_allclose(scores, ended.decision_function(X), atol=1e-10)


@LOSSES
@LINEAR_AND_KERNEL
def test_checkpoints_are_epochs_whatever_comes_after_them(loss: str, kernel: Any) -> None:
    """Columns run epochs up to the last checkpoint; then another solver finishes."""
    X, y = data(4, 80, 3, 0)
    options: dict[str, Any] = {"lam": 1e-4, "kernel": kernel, "tol": 1e-4, "random_state": 0}
    clf = SDCA(loss, checkpoints=[1, 2, 4], **options).fit(X, y)
    assert clf.gap_ <= 1e-4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        walked = SDCA(loss, checkpoints=[1, 2, 4], max_epochs=4, finish=False, **options).fit(X, y)
    assert walked.gap_ > 1e-4
    for ours, plain in zip(
        clf.staged_decision_function(X), walked.staged_decision_function(X), strict=True
    ):
        np.testing.assert_array_equal(ours, plain)


def test_a_method_that_does_not_fit_the_memory_is_not_chosen() -> None:
    """Epochs need little memory, and the plan names them."""
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 40))
    y = (X[:, 0] + random.normal(size=3000) > 0).astype(int)
    roomy, narrow = (
        SDCA(lam=1e-2).fit(X, y),
        SDCA(lam=1e-2, memory="500kB", random_state=0).fit(X, y),
    )
    assert "interior point" in str(roomy.plan_)
    assert "coordinate ascent" in str(narrow.plan_)
    assert "interior point" not in str(narrow.plan_)
    assert max(roomy.gap_, narrow.gap_) <= 1e-3


# warnings


@LOSSES
def test_no_convergence_is_said_with_advice(loss: str) -> None:
    X, y = data(3, 60, 3, 0)
    fact = (
        r"SDCA ended after 2 epochs with a relative gap of .* \(tol=1e-08\) in 3 of 3 predictors. "
    )
    message = fact + "Scale the features, raise max_epochs"
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        SDCA(loss, 1e-3, tol=1e-8, max_epochs=2, finish=False, random_state=0).fit(X, y)
    assert caught[0].filename == __file__, "the warning points to the line that called fit"
    assert "float64" not in str(caught[0].message)
    with pytest.warns(ConvergenceWarning, match="or use float64"):
        SDCA(loss, 1e-3, tol=1e-8, max_epochs=2, finish=False, random_state=0).fit(
            X.astype(np.float32), y
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SDCA(loss, 1e-2, tol=1e-3, random_state=0).fit(X, y)


@LOSSES
@pytest.mark.parametrize(
    "kernel", ["precomputed", Polynomial(2, coef0=-1.0), lambda A, B: np.abs(A @ B.T)]
)
def test_without_a_positive_semidefinite_kernel_nothing_is_certified(
    loss: str, kernel: Any
) -> None:
    X, y = data(2, 40, 3, 0)
    rows = np.abs(X @ X.T) if isinstance(kernel, str) else X
    clf = SDCA(loss, 0.1, kernel, max_epochs=3, random_state=0)
    with pytest.warns(
        ConvergenceWarning, match="the kernel is not positive semidefinite: no duality gap exists"
    ):
        clf.fit(rows, y)
    assert np.isnan(clf.gap_)
    assert np.isfinite(clf.dual_coef_).all()
    with pytest.raises(
        ValueError, match="not positive semidefinite, so that there is no certificate"
    ):
        clf.certificate(rows, y)


def test_rounding_does_not_make_a_kernel_indefinite() -> None:
    """The 37 eigenvalues ±0 of a matrix of rank 3 are accepted, also in float32."""
    X, y = data(2, 40, 3, 0)
    for dtype in (np.float64, np.float32):
        K = (X @ X.T).astype(dtype)
        clf = SDCA("hinge", 0.1, "precomputed", random_state=0).fit(K, y)
        assert clf.gap_ <= clf.tol


@WAYS
def test_float32_reaches_what_float32_can_show(loss: str, finish: bool) -> None:
    X, y = data(3, 80, 3, 0)
    for kernel in (None, Gaussian(1.5)):
        single = SDCA(loss, 1e-2, kernel, 1e-4, finish=finish, random_state=0).fit(
            X.astype(np.float32), y
        )
        double = SDCA(loss, 1e-2, kernel, 1e-6, 3000, finish=False, random_state=0).fit(X, y)
        assert single.gap_ <= 1e-4
        np.testing.assert_allclose(single.objective_, double.objective_, rtol=1.2e-4)


def test_rows_without_length() -> None:
    """K_ii = 0: the score is 0, the loss 1 (or ln 2), and the gap still closes."""
    X, y = data(2, 40, 3, 0)
    X[:5] = 0
    for loss, each in (("hinge", 1.0), ("logistic", np.log(2))):
        for kernel in (None, "linear"):
            clf = SDCA(loss, 0.1, kernel, 1e-6, 3000, fit_intercept=False, random_state=0).fit(X, y)
            assert clf.gap_ <= 1e-6
            rest = SDCA(
                loss, 0.1 * 40 / 35, kernel, 1e-6, 3000, fit_intercept=False, random_state=0
            ).fit(X[5:], y[5:])
            expected = (rest.objective_ * 35 + 5 * each) / 40
            np.testing.assert_allclose(clf.objective_, expected, rtol=2e-6)


@pytest.mark.parametrize("kernel", [None, Gaussian(0.05)], ids=repr)
@LOSSES
def test_a_time_limit_returns_the_present_point_with_its_gap(loss: str, kernel: Any) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(1500, 4))
    y = (X[:, 0] * X[:, 1] + random.normal(size=1500) > 0).astype(int)
    learner = SDCA(loss, C=1e3, kernel=kernel, tol=1e-10, random_state=0)
    if kernel is None:
        learner.set_params(finish=False, max_epochs=10**6)
    limit = 0.1 if kernel is None else 0.01
    begin = time.perf_counter()
    with pytest.warns(NotConverged, match=rf"stopped after max_time={limit} seconds"):
        limited = clone(learner).set_params(max_time=limit).fit(X, y)
    assert time.perf_counter() - begin < 5
    assert 1e-10 < limited.gap_ <= 1
    best = SDCA(loss, C=1e3, kernel=kernel, tol=1e-6, random_state=0).fit(X, y)
    assert limited.dual_objective_[0] <= best.objective_[0] * (1 + 1e-9)
    assert limited.objective_[0] >= best.dual_objective_[0] * (1 - 1e-9)
    assert limited.objective_[0] == pytest.approx(limited.certificate(X, y).primal[0], rel=1e-6)


def test_a_time_limit_that_is_not_reached_changes_nothing() -> None:
    X, y = load_iris(return_X_y=True)
    one, two = (SDCA(max_time=limit, random_state=0).fit(X, y) for limit in (None, 60.0))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    with pytest.raises(ValueError, match="max_time must be a finite number above 0"):
        SDCA(max_time=0).fit(X, y)
