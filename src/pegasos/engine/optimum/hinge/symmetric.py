"""Scores of all rows from many coefficients, where each value of the kernel is computed once and used for both of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.engine.rows.sources import GATHERED_ROWS, KernelRows
from pegasos.engine.runtime.interruption import check_interruption
from pegasos.engine.runtime.threads import run_each, single_threaded_blas

Array = np.ndarray[Any, Any]

#: Rows of a tile, and columns of tiles whose shares of other rows' scores wait to be added in their order.
TILE_ROWS, COLUMNS_AT_ONCE = 2 * GATHERED_ROWS, 8
#: Values of the kernel that are computed sooner than threads are started.
FEW_VALUES = 2**17


def scores_by_symmetry(
    rows: KernelRows, index: Array, coefficients: Array, places: Array | None = None
) -> Array:
    """coefficients·K[index] of all rows, or of these places, (vectors x rows), in float64; `index` are different rows.

    A job takes a column of tiles. Within `index` it has those tiles only that lie above the diagonal, and what they mean for the
    rows on their side is set aside, so that all sums are taken in one order, whatever the threads.
    """
    if places is not None and len(index) * len(places) <= FEW_VALUES:
        return _few_scores(rows, index, coefficients, places)
    scores = np.zeros((len(coefficients), rows.count))
    outside = np.full(rows.count, places is None)
    outside[places] = True
    outside[index] = False
    own, others = _tiles(index), _tiles(np.flatnonzero(outside))
    values = _tiles(np.arange(len(index)))
    sides = np.zeros((COLUMNS_AT_ONCE, *coefficients.shape))

    def column(job: int) -> None:
        inside = job < len(own)
        columns = own[job] if inside else others[job - len(own)]
        for i in range(job + 1 if inside else len(own)):
            tile = rows.passing(own[i], columns).astype(np.float64, copy=False)
            scores[:, columns] += coefficients[:, values[i]] @ tile
            if inside and i < job:
                sides[job % COLUMNS_AT_ONCE][:, values[i]] = coefficients[:, values[job]] @ tile.T

    for first in range(0, len(own) + len(others), COLUMNS_AT_ONCE):
        check_interruption()
        jobs = range(first, min(first + COLUMNS_AT_ONCE, len(own) + len(others)))
        sides[...] = 0.0
        # the longest first, so that no thread ends up alone with one
        run_each(column, jobs[::-1], rows.most_workers)
        if first < len(own):
            scores[:, index] += sides.sum(axis=0)
    return scores if places is None else scores[:, places]


def _few_scores(rows: KernelRows, index: Array, coefficients: Array, places: Array) -> Array:
    """Return the same scores, computed by one thread."""
    with single_threaded_blas():
        return np.asarray(coefficients @ rows.passing(index, places).astype(np.float64, copy=False))


def _tiles(places: Array) -> list[Array]:
    return [places[start : start + TILE_ROWS] for start in range(0, len(places), TILE_ROWS)]
