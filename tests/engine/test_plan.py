"""Test plans: storage and traversal follow from sizes and the memory budget."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from pegasos import SDCA, Pegasos, Perceptron
from pegasos.engine.rows import plan as planning
from pegasos.engine.rows.plan import BLOCK_FROM_COLUMNS, Plan, budget_bytes, plan_dual, plan_primal
from pegasos.kernels import Gaussian, Laplacian

SIZES = st.tuples(
    st.integers(1, 10**6), st.integers(0, 10**4), st.integers(1, 500), st.sampled_from([4, 8])
)


@given(SIZES, st.integers(1, 10**15), st.booleans(), st.booleans())
@settings(deadline=None)
def test_a_plan_keeps_to_its_budget_or_says_what_it_needs(
    sizes: tuple[int, int, int, int], memory: int, precomputed: bool, dense: bool
) -> None:
    m, width, columns, itemsize = sizes
    refused = None
    try:
        plan = plan_dual(m, width, columns, itemsize, memory, precomputed=precomputed, dense=dense)
    except ValueError as error:
        refused = str(error)
    if refused is not None:
        assert re.search("is not enough: at least .* Raise `memory`", refused)
        return
    assert plan.bytes <= plan.budget == memory
    assert plan.rows in ({"precomputed"} if precomputed else {"gram", "on the fly"})
    if plan.rows == "gram":
        assert plan.bytes >= m * m * itemsize, "the matrix itself is counted"


@given(SIZES, st.integers(1, 10**15), st.integers(1, 10**15), st.booleans())
@settings(deadline=None)
def test_more_memory_is_never_a_worse_plan(
    sizes: tuple[int, int, int, int], memory: int, more: int, dense: bool
) -> None:
    order = {"refused": 0, "on the fly": 1, "gram": 2}

    def rows(budget: int) -> str:
        m, width, columns, itemsize = sizes
        try:
            return plan_dual(
                m, width, columns, itemsize, budget, precomputed=False, dense=dense
            ).rows
        except ValueError:
            return "refused"

    assert order[rows(memory + more)] >= order[rows(memory)]


@pytest.mark.parametrize(
    ("columns", "walk"),
    [(1, "by rows"), (BLOCK_FROM_COLUMNS - 1, "by rows"), (BLOCK_FROM_COLUMNS, "by blocks")],
)
def test_blocks_pay_with_many_columns(columns: int, walk: str) -> None:
    plan = plan_primal(False, 1000, 50, columns, 8, "1GB", coefficients=False)
    assert (plan.rows, plan.walk, plan.by_rows) == ("dense", walk, walk == "by rows")
    csr = plan_primal(True, 1000, 50, columns, 8, "1GB", coefficients=False)
    assert (csr.rows, csr.walk) == ("csr", "by rows")


def test_primal_refusal_counts_dual_coefficients() -> None:
    """For one million rows in ten columns, the coefficients of SDCA take 80 MB more."""
    assert plan_primal(True, 10**6, 10, 10, 8, "100MB", coefficients=False).bytes < 10**8
    with pytest.raises(
        ValueError,
        match=r"memory=100 MB is not enough: at least 112 MB are needed even with rows csr",
    ):
        plan_primal(True, 10**6, 10, 10, 8, "100MB", coefficients=True)


def test_budget_is_given_or_half_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "total_bytes", lambda: 1001)
    assert budget_bytes(None) == 500
    assert budget_bytes("1KB") == 1000


def test_text_of_a_plan() -> None:
    plan = Plan(
        "gram", "by blocks", 256, 12_345_678, 2 * 10**9, 2, "the Gram matrix fits the memory budget"
    )
    assert (
        str(plan)
        == "rows gram, walked by blocks, 12 MB of 2,000 MB, 2 threads: the Gram matrix fits the memory budget"
    )


# the learners' plans


def data(m: int, classes: int = 2, dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.normal(size=(m, 3)).astype(dtype)
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int) + (classes > 2) * (X[:, 2] > 0.5)
    return X, y


def learner(name: str, kernel: Any, memory: Any) -> Any:
    options: dict[str, Any] = {
        "kernel": kernel,
        "memory": memory,
        "fit_intercept": False,
        "random_state": 0,
    }
    if name == "Perceptron":
        return Perceptron(epochs=2, **options)
    if name == "Pegasos":
        return Pegasos(
            "logistic", lam=1e-2, n_iter=4000, checkpoints=[700], projection=True, **options
        )
    return SDCA(lam=1e-2, tol=0.05, **options)


@pytest.mark.parametrize("name", ["Perceptron", "Pegasos", "SDCA"])
@pytest.mark.parametrize(
    ("kernel", "dtype", "tolerance"),
    [(Gaussian(1.0), np.float64, 1e-9), (Laplacian(2.0), np.float32, 2e-3)],
    ids=["f64", "f32"],
)
def test_little_memory_means_rows_on_the_fly_and_the_same_model(
    name: str, kernel: Any, dtype: Any, tolerance: float
) -> None:
    X, y = data(1450 if dtype == np.float64 else 1600, classes=3, dtype=dtype)
    with threadpool_limits(
        1, user_api="blas"
    ):  # each thread has tiles of its own, and so raises the least that is needed
        stored = learner(name, kernel, None).fit(X, y)
        flying = learner(name, kernel, 15_000_000 if dtype == np.float64 else 9_700_000).fit(X, y)
    assert stored.plan_.rows == "gram"
    assert flying.plan_.rows == "on the fly"
    assert flying.plan_.bytes <= flying.plan_.budget < X.shape[0] ** 2 * X.itemsize
    assert "computed when needed" in str(flying.plan_)
    expected = stored.decision_function(X[:200])
    scale = np.abs(expected).max()
    np.testing.assert_allclose(
        flying.decision_function(X[:200]) / scale, expected / scale, atol=tolerance
    )
    if dtype == np.float64 and name == "Perceptron":
        np.testing.assert_array_equal(flying.support_, stored.support_)
        np.testing.assert_array_equal(flying.dual_coef_, stored.dual_coef_)


@pytest.mark.parametrize("name", ["Perceptron", "Pegasos", "SDCA"])
@pytest.mark.parametrize(
    "kernel", [None, Gaussian(1.0), "precomputed"], ids=["linear", "gaussian", "precomputed"]
)
def test_too_little_memory_even_for_that_is_refused(name: str, kernel: Any) -> None:
    X, y = data(50)
    if kernel == "precomputed":
        X = Gaussian(1.0)(X)
    with pytest.raises(
        ValueError,
        match=r"memory=0 MB is not enough: at least .* Raise `memory`, use float32, or fewer rows",
    ):
        learner(name, kernel, 1000).fit(X, y)


@pytest.mark.parametrize("name", ["Perceptron", "Pegasos", "SDCA"])
@pytest.mark.parametrize("memory", ["much", -1, "2XB"])
def test_memory_that_is_not_understood_is_named(name: str, memory: Any) -> None:
    X, y = data(50)
    with pytest.raises(ValueError, match=r"memory.*'2GB'"):
        learner(name, None, memory).fit(X, y)


@pytest.mark.parametrize(
    ("kernel", "rows", "walk"),
    [
        (None, "dense", "by rows"),
        (Gaussian(1.0), "gram", "by blocks"),
        ("precomputed", "precomputed", "by blocks"),
    ],
)
def test_the_plan_of_a_fit_can_be_read(kernel: Any, rows: str, walk: str) -> None:
    X, y = data(60)
    K = Gaussian(1.0)(X)
    clf = Perceptron(kernel=kernel, epochs=1, memory="1GB").fit(
        K if kernel == "precomputed" else X, y
    )
    assert (clf.plan_.rows, clf.plan_.walk) == (rows, walk)
    assert str(clf.plan_).startswith(f"rows {rows}, walked {walk}, ")
    assert " of 1,000 MB, " in str(clf.plan_)


def test_many_classes_are_walked_by_blocks_with_the_same_model() -> None:
    """Dense rows in blocks and CSR rows one by one give one model for 40 classes."""
    from scipy import sparse

    random = np.random.default_rng(1)
    X = random.normal(size=(400, 6))
    y = np.arange(400) % 40
    options: dict[str, Any] = {"lam": 0.01, "n_iter": 900, "average": True, "random_state": 3}
    blocks = Pegasos("logistic", **options).fit(X, y)
    rows = Pegasos("logistic", **options).fit(sparse.csr_array(X), y)
    assert (blocks.plan_.walk, rows.plan_.walk) == ("by blocks", "by rows")
    np.testing.assert_allclose(
        blocks.coef_, rows.coef_, rtol=1e-8, atol=1e-10 * np.abs(rows.coef_).max()
    )
    np.testing.assert_allclose(blocks.intercept_, rows.intercept_, rtol=1e-8)


def test_a_budget_changes_the_method_but_not_the_certificate() -> None:
    X, y = data(1800)

    def fit(memory: str) -> SDCA:
        with threadpool_limits(1, user_api="blas"):  # tiles of more threads take more memory
            return SDCA(kernel=Gaussian(1.0), lam=1e-4, memory=memory).fit(X, y)

    small, large, again = fit("20MB"), fit("1GB"), fit("20MB")
    assert (small.plan_.rows, large.plan_.rows) == ("on the fly", "gram")
    assert small.gap_ <= small.tol and large.gap_ <= large.tol
    np.testing.assert_allclose(small.objective_, large.objective_, rtol=small.tol)
    np.testing.assert_array_equal(again.dual_coef_, small.dual_coef_)
