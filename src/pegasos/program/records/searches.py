"""Records of fitted searches, and of the calibration of their choice."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.estimates import Figure, expected_calibration_error, reliability
from pegasos.metrics import measure_of, shown_value
from pegasos.program.records.runs import OUT_OF_FOLD, CalibrationRecord, CellRecord, SearchRecord
from pegasos.program.tables.labels import label_text, label_texts
from pegasos.search.decisions import Calibrated

#: Bins of a reliability diagram, and simulations of sampling noise.
BINS, ROUNDS = 10, 200


def out_of_fold(search: Any) -> dict[str, Figure]:
    """Return the out-of-fold figure of a search's choice.

    It is empty for scorers of scikit-learn, and if scores were not stored in all folds.
    """
    known = search.metric_ is not None or search.scoring in (None, "accuracy")
    if not known or not hasattr(search, "best_index_"):
        return {}
    try:
        return {OUT_OF_FOLD: as_text(search.out_of_fold_metric())}
    except ValueError:
        return {}


def as_text(figure: Figure) -> Figure:
    """Return the figure with its baseline class as text."""
    if figure.baseline_class is None:
        return figure
    return replace(figure, baseline_class=str(label_texts([figure.baseline_class])[0]))


def search_record(
    search: Any, kind: Any = SearchRecord, learned_rows: int | None = None, **facts: Any
) -> Any:
    """Return the record of a fitted SweepCV, of a `kind`; `facts` override its fields.

    The C of each setting is that for `learned_rows` rows, by default all rows of the search.
    """
    name, scoring = _decisive_score(search)
    best = getattr(search, "best_index_", None)
    if best is None:
        best = np.nanargmax(search.cv_results_[f"mean_test_{name}"])
    rows = search.labels_.shape[1]
    found = {
        "data": "the data",
        "training_rows": rows,
        "folds": search.n_splits_,
        "metric": measure_of(scoring).name,
        "complete": search.completed_,
        "seed": search.seed_,
        "cells": cell_records(search, learned_rows or rows, name, scoring),
        "best": int(best),
        "simplest": getattr(search, "simplest_index_", int(best)),
        "advice": getattr(search, "advice_", []),
        "seconds": search.time_,
    }
    return kind(**{**found, **facts})


def _decisive_score(search: Any) -> tuple[str, Any]:
    """Return the score that decides, by its name in `cv_results_`, and its scoring."""
    if not search.multimetric_:
        return "score", search.scoring
    prefix = "mean_test_"
    first = next(name for name in search.cv_results_ if name.startswith(prefix))
    name = search.refit if isinstance(search.refit, str) else first.removeprefix(prefix)
    scoring = search.scoring
    return name, scoring.get(name) if isinstance(scoring, dict) else name


def cell_records(search: Any, rows: int, metric: str, scoring: Any) -> list[CellRecord]:
    """Return the cells of a fitted search, refitted on `rows` rows.

    `metric` is the name of the score in `cv_results_`, and `scoring` its scorer.
    """
    results = search.cv_results_

    def number(name: str, cell: int) -> float | None:
        value = float(results[name][cell]) if name in results else math.nan
        return value if math.isfinite(value) else None

    def value(name: str, cell: int) -> float | None:
        found = number(name, cell)
        return None if found is None else shown_value(scoring, found)

    records = []
    for cell, setting in enumerate(search.settings_):
        # The estimate on the rows of the last stage that the setting entered.
        last = f"test_{metric}"
        if value(f"mean_{last}", cell) is None:
            last = "first_score"
        names = (f"split{fold}_{last}" for fold in itertools.count())
        folds = itertools.takewhile(results.__contains__, names)
        record = CellRecord(
            number=cell,
            setting=setting,
            value=value(f"mean_{last}", cell),
            deviation=number(f"std_{last}", cell),
            folds=[value(name, cell) for name in folds],
            train=value(f"mean_train_{metric}", cell),
            train_deviation=number(f"std_train_{metric}", cell),
            support_vectors=number("mean_support_vectors", cell),
            gap=number("mean_gap", cell),
            cost=setting.C if setting.lam is None else 1 / (setting.lam * rows),
            stage=int(results["stage"][cell]) if "stage" in results else 1,
            first=value("mean_first_score", cell),
            first_deviation=number("std_first_score", cell),
        )
        records.append(record)
    return records


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
