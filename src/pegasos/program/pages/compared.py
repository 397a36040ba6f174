"""Cells, measure and choice of a fitted sweep, and rates over its thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.metrics import Measure, measure_of
from pegasos.program.records.decisions import RatesRecord, rates_record
from pegasos.program.records.runs import CellRecord, cell_records
from pegasos.search.decisions import Threshold


@dataclass(frozen=True)
class Compared:
    """Cells of a sweep, their measure, and the numbers of the best cell and of the simplest one within one standard error."""

    measure: Measure
    cells: list[CellRecord]
    best: int
    simplest: int


def compared(search: Any) -> Compared:
    """Return cells, measure and choice of a fitted SweepCV."""
    metric, scoring = metric_of(search), search.scoring
    if search.multimetric_:
        scoring = scoring.get(metric) if isinstance(scoring, dict) else metric
    best = best_of(search, metric)
    cells = cell_records(search, search.labels_.shape[1], metric, scoring)
    return Compared(measure_of(scoring), cells, best, getattr(search, "simplest_index_", best))


def metric_of(search: Any) -> str:
    """Return the name in cv_results_ of the score that decides."""
    if not search.multimetric_:
        return "score"
    if isinstance(search.refit, str):
        return search.refit
    return next(name for name in search.cv_results_ if name.startswith("mean_test_")).removeprefix(
        "mean_test_"
    )


def best_of(search: Any, metric: str) -> int:
    """Return the number of the best cell; of several metrics without a refit the first one decides."""
    found = getattr(search, "best_index_", None)
    return (
        int(np.nanargmax(search.cv_results_[f"mean_test_{metric}"]))
        if found is None
        else int(found)
    )


def rates_of(search: Any, threshold: Threshold | None) -> RatesRecord | None:
    """Return rates over thresholds, for two classes whose out-of-fold scores were kept."""
    try:
        scores, codes = search.out_of_fold_scores_and_codes()
    except (ValueError, AttributeError):  # without a refit there is no choice to look at
        return None
    if scores.ndim > 1:
        return None
    classes = search.best_estimator_.classes_
    cut, aim = (0.0, None) if threshold is None else (threshold.value, threshold.aim)
    return rates_record(scores, codes, classes, search.positive_class(), cut, aim)
