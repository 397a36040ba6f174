"""Settings as JSON: what plain JSON lacks (nan, tuples, dicts with other keys, kernels, dtypes) is spelled out."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from pegasos.engine.kernels import KERNELS, Kernel, is_relative
from pegasos.program.modelfile.errors import BadModel, short
from pegasos.program.modelfile.strictjson import check_text

Array = np.ndarray[Any, Any]

_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
#: Dtypes by name: of classes, categories and encoded columns.
NUMBERS = {
    np.dtype(kind).name: np.dtype(kind) for kind in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
}
#: Bytes of one array of strings, which NumPy pads to the longest.
_MOST_TEXT_BYTES = 2**24


def encode(value: Any, what: str) -> Any:
    """A setting as JSON; functions and all else that a file cannot hold are refused."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        check_text(value, what)
        return str(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise BadModel(f"{what}={short(value)} has more than 64 bits; a model file cannot hold it.")
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, list):
        return [encode(item, what) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(item, what) for item in value]}
    if isinstance(value, range) or (isinstance(value, np.ndarray) and value.ndim == 1):
        return [encode(item, what) for item in value]
    if isinstance(value, dict):
        return {"pairs": [[encode(key, what), encode(item, what)] for key, item in value.items()]}
    if isinstance(value, Kernel):
        return encode_kernel(value, what)
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic | bool | int | float)):
        if np.dtype(value).name in NUMBERS:
            return {"dtype": np.dtype(value).name}
    if callable(value):
        raise BadModel(f"{what} is a Python function or class ({short(value)}), and a model file holds nothing that runs.")
    raise BadModel(f"{what}={short(value)} is a {type(value).__name__}, which a model file cannot hold.")


def decode(value: Any, what: str, depth: int = 0) -> Any:
    """The setting that `encode` wrote."""
    if depth > 10:
        raise BadModel(f"{what} is nested too deeply: the file is damaged.")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [decode(item, what, depth + 1) for item in value]
    if isinstance(value, dict) and len(value) == 1:
        ((kind, content),) = value.items()
        if kind == "float" and isinstance(content, str) and content in _SPECIAL:
            return _SPECIAL[content]
        if kind == "tuple" and isinstance(content, list):
            return tuple(decode(item, what, depth + 1) for item in content)
        if kind == "dtype" and isinstance(content, str) and content in NUMBERS:
            return NUMBERS[content].type
        if kind == "pairs" and isinstance(content, list):
            return _decode_pairs(content, what, depth)
    if isinstance(value, dict) and set(value) == {"kernel", "params"}:
        return decode_kernel(value, what)
    raise BadModel(f"{what} is {short(value)}, which is no setting: the file is damaged.")


def _decode_pairs(content: list[Any], what: str, depth: int) -> dict[Any, Any]:
    found = {}
    for pair in content:
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], bool | int | float | str):
            raise BadModel(f"{what} is {short(content)}, which is no table of keys and values: the file is damaged.")
        found[pair[0]] = decode(pair[1], what, depth + 1)
    return found


def encode_kernel(kernel: Kernel, what: str) -> dict[str, Any]:
    """A kernel by its name in our table and its numbers."""
    for name, known in KERNELS.items():
        if type(kernel) is known:
            params = kernel.get_params()
            return {"kernel": name, "params": {key: encode(item, f"{what}'s {key}") for key, item in params.items()}}
    raise BadModel(
        f"{what}={short(kernel)} is a kernel of your own; model files hold {', '.join(KERNELS)}, and nothing that runs."
    )


def decode_kernel(value: Any, what: str) -> Kernel:
    """A kernel of our table."""
    if not isinstance(value, dict) or set(value) != {"kernel", "params"} or not isinstance(value["params"], dict):
        raise BadModel(f"{what} is {short(value)}, which is no kernel: the file is damaged.")
    name, params = value["kernel"], value["params"]
    if not isinstance(name, str) or name not in KERNELS:
        raise BadModel(f"{what} is the unknown kernel {short(name)}; known are {', '.join(KERNELS)}.")
    known = {field.name for field in dataclasses.fields(KERNELS[name])}
    for key, item in params.items():
        if key not in known or isinstance(item, bool) or not (isinstance(item, int | float) or is_relative(item)):
            raise BadModel(f"{what}: the kernel {name} takes no {short(key)}={short(item)}.")
    kernel = KERNELS[name](**params)
    try:
        kernel.resolve(np.zeros((1, 1)))
    except (ValueError, OverflowError) as error:
        raise BadModel(f"{what}: {error}.") from None
    return kernel


def encode_labels(values: Array, what: str) -> dict[str, Any]:
    """Classes or categories: numbers and strings by their dtype, mixtures (with None or nan) as objects."""
    if values.dtype.kind == "O":
        items = [item.item() if isinstance(item, np.generic) else item for item in values]
        for item in items:
            if not (item is None or isinstance(item, bool | int | float | str)):
                raise BadModel(
                    f"{what} holds {short(item)} ({type(item).__name__}); a model file can hold numbers and text there."
                )
        kind = "object"
    elif values.dtype.kind in "UT":
        kind, items = "str", [str(item) for item in values]
    elif values.dtype.name in NUMBERS:
        kind, items = values.dtype.name, values.tolist()
    else:
        raise BadModel(f"{what} has the dtype {values.dtype}, which a model file cannot hold; use numbers or text.")
    return {"dtype": kind, "values": [encode(item, what) for item in items]}


def decode_labels(told: Any, what: str) -> Array:
    """The array that `encode_labels` wrote; numbers are strictly increasing (nan may be last), nothing is there twice."""
    if not isinstance(told, dict) or set(told) != {"dtype", "values"} or not isinstance(told["values"], list):
        raise BadModel(f"{what} is {short(told)} instead of a dtype and values: the file is damaged.")
    kind, values = told["dtype"], [decode(item, what) for item in told["values"]]
    if kind == "object":
        if not all(item is None or isinstance(item, bool | int | float | str) for item in values):
            raise BadModel(f"{what} holds something that is neither number nor text: the file is damaged.")
        return objects(values)
    if kind == "str":
        return strings(values, what)
    if not isinstance(kind, str) or kind not in NUMBERS:
        raise BadModel(f"{what} has the unknown dtype {short(kind)}.")
    allowed = {"b": bool, "i": int, "u": int, "f": float}[NUMBERS[kind].kind]
    if not all(type(item) is allowed for item in values):
        raise BadModel(f"{what} holds values that are not {kind}: the file is damaged.")
    try:
        with np.errstate(over="ignore"):
            array = np.array(values, dtype=NUMBERS[kind])
    except OverflowError:
        raise BadModel(f"{what} holds values that are too large for {kind}: the file is damaged.") from None
    ordered = array[:-1] if kind.startswith("float") and array.size and np.isnan(array[-1]) else array
    if not (ordered[:-1] < ordered[1:]).all() or (ordered.size and not np.isfinite(ordered).all()):
        raise BadModel(f"{what} is not in increasing order: the file is damaged.")
    return array


def strings(values: list[Any], what: str) -> Array:
    """An array of NumPy's strings; NumPy would cut zeros at their end, and pads all to the longest."""
    if not all(isinstance(item, str) and not item.endswith("\0") for item in values):
        raise BadModel(f"{what} holds values that are not text, or text that ends with a zero character.")
    if 4 * len(values) * max(map(len, values), default=0) > _MOST_TEXT_BYTES:
        raise BadModel(f"{what} holds text that is too long for a model file; use shorter names.")
    return np.array(values, dtype=str)


def objects(values: list[Any]) -> Array:
    """An array of Python's own values, one each."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
