"""Compare moments of a table with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from pegasos.engine.kernels.distances import largest_square
from pegasos.engine.kernels.elementwise import variance_of


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_moments_are_those_of_numpy(form: Any, dtype: type) -> None:
    random = np.random.default_rng(0)
    X = (random.normal(size=(50, 7)) * (random.random((50, 7)) < 0.5)).astype(dtype)
    exact = X.astype(np.float64)
    assert largest_square(form(X)) == pytest.approx((exact**2).sum(axis=1).max(), rel=1e-12)
    assert variance_of(form(X)) == pytest.approx(exact.var(), rel=1e-12)
