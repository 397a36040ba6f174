"""Rows near the margin: the hinge loss in a few passes, with most coefficients predicted.

At the optimum a row with a margin below 1 has a_i = C_i, and one above has a_i = 0. The first
pass fetches a sample, which is solved for every predictor. The second pass fetches the rows whose
margin by the sample's vector w₀ is near 1; the other rows are fixed at 0 or C_i, and for those at
C_i it returns Σ C_i y_i x_i. The fetched rows are solved with the others fixed. The third pass
computes the objective, and fetches the rows whose margins by the new vector w₁ and by w₀ are on
different sides of 1; if the gap is still too large, all fetched rows are solved, and so on. Nothing
is stored per row: which rows have been fetched follows from w₀, w₁, ...

References
----------
Joachims (1999), Making large-scale SVM learning practical: shrinking of rows at their bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pegasos.engine.optimum.passes.newton import WarmStart, sample_start, solve_rows
from pegasos.engine.optimum.passes.passes import (
    LabelledBlocks,
    Passes,
    Predictor,
    Sample,
    SolverState,
    fetch_sample,
    join_samples,
    with_bias,
    with_dual,
)
from pegasos.engine.optimum.problem import FixedRows, Intercept, Optimum, Target
from pegasos.engine.rows.blocks import Block
from pegasos.engine.runtime.interruption import deadline_reached, tell_gap
from pegasos.engine.runtime.threads import our_threads, single_threaded_blas

Array = np.ndarray[Any, Any]

#: Rows, and rows per feature, from which this method is used.
MANY_ROWS, ROWS_A_FEATURE = 20_000, 200
#: The sample is at most one row in this many, and is solved at least to this gap.
ONE_IN, SAMPLE_GAP = 8, 0.01
#: The optimum of n sampled rows with d features has a relative error of about √(d/n). The rows in a
#: band of BAND times this width are fetched first, but at most FIRST_SHARE of all, and at most
#: LARGEST_SHARE in total. With BAND = 4, 200,000 x 50 rows take 0.25 s of one core, with 3 0.23 s.
BAND, FIRST_SHARE, LARGEST_SHARE = 3.0, 0.45, 0.5
#: Share of the tolerance to which the fetched rows are solved; the rest is for mispredicted rows.
INNER_GAP = 0.5
#: Passes after the first for a predictor, and smallest limit of passes at which this is tried.
MOST_PASSES, LEAST_PASSES = 12, 10
#: Memory that must be available, as a multiple of that of the rows that are fetched first.
GROWTH = 2.0


class FetchPlan(NamedTuple):
    """Shares of rows to fetch for the sample and near the margin; number of rows that fit."""

    sample: float
    near: float
    most: float


def plan_fetch(blocks: Passes, rows: int, intercept: Intercept) -> FetchPlan | None:
    """Return how many rows to fetch; None if there are too few rows or too little memory."""
    size = blocks.width + 1
    if intercept is Intercept.FREE or rows < max(MANY_ROWS, ROWS_A_FEATURE * blocks.width):
        return None
    # This size minimizes the number of rows in the sample and near the margin together.
    sample = min(rows / ONE_IN, (0.5 * BAND * math.sqrt(size) * rows) ** (2 / 3))
    near = min(FIRST_SHARE, BAND * math.sqrt(size / sample))
    # A fetched row also has a label, a bound and two more numbers.
    found = FetchPlan(sample / rows, near, blocks.room / (blocks.row_bytes + 32))
    return found if max(sample, GROWTH * near * rows) <= found.most else None


def solve_margin_rows(
    X: Any,
    targets: list[Target],
    intercept: Intercept,
    tol: float,
    members: Array | None = None,
    needs_dual: bool = True,
) -> list[Optimum | None]:
    """Solve all targets on rows in memory; None where too many rows were mispredicted.

    Dual coefficients take a pass, a tenth of a fit to 200,000 x 50 rows at C = 0.01.
    """
    count = X.shape[0] if members is None else len(members)
    with LabelledBlocks(X, np.arange(count), members=members) as blocks:
        optima: list[Optimum | None] = []
        for target in targets:
            found, share = None, plan_fetch(blocks, target.rows, intercept)
            if share is not None:
                share = share._replace(most=LARGEST_SHARE * target.rows)
                (found,) = solve_by_fetched_rows(blocks, [target], intercept, tol, share)
            if found is not None and needs_dual:
                found = with_dual(blocks, target, found, _coefficients)
            optima.append(found)
        return optima


def solve_by_fetched_rows(
    blocks: Passes, columns: Sequence[Predictor], intercept: Intercept, tol: float, share: FetchPlan
) -> list[Optimum | None]:
    """Solve all predictors to the tolerance; None where too many rows were mispredicted."""
    size = blocks.width + (intercept is not Intercept.NONE)
    sample = fetch_sample(blocks, share.sample)
    near = share.near * max(column.rows for column in columns)
    together = max(1, int(share.most / (GROWTH * near)))
    most = share.most / min(len(columns), together)
    states = [_MarginState(column, sample, intercept, tol, share.near, most) for column in columns]
    for start in range(0, len(states), together):
        live = states[start : start + together]
        while live:
            requests = [(state.column, np.stack(state.vectors), state.band) for state in live]
            found = blocks.map_join(_visit, _joined_results, requests, size)
            for state, own in zip(live, found, strict=True):
                state.update(own)
            tell_gap(max(state.relative for state in live), tol)
            live = [state for state in live if state.is_active]
    succeeded = [state.relative <= tol or deadline_reached() for state in states]
    pairs = zip(states, succeeded, strict=True)
    return [state.certified() if is_solved else None for state, is_solved in pairs]


@dataclass(frozen=True)
class PassResult:
    """Result of a pass for one predictor.

    Parameters
    ----------
    loss : Σ C_i max(0, 1 - m_i) by the newest vector.
    combined, total : Σ C_i y_i x_i and Σ C_i. The first pass sums over all rows fixed at C_i; a
        later one over the rows that were fixed at C_i until it fetched them.
    fetched : the fetched rows; `own` has their stored arrays, then labels and bounds.
    """

    loss: float
    combined: Array
    total: float
    fetched: Sample


@dataclass(frozen=True)
class FetchedDual:
    """Dual coefficients of fetched rows; the margins by `first` fix the others at 0 or C_i."""

    first: Array
    own: tuple[Array, ...]
    dual: Array


def _visit(
    block: Block, requests: Sequence[tuple[Predictor, Array, float]], size: int
) -> list[PassResult]:
    rows = block.whole()
    return [_visit_for(block, rows, *each, size) for each in requests]


def _visit_for(
    block: Block, rows: Any, column: Predictor, vectors: Array, band: float, size: int
) -> PassResult:
    """Return the loss of the newest vector, and the rows near 1 or moved across it."""
    labels, bounds = column.labels_and_bounds(block.own)
    # One vector at a time: in a product with others it may be rounded differently.
    first, *others = (labels * block.scores(rows, vector) for vector in vectors)
    below, near = first < 1.0, np.abs(first - 1.0) <= band
    fetched, fixed = near, below & ~near
    if others:
        moved = [(other < 1.0) != below for other in others]
        fetched = moved[-1] & ~np.any([near, *moved[:-1]], axis=0)
        fixed = below & fetched
    index = np.flatnonzero(fetched & (bounds > 0.0))
    taken, combined, weights = block.take(index), np.empty((1, size)), labels * bounds * fixed
    if others:  # these rows were fixed until now
        block.combine(taken, weights[None, index], combined)
    else:
        block.combine(rows, weights[None], combined)
    total = float(bounds[fixed].sum())
    margins = others[-1] if others else first
    loss = float(bounds @ np.maximum(0.0, 1.0 - margins))
    own = tuple(each[index] for each in (*block.own, labels, bounds))
    return PassResult(loss, combined[0], total, Sample(taken, own))


def _coefficients(block: Block, labels: Array, bounds: Array, dual: FetchedDual) -> Array:
    """Return the dual coefficients a of a block's rows."""
    a = np.where(labels * block.scores(block.whole(), dual.first) < 1.0, bounds, 0.0)
    here = (dual.own[0] >= block.span.start) & (dual.own[0] < block.span.stop)
    a[dual.own[0][here] - block.span.start] = dual.dual[here]
    return a


