"""Results of a study: printed numbers with verdicts, claims, figures, lowest error reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit

Array = np.ndarray[Any, Any]

EXACT, WITHIN_NOISE, UNDECIDED, DIFFERS = "exact", "within noise", "undecided", "differs"
FIGURES = ("table", "heatmap", "lines", "bars", "points", "images")
VERDICTS = (EXACT, WITHIN_NOISE, UNDECIDED, DIFFERS)
#: With 200 runs the ranks alone resolve 1 % at both ends; fewer runs need Student's t distribution.
RANKED_RUNS = 200


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

    def describe_noise(self) -> str:
        """Describe how many numbers lie outside our distributions, and how many chance explains."""
        counted = Counter(number.verdict for number in self.numbers if number.runs > 1)
        judged, far = counted.total(), counted[DIFFERS]
        outside = far + counted[UNDECIDED]
        if judged < 20:  # Fewer than one number would be expected outside.
            return ""
        return (
            f"{judged} numbers are judged against noise: {outside} lie outside the central 95 % "
            f"({0.05 * judged:.1f} expected by chance), {far} outside 99 % ({0.01 * judged:.1f} "
            "expected)."
        )

    def files(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Yield the name and the rows of each CSV file that the study writes."""
        if self.numbers:
            names = ("id", "printed", "ours", "noise", "verdict", "reason")
            rows = [{name: getattr(number, name) for name in names} for number in self.numbers]
            yield "numbers.csv", rows
        if self.claims:
            yield "claims.csv", [vars(claim) for claim in self.claims]
        for number, figure in enumerate(self.figures, start=1):
            if figure.kind != "images":
                yield f"figure-{number}.csv", figure.rows


def judge(
    name: str,
    printed: str | float,
    ours: float | Sequence[float] | Array,
    *,
    rows: int | None = None,
    reason: str = "",
    note: str = "",
) -> JudgedNumber:
    """Compare a printed number with ours.

    A single value of ours comes from a deterministic protocol: it is exact if all printed digits
    agree (rounded or truncated), and differs otherwise. A sequence holds runs with different seeds:
    the verdict is "within noise" inside the central 95 % of their distribution, "undecided" between
    95 % and 99 % or with a single run, and "differs" beyond. The distribution is Student's t for
    the next run, or that of the ranks from 200 runs on.

    Parameters
    ----------
    name : str
        Identifier of the number.
    printed : str or float
        The number as printed; a string keeps trailing zeros, and with them the printed precision.
    ours : float or sequence of float
        Our value, or one value per seed.
    rows : int, optional
        Number of rows on which errors were counted: a printed error that is no multiple of 1/rows
        is flagged.
    reason : str, optional
        Why the number differs, if it does; dropped if the verdict is exact or within noise.
    note : str, optional
        Remark that is kept for any verdict.

    Returns
    -------
    JudgedNumber
        Both numbers with the verdict.

    See Also
    --------
    run_study : Run a whole protocol.

    Examples
    --------
    >>> judge("a", "0.043", 0.0432).verdict
    'exact'
    >>> judge("b", "0.2807", [0.279, 0.281, 0.2835], rows=2000).reason
    'impossible: 0.2807 is no multiple of 1/2000'
    """
    value = float(printed)
    unit = 10.0 ** int(Decimal(str(printed)).as_tuple().exponent)  # of the last printed digit
    values = np.atleast_1d(np.asarray(ours, dtype=np.float64))
    mean, is_single_run = float(values.mean()), np.ndim(ours) > 0 and len(values) == 1
    noise, low, high = None, None, None
    if np.ptp(values) == 0 and _same_digits(value, mean, unit) and not is_single_run:
        verdict = EXACT
    elif len(values) == 1:
        verdict = UNDECIDED if is_single_run else DIFFERS
    else:
        chance = tail_probability(value, values, unit / 2)
        verdict = WITHIN_NOISE if chance >= 0.05 else UNDECIDED if chance >= 0.01 else DIFFERS
        noise, (low, high) = float(values.std(ddof=1)), central_interval(values)
    counts = () if rows is None else (int(value * rows), int(value * rows) + 1)
    is_possible = rows is None or any(_same_digits(value, each / rows, unit) for each in counts)
    impossible = "" if is_possible else f"impossible: {printed} is no multiple of 1/{rows}"
    kept = "" if verdict in (EXACT, WITHIN_NOISE) else reason
    words = "; ".join(part for part in (impossible, note, kept) if part)
    return JudgedNumber(name, value, mean, noise, verdict, words, low, high, len(values))


def tail_probability(printed: float, values: Array, half_unit: float = 0.0) -> float:
    """Return how often a further run would lie at least as far out as a printed number."""
    if len(values) >= RANKED_RUNS:
        below = np.sum(values <= printed + half_unit)
        above = np.sum(values >= printed - half_unit)
        return float(min(1.0, 2 * (min(below, above) + 1) / (len(values) + 1)))
    distance = max(0.0, abs(printed - float(values.mean())) - half_unit)
    if distance <= 1e-12:
        return 1.0
    scale = _next_run_scale(values)
    return float(2 * stdtr(len(values) - 1, -distance / scale)) if scale > 0 else 0.0


def central_interval(values: Array) -> tuple[float, float]:
    """Return the central 95 % of the distribution of a further run."""
    if len(values) >= RANKED_RUNS:
        low, high = np.quantile(values, [0.025, 0.975])
        return float(low), float(high)
    reach = float(stdtrit(len(values) - 1, 0.975)) * _next_run_scale(values)
    return float(values.mean()) - reach, float(values.mean()) + reach


def _next_run_scale(values: Array) -> float:
    """Return the scale of Student's t distribution of a further run."""
    return float(values.std(ddof=1)) * float(np.sqrt(1 + 1 / len(values)))


def _same_digits(printed: float, ours: float, unit: float) -> bool:
    """Return whether our value, rounded or truncated, is the printed number."""
    beyond = (ours - printed) * (1 if printed >= 0 else -1)
    slack = 1e-9 * unit
    return abs(beyond) <= unit / 2 + slack or -slack <= beyond < unit - slack
