"""Records of calibration and decision thresholds, as shown on pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pegasos.metrics import Metric
from pegasos.program.tables.labels import label_text
from pegasos.search.decisions import OWN, Calibrated, Rates, expected_calibration_error, reliability

#: Bins of a reliability diagram, simulations of sampling noise, and thresholds stored for a page.
BINS, ROUNDS, MOST_THRESHOLDS = 10, 200, 150


@dataclass(frozen=True)
class CalibrationRecord:
    """Calibration of a model's probabilities.

    `briers` has the Brier score of each method, and `kind` is the one chosen. `error` is the
    expected calibration error, and `by_chance` its expectation for perfect probabilities on as many
    rows. Bins are (mean probability, observed frequency, rows).
    """

    kind: str
    briers: dict[str, float]
    error: float
    by_chance: float
    bins: list[tuple[float, float, int]]
    #: Class whose probability is shown; None: the most probable class of each row.
    of: str | None
    #: Reason to distrust the probabilities and the threshold, if any.
    doubt: str | None = None

    @property
    def words(self) -> str:
        """Name of the calibration method in messages."""
        return "its own probabilities" if self.kind == OWN else f"{self.kind} calibration"


@dataclass(frozen=True)
class RatesRecord:
    """Out-of-fold counts at a selection of thresholds.

    `hits` are true positives and `alarms` false positives. `chosen` is the position of the
    threshold in use, and `aim` the criterion it was chosen by.
    """

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
    """Return the reliability of out-of-fold probabilities."""
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
    """Return counts at thresholds spread over the recall, for two classes.

    `cut` is the threshold in use, as a score of the positive class.
    """
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
    """Return counts at thresholds for a model with its own threshold, on evaluation rows.

    `positive` is the usual positive class by default.
    """
    seen = Metric("f1", positive).settled(np.asarray(classes)[codes], classes).positive
    return rates_record(
        scores, codes, classes, seen, threshold if seen == classes[1] else -threshold, None
    )
