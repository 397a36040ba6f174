"""What working sets ask of rows: the kernel within a small set, and the scores of all rows after some coefficients changed.

Scores are float64 whatever the rows are, (predictors x all rows), without the constant feature. A kernel's lines (K between one
row and all rows) come from a stored matrix, or are computed when first needed and kept as long as the memory allows.
"""

from __future__ import annotations

import math
import threading
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from pegasos.engine.optimum.hinge.pair_steps import SetKernel
from pegasos.engine.optimum.hinge.symmetric import scores_by_symmetry
from pegasos.engine.rows.sources import (
    COMPUTED_COLUMNS,
    GATHERED_ROWS,
    TILE_COLUMNS,
    ExplicitRows,
    GramRows,
    KernelRows,
    column_tiles,
    read_only,
)
from pegasos.engine.runtime.compiling import compiled
from pegasos.engine.runtime.interruption import check_interruption
from pegasos.engine.runtime.threads import blas_threads, run_blocks, single_threaded_blas

Array = np.ndarray[Any, Any]

#: From this many predictors on that change at a row, and this share of all, a matrix product beats adding line by line.
PRODUCT_FROM, PRODUCT_SHARE = 10, 0.5
#: Rows of the kernel within a set that are computed at once.
SET_ROWS = 64
#: Explicit rows multiplied at once, where their products must be in float64.
ROWS_AT_ONCE = 16384


class Lines(Protocol):
    """Rows as working sets see them."""

    #: Whether lines are rounded to float32, so that scores have to be computed once more in the end.
    rounded: bool
    #: How far a value of a rounded line is from the true one at most; infinite where that is not known.
    error: float
    #: Whether all lines are there, so that scores from them are cheaper than exact ones.
    whole: bool
    #: Whether predictors may add their changes while others do, and lose nothing by not doing it together.
    independent: bool
    #: How many threads may ask at once (None: any number).
    most_workers: int | None

    @property
    def rows(self) -> Any:
        """The rows whose lines these are, as they are cheapest to ask for a sample."""

    def within(self, index: Array, constant: float, factor: float, kind: Any) -> SetKernel:
        """The kernel between these rows, with the constant feature, times a factor, in this dtype."""

    def done_with(self, kernel: SetKernel) -> None:
        """The memory of a set's kernel may be used again."""

    def add(self, index: Array, changes: Array, scores: Array) -> None:
        """scores += changes·K[index], changes (predictors x index) and scores (predictors x all rows) in float64."""

    def unrounded(self) -> Lines:
        """The same lines in the precision of the rows, in as much memory; these here are gone then."""

    def scores_of(
        self, index: Array, coefficients: Array, places: Array | None = None, rounded: bool = False
    ) -> Array:
        """coefficients·K[index] of all rows, or of these places, in the precision of the rows, or as rounded as lines are.

        No line is kept for it.
        """


@compiled
def add_segments(
    slots: Array, changes: Array, values: Array, start: int, stop: int, scores: Array
) -> None:
    """scores[j, start:stop] += changes[j, r] values[slots[r], start:stop], four lines at a time: scores are touched less.

    Numbers that stay are read before a loop: for all the compiler knows, writing scores might change them (3 times faster).
    """
    used = np.empty(slots.size, dtype=np.int64)
    for j in range(changes.shape[0]):
        own, target, count = changes[j], scores[j, start:stop], 0
        for r in range(slots.size):
            if own[r] != 0.0:
                used[count] = r
                count += 1
        whole = count - count % 4
        for k in range(0, whole, 4):
            p, q, r, s = used[k], used[k + 1], used[k + 2], used[k + 3]
            first, second = values[slots[p], start:stop], values[slots[q], start:stop]
            third, fourth = values[slots[r], start:stop], values[slots[s], start:stop]
            a, b, c, d = own[p], own[q], own[r], own[s]
            for i in range(target.size):
                target[i] += (a * first[i] + b * second[i]) + (c * third[i] + d * fourth[i])
        for k in range(whole, count):
            change, line = own[used[k]], values[slots[used[k]], start:stop]
            for i in range(target.size):
                target[i] += change * line[i]


@compiled
def add_lines(slots: Array, changes: Array, values: Array, scores: Array) -> None:
    """All columns of `add_segments`, in segments that stay in the cache meanwhile."""
    for start in range(0, scores.shape[1], TILE_COLUMNS):
        add_segments(
            slots, changes, values, start, min(start + TILE_COLUMNS, scores.shape[1]), scores
        )


