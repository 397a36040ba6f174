"""The variance of all numbers of a table, and the squared length of its longest row."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pegasos.engine.runtime.compiling import announced, compiled


@partial(compiled, any_order=True)
def _largest_square(X: NDArray[Any]) -> float:
    largest = 0.0
    for i in range(X.shape[0]):
        row, square = X[i], 0.0
        for j in range(row.size):
            square += np.float64(row[j]) * np.float64(row[j])
        largest = max(largest, square)
    return largest


def largest_square(X: Any) -> float:
    """Return the largest x·x of the rows of X (dense or CSR) in float64, infinite on overflow.

    >>> largest_square(np.array([[3.0, 4.0], [5.0, 1.0]]))
    26.0
    """
    if sparse.issparse(X):
        with np.errstate(over="ignore", under="ignore"):
            return float(np.asarray(X.astype(np.float64).power(2).sum(axis=1)).max(initial=0))
    rows = X.view()
    rows.flags.writeable = False  # so that writable and memory-mapped rows compile to one signature
    with announced("largest-square", X.dtype):
        return float(_largest_square(rows))


def variance_of(X: Any) -> float:
    """Return the variance of all numbers of X in float64, zeros of a sparse matrix included.

    It is not finite where squares are not.
    """
    size = X.shape[0] * X.shape[1]
    stored = X.data if sparse.issparse(X) else X
    if stored.size == 0:
        return 0.0
    # A constant matrix has variance 0 exactly; rounding of the mean would hide it.
    first = stored.flat[0]
    if stored.size == size and (stored[:1] == first).all() and (stored == first).all():
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        mean = stored.sum(dtype=np.float64) / size
        step = max(1, 2**16 * len(stored) // stored.size)  # rows whose squares fit a cache
        squares = 0.0
        for start in range(0, len(stored), step):
            part = np.subtract(stored[start : start + step], mean, dtype=np.float64)
            squares += float(np.square(part, out=part).sum())
        return float((squares + (size - stored.size) * np.square(mean)) / size)
