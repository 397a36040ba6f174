"""A saved model on labelled rows, chunk by chunk, with rows that it was trained on counted apart from new ones."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.metrics import LABELS, METRICS, PROBABILITIES, Answers, Metric
from pegasos.program.errors import UsageError
from pegasos.program.jobs.model_cards import SavedModel, fingerprint
from pegasos.program.records.models import ModelCard
from pegasos.program.records.runs import Confusion, ErrorCount, EvaluationRecord
from pegasos.program.scoring import scores_of
from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.labels import distinct_texts, label_text, label_texts
from pegasos.program.tables.row_hashes import hash_rows, split_known
from pegasos.program.terminal import console, judging_values, option_values
from pegasos.program.terminal.options import JudgingOptions, ReadingOptions
from pegasos.search.anatomy import anatomy
from pegasos.search.figures import Figure, measured
from pegasos.search.results import calibrated_in_fold

Array = np.ndarray[Any, Any]

_AS_CHOSEN = JudgingOptions()
#: Where probabilities come from that a model file does not have.
CALIBRATED_HERE = "a sigmoid of its scores, each row by one that was fitted to others of these rows"


def evaluate(
    path: str,
    data: str,
    reading: ReadingOptions,
    memory: str | None,
    judging: JudgingOptions = _AS_CHOSEN,
) -> EvaluationRecord:
    """Errors, a metric and the confusion of the model in file `path` on `data`; the metric is that of the choice by default."""
    option_values.check_memory(memory)
    judging_values.check(judging)
    saved = SavedModel.open(path, memory)
    metric = metric_of(saved, judging)
    learner: Any = anatomy(saved.model.estimator, fitted=True).learner
    scored = metric.kind.needs != LABELS
    truth, guesses, hashes, groups, scores, trained = [], [], [], [], [], saved.model.rows
    names = {text: code for code, text in enumerate(label_texts(saved.model.classes).tolist())}
    with console.working(f"predicting {data}"):
        for part in saved.rows(data, reading):
            if part.y is None:
                label = saved.card.label
                named = (
                    "labels"
                    if label is None
                    else f"column {label!r}, as the label was called in training"
                )
                raise BadData(
                    f"{data} has no {named}: say with --label which column holds the labels."
                )
            truth.append(_codes(part.y, names))
            found = scores_of(saved.model.estimator, part, saved.name)
            guesses.append(_codes(learner.labels_of(found), names))
            if scored:
                scores.append(found)
            if trained is not None:
                hashes.append(hash_rows(part.X, part.y))
            groups.append(np.zeros(len(part), dtype=bool) if part.test is None else part.test)
    if not truth:
        raise BadData(f"{data} has no rows.")
    y, predicted, in_test_group = map(np.concatenate, (truth, guesses, groups))
    known, same_data = np.zeros(len(y), dtype=bool), False
    if trained is not None:
        row_hashes = np.concatenate(hashes)
        known = split_known(row_hashes, trained, order=in_test_group)
        same_data = saved.card.data is not None and saved.card.data.fingerprint == fingerprint(
            row_hashes
        )
    looked, kind = (known, "training rows") if known.all() else (~known, "new rows")
    parts = _parts(known, in_test_group, trained is not None)
    counts = np.array([saved.card.classes.get(name, 0) for name in names])
    usual = int(counts.argmax()) if counts.any() else None
    joined = np.concatenate(scores) if scores else None
    calibrates = metric.kind.needs == PROBABILITIES and not learner.has_probabilities
    p = (
        None
        if joined is None or metric.kind.needs != PROBABILITIES
        else _probabilities(learner, joined, y, parts)
    )
    everything = _answers(y, predicted, list(names), joined, p, len(learner.classes_))
    plain = replace(
        metric,
        positive=_text(metric.positive),
        costs=tuple((_text(a), _text(b), c) for a, b, c in metric.costs),
    )
    return EvaluationRecord(
        model=path,
        data=data,
        errors={name: _count(y[rows], predicted[rows], usual) for name, rows in parts.items()},
        notes=[
            *_notes(known, trained is not None, same_data, _count(y, predicted), saved.card),
            *(
                [f"The model has no probabilities: {metric.name} is that of {CALIBRATED_HERE}."]
                if calibrates
                else []
            ),
        ],
        confusion=Confusion.of_codes(
            y[looked], predicted[looked], names, len(saved.model.classes), kind
        ),
        metric=metric.name,
        positive=plain.positive,
        figures={name: _figure(plain, everything, rows, counts) for name, rows in parts.items()},
    )


def metric_of(saved: SavedModel, judging: JudgingOptions) -> Metric:
    """What was asked for, else what the model was chosen by, else the error."""
    card, classes = saved.card, saved.model.classes
    if judging == _AS_CHOSEN and card.metric in METRICS:
        known = dict(zip(label_texts(classes).tolist(), classes.tolist(), strict=True))
        with contextlib.suppress(
            KeyError, ValueError
        ):  # Python may have written anything into a card
            costs = tuple((known[a], known[b], cost) for a, b, cost in card.costs)
            return Metric(
                card.metric, None if card.positive is None else known[card.positive], costs
            )
    found = judging_values.make_metric(judging, classes)
    if found is None:
        raise UsageError(
            f"run knows the metrics {', '.join(METRICS)}; {judging.metric} is a scorer of scikit-learn for tune."
        )
    try:
        rows = np.repeat(
            classes, [max(1, card.classes.get(text, 1)) for text in label_texts(classes).tolist()]
        )
        return found.settled(rows)
    except ValueError as error:
        raise UsageError(f"--metric {found.name}: {error}") from None


def _text(label: Any) -> str | None:
    return None if label is None else label_text(label)


def _probabilities(learner: Any, scores: Array, y: Array, parts: dict[str, Array]) -> Array:
    """The model's; where it has none, those of a sigmoid of its scores, in each part of the rows by itself."""
    if learner.has_probabilities:
        return np.asarray(learner.probabilities_of(scores))
    classes, p = np.arange(len(learner.classes_)), np.empty((len(y), len(learner.classes_)))
    for rows in parts.values():
        p[rows] = calibrated_in_fold(scores[rows], y[rows], classes)
    return p


