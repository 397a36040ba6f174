"""Conversion between dataclasses and JSON by their type annotations.

Missing fields and values of other types are reported as a version mismatch.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import types
import typing
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from pegasos.program.files import write_text
from pegasos.program.tables.dataset import BadData
from pegasos.search.settings import Setting

T = TypeVar("T")

#: Format version, incremented manually whenever a record changes.
VERSION = 7


class OtherVersion(BadData):
    """File written by another version of pegasos."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(
            f"{where} was written by another version of pegasos ({what}). "
            "Run the command that wrote it again."
        )


def to_json(value: Any) -> Any:
    """Convert a value to JSON types.

    Records become objects, arrays become lists, and values that are not finite become null. Bytes
    of file names that are not valid UTF-8 are written as escape sequences.
    """
    if isinstance(value, float):  # checked early: most values of a record are numbers
        return float(value) if math.isfinite(value) else None
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {str(name): to_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(each) for each in value]
    if isinstance(value, Setting):
        return value.to_json()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: to_json(getattr(value, each.name)) for each in dataclasses.fields(value)}
    return to_json(value.tolist()) if isinstance(value, np.ndarray | np.generic) else value


def from_json(kind: Any, value: Any, where: str) -> Any:
    """Restore a value of a type that `to_json` wrote; `where` names the file in messages.

    Raises
    ------
    OtherVersion
        If the value does not have the type.
    """
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return value
    if origin in (types.UnionType, typing.Union):  # of a type and None, the second one
        return None if value is None else from_json(inner[0], value, where)
    if origin is list and isinstance(value, list):
        return [from_json(inner[0], each, where) for each in value]
    if origin is tuple and isinstance(value, list) and len(value) == len(inner):
        return tuple(from_json(one, each, where) for one, each in zip(inner, value, strict=True))
    if origin is dict and isinstance(value, dict):
        return {name: from_json(inner[1], each, where) for name, each in value.items()}
    if hasattr(kind, "kinds") and isinstance(value, dict):  # the value names its class
        kind = kind.kinds().get(str(value.get("kind")))
    if kind is Setting and isinstance(value, dict):
        try:
            return Setting.from_json(value)
        except (TypeError, LookupError, ValueError, AttributeError) as error:
            raise OtherVersion(where, f"a setting that is not known: {error}") from None
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and isinstance(value, dict):
        fields = _fields(kind)
        for name in fields:
            if name not in value:
                raise OtherVersion(where, f"{kind.__name__} without {name!r}")
        return kind(**{name: from_json(hint, value[name], where) for name, hint in fields.items()})
    # JSON has whole numbers without a point, and may have hundreds of digits.
    if kind is float and type(value) is int and abs(value) < 1e300:
        return float(value)
    if origin is None and isinstance(kind, type) and isinstance(value, kind):
        return value
    expected = getattr(kind, "__name__", kind)
    raise OtherVersion(where, f"found {type(value).__name__} instead of {expected}")


@functools.cache
def _fields(kind: Any) -> dict[str, Any]:
    """Return names and types of a record's fields, cached: annotations take long to resolve."""
    hints = typing.get_type_hints(kind)
    return {each.name: hints[each.name] for each in dataclasses.fields(kind)}


def save(path: str | Path, record: Any) -> Path:
    """Write a record to a file atomically."""
    found = {"version": VERSION, **to_json(record)}
    write_text(path, json.dumps(found, ensure_ascii=False, separators=(",", ":")) + "\n")
    return Path(path)


def load(kind: type[T], path: str | Path) -> T:
    """Read a record of type `kind` from a file."""
    where = str(path)
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise BadData(
            f"{where} is damaged: it is not JSON. Run the command that wrote it again."
        ) from None
    if not isinstance(found, dict) or found.get("version") != VERSION:
        raise OtherVersion(where, f"this one reads version {VERSION} of its files")
    return typing.cast("T", from_json(kind, found, where))
