"""Predictors, passes, samples and certificates: shared by the methods over row blocks.

Labels and bounds belong to the blocks: a block computes them from what it stores beside its rows.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from scipy.special import entr

from pegasos.engine.optimum.problem import Held, Intercept, Optimum, Target
from pegasos.engine.rows.blocks import THIN_ROWS, Block, Part, RowBlocks, is_thin, sample_of
from pegasos.engine.runtime.interruption import deadline_reached, tell_gap

Array = np.ndarray[Any, Any]

#: Features up to which a square matrix of them is made.
MOST_FEATURES = 2000
#: Numbers in a block of wide dense rows, for which no such matrix is made.
WIDE_NUMBERS = 1 << 21
#: Passes without a better gap after which nothing more is to be had from this arithmetic.
PATIENCE = 60
#: The fold of predictors that learn from all rows.
NO_FOLD = -1


class Passes(Protocol):
    """Rows in blocks, wherever they are (see `RowBlocks.map_sum`).

    A block's `own` are arrays beside its rows, from which a `Predictor` computes labels and
    bounds.
    """

    width: int

    @property
    def row_bytes(self) -> float:
        """Bytes of a row, about."""

    @property
    def room(self) -> float:
        """Bytes that rows fetched into this process may take."""

    def map_sum(self, work: Any, *arguments: Any) -> Part:
        """Return the sum of work(block, *arguments) over all blocks."""

    def map_join(self, work: Any, join: Any, *arguments: Any) -> Any:
        """Return join of work(block, *arguments) over all blocks."""


class LabelledBlocks(RowBlocks):
    """Blocks with arrays beside their rows: class codes, weights and perhaps folds, or row numbers.

    Rows in memory have unlimited `room`; what is fetched of them is bounded by the method.
    """

    row_bytes: float = 0.0
    room: float = math.inf

    def __init__(self, X: Any, *own: Array | None, members: Array | None = None) -> None:
        wide = X.shape[1] > MOST_FEATURES
        size = THIN_ROWS if is_thin(X) and not wide else None
        if wide and not sparse.issparse(X):
            size = max(1, WIDE_NUMBERS // X.shape[1])
        super().__init__(X, members, size=size)
        for block in self.blocks:
            block.own = tuple(each[block.span] for each in own if each is not None)


class Predictor(Protocol):
    """A predictor to be solved: a `Target` with the row numbers of a block, or a `Column`."""

    @property
    def unit(self) -> float:
        """C_i per unit of weight."""

    @property
    def sides(self) -> tuple[float, float]:
        """Σ ω_i of either label."""

    @property
    def rows(self) -> int:
        """Number of rows with C_i > 0."""

    @property
    def held(self) -> Held | None:
        """Rows that are held at their bounds."""

    def of(self, own: tuple[Array, ...]) -> tuple[Array, Array]:
        """Return the labels and bounds of some rows."""


@dataclass(frozen=True)
class Column:
    """One predictor: rows with this class code are +1, all others -1; C_i = unit ω_i.

    Parameters
    ----------
    sides : Σ ω_i of either label.
    rows : number of rows with ω_i > 0.
    each : factor of ω_i for each class code (None: 1).
    fold : rows of this fold have ω_i = 0.
    """

    code: int
    unit: float
    sides: tuple[float, float]
    rows: int
    each: Array | None = None
    fold: int = NO_FOLD
    held: None = None

    def weights(self, codes: Array, weights: Array, folds: Array | None = None) -> Array:
        """Return ω of rows for this predictor."""
        if self.each is not None:
            weights = self.each[codes] * weights
        return weights if self.fold == NO_FOLD else np.where(folds == self.fold, 0.0, weights)

    def of(self, own: tuple[Array, ...]) -> tuple[Array, Array]:
        """Return the labels and bounds of rows with these codes, weights and folds."""
        return np.where(own[0] == self.code, 1.0, -1.0), self.unit * self.weights(*own)


class Search:
    """Solver state of one predictor: its best pair, and F and G after each pass.

    Attributes
    ----------
    best : w, with the intercept last if there is one.
    dual : how to compute the dual coefficients of the bound, for rows in memory.
    since : passes without a better gap.
    trivial : whether no pass is needed.
    """

    primal, bound, since, trivial = math.inf, -math.inf, 0, False
    dual: Any = None
    best: Array

    def __init__(self, width: int) -> None:
        self.width = width
        self.history: list[tuple[float, float]] = []

    @property
    def relative(self) -> float:
        """The relative gap."""
        return (self.primal - self.bound) / self.primal if self.primal > 0.0 else 0.0

    def record(self, before: float) -> None:
        """Record the pair after a pass; `before` is the gap before it."""
        self.history.append((self.primal, self.bound))
        self.since = 0 if self.relative < before else self.since + 1

    def certified(self) -> Optimum:
        """Return the best pair so far."""
        bias = float(self.best[-1]) if len(self.best) > self.width else 0.0
        vector, history = self.best[: self.width].copy(), tuple(self.history)
        return Optimum(vector, bias, self.dual, self.primal, self.bound, len(history), history)


def follow(
    chains: Sequence[Sequence[Any]],
    together: int,
    begin: Callable[[int, Any, Any], Any],
    serve: Callable[[list[Any]], None],
    tol: float,
    most: int,
) -> list[list[Optimum]]:
    """Solve all predictors of all chains until each relative gap is at most tol.

    In a chain each predictor begins where the last one ended. begin(number of the chain, predictor,
    the search before it or None) makes a search; serve(searches) is one pass for at most `together`
    of them, one of each chain. At the deadline of this thread the best pairs so far are returned.
    """
    found: list[list[Optimum]] = [[] for _ in chains]
    waiting = deque(number for number, chain in enumerate(chains) if chain)
    live: dict[int, Search] = {}
    while waiting or live:
        while waiting and len(live) < together:
            number = waiting.popleft()
            live[number] = begin(number, chains[number][0], None)
        for number, search in list(live.items()):
            following: Search | None = search
            while following is not None and _ended(following, tol, most):
                found[number].append(following.certified())
                rest = chains[number][len(found[number]) :]
                following = begin(number, rest[0], following) if rest else None
            if following is None:
                del live[number]
            else:
                live[number] = following
        if live:
            serve(list(live.values()))
            tell_gap(max(search.relative for search in live.values()), tol)
    return found


def _ended(search: Search, tol: float, most: int) -> bool:
    if search.trivial:
        return True
    late = search.since > PATIENCE or len(search.history) >= most or deadline_reached()
    return bool(search.history) and (late or search.relative <= tol)


@dataclass(frozen=True)
class Sample:
    """Some rows, and the arrays beside them (see `Passes`)."""

    X: Any
    own: tuple[Array, ...]

    def target(self, predictor: Predictor) -> Target:
        """Return a predictor on the sample, with the same λ: the sum of all C_i stays the same."""
        labels, bounds = predictor.of(self.own)
        total = max(float(bounds.sum()), np.finfo(float).tiny)
        return Target(labels, predictor.unit * sum(predictor.sides) / total * bounds)


def fetch_sample(blocks: Passes, share: float) -> Sample:
    """Return this share of the rows of every block, in one pass."""
    found: Sample = blocks.map_join(_sample, _joined_samples, share)
    return found


def _sample(block: Block, share: float) -> Sample:
    index = sample_of(block.count, math.ceil(share * block.count))
    return Sample(block.take(index), tuple(each[index] for each in block.own))


def _joined_samples(parts: Sequence[Sample]) -> Sample:
    own = zip(*(part.own for part in parts), strict=True)
    return Sample(stacked([part.X for part in parts]), tuple(np.concatenate(each) for each in own))


def stacked(parts: Sequence[Any]) -> Any:
    """Return rows of several blocks, one below the other, as they are stored."""
    if len(parts) == 1:
        return parts[0]
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate([np.asarray(part) for part in parts])


def with_bias(optimum: Optimum, intercept: Intercept) -> Array:
    """Return w, with the intercept last if there is one."""
    if intercept is Intercept.NONE:
        return optimum.vector
    return np.append(optimum.vector, optimum.bias)


def as_optimum(
    blocks: LabelledBlocks,
    linear_dual: bool,
    target: Target,
    found: Optimum,
    intercept: Intercept,
    coefficients: Callable[..., Array],
) -> Optimum:
    """Return dual coefficients too, with F and G of exactly this vector and these coefficients.

    coefficients(block, rows, linear_dual, target, found.dual) are those of a block.
    """
    dual = np.zeros(len(target.labels))
    if found.dual is None:
        return replace(found, dual=dual)
    vector = with_bias(found, intercept)
    diagonal = np.ones(len(vector))
    if intercept is Intercept.FREE:
        diagonal[-1] = 0.0

    def work(block: Block) -> Part:
        rows = block.whole()
        labels, bounds = target.of(block.own)
        a = np.clip(coefficients(block, rows, linear_dual, target, found.dual), 0.0, bounds)
        dual[block.own[0]] = a
        margins = labels * block.scores(rows, vector)
        if linear_dual:
            loss, terms = bounds @ np.maximum(0.0, 1.0 - margins), a.sum()
        else:
            share = np.divide(a, bounds, out=np.zeros_like(a), where=bounds > 0.0)
            loss = bounds @ np.logaddexp(0.0, -margins)
            terms = bounds @ (entr(share) + entr(1.0 - share))
        combined = np.empty((1, len(vector)))
        block.combine(rows, (labels * a)[None], combined)
        return Part((np.array([loss, terms]), combined))

    (loss, terms), [combined] = blocks.map_sum(work).sums
    primal, bound = 0.5 * float(diagonal * vector @ vector) + loss, float(terms)
    if target.held is not None:
        primal += target.held.total - float(target.held.vector @ vector)
        bound, combined = bound + target.held.total, combined + target.held.vector
    bound -= 0.5 * float(diagonal * combined @ combined)
    history = (*found.history, (float(primal), float(bound)))
    return replace(found, dual=dual, primal=float(primal), bound=float(bound), history=history)
