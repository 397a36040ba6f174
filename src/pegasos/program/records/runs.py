"""What a run of `tune` or `run` finds: counted errors, cells, the choice."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from pegasos.metrics import Measure, measure_of, shown_value
from pegasos.program.records.decisions import CalibrationRecord
from pegasos.program.tables.labels import label_texts
from pegasos.search.advice import Advice
from pegasos.search.decisions import Threshold
from pegasos.search.estimates import Estimate, held_out
from pegasos.search.figures import Figure
from pegasos.search.settings import Setting

T = TypeVar("T")

#: The name of the figure that comes from folds, each row by a model that did not learn from it.
OUT_OF_FOLD = "out of fold"


@dataclass(frozen=True)
class ErrorCount:
    """Errors that were counted on rows, with the exact 95 % interval; None where there were no rows."""

    rows: int
    mistakes: int
    error: float | None
    low: float | None
    high: float | None
    #: The error on the same rows of always guessing the class that most training rows have; None where that is not known.
    guess: float | None = None

    @classmethod
    def of(cls, y: Any, predicted: Any, usual: Any = None) -> ErrorCount:
        """Labels against predictions, whatever types they have; `usual` is the class that most training rows have."""
        if not len(y):
            return cls(0, 0, None, None, None)
        truth = label_texts(y)
        guess = None if usual is None else float((truth != label_texts([usual])[0]).mean())
        return cls.counted(len(y), int((label_texts(predicted) != truth).sum()), guess)

    @classmethod
    def counted(cls, rows: int, mistakes: int, guess: float | None = None) -> ErrorCount:
        """The same from the number of mistakes in rows, of which there are some."""
        wrong = np.zeros(rows, dtype=bool)
        wrong[:mistakes] = True
        found = held_out(wrong)
        return cls(rows, mistakes, found.error, found.low, found.high, guess)


@dataclass(frozen=True)
class Confusion:
    """Counts by true class (rows) and predicted class (columns), and which rows were counted."""

    rows: str
    classes: list[str]
    counts: list[list[int]]

    @classmethod
    def of(cls, y: Any, predicted: Any, classes: Any, rows: str) -> Confusion:
        """Labels against predictions of `rows`; classes that the model does not know come last."""
        from sklearn.metrics import confusion_matrix

        truth, known = label_texts(y), label_texts(classes)
        names = [*known, *sorted(set(truth) - set(known))]
        return cls(
            rows,
            [str(name) for name in names],
            confusion_matrix(truth, label_texts(predicted), labels=names).tolist(),
        )

    @classmethod
    def of_codes(
        cls, y: Any, predicted: Any, names: dict[str, int], known: int, rows: str
    ) -> Confusion:
        """The same from numbers of classes, the model's own before all others; `names` are all of them."""
        there = set(np.unique(y).tolist())
        others = sorted(name for name, code in names.items() if code >= known and code in there)
        order = [*itertools.islice(names, known), *others]
        counts = np.bincount(
            y.astype(np.int64) * len(names) + predicted, minlength=len(names) ** 2
        ).reshape(-1, len(names))
        places = [names[name] for name in order]
        return cls(rows, order, counts[np.ix_(places, places)].tolist())


