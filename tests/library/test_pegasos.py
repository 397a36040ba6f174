"""Compare Pegasos with the plain algorithm for its draws; partial fits and certificates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

import reference
from pegasos import Pegasos, SweepCV
from pegasos.engine.optimum.problem import Certificate
from pegasos.engine.walk.draws import Draws
from pegasos.kernels import Gaussian, Linear, Polynomial
from samples import assert_close

Array = np.ndarray[Any, Any]

KERNELS = [Linear(), Polynomial(2), Gaussian(1.5)]


def data(classes: int, m: int, d: int, seed: int) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    y = np.arange(m) % classes
    return random.normal(size=(classes, d))[y] + random.normal(size=(m, d)), y


def columns_of(classes: int) -> list[int]:
    return [1] if classes == 2 else list(range(classes))


def plain_run(
    X: Array, y: Array, column: int, drawn: Array, kernel: Any, **options: Any
) -> reference.Run:
    """Run the reference for one class against the rest."""
    labels = np.where(y == column, 1.0, -1.0)
    if kernel is None:
        return reference.pegasos_linear(X, labels, drawn, **options)
    K = reference.gram(getattr(reference, type(kernel).__name__.lower()), X, **kernel.get_params())
    return reference.pegasos_kernel(K, labels, drawn, **options)


def learned(clf: Pegasos, m: int, constant: float) -> Array:
    """Return one vector per column in the layout of the reference."""
    if clf.kernel is not None:
        full = np.zeros((len(clf.dual_coef_), m))
        full[:, clf.support_] = clf.dual_coef_
        return full
    return np.column_stack([clf.coef_, clf.intercept_]) if constant else clf.coef_


OPTIONS = st.fixed_dictionaries(
    {
        "loss": st.sampled_from(["hinge", "logistic"]),
        "lam": st.sampled_from([0.003, 0.07, 0.9]),
        "kernel": st.sampled_from([None, *KERNELS]),
        "batch_size": st.sampled_from([1, 1, 2, 5]),
        "sampling": st.sampled_from(["uniform", "permutation", "fixed-permutation"]),
        "draws": st.sampled_from(["shared", "independent"]),
        "projection": st.booleans(),
        "average": st.sampled_from([False, True, 0.3, 0.5, 1.0]),
        "fit_intercept": st.booleans(),
        "class_weight": st.sampled_from([None, "balanced", {0: 3.0}]),
        "random_state": st.integers(0, 1000),
    }
)


@given(
    options=OPTIONS,
    classes=st.integers(2, 4),
    m=st.integers(5, 25),
    steps=st.integers(1, 120),
    by_epochs=st.booleans(),
    weighted=st.booleans(),
    csr=st.booleans(),
    seed=st.integers(0, 99),
)
@example(  # rounding is multiplied by 1e7 here
    options={
        "loss": "logistic",
        "lam": 0.003,
        "kernel": None,
        "batch_size": 5,
        "sampling": "permutation",
        "draws": "shared",
        "projection": False,
        "average": False,
        "fit_intercept": True,
        "class_weight": "balanced",
        "random_state": 908,
    },
    classes=3,
    m=8,
    steps=35,
    by_epochs=False,
    weighted=False,
    csr=False,
    seed=3,
)
@settings(deadline=None, max_examples=120)
def test_equals_the_plain_algorithm(
    options: dict[str, Any],
    classes: int,
    m: int,
    steps: int,
    by_epochs: bool,
    weighted: bool,
    csr: bool,
    seed: int,
) -> None:
    X, y = data(classes, m, 3, seed)
    own = np.random.default_rng(seed).integers(0, 4, m) / 2 + 0.25 if weighted else np.ones(m)
    batch = options["batch_size"]
    epochs = max(1, steps // m)
    if by_epochs:
        steps = math.ceil(epochs * m / batch)
    clf = Pegasos(**options, **({"epochs": epochs} if by_epochs else {"n_iter": steps}))
    clf.fit(sparse.csr_array(X) if csr else X, y, own if weighted else None)
    assert clf.n_iter_ == steps
    each = {None: np.ones(classes), "balanced": own.sum() / (classes * np.bincount(y, own))}.get(
        options["class_weight"] if not isinstance(options["class_weight"], dict) else 0,
        np.array([3.0] + [1.0] * (classes - 1)),
    )
    constant = 1.0 if options["fit_intercept"] else 0.0
    found = learned(clf, m, constant)
    for number, column in enumerate(columns_of(classes)):
        stream = number if options["draws"] == "independent" else 0
        drawn = Draws(options["sampling"], m, options["random_state"], stream).take(
            0, steps * batch
        )
        run, nearby = (
            plain_run(
                rows,
                y,
                column,
                drawn,
                options["kernel"],
                lam=options["lam"],
                loss=options["loss"],
                batch=batch,
                project=options["projection"],
                weights=own * each[y],
                constant=constant,
                average=options["average"],
            )
            for rows in (X, X * (1 + 2.0**-48))
        )
        assume(run.margin > 1e-9)
        expected, moved = (
            way.coefficients if options["average"] is False else way.averaged
            for way in (run, nearby)
        )
        assert expected is not None and moved is not None
        # Hinge steps are equal or not. With a small λ logistic steps magnify rounding errors by up
        # to 1e7: allow several times the change that rounding causes in the reference itself.
        tolerance = 1e-9
        if options["loss"] == "logistic":
            tolerance += 20 * np.abs(moved - expected).max() / max(np.abs(expected).max(), 1e-300)
        assert_close(found[number], expected, tolerance)
        if options["kernel"] is not None:
            bias = expected.sum() if constant else 0.0
            assert clf.intercept_[number] == pytest.approx(
                bias, abs=tolerance * np.abs(expected).sum()
            )


def test_independent_draws_differ_from_shared_ones() -> None:
    X, y = data(3, 30, 3, 0)
    shared = Pegasos(n_iter=50, random_state=0).fit(X, y)
    independent = Pegasos(n_iter=50, draws="independent", random_state=0).fit(X, y)
    np.testing.assert_array_equal(shared.coef_[0], independent.coef_[0])  # stream 0
    assert not np.allclose(shared.coef_[1], independent.coef_[1])


@pytest.mark.parametrize("batch", [1, 4])
def test_epochs_are_passes_and_the_default_is_twenty(batch: int) -> None:
    X, y = data(2, 30, 3, 0)
    by_default = Pegasos(batch_size=batch, random_state=0).fit(X, y)
    assert by_default.n_iter_ == math.ceil(20 * 30 / batch)
    np.testing.assert_array_equal(
        by_default.coef_, Pegasos(epochs=20, batch_size=batch, random_state=0).fit(X, y).coef_
    )
    by_steps = Pegasos(n_iter=math.ceil(3 * 30 / batch), batch_size=batch, random_state=0).fit(X, y)
    np.testing.assert_array_equal(
        by_steps.coef_, Pegasos(epochs=3, batch_size=batch, random_state=0).fit(X, y).coef_
    )


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("kernel", [None, Gaussian(1.5)], ids=["linear", "gaussian"])
@pytest.mark.parametrize(("draws", "batch"), [("shared", 1), ("independent", 1), ("shared", 3)])
def test_the_loss_curve_is_the_mean_loss_of_drawn_examples(
    loss: str, kernel: Any, draws: str, batch: int
) -> None:
    X, y = data(3, 30, 3, 0)
    weights = np.random.default_rng(1).integers(1, 4, 30).astype(float)
    steps = 250
    clf = Pegasos(
        loss,
        0.02,
        kernel,
        steps,
        batch_size=batch,
        draws=draws,
        fit_intercept=False,
        random_state=4,
    )
    clf.fit(X, y, weights)
    points = clf.loss_curve_steps_
    assert points[-1] == steps
    assert len(points) == 100
    relative = weights * 30 / weights.sum()
    for column in range(3):
        drawn = Draws("permutation", 30, 4, column if draws == "independent" else 0).take(
            0, steps * batch
        )
        run = plain_run(
            X, y, column, drawn, kernel, lam=0.02, loss=loss, batch=batch, weights=weights
        )
        losses = np.array(run.losses) * relative[drawn]
        before = 0
        for point, mean in zip(points, clf.loss_curve_[:, column], strict=True):
            assert mean == pytest.approx(
                losses[before * batch : point * batch].mean(), rel=1e-9, abs=1e-12
            )
            before = point


def test_the_loss_curve_goes_on_with_a_warm_start() -> None:
    X, y = data(2, 30, 3, 0)
    clf = Pegasos(n_iter=50, average=False, warm_start=True, random_state=0).fit(X, y)
    first = clf.loss_curve_.copy()
    clf.set_params(n_iter=70).fit(X, y)
    assert clf.loss_curve_steps_.tolist() == list(range(1, 121))
    np.testing.assert_array_equal(clf.loss_curve_[:50], first)
    whole = Pegasos(n_iter=100, average=False, random_state=0).fit(X, y)
    np.testing.assert_allclose(clf.loss_curve_[:100], whole.loss_curve_, atol=1e-12)


def test_projection_stays_in_the_ball() -> None:
    X, y = data(2, 40, 3, 0)
    lam = 1e-3
    clf = Pegasos(lam=lam, n_iter=3, projection=True, average=False, random_state=0).fit(10 * X, y)
    inside = math.sqrt(float(np.sum(clf.coef_**2) + np.sum(clf.intercept_**2)))
    assert inside <= (1 + 1e-12) / math.sqrt(lam)
    free = Pegasos(lam=lam, n_iter=3, average=False, random_state=0).fit(10 * X, y)
    assert np.linalg.norm(free.coef_) > 1 / math.sqrt(lam), "here it matters"


# going on


def test_warm_start_needs_an_average_that_can_go_on() -> None:
    X, y = data(2, 30, 3, 0)
    for kernel in (None, "gaussian"):
        clf = Pegasos(n_iter=20, average=0.5, kernel=kernel, warm_start=True, random_state=0).fit(
            X, y
        )
        with pytest.raises(
            ValueError,
            match=r"warm_start needs average=True or False",
        ):
            clf.fit(X, y)


@pytest.mark.parametrize("option", ["average", "projection"])
def test_what_was_not_kept_from_the_start_cannot_go_on(option: str) -> None:
    X, y = data(2, 30, 3, 0)
    clf = Pegasos(n_iter=20, average=False, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=f"{option} cannot be switched on in a fit that continues"):
        clf.set_params(**{option: True}).fit(X, y)
    clf = Pegasos(n_iter=20, average=False).fit(X, y)
    with pytest.raises(ValueError, match=f"{option} cannot be switched on in a fit that continues"):
        clf.set_params(**{option: True}).partial_fit(X, y)


def chunks(m: int, sizes: list[int]) -> list[slice]:
    edges = np.minimum(np.cumsum([0, *sizes]), m)
    return [slice(a, b) for a, b in zip(edges, [*edges[1:], m], strict=False) if b > a]


@given(
    loss=st.sampled_from(["hinge", "logistic"]),
    classes=st.integers(2, 4),
    sizes=st.lists(st.integers(1, 15), max_size=5),
    average=st.sampled_from([False, True]),
    projection=st.booleans(),
    constant=st.booleans(),
    csr=st.booleans(),
    weighted=st.booleans(),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=60)
def test_partial_fit_in_chunks_is_one_walk_in_order(
    loss: str,
    classes: int,
    sizes: list[int],
    average: bool,
    projection: bool,
    constant: bool,
    csr: bool,
    weighted: bool,
    seed: int,
) -> None:
    m = 30
    X, y = data(classes, m, 3, seed)
    rows = sparse.csr_array(X) if csr else X
    weights = (
        np.random.default_rng(seed).integers(1, 4, m).astype(float) if weighted else np.ones(m)
    )
    weights *= m / weights.sum()  # they count as they are; the reference makes their mean 1
    intercept = bool(constant)
    options: dict[str, Any] = {
        "lam": 0.05,
        "average": average,
        "projection": projection,
        "fit_intercept": intercept,
    }
    streamed, at_once = Pegasos(loss, **options), Pegasos(loss, **options)
    for number, part in enumerate(chunks(m, sizes)):
        streamed.partial_fit(
            rows[part], y[part], range(classes) if number == 0 else None, weights[part]
        )
    at_once.partial_fit(rows, y, range(classes), weights)
    assert streamed.n_iter_ == at_once.n_iter_ == m
    assert_close(learned(streamed, m, constant), learned(at_once, m, constant))
    for number, column in enumerate(columns_of(classes)):
        run = plain_run(
            X,
            y,
            column,
            np.arange(m),
            None,
            lam=0.05,
            loss=loss,
            project=projection,
            weights=weights,
            constant=float(constant),
            average=average,
        )
        assume(run.margin > 1e-9)
        expected = run.averaged if average else run.coefficients
        assert expected is not None
        assert_close(learned(at_once, m, constant)[number], expected)


@pytest.mark.parametrize("average", [0.5, 0.1, 1.0])
def test_partial_fit_with_a_fraction_averages_all_steps(average: float) -> None:
    """The mean is over all chunks, because their number is unknown in advance."""
    X, y = data(3, 40, 3, 0)
    expected = Pegasos(lam=0.05, average=True).partial_fit(X, y, [0, 1, 2])
    for sizes in ([], [20], [30], [5, 5, 20], [39]):
        clf = Pegasos(lam=0.05, average=average)
        for part in chunks(40, sizes):
            clf.partial_fit(X[part], y[part], [0, 1, 2])
        assert_close(clf.coef_, expected.coef_)
        assert_close(clf.intercept_, expected.intercept_)


def test_partial_fit_in_mini_batches_fills_the_last_from_the_first() -> None:
    X, y = data(2, 10, 3, 0)
    clf = Pegasos(lam=0.05, batch_size=4, average=False).partial_fit(X, y, [0, 1])
    assert clf.n_iter_ == 3
    run = plain_run(X, y, 1, np.array([*range(10), 0, 1]), None, lam=0.05, batch=4, constant=1.0)
    assert_close(learned(clf, 10, 1.0)[0], run.coefficients)


def test_partial_fit_goes_on_from_a_fit() -> None:
    X, y = data(3, 30, 3, 0)
    for draws in ("shared", "independent"):
        clf = Pegasos("logistic", 0.05, n_iter=45, average=True, draws=draws, random_state=7).fit(
            X, y
        )
        clf.partial_fit(X[:8], y[:8])
        assert clf.n_iter_ == 53
        for column in range(3):
            stream = column if draws == "independent" else 0
            drawn = np.concatenate([Draws("permutation", 30, 7, stream).take(0, 45), np.arange(8)])
            run = plain_run(
                X, y, column, drawn, None, lam=0.05, loss="logistic", constant=1.0, average=True
            )
            assert run.averaged is not None
            assert_close(learned(clf, 30, 1.0)[column], run.averaged)


def test_partial_fit_of_a_chunk_without_some_classes() -> None:
    """Classes are those of the first call, and class weights apply to all chunks."""
    X, y = data(3, 30, 3, 0)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    for class_weight in (None, {0: 3.0}, {0: 1.0, 1: 2.0, 2: 0.5}):
        clf = Pegasos(lam=0.05, average=True, class_weight=class_weight)
        for part in (slice(0, 10), slice(10, 20), slice(20, 30)):  # one class each
            clf.partial_fit(X[part], y[part], classes=[0, 1, 2])
        at_once = Pegasos(lam=0.05, average=True, class_weight=class_weight).partial_fit(
            X, y, [0, 1, 2]
        )
        assert_close(learned(clf, 30, 1.0), learned(at_once, 30, 1.0))
        assert clf.predict(X).dtype == clf.classes_.dtype


def test_partial_fit_exists_only_without_a_kernel() -> None:
    X, y = data(2, 20, 3, 0)
    assert hasattr(Pegasos(), "partial_fit")
    for kernel in ("gaussian", "linear", "precomputed", Gaussian(1.0)):
        assert not hasattr(Pegasos(kernel=kernel), "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit"):
        Pegasos(kernel="gaussian").partial_fit(X, y, [0, 1])


def test_what_partial_fit_refuses() -> None:
    X, y = data(2, 20, 3, 0)
    with pytest.raises(
        ValueError,
        match="the first call of partial_fit needs `classes`",
    ):
        Pegasos().partial_fit(X, y)
    with pytest.raises(
        ValueError,
        match=r"y has classes unknown to the model: array\(\[1\]\)",
    ):
        Pegasos().partial_fit(X, y, classes=[0, 2])
    with pytest.raises(ValueError, match="one class only"):
        Pegasos().partial_fit(X, y, classes=[1])
    with pytest.raises(
        ValueError,
        match="partial_fit needs class_weight as",
    ):
        Pegasos(class_weight="balanced").partial_fit(X, y, classes=[0, 1])
    clf = Pegasos(average=True).partial_fit(X, y, classes=[0, 1])
    before = clf.coef_.copy()
    with pytest.raises(ValueError, match="y has classes unknown to the model"):
        clf.partial_fit(X, y + 1)
    with pytest.raises(ValueError, match="`classes` differs from that of the first call"):
        clf.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="X has 2 features, but Pegasos is expecting 3"):
        clf.partial_fit(X[:, :2], y)
    np.testing.assert_array_equal(clf.coef_, before)
    clf.partial_fit(X, y, classes=[1, 0])
    assert clf.n_iter_ == 40


def test_a_refused_first_call_is_no_first_call() -> None:
    X, y = data(2, 20, 3, 0)
    clf = Pegasos(average=True)
    with pytest.raises(ValueError, match="unknown to the model"):
        clf.partial_fit(X, y, classes=[0, 2])
    clf.partial_fit(X[:, :2], y, classes=[0, 1])
    assert clf.coef_.shape == (1, 2)


# certificates


def best_objective(
    loss: str, features: Array, labels: Array, lam: float, weights: Array | None = None
) -> float:
    """Return min P by liblinear (hinge) or Newton's method (logistic)."""
    m = len(labels)
    raw = np.ones(m) if weights is None else weights
    C = 1 / (lam * raw.sum())
    if loss == "hinge":
        solver: Any = LinearSVC(loss="hinge", C=C, fit_intercept=False, tol=1e-8, max_iter=10**6)
    else:
        solver = LogisticRegression(
            C=C, fit_intercept=False, tol=1e-10, max_iter=1000, solver="newton-cholesky"
        )
    w = solver.fit(features, labels, sample_weight=raw).coef_[0]
    return reference.primal_linear(loss, features, labels, w, lam, weights=raw)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("kernel", [None, Gaussian(1.5)], ids=["linear", "gaussian"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("average", [False, 0.5])
@pytest.mark.parametrize("steps", [3, 400, 4000])
def test_the_optimum_lies_between_dual_and_primal(
    loss: str, kernel: Any, intercept: Any, average: Any, steps: int
) -> None:
    X, y = data(3, 60, 3, 0)
    weights = np.random.default_rng(1).integers(1, 4, 60).astype(float)
    lam = 0.02
    clf = Pegasos(
        loss, lam, kernel, steps, average=average, fit_intercept=intercept, random_state=0
    ).fit(X, y, weights)
    bounds = clf.certificate(X, y, weights)
    assert isinstance(bounds, Certificate)
    constant = 1.0 if intercept else 0.0
    if kernel is None:
        features = reference.rows_with_constant(X, constant)
    else:
        K = reference.gram(reference.gaussian, X, variance=1.5)
        values, basis = np.linalg.eigh(K + constant)
        features = basis * np.sqrt(np.maximum(values, 0))
    found = learned(clf, 60, constant)
    for column in range(3):
        labels = np.where(y == column, 1.0, -1.0)
        if kernel is None:
            primal = reference.primal_linear(
                loss, X, labels, found[column], lam, weights=weights, constant=constant
            )
        else:
            primal = reference.primal_kernel(
                loss, K, labels, found[column], lam, weights=weights, constant=constant
            )
        assert bounds.primal[column] == pytest.approx(primal, rel=1e-9)
        best = best_objective(loss, features, labels, lam, weights)
        assert bounds.dual[column] <= best * (1 + 1e-7)
        assert best <= bounds.primal[column] * (1 + 1e-7)
        if kernel is not None and loss == "hinge":
            clipped = reference.certificate(
                loss, K, labels, found[column], lam, weights=weights, constant=constant
            )
            assert bounds.dual[column] >= clipped.dual - 1e-9 * abs(clipped.primal)
    np.testing.assert_allclose(bounds.gap, bounds.primal - bounds.dual)
    np.testing.assert_allclose(bounds.relative, bounds.gap / bounds.primal)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_the_gap_closes_with_more_steps(loss: str) -> None:
    X, y = data(2, 60, 3, 0)
    gaps = [
        float(Pegasos(loss, 0.1, n_iter=n, random_state=0).fit(X, y).certificate(X, y).relative[0])
        for n in (10, 1000, 100_000)
    ]
    assert gaps[0] > 3 * gaps[1] > 9 * gaps[2] >= 0
    assert gaps[2] < 0.02


def test_a_bias_that_happens_to_be_zero_is_still_a_bias() -> None:
    """The bound allows for an intercept although its value is exactly 0."""
    X = np.array([[0.1], [-0.1], [0.2], [0.3], [0.4]])
    y = np.array([1, 0, 1, 1, 1])
    lam = 0.1
    for kernel in (None, "linear"):
        clf = Pegasos(
            lam=lam, kernel=kernel, n_iter=2, average=False, fit_intercept=True, random_state=0
        )
        for seed in range(100):
            if clf.set_params(random_state=seed).fit(X, y).intercept_[0] == 0:
                break
        assert clf.intercept_[0] == 0
        best = best_objective(
            "hinge", np.column_stack([X, np.ones(5)]), np.where(y == 1, 1.0, -1.0), lam
        )
        assert clf.certificate(X, y).dual[0] <= best * (1 + 1e-7)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_certificates_of_a_kernel_matrix_and_of_csr(loss: str) -> None:
    X, y = data(3, 40, 3, 0)
    kernel = Gaussian(1.5)
    expected = Pegasos(loss, 0.02, kernel, 100, random_state=0).fit(X, y).certificate(X, y)
    rows = sparse.csr_array(X)
    K = kernel(X)
    by_matrix = Pegasos(loss, 0.02, "precomputed", 100, random_state=0).fit(K, y)
    for bounds in (
        Pegasos(loss, 0.02, kernel, 100, random_state=0).fit(rows, y).certificate(rows, y),
        by_matrix.certificate(K, y),
        by_matrix.certificate(sparse.csr_array(K), y),
    ):
        np.testing.assert_allclose(bounds.primal, expected.primal, rtol=1e-9)
        np.testing.assert_allclose(bounds.dual, expected.dual, rtol=1e-9)
    linear = Pegasos(loss, 0.02, None, 100, random_state=0).fit(X, y).certificate(X, y)
    sparse_linear = Pegasos(loss, 0.02, None, 100, random_state=0).fit(rows, y).certificate(rows, y)
    np.testing.assert_allclose(sparse_linear.dual, linear.dual, rtol=1e-9)


def test_class_weights_are_part_of_the_certificate() -> None:
    X, y = data(3, 40, 3, 0)
    y[:10] = 0
    each = 40 / (3 * np.bincount(y))
    for kernel in (None, Gaussian(1.5)):
        balanced = Pegasos(
            lam=0.02, kernel=kernel, n_iter=100, class_weight="balanced", random_state=0
        ).fit(X, y)
        weighted = Pegasos(lam=0.02, kernel=kernel, n_iter=100, random_state=0).fit(X, y, each[y])
        one, other = balanced.certificate(X, y), weighted.certificate(X, y, each[y])
        np.testing.assert_allclose(one.primal, other.primal, rtol=1e-12)
        np.testing.assert_allclose(one.dual, other.dual, rtol=1e-12)


def test_where_there_is_no_certificate() -> None:
    X, y = data(2, 30, 3, 0)
    K = X @ np.diag([1.0, 1.0, -0.5]) @ X.T
    K[np.diag_indices(30)] = np.abs(K.diagonal())
    assert np.linalg.eigvalsh(K)[0] < -1
    clf = Pegasos(kernel="precomputed", n_iter=50, random_state=0).fit(K, y)
    with pytest.raises(
        ValueError,
        match="not positive semidefinite, so that there is no certificate",
    ):
        clf.certificate(K, y)
    odd = Pegasos(kernel=Polynomial(2, coef0=-1.0), n_iter=50, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        odd.certificate(X, y)
    good = Pegasos(kernel=Gaussian(1.0), n_iter=50, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="needs its 30 training rows, got 10"):
        good.certificate(X[:10], y[:10])
    with pytest.raises(ValueError, match="y has classes unknown to the model"):
        good.certificate(X, y + 1)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples"):
        good.certificate(X, y[:-1])


def test_a_function_is_tried_for_positive_semidefiniteness() -> None:
    X, y = data(2, 30, 3, 0)
    good = Pegasos(kernel=lambda A, B: (1 + A @ B.T) ** 2, n_iter=50, random_state=0).fit(X, y)
    same = Pegasos(kernel=Polynomial(2), n_iter=50, random_state=0).fit(X, y)
    np.testing.assert_allclose(good.certificate(X, y).dual, same.certificate(X, y).dual, rtol=1e-9)
    bad = Pegasos(kernel=lambda A, B: np.abs(A @ B.T), n_iter=50, random_state=0).fit(X, y)
    assert np.linalg.eigvalsh(np.abs(X @ X.T))[0] < -0.1
    with pytest.raises(ValueError, match="not positive semidefinite"):
        bad.certificate(X, y)


# explicit draws


@dataclass(frozen=True)
class Seeded:
    """Callable draws with a repr that states their values."""

    seed: int
    size: int = 300

    def __call__(self, m: int) -> np.ndarray:
        return np.random.default_rng(self.seed).integers(m, size=self.size)


@pytest.mark.parametrize("kernel", [None, Gaussian(1.0)])
@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_explicit_draws_equal_the_plain_algorithm(kernel, batch: int, loss: str) -> None:
    X, y = data(3, 20, 3, 1)
    drawn = Seeded(7)(20)
    options = {"kernel": kernel, "batch_size": batch, "average": False, "fit_intercept": False}
    clf = Pegasos(loss, 0.07, n_iter=50, sampling=drawn, **options).fit(X, y)
    for number, found in enumerate(learned(clf, 20, 0.0)):
        run = plain_run(X, y, number, drawn[: 50 * batch], kernel, lam=0.07, loss=loss, batch=batch)
        np.testing.assert_allclose(found, run.coefficients, rtol=1e-9, atol=1e-12)


def test_a_smaller_n_iter_is_a_prefix_and_all_indices_are_the_default() -> None:
    X, y = data(2, 30, 3, 0)
    drawn = Seeded(3)(30)
    whole = Pegasos(sampling=drawn, kernel="gaussian").fit(X, y)
    assert whole.n_iter_ == 300
    part = Pegasos(sampling=drawn, kernel="gaussian", n_iter=100).fit(X, y)
    cut = Pegasos(sampling=drawn[:100], kernel="gaussian").fit(X, y)
    np.testing.assert_array_equal(part.decision_function(X), cut.decision_function(X))
    same = Pegasos(sampling=Seeded(3), kernel="gaussian", n_iter=100).fit(X, y)
    np.testing.assert_array_equal(part.decision_function(X), same.decision_function(X))
    listed = Pegasos(sampling=drawn.tolist(), kernel="gaussian", n_iter=100).fit(X, y)
    np.testing.assert_array_equal(part.decision_function(X), listed.decision_function(X))


def test_explicit_draws_go_on_after_a_warm_start() -> None:
    X, y = data(2, 30, 3, 0)
    drawn = Seeded(3)(30)
    options = {"sampling": drawn, "average": True, "warm_start": True}
    twice = Pegasos(n_iter=100, **options).fit(X, y).fit(X, y)
    once = Pegasos(n_iter=200, **options).fit(X, y)
    np.testing.assert_allclose(twice.coef_, once.coef_, rtol=1e-12)
    with pytest.raises(ValueError, match="400 steps with batch_size=1 need 400 row indices"):
        twice.fit(X, y).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"sampling": [0, 40]},
            "row index 40, but there are 30 training rows. In cross-validation",
        ),
        ({"sampling": [-1, 4]}, "row index -1, but there are 30 training rows"),
        ({"sampling": [0.5, 1.0]}, "row indices, or a callable"),
        ({"sampling": []}, "row indices, or a callable"),
        ({"sampling": [1, 2, 3], "batch_size": 4}, "at least batch_size=4 row indices"),
        ({"sampling": None}, "row indices, or a callable"),
        ({"sampling": [[1, 2]]}, "row indices, or a callable"),
        ({"sampling": [1, 2], "n_iter": 3}, "3 steps with batch_size=1 need 3 row indices"),
        ({"sampling": [1, 2], "draws": "independent"}, 'need draws="shared"'),
        ({"sampling": Seeded(0)}, "a callable `sampling` needs n_iter or epochs"),
        ({"sampling": lambda m: "abc", "n_iter": 3}, "row indices, or a callable"),
    ],
)
def test_explicit_draws_are_checked(options, message: str) -> None:
    X, y = data(2, 30, 3, 0)
    with pytest.raises(ValueError, match=message):
        Pegasos(**options).fit(X, y)


