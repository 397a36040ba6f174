"""Test interior point and Newton methods on explicit features, with certificates."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import xlog1py, xlogy
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

import reference
from pegasos import SDCA
from pegasos.engine.optimum import choice
from pegasos.engine.optimum.newton_cg import WeightSpace, solve_logistic_sparsely
from pegasos.engine.optimum.normal_matrix import NormalMatrix
from pegasos.engine.optimum.passes import margin_rows, newton
from pegasos.engine.optimum.passes.margin_rows import solve_margin_rows
from pegasos.engine.optimum.passes.newton import solve_rows
from pegasos.engine.optimum.problem import Intercept, Optimum, Target
from pegasos.engine.rows.blocks import WIDE, Part, RowBlocks
from pegasos.engine.runtime.interruption import Interrupted, deadline, interruptible

Array = np.ndarray[Any, Any]
Solve = Callable[..., list[Optimum]]


def solve_hinge(X: Any, *given: Any) -> list[Optimum]:
    return solve_rows(X, True, *given)


def solve_logistic(X: Any, *given: Any) -> list[Optimum]:
    return solve_rows(X, False, *given)


SOLVERS: dict[str, Solve] = {"hinge": solve_hinge, "logistic": solve_logistic}
LOSSES = pytest.mark.parametrize("loss", SOLVERS)
INTERCEPTS = pytest.mark.parametrize("intercept", Intercept)


def objectives(
    loss: str, X: Array, target: Target, found: Optimum, intercept: Intercept
) -> tuple[float, float]:
    """Return F and G, and check that a is feasible."""
    y, C, a = target.labels, target.bounds, found.dual
    assert np.all(a >= 0)
    assert np.all(a <= C)
    margins = y * (X @ found.vector + found.bias)
    lengths = found.vector @ found.vector, (X.T @ (a * y)) @ (X.T @ (a * y))
    losses = np.maximum(0, 1 - margins) if loss == "hinge" else np.logaddexp(0, -margins)
    share = np.divide(a, C, out=np.zeros_like(a), where=C > 0)
    terms = a if loss == "hinge" else -C * (xlogy(share, share) + xlog1py(1 - share, -share))
    bias, balance = (found.bias, y @ a) if intercept is Intercept.AUGMENTED else (0.0, 0.0)
    if intercept is Intercept.FREE:
        assert abs(y @ a) <= 1e-12 * a.sum()
    if intercept is Intercept.NONE:
        assert found.bias == 0
    return 0.5 * (lengths[0] + bias**2) + C @ losses, terms.sum() - 0.5 * (lengths[1] + balance**2)


def table(m: int = 60, d: int = 5, seed: int = 0) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    y = np.where(random.random(m) < 0.4, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return random.normal(size=(m, d)) + 0.5 * y[:, None], y


@INTERCEPTS
@pytest.mark.parametrize("C", [0.01, 1.0, 1000.0])
def test_hinge_is_the_textbook_optimum(intercept: Intercept, C: float) -> None:
    X, y = table(24, 3)
    bounds = C * np.random.default_rng(1).choice([1.0, 2.0, 0.5], len(y))
    found = solve_hinge(X, [Target(y, bounds)], intercept, 1e-9)[0]
    w, _, a = reference.interior_point(X, y, bounds, intercept=intercept.value)
    assert found.relative <= 1e-9
    assert_allclose(found.vector, w, atol=1e-3 * np.abs(w).max())
    assert_allclose(
        found.bound,
        a.sum() - 0.5 * w @ w - 0.5 * (y @ a) ** 2 * (intercept is Intercept.AUGMENTED),
        rtol=1e-7,
    )


@INTERCEPTS
@pytest.mark.parametrize("C", [0.01, 1.0, 1000.0])
def test_logistic_is_the_textbook_optimum(intercept: Intercept, C: float) -> None:
    X, y = table(24, 3)
    bounds = C * np.random.default_rng(1).choice([1.0, 2.0, 0.5], len(y))
    found = solve_logistic(X, [Target(y, bounds)], intercept, 1e-12)[0]
    w, b = reference.newton_logistic(X, y, bounds, intercept=intercept.value)
    assert_allclose(found.vector, w, atol=1e-5 * np.abs(w).max())
    assert_allclose(found.bias, b, atol=1e-5 * max(1.0, abs(b)))


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_other_solvers_find_the_same(C: float) -> None:
    X, y = table(200, 6)
    weights = np.random.default_rng(2).choice([1.0, 3.0], len(y))
    target = Target(y, C * weights)
    svc = SVC(kernel="linear", C=C, tol=1e-8).fit(X, y, weights)
    free = solve_hinge(X, [target], Intercept.FREE, 1e-8)[0]
    assert_allclose(free.vector, svc.coef_[0], atol=1e-3)
    assert_allclose(free.bias, svc.intercept_[0], atol=1e-3)
    linear = LinearSVC(C=C, loss="hinge", tol=1e-9, max_iter=1_000_000).fit(X, y, weights)
    augmented = solve_hinge(X, [target], Intercept.AUGMENTED, 1e-8)[0]
    assert_allclose(augmented.vector, linear.coef_[0], atol=1e-3)
    assert_allclose(augmented.bias, linear.intercept_[0], atol=1e-3)
    logistic = LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(X, y, weights)
    smooth = solve_logistic(X, [target], Intercept.FREE, 1e-10)[0]
    assert_allclose(
        np.append(smooth.vector, smooth.bias),
        np.append(logistic.coef_[0], logistic.intercept_),
        atol=1e-4,
    )
    constant = np.column_stack([X, np.ones(len(X))])
    logistic = LogisticRegression(C=C, tol=1e-10, max_iter=10_000, fit_intercept=False).fit(
        constant, y, weights
    )
    smooth = solve_logistic(X, [target], Intercept.AUGMENTED, 1e-10)[0]
    assert_allclose(np.append(smooth.vector, smooth.bias), logistic.coef_[0], atol=1e-4)


@st.composite
def problems(draw: st.DrawFn) -> tuple[Array, Target]:
    """Draw rows (duplicated, zero, constant, unscaled, separable or not) and labels."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, d = draw(st.integers(1, 60)), draw(st.integers(1, 12))
    X = random.normal(size=(m, d))
    y = np.where(random.random(m) < 0.5, 1.0, -1.0)
    if draw(st.booleans()):
        y = np.where(X @ random.normal(size=d) > 0, 1.0, -1.0)
    if draw(st.booleans()):
        X *= (
            10.0 ** random.uniform(-6, 6, d)
            if draw(st.booleans())
            else 10.0 ** random.uniform(-6, 6)
        )
    if draw(st.booleans()):
        X[random.integers(0, m, m // 2 + 1)] = X[0]
    if draw(st.booleans()):
        X[:, 0] = draw(st.sampled_from([0.0, 1.0, 1000.0]))
    if draw(st.booleans()):
        X[random.random(m) < 0.3] = 0.0
    if draw(st.booleans()):
        y[:] = -1.0
        y[0] = 1.0
    bounds = np.full(m, 10.0 ** draw(st.floats(-4, 5)))
    if draw(st.booleans()):
        bounds *= random.choice([0.0, 1.0, 2.0], m)
    return X, Target(y, bounds)


@LOSSES
@INTERCEPTS
@given(problem=problems(), single=st.booleans(), csr=st.booleans())
@settings(max_examples=25, deadline=None)
def test_always_converges(
    loss: str, intercept: Intercept, problem: tuple[Array, Target], single: bool, csr: bool
) -> None:
    X, target = problem
    X = X.astype(np.float32) if single else X
    found = SOLVERS[loss](sparse.csr_array(X) if csr else X, [target], intercept, 1e-3)[0]
    assert found.relative <= 1e-3
    X = X.astype(np.float64)
    primal, bound = objectives(loss, X, target, found, intercept)
    unsure = 1e-13 * (
        np.abs(X).T @ found.dual @ np.abs(X.T @ (target.labels * found.dual))
        + found.dual.sum() ** 2
    )
    unsure += 1e-13 * target.bounds @ (np.abs(X) @ np.abs(found.vector) + abs(found.bias) + 1)
    assert_allclose([found.primal, found.bound], [primal, bound], rtol=1e-9, atol=unsure)


@LOSSES
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
@pytest.mark.parametrize("prepare", [np.asarray, scale])
def test_known_tables(loss: str, load: Any, prepare: Any) -> None:
    X, classes = load(return_X_y=True)
    X = prepare(X)
    # all classes of the small ones, three of the digits: they share the passes
    labels = [np.where(classes == c, 1.0, -1.0) for c in np.unique(classes)[:3]]
    targets = [Target(y, np.full(len(y), C)) for y in labels for C in (1e-2, 1.0, 1e3)]
    for target, found in zip(targets, SOLVERS[loss](X, targets, Intercept.FREE, 1e-3), strict=True):
        assert found.relative <= 1e-3
        assert_allclose(
            [found.primal, found.bound],
            objectives(loss, X, target, found, Intercept.FREE),
            rtol=1e-7,
        )


@LOSSES
def test_accuracy_asked_for(loss: str) -> None:
    X, y = table(300, 8)
    target = Target(y, np.full(len(y), 10.0))
    # Dual coefficients follow from margins, whose rounding unbalances the labels by about 1e-9.
    for tol in (1e-3, 1e-6, 1e-8):
        assert SOLVERS[loss](X, [target], Intercept.FREE, tol)[0].relative <= tol


@LOSSES
@INTERCEPTS
def test_wide_rows_begin_in_single_precision(loss: str, intercept: Intercept) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(400, WIDE)) * 10.0 ** random.uniform(-6, 6, WIDE)
    target = Target(np.where(random.random(400) < 0.5, 1.0, -1.0), np.full(400, 100.0))
    for tol in (1e-3, 1e-6):
        found = SOLVERS[loss](X, [target], intercept, tol)[0]
        assert found.relative <= tol
        assert_allclose(
            [found.primal, found.bound], objectives(loss, X, target, found, intercept), rtol=1e-7
        )


@LOSSES
@INTERCEPTS
def test_rows_far_from_zero(loss: str, intercept: Intercept) -> None:
    """Columns at 1,000 ± 1, for which float32 products keep no significant digits."""
    X, y = table(600, WIDE + 10)
    target = Target(y, np.full(len(y), 1.0))
    (found,) = SOLVERS[loss](X + 1000.0, [target], intercept, 1e-3)
    assert found.relative <= 1e-3
    primal, dual = objectives(loss, X + 1000.0, target, found, intercept)
    assert_allclose((primal, dual), (found.primal, found.bound), rtol=1e-5)


@LOSSES
def test_same_bits_for_any_number_of_threads(loss: str) -> None:
    X, y = table(9000, 40)
    targets = [Target(y, np.full(len(y), 1.0)), Target(-np.sign(X[:, 0]), np.full(len(y), 0.1))]
    answers = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            answers.append(SOLVERS[loss](X, targets, Intercept.FREE, 1e-3))
    for one, two in zip(*answers, strict=True):
        assert_array_equal(one.vector, two.vector)
        assert_array_equal(one.dual, two.dual)
        assert (one.bias, one.primal, one.bound, one.rounds) == (
            two.bias,
            two.primal,
            two.bound,
            two.rounds,
        )


@LOSSES
def test_members_are_the_rows(loss: str) -> None:
    X, y = table(200, 4)
    members = np.flatnonzero(np.arange(200) % 3)
    target = Target(y[members], np.full(len(members), 1.0))
    part = SOLVERS[loss](X, [target], Intercept.AUGMENTED, 1e-6, members)[0]
    alone = SOLVERS[loss](X[members], [target], Intercept.AUGMENTED, 1e-6)[0]
    assert_array_equal(part.vector, alone.vector)
    # and rows without weight are no rows
    weightless = Target(y, np.where(np.arange(200) % 3, 1.0, 0.0))
    whole = SOLVERS[loss](X, [weightless], Intercept.AUGMENTED, 1e-9)[0]
    assert_allclose(whole.primal, part.primal, rtol=2e-6)
    assert not whole.dual[::3].any()


@LOSSES
def test_targets_do_not_know_each_other(loss: str) -> None:
    X, y = table(100, 4)
    targets = [Target(y, np.full(100, C)) for C in (0.01, 1.0, 100.0)]
    for target, found in zip(targets, SOLVERS[loss](X, targets, Intercept.FREE, 1e-3), strict=True):
        alone = SOLVERS[loss](X, [target], Intercept.FREE, 1e-3)[0]
        assert_array_equal(found.vector, alone.vector)
        assert found.rounds == alone.rounds


@LOSSES
@pytest.mark.parametrize("label", [1.0, -1.0])
def test_nothing_to_solve(loss: str, label: float) -> None:
    X, y = np.ones((5, 2)), np.full(5, label)
    one_class, no_rows = SOLVERS[loss](
        X, [Target(y, np.ones(5)), Target(y, np.zeros(5))], Intercept.FREE, 1e-3
    )
    assert one_class.primal == one_class.bound == no_rows.primal == 0
    assert one_class.bias * label > 0
    assert no_rows.bias == 0
    primal, _ = objectives(loss, X, Target(y, np.ones(5)), one_class, Intercept.FREE)
    assert primal == 0


def test_tall_logistic_starts_on_a_sample() -> None:
    X, classes = make_classification(20_000, 10, random_state=0)
    y = np.where(classes > 0, 1.0, -1.0)
    rare = np.where(np.arange(20_000) % 5000 == 7, 1.0, -1.0)  # no row of it among every 16th
    often, seldom = solve_logistic(
        X, [Target(y, np.ones(20_000)), Target(rare, np.ones(20_000))], Intercept.FREE, 1e-3
    )
    assert often.relative <= 1e-3
    assert often.rounds <= 3
    assert seldom.relative <= 1e-3


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("intercept", [Intercept.NONE, Intercept.AUGMENTED])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_rows_fixed_by_a_sample(
    monkeypatch: pytest.MonkeyPatch, C: float, intercept: Intercept, form: Any
) -> None:
    """The optimum is found although rare columns make some predictions of the sample wrong."""
    random = np.random.default_rng(0)
    X = np.c_[random.normal(size=(3000, 4)), random.random((3000, 6)) < 0.01]
    y = np.where(X[:, 0] + X[:, 5] - X[:, 6] + random.normal(size=3000) > 0, 1.0, -1.0)
    members = np.flatnonzero(random.random(3000) < 0.9)
    target = Target(y[members], C * random.uniform(0.5, 2, len(members)))
    (whole,) = solve_rows(form(X), True, [target], intercept, 1e-5, members)
    monkeypatch.setattr(margin_rows, "MANY_ROWS", 1000)
    solved: list[int] = []
    monkeypatch.setattr(
        margin_rows,
        "solve_rows",
        lambda X, *given, **named: solved.append(X.shape[0]) or solve_rows(X, *given, **named),
    )
    (found,) = solve_margin_rows(form(X), [target], intercept, 1e-5, members)
    assert solved[0] <= len(members) / margin_rows.ONE_IN + 1 < solved[1] < 0.5 * len(members)
    assert found is not None and found.relative <= 1e-5
    assert_allclose(
        [found.primal, found.bound],
        objectives("hinge", X[members], target, found, intercept),
        rtol=1e-9,
    )
    assert found.bound <= whole.primal * (1 + 1e-12) and whole.bound <= found.primal * (1 + 1e-12)


def test_rows_fixed_wrongly_fall_back_to_all_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The method returns None where most predictions of the sample are wrong."""
    X, y = table(2500, 5)
    monkeypatch.setattr(margin_rows, "MANY_ROWS", 1000)
    monkeypatch.setattr(margin_rows, "BAND", 1e-6)
    targets = [Target(y, np.full(2500, 1.0))]
    assert solve_margin_rows(X, targets, Intercept.NONE, 1e-12) == [None]


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("intercept", [Intercept.NONE, Intercept.AUGMENTED])
@pytest.mark.parametrize("form", [np.asarray, np.float32, sparse.csr_matrix])
def test_predictors_that_are_solved_together_on_many_rows(
    monkeypatch: pytest.MonkeyPatch, C: float, intercept: Intercept, form: Any
) -> None:
    """Predictors solved together have the optimum of separate solutions.

    Rows are weighted or ignored, and there are two sets of labels.
    """
    random = np.random.default_rng(1)
    X = random.normal(size=(6000, 5)).astype(np.float32)
    score = X[:, 0] + 0.5 * X[:, 1] + random.normal(size=6000)
    members = np.flatnonzero(random.random(6000) < 0.9)
    bounds = C * random.uniform(0.5, 2, len(members)) * (random.random(len(members)) < 0.95)
    targets = [Target(np.where(score[members] > level, 1.0, -1.0), bounds) for level in (0.0, 1.0)]
    monkeypatch.setattr(margin_rows, "MANY_ROWS", 2000)
    found = solve_margin_rows(form(X), targets, intercept, 1e-4, members)
    alone = solve_margin_rows(form(X), targets[1:], intercept, 1e-4, members)
    whole = solve_rows(X, True, targets, intercept, 1e-6, members)
    assert_array_equal(found[1].vector, alone[0].vector)
    for target, optimum, other in zip(targets, found, whole, strict=True):
        assert optimum.relative <= 1e-4
        assert ((optimum.dual >= 0) & (optimum.dual <= target.bounds)).all()
        exact = objectives("hinge", X[members].astype(float), target, optimum, intercept)
        assert_allclose([optimum.primal, optimum.bound], exact, rtol=1e-9)
        assert optimum.bound <= other.primal * (1 + 1e-12) and other.bound <= optimum.primal * (
            1 + 1e-12
        )


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("intercept", [Intercept.NONE, Intercept.AUGMENTED])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_weights_of_sparse_rows(C: float, intercept: Intercept, dtype: Any) -> None:
    """Weighted, ignored and empty rows give the optimum of the reference."""
    random = np.random.default_rng(2)
    X = sparse.csr_matrix(
        (random.random((400, 30)) < 1 / np.arange(1, 31)) * random.normal(size=(400, 30)),
        dtype=dtype,
    )
    dense = X.toarray().astype(float)
    y = np.where(dense @ random.normal(size=30) + random.normal(size=400) > 0, 1.0, -1.0)
    members = np.flatnonzero(random.random(400) < 0.9)
    bounds = C * random.uniform(0.5, 2, len(members)) * (random.random(len(members)) < 0.9)
    target = Target(y[members], bounds)
    (found,) = solve_logistic_sparsely(X, [target], intercept, 1e-6, members)
    assert found.relative <= 1e-6
    assert_allclose(
        [found.primal, found.bound],
        objectives("logistic", dense[members], target, found, intercept),
        rtol=1e-9,
    )
    w, b = reference.newton_logistic(
        dense[members], y[members], bounds, intercept=intercept.name.lower()
    )
    best = 0.5 * (w @ w + b * b) + bounds @ np.logaddexp(0, -y[members] * (dense[members] @ w + b))
    assert found.bound <= best * (1 + 1e-9) and best <= found.primal * (1 + 1e-9)


def test_weights_of_sparse_rows_do_not_depend_on_threads() -> None:
    X = sparse.random(5000, 800, 0.01, "csr", random_state=0)
    target = Target(np.where(np.arange(5000) % 3 == 0, 1.0, -1.0), np.full(5000, 10.0))
    with threadpool_limits(1):
        (one,) = solve_logistic_sparsely(X, [target], Intercept.AUGMENTED, 1e-3)
    with threadpool_limits(2):
        (two,) = solve_logistic_sparsely(X, [target], Intercept.AUGMENTED, 1e-3)
    assert_array_equal(one.vector, two.vector)
    assert_array_equal(one.dual, two.dual)


@LOSSES
def test_a_deadline_ends_with_a_true_certificate(loss: str) -> None:
    X, y = table(3000, 20)
    target = Target(y, np.full(3000, 1.0))
    with deadline(0.0):
        (found,) = SOLVERS[loss](X, [target], Intercept.FREE, 1e-9)
    assert found.rounds == 1 and found.relative > 1e-9
    exact = objectives(loss, X, target, found, Intercept.FREE)
    assert_allclose([found.primal, found.bound], exact, rtol=1e-9)


def test_a_deadline_ends_the_solution_of_rows_near_the_margin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = table(3000, 5)
    target = Target(y, np.full(3000, 1.0))
    monkeypatch.setattr(margin_rows, "MANY_ROWS", 1000)
    with deadline(0.0):
        (found,) = solve_margin_rows(X, [target], Intercept.AUGMENTED, 1e-9)
    assert found is not None and found.relative > 1e-9
    exact = objectives("hinge", X, target, found, Intercept.AUGMENTED)
    assert_allclose([found.primal, found.bound], exact, rtol=1e-9)


@LOSSES
def test_can_be_interrupted(loss: str) -> None:
    X, y = table(100, 4)
    halt = threading.Event()
    halt.set()
    with interruptible(halt.is_set), pytest.raises(Interrupted):
        SOLVERS[loss](X, [Target(y, np.ones(100))], Intercept.FREE, 1e-3)


def test_blocks_sum_in_order() -> None:
    X = np.random.default_rng(0).normal(size=(40_000, 10))
    with RowBlocks(X) as blocks:
        assert len(blocks.blocks) > 2
        total = blocks.map_sum(lambda block: Part((block.rows().sum(axis=0),)))
        assert_allclose(total.sums[0], X.sum(axis=0))
        assert_array_equal(
            blocks.map_join(lambda block: block.rows()[:, 0], np.concatenate), X[:, 0]
        )


@LOSSES
@pytest.mark.parametrize(("m", "d"), [(30_000, 5), (1000, 200)])
def test_memory_follows_the_stated_budget(loss: str, m: int, d: int) -> None:
    X, y = table(m, d)
    solve = SOLVERS[loss]
    targets = [Target(y, np.ones(m)), Target(-y, np.ones(m))]
    solve(X, targets, Intercept.FREE, 1.0)  # compiled before memory is watched
    tracemalloc.start()
    solve(X, targets, Intercept.FREE, 1e-3, np.arange(m))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.2 * newton.workspace_bytes(m, d, 2, 8) <= peak <= newton.workspace_bytes(m, d, 2, 8)


def test_matrices_that_cannot_be_factored_are_lifted() -> None:
    v = np.array([1.0, 2.0, 3.0])
    singular = np.outer(v, v)
    assert_allclose(singular @ NormalMatrix(singular).solve(v), v, rtol=1e-6)
    indefinite = np.diag([1.0, 1.0]) - 2.0 * np.ones((2, 2)) * (1 - np.eye(2))
    assert np.isfinite(NormalMatrix(indefinite).solve(np.ones(2))).all()


def test_targets_that_weights_do_not_solve_are_solved_on_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The fallback of Newton-CG for the weights solves all classes after a checkpoint."""
    monkeypatch.setattr(WeightSpace, "most_steps", 0)
    method = choice.find_method("Newton-CG for the weights")
    monkeypatch.setattr(choice, "choose_method", lambda problem: method)
    solve, seen = choice.solve_logistic_iteratively, []

    def watched(rows: Any, targets: list[Target], *given: Any) -> list[Optimum]:
        seen.extend(targets)
        return solve(rows, targets, *given)

    monkeypatch.setattr(choice, "solve_logistic_iteratively", watched)
    X = sparse.random(600, 200, 0.05, "csr", random_state=0)
    y = np.argmax(X[:, :3].toarray() + 0.1 * np.random.default_rng(0).random((600, 3)), axis=1)
    model = SDCA("logistic", 1e-4, checkpoints=[2], random_state=0).fit(X, y)
    assert model.gap_ <= model.tol
    assert len(seen) == 3
