"""Where to start many rows from: coefficients of the hinge loss that the optimum on a few of the rows foretells.

On a sample with the same λ nearly the same function is optimal. At the optimum a row whose margin is below 1 has a_i = C_i, and
one above has a_i = 0: so the sample's margins tell most coefficients of all rows, and w = Σ a_i y_i x_i is a sum of so many
that it hardly feels the few that are told wrong. The sample itself starts from a smaller one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.engine.optimum.hinge.lines import lines_of
from pegasos.engine.optimum.hinge.set_predictor import Limit
from pegasos.engine.optimum.hinge.working_sets import WorkingSets
from pegasos.engine.optimum.problem import Intercept, Target
from pegasos.engine.rows.sources import GramRows, KernelRows

Array = np.ndarray[Any, Any]

#: One row in so many makes a sample, of so many rows at least; so few rows are solved as soon as a sample of them.
ONE_IN, LEAST_SAMPLE, TOO_FEW = 5, 1000, 2000
#: The gap, and rounds at most, to which a sample is solved: it foretells no more than that.
SAMPLE_GAP, SAMPLE_ROUNDS = 0.02, 20


def sample_of(count: int, size: int) -> Array:
    """Some of `count` places, always the same ones, in no step in which labels might repeat."""
    return np.sort(np.random.default_rng(0).permutation(count)[:size])


def foretold(
    rows: GramRows | KernelRows, targets: list[Target], intercept: Intercept, memory: int
) -> Array:
    """Coefficients y·a to begin with, targets x rows."""
    sample = sample_of(rows.count, max(LEAST_SAMPLE, rows.count // ONE_IN))
    few = rows.some(sample)
    samples = [sampled(target, sample) for target in targets]
    start = foretold(few, samples, intercept, memory) if few.count > TOO_FEW else None
    sets = WorkingSets(lines_of(few, memory), few.diagonal, intercept)
    found = sets.solve(samples, SAMPLE_GAP, start, limit=Limit(SAMPLE_ROUNDS))
    scores = np.array([[optimum.bias] for optimum in found], dtype=rows.dtype).repeat(
        rows.count, axis=1
    )
    rows.add(sample, np.array([optimum.vector for optimum in found], dtype=rows.dtype), scores)
    return np.stack(
        [
            target.labels * np.where(target.labels * own < 1.0, target.bounds, 0.0)
            for target, own in zip(targets, scores, strict=True)
        ]
    )


def sampled(target: Target, sample: Array) -> Target:
    """The same λ: the sum of all C_i stays what it was."""
    bounds = target.bounds[sample]
    total = float(bounds.sum())
    return Target(
        target.labels[sample],
        bounds * (float(target.bounds.sum()) / total) if total > 0.0 else bounds,
    )
