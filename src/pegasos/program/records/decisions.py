"""How scores of a choice became probabilities and decisions: what a page shows of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pegasos.metrics import Metric
from pegasos.program.tables.labels import label_text
from pegasos.search.decisions import OWN, Calibrated, Rates, expected_calibration_error, reliability

#: Bins of a reliability diagram, rounds that tell what chance alone would show, and thresholds that a page keeps.
BINS, ROUNDS, MOST_THRESHOLDS = 10, 200, 150


@dataclass(frozen=True)
class CalibrationRecord:
    """Which kind was chosen, the Brier score of each, and how far probabilities are from shares: `error`, beside the error that
    perfect probabilities would show on as many rows by chance. Bins are (mean probability, share that was true, rows).
    """

    kind: str
    briers: dict[str, float]
    error: float
    by_chance: float
    bins: list[tuple[float, float, int]]
    #: The class whose probability is drawn; None: that of whichever class is the likeliest.
    of: str | None
    #: Why neither these probabilities nor a threshold should be trusted, where that is so.
    doubt: str | None = None

    @property
    def words(self) -> str:
        return "its own probabilities" if self.kind == OWN else f"{self.kind} calibration"


@dataclass(frozen=True)
class RatesRecord:
    """What each of some thresholds gives out of fold; `chosen` is the place of the one in use, `name` what it was chosen for."""

    positive: str
    thresholds: list[float]
    hits: list[int]
    alarms: list[int]
    positives: int
    negatives: int
    chosen: int
    aim: str | None = None
    others: str = field(default="")


def calibration_record(
    found: Calibrated, codes: Any, classes: Any, positive: Any, doubt: str | None = None
) -> CalibrationRecord:
    """The reliability of probabilities that were had without the rows they are about."""
    p = found.probabilities
    if len(classes) == 2:
        code = list(classes).index(positive)
        one, true = p[:, code], codes == code
    else:
        one, true = p.max(axis=1), p.argmax(axis=1) == codes
    bins = reliability(one, true, BINS)
    random = np.random.default_rng(0)
    chance = [
        expected_calibration_error(reliability(one, random.random(len(one)) < one, BINS))
        for _ in range(ROUNDS)
    ]
    of = label_text(positive) if len(classes) == 2 else None
    distance = expected_calibration_error(bins)
    return CalibrationRecord(
        found.kind, found.briers, distance, float(np.mean(chance)), bins, of, doubt
    )


def rates_record(
    scores: Any, codes: Any, classes: Any, positive: Any, cut: float, aim: str | None
) -> RatesRecord:
    """Thresholds for two classes, spread over the recalls; `cut` is the score of the positive class that is in use."""
    code = list(classes).index(positive)
    rates = Rates.of(scores if code == 1 else -scores, codes == code)
    steps = np.linspace(0, len(rates.thresholds) - 1, MOST_THRESHOLDS)
    by_recall = np.searchsorted(
        rates.hits, np.linspace(0, rates.positives, MOST_THRESHOLDS // 2)
    ).clip(max=len(rates.hits) - 1)
    used = int(np.abs(rates.thresholds - cut).argmin())
    kept = np.unique(np.concatenate([steps.astype(int), by_recall, [used]]))
    return RatesRecord(
        positive=label_text(positive),
        thresholds=[float(f"{value:.5g}") for value in rates.thresholds[kept]],
        hits=rates.hits[kept].astype(int).tolist(),
        alarms=rates.alarms[kept].astype(int).tolist(),
        positives=int(rates.positives),
        negatives=int(rates.negatives),
        chosen=int(np.flatnonzero(kept == used)[0]),
        aim=aim,
        others=label_text(classes[1 - code]),
    )


def rates_of_model(
    scores: Any, codes: Any, classes: Any, threshold: float, positive: Any = None
) -> RatesRecord:
    """The same for a model with its own threshold, on rows that it is judged on; `positive`: the usual class unless named."""
    seen = Metric("f1", positive).settled(np.asarray(classes)[codes], classes).positive
    return rates_record(
        scores, codes, classes, seen, threshold if seen == classes[1] else -threshold, None
    )
