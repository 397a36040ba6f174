"""Test that labels have one text for counting, hashing and display."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegasos.learners.perceptron import Perceptron
from pegasos.program.pages import report
from pegasos.program.records.runs import ErrorCount
from pegasos.program.tables.dataset import Column, Dataset
from pegasos.program.tables.labels import label_text, label_texts
from pegasos.program.tables.reading import read
from pegasos.program.tables.row_hashes import hash_rows
from pegasos.program.tables.statistics import describe

SAME = [
    (1, 1.0, np.float32(1), np.int8(1), "1", "1.0", "+1", "1.", "01", "10e-1", " 1 ", b"1"),
    (0, -0.0, "0", "-0", "0.000", ".0", "0e5"),
    (1.5, "1.5", "1.50", "15e-1", np.float32(1.5)),
    (0.1, np.float32(0.1), np.float16(0.1), "0.1", ".1", "0.100"),
    (-2.5, "-2.5", "-02.50"),
    (1e22, "1e22", "1" + "0" * 22),
    (1e300, "1e300", "1" + "0" * 300),
    (1e-7, "1e-7", "0.0000001"),
    (2**53 + 1, str(2**53 + 1), f"{2**53 + 1}.0"),
    (True, np.True_, "True"),
    (None, float("nan"), np.float32("nan"), "nan"),
    (float("inf"), "inf"),
    ("yes", " yes", b"yes", np.str_("yes")),
    ("1_0",),
    ("10", 10),
    ("1,5",),
    ("1e99999999999",),
    ("\u0661",),  # a digit, but not one of ASCII
    ("0x1",),
    ("9" * 5000,),  # longer than what Python turns into an int
    ("9" * 4999 + "8",),
    (f"{2**53}", 2.0**53),
    (f"{2**53}.5",),
    ("0.10000000000000001",),
    ("",),
]


@pytest.mark.parametrize("labels", SAME, ids=lambda labels: str(labels[0])[:20])
def test_one_class_has_one_text(labels: tuple[Any, ...]) -> None:
    assert len({label_text(label) for label in labels}) == 1


def test_different_classes_have_different_texts() -> None:
    texts = [label_text(labels[0]) for labels in SAME]
    assert len(set(texts)) == len(texts)


@given(
    st.decimals(allow_nan=False, allow_infinity=False),
    st.decimals(allow_nan=False, allow_infinity=False),
)
def test_numbers_agree_exactly_when_they_are_equal(one: Decimal, other: Decimal) -> None:
    if max(abs(one.adjusted()), abs(other.adjusted())) < 2000:
        assert (label_text(str(one)) == label_text(str(other))) == (one == other)
        assert label_text(str(one)) == label_text(f"{one:f}") == label_text(one)


@given(
    st.floats(allow_nan=False)
    | st.floats(allow_nan=False, width=32).map(np.float32)
    | st.integers()
)
def test_a_number_and_its_text_agree(number: Any) -> None:
    assert label_text(number) == label_text(str(number)) == label_text(label_text(number))


@given(st.lists(st.sampled_from([label for labels in SAME for label in labels])))
def test_arrays_agree_with_single_labels(labels: list[Any]) -> None:
    mixed = np.empty(len(labels), dtype=object)
    mixed[:] = labels
    assert label_texts(mixed).tolist() == [label_text(label) for label in labels]
    words = [str(label) for label in labels]
    assert label_texts(words).tolist() == [label_text(word) for word in words]


#: Pairs of labels that different counters once treated differently.
DRIFTED = [
    ("1_0", "10", False),
    ("1.50", "1.5", True),
    (str(2**53), str(2**53 + 1), False),
    ("1.0", "1", True),
    (" 2", "2", True),
]


@pytest.mark.parametrize(("one", "other", "same"), DRIFTED)
def test_all_error_counters_agree(one: str, other: str, same: bool) -> None:
    truth, guess = np.array([one, "b"]), np.array([other, "b"])
    assert ErrorCount.of(truth, guess).mistakes == (not same)
    X = np.array([[1.0], [2.0]])
    hashes = hash_rows(X, truth) == hash_rows(X, guess)
    assert hashes.tolist() == [same, True]
    dataset = Dataset("two", X, [Column("x1")], truth)
    page = report(Perceptron(epochs=2).fit(X, guess), dataset, tsne=False)
    tables = {table.name: table.rows for table in page.tables()}
    assert [row["rows"] for row in tables["errors"]] == [2]
    assert len(tables["classes"]) == 3 - same


def test_float32_classes_are_shown_by_their_shortest_text() -> None:
    X, y = np.array([[0.0], [1.0]]), np.array([0.1, 0.25], dtype=np.float32)
    assert [name for name, _ in describe(Dataset("two", X, [], y)).classes] == ["0.1", "0.25"]


def test_surrounding_blanks_make_no_class(tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", X=np.eye(3), y=["a", "b ", " a"])
    assert read(tmp_path / "rows.npz").labels.tolist() == ["a", "b", "a"]
