"""Inner products and distances between the rows of two matrices, computed tile by tile.

Squared Euclidean distances are ||a||^2 + ||b||^2 - 2 a.b from one matrix product. That loses the
digits in which a and b agree, so pairs that lie near each other are computed once more from the
differences of their rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pegasos.engine.kernels.elementwise import mirror_upper
from pegasos.engine.runtime.compiling import announced, compiled
from pegasos.engine.runtime.memory import Buffers
from pegasos.engine.runtime.threads import run_each, slices

Measure = Literal["inner", "squared", "manhattan"]
Index = slice | NDArray[np.integer[Any]]
Array = NDArray[Any]
Places = NDArray[np.int64]
Transform = Callable[[Array], None]

# Measured on 7438 x 256 float32: 384 to 768 are within 3 %, 256 and 1024 are slower by 17 % and 4
# %.
TILE = 512
# Multiplications, or the slower steps of a Manhattan distance, in a tile: Ctrl-C then waits a
# fraction of a second.
TILE_PRODUCTS = 2**30
TILE_ABSOLUTES = 2**28
# Numbers of a float64 work array while single pairs are computed (2 MB).
CHUNK = 2**18
# The relative accuracy asked of squared distances: half of the digits of float32; in float64 enough
# that it does not matter which rows happen to be centred together.
ACCURACY = {"float32": 2.0**-11.5, "float64": 2.0**-36}
# Above this share of near pairs a whole tile by differences is cheaper than gathering the rows of
# each pair.
MANY = 1 / 16
# Measured: the product of densified rows overtakes the sparse one at density 0.03 (300 features) to
# 0.08 (3000).
DENSE_ENOUGH = 1 / 16


class Pairs:
    """Inner products, squared Euclidean or Manhattan distances between rows, computed tile by tile.

    x.z, ||x - z||^2 or ||x - z||_1 for the rows x of X and z of Z (Z None: of X), which are both
    dense (2-D) or CSR, float32 or float64, finite. Results have X's dtype; equal rows have
    distance exactly 0.

    >>> Pairs("squared", np.array([[0.0, 0.0], [3.0, 4.0]])).tile(slice(None), slice(None))
    array([[ 0., 25.],
           [25.,  0.]])
    """

    def __init__(self, measure: Measure, X: Any, Z: Any = None) -> None:
        if measure not in ("inner", "squared", "manhattan"):
            raise ValueError(f"measure must be 'inner', 'squared' or 'manhattan', got {measure!r}")
        self.measure = measure
        self.symmetric = Z is None or Z is X
        self._x = canonical(X)
        self._z = self._x if self.symmetric else _like(self._x, Z)
        if self._x.shape[1] != self._z.shape[1]:
            raise ValueError(f"X has {self._x.shape[1]} features, but Z has {self._z.shape[1]}")
        self.dtype = self._x.dtype
        self.shape = (self._x.shape[0], self._z.shape[0])
        self._sparse = sparse.issparse(self._x)
        self._densify = self._sparse and min(_density(self._x), _density(self._z)) > DENSE_ENOUGH
        self.edge = self._tile_edge()
        # scikit-learn computes this one case with OpenMP threads of its own.
        self.most_workers = 1 if self._sparse and measure == "manhattan" else None
        if measure == "squared":
            self._prepare_squared()

    def _prepare_squared(self) -> None:
        """Center rows, which keeps norms and rounding errors small, and compute squared norms."""
        self._mean = np.zeros(self._x.shape[1])
        self._a, self._b = self._x, self._z
        if not self._sparse and self.shape[0]:
            # An overflow is reported below, in words.
            with np.errstate(over="ignore", invalid="ignore"):
                self._mean = self._x.mean(axis=0, dtype=np.float64)
                self._a = self._x - self._mean.astype(self.dtype)
                self._b = self._a if self.symmetric else self._z - self._mean.astype(self.dtype)
        a_norms = squared_norms(self._a)
        b_norms = a_norms if self.symmetric else squared_norms(self._b)
        # Written so that NaN, from the mean of huge numbers, is an overflow as well.
        if not 2 * (a_norms.max(initial=0) + b_norms.max(initial=0)) <= np.finfo(self.dtype).max:
            wider = " or use float64" if self.dtype == np.float32 else ""
            remedy = f"scale X (for example StandardScaler){wider}"
            raise ValueError(f"squared distances overflow {self.dtype}; {remedy}")
        self._bound = self.dtype.type(np.finfo(self.dtype).eps / ACCURACY[self.dtype.name])
        self._a_norms = a_norms.astype(self.dtype)
        self._b_norms = b_norms.astype(self.dtype)

    def _tile_edge(self) -> int:
        """Return the rows and columns of a tile whose work stays below the limit."""
        width = self._x.shape[1] * max(_density(self._x), _density(self._z))
        limit = TILE_ABSOLUTES if self.measure == "manhattan" else TILE_PRODUCTS
        edge = TILE
        while edge > 64 and edge * edge * width > limit:
            edge //= 2
        return edge

    def tile(self, rows: Index, columns: Index, out: Array | None = None) -> Array:
        """Return values between X[rows] and Z[columns], written into `out` if given."""
        if out is None:
            shape = _length(rows, self.shape[0]), _length(columns, self.shape[1])
            out = np.empty(shape, dtype=self.dtype)
        if out.size == 0:
            return out
        if not out.flags.c_contiguous:
            out[...] = self.tile(rows, columns)
            return out
        if self.measure == "inner":
            self._multiply(self._x[rows], self._z[columns], out)
        elif self.measure == "squared":
            self._fill_squared(rows, columns, out)
        else:
            out[...] = _manhattan(self._x[rows], self._z[columns])
        return out

    def _multiply(self, a: Any, b: Any, out: Array) -> None:
        if not self._sparse:
            np.matmul(a, b.T, out=out)
        elif self._densify:
            np.matmul(a.toarray(), b.toarray().T, out=out)
        else:
            out[...] = (a @ b.T).toarray()

    def _fill_squared(self, rows: Index, columns: Index, out: Array) -> None:
        a_norms, b_norms = self._a_norms[rows], self._b_norms[columns]
        self._multiply(self._a[rows], self._b[columns], out)
        near = _complete_squares(out, a_norms, b_norms, self._bound)
        if near is None:
            return
        x, z = self._x[rows], self._z[columns]
        if not self._sparse and len(near.rows) > MANY * out.size:
            out[...] = _direct(x, z, "sqeuclidean")
        else:
            _fill_by_differences(x, z, near, out)


def squared_norms(X: Any) -> NDArray[np.float64]:
    """Return ||x||^2 of each row x, summed in float64, for dense or CSR X.

    >>> squared_norms(np.array([[3.0, 4.0]], dtype=np.float32))
    array([25.])
    """
    with np.errstate(over="ignore", under="ignore"):
        if sparse.issparse(X):
            squares = X.astype(np.float64)
            squares.data **= 2
            return np.asarray(squares.sum(axis=1)).reshape(-1)
        return np.asarray(np.einsum("ij,ij->i", X, X, dtype=np.float64))


def largest_square(X: Any) -> float:
    """Return the largest x·x of the rows of X (dense or CSR) in float64, infinite on overflow."""
    return float(squared_norms(X).max(initial=0.0))


def self_values(measure: Measure, X: Any) -> Array:
    """Return the measure between each row and itself in X's dtype: ||x||^2 for "inner", else 0."""
    if measure != "inner":
        return np.zeros(X.shape[0], dtype=X.dtype)
    with np.errstate(over="ignore"):
        return squared_norms(X).astype(X.dtype)