@dataclass(frozen=True)
class CellRecord:
    """One setting and its cross-validated estimates, by the metric as people read it: an error, a loss or a score.

    `value`, `deviation` and `folds` come from all rows of the search where the setting entered the second stage, else from
    the rows of the first stage. If that had a sample of the rows, `first` is the estimate on it, so that all settings of the
    grid can be compared; None for half steps. `stage` is 1 for settings of the first stage only, 2 for those of the second
    stage, and 3 for half steps around the best one, which are no settings of the grid.
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
    #: SVC's C for the setting's λ on all rows of the search.
    cost: float | None = None
    stage: int = 1
    first: float | None = None
    first_deviation: float | None = None


@dataclass(frozen=True)
class Decision:
    """How a choice was made and what became of it.

    `by` is "folds", or "sample" where time was up before the second stage; errors are those of a model that learned from
    `fitted_rows`, the model that is kept knows `saved_rows`. `all_wanted`: a refit on all rows was asked for. `first_rows` and
    `search_rows` are the rows of the two stages of the search.
    """

    by: str
    asked_folds: int
    max_time: float | None
    fitted_rows: int
    saved_rows: int
    all_wanted: bool
    #: Where the test rows came from.
    split: str = ""
    first_rows: int = 0
    search_rows: int = 0

    @property
    def refitted(self) -> bool:
        return self.saved_rows > self.fitted_rows

    @property
    def how(self) -> str:
        """How the value of the choice was had."""
        return "cross-validated" if self.by == "folds" else "cross-validated on a sample"


@dataclass(frozen=True)
class Compared:
    """A λ that was tried on many rows, and its errors on training rows that were kept apart for that; `value`: of the metric."""

    lam: float
    errors: ErrorCount
    value: float | None = None


@dataclass(frozen=True)
class WholeRecord:
    """What became of a choice that was made on a sample of a table beyond memory.

    `how`: all rows were learned in "passes", or through "landmarks" of the kernel; if neither could be, the model of the "sample"
    was kept, and `why` says why. `lam` is the λ on all rows, chosen among `compared` by `metric` where there are any.
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
    compared: list[Compared] = field(default_factory=list)
    metric: str = "error"


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
    #: What settings were compared by: a metric of ours, or a scorer of scikit-learn; and the class that it looks at.
    metric: str
    positive: str | None
    complete: bool
    decision: Decision
    seed: int
    cells: list[CellRecord]
    best: int
    simplest: int
    honest: Estimate
    errors: dict[str, ErrorCount]
    #: The metric beside what guessing would give: of the choice out of fold, and on training and test rows; none for scorers of
    #: scikit-learn.
    figures: dict[str, Figure]
    #: How scores became probabilities, and the score from which on rows are called positive; None where that was not done.
    calibration: CalibrationRecord | None
    threshold: Threshold | None
    advice: list[Advice]
    folder: str
    model: str
    page: str | None
    command: str
    seconds: float
    #: Of a table beyond memory: what was searched, and what all rows gave.
    whole: WholeRecord | None = None

    @property
    def choice(self) -> CellRecord:
        return self.cells[self.best]

    @property
    def measure(self) -> Measure:
        return measure_of(self.metric)

    @property
    def better_than_guessing(self) -> bool | None:
        """Whether the choice beats always guessing by more than noise out of fold, and is ahead on test rows; None: not known."""
        if OUT_OF_FOLD not in self.figures:
            return None
        test = self.figures.get("test")
        return self.figures[OUT_OF_FOLD].better and (test is None or test.ahead(self.measure.least))

    def comparable(self, cell: CellRecord) -> tuple[float | None, float | None]:
        """Return value and deviation on rows that all settings of the grid share; None for half steps on more rows."""
        sampled = is_sampled(self.cells)
        return (cell.first, cell.first_deviation) if sampled else (cell.value, cell.deviation)

    def interval(self, cell: CellRecord) -> tuple[float, float] | None:
        """Return the 95 % t interval of the comparable estimate, from its deviation over folds."""
        from scipy.special import stdtrit

        value, deviation = self.comparable(cell)
        if value is None or deviation is None or self.folds < 2:
            return None
        half = float(stdtrit(self.folds - 1, 0.975)) * deviation / math.sqrt(self.folds - 1)
        return max(0.0, value - half), value + half

    def leading(self) -> list[CellRecord]:
        return leading_cells(self.cells, self.measure.least)


@dataclass(frozen=True)
class EvaluationRecord:
    """What `run` found: errors by kind of rows."""

    model: str
    data: str
    errors: dict[str, ErrorCount]
    notes: list[str]
    confusion: Confusion
    #: What was asked for, and its figure for each kind of rows.
    metric: str
    positive: str | None
    figures: dict[str, Figure]


