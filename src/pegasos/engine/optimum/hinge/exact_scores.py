"""Scores that a certificate may rest on, where those of the rounds come from kernel lines that are rounded to float32.

‖w‖² needs exact scores of the support vectors. Of other rows F needs the loss only, and that is exactly zero where the margin is
beyond 1 by more than rounding can be wrong. How wrong it is, is seen at the rows that are computed; several times as much is
allowed for the others. So what is computed once more, in the precision of the rows, is K between support vectors and few others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from pegasos.engine.optimum.hinge.lines import Lines
from pegasos.engine.optimum.hinge.set_predictor import Predictor
from pegasos.engine.runtime.compiling import compiled

Array = np.ndarray[Any, Any]

#: Errors of scores (as shares of 1 + |score|) for which rows are computed at first, and how many times the largest error that is
#: then seen the others are trusted for.
FIRST_ERROR, TIMES_SEEN = 0.01, 8.0


class ExactScores:
    """Of each predictor (a line) coefficients for which scores of all rows are exact, and those scores: at first both are 0.

    rows  places of the training rows among all rows
    """

    def __init__(self, lines: Lines, rows: Array, scores: Array) -> None:
        self._lines, self._rows = lines, rows
        self.c = np.zeros((len(scores), len(rows)))
        self.scores = np.zeros_like(scores)

    def know(self, lines: list[int], c: Array, scores: Array) -> None:
        """These scores are exact for these coefficients."""
        self.c[lines], self.scores[lines] = c, scores

    def settle(
        self,
        predictors: list[Predictor],
        lines: list[int],
        scores: Array,
        look: Callable[[int], None],
    ) -> None:
        """Bring scores of these predictors up to date wherever their certificate may feel it; `look` makes it again for one."""
        parts = [
            _Part(j, *predictors[j].changed_and_uncertain(self.c[j], FIRST_ERROR)) for j in lines
        ]
        error = self._correct(parts, scores)
        for j in lines:
            look(j)
        again = [
            part
            for part in parts
            if predictors[part.line].is_uncertain_beyond(part.wanted, TIMES_SEEN * error)
        ]
        if again:
            everywhere = np.arange(len(self._rows))
            self._correct([part._replace(wanted=everywhere) for part in again], scores)
            for part in again:
                look(part.line)

    def _correct(self, parts: list[_Part], scores: Array) -> float:
        """Exact scores of each predictor's wanted rows; how wrong the worst of them was, as a share of 1 + |score|.

        Predictors whose support vectors are mostly others' rows, too, go together; else each has values of the kernel to itself.
        """
        used, wanted = (
            _union(rows, len(self._rows))
            for rows in zip(*((part.used, part.wanted) for part in parts), strict=True)
        )
        if _values_computed(used, wanted) > sum(
            _values_computed(part.used, part.wanted) for part in parts
        ):
            return max(
                self._correct_some([part], part.used, part.changes[None], part.wanted, scores)
                for part in parts
            )
        changes = np.zeros((len(parts), len(used)))
        for own, part in zip(changes, parts, strict=True):
            own[np.searchsorted(used, part.used)] = part.changes
        return self._correct_some(parts, used, changes, wanted, scores)

    def _correct_some(
        self, parts: list[_Part], used: Array, changes: Array, wanted: Array, scores: Array
    ) -> float:
        places = self._rows[wanted]
        added = self._lines.scores_of(self._rows[used], changes, places)
        return max(
            _replace(scores[part.line], self.scores[part.line], added[k], places)
            for k, part in enumerate(parts)
        )


class _Part(NamedTuple):
    """What a predictor's certificate depends on: rows whose coefficients changed since they were known, and wanted rows."""

    line: int
    used: Array
    changes: Array
    wanted: Array


@compiled
def _replace(scores: Array, known: Array, added: Array, places: Array) -> float:
    """Scores at these places become known + added; the largest change, as a share of 1 + |score|."""
    error = 0.0
    for k in range(places.size):
        exact = known[places[k]] + added[k]
        error = max(error, abs(exact - scores[places[k]]) / (1.0 + abs(exact)))
        scores[places[k]] = exact
    return error


def _union(sets: Iterable[Array], size: int) -> Array:
    chosen = np.zeros(size, dtype=bool)
    for rows in sets:
        chosen[rows] = True
    return np.flatnonzero(chosen)


def _values_computed(used: Array, wanted: Array) -> float:
    """Values of the kernel between used rows, each once, and between these and the other wanted ones."""
    return len(used) * (len(wanted) - 0.5 * len(used))
