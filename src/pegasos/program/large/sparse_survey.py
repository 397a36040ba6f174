"""One look at sparse rows that do not fit into memory: how many columns there are, what they hold, and the labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.sparsefuncs import mean_variance_axis

from pegasos.program.large.survey import Survey
from pegasos.program.tables.dataset import Column, Dataset

Array = np.ndarray[Any, Any]


@dataclass
class SparseSurvey(Survey):
    """Mean and squared deviations of each column over training rows, zeros counted; places are those of indices in the file."""

    sparse = True
    #: Numbers that are not zero, in all rows.
    stored: int = 0
    lowest: int = 1
    means: Array = field(default_factory=lambda: np.zeros(0))
    squares: Array = field(default_factory=lambda: np.zeros(0))

    def _see_features(self, part: Dataset, test: Array) -> None:
        X = part.X
        self.stored += X.nnz
        if X.nnz:
            self.lowest = min(self.lowest, int(X.indices.min()))
        more = max(0, X.shape[1] - len(self.means))
        self.means, self.squares = (
            np.append(each, np.zeros(more)) for each in (self.means, self.squares)
        )
        self._add(X[~test])

    def _add(self, rows: Any) -> None:
        """Some more training rows, by their own mean and squared deviations from it, as `Numbers.add` has it."""
        count = rows.shape[0]
        if count:
            mean, variance = (
                np.append(each, np.zeros(len(self.means) - len(each)))
                for each in mean_variance_axis(rows, 0)
            )
            total, away = self.training + count, mean - self.means
            self.squares += count * variance + away * away * self.training * count / total
            self.means += away * count / total

    def check(self, label: str) -> None:
        self.columns = [Column(f"x{place}") for place in range(self.lowest, len(self.means))]
        super().check(label)

    @property
    def needs_frame(self) -> bool:
        return False

    @property
    def moments(self) -> tuple[Array, Array]:
        """Mean and variance of each column that there is."""
        return self.means[self.lowest :], self.squares[self.lowest :] / self.training
