"""Labels of rows outside (or inside) the training part of a fold, counted on the workers; and scores of such counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.engine.rows.blocks import Block, Part
from pegasos.search.units import LabelAnswers

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class FoldPredictors:
    """What was learned without a fold: the class codes that there were, and vectors, cells x predictors x (features + 1)."""

    present: Array
    vectors: Array


def tally(block: Block, folds: list[FoldPredictors], classes: int, inside: bool) -> Part:
    """How often each cell says which class, cells x folds x class x class said: for the fold's rows, or for all others."""
    codes, _, own = block.own
    counts = np.zeros((len(folds[0].vectors), len(folds), classes, classes))
    for fold, learned in enumerate(folds):
        rows = np.flatnonzero((own != fold) if inside else (own == fold))
        cells, columns, size = learned.vectors.shape
        scores = block.products(learned.vectors.reshape(-1, size))[:, rows].reshape(
            cells, columns, len(rows)
        )
        place = (scores[:, 0] > 0.0).astype(np.int64) if columns == 1 else scores.argmax(axis=1)
        said = codes[rows] * classes + learned.present[place]
        for cell in range(cells):
            counts[cell, fold] = np.bincount(said[cell], minlength=classes * classes).reshape(
                classes, classes
            )
    return Part((counts,))


class Scorer:
    """scikit-learn's scorers of labels, applied to counts (class x class said): one weighted row stands for many equal ones."""

    def __init__(self, scorers: Any, classes: Array) -> None:
        self._scorers, self._classes = scorers, classes

    def __call__(self, counts: Array) -> Any:
        truth, said = np.nonzero(counts)
        if not len(truth):
            return float("nan")
        answers = LabelAnswers(self._classes, self._classes[said])
        given = (answers, np.zeros((len(truth), 1)), self._classes[truth])
        try:
            return self._scorers(*given, sample_weight=counts[truth, said])
        except (AttributeError, TypeError) as error:
            raise ValueError(
                f"scoring must be a metric of labels that takes sample_weight, such as 'accuracy' or 'f1_macro': {error}"
            ) from error
