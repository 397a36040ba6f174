"""Fits of a linear SDCA in passes over rows that may be in memory, on disk or on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pegasos.engine.optimum.passes.cutting_planes import solve_by_cuts
from pegasos.engine.optimum.passes.limited_memory import solve_by_gradients
from pegasos.engine.optimum.passes.margin_rows import (
    LEAST_PASSES,
    plan_fetch,
    solve_by_fetched_rows,
)
from pegasos.engine.optimum.passes.newton import solve_in_passes
from pegasos.engine.optimum.passes.passes import MOST_FEATURES, NO_FOLD, Column, Passes
from pegasos.engine.optimum.problem import Certificate, Intercept, Optimum, summarize_histories
from pegasos.learners.catalogue import ONE_VS_REST
from pegasos.learners.sdca import SDCA
from pegasos.learners.task import class_weights, column_codes, constant_feature, intercept_of

Array = np.ndarray[Any, Any]
Chains = Sequence[Sequence[Column]]


def fit_in_passes(
    learner: SDCA,
    blocks: Passes,
    classes: Array,
    sums: Array,
    rows: int,
    present: Array,
    reach: float,
    dtype: Any,
) -> str:
    """Fit a linear learner to blocks of coded rows; return the method for `plan_`.

    Each class has a sum of sample weights, and a number of rows with a positive weight (present).
    `reach` is the largest x·x of all rows, `dtype` that of the fitted vectors.
    """
    columns = predictors(learner, classes, column_codes(len(classes)), sums, present)
    method, solved = solve(learner, blocks, [[column] for column in columns])
    found, lam = [certified for [certified] in solved], training_lam(learner, classes, sums)
    learner.classes_, learner.n_features_in_, learner.lam_ = classes, blocks.width, lam
    learner.coef_ = np.stack([each.vector for each in found]).astype(dtype)
    learner.intercept_ = np.array([each.bias for each in found]).astype(dtype)
    _set_history(learner, found)
    learner._m, learner._constant, learner._reach = rows, constant_feature(learner), reach
    learner._seed = 0
    learner._forget_training()
    return f"{method}, {learner.n_iter_} passes over the rows"


def _set_history(learner: SDCA, found: list[Optimum]) -> None:
    """Set the objectives and gaps at the end and after each pass."""
    lam = learner.lam_
    learner.objective_ = lam * np.array([each.primal for each in found])
    learner.dual_objective_ = lam * np.array([each.bound for each in found])
    courses = [np.array(each.history).reshape(-1, 2) for each in found]
    learner.n_iter_ = max(map(len, courses))
    relative = np.array([each.relative for each in found])
    learner.gap_, learner.gap_curve_ = relative.max(), np.tile(relative, (learner.n_iter_, 1))
    for column, course in enumerate(courses):
        learner.gap_curve_[: len(course), column] = Certificate(*course.T).relative
    learner.objective_curve_ = summarize_histories(
        [lam * course for course in courses], learner.objective_, learner.dual_objective_
    )


def training_lam(learner: SDCA, classes: Array, sums: Array) -> float:
    """Return λ, given the total sample weight of each class."""
    each = class_weights(learner.class_weight, classes, sums)
    return float(learner._lam_for(float((each * sums).sum())))


def predictors(
    learner: SDCA,
    classes: Array,
    codes: Array,
    sums: Array,
    present: Array,
    fold: int = NO_FOLD,
) -> list[Column]:
    """Return one predictor for each of these class codes."""
    each = class_weights(learner.class_weight, classes, sums)
    sums, rows = each * sums, int(present[each > 0.0].sum())
    total = float(sums.sum())
    cost = 1.0 / (learner._lam_for(total) * total)
    sides = [(float(sums[code]), float(total - sums[code])) for code in codes]
    return [
        Column(int(code), cost, both, rows, each, fold)
        for code, both in zip(codes, sides, strict=True)
    ]


def solve(learner: SDCA, blocks: Passes, chains: Chains) -> tuple[str, list[list[Optimum]]]:
    """Solve chains of predictors; return a description of the method, and the predictors.

    The predictors of a chain differ in λ only, and each starts from the one before.
    """
    if learner.multiclass != ONE_VS_REST:
        raise ValueError(
            f"multiclass={learner.multiclass!r} needs all rows in memory: raise the memory limit, "
            "or use 'one-vs-rest'."
        )
    hinge, intercept = learner._loss.linear_dual, intercept_of(learner)
    given = (intercept, float(learner.tol), int(learner.max_epochs))
    if blocks.width <= MOST_FEATURES and hinge:
        return _solve_hinge(blocks, chains, *given)
    if blocks.width <= MOST_FEATURES:
        return "Newton's method", solve_in_passes(blocks, hinge, chains, *given)
    if intercept is Intercept.FREE:
        raise ValueError(
            f"fit_intercept='free' needs at most {MOST_FEATURES:,} features in passes over rows, "
            f"not {blocks.width:,}. Use fit_intercept=True, or center the features."
        )
    if hinge:
        return "cutting planes", solve_by_cuts(blocks, chains, *given)
    return "L-BFGS", solve_by_gradients(blocks, chains, *given)


def _solve_hinge(
    blocks: Passes, chains: Chains, intercept: Intercept, tol: float, most: int
) -> tuple[str, list[list[Optimum]]]:
    """Solve by the rows near the margin if there are many others; the rest by Newton's method."""
    columns = [column for chain in chains for column in chain]
    share = plan_fetch(blocks, max((column.rows for column in columns), default=0), intercept)
    if share is None or most < LEAST_PASSES:
        return "Newton's method", solve_in_passes(blocks, True, chains, intercept, tol, most)
    found = solve_by_fetched_rows(blocks, columns, intercept, tol, share)
    solved = dict(zip(map(id, columns), found, strict=True))
    late = [[column for column in chain if solved[id(column)] is None] for chain in chains]
    others = solve_in_passes(blocks, True, late, intercept, tol, most)
    for chain, own in zip(late, others, strict=True):
        solved |= zip(map(id, chain), own, strict=True)
    method = "an interior point method for rows near the margin"
    method += ", Newton's method" if any(late) else ""
    return method, [[solved[id(column)] for column in chain] for chain in chains]  # type: ignore[misc]
