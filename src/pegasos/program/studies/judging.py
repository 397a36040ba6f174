"""Is a printed number ours? Judged against noise: the spread of ours over seeds, and the binomial error of theirs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pegasos.program.studies.results import Results
from pegasos.program.studies.study import Number

REPRODUCED, DIFFERS, UNKNOWN = "reproduced", "differs", "cannot be told"


@dataclass(frozen=True)
class Judged:
    """A printed number beside ours."""

    number: Number
    reading: str
    ours: float
    spread: float
    noise: float
    verdict: str

    @property
    def difference(self) -> float:
        """Ours minus theirs."""
        return self.ours - self.number.error

    def as_row(self) -> dict[str, Any]:
        """For tables."""
        return {
            **self.number.fields,
            "printed": self.number.error,
            "ours": round(self.ours, 6),
            "spread": None if math.isnan(self.spread) else round(self.spread, 6),
            "difference": round(self.difference, 6),
            "noise": round(self.noise, 6),
            "reading": self.reading,
            "verdict": self.verdict,
            "why": self.number.reason if self.verdict == DIFFERS else "",
        }


def judge(numbers: list[Number], results: Results, tolerance: float) -> tuple[list[Judged], list[dict[str, Any]]]:
    """Every number by the reading that fits its group best, and how well every reading fits."""
    fits = []
    chosen: dict[str, str] = {}
    for group in dict.fromkeys(number.group for number in numbers):
        members = [number for number in numbers if number.group == group]
        readings = dict.fromkeys(name for number in members for name in number.readings)
        scored = [_fit(group, name, members, results, tolerance) for name in readings]
        best = max(scored, key=lambda fit: (fit["share"], -fit["mean_distance"]))
        chosen[group] = best["reading"]
        fits += [{**fit, "chosen": fit is best} for fit in scored]
    return [compare(number, chosen[number.group], results, tolerance) for number in numbers], fits


def _fit(group: str, reading: str, members: list[Number], results: Results, tolerance: float) -> dict[str, Any]:
    known = [compare(number, reading, results, tolerance) for number in members if reading in number.readings]
    distances = [abs(each.difference) / each.noise for each in known]
    fitting = sum(each.verdict == REPRODUCED for each in known)
    return {
        "group": group,
        "reading": reading,
        "numbers": len(known),
        "fitting": fitting,
        "share": fitting / len(members),
        "mean_distance": sum(distances) / len(distances),
    }


def compare(number: Number, reading: str, results: Results, tolerance: float) -> Judged:
    """One number by one reading (the first that it has, if it lacks this one)."""
    name = reading if reading in number.readings else next(iter(number.readings))
    errors = results.errors(number.readings[name])
    if not len(errors):
        raise ValueError(f"no experiment gives {number.readings[name]}, which {number.fields} asks for.")
    ours = float(errors.mean())
    spread = float(errors.std(ddof=1)) if len(errors) > 1 else math.nan
    # With one seed the spread of ours is not known; the binomial error stands for it.
    level = min(max(ours, 1 / number.rows), 1 - 1 / number.rows)
    theirs = math.sqrt(level * (1 - level) / number.rows)
    noise = math.sqrt(theirs**2 + (theirs if math.isnan(spread) else spread) ** 2)
    distance = max(0.0, abs(ours - number.error) - number.half_unit)
    verdict = REPRODUCED if distance <= tolerance * noise else DIFFERS
    if verdict == DIFFERS and len(errors) == 1 and distance <= 3 * tolerance * noise:
        verdict = UNKNOWN  # one seed does not tell how far the draws alone would move it
    if verdict == REPRODUCED and noise > 0.1 and noise > 0.5 * ours:
        verdict = UNKNOWN  # anything would agree with so much noise
    return Judged(number, name, ours, spread, noise, verdict)
