"""What a comparison of learners found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pegasos.metrics import Measure, measure_of

#: A difference counts as more than noise where its p is below this.
LEVEL = 0.05


@dataclass(frozen=True)
class Contender:
    """A learner on all splits: its metric on each, the mean with a 95 % interval, and what it costs.

    behind   by how much it is worse than the best, on the same splits; p of the paired test that it is not, corrected for the
             number of tests (Holm). None for the best itself.
    seconds  medians over splits: of a fit, with all tuning; and of predicting 1,000 rows. bytes: of the pickled pipeline.
    choice   the setting that was chosen most often, where one was. note: what a reader should know.
    """

    name: str
    words: str
    ours: bool
    values: list[float]
    value: float
    low: float
    high: float
    behind: float | None
    p: float | None
    fit_seconds: float
    predict_seconds: float
    bytes: int
    choice: str | None = None
    note: str | None = None

    @property
    def near(self) -> bool:
        """Whether it is the best, or not behind it by more than noise."""
        return self.p is None or not self.p < LEVEL


@dataclass(frozen=True)
class LeftOut:
    """A learner that was not compared, and why."""

    name: str
    words: str
    reason: str


@dataclass(frozen=True)
class Comparison:
    """Learners on the same outer splits, the best first; `repeats` times `folds` splits were made, `asked` repeats wanted."""

    data: str
    rows: int
    features: int
    classes: int
    metric: str
    positive: Any
    folds: int
    repeats: int
    asked: int
    grouped: bool
    seed: int
    seconds: float
    contenders: list[Contender]
    left_out: list[LeftOut]
    advice: str

    @property
    def measure(self) -> Measure:
        return measure_of(self.metric)

    @property
    def best(self) -> Contender:
        return self.contenders[0]
