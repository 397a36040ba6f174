"""Explain a saved model on labeled rows that were not used in training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pegasos.program.terminal import console
from pegasos.program.terminal.options import (
    Data,
    JudgingOptions,
    ModelFile,
    ReadingOptions,
    Seed,
    option,
)

if TYPE_CHECKING:
    from pegasos.explaining import Explanation

#: Lines of a table, points of a curve, and columns of classes in the terminal.
_LINES, _POINTS, _CLASSES = 20, 8, 6
#: With fewer new rows than this all rows are used, and a note says so.
_FEW_ROWS = 20


@dataclass(frozen=True)
class ExplainRecord:
    """Result of `explain`; `new_rows` is true if no training rows were used."""

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
    repeats: Annotated[int, option("N", "Permutations of each column.", min=1)] = 5,
    features: Annotated[int, option("N", "Columns with a partial dependence.", min=0)] = 4,
    out: Annotated[
        str | None, option("FILE", "Write the model's page with the explanation.", "--out", "-o")
    ] = None,
    seed: Seed = 0,
) -> ExplainRecord:
    """Explain a model: feature importance, partial dependence, coefficients.

    Examples
    --------
      pegasos explain my.model my.csv
      pegasos explain my.model my.csv --metric average-precision -o explained.html

    The importance of a column is how much worse the metric becomes when its values are permuted
    among rows that are not training rows, with a 95 % interval. Coefficients of linear models
    are in the units of the columns.
    """
    import numpy as np

    from pegasos.explaining import explain
    from pegasos.program.commands.evaluate import metric_for
    from pegasos.program.pages import report
    from pegasos.program.saved_models import SavedModel
    from pegasos.program.tables.dataset import DATES, take
    from pegasos.program.terminal import option_values, outputs

    option_values.check_metric(judging)
    if out is not None:
        outputs.check_file(out, model, data, what="a page")
    saved = SavedModel.open(model)
    metric = metric_for(saved, judging)
    dataset = saved.labelled_rows(data, reading)
    y, known = saved.classes_of(dataset), saved.known_rows(dataset)
    rows = np.arange(len(y)) if known is None else np.flatnonzero(~known)
    fresh = known is not None and len(rows) >= _FEW_ROWS
    if known is not None and not fresh:
        console.say(
            "note: nearly all of these rows are training rows: the importances describe what the "
            "model uses, not what improves it on new rows."
        )
        rows = np.arange(len(y))
    with console.working(f"permuting {len(dataset.columns)} columns"):
        found = explain(
            saved.model.estimator,
            take(dataset, rows).X,
            y[rows],
            metric=metric,
            repeats=repeats,
            features=features,
            names=[column.name for column in dataset.columns],
            random_state=seed,
        )
    dates = [column.name for column in dataset.columns if column.kind in DATES]
    found = replace(found, dates=dates)
    if out is not None:
        with console.working(f"writing {out}"):
            page = report(model, dataset, source=data, explanation=found)
            page.write(Path(out).parent, name=Path(out).name)
    return ExplainRecord(model, data, fresh, found, out)


def show(found: ExplainRecord) -> None:
    """Print the importance of columns and their effects."""
    from pegasos.program.pages.explanation_section import metric_loss

    explanation, metric = found.explanation, found.explanation.metric

    def text(value: Any) -> str:
        return metric_loss(explanation, value)

    kind = "that are not training rows" if found.new_rows else "that may include training rows"
    on = f"{explanation.rows} rows of {found.data} {kind}"
    console.heading(f"{found.model} on {on}: {metric} {text(explanation.figure.value)}", "")
    rows = [
        (each.column, text(each.value), f"{text(each.low)} to {text(each.high)}")
        for each in explanation.importance[:_LINES]
    ]
    console.table(("permuted column", f"loss in {metric}", "95 % interval"), rows)
    if len(explanation.importance) > _LINES:
        console.show(f"... and {len(explanation.importance) - _LINES} more columns in --json")
    _show_dependence(explanation)
    _show_effects(explanation)
    if found.page is not None:
        console.show("", f"written: {found.page}")


def _show_dependence(explanation: Explanation) -> None:
    for each in explanation.dependence:
        step = max(1, -(-len(each.values) // _POINTS))
        values = [_value(explanation, each.column, value) for value in each.values[::step]]
        rows = [
            (f"{each.what} of {label}", *map(_short, means[::step]))
            for label, means in zip(each.classes, each.means[:_CLASSES], strict=False)
        ]
        console.show()
        console.table((each.column, *values), rows)


def _show_effects(explanation: Explanation) -> None:
    from pegasos.program.pages.explanation_section import unit

    if not explanation.effects:
        return
    rows = [
        (
            each.column,
            unit(explanation, each.column) if each.value is None else each.value,
            *map(_short, each.gains[:_CLASSES]),
        )
        for each in explanation.effects[: 2 * _LINES]
    ]
    console.show()
    console.table(("coefficient", "unit", *_class_heads(explanation)), rows, left=2)


def _class_heads(explanation: Explanation) -> list[str]:
    return [f"for {label}" for label in explanation.classes[:_CLASSES]]


def _value(explanation: Explanation, column: str, value: Any) -> str:
    """Return a value of a column as text, a date column's as a date."""
    from pegasos.program.tables.cells import day

    return day(value) if column in explanation.dates and value is not None else _short(value)


def _short(value: Any) -> str:
    """Return a number with few digits."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
