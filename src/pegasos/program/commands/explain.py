"""Explain a saved model on labelled rows that were not used in training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pegasos.program.terminal import console
from pegasos.program.terminal.options import (
    Data,
    JudgingOptions,
    ModelFile,
    OutputOptions,
    ReadingOptions,
    option,
)

if TYPE_CHECKING:
    from pegasos.explaining import Explanation

PLACE = 61
SHORT = "Explain a model: feature importance, effects, support vectors."

#: Lines of a table, points of a curve, and columns of classes in the terminal.
_LINES, _POINTS, _CLASSES = 20, 8, 6
#: With fewer new rows than this all rows are used, and a note says so.
_FEW_ROWS = 20


@dataclass(frozen=True)
class ExplainRecord:
    """Result of `explain`; `new_rows` tells whether no training rows were used."""

    model: str
    data: str
    new_rows: bool
    explanation: Explanation
    page: str | None = None


def command(
    model: ModelFile,
    data: Data,
    reading: ReadingOptions,
    judging: JudgingOptions,
    talking: OutputOptions,
    repeats: Annotated[int, option("N", "Shuffles of each column.", min=1)] = 5,
    features: Annotated[
        int, option("N", "Leading columns whose effect on the answer is shown.", min=0)
    ] = 4,
    out: Annotated[
        str | None, option("FILE", "Also the model's page, with this in it.", "--out", "-o")
    ] = None,
    seed: Annotated[int, option("N", "Seed of the shuffles.", min=0, max=2**32 - 1)] = 0,
) -> None:
    """Explain a model: permutation importance, partial dependence, coefficients, and support vectors.

    \b
    Examples:
      pegasos explain my.model my.csv
      pegasos explain my.model my.csv --metric average-precision -o explained.html

    Importance: each input column is shuffled among rows that are not training rows; shown is how much worse the metric gets, with
    a 95 % interval. Coefficients of linear models are in the units of the columns. The rows shown last are the support vectors
    with the largest coefficients.
    """
    from pegasos.program.views import give

    found = explain_model(model, data, out, repeats, features, seed, reading, judging)
    give(found, talking.as_json, lambda: _show(found))


def explain_model(
    path: str,
    data: str,
    out: str | None,
    repeats: int,
    features: int,
    seed: int,
    reading: ReadingOptions,
    judging: JudgingOptions,
) -> ExplainRecord:
    """Explain the model of file `path` on `data`; with `out` write its page with the explanation."""
    import numpy as np

    from pegasos.explaining import explain
    from pegasos.program.pages import report
    from pegasos.program.saved_models import SavedModel
    from pegasos.program.tables.dataset import DATES, take
    from pegasos.program.terminal import option_values, outputs

    option_values.check_metric(judging)
    if out is not None:
        outputs.check_file(out, path, data, what="a page")
    saved = SavedModel.open(path)
    metric = saved.metric(judging)
    dataset = saved.labelled_rows(data, reading)
    y, known = saved.classes_of(dataset), saved.known_rows(dataset)
    new = np.arange(len(y)) if known is None else np.flatnonzero(~known)
    fresh = known is not None and len(new) >= _FEW_ROWS
    if known is not None and not fresh:
        console.say("note: nearly all of these rows were used in training: the importances show")
        console.say("      what the model uses, not what helps it on new rows.")
        new = np.arange(len(y))
    training: Any = None
    if known is not None and known.any():
        own = np.flatnonzero(known)
        training = take(dataset, own).X, y[own], own
    with console.working(f"shuffling {len(dataset.columns)} columns"):
        found = explain(
            saved.model.estimator,
            take(dataset, new).X,
            y[new],
            metric=metric,
            repeats=repeats,
            features=features,
            training=training,
            names=[column.name for column in dataset.columns],
            random_state=seed,
        )
    found = replace(
        found, dates=[column.name for column in dataset.columns if column.kind in DATES]
    )
    if out is not None:
        with console.working(f"writing {out}"):
            page = report(path, dataset, source=data, explanation=found)
            page.write(Path(out).parent, name=Path(out).name)
    return ExplainRecord(path, data, fresh, found, out)


def _show(found: ExplainRecord) -> None:
    from pegasos.program.pages.explanation_section import metric_loss

    explanation = found.explanation
    kind = "outside its training rows" if found.new_rows else "that may include training rows"
    value = metric_loss(explanation, explanation.figure.value)
    rows_used = f"{explanation.rows} rows of {found.data} {kind}"
    console.heading(f"{found.model} on {rows_used}: {explanation.metric} {value}", "")
    rows = [
        (
            each.column,
            metric_loss(explanation, each.value),
            f"{metric_loss(explanation, each.low)} to {metric_loss(explanation, each.high)}",
        )
        for each in explanation.importance[:_LINES]
    ]
    console.table(("shuffled", f"{explanation.metric} worse by", "95 % interval"), rows)
    if len(explanation.importance) > _LINES:
        console.show(f"... and {len(explanation.importance) - _LINES} more columns in --json")
    _show_curves(explanation)
    _show_effects(explanation)
    _show_rows(explanation)
    if found.page is not None:
        console.show("", f"written: {found.page}")


def _show_curves(explanation: Explanation) -> None:
    for each in explanation.dependence:
        step = max(1, -(-len(each.values) // _POINTS))
        values, shown = each.values[::step], [means[::step] for means in each.means[:_CLASSES]]
        console.show()
        head = (each.column, *(_shown(explanation, each.column, value) for value in values))
        console.table(
            head,
            [
                (f"{each.what} of {label}", *map(_short, line))
                for label, line in zip(each.classes, shown, strict=False)
            ],
        )


def _show_effects(explanation: Explanation) -> None:
    from pegasos.program.pages.explanation_section import unit

    if explanation.effects:
        console.show()
        rows = [
            (
                each.column,
                unit(explanation, each.column) if each.value is None else each.value,
                *map(_short, each.gains[:_CLASSES]),
            )
            for each in explanation.effects[: 2 * _LINES]
        ]
        console.table(
            ("score gains", "", *(f"for {label}" for label in explanation.classes[:_CLASSES])),
            rows,
            left=2,
        )


def _show_rows(explanation: Explanation) -> None:
    if explanation.deciding:
        console.show()
        rows = [
            (
                f"{each.number} of those learned from" if each.row is None else each.row + 1,
                "" if each.label is None else each.label,
                *map(_short, each.coefficients[:_CLASSES]),
                ", ".join(
                    f"{name} {_shown(explanation, name, value)}"
                    for name, value in zip(explanation.columns[:6], each.values, strict=False)
                    if value is not None
                ),
            )
            for each in explanation.deciding
        ]
        head = (
            "deciding row",
            "class",
            *(f"for {label}" for label in explanation.classes[:_CLASSES]),
            "values",
        )
        console.table(head, rows, left=2)


def _shown(explanation: Explanation, column: str, value: Any) -> str:
    """A value of a column."""
    from pegasos.program.tables.dates import day

    return day(value) if column in explanation.dates and value is not None else _short(value)


def _short(value: Any) -> str:
    """A number in few digits; large ones whole."""
    return (
        str(value)
        if not isinstance(value, float)
        else f"{value:.3g}"
        if abs(value) < 1000
        else f"{value:.0f}"
    )
