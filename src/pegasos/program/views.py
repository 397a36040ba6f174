"""Terminal tables of results: facts of a learner, errors and metrics, the result of a search."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pegasos.engine.kernels.standard import as_kernel
from pegasos.estimates import Figure
from pegasos.metrics import Measure
from pegasos.program.pages import wording
from pegasos.program.pages.grid import points_of
from pegasos.program.records import runs
from pegasos.program.records.fitted import LearnerFacts
from pegasos.program.terminal import console
from pegasos.program.terminal.console import percent
from pegasos.program.terminal.grammar import option_flag
from pegasos.program.terminal.reproduction import expansion_degree, next_commands, nystroem_of
from pegasos.search.grid import Advice

_INTERVAL = "95 % interval"
#: Families of settings that a search lists.
_MOST_FAMILIES = 12


def show_learner(facts: LearnerFacts) -> None:
    """Print the facts of a fitted learner."""
    kernel = re.sub(r"\d+\.\d{6,}", lambda found: f"{float(found[0]):.6g}", facts.kernel)
    lines: dict[str, Any] = {"loss": facts.loss, "kernel": kernel}
    if facts.lam is not None:
        cost = "1/(λ m), m unknown" if facts.cost is None else f"{facts.cost:.3g}"
        lines["regularization"] = f"λ = {facts.lam:.3g} (C = {cost})"
    lines[facts.unit] = facts.count
    if facts.support_vectors is not None:
        of_rows = "" if facts.rows is None else f" of {facts.rows} training rows"
        lines["support vectors"] = f"{facts.support_vectors}{of_rows}"
    if facts.gap is not None:
        lines["certified"] = f"objective at most {facts.gap:.2g} (relative) above the optimum"
    console.show(*(f"  {name}: {value}" for name, value in lines.items() if value is not None))


def show_errors(errors: dict[str, runs.ErrorCount]) -> None:
    """Print the error on each kind of rows, with its interval and the majority-class baseline."""
    known = {name: each for name, each in errors.items() if each.error is not None}
    rows = [
        (name, each.rows, each.mistakes, *_estimate(each.error, each, Measure("error")))
        for name, each in known.items()
    ]
    console.table(("", "rows", "mistakes", "error", _INTERVAL, "baseline"), rows)


def show_figures(figures: dict[str, Figure], measure: Measure, positive: str | None) -> None:
    """Print a metric on each kind of rows, with its interval and baseline."""
    if measure.name == "error" or not figures:
        return
    rows = [
        (name, each.rows, *_estimate(each.value, each, measure)) for name, each in figures.items()
    ]
    of = "" if positive is None else f" of {positive!r}"
    console.table((f"{measure.name}{of}", "rows", measure.name, _INTERVAL, "baseline"), rows)
    console.show()


def _estimate(value: float | None, found: runs.ErrorCount | Figure, measure: Measure) -> list[str]:
    """Return a value, its interval and its baseline as texts."""
    value_, low, high, baseline = (
        value_text(number, measure) for number in (value, found.low, found.high, found.baseline)
    )
    return [value_, f"{low} to {high}", baseline]


def value_text(value: float | None, measure: Measure) -> str:
    """Return a value of a metric as text."""
    return "" if value is None else wording.score_text(value, measure).replace("\u00a0", " ")


def show_tune(found: runs.TuneRecord) -> None:
    """Print the result of a search and the next commands."""
    measure, choice = found.measure, found.figures.get(runs.OUT_OF_FOLD)
    folds = "one validation part" if found.folds == 1 else wording.count(found.folds, "fold")
    settings = wording.count(len(found.cells), "setting")
    console.heading(f"{found.data}: {settings} on {folds}, {found.seconds:.1f} s", "")
    texts = _setting_texts(found.cells)
    _show_families(found, texts)
    console.show("", f"choice: {texts[found.best]}")
    if found.simplest != found.best:
        simpler = texts[found.simplest]
        console.show(f"simpler: {simpler} (smoother, within one standard error)")
    value = f"{value_text(found.choice.value, measure)} {found.decision.how}"
    console.show(f"{measure.name}: {value} (optimistic: it was used to choose the model)")
    if measure.name == "error":
        honest = found.honest
        interval = f"{percent(honest.low)} to {percent(honest.high)}"
        console.show(f"bias-corrected: {percent(honest.error)} ({interval})")
    if choice is not None:
        console.show(f"baseline: {wording.baseline_text(choice, measure)}")
    test = found.figures.get("test")
    unlike = wording.unlike_words(found.honest, found.errors.get("test"), found.split)
    for warning in filter(None, (wording.verdict_words(choice, measure, test), unlike)):
        console.heading("", warning)
    console.show()
    show_figures(found.figures, measure, found.positive)
    show_errors(found.errors)
    console.show(
        *wording.probability_words(measure, found.cells),
        *wording.decision_lines(found.calibration, found.threshold),
        *(f"advice: {advice_words(each)}" for each in found.advice),
    )
    console.show("", *wording.decision_words(found))
    if found.page is not None:
        console.show("", f"page:  {found.page}")
    again = found.command if wording.loses_rare_classes(choice, measure, test) else None
    first, *rest = next_commands(found.model, found.source, again)
    console.show("", f"next:  {first}", *(f"       {each}" for each in rest))


def _setting_texts(cells: list[runs.CellRecord]) -> list[str]:
    """Return settings in the words of the page, with steps and weights that all of them share."""
    texts = []
    for point in points_of(cells):
        setting, features = point.cell.setting, nystroem_of(point.cell.setting)
        own = {"expand": expansion_degree(setting), "class_weight": setting.get("class_weight")}
        if features is not None:
            own |= {"nystroem": None, "kernel": as_kernel(features.kernel)}
            own["landmarks"] = features.landmarks
        values = {**point.values, **own}
        texts.append(wording.setting_text(values, point.cell.cost).replace("\u00a0", " "))
    return texts


def _show_families(found: runs.TuneRecord, texts: list[str]) -> None:
    """Print the best setting of each family; columns without a value are left out."""
    measure, leading, lines = found.measure, found.leading(), []
    rows = f" on {found.decision.first_rows:,} rows" if runs.is_sampled(found.cells) else ""
    for cell in leading[:_MOST_FAMILIES]:
        ends = [value_text(each, measure) for each in found.interval(cell) or ()]
        estimate, _ = runs.comparable(found.cells)[cell.number]
        training, value = value_text(cell.train, measure), value_text(estimate, measure)
        lines.append((texts[cell.number], training, value, " to ".join(ends)))
    name = f"{'cv' if found.folds > 1 else 'validation'} {measure.name}{rows}"
    head = ("best of each family", f"training {measure.name}", name, _INTERVAL)
    used = [place for place in range(len(head)) if any(line[place] for line in lines)]
    shown, *others = ([line[place] for place in used] for line in (head, *lines))
    console.table(shown, others, width=100)
    if len(leading) > _MOST_FAMILIES:
        table = Path(found.folder) / "results.csv"
        console.show(f"... and {len(leading) - _MOST_FAMILIES} more in {table}")


def advice_words(advice: Advice) -> str:
    """Return advice on the range of a parameter."""
    flag, value = option_flag(advice.parameter), f"{advice.value:g}"
    if advice.change == "more":
        return f"{flag} {value} is the largest of the grid, and larger values would clearly help."
    return f"{flag} {value} is at the border of the grid: try {advice.change} values."
