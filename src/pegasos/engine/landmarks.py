"""Rows that stand for all rows of a kernel: chosen one after the other, so that the first k of a larger choice are a choice of k.

uniform   without replacement, all alike
kmeans++  the next row with probability in proportion to its squared distance, in the kernel's space, to the nearest row chosen
          (Arthur and Vassilvitskii 2007), in rounds of a few rows that do not see each other
leverage  without replacement in proportion to approximate ridge leverage scores l = diag(K (K + ε n I)⁻¹) (Alaoui and Mahoney
          2015), K replaced by its Nyström approximation from a few uniform rows
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from pegasos.engine.distances import Pairs
from pegasos.engine.interruption import check_interruption
from pegasos.engine.kernels import Kernel
from pegasos.engine.threads import single_threaded_blas

Array = np.ndarray[Any, Any]

SELECTIONS = ("kmeans++", "leverage", "uniform")
#: Rows from which landmarks are chosen, and rows of a round of kmeans++.
SAMPLE, ROUND = 20_000, 8
#: Rows behind the leverage scores, and ε.
PILOT, RIDGE = 500, 1e-3


def choose(kernel: Kernel, X: Any, count: int, selection: str, seed: int) -> Array:
    """Positions of min(count, rows) landmarks among the rows of X, by a resolved kernel."""
    generator = np.random.default_rng(seed)
    sample = generator.permutation(X.shape[0])[: max(SAMPLE, count)]
    if selection == "uniform" or count >= len(sample):
        return sample[:count]
    with single_threaded_blas():
        columns = _Columns(kernel, X[sample])
        order = _spread(columns, count, generator) if selection == "kmeans++" else _by_leverage(columns, count, generator)
    return np.asarray(sample[order])


class _Columns:
    """The kernel between all rows and some of them."""

    def __init__(self, kernel: Kernel, X: Any) -> None:
        self.kernel, self.X, self.count = kernel, X, X.shape[0]
        self._pairs = None if kernel.measure is None else Pairs(kernel.measure, X)
        self.diagonal = kernel.diagonal(X).astype(np.float64)

    def __call__(self, index: Array) -> Array:
        """K(chosen, all)."""
        if self._pairs is None:
            return np.asarray(self.kernel.matrix(self.X[index], self.X), dtype=np.float64)
        values = self._pairs.tile(index, slice(0, self.count))
        self.kernel.transform(values)
        return values.astype(np.float64)


def _spread(columns: _Columns, count: int, generator: np.random.Generator) -> Array:
    chosen = [int(generator.integers(columns.count))]
    nearest = np.full(columns.count, np.inf)
    new = np.array(chosen)
    while len(chosen) < count:
        check_interruption()
        away = columns.diagonal[new][:, None] + columns.diagonal - 2.0 * columns(new)
        nearest = np.minimum(nearest, np.maximum(away, 0.0).min(axis=0))
        nearest[new] = 0.0
        total = np.cumsum(nearest)
        if total[-1] > 0.0:
            new = np.unique(np.searchsorted(total, total[-1] * generator.random(ROUND), side="right"))
            new = generator.permutation(np.minimum(new, columns.count - 1))
        else:  # all that is left equals a row chosen already
            new = np.setdiff1d(np.arange(columns.count), chosen)[: count - len(chosen)]
        chosen += new.tolist()
    return np.array(chosen[:count])


def _by_leverage(columns: _Columns, count: int, generator: np.random.Generator) -> Array:
    pilot = np.arange(min(PILOT, columns.count))
    block = columns(pilot)
    values, vectors = linalg.eigh(block[:, pilot])
    kept = values > 1e-10 * values[-1]
    features = (vectors[:, kept] / np.sqrt(values[kept])).T @ block
    ridge = RIDGE * columns.count
    inverse = linalg.inv(features @ features.T + ridge * np.eye(len(features)))
    # l = K (K + εn)⁻¹ on the diagonal; what the pilot does not see of a row, K_ii - |features|², counts as if it stood alone
    seen = np.einsum("ij,ij->j", features, inverse @ features)
    unseen = np.maximum(columns.diagonal - np.einsum("ij,ij->j", features, features), 0.0)
    scores = np.maximum(seen + unseen / (unseen + ridge), np.finfo(float).tiny)
    return np.argsort(generator.exponential(size=columns.count) / scores, kind="stable")[:count]
