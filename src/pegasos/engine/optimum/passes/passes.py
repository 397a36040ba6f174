"""Predictors, solver states, samples and certificates of the methods that pass over row blocks.

A block computes the labels and bounds of a predictor from the arrays that it stores with its rows.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from pegasos.engine.optimum.problem import FixedRows, Intercept, Optimum, Target
from pegasos.engine.rows.blocks import THIN_ROWS, Block, Part, RowBlocks, is_thin, sample_of
from pegasos.engine.runtime.interruption import deadline_reached, tell_gap

Array = np.ndarray[Any, Any]

#: Features up to which a Hessian (features x features) is formed: 32 MB in float64.
MOST_FEATURES = 2000
#: Numbers in a block of dense rows with more features than that: 16 MB in float64.
WIDE_NUMBERS = 1 << 21
#: Passes without a smaller gap after which rounding prevents further progress.
PATIENCE = 60
#: The fold of predictors that train on all rows.
NO_FOLD = -1


class Passes(Protocol):
    """Protocol of rows in blocks: in memory, on disk or on a cluster (see `RowBlocks.map_sum`).

    A block's `own` are arrays stored with its rows, from which a `Predictor` computes labels and
    bounds.
    """

    width: int

    @property
    def row_bytes(self) -> float:
        """Approximate size of a row in bytes."""

    @property
    def room(self) -> float:
        """Memory in bytes for rows that are fetched into this process."""

    def map_sum(self, work: Any, *arguments: Any) -> Part:
        """Return the sum of work(block, *arguments) over all blocks."""

    def map_join(self, work: Any, join: Any, *arguments: Any) -> Any:
        """Return join([work(block, *arguments) for each block])."""


class LabelledBlocks(RowBlocks):
    """Row blocks with class codes, weights and perhaps folds of their rows, or row numbers.

    Rows in memory have unlimited `room`: the method itself limits how many rows it copies.
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
    """Protocol of predictors to be solved: a `Target` (blocks store row numbers) or a `Column`."""

    @property
    def unit(self) -> float:
        """C_i per unit of weight."""

    @property
    def label_weights(self) -> tuple[float, float]:
        """Σ ω_i of the rows with label 1 and of those with label -1."""

    @property
    def rows(self) -> int:
        """Number of rows with C_i > 0."""

    @property
    def fixed(self) -> FixedRows | None:
        """Further rows, fixed at their bounds."""

    def labels_and_bounds(self, own: tuple[Array, ...]) -> tuple[Array, Array]:
        """Return the labels and bounds of some rows."""


@dataclass(frozen=True)
class Column:
    """One predictor: rows with this class code are +1, all others -1; C_i = unit ω_i.

    Parameters
    ----------
    label_weights : Σ ω_i of the rows with label 1 and of those with label -1.
    rows : number of rows with ω_i > 0.
    each : factor of ω_i for each class code (None: 1).
    fold : rows of this fold have ω_i = 0.
    """

    code: int
    unit: float
    label_weights: tuple[float, float]
    rows: int
    each: Array | None = None
    fold: int = NO_FOLD
    fixed: None = None

    def weights(self, codes: Array, weights: Array, folds: Array | None = None) -> Array:
        """Return ω of rows for this predictor."""
        if self.each is not None:
            weights = self.each[codes] * weights
        return weights if self.fold == NO_FOLD else np.where(folds == self.fold, 0.0, weights)

    def labels_and_bounds(self, own: tuple[Array, ...]) -> tuple[Array, Array]:
        """Return the labels and bounds of rows with these codes, weights and folds."""
        return np.where(own[0] == self.code, 1.0, -1.0), self.unit * self.weights(*own)