def fill_matrix(pairs: Pairs, transform: Transform) -> Array:
    """Return all values between the rows of X and Z, each tile mapped in place by `transform`."""
    n_rows, n_columns = pairs.shape
    width = max(1, min(pairs.edge, n_columns))
    height = pairs.edge**2 // width
    tiles = itertools.product(slices(n_rows, height), slices(n_columns, width))
    return _fill(pairs, transform, list(tiles))


def fill_gram(pairs: Pairs, transform: Transform) -> Array:
    """Return all values between the rows of X, from tiles above the diagonal."""
    if not pairs.symmetric:
        raise ValueError("a Gram matrix needs Z=None")
    parts = slices(pairs.shape[0], pairs.edge)
    blocks = [(rows, columns) for i, rows in enumerate(parts) for columns in parts[i:]]
    return _fill(pairs, transform, blocks, mirrored=True)


def _fill(
    pairs: Pairs, transform: Transform, blocks: list[tuple[slice, slice]], mirrored: bool = False
) -> Array:
    result = np.empty(pairs.shape, dtype=pairs.dtype)
    buffers = Buffers()

    def work(tile: tuple[slice, slice]) -> None:
        rows, columns = tile
        # In an array of its own a tile stays in the cache; the long rows of the result do not.
        shape = rows.stop - rows.start, columns.stop - columns.start
        block = buffers.take("tile", shape, pairs.dtype)
        pairs.tile(rows, columns, out=block)
        transform(block)
        if mirrored and rows == columns:
            mirror_upper(block)
        result[rows, columns] = block
        if mirrored and rows != columns:
            result[columns, rows] = block.T

    run_each(work, blocks, pairs.most_workers)
    return result


