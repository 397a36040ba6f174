"""JSON without surprises: nothing twice, no NaN, no number or nesting that is too large, and no flood of tiny values."""

from __future__ import annotations

import json
import math
from typing import Any

from pegasos.program.modelfile.errors import BadModel, short

#: Values (counted by the characters that separate them) in one text. Each takes up to about 130 bytes once parsed.
MOST_VALUES = 2_000_000
BYTES_A_VALUE = 128


def parse(text: bytes, what: str, most_values: int = MOST_VALUES) -> Any:
    """The value that a text in UTF-8 holds; `what` names the text in messages."""
    if sum(text.count(mark) for mark in (b",", b":", b"[", b"{")) > most_values:
        raise BadModel(f"{what} holds more than {most_values:,} values: this is no model, or the memory limit is too low.")
    try:
        return json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_once,
            parse_constant=_no_constant,
            parse_int=_moderate_int,
            parse_float=_finite_float,
        )
    except BadModel:
        raise
    except RecursionError:
        raise BadModel(f"{what} is nested too deeply: the file is damaged or was not written by pegasos.") from None
    except ValueError as error:  # bad UTF-8, too
        raise BadModel(f"{what} is not JSON ({short(str(error))}): the file is damaged or was not written by pegasos.") from None


def write(value: Any) -> str:
    """A JSON value as ASCII text."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def plain(value: Any, what: str, depth: int = 0) -> Any:
    """A user's value as JSON values alone, or an error that tells where it is something else."""
    if depth > 50:
        raise BadModel(f"{what} is nested too deeply for a model file.")
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()  # a number of NumPy
    if value is None or isinstance(value, bool | int | str):
        check_text(value, what)
        if isinstance(value, int) and not -(2**63) <= value < 2**64:
            raise BadModel(f"{what} is a number of more than 64 bits.")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise BadModel(f"{what} is {value}, which JSON cannot hold; write None instead.")
        return value
    if isinstance(value, list | tuple):
        return [plain(item, f"{what}[{place}]", depth + 1) for place, item in enumerate(value)]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise BadModel(f"{what} has the key {key!r}; keys must be text.")
            check_text(key, f"a key of {what}")
        return {key: plain(item, f"{what}[{key!r}]", depth + 1) for key, item in value.items()}
    raise BadModel(f"{what} is {short(value)} ({type(value).__name__}); a model file holds numbers, text, lists and dicts.")


def check_text(value: Any, what: str) -> None:
    """Refuse text that is not Unicode (half of a surrogate pair): it could be neither printed nor written."""
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise BadModel(f"{what} is not valid Unicode text: {value!a:.80}.") from None


def check_all_text(value: Any, what: str) -> None:
    """The same for all text within a parsed value."""
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise BadModel(f"{what} holds text that is not valid Unicode: the file is damaged.") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise BadModel("the header names a key twice: the file is damaged or was not written by pegasos.")
    return found


def _no_constant(name: str) -> Any:
    raise BadModel(f"the header holds {name}, which is not JSON: the file was not written by pegasos.")


def _moderate_int(text: str) -> int:
    if len(text) > 20 or not -(2**63) <= int(text) < 2**64:
        raise BadModel(f"the header holds a number of {len(text)} digits: the file is damaged or was not written by pegasos.")
    return int(text)


def _finite_float(text: str) -> float:
    if len(text) > 400 or not math.isfinite(float(text)):
        raise BadModel(f"the header holds the number {text[:40]}, which no computer number can hold: the file is damaged.")
    return float(text)
