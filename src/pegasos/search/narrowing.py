"""Which cells of a grid are worth more time: looks at few rows, and paired comparisons that end what is clearly behind.

Two cells that are tested on the same rows are compared by the rows on which only one of them errs: that is the noise of their
difference, and it is far smaller than the noise of either error. Other metrics than the error are compared on the same
bootstrap draws of those rows, for the same reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

#: Rows that the first look learns from, how much each next one grows, and how many times the last one fits into a fold.
FIRST_LOOK, GROWTH, WORTH = 400, 4, 2.0
#: A look is tested on at most so many times the rows that it learns from.
TESTED = 3
#: Standard errors of the paired difference behind the leader at which a cell ends: after a look, where more rows may change
#: the order, and after folds.
BEHIND_IN_LOOK, BEHIND = 2.5, 1.5
#: Cells that go on at most, after the first round, the second, ...; and so many of them may err on the same rows as a better one.
MOST, EQUALS = (12, 8, 6, 4), 4


@dataclass(frozen=True)
class Ended:
    """Where a cell ended: learned from so many rows, its error (or metric) on others, and the leader's on them."""

    learned: int
    tested: int
    value: float
    leader: float

    @property
    def behind(self) -> float:
        """How far it was from the leader."""
        return abs(self.value - self.leader)


@dataclass(frozen=True)
class Look:
    """A first look at few rows: which to learn from, and which to test on."""

    train: Array
    test: Array


def look_sizes(rows: int) -> list[int]:
    """Rows to learn from in each look, where folds learn from so many.

    >>> look_sizes(700), look_sizes(1000), look_sizes(12_800)
    ([], [400], [400, 1600, 6400])
    """
    sizes = []
    size = FIRST_LOOK
    while WORTH * size <= rows:
        sizes.append(size)
        size *= GROWTH
    return sizes


def make_look(splits: Sequence[tuple[Array, Array]], codes: Array, size: int) -> Look | None:
    """Rows to learn from out of the first folds' tests, rows to be tested on out of the others': a splitter's groups stay apart.

    None where that leaves no rows to test on, or one class only.
    """
    parts, first = [test for _, test in splits], 1
    while first < len(parts) and sum(map(len, parts[:first])) < size:
        first += 1
    train = np.unique(np.concatenate(parts[:first]))
    test = np.setdiff1d(np.concatenate([*parts[first:], train[:0]]), train)
    train, test = by_class(train, codes, size), by_class(test, codes, TESTED * size)
    return Look(train, test) if len(test) and len(np.unique(codes[train])) > 1 else None


def by_class(rows: Array, codes: Array, size: int) -> Array:
    """At most so many of the rows, spread over them and over their classes.

    >>> by_class(np.arange(8), np.array([0, 0, 0, 0, 0, 0, 1, 1]), 4).tolist()
    [0, 2, 3, 6]
    """
    if len(rows) <= size:
        return rows
    place = np.empty(len(rows))
    for code in np.unique(codes[rows]):
        own = np.flatnonzero(codes[rows] == code)
        # a permutation that depends on nothing but the count: neighbours in a file are often alike
        place[np.random.default_rng(len(own)).permutation(own)] = (np.arange(len(own)) + 0.5) / len(
            own
        )
    return np.sort(rows[np.argsort(place, kind="stable")[:size]])


def going_on(wrong: Array, most: int, behind: float = BEHIND) -> Array:
    """Which cells (rows of `wrong`, cells x tested rows) are worth more time, the best first.

    Not those that err more often than the leader by more than `behind` standard errors of the paired difference; of the others
    the best `most`. Cells that err on exactly the rows of a better one are that one again, so far: where few are left, some of
    them go on, for more rows may tell them apart.

    >>> wrong = np.zeros((4, 100), dtype=bool)
    >>> wrong[0, :20], wrong[1, 1:22], wrong[2, :40], wrong[3, :20] = True, True, True, True
    >>> going_on(wrong, most=3).tolist(), going_on(wrong, most=2).tolist()
    ([0, 3, 1], [0, 1])
    """
    wrong = wrong.astype(bool)
    order = np.argsort(wrong.sum(axis=1), kind="stable")
    leader = wrong[order[0]]
    more, discordant = wrong.sum(axis=1) - leader.sum(), (wrong ^ leader).sum(axis=1)
    good = [number for number in order if more[number] <= behind * np.sqrt(discordant[number])]
    firsts = list({wrong[number].tobytes(): number for number in reversed(good)}.values())[::-1]
    equals = [number for number in good if number not in firsts][: max(0, EQUALS - len(firsts))]
    chosen = [*firsts, *equals][:most]
    return np.array(sorted(chosen, key=good.index), dtype=np.intp)


def going_on_by(losses: Array, draws: Array, most: int, behind: float = BEHIND) -> Array:
    """The same by any loss (of a cell), and its values on the same bootstrap draws of the rows (cells x rounds).

    >>> one, two, three = np.random.default_rng(0).normal([[0.51], [0.5], [0.9]], 0.02, (3, 50))
    >>> going_on_by(np.array([0.51, 0.5, 0.9]), np.stack([one, two, three]), most=3).tolist()
    [1, 0]
    """
    order = np.argsort(losses, kind="stable")
    leader = order[0]
    noise = np.nanstd(draws - draws[leader], axis=1)
    good = [
        number
        for number in order
        if losses[number] - losses[leader] <= behind * noise[number] or number == leader
    ]
    return np.array(good[:most], dtype=np.intp)
