"""Lazy predictions, block by block."""

from __future__ import annotations

import copy
from typing import Any

import dask
import numpy as np

from pegasos.dask import blocks
from pegasos.engine.runtime.threads import single_threaded_blas

Array = np.ndarray[Any, Any]


def lazily(estimator: Any, method: str, X: Any) -> Any:
    """Apply a method of an estimator to rows, lazily for lazy rows.

    Parameters
    ----------
    estimator : object
        Fitted in-memory estimator.
    method : str
        Name of the method, such as "predict".
    X : Dask array, Dask DataFrame, list of delayed objects, or array-like
        Rows.

    Returns
    -------
    Dask array, list of delayed objects, or the result of the method
        A Dask array for a Dask array or DataFrame, a list for a list; rows in memory are evaluated
        at once.
    """
    if blocks.is_array(X):
        X = blocks.one_block_wide(X)
        sample = _nothing(estimator, method, X.dtype)
        chunks = (X.chunks[0], *((width,) for width in sample.shape[1:]))
        drop = [] if sample.ndim == 2 else [1]
        return X.map_blocks(
            of_block,
            estimator,
            method,
            chunks=chunks,
            drop_axis=drop,
            dtype=sample.dtype,
            meta=sample,
        )
    if blocks.is_frame(X):
        parts = [dask.delayed(of_block)(part, estimator, method) for part in X.to_delayed()]
        return _joined(parts, _nothing(estimator, method, np.float64))
    if blocks.is_pieces(X):
        return [dask.delayed(of_block)(part, estimator, method) for part in X]
    return getattr(estimator, method)(X)


def _joined(parts: list[Any], sample: Array) -> Any:
    import dask.array

    shape = (np.nan, *sample.shape[1:])
    return dask.array.concatenate(
        [dask.array.from_delayed(part, shape, meta=sample) for part in parts], axis=0
    )


def of_block(rows: Any, estimator: Any, method: str) -> Array:
    """Apply a method of an estimator to the rows of one block, which may be empty."""
    if not rows.shape[0]:
        return _nothing(estimator, method, getattr(rows, "dtype", np.float64))
    with single_threaded_blas():
        return np.asarray(getattr(estimator, method)(rows))


def _nothing(estimator: Any, method: str, dtype: Any) -> Array:
    """Return an empty result of the right shape and type, found by evaluating one row of zeros."""
    nameless = copy.copy(estimator)
    vars(nameless).pop("feature_names_in_", None)
    row = np.zeros((1, estimator.n_features_in_), dtype=dtype)
    return np.asarray(getattr(nameless, method)(row))[:0]
