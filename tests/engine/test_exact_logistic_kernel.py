"""Test truncated Newton for the logistic loss against its reference and scikit-learn."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import reference
from pegasos.engine.kernels.standard import Gaussian, Laplacian, Polynomial
from pegasos.engine.optimum import conjugate_gradients
from pegasos.engine.optimum.conjugate_gradients import Preconditioner, project_out
from pegasos.engine.optimum.kernel_operator import Factor, KernelOperator
from pegasos.engine.optimum.newton_cg import solve_logistic_iteratively
from pegasos.engine.optimum.problem import Intercept, Target
from pegasos.engine.rows.features import DenseRows, SparseRows
from pegasos.engine.rows.kernel_rows import KernelRows
from pegasos.engine.rows.sources import GramRows
from pegasos.engine.runtime.interruption import Interrupted, interruptible

INTERCEPTS = list(Intercept)


def problem(m, d=3, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(m, d))
    y = np.where(X[:, 0] + 0.5 * random.normal(size=m) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y


def terms(bounds, dual):
    """Compute the terms of the dual from their formula."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip(dual / bounds, 0.0, 1.0)
        entropy = np.where(share > 0, share * np.log(share), 0.0) + np.where(
            share < 1, (1 - share) * np.log1p(-share), 0.0
        )
    return -np.where(bounds > 0, bounds * entropy, 0.0).sum()


def check(K, target, found, intercept, tol, slack=1e-9):
    """Check all properties of an `Optimum` of a kernel problem from K in float64."""
    y, bounds = target.labels, target.bounds
    scores = K @ found.vector + found.bias
    squared = found.vector @ K @ found.vector + (
        found.bias**2 if intercept is Intercept.AUGMENTED else 0.0
    )
    primal = squared / 2 + (bounds * np.logaddexp(0.0, -y * scores)).sum()
    c = y * found.dual
    constant = c.sum() ** 2 if intercept is Intercept.AUGMENTED else 0.0
    scale = max(primal, 1e-300)
    assert found.primal == pytest.approx(primal, rel=slack)
    assert (
        abs(found.bound - (terms(bounds, found.dual) - (c @ K @ c + constant) / 2)) <= slack * scale
    )
    assert (found.dual >= 0).all()
    assert (found.dual <= bounds).all()
    if intercept is Intercept.FREE:
        assert abs(c.sum()) <= 1e-12 * max(1e-300, np.abs(c).sum())
    if intercept is Intercept.NONE:
        assert found.bias == 0.0
    assert -slack <= found.relative <= tol


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e3])
def test_textbook_twin(C, intercept):
    X, y = problem(40)
    K = np.array(Gaussian(2.0)(X, X))
    weights = np.random.default_rng(1).integers(0, 4, size=len(y)) * C
    weights[:2] = C
    found = solve_logistic_iteratively(GramRows(K), [Target(y, weights)], intercept, 1e-10)[0]
    c, b = reference.newton_logistic_kernel(
        K + (intercept is Intercept.AUGMENTED), y, weights, intercept is Intercept.FREE
    )
    b = c.sum() if intercept is Intercept.AUGMENTED else b
    check(K, Target(y, weights), found, intercept, 1e-10)
    far = np.sqrt(2 * found.primal * 1e-10)  # ‖w - best‖²/2 is at most the gap
    assert K @ found.vector + found.bias == pytest.approx(K @ c + b, abs=2 * far)


@pytest.mark.parametrize("C", [1e-2, 1.0, 100.0])
def test_scikit_learn_on_a_factor(C):
    X, y = problem(80, seed=3)
    K = np.array(Laplacian(3.0)(X, X))
    values, vectors = np.linalg.eigh(K)
    features = vectors * np.sqrt(np.maximum(values, 0.0))
    theirs = LogisticRegression(C=C, fit_intercept=True, tol=1e-10, max_iter=10000).fit(features, y)
    w, b = theirs.coef_[0], theirs.intercept_[0]
    objective = w @ w / 2 + C * np.logaddexp(0.0, -y * (features @ w + b)).sum()
    found = solve_logistic_iteratively(
        GramRows(K), [Target(y, np.full(len(y), C))], Intercept.FREE, 1e-9
    )[0]
    assert found.bound <= objective * (1 + 1e-9)
    assert found.primal == pytest.approx(objective, rel=1e-7)
    assert K @ found.vector + found.bias == pytest.approx(features @ w + b, abs=2e-3)


