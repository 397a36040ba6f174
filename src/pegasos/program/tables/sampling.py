"""Samples of rows and of hashes that are seen once, in blocks of any size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.program.tables.dataset import TEXT, Array, Column, is_frame

#: Approximate bytes of a word, and of a sparse row.
_WORD_BYTES, _SPARSE_BYTES = 32, 1000


class Draw:
    """Rows that are set aside: each with the same chance, by the seed and its number alone."""

    def __init__(self, seed: int, share: float) -> None:
        self._random, self._share = np.random.default_rng(seed), share

    def test(self, count: int) -> Array:
        """Return for each of the next rows whether it is set aside."""
        return self._random.random(count) < self._share


def rows_within(amount: float, columns: list[Column]) -> int:
    """Return how many rows take about `amount` bytes; at least 100."""
    row = sum(_WORD_BYTES if column.kind == TEXT else 8 for column in columns) or _SPARSE_BYTES
    return max(100, int(amount / row))


class Sample:
    """At most `most` of the wanted rows, drawn uniformly; twice as many are held meanwhile.

    The sample depends on the seed and the rows, not on the sizes of the blocks.

    >>> sample = Sample(0, most=3)
    >>> for start in range(0, 100, 10):
    ...     block = np.arange(start, start + 10.0)[:, None]
    ...     sample.see(block, wanted=block[:, 0] > 20)
    >>> rows, places = sample.rows()
    >>> len(rows), bool((rows[:, 0] == places).all()), bool((places > 20).all()), sample.seen
    (3, True, True, 79)
    """

    def __init__(self, seed: int, most: float = math.inf) -> None:
        # A stream of its own: the rows set aside must not determine the sampled ones.
        self._random, self.most = np.random.default_rng([seed, 1]), most
        #: Wanted rows, and all rows, so far.
        self.seen = self._passed = 0
        #: Of each block: rows, keys, numbers of rows, and arrays beside them.
        self._parts: list[list[Any]] = []
        self._below = 1.0

    def see(self, rows: Any, wanted: Array | None = None, *beside: Array) -> None:
        """Add rows (an array, a CSR matrix or a frame), and arrays with one value per row."""
        count = rows.shape[0]
        keys = self._random.random(count)
        wanted = np.ones(count, bool) if wanted is None else wanted
        places = np.arange(self._passed, self._passed + count)
        self._parts.append(_chosen([rows, keys, places, *beside], wanted & (keys < self._below)))
        self._passed += count
        self.seen += int(wanted.sum())
        if sum(len(part[1]) for part in self._parts) > 2 * self.most:
            self._shrink()

    def _shrink(self) -> None:
        keys = np.concatenate([part[1] for part in self._parts])
        if len(keys) > self.most:
            most = int(self.most)
            self._below = float(np.partition(keys, most)[most])
            kept = [_chosen(part, part[1] < self._below) for part in self._parts]
            self._parts = [[joined(list(pieces)) for pieces in zip(*kept, strict=True)]]

    @property
    def whole(self) -> bool:
        """Whether the sample holds all wanted rows."""
        return self.seen <= self.most

    def rows(self, most: float = math.inf) -> tuple[Any, ...]:
        """Return rows in their order, their numbers among all rows, and the arrays beside.

        At most `most` rows are those of a smaller sample with the same seed.
        """
        self._shrink()
        rows, keys, *rest = (joined(list(pieces)) for pieces in zip(*self._parts, strict=True))
        if len(keys) > most:
            chosen = keys < np.partition(keys, int(most))[int(most)]
            rows, *rest = _chosen([rows, *rest], chosen)
        return rows, *rest


def _chosen(part: list[Any], mask: Array) -> list[Any]:
    """Return copies, as a view would keep the whole block; or the block if all is chosen."""
    if mask.all():
        return part
    index = np.flatnonzero(mask)
    return [each[index] for each in part]


def joined(parts: list[Any]) -> Any:
    """Return the rows of arrays, frames or CSR matrices one below the other."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    if is_frame(parts[0]):
        import polars as pl

        return pl.concat(parts)
    width = max(part.shape[1] for part in parts)
    return sparse.vstack([widened(part, width) for part in parts], format="csr")


def widened(X: Any, width: int) -> Any:
    """Return CSR rows with zero columns appended."""
    return sparse.csr_matrix((X.data, X.indices, X.indptr), (X.shape[0], width))


class HashSample:
    """Hashes, all of them while they are few; then those divisible by `each`, a power of two.

    Equal hashes stay or go together, so a share of the distinct hashes is kept with all repeats.

    Parameters
    ----------
    most : number of hashes to keep.
    distinct : whether to drop repeats; then nothing stands beside the hashes.

    >>> words = HashSample(most=1000, distinct=True)
    >>> words.add(np.array([7, 5, 7], np.uint64))
    >>> words.each * len(words.rows())
    2
    """

    def __init__(self, most: float = math.inf, distinct: bool = False) -> None:
        self.most, self.distinct, self.each = most, distinct, 1
        self._parts: list[Array] = []

    def add(self, hashes: Array, *beside: Array) -> None:
        """Add hashes, and other hashes beside them."""
        self._parts.append(self._kept(np.column_stack([hashes, *beside])))
        if sum(map(len, self._parts)) > self.most:
            rows = self.rows()
            while len(rows) > self.most:
                self.each *= 2
                rows = self._kept(rows)
            self._parts = [rows]

    def _kept(self, rows: Array) -> Array:
        return rows[rows[:, 0] % np.uint64(self.each) == 0] if self.each > 1 else rows

    def rows(self) -> Array:
        """Return the kept hashes with the hashes beside them."""
        rows = np.concatenate(self._parts) if self._parts else np.zeros((0, 1), np.uint64)
        return np.unique(rows[:, 0])[:, None] if self.distinct else rows
