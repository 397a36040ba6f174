"""Test the conversion of user input to tasks of the engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from pegasos import SDCA
from pegasos.kernels import Gaussian
from pegasos.learners.task import class_weights, combined_weights, encode_classes


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


CLASS_WEIGHTS = st.sampled_from([None, "balanced", {0: 3.0, 2: 0.5}])


@given(st.integers(0, 999), CLASS_WEIGHTS)
def test_class_weights_of_weighted_rows_are_those_of_repeated_rows(
    seed: int, class_weight: Any
) -> None:
    random = np.random.default_rng(seed)
    codes = np.append(np.arange(3), random.integers(3, size=12))
    weights = np.append(np.ones(3, dtype=int), random.integers(4, size=12))
    repeated = np.repeat(codes, weights)
    one, other = (
        combined_weights(own, class_weight, np.arange(3), each, np.empty((len(each), 1)))
        for each, own in ((codes, weights), (repeated, None))
    )
    np.testing.assert_allclose(np.repeat(one / np.maximum(weights, 1), weights), other, rtol=1e-12)


def test_a_class_without_weight_does_not_change_the_balance_of_the_others() -> None:
    found = class_weights("balanced", np.arange(3), np.array([2.0, 0.0, 6.0]))
    np.testing.assert_allclose(found, [2.0, 1.0, 2 / 3])


@settings(max_examples=30)
@given(
    seed=st.integers(0, 999),
    class_weight=CLASS_WEIGHTS,
    loss=st.sampled_from(["hinge", "logistic"]),
    kernel=st.sampled_from([None, Gaussian(1.0)]),
    intercept=st.sampled_from([True, False, "free"]),
)
def test_the_optimum_of_weighted_rows_is_that_of_repeated_rows(
    seed: int, class_weight: Any, loss: str, kernel: Any, intercept: Any
) -> None:
    random = np.random.default_rng(seed)
    X, codes = random.normal(size=(40, 2)), np.append(np.arange(3), random.integers(3, size=37))
    weights = np.append(np.ones(3, dtype=int), random.integers(4, size=37))
    tol = 1e-6
    learner = SDCA(
        loss, C=2.0, kernel=kernel, tol=tol, fit_intercept=intercept, class_weight=class_weight
    )
    weighted = clone(learner).fit(X, codes, weights)
    repeated = learner.fit(np.repeat(X, weights, axis=0), np.repeat(codes, weights))
    np.testing.assert_allclose(weighted.lam_, repeated.lam_, rtol=1e-12)
    np.testing.assert_allclose(weighted.objective_, repeated.objective_, rtol=2 * tol)
