"""Test every loss of the table: convexity, slope, and the dual as a lower bound."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import reference
from pegasos.engine.walk import losses
from pegasos.engine.walk.losses import LOSSES, Loss
from pegasos.learners import catalogue

MARGINS = st.floats(-1e6, 1e6) | st.floats(-3, 3) | st.sampled_from([0.0, 1.0, -1.0])
BOUNDS = st.floats(1e-6, 1e6)
ALL = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
REGULARIZED = [loss.name for loss in LOSSES.values() if loss.default_kernel_lam is not None]
WITH_DUAL = pytest.mark.parametrize("loss", [LOSSES[name] for name in REGULARIZED], ids=REGULARIZED)


def value(loss: Loss, margin: float) -> float:
    return losses.value(loss.code, margin)


def slope(loss: Loss, margin: float) -> float:
    return losses.slope(loss.code, margin, 1.0)


def dual(loss: Loss, a: float, bound: float) -> float:
    return losses.dual_term(loss.code, a, bound)


@ALL
@given(margin=MARGINS)
@settings(deadline=None)
def test_value_is_that_of_the_textbook(loss: Loss, margin: float) -> None:
    assert value(loss, margin) == pytest.approx(
        reference.loss_value(loss.name, margin), rel=1e-14, abs=1e-300
    )


@ALL
@given(left=MARGINS, right=MARGINS, share=st.floats(0, 1))
@settings(deadline=None)
def test_value_is_convex(loss: Loss, left: float, right: float, share: float) -> None:
    middle = share * left + (1 - share) * right
    rounding = 1e-12 * (1 + abs(left) + abs(right))
    assert (
        value(loss, middle)
        <= share * value(loss, left) + (1 - share) * value(loss, right) + rounding
    )


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
    assert slope(loss, margin) == pytest.approx(
        (value(loss, margin + h) - value(loss, margin - h)) / (2 * h), abs=1e-7
    )


@ALL
def test_slope_at_a_tie_is_what_the_rules_do(loss: Loss) -> None:
    """Pegasos tests y s < 1 (no step at 1), the Perceptron y s <= 0 (a step at 0)."""
    assert (
        slope(loss, 1.0)
        == {"hinge": 0.0, "perceptron": 0.0, "logistic": -reference.sigmoid(-1.0)}[loss.name]
    )
    assert slope(loss, 0.0) == {"hinge": -1.0, "perceptron": -1.0, "logistic": -0.5}[loss.name]


@WITH_DUAL
@given(margin=MARGINS, share=st.floats(0, 1), bound=BOUNDS)
@settings(deadline=None)
def test_fenchel_young(loss: Loss, margin: float, share: float, bound: float) -> None:
    """d(a, C) <= C ℓ(z) + a z for 0 <= a <= C and all z; its sum is weak duality."""
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
    assert dual(loss, a, bound) == pytest.approx(
        expected, rel=1e-9, abs=1e-11 * bound * (1 + abs(margin))
    )


@WITH_DUAL
@given(share=st.floats(0.01, 0.99), bound=BOUNDS)
@settings(deadline=None, max_examples=50)
def test_dual_term_is_the_conjugate(loss: Loss, share: float, bound: float) -> None:
    """Compare d(a, C) = min over z of C ℓ(z) + a z with a numerical minimizer."""
    found = minimize_scalar(
        lambda z: value(loss, z) + share * z,
        bounds=(-10, 10),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert dual(loss, share * bound, bound) == pytest.approx(bound * found.fun, rel=1e-6)


@WITH_DUAL
def test_dual_at_the_ends_of_the_box_and_without_a_box(loss: Loss) -> None:
    at_ends = [dual(loss, a, bound) for a, bound in ((0.0, 2.0), (2.0, 2.0), (0.0, 0.0))]
    assert at_ends == {"hinge": [0.0, 2.0, 0.0], "logistic": [0.0, 0.0, 0.0]}[loss.name]


@WITH_DUAL
@given(
    ys=st.floats(-30, 30),
    share=st.floats(0, 1),
    kii=st.floats(1e-3, 1e3),
    bound=st.floats(1e-3, 1e3),
)
@settings(deadline=None)
def test_dual_step_gains_most(
    loss: Loss, ys: float, share: float, kii: float, bound: float
) -> None:
    """No feasible point of a grid has a larger d(z, C) - kii (z - own)²/2 - ys (z - own)."""
    own = share * bound

    def gain(z: float) -> float:
        return dual(loss, z, bound) - kii * (z - own) ** 2 / 2 - ys * (z - own)

    z = losses.dual_step(loss.code, ys, own, kii, bound)
    limit = bound
    assert 0 <= z <= limit
    grid = np.linspace(0, min(limit, 4 * (bound + abs(z))), 101).tolist()
    rounding = 1e-9 * (1 + abs(gain(z)) + bound * (1 + abs(ys)) + kii * bound**2)
    assert gain(z) >= max(map(gain, grid)) - rounding


@ALL
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_overflow_at_any_margin(loss: Loss, dtype: Any) -> None:
    largest = 1e38 if dtype is np.float32 else 1e300
    margins = np.array([-largest, -1e6, -745.2, -40.0, 0.0, 40.0, 745.2, 1e6, largest], dtype=dtype)
    values = [value(loss, float(margin)) for margin in margins]
    slopes = loss.slopes(margins)
    assert np.isfinite(values).all()
    assert ((slopes >= -1) & (slopes <= 0)).all()
    assert values[0] == -margins[0]
    assert slopes.dtype == dtype, "an array of slopes keeps its dtype"
    assert slopes.tolist() == [dtype(slope(loss, float(margin))) for margin in margins]


@ALL
@pytest.mark.parametrize("shape", [(0,), (3,), (2, 3), (3, 2)])
def test_arrays_keep_their_shape_and_order(loss: Loss, shape: tuple[int, ...]) -> None:
    margins = np.random.default_rng(0).normal(size=shape[::-1]).T
    expected = [slope(loss, margin) for margin in margins.ravel().tolist()]
    assert loss.slopes(margins).shape == shape
    assert loss.slopes(margins).ravel().tolist() == expected


@pytest.mark.parametrize("code", [99, -1, LOSSES["perceptron"].code])
def test_a_loss_without_a_formula_is_refused(code: int) -> None:
    """No loss falls through to another one; the Perceptron's has no dual here."""
    calls = [lambda: losses.dual_term(code, 0.5, 1.0)]
    calls.append(lambda: losses.dual_step(code, 0.5, 0.5, 1.0, 1.0))
    if code != LOSSES["perceptron"].code:
        calls += [lambda: losses.value(code, 0.5), lambda: losses.slope(code, 0.5, 1.0)]
    for call in calls:
        with pytest.raises(ValueError, match="no formula for this loss"):
            call()


