"""Terminal output of `tune`: the best setting of each family, the choice and its errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pegasos.learners.catalogue import ONE_VS_ONE
from pegasos.program.pages.values import count
from pegasos.program.pages.wording import (
    baseline_text,
    decision_lines,
    decision_words,
    probability_words,
    unlike_words,
    verdict_words,
    weight_words,
    whole_words,
)
from pegasos.program.records.runs import OUT_OF_FOLD, CellRecord, TuneRecord, is_sampled
from pegasos.program.terminal import console
from pegasos.program.terminal.console import percent
from pegasos.program.terminal.reproduction import expansion_degree, kernel_words, option_flag
from pegasos.program.views import lam_with_cost, show_errors, show_figures, value_text
from pegasos.search.advice import Advice
from pegasos.search.settings import Setting

_MOST_FAMILIES = 12


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
    console.show(*decision_words(found.decision, found.folds, known, found.cells))
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
    extra = filter(None, (setting.model, weight_words(setting), pair_words(setting)))
    stop = _stop(setting)
    return {
        "best of each family": ", ".join(extra),
        "kernel": kernel_words(setting),
        "expand": expansion_degree(setting) or "",
        "λ": "" if setting.lam is None else f"{setting.lam:.2g}",
        "C": "" if cell.cost is None else f"{cell.cost:.3g}",
        "epochs": "" if stop is None or stop[1] != "epoch" else stop[0],
        "steps": "" if stop is None or stop[1] != "step" else stop[0],
        f"training {measure.name}": value_text(cell.train, measure),
        f"{'cv' if found.folds > 1 else 'validation'} {measure.name}{rows}": value_text(
            found.comparable(cell)[0], measure
        ),
        "95 % interval": " to ".join(ends),
    }


def cell_words(cell: CellRecord) -> str:
    """Return a setting on one line."""
    setting, degree, stop = cell.setting, expansion_degree(cell.setting), _stop(cell.setting)
    words = [f"{setting.model} {kernel_words(setting)}"]
    words += [] if degree is None else [f"expanded to degree {degree}"]
    words += filter(None, (weight_words(setting), pair_words(setting)))
    words += [] if setting.lam is None else [lam_with_cost(setting.lam, cell.cost)]
    words += [] if setting.C is None else [f"C = {setting.C:.3g}"]
    words += [] if stop is None else [count(*stop)]
    return ", ".join(words)


def _stop(setting: Setting) -> tuple[int, str] | None:
    """Return the number of epochs or steps and its unit; None if a certificate ends the fit."""
    if setting.stop is None or setting.declaration.tolerance is not None:
        return None
    return setting.stop.count, "step" if setting.stop.name == "n_iter" else "epoch"


def pair_words(setting: Setting) -> str | None:
    """Return "one-vs-one" for a setting with a predictor for each pair of classes."""
    return ONE_VS_ONE if setting.get("multiclass") == ONE_VS_ONE else None


def advice_words(advice: Advice) -> str:
    """Return advice on the range of a parameter."""
    flag, value = option_flag(advice.parameter), f"{advice.value:g}"
    if advice.change == "more":
        return f"{flag} {value} is the largest of the grid, and larger values would clearly help."
    return f"{flag} {value} is at the border of the grid: try {advice.change} values."
