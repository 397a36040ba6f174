"""Rows of which few numbers are stored: CSR, and CSR rows that stand for shifted ones; products that touch only what is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.engine.runtime.compiling import compiled

Array = np.ndarray[Any, Any]

#: Rows with at most one stored number in so many columns are thin: pairs of stored numbers cost less than a product of matrices.
THIN = 3
#: Rows in a block of thin ones: the matrix of all pairs of columns is made once a block.
THIN_ROWS = 1 << 16


@dataclass(frozen=True)
class ShiftedRows:
    """CSR rows u that stand for u + shift: centred columns of words, of which each row has one, without a number for each."""

    rows: Any
    shift: Array

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.shape

    @property
    def dtype(self) -> Any:
        return self.rows.dtype

    def __getitem__(self, part: slice) -> ShiftedRows:
        return ShiftedRows(self.rows[part], self.shift)

    def toarray(self) -> Array:
        return np.asarray(self.rows.toarray() + self.shift)


def is_thin(X: Any) -> bool:
    """Whether these rows are sparse, and enough so."""
    stored = X.rows if isinstance(X, ShiftedRows) else X
    return bool(sparse.issparse(stored)) and THIN * stored.nnz <= stored.shape[0] * stored.shape[1]


def pairs(rows: Any, weights: Array, out: Array) -> Array:
    """out[...] = Σ weights_i u_i u_iᵀ of CSR rows; answers Σ weights_i u_i."""
    sums = np.zeros(rows.shape[1])
    out[:] = 0.0
    _add_pairs(rows.indptr, rows.indices, rows.data, weights, out, sums)
    low = np.tril_indices(len(out), -1)
    out[low[1], low[0]] = out[low]
    return sums


@compiled
def _add_pairs(
    ends: Array, columns: Array, values: Array, weights: Array, out: Array, sums: Array
) -> None:
    """The lower half of the matrix: every pair of stored numbers of a row, once."""
    for i in range(weights.size):
        for p in range(ends[i], ends[i + 1]):
            column, scaled = columns[p], weights[i] * values[p]
            sums[column] += scaled
            for q in range(ends[i], p + 1):
                other, product = columns[q], scaled * values[q]
                if other < column:
                    out[column, other] += product
                elif other > column:
                    out[other, column] += product
                else:
                    out[column, column] += (
                        product if p == q else 2.0 * product
                    )  # a column that a row stores twice