def test_the_table_is_keyed_by_name() -> None:
    assert {name: loss.name for name, loss in LOSSES.items()} == {name: name for name in LOSSES}
    assert len({loss.code for loss in LOSSES.values()}) == len(LOSSES)
    assert math.isclose(value(LOSSES["logistic"], 0.0), math.log(2))


@ALL
@given(margin=st.floats(-30, 30))
@settings(deadline=None)
def test_the_printed_formula_is_the_computed_one(loss: Loss, margin: float) -> None:
    printed = eval(loss.formula, {"m": margin, "max": max, "log": math.log, "exp": math.exp})
    assert value(loss, margin) == pytest.approx(printed, rel=1e-9, abs=1e-12)


def test_learners_declare_losses_of_the_table() -> None:
    """The catalogue, which imports no compiled code, agrees with the table of losses."""
    for declaration in (catalogue.PEGASOS, catalogue.SDCA):
        assert set(declaration.losses) == set(REGULARIZED)
    for model in catalogue.PEGASOS.models:
        formula = re.sub(r"\bm\b", "y w·x", LOSSES[model.fixed["loss"]].formula)
        assert model.objective == f"λ/2 |w|² + mean {formula}"


def test_the_flag_of_a_linear_dual_is_true() -> None:
    for name in REGULARIZED:
        loss = LOSSES[name]
        assert loss.linear_dual == all(dual(loss, a, 2.0) == a for a in (0.0, 0.5, 1.0, 2.0))
