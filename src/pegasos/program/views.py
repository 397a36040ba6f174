"""What a person reads of results: tables of errors and confusions, a learner in lines, the summary of a run of tune."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pegasos.learners.catalogue import ONE_VS_ONE
from pegasos.metrics import Measure
from pegasos.program.pages.wording import (
    count,
    decision_lines,
    decision_words,
    guess_words,
    probability_words,
    score_text,
    unlike_words,
    verdict_words,
    weight_words,
    whole_words,
)
from pegasos.program.records.codec import to_json
from pegasos.program.records.models import LearnerFacts
from pegasos.program.records.runs import (
    OUT_OF_FOLD,
    CellRecord,
    Confusion,
    ErrorCount,
    TuneRecord,
    is_sampled,
)
from pegasos.program.terminal import console
from pegasos.program.terminal.console import percent
from pegasos.program.terminal.reproduction import expansion_degree, kernel_words, option_flag
from pegasos.search.advice import Advice
from pegasos.search.estimates import Figure
from pegasos.search.settings import Setting

#: Classes up to which a confusion matrix is printed, and families of settings that are shown.
_SHOWN_CLASSES, _SHOWN_FAMILIES = 20, 12


def give(found: Any, as_json: bool, show: Callable[[], None]) -> None:
    """A result: as JSON for machines, or as `show` prints it for a person."""
    if as_json:
        console.show_json(to_json(found))
    else:
        show()


def _lam_with_cost(lam: float, cost: float | None) -> str:
    """λ, and beside it what SVC calls C; None where the number of rows is unknown."""
    return f"λ = {lam:.3g} (C = {'1/(λ m), m unknown' if cost is None else f'{cost:.3g}'})"


def show_learner(facts: LearnerFacts) -> None:
    """What is known of a fitted learner, λ with its C beside it."""
    lines: dict[str, Any] = {"loss": facts.loss, "kernel": facts.kernel}
    if facts.lam is not None:
        lines["regularization"] = _lam_with_cost(facts.lam, facts.cost)
    lines[facts.unit] = facts.count
    if facts.support_vectors is not None:
        lines["support vectors"] = (
            f"{facts.support_vectors}{'' if facts.rows is None else f' of {facts.rows} rows'}"
        )
    if facts.gap is not None:
        lines["certified"] = f"at most {facts.gap:.2g} of the objective above the best possible"
    console.show(*(f"  {name}: {value}" for name, value in lines.items() if value is not None))


def show_errors(errors: dict[str, ErrorCount]) -> None:
    rows = [
        (
            name,
            found.rows,
            found.mistakes,
            percent(found.error),
            f"{percent(found.low)} to {percent(found.high)}",
            _guess(found),
        )
        for name, found in errors.items()
        if found.error is not None and found.low is not None and found.high is not None
    ]
    console.table(("", "rows", "mistakes", "error", "95 % interval", "baseline"), rows)


def _guess(found: ErrorCount) -> str:
    return "" if found.guess is None else percent(found.guess)


def show_figures(figures: dict[str, Figure], measure: Measure, positive: str | None) -> None:
    """Print a metric on each kind of rows, beside the baseline."""
    rows = [
        (
            name,
            each.rows,
            _shown(each.value, measure),
            f"{_shown(each.low, measure)} to {_shown(each.high, measure)}",
            _shown(each.guess, measure),
        )
        for name, each in figures.items()
    ]
    of = "" if positive is None else f" of {positive!r}"
    console.table((f"{measure.name}{of}", "rows", measure.name, "95 % interval", "baseline"), rows)


def _shown(value: float | None, measure: Measure) -> str:
    return "" if value is None else score_text(value, measure).replace("\u00a0", " ")


def show_confusion(found: Confusion) -> None:
    """The matrix where it is small enough to read, else the classes that are confused most."""
    names, counts = found.classes, np.asarray(found.counts)
    if len(names) <= _SHOWN_CLASSES:
        rows = [
            (name, *(value or "." for value in row))
            for name, row in zip(names, counts, strict=True)
        ]
        console.table(("true \\ predicted", *names), rows)
        return
    off = counts.copy()
    np.fill_diagonal(off, 0)
    worst = np.argsort(off, axis=None, kind="stable")[::-1][:10]
    places = [
        (names[flat // len(names)], names[flat % len(names)], off.flat[flat])
        for flat in worst
        if off.flat[flat]
    ]
    console.table(("true", "predicted", "rows"), places, left=2)


def show_tune(found: TuneRecord) -> None:
    measure, choice = found.measure, found.figures.get(OUT_OF_FOLD)
    folds, settings = count(found.folds, "fold"), count(len(found.cells), "setting")
    console.heading(f"{found.data}: {settings}, {folds}, {found.seconds:.1f} s", "")
    leading = found.leading()
    rows = f" on {found.decision.first_rows:,} rows" if is_sampled(found.cells) else ""
    shown = (f"cv {measure.name}{rows}", "95 % interval")
    head = ("best of each family", "kernel", "expand", "λ", "C", *shown)
    console.table(head, [_line(cell, found) for cell in leading[:_SHOWN_FAMILIES]], left=2)
    if len(leading) > _SHOWN_FAMILIES:
        console.show(
            f"... and {len(leading) - _SHOWN_FAMILIES} more in {Path(found.folder) / 'results.csv'}"
        )
    console.show("", f"choice: {cell_words(found.choice)}")
    if found.simplest != found.best:
        console.show(
            f"simpler: {cell_words(found.cells[found.simplest])}: smoother, and within one standard error"
        )
    value = f"{_shown(found.choice.value, measure)} {found.decision.how}"
    console.show(f"{measure.name}: {value} (optimistic: it was used to choose the model)")
    if measure.name == "error":
        honest = found.honest
        interval = f"{percent(honest.low)} to {percent(honest.high)}"
        console.show(f"bias-corrected: {percent(honest.error)} ({interval})")
    if choice is not None:
        console.show(f"baseline: {guess_words(choice, measure)}")
    for warning in filter(
        None,
        (
            verdict_words(choice, measure, found.figures.get("test")),
            unlike_words(found.honest, found.errors.get("test"), found.split),
        ),
    ):
        console.heading("", warning)
    console.show()
    if measure.name != "error" and found.figures:
        show_figures(found.figures, measure, found.positive)
        console.show()
    show_errors(found.errors)
    console.show(
        *probability_words(measure, found.cells),
        *decision_lines(found.calibration, found.threshold),
    )
    for advice in found.advice:
        console.show(f"advice: {advice_words(advice)}")
    known = found.training_rows if found.whole is None else found.decision.fitted_rows
    console.show("", *whole_words(found.whole, found.training_rows))
    console.show(*decision_words(found.decision, found.folds, known, found.cells))
    if found.page is not None:
        console.show("", f"page:  {found.page}")


def _line(cell: CellRecord, found: TuneRecord) -> tuple[object, ...]:
    setting = cell.setting
    strength = (
        "" if setting.lam is None else f"{setting.lam:.2g}",
        "" if cell.cost is None else f"{cell.cost:.3g}",
    )
    extra = ", ".join(filter(None, (weight_words(setting), pair_words(setting))))
    what = (
        f"{setting.model}{extra and f', {extra}'}",
        kernel_words(setting),
        expansion_degree(setting) or "",
        *strength,
    )
    value, interval = found.comparable(cell)[0], found.interval(cell)
    ends = () if interval is None else (_shown(each, found.measure) for each in interval)
    return *what, _shown(value, found.measure), " to ".join(ends)


def cell_words(cell: CellRecord) -> str:
    """A cell in one line; where a certificate ends the walk, its length says nothing."""
    setting, degree = cell.setting, expansion_degree(cell.setting)
    words = [f"{setting.model} {kernel_words(setting)}"]
    words += [] if degree is None else [f"expanded to degree {degree}"]
    words += filter(None, (weight_words(setting), pair_words(setting)))
    words += [] if setting.lam is None else [_lam_with_cost(setting.lam, cell.cost)]
    words += [] if setting.C is None else [f"C = {setting.C:.3g}"]
    if setting.stop is not None and setting.declaration.tolerance is None:
        unit = "step" if setting.stop.name == "n_iter" else "epoch"
        words.append(f"{setting.stop.count} {unit}{'' if setting.stop.count == 1 else 's'}")
    return ", ".join(words)


def pair_words(setting: Setting) -> str | None:
    """Return "one-vs-one" for a setting with a predictor for each pair of classes."""
    return ONE_VS_ONE if setting.get("multiclass") == ONE_VS_ONE else None


def advice_words(advice: Advice) -> str:
    option, value = option_flag(advice.parameter), f"{advice.value:g}"
    if advice.change == "more":
        return f"the choice has the largest {option} of the grid, {value}, and more would clearly help: try larger values."
    return (
        f"the choice has {option} {value}, at the border of the grid: try {advice.change} values."
    )
