"""What an estimator says about rows block by block, lazily, in the shape in which the rows came."""

from __future__ import annotations

import copy
from typing import Any

import dask
import numpy as np

from pegasos.dask import blocks
from pegasos.engine.runtime.threads import single_threaded_blas

Array = np.ndarray[Any, Any]


def lazily(estimator: Any, method: str, X: Any) -> Any:
    """estimator.method(X): Dask array for Dask array or DataFrame, list for list of parts; for rows in memory at once."""
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
    """The same for one block, which may be empty."""
    if not rows.shape[0]:
        return _nothing(estimator, method, getattr(rows, "dtype", np.float64))
    with single_threaded_blas():
        return np.asarray(getattr(estimator, method)(rows))


def _nothing(estimator: Any, method: str, dtype: Any) -> Array:
    """The answer for no rows: that for one row without it."""
    nameless = copy.copy(estimator)
    vars(nameless).pop("feature_names_in_", None)
    row = np.zeros((1, estimator.n_features_in_), dtype=dtype)
    return np.asarray(getattr(nameless, method)(row))[:0]
