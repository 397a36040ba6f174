"""Rows as kernels take them, maps of whole arrays in place, and their variance: what kernels are made of."""

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


def as_rows(X: Any) -> Any:
    """X as a finite C-contiguous matrix or CSR, float32 or float64; other numbers become float64.

    >>> as_rows([[1, 2]])
    array([[1., 2.]])
    """
    X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"expected a 2-D array of rows, got {X.ndim}-D")
    if X.dtype.kind == "c":
        raise ValueError("complex numbers are not supported")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    entries = X.data if sparse.issparse(X) else X
    # NaN and infinity survive a sum, so one number tells in almost all cases, without an array of booleans.
    with np.errstate(over="ignore", invalid="ignore"):
        total = entries.sum(dtype=np.float64)
    if not np.isfinite(total) and not np.isfinite(entries).all():
        raise ValueError("X contains NaN or infinity")
    return X if sparse.issparse(X) else np.ascontiguousarray(X)


def raise_to_power(values: NDArray[Any], degree: int) -> None:
    """values^degree in place by squaring and multiplying; strips keep the copy of the base in the cache."""
    binary = bin(degree)[3:]
    step = max(1, 2**16 * len(values) // max(1, values.size))
    for start in range(0, len(values), step):
        strip = values[start : start + step]
        base = strip.copy() if "1" in binary else strip
        for bit in binary:
            strip *= strip
            if bit == "1":
                strip *= base


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
