"""Evaluate a saved model on labeled rows, with training rows reported separately."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pegasos.metrics import LABELS, METRICS, PROBABILITIES, Answers, Metric, measure_of
from pegasos.program.errors import UsageError
from pegasos.program.tables.dataset import Array, BadData
from pegasos.program.tables.labels import distinct_texts, label_text
from pegasos.program.terminal import console
from pegasos.program.terminal.options import Data, JudgingOptions, Memory, ModelFile, ReadingOptions

if TYPE_CHECKING:
    from pegasos.program.records.fitted import ModelCard
    from pegasos.program.saved_models import SavedModel

#: Number of classes up to which the whole confusion matrix is printed.
_MOST_CLASSES = 20
#: Labels and predictions as codes of class names, and what metrics and hashes need.
_Rows = dict[str, Array]


def command(
    model: ModelFile,
    data: Data,
    reading: ReadingOptions,
    judging: JudgingOptions,
    memory: Memory = None,
) -> dict[str, Any]:
    """Evaluate a saved model on labeled rows.

    Examples
    --------
      pegasos evaluate my.model my.csv
      pegasos evaluate my.model later.csv --json
      pegasos evaluate my.model later.csv --metric average-precision --positive churned

    Training rows are reported separately; they are recognized by a hash of their values and label,
    whatever the file's format or order. Errors are compared with the majority-class baseline. By
    default the metric is the one that the model was chosen by.
    """
    from sklearn.metrics import confusion_matrix

    from pegasos.estimates import measured
    from pegasos.program.records.runs import ErrorCount
    from pegasos.program.saved_models import SavedModel, fingerprint
    from pegasos.program.tables.row_hashes import split_known

    saved = SavedModel.open(model, memory)
    metric = metric_for(saved, judging)
    if metric.kind.needs == PROBABILITIES:
        saved.check_probabilities("another metric needs none")
    names = {text: code for code, text in enumerate(saved.class_texts)}
    with console.working(f"predicting {data}"):
        rows = _predict(saved, data, reading, metric, names)
    known, same_data, hashes, source = None, False, rows.get("hashes"), saved.card.data
    if hashes is not None and saved.model.rows is not None:
        known = split_known(hashes, saved.model.rows, order=rows["test_group"])
        same_data = source is not None and source.fingerprint == fingerprint(hashes)
    parts = _parts(known, rows["test_group"])
    counts = np.array([saved.card.classes.get(name, 0) for name in names])
    usual = int(counts.argmax()) if counts.any() else None
    metric = replace(
        metric,
        positive=None if metric.positive is None else label_text(metric.positive),
        costs=tuple((label_text(a), label_text(b), cost) for a, b, cost in metric.costs),
    )
    all_known = known is not None and known.all()
    shown = slice(None) if known is None or all_known else ~known
    truth, predicted = rows["truth"][shown], rows["predicted"][shown]
    unknown = {*names} - {*saved.class_texts}  # classes of the rows that the model does not know
    classes = [
        *saved.class_texts,
        *sorted(each for each in unknown if (truth == names[each]).any()),
    ]
    trained = None if usual is None else counts
    return {
        "model": model,
        "data": data,
        "errors": {
            name: ErrorCount.of(rows["truth"][part], rows["predicted"][part], usual)
            for name, part in parts.items()
        },
        "notes": [*_notes(known, same_data, rows, saved.card)],
        "confusion": {
            "rows": "training rows" if all_known else "new rows",
            "classes": classes,
            "counts": confusion_matrix(truth, predicted, labels=[names[each] for each in classes]),
        },
        "metric": metric.name,
        "positive": metric.positive,
        "figures": {
            name: measured(metric, _answers(rows, part, list(names)), trained)
            for name, part in parts.items()
        },
    }


def metric_for(saved: SavedModel, judging: JudgingOptions) -> Metric:
    """Return the requested metric, else that of the search, else the error."""
    from pegasos.program.terminal import option_values

    card, classes, texts = saved.card, saved.model.classes, saved.class_texts
    if judging == JudgingOptions() and card.metric in METRICS:
        known = dict(zip(texts, classes.tolist(), strict=True))
        with contextlib.suppress(KeyError, ValueError):  # a card written by Python may be wrong
            costs = tuple((known[a], known[b], cost) for a, b, cost in card.costs)
            positive = None if card.positive is None else known[card.positive]
            return Metric(card.metric, positive, costs)
    counts = [max(1, card.classes.get(text, 1)) for text in texts]
    found = option_values.make_metric(judging, np.repeat(classes, counts))
    if found is None:
        scorer = f"{judging.metric} is a scorer of scikit-learn, for tune only"
        raise UsageError(f"--metric must be one of {', '.join(METRICS)}; {scorer}.")
    return found


def _predict(
    saved: SavedModel, data: str, reading: ReadingOptions, metric: Metric, names: dict[str, int]
) -> _Rows:
    """Read and predict the rows block by block; class names unknown to the model are added."""
    from pegasos.program.tables.row_hashes import hash_rows

    def codes(labels: Any) -> Array:
        texts, places = distinct_texts(labels)
        found = [names.setdefault(text, len(names)) for text in texts]
        return np.array(found, dtype=np.int32)[places]

    blocks: dict[str, list[Array]] = {}
    for part in saved.rows(data, reading, labelled=True):
        if part.y is None:
            label = saved.card.label
            named = "labels" if label is None else f"column {label!r}, the label in training"
            raise BadData(f"{data} has no {named}: name the label column with --label.")
        scores = saved.scores(part)
        block = {
            "truth": codes(part.y),
            "predicted": codes(saved.learner.labels_of(scores)),
            "test_group": np.zeros(len(part), dtype=bool) if part.test is None else part.test,
        }
        if metric.kind.needs != LABELS:
            block["scores"] = scores
        if metric.kind.needs == PROBABILITIES:
            block["probabilities"] = saved.probabilities(part, scores)
        if saved.model.rows is not None:
            block["hashes"] = hash_rows(part.X, part.y)
        for name, values in block.items():
            blocks.setdefault(name, []).append(values)
    if not blocks:
        raise BadData(f"{data} has no rows.")
    return {name: np.concatenate(values) for name, values in blocks.items()}


def _parts(known: Array | None, test_group: Array) -> dict[str, Array]:
    """Return masks of training and new rows; new rows are split if only some are the test group."""
    if known is None:
        return {"all (training rows unknown)": np.ones(len(test_group), dtype=bool)}
    parts = {"training": known, "test": ~known}
    if test_group.any() and not (~known == test_group).all():
        parts = {
            "training": known,
            "test group": ~known & test_group,
            "other new rows": ~known & ~test_group,
        }
    return {name: rows for name, rows in parts.items() if rows.any()}


def _answers(rows: _Rows, part: Array, names: list[str]) -> Answers:
    """Return the predictions of some rows; classes unknown to the model have scores of zero."""

    def widened(values: Any) -> Any:
        if values is None:
            return None
        values = np.column_stack([-values, values]) if values.ndim == 1 else values
        return np.pad(values, ((0, 0), (0, len(names) - values.shape[1])))[part]

    truth, predicted = (rows[name][part].astype(np.intp) for name in ("truth", "predicted"))
    scores, p = widened(rows.get("scores")), widened(rows.get("probabilities"))
    return Answers(np.array(names), truth, predicted, scores, p)


def _notes(known: Array | None, same_data: bool, rows: _Rows, card: ModelCard) -> Iterator[str]:
    if known is None:
        yield (
            "The model file does not list its training rows: "
            "this is a test error only if all rows are new."
        )
    elif known.all():
        yield "All of these rows were used in training: their error is not a test error."
        test = card.errors.get("test")
        if card.refitted_rows is not None and test is not None and test.error is not None:
            yield (
                f"Before the refit on all {card.refitted_rows} rows, the same setting had a test "
                f"error of {console.percent(test.error)} on {test.rows} test rows."
            )
    elif known.any() and not same_data:
        error = console.percent(float((rows["truth"] != rows["predicted"]).mean()))
        yield (
            f"{int(known.sum())} rows equal training rows and are counted as such; "
            f"with them the error is {error} on {len(known)} rows."
        )


def show(found: dict[str, Any]) -> None:
    """Print errors, the metric, warnings and the confusion matrix."""
    from pegasos.program.pages.wording import verdict_words
    from pegasos.program.views import show_errors, show_figures

    measure = measure_of(found["metric"])
    console.heading(f"{found['model']} on {found['data']}", "")
    show_errors(found["errors"])
    console.show()
    show_figures(found["figures"], measure, found["positive"])
    for name, figure in found["figures"].items():
        if name != "training" and (words := verdict_words(figure, measure)):
            console.heading(words, "")
    console.show(*found["notes"], *([""] if found["notes"] else []))
    console.heading(f"Confusion matrix, {found['confusion']['rows']}", "")
    _show_confusion(found["confusion"]["classes"], found["confusion"]["counts"])


def _show_confusion(classes: list[str], matrix: Any) -> None:
    """Print a small matrix, or the pairs of classes that are confused most."""
    lines = list(zip(classes, matrix.tolist(), strict=True))
    if len(lines) <= _MOST_CLASSES:
        rows = [(name, *(each or "." for each in counts)) for name, counts in lines]
        console.table(("true \\ predicted", *classes), rows)
        return
    pairs = [
        (true, predicted, many)
        for true, counts in lines
        for predicted, many in zip(classes, counts, strict=True)
        if many and true != predicted
    ]
    pairs.sort(key=lambda each: -each[2])
    console.table(("true", "predicted", "rows"), pairs[:10], left=2)
