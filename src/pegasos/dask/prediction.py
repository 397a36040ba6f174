"""Predictions block by block, lazily, in the shape in which the rows came."""

from __future__ import annotations

from typing import Any

import dask
import numpy as np

from pegasos.dask import blocks
from pegasos.learners.sdca import SDCA

Array = np.ndarray[Any, Any]


def lazily(learner: SDCA, method: str, X: Any) -> Any:
    """What learner.method says about X: Dask array for Dask array or DataFrame, list for list of parts, an array else."""
    if blocks.is_array(X):
        X = blocks.one_block_wide(X)
        sample = of_block(np.zeros((0, learner.n_features_in_), dtype=learner.coef_.dtype), learner, method)
        chunks = (X.chunks[0], *((width,) for width in sample.shape[1:]))
        drop = [] if sample.ndim == 2 else [1]
        return X.map_blocks(of_block, learner, method, chunks=chunks, drop_axis=drop, dtype=sample.dtype, meta=sample)
    if hasattr(X, "to_dask_array"):
        parts = [dask.delayed(of_block)(part, learner, method) for part in X.to_delayed()]
        return _joined(parts, learner, method)
    if blocks.is_pieces(X):
        return [dask.delayed(of_block)(part, learner, method) for part in X]
    return getattr(learner, method)(X)


def _joined(parts: list[Any], learner: SDCA, method: str) -> Any:
    import dask.array

    sample = of_block(np.zeros((0, learner.n_features_in_), dtype=learner.coef_.dtype), learner, method)
    shape = (np.nan, *sample.shape[1:])
    return dask.array.concatenate([dask.array.from_delayed(part, shape, meta=sample) for part in parts], axis=0)


def of_block(rows: Any, learner: SDCA, method: str) -> Array:
    """The same for one block, which may be empty."""
    if rows.shape[0]:
        return np.asarray(getattr(learner, method)(rows))
    columns = len(learner.coef_) if method == "decision_function" else len(learner.classes_)
    if method == "predict":
        return learner.classes_[:0]
    return np.zeros((0, columns) if columns > 1 else 0, dtype=learner.coef_.dtype)
