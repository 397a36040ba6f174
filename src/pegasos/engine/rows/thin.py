"""CSR rows with few stored numbers, and products over pairs of stored numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from pegasos.engine.runtime.compiling import compiled

Array = np.ndarray[Any, Any]

#: Rows with at most one stored number in so many columns are thin: pairs of stored numbers cost less than a product of matrices.
THIN = 3
#: Rows in a block of thin ones: the matrix of all pairs of columns is made once a block.
THIN_ROWS = 1 << 16


def is_thin(X: Any) -> bool:
    """Whether these rows are sparse, and enough so."""
    return bool(sparse.issparse(X)) and THIN * X.nnz <= X.shape[0] * X.shape[1]


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
