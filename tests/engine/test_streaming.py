"""Test solvers in passes: optimum of the reference, certified, equal bits for any threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from threadpoolctl import threadpool_limits

import reference
from pegasos import SDCA
from pegasos.engine.optimum.passes import passes
from pegasos.engine.optimum.passes.cutting_planes import solve_by_cuts, weigh_cuts
from pegasos.engine.optimum.passes.limited_memory import solve_by_gradients
from pegasos.engine.optimum.passes.newton import solve_in_passes
from pegasos.engine.optimum.passes.newton_rows import barrier_values, central_point, loss_values
from pegasos.engine.optimum.passes.passes import Column, LabelledBlocks
from pegasos.engine.optimum.problem import Intercept, Optimum
from pegasos.engine.rows.blocks import is_thin, pairs

Array = np.ndarray[Any, Any]
BOTH = pytest.mark.parametrize("loss", ["hinge", "logistic"])
INTERCEPTS = pytest.mark.parametrize("intercept", Intercept)


def solve(
    loss: str,
    X: Any,
    codes: Array,
    weights: Array,
    C: float,
    intercept: Intercept,
    tol: float,
    most: int = 1000,
) -> list[Optimum]:
    """Solve all classes one-vs-rest (two: one predictor), with C_i = C ω_i."""
    found = range(codes.max() + 1) if codes.max() > 1 else [1]
    sums = [float(weights[codes == code].sum()) for code in found]
    rest = [float(weights[codes != code].sum()) for code in found]
    present = int((weights > 0).sum())
    columns = [
        Column(code, C, (mine, other), present)
        for code, mine, other in zip(found, sums, rest, strict=True)
    ]
    with LabelledBlocks(X, codes, weights) as blocks:
        return alone(
            solve_chains(blocks, loss, [[column] for column in columns], intercept, tol, most)
        )


def solve_chains(
    blocks: LabelledBlocks, loss: str, chains: Any, intercept: Intercept, tol: float, most: int
) -> list[list[Optimum]]:
    """Solve by the method for this loss and number of features."""
    if blocks.width <= passes.MOST_FEATURES:
        return solve_in_passes(blocks, loss == "hinge", chains, intercept, tol, most)
    solve_wide = solve_by_cuts if loss == "hinge" else solve_by_gradients
    return solve_wide(blocks, chains, intercept, tol, most)


def alone(chains: list[list[Optimum]]) -> list[Optimum]:
    """Return each predictor as a chain of one."""
    return [found for [found] in chains]


def objective(
    loss: str, X: Array, y: Array, C: Array, found: Optimum, intercept: Intercept
) -> float:
    margins = y * (X @ found.vector + found.bias)
    losses = np.maximum(0, 1 - margins) if loss == "hinge" else np.logaddexp(0, -margins)
    bias = found.bias if intercept is Intercept.AUGMENTED else 0.0
    return float(0.5 * (found.vector @ found.vector + bias**2) + C @ losses)


def table(m: int, d: int, seed: int) -> tuple[Array, Array, Array]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(m, d))
    codes = (X[:, 0] + random.normal(size=m) > 0.3).astype(np.int64)
    codes[:2] = 0, 1
    return X, codes, random.uniform(0.5, 2.0, m)


@INTERCEPTS
@BOTH
def test_equals_the_twin(loss: str, intercept: Intercept) -> None:
    X, codes, weights = table(40, 3, 0)
    weights[5] = 0.0
    [found] = solve(loss, X, codes, weights, 2.0, intercept, 1e-10)
    present = weights > 0
    y, twin = (
        np.where(codes == 1, 1.0, -1.0),
        reference.central_path if loss == "hinge" else reference.newton_logistic,
    )
    w, b = twin(X[present], y[present], 2.0 * weights[present], intercept=intercept.value)
    assert_allclose(found.vector, w, rtol=0, atol=1e-4)
    assert_allclose(found.bias, b, rtol=0, atol=1e-4)
    assert_allclose(
        objective(loss, X, y, 2.0 * weights, found, intercept), found.primal, rtol=1e-12
    )


@given(st.floats(-50, 50), st.floats(1e-6, 1e6), st.floats(1e-12, 1e3))
def test_points_of_the_central_path(margin: float, bound: float, share: float) -> None:
    mu = share * bound
    a, t, s, xi = central_point(margin, bound, mu)
    assert_allclose([a * s, t * xi], mu, rtol=1e-3 if share < 1e-9 else 1e-6)
    assert_allclose(s - xi, margin - 1, rtol=1e-9, atol=1e-9 * max(1.0, s))
    assert min(s, xi) > 0
    assert 0 <= a <= bound


@settings(max_examples=25)
@given(
    st.sampled_from(["hinge", "logistic"]),
    st.sampled_from(Intercept),
    st.integers(2, 60),
    st.integers(1, 6),
    st.sampled_from([1e-4, 0.1, 10.0, 1e4]),
    st.sampled_from([1e-6, 1.0, 1e6]),
    st.integers(0, 999),
)
def test_any_table_is_certified(
    loss: str, intercept: Intercept, m: int, d: int, C: float, scale: float, seed: int
) -> None:
    X, codes, weights = table(m, d, seed)
    X[:, 0] *= scale
    [found] = solve(loss, X, codes, weights, C, intercept, 1e-4)
    assert found.relative <= 1e-4
    assert_allclose(
        objective(loss, X, np.where(codes == 1, 1.0, -1.0), C * weights, found, intercept),
        found.primal,
        rtol=1e-9,
    )
    local = SDCA(
        loss,
        lam=1 / (C * weights.sum()),
        tol=1e-6,
        fit_intercept="free" if intercept is Intercept.FREE else intercept is Intercept.AUGMENTED,
    )
    best = (
        float(local.fit(X, codes, weights).objective_[0]) / local.lam_
    )  # within 1e-6 of the least
    assert found.bound <= best * (1 + 1e-9)
    assert found.primal >= best * (1 - 1e-5)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("load", [load_digits, load_wine, load_breast_cancer])
@BOTH
def test_converges_on_real_tables(loss: str, load: Any, C: float) -> None:
    X, codes = load(return_X_y=True)
    found = solve(loss, X, codes, np.ones(len(X)), C, Intercept.AUGMENTED, 1e-6)
    assert max(each.relative for each in found) <= 1e-6


@BOTH
def test_threads_and_float32_move_nothing(loss: str) -> None:
    X, codes, weights = table(5000, 40, 1)
    with threadpool_limits(1):
        alone = solve(loss, X, codes, weights, 1.0, Intercept.FREE, 1e-6)[0]
    together = solve(loss, X, codes, weights, 1.0, Intercept.FREE, 1e-6)[0]
    assert_array_equal(alone.vector, together.vector)
    assert (alone.primal, alone.bound, alone.bias) == (
        together.primal,
        together.bound,
        together.bias,
    )
    single = solve(loss, X.astype(np.float32), codes, weights, 1.0, Intercept.FREE, 1e-6)[0]
    rounded = solve(
        loss, X.astype(np.float32).astype(np.float64), codes, weights, 1.0, Intercept.FREE, 1e-6
    )[0]
    assert_array_equal(single.vector, rounded.vector)


@BOTH
def test_few_passes_on_a_tall_table(loss: str) -> None:
    X, codes, weights = table(20_000, 20, 2)
    [found] = solve(loss, X, codes, weights, 1.0, Intercept.AUGMENTED, 1e-3)
    assert len(found.history) <= 15


def test_nothing_to_solve_and_an_early_end() -> None:
    X, codes, weights = table(30, 2, 3)
    one_label = solve("hinge", X, np.ones(30, dtype=np.int64), weights, 1.0, Intercept.FREE, 1e-3)[
        0
    ]
    assert (one_label.bias, one_label.primal, one_label.history) == (1.0, 0.0, ())
    early = solve("hinge", X, codes, weights, 1.0, Intercept.AUGMENTED, 1e-9, most=3)[0]
    assert len(early.history) == 3
    assert early.relative > 1e-9


# Wide rows


def wide_table(m: int = 150, d: int = 2500) -> tuple[sparse.csr_matrix, Array, Array]:
    random = np.random.default_rng(0)
    X = sparse.random(m, d, density=0.01, format="csr", random_state=0)
    return X, random.integers(0, 3, m), random.uniform(0.5, 2.0, m)


@pytest.mark.parametrize(
    ("loss", "intercept"), [("hinge", Intercept.AUGMENTED), ("logistic", Intercept.NONE)]
)
def test_wide_rows_are_certified_dense_and_sparse(loss: str, intercept: Intercept) -> None:
    X, codes, weights = wide_table()
    found = solve(loss, X, codes, weights, 0.5, intercept, 1e-3)
    dense = solve(loss, X.toarray(), codes, weights, 0.5, intercept, 1e-3)
    local = SDCA(
        loss,
        lam=1 / (0.5 * weights.sum()),
        tol=1e-4,
        fit_intercept=intercept is not Intercept.NONE,
    )
    best = local.fit(X, codes, weights).objective_ / local.lam_
    for code, (each, other) in enumerate(zip(found, dense, strict=True)):
        assert max(each.relative, other.relative) <= 1e-3
        y = np.where(codes == code, 1.0, -1.0)
        assert_allclose(
            objective(loss, X, y, 0.5 * weights, each, intercept), each.primal, rtol=1e-9
        )
        assert max(each.bound, other.bound) <= best[code] * (1 + 1e-9)
        assert min(each.primal, other.primal) >= best[code] * (1 - 1e-4)


def test_cuts_equal_the_twin() -> None:
    X, codes, weights = table(20, 2, 4)
    columns = [
        Column(1, 0.2, (float(weights[codes == 1].sum()), float(weights[codes == 0].sum())), 20)
    ]
    with LabelledBlocks(X, codes, weights) as blocks:
        [[found]] = solve_by_cuts(blocks, [columns], Intercept.NONE, 1e-8)
    w, bound = reference.cutting_planes(
        X, np.where(codes == 1, 1.0, -1.0), 0.2 * weights, rounds=12
    )
    assert found.relative <= 1e-8
    assert_allclose(found.vector, w, rtol=0, atol=1e-3)
    assert bound <= found.primal
    assert_allclose(bound, found.primal, rtol=1e-4)


def test_the_weights_of_cuts_are_the_best() -> None:
    random = np.random.default_rng(0)
    for _ in range(20):
        cuts, offsets = random.normal(size=(6, 4)), random.normal(size=6)
        shares = np.full(6, 1 / 6)
        weigh_cuts(cuts @ cuts.T, offsets, shares, 1e-10)
        assert_allclose(shares.sum(), 1.0)
        assert shares.min() >= 0.0
        slopes = offsets - cuts @ (shares @ cuts)
        assert slopes.max() <= shares @ slopes + 1e-9  # no shift of weight gains


# Chains and folds


@BOTH
@INTERCEPTS
@pytest.mark.parametrize("width", [3, passes.MOST_FEATURES + 1])
def test_predictors_that_follow_each_other_are_certified(
    loss: str, intercept: Intercept, width: int
) -> None:
    """Warm starts along C are certified and cost no more passes in total.

    Passes depend on rounding, and so differ between processors.
    """
    if width > 3 and intercept is Intercept.FREE:
        return
    X, codes, weights = table(120, min(width, 50), 5)
    X = np.pad(X, ((0, 0), (0, width - X.shape[1])))
    sides = (float(weights[codes == 1].sum()), float(weights[codes == 0].sum()))
    chain = [Column(1, C, sides, 120) for C in (0.01, 0.1, 1.0)]
    with LabelledBlocks(X, codes, weights) as blocks:
        [warm] = solve_chains(blocks, loss, [chain], intercept, 1e-4, 1000)
    cold = [solve(loss, X, codes, weights, column.unit, intercept, 1e-4)[0] for column in chain]
    for column, one, other in zip(chain, warm, cold, strict=True):
        assert one.relative <= 1e-4
        y = np.where(codes == 1, 1.0, -1.0)
        assert_allclose(
            objective(loss, X, y, column.unit * weights, one, intercept), one.primal, rtol=1e-9
        )
        assert one.bound <= other.primal * (1 + 1e-12)
        assert other.bound <= one.primal * (1 + 1e-12)
    assert sum(len(each.history) for each in warm) < 1.1 * sum(len(each.history) for each in cold)


@BOTH
def test_rows_of_a_fold_have_no_weight_and_classes_have_theirs(loss: str) -> None:
    X, codes, weights = table(90, 4, 6)
    folds, each = (
        np.arange(90) % 3 - 1,
        np.array([0.5, 2.0]),
    )  # a third of the rows belongs to no fold
    for fold in (0, 1):
        inside = np.where(folds == fold, 0.0, weights * each[codes])
        sides = (float(inside[codes == 1].sum()), float(inside[codes == 0].sum()))
        column = Column(1, 0.3, sides, int((inside > 0).sum()), each, fold)
        with LabelledBlocks(X, codes, weights, folds) as blocks:
            [[found]] = solve_in_passes(blocks, loss == "hinge", [[column]], Intercept.FREE, 1e-4)
        [same] = solve(loss, X, codes, inside, 0.3, Intercept.FREE, 1e-4)
        assert_array_equal(found.vector, same.vector)
        assert (found.primal, found.bound, found.history) == (same.primal, same.bound, same.history)


# Thin rows


def thin_table() -> tuple[Any, Array, Array]:
    """Return 700 rows of two numbers and two one-hot columns as CSR and dense, and class codes."""
    random = np.random.default_rng(5)
    words = random.integers(20, size=(700, 2))
    numbers = random.normal(size=(700, 2))
    stored = sparse.csr_matrix(
        np.hstack([numbers, np.eye(20)[words[:, 0]], np.eye(20)[words[:, 1]]])
    )
    codes = (numbers[:, 0] + (words[:, 0] % 3 - 1) + random.normal(size=700) > 0).astype(np.int64)
    return stored, stored.toarray(), codes


@INTERCEPTS
@BOTH
def test_sparse_rows_have_the_optimum_of_dense_rows(loss: str, intercept: Intercept) -> None:
    """Sums in another order change objectives by no more than the gaps."""
    stored, whole, codes = thin_table()
    weights = np.random.default_rng(6).uniform(0.5, 2.0, 700)
    [thin], [dense] = (
        solve(loss, X, codes, weights, 0.05, intercept, 1e-6) for X in (stored, whole)
    )
    assert is_thin(stored) and thin.relative <= 1e-6
    assert thin.bound <= dense.primal * (1 + 1e-12) and dense.bound <= thin.primal * (1 + 1e-12)
    y = np.where(codes == 1, 1.0, -1.0)
    assert_allclose(
        objective(loss, whole, y, 0.05 * weights, thin, intercept), thin.primal, rtol=1e-9
    )


def test_products_of_sparse_rows_equal_dense_products() -> None:
    stored, whole, _ = thin_table()
    random = np.random.default_rng(7)
    vectors, weights = random.normal(size=(3, 43)), random.uniform(size=(2, 700))
    with_constant = np.hstack([whole, np.ones((700, 1))])
    with LabelledBlocks(stored, np.zeros(700, int), np.ones(700)) as blocks:
        [block] = blocks.blocks
    combined, matrix, smaller = np.empty((2, 43)), np.empty((43, 43)), np.empty((42, 42))
    block.combine(block.stored(), weights, combined)
    block.squares(stored, weights[0], matrix, True)
    block.squares(stored, weights[0], smaller, True)
    assert_allclose(block.products(vectors), vectors @ with_constant.T, atol=1e-12)
    assert_allclose(combined, weights @ with_constant, atol=1e-10)
    assert_allclose(matrix, with_constant.T @ (weights[0][:, None] * with_constant), atol=1e-10)
    assert_allclose(smaller, matrix[:42, :42], atol=1e-10)
    assert_allclose(block.rows(), whole, atol=1e-15)


def test_pairs_of_a_column_that_a_row_stores_twice() -> None:
    random = np.random.default_rng(8)
    columns, values = (
        random.integers(0, 6, 90),
        random.normal(size=90),
    )  # three stored numbers a row, not in order
    rows = sparse.csr_matrix((values, columns, np.arange(0, 93, 3)), (30, 6))
    weights = random.uniform(size=30)
    found, sums = pairs(rows, weights)
    whole = rows.toarray()
    assert_allclose(found, whole.T @ (weights[:, None] * whole), atol=1e-12)
    assert_allclose(sums, weights @ whole, atol=1e-12)


@pytest.mark.parametrize("spread", [1.0, 1e-9, 1e40])
def test_values_along_a_step_are_their_sums(spread: float) -> None:
    """Logarithms of products equal sums of logarithms, also where a product overflows."""
    random = np.random.default_rng(9)
    for bounds in (np.full(50, 0.3), random.uniform(0.1, 2.0, 50)):
        below, change, mu, step = (
            spread * random.normal(size=50),
            spread * random.normal(size=50),
            1e-3 * spread,
            0.6,
        )
        missing, corner = below - step * change, 2.0 * mu / bounds
        root = np.sqrt(missing**2 + corner**2)
        plain = np.sum(0.5 * bounds * (corner + missing + root)) - mu * np.log(corner + root).sum()
        assert_allclose(barrier_values(bounds, below, change, corner, mu, step), plain, rtol=1e-12)
        soft = np.sum(bounds * np.logaddexp(0.0, -(below + step * change)))
        assert_allclose(loss_values(bounds, below, change, np.empty(50), step), soft, rtol=1e-12)
