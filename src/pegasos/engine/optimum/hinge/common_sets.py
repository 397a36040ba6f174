"""One set of rows for predictors of several classes, where nearly all rows have to move in any case.

Each predictor's own set gains more in a round. But where gains are spread over many more rows than a set has, as with a narrow
kernel at the beginning, any set is nearly as good as another, and lines of K that are read once for all are what a round costs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.engine.optimum.hinge.pair_steps import SetKernel, gather_line
from pegasos.engine.optimum.hinge.set_choice import classes_of, mark_largest
from pegasos.engine.runtime.compiling import compiled
from pegasos.engine.runtime.threads import run_blocks

Array = np.ndarray[Any, Any]

#: Classes from which on reading lines once pays, rows of a set, and rounds with one at most.
LEAST_CLASSES, COMMON_ROWS, COMMON_ROUNDS = 3, 1000, 20
#: The share of all gains up to which predictors' own sets hold too little, and the share of theirs that the common one must hold.
OWN_SHARE, COMMON_SHARE = 0.9, 0.5
#: Lines that a thread gathers at once.
LINES_AT_ONCE = 64


def common_rows(gains: list[Array]) -> Array | None:
    """The rows of a set for all predictors, given what each row would gain for each; None if their own sets are better.

    >>> common_rows([np.ones(5000), np.ones(5000), np.ones(5000)]).size
    1000
    >>> few = np.where(np.arange(5000) < 10, 1.0, 0.0)
    >>> common_rows([few, few, few]) is None
    True
    """
    size = len(gains[0])
    if size <= 2 * COMMON_ROWS:
        return None
    together, own = np.zeros(size), 0.0
    for each in gains:
        total = float(each.sum())
        if not total > 0.0:
            return None
        share = each / total
        together += share
        own += float(share[_largest(share)].sum())
    if own > OWN_SHARE * len(gains):
        return None
    rows = _largest(together)
    return rows if together[rows].sum() >= COMMON_SHARE * own else None


def _largest(values: Array) -> Array:
    """Where the largest of these numbers are, which are not negative."""
    chosen = np.zeros(len(values), dtype=bool)
    mark_largest(classes_of(values), values > 0.0, COMMON_ROWS, chosen)
    return np.flatnonzero(chosen)


@compiled
def _gather(kernel: Any, start: int, stop: int) -> None:
    for place in range(start, stop):
        kernel.line[place] = place
        gather_line(kernel, place)


def gather_lines(kernel: SetKernel) -> None:
    """All lines of a set's kernel, none of which is there, so that several threads may read them."""

    def work(lines: slice, _: slice) -> None:
        _gather(kernel, lines.start, lines.stop)

    size = len(kernel.K)
    run_blocks(
        [
            (slice(k, min(k + LINES_AT_ONCE, size)), slice(0, 0))
            for k in range(0, size, LINES_AT_ONCE)
        ],
        work,
    )
