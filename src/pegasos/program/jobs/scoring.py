"""Counting mistakes: errors with their intervals, and the confusion matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pegasos.program.records.runs import Confusion, ErrorCount
from pegasos.search.estimates import held_out

Array = np.ndarray[Any, Any]


def count_errors(y: Array, predicted: Array) -> ErrorCount:
    """Rows, mistakes, error and its exact 95 % interval."""
    if not len(y):
        return ErrorCount(0, 0, None, None, None)
    wrong = as_text(predicted) != as_text(y)
    found = held_out(wrong)
    return ErrorCount(len(y), int(wrong.sum()), found.error, found.low, found.high)


def as_text(labels: Array) -> Array:
    """Labels in one form, so that 1, 1.0 and "1" are the same class whatever file they came from."""
    distinct, places = np.unique(np.asarray(labels), return_inverse=True)
    return np.array([_label_text(str(label)) for label in distinct.tolist()], dtype=str)[places.reshape(-1)]


def _label_text(text: str) -> str:
    try:
        number = float(text)
    except ValueError:
        return text
    if not math.isfinite(number):
        return text
    return str(int(number)) if number.is_integer() else repr(number)


def confusion(y: Array, predicted: Array, classes: Array, rows: str) -> Confusion:
    """The confusion matrix of `rows`; classes that the model does not know come last."""
    truth, guess = as_text(y), as_text(predicted)
    names = [*as_text(classes), *sorted(set(truth) - set(as_text(classes)))]
    place = {name: number for number, name in enumerate(names)}
    counts = np.zeros((len(names), len(names)), dtype=np.int64)
    np.add.at(counts, ([place[name] for name in truth], [place[name] for name in guess]), 1)
    return Confusion(rows, [str(name) for name in names], counts.tolist())
