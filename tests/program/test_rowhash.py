"""Test hashes of rows: equal for all containers, literal values, multiset matching."""

from __future__ import annotations

import hashlib
import struct
from collections import Counter

import numpy as np
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import sparse

from pegasos.program.tables import row_hashes
from pegasos.program.tables.dataset import BadData
from pegasos.program.tables.row_hashes import hash_rows, split_known

MODULUS = 2**64


def plain_mix(z: int) -> int:
    z = (z + 0x9E3779B97F4A7C15) % MODULUS
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % MODULUS
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % MODULUS
    return z ^ (z >> 31)


def plain_text(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def plain_hash(row, label: str | None = None) -> int:
    """Compute the hash by its formula with Python integers; None is missing, str is text."""
    total = 0 if label is None else plain_mix(plain_text(label) ^ 0x6C6162656C)
    for j, value in enumerate(row):
        key = plain_mix((j + 1) * 0x9E3779B97F4A7C15 % MODULUS)
        if isinstance(value, str):
            total += plain_mix(plain_text(value) ^ key)
        else:
            missing = value is None or value != value
            bits = 0x7FC00000 if missing else struct.unpack("<I", struct.pack("<f", value))[0]
            if bits not in (0, 0x80000000):
                total += plain_mix(bits * 0x9E3779B97F4A7C15 % MODULUS ^ key)
    return total % MODULUS


def as_frame(X) -> polars.DataFrame:
    return polars.DataFrame(
        {f"x{j}": X[:, j].astype(np.float64) for j in range(X.shape[1])}, nan_to_null=True
    )


tables = arrays(
    np.float32,
    array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.floats(width=32) | st.just(0.0),
)


@given(tables, st.booleans())
def test_every_container_agrees_with_the_plain_formula(X, labelled):
    y = np.arange(len(X)) % 3 if labelled else None
    expected = np.array(
        [plain_hash(row, None if y is None else str(y[i])) for i, row in enumerate(X.tolist())],
        np.uint64,
    )
    for same in (
        X,
        np.asfortranarray(X),
        X.astype(np.float64),
        sparse.csr_array(X),
        sparse.csr_matrix(X.astype(float)),
        as_frame(X),
    ):
        np.testing.assert_array_equal(hash_rows(same, y), expected)


def test_literal_values():
    """Model files keep these hashes: if this test fails, old models do not know their rows."""
    X = np.array([[1.0, 0.0, -2.5], [0.1, np.nan, 1e30], [0.0, 0.0, 0.0]])
    assert hash_rows(X).tolist() == [9274388408794447247, 11628837756756988148, 0]
    assert hash_rows(X, ["1", "two", "-1"]).tolist() == [
        12527525583851899617,
        8981595386425516223,
        9487734383761113412,
    ]
    frame = polars.DataFrame({"a": [1.0, None], "b": ["red", None], "c": ["", "größe"]})
    assert hash_rows(frame).tolist() == [4691159760318390632, 1932274060354508473]


def test_words_agree_with_the_plain_formula():
    rows = [
        (1.0, "red", "a"),
        (None, None, "b"),
        (0.0, "", "ü"),
        (2.0, "red", None),
        (2.0, "zz", None),
    ]
    frame = polars.DataFrame(
        rows, schema={"a": polars.Float64, "b": polars.String, "c": polars.String}, orient="row"
    )
    expected = np.array([plain_hash(row) for row in rows], np.uint64)
    np.testing.assert_array_equal(hash_rows(frame), expected)
    np.testing.assert_array_equal(
        hash_rows(frame.with_columns(polars.col("b").cast(polars.Categorical))), expected
    )
    empty = polars.DataFrame({"a": [None, None]}, schema={"a": polars.String})
    assert hash_rows(empty).tolist() == [plain_hash([None])] * 2


def test_a_printed_copy_is_the_same_row():
    X = np.random.default_rng(0).normal(size=(200, 7)).astype(np.float32)
    printed = np.array([[float(str(value)) for value in row] for row in X])
    rounded = np.array([[float(f"{value:.9g}") for value in row] for row in X])
    assert not np.array_equal(X.astype(np.float64), printed)
    for copy in (printed, rounded):
        np.testing.assert_array_equal(hash_rows(copy), hash_rows(X))


def test_zeros_missing_and_small_kinds():
    same = hash_rows(np.array([[0.0, -0.0], [np.nan, 1], [-np.nan, 1]]))
    assert same[0] == 0 and same[1] == same[2]
    counts = np.array([[0, 3, 255], [1, 0, 7]])
    for kind in (np.uint8, np.int64, np.float32, ">f8"):
        np.testing.assert_array_equal(
            hash_rows(counts.astype(kind)), hash_rows(counts.astype(np.float64))
        )
    np.testing.assert_array_equal(
        hash_rows(polars.DataFrame(counts, schema=["a", "b", "c"])), hash_rows(counts)
    )
    np.testing.assert_array_equal(
        hash_rows(np.array([[True, False]])), hash_rows(np.array([[1, 0]]))
    )


def test_sparse_rows_in_any_form():
    X = sparse.csr_array(
        ([1.0, 2.0, 0.0, 3.0, 4.0], [2, 0, 1, 1, 1], [0, 3, 3, 5]), shape=(3, 4)
    )  # unsorted, double, a zero
    np.testing.assert_array_equal(hash_rows(X), hash_rows(X.toarray()))
    assert X.nnz == 5  # the caller's matrix stays as it was
    narrow, wide = sparse.csr_array([[1.0, 2.0]]), sparse.csr_array([[1.0, 2.0, 0.0]])
    assert hash_rows(narrow) == hash_rows(wide)


def test_chunks_do_not_show(monkeypatch):
    random = np.random.default_rng(0)
    X = random.normal(size=(100, 5)) * (random.random((100, 5)) < 0.4)
    X[40:60] = 0
    whole = hash_rows(X)
    for chunk in (1, 3, 7, 64):
        monkeypatch.setattr(row_hashes, "_CHUNK", chunk)
        for same in (X, sparse.csr_array(X), as_frame(X)):
            np.testing.assert_array_equal(hash_rows(same), whole)


@pytest.mark.parametrize(
    "labels",
    [
        [
            np.array([1, -1, 0]),
            np.array([1.0, -1.0, -0.0]),
            np.array(["1", "-1", "0"]),
            ["1.0", "-1.00", "0e5"],
            [b"+1", b"-1", b"0"],
        ],
        [
            np.array([0.1, 2.5]),
            np.array([0.1, 2.5], np.float32),
            ["0.1", "2.50"],
            np.array([0.1, "2.5"], dtype=object),
        ],
        [[True, False], ["True", "False"], np.array([True, False], dtype=object)],
        [[9007199254740993, 3], ["9007199254740993", "3"]],
        [
            np.array(["yes", "no"]),
            np.array(["yes", "no"], dtype=object),
            polars.Series(["yes", "no"]),
        ],
        [np.array([None, 1], dtype=object), [np.nan, 1], ["nan", "1"]],
    ],
)
def test_labels_count_as_text(labels):
    X = np.zeros((len(labels[0]), 1))
    expected = hash_rows(X, labels[0])
    assert len(set(expected.tolist())) == len(expected)
    for same in labels[1:]:
        np.testing.assert_array_equal(hash_rows(X, same), expected)


def test_positions_and_labels_matter():
    X = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]])
    first, second, third = hash_rows(X, [0, 0, 1])
    assert len({first, second, third, *hash_rows(X[:1])}) == 4
    random = np.random.default_rng(0).integers(0, 3, (20_000, 12))
    assert len(np.unique(hash_rows(random))) == len(np.unique(random, axis=0))


