"""Optimized cutting planes: the hinge loss on wide rows, in passes that store nothing per row.

R(w) = Σ C max(0, 1 - m) is convex: R(w) >= b - w·g for all w, where g = Σ C y x and b = Σ C over
the rows with m < 1 at any one point. The maximum of such cuts is a lower bound R' of R. The
minimum of ‖w‖²/2 + R'(w), a small problem whose dual is max Σ α_t b_t - ‖Σ α_t g_t‖²/2 over the
simplex, is a lower bound of the optimum.

An iteration is one pass along the line from the best vector to that minimizer: it returns R and
the cuts at five step sizes. The next pass starts at the best of them. Cuts are dropped once they
have had no weight for many passes.

References
----------
Franc, Sonnenburg (2009), Optimized cutting plane algorithm for large-scale risk minimization.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.engine.optimum.passes.passes import Column, Passes, SolverState, solve_chains
from pegasos.engine.optimum.problem import Intercept, Optimum
from pegasos.engine.rows.blocks import MATRIX_BYTES, Block, Part
from pegasos.engine.runtime.compiling import announced, compiled

Array = np.ndarray[Any, Any]

#: Step sizes that a pass tries, as multiples of the best one of the last pass.
LENGTHS = 2.0 ** np.arange(-2, 3)
#: Passes for which a cut without weight is kept, because it may become active again.
KEPT_PASSES = 40


@dataclass(frozen=True)
class CutRequest:
    """Input of a pass for one predictor: best vector and direction, and step sizes to try."""

    column: Column
    vectors: Array
    lengths: Array


def solve_by_cuts(
    blocks: Passes,
    chains: Sequence[Sequence[Column]],
    intercept: Intercept,
    tol: float,
    most: int = 1000,
) -> list[list[Optimum]]:
    """Solve all columns to a relative gap of tol (see `solve_chains`); no free intercept."""
    size = blocks.width + (intercept is Intercept.AUGMENTED)

    def make_state(_: int, column: Column, before: _Bundle | None) -> _Bundle:
        return _Bundle(column, blocks.width, size, tol, before)

    def run_pass(bundles: list[_Bundle]) -> None:
        sums = blocks.map_sum(_cut_block, [bundle.request() for bundle in bundles]).sums
        for bundle, *own in zip(bundles, *sums, strict=True):
            bundle.update(*own)

    at_once = max(1, MATRIX_BYTES // (8 * size * len(LENGTHS)))
    return solve_chains(chains, at_once, make_state, run_pass, tol, most)


class _Bundle(SolverState):
    """Solver state of one predictor: cuts, best vector, and minimizer of the small problem."""

    def __init__(
        self, column: Column, width: int, size: int, tol: float, before: _Bundle | None = None
    ) -> None:
        super().__init__(width)
        self.column, self.tol = column, tol
        self.best = self.minimizer = np.zeros(size)
        self.length = 1.0
        # The first cut is R >= 0.
        self.cuts, self.offsets, self.products = np.zeros((1, size)), np.zeros(1), np.zeros((1, 1))
        self.alpha, self.unused = np.ones(1), np.zeros(1, dtype=np.int64)
        self.primal = column.unit * sum(column.label_weights)
        self.bound = 0.0
        self.is_trivial = sum(column.label_weights) <= 0.0
        if before is not None and not self.is_trivial:
            self._start_at(before)

    def _start_at(self, before: _Bundle) -> None:
        """Start at the best vector for another C: R and its cuts are proportional to C."""
        scale = self.column.unit / before.column.unit
        squared = 0.5 * float(before.best @ before.best)
        self.cuts, self.offsets = scale * before.cuts, scale * before.offsets
        self.products = scale * scale * before.products
        self.alpha, self.unused = before.alpha.copy(), before.unused.copy()
        self.best, self.primal = before.best, squared + scale * (before.primal - squared)
        self._solve()

    def _lengths(self) -> Array:
        """Return the step sizes to try, always five, so that one pass serves many predictors."""
        inside = np.minimum(self.length * LENGTHS, 1.0)
        return inside if (self.minimizer != self.best).any() else np.ones(len(LENGTHS))

    def request(self) -> CutRequest:
        """Return the input of the next pass."""
        vectors = np.stack([self.best, self.minimizer - self.best])
        return CutRequest(self.column, vectors, self._lengths())

    def update(self, losses: Array, offsets: Array, cuts: Array) -> None:
        """Move to the best step size of a pass, add its cuts, and solve the small problem."""
        before, lengths = self.relative, self._lengths()
        points = self.best + lengths[:, None] * (self.minimizer - self.best)
        values = 0.5 * np.einsum("ij,ij->i", points, points) + losses
        lowest = int(np.argmin(values))
        if values[lowest] < self.primal:
            self.primal, self.best = float(values[lowest]), points[lowest]
            self.length = float(lengths[lowest])
        else:
            self.length = 0.5 * float(lengths[0])
        new = np.unique(lengths, return_index=True)[1]
        self._add(offsets[new], cuts[new])
        self._solve()
        self.record(before)

    def _add(self, offsets: Array, cuts: Array) -> None:
        """Add new cuts, and drop those that have had no weight for many passes."""
        kept = np.flatnonzero(self.unused < KEPT_PASSES)
        cross = cuts @ self.cuts[kept].T
        inner = self.products[np.ix_(kept, kept)]
        self.products = np.block([[inner, cross.T], [cross, cuts @ cuts.T]])
        self.cuts = np.concatenate([self.cuts[kept], cuts])
        self.offsets = np.concatenate([self.offsets[kept], offsets])
        self.alpha = np.concatenate([self.alpha[kept], np.zeros(len(cuts))])
        self.unused = np.concatenate([self.unused[kept], np.zeros(len(cuts), dtype=np.int64)])

    def _solve(self) -> None:
        """Solve the small problem: its minimizer, and a lower bound of the optimum."""
        with announced("cutting-planes"):
            exactness = 0.01 * self.tol * self.primal  # little of the gap
            weigh_cuts(self.products, self.offsets, self.alpha, exactness)
        self.alpha /= self.alpha.sum()
        self.minimizer = self.alpha @ self.cuts
        bound = float(self.alpha @ self.offsets - 0.5 * self.minimizer @ self.minimizer)
        self.bound = max(self.bound, bound)
        self.unused = np.where(self.alpha > 0.0, 0, self.unused + 1)


@compiled
def weigh_cuts(products: Array, offsets: Array, alpha: Array, exactness: float) -> None:
    """Maximize offsets·α - α·products·α/2 over the simplex by exact steps on pairs.

    It ends when no shift of weight has a slope above `exactness`, which bounds the gain left.
    """
    slopes = offsets - products @ alpha
    for _ in range(100_000):
        up, down = 0, -1
        for k in range(alpha.size):
            if slopes[k] > slopes[up]:
                up = k
            if alpha[k] > 0.0 and (down < 0 or slopes[k] < slopes[down]):
                down = k
        gain = slopes[up] - slopes[down]
        if gain <= exactness:
            return
        curvature = products[up, up] + products[down, down] - 2.0 * products[up, down]
        step = alpha[down] if curvature * alpha[down] <= gain else gain / curvature
        alpha[up] += step
        alpha[down] -= step
        for k in range(alpha.size):
            slopes[k] -= step * (products[k, up] - products[k, down])


def _cut_block(block: Block, requests: list[CutRequest]) -> Part:
    """Return R at each step size, and its cuts: Σ C and Σ C y x over the rows with m < 1."""
    size, tried = requests[0].vectors.shape[1], len(LENGTHS)
    scores = block.products(np.concatenate([request.vectors for request in requests]))
    losses, offsets = np.empty((len(requests), tried)), np.empty((len(requests), tried))
    cuts = np.empty((len(requests), tried, size))
    for j, request in enumerate(requests):
        labels, bounds = request.column.labels_and_bounds(block.own)
        missing = 1.0 - labels * (scores[2 * j] + request.lengths[:, None] * scores[2 * j + 1])
        within = np.where(missing > 0.0, bounds, 0.0)
        losses[j] = np.einsum("ij,ij->i", within, missing)
        offsets[j] = within.sum(axis=1)
        block.combine(block.stored(), within * labels, cuts[j])
    return Part((losses, offsets, cuts))
