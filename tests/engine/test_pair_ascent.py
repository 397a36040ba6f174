"""Dual ascent for pairs of classes, compared with a separate solver for each pair."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from pegasos import SDCA
from pegasos.engine.optimum.dual_ascent import DualAscent
from pegasos.engine.optimum.pair_ascent import Pair, PairAscent
from pegasos.kernels import Gaussian
from pegasos.learners.task import open_task

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(90, 3))
CODES = np.digitize(X[:, 0] * X[:, 1] + 0.3 * RANDOM.normal(size=90), [-0.3, 0.3])
LAMS = np.array([1e-1, 1e-4])
PAIRS = [np.flatnonzero(absent != CODES) for absent in (2, 1, 0)]


def make_solver(index: Any, kernel: Any, state: Any = None) -> DualAscent:
    """Return a solver that separates the larger class of these rows from the other one."""
    learner = SDCA(kernel=kernel, fit_intercept=False, random_state=0)
    codes = (CODES[index] == CODES[index].max()).astype(np.int64)
    task = open_task(learner, X[index], codes, np.ones(len(index)), 2)
    (solver,) = learner._make_solvers(task, LAMS, [1000], 0)
    assert isinstance(solver, DualAscent)
    if state is not None:
        solver.resume(state)
    return solver


def all_pairs(kernel: Any, last: int | None = None, saves: bool = False) -> PairAscent:
    learner = SDCA(kernel=kernel, fit_intercept=False)
    rows = open_task(learner, X, CODES, np.ones(90), 3).rows
    pairs = [Pair(index, partial(make_solver, index, kernel)) for index in PAIRS]
    return PairAscent(pairs, rows, last, saves)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), None], ids=["gaussian", "linear"])
@pytest.mark.parametrize("last", [None, 40], ids=["kept", "dropped"])
def test_each_pair_equals_a_solver_of_its_own(kernel: Any, last: int | None) -> None:
    together = all_pairs(kernel, last)
    together.advance(40)
    together.complete()
    vectors, bias = together.predictors()
    scores, certificate = together.scores(np.arange(90)), together.certificate()
    assert vectors.shape == (6, 90 if kernel else 3)
    for k, index in enumerate(PAIRS):
        alone = make_solver(index, kernel)
        alone.advance(40)
        alone.complete()
        own, own_bias = alone.predictors()
        members = slice(2 * k, 2 * k + 2)
        np.testing.assert_array_equal(
            vectors[members][:, index] if kernel else vectors[members], own
        )
        np.testing.assert_array_equal(bias[members], own_bias)
        np.testing.assert_array_equal(together.gaps[members], alone.gaps)
        np.testing.assert_array_equal(certificate.primal[members], alone.certificate().primal)
        np.testing.assert_array_equal(certificate.dual[members], alone.certificate().dual)
        np.testing.assert_allclose(
            scores[members][:, index], alone.scores(np.arange(len(index))), rtol=1e-9, atol=1e-9
        )
        others = np.setdiff1d(np.arange(90), index)
        assert kernel is None or not vectors[members][:, others].any()
    assert (together.gaps <= 1e-3).all() and together.done.all()
    assert together.support().shape == vectors.shape
    assert len(together.histories()) == 6 and together.gap_curve[-1].shape == (3, 2)


def test_a_resumed_state_equals_that_of_each_pair() -> None:
    first = all_pairs(Gaussian(1.0), last=40, saves=True)
    first.advance(40)
    second = all_pairs(Gaussian(1.0))
    second.resume(first.save())
    vectors, bias = second.predictors()
    for k, index in enumerate(PAIRS):
        alone, resumed = make_solver(index, Gaussian(1.0)), make_solver(index, Gaussian(1.0))
        alone.advance(40)
        alone.complete()
        resumed.resume(alone.save())
        own, own_bias = resumed.predictors()
        assert own.any()
        np.testing.assert_array_equal(vectors[2 * k : 2 * k + 2][:, index], own)
        np.testing.assert_array_equal(bias[2 * k : 2 * k + 2], own_bias)
        np.testing.assert_array_equal(second.done[k], resumed.done[0])
    second.advance(80)
    second.complete()
    assert (second.gaps <= 1e-3).all()
