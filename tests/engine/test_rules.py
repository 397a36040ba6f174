"""Compare compiled rules with one-line formulas, and the logistic dual step with bisection."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from pegasos.engine.walk.losses import LOSSES, Loss, dual_step, sigmoid, softplus
from pegasos.engine.walk.rules import PEGASOS, PERCEPTRON, SDCA, Rule, change, drawn_loss
from pegasos.learners import catalogue

HINGE, LOGISTIC, MISTAKE = (LOSSES[name].code for name in ("hinge", "logistic", "perceptron"))
#: Every rule with every loss that a learner gives it.
METHODS = [(PERCEPTRON, LOSSES["perceptron"])] + [
    (rule, LOSSES[name]) for rule in (PEGASOS, SDCA) for name in catalogue.SDCA.losses
]

SCORES = st.floats(-1e4, 1e4) | st.floats(-3, 3) | st.sampled_from([0.0, 1.0, -1.0])
LABELS = st.sampled_from([-1.0, 1.0])
STEPS = st.integers(1, 10**6).map(float)
PARAMS = st.floats(1e-6, 1e3)
WEIGHTS = st.sampled_from([0.0, 1.0]) | st.floats(1e-3, 1e3)
WIDE = st.floats(-6, 6).map(lambda power: 10.0**power)


@given(s=SCORES, y=LABELS, t=STEPS, eta=PARAMS, weight=WEIGHTS)
@settings(deadline=None)
def test_perceptron(s: float, y: float, t: float, eta: float, weight: float) -> None:
    assert change(PERCEPTRON.code, MISTAKE, s, y, 0.0, 1.0, t, eta, weight, None) == (
        y * weight * eta if y * s <= 0 else 0.0
    )
    assert drawn_loss(PERCEPTRON.code, MISTAKE, s, y, t, eta) == max(0.0, -y * s)


@given(s=SCORES, y=LABELS, t=STEPS, lam=PARAMS, weight=WEIGHTS)
@settings(deadline=None)
def test_pegasos_hinge(s: float, y: float, t: float, lam: float, weight: float) -> None:
    assert change(PEGASOS.code, HINGE, s, y, 0.0, 1.0, t, lam, weight, None) == (
        y * weight if y * s < lam * t else 0.0
    )
    assert drawn_loss(PEGASOS.code, HINGE, s, y, t, lam) == max(0.0, 1.0 - y * s / (lam * t))


@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_ties(y: float) -> None:
    """y s = λ t is no violation for Pegasos; y s = 0 is a mistake for the Perceptron."""
    assert change(PEGASOS.code, HINGE, y * 2.0, y, 0.0, 1.0, 4.0, 0.5, 1.0, None) == 0.0
    assert (
        change(PEGASOS.code, HINGE, y * np.nextafter(2.0, 0.0), y, 0.0, 1.0, 4.0, 0.5, 1.0, None)
        == y
    )
    assert change(PERCEPTRON.code, MISTAKE, 0.0, y, 0.0, 1.0, 4.0, 0.5, 3.0, None) == 1.5 * y
    assert change(PERCEPTRON.code, MISTAKE, y * 5e-324, y, 0.0, 1.0, 4.0, 0.5, 3.0, None) == 0.0


@given(s=SCORES, y=LABELS, t=STEPS, lam=PARAMS, weight=WEIGHTS)
@settings(deadline=None)
def test_pegasos_logistic(s: float, y: float, t: float, lam: float, weight: float) -> None:
    expected = y * weight * reference.sigmoid(-y * s / (lam * t))
    assert change(PEGASOS.code, LOGISTIC, s, y, 0.0, 1.0, t, lam, weight, None) == pytest.approx(
        expected, rel=1e-13, abs=1e-300
    )
    assert drawn_loss(PEGASOS.code, LOGISTIC, s, y, t, lam) == pytest.approx(
        reference.loss_value("logistic", y * s / (lam * t)), rel=1e-13
    )


@given(
    s=SCORES,
    y=LABELS,
    share=st.floats(0, 1),
    kii=WIDE | st.just(0.0),
    C=WIDE,
    weight=st.floats(1e-3, 1e3),
)
@settings(deadline=None, max_examples=200)
def test_sdca_hinge(s: float, y: float, share: float, kii: float, C: float, weight: float) -> None:
    bound = C * weight
    own = share * bound
    if kii == 0 and y * s == 1:
        return  # a flat line: every point of the box is best
    expected = y * (reference.best_dual_hinge(own, y * s, kii, bound) - own)
    assert change(SDCA.code, HINGE, s, y, own, kii, 1.0, C, weight, True) == pytest.approx(
        expected, rel=1e-12, abs=1e-13 * bound
    )
    assert drawn_loss(SDCA.code, HINGE, s, y, 7.0, C) == max(0.0, 1.0 - y * s)


@given(
    s=SCORES,
    y=LABELS,
    share=st.floats(0, 1),
    kii=WIDE | st.just(0.0),
    C=WIDE,
    weight=st.floats(1e-3, 1e3),
)
@settings(deadline=None, max_examples=200)
def test_sdca_logistic(
    s: float, y: float, share: float, kii: float, C: float, weight: float
) -> None:
    bound = C * weight
    own = share * bound
    expected = y * (reference.best_dual_logistic(own, y * s, kii, bound) - own)
    got = change(SDCA.code, LOGISTIC, s, y, own, kii, 1.0, C, weight, True)
    assert got == pytest.approx(expected, rel=1e-9, abs=1e-12 * bound)
    assert drawn_loss(SDCA.code, LOGISTIC, s, y, 7.0, C) == pytest.approx(
        reference.loss_value("logistic", y * s), rel=1e-13
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("s", [-2.0, 0.0, 2.0])
def test_a_weight_of_zero_changes_nothing(method: tuple[Rule, Loss], s: float) -> None:
    rule, loss = method
    assert (
        change(rule.code, loss.code, s, 1.0, 0.0, 1.5, 3.0, 0.5, 0.0, rule.reads_own or None) == 0.0
    )


def test_the_logistic_dual_step_over_twelve_orders_of_magnitude() -> None:
    """The step is the zero of h to rounding, and inside the box."""
    random = np.random.default_rng(0)
    for _ in range(3000):
        bound, kii = 10.0 ** random.uniform(-6, 6, 2)
        ys = random.normal() * 10.0 ** random.uniform(-3, 6)
        own = bound * random.choice([0.0, 1.0, random.random(), 1e-12, 1 - 1e-12])
        z = dual_step(LOGISTIC, ys, own, kii, bound)
        expected = reference.best_dual_logistic(own, ys, kii, bound)
        assert 0 <= z <= bound
        # θ is known to about 1e-16 of the largest term of h, and |dz| <= z(1 - z/C) |dθ|
        terms = 1 + abs(ys) + kii * bound
        allowed = 1e-12 * expected + 1e-14 * terms * expected * (1 - expected / bound) / (
            1 + kii * expected * (1 - expected / bound)
        )
        assert abs(z - expected) <= allowed + 1e-300, (ys, own, kii, bound)


@given(st.floats(-1e308, 1e308))
@settings(deadline=None)
def test_sigmoid_and_softplus_do_not_overflow(z: float) -> None:
    assert sigmoid(z) == pytest.approx(reference.sigmoid(z), rel=1e-14, abs=0)
    assert softplus(z) == pytest.approx(reference.loss_value("logistic", -z), rel=1e-14, abs=0)
    assert math.isfinite(softplus(z))


@given(
    st.sampled_from([method for method in METHODS if method[1].mergeable]),
    SCORES,
    LABELS,
    st.floats(0, 1),
    st.lists(WIDE, min_size=3, max_size=8),
    STEPS,
)
@settings(deadline=None, max_examples=200)
def test_mergeable_answers_of_sorted_params_are_settled_by_the_ends(
    method: tuple[Rule, Loss], s: float, y: float, share: float, params: list[float], t: float
) -> None:
    """If the smallest and largest λ decide alike, so do all between them."""
    params = sorted(params)
    own = share * params[0]
    rule, loss = method
    dual = rule.reads_own or None
    answers = [
        change(rule.code, loss.code, s, y, own, 0.7, t, param, 1.3, dual) for param in params
    ]
    if answers[0] == answers[-1]:
        assert set(answers) == {answers[0]}


def test_an_unknown_code_is_refused() -> None:
    """No code falls through to the last formula."""
    with pytest.raises(ValueError, match="rule"):
        change(99, HINGE, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, None)
    for rule in (PERCEPTRON, PEGASOS, SDCA):
        with pytest.raises(ValueError, match="loss"):
            change(rule.code, 99, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, rule.reads_own or None)
        with pytest.raises(ValueError, match="loss"):
            drawn_loss(rule.code, 99, 1.0, 1.0, 1.0, 1.0)


def test_learners_declare_whether_their_rule_keeps_coefficients() -> None:
    for declaration, rule in (
        (catalogue.PERCEPTRON, PERCEPTRON),
        (catalogue.PEGASOS, PEGASOS),
        (catalogue.SDCA, SDCA),
    ):
        assert declaration.keeps_coefficients == rule.reads_own
