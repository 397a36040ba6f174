"""64-bit hashes of rows, equal for equal rows in any container, to recognize training rows.

    h(row) = label + Σ_j mix(key_j ^ value_j)    over the nonzero features, sums modulo 2^64

A zero adds nothing, so dense and sparse rows agree, also if a sparse file has fewer columns because
the last ones are zero. Model files store these numbers: they must never change. The tests hold
literal values.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.program.tables.dataset import Array, BadData, holds_words, is_frame
from pegasos.program.tables.labels import distinct_texts

#: Constants of splitmix64; the first, 2^64 divided by the golden ratio, is its step.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
#: Key of the label, and bits of the one NaN that stands for all missing values.
_LABEL, _MISSING = np.uint64(0x6C6162656C), np.uint64(0x7FC00000)
#: Numbers processed at once: a few such arrays fit in a processor's cache.
_CHUNK = 1 << 15


def hash_rows(X: Any, y: Any = None) -> Array:
    """Return the hash of each row, together with its label if y is given.

    Numbers count as float32, so a text file printed from float32 and its original agree; -0.0 is
    0.0, and null is NaN. A label counts as text: 1, 1.0 and "1" agree.

    Examples
    --------
    >>> dense = np.array([[0.1, 0.0], [0.0, 2.0]])
    >>> single = dense.astype(np.float32)
    >>> bool((hash_rows(dense, [1, 0]) == hash_rows(single, ["1", "0"])).all())
    True
    """
    hashes = _frame(X) if is_frame(X) else _matrix(X)
    if y is None:
        return hashes
    texts, places = distinct_texts(np.asarray(y))
    return hashes + _mix(_text_hashes(texts) ^ _LABEL)[places]


def split_known(hashes: Array, known_sorted: Array, order: Array | None = None) -> Array:
    """Return which rows are known: of equal rows, as many as `known_sorted` has of their hash.

    Equal rows have equal predictions, so the counts are exact whichever of them is called known: by
    default the first ones, with `order` those with smaller values of it.

    Examples
    --------
    >>> split_known(np.array([7, 5, 7, 7], np.uint64), np.array([3, 7, 7], np.uint64))
    array([ True, False,  True, False])
    """
    hashes, known = np.asarray(hashes, np.uint64), np.asarray(known_sorted, np.uint64)
    keys = (hashes,) if order is None else (np.asarray(order), hashes)
    turn = np.lexsort(keys)
    ranked = hashes[turn]
    nth = np.arange(len(ranked)) - np.searchsorted(ranked, ranked, "left")
    copies = np.searchsorted(known, ranked, "right") - np.searchsorted(known, ranked, "left")
    mask = np.empty(len(hashes), bool)
    mask[turn] = nth < copies
    return mask


def _mix(z: Array) -> Array:
    """Return the finish of splitmix64: every bit of the result depends on every bit of z."""
    z = z + _GOLDEN
    shifted = np.empty_like(z)
    for shift, factor in ((30, _FIRST), (27, _SECOND), (31, np.uint64(1))):
        z ^= np.right_shift(z, np.uint64(shift), out=shifted)
        z *= factor
    return z


def _keys(n: int) -> Array:
    """Return the key of each feature: its position, mixed."""
    return _mix(np.arange(1, n + 1, dtype=np.uint64) * _GOLDEN)


def _terms(numbers: Array, keys: Array) -> Array:
    """Return the terms of numbers, by their bits as float32; the term of a zero is 0."""
    with np.errstate(over="ignore", under="ignore"):  # float64 first: float16 overflows otherwise
        single = numbers
        if numbers.dtype != np.float32:
            single = numbers.astype(np.float64, copy=False).astype(np.float32)
    bits = np.ascontiguousarray(single).view(np.uint32)
    bits = np.where(single == 0, np.uint32(0), bits).astype(np.uint64)
    bits[np.isnan(single)] = _MISSING
    terms = _mix(bits * _GOLDEN ^ keys)
    terms *= bits != 0
    return terms


def _matrix(X: Any) -> Array:
    """Return the hashes of an array or a sparse matrix, a few rows at a time."""
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        found = f"an array of {X.ndim} dimensions and type {X.dtype}"
        raise BadData(f"rows are hashed from a table of numbers, got {found}.")
    is_sparse = sparse.issparse(X)
    if is_sparse and not (X.format == "csr" and X.has_canonical_format):
        X = X.tocsr(copy=True)
        X.sum_duplicates()
    m, keys = X.shape[0], _keys(X.shape[1])
    hashes = np.zeros(m, np.uint64)
    step = max(1, _CHUNK * m // max(1, X.nnz if is_sparse else X.size))
    for start in range(0, m, step):
        part = X[start : start + step]
        if is_sparse:
            sums = np.zeros(part.nnz + 1, np.uint64)
            np.cumsum(_terms(part.data, keys[part.indices]), out=sums[1:])
            hashes[start : start + step] = np.diff(sums[part.indptr])  # exact: sums wrap around
        else:
            hashes[start : start + step] = _terms(part, keys).sum(axis=1, dtype=np.uint64)
    return hashes


def _frame(X: Any) -> Array:
    import polars

    hashes, keys = np.zeros(X.height, np.uint64), _keys(X.width)
    for key, column in zip(keys, X.get_columns(), strict=True):
        if not holds_words(column):
            numbers = column.cast(polars.Float64).to_numpy()  # null becomes NaN
            for start in range(0, len(numbers), _CHUNK):
                part = slice(start, start + _CHUNK)
                hashes[part] += _terms(numbers[part], key)
        else:
            words = column.cast(polars.String)
            distinct = words.unique().drop_nulls()
            terms = _mix(_text_hashes(distinct) ^ key)
            missing = int(_terms(np.array([np.nan]), key)[0])
            hashes += words.replace_strict(
                distinct, terms, default=missing, return_dtype=polars.UInt64
            ).to_numpy()
    return hashes


def _text_hashes(texts: Iterable[str]) -> Array:
    digests = (hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return np.array([int.from_bytes(digest, "little") for digest in digests], np.uint64)
