"""A saved model on labelled rows, chunk by chunk, with rows that it was trained on told apart from new ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.program.jobs import model_cards
from pegasos.program.jobs.datasets import chunks
from pegasos.program.jobs.scoring import confusion, count_errors
from pegasos.program.modelfile import Model
from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.labels import label_texts
from pegasos.program.tables.row_hashes import hash_rows, split_known
from pegasos.program.terminal import console, option_values
from pegasos.program.terminal.options import ReadingOptions

Array = np.ndarray[Any, Any]


def evaluate(path: str, data: str, reading: ReadingOptions, memory: str | None) -> dict[str, Any]:
    """Errors and confusion of the model in file `path` on `data`."""
    option_values.check_memory(memory)
    model = model_cards.open_model(path, memory)
    columns = model_cards.columns_of(model, path)
    truth, guesses, hashes, groups = [], [], [], []
    with console.working(f"predicting {data}"):
        for part in chunks(data, columns, model_cards.wants_frame(model), model_cards.label_of(model), reading, memory):
            if part.y is None:
                raise BadData(f"{data} has no {_label_words(model)}: say with --label which column holds the labels.")
            truth.append(part.y)
            guesses.append(model.estimator.predict(part.X))
            hashes.append(hash_rows(part.X, part.y))
            groups.append(np.zeros(len(part), dtype=bool) if part.test is None else part.test)
    if not truth:
        raise BadData(f"{data} has no rows.")
    y, predicted = np.concatenate([label_texts(part) for part in truth]), np.concatenate(guesses)
    row_hashes, in_test_group = np.concatenate(hashes), np.concatenate(groups)
    known = np.zeros(len(y), dtype=bool)
    if model.rows is not None:
        known = split_known(row_hashes, model.rows, order=in_test_group)
    return {
        "model": path,
        "data": data,
        "errors": _errors(y, predicted, known, in_test_group, has_rows=model.rows is not None),
        "notes": _notes(model_cards.told(model), row_hashes, known, y, predicted, model.rows),
        "confusion": _confusion(y, predicted, known, model.classes),
    }


def _label_words(model: Model) -> str:
    label = model_cards.label_of(model)
    return "labels" if label is None else f"column {label!r}, as the label was called in training"


def _errors(y: Array, predicted: Array, known: Array, in_test_group: Array, has_rows: bool) -> dict[str, Any]:
    """Training rows, new rows, and of these those in the file's own test group where it is not all of them."""
    if not has_rows:
        return {"all (training rows unknown)": count_errors(y, predicted)}
    parts = {"training": known}
    if in_test_group.any() and not (~known == in_test_group).all():
        parts["test group"] = ~known & in_test_group
        parts["other new rows"] = ~known & ~in_test_group
    else:
        parts["test"] = ~known
    return {name: count_errors(y[rows], predicted[rows]) for name, rows in parts.items() if rows.any()}


def _notes(card: dict[str, Any], hashes: Array, known: Array, y: Array, predicted: Array, rows: Array | None) -> list[str]:
    notes = []
    if rows is None:
        notes.append(
            "The model file does not tell which rows it was trained on, so this is no test error unless you know they are new."
        )
    elif known.all():
        notes.append("All of these rows were used in training: their error is no test error.")
    same_file = model_cards.fingerprint(hashes) == card.get("data", {}).get("fingerprint")
    if known.any() and not known.all() and not same_file:
        everything = count_errors(y, predicted)
        notes.append(
            f"{int(known.sum())} rows equal rows of the training data and are counted there; with them the error is "
            f"{console.percent(everything['error'])} on {everything['rows']} rows."
        )
    return notes


def _confusion(y: Array, predicted: Array, known: Array, classes: Array) -> dict[str, Any]:
    rows, of = (known, "training rows") if known.all() else (~known, "new rows")
    return {"of": of, **confusion(y[rows], predicted[rows], classes)}
