"""Records of `tune` and `run`: counted errors, cells of a grid, and the choice."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pegasos.estimates import Estimate, Figure, held_out
from pegasos.metrics import Measure, measure_of
from pegasos.program.tables.labels import label_texts
from pegasos.search.decisions import OWN, Threshold
from pegasos.search.grid import Advice
from pegasos.search.settings import Setting

#: Name of the figure computed from out-of-fold predictions.
OUT_OF_FOLD = "out of fold"


@dataclass(frozen=True)
class ErrorCount:
    """Number of misclassified rows with the exact 95 % interval of the error; None without rows."""

    rows: int
    mistakes: int
    error: float | None
    low: float | None
    high: float | None
    #: Error of the majority-class baseline on the same rows; None if it is unknown.
    baseline: float | None = None

    @classmethod
    def of(cls, y: Any, predicted: Any, usual: Any = None) -> ErrorCount:
        """Return the error count of predictions of any type.

        `usual` is the most frequent class of the training rows.
        """
        if not len(y):
            return cls(0, 0, None, None, None)
        truth = label_texts(y)
        baseline = None if usual is None else float((truth != label_texts([usual])[0]).mean())
        return cls.counted(len(y), int((label_texts(predicted) != truth).sum()), baseline)

    @classmethod
    def counted(cls, rows: int, mistakes: int, baseline: float | None = None) -> ErrorCount:
        """Return the record for a number of mistakes among at least one row."""
        found = held_out(np.arange(rows) < mistakes)
        return cls(rows, mistakes, found.error, found.low, found.high, baseline)


@dataclass(frozen=True)
class CellRecord:
    """Setting with its cross-validated estimates, as errors, losses or scores.

    `value`, `deviation` and `folds` are estimates on all rows of the search if the setting entered
    the second stage, and on the rows of the first stage otherwise. If the first stage used a sample
    of the rows, `first` is the estimate on the sample, by which all settings of the grid can be
    compared; it is None for variations. `stage` is 1 for settings of the first stage only, 2 for
    those of the second stage, and 3 for its variations (variants and half steps), which are not
    part of the grid.
    """

    number: int
    setting: Setting
    value: float | None
    deviation: float | None
    folds: list[float | None] = field(default_factory=list)
    train: float | None = None
    train_deviation: float | None = None
    support_vectors: float | None = None
    gap: float | None = None
    #: SVC's C that corresponds to λ on all rows of the search.
    cost: float | None = None
    stage: int = 1
    first: float | None = None
    first_deviation: float | None = None


@dataclass(frozen=True)
class CalibrationRecord:
    """Calibration of a model's probabilities.

    `briers` has the Brier score of each method, and `kind` is the one chosen. `error` is the
    expected calibration error, and `by_chance` its expectation for perfect probabilities on as many
    rows. Bins are (mean probability, observed frequency, rows).
    """

    kind: str
    briers: dict[str, float]
    error: float
    by_chance: float
    bins: list[tuple[float, float, int]]
    #: Class whose probability is shown; None: the most probable class of each row.
    of: str | None
    #: Reason to distrust the probabilities and the threshold, if any.
    doubt: str | None = None

    @property
    def words(self) -> str:
        """Name of the calibration method in messages."""
        return "its own probabilities" if self.kind == OWN else f"{self.kind} calibration"


@dataclass(frozen=True)
class Decision:
    """How a setting was chosen, and which rows the final model was trained on.

    `by` is "folds", or "sample" if time ran out before the second stage. Errors are those of a
    model trained on `fitted_rows` rows; the saved model was trained on `saved_rows` rows.
    `all_wanted` is true if a refit on all rows was requested. `first_rows` and `search_rows` are
    the numbers of rows of the two stages.
    """

    by: str
    asked_folds: int
    max_time: float | None
    fitted_rows: int
    saved_rows: int
    all_wanted: bool
    #: Origin of the test rows.
    split: str = ""
    first_rows: int = 0
    search_rows: int = 0

    @property
    def refitted(self) -> bool:
        """Whether the saved model was refitted on more rows."""
        return self.saved_rows > self.fitted_rows

    @property
    def how(self) -> str:
        """Type of the estimate that the setting was chosen by."""
        rows = "on a validation part" if self.asked_folds == 1 else "cross-validated"
        return rows if self.by == "folds" else f"{rows} of a sample"


@dataclass(frozen=True)
class WholeRecord:
    """Final fit after a search on a sample of a table that exceeds memory.

    `how` is "passes" if all rows were used directly, "landmarks" if they were used through Nyström
    features, and "sample" if neither was possible; `why` is then the reason. `lam` is the λ on all
    rows, which keeps the C of the choice.
    """

    sample: int
    how: str
    why: str | None = None
    model: str | None = None
    lam: float | None = None
    cost: float | None = None
    landmarks: int | None = None
    passes: int | None = None
    gap: float | None = None


@dataclass(frozen=True, kw_only=True)
class SearchRecord:
    """Fitted search: its cells, the choice and its estimated error."""

    data: str
    source: str | None = None
    training_rows: int
    folds: int
    #: Metric that settings are compared by, or a scorer of scikit-learn; and its positive class.
    metric: str
    positive: str | None = None
    complete: bool
    decision: Decision | None = None
    seed: int | None
    cells: list[CellRecord]
    best: int
    simplest: int
    honest: Estimate | None = None
    errors: dict[str, ErrorCount] = field(default_factory=dict)
    #: Metric and baseline of the chosen setting, out of fold and on training and test rows; empty
    #: for scorers of scikit-learn.
    figures: dict[str, Figure] = field(default_factory=dict)
    #: Calibration and decision threshold; None if not computed.
    calibration: CalibrationRecord | None = None
    threshold: Threshold | None = None
    advice: list[Advice] = field(default_factory=list)
    model: str | None = None
    command: str | None = None
    seconds: float | None = None

    @property
    def choice(self) -> CellRecord:
        """Cell of the chosen setting."""
        return self.cells[self.best]

    @property
    def measure(self) -> Measure:
        """Display properties of the metric."""
        return measure_of(self.metric)

    @property
    def better_than_baseline(self) -> bool | None:
        """Whether the choice beats the majority-class baseline; None if it is unknown.

        It must be better by more than noise out of fold, and better on test rows.
        """
        if OUT_OF_FOLD not in self.figures:
            return None
        test = self.figures.get("test")
        return self.figures[OUT_OF_FOLD].better and (test is None or test.ahead(self.measure.least))

    def interval(self, cell: CellRecord) -> tuple[float, float] | None:
        """Return the 95 % t interval of the comparable estimate from its spread over folds."""
        from scipy.special import stdtrit

        value, deviation = comparable(self.cells)[cell.number]
        if value is None or deviation is None or self.folds < 2:
            return None
        half = float(stdtrit(self.folds - 1, 0.975)) * deviation / math.sqrt(self.folds - 1)
        return max(0.0, value - half), value + half

    def leading(self) -> list[CellRecord]:
        """Return the best setting of each model, kernel type and preparation, best first."""
        found, firsts = comparable(self.cells), dict[Any, CellRecord]()
        for cell in sorted(self.cells, key=lambda each: self.measure.rank(found[each.number][0])):
            setting = cell.setting
            if found[cell.number][0] is not None:
                key = setting.model, type(setting.kernel), setting.preparation
                firsts.setdefault(key, cell)
        return list(firsts.values())


@dataclass(frozen=True, kw_only=True)
class TuneRecord(SearchRecord):
    """Contents of summary.json: the search of `tune`, its rows and its files."""

    source: str
    test_rows: int
    split: str
    scale: str
    decision: Decision
    honest: Estimate
    folder: str
    model: str
    page: str | None
    command: str
    seconds: float
    #: For a table that exceeds memory: the sample searched, and the final fit to all rows.
    whole: WholeRecord | None = None


def is_sampled(cells: list[CellRecord]) -> bool:
    """Return whether the first stage of the search used a sample of the rows."""
    return any(cell.first is not None for cell in cells)


def comparable(cells: list[CellRecord]) -> list[tuple[float | None, float | None]]:
    """Return value and std of each cell on rows that all settings of the grid share.

    They are None for variations, which were evaluated on more rows.
    """
    if is_sampled(cells):
        return [(cell.first, cell.first_deviation) for cell in cells]
    return [(cell.value, cell.deviation) for cell in cells]
