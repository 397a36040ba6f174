"""From the scores of one-vs-all predictors to a label, in the ways that reports do it."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def decode(scores: Array, how: str) -> Array:
    """The place of the chosen class for each row of scores (rows x classes, or one column for two classes).

    >>> scores = np.array([[-3.0, 1.0, 2.0], [-3.0, -1.0, -2.0]])
    >>> [decode(scores, how).tolist() for how in ("argmax", "first", "absolute")]
    [[2, 1], [1, 0], [0, 0]]
    """
    if scores.ndim == 1:
        return (scores > 0).astype(np.intp)
    if how == "argmax":
        return np.asarray(scores.argmax(axis=1))
    if how == "first":
        return np.asarray((scores > 0).argmax(axis=1))
    if how == "absolute":
        return np.asarray(np.abs(scores).argmax(axis=1))
    raise ValueError(f"decoding must be argmax, first or absolute, got {how!r}.")


class DecodedAccuracy:
    """A scorer that reads the scores once and answers the accuracy of every decoding."""

    def __init__(self, decodings: tuple[str, ...]) -> None:
        self.decodings = decodings

    def __call__(self, estimator: Any, X: Any, y: Any) -> dict[str, float]:
        scores = estimator.decision_function(X)
        truth = np.searchsorted(estimator.classes_, y)
        return {how: float((decode(scores, how) == truth).mean()) for how in self.decodings}

    def __repr__(self) -> str:
        return f"DecodedAccuracy({self.decodings!r})"
