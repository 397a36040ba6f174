"""Values as JSON: settings, kernels, labels, and the text of a whole description.

JSON lacks nan, tuples, kernels, dtypes, and dicts with keys other than text. Each of them is
written as an object with one telling key, such as {"tuple": [1, 2]}.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.kernels.standard import KERNELS
from pegasos.program.errors import BadModel, short
from pegasos.program.modelfile import checks

Array = np.ndarray[Any, Any]

#: Most values (counted by their separators) of a description, and the most bytes of a parsed value.
_MOST_VALUES, _BYTES_PER_VALUE = 2_000_000, 128
_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_CODES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
#: Dtypes of classes, categories and encoded columns, by name.
NUMBERS = {np.dtype(code).name: np.dtype(code) for code in _CODES}
#: Most bytes of one array of strings, which NumPy pads to the longest.
_MOST_TEXT_BYTES = 2**24


def parse(text: bytes, memory: int) -> Any:
    """Return the value of a description, which takes at most `memory` bytes."""
    most_values = min(_MOST_VALUES, memory // _BYTES_PER_VALUE)
    if sum(map(text.count, (b",", b":", b"[", b"{"))) > most_values:
        raise BadModel(
            f"the model's description holds more than {most_values:,} values: "
            "this is not a model, or the memory limit is too low."
        )
    try:
        value = json.loads(text)
        # NaN, infinity and half of a surrogate pair can be parsed, but not be written again.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (RecursionError, ValueError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else short(str(error))
        raise BadModel(
            f"the model's description is not JSON ({reason}): the file was not written by pegasos."
        ) from None
    return value


def write(value: Any) -> str:
    """Return a JSON value as ASCII text; numbers of NumPy become those of Python."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"), default=_python_number)


def _python_number(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{short(value)} is neither a number nor text")


def encode(value: Any, what: str) -> Any:
    """Return a setting as JSON, or raise an error if it has no encoding, as functions do."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | range) or (isinstance(value, np.ndarray) and value.ndim == 1):
        return [encode(item, what) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(item, what) for item in value]}
    if isinstance(value, dict):
        return {"pairs": [[encode(key, what), encode(item, what)] for key, item in value.items()]}
    if isinstance(value, Kernel):
        return _encode_kernel(value, what)
    is_type = isinstance(value, type) and issubclass(value, np.generic | bool | int | float)
    if (is_type or isinstance(value, np.dtype)) and np.dtype(value).name in NUMBERS:
        return {"dtype": np.dtype(value).name}
    raise BadModel(
        f"{what} is {short(value)} ({type(value).__name__}). "
        "A model file holds numbers, text and lists only."
    )


def _encode_kernel(kernel: Kernel, what: str) -> dict[str, Any]:
    if KERNELS.get(kernel.name) is not type(kernel):
        raise BadModel(
            f"{what}={short(kernel)} is a custom kernel; model files contain no code and support "
            f"{', '.join(KERNELS)}."
        )
    params = {key: encode(item, f"{what}'s {key}") for key, item in kernel.get_params().items()}
    return {"kernel": kernel.name, "params": params}


def decode(value: Any, what: str, depth: int = 0) -> Any:
    """Return the setting that `encode` wrote."""
    if checks.scalar(value):
        return value
    if isinstance(value, list) and depth < 10:
        return [decode(item, what, depth + 1) for item in value]
    if isinstance(value, dict) and set(value) == {"kernel", "params"}:
        return _decode_kernel(value["kernel"], value["params"], what)
    if isinstance(value, dict) and len(value) == 1:
        ((kind, content),) = value.items()
        if kind == "float" and isinstance(content, str) and content in _SPECIAL:
            return _SPECIAL[content]
        if kind == "dtype" and isinstance(content, str) and content in NUMBERS:
            return NUMBERS[content].type
        items = decode(content, what, depth + 1) if isinstance(content, list) else []
        if kind == "tuple":
            return tuple(items)
        is_pair = checks.list_of(checks.anything, 2)
        if kind == "pairs" and all(is_pair(item) and checks.scalar(item[0]) for item in items):
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
            f"{what}: the kernel {name} cannot have the parameters {short(params)} "
            f"({error!s:.200})."
        ) from None
    return kernel


def encode_labels(values: Array, what: str) -> dict[str, Any]:
    """Return classes, categories or fill values as JSON with their dtype; mixtures are objects."""
    kind = {"O": "object", "U": "str", "T": "str"}.get(values.dtype.kind, values.dtype.name)
    if kind not in ("object", "str", *NUMBERS):
        raise BadModel(
            f"{what} has the dtype {values.dtype}, which a model file cannot hold; "
            "use numbers or text."
        )
    return {"dtype": kind, "values": [encode(item, what) for item in values]}


def decode_labels(described: Any, what: str) -> Array:
    """Return the array that `encode_labels` wrote."""
    if not isinstance(described, dict) or set(described) != {"dtype", "values"}:
        raise BadModel(f"{what} is {short(described)} instead of a dtype and values.")
    kind, values = described["dtype"], decode(described["values"], what)
    if not checks.list_of(checks.scalar)(values):
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
