"""Estimators in memory: copies of Dask estimators, and their results for lazy rows."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

import dask
import numpy as np
from sklearn.utils.validation import check_is_fitted

from pegasos.dask import inputs
from pegasos.engine.runtime.threads import single_threaded_blas

Array = np.ndarray[Any, Any]
Estimator = TypeVar("Estimator")


def localized(estimator: Any, kind: type[Estimator]) -> Estimator:
    """Return a fitted Dask estimator as its in-memory class `kind`."""
    check_is_fitted(estimator)
    local = kind()
    local.__dict__.update(
        {name: value for name, value in vars(estimator).items() if name != "client"}
    )
    return local


def lazily(estimator: Any, method: str, X: Any) -> Any:
    """Apply a method of a fitted in-memory estimator to rows.

    The result is a Dask array for a Dask array or DataFrame, and a list of delayed objects for such
    a list; rows in memory are evaluated at once.
    """
    if inputs.is_array(X):
        X = inputs.with_all_columns(X)
        sample = _empty(estimator, method, X.dtype)
        return X.map_blocks(
            of_block,
            estimator,
            method,
            chunks=(X.chunks[0], *((width,) for width in sample.shape[1:])),
            drop_axis=[] if sample.ndim == 2 else [1],
            dtype=sample.dtype,
            meta=sample,
        )
    if not inputs.is_frame(X) and not inputs.is_parts(X):
        return getattr(estimator, method)(X)
    parts = X.to_delayed() if inputs.is_frame(X) else X
    lazy = [dask.delayed(of_block)(part, estimator, method) for part in parts]
    if inputs.is_parts(X):
        return lazy
    from dask.array import concatenate, from_delayed

    sample = _empty(estimator, method, np.float64)
    shape = (np.nan, *sample.shape[1:])
    return concatenate([from_delayed(part, shape, meta=sample) for part in lazy], axis=0)


def of_block(rows: Any, estimator: Any, method: str) -> Array:
    """Apply a method of an estimator to the rows of one block, which may be empty."""
    if not rows.shape[0]:
        return _empty(estimator, method, getattr(rows, "dtype", np.float64))
    with single_threaded_blas():
        return np.asarray(getattr(estimator, method)(rows))


def _empty(estimator: Any, method: str, dtype: Any) -> Array:
    """Return an empty result of the right shape and type, found by evaluating one row of zeros."""
    nameless = copy.copy(estimator)
    vars(nameless).pop("feature_names_in_", None)
    row = np.zeros((1, estimator.n_features_in_), dtype=dtype)
    return np.asarray(getattr(nameless, method)(row))[:0]
