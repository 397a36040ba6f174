"""What a sample tells of all rows: the gap of an epoch, and how many support vectors there will be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reference
from pegasos import SDCA
from pegasos.engine.optimum import finishing
from pegasos.engine.optimum.hinge.lines import RoundedMatrix
from pegasos.engine.optimum.hinge.pilot import SAMPLE, Pilot, walk_epochs
from pegasos.engine.optimum.hinge.sample_start import sample_of
from pegasos.engine.optimum.problem import Target
from pegasos.kernels import Gaussian

Array = np.ndarray[Any, Any]


def table(m: int, noise: float) -> tuple[Array, Array]:
    random = np.random.default_rng(3)
    X = random.normal(size=(m, 4))
    return X, np.where(
        X[:, 0] + np.abs(X[:, 1]) - 0.6 + noise * random.normal(size=m) > 0, 1.0, -1.0
    )


@pytest.mark.parametrize("constant", [0.0, 1.0])
def test_epochs_are_those_of_coordinate_ascent(constant):
    X, y = table(50, 0.5)
    K, C = Gaussian(1.0)(X), 0.7
    c, scores = walk_epochs(K, y, np.full(50, C), constant, 3)
    draws = [place for _ in range(3) for place in range(50)]
    expected = reference.sdca_kernel(K, y, draws, lam=1 / (C * 50), constant=constant).coefficients
    np.testing.assert_allclose(c, expected, atol=1e-12)
    np.testing.assert_allclose(scores, K @ c + constant * c.sum(), atol=1e-12)


@pytest.mark.parametrize(("noise", "C"), [(0.0, 10.0), (0.3, 1.0), (2.0, 1.0), (2.0, 0.1)])
def test_the_share_of_support_vectors_is_foreseen(noise, C):
    X, y = table(6000, noise)
    kernel, sample = Gaussian(2.0), sample_of(6000, SAMPLE)
    foreseen = Pilot(sample, 6000, kernel(X[sample]), 1.0).support(Target(y, np.full(6000, C)))
    model = SDCA(kernel=kernel, lam=1 / (C * 6000), random_state=0).fit(X, y)
    share = len(model.support_) / 6000
    assert share / 2 < foreseen < 2 * share + 0.02


@pytest.mark.parametrize(
    ("noise", "C", "whole"), [(0.0, 10.0, False), (2.0, 1.0, True), (2.0, 1e-4, False)]
)
def test_a_matrix_is_made_where_many_rows_need_their_lines(noise, C, whole, monkeypatch):
    """Classes apart: few support vectors; apart by nothing: many, unless a sample tells where all of them go."""
    X, y = table(4200, noise)
    monkeypatch.setattr(finishing, "LARGEST_MATRIX", 0)
    made = []
    monkeypatch.setattr(
        finishing, "RoundedMatrix", lambda rows: made.append(rows) or RoundedMatrix(rows)
    )
    model = SDCA(kernel=Gaussian(2.0), lam=1 / (C * 4200), random_state=0).fit(X, y)
    assert model.gap_ <= 1e-3
    assert bool(made) is whole
