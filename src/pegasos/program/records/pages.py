"""report.json: everything that a page shows of a tuning run or a model; no rows are needed for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pegasos.explaining import Explanation
from pegasos.metrics import Measure, measure_of
from pegasos.program.records.decisions import CalibrationRecord, RatesRecord
from pegasos.program.records.models import LearnerFacts
from pegasos.program.records.runs import CellRecord, Decision, ErrorCount
from pegasos.program.tables.description import Feature
from pegasos.search.decisions import Threshold
from pegasos.search.estimates import Estimate
from pegasos.search.figures import Figure
from pegasos.search.settings import Setting


@dataclass(frozen=True)
class DataRecord:
    """The data by name and size; `source` is what a command line calls them, `counts` are the rows of each class."""

    name: str
    source: str | None = None
    rows: int | None = None
    features: int | None = None
    notes: list[str] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Mistake:
    """A row that was predicted wrongly: codes of its true class and of the predicted one."""

    row: int
    true: int
    guess: int
    #: Some classes and their scores, the predicted and the true one first; of two classes the second one's; empty where not kept.
    codes: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    #: Instead of scores: the share of leading cells that predict this row wrongly.
    share: float | None = None


@dataclass(frozen=True)
class KeptCell:
    """The predictions of a cell: true code, predicted code, count, true code, ...; mistakes only of leading cells."""

    confusion: list[int]
    mistakes: list[Mistake] | None = None


@dataclass(frozen=True)
class ShownRow:
    """A row of the data: its number in the source, from 1; a picture (grey bytes in base64) or the values of some columns."""

    number: int
    picture: str = ""
    values: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class MapRecord:
    """A sample of rows in two dimensions, and which of them were predicted wrongly; `of` is the number of all rows."""

    method: str
    of: int
    rows: list[int]
    classes: list[int]
    places: list[list[float]]
    wrong: list[bool]


@dataclass
class FeatureRecord(Feature):
    """A feature, and the share of its variance that lies between classes."""

    between: float = 0.0


@dataclass(frozen=True)
class Statistics:
    """Some of `count` features, the strongest correlations (two features, r), and a matrix of correlations between `names`."""

    count: int
    features: list[FeatureRecord]
    pairs: list[tuple[str, str, float]]
    names: list[str]
    matrix: list[list[float]]
    notes: list[str]


@dataclass(frozen=True)
class RowsRecord:
    """What is shown of the rows; pictures have a `shape` (height, width) and class means, other rows have `columns`."""

    map: MapRecord | None = None
    statistics: Statistics | None = None
    shape: list[int] | None = None
    means: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    #: The rows of all listed mistakes, by their place among the rows of the run.
    shown: dict[str, ShownRow] = field(default_factory=dict)


@dataclass(frozen=True)
class Boundary:
    """Scores on a square grid from `low` to `high`, and some rows; `exact`: the plane is all that there is.

    `scores` has a list for each class in `codes`, those that win somewhere; with two classes one list, above 0 for codes[1].
    """

    titles: list[str]
    low: list[float]
    high: list[float]
    codes: list[int]
    scores: list[list[float]]
    points: list[list[float]]
    classes: list[int]
    #: Which of these rows hold the boundary: they lie on or inside its margin. Empty where there is no margin.
    holding: list[bool]
    exact: bool


@dataclass(frozen=True)
class Curve:
    """What a learner recorded against steps or epochs; `bounds`: what its values cannot be below, where that is proved."""

    what: str
    unit: str
    steps: list[int]
    values: list[float]
    bounds: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Certificate:
    """The objective of the predictor of a class, and a bound that no predictor can be below."""

    of: str
    objective: float
    bound: float


@dataclass(frozen=True)
class Weights:
    """The largest weights of a linear predictor, a list for each class; `of` is the number of all features."""

    features: list[str]
    classes: list[str]
    weights: list[list[float]]
    of: int


@dataclass(frozen=True)
class ModelRecord:
    """One fitted model; `file` is the name of its file."""

    setting: Setting
    facts: LearnerFacts
    kernel: str
    file: str | None = None


@dataclass(frozen=True)
class PageRecord:
    """A tuning run has cells, a page about a model has `model`; the rest is what they have in common."""

    kind: str
    data: DataRecord
    made: dict[str, str]
    measure: Measure = field(default_factory=lambda: measure_of(None))
    positive: str | None = None
    figures: dict[str, Figure] = field(default_factory=dict)
    calibration: CalibrationRecord | None = None
    threshold: Threshold | None = None
    rates: RatesRecord | None = None
    command: str | None = None
    #: The file of the saved model, as a command line names it.
    saved: str | None = None
    #: Further options of every command line, such as --label.
    options: list[str] = field(default_factory=list)
    seed: int | None = None
    seconds: float | None = None
    cells: list[CellRecord] = field(default_factory=list)
    #: K(x, x) of a usual row for each cell; empty where that tells nothing.
    typical: list[float | None] = field(default_factory=list)
    folds: int = 0
    complete: bool = True
    decision: Decision | None = None
    best: int = 0
    simplest: int = 0
    advice: list[str] = field(default_factory=list)
    errors: dict[str, ErrorCount] = field(default_factory=dict)
    honest: Estimate | None = None
    kept: dict[str, KeptCell] = field(default_factory=dict)
    rows: RowsRecord = field(default_factory=RowsRecord)
    curves: list[Curve] = field(default_factory=list)
    certificates: list[Certificate] = field(default_factory=list)
    weights: Weights | None = None
    boundary: Boundary | None = None
    model: ModelRecord | None = None
    explanation: Explanation | None = None
