"""Test the hinge loss by rows near the margin, in memory and on disk."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import reference
from pegasos.engine.optimum.passes import margin_rows
from pegasos.engine.optimum.passes.margin_rows import (
    FetchPlan,
    plan_fetch,
    solve_by_fetched_rows,
)
from pegasos.engine.optimum.passes.newton import solve_rows
from pegasos.engine.optimum.passes.passes import Column, LabelledBlocks, stacked
from pegasos.engine.optimum.problem import Intercept, Optimum, Target
from pegasos.engine.rows.blocks import is_thin
from pegasos.learners import from_passes
from pegasos.learners.sdca import SDCA

Array = np.ndarray[Any, Any]
INTERCEPTS = pytest.mark.parametrize("intercept", [Intercept.NONE, Intercept.AUGMENTED])


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(margin_rows, "MANY_ROWS", 1000)
    monkeypatch.setattr(margin_rows, "ROWS_A_FEATURE", 50)


def table(seed: int = 0, rows: int = 4000) -> tuple[Array, Array]:
    """Return three classes, one of them rare, and columns with few nonzero values."""
    random = np.random.default_rng(seed)
    X = np.c_[random.normal(size=(rows, 4)), 8.0 * (random.random((rows, 6)) < 0.005)]
    scores = X[:, :3] + 0.1 * X[:, 4:7] + random.normal(size=(rows, 3)) - [0.0, 0.0, 2.0]
    return X, scores.argmax(axis=1)


def columns_of(
    codes: Array, weights: Array, C: float, fold: int = -1, folds: Array | None = None
) -> list[Column]:
    own = weights if folds is None else np.where(folds == fold, 0.0, weights)
    sums = np.bincount(codes, own)
    return [
        Column(code, C, (float(mine), float(sums.sum() - mine)), int((own > 0).sum()), fold=fold)
        for code, mine in enumerate(sums)
    ]


def solve(
    X: Any,
    codes: Array,
    weights: Array,
    columns: list[Column],
    intercept: Intercept,
    tol: float,
    *folds: Array,
) -> Any:
    with LabelledBlocks(X, codes, weights, *folds) as blocks:
        blocks.room, blocks.row_bytes = 10**7, 80.0
        share = plan_fetch(blocks, columns[0].rows, intercept)
        assert share is not None
        return solve_by_fetched_rows(blocks, columns, intercept, tol, share)


def objective(
    X: Array, column: Column, codes: Array, own: Array, found: Optimum, intercept: Intercept
) -> float:
    """Compute F from its definition."""
    y = np.where(codes == column.code, 1.0, -1.0)
    bias = found.bias if intercept is Intercept.AUGMENTED else 0.0
    loss = np.maximum(0.0, 1.0 - y * (X @ found.vector + found.bias))
    return float(0.5 * (found.vector @ found.vector + bias**2) + column.unit * (own @ loss))


@INTERCEPTS
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_the_optimum_of_all_rows(C: float, intercept: Intercept) -> None:
    X, codes = table()
    weights = np.random.default_rng(1).integers(0, 3, len(codes)).astype(float)
    columns = columns_of(codes, weights, C)
    found = solve(X, codes, weights, columns, intercept, 1e-4)
    for column, own in zip(columns, found, strict=True):
        target = Target(np.where(codes == column.code, 1.0, -1.0), C * weights)
        (whole,) = solve_rows(X, True, [target], intercept, 1e-7)
        assert own is not None and own.relative <= 1e-4
        assert_allclose(own.primal, objective(X, column, codes, weights, own, intercept), rtol=1e-9)
        assert own.bound <= whole.primal * (1 + 1e-12) and whole.bound <= own.primal * (1 + 1e-12)
        assert 3 <= len(own.history) <= 13 and own.history[-1] == (own.primal, own.bound)


@INTERCEPTS
def test_sparse_rows_have_the_optimum_of_dense_rows(intercept: Intercept) -> None:
    random = np.random.default_rng(0)
    X = sparse.random(5000, 15, 0.2, "csr", random_state=0)
    codes = (X @ random.normal(size=15) + 0.3 * random.normal(size=5000) > 0).astype(np.int64)
    assert is_thin(X)
    columns = columns_of(codes, np.ones(5000), 1.0)[1:]
    (thin,), (whole,) = (
        solve(form, codes, np.ones(5000), columns, intercept, 1e-5)
        for form in (X, np.ascontiguousarray(X.toarray()))
    )
    assert thin.relative <= 1e-5 and whole.relative <= 1e-5
    assert_allclose(thin.primal, whole.primal, rtol=2e-5)


def test_rows_of_a_fold_have_no_weight() -> None:
    X, codes = table(2)
    folds = np.arange(len(codes)) % 5
    columns = columns_of(codes, np.ones(len(codes)), 0.1, 2, folds)
    found = solve(X, codes, np.ones(len(codes)), columns, Intercept.AUGMENTED, 1e-4, folds)
    for column, own in zip(columns, found, strict=True):
        assert_allclose(
            own.primal,
            objective(X, column, codes, (folds != 2) * 1.0, own, Intercept.AUGMENTED),
            rtol=1e-9,
        )


def test_the_same_bits_however_many_predictors_have_room_at_once() -> None:
    X, codes = table(3)
    columns = columns_of(codes, np.ones(len(codes)), 1.0)
    with LabelledBlocks(X, codes, np.ones(len(codes))) as blocks:
        together, alone = (
            solve_by_fetched_rows(
                blocks, columns, Intercept.AUGMENTED, 1e-4, FetchPlan(0.1, 0.3, most)
            )
            for most in (1e9, 4100.0)
        )
    for one, other in zip(together, alone, strict=True):
        assert one is not None and other is not None
        assert_array_equal(one.vector, other.vector)


def test_without_memory_the_fallback_solves(monkeypatch: pytest.MonkeyPatch) -> None:
    """With too little memory, a free intercept or few passes the fallback converges."""
    X, codes = table(4)
    weights, ended = np.ones(len(codes)), []
    chains = [[column] for column in columns_of(codes, weights, 1.0)]
    with LabelledBlocks(X, codes, weights) as blocks:
        for room, intercept, most in (
            (10**7, True, 1000),
            (0, True, 1000),
            (10**7, "free", 1000),
            (10**7, False, 9),
        ):
            blocks.room, blocks.row_bytes = room, 80.0
            learner = SDCA(fit_intercept=intercept, max_epochs=most, tol=1e-3 if most > 9 else 0.9)
            method, found = from_passes.solve(learner, blocks, chains)
            ended.append(method)
            assert all(own.relative <= learner.tol for [own] in found)
        blocks.room = 10**7
        monkeypatch.setattr(from_passes, "solve_by_fetched_rows", lambda *_: [None] * 3)
        method, found = from_passes.solve(SDCA(), blocks, chains)
    assert ended == ["an interior point method for rows near the margin", *["Newton's method"] * 3]
    assert method.endswith(", Newton's method") and all(own.relative <= 1e-3 for [own] in found)


def test_rows_below_each_other_stay_what_they_are() -> None:
    dense, rows = np.arange(6.0).reshape(3, 2), sparse.csr_matrix(np.eye(3))
    assert_array_equal(stacked([dense[:1], dense[1:]]), dense)
    assert_array_equal(stacked([rows[:1], rows[1:]]).toarray(), np.eye(3))


def test_equals_the_twin() -> None:
    """Compare with the reference: predict rows from a sample, solve the others, correct."""
    X, codes = table(5, 1200)
    y, bounds = np.where(codes == 0, 1.0, -1.0), np.full(len(codes), 0.5)
    column = columns_of(codes, np.ones(len(codes)), 0.5)[0]
    (found,) = solve(X, codes, np.ones(len(codes)), [column], Intercept.NONE, 1e-5)
    w, gap = reference.hinge_by_decided_rows(X, y, bounds, np.arange(0, len(y), 8), 1e-5)
    assert gap <= 1e-5 and found.relative <= 1e-5
    assert_allclose(found.vector, w, atol=5e-3 * np.abs(w).max())
