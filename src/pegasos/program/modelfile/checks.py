"""What a setting may be: small questions from which the tables of parts are made."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pegasos.program.modelfile.tree import Check


def flag(value: Any) -> bool:
    """True or False."""
    return isinstance(value, bool)


def number(value: Any) -> bool:
    """A finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def whole(value: Any) -> bool:
    """A whole number that is not negative."""
    return type(value) is int and value >= 0


def scalar(value: Any) -> bool:
    """A number, text, True or False, or nothing."""
    return value is None or isinstance(value, bool | int | float | str)


def dtype(value: Any) -> bool:
    """A dtype of numbers that a model computes with."""
    return value in (np.float64, np.float32, np.int64, np.int32)


def nothing(value: Any) -> bool:
    """None."""
    return value is None


def one_of(*words: str) -> Check:
    """One of a few words."""
    return lambda value: isinstance(value, str) and value in words


def either(*checks: Check) -> Check:
    """What one of the checks takes."""
    return lambda value: any(check(value) for check in checks)


def pair_of(check: Check) -> Check:
    """Two of a kind, as a tuple or a list."""
    return lambda value: isinstance(value, tuple | list) and len(value) == 2 and all(map(check, value))


def list_of(check: Check) -> Check:
    """Any number of a kind."""
    return lambda value: isinstance(value, tuple | list) and all(map(check, value))


def weights(key: Check) -> Check:
    """A number for each key."""
    return lambda value: isinstance(value, dict) and all(key(name) and number(weight) for name, weight in value.items())
