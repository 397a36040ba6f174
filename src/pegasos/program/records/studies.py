"""results.json: what a run of a study found, number by number."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from pegasos.learners.catalogue import learner_class
from pegasos.search.settings import Setting


@dataclass(frozen=True)
class StudyData:
    """The rows of a run; `real`: they are those of the report."""

    name: str
    rows: int
    real: bool
    fingerprint: str


@dataclass(frozen=True)
class JudgedNumber:
    """A printed number beside ours; `fields` are the columns that the report prints around it."""

    fields: dict[str, Any]
    printed: float
    ours: float
    #: The deviation of ours over seeds; None with one seed.
    spread: float | None
    #: The standard error of the comparison: the spread of ours and the binomial error of theirs.
    noise: float
    reading: str
    verdict: str
    #: Why it differs, where that is known.
    why: str = ""

    @property
    def difference(self) -> float:
        """Ours minus theirs."""
        return self.ours - self.printed

    def row(self) -> dict[str, Any]:
        numbers = {
            "ours": self.ours,
            "spread": self.spread,
            "difference": self.difference,
            "noise": self.noise,
        }
        rounded = {
            name: None if value is None else round(value, 6) for name, value in numbers.items()
        }
        words = {"reading": self.reading, "verdict": self.verdict, "why": self.why}
        return {**self.fields, "printed": self.printed, **rounded, **words}


@dataclass(frozen=True)
class ReadingFit:
    """How well one reading of the protocol fits a group of numbers."""

    group: str
    reading: str
    numbers: int
    fitting: int
    share: float
    #: Of ours from the printed numbers, in units of the noise.
    mean_distance: float
    chosen: bool = False


@dataclass(frozen=True)
class Claim:
    """A claim of the report, our verdict, and the evidence for it."""

    claim: str
    verdict: str
    evidence: str


@dataclass(frozen=True)
class StudyCell:
    """A result: mean and deviation over seeds. `setting` is None for what a report's own program did; `tags` tell such apart."""

    experiment: str
    setting: Setting | None
    #: Parts of the setting that the grid of the experiment mentions for this cell.
    names: list[str]
    decoding: str
    split: str
    rows: int
    error: float
    spread: float | None
    seeds: int
    tags: dict[str, Any] = field(default_factory=dict)
    #: Rows that each fit learned from, on average over splits; None where no learner of ours did.
    learned: int | None = None

    @property
    def cost(self) -> float | None:
        """SVC's C for λ on these rows."""
        lam = None if self.setting is None else self.setting.lam
        return None if lam is None or not self.learned else 1 / (lam * self.learned)

    def words(self) -> dict[str, Any]:
        """What tells the cell from others, as tables have it: numbers as they are, all else as text."""
        given = (
            {}
            if self.setting is None
            else {name: self._text(self.setting, name) for name in self.names}
        )
        return {"experiment": self.experiment, "decoding": self.decoding, **self.tags, **given}

    def row(self) -> dict[str, Any]:
        measured = {
            "split": self.split,
            "rows": self.rows,
            "error": self.error,
            "spread": self.spread,
            "seeds": self.seeds,
        }
        return {**self.words(), **measured}

    def _text(self, setting: Setting, name: str) -> Any:
        value = setting.get(name)
        if (
            value is None
        ):  # a parameter of the learner that is not used, or a step of the pipeline that does nothing
            return (
                None
                if name in learner_class(setting.declaration)().get_params(deep=False)
                else "passthrough"
            )
        return value if isinstance(value, bool | int | float | str) else repr(value)


@dataclass(frozen=True)
class Better:
    """The best that this project reaches, beside the report's best."""

    what: str
    error: float
    low: float | None = None
    high: float | None = None
    rows: int | None = None
    #: The comparison with the report's best, in words, and its p-value.
    against: str = ""
    p: float | None = None
    seconds: float | None = None
    settings: str = ""

    @property
    def comparison(self) -> str:
        """The comparison with the report's best in one line."""
        return ", ".join(
            [
                *([self.against] if self.against else []),
                *([] if self.p is None else [f"p = {self.p:.1g}"]),
            ]
        )

    def row(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class ExtraRecord:
    """Something shown around the numbers: Markdown text, and what else a page can draw (rows, images, places, ...)."""

    name: str
    title: str
    text: str
    content: dict[str, Any] = field(default_factory=dict)


@dataclass
class StudyRecord:
    """Everything that a run of a study found."""

    study: str
    title: str
    protocol: str
    data: StudyData
    seeds: list[int]
    quick: bool
    numbers: list[JudgedNumber]
    readings: list[ReadingFit]
    claims: list[Claim]
    extras: list[ExtraRecord]
    better: list[Better]
    findings: str
    cells: list[StudyCell]
    seconds: dict[str, float]
    made: dict[str, str]
    total_seconds: float
    folder: str
    #: The name or file that the study was asked for by.
    source: str = ""


@dataclass(frozen=True)
class KeptPart:
    """A part of a run that is computed once: what it was asked for, and the answer."""

    asked: dict[str, Any]
    answer: Any
