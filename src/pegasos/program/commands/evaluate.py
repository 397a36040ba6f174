"""Evaluate a saved model on labelled rows, with training rows reported separately."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pegasos.metrics import LABELS, PROBABILITIES, Answers, Metric, measure_of
from pegasos.program.terminal import console
from pegasos.program.terminal.options import (
    Data,
    JudgingOptions,
    Memory,
    ModelFile,
    OutputOptions,
    ReadingOptions,
)

if TYPE_CHECKING:
    import numpy as np

    from pegasos.program.records.models import ModelCard
    from pegasos.program.records.runs import ErrorCount, EvaluationRecord
    from pegasos.program.saved_models import SavedModel
    from pegasos.search.estimates import Figure

    Array = np.ndarray[Any, Any]

PLACE = 30
SHORT = "Evaluate a saved model on labelled rows."
ALIASES = ("run",)

_AS_CHOSEN = JudgingOptions()
#: Source of the probabilities of a model that has none.
CALIBRATED_HERE = "a sigmoid of its scores, fitted to other rows of this data"


def command(
    model: ModelFile,
    data: Data,
    reading: ReadingOptions,
    judging: JudgingOptions,
    talking: OutputOptions,
    memory: Memory = None,
) -> None:
    """Evaluate a saved model on labelled rows; training rows are reported separately.

    \b
    Examples:
      pegasos evaluate my.model my.csv
      pegasos evaluate my.model later.csv --json
      pegasos evaluate my.model later.csv --metric average-precision --positive churned

    Training rows are recognized by a hash of their values and label, whatever the file's format or order. The test error is that
    of all other rows. Each figure stands beside the majority-class baseline. The metric is the one that the model was chosen by,
    unless --metric names another.
    """
    from pegasos.program.views import give

    found = evaluate(model, data, reading, memory, judging)
    give(found, talking.as_json, lambda: _show(found))


def _show(found: EvaluationRecord) -> None:
    from pegasos.program.pages.wording import verdict_words
    from pegasos.program.views import show_confusion, show_errors, show_figures

    console.heading(f"{found.model} on {found.data}", "")
    show_errors(found.errors)
    console.show()
    if found.metric != "error":
        show_figures(found.figures, measure_of(found.metric), found.positive)
        console.show()
    for name, figure in found.figures.items():
        if name != "training" and (words := verdict_words(figure, measure_of(found.metric))):
            console.heading(words, "")
    console.show(*found.notes, *([""] if found.notes else []))
    console.heading(f"Confusion, {found.confusion.rows}", "")
    show_confusion(found.confusion)


@dataclass
class _Rows:
    """Labels, predictions and scores of the rows read so far; labels are codes of their texts."""

    names: dict[str, int]
    truth: list[Array] = field(default_factory=list)
    predicted: list[Array] = field(default_factory=list)
    scores: list[Array] = field(default_factory=list)
    probabilities: list[Array] = field(default_factory=list)
    hashes: list[Array] = field(default_factory=list)
    in_test_group: list[Array] = field(default_factory=list)


def evaluate(
    path: str,
    data: str,
    reading: ReadingOptions,
    memory: str | None,
    judging: JudgingOptions = _AS_CHOSEN,
) -> EvaluationRecord:
    """Evaluate the model of file `path` on `data`, by default with the metric that it was chosen by."""
    import numpy as np

    from pegasos.program.records.runs import Confusion, EvaluationRecord
    from pegasos.program.saved_models import SavedModel, fingerprint
    from pegasos.program.tables.row_hashes import split_known
    from pegasos.program.terminal import option_values
    from pegasos.search.anatomy import anatomy

    option_values.check_memory(memory)
    option_values.check_metric(judging)
    saved = SavedModel.open(path, memory)
    metric = saved.metric(judging)
    learner: Any = anatomy(saved.model.estimator, fitted=True).learner
    with console.working(f"predicting {data}"):
        rows = _predict_rows(saved, learner, data, reading, metric)
    y, predicted = np.concatenate(rows.truth), np.concatenate(rows.predicted)
    in_test_group = np.concatenate(rows.in_test_group)
    known, same_data = np.zeros(len(y), dtype=bool), False
    if saved.model.rows is not None:
        hashes = np.concatenate(rows.hashes)
        known = split_known(hashes, saved.model.rows, order=in_test_group)
        card = saved.card.data
        same_data = card is not None and card.fingerprint == fingerprint(hashes)
    shown, kind = (known, "training rows") if known.all() else (~known, "new rows")
    has_rows = saved.model.rows is not None
    parts = _parts(known, in_test_group, has_rows)
    counts = np.array([saved.card.classes.get(name, 0) for name in rows.names])
    usual = int(counts.argmax()) if counts.any() else None
    scores = np.concatenate(rows.scores) if rows.scores else None
    notes = [*_notes(known, has_rows, same_data, _count(y, predicted), saved.card)]
    p = None
    if scores is not None and metric.kind.needs == PROBABILITIES:
        if rows.probabilities:
            p = np.concatenate(rows.probabilities)
        else:
            p = _calibrated(learner, scores, y, parts)
            notes.append(f"The model has no probabilities: {metric.name} uses {CALIBRATED_HERE}.")
    everything = _answers(y, predicted, list(rows.names), scores, p, len(learner.classes_))
    plain = replace(
        metric,
        positive=_text(metric.positive),
        costs=tuple((_text(a), _text(b), c) for a, b, c in metric.costs),
    )
    return EvaluationRecord(
        model=path,
        data=data,
        errors={name: _count(y[part], predicted[part], usual) for name, part in parts.items()},
        notes=notes,
        confusion=Confusion.of_codes(
            y[shown], predicted[shown], rows.names, len(saved.model.classes), kind
        ),
        metric=metric.name,
        positive=plain.positive,
        figures={name: _figure(plain, everything, part, counts) for name, part in parts.items()},
    )


def _predict_rows(
    saved: SavedModel, learner: Any, data: str, reading: ReadingOptions, metric: Metric
) -> _Rows:
    """Read and predict the rows block by block."""
    import numpy as np

    from pegasos.program.scoring import probabilities_of, scores_of
    from pegasos.program.tables.dataset import BadData
    from pegasos.program.tables.labels import label_texts
    from pegasos.program.tables.row_hashes import hash_rows

    classes = label_texts(saved.model.classes).tolist()
    rows = _Rows({text: code for code, text in enumerate(classes)})
    for part in saved.rows(data, reading, labelled=True):
        if part.y is None:
            label = saved.card.label
            named = "labels" if label is None else f"column {label!r}, the label in training"
            raise BadData(f"{data} has no {named}: name the label column with --label.")
        scores = scores_of(saved.model.estimator, part, saved.name)
        rows.truth.append(_codes(part.y, rows.names))
        rows.predicted.append(_codes(learner.labels_of(scores), rows.names))
        if metric.kind.needs != LABELS:
            rows.scores.append(scores)
        if metric.kind.needs == PROBABILITIES:
            p = probabilities_of(saved.model.estimator, part, scores)
            rows.probabilities += [] if p is None else [p]
        if saved.model.rows is not None:
            rows.hashes.append(hash_rows(part.X, part.y))
        test = np.zeros(len(part), dtype=bool) if part.test is None else part.test
        rows.in_test_group.append(test)
    if not rows.truth:
        raise BadData(f"{data} has no rows.")
    return rows


def _text(label: Any) -> str | None:
    from pegasos.program.tables.labels import label_text

    return None if label is None else label_text(label)


def _calibrated(learner: Any, scores: Array, y: Array, parts: dict[str, Array]) -> Array:
    """Return the probabilities of a sigmoid of the scores, cross-fitted within each part of the rows."""
    import numpy as np

    from pegasos.search.results import calibrated_in_fold

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
    """Return answers by the texts of classes; classes that are unknown to the model come last, without scores."""
    import numpy as np

    def widened(values: Any) -> Any:
        if values is None:
            return None
        values = np.column_stack([-values, values]) if values.ndim == 1 else values
        return np.pad(values, ((0, 0), (0, len(names) - columns)))

    return Answers(
        np.array(names), y.astype(np.intp), predicted.astype(np.intp), widened(scores), widened(p)
    )


def _figure(metric: Metric, found: Answers, rows: Array, counts: Array) -> Figure:
    from pegasos.search.estimates import measured

    parts = [
        None if each is None else each[rows]
        for each in (found.truth, found.labels, found.scores, found.probabilities)
    ]
    return measured(metric, Answers(found.classes, *parts), counts if counts.any() else None)  # type: ignore[arg-type]


def _codes(labels: Array, names: dict[str, int]) -> Array:
    """Return labels as codes of their texts; a new text gets the next code."""
    import numpy as np

    from pegasos.program.tables.labels import distinct_texts

    texts, places = distinct_texts(labels)
    return np.array([names.setdefault(text, len(names)) for text in texts], dtype=np.int32)[places]


def _count(y: Array, predicted: Array, usual: int | None = None) -> ErrorCount:
    from pegasos.program.records.runs import ErrorCount

    guess = None if usual is None else float((y != usual).mean())
    return ErrorCount.counted(len(y), int((y != predicted).sum()), guess)


def _parts(known: Array, in_test_group: Array, has_rows: bool) -> dict[str, Array]:
    """Return the training rows, the new rows, and of these the file's own test group unless it has all of them."""
    import numpy as np

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
        yield "The model file does not list its training rows, so this is a test error only if you know that the rows are new."
    elif known.all():
        yield "All of these rows were used in training: their error is not a test error."
        test = card.errors.get("test")
        if card.refitted_rows is not None and test is not None and test.error is not None:
            yield (
                f"Before the model was refitted on all {card.refitted_rows} rows, the same setting had a test error of "
                f"{console.percent(test.error)} on {test.rows} held-out rows."
            )
    elif known.any() and not same_data:
        assert everything.error is not None
        yield (
            f"{int(known.sum())} rows equal training rows and are counted as such; with them the error is "
            f"{console.percent(everything.error)} on {everything.rows} rows."
        )
