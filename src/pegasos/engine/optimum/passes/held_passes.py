"""The hinge loss in a few passes over rows that may be anywhere: most rows are decided by a sample, the others are fetched.

The same as `held_rows.py` does in memory. The first pass fetches a sample, which is solved for every predictor. The second one
fetches the rows whose margin is near 1 by the sample's vector w₀; of all others below 1 it brings Σ C_i y_i x_i. What was fetched
is solved with the others held. The third pass tells the objective, and fetches those rows that the new vector w₁ puts on another
side of 1 than w₀ did; if the gap is not closed yet, they are solved together with the others, and so on. Rows keep nothing
between passes: which of them have been fetched follows from w₀, w₁, ...
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from pegasos.engine.optimum.hinge import held_rows
from pegasos.engine.optimum.hinge.held_rows import FIRST_SHARE, INNER, ONE_IN, loss_of
from pegasos.engine.optimum.hinge.hinge_rows import LINES
from pegasos.engine.optimum.hinge.interior_point import solve_hinge
from pegasos.engine.optimum.hinge.sample_start import sample_of
from pegasos.engine.optimum.passes.passes import Certified, Column, Passes
from pegasos.engine.optimum.problem import Held, Intercept, Target
from pegasos.engine.rows.blocks import Block
from pegasos.engine.runtime.interruption import tell_gap

Array = np.ndarray[Any, Any]

#: As in memory (`held_rows.py`): how wide the band of rows is that are solved, and the gap to which a sample is solved at most.
#: It is wider here, where another look is another pass over all rows.
BAND, SAMPLE_GAP = 4.0, 0.01
#: Passes after the first for a predictor, and how many must be allowed for this to be tried.
MOST_LOOKS, LEAST_PASSES = 12, 10
#: How many times as many rows as were fetched at first there must be room for.
GROWTH = 2.0
#: Lengths of a step that a sample may shorten, and the share of the objective that it must gain by that.
STEPS, GAIN = (1.0, 0.7, 0.5, 0.35, 0.25, 0.15, 0.1, 0.06, 0.03, 0.015, 0.007, 0.003), 0.01
#: The share of the rows that may have been decided wrongly as far as one looks for them; how much further if there were none.
MOVED, LONGER = 0.02, 2.0


class Shares(NamedTuple):
    """The shares of the rows that are fetched for the sample, and near the margin; and rows in all for which there is room."""

    sample: float
    near: float
    most: float


def shares(blocks: Passes, rows: int, intercept: Intercept) -> Shares | None:
    """How much would be fetched; None where this is not worth while, or there is no room for it."""
    size = blocks.width + 1
    if intercept is Intercept.FREE or rows < max(
        held_rows.MANY_ROWS, held_rows.ROWS_A_FEATURE * blocks.width
    ):
        return None
    # the sample and the rows near the margin that it foretells are least together so
    sample = min(rows / ONE_IN, (0.5 * BAND * math.sqrt(size) * rows) ** (2 / 3))
    near = min(FIRST_SHARE, BAND * math.sqrt(size / sample))
    each = blocks.row_bytes + 8 * LINES
    found = Shares(sample / rows, near, blocks.room / each)
    return found if max(sample, GROWTH * near * rows) <= found.most else None


def solve_by_fetched_rows(
    blocks: Passes, columns: Sequence[Column], intercept: Intercept, tol: float, share: Shares
) -> list[Certified | None]:
    """All columns, each until its relative gap is at most tol; None where too many rows were decided wrongly."""
    size = blocks.width + (intercept is not Intercept.NONE)
    sample: Sample = blocks.map_join(_sample, _joined_samples, share.sample)
    together = int(share.most / (GROWTH * share.near * max(column.rows for column in columns)))
    most = share.most / min(len(columns), together)
    searches = [_Search(column, sample, intercept, tol, share.near, most) for column in columns]
    for start in range(0, len(searches), together):
        live = searches[start : start + together]
        while live:
            asked = [
                (search.column, search.tried, np.stack(search.deciding), search.band)
                for search in live
            ]
            for search, found in zip(
                live, blocks.map_join(_look, _joined_looks, asked, size), strict=True
            ):
                search.arrive(found)
            tell_gap(max(search.gap for search in live), tol)
            live = [search for search in live if search.goes_on]
    return [search.certified() for search in searches]


@dataclass(frozen=True)
class Sample:
    """Some rows, and what belongs to them (see `Passes`)."""

    X: Any
    own: tuple[Array, ...]


def _sample(block: Block, share: float) -> Sample:
    index = sample_of(block.count, math.ceil(share * block.count))
    return Sample(block.take(index), tuple(each[index] for each in block.own))


def _joined_samples(parts: Sequence[Sample]) -> Sample:
    own = zip(*(part.own for part in parts), strict=True)
    return Sample(stacked([part.X for part in parts]), tuple(np.concatenate(each) for each in own))


def stacked(parts: Sequence[Any]) -> Any:
    """Rows of several blocks, one below the other, as they are given."""
    return (
        sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
    )


@dataclass(frozen=True)
class Found:
    """What a pass tells about one predictor.

    loss             Σ C_i max(0, 1 - m_i) by the newest vector
    combined, total  Σ C_i y_i x_i and Σ C_i: in the first look of the rows that are held, later of held rows that are fetched
    X, target        the rows that are fetched
    """

    loss: float
    combined: Array
    total: float
    X: Any
    target: Target


def _look(
    block: Block, asked: Sequence[tuple[Column, Array, Array, float]], size: int
) -> list[Found]:
    rows = block.whole()
    return [_look_for(block, rows, *each, size) for each in asked]


def _look_for(
    block: Block,
    rows: Array | None,
    column: Column,
    tried: Array,
    deciding: Array,
    band: float,
    size: int,
) -> Found:
    """The loss of the vector that is tried; rows near 1 by the first deciding vector, later those that the last one moves."""
    labels = np.where(block.own[0] == column.code, 1.0, -1.0)
    bounds = column.unit * column.weights(*block.own)
    # one vector at a time: with others beside it a product may be rounded in another way than in the pass before
    first, *others = (labels * block.scores(rows, vector) for vector in deciding)
    below, near = first < 1.0, np.abs(first - 1.0) <= band
    fetched, held = near, below & ~near
    if others:
        moved = [(other < 1.0) != below for other in others]
        fetched = moved[-1] & ~np.any([near, *moved[:-1]], axis=0)
        held = below & fetched
    combined = np.empty((1, size))
    block.combine(rows, np.where(held, labels * bounds, 0.0)[None], combined)
    index = np.flatnonzero(fetched & (bounds > 0.0))
    total = float(bounds[held].sum())
    # what is tried is most often what decides
    margins = others[-1] if others else first
    loss = loss_of(
        margins if np.array_equal(tried, deciding[-1]) else labels * block.scores(rows, tried),
        bounds,
    )
    return Found(loss, combined[0], total, block.take(index), Target(labels[index], bounds[index]))


def _joined_looks(parts: Sequence[Sequence[Found]]) -> list[Found]:
    return [_joined_founds(own) for own in zip(*parts, strict=True)]


def _joined_founds(parts: Sequence[Found]) -> Found:
    labels, bounds = (
        np.concatenate([getattr(part.target, name) for part in parts])
        for name in ("labels", "bounds")
    )
    combined = np.sum([part.combined for part in parts], axis=0)
    loss, total = (float(sum(getattr(part, name) for part in parts)) for name in ("loss", "total"))
    return Found(loss, combined, total, stacked([part.X for part in parts]), Target(labels, bounds))


class _Search:
    """One predictor: the vectors that decided which rows were fetched, the one that is tried, and the best pair so far."""

    def __init__(
        self,
        column: Column,
        sample: Sample,
        intercept: Intercept,
        tol: float,
        share: float,
        most: float,
    ) -> None:
        self.column, self._intercept, self._tol, self._most = column, intercept, tol, most
        self._looks: list[Found] = []
        self._primal, self._bound = np.inf, 0.0
        self.gap = 1.0
        self._course = [(column.unit * sum(column.sides), 0.0)]  # of the vector zero
        self.goes_on = True
        #: How far the rows that were fetched last were looked for on the way to `_aim`; 0: there is another aim now.
        self._reach = 0.0
        self._begin(sample, share)

    def _begin(self, sample: Sample, share: float) -> None:
        """The sample's optimum, and how far from 1 the margins are of this share of its rows."""
        labels = np.where(sample.own[0] == self.column.code, 1.0, -1.0)
        bounds = self.column.unit * self.column.weights(*sample.own)
        missing = (
            self.column.unit
            * sum(self.column.sides)
            / max(float(bounds.sum()), np.finfo(float).tiny)
        )
        self._sample, self._sampled = sample.X, Target(labels, missing * bounds)
        # as exact as the sample is: its objective is off by a share of about features / rows
        gap = min(SAMPLE_GAP, sample.X.shape[1] / max(1, len(labels)))
        (start,) = held_rows.solve_hinge_on_many(
            self._sample, [self._sampled], self._intercept, gap
        )
        self.tried = self._best = self._aim = held_rows.with_bias(start, self._intercept)
        self.deciding = [self.tried]
        margins = self._margins(self.tried)
        away = np.abs(margins - 1.0)
        self.band = float(np.quantile(away[bounds > 0.0], share)) if bounds.any() else 0.0
        self._below, self._decided = margins < 1.0, away > self.band

    def _margins(self, vector: Array) -> Array:
        """Of the sample."""
        return held_rows.margins_of(self._sample, self._sampled.labels, vector)

    def arrive(self, found: Found) -> None:
        """What a pass has told about the vector that was tried; the next one, unless this was the last."""
        primal = 0.5 * float(self.tried @ self.tried) + found.loss
        if primal < self._primal:
            self._primal, self._best = primal, self.tried
        self.gap = (self._primal - self._bound) / self._primal if self._primal > 0.0 else 0.0
        self._course.append((self._primal, self._bound))
        self._looks.append(found)
        if len(found.target.labels):
            self._reach = 0.0
        fetched = sum(len(look.target.labels) for look in self._looks)
        stuck = (
            (self._reach == 1.0 and self.tried is self._aim)
            or len(self._looks) > MOST_LOOKS
            or fetched > self._most
        )
        self.goes_on = self.gap > self._tol and not stuck
        if self.goes_on:
            self._go_on()
        else:
            self._looks.clear()  # others need the room

    def _go_on(self) -> None:
        """Towards the optimum of what was fetched: as far as is best for the sample, and further to look for wrong decisions.

        As far as there were none the objective is what was solved, and falls.
        """
        if not self._reach:
            self._solve()
        here, there = self._margins(self._best), self._margins(self._aim)
        step, least, far = 1.0, np.inf, 0.0
        for length in STEPS:
            vector, margins = self._towards(length), here + length * (there - here)
            value = 0.5 * float(vector @ vector) + loss_of(margins, self._sampled.bounds)
            if value < (1.0 - GAIN) * least:
                step, least = length, value
            if not far and np.mean(((margins < 1.0) != self._below) & self._decided) <= MOVED:
                far = length
        self.tried = self.deciding[-1] if self._reach else self._towards(step)
        self._reach = min(1.0, max(step, far, LONGER * self._reach))
        self.deciding.append(self._towards(self._reach))

    def _towards(self, length: float) -> Array:
        return self._aim if length == 1.0 else self._best + length * (self._aim - self._best)

    def _solve(self) -> None:
        """The rows that were fetched, with the others held: the next aim, and a bound."""
        first, *later = self._looks
        combined = first.combined - sum(look.combined for look in later)
        held = Held(combined, first.total - sum(look.total for look in later), self._primal)
        labels, bounds = (
            np.concatenate([getattr(look.target, name) for look in self._looks])
            for name in ("labels", "bounds")
        )
        rows = stacked([look.X for look in self._looks])
        (part,) = solve_hinge(
            rows, [Target(labels, bounds, held)], self._intercept, INNER * self._tol
        )
        self._aim, self._bound = (
            held_rows.with_bias(part, self._intercept),
            max(self._bound, part.bound),
        )

    def certified(self) -> Certified | None:
        """None where it did not arrive."""
        if self.gap > self._tol:
            return None
        vector, bias = (
            (self._best, 0.0)
            if self._intercept is Intercept.NONE
            else (self._best[:-1].copy(), float(self._best[-1]))
        )
        return Certified(vector, bias, self._primal, self._bound, tuple(self._course))
