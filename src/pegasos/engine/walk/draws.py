"""Sequences of drawn examples: a pure function of (kind, m, seed, stream, position).

Random draws are generated in pages, each from its own seed: a longer run, a resumed run and a run
in pieces see the same draws. Explicit draws are an array of row indices in the order in which
they are visited.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

SAMPLINGS = ("uniform", "permutation", "fixed-permutation", "in-order")
#: Draws of one random generator; with another size a seed gives other draws.
_UNIFORM_PAGE = 1 << 16


@dataclass(eq=False)
class Draws:
    """Examples 0..m-1 in the order in which they are drawn.

    uniform: independent draws with replacement; permutation: a new random order each epoch;
    fixed-permutation: one random order, kept; in-order: 0, 1, ..., m-1 again and again; an array:
    these rows, in this order. Streams (one per class, say) are independent of each other.

    >>> Draws("permutation", 5, seed=0).take(0, 10)
    array([1, 0, 2, 3, 4, 1, 2, 0, 3, 4])
    >>> Draws(np.array([4, 4, 0, 2]), 5).take(1, 3)
    array([4, 0])
    """

    sampling: str | Array
    m: int
    seed: int = 0
    stream: int = 0
    _page: tuple[int, Array] | None = field(default=None, repr=False, compare=False)

    def take(self, start: int, stop: int) -> Array:
        """Return the draws at positions start..stop-1."""
        if isinstance(self.sampling, np.ndarray):
            # A block is read ahead beyond the last step: there the last index is repeated, and
            # never visited.
            return self.sampling.take(np.arange(start, stop), mode="clip")
        if self.sampling == "in-order":
            return np.arange(start, stop, dtype=np.int64) % self.m
        length = _UNIFORM_PAGE if self.sampling == "uniform" else self.m
        out = np.empty(stop - start, dtype=np.int64)
        position = start
        while position < stop:
            number, offset = divmod(position, length)
            count = min(length - offset, stop - position)
            out[position - start : position - start + count] = self._load(number)[
                offset : offset + count
            ]
            position += count
        return out

    def _load(self, number: int) -> Array:
        if self.sampling == "fixed-permutation":
            number = 0
        if self._page is None or self._page[0] != number:
            random = np.random.Generator(
                np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=(self.stream, number)))
            )
            if self.sampling == "uniform":
                page = random.integers(self.m, size=_UNIFORM_PAGE)
            else:
                page = random.permutation(self.m)
            self._page = (number, page)
        return self._page[1]
