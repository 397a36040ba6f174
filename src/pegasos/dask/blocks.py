"""Split user input into blocks of rows, and the tasks that workers run on one block."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dask
import numpy as np
from dask.delayed import Delayed
from distributed import Future
from scipy import sparse

from pegasos.engine.kernels.distances import largest_square
from pegasos.engine.optimum.passes.passes import LabelledBlocks
from pegasos.engine.rows.blocks import Part
from pegasos.engine.runtime.threads import single_threaded_blas
from pegasos.learners.task import is_missing

Array = np.ndarray[Any, Any]

#: Advice of messages about labels of mixed types.
ALIKE = "make them all numbers or all text"


@dataclass(frozen=True)
class Rows:
    """Validated rows of a block with labels, weights and folds.

    X is float32 or float64, dense or CSR. `weights` is None for unit weights, and `folds` is None
    without cross-validation.
    """

    X: Any
    y: Array
    weights: Array | None
    folds: Array | None = None


@dataclass(frozen=True)
class Coded:
    """Rows of a block with class codes, weights ω and folds."""

    X: Any
    codes: Array
    weights: Array
    folds: Array | None = None


@dataclass(frozen=True)
class Counted:
    """Totals per label or class: rows, rows of positive weight, and sums of weights."""

    counts: Array
    present: Array
    sums: Array


@dataclass(frozen=True)
class DrawnFolds:
    """Stratified folds that each block draws from the seed and its own number.

    No row moves between workers, and no task needs the folds of all rows. Within a block, the rows
    of each class are shuffled and dealt to the folds in turn, beginning with a random fold.

    >>> DrawnFolds(3, seed=0).of_block(0, np.array(["a", "b", "a", "a", "b", "b"]))
    array([2, 2, 1, 0, 1, 0], dtype=int16)
    """

    count: int
    seed: int

    def of_block(self, number: int, y: Array) -> Array:
        """Return the fold of each row of a block."""
        generator = np.random.default_rng([self.seed, number])
        order = generator.permutation(len(y))
        order = order[np.argsort(np.unique(y, return_inverse=True)[1][order], kind="stable")]
        folds = np.empty(len(y), dtype=np.int16)
        folds[order] = (np.arange(len(y)) + generator.integers(self.count)) % self.count
        return folds


@dataclass(frozen=True)
class Described:
    """Summary of a block from the first pass.

    `whole` counts all rows; `folds` counts the rows of fold -1 (always in training), 0, 1, ...
    """

    width: int
    dtype: str
    sparse: bool
    rows: int
    bytes: int
    labels: Array
    whole: Counted
    #: Largest squared norm of a row.
    reach: float
    folds: tuple[Counted, ...] = ()


# Input --------------------------------------------------------------------------------------------


def split(
    X: Any, y: Any = None, sample_weight: Any = None, folds: Any = None
) -> list[tuple[Any, ...]]:
    """Return the blocks of X, each with its blocks of y, weights and folds.

    Each block is a lazy object or a future; y, weights or folds are None where not given.
    """
    beside = {"y": y, "sample_weight": sample_weight, "cv": folds}
    if is_array(X):
        X = one_block_wide(X)
        beside = {name: _like(X, values, name) for name, values in beside.items()}
    given = {
        "X": X,
        **{name: values for name, values in beside.items() if is_frame(values) and is_frame(X)},
    }
    found = _partitions(given) if len(given) > 1 else {"X": _pieces(X, "X")}
    blocks = len(found["X"])
    if not blocks:
        raise ValueError("X has no blocks: nothing could be learned.")
    for name, values in beside.items():
        if name not in found:
            alike = values is None or isinstance(values, DrawnFolds)
            found[name] = [values] * blocks if alike else _pieces(values, name)
        _same_blocks(blocks, name, len(found[name]))
    return list(zip(found["X"], *(found[name] for name in beside), strict=True))


def _same_blocks(blocks: int, name: str, found: int) -> None:
    if found != blocks:
        raise ValueError(
            f"X has {blocks} blocks, {name} has {found}: they must have the same blocks of rows."
        )


def _partitions(frames: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the partitions of frames, computed in one graph.

    Dask's optimizer may join small files of a frame with few columns but not of another, so that
    separately computed partitions would not match.
    """
    import dask.dataframe as dd
    import pandas as pd

    for name, frame in frames.items():
        _same_blocks(frames["X"].npartitions, name, frame.npartitions)
    nothing = pd.Series([], dtype=object)
    together = dd.map_partitions(
        _side_by_side, *frames.values(), align_dataframes=False, meta=nothing
    ).to_delayed()
    return {
        name: [dask.delayed(_part)(each, place) for each in together]
        for place, name in enumerate(frames)
    }