def _answers(
    y: Array,
    predicted: Array,
    names: list[str],
    scores: Array | None,
    p: Array | None,
    columns: int,
) -> Answers:
    """What the model says, by the texts of classes; those that it does not know come last, without scores."""

    def widened(values: Any) -> Any:
        if values is None:
            return None
        values = np.column_stack([-values, values]) if values.ndim == 1 else values
        return np.pad(values, ((0, 0), (0, len(names) - columns)))

    return Answers(
        np.array(names), y.astype(np.intp), predicted.astype(np.intp), widened(scores), widened(p)
    )


def _figure(metric: Metric, found: Answers, rows: Array, counts: Array) -> Figure:
    parts = [
        None if each is None else each[rows]
        for each in (found.truth, found.labels, found.scores, found.probabilities)
    ]
    return measured(metric, Answers(found.classes, *parts), counts if counts.any() else None)  # type: ignore[arg-type]


def _codes(labels: Array, names: dict[str, int]) -> Array:
    """Labels as numbers of their texts, which take little memory; texts that are new get the next number."""
    texts, places = distinct_texts(labels)
    return np.array([names.setdefault(text, len(names)) for text in texts], dtype=np.int32)[places]


def _count(y: Array, predicted: Array, usual: int | None = None) -> ErrorCount:
    guess = None if usual is None else float((y != usual).mean())
    return ErrorCount.counted(len(y), int((y != predicted).sum()), guess)


def _parts(known: Array, in_test_group: Array, has_rows: bool) -> dict[str, Array]:
    """Training rows, new rows, and of these those in the file's own test group where it is not all of them."""
    if not has_rows:
        return {"all (training rows unknown)": np.ones(len(known), dtype=bool)}
    parts = {"training": known}
    if in_test_group.any() and not (~known == in_test_group).all():
        parts["test group"] = ~known & in_test_group
        parts["other new rows"] = ~known & ~in_test_group
    else:
        parts["test"] = ~known
    return {name: rows for name, rows in parts.items() if rows.any()}


def _notes(
    known: Array, has_rows: bool, same_data: bool, everything: ErrorCount, card: ModelCard
) -> Iterator[str]:
    if not has_rows:
        yield "The model file does not tell which rows it was trained on, so this is no test error unless you know they are new."
    elif known.all():
        yield "All of these rows were used in training: their error is no test error."
        test = card.errors.get("test")
        if card.refitted_rows is not None and test is not None and test.error is not None:
            yield (
                f"Before the model was refitted on all {card.refitted_rows} rows, the same setting had a test error of "
                f"{console.percent(test.error)} on {test.rows} rows that it did not know."
            )
    elif known.any() and not same_data:
        assert everything.error is not None
        yield (
            f"{int(known.sum())} rows equal rows of the training data and are counted there; with them the error is "
            f"{console.percent(everything.error)} on {everything.rows} rows."
        )
