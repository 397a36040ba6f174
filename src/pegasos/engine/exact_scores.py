"""Scores that a certificate may rest on, where those of the rounds come from kernel lines that are rounded to float32.

‖w‖² needs exact scores of the support vectors. Of other rows F needs the loss only, and that is exactly zero where the margin is
beyond 1 by more than rounding can be wrong. How wrong it is, is seen at the rows that are computed; several times as much is
allowed for the others. So what is computed once more, in the precision of the rows, is K between support vectors and few others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pegasos.engine.compiling import compiled
from pegasos.engine.lines import Lines
from pegasos.engine.set_predictor import Predictor

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

    def settle(self, predictors: list[Predictor], lines: list[int], scores: Array, look: Callable[[int], None]) -> None:
        """Bring scores of these predictors up to date wherever their certificate may feel it; `look` makes it again for one."""
        changes = np.stack([predictors[j].c for j in lines]) - self.c[lines]
        wanted = self._uncertain(predictors, lines, FIRST_ERROR) | (changes != 0.0)
        error = self._correct(lines, changes, wanted, scores)
        for j in lines:
            look(j)
        unsure = (self._uncertain(predictors, lines, TIMES_SEEN * error) & ~wanted).any(axis=1)
        again = [j for j, more in zip(lines, unsure, strict=True) if more]
        if again:
            self._correct(again, changes[unsure], np.ones_like(wanted[unsure]), scores)
            for j in again:
                look(j)

    def _uncertain(self, predictors: list[Predictor], lines: list[int], error: float) -> Array:
        return np.stack([predictors[j].uncertain(error) for j in lines])

    def _correct(self, lines: list[int], changes: Array, wanted: Array, scores: Array) -> float:
        """Exact scores of each predictor's wanted rows; how wrong the worst of them was, as a share of 1 + |score|.

        Predictors whose support vectors are mostly others' rows, too, go together; else each has values of the kernel to itself.
        """
        used, anywhere = changes != 0.0, wanted.any(axis=0)
        if _values_computed(used.any(axis=0)[None], anywhere[None]) <= _values_computed(used, wanted):
            return self._correct_some(lines, changes, anywhere, scores)
        alone = [([j], changes[k : k + 1], wanted[k]) for k, j in enumerate(lines)]
        return max(self._correct_some(*own, scores) for own in alone)

    def _correct_some(self, lines: list[int], changes: Array, wanted: Array, scores: Array) -> float:
        used, places = np.flatnonzero(changes.any(axis=0)), self._rows[wanted]
        added = self._lines.scores_of(self._rows[used], np.ascontiguousarray(changes[:, used]), places)
        return max(_replace(scores[j], self.scores[j], added[k], places) for k, j in enumerate(lines))


@compiled
def _replace(scores: Array, known: Array, added: Array, places: Array) -> float:
    """Scores at these places become known + added; the largest change, as a share of 1 + |score|."""
    error = 0.0
    for k in range(places.size):
        exact = known[places[k]] + added[k]
        error = max(error, abs(exact - scores[places[k]]) / (1.0 + abs(exact)))
        scores[places[k]] = exact
    return error


def _values_computed(used: Array, wanted: Array) -> float:
    """Values of the kernel between used rows, each once, and between these and other wanted ones; both are masks, lines x rows."""
    inside = np.count_nonzero(used, axis=1)
    return float((inside * (np.count_nonzero(wanted, axis=1) - 0.5 * inside)).sum())
