"""A saved model on labelled rows, chunk by chunk, with rows that it was trained on counted apart from new ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pegasos.program.jobs.model_cards import SavedModel, fingerprint
from pegasos.program.records.models import ModelCard
from pegasos.program.records.runs import Confusion, ErrorCount, EvaluationRecord
from pegasos.program.scoring import labels_of
from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.labels import distinct_texts, label_texts
from pegasos.program.tables.row_hashes import hash_rows, split_known
from pegasos.program.terminal import console, option_values
from pegasos.program.terminal.options import ReadingOptions

Array = np.ndarray[Any, Any]


def evaluate(path: str, data: str, reading: ReadingOptions, memory: str | None) -> EvaluationRecord:
    """Errors and confusion of the model in file `path` on `data`."""
    option_values.check_memory(memory)
    saved = SavedModel.open(path, memory)
    truth, guesses, hashes, groups, trained = [], [], [], [], saved.model.rows
    names = {text: code for code, text in enumerate(label_texts(saved.model.classes).tolist())}
    with console.working(f"predicting {data}"):
        for part in saved.rows(data, reading):
            if part.y is None:
                label = saved.card.label
                named = "labels" if label is None else f"column {label!r}, as the label was called in training"
                raise BadData(f"{data} has no {named}: say with --label which column holds the labels.")
            truth.append(_codes(part.y, names))
            guesses.append(_codes(labels_of(saved.model.estimator, part, saved.name), names))
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
        same_data = saved.card.data is not None and saved.card.data.fingerprint == fingerprint(row_hashes)
    looked, kind = (known, "training rows") if known.all() else (~known, "new rows")
    return EvaluationRecord(
        model=path,
        data=data,
        errors=_errors(y, predicted, known, in_test_group, trained is not None),
        notes=list(_notes(known, trained is not None, same_data, _count(y, predicted), saved.card)),
        confusion=Confusion.of_codes(y[looked], predicted[looked], names, len(saved.model.classes), kind),
    )


def _codes(labels: Array, names: dict[str, int]) -> Array:
    """Labels as numbers of their texts, which take little memory; texts that are new get the next number."""
    texts, places = distinct_texts(labels)
    return np.array([names.setdefault(text, len(names)) for text in texts], dtype=np.int32)[places]


def _count(y: Array, predicted: Array) -> ErrorCount:
    return ErrorCount.counted(len(y), int((y != predicted).sum()))


def _errors(y: Array, predicted: Array, known: Array, in_test_group: Array, has_rows: bool) -> dict[str, ErrorCount]:
    """Training rows, new rows, and of these those in the file's own test group where it is not all of them."""
    if not has_rows:
        return {"all (training rows unknown)": _count(y, predicted)}
    parts = {"training": known}
    if in_test_group.any() and not (~known == in_test_group).all():
        parts["test group"] = ~known & in_test_group
        parts["other new rows"] = ~known & ~in_test_group
    else:
        parts["test"] = ~known
    return {name: _count(y[rows], predicted[rows]) for name, rows in parts.items() if rows.any()}


def _notes(known: Array, has_rows: bool, same_data: bool, everything: ErrorCount, card: ModelCard) -> Iterator[str]:
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