def is_sampled(cells: list[CellRecord]) -> bool:
    """Return whether the first stage of the search had a sample of the rows."""
    return any(cell.first is not None for cell in cells)


def leading_cells(cells: list[CellRecord], least: bool) -> list[CellRecord]:
    """Return the best setting of each model, type of kernel and preparation by comparable estimates, the best first."""
    sampled = is_sampled(cells)
    return best_of_families(
        cells,
        lambda cell: (cell.setting.model, type(cell.setting.kernel), cell.setting.preparation),
        lambda cell: cell.first if sampled else cell.value,
        least,
    )


def best_of_families(
    cells: Iterable[T],
    family: Callable[[T], Any],
    value: Callable[[T], float | None],
    least: bool = True,
) -> list[T]:
    """The best cell of each family, the best of them first; with `least` small values are good, cells without one are left out.

    >>> best_of_families(
    ...     [("a", 3.0), ("b", 2.0), ("a", 1.0), ("c", None)],
    ...     lambda cell: cell[0],
    ...     lambda cell: cell[1],
    ... )
    [('a', 1.0), ('b', 2.0)]
    """
    known = [
        (found if least else -found, cell) for cell in cells if (found := value(cell)) is not None
    ]
    firsts: dict[Any, T] = {}
    for _, cell in sorted(known, key=lambda each: each[0]):
        firsts.setdefault(family(cell), cell)
    return list(firsts.values())


def out_of_fold(search: Any) -> dict[str, Figure]:
    """The figure of a fitted search's choice; none for scorers of scikit-learn, or where scores were not kept in all folds."""
    if (search.metric_ is None and search.scoring not in (None, "accuracy")) or not hasattr(
        search, "best_index_"
    ):
        return {}
    try:
        return {OUT_OF_FOLD: as_text(search.out_of_fold_metric())}
    except ValueError:
        return {}


def as_text(figure: Figure) -> Figure:
    """The same with the text of the guessed class."""
    return (
        figure
        if figure.guessed is None
        else replace(figure, guessed=str(label_texts([figure.guessed])[0]))
    )


def cell_records(
    search: Any, rows: int, metric: str = "score", scoring: Any = None
) -> list[CellRecord]:
    """The cells of a fitted SweepCV, for a refit on so many rows; `scoring` is what `metric` is, an accuracy where it is None."""
    results = search.cv_results_
    stages = results.get("stage", [1] * len(search.settings_))

    def number(name: str, cell: int) -> float | None:
        value = float(results[name][cell]) if name in results else math.nan
        return value if math.isfinite(value) else None

    def value(name: str, cell: int) -> float | None:
        found = number(name, cell)
        return None if found is None else shown_value(scoring, found)

    def estimate(cell: int) -> dict[str, Any]:
        """Return the estimate on the rows of the last stage of a setting."""
        kind = "test" if value(f"mean_test_{metric}", cell) is not None else "first"
        of = metric if kind == "test" else "score"
        folds = (f"split{fold}_{kind}_{of}" for fold in itertools.count())
        return {
            "value": value(f"mean_{kind}_{of}", cell),
            "deviation": number(f"std_{kind}_{of}", cell),
            "folds": [
                value(name, cell) for name in itertools.takewhile(results.__contains__, folds)
            ],
        }

    return [
        CellRecord(
            number=cell,
            setting=setting,
            **estimate(cell),
            train=value(f"mean_train_{metric}", cell),
            train_deviation=number(f"std_train_{metric}", cell),
            support_vectors=number("mean_support_vectors", cell),
            gap=number("mean_gap", cell),
            cost=setting.cost(rows),
            stage=int(stages[cell]),
            first=value("mean_first_score", cell),
            first_deviation=number("std_first_score", cell),
        )
        for cell, setting in enumerate(search.settings_)
    ]
