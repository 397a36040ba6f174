"""A linear SDCA whose optimum was found in passes over rows that may be anywhere: which method, and the fitted attributes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from pegasos.engine.optimum.history import short_course
from pegasos.engine.optimum.passes.cutting_planes import solve_by_cuts
from pegasos.engine.optimum.passes.margin_rows import LEAST_PASSES, shares, solve_by_fetched_rows
from pegasos.engine.optimum.passes.newton import solve_in_passes
from pegasos.engine.optimum.passes.passes import MOST_FEATURES, NO_FOLD, Certified, Column, Passes
from pegasos.engine.optimum.problem import Certificate, Intercept
from pegasos.learners.catalogue import ONE_VS_REST
from pegasos.learners.convergence import NotConverged
from pegasos.learners.sdca import SDCA
from pegasos.learners.task import class_weights, column_codes, intercept_of

Array = np.ndarray[Any, Any]


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
    """Fit a linear learner to blocks of coded rows; returns what was done, in words, for the plan.

    sums, present  of each class: the sum of sample weights, and the number of rows where it is above 0
    rows   number of rows;  reach  the largest x·x;  dtype  of the fitted vectors
    """
    columns = predictors(learner, classes, column_codes(len(classes)), sums, present)
    method, found = solve(learner, blocks, [[column] for column in columns])
    _keep(
        learner,
        [certified for [certified] in found],
        classes,
        blocks.width,
        rows,
        training_lam(learner, classes, sums),
        np.dtype(dtype),
    )
    learner._reach = reach
    return f"{method}, {learner.n_iter_} passes over the rows"


def training_lam(learner: SDCA, classes: Array, sums: Array) -> float:
    """Return λ for rows whose classes have these sums of sample weights."""
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
    lam = learner._lam_for(total)
    sides = [(float(sums[code]), float(total - sums[code])) for code in codes]
    return [
        Column(int(code), 1.0 / (lam * total), both, rows, each, fold)
        for code, both in zip(codes, sides, strict=True)
    ]


def solve(
    learner: SDCA, blocks: Passes, chains: Sequence[Sequence[Column]]
) -> tuple[str, list[list[Certified]]]:
    """Return a description of the work and the predictors of all chains (see `engine.passes.follow`)."""
    if learner.multiclass != ONE_VS_REST:
        raise ValueError(
            f"multiclass={learner.multiclass!r} needs all rows in memory: in passes over the rows there is one-vs-rest "
            "only. Use scikit-learn's OneVsOneClassifier, or Nystroem features of a sample of the rows."
        )
    loss, intercept = learner._loss, intercept_of(learner)
    given = (intercept, float(learner.tol), int(learner.max_epochs))
    if blocks.width <= MOST_FEATURES and loss.linear_dual:
        return _solve_hinge(blocks, chains, *given)
    if blocks.width <= MOST_FEATURES:
        return "Newton's method", solve_in_passes(blocks, loss.linear_dual, chains, *given)
    if intercept is Intercept.FREE:
        raise ValueError(
            f"fit_intercept='free' with {blocks.width:,} features: in passes there is a way for at most {MOST_FEATURES:,}. "
            "Use fit_intercept=True (a regularized constant), or center the features."
        )
    if loss.linear_dual:
        return "cutting planes", solve_by_cuts(blocks, chains, *given)
    return "L-BFGS", solve_in_passes(blocks, loss.linear_dual, chains, *given)


def _solve_hinge(
    blocks: Passes, chains: Sequence[Sequence[Column]], intercept: Intercept, tol: float, most: int
) -> tuple[str, list[list[Certified]]]:
    """By the rows near the margin where there are many others; for those that do not arrive so by Newton's method."""
    columns = [column for chain in chains for column in chain]
    share = shares(blocks, max((column.rows for column in columns), default=0), intercept)
    if share is None or most < LEAST_PASSES:
        return "Newton's method", solve_in_passes(blocks, True, chains, intercept, tol, most)
    found = iter(solve_by_fetched_rows(blocks, columns, intercept, tol, share))
    by_chain = [[next(found) for _ in chain] for chain in chains]
    late = [
        [column for column, own in zip(chain, done, strict=True) if own is None]
        for chain, done in zip(chains, by_chain, strict=True)
    ]
    rest = iter(
        [
            each
            for chain in solve_in_passes(blocks, True, late, intercept, tol, most)
            for each in chain
        ]
    )
    method = "an interior point method for rows near the margin" + (
        ", Newton's method" if any(late) else ""
    )
    return method, [[next(rest) if own is None else own for own in done] for done in by_chain]


def _keep(
    learner: SDCA,
    found: list[Certified],
    classes: Array,
    width: int,
    rows: int,
    lam: float,
    dtype: np.dtype[Any],
) -> None:
    """The fitted attributes."""
    learner.classes_, learner.n_features_in_, learner.lam_ = classes, width, lam
    learner.coef_ = np.stack([each.vector for each in found]).astype(dtype)
    learner.intercept_ = np.array([each.bias for each in found]).astype(dtype)
    learner.objective_ = lam * np.array([each.primal for each in found])
    learner.dual_objective_ = lam * np.array([each.bound for each in found])
    courses = [np.array(each.course).reshape(-1, 2) for each in found]
    longest = max(map(len, courses))
    gaps = np.array([each.relative for each in found]) * np.ones((longest, 1))
    for column, course in enumerate(courses):
        gaps[: len(course), column] = Certificate(*course.T).relative
    learner.gap_curve_ = gaps
    final = learner.objective_, learner.dual_objective_
    learner.objective_curve_ = short_course([lam * course for course in courses], *final)
    learner.n_iter_, learner.gap_ = longest, max(each.relative for each in found)
    learner.checkpoints_ = []
    learner._m, learner._constant, learner._seed = (
        rows,
        float(intercept_of(learner) is Intercept.AUGMENTED),
        0,
    )
    learner._stage_vectors, learner._stage_bias = (
        np.empty((0, *learner.coef_.shape), dtype),
        np.empty((0, len(found)), dtype),
    )
    learner._saved = learner._mark = None
    learner.calibration_, learner.threshold_ = None, 0.0


def warn_if_late(learner: SDCA, single: bool) -> None:
    """A ConvergenceWarning where a gap stayed above tol."""
    if learner.gap_ > learner.tol:
        last = learner.gap_curve_[-1]
        late, stopped = int((last > learner.tol).sum()), learner.n_iter_ < learner.max_epochs
        name = type(learner).__name__
        warnings.warn(
            NotConverged(
                name, learner.n_iter_, learner.gap_, learner.tol, late, len(last), single, stopped
            ),
            stacklevel=4,
        )
