"""Counting mistakes: errors with their intervals, the confusion matrix, and tables of both."""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.program.tables.labels import label_texts
from pegasos.program.terminal import console
from pegasos.search.estimates import held_out

Array = np.ndarray[Any, Any]

#: Classes up to which a confusion matrix is printed.
_SHOWN_CLASSES = 20


def count_errors(y: Array, predicted: Array) -> dict[str, Any]:
    """Rows, mistakes, error and its exact 95 % interval."""
    if not len(y):
        return {"rows": 0, "mistakes": 0, "error": None, "low": None, "high": None}
    wrong = label_texts(predicted) != label_texts(y)
    found = held_out(wrong)
    return {"rows": len(y), "mistakes": int(wrong.sum()), "error": found.error, "low": found.low, "high": found.high}


def confusion(y: Array, predicted: Array, classes: Array) -> dict[str, Any]:
    """Counts by true class (rows) and predicted class (columns); classes the model does not know come last."""
    truth, guess = label_texts(y), label_texts(predicted)
    names = [*label_texts(classes), *sorted(set(truth) - set(label_texts(classes)))]
    place = {name: number for number, name in enumerate(names)}
    counts = np.zeros((len(names), len(names)), dtype=np.int64)
    np.add.at(counts, ([place[name] for name in truth], [place[name] for name in guess]), 1)
    return {"classes": [str(name) for name in names], "counts": counts.tolist()}


def show_errors(errors: dict[str, dict[str, Any]]) -> None:
    """One line a kind of rows."""
    rows = []
    for name, found in errors.items():
        if found["error"] is None:
            continue
        interval = f"{console.percent(found['low'])} to {console.percent(found['high'])}"
        rows.append((name, found["rows"], found["mistakes"], console.percent(found["error"]), interval))
    console.table(("", "rows", "mistakes", "error", "95 % interval"), rows)


def show_confusion(found: dict[str, Any]) -> None:
    """The matrix where it is small enough to read, else the classes that are confused most."""
    names, counts = found["classes"], np.asarray(found["counts"])
    if len(names) <= _SHOWN_CLASSES:
        console.table(
            ("true \\ predicted", *names),
            [(name, *(value or "." for value in row)) for name, row in zip(names, counts, strict=True)],
        )
        return
    off = counts.copy()
    np.fill_diagonal(off, 0)
    worst = np.argsort(off, axis=None, kind="stable")[::-1][:10]
    places = [(names[flat // len(names)], names[flat % len(names)], off.flat[flat]) for flat in worst if off.flat[flat]]
    console.table(("true", "predicted", "rows"), places, left=2)
