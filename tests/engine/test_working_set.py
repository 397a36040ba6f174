"""Compare working sets with their reference on all kinds of rows, for any number of threads."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from threadpoolctl import threadpool_limits

import reference
from pegasos import SDCA
from pegasos.engine.optimum.choice import ExactSolver
from pegasos.engine.optimum.hinge import kernel_working_sets
from pegasos.engine.optimum.hinge.kernel_sources import (
    CachedKernel,
    KernelSource,
    RoundedKernel,
    StoredKernel,
    kernel_source,
)
from pegasos.engine.optimum.hinge.kernel_working_sets import predict_coefficients
from pegasos.engine.optimum.hinge.set_predictor import Limit, _choose_largest
from pegasos.engine.optimum.hinge.working_set import WorkingSetSolver
from pegasos.engine.optimum.kernel_operator import KernelOperator, low_rank_spectrum
from pegasos.engine.optimum.problem import Intercept, Optimum, Problem, Target
from pegasos.engine.rows.features import DenseRows, SparseRows
from pegasos.engine.rows.kernel_rows import KernelRows
from pegasos.engine.rows.sources import GramRows
from pegasos.engine.runtime.interruption import Interrupted, interruptible, listening
from pegasos.engine.walk.losses import LOSSES
from pegasos.kernels import Exponential, Gaussian, Laplacian, Linear, Polynomial

Array = np.ndarray[Any, Any]
INTERCEPTS = pytest.mark.parametrize("intercept", Intercept, ids=lambda kind: kind.value)


def table(m: int = 60, d: int = 3, seed: int = 0) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(m, d))
    return X, np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * random.normal(size=m) > 0, 1.0, -1.0)


def objectives(
    K: Array, target: Target, found: Optimum, intercept: Intercept
) -> tuple[float, float]:
    """Compute F of the predictor and G of the dual coefficients from their definitions."""
    y, C, b = target.labels, target.bounds, found.bias
    extra = 1.0 if intercept is Intercept.AUGMENTED else 0.0
    own = y * found.dual
    primal = (
        found.vector @ K @ found.vector / 2
        + extra * b**2 / 2
        + C @ np.maximum(0, 1 - y * (K @ found.vector + b))
    )
    return float(primal), float(found.dual.sum() - own @ K @ own / 2 - extra * own.sum() ** 2 / 2)


@INTERCEPTS
@pytest.mark.parametrize("C", [0.01, 1.0, 300.0])
def test_against_the_plainest_form(intercept: Intercept, C: float) -> None:
    X, y = table(40)
    K = Gaussian(2.0)(X)
    target = Target(y, C * np.random.default_rng(1).uniform(0.2, 2, len(y)))
    (found,) = WorkingSetSolver(StoredKernel(K), K.diagonal(), intercept).solve([target], 1e-8)
    assert found.relative <= 1e-8
    np.testing.assert_allclose(
        [found.primal, found.bound], objectives(K, target, found, intercept), rtol=1e-10
    )
    whole = K + (intercept is Intercept.AUGMENTED)
    c, b = reference.working_sets(whole, y, target.bounds, free=intercept is Intercept.FREE)
    plain = c @ whole @ c / 2 + target.bounds @ np.maximum(0, 1 - y * (whole @ c + b))
    assert found.primal == pytest.approx(plain, rel=1e-6)
    np.testing.assert_allclose(
        K @ found.vector + found.bias, whole @ c + b, atol=1e-2 * max(1.0, C) ** 0.5
    )


@INTERCEPTS
def test_all_rows_give_the_same(intercept: Intercept) -> None:
    """Stored K, cached rows of K, a nearly full cache, and explicit features agree."""
    X, y = table(300, 4)
    members = np.sort(np.random.default_rng(2).permutation(300)[:240])
    target = Target(y[members], np.full(240, 5.0))
    K, kernel = X @ X.T, Linear()
    kept = CachedKernel(KernelRows(kernel, X), 64)
    all_lines = [
        StoredKernel(K),
        kept,
        kernel_source(DenseRows(X), 0),
        kernel_source(SparseRows(sparse.csr_array(X)), 0),
    ]
    flying = KernelRows(kernel, X)
    for lines in [
        *all_lines,
        kernel_source(flying, 10**9),
        kernel_source(flying, 10**9, rounding=True),
    ]:
        (found,) = WorkingSetSolver(lines, K.diagonal(), intercept, members).solve([target], 1e-6)
        assert found.relative <= 1e-6
        inner = K[np.ix_(members, members)]
        np.testing.assert_allclose(
            [found.primal, found.bound], objectives(inner, target, found, intercept), rtol=1e-8
        )


def test_many_predictors_go_in_step_and_along_a_path() -> None:
    X, y = table(200)
    K = Gaussian(1.0)(X).astype(np.float32)
    targets = [
        Target(sign * y, np.full(200, C)) for sign in (1.0, -1.0) for C in (0.1, 1.0, 10.0, 100.0)
    ]
    together = WorkingSetSolver(StoredKernel(K), K.diagonal().astype(float), Intercept.NONE).solve(
        targets, 1e-4
    )
    path = WorkingSetSolver(StoredKernel(K), K.diagonal().astype(float), Intercept.NONE)
    start = None
    for target, one in zip(targets[:4], together[:4], strict=True):
        (warm,) = path.solve([target], 1e-4, start, names=[7])
        start = np.array([target.labels * warm.dual])
        assert max(one.relative, warm.relative) <= 1e-4
        assert warm.primal == pytest.approx(one.primal, rel=2e-4)
        exact = objectives(K.astype(float), target, warm, Intercept.NONE)
        np.testing.assert_allclose([warm.primal, warm.bound], exact, rtol=1e-9)


@pytest.mark.parametrize("signs", [(1.0,), (1.0, -1.0)], ids=len)
@INTERCEPTS
def test_bits_do_not_depend_on_threads(intercept: Intercept, signs: tuple[float, ...]) -> None:
    X, y = table(400)
    targets = [Target(sign * y, np.full(400, 10.0)) for sign in signs]
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            rows = GramRows.of(Gaussian(1.0), X)
            found.append(
                WorkingSetSolver(kernel_source(rows, 0), rows.diagonal, intercept).solve(
                    targets, 1e-6
                )
            )
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one.vector, two.vector)


def test_fits_report_progress_and_can_be_stopped() -> None:
    X, y = table(200)
    K = Gaussian(1.0)(X)
    sets = WorkingSetSolver(StoredKernel(K), K.diagonal(), Intercept.NONE)
    told: list[float] = []
    with listening(lambda gap, tol: told.append(gap)):
        sets.solve([Target(y, np.full(200, 100.0))], 1e-6)
    assert told[0] > 1e-6 >= told[-1]
    halt = threading.Event()
    halt.set()
    with interruptible(halt.is_set), pytest.raises(Interrupted):
        sets.solve([Target(y, np.full(200, 100.0))], 1e-6)


def test_lines_for_which_there_is_hardly_room_serve_many_predictors() -> None:
    X, y = table(300, 4)
    lines = CachedKernel(KernelRows(Gaussian(2.0), X), 80)
    targets = [Target(sign * y, np.full(300, C)) for sign in (1.0, -1.0) for C in (0.5, 5.0)]
    for target, found in zip(
        targets,
        WorkingSetSolver(lines, np.ones(300), Intercept.NONE).solve(targets, 1e-5),
        strict=True,
    ):
        assert found.relative <= 1e-5
        exact = objectives(Gaussian(2.0)(X), target, found, Intercept.NONE)
        np.testing.assert_allclose([found.primal, found.bound], exact, rtol=1e-9)


class RoughKernel(StoredKernel):
    """Kernel matrix with errors, whose exact values are used by exact scores only."""

    rounded = True

    def __init__(self, K: Array, wrong: float) -> None:
        noise = np.random.default_rng(0).uniform(-wrong, wrong, K.shape)
        super().__init__(K + noise + noise.T)
        self._exact = K
        self.asked: list[int] = []

    def unrounded(self) -> KernelSource:
        return StoredKernel(self._exact)

    def exact_scores(self, index: Array, coefficients: Array, places: Array) -> Array:
        self.asked.append(len(places))
        return np.asarray(coefficients @ self._exact[np.ix_(index, places)])


@INTERCEPTS
@pytest.mark.parametrize(("wrong", "everywhere"), [(1e-7, False), (1e-3, True)])
def test_certificates_use_exact_scores_of_relevant_rows(
    intercept: Intercept, wrong: float, everywhere: bool
) -> None:
    """Rows clearly beyond the margin need no exact score."""
    X, y = table(300)
    X[:100] += 4.0 * np.where(y[:100] > 0, 1.0, -1.0)[:, None]
    K = Gaussian(2.0)(X)
    lines, target = RoughKernel(K, wrong), Target(y, np.full(300, 3.0))
    (found,) = WorkingSetSolver(lines, K.diagonal(), intercept).solve([target], 1e-2)
    np.testing.assert_allclose(
        [found.primal, found.bound], objectives(K, target, found, intercept), rtol=1e-9
    )
    assert (lines.asked[-1] == 300) == everywhere
    assert found.relative <= 1e-2


@INTERCEPTS
def test_inaccurate_kernel_rows_are_recomputed_in_float64(
    intercept: Intercept,
) -> None:
    """At a large C small errors of K prevent convergence, so rows are computed in float64."""
    X, y = table(300)
    K = Gaussian(2.0)(X)
    target, lines = Target(y, np.full(300, 1e3)), RoughKernel(K, 0.01)
    sets = WorkingSetSolver(lines, K.diagonal(), intercept)
    (found,) = sets.solve([target], 1e-4, limit=Limit(1000))
    assert found.relative <= 1e-4
    assert lines.asked and not sets.kernel.rounded
    np.testing.assert_allclose(
        [found.primal, found.bound], objectives(K, target, found, intercept), rtol=1e-9
    )


@pytest.mark.parametrize(
    "make",
    [RoundedKernel, lambda rows: CachedKernel(rows, 200, rounded=True)],
    ids=["matrix", "kept"],
)
def test_lines_without_rounding_are_those_of_the_kernel(make: Any) -> None:
    X, _ = table(200)
    rows, changes = KernelRows(Gaussian(2.0), X), np.random.default_rng(0).normal(size=200)
    lines, scores = make(rows).unrounded(), np.zeros(200)
    lines.add(np.arange(200), changes, scores)
    assert not lines.rounded
    np.testing.assert_allclose(scores, changes @ Gaussian(2.0)(X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Exponential(2.0), Laplacian(2.0)])
def test_rows_far_from_zero_are_rounded_where_float32_has_most_digits(kernel: Any) -> None:
    X, _ = table(100)
    exact = kernel(X)
    np.testing.assert_allclose(KernelRows(kernel, X + 1e4).rounded().matrix(), exact, atol=2e-6)
    with_csr = KernelRows(kernel, sparse.csr_matrix(X)).rounded()
    np.testing.assert_allclose(with_csr.matrix(), exact, atol=2e-5)


def test_a_free_intercept_converges_with_more_free_rows_than_a_set_holds() -> None:
    """Gradients that differ little from the intercept are told apart."""
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 60))
    y = np.where(X @ random.normal(size=60) + 20 * random.normal(size=2000) > 0, 1.0, -1.0)
    K, target = Gaussian(30.0)(X), Target(y, np.full(2000, 600.0))
    (found,) = WorkingSetSolver(StoredKernel(K), K.diagonal(), Intercept.FREE).solve(
        [target], 1e-3, limit=Limit(100)
    )
    assert np.count_nonzero((found.dual > 0) & (found.dual < 600)) > 1400
    assert found.relative <= 1e-3


@pytest.mark.parametrize("rounded", [False, True])
def test_classes_on_their_own_ways_give_the_same_bits_for_any_number_of_threads(
    rounded: bool,
) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 4))
    labels = np.argmax(X + 0.3 * random.normal(size=(600, 4)), axis=1)
    rows = KernelRows(Gaussian(1.0), X)
    targets = [Target(np.where(labels == k, 1.0, -1.0), np.full(600, 10.0)) for k in range(4)]
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            lines = RoundedKernel(rows) if rounded else StoredKernel(rows.matrix())
            found.append(WorkingSetSolver(lines, np.ones(600), Intercept.NONE).solve(targets, 1e-4))
    for target, one, two in zip(targets, *found, strict=True):
        assert one.relative <= 1e-4
        np.testing.assert_array_equal(one.vector, two.vector)
        (alone,) = WorkingSetSolver(kernel_source(rows, 10**8), np.ones(600), Intercept.NONE).solve(
            [target], 1e-4
        )
        assert one.primal == pytest.approx(alone.primal, rel=2e-4)


@given(st.integers(0, 2**32 - 1), st.integers(1, 400), st.integers(0, 400))
@settings(max_examples=100, deadline=None)
def test_the_largest_able_rows_are_chosen(seed: int, rows: int, count: int) -> None:
    random = np.random.default_rng(seed)
    values = random.normal(size=rows) * (random.random(rows) < 0.9)
    able, before = random.random(rows) < 0.8, random.random(rows) < 0.2
    chosen = before.copy()
    _choose_largest(values, able, count, chosen)
    new, left = chosen & ~before, able & ~chosen
    assert new.sum() == min(count, (able & ~before).sum())
    assert not (new & ~able).any() and (chosen >= before).all()
    if new.any() and left.any():
        assert values[new].min() >= values[left].max()


def test_members_may_be_all_rows_in_another_order() -> None:
    X, y = table(200)
    K, members = Gaussian(1.0)(X), np.random.default_rng(0).permutation(200)
    target = Target(y[members], np.full(200, 100.0))
    (found,) = WorkingSetSolver(StoredKernel(K), K.diagonal(), Intercept.NONE, members).solve(
        [target], 1e-6
    )
    ordered = np.ascontiguousarray(K[np.ix_(members, members)])
    (same,) = WorkingSetSolver(StoredKernel(ordered), K.diagonal(), Intercept.NONE).solve(
        [target], 1e-6
    )
    assert found.relative <= 1e-6 and found.history == same.history
    np.testing.assert_array_equal(found.vector, same.vector)


def test_an_optimum_has_the_scores_of_all_rows() -> None:
    """Rows that are not trained on have scores, too."""
    X, y = table(200)
    members, K = np.arange(0, 200, 2), Gaussian(1.0)(X)
    (found,) = WorkingSetSolver(StoredKernel(K), K.diagonal(), Intercept.AUGMENTED, members).solve(
        [Target(y[members], np.full(100, 100.0))], 1e-3
    )
    assert found.scores is not None
    np.testing.assert_allclose(
        found.scores, K[:, members] @ found.vector + found.bias, rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [0, 3, 700, 1300])
def test_computed_scores(dtype: type, count: int) -> None:
    """Fewer rows than a tile, several tiles and all rows give equal bits for any threads."""
    random = np.random.default_rng(0)
    rows = KernelRows(Gaussian(2.0), random.normal(size=(1300, 3)).astype(dtype))
    index, values = random.permutation(1300)[:count], random.normal(size=(2, count))
    places = random.permutation(1300)[:900]
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(rows.combine(values, index, places, np.float64))
    np.testing.assert_array_equal(*found)
    plain = np.zeros((2, 900))
    if count:
        plain = values @ rows.kernel(rows.X[index], rows.X[places]).astype(np.float64)
    np.testing.assert_allclose(found[0], plain, atol=1e-10 if dtype is np.float64 else 1e-4)


def test_a_sample_predicts_most_coefficients() -> None:
    """Rows with weights and with labels in a periodic order are predicted, too."""
    X, y = table(2600, 4)
    order = np.argsort(np.arange(2600) % 10 < 5, kind="stable")
    X, y = X[order], y[order]
    rows, K = KernelRows(Gaussian(2.0), X), Gaussian(2.0)(X)
    target = Target(y, 0.05 * np.random.default_rng(1).uniform(0.5, 1.5, 2600))
    start = predict_coefficients(rows, [target], Intercept.AUGMENTED, 10**9)
    (best,) = WorkingSetSolver(StoredKernel(K), np.ones(2600), Intercept.AUGMENTED).solve(
        [target], 1e-4
    )
    assert np.mean(np.abs(start[0] - y * best.dual) < 1e-3 * target.bounds) > 0.9
    (found,) = WorkingSetSolver(
        kernel_source(rows, 10**9, rounding=True), np.ones(2600), Intercept.AUGMENTED
    ).solve([target], 1e-4, start)
    assert found.rounds < best.rounds
    assert found.relative <= 1e-4
    exact = objectives(K, target, found, Intercept.AUGMENTED)
    np.testing.assert_allclose([found.primal, found.bound], exact, rtol=1e-9)


def test_many_classes_share_a_matrix_of_rounded_numbers() -> None:
    X, y = table(2100, 4)
    labels = np.where(X[:, 3] > 0.5, 2.0, y)
    model = SDCA(
        kernel=Gaussian(2.0), lam=1 / 2100, tol=1e-5, fit_intercept=False, random_state=0
    ).fit(X, labels)
    assert model.gap_ <= 1e-5
    K = Gaussian(2.0)(X)
    for place, label in enumerate(model.classes_):
        c = np.zeros(2100)
        c[model.support_] = model.dual_coef_[place]
        losses = np.maximum(0, 1 - np.where(labels == label, 1, -1) * (K @ c))
        assert model.objective_[place] == pytest.approx(
            (c @ K @ c / 2 + losses.sum()) / 2100, rel=1e-9
        )


@pytest.mark.parametrize("bytes_of_matrix", [0, 2**30])
def test_fits_of_many_rows_skip_epochs(
    monkeypatch: pytest.MonkeyPatch, bytes_of_matrix: int
) -> None:
    """Fits on many rows skip epochs, with cached rows of K or a float32 matrix.

    The optimum is the same for all C and both dtypes.
    """
    X, y = table(2100, 4)
    sets = WorkingSetSolver(StoredKernel(Gaussian(2.0)(X)), np.ones(2100), Intercept.AUGMENTED)
    monkeypatch.setattr(kernel_working_sets, "SMALL_MATRIX_BYTES", bytes_of_matrix)
    monkeypatch.setattr(kernel_working_sets, "SHARE_WORTH_MATRIX", 1.1)
    matrix, made = GramRows.K.fget, []
    monkeypatch.setattr(
        GramRows, "K", property(lambda self: made.append(self.computes_rows) or matrix(self))
    )
    for dtype, tol in ((np.float32, 1e-3), (np.float64, 1e-5)):
        for C in (0.02, 20.0):
            model = SDCA(
                kernel=Gaussian(2.0),
                lam=1 / (C * 2100),
                tol=tol,
                fit_intercept=True,
                random_state=0,
            )
            model.fit(X.astype(dtype), y)
            assert any(made) == (dtype is np.float32 and bytes_of_matrix > 0)
            made.clear()
            assert model.gap_ <= tol
            assert "epochs" not in model.plan_.method
            (best,) = sets.solve([Target(y, np.full(2100, C))], 1e-5)
            assert (
                best.bound * model.lam
                <= model.objective_[0] * (1 + 1e-6)
                <= best.primal * model.lam * (1 + 2 * tol)
            )


@pytest.mark.parametrize("members", [False, True])
def test_a_kernel_of_low_rank_at_a_large_c_is_factored(
    monkeypatch: pytest.MonkeyPatch, members: bool
) -> None:
    """Cubic polynomials of two features have rank ten, and pair steps converge slowly."""
    monkeypatch.setattr(kernel_working_sets, "FACTORED_ROWS", 50)
    monkeypatch.setattr(kernel_working_sets, "BEFORE_FACTOR", Limit(3))
    X, y = table(300, 3)
    kernel, target = Polynomial(3), Target(y, np.full(300, 1e4))
    K = kernel(X)
    rows: Any = GramRows(K) if members else KernelRows(kernel, X)
    index = np.sort(np.random.default_rng(0).permutation(300)[:250]) if members else None
    if index is not None:
        K, target = K[np.ix_(index, index)], Target(y[index], np.full(250, 1e4))
    solver = ExactSolver(Problem(rows, LOSSES["hinge"], Intercept.NONE, 1e-4, index, 10**9))
    (found,) = solver.solve([target], np.zeros((1, len(target.labels))))
    assert found.relative <= 1e-4
    assert "factor" in found.method
    np.testing.assert_allclose(
        [found.primal, found.bound], objectives(K, target, found, Intercept.NONE), rtol=1e-6
    )


def test_where_there_is_no_low_rank_sets_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_working_sets, "FACTORED_ROWS", 50)
    monkeypatch.setattr(kernel_working_sets, "BEFORE_FACTOR", Limit(1))
    X, y = table(600, 3)
    rows, target = KernelRows(Gaussian(0.05), X), Target(y, np.full(600, 100.0))
    assert low_rank_spectrum(KernelOperator(rows, None, 0.0), 10**9) is None
    solver = ExactSolver(Problem(rows, LOSSES["hinge"], Intercept.NONE, 1e-4, None, 10**9))
    (found,) = solver.solve([target], np.zeros((1, 600)))
    assert found.relative <= 1e-4
    assert found.method == "working sets"
    assert found.rounds > 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_kernel_of_known_rank_is_factored_early(dtype: type) -> None:
    """Factor and certificate are computed in float64, because float32 rounding has full rank."""
    X, y = table(1600, 3)
    X = X.astype(dtype)
    target, K = Target(y, np.full(1600, 1e3)), Polynomial(3)(X.astype(np.float64))
    rows = GramRows.of(Polynomial(3), X)
    solver = ExactSolver(Problem(rows, LOSSES["hinge"], Intercept.NONE, 1e-4, None, 10**9))
    (found,) = solver.solve([target], None)
    assert found.relative <= 1e-4
    assert "factor" in found.method
    np.testing.assert_allclose(
        [found.primal, found.bound], objectives(K, target, found, Intercept.NONE), rtol=1e-6
    )


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Gaussian(50.0)])
def test_a_spectrum_is_that_of_the_matrix(kernel: Any) -> None:
    X, _ = table(400, 3)
    K = kernel(X)
    space = KernelOperator(KernelRows(kernel, X), None, 0.0)
    assert low_rank_spectrum(space, 24 * 400) is None  # room for one column
    found = low_rank_spectrum(space, 10**9)
    assert found is not None
    np.testing.assert_allclose(
        (found.basis * found.roots**2) @ found.basis.T, K, atol=1e-9 * K.max() * 400
    )
    np.testing.assert_allclose(found.basis.T @ found.basis, np.eye(len(found.roots)), atol=1e-4)
