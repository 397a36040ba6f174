"""Bounds on scores and kernel values: rows no larger than the training rows must get finite scores.

Scores of linear models are bounded by |w·x| <= |w||x|, those of kernel models by the largest
|K(x, z)| of rows as long as the longest training row. The bounds are checked once, when a model is
loaded; larger rows are reported when they are predicted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import preprocessing

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.kernels.distances import squared_norms
from pegasos.learners.one_vs_all import OneVsAllClassifier
from pegasos.nystroem import Nystroem

Array = np.ndarray[Any, Any]

_SCALERS = (
    preprocessing.StandardScaler,
    preprocessing.MinMaxScaler,
    preprocessing.MaxAbsScaler,
    preprocessing.RobustScaler,
)
_KERNEL = "values of its kernel {!r} are not finite for rows of the size of the training rows"


def fault(estimator: Any) -> str | None:
    """Return what is wrong with the numbers of a part that was just built, or None."""
    with np.errstate(all="ignore"):
        if isinstance(estimator, _SCALERS):
            return _scaler_fault(estimator)
        if isinstance(estimator, Nystroem):
            largest = float(squared_norms(estimator.landmarks_).max(initial=0))
            values = _extreme_values(estimator.kernel_, largest, estimator.landmarks_.dtype)
            return None if np.isfinite(values).all() else _KERNEL.format(estimator.kernel_)
        if isinstance(estimator, OneVsAllClassifier):
            return _learner_fault(estimator)
    return None


def _scaler_fault(scaler: Any) -> str | None:
    """Return the fault of a scaler, or None; columns without any value have NaN as their scale."""
    scale = np.ones(scaler.n_features_in_) if scaler.scale_ is None else scaler.scale_
    known = ~np.isnan(scale)
    if not (scale > 0)[known].all():
        return "a scale is zero or negative"
    if not np.isfinite(scaler.transform(np.zeros((1, len(scale)))))[0, known].all():
        return "it maps rows of zeros to numbers that are not finite"
    return None


def _learner_fault(learner: Any) -> str | None:
    """Return the fault of a learner whose scores may overflow, or None."""
    vectors, stages = learner._vectors, learner._stage_vectors
    largest = reach = learner._reach or 0.0
    if hasattr(learner, "coef_"):
        largest = np.sqrt(reach)
        sizes = [_norms(vectors), _norms(stages)]
    else:
        reach = max(reach, float(squared_norms(learner.support_vectors_).max(initial=0)))
        if isinstance(learner.kernel_, Kernel):
            largest = float(np.abs(_extreme_values(learner.kernel_, reach, vectors.dtype)).max())
            if not np.isfinite(largest):
                return _KERNEL.format(learner.kernel_)
        sizes = [np.abs(each.astype(np.float64)).sum(axis=-1) for each in (vectors, stages)]
    most = np.finfo(vectors.dtype).max
    for size, bias in zip(sizes, (learner.intercept_, learner._stage_bias), strict=True):
        if not (size * largest + np.abs(bias) <= most).all():
            return "its scores are not finite for rows of the size of the training rows"
    return None


def _norms(vectors: Array) -> Array:
    norms: Array = np.sqrt(np.square(vectors.astype(np.float64)).sum(axis=-1))
    return norms


def _extreme_values(kernel: Kernel, reach: float, dtype: Any) -> Array:
    """Return K(x, z) where it is largest for rows with x·x <= reach; distances have no limit."""
    ends = [-reach, 0.0, reach] if kernel.measure == "inner" else [0.0, 1.0, np.finfo(dtype).max]
    values = np.array(ends, dtype=dtype)
    kernel.transform(values)
    return values
