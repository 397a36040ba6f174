"""What a run of `tune` writes: counted errors, cells, the choice."""

from __future__ import annotations

from dataclasses import dataclass, field

from pegasos.search.advice import Advice
from pegasos.search.estimates import Estimate
from pegasos.search.settings import Setting


@dataclass(frozen=True)
class ErrorCount:
    """Errors that were counted on rows, with the exact 95 % interval; None where there were no rows."""

    rows: int
    mistakes: int
    error: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class CellRecord:
    """One cell: what it is, and what was found. `value` is an error where the score is an accuracy, else the score."""

    number: int
    setting: Setting
    value: float | None
    deviation: float | None
    folds: list[float | None] = field(default_factory=list)
    train: float | None = None
    train_deviation: float | None = None
    support_vectors: float | None = None
    gap: float | None = None
    #: SVC's C for the setting's λ on all rows of the search.
    cost: float | None = None


@dataclass(frozen=True)
class TuneRecord:
    """summary.json: the run, its cells, the choice and what it is worth."""

    data: str
    source: str
    training_rows: int
    test_rows: int
    split: str
    scale: str
    folds: int
    scoring: str
    complete: bool
    seed: int
    cells: list[CellRecord]
    best: int
    simplest: int
    honest: Estimate
    errors: dict[str, ErrorCount]
    advice: list[Advice]
    folder: str
    model: str
    command: str
    seconds: float

    @property
    def choice(self) -> CellRecord:
        return self.cells[self.best]
