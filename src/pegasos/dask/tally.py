"""Confusion matrices of cross-validation, counted on the workers, and scores computed from them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pegasos.engine.rows.blocks import Block, Part
from pegasos.search.evaluation import FoldAnswers

Array = np.ndarray[Any, Any]


class FoldPredictors(NamedTuple):
    """Predictors trained without a fold.

    `present` are the class codes in the training part; `vectors` has the shape (cells, predictors,
    features + 1).
    """

    present: Array
    vectors: Array


def tally(block: Block, folds: list[FoldPredictors], classes: int, inside: bool) -> Part:
    """Return the confusion matrices of all cells and folds on a block.

    Rows of the fold are counted if `inside` is false, all others if it is true. The counts have the
    shape (cells, folds, true class, predicted class).
    """
    codes, _, own = block.own
    counts = np.zeros((len(folds[0].vectors), len(folds), classes, classes))
    for fold, (present, vectors) in enumerate(folds):
        rows = np.flatnonzero((own != fold) if inside else (own == fold))
        cells, columns, size = vectors.shape
        scores = block.products(vectors.reshape(-1, size))[:, rows]
        scores = scores.reshape(cells, columns, len(rows))
        place = (scores[:, 0] > 0.0).astype(np.int64) if columns == 1 else scores.argmax(axis=1)
        pair = codes[rows] * classes + present[place]
        for cell in range(cells):
            found = np.bincount(pair[cell], minlength=classes * classes)
            counts[cell, fold] = found.reshape(classes, classes)
    return Part((counts,))


class Scorer:
    """Scorer of scikit-learn for labels, applied to confusion matrices.

    Each nonzero count becomes one row with the count as its weight.
    """

    def __init__(self, scorers: Any, classes: Array) -> None:
        self._scorers, self._classes = scorers, classes

    def __call__(self, counts: Array) -> Any:
        """Return the scores of a confusion matrix."""
        truth, predicted = np.nonzero(counts)
        if not len(truth):
            return float("nan")
        answers = FoldAnswers(self._classes, self._classes[predicted])
        given = (answers, np.zeros((len(truth), 1)), self._classes[truth])
        try:
            return self._scorers(*given, sample_weight=counts[truth, predicted])
        except (AttributeError, TypeError) as error:
            raise ValueError(
                "scoring must be a metric of labels that takes sample_weight, "
                f"such as 'accuracy' or 'f1_macro': {error}"
            ) from error
