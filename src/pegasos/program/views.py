"""Terminal tables of results: facts of a learner, errors and metrics, the result of a search."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pegasos.estimates import Figure
from pegasos.learners.catalogue import ONE_VS_ONE
from pegasos.metrics import Measure
from pegasos.program.pages.values import count
from pegasos.program.pages.wording import (
    baseline_text,
    decision_lines,
    decision_words,
    probability_words,
    score_text,
    unlike_words,
    verdict_words,
    weight_words,
    whole_words,
)
from pegasos.program.records.models import LearnerFacts
from pegasos.program.records.runs import (
    OUT_OF_FOLD,
    CellRecord,
    ErrorCount,
    TuneRecord,
    comparable,
    is_sampled,
)
from pegasos.program.terminal import console
from pegasos.program.terminal.console import percent
from pegasos.program.terminal.grammar import option_flag
from pegasos.program.terminal.reproduction import expansion_degree, kernel_words
from pegasos.search.grid import Advice
from pegasos.search.settings import Setting

_INTERVAL = "95 % interval"
#: Families of settings that a search lists.
_MOST_FAMILIES = 12


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
    rows = []
    for name, each in errors.items():
        if each.error is not None:
            interval = f"{percent(each.low)} to {percent(each.high)}"
            counts = (name, each.rows, each.mistakes)
            rows.append((*counts, percent(each.error), interval, percent(each.baseline)))
    console.table(("", "rows", "mistakes", "error", _INTERVAL, "baseline"), rows)


def show_figures(figures: dict[str, Figure], measure: Measure, positive: str | None) -> None:
    """Print a metric on each kind of rows, with its interval and baseline."""
    rows = []
    for name, each in figures.items():
        value, low, high, baseline = (
            value_text(number, measure)
            for number in (each.value, each.low, each.high, each.baseline)
        )
        rows.append((name, each.rows, value, f"{low} to {high}", baseline))
    of = "" if positive is None else f" of {positive!r}"
    console.table((f"{measure.name}{of}", "rows", measure.name, _INTERVAL, "baseline"), rows)


def value_text(value: float | None, measure: Measure) -> str:
    """Return a value of a metric as text."""
    return "" if value is None else score_text(value, measure).replace("\u00a0", " ")


def show_tune(found: TuneRecord) -> None:
    """Print the result of a search."""
    measure, choice = found.measure, found.figures.get(OUT_OF_FOLD)
    folds = "one validation part" if found.folds == 1 else count(found.folds, "fold")
    settings = count(len(found.cells), "setting")
    console.heading(f"{found.data}: {settings} on {folds}, {found.seconds:.1f} s", "")
    _show_families(found)
    console.show("", f"choice: {cell_words(found.choice)}")
    if found.simplest != found.best:
        simpler = cell_words(found.cells[found.simplest])
        console.show(f"simpler: {simpler} (smoother, within one standard error)")
    value = f"{value_text(found.choice.value, measure)} {found.decision.how}"
    console.show(f"{measure.name}: {value} (optimistic: it was used to choose the model)")
    if measure.name == "error":
        honest = found.honest
        interval = f"{percent(honest.low)} to {percent(honest.high)}"
        console.show(f"bias-corrected: {percent(honest.error)} ({interval})")
    if choice is not None:
        console.show(f"baseline: {baseline_text(choice, measure)}")
    test = found.figures.get("test")
    unlike = unlike_words(found.honest, found.errors.get("test"), found.split)
    for warning in filter(None, (verdict_words(choice, measure, test), unlike)):
        console.heading("", warning)
    console.show()
    if measure.name != "error" and found.figures:
        show_figures(found.figures, measure, found.positive)
        console.show()
    show_errors(found.errors)
    console.show(
        *probability_words(measure, found.cells),
        *decision_lines(found.calibration, found.threshold),
        *(f"advice: {advice_words(each)}" for each in found.advice),
    )
    known = found.training_rows if found.whole is None else found.decision.fitted_rows
    console.show("", *whole_words(found.whole, found.training_rows))
    console.show(*decision_words(found.decision, known, found.cells))
    if found.page is not None:
        console.show("", f"page:  {found.page}")


def _show_families(found: TuneRecord) -> None:
    """Print the best setting of each family; columns without a value are left out."""
    rows = f" on {found.decision.first_rows:,} rows" if is_sampled(found.cells) else ""
    leading = found.leading()
    lines = [_columns(cell, found, rows) for cell in leading[:_MOST_FAMILIES]]
    names = [name for name in (lines[0] if lines else ()) if any(line[name] for line in lines)]
    console.table(names, [[line[name] for name in names] for line in lines], left=2)
    if len(leading) > _MOST_FAMILIES:
        table = Path(found.folder) / "results.csv"
        console.show(f"... and {len(leading) - _MOST_FAMILIES} more in {table}")


def _columns(cell: CellRecord, found: TuneRecord, rows: str) -> dict[str, Any]:
    setting, measure, interval = cell.setting, found.measure, found.interval(cell)
    ends = () if interval is None else (value_text(each, measure) for each in interval)
    number, unit = _stop(setting) or ("", None)
    estimate = f"{'cv' if found.folds > 1 else 'validation'} {measure.name}{rows}"
    return {
        "best of each family": ", ".join([setting.model, *_variations(setting)]),
        "kernel": kernel_words(setting),
        "expand": expansion_degree(setting) or "",
        "λ": "" if setting.lam is None else f"{setting.lam:.2g}",
        "C": "" if cell.cost is None else f"{cell.cost:.3g}",
        "epochs": number if unit == "epoch" else "",
        "steps": number if unit == "step" else "",
        f"training {measure.name}": value_text(cell.train, measure),
        estimate: value_text(comparable(found.cells)[cell.number][0], measure),
        _INTERVAL: " to ".join(ends),
    }


def cell_words(cell: CellRecord) -> str:
    """Return a setting on one line."""
    setting, degree, stop = cell.setting, expansion_degree(cell.setting), _stop(cell.setting)
    words = [f"{setting.model} {kernel_words(setting)}"]
    words += [] if degree is None else [f"expanded to degree {degree}"]
    words += _variations(setting)
    words += [] if setting.lam is None else [lam_with_cost(setting.lam, cell.cost)]
    words += [] if setting.C is None else [f"C = {setting.C:.3g}"]
    words += [] if stop is None else [count(*stop)]
    return ", ".join(words)


def _stop(setting: Setting) -> tuple[int, str] | None:
    """Return the number of epochs or steps and its unit; None if a certificate ends the fit."""
    if setting.stop is None or setting.declaration.tolerance is not None:
        return None
    return setting.stop.count, "step" if setting.stop.name == "n_iter" else "epoch"


def _variations(setting: Setting) -> list[str]:
    """Return class weights and one-vs-one as words, where a setting has them."""
    pairs = ONE_VS_ONE if setting.get("multiclass") == ONE_VS_ONE else None
    return [words for words in (weight_words(setting), pairs) if words]


def advice_words(advice: Advice) -> str:
    """Return advice on the range of a parameter."""
    flag, value = option_flag(advice.parameter), f"{advice.value:g}"
    if advice.change == "more":
        return f"{flag} {value} is the largest of the grid, and larger values would clearly help."
    return f"{flag} {value} is at the border of the grid: try {advice.change} values."
