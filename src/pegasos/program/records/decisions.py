"""Record of the calibration of probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.program.tables.labels import label_text
from pegasos.search.decisions import OWN, Calibrated, expected_calibration_error, reliability

#: Bins of a reliability diagram, and simulations of sampling noise.
BINS, ROUNDS = 10, 200


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
