"""The hinge loss on wide rows in passes that keep nothing about them: optimized cutting planes (Franc and Sonnenburg 2009).

R(w) = Σ C max(0, 1 - m) is convex: R(w) >= b - w·g for all w, where g = Σ C y x and b = Σ C over
the rows with m < 1 at any one point. The maximum of such cuts is a lower bound R' of R, and the
least ‖w‖²/2 + R'(w), a small problem whose dual is max Σ α_t b_t - ‖Σ α_t g_t‖²/2 over the simplex,
bounds the optimum from below and says where to go next.

An iteration is **one** pass from the best vector towards that place: it tells R and the cuts after
several lengths at once. The best length is where the next pass begins, and cuts are kept as long as
they matter: up to five of them from each pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.engine.optimum.passes.passes import Certified, Column, Passes, follow
from pegasos.engine.optimum.problem import Intercept
from pegasos.engine.rows.blocks import MATRIX_BYTES, Block, Part
from pegasos.engine.runtime.compiling import announced, compiled

Array = np.ndarray[Any, Any]

#: Lengths of steps that a pass tries, as multiples of the last good one.
LENGTHS = 2.0 ** np.arange(-2, 3)
#: Cuts for which there is room at first; then new ones take the places of those that have been of
#: no use for longest.
ROOM = 200
#: How exactly the small problem is solved, as a share of the tolerance.
EXACTNESS = 0.01


@dataclass(frozen=True)
class Order:
    """What a pass is to do for one predictor: vectors are the best one and the way from it; lengths are tried along the way."""

    column: Column
    vectors: Array
    lengths: Array


def solve_by_cuts(
    blocks: Passes,
    chains: Sequence[Sequence[Column]],
    intercept: Intercept,
    tol: float,
    most: int = 1000,
) -> list[list[Certified]]:
    """All columns, each until its relative gap is at most tol (see `follow`); without a free intercept."""
    size = blocks.width + (intercept is Intercept.AUGMENTED)

    def begin(_: int, column: Column, before: _Bundle | None) -> _Bundle:
        return _Bundle(column, blocks.width, size, tol, before)

    def serve(bundles: list[_Bundle]) -> None:
        sums = blocks.map_sum(_cut, [bundle.order() for bundle in bundles]).sums
        for bundle, *own in zip(bundles, *sums, strict=True):
            bundle.arrive(*own)

    return follow(
        chains, max(1, MATRIX_BYTES // (8 * size * len(LENGTHS))), begin, serve, tol, most
    )


class _Bundle:
    """The cuts of one predictor, the best vector and where to go."""

    def __init__(
        self, column: Column, width: int, size: int, tol: float, before: _Bundle | None = None
    ) -> None:
        self.column, self.width, self.tol = column, width, tol
        self.best = self.goal = np.zeros(size)
        self.length = 1.0
        # the first cut is R >= 0
        self.cuts, self.products, self.count = np.zeros((ROOM, size)), np.zeros((ROOM, ROOM)), 1
        self.offsets: Array = np.zeros(ROOM)
        self.shares: Array = np.zeros(ROOM)
        self.unused: Array = np.zeros(ROOM, dtype=np.int64)
        self.shares[0] = 1.0
        self.primal = column.unit * sum(column.sides)
        self.bound = 0.0
        self.course: list[tuple[float, float]] = []
        self.since = 0
        self.trivial = sum(column.sides) <= 0.0
        if before is not None and not self.trivial:
            self._begin_at(before)

    def _begin_at(self, before: _Bundle) -> None:
        """The best vector for the same rows and another C; R and its cuts are as many times larger as C is."""
        times, squared = (
            self.column.unit / before.column.unit,
            0.5 * float(before.best @ before.best),
        )
        self.cuts, self.offsets, self.products = (
            times * before.cuts,
            times * before.offsets,
            times * times * before.products,
        )
        self.shares, self.unused, self.count = (
            before.shares.copy(),
            before.unused.copy(),
            before.count,
        )
        self.best, self.primal = before.best, squared + times * (before.primal - squared)
        self._solve()

    @property
    def relative(self) -> float:
        return (self.primal - self.bound) / self.primal if self.primal > 0.0 else 0.0

    def lengths(self) -> Array:
        inside = np.minimum(self.length * LENGTHS, 1.0)
        # always as many, so that one pass can serve many predictors
        return inside if (self.goal != self.best).any() else np.ones(len(LENGTHS))

    def order(self) -> Order:
        return Order(self.column, np.stack([self.best, self.goal - self.best]), self.lengths())

    def arrive(self, losses: Array, offsets: Array, cuts: Array) -> None:
        """What the pass has told: the best length, and the new cuts; then the place of the least of all cuts."""
        before, lengths = self.relative, self.lengths()
        points = self.best + lengths[:, None] * (self.goal - self.best)
        values = 0.5 * np.einsum("ij,ij->i", points, points) + losses
        lowest = int(np.argmin(values))
        if values[lowest] < self.primal:
            self.primal, self.best, self.length = (
                float(values[lowest]),
                points[lowest],
                float(lengths[lowest]),
            )
        else:
            self.length = 0.5 * float(lengths[0])
        new = np.unique(lengths, return_index=True)[1]
        self._add(offsets[new], cuts[new])
        self._solve()
        self.course.append((self.primal, self.bound))
        self.since = 0 if self.relative < before else self.since + 1

    def _add(self, offsets: Array, cuts: Array) -> None:
        places = self._places(len(cuts))
        self.cuts[places], self.offsets[places], self.shares[places], self.unused[places] = (
            cuts,
            offsets,
            0.0,
            0,
        )
        cross = cuts @ self.cuts[: self.count].T
        self.products[places, : self.count] = cross
        self.products[: self.count, places] = cross.T

    def _places(self, needed: int) -> Array:
        """Places that were never used; then those of cuts without weight, the oldest first; then more room."""
        idle = np.flatnonzero(self.shares[: self.count] == 0.0)
        if self.count + needed > len(self.cuts) and len(idle) < needed:
            room = len(self.cuts)
            self.cuts, self.products = (
                np.pad(self.cuts, ((0, room), (0, 0))),
                np.pad(self.products, (0, room)),
            )
            numbers = self.offsets, self.shares, self.unused
            self.offsets, self.shares, self.unused = (np.pad(each, (0, room)) for each in numbers)
        if self.count + needed <= len(self.cuts):
            self.count += needed
            return np.arange(self.count - needed, self.count)
        return idle[np.argsort(-self.unused[idle], kind="stable")[:needed]]

    def _solve(self) -> None:
        products, offsets = self.products[: self.count, : self.count], self.offsets[: self.count]
        shares = self.shares[: self.count]
        with announced("cutting-planes"):
            weigh_cuts(
                np.ascontiguousarray(products), offsets, shares, EXACTNESS * self.tol * self.primal
            )
        shares /= shares.sum()
        self.goal = shares @ self.cuts[: self.count]
        self.bound = max(self.bound, float(shares @ offsets - 0.5 * self.goal @ self.goal))
        self.unused = np.where(self.shares > 0.0, 0, self.unused + 1)

    def certified(self) -> Certified:
        bias = float(self.best[-1]) if len(self.best) > self.width else 0.0
        return Certified(
            self.best[: self.width].copy(), bias, self.primal, self.bound, tuple(self.course)
        )


@compiled
def weigh_cuts(products: Array, offsets: Array, shares: Array, exactness: float) -> None:
    """max offsets·α - α·products·α/2 over the simplex: exact steps on pairs, until no shift of weight gains by more than this."""
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
    """R after each length, and its cuts there: Σ C and Σ C y x over the rows with m < 1."""
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
