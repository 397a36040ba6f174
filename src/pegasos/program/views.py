"""Terminal tables that several commands print: facts of a learner, errors and metrics."""

from __future__ import annotations

import re
from typing import Any

from pegasos.metrics import Measure
from pegasos.program.pages.wording import score_text
from pegasos.program.records.models import LearnerFacts
from pegasos.program.records.runs import ErrorCount
from pegasos.program.terminal import console
from pegasos.program.terminal.console import percent
from pegasos.search.estimates import Figure

_INTERVAL = "95 % interval"


def lam_with_cost(lam: float, cost: float | None) -> str:
    """Return λ with its C, which depends on the number of training rows."""
    return f"λ = {lam:.3g} (C = {'1/(λ m), m unknown' if cost is None else f'{cost:.3g}'})"


def show_learner(facts: LearnerFacts) -> None:
    """Print the facts of a fitted learner."""
    kernel = re.sub(r"\d+\.\d{6,}", lambda found: f"{float(found[0]):.6g}", facts.kernel)
    lines: dict[str, Any] = {"loss": facts.loss, "kernel": kernel}
    if facts.lam is not None:
        lines["regularization"] = lam_with_cost(facts.lam, facts.cost)
    lines[facts.unit] = facts.count
    if facts.support_vectors is not None:
        of_rows = "" if facts.rows is None else f" of {facts.rows} training rows"
        lines["support vectors"] = f"{facts.support_vectors}{of_rows}"
    if facts.gap is not None:
        lines["certified"] = f"objective at most {facts.gap:.2g} (relative) above the optimum"
    console.show(*(f"  {name}: {value}" for name, value in lines.items() if value is not None))


def show_errors(errors: dict[str, ErrorCount]) -> None:
    """Print the error on each kind of rows, with its interval and the majority-class baseline."""
    rows = [
        (
            name,
            each.rows,
            each.mistakes,
            percent(each.error),
            f"{percent(each.low)} to {percent(each.high)}",
            "" if each.baseline is None else percent(each.baseline),
        )
        for name, each in errors.items()
        if each.error is not None and each.low is not None and each.high is not None
    ]
    console.table(("", "rows", "mistakes", "error", _INTERVAL, "baseline"), rows)


def show_figures(figures: dict[str, Figure], measure: Measure, positive: str | None) -> None:
    """Print a metric on each kind of rows, with its interval and baseline."""
    rows = [
        (
            name,
            each.rows,
            value_text(each.value, measure),
            f"{value_text(each.low, measure)} to {value_text(each.high, measure)}",
            value_text(each.baseline, measure),
        )
        for name, each in figures.items()
    ]
    of = "" if positive is None else f" of {positive!r}"
    console.table((f"{measure.name}{of}", "rows", measure.name, _INTERVAL, "baseline"), rows)


def value_text(value: float | None, measure: Measure) -> str:
    """Return a value of a metric as text."""
    return "" if value is None else score_text(value, measure).replace("\u00a0", " ")
