"""Coefficients to start from on many rows, which the optimum on a sample of them predicts.

On a sample with the same λ nearly the same function is optimal. At the optimum a row whose margin is
below 1 has a_i = C_i, and one above has a_i = 0: so the sample's margins predict most coefficients of
all rows, and w = Σ a_i y_i x_i, a sum of so many, hardly changes with the few that are wrong. The
sample itself starts from a smaller one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.engine.optimum.hinge.kernel_sources import kernel_source
from pegasos.engine.optimum.hinge.set_predictor import Limit
from pegasos.engine.optimum.hinge.working_set import WorkingSetSolver
from pegasos.engine.optimum.problem import Intercept, Target
from pegasos.engine.rows.blocks import sample_of
from pegasos.engine.rows.sources import GramRows, KernelRows

Array = np.ndarray[Any, Any]

#: One row in five is sampled, at least 1,000; up to 2,000 rows are solved as soon as a sample of them.
ONE_IN, LEAST_SAMPLE, TOO_FEW = 5, 1000, 2000
#: Gap and rounds to which a sample is solved: what it predicts is not more exact than that.
SAMPLE_GAP, SAMPLE_ROUNDS = 0.02, 20


def predict_coefficients(
    rows: GramRows | KernelRows, targets: list[Target], intercept: Intercept, memory: int
) -> Array:
    """Return coefficients y·a to start from (targets x rows)."""
    sample = sample_of(rows.count, max(LEAST_SAMPLE, rows.count // ONE_IN))
    few = rows.some(sample)
    samples = [sampled(target, sample) for target in targets]
    start = predict_coefficients(few, samples, intercept, memory) if few.count > TOO_FEW else None
    solver = WorkingSetSolver(kernel_source(few, memory), few.diagonal, intercept)
    found = solver.solve(samples, SAMPLE_GAP, start, limit=Limit(SAMPLE_ROUNDS))
    bias = np.array([[optimum.bias] for optimum in found], dtype=rows.dtype)
    scores = bias.repeat(rows.count, axis=1)
    rows.add(sample, np.array([optimum.vector for optimum in found], dtype=rows.dtype), scores)
    return np.stack(
        [
            target.labels * np.where(target.labels * own < 1.0, target.bounds, 0.0)
            for target, own in zip(targets, scores, strict=True)
        ]
    )


def sampled(target: Target, sample: Array) -> Target:
    """Return the target on a sample with the same λ: the sum of all C_i stays what it was."""
    bounds = target.bounds[sample]
    total = float(bounds.sum())
    factor = float(target.bounds.sum()) / total if total > 0.0 else 1.0
    return Target(target.labels[sample], factor * bounds)
