"""Compiled loops over rows against their formulas in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from pegasos.engine.optimum.hinge import hinge_rows
from pegasos.engine.optimum.logistic import logistic_rows
from pegasos.engine.optimum.logistic.limited_memory import solve_logistic_by_gradients
from pegasos.engine.optimum.logistic.logistic_state import balance, derivatives, loss_of_scores
from pegasos.engine.optimum.logistic.newton import solve_logistic
from pegasos.engine.optimum.problem import Intercept, Target


def test_interior_point_starts_on_the_central_path() -> None:
    """a s = μ, (C - a) ξ = μ and s - ξ = -1, the margin of w = 0 less 1; rows of bound 0 are left out."""
    bounds, mu = np.array([1e-3, 1.0, 0.0, 1e3]), 0.2
    state = np.zeros((hinge_rows.LINES, 4))
    hinge_rows.open_rows(state, bounds, mu)
    there = bounds > 0
    a, t = state[hinge_rows.A, there], state[hinge_rows.T, there]
    s, xi = state[hinge_rows.S, there], state[hinge_rows.XI, there]
    np.testing.assert_allclose(a * s, mu)
    np.testing.assert_allclose(t * xi, mu)
    np.testing.assert_allclose(s - xi, -1.0)
    np.testing.assert_allclose(a + t, bounds[there])
    assert not state[:, ~there].any()


def test_logistic_loss_and_derivatives() -> None:
    random = np.random.default_rng(0)
    margins, labels = random.normal(size=20), random.choice([-1.0, 1.0], 20)
    bounds, change = random.uniform(0, 2, 20), random.normal(size=20)
    state, out = np.stack([margins, change]), np.empty((2, 20))
    sums = np.zeros(2)
    logistic_rows.losses_along(state, bounds, np.array([0.0, 0.5]), sums)
    plain = [bounds @ np.logaddexp(0, -margins - step * change) for step in (0.0, 0.5)]
    np.testing.assert_allclose(sums, plain)
    assert logistic_rows.advance(state, labels, bounds, 0.5, out) == pytest.approx(plain[1])
    ahead = margins + 0.5 * change
    np.testing.assert_allclose(out[0], labels * bounds * expit(-ahead))
    np.testing.assert_allclose(out[1], bounds * expit(ahead) * expit(-ahead))
    push, curvature = np.empty(20), np.empty(20)
    derivatives(labels, bounds, labels * ahead, 0.0, push, curvature)
    np.testing.assert_allclose([push, curvature], out)
    assert loss_of_scores(labels, bounds, labels * ahead, 0.0) == pytest.approx(plain[1])


def test_balanced_coefficients_sum_to_zero() -> None:
    coefficients = np.array([1.0, 3.0, -1.0, 0.0])
    balance(coefficients)
    np.testing.assert_allclose(coefficients, [0.25, 0.75, -1.0, 0.0])


@pytest.mark.parametrize("intercept", [Intercept.NONE, Intercept.AUGMENTED])
def test_gradients_lead_to_the_optimum_of_newtons_method(intercept: Intercept) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 6))
    target = Target(np.where(X[:, 0] + random.normal(size=200) > 0, 1.0, -1.0), np.full(200, 0.5))
    found = solve_logistic_by_gradients(X, target, intercept, 1e-8)
    (exact,) = solve_logistic(X, [target], intercept, 1e-10)
    assert found is not None and found.relative <= 1e-8
    np.testing.assert_allclose(found.vector, exact.vector, atol=1e-3)
    np.testing.assert_allclose(found.dual, exact.dual, atol=1e-3)
    assert found.primal == pytest.approx(exact.primal, rel=1e-7)