class ExplicitLines:
    """Explicit features: the scores follow from the vector that the changes are."""

    rounded, whole, independent = False, True, False
    error = math.inf
    most_workers: int | None = None

    def __init__(self, rows: ExplicitRows) -> None:
        self._rows = rows

    @property
    def rows(self) -> ExplicitRows:
        return self._rows

    def scores_of(
        self, index: Array, coefficients: Array, places: Array | None = None, rounded: bool = False
    ) -> Array:
        return _added_to_zero(self, index, coefficients, self._rows.count, places)

    def unrounded(self) -> Lines:
        return self

    def within(self, index: Array, constant: float, factor: float, kind: Any) -> SetKernel:
        block = self._rows.X[index].astype(np.float64)
        with single_threaded_blas():  # the same bits, whoever asks
            products = block @ block.T
        products = products.toarray() if sparse.issparse(products) else products
        return SetKernel.whole((factor * (products + constant)).astype(kind), factor)

    def done_with(self, kernel: SetKernel) -> None:
        pass

    def add(self, index: Array, changes: Array, scores: Array) -> None:
        X = self._rows.X
        vectors = np.asarray(X[index].T.astype(np.float64) @ changes.T)
        for start in range(0, self._rows.count, ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            scores[:, part] += np.asarray(X[part].astype(np.float64, copy=False) @ vectors).T


class StoredLines:
    """A stored kernel matrix."""

    rounded, whole, independent = False, True, True
    error = math.inf
    most_workers: int | None = None

    def __init__(self, values: Array) -> None:
        self._values = values
        self._capacity, self._width = values.shape
        self._thread = threading.local()
        self._spare: list[Array] = []

    @property
    def rows(self) -> Any:
        return GramRows(self._values)

    def scores_of(
        self, index: Array, coefficients: Array, places: Array | None = None, rounded: bool = False
    ) -> Array:
        return _added_to_zero(self, index, coefficients, self._width, places)

    def unrounded(self) -> Lines:
        return self

    def _slots(self, index: Array) -> Array:
        """Where in `_values` the lines of these rows are."""
        return index

    def within(self, index: Array, constant: float, factor: float, kind: Any) -> SetKernel:
        K, line, count = (
            self._kernel_room(len(index), kind),
            np.full(len(index), -1),
            np.zeros(1, dtype=np.int64),
        )
        columns = index[:0] if self._is_all(index) else index
        return SetKernel(
            K, line, count, read_only(self._values), self._slots(index), columns, constant, factor
        )

    def _is_all(self, index: Array) -> bool:
        """Whether these are all rows, in their order."""
        return len(index) == self._width and bool((index[1:] > index[:-1]).all())

    @property
    def matrix(self) -> Array:
        """All of it, where it is whole."""
        return read_only(self._values)

    def square(self, size: int, kind: Any) -> Array:
        """Room for the kernel of a set: that of one before if it is enough, because fresh pages are slower than the work."""
        needed = size * size * np.dtype(kind).itemsize
        try:
            kept = self._spare.pop()
        except IndexError:
            kept = np.empty(0, dtype=kind)
        if kept.nbytes < needed:
            kept = np.empty(size * size, dtype=kind)
        return kept.view(np.uint8)[:needed].view(kind)

    def give_back(self, square: Array) -> None:
        """Its memory, all of it, may be used again."""
        assert square.base is not None
        self._spare.append(square.base)

    def _kernel_room(self, size: int, kind: Any) -> Array:
        return self.square(size, kind).reshape(size, size)

    def done_with(self, kernel: SetKernel) -> None:
        self.give_back(kernel.K)

    def add(self, index: Array, changes: Array, scores: Array) -> None:
        if (
            len(changes) == 1 and self.whole and blas_threads() == 1
        ):  # nobody to share the work with
            add_lines(index, changes, self._values, scores)
            return
        used = np.flatnonzero(changes.any(axis=0))
        dense = np.count_nonzero(changes) >= max(PRODUCT_FROM, PRODUCT_SHARE * len(changes)) * len(
            used
        )
        for start in range(0, len(used), self._capacity):
            part = used[start : start + self._capacity]
            slots, values = self._slots(index[part]), np.ascontiguousarray(changes[:, part])

            def work(
                _: slice, columns: slice, slots: Array = slots, values: Array = values
            ) -> None:
                if dense:
                    self._add_products(slots, values, columns, scores)
                else:
                    add_segments(slots, values, self._values, columns.start, columns.stop, scores)

            run_blocks(column_tiles(len(part), self._width), work)

    def _add_products(self, slots: Array, changes: Array, columns: slice, scores: Array) -> None:
        for start in range(0, len(slots), GATHERED_ROWS):
            part = slice(start, start + GATHERED_ROWS)
            lines = self._buffer(len(slots[part]), columns.stop - columns.start)
            lines[...] = self._values[slots[part], columns]
            scores[:, columns] += changes[:, part] @ lines

    def _buffer(self, rows: int, width: int) -> Array:
        """Float64 numbers of this thread that are used again and again: fresh pages are slower than the work."""
        kept = getattr(self._thread, "numbers", None)
        if kept is None:
            kept = self._thread.numbers = np.empty(GATHERED_ROWS * TILE_COLUMNS)
        lines: Array = kept[: rows * width].reshape(rows, width)
        return lines


class RoundedMatrix(StoredLines):
    """The kernel matrix in float32 of rows that are float64; scores are made exact in the end."""

    rounded = True

    def __init__(self, rows: KernelRows) -> None:
        self._exact_rows = rows
        super().__init__(rows.rounded().matrix())

    def unrounded(self) -> Lines:
        del self._values, self._spare
        return StoredLines(self._exact_rows.matrix())

    def scores_of(
        self, index: Array, coefficients: Array, places: Array | None = None, rounded: bool = False
    ) -> Array:
        return scores_by_symmetry(self._exact_rows, index, coefficients, places)


class KeptLines(StoredLines):
    """Lines of a kernel that are computed when first needed; where there is no room the longest unused ones go.

    Rounded lines take half the memory and half the time. What a working set does with them is made exact in the end.
    """

    whole = independent = False

    def __init__(self, rows: KernelRows, capacity: int, rounded: bool = False) -> None:
        self.rounded = rounded
        self._exact_rows = rows
        self._rows = rows.rounded() if rounded else rows
        super().__init__(np.empty((min(capacity, rows.count), rows.count), dtype=self._rows.dtype))
        self._slot_of = np.full(rows.count, -1, dtype=np.int64)
        self._row_in = np.full(self._capacity, -1, dtype=np.int64)
        self._used = np.full(self._capacity, -1, dtype=np.int64)
        self._time = 0
        self.most_workers = rows.most_workers

    @property
    def rows(self) -> KernelRows:
        return self._rows

    def unrounded(self) -> Lines:
        if not self.rounded:
            return self
        del self._values, self._spare
        return KeptLines(self._exact_rows, max(GATHERED_ROWS, self._capacity // 2))

    def scores_of(
        self, index: Array, coefficients: Array, places: Array | None = None, rounded: bool = False
    ) -> Array:
        return scores_by_symmetry(
            self._rows if rounded else self._exact_rows, index, coefficients, places
        )

    def within(self, index: Array, constant: float, factor: float, kind: Any) -> SetKernel:
        """Of rows whose lines are not there the set's part only: many of them will not change, and then no line is needed."""
        slots = self._slot_of[index]
        K, missing = self._kernel_room(len(index), kind), np.flatnonzero(slots < 0)

        def work(part: slice, _: slice) -> None:
            tile = self._rows.passing(index[missing[part]], index)
            tile += constant
            tile *= factor
            K[part] = tile

        parts = [
            (slice(start, min(start + SET_ROWS, len(missing))), slice(None))
            for start in range(0, len(missing), SET_ROWS)
        ]
        run_blocks(parts, work, most_workers=self.most_workers)
        line = np.full(len(index), -1)
        line[missing] = np.arange(len(missing))
        return SetKernel(
            K,
            line,
            np.array([len(missing)]),
            read_only(self._values),
            slots,
            index,
            constant,
            factor,
        )

    def _slots(self, index: Array) -> Array:
        self._time += 1
        kept = index[self._slot_of[index] >= 0]
        self._used[self._slot_of[kept]] = self._time
        missing = index[self._slot_of[index] < 0]
        if len(missing):
            slots = np.argsort(self._used, kind="stable")[: len(missing)]
            before = self._row_in[slots]
            self._slot_of[before[before >= 0]] = -1
            self._slot_of[missing], self._row_in[slots], self._used[slots] = (
                slots,
                missing,
                self._time,
            )
            self._compute(missing, slots)
        return self._slot_of[index]

    def _compute(self, missing: Array, slots: Array) -> None:
        for start in range(0, len(missing), GATHERED_ROWS):
            check_interruption()
            part = slice(start, start + GATHERED_ROWS)

            def work(_: slice, columns: slice, part: slice = part) -> None:
                self._values[slots[part], columns] = self._rows.passing(missing[part], columns)

            tiles = column_tiles(len(missing[part]), self._width, COMPUTED_COLUMNS)
            run_blocks(tiles, work, most_workers=self.most_workers)


def _added_to_zero(
    lines: Lines, index: Array, coefficients: Array, count: int, places: Array | None
) -> Array:
    scores = np.zeros((len(coefficients), count))
    lines.add(index, coefficients, scores)
    return scores if places is None else scores[:, places]


def lines_of(rows: Any, memory: int, rounding: bool = False) -> Lines:
    """The lines of any rows, within so many bytes; rounded where that is allowed and possible."""
    if isinstance(rows, ExplicitRows):
        return ExplicitLines(rows)
    if isinstance(rows, GramRows):
        return StoredLines(rows.K)
    rounded = rounding and rows.can_be_rounded
    return KeptLines(
        rows,
        max(GATHERED_ROWS, memory // (rows.count * (4 if rounded else rows.dtype.itemsize))),
        rounded,
    )
