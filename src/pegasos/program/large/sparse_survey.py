"""One look at sparse rows that do not fit into memory: how many columns there are, what they hold, and the labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pegasos.program.large.survey import Survey
from pegasos.program.tables.dataset import Column, Dataset

Array = np.ndarray[Any, Any]


@dataclass
class SparseSurvey(Survey):
    """Sums and squares of each column over training rows; places are those that indices have in the file."""

    sparse = True
    #: Numbers that are not zero, in all rows.
    stored: int = 0
    lowest: int = 1
    sums: Array = field(default_factory=lambda: np.zeros(0))
    squares: Array = field(default_factory=lambda: np.zeros(0))

    def _see_features(self, part: Dataset, test: Array) -> None:
        X = part.X
        self.stored += X.nnz
        if X.nnz:
            self.lowest = min(self.lowest, int(X.indices.min()))
        if X.shape[1] > len(self.sums):
            more = X.shape[1] - len(self.sums)
            self.sums, self.squares = (np.concatenate([each, np.zeros(more)]) for each in (self.sums, self.squares))
        own = X[~test]
        for total, values in ((self.sums, own.data), (self.squares, own.data**2)):
            total[: X.shape[1]] += np.bincount(own.indices, values, minlength=X.shape[1])

    def check(self, label: str) -> None:
        self.columns = [Column(f"x{place}") for place in range(self.lowest, len(self.sums))]
        super().check(label)

    @property
    def needs_frame(self) -> bool:
        return False

    @property
    def moments(self) -> tuple[Array, Array]:
        """Mean and variance of each column over training rows, zeros counted."""
        mean = self.sums[self.lowest :] / self.training
        return mean, np.maximum(self.squares[self.lowest :] / self.training - mean * mean, 0.0)
