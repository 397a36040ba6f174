"""Results of a study: printed numbers with verdicts, claims, figures, lowest error reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

EXACT, WITHIN_NOISE, UNDECIDED, DIFFERS = "exact", "within noise", "undecided", "differs"
FIGURES = ("table", "heatmap", "lines", "bars", "points", "images")
VERDICTS = (EXACT, WITHIN_NOISE, UNDECIDED, DIFFERS)


@dataclass(frozen=True)
class JudgedNumber:
    """Printed number with our value and a verdict.

    `ours` is the mean of our runs, `noise` their standard deviation (None for a single run), and
    `low` to `high` the central 95 % of their distribution.
    """

    id: str
    printed: float
    ours: float
    noise: float | None
    verdict: str
    reason: str = ""
    low: float | None = None
    high: float | None = None
    runs: int = 1

    def row(self) -> dict[str, Any]:
        """Return the columns of numbers.csv."""
        names = ("id", "printed", "ours", "noise", "verdict", "reason")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Claim:
    """Statement with our verdict and the evidence.

    `source` is "report", or "ours" for a remark of this project.
    """

    claim: str
    verdict: str
    evidence: str
    source: str = "report"


@dataclass(frozen=True)
class Figure:
    """Table or chart of a study's page.

    `kind` is "table", "heatmap" (color over x and y), "lines" (y over x, one line per color),
    "bars" (y over x), "points" (a scatter plot colored by class) or "images" (rows with `label` and
    `pixels`, of the given shape).
    """

    kind: str
    title: str
    rows: list[dict[str, Any]]
    caption: str = ""
    x: str = ""
    y: str = ""
    color: str = ""
    shape: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.kind not in FIGURES:
            raise ValueError(f"kind must be one of {', '.join(FIGURES)}, got {self.kind!r}.")


@dataclass(frozen=True)
class Best:
    """Lowest error that this project reaches on the same data."""

    what: str
    error: float
    rows: int
    seconds: float


@dataclass
class StudyResult:
    """All results of one run of a study."""

    study: str
    title: str
    protocol: str
    data: str
    rows: int
    seeds: int
    numbers: list[JudgedNumber] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    best: list[Best] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def counts(self) -> dict[str, int]:
        """Return how many printed numbers have each verdict."""
        found = Counter(number.verdict for number in self.numbers)
        return {verdict: found[verdict] for verdict in VERDICTS}

    def noise_words(self) -> str:
        """Describe how many numbers lie outside our distributions, and how many chance explains."""
        judged = [number for number in self.numbers if number.runs > 1]
        if len(judged) < 20:  # Fewer than one number would be expected outside.
            return ""
        far = sum(number.verdict == DIFFERS for number in judged)
        out = far + sum(number.verdict == UNDECIDED for number in judged)
        return (
            f"{len(judged)} numbers are judged against noise: {out} lie outside the central 95 % "
            f"({0.05 * len(judged):.1f} expected by chance), {far} outside 99 % "
            f"({0.01 * len(judged):.1f} expected)."
        )

    def files(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Yield the name and the rows of each CSV file that the study writes."""
        if self.numbers:
            yield "numbers.csv", [number.row() for number in self.numbers]
        if self.claims:
            yield "claims.csv", [vars(claim) for claim in self.claims]
        for number, figure in enumerate(self.figures, start=1):
            if figure.kind != "images":
                yield f"figure-{number}.csv", figure.rows
