"""JSON without surprises: nothing twice, no NaN, no number or nesting that is too large, and no flood of tiny values."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from pegasos.program.errors import BadModel, short

#: Values (counted by the characters that separate them) in one text. Each takes up to about 130 bytes once parsed.
_MOST_VALUES = 2_000_000
_BYTES_A_VALUE = 128


def parse(text: bytes, what: str, memory: int) -> Any:
    """The value that a text in UTF-8 holds; `what` names the text in messages, `memory` is how many bytes the value may take."""
    most_values = min(_MOST_VALUES, memory // _BYTES_A_VALUE)
    if sum(map(text.count, (b",", b":", b"[", b"{"))) > most_values:
        raise BadModel(
            f"{what} holds more than {most_values:,} values: this is not a model, or the memory limit is too low."
        )
    try:
        numbers: Any = {
            "parse_constant": _finite_float,
            "parse_int": _moderate_int,
            "parse_float": _finite_float,
        }
        value = json.loads(text.decode("utf-8"), object_pairs_hook=_once, **numbers)
        json.dumps(value, ensure_ascii=False).encode(
            "utf-8"
        )  # half of a surrogate pair could be neither printed nor written
    except RecursionError:
        raise BadModel(
            f"{what} is nested too deeply: the file is damaged or was not written by pegasos."
        ) from None
    except ValueError as error:  # bad UTF-8, too
        raise BadModel(
            f"{what} is not JSON ({short(str(error))}): the file is damaged or was not written by pegasos."
        ) from None
    return value


def write(value: Any) -> str:
    """A JSON value as ASCII text."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def plain(value: Any, what: str, depth: int = 0) -> Any:
    """A user's value as JSON values alone, or an error that says where it is something else."""
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
    """A number, text, True, False or None as Python's own; everything else is refused."""
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
        f"{what} is {short(value)} ({kind}). A model file holds numbers, text and lists, and nothing that runs."
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _moderate_int(text: str) -> int:
    if len(text) > 20 or not -(2**63) <= int(text) < 2**64:
        raise ValueError(f"a number has {len(text)} digits")
    return int(text)


def _finite_float(text: str) -> float:
    if len(text) > 400 or not math.isfinite(float(text)):
        raise ValueError(f"{text[:40]} is not a finite number")
    return float(text)
