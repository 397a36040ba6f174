"""results.json: what a run of a study found, number by number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

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

    fields: dict[str, str]
    printed: float
    ours: float
    spread: float | None
    difference: float
    noise: float
    reading: str
    verdict: str
    why: str


@dataclass(frozen=True)
class ReadingFit:
    """How well one reading of the protocol fits a group of numbers."""

    group: str
    reading: str
    numbers: int
    fitting: int
    share: float
    mean_distance: float
    chosen: bool


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
    decoding: str
    split: str
    rows: int
    error: float
    spread: float | None
    seeds: int
    tags: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Better:
    """The best that this project reaches, beside the report's best."""

    what: str
    error: float
    low: float
    high: float
    rows: int
    against: str
    p: float | None
    seconds: float
    settings: str


@dataclass(frozen=True)
class ExtraRecord:
    """Something shown around the numbers: Markdown text, and what else a page can draw (rows, images, places, ...)."""

    name: str
    title: str
    text: str
    content: dict[str, Any]


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