class SolverState:
    """Solver state of one predictor: its best primal-dual pair, and F and G after each pass.

    Attributes
    ----------
    best : best w so far, with the intercept last if there is one.
    dual : description from which the blocks recompute the best dual coefficients.
    stalled_passes : passes since the gap last fell.
    is_trivial : whether no pass is needed.
    """

    primal, bound, stalled_passes, is_trivial = math.inf, -math.inf, 0, False
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
        """Record F and G after a pass; `before` is the relative gap before it."""
        self.history.append((self.primal, self.bound))
        self.stalled_passes = 0 if self.relative < before else self.stalled_passes + 1

    def certified(self) -> Optimum:
        """Return the best pair so far."""
        bias = float(self.best[-1]) if len(self.best) > self.width else 0.0
        vector, history = self.best[: self.width].copy(), tuple(self.history)
        return Optimum(vector, bias, self.dual, self.primal, self.bound, len(history), history)


def solve_chains(
    chains: Sequence[Sequence[Any]],
    at_once: int,
    make_state: Callable[[int, Any, Any], Any],
    run_pass: Callable[[list[Any]], None],
    tol: float,
    most: int,
) -> list[list[Optimum]]:
    """Solve all predictors of all chains until each relative gap is at most tol.

    In a chain each predictor starts from the optimum of the one before it: make_state(number of the
    chain, predictor, state before it or None). run_pass(states) makes one pass for at most
    `at_once` states, one per chain. At the deadline the best pairs so far are returned.
    """
    found: list[list[Optimum]] = [[] for _ in chains]
    waiting = deque(number for number, chain in enumerate(chains) if chain)
    live: dict[int, SolverState] = {}
    while waiting or live:
        while waiting and len(live) < at_once:
            number = waiting.popleft()
            live[number] = make_state(number, chains[number][0], None)
        for number, state in list(live.items()):
            following: SolverState | None = state
            while following is not None and _ended(following, tol, most):
                found[number].append(following.certified())
                remaining = chains[number][len(found[number]) :]
                following = make_state(number, remaining[0], following) if remaining else None
            if following is None:
                del live[number]
            else:
                live[number] = following
        if live:
            run_pass(list(live.values()))
            tell_gap(max(state.relative for state in live.values()), tol)
    return found


def _ended(state: SolverState, tol: float, most: int) -> bool:
    if state.is_trivial:
        return True
    must_stop = state.stalled_passes > PATIENCE or len(state.history) >= most or deadline_reached()
    return bool(state.history) and (must_stop or state.relative <= tol)


@dataclass(frozen=True)
class Sample:
    """Sampled rows, and the arrays stored with them (see `Passes`)."""

    X: Any
    own: tuple[Array, ...]

    @property
    def count(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    def target(self, predictor: Predictor) -> Target:
        """Return a predictor on the sample with the same λ: C_i are scaled to the same sum."""
        labels, bounds = predictor.labels_and_bounds(self.own)
        total = max(float(bounds.sum()), np.finfo(float).tiny)
        return Target(labels, predictor.unit * sum(predictor.label_weights) / total * bounds)


def fetch_sample(blocks: Passes, share: float) -> Sample:
    """Return this share of the rows of every block, in one pass."""
    found: Sample = blocks.map_join(_sample, join_samples, share)
    return found


def _sample(block: Block, share: float) -> Sample:
    index = sample_of(block.count, math.ceil(share * block.count))
    return Sample(block.take(index), tuple(each[index] for each in block.own))


def join_samples(parts: Sequence[Sample]) -> Sample:
    """Return the rows of several samples, one below the other."""
    own = zip(*(part.own for part in parts), strict=True)
    return Sample(stacked([part.X for part in parts]), tuple(np.concatenate(each) for each in own))


def stacked(parts: Sequence[Any]) -> Any:
    """Return rows of several blocks, stacked, in the stored form."""
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


def with_dual(
    blocks: LabelledBlocks, target: Target, found: Optimum, coefficients: Callable[..., Array]
) -> Optimum:
    """Return the optimum with its dual coefficients.

    coefficients(block, labels, bounds, found.dual) returns those of a block, except for rounding.
    """
    dual = np.zeros(len(target.labels))

    def work(block: Block) -> Part:
        labels, bounds = target.labels_and_bounds(block.own)
        a = coefficients(block, labels, bounds, found.dual)
        dual[block.own[0]] = np.clip(a, 0.0, bounds)
        return Part(())

    if found.dual is not None:
        blocks.map_sum(work)
    return replace(found, dual=dual)
