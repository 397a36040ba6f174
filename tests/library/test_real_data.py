"""Test errors on the USPS digits against published ones (skipped without the data)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from pegasos import SDCA, Pegasos
from pegasos.kernels import Gaussian
from samples import usps

pytestmark = pytest.mark.slow


def _pooled_error(make: Callable[[int], Any]) -> float:
    """Return the stratified 5-fold error over all 9298 digits, shuffled with seed 42."""
    X, y = usps()
    wrong = 0
    for train, test in StratifiedKFold(5, shuffle=True, random_state=42).split(X, y):
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", ConvergenceWarning
            )  # eight epochs are what is asked for
            wrong += int(
                np.sum(make(len(train)).fit(X[train], y[train]).predict(X[test]) != y[test])
            )
    return wrong / len(y)


def test_sdca_after_eight_epochs() -> None:
    error = _pooled_error(
        lambda m: SDCA(lam=1 / (10 * m), kernel=Gaussian(12), max_epochs=8, random_state=0)
    )
    assert error <= 0.0205


def test_pegasos_as_reported() -> None:
    def learner(m: int) -> Pegasos:
        return Pegasos(
            lam=1e-5,
            kernel=Gaussian(2),
            n_iter=25_000,
            sampling="uniform",
            average=False,
            random_state=0,
        )

    assert abs(_pooled_error(learner) - 0.027) <= 0.003
