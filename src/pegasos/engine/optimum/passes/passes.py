"""What methods in passes are given and answer: predictors described by class codes, for rows that may be anywhere.

Labels and bounds belong to the blocks: a block makes them from its class codes and weights, and nobody needs those of all rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from pegasos.engine.optimum.problem import Course
from pegasos.engine.rows.blocks import Part, RowBlocks
from pegasos.engine.rows.thin import THIN_ROWS, is_thin
from pegasos.engine.runtime.interruption import tell_gap

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

    A block's `own` are the class codes and the weights of its rows, and their folds where some predictors leave a fold out.
    row_bytes  what a row takes in memory, about;  room  bytes that rows fetched into this process may take
    """

    width: int
    row_bytes: float
    room: int

    def map_sum(self, work: Any, *arguments: Any) -> Part: ...

    def map_join(self, work: Any, join: Any, *arguments: Any) -> Any: ...


class LabelledBlocks(RowBlocks):
    """Blocks whose `own` are the class codes, weights and, if there are any, folds of their rows."""

    row_bytes: float = 0.0
    room = 0

    def __init__(self, X: Any, codes: Array, weights: Array, folds: Array | None = None) -> None:
        wide = X.shape[1] > MOST_FEATURES
        size = THIN_ROWS if is_thin(X) and not wide else None
        if wide and not sparse.issparse(X):
            size = max(1, WIDE_NUMBERS // X.shape[1])
        super().__init__(X, size=size)
        own = (codes, weights) if folds is None else (codes, weights, folds)
        for block in self.blocks:
            block.own = tuple(each[block.span] for each in own)


@dataclass(frozen=True)
class Column:
    """One predictor: rows with this class code are +1, all others -1; C_i = unit ω_i.

    sides  Σ ω_i of either label;  rows  how many rows have ω_i > 0
    each  a factor of ω_i for each class code (None: 1);  fold  rows of this fold have ω_i = 0
    """

    code: int
    unit: float
    sides: tuple[float, float]
    rows: int
    each: Array | None = None
    fold: int = NO_FOLD

    def weights(self, codes: Array, weights: Array, folds: Array | None = None) -> Array:
        """ω of rows for this predictor."""
        if self.each is not None:
            weights = self.each[codes] * weights
        return weights if self.fold == NO_FOLD else np.where(folds == self.fold, 0.0, weights)


@dataclass(frozen=True)
class Certified:
    """A predictor, its objective F and a bound below all objectives (see `optimum.py`); both after each pass."""

    vector: Array
    bias: float
    primal: float
    bound: float
    course: Course

    @property
    def relative(self) -> float:
        """(F - G)/F, 0 where F is 0."""
        return (self.primal - self.bound) / self.primal if self.primal > 0.0 else 0.0


class Search(Protocol):
    """The search for one predictor: `course` are F and G after its passes, `since` counts those without a better gap."""

    course: list[tuple[float, float]]
    since: int

    @property
    def relative(self) -> float: ...

    @property
    def trivial(self) -> bool: ...

    def certified(self) -> Certified: ...


def follow(
    chains: Sequence[Sequence[Column]],
    together: int,
    begin: Callable[[Column, Any], Any],
    serve: Callable[[list[Any]], None],
    tol: float,
    most: int,
) -> list[list[Certified]]:
    """All predictors of all chains, each until its relative gap is at most tol; in a chain each begins where the last one ended.

    begin(column, the search before it or None) makes a search, serve(searches) is one pass for all that are under way: one of
    each chain, at most `together`.
    """
    found: list[list[Certified]] = [[] for _ in chains]
    waiting = deque(number for number, chain in enumerate(chains) if chain)
    live: dict[int, Search] = {}
    while waiting or live:
        while waiting and len(live) < together:
            number = waiting.popleft()
            live[number] = begin(chains[number][0], None)
        for number, search in list(live.items()):
            following: Search | None = search
            while following is not None and _ended(following, tol, most):
                found[number].append(following.certified())
                rest = chains[number][len(found[number]) :]
                following = begin(rest[0], following) if rest else None
            if following is None:
                del live[number]
            else:
                live[number] = following
        if live:
            serve(list(live.values()))
            tell_gap(max(search.relative for search in live.values()), tol)
    return found


def _ended(search: Search, tol: float, most: int) -> bool:
    return search.trivial or bool(
        search.course
        and (search.relative <= tol or search.since > PATIENCE or len(search.course) >= most)
    )
