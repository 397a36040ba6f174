"""Test that pair steps solve the dual problem of a small set."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pegasos.engine.optimum.hinge.pair_steps import (
    SetKernel,
    argmax,
    argmax_of_any_sign,
    set_row,
    solve_balanced_pairs,
    solve_pairs,
)

Array = np.ndarray[Any, Any]
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def make_kernel(K: Array, dtype: type) -> SetKernel:
    """Return the kernel of all rows of K, without gathered rows."""
    index = np.arange(len(K))
    values = K.view()
    values.flags.writeable = False
    nothing = np.full(len(K), -1)
    given = (nothing, np.zeros(1, dtype=np.int64), values, index, index, 0.0, 1.0)
    return SetKernel(np.empty(K.shape, dtype=dtype), *given)


@DTYPES
def test_argmax_is_that_of_numpy(dtype: type) -> None:
    random = np.random.default_rng(0)
    for _ in range(50):
        values = random.normal(size=200).round(1).astype(dtype) - dtype(random.integers(3))
        values[random.integers(200)] = -np.inf
        bits = values.view(np.int32 if dtype is np.float32 else np.int64)
        if values.max() >= 0:
            assert argmax(bits) == np.argmax(values)
        expected = np.argmax(values)
        assert argmax_of_any_sign(bits) == expected


def test_rows_are_gathered_when_they_are_needed() -> None:
    K = np.random.default_rng(0).normal(size=(5, 5))
    kernel = make_kernel(K, np.float64)._replace(constant=1.0, factor=0.5)
    for place in (3, 1, 3):
        np.testing.assert_allclose(set_row(kernel, place), 0.5 * (K[place] + 1.0))
    assert kernel.gathered[0] == 2
    np.testing.assert_array_equal(kernel.line, [-1, 1, -1, 0, -1])


@DTYPES
@pytest.mark.parametrize("balanced", [False, True])
def test_steps_end_at_the_optimum(balanced: bool, dtype: type) -> None:
    """Each coordinate is at a bound or its gradient vanishes, up to the intercept."""
    random = np.random.default_rng(1)
    X = random.normal(size=(40, 3))
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    y = np.where(X[:, 0] + 0.5 * random.normal(size=40) > 0, 1.0, -1.0)
    bounds = random.uniform(0.0, 5.0, 40) * (random.random(40) < 0.9)
    low, high = np.minimum(0.0, y * bounds), np.maximum(0.0, y * bounds)
    arrays = [array.astype(dtype) for array in (K.diagonal(), y, low, high)]
    change, gains = np.zeros(40, dtype=dtype), np.empty(40, dtype=dtype)
    bits = gains.view(np.int32 if dtype is np.float32 else np.int64)
    solve = solve_balanced_pairs if balanced else solve_pairs
    single = dtype is np.float32
    tiny, least = (1e-6, 1e-7) if single else (1e-12, 1e-14)
    given = (tiny, least, 100_000, gains, bits, change)
    assert 0 < solve(make_kernel(K, dtype), *arrays, *given) < 100_000
    c = change.astype(np.float64)
    gradient, margin = y - K @ c, 1e-2 if single else 1e-5
    inside = (c > low + 1e-6) & (c < high - 1e-6)
    assert inside.any() and (c >= low - 1e-6).all() and (c <= high + 1e-6).all()
    bias = float(np.median(gradient[inside])) if balanced else 0.0
    if balanced:
        assert c.sum() == pytest.approx(0.0, abs=1e-4)
    assert np.abs(gradient[inside] - bias).max() < margin
    assert (gradient[(c <= low + 1e-6) & (high > low)] < bias + margin).all()
    assert (gradient[(c >= high - 1e-6) & (high > low)] > bias - margin).all()
