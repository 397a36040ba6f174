"""The logistic loss on wide explicit rows by L-BFGS: where a matrix of features x features costs more than many gradients.

At a = C σ(-m) the gap F - G is ‖gradient‖²/2 exactly, so that every evaluation has its certificate for nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import fmin_l_bfgs_b
from scipy.special import expit

from pegasos.engine.optimum.problem import Intercept, Optimum, Target
from pegasos.engine.rows.blocks import Block, Part, RowBlocks

Array = np.ndarray[Any, Any]

#: Gradients after which a matrix would have been cheaper, and past steps that shape the next one.
MOST_GRADIENTS, PAST = 120, 10


class _Arrived(Exception):  # noqa: N818 - it is what happened
    """The gap is small enough."""


def solve_logistic_by_gradients(
    X: Any, target: Target, intercept: Intercept, tol: float, members: Array | None = None
) -> Optimum | None:
    """The optimum of one target, without a free intercept; None if gradients do not get there soon."""
    with RowBlocks(X, members) as blocks:
        size = blocks.width + (intercept is Intercept.AUGMENTED)
        arrived: list[tuple[Array, float, float]] = []
        course: list[tuple[float, float]] = []

        def evaluate(vector: Array) -> tuple[float, Array]:
            part = blocks.map_sum(_gradient, vector, target)
            gradient = vector - part.sums[1][0]
            primal = float(0.5 * vector @ vector + part.sums[0][0])
            gap = float(0.5 * gradient @ gradient)
            course.append((primal, primal - gap))
            if gap <= tol * primal:
                arrived.append((vector.copy(), primal, gap))
                raise _Arrived
            return primal, gradient

        try:
            fmin_l_bfgs_b(
                evaluate,
                np.zeros(size),
                m=PAST,
                factr=0.0,
                pgtol=0.0,
                maxfun=MOST_GRADIENTS,
                maxiter=MOST_GRADIENTS,
            )
        except _Arrived:
            vector, primal, gap = arrived[0]
            dual = blocks.map_rows(_coefficients, vector, target)
            bias = float(vector[-1]) if size > blocks.width else 0.0
            return Optimum(
                vector[: blocks.width].copy(), bias, dual, primal, primal - gap, 0, tuple(course)
            )
    return None


def _coefficients(block: Block, vector: Array, target: Target) -> Array:
    """a = C σ(-m)."""
    margins = target.labels[block.span] * block.scores(block.rows(), vector)
    return np.asarray(target.bounds[block.span] * expit(-margins))


def _gradient(block: Block, vector: Array, target: Target) -> Part:
    """Σ C ℓ(m), and Σ a y x."""
    rows, labels, bounds = block.rows(), target.labels[block.span], target.bounds[block.span]
    margins = labels * block.scores(rows, vector)
    combination = np.empty((1, len(vector)))
    block.combine(rows, (labels * bounds * expit(-margins))[None, :], combination)
    return Part((np.array([bounds @ np.logaddexp(0.0, -margins)]), combination))
