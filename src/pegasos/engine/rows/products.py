"""Products in fixed tiles with one BLAS thread each: equal bits for any number of threads."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.engine.runtime.threads import run_blocks

Array = np.ndarray[Any, Any]

#: Rows of a tile: of explicit features and of a stored matrix; parts of a CSR matrix whose sums are added up.
TILE_ROWS = 512
SPARSE_PARTS = 4


def row_tiles(count: int, step: int = TILE_ROWS) -> list[tuple[slice, slice]]:
    """Return all rows in tiles, for `run_blocks`."""
    return [
        (slice(start, min(start + step, count)), slice(None)) for start in range(0, count, step)
    ]


def times_transposed(matrix: Array, columns: Array) -> Array:
    """Return (matrix·columnsᵀ)ᵀ, for a stored kernel or rows of features."""
    out = np.empty((len(columns), len(matrix)))

    def work(rows: slice, _: slice) -> None:
        out[:, rows] = (matrix[rows] @ columns.T).T

    run_blocks(row_tiles(len(matrix)), work)
    return out


def combine_rows(columns: Array, matrix: Array) -> Array:
    """Return columns·matrix."""
    out = np.empty((len(columns), matrix.shape[1]), dtype=columns.dtype)

    def work(_: slice, tile: slice) -> None:
        out[:, tile] = columns @ matrix[:, tile]

    run_blocks(
        [
            (slice(None), slice(start, start + TILE_ROWS))
            for start in range(0, matrix.shape[1], TILE_ROWS)
        ],
        work,
    )
    return out


def row_parts(X: Any) -> list[tuple[slice, Any]]:
    """Split a CSR matrix into a few of consecutive rows, which share its memory if it is float64."""
    edges = np.linspace(0, X.shape[0], SPARSE_PARTS + 1).astype(int)
    parts = []
    for start, stop in itertools.pairwise(edges):
        low, high = X.indptr[start], X.indptr[stop]
        pieces = (
            X.data[low:high].astype(np.float64, copy=False),
            X.indices[low:high],
            X.indptr[start : stop + 1] - low,
        )
        parts.append(
            (
                slice(start, stop),
                sparse.csr_matrix(pieces, shape=(stop - start, X.shape[1]), copy=False),
            )
        )
    return parts
