"""Encode and scale a table as CSR rows, which store one number per word column instead of one per one-hot column."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.engine.rows.blocks import THIN
from pegasos.program.pipelines import scaler_of


class WordSteps:
    """The fitted steps `encode` and `scale` of a pipeline, with CSR rows as their result."""

    def __init__(self, steps: list[tuple[str, Any]]) -> None:
        named = dict(steps)
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
        numbers = np.asarray(self._imputer.transform(X.select(self._number_names)))
        if self._scaler != "passthrough":
            scaled = slice(len(self._number_names))
            numbers[:, scaled] = self._scaler.transform(numbers[:, scaled])
        return sparse.hstack([sparse.csr_matrix(numbers), words], format="csr")


def word_steps(steps: list[tuple[str, Any]], width: int) -> WordSteps | None:
    """Return these steps with CSR rows as their result, if they only encode and scale and the rows are sparse enough."""
    kinds = [name for name, step in steps if step != "passthrough"]
    if (
        kinds not in (["encode"], ["encode", "scale"])
        or "words" not in dict(steps)["encode"].named_transformers_
    ):
        return None
    found = WordSteps(steps)
    return found if THIN * found.stored <= width else None