def test_what_cannot_be_hashed():
    with pytest.raises(
        BadData, match="table of numbers, got an array of 2 dimensions and type <U1"
    ):
        hash_rows(np.array([["a"]]))


def plain_split(hashes, known, order):
    left = Counter(known)
    mask = [False] * len(hashes)
    for row in sorted(range(len(hashes)), key=lambda row: order[row]):
        if left[hashes[row]] > 0:
            left[hashes[row]] -= 1
            mask[row] = True
    return mask


few = st.integers(0, 6) | st.integers(2**64 - 2, 2**64 - 1)


@given(st.lists(st.tuples(few, st.booleans())), st.lists(few))
def test_known_rows_are_matched_as_multisets(rows, known):
    hashes, late = (
        np.array([h for h, _ in rows], np.uint64),
        np.array([flag for _, flag in rows], bool),
    )
    sorted_known = np.sort(np.array(known, np.uint64))
    plain = hashes.tolist()
    assert split_known(hashes, sorted_known).tolist() == plain_split(plain, known, [0] * len(rows))
    assert split_known(hashes, sorted_known, order=late).tolist() == plain_split(
        plain, known, late.tolist()
    )
    assert split_known(hashes, sorted_known, order=-np.arange(len(rows))).tolist() == plain_split(
        plain, known, [-row for row in range(len(rows))]
    )
