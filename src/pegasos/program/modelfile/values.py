"""Settings as JSON, with an encoding of nan, tuples, dicts with other keys, kernels and dtypes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.kernels.standard import KERNELS
from pegasos.program.errors import BadModel, short
from pegasos.program.modelfile import checks, strictjson

Array = np.ndarray[Any, Any]

_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
#: Dtypes of classes, categories and encoded columns, by name.
NUMBERS = {
    kind.name: kind
    for kind in map(
        np.dtype, ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
    )
}
#: Most bytes of one array of strings, which NumPy pads to the longest.
_MOST_TEXT_BYTES = 2**24


def encode(value: Any, what: str) -> Any:
    """Return a setting as JSON, or raise an error if it has no encoding, as functions do."""
    if isinstance(value, list | range) or (isinstance(value, np.ndarray) and value.ndim == 1):
        return [encode(item, what) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(item, what) for item in value]}
    if isinstance(value, dict):
        return {"pairs": [[encode(key, what), encode(item, what)] for key, item in value.items()]}
    if isinstance(value, Kernel):
        if KERNELS.get(value.name) is not type(value):
            known = ", ".join(KERNELS)
            raise BadModel(
                f"{what}={short(value)} is a custom kernel; model files contain no code and support {known}."
            )
        params = {key: encode(item, f"{what}'s {key}") for key, item in value.get_params().items()}
        return {"kernel": value.name, "params": params}
    if isinstance(value, np.dtype) or (
        isinstance(value, type) and issubclass(value, np.generic | bool | int | float)
    ):
        if np.dtype(value).name in NUMBERS:
            return {"dtype": np.dtype(value).name}
    value = strictjson.scalar(value, what)
    return {"float": str(value)} if isinstance(value, float) and not math.isfinite(value) else value


def decode(value: Any, what: str, depth: int = 0) -> Any:
    """Return the setting that `encode` wrote."""
    if depth > 10:
        raise BadModel(f"{what} is nested too deeply.")
    if checks.scalar(value):
        return value
    if isinstance(value, list):
        return [decode(item, what, depth + 1) for item in value]
    if isinstance(value, dict) and set(value) == {"kernel", "params"}:
        return _decode_kernel(value["kernel"], value["params"], what)
    if isinstance(value, dict) and len(value) == 1:
        ((kind, content),) = value.items()
        if kind == "float" and isinstance(content, str) and content in _SPECIAL:
            return _SPECIAL[content]
        if kind == "dtype" and isinstance(content, str) and content in NUMBERS:
            return NUMBERS[content].type
        if kind in ("tuple", "pairs") and isinstance(content, list):
            items = decode(content, what, depth + 1)
            if kind == "tuple":
                return tuple(items)
            if all(
                isinstance(pair, list) and len(pair) == 2 and checks.scalar(pair[0])
                for pair in items
            ):
                return dict(items)
    raise BadModel(f"{what} is {short(value)}, which is not a setting.")


def _decode_kernel(name: Any, params: Any, what: str) -> Kernel:
    if not isinstance(name, str) or name not in KERNELS:
        raise BadModel(
            f"{what} is the unknown kernel {short(name)}; known are {', '.join(KERNELS)}."
        )
    try:
        kernel = KERNELS[name](**params)
        kernel.resolve(np.zeros((1, 1)))
    except (TypeError, ValueError, OverflowError) as error:
        raise BadModel(
            f"{what}: the kernel {name} cannot have the parameters {short(params)} ({error!s:.200})."
        ) from None
    return kernel


def encode_labels(values: Array, what: str) -> dict[str, Any]:
    """Return classes, categories or fill values as JSON with their dtype; mixtures are objects."""
    kind = {"O": "object", "U": "str", "T": "str"}.get(values.dtype.kind, values.dtype.name)
    if kind not in ("object", "str", *NUMBERS):
        raise BadModel(
            f"{what} has the dtype {values.dtype}, which a model file cannot hold; use numbers or text."
        )
    return {
        "dtype": kind,
        "values": [encode(strictjson.scalar(item, what), what) for item in values],
    }


def decode_labels(described: Any, what: str) -> Array:
    """Return the array that `encode_labels` wrote."""
    if not isinstance(described, dict) or set(described) != {"dtype", "values"}:
        raise BadModel(f"{what} is {short(described)} instead of a dtype and values.")
    kind, values = described["dtype"], decode(described["values"], what)
    if not isinstance(values, list) or not all(map(checks.scalar, values)):
        raise BadModel(f"{what} holds something that is neither a number nor text.")
    if kind == "object":
        return objects(values)
    if kind == "str":
        return strings(values, what)
    try:
        return np.array(values, dtype=NUMBERS[kind])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise BadModel(f"{what} holds values that are not of the dtype {short(kind)}.") from None


def strings(values: list[Any], what: str) -> Array:
    """Return an array of NumPy strings.

    NumPy strips trailing zero characters and pads all strings to the longest, so both are limited.
    """
    if not all(isinstance(item, str) and not item.endswith("\0") for item in values):
        raise BadModel(
            f"{what} holds values that are not text, or text that ends with a zero character."
        )
    if 4 * len(values) * max(map(len, values), default=0) > _MOST_TEXT_BYTES:
        raise BadModel(f"{what} holds text that is too long for a model file; use shorter names.")
    return np.array(values, dtype=str)


def objects(values: list[Any]) -> Array:
    """Return a one-dimensional array of Python objects."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
