"""An ONNX file at work with onnxruntime: what it says of rows, and whether that is what the model says."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.program.onnxfile.model import LABEL, PROBABILITIES, SCORES, Exported
from pegasos.program.onnxfile.transformers import NO_WORD

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Agreement:
    """An ONNX file and its model on the same rows: labels that differ, and the largest differences of numbers."""

    rows: int = 0
    labels: int = 0
    scores: float = 0.0
    #: None where the model has no probabilities.
    probabilities: float | None = None

    def __add__(self, other: Agreement) -> Agreement:
        known = [each.probabilities for each in (self, other) if each.probabilities is not None]
        numbers = max(self.scores, other.scores), max(known) if known else None
        return Agreement(self.rows + other.rows, self.labels + other.labels, *numbers)


class OnnxModel:
    """A session of onnxruntime for a file that `export_onnx` wrote; rows are arrays or polars frames, as `predict` takes them."""

    def __init__(self, exported: Exported) -> None:
        import onnxruntime

        self.exported = exported
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            os.fspath(exported.path), options, providers=["CPUExecutionProvider"]
        )

    def __call__(self, X: Any) -> dict[str, Array]:
        """label, scores and probabilities of rows."""
        names = list(self.exported.outputs.values())
        return dict(zip(self.exported.outputs, self._session.run(names, self.feed(X)), strict=True))

    def feed(self, X: Any) -> dict[str, Array]:
        """The inputs: one matrix, or one column each, in the types that the file wants."""
        number = np.dtype(self.exported.numbers)
        first = self.exported.inputs[0]
        if first.place is None:
            X = (
                X.toarray()
                if hasattr(X, "toarray")
                else X.to_numpy()
                if hasattr(X, "to_numpy")
                else X
            )
            return {first.name: np.asarray(X, dtype=number)}
        found = {}
        for each in self.exported.inputs:
            column = np.asarray(
                X[:, each.place].to_list() if hasattr(X, "get_column") else X[:, each.place],
                dtype=object,
            )
            gaps = np.array([value is None or value != value for value in column], dtype=bool)
            column = np.where(gaps, NO_WORD if each.kind == "text" else np.nan, column)
            found[each.name] = (
                column[:, None] if each.kind == "text" else column.astype(number)[:, None]
            )
        return found

    def agreement(self, learner: Any, X: Any, scores: Array, p: Array | None) -> Agreement:
        """Return how far the file is from the learner that gives these rows these scores and probabilities."""
        answers = self(X)
        wrong = int((answers[LABEL] != learner.labels_of(scores)).sum())
        apart = None if p is None else _apart(answers[PROBABILITIES], p)
        return Agreement(len(scores), wrong, _apart(answers[SCORES], scores), apart)


def _apart(one: Array, other: Array) -> float:
    return float(np.abs(one - other).max(initial=0.0))
