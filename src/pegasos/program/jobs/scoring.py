"""Counting mistakes: errors with their intervals, and the confusion matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.program.records.runs import Confusion, ErrorCount
from pegasos.program.tables.labels import label_texts
from pegasos.search.estimates import held_out

Array = np.ndarray[Any, Any]


def count_errors(y: Array, predicted: Array) -> ErrorCount:
    """Rows, mistakes, error and its exact 95 % interval."""
    if not len(y):
        return ErrorCount(0, 0, None, None, None)
    wrong = label_texts(predicted) != label_texts(y)
    found = held_out(wrong)
    return ErrorCount(len(y), int(wrong.sum()), found.error, found.low, found.high)


def confusion(y: Array, predicted: Array, classes: Array, rows: str) -> Confusion:
    """The confusion matrix of `rows`; classes that the model does not know come last."""
    truth, guess = label_texts(y), label_texts(predicted)
    names = [*label_texts(classes), *sorted(set(truth) - set(label_texts(classes)))]
    place = {name: number for number, name in enumerate(names)}
    counts = np.zeros((len(names), len(names)), dtype=np.int64)
    np.add.at(counts, ([place[name] for name in truth], [place[name] for name in guess]), 1)
    return Confusion(rows, [str(name) for name in names], counts.tolist())
