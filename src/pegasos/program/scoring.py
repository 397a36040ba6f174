"""Scores of rows, and errors that locate their cause: a row and column of a file, or the model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import MinMaxScaler

from pegasos.learners.one_vs_all import NotFinite
from pegasos.program.errors import BadModel
from pegasos.program.tables.dataset import BadData, Dataset
from pegasos.program.tables.messages import plain, shown
from pegasos.search.anatomy import anatomy

Array = np.ndarray[Any, Any]

#: Larger numbers are not plausible measurements: they are errors in the data, not in the model.
_BEYOND = 1e30
#: Values of sparse rows converted to dense at once, for steps that need dense rows.
_DENSE_NUMBERS = 1 << 22


def scores_of(estimator: Any, dataset: Dataset, model: str = "the model") -> Array:
    """Return the finite scores of the rows, the result of decision_function.

    Raises BadData, which locates the row, or BadModel with the path `model`, whichever is the
    cause of a failure.
    """
    return _located(partial(_scores, estimator), dataset, model)


def _located(work: Callable[[Any], Any], dataset: Dataset, model: str) -> Any:
    """Call a function of the rows; if it fails, raise an error that names the row or model."""
    try:
        return work(dataset.X)
    except ValueError as error:
        found = _first_failing(work, dataset.X)
        if found is None:
            raise
        raise _explained(work, dataset, *found, model) from error
    except (TypeError, ArithmeticError, LookupError, AttributeError) as error:
        what = f"{type(error).__name__}: {plain(error)}"
        raise BadModel(
            f"{model} cannot predict these rows ({what}): the file is damaged. Fit the model again."
        ) from error


def labels_of(estimator: Any, dataset: Dataset) -> Array:
    """Return the predicted class of each row."""
    return anatomy(estimator, fitted=True).learner.labels_of(scores_of(estimator, dataset))


def predictor_scores(estimator: Any, dataset: Dataset) -> Array:
    """Return the scores that calibrations map: one column per pair with one-vs-one."""
    parts = anatomy(estimator, fitted=True)
    if not parts.learner.couples_pairs:
        return scores_of(estimator, dataset)
    X = dataset.X.toarray() if _needs_dense(estimator, dataset.X) else dataset.X
    for stage in parts.stages:
        X = X if stage.drops else stage.part.transform(X)
    return parts.learner.predictor_scores(X)


def probabilities_of(estimator: Any, dataset: Dataset, scores: Array) -> Array | None:
    """Return the class probabilities for given scores, or None if the model has none."""
    learner = anatomy(estimator, fitted=True).learner
    if not learner.has_probabilities:
        return None
    if learner.couples_pairs:
        return _scores(estimator, dataset.X, "predict_proba")
    return learner.probabilities_of(scores)


def prepared(steps: Any, dataset: Dataset) -> Any:
    """Transform the rows by fitted steps into finite float32 values, dense or CSR.

    A value that overflows raises BadData, which locates it.
    """

    def transform(X: Any) -> Any:
        with np.errstate(all="ignore"):
            rows = steps.transform(X)
            rows = rows.tocsr() if sparse.issparse(rows) else np.asarray(rows)
            rows = rows.astype(np.float32)
        if not np.isfinite(rows.data if sparse.issparse(rows) else rows).all():
            raise NotFinite(np.arange(X.shape[0]), far_away=True)
        return rows

    return _located(transform, dataset, "the model")


def _scores(estimator: Any, X: Any, method: str = "decision_function") -> Array:
    """Call decision_function or predict_proba.

    Sparse rows are converted to dense in chunks if a step requires it.
    """
    function = getattr(estimator, method)
    with np.errstate(all="ignore"):
        if not _needs_dense(estimator, X):
            return np.asarray(function(X))
        step = max(1, _DENSE_NUMBERS // max(1, X.shape[1]))
        starts = range(0, max(1, X.shape[0]), step)
        return np.concatenate([function(X[start : start + step].toarray()) for start in starts])


def _needs_dense(estimator: Any, X: Any) -> bool:
    """Return whether the rows are sparse and a step maps zeros to nonzero values."""
    if not sparse.issparse(X):
        return False
    parts = [stage.part for stage in anatomy(estimator, fitted=True).stages]
    moving = [vars(part).get("with_mean") or vars(part).get("with_centering") for part in parts]
    return any(moving) or any(isinstance(part, MinMaxScaler) for part in parts)


def _failure(work: Callable[[Any], Any], X: Any) -> ValueError | None:
    try:
        work(X)
    except ValueError as error:
        return error
    return None


def _first_failing(work: Callable[[Any], Any], X: Any) -> tuple[int, ValueError] | None:
    """Return the first row that fails by itself and its error, by bisection, if there is one."""
    start, stop = 0, X.shape[0]
    while stop - start > 1:
        middle = (start + stop) // 2
        if _failure(work, X[start:middle]) is None:
            start = middle
        else:
            stop = middle
    error = _failure(work, X[start:stop])
    return None if error is None or not stop else (start, error)


def _explained(
    score: Callable[[Any], Any], dataset: Dataset, row: int, error: ValueError, model: str
) -> ValueError:
    """Return the error to raise for a row without a finite score."""
    column, value = _largest(dataset, row)
    unbounded = isinstance(error, NotFinite)
    if abs(value) > _BEYOND or (isinstance(error, NotFinite) and error.far_away):
        return BadData(
            f"{dataset.at(row)}, column {shown(column)}: {value:g} is too far from what the model "
            "was trained on: it has no finite score. Correct the number, leave it empty if it is "
            "not known, or leave the row out."
        )
    some = {0, len(dataset) // 2, len(dataset) - 1}
    if unbounded or all(_failure(score, dataset.X[place : place + 1]) for place in some):
        reason = "it has no finite score" if unbounded else plain(error)
        return BadModel(
            f"{model} cannot predict {dataset.at(row)}, which is no larger than rows of training "
            f"({reason}): the file is damaged. Fit the model again."
        )
    return BadData(f"{dataset.at(row)}: {plain(error)}")  # for example an unknown category


def _largest(dataset: Dataset, row: int) -> tuple[str, float]:
    """Return the column with the largest absolute value in a row, and the value."""
    line = dataset.X.row(row) if dataset.has_frame else dataset.X[row]
    line = line.toarray()[0] if sparse.issparse(line) else line
    known = (isinstance(value, Real) and value == value for value in line)
    numbers = [
        float(value) if is_known else 0.0 for value, is_known in zip(line, known, strict=True)
    ]
    place = int(np.argmax(np.abs(numbers)))
    return dataset.columns[place].name, numbers[place]
