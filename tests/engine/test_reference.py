"""Test the reference implementations against results by hand, other solvers, and theorems."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import pairwise
from sklearn.svm import LinearSVC

import reference

LOSSES = ["hinge", "logistic"]
seeds = st.integers(0, 2**32 - 1)


def problem(seed: int, m: int = 12, d: int = 3) -> tuple[reference.Matrix, reference.Vector]:
    """Return two overlapping clouds with both labels."""
    random = np.random.default_rng(seed)
    y = np.where(random.random(m) < 0.5, -1.0, 1.0)
    y[0], y[1] = 1.0, -1.0
    return random.normal(size=(m, d)) + 0.7 * y[:, np.newaxis], y


def permutations(seed: int, m: int, epochs: int) -> NDArray[np.int64]:
    random = np.random.default_rng(seed)
    return np.array([random.permutation(m) for _ in range(epochs)])


# By hand

X3 = [[1, 0], [0, 2], [1, 1]]
Y3 = [1, -1, 1]
DRAWS3 = [0, 1, 2, 2, 0]


def test_pegasos_hinge_by_hand() -> None:
    run = reference.pegasos_linear(X3, Y3, DRAWS3, lam=0.5, average=True, checkpoints=range(1, 6))
    by_hand = np.array([[2, 0], [1, -2], [4 / 3, -2 / 3], [3 / 2, 0], [6 / 5, 0]])
    assert_allclose(np.array([run.snapshots[t] for t in range(1, 6)]), by_hand, atol=1e-15)
    assert_allclose(run.coefficients, [1.2, 0], atol=1e-15)
    assert run.decisions == [True, True, True, True, False]
    assert_allclose(run.losses, [1, 1, 5 / 3, 1 / 2, 0], atol=1e-15)
    assert run.margin == pytest.approx(1 / 11)  # the last one: |1.2 - 1| / (1 + 1.2)
    assert run.steps == 5
    assert run.averaged is not None
    assert_allclose(run.averaged, [(2 + 1 + 4 / 3 + 3 / 2 + 6 / 5) / 5, (-2 - 2 / 3) / 5])


def test_pegasos_hinge_kernel_by_hand() -> None:
    K = [[1, 0, 1], [0, 4, 2], [1, 2, 2]]
    run = reference.pegasos_kernel(K, Y3, DRAWS3, lam=0.5, average=0.5)
    assert_allclose(run.coefficients, [0.4, -0.4, 0.8])  # counts 1, -1, 2 divided by lam T = 2.5
    assert_allclose(run.losses, [1, 1, 5 / 3, 1 / 2, 0], atol=1e-15)
    by_hand = [np.array([1, -1, 1]) / 1.5, np.array([1, -1, 2]) / 2.0, np.array([1, -1, 2]) / 2.5]
    assert run.averaged is not None
    assert_allclose(run.averaged, sum(by_hand) / 3)  # ceil(0.5 * 5) = 3 vectors


def test_pegasos_logistic_by_hand() -> None:
    run = reference.pegasos_linear([[2]], [1], [0, 0], lam=1.0, loss="logistic", checkpoints=[1])
    assert_allclose(run.snapshots[1], [1.0])
    assert_allclose(run.coefficients, [0.7689414213699951])  # 1/2 + 2 sigma(-1) / 2
    assert_allclose(run.losses, [0.6931471805599453, 0.31326168751822286])  # log 2, log(1 + 1/e)
    assert run.margin == math.inf
    assert run.decisions == []


def test_pegasos_mini_batch_by_hand() -> None:
    run = reference.pegasos_linear(
        [[1], [3]], [1, -1], [0, 1, 0, 0], lam=1.0, batch=2, checkpoints=[1]
    )
    assert_allclose(run.snapshots[1], [-1.0])  # (1 - 3) / 2, both against w = 0
    assert_allclose(run.coefficients, [0.0])  # -1/2, then twice 1/4
    assert run.steps == 2
    assert run.losses == [1.0, 1.0, 1.5, 1.5]
    with pytest.raises(ValueError, match="whole number"):
        reference.pegasos_linear([[1], [3]], [1, -1], [0, 1, 0], lam=1.0, batch=2)


def test_pegasos_projection_by_hand() -> None:
    run = reference.pegasos_linear(X3, Y3, [0, 1], lam=0.5, project=True, checkpoints=[1])
    assert_allclose(run.snapshots[1], [1.4142135623730951, 0])
    # (0.7071, -2) has the squared norm 4.5 and the ball has radius sqrt(2): scaled by 2/3
    assert_allclose(run.coefficients, [0.47140452079103173, -1.3333333333333333])


def test_pegasos_weights_by_hand() -> None:
    run = reference.pegasos_linear(
        [[1], [3]], [1, -1], [0, 1], lam=1.0, weights=[3, 1], checkpoints=[1]
    )
    assert_allclose(run.snapshots[1], [1.5])
    assert_allclose(run.coefficients, [0.0])  # 0.75 - 0.5 * 3 / 2


def test_a_tie_of_the_hinge_has_margin_zero_and_no_update() -> None:
    run = reference.pegasos_linear(
        [[1]], [1], [0, 0], lam=0.5
    )  # w = 2, shrunk to 1: y s = 1 exactly
    assert run.decisions == [True, False]
    assert run.margin == 0
    assert_array_equal(run.coefficients, [1.0])


def test_perceptron_by_hand() -> None:
    epochs = [[0, 1]] * 20
    line = reference.perceptron_linear(
        [[2], [1]], [1, -1], epochs, constant=1.0, checkpoints=[1, 2, 3, 4]
    )
    assert_array_equal([line.snapshots[t] for t in (1, 2, 3, 4)], [[2, 1], [1, 0], [1, 0], [0, -1]])
    assert_array_equal(line.coefficients, [2, -3])
    assert (line.epochs, line.steps, sum(line.decisions)) == (9, 18, 13)
    assert line.losses[:4] == [0, 3, 0, 1]
    assert line.margin == 0  # y s = 0 with terms that cancel: a tie
    kernel = reference.perceptron_kernel([[4, 2], [2, 1]], [1, -1], epochs, constant=1.0)
    assert_array_equal(kernel.coefficients, [5, -8])
    assert kernel.decisions == line.decisions


def test_perceptron_empty_score_is_a_safe_mistake() -> None:
    run = reference.perceptron_linear(np.eye(2), [1, -1], [[0, 1], [0, 1]], eta=0.5)
    assert_array_equal(run.coefficients, [0.5, -0.5])
    assert (run.margin, run.epochs) == (1.0, 2)


def test_perceptron_flat_draws_and_no_stop() -> None:
    assert reference.perceptron_linear([[1.0]], [1], [0, 0, 0]).epochs == 1
    assert reference.perceptron_linear([[1.0]], [1], [[0], [0], [0]]).epochs == 2
    assert reference.perceptron_linear([[1.0]], [1], [[0], [0], [0]], stop=False).epochs == 3


def test_sdca_hinge_by_hand() -> None:
    run = reference.sdca_linear([[1], [2]], [1, -1], [0, 1, 0], lam=0.5, checkpoints=[1, 2])
    assert_array_equal(
        [run.snapshots[1], run.snapshots[2], run.coefficients], [[1.0], [-0.5], [-0.5]]
    )
    assert run.dual is not None
    assert_array_equal(run.dual, [1.0, 0.75])
    assert run.losses == [1.0, 3.0, 1.5]
    K = [[1, 2], [2, 4]]
    assert reference.dual("hinge", K, [1, -1], run.dual, 0.5) == 0.8125
    assert reference.primal_linear("hinge", [[1], [2]], [1, -1], run.coefficients, 0.5) == 0.8125


def test_sdca_logistic_by_hand() -> None:
    # theta = -1 solves theta + (1 + e) sigma(theta) = 0
    assert reference.best_dual_logistic(0.0, 0.0, 1 + math.e, 1.0) == pytest.approx(
        1 / (1 + math.e), rel=1e-15
    )
    assert reference.best_dual_logistic(0.3, 0.0, 0.0, 2.0) == 1.0
    assert reference.best_dual_logistic(0.0, 0.0, 1.0, 0.0) == 0.0


def test_sdca_hinge_without_a_norm_goes_to_the_end_of_the_box() -> None:
    assert reference.best_dual_hinge(0.5, 0.0, 0.0, 2.0) == 2.0
    assert reference.best_dual_hinge(0.5, 3.0, 0.0, 2.0) == 0.0
    assert reference.best_dual_hinge(0.5, 1.0, 0.0, 2.0) == 0.5
    assert_array_equal(
        reference.sdca_linear([[0.0], [1.0]], [1, -1], [0, 1], lam=1.0).dual, [0.5, 0.5]
    )


def test_small_parts() -> None:
    assert_array_equal(
        reference.one_vs_all("abca", "abc"), [[1, -1, -1, 1], [-1, 1, -1, -1], [-1, -1, 1, -1]]
    )
    assert_array_equal(reference.relative_weights([1, 3], 2), [0.5, 1.5])
    assert_array_equal(reference.box([1, 3], 2, lam=0.5), [0.5, 1.5])
    assert_array_equal(reference.box(None, 4, lam=0.5), [0.5] * 4)
    assert [reference.averaging_start(10, f) for f in (True, 1.0, 0.5, 0.25, 0.01)] == [
        0,
        0,
        5,
        7,
        9,
    ]
    assert_allclose(
        [reference.sigmoid(u) for u in (-1000, -1, 0, 1, 1000)],
        [0, 0.2689414213699951, 0.5, 0.7310585786300049, 1],
    )
    assert reference.loss_value("logistic", -1000.0) == 1000.0
    assert reference.loss_value("logistic", 1000.0) == 0.0
    assert [reference.loss_value("perceptron", z) for z in (-2.0, 0.0, 2.0)] == [2, 0, 0]
    with pytest.raises(ValueError, match="unknown loss"):
        reference.loss_value("huber", 0.0)


@given(st.floats(-30, 30))
def test_the_pull_is_the_slope_of_the_loss(z: float) -> None:
    slope = (
        reference.loss_value("logistic", z + 1e-5) - reference.loss_value("logistic", z - 1e-5)
    ) / 2e-5
    assert slope == pytest.approx(-reference.sigmoid(-z), abs=1e-8)


# Kernels


def test_kernels_by_hand() -> None:
    x, z = np.array([1.0, 2.0]), np.array([4.0, -2.0])  # differences 3 and 4, product 0
    assert reference.linear(x, z) == 0
    assert reference.polynomial(x, x, degree=2, coef0=1) == 36
    assert reference.gaussian(x, z, variance=12.5) == pytest.approx(math.exp(-1))
    assert reference.exponential(x, z, scale=5) == pytest.approx(math.exp(-1))
    assert reference.laplacian(x, z, scale=7) == pytest.approx(math.exp(-1))


def test_kernels_against_other_libraries() -> None:
    X, Z = problem(0)[0], problem(1, m=5)[0]
    gram = reference.gram
    assert_allclose(gram(reference.linear, X, Z), X @ Z.T, rtol=1e-12, atol=1e-14)
    poly = pairwise.polynomial_kernel(X, Z, degree=3, gamma=1, coef0=2)
    assert_allclose(
        gram(reference.polynomial, X, Z, degree=3, coef0=2), poly, rtol=1e-10, atol=1e-12
    )
    assert_allclose(
        gram(reference.gaussian, X, Z, variance=3),
        pairwise.rbf_kernel(X, Z, gamma=1 / 6),
        rtol=1e-10,
    )
    assert_allclose(
        gram(reference.exponential, X, Z, scale=3), np.exp(-cdist(X, Z) / 3), rtol=1e-10
    )
    assert_allclose(
        gram(reference.laplacian, X, Z, scale=3),
        pairwise.laplacian_kernel(X, Z, gamma=1 / 3),
        rtol=1e-10,
    )
    assert_array_equal(gram(reference.gaussian, X), gram(reference.gaussian, X, X))


# Linear equals kernel

CHOICES: list[dict[str, Any]] = [
    {},
    {"weights": [1, 2, 0, 3, 1, 1, 2, 0.5, 1, 1, 4, 1]},
    {"constant": 1.0},
    {"constant": 1.0, "weights": [1, 2, 0, 3, 1, 1, 2, 0.5, 1, 1, 4, 1]},
]


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("project", [False, True])
def test_pegasos_linear_equals_kernel(
    choice: dict[str, Any], loss: str, batch: int, project: bool
) -> None:
    X, y = problem(3)
    K = X @ X.T
    draws = np.random.default_rng(4).integers(0, 12, 240)
    options = {
        **choice,
        "loss": loss,
        "batch": batch,
        "project": project,
        "average": 0.3,
        "checkpoints": [1, 17],
    }
    line = reference.pegasos_linear(X, y, draws, 0.01, **options)
    kernel = reference.pegasos_kernel(K, y, draws, 0.01, **options)
    assert min(line.margin, kernel.margin) > 1e-10
    assert line.decisions == kernel.decisions
    assert_allclose(line.losses, kernel.losses, rtol=1e-9, atol=1e-10)
    constant = choice.get("constant", 0.0)
    rows = reference.rows_with_constant(X, constant)
    assert_allclose(line.coefficients, kernel.coefficients @ rows, rtol=1e-9, atol=1e-10)
    assert line.averaged is not None and kernel.averaged is not None
    assert_allclose(line.averaged, kernel.averaged @ rows, rtol=1e-9, atol=1e-10)
    for t in (1, 17):
        assert_allclose(line.snapshots[t], kernel.snapshots[t] @ rows, rtol=1e-9, atol=1e-10)
    scores = reference.scores_kernel(K, kernel.coefficients, constant)
    assert_allclose(
        reference.scores_linear(X, line.coefficients, constant), scores, rtol=1e-9, atol=1e-10
    )
    arguments = {"weights": choice.get("weights"), "constant": constant}
    assert reference.primal_linear(
        loss, X, y, line.coefficients, 0.01, **arguments
    ) == pytest.approx(
        reference.primal_kernel(loss, K, y, kernel.coefficients, 0.01, **arguments), rel=1e-9
    )


@pytest.mark.parametrize("choice", CHOICES)
def test_perceptron_linear_equals_kernel(choice: dict[str, Any]) -> None:
    X, y = problem(3)
    draws = permutations(5, 12, 10)
    options = {**choice, "average": True, "checkpoints": [20], "eta": 0.3}
    line = reference.perceptron_linear(X, y, draws, **options)
    kernel = reference.perceptron_kernel(X @ X.T, y, draws, **options)
    assert min(line.margin, kernel.margin) > 1e-10
    assert line.decisions == kernel.decisions
    assert (line.steps, line.epochs) == (kernel.steps, kernel.epochs)
    rows = reference.rows_with_constant(X, choice.get("constant", 0.0))
    assert_allclose(line.coefficients, kernel.coefficients @ rows, atol=1e-10)
    assert_allclose(line.snapshots[20], kernel.snapshots[20] @ rows, atol=1e-10)
    assert line.averaged is not None and kernel.averaged is not None
    assert_allclose(line.averaged, kernel.averaged @ rows, atol=1e-10)


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("loss", LOSSES)
def test_sdca_linear_equals_kernel(choice: dict[str, Any], loss: str) -> None:
    X, y = problem(3)
    draws = np.random.default_rng(4).integers(0, 12, 200)
    line = reference.sdca_linear(X, y, draws, 0.05, loss=loss, checkpoints=[50], **choice)
    kernel = reference.sdca_kernel(X @ X.T, y, draws, 0.05, loss=loss, checkpoints=[50], **choice)
    assert line.dual is not None and kernel.dual is not None
    assert_allclose(line.dual, kernel.dual, atol=1e-10)
    assert_allclose(line.losses, kernel.losses, atol=1e-10)
    rows = reference.rows_with_constant(X, choice.get("constant", 0.0))
    assert_allclose(line.coefficients, kernel.coefficients @ rows, atol=1e-10)
    assert_allclose(line.snapshots[50], kernel.snapshots[50] @ rows, atol=1e-10)


@given(seeds)
@settings(deadline=None, max_examples=30)
def test_the_kernel_margin_bounds_the_effect_of_rounding(seed: int) -> None:
    """Shuffled sums change no decision where all margins are well above rounding."""
    X, y = problem(seed)
    draws = np.random.default_rng(seed).integers(0, 12, 100)
    order = np.random.default_rng(seed).permutation(3)
    run = reference.pegasos_linear(X, y, draws, 0.03)
    shuffled = reference.pegasos_linear(X[:, order], y, draws, 0.03)
    kernel = reference.pegasos_kernel(X @ X.T, y, draws, 0.03)
    if run.margin > 1e-11:
        assert run.decisions == shuffled.decisions == kernel.decisions
        assert run.margin == pytest.approx(shuffled.margin, rel=1e-2, abs=1e-12)


# Pegasos, theorems and identities


def test_pegasos_equals_its_counting_form() -> None:
    """c_T = counts / (lam T), where example i is counted iff y s < lam t on the counts."""
    X, y = problem(8, m=20)
    K = reference.gram(reference.gaussian, X, variance=2)
    draws = np.random.default_rng(9).integers(0, 20, 300)
    counts = np.zeros(20)
    for t, i in enumerate(draws, start=1):
        if y[i] * (counts @ K[i]) < 0.01 * t:
            counts[i] += y[i]
    run = reference.pegasos_kernel(K, y, draws, 0.01)
    assert run.margin > 1e-10
    assert_allclose(run.coefficients * 0.01 * 300, counts, atol=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("project", [False, True])
def test_mini_batch_of_one_example_is_a_single_step(loss: str, project: bool) -> None:
    X, y = problem(6)
    draws = np.random.default_rng(7).integers(0, 12, 60)
    options: dict[str, Any] = {"loss": loss, "project": project}
    one = reference.pegasos_linear(X, y, draws, 0.02, **options)
    five = reference.pegasos_linear(X, y, np.repeat(draws, 5), 0.02, batch=5, **options)
    assert one.steps == five.steps == 60
    assert_allclose(five.coefficients, one.coefficients, rtol=1e-10, atol=1e-12)
    assert_allclose(five.losses[::5], one.losses, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_full_batch_is_a_subgradient_step_on_the_objective(loss: str) -> None:
    """One step at t = 2 is w - grad P(w) / (lam t), with a numerical gradient."""
    X, y = problem(10)
    lam, weights = 0.4, np.arange(1.0, 13.0)
    batch = np.arange(12)
    draws = np.concatenate([batch, batch, batch])
    run = reference.pegasos_linear(
        X, y, draws, lam, loss=loss, batch=12, weights=weights, checkpoints=[2, 3]
    )
    before = run.snapshots[2]
    # the loss is evaluated at the shrunk vector, the regularizer's part is the shrinkage itself
    shrunk = (1 - 1 / 3) * before
    slope = np.zeros(3)
    for j in range(3):
        up, down = shrunk.copy(), shrunk.copy()
        up[j] += 1e-6
        down[j] -= 1e-6
        difference = reference.primal_linear(
            loss, X, y, up, lam, weights=weights
        ) - reference.primal_linear(loss, X, y, down, lam, weights=weights)
        slope[j] = difference / 2e-6 - lam * shrunk[j]
    assert_allclose(run.snapshots[3], shrunk - slope / (lam * 3), atol=1e-7)


@given(seeds, st.sampled_from(LOSSES), st.floats(1e-4, 10))
@settings(deadline=None, max_examples=30)
def test_projection_keeps_the_norm_within_the_ball(seed: int, loss: str, lam: float) -> None:
    X, y = problem(seed)
    K = reference.gram(reference.polynomial, X, degree=2)
    draws = np.random.default_rng(seed).integers(0, 12, 30)
    every = range(1, 31)
    line = reference.pegasos_linear(X, y, draws, lam, loss=loss, project=True, checkpoints=every)
    kernel = reference.pegasos_kernel(K, y, draws, lam, loss=loss, project=True, checkpoints=every)
    for t in every:
        assert line.snapshots[t] @ line.snapshots[t] <= (1 + 1e-9) / lam
        assert kernel.snapshots[t] @ K @ kernel.snapshots[t] <= (1 + 1e-9) / lam


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("project", [False, True])
def test_pegasos_approaches_the_optimum(loss: str, project: bool) -> None:
    X, y = problem(12, m=20)
    weights = np.arange(1.0, 21.0)
    best = reference.sdca_linear(
        X, y, permutations(0, 20, 200).ravel(), 0.1, loss=loss, weights=weights
    )
    optimum = reference.primal_linear(loss, X, y, best.coefficients, 0.1, weights=weights)
    draws = np.random.default_rng(13).integers(0, 20, 8000)
    run = reference.pegasos_linear(
        X, y, draws, 0.1, loss=loss, weights=weights, project=project, average=0.5
    )
    assert run.averaged is not None
    assert (
        optimum - 1e-9
        <= reference.primal_linear(loss, X, y, run.averaged, 0.1, weights=weights)
        <= optimum + 0.002
    )


@pytest.mark.parametrize("average", [True, 1.0, 0.5, 0.3, 0.01])
def test_averaging_is_the_mean_of_the_vectors(average: bool | float) -> None:
    X, y = problem(14)
    draws = permutations(15, 12, 3)
    every = range(1, 37)
    first = 37 - math.ceil(average * 36)
    for run in (
        reference.pegasos_linear(X, y, draws.ravel(), 0.1, average=average, checkpoints=every),
        reference.pegasos_kernel(
            X @ X.T, y, draws.ravel(), 0.1, project=True, average=average, checkpoints=every
        ),
        reference.perceptron_linear(X, y, draws, stop=False, average=average, checkpoints=every),
        reference.perceptron_kernel(
            X @ X.T, y, draws, stop=False, average=average, checkpoints=every
        ),
    ):
        assert run.averaged is not None
        assert_allclose(
            run.averaged, np.mean([run.snapshots[t] for t in range(first, 37)], axis=0), atol=1e-12
        )
        assert_array_equal(run.snapshots[36], run.coefficients)


def test_prefixes() -> None:
    X, y = problem(16)
    draws = permutations(17, 12, 4).ravel()
    for learner in (reference.pegasos_linear, reference.sdca_linear):
        run = learner(X, y, draws, 0.1, checkpoints=[13, 40])
        for t in (13, 40):
            assert_array_equal(run.snapshots[t], learner(X, y, draws[:t], 0.1).coefficients)
    assert reference.pegasos_linear(X, y, draws, 0.1).averaged is None


# Perceptron


@given(seeds, st.floats(0.05, 0.5))
@settings(deadline=None, max_examples=40)
def test_perceptron_makes_at_most_novikoffs_number_of_mistakes(seed: int, gamma: float) -> None:
    """At most (R / gamma)^2 mistakes for margin gamma in a ball of radius R."""
    random = np.random.default_rng(seed)
    u = random.normal(size=4)
    u /= np.linalg.norm(u)
    X = random.normal(size=(25, 4))
    y = np.where(X @ u > 0, 1.0, -1.0)
    X += gamma * y[:, np.newaxis] * u
    gamma = float(np.min(y * (X @ u)))
    bound = float(np.max(np.sum(X**2, axis=1))) / gamma**2
    run = reference.perceptron_linear(X, y, [range(25)] * (int(bound) + 2))
    assert sum(run.decisions) <= bound
    assert np.all(y * (X @ run.coefficients) > 0)
    assert not any(run.decisions[-25:])  # it stopped after an epoch without a mistake
    assert run.steps == 25 * run.epochs


def test_perceptron_does_not_depend_on_eta() -> None:
    X, y = problem(18)
    draws = permutations(19, 12, 6)
    one, other = (reference.perceptron_linear(X, y, draws, eta=eta) for eta in (1.0, 0.01))
    assert one.decisions == other.decisions
    assert_allclose(other.coefficients, 0.01 * one.coefficients, atol=1e-14)


def test_an_example_of_weight_zero_is_not_there() -> None:
    """An example without weight changes nothing and does not prolong training."""
    run = reference.perceptron_linear([[1.0], [1.0]], [1, -1], [[0, 1]] * 9, weights=[1, 0])
    assert (run.epochs, sum(run.decisions)) == (2, 1)
    assert_array_equal(run.coefficients, [2.0])  # omega_0 = 2
    hinge = reference.pegasos_linear([[1.0], [1.0]], [1, -1], [0, 1], 1.0, weights=[1, 0])
    assert hinge.decisions == [True, False]
    for loss in LOSSES:
        dual = reference.sdca_linear(
            [[1.0], [1.0]], [1, -1], [0, 1], 1.0, weights=[1, 0], loss=loss
        ).dual
        assert dual is not None and dual[1] == 0


# SDCA


def optimal(loss: str, X: Any, y: Any, lam: float, **options: Any) -> reference.Run:
    return reference.sdca_linear(
        X, y, permutations(1, len(y), 400).ravel(), lam, loss=loss, **options
    )


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("lam", [0.01, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_sdca_reaches_the_optimum_of_scikit_learn(loss: str, lam: float, weighted: bool) -> None:
    X, y = problem(20, m=15)
    weights = np.arange(1.0, 16.0) if weighted else np.ones(15)
    C = 1 / (lam * weights.sum())
    if loss == "hinge":
        peer = LinearSVC(
            loss="hinge", C=C, fit_intercept=False, tol=1e-10, max_iter=2_000_000, random_state=0
        )
    else:
        peer = LogisticRegression(C=C, fit_intercept=False, tol=1e-12, max_iter=10_000)
    peer.fit(X, y, sample_weight=weights)
    expected = reference.primal_linear(loss, X, y, peer.coef_[0], lam, weights=weights)
    run = optimal(loss, X, y, lam, weights=weights if weighted else None)
    assert reference.primal_linear(
        loss, X, y, run.coefficients, lam, weights=weights
    ) == pytest.approx(expected, abs=1e-6)
    assert run.dual is not None
    assert reference.dual(loss, X @ X.T, y, run.dual, lam, weights=weights) == pytest.approx(
        expected, abs=1e-6
    )
    assert_allclose(run.coefficients, peer.coef_[0], atol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_sdca_with_constant_feature_reaches_the_optimum(loss: str) -> None:
    X, y = problem(21, m=15)
    run = optimal(loss, X, y, 0.05, constant=1.0)
    assert run.dual is not None
    found = reference.certificate(loss, X @ X.T, y, y * run.dual, 0.05, constant=1.0)
    assert 0 <= found.gap + 1e-12 <= 1e-6
    wide = np.column_stack([X, np.ones(15)])
    assert found.primal == pytest.approx(
        reference.primal_linear(loss, wide, y, run.coefficients, 0.05), rel=1e-9
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_sdca_kernel_reaches_the_optimum_of_the_dual_found_by_a_general_solver(loss: str) -> None:
    X, y = problem(22, m=15)
    lam = 0.02
    K = reference.gram(reference.gaussian, X, variance=1.5)
    C = reference.box(None, 15, lam)
    run = reference.sdca_kernel(K, y, permutations(2, 15, 300).ravel(), lam, loss=loss)
    peer = minimize(
        lambda a: -reference.dual(loss, K, y, np.clip(a, 0, C), lam),
        C / 2,
        bounds=[(1e-9, bound) for bound in C],
        method="L-BFGS-B",
        options={"ftol": 1e-14, "gtol": 1e-9, "maxfun": 10_000},
    )
    found = reference.certificate(loss, K, y, run.coefficients, lam)
    assert found.dual == pytest.approx(-peer.fun, abs=1e-6)
    assert found.gap == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_an_integer_weight_is_a_repeated_row(loss: str) -> None:
    X, y = problem(23, m=10)
    weights = np.array([1, 2, 3, 1, 0, 2, 1, 1, 4, 1])
    once = optimal(loss, X, y, 0.1, weights=weights)
    repeated_X, repeated_y = np.repeat(X, weights, axis=0), np.repeat(y, weights)
    repeated = optimal(loss, repeated_X, repeated_y, 0.1)
    assert_allclose(once.coefficients, repeated.coefficients, atol=1e-6)
    assert reference.primal_linear(
        loss, X, y, once.coefficients, 0.1, weights=weights
    ) == pytest.approx(
        reference.primal_linear(loss, repeated_X, repeated_y, repeated.coefficients, 0.1), abs=1e-9
    )


@given(seeds, st.sampled_from(LOSSES), st.floats(1e-3, 10))
@settings(deadline=None, max_examples=30)
def test_the_dual_never_falls_and_stays_in_its_box(seed: int, loss: str, lam: float) -> None:
    X, y = problem(seed)
    K = X @ X.T
    K[3, :] = K[:, 3] = 0.0  # an example without a norm
    draws = np.random.default_rng(seed).integers(0, 12, 40)
    run = reference.sdca_kernel(K, y, draws, lam, loss=loss, checkpoints=range(1, 41))
    values = [0.0] + [reference.dual(loss, K, y, y * run.snapshots[t], lam) for t in range(1, 41)]
    for before, after in itertools.pairwise(values):
        assert after >= before - 1e-9 * (1 + abs(before))


@given(st.floats(0, 1), st.floats(-50, 50), st.floats(0, 1e6), st.floats(1e-6, 1e4))
@settings(deadline=None)
def test_the_logistic_step_is_the_best_of_its_variable(
    part: float, z: float, k: float, C: float
) -> None:
    """No other point of a fine grid is better, and the derivative vanishes."""
    a = part * C
    new = reference.best_dual_logistic(a, z, k, C)
    assert 0 <= new <= C

    def objective(u: float) -> float:
        return (
            reference.times_log(u, C)
            + reference.times_log(C - u, C)
            + k / 2 * (u - a) ** 2
            + z * (u - a)
        )

    size = 1 + C + k * (new - a) ** 2 + abs(z * (new - a))
    for u in np.linspace(0, C, 201):
        assert objective(new) <= objective(float(u)) + 1e-9 * size
    if 1e-6 * C < new < (1 - 1e-6) * C:
        derivative = math.log(new / (C - new)) + k * (new - a) + z
        assert derivative == pytest.approx(0, abs=1e-8 * (1 + abs(z) + k * C))


# Certificates


@given(
    seeds,
    st.sampled_from(LOSSES),
    st.floats(1e-4, 10),
    st.lists(st.floats(-50, 50), min_size=12, max_size=12),
    st.lists(st.integers(0, 5), min_size=12, max_size=12).filter(any),
    st.sampled_from([0.0, 1.0]),
)
@settings(deadline=None, max_examples=150)
def test_the_gap_is_never_negative(
    seed: int, loss: str, lam: float, coefficients: list[float], weights: list[int], constant: float
) -> None:
    X, y = problem(seed)
    K = reference.gram(reference.gaussian, X, variance=1.0) if seed % 2 else X @ X.T
    c = np.array(coefficients)
    found = reference.certificate(loss, K, y, c, lam, weights=weights, constant=constant)
    assert found.gap >= -1e-9 * (1 + abs(found.primal) + abs(found.dual))
    assert np.all((found.clipped >= 0) & (found.clipped <= reference.box(weights, 12, lam)))
    best = reference.sdca_kernel(
        K, y, permutations(0, 12, 5).ravel(), lam, weights=weights, constant=constant, loss=loss
    )
    better = reference.certificate(
        loss, K, y, best.coefficients, lam, weights=weights, constant=constant
    )
    assert better.dual <= found.primal + 1e-9 * (1 + abs(found.primal))  # any D is below any P
    assert found.dual <= better.primal + 1e-9 * (1 + abs(found.dual))


@pytest.mark.parametrize("loss", LOSSES)
def test_the_certificate_of_a_long_pegasos_run_is_small_and_true(loss: str) -> None:
    X, y = problem(24)
    K = reference.gram(reference.gaussian, X, variance=2)
    run = reference.pegasos_kernel(K, y, permutations(25, 12, 600).ravel(), 0.1, loss=loss)
    found = reference.certificate(loss, K, y, run.coefficients, 0.1)
    best = reference.sdca_kernel(K, y, permutations(26, 12, 100).ravel(), 0.1, loss=loss)
    optimum = reference.primal_kernel(loss, K, y, best.coefficients, 0.1)
    assert 0 <= found.primal - optimum + 1e-12 <= found.gap + 2e-12
    assert found.gap < 0.01


def test_the_dual_refuses_a_point_outside_of_the_box() -> None:
    with pytest.raises(ValueError, match="outside of its box"):
        reference.dual("hinge", np.eye(2), [1, -1], np.array([0.0, 2.0]), 0.5)
