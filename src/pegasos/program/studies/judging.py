"""Is a printed number ours? Judged against noise: the spread of ours over seeds, and the binomial error of theirs."""

from __future__ import annotations

import math
from dataclasses import replace

from pegasos.program.records.studies import JudgedNumber, ReadingFit
from pegasos.program.studies.results import Results, spread
from pegasos.program.studies.study import Number

REPRODUCED, DIFFERS, UNKNOWN = "reproduced", "differs", "undecided"


def judge(
    numbers: list[Number], results: Results, tolerance: float
) -> tuple[list[JudgedNumber], list[ReadingFit]]:
    """Every number by the reading that fits its group best, and how well every reading fits."""
    fits: list[ReadingFit] = []
    for group in dict.fromkeys(number.group for number in numbers):
        members = [number for number in numbers if number.group == group]
        readings = dict.fromkeys(name for number in members for name in number.readings)
        scored = [_fit(group, name, members, results, tolerance) for name in readings]
        best = max(scored, key=lambda fit: (fit.share, -fit.mean_distance))
        fits += [replace(fit, chosen=fit is best) for fit in scored]
    chosen = {fit.group: fit.reading for fit in fits if fit.chosen}
    return [compare(number, chosen[number.group], results, tolerance) for number in numbers], fits


def _fit(
    group: str, reading: str, members: list[Number], results: Results, tolerance: float
) -> ReadingFit:
    known = [
        compare(number, reading, results, tolerance)
        for number in members
        if reading in number.readings
    ]
    fitting = sum(each.verdict == REPRODUCED for each in known)
    distance = sum(abs(each.difference) / each.noise for each in known) / len(known)
    return ReadingFit(group, reading, len(known), fitting, fitting / len(members), distance)


def compare(number: Number, reading: str, results: Results, tolerance: float) -> JudgedNumber:
    """One number by one reading (the first that it has, if it lacks this one)."""
    name = reading if reading in number.readings else next(iter(number.readings))
    errors = results.errors(**number.readings[name])
    ours, apart = float(errors.mean()), spread(errors)
    # With one seed the spread of ours is not known; the binomial error stands for it.
    level = min(max(ours, 1 / number.rows), 1 - 1 / number.rows)
    theirs = math.sqrt(level * (1 - level) / number.rows)
    noise = math.sqrt(theirs**2 + (theirs if apart is None else apart) ** 2)
    distance = max(0.0, abs(ours - number.error) - number.half_unit)
    verdict = REPRODUCED if distance <= tolerance * noise else DIFFERS
    if verdict == DIFFERS and apart is None and distance <= 3 * tolerance * noise:
        verdict = UNKNOWN  # one seed does not tell how far the draws alone would move it
    if verdict == REPRODUCED and noise > 0.1 and noise > 0.5 * ours:
        verdict = UNKNOWN  # anything would agree with so much noise
    why = number.reason if verdict == DIFFERS else ""
    return JudgedNumber(number.fields, number.error, ours, apart, noise, name, verdict, why)
