"""Fit the steps before a learner to the statistics of a table instead of its rows.

The result is that of all training rows: the encoder is fitted to a few rows of its own in which
each category occurs once, numeric columns hold their median, and gaps are where gaps were. Scalers
get the moments and ranges of all rows.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from pegasos.engine.rows.blocks import THIN
from pegasos.program.learning.tables import Steps
from pegasos.program.pipelines import make_recipe, scaler_of
from pegasos.program.tables.block_statistics import Moments
from pegasos.program.tables.dataset import TEXT, Array, Dataset
from pegasos.program.tables.survey import Survey


def fitted_pipeline(
    survey: Survey, learner: Any, steps: Steps, sample: Any = None
) -> tuple[Any, int]:
    """Return the pipeline with all steps before the learner fitted, and the number of features.

    Landmarks are chosen among the rows of `sample`.
    """
    rows = _example(survey)
    recipe = make_recipe(Dataset(survey.file, rows, survey.features), learner, *steps)
    for name, step in recipe.estimator.steps[:-1]:
        if step == "passthrough":
            continue
        step.fit(sample if name == "nystroem" else rows)
        if name == "scale":
            numbers = survey.numbers
            if not survey.sparse:
                numbers = numbers.imputed(np.nan_to_num(survey.medians))
            _set_statistics(scaler_of(step), numbers, survey.training)
        rows = step.transform(rows)
        sample = None if sample is None else step.transform(sample)
    return recipe.estimator, int(rows.shape[1])


def _example(survey: Survey) -> Any:
    """Return a few rows with all categories; an array if there are neither categories nor gaps."""
    if survey.sparse:
        return sparse.csr_matrix((2, len(survey.features)))
    height = max([2, *map(len, survey.words.values())])
    medians, gaps = iter(survey.medians), iter(survey.numbers.count < survey.training)
    series = []
    for column in survey.features:
        if column.kind == TEXT:
            words = list(survey.words[column.name]) or [None]
            values = [words[row % len(words)] for row in range(height)]
            series.append(pl.Series(column.name, values, pl.String))
        else:
            median = next(medians)
            there = None if np.isnan(median) else median
            first = None if next(gaps) else there
            series.append(pl.Series(column.name, [first, *[there] * (height - 1)], pl.Float64))
    frame = pl.DataFrame(series)
    return frame if survey.needs_frame else frame.to_numpy().astype(np.float64)


def _set_statistics(scaler: Any, columns: Moments, rows: int) -> None:
    """Give a scaler the statistics of all rows."""
    if isinstance(scaler, MinMaxScaler):
        scaler.fit(np.array([columns.low, columns.high]))
    elif isinstance(scaler, StandardScaler):
        mean, variance = columns.mean, columns.variance
        # As in scikit-learn, a std that rounding alone explains is none.
        precision = np.finfo(np.float64).eps
        constant = variance <= rows * precision * variance + (rows * mean * precision) ** 2
        scaler.mean_, scaler.var_ = mean, variance
        scaler.scale_ = np.where(constant, 1.0, np.sqrt(variance))
    scaler.n_samples_seen_ = rows


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
