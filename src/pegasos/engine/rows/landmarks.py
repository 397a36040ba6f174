"""Landmarks: rows that represent all rows of a kernel, chosen one after the other.

The first k of a larger choice are a choice of k.

uniform   without replacement, all alike
kmeans++  the next row with probability in proportion to its squared distance, in the kernel's
          space, to the nearest row chosen, in rounds of a few rows
leverage  without replacement in proportion to approximate ridge leverage scores
          l = diag(K (K + ε n I)⁻¹), K replaced by its Nyström approximation from a few rows

References
----------
Arthur, Vassilvitskii (2007), k-means++: the advantages of careful seeding.
Alaoui, Mahoney (2015), Fast randomized kernel ridge regression with statistical guarantees.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.rows.kernel_rows import KernelRows
from pegasos.engine.rows.sources import GramRows
from pegasos.engine.runtime.interruption import check_interruption
from pegasos.engine.runtime.threads import single_threaded_blas

Array = np.ndarray[Any, Any]

SELECTIONS = ("kmeans++", "leverage", "uniform")
#: Rows among which landmarks are chosen, and candidates of a round of kmeans++.
SAMPLE, ROUND = 20_000, 8
#: Rows from which leverage scores are estimated.
PILOT = 500


def choose(kernel: Kernel, X: Any, count: int, selection: str, seed: int) -> Array:
    """Return the positions of min(count, rows) landmarks in X, for a resolved kernel."""
    generator = np.random.default_rng(seed)
    sample = generator.permutation(X.shape[0])[: max(SAMPLE, count)]
    if selection == "uniform" or count >= len(sample):
        return sample[:count]
    with single_threaded_blas():
        rows = KernelRows(kernel, X[sample])
        order = (
            _spread(rows, count, generator)
            if selection == "kmeans++"
            else _by_leverage(rows, count, generator)
        )
    return np.asarray(sample[order])


def _spread(rows: GramRows | KernelRows, count: int, generator: np.random.Generator) -> Array:
    chosen = [int(generator.integers(rows.count))]
    nearest = np.full(rows.count, np.inf)
    new = np.array(chosen)
    while len(chosen) < count:
        check_interruption()
        away = rows.diagonal[new][:, None] + rows.diagonal - 2.0 * rows.kernel_lines(new, None)
        nearest = np.minimum(nearest, np.maximum(away, 0.0).min(axis=0))
        nearest[new] = 0.0
        total = np.cumsum(nearest)
        if total[-1] > 0.0:
            new = np.unique(
                np.searchsorted(total, total[-1] * generator.random(ROUND), side="right")
            )
            new = generator.permutation(np.minimum(new, rows.count - 1))
        else:  # all that is left equals a row chosen already
            new = np.setdiff1d(np.arange(rows.count), chosen)[: count - len(chosen)]
        chosen += new.tolist()
    return np.array(chosen[:count])


def _by_leverage(rows: GramRows | KernelRows, count: int, generator: np.random.Generator) -> Array:
    pilot = np.arange(min(PILOT, rows.count))
    block = rows.kernel_lines(pilot, None)
    values, vectors = linalg.eigh(block[:, pilot])
    kept = values > 1e-10 * values[-1]
    features = (vectors[:, kept] / np.sqrt(values[kept])).T @ block
    ridge = 1e-3 * rows.count
    inverse = linalg.inv(features @ features.T + ridge * np.eye(len(features)))
    # l = K (K + εn)⁻¹ on the diagonal; the part of a row outside the span of the pilot,
    # K_ii - |features|², is treated as orthogonal to all other rows.
    seen = np.einsum("ij,ij->j", features, inverse @ features)
    unseen = np.maximum(rows.diagonal - np.einsum("ij,ij->j", features, features), 0.0)
    scores = np.maximum(seen + unseen / (unseen + ridge), np.finfo(float).tiny)
    return np.argsort(generator.exponential(size=rows.count) / scores, kind="stable")[:count]


def pursue(rows: GramRows | KernelRows, coefficients: Array, count: int) -> Array:
    """Choose rows that represent functions f_c = Σ_i c_i K(x_i, ·), by orthogonal least squares.

    The next row maximizes Σ_c r_c(x_i)²/d_i, where r_c is the residual of f_c after projection onto
    the chosen rows, and d_i is the squared length of the residual of K(x_i, ·). The result has
    fewer than `count` rows if no further row reduces the residuals. Time is proportional to
    rows x count², and once to rows².
    """
    left = _values(rows, coefficients)
    beyond, chosen = rows.diagonal.copy(), list[int]()
    free = beyond > 0.0
    basis = np.zeros((rows.count, min(count, rows.count)))
    with single_threaded_blas():
        for place in range(basis.shape[1]):
            check_interruption()
            # A row with a smaller share outside the span of the chosen rows adds rounding errors.
            free &= beyond > 1e-9 * rows.diagonal
            if not free.any():
                break
            gains = np.divide(
                np.square(left).sum(axis=1), beyond, out=np.full(rows.count, -1.0), where=free
            )
            best = int(gains.argmax())
            column = (
                rows.kernel_lines(np.array([best]), None)[0]
                - basis[:, :place] @ basis[best, :place]
            )
            column /= np.sqrt(beyond[best])
            left -= np.outer(column, left[best] / column[best])
            beyond -= np.square(column)
            basis[:, place], free[best] = column, False
            chosen.append(best)
    return np.array(chosen, dtype=np.intp)


def _values(rows: GramRows | KernelRows, coefficients: Array) -> Array:
    """Return f_c(x_i), rows x functions."""
    found = np.empty((rows.count, len(coefficients)))
    for start in range(0, rows.count, 512):
        check_interruption()
        part = np.arange(start, min(start + 512, rows.count))
        found[part] = rows.kernel_lines(part, None) @ coefficients.T.astype(np.float64)
    return found
