"""Record everything that the page of a tuning run or a model shows, so that it can be rendered without the data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from pegasos.engine.kernels.base import DistanceKernel
from pegasos.engine.kernels.elementwise import as_rows
from pegasos.engine.kernels.standard import Polynomial
from pegasos.explaining import Explanation
from pegasos.metrics import METRICS
from pegasos.program.pages import mistakes, row_samples
from pegasos.program.pages.compared import compared, rates_of
from pegasos.program.pages.explanation_section import explained
from pegasos.program.pages.fitted_facts import certificates, curves, made, weights
from pegasos.program.pages.wording import kernel_text
from pegasos.program.records.decisions import CalibrationRecord, rates_of_model
from pegasos.program.records.models import learner_facts
from pegasos.program.records.pages import (
    DataRecord,
    KeptCell,
    ModelRecord,
    PageRecord,
    RowsRecord,
)
from pegasos.program.records.runs import (
    CellRecord,
    Decision,
    ErrorCount,
    best_of_families,
    out_of_fold,
)
from pegasos.program.scoring import scores_of
from pegasos.program.tables.dataset import Dataset
from pegasos.program.tables.labels import label_texts
from pegasos.search.anatomy import anatomy
from pegasos.search.decisions import Threshold
from pegasos.search.estimates import Estimate, Figure, held_out
from pegasos.search.settings import Opaque, Setting
from pegasos.sklearn_private import num_samples, safe_indexing

Array = np.ndarray[Any, Any]

#: Leading cells whose mistakes are kept, and numbers that all confusions together may take.
LEADING, CONFUSION_NUMBERS = 12, 90_000


def record_sweep(
    search: Any,
    dataset: Dataset | None,
    *,
    source: str | None = None,
    command: str | None = None,
    options: Sequence[str] = (),
    positions: Array | None = None,
    errors: dict[str, ErrorCount] | None = None,
    honest: Estimate | None = None,
    advice: Iterable[Any] | None = None,
    seconds: float | None = None,
    decision: Decision | None = None,
    rows: Any = None,
    positive: str | None = None,
    figures: dict[str, Figure] | None = None,
    calibration: CalibrationRecord | None = None,
    threshold: Threshold | None = None,
    tsne: bool = True,
    test: Dataset | None = None,
) -> PageRecord:
    """Return the record of a fitted SweepCV.

    dataset: the rows it was fitted to (None: a page without confusions). source: the data as a command line names them;
    options: further options of every command line, such as --label; positions: each row's place in the source;
    errors, honest, decision, positive, figures, calibration, threshold: what `tune` knows already; advice: replaces the
    sweep's own; tsne: False draws a faster map; test: rows that the best estimator was not fitted to, on which it is explained.
    """
    shown, model = compared(search), getattr(search, "best_estimator_", None)
    measure = shown.measure
    if honest is None and measure.name == "error":
        rounds = int(
            np.clip(2e7 / search.labels_.shape[1], 50, 1000)
        )  # each round draws all rows anew
        honest = search.honest_estimate(rounds=rounds)
    took = search.time_ if seconds is None else seconds
    record = PageRecord(
        kind="tune",
        data=_data(dataset, source),
        made=made(),
        measure=measure,
        positive=positive,
        figures=out_of_fold(search) if figures is None else figures,
        calibration=calibration,
        threshold=threshold,
        rates=rates_of(search, threshold),
        command=command,
        options=list(options),
        seed=search.seed_,
        seconds=took,
        cells=shown.cells,
        folds=search.n_splits_,
        complete=search.completed_,
        decision=decision,
        best=shown.best,
        simplest=shown.simplest,
        advice=[
            str(each) for each in (getattr(search, "advice_", []) if advice is None else advice)
        ],
        errors=errors or {},
        honest=honest,
    )
    if model is not None:
        record = replace(record, **_learned(model))
    if dataset is None or dataset.y is None:
        return record
    if model is not None and test is not None:
        training, metric = (
            (dataset, positions),
            measure.name if measure.name in METRICS else "error",
        )
        explanation = explained(model, test, training=training, metric=metric)
        record = replace(record, explanation=explanation)
    record = replace(record, typical=_typical(search, dataset.X if rows is None else rows))
    kept, rows = _kept(search, record, dataset, positions, tsne)
    boundary = None
    if model is not None:
        classes = np.unique(dataset.labels)
        boundary, _ = row_samples.boundary(
            model, dataset, _codes(dataset), lambda labels: np.searchsorted(classes, labels)
        )
    return replace(record, kept=kept, rows=rows, boundary=boundary)


def record_model(
    estimator: Any,
    dataset: Dataset | None,
    *,
    source: str | None = None,
    command: str | None = None,
    seconds: float | None = None,
    positions: Array | None = None,
    rows: Any = None,
    positive: str | None = None,
    tsne: bool = True,
    explanation: Explanation | None = None,
    training: tuple[Dataset, Any] | None = None,
) -> PageRecord:
    """Return the record of a fitted learner or pipeline, evaluated on labeled rows if there are any.

    rows: the rows in the form that the estimator takes, if not that of the dataset. positive: the text of the positive
    class, if it is not the default. explanation: replaces the one computed here; training: training rows with their numbers,
    among which decisive support vectors are found. Other parameters as in `record_sweep`.
    """
    learner: Any = anatomy(estimator, fitted=True).learner
    kernel = kernel_text(None if learner.kernel is None else learner.kernel_)
    model = ModelRecord(Setting.of(estimator), learner_facts(estimator), kernel)
    seed = learner.random_state if isinstance(learner.random_state, int) else None
    record = PageRecord(
        "model",
        _data(dataset, source),
        made(),
        command=command,
        seed=seed,
        seconds=seconds,
        model=model,
    )
    record = replace(record, **_learned(estimator))
    if dataset is None or dataset.y is None:
        return record
    known = label_texts(estimator.classes_).tolist()
    more = [
        name for name in known if name not in record.data.classes
    ]  # classes of the model that these rows do not have
    names = [*record.data.classes, *more]
    place = {
        label: names.index(name)
        for label, name in zip(np.asarray(estimator.classes_).tolist(), known, strict=True)
    }

    def encode(labels: Array) -> Array:
        return np.array([place[label] for label in labels.tolist()], dtype=int)

    found = scores_of(estimator, dataset if rows is None else replace(dataset, X=rows))
    codes, predicted = _codes(dataset), encode(learner.labels_of(found))
    wrong, scores = predicted != codes, None
    if known == names:
        scores = found.astype(np.float64).reshape(len(codes), -1)
    shown, keeper = _rows(dataset, codes, wrong, positions, tsne)
    listed = mistakes.worst(codes, predicted, scores)
    boundary, _ = row_samples.boundary(estimator, dataset, codes, encode)
    estimate = held_out(wrong)
    guess = float(np.mean(codes != np.bincount(codes).argmax()))
    errors = {
        "these rows": ErrorCount(
            len(codes), int(wrong.sum()), estimate.error, estimate.low, estimate.high, guess
        )
    }
    kept = {"0": KeptCell(mistakes.confusion(codes, predicted, len(names)), listed)}
    shown = replace(shown, shown={str(each.row): keeper.one(each.row) for each in listed})
    data = replace(record.data, classes=names, counts=[*record.data.counts, *[0] * len(more)])
    rates = None
    if found.ndim == 1 and len(np.unique(codes)) == 2 and known == names:
        named = None if positive is None else estimator.classes_.tolist()[known.index(positive)]
        rates = rates_of_model(found, codes, estimator.classes_, learner.threshold_, named)
    explanation = (
        explained(estimator, dataset, rows, training) if explanation is None else explanation
    )
    record = replace(
        record, data=data, errors=errors, kept=kept, rows=shown, explanation=explanation
    )
    return replace(record, boundary=boundary, rates=rates)


def _learned(estimator: Any) -> dict[str, Any]:
    """Return the curves, certificates and weights of a fitted model."""
    learner = anatomy(estimator, fitted=True).learner
    found = {"curves": curves(learner), "certificates": certificates(estimator, learner)}
    return {**found, "weights": weights(estimator, learner)}


# -- parts -----------------------------------------------------------------------------------------------------------


def _data(dataset: Dataset | None, source: str | None) -> DataRecord:
    if dataset is None:
        return DataRecord("the data", source)
    classes, counts = np.unique([] if dataset.y is None else dataset.y, return_counts=True)
    names = label_texts(classes).tolist()
    return DataRecord(
        dataset.name,
        source,
        len(dataset),
        int(dataset.X.shape[1]),
        list(dataset.notes),
        names,
        counts.tolist(),
    )


def _codes(dataset: Dataset) -> Array:
    return np.unique(dataset.labels, return_inverse=True)[1].reshape(-1)


def _rows(
    dataset: Dataset, codes: Array, wrong: Array, positions: Any, tsne: bool
) -> tuple[RowsRecord, mistakes.RowKeeper]:
    """Return map, statistics and mean images, and the object that formats single rows."""
    statistics, order = row_samples.statistics(dataset, codes)
    columns, names = sorted(order[: mistakes.VALUES]), row_samples.feature_names(dataset)
    keeper = mistakes.RowKeeper(dataset, np.array(columns, dtype=int), positions)
    place = row_samples.place(dataset, codes, wrong, tsne)
    if place is not None and positions is not None:
        place = replace(place, rows=np.asarray(positions)[place.rows].tolist())
    record = RowsRecord(place, statistics, keeper.shape)
    if keeper.shape is None:
        return replace(record, columns=[names[j] for j in columns]), keeper
    return replace(
        record, means=[keeper.picture(each) for each in row_samples.class_means(dataset, codes)]
    ), keeper


def _kept(
    search: Any, record: PageRecord, dataset: Dataset, positions: Array | None, tsne: bool
) -> tuple[dict[str, KeptCell], RowsRecord]:
    """Return confusion matrices of as many cells as the size of the page allows, and mistakes of the leading ones."""
    codes, count, least = _codes(dataset), len(record.data.classes), record.measure.least
    ranked = best_of_families(
        record.cells, lambda cell: cell.number, lambda cell: cell.value, least
    )
    leading = _leading(ranked, record, least)
    wrong = (search.labels_ != codes) & (
        search.labels_ >= 0
    )  # rows that were never tested are not mistakes
    rows, keeper = _rows(dataset, codes, wrong[record.best], positions, tsne)
    hard = wrong[[cell.number for cell in ranked[:50]]].mean(axis=0)
    kept, room = dict[str, KeptCell](), CONFUSION_NUMBERS
    for number in dict.fromkeys([*leading, *(cell.number for cell in ranked)]):
        counted = mistakes.confusion(codes, search.labels_[number], count)
        if not counted:  # of settings that only stage 1 evaluated there are no predictions
            continue
        room -= len(counted)
        if room < 0 and number not in leading:
            break
        listed = None
        if number in leading:
            listed = mistakes.worst(
                codes, search.labels_[number], _scores(search, number, count), hard
            )
            rows.shown.update({str(each.row): keeper.one(each.row) for each in listed})
        kept[str(number)] = KeptCell(counted, listed)
    return kept, rows


def _leading(ranked: list[CellRecord], record: PageRecord, least: bool) -> list[int]:
    """Return the choice, the simplest cell, the best of each model and kernel, then the next best."""
    families = best_of_families(
        ranked,
        lambda cell: (cell.setting.model, cell.setting.kernel),
        lambda cell: cell.value,
        least,
    )
    order = [
        record.best,
        record.simplest,
        *(cell.number for cell in (*families[: LEADING - 4], *ranked)),
    ]
    return list(dict.fromkeys(order))[:LEADING]


def _scores(search: Any, number: int, classes: int) -> Array | None:
    try:
        scores = search.out_of_fold_scores(number)
    except ValueError:
        return None
    return scores if scores.shape[1] in (classes, 1) else None


def _typical(search: Any, X: Any) -> list[float | None]:
    """Return the median of K(x, x) for each cell, which makes costs of kernels comparable; empty for a single kernel."""
    kinds = [(setting.kernel, setting.preparation) for setting in search.settings_]
    if len(set(kinds)) < 2:
        return []
    some, prepared = safe_indexing(X, row_samples.sample(num_samples(X), 200)), dict[Any, Any]()
    found: dict[Any, float | None] = {}
    for (kernel, steps), params in zip(kinds, search.cv_results_["params"], strict=True):
        if (kernel, steps) in found:
            continue
        if isinstance(kernel, DistanceKernel):
            found[kernel, steps] = 1.0
        elif any(part.name == "Nystroem" for _, part in steps) or isinstance(kernel, Opaque):
            found[kernel, steps] = None
        else:
            if steps not in prepared:
                prepared[steps] = _prepared(clone(search.estimator).set_params(**params), some)
            # x·x + 1: the constant feature is part of a linear predictor
            found[kernel, steps] = (
                float(np.median((kernel or Polynomial(1)).diagonal(prepared[steps]))) or None
            )
    return [found[kind] for kind in kinds]


def _prepared(estimator: Any, rows: Any) -> Any:
    """Fit the steps of a pipeline before its learner, and return the transformed rows."""
    for stage in anatomy(estimator).stages:
        rows = rows if stage.drops else stage.part.fit_transform(rows)
    return as_rows(rows).astype(np.float64)
