"""SDCA's optimum for rows in a file: an ordinary fitted learner, which nobody can tell from one that had all rows in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.engine.plan import Plan, budget_bytes
from pegasos.engine.threads import blas_threads
from pegasos.learners.from_passes import fit_in_passes, warn_if_late
from pegasos.learners.sdca import SDCA
from pegasos.program.large.prepared import FileBlocks, PreparedRows

Array = np.ndarray[Any, Any]


def fit_to_file(learner: SDCA, rows: PreparedRows, classes: Array, sums: Array, present: int) -> None:
    """Fit a linear SDCA; `sums` are Σ ω of each class, `present` is the number of rows with ω > 0."""
    learner.check_parameters()
    with FileBlocks(rows) as blocks:
        done = fit_in_passes(learner, blocks, classes, sums, rows.count, present, rows.reach, np.float64)
    budget = budget_bytes(learner.memory)
    learner.plan_ = Plan("dense", "by blocks", 0, 0, budget, blas_threads(), "rows in a file of float32", done)
    warn_if_late(learner, single=True)
