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


def fault(estimator: Any) -> str | None:
    """Return what is wrong with the numbers of a part that was just built, or None."""
    with np.errstate(all="ignore"):
        if isinstance(estimator, _SCALERS):
            return _scaler_fault(estimator)
        if isinstance(estimator, Nystroem):
            landmarks = estimator.landmarks_
            largest = float(squared_norms(landmarks).max(initial=0))
            return _kernel_fault(estimator.kernel_, largest, landmarks.dtype)
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
    vectors, stages = learner._vectors, learner._stage_vectors
    reach = learner._reach or 0.0
    if hasattr(learner, "coef_"):
        largest = np.sqrt(reach)
        sizes = [_norms(vectors), _norms(stages)]
    else:
        reach = max(reach, float(squared_norms(learner.support_vectors_).max(initial=0)))
        largest = reach
        if isinstance(learner.kernel_, Kernel):
            if (wrong := _kernel_fault(learner.kernel_, reach, vectors.dtype)) is not None:
                return wrong
            largest = _largest_value(learner.kernel_, reach)
        sizes = [np.abs(each.astype(np.float64)).sum(axis=-1) for each in (vectors, stages)]
    most = np.finfo(vectors.dtype).max
    for size, bias in zip(sizes, (learner.intercept_, learner._stage_bias), strict=True):
        if not (size * largest + np.abs(bias) <= most).all():
            return "its scores are not finite for rows of the size that it was trained on"
    return None


def _norms(vectors: Array) -> Array:
    norms: Array = np.sqrt(np.square(vectors.astype(np.float64)).sum(axis=-1))
    return norms


def _largest_value(kernel: Kernel, reach: float) -> float:
    """Return the largest |K(x, z)| of rows with x·x <= reach."""
    if kernel.measure != "inner":
        return 1.0  # a kernel of distances is at most 1
    extremes = np.array([-reach, reach])
    kernel.transform(extremes)
    return float(np.abs(extremes).max())


def _kernel_fault(kernel: Kernel, reach: float, dtype: Any) -> str | None:
    """Return the fault of a kernel whose values at the ends of its range overflow, or None."""
    values = np.array(
        [-reach, 0.0, reach] if kernel.measure == "inner" else [0.0, 1.0, np.finfo(dtype).max],
        dtype=dtype,
    )
    kernel.transform(values)
    if np.isfinite(values).all():
        return None
    return f"values of its kernel {kernel!r} are not finite for rows of the size that it was trained on"
