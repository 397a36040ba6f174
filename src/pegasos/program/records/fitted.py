"""Records of fitted models and searches: facts, the card in a model file, cells, calibration."""

from __future__ import annotations

import contextlib
import itertools
import math
import typing
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from pegasos.estimates import Estimate, Figure, expected_calibration_error, reliability
from pegasos.learners.catalogue import model_of
from pegasos.metrics import measure_of, shown_value
from pegasos.program.records.codec import OtherVersion, from_json
from pegasos.program.records.runs import (
    OUT_OF_FOLD,
    CalibrationRecord,
    CellRecord,
    ErrorCount,
    SearchRecord,
)
from pegasos.program.tables.dataset import Column
from pegasos.program.tables.labels import label_text, label_texts
from pegasos.search.anatomy import anatomy
from pegasos.search.decisions import Calibrated, Threshold

#: Bins of a reliability diagram, and simulations of sampling noise.
BINS, ROUNDS = 10, 200


@dataclass(frozen=True)
class LearnerFacts:
    """Facts on a fitted learner; `cost` is SVC's C, None if the number of rows is unknown."""

    learner: str
    model: str
    loss: str | None
    kernel: str
    lam: float | None
    cost: float | None
    rows: int | None
    #: Number of steps or epochs, as given by `unit`.
    count: int
    unit: str
    support_vectors: int | None
    gap: float | None


def learner_facts(
    estimator: Any, rows: int | None = None, cost_rows: int | None = None
) -> LearnerFacts:
    """Return the facts on a fitted learner, alone or in a pipeline, trained on `rows` rows.

    C is that of `cost_rows` rows, by default the same.
    """
    cost_rows = rows if cost_rows is None else cost_rows
    from pegasos.nystroem import Nystroem

    parts = anatomy(estimator, fitted=True)
    learner: Any = parts.learner
    maps = [stage.part for stage in parts.stages if isinstance(stage.part, Nystroem)]
    mapped = f"{maps[0].kernel_!r}, {len(maps[0].weights_)} landmarks" if maps else None
    declaration, model = learner.declaration, model_of(learner)
    linear = learner.kernel is None
    lam = float(learner.lam_) if hasattr(learner, "lam_") else None
    gap = learner.gap_ if "gap_" in declaration.fitted_numbers else np.nan
    return LearnerFacts(
        learner=declaration.learner,
        model=model.name,
        loss=model.fixed.get("loss"),
        kernel=mapped or ("linear" if linear else repr(learner.kernel_)),
        lam=lam,
        cost=None if lam is None or cost_rows is None else 1 / (lam * cost_rows),
        rows=rows,
        count=int(learner.n_iter_),
        unit=declaration.unit,
        support_vectors=None if linear else len(learner.support_),
        gap=float(gap) if np.isfinite(gap) else None,
    )


@dataclass(frozen=True)
class CardData:
    """Training data of a model; the fingerprint does not depend on the order of rows."""

    name: str
    rows: int
    fingerprint: str


@dataclass(frozen=True)
class CardSplit:
    """Train-test split; `learned_rows` are the training rows left by the outlier filter."""

    kind: str
    seed: int
    test_size: float | None
    train_rows: int
    test_rows: int
    learned_rows: int


@dataclass(frozen=True)
class ModelCard:
    """Provenance of a model, stored in its file by train and tune."""

    columns: list[Column] | None = None
    #: Whether rows are a table with column names, as encoders and imputers require.
    frame: bool = False
    label: str | None = None
    image: tuple[int, int] | None = None
    data: CardData | None = None
    classes: dict[str, int] = field(default_factory=dict)
    split: CardSplit | None = None
    errors: dict[str, ErrorCount] = field(default_factory=dict)
    #: Number of rows of a refit after the evaluation, test rows included.
    refitted_rows: int | None = None
    #: Of a search: cross-validated value of the best setting, metric, positive class, costs,
    #: figures with baselines, and the error estimate corrected for selection bias.
    value: float | None = None
    metric: str | None = None
    positive: str | None = None
    costs: list[tuple[str, str, float]] = field(default_factory=list)
    figures: dict[str, Figure] = field(default_factory=dict)
    honest: Estimate | None = None
    #: Calibration method, and the threshold with its criterion.
    calibration: str | None = None
    threshold: Threshold | None = None
    command: str | None = None
    created: str | None = None
    seconds: float | None = None

    @classmethod
    def read(cls, card: dict[str, Any]) -> ModelCard:
        """Read the card of a model file.

        Entries that do not have the declared types are skipped: other programs may have written
        them.
        """
        hints, found = typing.get_type_hints(cls), {}
        for each in fields(cls):
            with contextlib.suppress(OtherVersion):
                if card.get(each.name) is not None:
                    found[each.name] = from_json(hints[each.name], card[each.name], "the card")
        return cls(**found)

    @property
    def learned_rows(self) -> int | None:
        """Number of rows the learner was fitted to, or None if it is unknown."""
        return None if self.split is None else max(0, self.split.learned_rows) or None

    @property
    def searched_rows(self) -> int | None:
        """Number of rows on which a search chose λ, before the refit on all rows.

        They relate λ to C, so that C is the same wherever a run shows it.
        """
        learned = self.learned_rows
        if learned is None or self.refitted_rows is None or self.split is None:
            return learned
        return round(learned * self.split.train_rows / self.refitted_rows)


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
