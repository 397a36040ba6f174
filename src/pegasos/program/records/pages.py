"""Contents of report.json: everything that a page shows of a search or model, without the rows."""

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
from pegasos.search.estimates import Estimate, Figure
from pegasos.search.settings import Setting


@dataclass(frozen=True)
class DataRecord:
    """Name and size of the data.

    `source` is their name on the command line, and `counts` the number of rows of each class.
    """

    name: str
    source: str | None = None
    rows: int | None = None
    features: int | None = None
    notes: list[str] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Mistake:
    """Misclassified row: codes of its true and predicted class."""

    row: int
    true: int
    guess: int
    #: Classes and their scores, predicted and true class first; for two classes the second only.
    #: Empty if scores were not stored.
    codes: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    #: Alternative to scores: share of the leading cells that misclassify the row.
    share: float | None = None


@dataclass(frozen=True)
class KeptCell:
    """Predictions of a cell, as triples: true code, predicted code, count, true code, ...

    Mistakes are stored for leading cells only.
    """

    confusion: list[int]
    mistakes: list[Mistake] | None = None


@dataclass(frozen=True)
class ShownRow:
    """Row of the data: its number in the source, from 1, and its image or column values.

    Images are grayscale bytes in base64.
    """

    number: int
    picture: str = ""
    values: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class MapRecord:
    """Two-dimensional embedding of a sample of `of` rows, with the misclassified ones marked."""

    method: str
    of: int
    rows: list[int]
    classes: list[int]
    places: list[list[float]]
    wrong: list[bool]


@dataclass
class FeatureRecord(Feature):
    """Feature with the share of its variance that lies between classes."""

    between: float = 0.0


@dataclass(frozen=True)
class Statistics:
    """Statistics of some of `count` features.

    `pairs` are the strongest correlations (two features, r); `matrix` are the correlations between
    `names`.
    """

    count: int
    features: list[FeatureRecord]
    pairs: list[tuple[str, str, float]]
    names: list[str]
    matrix: list[list[float]]
    notes: list[str]


@dataclass(frozen=True)
class RowsRecord:
    """Rows shown on a page.

    Images have a `shape` (height, width) and class means; other rows have `columns`.
    """

    map: MapRecord | None = None
    statistics: Statistics | None = None
    shape: list[int] | None = None
    means: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    #: Rows of all listed mistakes, by their position among the rows of the run.
    shown: dict[str, ShownRow] = field(default_factory=dict)


@dataclass(frozen=True)
class Boundary:
    """Decision boundary: scores on a square grid from `low` to `high`, and some rows.

    `exact` is true for two-dimensional data, and false for a projection. `scores` has a list for
    each class in `codes`, the classes that are predicted somewhere; with two classes there is one
    list, above 0 for codes[1].
    """

    titles: list[str]
    low: list[float]
    high: list[float]
    codes: list[int]
    scores: list[list[float]]
    points: list[list[float]]
    classes: list[int]
    #: Whether each row lies on or inside the margin; empty for models without a margin.
    holding: list[bool]
    exact: bool


@dataclass(frozen=True)
class Curve:
    """Convergence history of a learner against steps or epochs.

    `bounds` are proven lower bounds of its values, if available.
    """

    what: str
    unit: str
    steps: list[int]
    values: list[float]
    bounds: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Certificate:
    """Objective of the predictor of a class, and its lower bound."""

    of: str
    objective: float
    bound: float


@dataclass(frozen=True)
class Weights:
    """Largest weights of a linear predictor with `of` features, one list per class."""

    features: list[str]
    classes: list[str]
    weights: list[list[float]]
    of: int


@dataclass(frozen=True)
class ModelRecord:
    """Fitted model; `file` is the name of its file."""

    setting: Setting
    facts: LearnerFacts
    kernel: str
    file: str | None = None


@dataclass(frozen=True)
class PageRecord:
    """Contents of a page; a search has `cells`, and the page of a single model has `model`."""

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
    #: Path of the saved model, as used on a command line.
    saved: str | None = None
    #: Options to repeat on every command line, such as --label.
    options: list[str] = field(default_factory=list)
    seed: int | None = None
    seconds: float | None = None
    cells: list[CellRecord] = field(default_factory=list)
    #: Typical K(x, x) for each cell; empty where it is not informative.
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
