"""JSON with limits: finite numbers, valid Unicode, and a number of values that fits in memory."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from pegasos.program.errors import BadModel, short

#: Most values (counted by their separators) in one text; a parsed value takes up to 130 bytes.
_MOST_VALUES = 2_000_000
_BYTES_A_VALUE = 128


def parse(text: bytes, what: str, memory: int) -> Any:
    """Return the value of a UTF-8 text.

    `what` names the text in messages; `memory` is the largest size of the value in bytes.
    """
    most_values = min(_MOST_VALUES, memory // _BYTES_A_VALUE)
    if sum(map(text.count, (b",", b":", b"[", b"{"))) > most_values:
        raise BadModel(
            f"{what} holds more than {most_values:,} values: this is not a model, or the memory limit is too low."
        )
    try:
        value = json.loads(text)
        # NaN, infinity and half of a surrogate pair can be parsed, but not be written again.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except RecursionError:
        raise BadModel(
            f"{what} is nested too deeply: the file was not written by pegasos."
        ) from None
    except ValueError as error:
        raise BadModel(
            f"{what} is not JSON ({short(str(error))}): the file was not written by pegasos."
        ) from None
    return value


def write(value: Any) -> str:
    """Return a JSON value as ASCII text."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def plain(value: Any, what: str, depth: int = 0) -> Any:
    """Return a value converted to JSON values, or raise an error that names the first other one."""
    if depth > 50:
        raise BadModel(f"{what} is nested too deeply for a model file.")
    if isinstance(value, list | tuple):
        return [plain(item, f"{what}[{place}]", depth + 1) for place, item in enumerate(value)]
    if isinstance(value, dict):
        if wrong := [key for key in value if not isinstance(key, str)]:
            raise BadModel(f"{what} has the key {wrong[0]!r}; keys must be text.")
        return {
            scalar(key, f"a key of {what}"): plain(item, f"{what}[{key!r}]", depth + 1)
            for key, item in value.items()
        }
    value = scalar(value, what)
    if isinstance(value, float) and not math.isfinite(value):
        raise BadModel(f"{what} is {value}, which JSON cannot hold; write None instead.")
    return value


def scalar(value: Any, what: str) -> bool | int | float | str | None:
    """Return a number, text, True, False or None as Python's own type; refuse everything else."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise BadModel(f"{what} is not valid Unicode text: {value!a:.80}.") from None
        return str(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise BadModel(f"{what} is a number of more than 64 bits, which a model file cannot hold.")
    if isinstance(value, int | float):
        return int(value) if isinstance(value, int) else float(value)
    kind = type(value).__name__
    raise BadModel(
        f"{what} is {short(value)} ({kind}). A model file holds numbers, text and lists only."
    )
