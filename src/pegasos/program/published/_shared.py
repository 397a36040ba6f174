"""What all reports share: their words, printed numbers and readings, tables, and the comparison with a report's best model."""

from __future__ import annotations

import csv
import itertools
import re
import time
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import numpy as np

from pegasos.program.records.studies import Better
from pegasos.program.studies.study import Key
from pegasos.program.studies.writing import table
from pegasos.search.estimates import held_out, mcnemar

Array = np.ndarray[Any, Any]


def _read(folder: str, file: str) -> str:
    return files(__package__).joinpath(folder, file).read_text(encoding="utf-8")


def printed_rows(name: str) -> list[dict[str, str]]:
    """The rows of a report's numbers, which come with the package."""
    return list(csv.DictReader(_read("printed", f"{name}.csv").splitlines()))


def described(name: str) -> dict[str, Any]:
    """Name, title, protocol and findings of a study: the headings and parts of its page in texts/."""
    parts = re.split(
        r"\n## (?:Protocol|Findings)\n", _read("texts", f"{name}.md").removeprefix("# ")
    )
    return {
        "name": name,
        **dict(zip(("title", "protocol", "findings"), map(str.strip, parts), strict=True)),
    }


def readings(key: Key, **axes: dict[str, Any]) -> dict[str, Key]:
    """A key for each choice of named values, called by their names.

    >>> readings({"lam": 0.1}, n_iter={"T = 5": 5, "T = 9": 9})
    {'T = 5': {'lam': 0.1, 'n_iter': 5}, 'T = 9': {'lam': 0.1, 'n_iter': 9}}
    """
    choices = [
        list(zip(*each, strict=True))
        for each in itertools.product(*(values.items() for values in axes.values()))
    ]
    return {
        ", ".join(names): {**key, **dict(zip(axes, values, strict=True))}
        for names, values in choices
    }


def of_lams(lams: list[float]) -> dict[str, float]:
    """Each λ by its name in a list of readings."""
    return {f"λ = {lam:g}": lam for lam in lams}


def seconds_of(function: Callable[..., Any], *arguments: Any) -> float:
    """How long a call takes."""
    begin = time.perf_counter()
    function(*arguments)
    return round(time.perf_counter() - begin, 4)


def shown(rows: list[dict[str, Any]], text: str = "") -> dict[str, Any]:
    """What an extra answers that shows rows as a table, after some words."""
    return {"rows": rows, "text": "\n".join([*([text, ""] if text else []), *table(rows)])}


def better(
    what: str, wrong: Array, theirs: Array | None = None, seconds: float = 0.0, settings: str = ""
) -> Better:
    """A model by the rows that it gets wrong, compared with those that the report's best model gets wrong."""
    found = held_out(wrong)
    against, p = "", None
    if theirs is not None:
        lost, won = int((wrong & ~theirs).sum()), int((theirs & ~wrong).sum())
        against, p = f"newly wrong : newly right {lost} : {won}", mcnemar(theirs, wrong)
    return Better(
        what,
        found.error,
        found.low,
        found.high,
        len(wrong),
        against,
        p,
        round(seconds, 1),
        settings,
    )
