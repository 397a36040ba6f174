"""Sources of rows: explicit features (dense, CSR), a Gram matrix, or a kernel computed on the fly.

A walk needs four things of rows, always for a block of drawn examples `index`:

    scores   of the drawn examples under all columns, from the walk's weights
    cross    the kernel between the drawn examples
    add      the changes of a block to the weights
    diagonal K_ii

In the primal the weights are the vectors V (columns x features). In the dual they are the scores
of all rows, F = A·K (columns x rows): reading a block's scores is free, and only examples at
which some coefficient changed cost a row of K.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.rows.features import read_only, selected, times_transposed
from pegasos.engine.rows.kernel_rows import GATHERED_ROWS, TILE_COLUMNS, DualRows, KernelRows
from pegasos.engine.runtime.compiling import compiled
from pegasos.engine.runtime.memory import Buffers

Array = np.ndarray[Any, Any]


class Rows(Protocol):
    """Interface through which methods access rows, with explicit features or a kernel.

    Parameters
    ----------
    count, dtype : number of rows and dtype of values.
    width : length of the vector that a predictor has on these rows.
    dual : whether a predictor is a combination of rows (a kernel), not a vector of features.
    stored : whether the kernel matrix is an array.
    is_sparse, is_mapped : whether features are CSR, or are computed in every pass.
    computes_rows : whether kernel values have yet to be computed, and are not shared with others.
    """

    count: int
    width: int
    dtype: Any
    dual: bool
    stored: bool
    is_sparse: bool
    is_mapped: bool
    computes_rows: bool
    X: Any

    @property
    def diagonal(self) -> Array:
        """K_ii of all rows."""

    @property
    def computed(self) -> KernelRows | None:
        """Kernel computed from the rows; None for features or a matrix alone."""

    def kernel_scores(self, coefficients: Array, members: Array | None) -> Array:
        """Return coefficients·K (vectors x rows) for the members, in fixed tiles."""

    def kernel_lines(self, index: Array, members: Array | None) -> Array:
        """Return K between chosen rows and the members."""

    def weights_of(self, coefficients: Array) -> Array:
        """Return w = Σ c_i x_i (explicit features only)."""

    def matrix(self) -> Array:
        """Return K between all rows (kernels only)."""

    def evaluate(self, index: Array, vectors: Array) -> Array:
        """Return the scores of chosen rows, vectors x rows."""

    def add(self, index: Array, changes: Array, weights: Array) -> None:
        """Add changes of coefficients of chosen rows to the weights of a walk."""


class GramRows(DualRows):
    """A stored kernel matrix, symmetric, in the dtype in which to compute."""

    stored = True

    def __init__(self, K: Array | None, kernel: Kernel | None = None, X: Any = None) -> None:
        self._K = None if K is None else read_only(np.ascontiguousarray(K))
        self._kernel, self._X = kernel, X
        given = X if K is None else K
        self.dtype = given.dtype
        self.count = self.width = given.shape[0]
        self._buffers = Buffers()

    @classmethod
    def of(cls, kernel: Kernel, X: Any) -> GramRows:
        """Return the Gram matrix of a resolved kernel, computed on first use as a whole."""
        return cls(None, kernel, X)

    @property
    def K(self) -> Array:  # noqa: N802 - its name everywhere
        """The matrix."""
        if self._K is None:
            assert self._kernel is not None
            self._K = read_only(self._kernel.matrix(self._X, self._X))
        return self._K

    def matrix(self) -> Array:
        """Return the matrix."""
        return self.K

    def some(self, index: Array) -> GramRows:
        """Return the kernel between some of the rows."""
        return GramRows(self.between(index, index))

    @property
    def computes_rows(self) -> bool:
        """Whether the matrix is still to be computed."""
        return self._K is None

    @cached_property
    def computed(self) -> KernelRows | None:
        """Kernel computed from the rows; None for a matrix alone."""
        return None if self._kernel is None else KernelRows(self._kernel, self._X)

    def kernel_scores(self, coefficients: Array, members: Array | None) -> Array:
        """Return coefficients·K (vectors x rows) for the members."""
        return selected(times_transposed(self.K, coefficients), members)

    def kernel_lines(self, index: Array, members: Array | None) -> Array:
        """Return rows of K for the members."""
        return selected(self.K[index], members)

    @cached_property
    def diagonal(self) -> Array:
        """K_ii of all rows."""
        if self._K is not None:
            return self._K.diagonal().astype(np.float64)
        assert self.computed is not None
        return self.computed.diagonal

    def between(self, rows: Array, columns: Any) -> Array:
        """Return the kernel between two sets of rows."""
        if self._K is not None:
            return self._K[np.ix_(rows, columns)]
        assert self.computed is not None
        return self.computed.between(rows, columns)

    def add(self, index: Array, changes: Array, weights: Array) -> None:
        """Add changes·K[index] to the scores of all rows."""
        # A matrix product adds the changes of a column about five times faster than one by one.
        dense = np.flatnonzero((changes != 0).sum(axis=1) * 5 >= changes.shape[1])
        if len(dense) >= 4:
            self._add_product(index, changes[dense], weights, dense)
            changes = changes.copy()
            changes[dense] = 0
        add_lines(index, changes, self.K, weights)

    def products(self, coefficients: Array, out: Array) -> None:
        """Compute the scores A·K of all rows."""
        np.matmul(coefficients, self.K, out=out)

    def evaluate(self, index: Array, vectors: Array) -> Array:
        """Return A·K of chosen rows, vectors x rows."""
        return vectors @ self.K[index].T

    def _add_product(self, index: Array, changes: Array, weights: Array, columns: Array) -> None:
        used = np.flatnonzero(changes.any(axis=0))
        chosen = slice(None) if len(columns) == len(weights) else columns
        gathered = self._buffers.take("gathered", (GATHERED_ROWS, self.width), self.dtype)
        product = self._buffers.take("product", (len(columns), TILE_COLUMNS), self.dtype)
        for start in range(0, len(used), GATHERED_ROWS):
            part = used[start : start + GATHERED_ROWS]
            lines = gathered[: len(part)]
            np.take(self.K, index[part], axis=0, out=lines, mode="clip")
            values = np.ascontiguousarray(changes[:, part])
            # Tiles of the product stay in the cache until they are added.
            for c in range(0, self.width, TILE_COLUMNS):
                tile = lines[:, c : c + TILE_COLUMNS]
                added = product[:, : tile.shape[1]]
                np.matmul(values, tile, out=added)
                weights[chosen, c : c + TILE_COLUMNS] += added


@compiled
def add_lines(index: Array, changes: Array, gram: Array, weights: Array) -> None:
    """Add changes[j, r] K[index[r]] to weights[j], one by one: cheap where changes are rare."""
    for r in range(index.size):
        row = gram[index[r]]
        for j in range(changes.shape[0]):
            u = changes[j, r]
            if u != 0.0:
                for q in range(row.size):
                    weights[j, q] += u * row[q]