def _joined_results(parts: Sequence[Sequence[PassResult]]) -> list[PassResult]:
    return [_joined_pass_results(own) for own in zip(*parts, strict=True)]


def _joined_pass_results(parts: Sequence[PassResult]) -> PassResult:
    combined = np.sum([part.combined for part in parts], axis=0)
    loss, total = (float(sum(getattr(part, name) for part in parts)) for name in ("loss", "total"))
    return PassResult(loss, combined, total, join_samples([part.fetched for part in parts]))


class _MarginState(SolverState):
    """Solver state of one predictor: vectors w₀, w₁, ..., results of passes, and the best pair."""

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
        self._results: list[PassResult] = []
        self.bound, self.is_active = 0.0, True
        self.history.append((column.unit * sum(column.label_weights), 0.0))  # of the vector zero
        self._solve_sample(sample, share)

    def _solve_sample(self, sample: Sample, share: float) -> None:
        """Solve the sample; set the width of the band that has this share of its margins."""
        target = sample.target(self.column)
        # The sample's objective has a relative error of about features / rows.
        gap = min(SAMPLE_GAP, self.width / max(1, len(target.bounds)))
        given = sample.X, [target], self._intercept, gap
        with our_threads():
            (start,) = solve_margin_rows(*given, needs_dual=False)
            if start is None:
                (start,) = solve_rows(sample.X, True, *given[1:], needs_dual=False)
        warm_start = sample_start(start, len(target.bounds), self._intercept)
        self.best, self._error = warm_start.vector, warm_start.error
        self.vectors = [self.best]
        with single_threaded_blas():
            scores = np.asarray(sample.X @ start.vector) + start.bias
        away = np.abs(target.labels * scores - 1.0)[target.bounds > 0.0]
        self.band = float(np.quantile(away, share)) if len(away) else 0.0

    def update(self, found: PassResult) -> None:
        """Certify the newest vector by the results of a pass, and compute the next one."""
        vector = self.vectors[-1]
        primal = 0.5 * float(vector @ vector) + found.loss
        if primal < self.primal:
            self.primal, self.best = primal, vector
        self.history.append((self.primal, self.bound))
        self._results.append(found)
        fetched = sum(result.fetched.count for result in self._results)
        is_stuck = len(self._results) > MOST_PASSES or fetched > self._most
        is_stuck |= not found.fetched.count
        self.is_active = self.relative > self._tol and not is_stuck and not deadline_reached()
        if self.is_active:
            self._solve()
        else:
            self._results.clear()  # frees memory for other predictors

    def _solve(self) -> None:
        """Solve the fetched rows with the others fixed: the next vector, and a bound."""
        first, *later = self._results
        combined = first.combined - sum(result.combined for result in later)
        total = first.total - sum(result.total for result in later)
        fixed = FixedRows(combined, total, self.primal)
        rows = join_samples([result.fetched for result in self._results])
        *own, labels, bounds = rows.own
        target, gap = Target(labels, bounds, fixed), INNER_GAP * self._tol
        start = WarmStart(self.best, self.primal, self._error)
        with our_threads():
            (part,) = solve_rows(rows.X, True, [target], self._intercept, gap, start=start)
        self.vectors.append(with_bias(part, self._intercept))
        if part.bound > self.bound:
            self.bound, self.dual = part.bound, FetchedDual(self.vectors[0], tuple(own), part.dual)
