"""Rows of whole numbers: found where they are, multiplied without an error, and left alone where a number does not fit."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pegasos import SDCA
from pegasos.engine.kernels import integer_products, whole_numbers
from pegasos.engine.kernels.distances import Pairs, fill_gram
from pegasos.engine.kernels.integer_products import can_multiply, integer_squares
from pegasos.engine.kernels.whole_numbers import grid_of
from pegasos.kernels import Gaussian

Array = np.ndarray[Any, Any]
dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])
fast = pytest.mark.skipif(
    not can_multiply(), reason="this processor has no products of small whole numbers"
)
EVERYTHING = slice(None)


def whole(levels: int, rows: int = 600, features: int = 40, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(0, levels, (rows, features))


@given(
    st.lists(st.integers(0, 5000), min_size=2, max_size=30),
    st.floats(1e-6, 1e6),
    st.sampled_from([np.float32, np.float64]),
    st.integers(-3, 3),
)
def test_the_step_is_the_greatest_common_divisor(numbers, step, dtype, offset):
    """Always in float64; float32 may have too few digits unless neighbours are among the numbers, as in rows they are."""
    assume(len(set(numbers)) > 1)
    divisor = math.gcd(*(number - numbers[0] for number in numbers))
    values = (step * (np.array(numbers) + 1000 * offset)).astype(dtype)
    grid = grid_of(values)
    if grid is None:
        assert dtype is np.float32
        assert np.diff(sorted(set(numbers))).min() > divisor
    else:
        assert grid.step == pytest.approx(
            step * divisor, rel=1e-3 if dtype is np.float32 else 1e-10
        )
        places = (values.astype(np.float64) - grid.origin) / grid.step
        assert np.abs(places - np.rint(places)).max() * grid.step <= grid.tolerance


@dtypes
def test_numbers_without_a_step(dtype):
    random = np.random.default_rng(0)
    for numbers in (random.normal(size=500), np.ones(9), np.zeros(0), 1e9 + random.normal(size=50)):
        assert grid_of(numbers.astype(dtype)) is None
    assert (grid_of((1e6 + np.arange(50) / 8).astype(dtype)) is None) == (
        dtype is np.float32
    )  # rounded to 1/16: too near to 1/8


def test_numbers_of_many_sizes_have_no_step():
    assert grid_of(np.array([0.0, 1e-3, 1e3])) is None
    with np.errstate(all="raise"):
        assert grid_of(np.array([0.0, 1e-308, 1e308])) is None


@fast
@dtypes
@pytest.mark.parametrize(("levels", "features"), [(2, 33), (256, 784), (257, 40), (3001, 64)])
def test_squares_are_exact(levels, features, dtype):
    q = whole(levels, 530, features)
    X = (q / (levels - 1) - 0.3).astype(dtype)
    pairs = Pairs("squared", X)
    found = pairs.tile(EVERYTHING, EVERYTHING)
    squares = (q**2).sum(axis=1)
    expected = (squares[:, None] + squares - 2 * q @ q.T) / (levels - 1) ** 2
    np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(found.diagonal(), 0.0)
    np.testing.assert_array_equal(found, fill_gram(pairs, lambda tile: None))
    some, others = np.random.default_rng(1).permutation(530)[:77], np.arange(5, 50, 2)
    for rows in (some, others, slice(3, 70), slice(64, 530), slice(0, 530, 7)):
        for columns in (some, slice(40, 41), slice(512, 530)):
            np.testing.assert_array_equal(pairs.tile(rows, columns), found[rows][:, columns])


@fast
@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 2000), st.integers(32, 70), st.integers(0, 20))
def test_two_sides_share_one_grid(seed, levels, features, constant):
    q = whole(levels, 640, features, seed)
    q[:, :constant] = 1
    X, Z = 0.125 * q[:601] - 3.0, 0.125 * q[127:] - 3.0
    assert integer_squares(X, Z) is not None
    found = Pairs("squared", X, Z).tile(EVERYTHING, EVERYTHING)
    np.testing.assert_array_equal(
        found, ((q[:601, None, :8] - q[None, 127:, :8]) ** 2).sum(2) / 64 + rest(q, 8)
    )


def rest(q: Array, first: int) -> Array:
    """The squared distances of the other columns, in whole numbers."""
    q = q[:, first:]
    squares = (q**2).sum(axis=1)
    return (squares[:601, None] + squares[127:] - 2 * q[:601] @ q[127:].T) / 64


@fast
def test_one_number_beside_its_place_makes_ordinary_rows():
    X = whole(256).astype(np.float64)
    assert integer_squares(X, X) is not None
    Z = X.copy()
    Z[577, 3] += 1e-6
    assert integer_squares(Z, Z) is None
    assert integer_squares(X, Z) is None
    Z[577, 3] = 1e300
    assert integer_squares(X, Z) is None
    Z[577, 3] = 70_000.0  # whole, but too far away
    assert integer_squares(X, Z) is None
    np.testing.assert_allclose(
        Pairs("squared", X, Z).tile(slice(577, 578), slice(577, 578)),
        [[(70_000.0 - X[577, 3]) ** 2]],
    )


@fast
@pytest.mark.parametrize(("size", "fits"), [(3000.0, True), (8000.0, False)])
def test_sums_that_would_not_fit(size, fits):
    X = size * (whole(2) * 2 - 1)
    X[:, 0] = np.arange(600)  # the step is 1
    assert (integer_squares(X, X) is not None) is fits


@fast
def test_rows_that_are_all_the_same():
    X = np.tile(np.arange(40.0), (600, 1))
    assert integer_squares(X, X) is not None
    np.testing.assert_array_equal(Pairs("squared", X).tile(EVERYTHING, EVERYTHING), 0.0)


@fast
@dtypes
def test_squares_beyond_the_range_are_told(dtype):
    largest = np.finfo(dtype).max
    X = (whole(256) * np.sqrt(largest) / 100).astype(dtype)
    assert integer_squares(X, X) is None
    with pytest.raises(ValueError, match="overflow"):
        Pairs("squared", X)
    tiny = (whole(256) * (2 * np.sqrt(np.finfo(dtype).tiny) / 255)).astype(dtype)
    assert (
        integer_squares(tiny, tiny) is None
    )  # the largest squares are there, those of a step are not


@fast
def test_few_pairs_or_features_are_not_looked_at(monkeypatch):
    monkeypatch.setattr(integer_products, "whole_numbers", lambda matrices: pytest.fail("looked"))
    assert integer_squares(*[whole(256)[:, :31].astype(float)] * 2) is None
    assert integer_squares(*[whole(256)[:100].astype(float)] * 2) is None


def test_a_processor_without_them(monkeypatch):
    monkeypatch.setattr(integer_products, "can_multiply", lambda: False)
    X = whole(256).astype(float)
    assert integer_squares(X, X) is None
    assert Pairs("squared", X).tile(slice(0, 1), slice(1, 2)) == ((X[0] - X[1]) ** 2).sum()


@pytest.mark.parametrize(
    "asked", [{"NUMBA_CPU_NAME": "generic"}, {"NUMBA_CPU_FEATURES": "+sse2"}], ids=str
)
def test_code_for_another_processor(asked, tmp_path):
    """Whoever tells Numba to compile for another processor gets no instructions that it does not have."""
    code = "from pegasos.engine.kernels.integer_products import can_multiply; print(can_multiply())"
    environment = {**os.environ, **asked, "NUMBA_CACHE_DIR": str(tmp_path)}
    told = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == "False"


@fast
@dtypes
def test_the_same_model_with_and_without(dtype, monkeypatch):
    X = (whole(256, 2200, 48) / 255).astype(dtype)
    y = X[:, :4].sum(axis=1) > X[:, 4:8].sum(axis=1)
    new = 0.1 + X[:300] / 3  # rows on no grid
    scores = []
    for can in (True, False):
        monkeypatch.setattr(integer_products, "can_multiply", lambda can=can: can)
        model = SDCA(kernel=Gaussian(), lam=1e-3, tol=1e-6, random_state=0).fit(X, y)
        assert model.gap_ <= (1e-5 if dtype is np.float32 else 1e-6)
        scores.append(np.concatenate([model.decision_function(rows) for rows in (X, new)]))
    np.testing.assert_allclose(*scores, atol=0.02)


def test_whole_numbers_are_those_of_the_rows():
    q = whole(300, 1100, 3) - 50
    (found,), step = whole_numbers.whole_numbers([0.3 + 0.7 * q])
    assert found.dtype == np.int16
    assert step == pytest.approx(0.7)
    np.testing.assert_array_equal(found - found[0, 0], q - q[0, 0])
