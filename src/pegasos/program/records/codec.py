"""Conversion between dataclasses and JSON by their type annotations.

Missing fields and values of other types are reported as a version mismatch.
"""

from __future__ import annotations

import contextlib
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
        self.where, self.what = where, what


def to_json(value: Any) -> Any:
    """Convert a value to JSON types.

    Records become objects, arrays become lists, and values that are not finite become null. Bytes
    of file names that are not valid UTF-8 are written as escape sequences.
    """
    if value is None or type(value) in (bool, int):
        return value
    if type(value) is float:  # checked early: most values of a record are numbers
        return value if math.isfinite(value) else None
    if isinstance(value, Setting):
        return value.to_json()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: to_json(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(name): to_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(each) for each in value]
    if isinstance(value, np.ndarray | np.generic):
        return to_json(value.tolist())
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return None if isinstance(value, float) and not math.isfinite(value) else value


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
    if origin in (types.UnionType, typing.Union):
        if value is None:
            return None
        return from_json(next(each for each in inner if each is not type(None)), value, where)
    if origin is list and isinstance(value, list):
        return [from_json(inner[0], each, where) for each in value]
    if origin is tuple and isinstance(value, list):
        kinds = inner[:1] * len(value) if inner[-1] is Ellipsis else inner
        if len(kinds) == len(value):
            return tuple(
                from_json(kind, each, where) for kind, each in zip(kinds, value, strict=True)
            )
    if origin is dict and isinstance(value, dict):
        return {name: from_json(inner[1], each, where) for name, each in value.items()}
    if kind is Setting and isinstance(value, dict):
        try:
            return Setting.from_json(value)
        except (TypeError, LookupError, ValueError, AttributeError) as error:
            raise OtherVersion(where, f"a setting that is not known: {error}") from None
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and isinstance(value, dict):
        fields = _fields(kind)
        missing = [name for name in fields if name not in value]
        if missing:
            raise OtherVersion(where, f"{kind.__name__} without {missing[0]!r}")
        return kind(**{name: from_json(hint, value[name], where) for name, hint in fields.items()})
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):  # an integer of hundreds of digits
            return float(value)
    if origin is None and isinstance(kind, type) and isinstance(value, kind):
        return value
    raise OtherVersion(
        where, f"found {type(value).__name__} instead of {getattr(kind, '__name__', kind)}"
    )


@functools.cache
def _fields(kind: Any) -> dict[str, Any]:
    """Return names and types of a record's fields.

    Resolving string annotations takes longer than reading the values, so the result is cached.
    """
    hints = typing.get_type_hints(kind)
    return {each.name: hints[each.name] for each in dataclasses.fields(kind)}


def save(path: str | Path, record: Any) -> Path:
    """Write a record to a file atomically."""
    text = json.dumps(
        {"version": VERSION, **to_json(record)}, ensure_ascii=False, separators=(",", ":")
    )
    write_text(path, text + "\n")
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
