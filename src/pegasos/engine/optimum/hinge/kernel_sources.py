"""Sources of kernel values for the working-set method: within a working set, and rows of K.

Scores are float64 for any dtype of the rows, and exclude the constant feature. Rows of K come
from a stored matrix or a cache of rows, or are inner products of explicit features.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from pegasos.engine.optimum.hinge.pair_steps import SetKernel
from pegasos.engine.rows.features import read_only
from pegasos.engine.rows.kernel_rows import (
    COMPUTED_COLUMNS,
    GATHERED_ROWS,
    TILE_COLUMNS,
    KernelRows,
)
from pegasos.engine.rows.sources import Rows
from pegasos.engine.runtime.compiling import compiled
from pegasos.engine.runtime.interruption import check_interruption
from pegasos.engine.runtime.memory import Buffers
from pegasos.engine.runtime.threads import run_each, single_threaded_blas, slices

Array = np.ndarray[Any, Any]

#: Rows of a set's kernel that one job computes (measured: 64 rows of 1,000 take 1 ms on two cores).
SET_ROWS = 64
#: Bytes up to which a kernel matrix is always stored. By symmetry half of it is computed: 15 ms for
#: 4,000 rows of 10 features in float32.
SMALL_MATRIX_BYTES = 2**26
#: Largest kernel matrix or cache of kernel rows in bytes: new memory may cost seconds per GB.
MOST_KERNEL_BYTES = 2**30
#: Explicit rows that are converted to float64 at once: 16 MB for 128 features.
ROWS_AT_ONCE = 16384


class KernelSource:
    """Source of the kernel values of all rows.

    Attributes
    ----------
    rounded : whether values are float32, so that final scores must be recomputed exactly.
    stored : whether all rows of K are stored, so that predictors can be solved in parallel.
    count : number of rows.
    """

    rounded = stored = False
    count: int

    def set_kernel(self, index: Array, constant: float, factor: float, dtype: Any) -> SetKernel:
        """Return the kernel between these rows, plus a constant, times a factor."""
        raise NotImplementedError

    def add(self, index: Array, changes: Array, scores: Array) -> None:
        """Add changes·K[index] to the scores of all rows, in place."""
        raise NotImplementedError

    def scores(self, index: Array, coefficients: Array) -> Array:
        """Return coefficients·K[index] (vectors x rows)."""
        scores = np.zeros((len(coefficients), self.count))
        for own, target in zip(coefficients, scores, strict=True):
            self.add(index, own, target)
        return scores

    def exact_scores(self, index: Array, coefficients: Array, places: Array) -> Array:
        """Return coefficients·K[index] (vectors x places) in the precision of the rows."""
        return self.scores(index, coefficients)[:, places]

    def unrounded(self) -> KernelSource:
        """Return a kernel in the precision of the rows, which replaces this one."""
        return self


@compiled
def add_rows(
    slots: Array, changes: Array, values: Array, start: int, stop: int, scores: Array
) -> None:
    """scores[start:stop] += changes[r] values[slots[r], start:stop], four rows at a time.

    Factors are read before the loop, because the compiler must assume that writing scores changes
    them (measured: 3 times faster).
    """
    target, whole = scores[start:stop], slots.size - slots.size % 4
    for k in range(0, whole, 4):
        first, second = values[slots[k], start:stop], values[slots[k + 1], start:stop]
        third, fourth = values[slots[k + 2], start:stop], values[slots[k + 3], start:stop]
        a, b, c, d = changes[k], changes[k + 1], changes[k + 2], changes[k + 3]
        for i in range(target.size):
            target[i] += (a * first[i] + b * second[i]) + (c * third[i] + d * fourth[i])
    for k in range(whole, slots.size):
        change, row = changes[k], values[slots[k], start:stop]
        for i in range(target.size):
            target[i] += change * row[i]


class ExplicitKernel(KernelSource):
    """Inner products of explicit features; scores are updated by the change of w."""

    def __init__(self, rows: Rows) -> None:
        self._rows, self.count = rows, rows.count

    def set_kernel(self, index: Array, constant: float, factor: float, dtype: Any) -> SetKernel:
        """Compute the kernel of the working set from all its inner products."""
        block = self._rows.X[index].astype(np.float64)
        with single_threaded_blas():  # the same bits for any number of threads
            products = block @ block.T
        products = products.toarray() if sparse.issparse(products) else products
        K, places = (factor * (products + constant)).astype(dtype), np.arange(len(index))
        gathered = np.array([len(K)])
        return SetKernel(K, places, gathered, read_only(K), places, places, constant, factor)

    def add(self, index: Array, changes: Array, scores: Array) -> None:
        """Add changes·K[index] to the scores as X·(Σ changes x_i)."""
        X = self._rows.X
        vector = np.asarray(X[index].T.astype(np.float64) @ changes)
        for part in slices(self.count, ROWS_AT_ONCE):
            scores[part] += np.asarray(X[part].astype(np.float64, copy=False) @ vector)


class StoredKernel(KernelSource):
    """A stored kernel matrix."""

    stored = True

    def __init__(self, values: Array) -> None:
        self._values, self.count = read_only(values), len(values)
        self._buffers = Buffers()

    def set_kernel(self, index: Array, constant: float, factor: float, dtype: Any) -> SetKernel:
        """Return a set kernel whose rows are copied from the matrix when steps first need them."""
        K = self._buffers.take("set", (len(index), len(index)), dtype)
        line, gathered = np.full(len(index), -1), np.zeros(1, dtype=np.int64)
        return SetKernel(K, line, gathered, self._values, index, index, constant, factor)

    def add(self, index: Array, changes: Array, scores: Array) -> None:
        """Add changes·K[index] to the scores, in tiles of the stored matrix."""
        _add_in_tiles(index, changes, self._values, scores)


class RoundedKernel(StoredKernel):
    """The kernel matrix of float64 rows, stored in float32."""

    rounded = True

    def __init__(self, rows: KernelRows) -> None:
        super().__init__(rows.rounded().matrix())
        self._exact_rows = rows

    def exact_scores(self, index: Array, coefficients: Array, places: Array) -> Array:
        """Compute kernel values in float64."""
        return self._exact_rows.combine(coefficients, index, places, np.float64)

    def unrounded(self) -> KernelSource:
        """Return the matrix in float64, after the memory of this one is freed."""
        del self._values
        return StoredKernel(self._exact_rows.matrix())


class CachedKernel(KernelSource):
    """Least-recently-used cache of kernel rows.

    Rows in float32 take half the memory and half the time.
    """

    def __init__(self, rows: KernelRows, capacity: int, rounded: bool = False) -> None:
        self.rounded, self.count = rounded, rows.count
        self._exact_rows = rows
        self._rows = rows.rounded() if rounded else rows
        self._capacity = min(capacity, rows.count)
        self._values = np.empty((self._capacity, rows.count), dtype=self._rows.dtype)
        self._slot_of = np.full(rows.count, -1, dtype=np.int64)
        self._row_in = np.full(self._capacity, -1, dtype=np.int64)
        self._last_use = np.full(self._capacity, -1, dtype=np.int64)
        self._time = 0
        self._buffers = Buffers()

    def set_kernel(self, index: Array, constant: float, factor: float, dtype: Any) -> SetKernel:
        """Compute kernel values within the set only, where rows are not cached."""
        slots = self._slot_of[index]
        K = self._buffers.take("set", (len(index), len(index)), dtype)
        missing = np.flatnonzero(slots < 0)

        def work(part: slice) -> None:
            tile = self._rows.passing(index[missing[part]], index)
            tile += constant
            tile *= factor
            K[part] = tile

        run_each(work, slices(len(missing), SET_ROWS), self._rows.most_workers)
        line, gathered = np.full(len(index), -1), np.array([len(missing)])
        line[missing] = np.arange(len(missing))
        values = read_only(self._values)
        return SetKernel(K, line, gathered, values, slots, index, constant, factor)

    def add(self, index: Array, changes: Array, scores: Array) -> None:
        """Add changes·K[index] to the scores; compute rows of K that are not cached."""
        for start in range(0, len(index), self._capacity):
            part = slice(start, start + self._capacity)
            slots = self._find_or_compute(index[part])
            _add_in_tiles(slots, changes[part], read_only(self._values), scores)

    def scores(self, index: Array, coefficients: Array) -> Array:
        """Compute scores tile by tile, without the cache."""
        everywhere = np.arange(self.count)
        return self._rows.combine(coefficients, index, everywhere, np.float64)

    def exact_scores(self, index: Array, coefficients: Array, places: Array) -> Array:
        """Compute kernel values in the precision of the rows."""
        return self._exact_rows.combine(coefficients, index, places, np.float64)

    def unrounded(self) -> KernelSource:
        """Return a cache of unrounded rows."""
        if not self.rounded:
            return self
        del self._values
        return CachedKernel(self._exact_rows, max(GATHERED_ROWS, self._capacity // 2))

    def _find_or_compute(self, index: Array) -> Array:
        """Return the slots of these rows; missing ones replace the least recently used."""
        self._time += 1
        slots = self._slot_of[index]
        self._last_use[slots[slots >= 0]] = self._time
        missing = index[slots < 0]
        if len(missing):
            free = np.argsort(self._last_use, kind="stable")[: len(missing)]
            evicted = self._row_in[free]
            self._slot_of[evicted[evicted >= 0]] = -1
            self._slot_of[missing], self._row_in[free] = free, missing
            self._last_use[free] = self._time
            self._compute(missing, free)
        return self._slot_of[index]

    def _compute(self, index: Array, slots: Array) -> None:
        for start in range(0, len(index), GATHERED_ROWS):
            check_interruption()
            part = slice(start, start + GATHERED_ROWS)

            def work(columns: slice, part: slice = part) -> None:
                self._values[slots[part], columns] = self._rows.passing(index[part], columns)

            tiles = slices(self._values.shape[1], COMPUTED_COLUMNS)
            run_each(work, tiles, self._rows.most_workers)


def _add_in_tiles(slots: Array, changes: Array, values: Array, scores: Array) -> None:
    used = np.flatnonzero(changes)
    slots, changes = slots[used], changes[used]

    def work(columns: slice) -> None:
        add_rows(slots, changes, values, columns.start, columns.stop, scores)

    run_each(work, slices(len(scores), TILE_COLUMNS))


def kernel_source(
    rows: Any, memory: int, rounding: bool = False, matrix_bytes: int = SMALL_MATRIX_BYTES
) -> KernelSource:
    """Return a kernel source of any rows within `memory`, in float32 if `rounding` is allowed.

    A kernel matrix that is not stored yet is computed if it takes at most `matrix_bytes`.
    """
    if not rows.dual:
        return ExplicitKernel(rows)
    computed = rows.computed
    if computed is None or (rows.stored and not rows.computes_rows):
        return StoredKernel(rows.matrix())
    rounded = rounding and computed.can_be_rounded
    row_bytes = rows.count * (4 if rounded else rows.dtype.itemsize)
    if rows.count * row_bytes <= min(memory, matrix_bytes):
        return RoundedKernel(computed) if rounded else StoredKernel(rows.matrix())
    capacity = min(memory, MOST_KERNEL_BYTES) // row_bytes
    return CachedKernel(computed, max(GATHERED_ROWS, capacity), rounded)
