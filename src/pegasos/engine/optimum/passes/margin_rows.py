"""Rows near the margin: the hinge loss in a few passes, in which a sample decides most rows.

At the optimum a row with a margin below 1 has a_i = C_i, and one above has a_i = 0. The first
pass fetches a sample, which is solved for every predictor. The second pass fetches the rows whose
margin is near 1 by the sample's vector w₀; of all others below 1 it returns Σ C_i y_i x_i. What
was fetched is solved with the others held at their bounds. The third pass computes the objective,
and fetches the rows that the new vector w₁ puts on another side of 1 than w₀ did; if the gap is
not closed yet, they are solved together with the others, and so on. Rows keep nothing between
passes: which of them have been fetched follows from w₀, w₁, ...

References
----------
Joachims (1999), Making large-scale SVM learning practical: shrinking of rows at their bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from pegasos.engine.optimum.passes.newton import Start, sample_start, solve_rows
from pegasos.engine.optimum.passes.passes import (
    LabelledBlocks,
    Passes,
    Predictor,
    Sample,
    Search,
    as_optimum,
    fetch_sample,
    stacked,
    with_bias,
)
from pegasos.engine.optimum.problem import Held, Intercept, Optimum, Target
from pegasos.engine.rows.blocks import Block
from pegasos.engine.runtime.interruption import deadline_reached, tell_gap
from pegasos.engine.runtime.threads import our_threads, single_threaded_blas

Array = np.ndarray[Any, Any]

#: Rows, and rows for each feature, from which most rows are decided by a sample.
MANY_ROWS, ROWS_A_FEATURE = 20_000, 200
#: One row in so many is sampled at most, and the gap to which the sample is solved at most.
ONE_IN, SAMPLE_GAP = 8, 0.01
#: The vector of n rows with d features is off by a share of about √(d/n): rows in a band so many
#: times as wide, or this share of them at most, are solved first, and this share at most in the
#: end. With a band of 4 instead of 3, 200,000 x 50 rows take 0.25 s of one core instead of 0.23 s.
BAND, FIRST_SHARE, LARGEST_SHARE = 3.0, 0.45, 0.5
#: What the rows that are solved may leave of the gap: the rest is for those that were decided
#: wrongly.
INNER = 0.5
#: Passes after the first for a predictor, and how many must be allowed for this to be tried.
MOST_PASSES, LEAST_PASSES = 12, 10
#: How many times as many rows as were fetched at first there must be room for.
GROWTH = 2.0


class Shares(NamedTuple):
    """Shares of rows fetched for the sample and near the margin; number of rows that fit."""

    sample: float
    near: float
    most: float


def shares(blocks: Passes, rows: int, intercept: Intercept) -> Shares | None:
    """Return how much would be fetched; None where there are too few rows, or no room for it."""
    size = blocks.width + 1
    if intercept is Intercept.FREE or rows < max(MANY_ROWS, ROWS_A_FEATURE * blocks.width):
        return None
    # this size of the sample makes it and the rows near the margin the fewest together
    sample = min(rows / ONE_IN, (0.5 * BAND * math.sqrt(size) * rows) ** (2 / 3))
    near = min(FIRST_SHARE, BAND * math.sqrt(size / sample))
    # a fetched row has a label, a bound and two numbers beside it
    found = Shares(sample / rows, near, blocks.room / (blocks.row_bytes + 32))
    return found if max(sample, GROWTH * near * rows) <= found.most else None


def solve_margin_rows(
    X: Any, targets: list[Target], intercept: Intercept, tol: float, members: Array | None = None
) -> list[Optimum | None]:
    """Solve all targets on rows in memory; None where too many rows were decided wrongly."""
    count = X.shape[0] if members is None else len(members)
    with LabelledBlocks(X, np.arange(count), members=members) as blocks:
        optima: list[Optimum | None] = []
        for target in targets:
            found, share = None, shares(blocks, target.rows, intercept)
            if share is not None:
                share = share._replace(most=LARGEST_SHARE * target.rows)
                (found,) = solve_by_fetched_rows(blocks, [target], intercept, tol, share)
            if found is None:
                optima.append(None)
            else:
                optima.append(as_optimum(blocks, True, target, found, intercept, _coefficients))
        return optima


def solve_by_fetched_rows(
    blocks: Passes, columns: Sequence[Predictor], intercept: Intercept, tol: float, share: Shares
) -> list[Optimum | None]:
    """Solve all predictors to the tolerance; None where too many rows were decided wrongly."""
    size = blocks.width + (intercept is not Intercept.NONE)
    sample = fetch_sample(blocks, share.sample)
    near = share.near * max(column.rows for column in columns)
    together = max(1, int(share.most / (GROWTH * near)))
    most = share.most / min(len(columns), together)
    searches = [_Search(column, sample, intercept, tol, share.near, most) for column in columns]
    for start in range(0, len(searches), together):
        live = searches[start : start + together]
        while live:
            asked = [(search.column, np.stack(search.deciding), search.band) for search in live]
            found = blocks.map_join(_visit, _joined_results, asked, size)
            for search, own in zip(live, found, strict=True):
                search.arrive(own)
            tell_gap(max(search.relative for search in live), tol)
            live = [search for search in live if search.goes_on]
    succeeded = [search.relative <= tol or deadline_reached() for search in searches]
    pairs = zip(searches, succeeded, strict=True)
    return [search.certified() if is_solved else None for search, is_solved in pairs]


@dataclass(frozen=True)
class Found:
    """Result of a pass for one predictor.

    Parameters
    ----------
    loss : Σ C_i max(0, 1 - m_i) by the newest vector.
    combined, total : Σ C_i y_i x_i and Σ C_i of the rows that are held, after the first pass of
        held rows that are fetched.
    X, own, target : the rows that are fetched, and the arrays beside them.
    """

    loss: float
    combined: Array
    total: float
    X: Any
    own: tuple[Array, ...]
    target: Target


@dataclass(frozen=True)
class DualPoint:
    """Dual coefficients of fetched rows; the others are at the bounds that `deciding` gives."""

    deciding: Array
    own: tuple[Array, ...]
    dual: Array


def _visit(block: Block, asked: Sequence[tuple[Predictor, Array, float]], size: int) -> list[Found]:
    rows = block.whole()
    return [_visit_for(block, rows, *each, size) for each in asked]


def _visit_for(
    block: Block, rows: Array | None, column: Predictor, deciding: Array, band: float, size: int
) -> Found:
    """Return the loss of the last deciding vector, and rows near 1 by the first or moved by it."""
    labels, bounds = column.of(block.own)
    # One vector at a time: with others beside it a product may be rounded in another way.
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
    margins = others[-1] if others else first
    loss = float(bounds @ np.maximum(0.0, 1.0 - margins))
    own = tuple(each[index] for each in block.own)
    target = Target(labels[index], bounds[index])
    return Found(loss, combined[0], total, block.take(index), own, target)


def _coefficients(
    block: Block, rows: Array | None, linear_dual: bool, target: Target, dual: DualPoint
) -> Array:
    """Return the dual coefficients a of a block's rows."""
    labels, bounds = target.of(block.own)
    a = np.where(labels * block.scores(rows, dual.deciding) < 1.0, bounds, 0.0)
    here = (dual.own[0] >= block.span.start) & (dual.own[0] < block.span.stop)
    a[dual.own[0][here] - block.span.start] = dual.dual[here]
    return a


