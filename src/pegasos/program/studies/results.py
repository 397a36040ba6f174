"""Results of experiments over seeds, found by what they are; and what checks and extras may look at."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pegasos.engine.kernels.standard import as_kernel
from pegasos.learners.task import is_precomputed
from pegasos.program.records.studies import StudyCell
from pegasos.program.studies.study import Study
from pegasos.program.tables.dataset import Dataset
from pegasos.search.settings import Setting, freeze

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Result:
    """The error of one cell of an experiment with one seed, on one split, by one decoding.

    `setting` is None for what a report's own program did: then `tags` tell results apart. `names`: see StudyCell.
    """

    experiment: str
    seed: int
    error: float
    rows: int = 0
    split: str = "test"
    decoding: str = "argmax"
    setting: Setting | None = None
    names: tuple[str, ...] = ()
    tags: dict[str, Any] = field(default_factory=dict)
    cell: int | None = None
    #: Rows that a fit learned from, on average over splits.
    learned: int | None = None

    def fits(self, key: dict[str, Any]) -> bool:
        """Whether these are its fields, its tags and parts of its setting."""
        return all(_same(self._get(name), value) for name, value in key.items())

    def _get(self, name: str) -> Any:
        if name in ("experiment", "seed", "split", "decoding"):
            return getattr(self, name)
        if name in self.tags:
            return self.tags[name]
        return None if self.setting is None else _part(self.setting, name)


@functools.lru_cache(maxsize=100_000)
def _part(setting: Setting, name: str) -> Any:
    """Keys ask for the same few parts of many settings, again and again."""
    return setting.get(name)


def _meant(name: str, value: Any) -> Any:
    """A value of a key as settings have it: kernels and steps by what they are, steps that do nothing as None."""
    if name == "kernel" and not is_precomputed(value):
        return "linear" if value is None else freeze(as_kernel(value))
    return None if isinstance(value, str) and value == "passthrough" else freeze(value)


def _same(one: Any, other: Any) -> bool:
    """Equal, numbers up to rounding."""
    if (
        isinstance(one, float | int)
        and isinstance(other, float | int)
        and not isinstance(one, bool)
    ):
        return math.isclose(one, other, rel_tol=1e-9)
    return bool(one == other)


@dataclass
class Results:
    """All results of a run. A key names what one of them is, such as experiment="one", split="test", kernel=Gaussian(2), lam=0.1;
    a step of the pipeline is named as there, and None is one that does nothing: scale=StandardScaler(), expand=None.
    """

    rows: list[Result] = field(default_factory=list)

    def find(self, **key: Any) -> list[Result]:
        """All results that fit a key."""
        asked = {name: _meant(name, value) for name, value in key.items()}
        named = [
            row for row in self.rows if row.experiment == key.get("experiment", row.experiment)
        ]  # most keys name it
        return [row for row in named if row.fits(asked)]

    def errors(self, **key: Any) -> Array:
        """The error of one result for each seed, in the order of seeds."""
        found = sorted(self.find(**key), key=lambda row: row.seed)
        if not found:
            raise ValueError(f"no experiment gives {key}.")
        if len(found) != len({row.seed for row in found}):
            raise ValueError(
                f"{key} picks more than one result a seed, such as {_apart(*found[:2])}: name more fields."
            )
        return np.array([row.error for row in found])

    def mean(self, **key: Any) -> float:
        """The mean error over seeds of one result."""
        return float(self.errors(**key).mean())

    def cells(self) -> list[StudyCell]:
        """Mean and deviation over seeds of every result."""
        groups: dict[Any, list[Result]] = {}
        for row in self.rows:
            groups.setdefault(
                (row.experiment, row.cell, row.decoding, row.split, *row.tags.items()), []
            ).append(row)
        return [_cell(rows[0], np.array([row.error for row in rows])) for rows in groups.values()]


def _apart(one: Result, other: Result) -> str:
    """Two results by the fields in which they differ."""
    names = ("experiment", "split", "decoding", "setting", "tags")
    different = [name for name in names if getattr(one, name) != getattr(other, name)]
    return " and ".join(
        ", ".join(f"{name}={getattr(row, name)!r}" for name in different) for row in (one, other)
    )


def _cell(row: Result, errors: Array) -> StudyCell:
    known = (row.experiment, row.setting, list(row.names), row.decoding, row.split, row.rows)
    return StudyCell(
        *known, float(errors.mean()), spread(errors), len(errors), row.tags, row.learned
    )


def spread(errors: Array) -> float | None:
    """The deviation over seeds; None with one seed."""
    return float(errors.std(ddof=1)) if len(errors) > 1 else None


@dataclass
class Context:
    """What a check, an extra or the last part of a study may use."""

    study: Study
    dataset: Dataset
    results: Results
    seeds: list[int]
    real: bool
    quick: bool
    #: Out-of-fold labels (codes of the sorted classes) of a cell: labels(experiment, seed, **key).
    labels: Callable[..., Array]
    say: Callable[[str], None]

    @property
    def codes(self) -> Array:
        """The true classes as codes."""
        return np.unique(self.dataset.labels, return_inverse=True)[1].reshape(-1)
