"""Predicates of decoded values: what a setting or a number of a model file may be."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

Check = Callable[[Any], bool]


def of_type(*types: type) -> Check:
    """Return a check for values of exactly these types, so that True is not a number."""
    return lambda value: type(value) in types


flag, text, nothing = of_type(bool), of_type(str), of_type(type(None))
scalar = of_type(type(None), bool, int, float, str)


def anything(value: Any) -> bool:
    """Accept every value that can be decoded: the estimator itself checks it or ignores it."""
    return True


def number(value: Any) -> bool:
    """Return whether a value is a finite number."""
    return type(value) in (int, float) and math.isfinite(value)


def count(value: Any) -> bool:
    """Return whether a value is a nonnegative integer of at most 63 bits."""
    return type(value) is int and 0 <= value < 2**63


def one_of(*options: Any) -> Check:
    """Return a check for values that equal one of the options and have its type."""
    return lambda value: any(type(value) is type(option) and value == option for option in options)


def either(*checks: Check) -> Check:
    """Return a check that passes if one of the checks does."""
    return lambda value: any(check(value) for check in checks)


def list_of(check: Check, length: int | None = None) -> Check:
    """Return a check for lists and tuples whose items all pass a check."""
    return lambda value: (
        isinstance(value, list | tuple) and length in (None, len(value)) and all(map(check, value))
    )


def places(below: int) -> Check:
    """Return a check for increasing lists of nonnegative integers below a limit."""
    return lambda value: list_of(count)(value) and all(a < b for a, b in pairwise([*value, below]))


def weights(key: Check) -> Check:
    """Return a check for dicts that map keys to finite numbers."""
    return lambda value: (
        isinstance(value, dict) and all(map(key, value)) and all(map(number, value.values()))
    )
