"""Parts that several studies share: printed numbers, errors of searches, means, lowest errors."""

from __future__ import annotations

import csv
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pegasos import SweepCV
from pegasos.studies import Run

Array = np.ndarray[Any, Any]
Split = tuple[Array, Array]
#: Errors by setting, one value per seed.
Errors = dict[tuple[Any, ...], Array]

FOLDER = Path(__file__).parent / "printed"


def read_printed(name: str) -> list[dict[str, str]]:
    """Return the rows of one CSV file of printed numbers, as text."""
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def collect_errors(
    searches: Sequence[SweepCV], side: str = "test", kernels: Mapping[str, Any] | None = None
) -> Errors:
    """Return the mean errors over folds by setting, one value per search.

    A setting is the tuple of its parameters in the alphabetical order of their names; kernels are
    replaced by their names in `kernels`.
    """
    names = {repr(kernel): name for name, kernel in (kernels or {}).items()}
    tables = [search.cv_results_ for search in searches]
    settings = [
        tuple(names.get(repr(setting[key]), setting[key]) for key in sorted(setting))
        for setting in tables[0]["params"]
    ]
    errors = np.array([1 - table[f"mean_{side}_score"] for table in tables])
    return dict(zip(settings, errors.T, strict=True))


def describe(values: Any) -> str:
    """Return a number, or mean and standard deviation of several, as text."""
    spread = f" ± {np.std(values, ddof=1):.4f}" if np.size(values) > 1 else ""
    return f"{np.mean(values):.4f}{spread}"


def list_values(values: Mapping[Any, Any]) -> str:
    """Return names with their numbers as text."""
    return ", ".join(f"{_short(name)}: {describe(each)}" for name, each in values.items())


def _short(key: Any) -> Any:
    """Return a float as text without trailing zeros; other keys are unchanged."""
    return f"{key:g}" if isinstance(key, float) else key


def compare(
    values: Array,
    others: Array,
    words: tuple[str, str, str] = ("holds", "undecided", "does not hold"),
) -> str:
    """Return which mean error is lower by two standard errors, as the first or the last word."""
    lower, tie, higher = words
    if min(len(values), len(others)) < 2:
        return tie
    noise = np.sqrt(values.var(ddof=1) / len(values) + others.var(ddof=1) / len(others))
    gain = others.mean() - values.mean()
    return tie if abs(gain) <= 2 * noise else lower if gain > 0 else higher


def plot(
    run: Run,
    kind: str,
    title: str,
    names: tuple[str, str, str],
    values: Mapping[tuple[Any, Any], Any],
    caption: str = "",
) -> None:
    """Add a heatmap of values over their second and first key, or a line for each first key."""
    line, x, value = names
    rows = [{line: _short(a), x: _short(b), value: float(each)} for (a, b), each in values.items()]
    axes = {"y": line, "color": value} if kind == "heatmap" else {"y": value, "color": line}
    run.figure(kind, title, rows, x=x, caption=caption, **axes)


def reach_best(
    run: Run, what: str, predict: Callable[[Array, Array], Array], splits: Iterable[Split]
) -> None:
    """Add the error of a method, which predicts the test rows of each split."""
    run.log("the best error reached here")
    begin, wrong, tested = time.perf_counter(), 0, 0
    for train, test in splits:
        with warnings.catch_warnings(action="ignore"):
            wrong += int((predict(train, test) != run.y[test]).sum())
        tested += len(test)
    run.best(what, wrong / tested, tested, time.perf_counter() - begin)