def _joined_results(parts: Sequence[Sequence[Found]]) -> list[Found]:
    return [_joined_founds(own) for own in zip(*parts, strict=True)]


def _joined_founds(parts: Sequence[Found]) -> Found:
    X, own, target = _joined_rows(parts)
    combined = np.sum([part.combined for part in parts], axis=0)
    loss, total = (float(sum(getattr(part, name) for part in parts)) for name in ("loss", "total"))
    return Found(loss, combined, total, X, own, target)


def _joined_rows(parts: Sequence[Found]) -> tuple[Any, tuple[Array, ...], Target]:
    """Return all fetched rows, the arrays beside them, and their labels and bounds."""
    labels = np.concatenate([part.target.labels for part in parts])
    bounds = np.concatenate([part.target.bounds for part in parts])
    own = tuple(map(np.concatenate, zip(*(part.own for part in parts), strict=True)))
    return stacked([part.X for part in parts]), own, Target(labels, bounds)


class _Search(Search):
    """Solver state of one predictor: vectors that decided which rows are fetched, and the best."""

    def __init__(
        self,
        column: Predictor,
        sample: Sample,
        intercept: Intercept,
        tol: float,
        share: float,
        most: float,
    ) -> None:
        super().__init__(sample.X.shape[1])
        self.column, self._intercept, self._tol, self._most = column, intercept, tol, most
        self._results: list[Found] = []
        self.bound, self.goes_on = 0.0, True
        self.history.append((column.unit * sum(column.sides), 0.0))  # of the vector zero
        self._begin(sample, share)

    def _begin(self, sample: Sample, share: float) -> None:
        """Solve the sample; compute the band around 1 that has this share of its margins."""
        target = sample.target(self.column)
        # As exact as the sample is: its objective is off by a share of about features / rows.
        gap = min(SAMPLE_GAP, self.width / max(1, len(target.bounds)))
        given = sample.X, [target], self._intercept, gap
        with our_threads():
            (start,) = solve_margin_rows(*given)
            if start is None:
                (start,) = solve_rows(sample.X, True, *given[1:])
        begin = sample_start(start, len(target.bounds), self._intercept)
        self.best, self._error = begin.vector, begin.error
        self.deciding = [self.best]
        with single_threaded_blas():
            scores = np.asarray(sample.X @ start.vector) + start.bias
        away = np.abs(target.labels * scores - 1.0)[target.bounds > 0.0]
        self.band = float(np.quantile(away, share)) if len(away) else 0.0

    def arrive(self, found: Found) -> None:
        """Judge the last deciding vector, and compute the next one."""
        vector = self.deciding[-1]
        primal = 0.5 * float(vector @ vector) + found.loss
        if primal < self.primal:
            self.primal, self.best = primal, vector
        self.history.append((self.primal, self.bound))
        self._results.append(found)
        fetched = sum(len(look.target.labels) for look in self._results)
        is_stuck = len(self._results) > MOST_PASSES or fetched > self._most
        is_stuck |= not len(found.target.labels)
        self.goes_on = self.relative > self._tol and not is_stuck and not deadline_reached()
        if self.goes_on:
            self._solve()
        else:
            self._results.clear()  # others need the room

    def _solve(self) -> None:
        """Solve the fetched rows with the others held: the next vector, and a bound."""
        first, *later = self._results
        combined = first.combined - sum(look.combined for look in later)
        held = Held(combined, first.total - sum(look.total for look in later), self.primal)
        rows, own, target = _joined_rows(self._results)
        target, gap = replace(target, held=held), INNER * self._tol
        start = Start(self.best, self.primal, self._error)
        with our_threads():
            (part,) = solve_rows(rows, True, [target], self._intercept, gap, start=start)
        self.deciding.append(with_bias(part, self._intercept))
        if part.bound > self.bound:
            self.bound, self.dual = part.bound, DualPoint(self.deciding[0], own, part.dual)