def _side_by_side(*parts: Any) -> Any:
    import pandas as pd

    found = pd.Series([None] * len(parts), dtype=object)
    for place, part in enumerate(parts):
        found.iat[place] = part
    return found


def _part(parts: Any, place: int) -> Any:
    return parts.iat[place]


def one_block_wide(X: Any) -> Any:
    """Rechunk a two-dimensional Dask array so that each block has all columns."""
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, rows and features; this array has {X.ndim}.")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _like(X: Any, values: Any, name: str) -> Any:
    """Rechunk labels or weights like the rows of X, as far as the lengths are known."""
    known = not np.isnan(X.chunks[0]).any()
    if (
        values is None
        or not (is_array(values) or isinstance(values, np.ndarray | list))
        or is_pieces(values)
    ):
        return values
    if not is_array(values):
        if not known:
            raise ValueError(
                f"the lengths of X's blocks are not known: give {name} as a Dask array with the same blocks."
            )
        import dask.array

        values = dask.array.from_array(np.asarray(values), chunks=-1)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"{name} must have one dimension; this array has {values.ndim}.")
    if not known or np.isnan(values.chunks[0]).any() or values.chunks[0] == X.chunks[0]:
        return values
    if values.shape[0] != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows, {name} has {values.shape[0]}.")
    return values.rechunk((X.chunks[0],))


def _pieces(values: Any, name: str) -> list[Any]:
    if is_pieces(values):
        return list(values)
    if hasattr(values, "to_delayed"):
        # Unoptimized: an optimized frame may have fewer partitions than npartitions.
        lazy = values.to_delayed(optimize_graph=False) if is_frame(values) else values.to_delayed()
        return list(np.ravel(np.array(lazy, dtype=object)))
    raise TypeError(
        f"{name} must be a Dask array, a Dask DataFrame (or Series) or a list of delayed parts, got {type(values).__name__}. "
        "Rows that fit into memory are SDCA's; or wrap them: dask.array.from_array(rows, chunks=(100_000, -1))."
    )


def is_array(values: Any) -> bool:
    """Return whether `values` is a Dask array."""
    return (
        hasattr(values, "to_delayed") and hasattr(values, "chunks") and hasattr(values, "numblocks")
    )


def is_frame(values: Any) -> bool:
    """Return whether `values` is a Dask DataFrame or Series."""
    return hasattr(values, "to_dask_array")


def is_pieces(values: Any) -> bool:
    """Return whether `values` is a non-empty list of delayed objects or futures."""
    return (
        isinstance(values, list | tuple)
        and bool(len(values))
        and isinstance(values[0], Delayed | Future)
    )


def name_features(estimator: Any, X: Any) -> None:
    """Set feature_names_in_ if all columns of a frame have string names."""
    estimator.__dict__.pop("feature_names_in_", None)
    names = getattr(X, "columns", None)
    if names is not None and all(isinstance(name, str) for name in names):
        estimator.feature_names_in_ = np.asarray(names, dtype=object)


def known_bytes(X: Any) -> float:
    """Return the size of the rows in bytes, or nan if it is unknown."""
    return (
        float(X.nbytes)
        if is_array(X) and not sparse.issparse(getattr(X, "_meta", None))
        else float("nan")
    )


# Tasks on a worker --------------------------------------------------------------------------------


def read(number: int, X: Any, y: Any, weights: Any, folds: Any = None) -> Rows:
    """Validate the rows of a block; errors name the block."""
    X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(
            f"block {number} of X has {X.ndim} dimensions: it must have two, rows and features."
        )
    if X.dtype not in (np.float32, np.float64):
        try:
            X = X.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"block {number} of X holds something that is not a number: {error}"
            ) from None
    X = aligned(X if sparse.issparse(X) else np.ascontiguousarray(X))
    if not np.isfinite(X.data if sparse.issparse(X) else X).all():
        raise ValueError(
            f"block {number} of X holds NaN or infinite numbers: fill or drop them before the fit."
        )
    y = _column(number, y, "y", X.shape[0])
    if (y.dtype.kind == "f" and not np.isfinite(y).all()) or (
        y.dtype == object and any(map(is_missing, y))
    ):
        raise ValueError(f"block {number} of y holds missing labels.")
    if y.dtype == object and len({isinstance(label, str) for label in y}) > 1:
        raise ValueError(
            f"block {number} of y holds text and other labels, which have no order: {ALIKE}."
        )
    if weights is not None:
        weights = _column(number, weights, "sample_weight", X.shape[0]).astype(np.float64)
        if not (np.isfinite(weights) & (weights >= 0.0)).all():
            raise ValueError(
                f"block {number} of sample_weight holds weights that are negative or not finite."
            )
    if isinstance(folds, DrawnFolds):
        folds = folds.of_block(number, y)
    elif folds is not None:
        folds = _column(number, folds, "cv", X.shape[0])
        if (
            folds.dtype.kind not in "iu"
            or (folds < -1).any()
            or (folds > np.iinfo(np.int16).max).any()
        ):
            raise ValueError(
                f"block {number} of cv holds something else than numbers of folds: 0, 1, ..., or -1 for none."
            )
        folds = folds.astype(np.int16)
    return Rows(X, y, weights, folds)


