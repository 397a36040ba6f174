"""The arrays of a walk, as compiled code takes them. Every array of `State` has one row a column.

With V = Σ_r A[r] φ(x_r) the raw vector of a column:

    weights       dual: the scores F = V·φ(x_r) of all rows; primal: V itself
    bias          V's component along the constant feature
    coefficients  A (always in the dual; in the primal only for rules that read their own coefficient)
    sums          B, for averages: Σ_{τ<=t} c_τ V_τ = clock·V - B, where c_τ = 1/τ (Pegasos) or 1 (Perceptron)
    scale, norm   with projection the true vector is scale·V, and norm is its squared length
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


class Problem(NamedTuple):
    """Class code, weight and K_ii (with the constant feature) of each row."""

    codes: Array
    weight: Array
    diagonal: Array


class Columns(NamedTuple):
    """Column j predicts classes[j] against the rest for params[low[j]:high[j]]; active[0] columns are in use."""

    active: Array
    classes: Array
    low: Array
    high: Array
    frozen: Array
    params: Array


class State(NamedTuple):
    weights: Array
    bias: Array
    coefficients: Array
    sums: Array
    sum_bias: Array
    scale: Array
    norm: Array
    clock: Array
    loss: Array
    mistakes: Array


class Block(NamedTuple):
    """The drawn rows, their scores (columns x examples), and their changes, also times the clock.

    `place` is the example and the column at which a loop stopped, or goes on.
    """

    drawn: Array
    scores: Array
    changes: Array
    clocked: Array
    touched: Array
    line: Array
    place: Array


class Mode(NamedTuple):
    """Settings of a loop: codes of the rule and the loss, examples a step, constant feature (0 or 1), and five switches."""

    rule: int
    loss: int
    batch: int
    constant: float
    projecting: bool
    averaging: bool
    tracking: bool
    dual: bool
    reads_own: bool
