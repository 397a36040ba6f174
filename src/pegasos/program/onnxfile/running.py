"""Run an ONNX file with onnxruntime, and compare its outputs with those of the model."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.program.onnxfile.model import LABEL, PROBABILITIES, SCORES, Exported
from pegasos.program.onnxfile.transformers import MISSING_TEXT

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Agreement:
    """Differences between an ONNX file and its model on the same rows.

    `labels` counts differing labels; `scores` and `probabilities` are the largest differences.
    """

    rows: int = 0
    labels: int = 0
    scores: float = 0.0
    #: None for a model without probabilities.
    probabilities: float | None = None

    def __add__(self, other: Agreement) -> Agreement:
        """Return the differences on the rows of both."""
        known = [each.probabilities for each in (self, other) if each.probabilities is not None]
        numbers = max(self.scores, other.scores), max(known) if known else None
        return Agreement(self.rows + other.rows, self.labels + other.labels, *numbers)


class OnnxModel:
    """Session of onnxruntime for a file written by `export_onnx`.

    Rows are arrays or polars frames, as for `predict`.
    """

    def __init__(self, exported: Exported) -> None:
        import onnxruntime

        self.exported = exported
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            os.fspath(exported.path), options, providers=["CPUExecutionProvider"]
        )

    def __call__(self, X: Any) -> dict[str, Array]:
        """Return labels, scores and probabilities of the rows."""
        names = list(self.exported.outputs.values())
        return dict(zip(self.exported.outputs, self._session.run(names, self.feed(X)), strict=True))

    def feed(self, X: Any) -> dict[str, Array]:
        """Return the inputs in the file's types: one matrix, or one array per column."""
        number, first = np.dtype(self.exported.numbers), self.exported.inputs[0]
        if first.place is None:
            for convert in ("toarray", "to_numpy"):  # CSR rows, frames
                X = getattr(X, convert)() if hasattr(X, convert) else X
            return {first.name: np.asarray(X, dtype=number)}
        found = {}
        for each in self.exported.inputs:
            values = X[:, each.place]
            column = np.asarray(values.to_list() if hasattr(X, "get_column") else values, object)
            missing = np.array([value is None or value != value for value in column], dtype=bool)
            if each.kind == "text":
                found[each.name] = np.where(missing, MISSING_TEXT, column)[:, None]
            else:
                found[each.name] = np.where(missing, np.nan, column).astype(number)[:, None]
        return found

    def agreement(self, learner: Any, X: Any, scores: Array, p: Array | None) -> Agreement:
        """Return how far the file is from the learner with these scores and probabilities."""
        answers = self(X)
        wrong = int((answers[LABEL] != learner.labels_of(scores)).sum())
        apart = None if p is None else _apart(answers[PROBABILITIES], p)
        return Agreement(len(scores), wrong, _apart(answers[SCORES], scores), apart)


def _apart(one: Array, other: Array) -> float:
    return float(np.abs(one - other).max(initial=0.0))
