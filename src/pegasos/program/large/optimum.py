"""SDCA's optimum for rows in a file: an ordinary fitted learner, which nobody can tell from one that had all rows in memory."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from pegasos.engine.cutting_planes import solve_by_cuts
from pegasos.engine.losses import LOSSES
from pegasos.engine.optimum import Intercept
from pegasos.engine.passes import MOST_FEATURES, Certified, Column
from pegasos.engine.plan import Plan, budget_bytes
from pegasos.engine.streaming import solve_in_passes
from pegasos.engine.threads import blas_threads
from pegasos.learners.convergence import NotConverged
from pegasos.learners.sdca import SDCA
from pegasos.learners.task import column_codes, intercept_of
from pegasos.program.large.prepared import FileBlocks, PreparedRows

Array = np.ndarray[Any, Any]


def fit_in_passes(learner: SDCA, rows: PreparedRows, classes: Array, sums: Array, present: int) -> None:
    """Fit a linear SDCA; `sums` are Σ ω of each class, `present` is the number of rows with ω > 0."""
    learner.check_parameters()
    lam, total, intercept = float(learner.lam_ or 0.0), float(sums.sum()), intercept_of(learner)
    columns = [
        Column(int(code), 1.0 / (lam * total), (float(sums[code]), float(total - sums[code])), present)
        for code in column_codes(len(classes))
    ]
    given, loss = (intercept, float(learner.tol), int(learner.max_epochs)), LOSSES[learner.loss]
    with FileBlocks(rows) as blocks:
        if rows.width > MOST_FEATURES and loss.linear_dual:
            method, found = "cutting planes", solve_by_cuts(blocks, columns, *given)
        else:
            method = "Newton's method" if rows.width <= MOST_FEATURES else "L-BFGS"
            found = solve_in_passes(blocks, loss, columns, *given)
    _publish(learner, found, rows, classes, lam, method, intercept)


def _publish(
    learner: SDCA, found: list[Certified], rows: PreparedRows, classes: Array, lam: float, method: str, intercept: Intercept
) -> None:
    """The fitted attributes."""
    passes = max(len(each.curve) for each in found)
    learner.classes_, learner.n_features_in_ = classes, rows.width
    learner.coef_ = np.stack([each.vector for each in found])
    learner.intercept_ = np.array([each.bias for each in found])
    learner.objective_ = lam * np.array([each.primal for each in found])
    learner.dual_objective_ = lam * np.array([each.bound for each in found])
    curves = [[*each.curve, *[each.relative] * (passes - len(each.curve))] for each in found]
    learner.gap_curve_ = np.array(curves).T.reshape(passes, len(found))
    learner.n_iter_, learner.gap_ = passes, max(each.relative for each in found)
    done, budget = f"{method}, {passes} passes over the rows", budget_bytes(learner.memory)
    learner.plan_ = Plan("dense", "by blocks", 0, 0, budget, blas_threads(), "rows in a file of float32", done)
    learner.checkpoints_ = []
    learner._m, learner._constant, learner._seed = rows.count, float(intercept is Intercept.AUGMENTED), 0
    learner._stage_vectors, learner._stage_bias = np.empty((0, *learner.coef_.shape)), np.empty((0, len(found)))
    learner._saved = learner._mark = None
    if learner.gap_ > learner.tol:
        late = int((learner.gap_curve_[-1] > learner.tol).sum())
        message = NotConverged("SDCA", passes, learner.gap_, learner.tol, late, len(found), True, passes < learner.max_epochs)
        warnings.warn(message, stacklevel=3)