def _column(number: int, values: Any, name: str, rows: int) -> Array:
    values = np.asarray(values)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (rows,):
        raise ValueError(f"block {number}: X has {rows} rows, {name} has the shape {values.shape}.")
    return values


def describe(rows: Rows) -> Described:
    """Summarize the validated rows of a block."""
    labels, codes = np.unique(rows.y, return_inverse=True)
    weights = np.ones(len(rows.y)) if rows.weights is None else rows.weights

    def counted(part: Any) -> Counted:
        every = codes[part], weights[part]
        each = [
            np.bincount(every[0], values, minlength=len(labels))
            for values in (None, every[1] > 0.0, every[1])
        ]
        return Counted(*each)

    size = rows.X.data.nbytes + rows.X.indices.nbytes if sparse.issparse(rows.X) else rows.X.nbytes
    most = -2 if rows.folds is None else int(rows.folds.max(initial=-1))
    folds = tuple(counted(rows.folds == fold) for fold in range(-1, most + 1))
    kind, reach = sparse.issparse(rows.X), largest_square(rows.X)
    return Described(
        rows.X.shape[1],
        str(rows.X.dtype),
        kind,
        len(rows.y),
        size,
        labels,
        counted(slice(None)),
        reach,
        folds,
    )


def encode(rows: Rows, classes: Array) -> Coded:
    """Replace labels by class codes, and missing weights by ones."""
    weights = np.ones(len(rows.y)) if rows.weights is None else rows.weights
    return Coded(rows.X, np.searchsorted(classes, rows.y), weights, rows.folds)


def work_on(coded: Coded, packed: bytes) -> Part:
    """Return the sum of ``work(part, *arguments)`` over small parts of fixed size of the block.

    Parameters
    ----------
    coded : Coded
        The block.
    packed : bytes
        Pickled ``(work, arguments)``.

    Returns
    -------
    Part
        The sum; parts are processed one after the other.
    """
    work, arguments = pickle.loads(packed)
    with single_threaded_blas():
        return _labelled(coded).map_sum(work, *arguments)


def join_on(coded: Coded, packed: bytes) -> Any:
    """Return ``join`` of the results of ``work(part, *arguments)`` for small parts of the block.

    Parameters
    ----------
    coded : Coded
        The block.
    packed : bytes
        Pickled ``(work, join, arguments)``.

    Returns
    -------
    object
        The joined result; parts are processed one after the other.
    """
    work, join, arguments = pickle.loads(packed)
    with single_threaded_blas():
        return _labelled(coded).map_join(work, join, *arguments)


def _labelled(coded: Coded) -> LabelledBlocks:
    return LabelledBlocks(*map(aligned, (coded.X, coded.codes, coded.weights, coded.folds)))


def aligned(values: Any) -> Any:
    """Return the values with numbers aligned at multiples of their size.

    Data received over the network may be unaligned: NumPy then multiplies without BLAS, several
    times slower and with different rounding, and Numba compiles a second version.
    """
    if sparse.issparse(values):
        parts = values.data, values.indices, values.indptr
        return (
            values
            if all(part.flags.aligned for part in parts)
            else type(values)(tuple(map(aligned, parts)), values.shape)
        )
    return np.require(values, requirements="A") if isinstance(values, np.ndarray) else values


def add(parts: Sequence[Part]) -> Part:
    """Return the sum of parts, in their order.

    The arguments are not modified: Dask may need them again.
    """
    sums = [total.copy() for total in parts[0].sums]
    for part in parts[1:]:
        for total, other in zip(sums, part.sums, strict=True):
            total += other
    return Part(tuple(sums))


def hold(value: Any) -> Any:
    """Return the argument unchanged.

    Unlike scattered data, the result of a task is recomputed after a worker is lost.
    """
    return value
