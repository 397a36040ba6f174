"""Values of model files as JSON and arrays.

JSON lacks arrays, tuples, dtypes, nan, and dicts with keys other than text. Each of them is written
as an object with one key, such as {"tuple": [1, 2]}. Objects of known classes (see `Record`) are
written under the name of their class, such as {"Gaussian": {"variance": 2.0}}. Numeric arrays are
stored beside the JSON text, which refers to them by name: {"array": "model/coef_"}.
"""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.program.errors import BadModel, short

Array = np.ndarray[Any, Any]

#: Most values (counted by their separators) of a description, and the most bytes of a parsed value.
_MOST_VALUES, _BYTES_PER_VALUE = 2_000_000, 128
_MOST_DEPTH = 24
_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_CODES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
#: Dtypes of arrays and settings, by name.
DTYPES = {np.dtype(code).name: np.dtype(code) for code in _CODES}
_SPARSE: dict[str, Any] = {"csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}
#: Most bytes of all arrays of strings, which NumPy pads to their longest string.
_MOST_TEXT_BYTES = 2**25


def parse(text: bytes, memory: int) -> Any:
    """Return the JSON value of a description, which may take this memory in bytes."""
    most_values = min(_MOST_VALUES, memory // _BYTES_PER_VALUE)
    if sum(map(text.count, (b",", b":", b"[", b"{"))) > most_values:
        raise BadModel(
            f"the model's description holds more than {most_values:,} values: "
            "this is not a model, or the memory limit is too low."
        )
    value = json.loads(text)
    # NaN, infinity and half of a surrogate pair can be parsed, but not be written again.
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    return value


def to_json(value: Any) -> str:
    """Return a JSON value as ASCII text; numbers of NumPy become those of Python."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"), default=np.generic.item)


def is_scalar(value: Any) -> bool:
    """Return whether a value is text, a Python number or None."""
    return value is None or type(value) in (bool, int, float, str)


@dataclass(frozen=True)
class Record:
    """Class whose objects model files contain, as the values of its dataclass fields."""

    cls: Any

    def fields(self, value: Any, place: str) -> dict[str, Any]:
        """Return the values to write."""
        return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}

    def build(self, fields: dict[str, Any], place: str) -> Any:
        """Return the object with these values, which come from an untrusted file."""
        return self.cls(**fields)


#: The records that files may contain, by the name of their class.
RECORDS: dict[str, Record] = {}


def register(*records: Record) -> None:
    """Add records to those that files may contain."""
    RECORDS.update({record.cls.__name__: record for record in records})


@dataclass(frozen=True)
class Encoder:
    """Writer of values as JSON, which collects their arrays."""

    arrays: dict[str, Array] = field(default_factory=dict)

    def encode(self, value: Any, place: str) -> Any:
        """Return a value as JSON; its place, such as "model/coef_", names it in messages."""
        if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
            value = value.item()
        if isinstance(value, float) and not math.isfinite(value):
            return {"float": str(value)}
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, list | range):
            return [self.encode(item, f"{place}/{index}") for index, item in enumerate(value)]
        if isinstance(value, tuple):
            return {"tuple": self.encode(list(value), place)}
        if isinstance(value, dict):
            return {
                "pairs": [
                    [self.encode(key, place), self.encode(item, f"{place}/{key}")]
                    for key, item in value.items()
                ]
            }
        name = type(value).__name__
        if isinstance(value, np.ndarray):
            return self._encode_array(value, place)
        if sparse.issparse(value) and name in _SPARSE:
            parts = {each: getattr(value, each) for each in ("data", "indices", "indptr", "shape")}
            return {name: self._encode_fields(parts, place)}
        if name in RECORDS and type(value) is RECORDS[name].cls:
            return {name: self._encode_fields(RECORDS[name].fields(value, place), place)}
        is_type = isinstance(value, type) and issubclass(value, np.generic | bool | int | float)
        if (is_type or isinstance(value, np.dtype)) and np.dtype(value).name in DTYPES:
            return {"dtype": np.dtype(value).name}
        raise BadModel(
            f"{place} is a {name}, which model files do not support: {short(value)}. "
            f"They support numbers, text, lists and {', '.join(RECORDS)}."
        )

    def _encode_fields(self, fields: dict[str, Any], place: str) -> dict[str, Any]:
        return {name: self.encode(value, f"{place}/{name}") for name, value in fields.items()}

    def _encode_array(self, values: Array, place: str) -> dict[str, Any]:
        """Return the name of a numeric array, or the items of an array of text or objects."""
        if values.dtype.name in DTYPES:
            while place in self.arrays:  # names of steps may contain slashes
                place += "'"
            self.arrays[place] = np.asarray(values, order="C")
            return {"array": place}
        if values.ndim != 1 or values.dtype.kind not in "OUT":
            raise BadModel(f"{place} has the dtype {values.dtype}: use numbers or text.")
        kind = "objects" if values.dtype.kind == "O" else "text"
        return {kind: self.encode(values.tolist(), place)}


@dataclass
class Decoder:
    """Reader of the values that an `Encoder` wrote; every array may be used once."""

    arrays: dict[str, Array]
    text_bytes: int = 0

    def decode(self, value: Any, place: str, depth: int = 0) -> Any:
        """Return a value, or raise any error of Python if the JSON is not one of `Encoder`."""
        if is_scalar(value):
            return value
        if depth == _MOST_DEPTH:
            raise BadModel(f"{place} is nested too deeply.")

        def inside(item: Any, name: Any) -> Any:
            return self.decode(item, f"{place}/{name!s:.40}", depth + 1)

        if isinstance(value, list):
            return [inside(item, index) for index, item in enumerate(value)]
        ((kind, content),) = value.items()
        if kind == "array":
            return self.arrays.pop(content)  # a second use could multiply the memory it takes
        if kind == "float":
            return _SPECIAL[content]
        if kind == "dtype":
            return DTYPES[content].type
        if kind == "pairs":
            return {inside(key, "key"): inside(item, key) for key, item in content}
        if kind in ("tuple", "text", "objects"):
            items = inside(list(content), kind)
            return tuple(items) if kind == "tuple" else self._label_array(kind, items, place)
        if kind not in RECORDS and kind not in _SPARSE:
            raise BadModel(
                f"{place} is of the unknown type {short(kind)}. Known are {', '.join(RECORDS)}."
            )
        fields = {name: inside(item, name) for name, item in content.items()}
        return _csr(kind, **fields) if kind in _SPARSE else RECORDS[kind].build(fields, place)

    def _label_array(self, kind: str, items: list[Any], place: str) -> Array:
        if kind == "objects" and all(map(is_scalar, items)):
            return objects(items)
        self.text_bytes += 4 * len(items) * max(map(len, items), default=0)
        if self.text_bytes > _MOST_TEXT_BYTES:
            raise BadModel(f"{place} holds too much text for a model file; use shorter names.")
        return strings(items, place)


def _csr(kind: str, data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> Any:
    rows = _SPARSE[kind]((data, indices, indptr), shape=shape)
    rows.check_format(full_check=True)  # compiled code would read beyond the arrays
    return rows


def strings(values: list[Any], place: str) -> Array:
    """Return a NumPy array of strings; refuse zero characters at the end, which NumPy strips."""
    if not all(isinstance(item, str) and not item.endswith("\0") for item in values):
        raise BadModel(f"{place} is not text, or ends with a zero character.")
    return np.array(values, dtype=str)


def objects(values: list[Any]) -> Array:
    """Return a one-dimensional array of Python objects."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
