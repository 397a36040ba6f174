"""The least, the largest and the variance of all numbers of a table, each in one pass."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pegasos.engine.compiling import announced, compiled
from pegasos.engine.float_bits import number_of_ordered, ordered_bits_of

#: Numbers that are summed before their sum is: so rounding errors stay small.
SUMMED_AT_ONCE = 2**16


@compiled
def extremes(values: NDArray[Any]) -> tuple[float, float]:
    """The least and the largest of numbers without NaN, of which there is one at least."""
    least = largest = ordered_bits_of(values[0])
    for i in range(values.size):
        least, largest = min(least, ordered_bits_of(values[i])), max(largest, ordered_bits_of(values[i]))
    return number_of_ordered(least), number_of_ordered(largest)


@partial(compiled, any_order=True)
def _sum_of(values: NDArray[Any]) -> float:
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@partial(compiled, any_order=True)
def _squares_around(values: NDArray[Any], mean: float) -> float:
    total = 0.0
    for i in range(values.size):
        total += (values[i] - mean) * (values[i] - mean)
    return total


def variance_of(X: Any) -> float:
    """The variance of all numbers of X, zeros of a sparse matrix included, in float64; not finite where squares are not."""
    size = X.shape[0] * X.shape[1]
    stored = np.ascontiguousarray(X.data if sparse.issparse(X) else X).reshape(-1)
    if stored.size == 0:
        return 0.0
    with announced("variance", stored.dtype):
        # A constant matrix has variance 0 exactly; rounding of the mean would hide it.
        least, largest = extremes(stored)
        if stored.size == size and least == largest:
            return 0.0
        blocks = [stored[start : start + SUMMED_AT_ONCE] for start in range(0, stored.size, SUMMED_AT_ONCE)]
        mean = sum(_sum_of(block) for block in blocks) / size
        squares = sum(_squares_around(block, mean) for block in blocks)
    return (squares + (size - stored.size) * mean * mean) / size
