"""Compare coordinate ascent with shrinking with its reference, on sparse hinge problems."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import reference
from pegasos import SDCA
from pegasos.engine.optimum import choice
from pegasos.engine.optimum.hinge import shrinking_ascent
from pegasos.engine.optimum.hinge.shrinking_ascent import solve_hinge_by_ascent
from pegasos.engine.optimum.passes.newton import solve_rows
from pegasos.engine.optimum.problem import Intercept, Target


def rows_and_labels(
    m: int, d: int, seed: int = 0, stored: float = 0.2
) -> tuple[Any, np.ndarray[Any, Any]]:
    """Return sparse rows, one empty and two equal with different labels, with 20 % label noise."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(m, d)) * (random.random((m, d)) < stored)
    X[0] = 0.0
    y = np.where(X @ random.normal(size=d) + 0.3 * random.normal(size=m) > 0, 1.0, -1.0)
    X[2], y[2] = X[1], -y[1]
    return sparse.csr_matrix(X), np.where(random.random(m) < 0.2, -y, y)


@pytest.mark.parametrize("intercept", [Intercept.NONE, Intercept.AUGMENTED])
def test_its_steps_are_those_of_the_twin(intercept: Intercept) -> None:
    X, y = rows_and_labels(60, 8)
    constant = float(intercept is Intercept.AUGMENTED)
    bounds = np.random.default_rng(1).uniform(0.0, 3.0, 60)
    bounds[5] = 0.0
    wide = X.toarray() if not constant else np.c_[X.toarray(), np.ones(60)]
    ascent = shrinking_ascent._Ascent(X, (wide**2).sum(axis=1), constant, Target(y, bounds), None)
    ascent.certify(1e-12)
    rested = 0
    for epochs in range(1, 41):
        ascent.advance(1e-12)
        rested += len(ascent._active) < 59
        if epochs in (1, 2, 5, 40):
            schedule = {
                "violation": shrinking_ascent.FIRST_VIOLATION,
                "next_share": shrinking_ascent.NEXT_SHARE,
            }
            given = wide, y, bounds
            twin = reference.ascent_without_rows_at_rest(
                *given, epochs=epochs, **schedule, random=np.random.default_rng(0)
            )
            np.testing.assert_allclose(ascent.dual, twin, rtol=1e-9, atol=1e-12)
    assert rested > 10


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0, 1e3])
def test_it_reaches_the_optimum_of_another_method(C: float, dtype: Any) -> None:
    X, y = rows_and_labels(
        400, 30 if C < 100 else 600, seed=2
    )  # where C is large, with as many features as such rows have
    members = np.flatnonzero(np.arange(400) % 7 > 0)
    weights = np.random.default_rng(3).integers(0, 3, len(members))
    targets = [Target(sign * y[members], C * weights) for sign in (1.0, -1.0)]
    targets.append(Target(np.where(np.arange(len(members)) < 20, 1.0, -1.0), C * weights))
    for intercept in (Intercept.NONE, Intercept.AUGMENTED):
        found = solve_hinge_by_ascent(X.astype(dtype), targets, intercept, 1e-4, members)
        best = solve_rows(X.astype(dtype), True, targets, intercept, 1e-8, members)
        for target, ours, theirs in zip(targets, found, best, strict=True):
            assert ours.relative <= 1e-4
            assert theirs.bound * (1 - 1e-9) <= ours.primal <= theirs.primal * (1 + 1.1e-4)
            assert (ours.dual >= 0).all() and (ours.dual <= target.bounds).all()
            margins = target.labels * (X[members] @ ours.vector + ours.bias)
            squared = ours.vector @ ours.vector + (
                ours.bias**2 if intercept is Intercept.AUGMENTED else 0.0
            )
            assert ours.primal == pytest.approx(
                0.5 * squared + target.bounds @ np.maximum(0, 1 - margins), rel=1e-5
            )


def test_it_starts_from_given_coefficients() -> None:
    X, y = rows_and_labels(300, 20, seed=4)
    target = Target(y, np.full(300, 5.0))
    (best,) = solve_hinge_by_ascent(X, [target], Intercept.NONE, 1e-6)
    (again,) = solve_hinge_by_ascent(X, [target], Intercept.NONE, 1e-5, start=(y * best.dual)[None])
    assert again.rounds == 1
    np.testing.assert_array_equal(again.dual, best.dual)


def test_a_fit_that_crawls_goes_on_this_way(monkeypatch: pytest.MonkeyPatch) -> None:
    method = choice.find_method("coordinate ascent with shrinking")
    monkeypatch.setattr(choice, "choose_method", lambda problem: method)
    X, y = rows_and_labels(600, 1300, seed=5, stored=0.02)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SDCA(lam=1 / (100 * 600), fit_intercept=True, random_state=0).fit(X, y)
    assert method.name in model.plan_.method
    assert model.gap_ <= 1e-3
    (best,) = solve_rows(X, True, [Target(y, np.full(600, 100.0))], Intercept.AUGMENTED, 1e-7)
    assert model.objective_[0] == pytest.approx(model.lam * best.primal, rel=1e-3)
    several = SDCA(lam=1 / (100 * 600), fit_intercept=True, random_state=0).fit(
        X, np.arange(600) % 3
    )
    assert several.gap_ <= 1e-3
