"""Certificates that hold whatever rounding did: how far rounded kernels may be off, and what that means for F and G."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pegasos import SDCA
from pegasos.engine.kernels.exponential import SINGLE_ERROR, decay
from pegasos.engine.kernels.integer_products import can_multiply
from pegasos.engine.optimum.certificate import halvings
from pegasos.engine.optimum.hinge import lines
from pegasos.engine.optimum.hinge.exact_scores import ExactScores
from pegasos.engine.optimum.hinge.set_rounds import whatever_rounding_did
from pegasos.engine.rows.sources import KernelRows
from pegasos.kernels import Gaussian

Array = np.ndarray[Any, Any]

needs_whole = pytest.mark.skipif(
    not can_multiply(), reason="whole numbers are multiplied on processors with AVX-512 VNNI only"
)


@needs_whole
@pytest.mark.parametrize("step", [1.0, 1 / 16, 0.1, 1 / 255])
@pytest.mark.parametrize("width", [0.03, 0.5, 3.0, 100.0])
def test_rounded_kernels_of_whole_numbers_are_within_their_error(step: float, width: float) -> None:
    whole = np.random.default_rng(0).integers(0, 17, size=(600, 40))
    rows = KernelRows(Gaussian(width * 40 * 24 * step**2), step * whole)
    rounded = rows.rounded().matrix()
    assert rows.whole is not None and rounded.dtype == np.float32
    worst = np.abs(rounded - rows.matrix()).max()
    assert 0 < worst <= SINGLE_ERROR


def test_no_exponent_adds_more_error_than_was_counted() -> None:
    """Five roundings of the exponent, and that of the exponential: every third float32 number whose exponential is not tiny."""
    for power in range(-5, 5):
        first = int(np.array(2.0**power, dtype=np.float32).view(np.int32))
        exponents = np.arange(first, first + 2**23, 3, dtype=np.int32).view(np.float32)
        found = exponents.copy()
        decay(found, 1.0)
        exact = np.exp(-exponents.astype(np.float64))
        units = np.abs(found - exact) * 2**24 + 5 * exponents * exact
        assert units.max() * 2.0**-24 <= SINGLE_ERROR


def objectives(
    K: Array, labels: Array, bounds: Array, c: Array, bias: float, factor: float
) -> tuple[float, float]:
    """F of factor·(w, b) and G of c, as they stand in the books."""
    scores, squared = K @ c, c @ K @ c
    losses = np.maximum(0.0, 1.0 - factor * labels * (scores + bias))
    return 0.5 * factor**2 * squared + bounds @ losses, labels @ c - 0.5 * squared


@pytest.mark.parametrize("seed", range(12))
def test_no_error_of_the_kernel_breaks_the_bounds(seed: int) -> None:
    """Errors of random signs, and the worst ones: those that make each score wrong in the direction that hides most."""
    random = np.random.default_rng(seed)
    m, error, bias = 40, 10.0 ** random.uniform(-7, -2), random.choice([0.0, 0.3])
    X = random.normal(size=(m, 5))
    K, labels = np.exp(-0.1 * ((X[:, None] - X) ** 2).sum(axis=2)), np.sign(X[:, 0])
    bounds = np.full(m, 10.0 ** random.uniform(-1, 3))
    c = labels * np.minimum(bounds, random.exponential(size=m) * (random.random(m) < 0.6))
    noise = random.choice([-1.0, 1.0], size=(m, m))
    for signs in (
        np.triu(noise) + np.triu(noise, 1).T,
        np.outer(np.sign(c), np.sign(c)),
        -np.outer(np.sign(c), np.sign(c)),
    ):
        seen = (K + error * signs) @ c
        factor, primal, bound = whatever_rounding_did(
            labels, bounds, c, seen, bias, error, halvings(1e-3)
        )
        true_primal, true_bound = objectives(K, labels, bounds, c, bias, factor)
        slack = 1e-12 * (primal + abs(bound))
        assert primal >= true_primal - slack and bound <= true_bound + slack
        exact = whatever_rounding_did(labels, bounds, c, K @ c, bias, 0.0, halvings(1e-3))
        assert exact[2] == pytest.approx(true_bound)
        assert exact[1] == pytest.approx(objectives(K, labels, bounds, c, bias, exact[0])[0])


def whole_rows(m: int) -> tuple[Array, Array]:
    random = np.random.default_rng(1)
    centres = random.integers(3, 13, size=(3, 36))
    y = random.integers(3, size=m)
    return np.clip(np.rint(centres[y] + random.normal(scale=2.5, size=(m, 36))), 0, 16) / 16, y


@needs_whole
@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("fit_intercept", [False, "augment", "free"])
def test_a_fit_needs_no_exact_scores_where_rounding_cannot_matter(
    monkeypatch: pytest.MonkeyPatch, C: float, fit_intercept: Any
) -> None:
    X, y = whole_rows(1700)
    asked: list[int] = []
    settle = ExactScores.settle
    monkeypatch.setattr(
        ExactScores,
        "settle",
        lambda self, all_of, who, *given: asked.extend(who) or settle(self, all_of, who, *given),
    )
    learner = SDCA(kernel=Gaussian(), lam=1 / (C * len(y)), fit_intercept=fit_intercept).fit(X, y)
    assert not asked and learner.gap_ <= learner.tol
    exact = learner.certificate(X, y)
    assert (learner.objective_ >= exact.primal * (1 - 1e-12)).all()
    assert (exact.dual <= learner.objective_).all()
    np.testing.assert_allclose(learner.objective_, exact.primal, rtol=learner.tol)
    monkeypatch.setattr(lines, "SINGLE_ERROR", 1e-3)  # nobody could rest on that
    doubtful = SDCA(kernel=Gaussian(), lam=1 / (C * len(y)), fit_intercept=fit_intercept).fit(X, y)
    assert sorted(set(asked)) == [0, 1, 2]
    np.testing.assert_allclose(doubtful.objective_, doubtful.certificate(X, y).primal, rtol=1e-9)
    np.testing.assert_allclose(doubtful.objective_, learner.objective_, rtol=learner.tol)
