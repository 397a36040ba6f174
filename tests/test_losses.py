"""Every loss in the table: convex, with a true slope, and a dual that bounds from below."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import reference
from pegasos.engine.losses import LOSSES, Loss

MARGINS = st.floats(-1e6, 1e6) | st.floats(-3, 3) | st.sampled_from([0.0, 1.0, -1.0])
BOUNDS = st.floats(1e-6, 1e6)
ALL = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
WITH_DUAL = pytest.mark.parametrize("loss", [loss for loss in LOSSES.values() if loss.dual], ids=lambda loss: loss.name)


def value(loss: Loss, margin: float) -> float:
    return float(loss.value(np.array([margin]))[0])


def slope(loss: Loss, margin: float) -> float:
    return float(loss.slope(np.array([margin]))[0])


def dual(loss: Loss, a: float, bound: float) -> float:
    assert loss.dual is not None
    return float(loss.dual(np.array([a]), np.array([bound]))[0])


@ALL
@given(margin=MARGINS)
@settings(deadline=None)
def test_value_is_that_of_the_textbook(loss: Loss, margin: float) -> None:
    assert value(loss, margin) == pytest.approx(reference.loss_value(loss.name, margin), rel=1e-14, abs=1e-300)


@ALL
@given(left=MARGINS, right=MARGINS, share=st.floats(0, 1))
@settings(deadline=None)
def test_value_is_convex(loss: Loss, left: float, right: float, share: float) -> None:
    middle = share * left + (1 - share) * right
    rounding = 1e-12 * (1 + abs(left) + abs(right))
    assert value(loss, middle) <= share * value(loss, left) + (1 - share) * value(loss, right) + rounding


@ALL
@given(at=MARGINS, elsewhere=MARGINS)
@settings(deadline=None)
def test_slope_is_a_subgradient(loss: Loss, at: float, elsewhere: float) -> None:
    rounding = 1e-12 * (1 + abs(at) + abs(elsewhere))
    assert value(loss, elsewhere) >= value(loss, at) + slope(loss, at) * (elsewhere - at) - rounding


@ALL
@given(margin=st.floats(-30, 30).filter(lambda z: min(abs(z), abs(z - 1)) > 1e-3))
@settings(deadline=None)
def test_slope_is_the_derivative_where_there_is_one(loss: Loss, margin: float) -> None:
    h = 1e-4
    assert slope(loss, margin) == pytest.approx((value(loss, margin + h) - value(loss, margin - h)) / (2 * h), abs=1e-7)


@ALL
def test_slope_at_a_tie_is_what_the_rules_do(loss: Loss) -> None:
    """Pegasos tests y s < 1 (no step at 1), the Perceptron y s <= 0 (a step at 0)."""
    assert slope(loss, 1.0) == {"hinge": 0.0, "perceptron": 0.0, "logistic": -reference.sigmoid(-1.0)}[loss.name]
    assert slope(loss, 0.0) == {"hinge": -1.0, "perceptron": -1.0, "logistic": -0.5}[loss.name]


@WITH_DUAL
@given(margin=MARGINS, share=st.floats(0, 1), bound=BOUNDS)
@settings(deadline=None)
def test_fenchel_young(loss: Loss, margin: float, share: float, bound: float) -> None:
    """d(a, C) <= C ℓ(z) + a z for all 0 <= a <= C and all z: summed up, this is weak duality."""
    a = share * bound
    rounding = 1e-12 * bound * (1 + abs(margin))
    assert dual(loss, a, bound) <= bound * value(loss, margin) + a * margin + rounding


@WITH_DUAL
@given(margin=st.floats(-30, 30), bound=BOUNDS)
@settings(deadline=None)
def test_fenchel_young_is_tight_at_the_slope(loss: Loss, margin: float, bound: float) -> None:
    a = -bound * slope(loss, margin)
    assert 0 <= a <= bound
    expected = bound * value(loss, margin) + a * margin
    assert dual(loss, a, bound) == pytest.approx(expected, rel=1e-9, abs=1e-11 * bound * (1 + abs(margin)))


@WITH_DUAL
@given(share=st.floats(0.01, 0.99), bound=BOUNDS)
@settings(deadline=None, max_examples=50)
def test_dual_term_is_the_conjugate(loss: Loss, share: float, bound: float) -> None:
    """d(a, C) = min over z of C ℓ(z) + a z, found by a numerical minimizer."""
    found = minimize_scalar(lambda z: value(loss, z) + share * z, bounds=(-10, 10), method="bounded", options={"xatol": 1e-10})
    assert dual(loss, share * bound, bound) == pytest.approx(bound * found.fun, rel=1e-6)


@WITH_DUAL
def test_dual_at_the_ends_of_the_box_and_without_a_box(loss: Loss) -> None:
    assert loss.dual is not None
    at_ends = loss.dual(np.array([0.0, 2.0, 0.0]), np.array([2.0, 2.0, 0.0]))
    assert at_ends.tolist() == {"hinge": [0.0, 2.0, 0.0], "logistic": [0.0, 0.0, 0.0]}[loss.name]


@ALL
def test_no_overflow_at_any_margin(loss: Loss) -> None:
    margins = np.array([-1e300, -1e6, -745.2, -40.0, 0.0, 40.0, 745.2, 1e6, 1e300])
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        values, slopes = loss.value(margins), loss.slope(margins)
    assert np.isfinite(values).all()
    assert ((slopes >= -1) & (slopes <= 0)).all()
    assert values[0] == 1e300


@ALL
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_stays(loss: Loss, dtype: Any) -> None:
    assert loss.value(np.array([-1, 0, 2], dtype=dtype)).dtype == dtype


def test_the_table_is_keyed_by_name() -> None:
    assert {name: loss.name for name, loss in LOSSES.items()} == {name: name for name in LOSSES}
    assert math.isclose(value(LOSSES["logistic"], 0.0), math.log(2))
