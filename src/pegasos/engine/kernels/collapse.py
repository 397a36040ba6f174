"""Warning about kernels to which all rows are alike, or none is similar to another."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.engine.kernels.base import DistanceKernel, Kernel
from pegasos.engine.kernels.distances import Pairs
from pegasos.engine.kernels.moments import variance_of
from pegasos.engine.kernels.standard import Polynomial
from pegasos.engine.runtime.threads import single_threaded_blas

#: Evenly spaced rows that are compared.
SAMPLE = 256
#: A similarity below which rows are strangers, and as far from 1 they are alike; the share of pairs that does not count.
ALMOST_NOTHING, FEW_PAIRS = 1e-6, 1e-3


class CollapsedKernelWarning(UserWarning):
    """The kernel sees no difference, or no similarity, between any two examples."""


def warn_if_collapsed(kernel: Kernel, X: Any) -> None:
    """Warn if among 256 evenly spaced rows all are alike, or each is like itself only, to this kernel.

    Judged by K(x, z) / sqrt(K(x, x) K(z, z)) over distinct rows: >= 99.9 % below 1e-6, or all above 1 - 1e-6.

    >>> from pegasos.kernels import Gaussian
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warn_if_collapsed(Gaussian(variance=1e-3), np.array([[1.0], [2.0], [3.0]]))
    >>> print(caught[0].message)
    Gaussian(variance=0.001): every example is similar only to itself; raise variance (the data suggest about 0.333)
    """
    if not isinstance(kernel, DistanceKernel | Polynomial):
        return
    kernel = kernel.resolve(X)
    if _sees_enough(kernel, X):
        return
    with single_threaded_blas():
        similarities = _similarities(kernel, _distinct_sample(X))
    if similarities.size == 0:
        return
    alike = bool((similarities > 1 - ALMOST_NOTHING).all())
    alone = bool((similarities < ALMOST_NOTHING).mean() >= 1 - FEW_PAIRS)
    problem = "all examples look alike" if alike else "every example is similar only to itself"
    if isinstance(kernel, DistanceKernel) and (alike or alone):
        suggestion = kernel.suggest(X.shape[1], variance_of(X))
        remedy = f"{'lower' if alike else 'raise'} {kernel.main} (the data suggest about {suggestion:.3g})"
    elif alike:
        remedy = "scale X (for example StandardScaler) or lower coef0"
    else:
        return
    warnings.warn(f"{kernel!r}: {problem}; {remedy}", CollapsedKernelWarning, stacklevel=2)


def _sees_enough(kernel: Kernel, X: Any) -> bool:
    """Tell whether enough pairs of 32 rows are neither alike nor unlike to settle the question."""
    least, most = ALMOST_NOTHING, 1 - ALMOST_NOTHING
    with single_threaded_blas():
        similarities = _similarities(kernel, X[_spread(X, 32)].astype(np.float64))
    between = np.count_nonzero((similarities >= least) & (similarities <= most))
    return bool(between > FEW_PAIRS * SAMPLE * SAMPLE)


def _spread(X: Any, most: int) -> NDArray[np.int64]:
    """Return evenly spaced row numbers, the first and the last among them."""
    count = min(most, X.shape[0])
    return np.arange(count) * max(0, X.shape[0] - 1) // max(1, count - 1)


def _distinct_sample(X: Any) -> Any:
    sample = X[_spread(X, SAMPLE)].astype(np.float64)
    equal = Pairs("squared", sample).tile(slice(None), slice(None)) == 0
    return sample[~np.triu(equal, k=1).any(axis=0)]


def _similarities(kernel: Kernel, rows: Any) -> NDArray[np.float64]:
    """Return normalized values of all pairs of distinct rows, without rows for which K(x, x) <= 0."""
    assert kernel.measure is not None
    matrix = Pairs(kernel.measure, rows).tile(slice(None), slice(None))
    kernel.transform(matrix)
    diagonal = matrix.diagonal()
    matrix = matrix[np.ix_(diagonal > 0, diagonal > 0)]
    lengths = np.sqrt(diagonal[diagonal > 0])
    values: NDArray[np.float64] = (matrix / lengths / lengths[:, None])[
        ~np.eye(len(matrix), dtype=bool)
    ]
    return values
