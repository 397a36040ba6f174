"""Scores that a certificate may rest on, where those of the rounds come from kernel lines that are rounded to float32.

‖w‖² needs exact scores of the support vectors. Of other rows F needs the loss only, and that is exactly zero where the margin is
beyond 1 by more than rounding can be wrong. How wrong it is, is seen at the rows that are computed; several times as much is
allowed for the others. So what is computed once more, in the precision of the rows, is K between support vectors and few others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

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
        used = np.flatnonzero(changes.any(axis=0))
        wanted = self._uncertain(predictors, lines, FIRST_ERROR)
        error = self._correct(lines, changes, used, wanted, scores)
        wanted[used] = True
        for j in lines:
            look(j)
        if (self._uncertain(predictors, lines, TIMES_SEEN * error) & ~wanted).any():
            self._correct(lines, changes, used, np.ones_like(wanted), scores)
            for j in lines:
                look(j)

    def _uncertain(self, predictors: list[Predictor], lines: list[int], error: float) -> Array:
        return np.any([predictors[j].uncertain(error) for j in lines], axis=0)

    def _correct(self, lines: list[int], changes: Array, used: Array, wanted: Array, scores: Array) -> float:
        """Exact scores of wanted rows and of those that changed; how wrong the worst of them was, as a share of 1 + |score|."""
        everywhere = np.zeros(scores.shape[1], dtype=bool)
        everywhere[self._rows[wanted]] = everywhere[self._rows[used]] = True
        places = np.flatnonzero(everywhere)
        added = self._lines.scores_of(self._rows[used], np.ascontiguousarray(changes[:, used]), everywhere)
        here = np.ix_(np.array(lines), places)
        exact, before = self.scores[here] + added[:, places], scores[here]
        scores[here] = exact
        return float((np.abs(exact - before) / (1.0 + np.abs(exact))).max(initial=0.0))
