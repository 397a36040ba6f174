"""What all reports share: their printed numbers, tables, and the comparison with a report's best model."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import numpy as np

from pegasos.program.records.studies import Better
from pegasos.program.studies.writing import table
from pegasos.search.estimates import held_out, mcnemar

Array = np.ndarray[Any, Any]


def printed_rows(name: str) -> list[dict[str, str]]:
    """The rows of a report's numbers, which come with the package."""
    text = files(__package__).joinpath("printed", f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def seconds_of(function: Callable[..., Any], *arguments: Any) -> float:
    """How long a call takes."""
    begin = time.perf_counter()
    function(*arguments)
    return round(time.perf_counter() - begin, 4)


def shown(rows: list[dict[str, Any]], text: str = "") -> dict[str, Any]:
    """What an extra answers that shows rows as a table, after some words."""
    return {"rows": rows, "text": "\n".join([*([text, ""] if text else []), *table(rows)])}


def better(what: str, wrong: Array, theirs: Array | None = None, seconds: float = 0.0, settings: str = "") -> Better:
    """A model by the rows that it gets wrong, compared with those that the report's best model gets wrong."""
    found = held_out(wrong)
    against, p = "", None
    if theirs is not None:
        against, p = f"errs alone {int((wrong & ~theirs).sum())} : {int((theirs & ~wrong).sum())}", mcnemar(theirs, wrong)
    return Better(what, found.error, found.low, found.high, len(wrong), against, p, round(seconds, 1), settings)
