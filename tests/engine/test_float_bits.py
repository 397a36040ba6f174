"""The bits of numbers as integers: in their order, with their place in the last bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from pegasos.engine.runtime.compiling import compiled
from pegasos.engine.runtime.float_bits import (
    LAST_PLACE,
    bits_of,
    key_of,
    number_of,
    ordered_bits_of,
    place_of,
)

Array = np.ndarray[Any, Any]
NUMBERS = [
    arrays.arrays(
        np.float32, st.integers(1, 300), elements=st.floats(-(2.0**100), 2.0**100, width=32)
    ),
    arrays.arrays(np.float64, st.integers(1, 300), elements=st.floats(-1e300, 1e300)),
]


@compiled
def place_of_largest(values: Array) -> int:
    best = key_of(values.dtype.type(-np.inf), LAST_PLACE)
    for i in range(values.size):
        best = max(best, key_of(values[i], i))
    return place_of(best)


@compiled
def ordered(values: Array) -> Array:
    found = np.empty(values.size, dtype=np.int64)
    for i in range(values.size):
        found[i] = ordered_bits_of(values[i])
    return found


@compiled
def there_and_back(value: Any) -> Any:
    return number_of(bits_of(value))


@given(st.one_of(NUMBERS))
def test_the_largest_is_found_up_to_a_hundredth(values: Array) -> None:
    place = place_of_largest(values)
    most = values.max()
    assert most - values[place] <= abs(most) / 64 + 1e-30
    equal = np.flatnonzero(values == values[place])
    assert place == equal[0]


@given(st.one_of(NUMBERS))
def test_integers_have_the_order_of_the_numbers(values: Array) -> None:
    bits = ordered(values)
    for smaller, larger in zip(
        np.argsort(values, kind="stable")[:-1], np.argsort(values, kind="stable")[1:], strict=True
    ):
        if values[smaller] < values[larger]:
            assert bits[smaller] < bits[larger]


def test_places_up_to_the_last_one() -> None:
    values = np.ones(LAST_PLACE + 1, dtype=np.float32)
    values[-1] = 2.0
    assert place_of_largest(values) == LAST_PLACE


@pytest.mark.parametrize("value", [np.float32(0.1), np.float64(-0.1), np.float64(np.inf)])
def test_bits_are_those_of_the_number(value: Any) -> None:
    assert there_and_back(value) == value
