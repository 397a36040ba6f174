"""What a value may be: small questions from which the tables of parts are made."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from types import NoneType
from typing import Any

Check = Callable[[Any], bool]


def of_type(*types: type) -> Check:
    """A value of just one of these types: True is no number here."""
    return lambda value: type(value) in types


flag, text, nothing = of_type(bool), of_type(str), of_type(NoneType)
scalar = of_type(NoneType, bool, int, float, str)


def number(value: Any) -> bool:
    """A finite number."""
    return type(value) in (int, float) and math.isfinite(value)


def count(value: Any) -> bool:
    """A whole number that is not negative."""
    return type(value) is int and 0 <= value < 2**63


def one_of(*options: Any) -> Check:
    """One of a few words or numbers, with its type."""
    return lambda value: any(type(value) is type(option) and value == option for option in options)


def either(*checks: Check) -> Check:
    return lambda value: any(check(value) for check in checks)


def list_of(check: Check, length: int | None = None) -> Check:
    """Values of one kind, as a tuple or a list."""
    return lambda value: (
        isinstance(value, tuple | list) and length in (None, len(value)) and all(map(check, value))
    )


def places(below: int) -> Check:
    """A list of whole numbers below a limit, in increasing order."""
    return lambda value: list_of(count)(value) and all(a < b for a, b in pairwise([*value, below]))


def weights(key: Check) -> Check:
    return lambda value: (
        isinstance(value, dict)
        and all(key(name) and number(weight) for name, weight in value.items())
    )
