"""Compare compiled loops over rows with their formulas in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from pegasos.engine.optimum.logistic_state import balance, derivatives
from pegasos.engine.optimum.passes.limited_memory import solve_logistic_by_gradients
from pegasos.engine.optimum.passes.newton import solve_rows
from pegasos.engine.optimum.passes.newton_rows import (
    FIRST,
    LOSS,
    SCRATCH_LINES,
    SUMS,
    WEIGHT,
    sum_logistic,
)
from pegasos.engine.optimum.problem import Intercept, Target


def test_logistic_loss_and_derivatives() -> None:
    random = np.random.default_rng(0)
    margins, labels = random.normal(size=20), random.choice([-1.0, 1.0], 20)
    bounds, change = random.uniform(0, 2, 20), random.normal(size=20)
    bounds[3] = 0.0
    ahead = margins + 0.5 * change
    scores = labels * np.stack([margins, change])
    kept, out = np.empty((SCRATCH_LINES, 20)), np.empty((FIRST + 2, 20))
    sums, values = np.zeros(SUMS), np.zeros(2)
    steps = np.array([0.0, 0.5])
    sum_logistic(labels, bounds, scores, 0.5, 0.0, 0.0, steps, 1, kept, out, sums, values)
    plain = [bounds @ np.logaddexp(0, -margins - step * change) for step in steps]
    np.testing.assert_allclose(values, plain)
    np.testing.assert_allclose(sums[LOSS], plain[1])
    np.testing.assert_allclose(out[FIRST], labels * bounds * expit(-ahead))
    np.testing.assert_allclose(out[WEIGHT], bounds * expit(ahead) * expit(-ahead))
    beta, curvature = np.empty(20), np.empty(20)
    derivatives(labels, bounds, labels * ahead, 0.0, beta, curvature)
    np.testing.assert_allclose([beta, curvature], [out[FIRST], out[WEIGHT]])


def test_balanced_coefficients_sum_to_zero() -> None:
    coefficients = np.array([1.0, 3.0, -1.0, 0.0])
    balance(coefficients)
    np.testing.assert_allclose(coefficients, [0.25, 0.75, -1.0, 0.0])


@pytest.mark.parametrize("intercept", [Intercept.NONE, Intercept.AUGMENTED])
def test_gradients_lead_to_the_optimum_of_newtons_method(intercept: Intercept) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 6))
    target = Target(np.where(X[:, 0] + random.normal(size=200) > 0, 1.0, -1.0), np.full(200, 0.5))
    (found,) = solve_logistic_by_gradients(X, [target], intercept, 1e-8)
    (exact,) = solve_rows(X, False, [target], intercept, 1e-10)
    assert found is not None and found.relative <= 1e-8
    np.testing.assert_allclose(found.vector, exact.vector, atol=1e-3)
    np.testing.assert_allclose(found.dual, exact.dual, atol=1e-3)
    assert found.primal == pytest.approx(exact.primal, rel=1e-7)