class Near(NamedTuple):
    """Positions in a tile of pairs that are recomputed by differences, for accuracy."""

    rows: Places
    columns: Places


@compiled
def _squares_from_products(products: Array, a_norms: Array, b_norms: Array, bound: Any) -> int:
    """Compute ||a||^2 + ||b||^2 - 2 a.b in place; return the number of near pairs."""
    minus_two = products.dtype.type(-2)
    total = 0
    for i in range(products.shape[0]):
        row, own, own_bound, count = products[i], a_norms[i], bound * a_norms[i], 0
        for j in range(row.size):
            value = row[j] * minus_two + own + b_norms[j]
            row[j] = value
            count += value <= own_bound + bound * b_norms[j]
        total += count
    return total


def _complete_squares(products: Array, a_norms: Array, b_norms: Array, bound: Any) -> Near | None:
    """Turn products into squared distances; return the near pairs.

    These are the pairs with ||a - b||^2 <= bound (||a||^2 + ||b||^2).

    The product's rounding error is about eps (||a||^2 + ||b||^2), so that with bound = eps /
    ACCURACY all values above the bound have about that relative accuracy (measured: at worst 9e-4
    in float32). Equal rows and negative results are always below it, so that nothing has to be
    clipped at 0.
    """
    with announced("distances", products.dtype):
        if _squares_from_products(products, a_norms, b_norms, bound) == 0:
            return None
    return Near(*np.nonzero(products <= (bound * a_norms)[:, None] + bound * b_norms))


def _fill_by_differences(x: Any, z: Any, near: Near, out: Array) -> None:
    width = x.shape[1]
    if sparse.issparse(x):
        width = int(max(np.diff(x.indptr).max(), np.diff(z.indptr).max()))
    for part in slices(len(near.rows), max(1, CHUNK // max(1, width))):
        i, j = near.rows[part], near.columns[part]
        out[i, j] = squared_norms(x[i].astype(np.float64) - z[j].astype(np.float64))


def _direct(x: Any, z: Any, metric: str) -> NDArray[np.float64]:
    """Return distances computed from elementwise differences (SciPy is imported on use)."""
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(x, z, metric))


def _manhattan(x: Any, z: Any) -> NDArray[np.float64]:
    if not sparse.issparse(x):
        return _direct(x, z, "cityblock")
    # Imported here because it takes half a second.
    from sklearn.metrics.pairwise import manhattan_distances

    return np.asarray(manhattan_distances(_short_indices(x), _short_indices(z)))


def _short_indices(x: Any) -> Any:
    """Return a tile with 32-bit indices, which scikit-learn's compiled code requires."""
    return type(x)((x.data, x.indices.astype(np.int32), x.indptr.astype(np.int32)), shape=x.shape)


def canonical(X: Any) -> Any:
    """Return X, copied if it is neither contiguous nor canonical CSR."""
    if not sparse.issparse(X):
        X = np.ascontiguousarray(X)
    elif X.format != "csr":
        raise ValueError(f"a sparse matrix must be CSR, got {X.format.upper()}")
    elif not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if X.ndim != 2:
        raise ValueError(f"expected a 2-D array, got {X.ndim}-D")
    if X.dtype not in (np.float32, np.float64):
        raise ValueError(f"expected float32 or float64, got {X.dtype}")
    return X


def _like(X: Any, Z: Any) -> Any:
    """Return Z in the dtype and the storage (dense or CSR) of X."""
    if sparse.issparse(X):
        Z = type(X)(Z)
    elif sparse.issparse(Z):
        Z = Z.toarray()
    has_dtype = hasattr(Z, "astype")
    return canonical(Z.astype(X.dtype, copy=False) if has_dtype else np.asarray(Z, dtype=X.dtype))


def _density(X: Any) -> float:
    return float(X.nnz / max(1, X.shape[0] * X.shape[1])) if sparse.issparse(X) else 1.0


def _length(index: Index, size: int) -> int:
    return len(range(*index.indices(size))) if isinstance(index, slice) else len(index)
