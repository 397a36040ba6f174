"""Whether the numbers of a part can be what a fit has left: then rows of the size seen in training get finite numbers.

What is kept twice must agree (a scaler's deviation and variance), and bounds must hold: |w·x| <= |w||x|, |K(x, z)| at its largest
for the longest row of training. It is asked once, when a part is built; a row from far away is told when it comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn import preprocessing

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.kernels.distances import squared_norms
from pegasos.learners.one_vs_all import OneVsAllClassifier
from pegasos.nystroem import Nystroem

Array = np.ndarray[Any, Any]

#: How far numbers that are kept twice may differ, relatively: they may have been computed in float32.
_AGREE = 1e-3
#: What scikit-learn takes for a spread of zero, and replaces by 1, is larger than this in every dtype.
_SMALLEST_SPREAD = 1e-20


def fault(estimator: Any) -> str | None:
    """What is wrong with the numbers of a part that was just built; None: nothing."""
    with np.errstate(all="ignore"):
        for kind, look in _LOOKS.items():
            if isinstance(estimator, kind):
                return next(look(estimator), None)
    return None


def _standard(scaler: Any) -> Iterator[str]:
    if scaler.var_ is not None and scaler.scale_ is not None:
        if (scaler.var_ < 0).any() or not _agrees(scaler.scale_, np.sqrt(scaler.var_), one=True):
            yield "its deviations are not the roots of its variances"
    yield from _spread(scaler)


def _minmax(scaler: Any) -> Iterator[str]:
    if any(
        getattr(scaler, name) is None
        for name in ("min_", "scale_", "data_min_", "data_max_", "data_range_")
    ):
        yield "some of its numbers are missing"
        return
    low, high = scaler.feature_range
    if not low < high:
        yield "the range that it maps to is empty"
    spread = scaler.data_max_ - scaler.data_min_
    width = np.where(spread < 10 * np.finfo(spread.dtype).eps, 1.0, spread)
    first = scaler.data_min_ * scaler.scale_
    same = _agrees(scaler.data_range_, spread) and _agrees(scaler.scale_, (high - low) / width)
    if not same or not _agrees(scaler.min_, low - first, size=abs(low) + np.abs(first)):
        yield "its numbers do not belong together"
    yield from _spread(scaler)


def _maxabs(scaler: Any) -> Iterator[str]:
    if (
        scaler.scale_ is None
        or scaler.max_abs_ is None
        or not _agrees(scaler.scale_, scaler.max_abs_, one=True)
    ):
        yield "its scales are not the largest numbers of its columns"
    yield from _spread(scaler)


def _spread(scaler: Any) -> Iterator[str]:
    scale = scaler.scale_
    smallest = (
        0.0
        if isinstance(scaler, preprocessing.StandardScaler | preprocessing.MinMaxScaler)
        else _SMALLEST_SPREAD
    )
    if scale is not None and not (scale > smallest)[~np.isnan(scale)].all():
        yield "a scale is zero, negative or too small"
    columns = scaler.n_features_in_
    known = np.ones(columns, dtype=bool) if scale is None else ~np.isnan(scale)
    if not np.isfinite(scaler.transform(np.zeros((1, columns))))[0, known].all():
        yield "it maps rows of zeros to numbers that are not finite"


def _landmarks(nystroem: Any) -> Iterator[str]:
    largest = float(squared_norms(nystroem.landmarks_).max(initial=0))
    if (what := _kernel_fault(nystroem.kernel_, largest, nystroem.landmarks_.dtype)) is not None:
        yield what
    if not _agrees(np.square(nystroem.weights_).sum(axis=0) * nystroem.eigenvalues_, np.ones(1)):
        yield "its map does not belong to its eigenvalues"


def _learner(learner: Any) -> Iterator[str]:
    vectors, most = learner._vectors, np.finfo(learner._vectors.dtype).max
    stages, reach = learner._stage_vectors, learner._reach
    if hasattr(learner, "coef_"):
        largest = np.sqrt(reach or 0.0)
        sizes = [
            np.sqrt(np.square(each.astype(np.float64)).sum(axis=-1)) for each in (vectors, stages)
        ]
    else:
        support = squared_norms(learner.support_vectors_).max(initial=0)
        if reach is not None and not support <= (1 + _AGREE) * reach:
            yield "a support vector is longer than any row of training"
        reach = float(support) if reach is None else reach
        largest = reach
        if isinstance(learner.kernel_, Kernel):
            largest = _largest_value(learner.kernel_, reach, vectors.dtype)
            if (what := _kernel_fault(learner.kernel_, reach, vectors.dtype)) is not None:
                yield what
        sizes = [np.abs(each.astype(np.float64)).sum(axis=-1) for each in (vectors, stages)]
    for size, bias in zip(sizes, (learner.intercept_, learner._stage_bias), strict=True):
        if not (size * largest + np.abs(bias) <= most).all():
            yield "its scores are not finite for rows of the size that it has learned from"


def _largest_value(kernel: Kernel, reach: float, dtype: Any) -> float:
    """The largest |K(x, z)| of rows with x·x <= reach."""
    if kernel.measure != "inner":
        return 1.0  # a kernel of distances is at most 1
    extremes = np.array([-reach, reach])
    kernel.transform(extremes)
    return float(np.abs(extremes).max())


def _kernel_fault(kernel: Kernel, reach: float, dtype: Any) -> str | None:
    """Values at both ends of the range must be numbers of the dtype."""
    values = np.array(
        [-reach, 0.0, reach] if kernel.measure == "inner" else [0.0, 1.0, np.finfo(dtype).max],
        dtype=dtype,
    )
    kernel.transform(values)
    if np.isfinite(values).all():
        return None
    return f"values of its kernel {kernel!r} are not finite for rows of the size that it has learned from"


def _agrees(found: Array, expected: Array, *, one: bool = False, size: Any = 0.0) -> bool:
    """Whether numbers are equal but for rounding, also of terms of this size; `one`: or 1, which stands for a spread of zero.

    Columns without any value have NaN in both.
    """
    near = np.abs(found - expected) <= _AGREE * np.maximum(np.abs(expected), size)
    return bool((near | (np.isnan(found) & np.isnan(expected)) | (one & (found == 1.0))).all())


_LOOKS: dict[Any, Callable[[Any], Iterator[str]]] = {
    preprocessing.StandardScaler: _standard,
    preprocessing.MinMaxScaler: _minmax,
    preprocessing.MaxAbsScaler: _maxabs,
    preprocessing.RobustScaler: _spread,
    Nystroem: _landmarks,
    OneVsAllClassifier: _learner,
}