@given(
    m=st.integers(2, 60),
    d=st.integers(1, 5),
    seed=st.integers(0, 99),
    exponents=st.lists(st.floats(-4, 5), min_size=1, max_size=3),
    kernel=st.sampled_from(
        [Gaussian(1.0), Gaussian(1e-3), Gaussian(1e4), Laplacian(1.0), Polynomial(3)]
    ),
    intercept=st.sampled_from(INTERCEPTS),
    duplicated=st.booleans(),
    zeros=st.booleans(),
    narrow=st.booleans(),
)
@settings(max_examples=50)
def test_converges_with_a_certificate(
    m, d, seed, exponents, kernel, intercept, duplicated, zeros, narrow
):
    """Repeated rows, contradicting labels, one-row classes, zero weights, float32."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(m, d))
    if duplicated:
        X[m // 2 :] = X[: m - m // 2]
    X = X.astype(np.float32 if narrow else np.float64)
    rows = GramRows.of(kernel, X)
    targets = []
    for exponent in exponents:
        y = np.where(random.random(m) < random.random(), 1.0, -1.0)
        bounds = 10.0 ** (min(exponent, 3.0) if narrow else exponent) * random.random(m)
        bounds[random.random(m) < 0.3 * zeros] = 0.0
        targets.append(Target(y, bounds))
    found = solve_logistic_iteratively(rows, targets, intercept, 1e-3)
    for target, each in zip(targets, found, strict=True):
        check(rows.K.astype(np.float64), target, each, intercept, 1e-3, slack=1e-6)


@pytest.mark.parametrize("standardized", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("load", [load_digits, load_breast_cancer])
def test_real_tables(load, dtype, standardized):
    X, y = load(return_X_y=True)
    X, y = X[:600], y[:600]
    if standardized:
        X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    rows = GramRows.of(Gaussian(X.shape[1] * float(X.var()) / 2), X.astype(dtype))
    targets = [
        Target(np.where(y == k, 1.0, -1.0), np.full(len(y), C))
        for k in np.unique(y)[:3]
        for C in (1e-2, 1.0, 1e3)
    ]
    for target, found in zip(
        targets, solve_logistic_iteratively(rows, targets, Intercept.AUGMENTED, 1e-3), strict=True
    ):
        check(rows.K.astype(np.float64), target, found, Intercept.AUGMENTED, 1e-3, slack=1e-6)


def test_large_entries_of_a_cubic_kernel():
    X, y = load_digits(return_X_y=True)
    rows = GramRows.of(Polynomial(3), X[:400])
    assert rows.K.max() > 1e11
    targets = [Target(np.where(y[:400] == 8, 1.0, -1.0), np.full(400, C)) for C in (1e-4, 1.0, 1e5)]
    for intercept in INTERCEPTS:
        for found in solve_logistic_iteratively(rows, targets, intercept, 1e-3):
            assert found.relative <= 1e-3


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_all_kinds_of_rows_agree(intercept):
    """Explicit rows, a stored kernel and K on the fly agree; a subset equals its rows alone."""
    random = np.random.default_rng(0)
    X = random.normal(size=(150, 40)) * (random.random((150, 40)) < 0.2)
    y = np.where(X[:, 0] + X[:, 1] > 0.1, 1.0, -1.0)
    members = np.sort(random.choice(150, size=90, replace=False))
    targets = [Target(y[members], np.full(90, C)) for C in (0.1, 50.0)]
    gram = X @ X.T
    alone = solve_logistic_iteratively(
        GramRows(gram[np.ix_(members, members)]), targets, intercept, 1e-8
    )
    linear = Polynomial(1, coef0=0.0)
    for rows in (
        GramRows(gram),
        KernelRows(linear, X),
        DenseRows(X),
        SparseRows(sparse.csr_matrix(X)),
    ):
        for one, other in zip(
            alone, solve_logistic_iteratively(rows, targets, intercept, 1e-8, members), strict=True
        ):
            assert other.relative <= 1e-8
            assert other.primal == pytest.approx(one.primal, rel=1e-7)
            weights = other.vector if not rows.dual else other.vector @ X[members]
            assert weights == pytest.approx(one.vector @ X[members], abs=1e-3)
            assert other.bias == pytest.approx(one.bias, abs=1e-3)


def test_float32_explicit_rows_are_summed_in_float64():
    X, y = problem(300, d=20)
    target = Target(y, np.full(300, 100.0))
    for rows in (
        DenseRows(X.astype(np.float32)),
        SparseRows(sparse.csr_matrix(X.astype(np.float32))),
    ):
        found = solve_logistic_iteratively(rows, [target], Intercept.NONE, 1e-8)[0]
        scores = X.astype(np.float32).astype(np.float64) @ found.vector
        assert found.vector.dtype == np.float64
        assert found.relative <= 1e-8
        assert found.primal == pytest.approx(
            found.vector @ found.vector / 2 + 100 * np.logaddexp(0, -y * scores).sum(), rel=1e-12
        )


@pytest.mark.parametrize("kind", ["gram", "flying", "dense", "csr"])
def test_threads_change_no_bit(kind):
    X, y = problem(700, d=8)
    rows = {
        "gram": lambda: GramRows.of(Gaussian(3.0), X),
        "flying": lambda: KernelRows(Gaussian(3.0), X),
        "dense": lambda: DenseRows(X),
        "csr": lambda: SparseRows(sparse.csr_matrix(X)),
    }[kind]()
    targets = [Target(y, np.full(700, C)) for C in (1.0, 300.0)]
    answers = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            answers.append(solve_logistic_iteratively(rows, targets, Intercept.FREE, 1e-4))
    for one, two in zip(*answers, strict=True):
        assert np.array_equal(one.vector, two.vector)
        assert np.array_equal(one.dual, two.dual)
        assert (one.bias, one.primal, one.bound, one.rounds) == (
            two.bias,
            two.primal,
            two.bound,
            two.rounds,
        )


def test_interruption():
    X, y = problem(50)
    event = threading.Event()
    event.set()
    with interruptible(event.is_set), pytest.raises(Interrupted):
        solve_logistic_iteratively(
            GramRows.of(Gaussian(1.0), X), [Target(y, np.ones(50))], Intercept.NONE, 1e-3
        )


def test_nothing_to_learn():
    X, y = problem(20)
    rows = GramRows.of(Gaussian(1.0), X)
    absent, alone = Target(y, np.zeros(20)), Target(np.ones(20), np.ones(20))
    for intercept in INTERCEPTS:
        found = solve_logistic_iteratively(rows, [absent, alone], intercept, 1e-3)
        assert found[0].primal == found[0].bound == found[0].relative == 0.0
        assert not found[0].vector.any()
        assert found[1].relative <= 1e-3
    assert found[1].primal == 0.0  # free: the intercept alone does it
    assert found[1].bias > 0
    assert solve_logistic_iteratively(rows, [], Intercept.NONE, 1e-3) == []


def test_factor_and_its_inverse():
    X, _ = problem(90)
    K = np.array(Gaussian(1.0)(X, X))
    factor = Factor(lambda chosen: K[chosen], K.diagonal(), 90)
    factor.grow(20)
    assert factor.rank == 20
    lacking = K - factor.lines.T @ factor.lines
    assert np.linalg.eigvalsh(lacking).min() > -1e-10
    assert np.trace(lacking) < 0.3 * np.trace(K)
    factor.grow(90)
    assert factor.is_exhausted
    assert np.abs(K - factor.lines.T @ factor.lines).max() < 1e-6
    roots = np.random.default_rng(0).random((2, 90)) * 10
    aside = roots / np.linalg.norm(roots, axis=1, keepdims=True)
    columns = project_out(np.random.default_rng(1).normal(size=(2, 90)), aside)
    inverse = Preconditioner(factor.lines, np.array([0, 2]), roots, aside)
    found = inverse(columns, np.array([0, 2]))
    for k, each in enumerate(found):
        projection = np.eye(90) - np.outer(aside[k], aside[k])
        system = (
            np.eye(90)
            + projection
            @ (roots[k][:, None] * (factor.lines.T @ factor.lines) * roots[k])
            @ projection
        )
        assert system @ each == pytest.approx(columns[k], abs=1e-8)


def test_preconditioner_saves_products(monkeypatch):
    X, y = problem(600, d=8)
    rows, target = GramRows.of(Gaussian(8.0), X), Target(y, np.full(600, 1e4))
    counts = []
    scores = KernelOperator.scores

    def counted(self, coefficients, exact=False):
        counts[-1] += not exact
        return scores(self, coefficients, exact)

    monkeypatch.setattr(KernelOperator, "scores", counted)
    for most in (1024, 1):
        monkeypatch.setattr(conjugate_gradients, "LARGEST_RANK", most)
        counts.append(0)
        assert solve_logistic_iteratively(rows, [target], Intercept.NONE, 1e-3)[0].relative <= 1e-3
    assert counts[0] < counts[1] / 2
