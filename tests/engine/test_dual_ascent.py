"""Test dual ascent for several λ at once, on tasks made by learners."""

from __future__ import annotations

import numpy as np
import pytest

from pegasos import SDCA, Pegasos
from pegasos.engine.optimum.dual_ascent import DualAscent
from pegasos.engine.walk.loops import Columns, State
from pegasos.engine.walk.solvers import PegasosSolver, advance_together
from pegasos.kernels import Gaussian
from pegasos.learners.task import open_task

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(120, 3))
CODES = (X[:, 0] * X[:, 1] + 0.3 * RANDOM.normal(size=120) > 0).astype(np.int64)
LAMS = np.array([1e-1, 1e-3, 1e-5])


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_all_lambdas_reach_the_tolerance(loss: str) -> None:
    learner = SDCA(loss, kernel=Gaussian(1.0), fit_intercept=False, random_state=0)
    task = open_task(learner, X, CODES, np.ones(120), 2)
    (solver,) = learner._make_solvers(task, LAMS, [1000], 0)
    assert isinstance(solver, DualAscent)
    solver.advance(1000)
    solver.complete()
    assert (solver.gaps <= 1e-3).all()
    vectors, bias = solver.predictors()
    assert vectors.shape == (3, 120) and bias.shape == (3,)
    for lam, vector in zip(LAMS, vectors, strict=True):
        alone = SDCA(loss, lam, Gaussian(1.0), fit_intercept=False, random_state=0).fit(X, CODES)
        scores = Gaussian(1.0)(X) @ vector
        losses = {
            "hinge": lambda m: np.maximum(0, 1 - m),
            "logistic": lambda m: np.logaddexp(0, -m),
        }
        primal = lam / 2 * vector @ scores + losses[loss](np.where(CODES, 1, -1) * scores).mean()
        assert primal == pytest.approx(alone.objective_[0], rel=2e-3)


def test_solvers_in_step_decide_as_each_alone() -> None:
    learner = Pegasos(kernel=Gaussian(1.0), random_state=0)
    together, alone = (
        [
            learner._make_solvers(
                open_task(learner, X, CODES, np.ones(120), 2), LAMS[:k], [700], 3
            )[0]
            for k in (1, 2)
        ]
        for _ in range(2)
    )
    assert all(isinstance(solver, PegasosSolver) for solver in together)
    advance_together(together, 700)
    for one, other in zip(together, alone, strict=True):
        other.advance(700)
        np.testing.assert_array_equal(one.predictors()[0], other.predictors()[0])


def test_names_of_the_arrays_of_a_walk() -> None:
    """Compiled code takes arrays by position, so their order is part of the interface."""
    assert Columns._fields[:4] == ("active", "classes", "low", "high")
    assert State._fields[:3] == ("weights", "bias", "coefficients")
