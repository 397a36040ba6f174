"""Results of experiments over seeds, and what checks and extras may look at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pegasos.program.studies.study import Key, Study
from pegasos.program.tables.dataset import Dataset

Array = np.ndarray[Any, Any]
Row = dict[str, Any]


@dataclass
class Results:
    """One row for each experiment, seed, cell, split and decoding."""

    rows: list[Row] = field(default_factory=list)

    def find(self, **key: Any) -> list[Row]:
        """All rows with these fields."""
        return [row for row in self.rows if all(same(row.get(name), value) for name, value in key.items())]

    def errors(self, key: Key) -> Array:
        """The error of one result for each seed, in the order of seeds."""
        found = self.find(**key)
        seeds = [row["seed"] for row in found]
        if len(seeds) != len(set(seeds)):
            raise ValueError(f"{key} picks more than one result a seed: name more fields.")
        return np.array([row["error"] for row in sorted(found, key=lambda row: row["seed"])])

    def mean(self, **key: Any) -> float:
        """The mean error over seeds of one result."""
        errors = self.errors(key)
        if not len(errors):
            raise ValueError(f"there is no result for {key}.")
        return float(errors.mean())

    def spread(self, **key: Any) -> float:
        """Its standard deviation over seeds; nan with one seed."""
        errors = self.errors(key)
        return float(errors.std(ddof=1)) if len(errors) > 1 else float("nan")


def same(one: Any, other: Any) -> bool:
    """Equal, numbers up to rounding."""
    if isinstance(one, float | int) and isinstance(other, float | int) and not isinstance(one, bool):
        return bool(np.isclose(one, other, rtol=1e-9, atol=0))
    return bool(one == other)


@dataclass
class Context:
    """What a check, an extra or the last part of a study may use."""

    study: Study
    dataset: Dataset
    results: Results
    seeds: list[int]
    real: bool
    quick: bool
    #: Out-of-fold labels (codes of the sorted classes) of a cell: labels(experiment, seed, **cell fields).
    labels: Callable[..., Array]
    say: Callable[[str], None]

    @property
    def codes(self) -> Array:
        """The true classes as codes."""
        return np.unique(self.dataset.labels, return_inverse=True)[1].reshape(-1)
