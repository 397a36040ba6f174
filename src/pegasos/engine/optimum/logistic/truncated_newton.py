"""Newton's method for the logistic loss, its steps by preconditioned conjugate gradients: any rows, any C.

The predictor is w = Σ c_i φ(x_i) with scores s = K c (+ b). With β_i = y_i C_i σ(-y_i s_i) and D_i = C_i σ(s_i) σ(-s_i) the
gradient is w - Σ β_i φ(x_i), so that with r = β - c Newton's step δ solves (I + D K) δ = r. It is had from a symmetric system:

    δ = r - W v,   (I + W K W) v = W K r,   W = D½

K r is known from the certificate (a = y β is the dual candidate), and where conjugate gradients leave the residual ρ, the model
of F is within ‖ρ‖²/2 of its minimum, and so will be the next duality gap (as far as F is quadratic): that is when to stop them.
A free intercept stands at its best at any time, which makes Σ β_i = 0, and is projected out of the system.

Large C is reached in stages, each ten times the last: fewer steps, and no c that is much larger than it need be, whose scores
would drown in rounding. All predictors go in step: one product with K for all of them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pegasos.engine.optimum.conjugate_gradients import System, Systems, systems_bytes
from pegasos.engine.optimum.function_space import FunctionSpace
from pegasos.engine.optimum.logistic.logistic_state import State, balance, dot
from pegasos.engine.optimum.problem import Intercept, Optimum, Target
from pegasos.engine.runtime.compiling import announced
from pegasos.engine.runtime.interruption import deadline_reached, tell_gap

Array = np.ndarray[Any, Any]

#: Newton steps at most, and steps without progress (each solved more exactly than the last) after which a target rests.
MOST_STEPS = 200
PATIENCE = 3
#: Part of the model's decrease that conjugate gradients may leave, and part of the gap asked for.
LEFT_OF_MODEL = 0.05
LEFT_OF_GAP = 0.2
#: Stages: C·K_ii of the first one, how much larger that of the next one is, and the relative gap that suffices to enter it.
FIRST_STAGE = 10.0
STAGE_FACTOR = 10.0
STAGE_GAP = 0.5
#: A start with a larger gap than this is worse than stages from zero.
START_GAP = 0.9


def solve_logistic_iteratively(
    rows: Any,
    targets: list[Target],
    intercept: Intercept,
    tol: float,
    members: Array | None = None,
    start: Array | None = None,
) -> list[Optimum]:
    """Return the optimum of each target to a relative gap of `tol`.

    The rows' dtype or a deadline may leave a larger gap, which the optimum then states.

    start  targets x m dual coefficients y·a from which to go, None: zero
    """
    if not targets:
        return []
    space = FunctionSpace(rows, members, 1.0 if intercept is Intercept.AUGMENTED else 0.0)
    states = [
        State.make(k, target, intercept is Intercept.FREE) for k, target in enumerate(targets)
    ]
    systems = Systems(space, len(targets))
    with announced("newton-float64"):
        fresh = [state for state in states if not state.trivial]
        if start is not None:
            _take_start(space, fresh, np.asarray(start, dtype=np.float64))
            _go(systems, [state for state in fresh if state.relative <= START_GAP], tol)
            fresh = [state for state in fresh if state.relative > tol]
        earlier = [state.best for state in fresh]
        largest = float(space.diagonal.max(initial=0.0))
        for state in fresh:
            steepest = largest * float(state.bounds.max())
            state.restart(FIRST_STAGE / steepest if 0 < steepest < math.inf else 1.0)
        _go(systems, fresh, tol)
        for state, best in zip(fresh, earlier, strict=True):
            state.improve(best)
    vectors = space.vectors(np.stack([state.best.coefficients for state in states]))
    return [state.answer(vector, intercept) for state, vector in zip(states, vectors, strict=True)]


def _go(systems: Systems, active: list[State], tol: float) -> None:
    """Take Newton steps for all targets until each has converged or stalls, or the deadline."""
    for step in range(MOST_STEPS + 1):
        last = step == MOST_STEPS or deadline_reached()
        for state in active:
            if last and state.share < 1.0:
                state.enter(1.0)
        active = _look(systems.space, active, tol, step)
        if not active or last:
            return
        tell_gap(max(state.relative for state in active), tol)
        _move(systems, active, tol)


def workspace_bytes(m: int, count: int, width: int, targets: int, itemsize: int = 8) -> int:
    """An upper estimate of all arrays, X and K excluded: m of `count` rows, of `width` features (kernels: 0)."""
    state = targets * m * 8 * 26
    products = 2 * targets * (count * (itemsize + 16) + 6 * width * itemsize)
    return state + products + systems_bytes(m, targets)


def _take_start(space: FunctionSpace, states: list[State], start: Array) -> None:
    """Go from zero towards `start` as far as that is good."""
    directions = np.array([start[state.number] for state in states]).reshape(len(states), space.m)
    for state, direction in zip(states, directions, strict=True):
        direction[~np.isfinite(direction) | (state.bounds == 0)] = 0.0
        if state.free:
            balance(direction)
    for state, direction, scores in zip(states, directions, space.scores(directions), strict=True):
        length = dot(direction, scores)
        if 0 < length < math.inf:
            state.center()
            t = state.line_search(scores, 0.0, length)
            state.coefficients, state.scores, state.whole_step = (
                t * direction,
                t * scores,
                direction,
            )
    _look(space, states, 0.0, 0)


def _look(space: FunctionSpace, states: list[State], tol: float, step: int) -> list[State]:
    """Exact scores and certificates of all, in one product; those that go on."""
    for state in states:
        state.settle()
    going: list[State] = []
    if not states:
        return going
    columns = [(state.coefficients, state.push, state.clipped) for state in states]
    scores = space.scores(np.stack([column for three in columns for column in three]), exact=True)
    changed = []
    for state, three in zip(states, scores.reshape(len(states), 3, -1), strict=True):
        state.rounds = step
        state.stalled = 0 if state.note(*three) else state.stalled + 1
        if state.share < 1.0:
            if state.relative <= max(STAGE_GAP, tol) or state.stalled >= PATIENCE:
                state.enter(STAGE_FACTOR * state.share)
                changed.append(state)
            else:
                going.append(state)
        elif state.relative > tol and state.stalled < PATIENCE:
            going.append(state)
    return going + _look(space, changed, tol, step)


def _move(systems: Systems, states: list[State], tol: float) -> None:
    """One Newton step of all."""
    exactness = np.array([0.1**state.stalled for state in states])
    gaps = LEFT_OF_GAP * tol * exactness * np.array([state.best.primal for state in states])
    system = System(
        np.sqrt(np.stack([state.curvature for state in states])),
        np.stack([state.rest for state in states]),
        np.stack([state.rest_scores for state in states]),
        gaps,
        LEFT_OF_MODEL * exactness,
        states[0].free,
    )
    systems.solve(system, np.array([state.number for state in states]))
    for state, step, scores, shift in zip(
        states, *system.steps(np.arange(len(states))), strict=True
    ):
        if not dot(state.rest, scores) > 0:  # no way down, by rounding: the gradient is one
            step, scores, shift = state.rest, state.rest_scores, 0.0
        t = state.line_search(
            scores + shift, dot(state.coefficients, scores), max(0.0, dot(step, scores))
        )
        state.whole_step = state.coefficients + step
        state.coefficients = state.coefficients + t * step
        state.scores = state.scores + t * scores
        state.bias += t * float(shift)
