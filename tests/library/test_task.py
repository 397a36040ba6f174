"""From what a user hands in to what the engine walks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pegasos.learners.task import combined_weights, encode_classes


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.int64, np.uint64, np.float64])
@pytest.mark.parametrize(("least", "most"), [(0, 10), (3, 5), (100, 128), (-128, 128), (0, 2)])
def test_classes_and_codes_are_those_of_sorting(kind: Any, least: int, most: int) -> None:
    if least < 0 and np.dtype(kind).kind == "u":
        pytest.skip("no negative numbers")
    y = np.random.default_rng(0).integers(least, most, size=300).astype(kind)
    y[:2] = least, most - 1
    classes, codes = encode_classes(y)
    expected, places = np.unique(y, return_inverse=True)
    np.testing.assert_array_equal(classes, expected)
    np.testing.assert_array_equal(codes, places)
    assert classes.dtype == kind


@pytest.mark.parametrize("y", [[0, 2**62], [-(2**62), 2**62], [2**63, 2**64 - 1]])
def test_labels_may_lie_as_far_apart_as_they_like(y: list[int]) -> None:
    labels = np.array(y * 3, dtype=np.uint64 if max(y) >= 2**63 else np.int64)
    classes, codes = encode_classes(labels)
    np.testing.assert_array_equal(classes, labels[:2])
    np.testing.assert_array_equal(codes, [0, 1] * 3)


def test_weights_are_one_where_none_are_given() -> None:
    X, codes = np.zeros((4, 1)), np.array([0, 0, 1, 1])
    np.testing.assert_array_equal(combined_weights(None, None, np.arange(2), codes, X), np.ones(4))
    np.testing.assert_array_equal(
        combined_weights(None, {1: 3.0}, np.arange(2), codes, X), [1, 1, 3, 3]
    )
