"""Numbers and words through an encoder and a scaler without the zeros: one stored number for a word, however many there are."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from pegasos.engine.rows.thin import THIN

Array = np.ndarray[Any, Any]


class WordSteps:
    """The fitted steps `encode` and `scale` of a pipeline: CSR rows; with `shift` added they are what the steps make of rows."""

    def __init__(self, steps: list[tuple[str, Any]], width: int) -> None:
        named = dict(steps)
        self._parts = {
            name: (step, columns)
            for name, step, columns in named["encode"].transformers_
            if name != "remainder"
        }
        words, columns = self._parts["words"]
        self._words = copy.copy(words)
        self._words.sparse_output = True
        self._names = columns
        self._numbers = width - sum(map(len, words.categories_))
        self._factor, shift = _affine(named.get("scale"), width)
        self._before = shift[: self._numbers]
        self.shift = np.concatenate([np.zeros(self._numbers), shift[self._numbers :]])
        #: Stored numbers of a row.
        self.stored = self._numbers + len(columns)

    def transform(self, X: Any) -> Any:
        """Some rows of a frame."""
        found = self._words.transform(X.select(self._names)).tocsr()
        found.data = self._factor[self._numbers + found.indices]
        if self._numbers:
            step, columns = self._parts["numbers"]
            numbers = (
                np.asarray(step.transform(X.select(columns))) * self._factor[: self._numbers]
                + self._before
            )
            found = sparse.hstack([sparse.csr_matrix(numbers), found], format="csr")
        return found


def word_steps(steps: list[tuple[str, Any]], width: int) -> WordSteps | None:
    """Such steps, if these are, and if there are enough words for them."""
    kinds = [name for name, step in steps if step != "passthrough"]
    if (
        kinds not in (["encode"], ["encode", "scale"])
        or "words" not in dict(steps)["encode"].named_transformers_
    ):
        return None
    found = WordSteps(steps, width)
    return found if THIN * found.stored <= width else None


def _affine(scaler: Any, width: int) -> tuple[Array, Array]:
    """What a scaler multiplies columns by, and then adds."""
    if isinstance(scaler, StandardScaler):
        return 1.0 / scaler.scale_, -scaler.mean_ / scaler.scale_
    if isinstance(scaler, MinMaxScaler):
        return scaler.scale_, scaler.min_
    return np.ones(width), np.zeros(width)
