"""Optimized cutting planes: the hinge loss on wide rows, in passes that keep nothing about rows.

R(w) = Σ C max(0, 1 - m) is convex: R(w) >= b - w·g for all w, where g = Σ C y x and b = Σ C over
the rows with m < 1 at any one point. The maximum of such cuts is a lower bound R' of R, and the
least ‖w‖²/2 + R'(w), a small problem whose dual is max Σ α_t b_t - ‖Σ α_t g_t‖²/2 over the
simplex, bounds the optimum from below and gives the next goal.

An iteration is one pass from the best vector towards that goal: it returns R and the cuts after
several lengths at once. The best length is where the next pass begins, and cuts are kept as long
as they matter: up to five of them from each pass.

References
----------
Franc, Sonnenburg (2009), Optimized cutting plane algorithm for large-scale risk minimization.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.engine.optimum.passes.passes import Column, Passes, Search, follow
from pegasos.engine.optimum.problem import Intercept, Optimum
from pegasos.engine.rows.blocks import MATRIX_BYTES, Block, Part
from pegasos.engine.runtime.compiling import announced, compiled

Array = np.ndarray[Any, Any]

#: Lengths of steps that a pass tries, as multiples of the last good one.
LENGTHS = 2.0 ** np.arange(-2, 3)
#: Passes for which a cut without weight is kept: it may matter again.
KEPT_PASSES = 40
#: How exactly the small problem is solved, as a share of the tolerance.
EXACTNESS = 0.01


@dataclass(frozen=True)
class Order:
    """Input of a pass for one predictor: its best vector, the way from it, and lengths to try."""

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
    """Solve all columns to a relative gap of tol (see `follow`); not with a free intercept."""
    size = blocks.width + (intercept is Intercept.AUGMENTED)

    def begin(_: int, column: Column, before: _Bundle | None) -> _Bundle:
        return _Bundle(column, blocks.width, size, tol, before)

    def serve(bundles: list[_Bundle]) -> None:
        sums = blocks.map_sum(_cut, [bundle.order() for bundle in bundles]).sums
        for bundle, *own in zip(bundles, *sums, strict=True):
            bundle.arrive(*own)

    together = max(1, MATRIX_BYTES // (8 * size * len(LENGTHS)))
    return follow(chains, together, begin, serve, tol, most)


class _Bundle(Search):
    """Cuts of one predictor, its best vector and the next goal."""

    def __init__(
        self, column: Column, width: int, size: int, tol: float, before: _Bundle | None = None
    ) -> None:
        super().__init__(width)
        self.column, self.tol = column, tol
        self.best = self.goal = np.zeros(size)
        self.length = 1.0
        # The first cut is R >= 0.
        self.cuts, self.offsets, self.products = np.zeros((1, size)), np.zeros(1), np.zeros((1, 1))
        self.shares, self.unused = np.ones(1), np.zeros(1, dtype=np.int64)
        self.primal = column.unit * sum(column.sides)
        self.bound = 0.0
        self.trivial = sum(column.sides) <= 0.0
        if before is not None and not self.trivial:
            self._begin_at(before)

    def _begin_at(self, before: _Bundle) -> None:
        """Begin at the best vector for another C: R and its cuts are proportional to C."""
        times = self.column.unit / before.column.unit
        squared = 0.5 * float(before.best @ before.best)
        self.cuts, self.offsets = times * before.cuts, times * before.offsets
        self.products = times * times * before.products
        self.shares, self.unused = before.shares.copy(), before.unused.copy()
        self.best, self.primal = before.best, squared + times * (before.primal - squared)
        self._solve()

    def _lengths(self) -> Array:
        """Return the lengths to try, always as many, so that a pass can serve many predictors."""
        inside = np.minimum(self.length * LENGTHS, 1.0)
        return inside if (self.goal != self.best).any() else np.ones(len(LENGTHS))

    def order(self) -> Order:
        """Return the input of the next pass."""
        return Order(self.column, np.stack([self.best, self.goal - self.best]), self._lengths())

    def arrive(self, losses: Array, offsets: Array, cuts: Array) -> None:
        """Take the best length and the new cuts of a pass, and compute the next goal."""
        before, lengths = self.relative, self._lengths()
        points = self.best + lengths[:, None] * (self.goal - self.best)
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
        self.shares = np.concatenate([self.shares[kept], np.zeros(len(cuts))])
        self.unused = np.concatenate([self.unused[kept], np.zeros(len(cuts), dtype=np.int64)])

    def _solve(self) -> None:
        """Solve the small problem of all cuts: the next goal, and a lower bound."""
        with announced("cutting-planes"):
            exactness = EXACTNESS * self.tol * self.primal
            weigh_cuts(self.products, self.offsets, self.shares, exactness)
        self.shares /= self.shares.sum()
        self.goal = self.shares @ self.cuts
        bound = float(self.shares @ self.offsets - 0.5 * self.goal @ self.goal)
        self.bound = max(self.bound, bound)
        self.unused = np.where(self.shares > 0.0, 0, self.unused + 1)


@compiled
def weigh_cuts(products: Array, offsets: Array, shares: Array, exactness: float) -> None:
    """Maximize offsets·α - α·products·α/2 over the simplex by exact steps on pairs.

    It ends where no shift of weight gains by more than `exactness`.
    """
    slopes = offsets - products @ shares
    for _ in range(100_000):
        up, down = 0, -1
        for k in range(shares.size):
            if slopes[k] > slopes[up]:
                up = k
            if shares[k] > 0.0 and (down < 0 or slopes[k] < slopes[down]):
                down = k
        gain = slopes[up] - slopes[down]
        if gain <= exactness:
            return
        curvature = products[up, up] + products[down, down] - 2.0 * products[up, down]
        step = shares[down] if curvature * shares[down] <= gain else gain / curvature
        shares[up] += step
        shares[down] -= step
        for k in range(shares.size):
            slopes[k] -= step * (products[k, up] - products[k, down])


def _cut(block: Block, orders: list[Order]) -> Part:
    """Return R after each length, and its cuts there: Σ C and Σ C y x over the rows with m < 1."""
    size, tried = orders[0].vectors.shape[1], len(LENGTHS)
    scores = block.products(np.concatenate([order.vectors for order in orders]))
    losses, offsets = np.empty((len(orders), tried)), np.empty((len(orders), tried))
    cuts = np.empty((len(orders), tried, size))
    for j, order in enumerate(orders):
        labels, bounds = order.column.of(block.own)
        missing = 1.0 - labels * (scores[2 * j] + order.lengths[:, None] * scores[2 * j + 1])
        within = np.where(missing > 0.0, bounds, 0.0)
        losses[j] = np.einsum("ij,ij->i", within, missing)
        offsets[j] = within.sum(axis=1)
        block.combine(None, within * labels, cuts[j])
    return Part((losses, offsets, cuts))
