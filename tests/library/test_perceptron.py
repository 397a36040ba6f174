"""Compare the Perceptron with the plain algorithm for its draws; columns stop separately."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

import reference
from pegasos import Perceptron
from pegasos.engine.walk.draws import Draws
from pegasos.kernels import Gaussian, Linear, Polynomial
from samples import assert_close

Array = np.ndarray[Any, Any]

KERNELS = [Linear(), Polynomial(2), Gaussian(1.5)]


def data(classes: int, m: int, d: int, seed: int, spread: float = 1.0) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    y = np.arange(m) % classes
    return random.normal(size=(classes, d))[y] + spread * random.normal(size=(m, d)), y


def columns_of(classes: int) -> list[int]:
    return [1] if classes == 2 else list(range(classes))


def plain_run(
    X: Array, y: Array, column: int, drawn: Array, kernel: Any, **options: Any
) -> reference.Run:
    labels = np.where(y == column, 1.0, -1.0)
    if kernel is None:
        return reference.perceptron_linear(X, labels, drawn, **options)
    K = reference.gram(getattr(reference, type(kernel).__name__.lower()), X, **kernel.get_params())
    return reference.perceptron_kernel(K, labels, drawn, **options)


def learned(clf: Perceptron, m: int, constant: float) -> Array:
    """Return one vector per column in the layout of the reference."""
    if clf.kernel is not None:
        full = np.zeros((len(clf.dual_coef_), m))
        full[:, clf.support_] = clf.dual_coef_
        return full
    return np.column_stack([clf.coef_, clf.intercept_]) if constant else clf.coef_


@given(
    kernel=st.sampled_from([None, *KERNELS]),
    classes=st.integers(2, 4),
    m=st.integers(5, 25),
    epochs=st.integers(1, 12),
    spread=st.sampled_from([0.05, 0.3, 1.0]),
    eta=st.sampled_from([1.0, 0.3]),
    shuffle=st.booleans(),
    average=st.booleans(),
    intercept=st.booleans(),
    class_weight=st.sampled_from([None, "balanced", {0: 3.0}]),
    weighted=st.booleans(),
    csr=st.booleans(),
    seed=st.integers(0, 1000),
)
@settings(deadline=None, max_examples=120)
def test_equals_the_plain_algorithm(
    kernel: Any,
    classes: int,
    m: int,
    epochs: int,
    spread: float,
    eta: float,
    shuffle: bool,
    average: bool,
    intercept: Any,
    class_weight: Any,
    weighted: bool,
    csr: bool,
    seed: int,
) -> None:
    """Separable columns stop in different epochs, while the others continue."""
    X, y = data(classes, m, 3, seed, spread)
    own = np.random.default_rng(seed).integers(0, 4, m) / 2 + 0.25 if weighted else np.ones(m)
    clf = Perceptron(
        kernel,
        epochs,
        learning_rate=eta,
        shuffle=shuffle,
        average=average,
        fit_intercept=intercept,
        class_weight=class_weight,
        random_state=seed,
    )
    clf.fit(sparse.csr_array(X) if csr else X, y, own if weighted else None)
    each = np.ones(classes)
    if class_weight == "balanced":
        each = own.sum() / (classes * np.bincount(y, own))
    elif class_weight:
        each[0] = 3.0
    constant = 1.0 if intercept else 0.0
    drawn = (
        Draws("permutation" if shuffle else "in-order", m, seed)
        .take(0, epochs * m)
        .reshape(epochs, m)
    )
    found = learned(clf, m, constant)
    done = []
    for number, column in enumerate(columns_of(classes)):
        run = plain_run(
            X,
            y,
            column,
            drawn,
            kernel,
            eta=eta,
            weights=own * each[y],
            constant=constant,
            average=average,
        )
        assume(run.margin > 1e-9)
        expected = run.averaged if average else run.coefficients
        assert expected is not None
        assert_close(found[number], expected)
        mistakes = np.array(run.decisions).reshape(run.epochs, m).sum(axis=1)
        assert clf.mistakes_[: run.epochs, number].tolist() == mistakes.tolist()
        assert not clf.mistakes_[run.epochs :, number].any()
        relative = reference.relative_weights(own * each[y], m)
        losses = (np.array(run.losses).reshape(run.epochs, m) * relative[drawn[: run.epochs]]).mean(
            axis=1
        )
        np.testing.assert_allclose(
            clf.loss_curve_[: run.epochs, number], losses, rtol=1e-9, atol=1e-12
        )
        done.append(run.epochs)
    assert clf.n_iter_ == max(done) == len(clf.mistakes_) == len(clf.loss_curve_)


def test_columns_stop_one_after_the_other() -> None:
    """Class 0 is separated first; stopped columns do not change."""
    random = np.random.default_rng(0)
    y = np.arange(60) % 3
    centres = np.array([[10.0, 10.0], [-3.0, 0.5], [-3.0, -0.5]])
    X = centres[y] + 0.05 * random.normal(size=(60, 2))
    clf = Perceptron(epochs=100, random_state=0).fit(X, y)
    lasting = (clf.mistakes_ > 0).sum(axis=0)
    assert lasting[0] + 1 < clf.n_iter_ < 100
    assert (clf.mistakes_[-1] == 0).all()
    short = Perceptron(epochs=int(lasting[0]) + 1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(clf.coef_[0], short.coef_[0])


def test_a_fit_of_a_resting_model_moves_nothing() -> None:
    X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.1], [0.1, -1.0]])
    y = np.array([1, 1, 0, 0])
    clf = Perceptron(epochs=50, warm_start=True, random_state=0).fit(X, y)
    n_iter, before = clf.n_iter_, clf.coef_.copy()
    assert n_iter < 50
    clf.fit(X, y)
    np.testing.assert_array_equal(clf.coef_, before)
    assert clf.n_iter_ == n_iter == len(clf.mistakes_)


def test_the_learning_rate_scales_and_decides_nothing() -> None:
    X, y = data(3, 40, 3, 0)
    for kernel in (None, Gaussian(1.5)):
        one = Perceptron(kernel, 5, random_state=0).fit(X, y)
        eighth = Perceptron(kernel, 5, learning_rate=0.125, random_state=0).fit(X, y)
        np.testing.assert_array_equal(eighth.decision_function(X), 0.125 * one.decision_function(X))


def test_counts_are_integers_in_float32() -> None:
    """Dual coefficients of a kernel Perceptron count signed mistakes exactly."""
    X, y = data(3, 50, 3, 0)
    clf = Perceptron(Gaussian(1.5), 6, average=False, random_state=0).fit(X.astype(np.float32), y)
    np.testing.assert_array_equal(clf.dual_coef_, np.rint(clf.dual_coef_))
    assert np.abs(clf.dual_coef_).sum(axis=1).tolist() == clf.mistakes_.sum(axis=0).tolist()


# going on


def chunks(m: int, sizes: list[int]) -> list[slice]:
    edges = np.minimum(np.cumsum([0, *sizes]), m)
    return [slice(a, b) for a, b in zip(edges, [*edges[1:], m], strict=False) if b > a]


@given(
    classes=st.integers(2, 4),
    sizes=st.lists(st.integers(1, 15), max_size=5),
    average=st.booleans(),
    constant=st.booleans(),
    csr=st.booleans(),
    weighted=st.booleans(),
    spread=st.sampled_from([0.05, 1.0]),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=60)
def test_partial_fit_in_chunks_is_one_walk_in_order(
    classes: int,
    sizes: list[int],
    average: bool,
    constant: bool,
    csr: bool,
    weighted: bool,
    spread: float,
    seed: int,
) -> None:
    """A chunk without a mistake does not stop the training."""
    m = 30
    X, y = data(classes, m, 3, seed, spread)
    rows = sparse.csr_array(X) if csr else X
    weights = (
        np.random.default_rng(seed).integers(1, 4, m).astype(float) if weighted else np.ones(m)
    )
    weights *= m / weights.sum()
    intercept = bool(constant)
    streamed = Perceptron(average=average, fit_intercept=intercept)
    at_once = Perceptron(average=average, fit_intercept=intercept)
    for number, part in enumerate(chunks(m, sizes)):
        streamed.partial_fit(
            rows[part], y[part], range(classes) if number == 0 else None, weights[part]
        )
    at_once.partial_fit(rows, y, range(classes), weights)
    assert streamed.n_iter_ == len(chunks(m, sizes))
    assert_close(learned(streamed, m, constant), learned(at_once, m, constant))
    for number, column in enumerate(columns_of(classes)):
        run = plain_run(
            X,
            y,
            column,
            np.arange(m),
            None,
            weights=weights,
            constant=float(constant),
            average=average,
        )
        assume(run.margin > 1e-9)
        expected = run.averaged if average else run.coefficients
        assert expected is not None
        assert_close(learned(at_once, m, constant)[number], expected)
        assert streamed.mistakes_[:, number].sum() == sum(run.decisions)


def test_partial_fit_exists_only_without_a_kernel() -> None:
    assert hasattr(Perceptron(), "partial_fit")
    assert not hasattr(Perceptron("gaussian"), "partial_fit")
    assert not hasattr(Perceptron("precomputed"), "partial_fit")


def test_what_partial_fit_refuses() -> None:
    X, y = data(2, 20, 3, 0)
    with pytest.raises(
        ValueError,
        match="the first call of partial_fit needs `classes`",
    ):
        Perceptron().partial_fit(X, y)
    with pytest.raises(ValueError, match="y has classes unknown to the model"):
        Perceptron().partial_fit(X, y, classes=[0, 2])
    with pytest.raises(ValueError, match="partial_fit needs class_weight as"):
        Perceptron(class_weight="balanced").partial_fit(X, y, classes=[0, 1])
    clf = Perceptron().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="`classes` differs from that of the first call"):
        clf.partial_fit(X, y, classes=[0, 3])
    clf = Perceptron(average=False).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="average cannot be switched on"):
        clf.set_params(average=True).partial_fit(X, y)


def test_there_is_no_certificate() -> None:
    assert not hasattr(Perceptron(), "certificate")
    assert not hasattr(Perceptron(), "predict_proba")
