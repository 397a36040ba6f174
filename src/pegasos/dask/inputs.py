"""Lazy rows (Dask arrays, frames, lists of delayed parts) as blocks, and lazy results for them."""

from __future__ import annotations

import copy
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed
from distributed import Future
from sklearn.utils.validation import check_is_fitted

from pegasos.engine.runtime.threads import single_threaded_blas

Array = np.ndarray[Any, Any]


def split(
    X: Any, y: Any = None, sample_weight: Any = None, folds: Any = None
) -> list[tuple[Any, ...]]:
    """Return the blocks of X, each with its blocks of y, weights and folds.

    Each block is a lazy object or a future; y, weights or folds are None where not given.
    """
    columns = {"y": y, "sample_weight": sample_weight, "cv": folds}
    if isinstance(X, da.Array):
        X = with_all_columns(X)
        columns = {name: _chunked_like(X, values, name) for name, values in columns.items()}
    found = [_parts(X, "X")]
    blocks = len(found[0])
    if not blocks:
        raise ValueError("X has no blocks, and so no rows to learn from.")
    for name, values in columns.items():
        alike = values is None or callable(values)
        found.append([values] * blocks if alike else _parts(values, name))
        if len(found[-1]) != blocks:
            raise ValueError(
                f"X has {blocks} blocks, {name} has {len(found[-1])}: "
                "they must have the same blocks of rows."
            )
    return list(zip(*found, strict=True))


def with_all_columns(X: Any) -> Any:
    """Rechunk a two-dimensional Dask array so that each block has all columns."""
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, rows and features; this array has {X.ndim}.")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _chunked_like(X: Any, values: Any, name: str) -> Any:
    """Rechunk labels, weights or folds like the rows of X, as far as the lengths are known."""
    if isinstance(values, np.ndarray | list) and not is_parts(values):
        values = da.from_array(np.asarray(values), chunks=-1)
    if not isinstance(values, da.Array):
        return values
    lengths = X.shape[0], values.shape[0]
    if np.isnan(lengths).any():
        return values
    if len(set(lengths)) > 1:
        raise ValueError(f"X has {lengths[0]} rows, {name} has {lengths[1]}.")
    return values.rechunk({0: X.chunks[0]})


def _parts(values: Any, name: str) -> list[Any]:
    if is_parts(values):
        return list(values)
    if is_frame(values):
        # Unoptimized: an optimized frame may have fewer partitions than npartitions, since Dask
        # joins small files of a frame with few columns.
        return list(values.to_delayed(optimize_graph=False))
    if isinstance(values, da.Array):
        return list(np.ravel(values.to_delayed()))
    raise TypeError(
        f"{name} must be a Dask array, a Dask DataFrame (or Series) or a list of delayed parts, "
        f"got {type(values).__name__}. Rows that fit into memory are SDCA's; or wrap them: "
        "dask.array.from_array(rows, chunks=(100_000, -1))."
    )


def is_frame(values: Any) -> bool:
    """Return whether `values` is a Dask DataFrame or Series."""
    return hasattr(values, "to_dask_array")


def is_parts(values: Any) -> bool:
    """Return whether `values` is a non-empty list of delayed objects or futures."""
    is_list = isinstance(values, list | tuple) and bool(len(values))
    return is_list and isinstance(values[0], Delayed | Future)


def name_features(estimator: Any, X: Any) -> None:
    """Set feature_names_in_ if all columns of a frame have string names."""
    estimator.__dict__.pop("feature_names_in_", None)
    names = getattr(X, "columns", None)
    if names is not None and all(isinstance(name, str) for name in names):
        estimator.feature_names_in_ = np.asarray(names, dtype=object)


def localized(estimator: Any, kind: type[Any]) -> Any:
    """Return a fitted Dask estimator as its in-memory class `kind`."""
    check_is_fitted(estimator)
    local = kind()
    vars(local).update({name: each for name, each in vars(estimator).items() if name != "client"})
    return local


def lazily(estimator: Any, method: str, X: Any) -> Any:
    """Apply a method of a fitted in-memory estimator to rows.

    The result is a Dask array for a Dask array or DataFrame, and a list of delayed objects for such
    a list; rows in memory are evaluated at once.
    """
    if isinstance(X, da.Array):
        X = with_all_columns(X)
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
    if not is_frame(X) and not is_parts(X):
        return getattr(estimator, method)(X)
    parts = X.to_delayed() if is_frame(X) else X
    lazy = [dask.delayed(of_block)(part, estimator, method) for part in parts]
    if is_parts(X):
        return lazy
    sample = _empty(estimator, method, np.float64)
    shape = (np.nan, *sample.shape[1:])
    return da.concatenate([da.from_delayed(part, shape, meta=sample) for part in lazy], axis=0)


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
