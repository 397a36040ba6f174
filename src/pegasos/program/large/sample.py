"""A sample of rows that come by once: drawn over all files by a seed, whatever the size of the parts they come in."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from pegasos.program.tables.dataset import is_frame

Array = np.ndarray[Any, Any]


class Sample:
    """At most `most` of the wanted rows, all sets of so many being equally likely: those with the smallest of numbers that are
    drawn for all rows. Up to twice as many are held meanwhile.

    >>> sample = Sample(0, most=3)
    >>> for start in range(0, 100, 10):
    ...     sample.see(np.arange(start, start + 10.0)[:, None], np.arange(start, start + 10) > 20)
    >>> rows, places = sample.rows()
    >>> len(rows), bool((rows[:, 0] == places).all()), bool((places > 20).all()), sample.seen
    (3, True, True, 79)
    """

    def __init__(self, seed: int, most: int) -> None:
        # a stream of its own: which rows are set aside must not tell which ones are sampled
        self._random, self.most = np.random.default_rng([seed, 1]), most
        #: Wanted rows that came by, and all of them.
        self.seen = self._passed = 0
        #: What is held of each part: rows, their keys, their numbers, and what came beside them.
        self._parts: list[list[Any]] = []
        self._below = 1.0

    def see(self, rows: Any, wanted: Array | None = None, *beside: Array) -> None:
        """Some more rows (an array, a CSR matrix or a frame), and beside them arrays of as many things."""
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
            self._below = float(np.partition(keys, self.most)[self.most])
            kept = [_chosen(part, part[1] < self._below) for part in self._parts]
            self._parts = [[_joined(list(pieces)) for pieces in zip(*kept, strict=True)]]

    @property
    def whole(self) -> bool:
        """Whether all wanted rows are in the sample."""
        return self.seen <= self.most

    def rows(self) -> tuple[Any, ...]:
        """The rows of the sample in their order, their numbers among all rows that came by, and what came beside them."""
        self._shrink()
        rows, _, *rest = (_joined(list(pieces)) for pieces in zip(*self._parts, strict=True))
        return rows, *rest


def _chosen(part: list[Any], mask: Array) -> list[Any]:
    """Copies of what the mask chooses: a view would keep the whole part."""
    index = np.flatnonzero(mask)
    return [each[index] for each in part]


def _joined(parts: list[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    if is_frame(parts[0]):
        import polars as pl

        return pl.concat(parts)
    width = max(part.shape[1] for part in parts)
    return sparse.vstack(
        [sparse.csr_matrix((p.data, p.indices, p.indptr), (p.shape[0], width)) for p in parts],
        format="csr",
    )
