"""Blocks of rows on a worker, and the tasks that it runs on one block."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, column_or_1d

from pegasos.engine.kernels.distances import largest_square
from pegasos.engine.optimum.passes.passes import LabelledBlocks
from pegasos.engine.rows.blocks import Part
from pegasos.engine.runtime.threads import single_threaded_blas
from pegasos.learners.task import is_missing

Array = np.ndarray[Any, Any]

#: Advice of messages about labels of mixed types.
ALIKE = "make them all numbers or all text"


@dataclass(frozen=True)
class BlockRows:
    """Rows of a block with labels or class codes, weights ω, and folds in a cross-validation.

    X is float32 or float64, dense or CSR.
    """

    X: Any
    y: Array
    weights: Array
    folds: Array | None = None


class Counted(NamedTuple):
    """Totals per label or class: rows, rows of positive weight, and sums of weights."""

    counts: Array
    present: Array
    sums: Array


@dataclass(frozen=True)
class Described:
    """Summary of a block from the first pass."""

    width: int
    dtype: np.dtype[Any]
    kind: str
    rows: int
    bytes: int
    labels: Array
    #: Shape (folds + 1, 3, labels), the fields of `Counted` for the rows of fold -1 (always in
    #: training), 0, 1, ...; all rows are in fold -1 without cross-validation.
    totals: Array
    #: Largest squared norm of a row.
    reach: float


def read(number: int, X: Any, y: Any, weights: Any, folds: Any = None) -> BlockRows:
    """Validate the rows of a block; errors name the block."""
    X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    try:
        kinds: Any = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}
        X = check_array(X, **kinds, ensure_min_samples=0, input_name="X")
    except (TypeError, ValueError) as error:
        raise ValueError(f"block {number} of X: {error}") from None

    def column(values: Any, name: str) -> Array:
        values = np.asarray(column_or_1d(np.asarray(values)))
        if len(values) != X.shape[0]:
            raise ValueError(f"block {number}: X has {X.shape[0]} rows, {name} has {len(values)}.")
        return values

    y = column(y, "y")
    _check_labels(number, y)
    weights = np.ones(len(y)) if weights is None else column(weights, "sample_weight").astype(float)
    if not (np.isfinite(weights) & (weights >= 0.0)).all():
        raise ValueError(
            f"block {number} of sample_weight holds weights that are negative or not finite."
        )
    if callable(folds):
        folds = folds(number, y)
    elif folds is not None:
        folds, most = column(folds, "cv"), np.iinfo(np.int16).max
        if folds.dtype.kind not in "iu" or (folds < -1).any() or (folds > most).any():
            raise ValueError(
                f"block {number} of cv must hold numbers of folds: 0, 1, ..., or -1 for none."
            )
        folds = folds.astype(np.int16)
    return BlockRows(aligned(X), y, weights, folds)


def draw_folds(count: int, seed: int, number: int, y: Array) -> Array:
    """Return stratified folds of the rows of a block, drawn from the seed and the block's number.

    No row moves between workers, and no task needs the folds of all rows. The rows of each class
    are shuffled and dealt to the folds in turn, beginning with a random fold.

    >>> draw_folds(3, 0, 0, np.array(["a", "b", "a", "a", "b", "b"]))
    array([2, 2, 1, 0, 1, 0], dtype=int16)
    """
    generator = np.random.default_rng([seed, number])
    order = generator.permutation(len(y))
    order = order[np.argsort(np.unique(y, return_inverse=True)[1][order], kind="stable")]
    folds = np.empty(len(y), dtype=np.int16)
    folds[order] = (np.arange(len(y)) + generator.integers(count)) % count
    return folds


def _check_labels(number: int, y: Array) -> None:
    is_float, is_object = y.dtype.kind == "f", y.dtype == object
    if (is_float and not np.isfinite(y).all()) or (is_object and any(map(is_missing, y))):
        raise ValueError(f"block {number} of y holds missing labels.")
    if is_object and len({isinstance(label, str) for label in y}) > 1:
        raise ValueError(
            f"block {number} of y holds text and other labels, which have no order: {ALIKE}."
        )


def describe(rows: BlockRows) -> Described:
    """Summarize the validated rows of a block."""
    X, is_sparse = rows.X, sparse.issparse(rows.X)
    labels, codes = np.unique(rows.y, return_inverse=True)
    folds = np.full(len(codes), -1) if rows.folds is None else rows.folds
    shape = int(folds.max(initial=-1)) + 2, len(labels)
    place = (folds + np.int64(1)) * len(labels) + codes
    each = (None, rows.weights > 0.0, rows.weights)
    totals = [np.bincount(place, values, shape[0] * shape[1]).reshape(shape) for values in each]
    size = X.data.nbytes + X.indices.nbytes if is_sparse else X.nbytes
    sizes = X.shape[1], X.dtype, "csr" if is_sparse else "dense", len(codes), size
    return Described(*sizes, labels, np.stack(totals, axis=1), largest_square(X))


def encode(rows: BlockRows, classes: Array) -> BlockRows:
    """Replace labels by class codes."""
    return replace(rows, y=np.searchsorted(classes, rows.y))


def run(rows: BlockRows, packed: bytes) -> Any:
    """Return the sum or the joined results of a function over small parts of a block.

    `packed` is the pickled name of a method of `LabelledBlocks` with its arguments: "map_sum" with
    (work, ...) or "map_join" with (work, join, ...). Parts are processed one after the other.
    """
    method, given = pickle.loads(packed)
    parts = LabelledBlocks(*map(aligned, (rows.X, rows.y, rows.weights, rows.folds)))
    with single_threaded_blas():
        return getattr(parts, method)(*given)


def aligned(values: Any) -> Any:
    """Return the values with numbers aligned at multiples of their size.

    Data received over the network may be unaligned: NumPy then multiplies without BLAS, several
    times slower and with different rounding, and Numba compiles a second version.
    """
    if sparse.issparse(values):
        parts = values.data, values.indices, values.indptr
        if all(part.flags.aligned for part in parts):
            return values
        return type(values)(tuple(map(aligned, parts)), values.shape)
    return np.require(values, requirements="A") if isinstance(values, np.ndarray) else values


def add(parts: Sequence[Part]) -> Part:
    """Return the sum of parts, in their order; they are not modified, as Dask may need them."""
    return Part(
        tuple(reduce(np.add, each) for each in zip(*(part.sums for part in parts), strict=True))
    )
