"""The steps before a learner, fitted to what a survey found instead of to rows: equal to those that all rows would give.

The encoder sees a few rows of its own making, in which every word is there once, every column of numbers holds its median, and
gaps are where gaps were. The survey holds what a scaler needs: mean, deviation, minimum and maximum of each numeric column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from scipy import sparse
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from pegasos.nystroem import Nystroem
from pegasos.program.pipelines import make_recipe, scaler_of
from pegasos.program.tables.block_statistics import Moments
from pegasos.program.tables.dataset import TEXT, Dataset
from pegasos.program.tables.survey import Survey

Array = np.ndarray[Any, Any]


def fitted_pipeline(
    survey: Survey,
    learner: Any,
    scale: str,
    expand: int | None,
    nystroem: Nystroem | None = None,
    sample: Any = None,
) -> tuple[Any, int]:
    """The pipeline with every step before the learner fitted, and the number of features that the learner gets.

    Landmarks are chosen among the rows of a sample.
    """
    example = _example(survey)
    recipe = make_recipe(
        Dataset(survey.file, example, survey.features), learner, scale, expand, None, nystroem
    )
    rows = example
    for name, step in recipe.estimator.steps[:-1]:
        if step == "passthrough":
            continue
        step.fit(sample if name == "nystroem" else rows)
        if name == "scale":
            numbers = survey.numbers
            if not survey.sparse:
                numbers = numbers.imputed(np.nan_to_num(survey.medians))
            _teach(scaler_of(step), numbers, survey.training)
        rows = step.transform(rows)
        sample = None if sample is None else step.transform(sample)
    return recipe.estimator, int(rows.shape[1])


def _example(survey: Survey) -> Any:
    """A few rows that hold what the survey met; an array where there are neither words nor gaps."""
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


def _teach(scaler: Any, columns: Moments, rows: int) -> None:
    """Give a scaler what it would have computed from all rows."""
    if isinstance(scaler, MinMaxScaler):
        scaler.fit(np.array([columns.low, columns.high]))
    elif isinstance(scaler, StandardScaler):
        _standardize(scaler, columns.mean, columns.variance, rows)
    scaler.n_samples_seen_ = rows


def _standardize(scaler: StandardScaler, mean: Array, variance: Array, rows: int) -> None:
    """A deviation that rounding alone explains is none, as scikit-learn has it: dividing by it would make noise large."""
    precision = np.finfo(np.float64).eps
    constant = variance <= rows * precision * variance + (rows * mean * precision) ** 2
    scaler.mean_, scaler.var_, scaler.scale_ = (
        mean,
        variance,
        np.where(constant, 1.0, np.sqrt(variance)),
    )