def test_a_sweep_equals_separate_fits_with_explicit_draws() -> None:
    X, y = data(3, 40, 3, 2)
    grid = {"lam": [0.01, 0.1], "n_iter": [100, 250], "kernel": [None, Gaussian(1.0)]}
    learner = Pegasos(sampling=Seeded(5), random_state=0)
    ours = SweepCV(learner, grid, cv=3, refit=False).fit(X, y)
    theirs = GridSearchCV(learner, grid, cv=3, refit=False).fit(X, y)
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"]
    )


def test_a_store_refuses_draws_that_it_cannot_tell_apart(tmp_path) -> None:
    X, y = data(2, 40, 3, 2)

    def closure(m: int) -> np.ndarray:
        return np.arange(m)

    def sweep(sampling):
        learner = Pegasos(sampling=sampling, fit_intercept=False, kernel="gaussian")
        return SweepCV(learner, {"n_iter": [20]}, cv=2, store=tmp_path / "store", refit=False)

    for sampling in (closure, lambda m: np.arange(m)[::-1], Seeded(1).__call__):
        with pytest.raises(ValueError, match="whose repr states its values"):
            sweep(sampling).fit(X, y)
    sweeps = [sweep(Seeded(seed)).fit(X, y) for seed in (1, 2, 1)]
    first, other, again = (search.cv_results_["mean_support_vectors"][0] for search in sweeps)
    assert first != other and first == again


def test_a_checkpoint_at_the_end_has_a_stage() -> None:
    X, y = data(2, 40, 3, 0)
    clf = Pegasos(n_iter=50, checkpoints=[5, 50], random_state=0).fit(X, y)
    stages = list(clf.staged_decision_function(X))
    assert len(stages) == 2
    np.testing.assert_allclose(stages[-1], clf.decision_function(X), rtol=1e-10)
