"""Fit the steps before a learner to a sample of the rows."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.engine.rows.blocks import THIN
from pegasos.program.learning.tables import Steps
from pegasos.program.pipelines import make_recipe, scaler_of
from pegasos.program.tables.dataset import Array, Dataset

#: Numbers of a sample that are transformed for the later steps (32 MB), and least rows.
_NUMBERS, _LEAST_ROWS = 4_000_000, 1000


def fitted_pipeline(rows: Dataset, learner: Any, steps: Steps) -> tuple[Any, int]:
    """Return the pipeline with all steps before the learner fitted, and the number of features.

    Encoder and scaler are fitted to all rows, expansion and landmarks to fewer if rows are wide.
    """
    recipe = make_recipe(rows, learner, *steps)
    X, numbers = rows.X, rows.X
    for name, step in recipe.estimator.steps[:-1]:
        if step == "passthrough":
            continue
        step.fit(X)
        if name == "encode":
            width = step.transform(X[:2]).shape[1]
            X = X[:: 1 + len(rows) // max(_LEAST_ROWS, _NUMBERS // width)]
            numbers = _encoded_numbers(step, rows.X)
        elif name == "scale" and len(rows) > X.shape[0]:
            scaler_of(step).fit(numbers)
        X = step.transform(X)
    return recipe.estimator, int(X.shape[1])


def _encoded_numbers(encoder: Any, X: Any) -> Array:
    """Return the numeric columns of a frame without gaps."""
    parts = {name: (part, columns) for name, part, columns in encoder.transformers_}
    if "numbers" not in parts:
        return np.empty((X.height, 0))
    imputer, names = parts["numbers"]
    return np.asarray(imputer.transform(X.select(names)))[:, : len(names)]


class SparseEncoding:
    """The fitted steps `encode` and `scale` of a pipeline, with CSR rows as their result.

    These store one number per column of categories instead of one per one-hot column.
    """

    def __init__(self, steps: list[tuple[str, Any]]) -> None:
        named: dict[str, Any] = dict(steps)
        parts = {name: (part, columns) for name, part, columns in named["encode"].transformers_}
        words, self._word_names = parts["words"]
        self._words = copy.copy(words)
        self._words.sparse_output = True
        self._imputer, self._number_names = parts.get("numbers", (None, []))
        self._scaler = scaler_of(named.get("scale", "passthrough"))
        indicators = 0 if self._imputer is None else len(self._imputer.indicator_.features_)
        #: Upper bound of the numbers stored per row.
        self.stored = len(self._number_names) + indicators + len(self._word_names)

    def transform(self, X: Any) -> Any:
        """Return the rows of a frame as CSR."""
        words = self._words.transform(X.select(self._word_names))
        if self._imputer is None:
            return words.tocsr()
        numbers: Array = np.asarray(self._imputer.transform(X.select(self._number_names)))
        if self._scaler != "passthrough":
            scaled = slice(len(self._number_names))
            numbers[:, scaled] = self._scaler.transform(numbers[:, scaled])
        return sparse.hstack([sparse.csr_matrix(numbers), words], format="csr")


def sparse_encoding(steps: list[tuple[str, Any]], width: int) -> SparseEncoding | None:
    """Return the steps with CSR rows as their result if that saves memory, else None."""
    kinds = [name for name, step in steps if step != "passthrough"]
    if kinds not in (["encode"], ["encode", "scale"]):
        return None
    if "words" not in dict(steps)["encode"].named_transformers_:
        return None
    found = SparseEncoding(steps)
    return found if THIN * found.stored <= width else None
