"""Parse the options --metric, --positive, --cost and --threshold."""

from __future__ import annotations

import csv
import itertools
from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.metrics import METRICS, Metric
from pegasos.program.errors import UsageError
from pegasos.program.tables.labels import label_text, label_texts
from pegasos.program.tables.messages import near
from pegasos.program.terminal.grammar import parse_numbers
from pegasos.program.terminal.options import JudgingOptions
from pegasos.search.decisions import AIMS, WISHES, Aim

#: Scorers of scikit-learn that equal one of our metrics, which have baselines and test estimates.
_OURS = {
    kind.in_scikit_learn.removeprefix("1 - ").removeprefix("-"): name
    for name, kind in METRICS.items()
    if name != "cost"
}


def check(judging: JudgingOptions, threshold: str | None = None) -> str:
    """Validate the options before data are read, and return the name of the metric.

    `threshold` is the value of --threshold, if given.
    """
    if threshold is not None:
        _wish(threshold)
    name = judging.metric or ("cost" if judging.costs else "error")
    name = _OURS.get(name, name)
    if judging.costs is not None and name != "cost":
        raise UsageError(f"--cost is for the metric cost, not for {name}.")
    if name == "cost" and judging.costs is None:
        raise UsageError(
            "--metric cost needs --cost 'true>answered:cost,...' or a CSV file of costs."
        )
    if name in METRICS:
        if judging.positive is not None and not METRICS[name].one_class and threshold is None:
            looking = ", ".join(each for each, kind in METRICS.items() if kind.one_class)
            raise UsageError(
                f"--positive is for metrics that look at one class, {looking}; {name} looks at all of them."
            )
        return name
    from sklearn.metrics import get_scorer_names

    if name not in get_scorer_names():
        hint = near(name, [*METRICS, *get_scorer_names()])
        raise UsageError(
            f"--metric {name!r} is neither one of {', '.join(METRICS)} nor a scorer of scikit-learn.{hint}"
        )
    if judging.positive is not None:
        raise UsageError(
            f"--positive has no meaning for scikit-learn's {name}: take f1, roc-auc or average-precision."
        )
    return name


def make_metric(
    judging: JudgingOptions, classes: Any, threshold: str | None = None
) -> Metric | None:
    """Return the metric for a table with these classes; None for a scorer of scikit-learn."""
    name, known = (
        check(judging, threshold),
        dict(zip(label_texts(classes).tolist(), np.asarray(classes).tolist(), strict=True)),
    )
    if name not in METRICS:
        return None

    def label(text: str, option: str) -> Any:
        found = label_text(text)
        if found not in known:
            there = ", ".join(itertools.islice(known, 10)) + (" ..." if len(known) > 10 else "")
            raise UsageError(
                f"{option}: there is no class {text!r}; there are {there}.{near(found, list(known))}"
            )
        return known[found]

    listed = [] if judging.costs is None else parse_costs(judging.costs)
    costs = tuple(
        (label(true, "--cost"), label(answered, "--cost"), cost) for true, answered, cost in listed
    )
    positive = None if judging.positive is None else label(judging.positive, "--positive")
    return Metric(name, positive if METRICS[name].one_class else None, costs)


def make_aim(threshold: str, judging: JudgingOptions, y: Any) -> Aim:
    """Return the criterion for choosing a threshold, for a table with these labels."""
    name, least = _wish(threshold)
    if len(np.unique(y)) != 2:
        raise UsageError(f"--threshold is for two classes, and there are {len(np.unique(y))}.")
    looking = make_metric(replace(judging, metric="f1", costs=None), np.unique(y))
    assert looking is not None
    positive = looking.settled(y).positive
    if name in WISHES:
        return Aim(Metric("f1", positive), name, least)
    asked = make_metric(replace(judging, metric=name, positive=None), np.unique(y))
    assert asked is not None
    return Aim(replace(asked, positive=positive))


def _wish(threshold: str) -> tuple[str, float]:
    """Parse --threshold: a metric, or a minimum precision or recall."""
    name, sign, value = threshold.partition("=")
    if name in AIMS and not sign:
        return name, 0.0
    if name in WISHES and sign:
        least = parse_numbers(value, "--threshold")[0]
        if 0 < least <= 1:
            return name, least
    form = f"{', '.join(AIMS)}, precision=0.9 or recall=0.8"
    raise UsageError(f"--threshold {threshold!r}: write {form}.")


def parse_costs(text: str) -> list[tuple[str, str, float]]:
    """Parse costs by true and predicted class, from text or a CSV file.

    The columns of the file are true, answered and cost.

    >>> parse_costs("fraud>ok:20,ok>fraud:1")
    [('fraud', 'ok', 20.0), ('ok', 'fraud', 1.0)]
    """
    form = "write true>answered:cost, several separated by commas, or name a CSV file with the columns true, answered, cost"
    if ">" not in text:
        try:
            with open(text, encoding="utf-8-sig", newline="") as file:
                lines = [[cell.strip() for cell in line] for line in csv.reader(file) if line]
        except OSError as error:
            raise UsageError(f"--cost {text!r}: {error.strerror or error}; {form}.") from None
        parts = lines[1:] if lines and lines[0][:1] == ["true"] else lines
    else:
        pairs = [part.rpartition(":") for part in text.split(",")]
        parts = [
            [*(each.strip() for each in pair.partition(">")[::2]), cost] for pair, _, cost in pairs
        ]
    found = []
    for part in parts:
        if len(part) != 3 or not all(part):
            raise UsageError(f"{','.join(part)!r} in --cost: {form}.")
        found.append((part[0], part[1], parse_numbers(part[2], "--cost")[0]))
        if found[-1][2] < 0 or part[0] == part[1]:
            raise UsageError(
                f"{','.join(part)!r} in --cost: costs are not below 0, and right answers cost nothing."
            )
    if not found:
        raise UsageError(f"--cost {text!r} lists no costs; {form}.")
    return found
