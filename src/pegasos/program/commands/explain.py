"""Explain a saved model on labeled rows that were not used in training."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from pegasos.program.tables.dataset import DATES, take
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
) -> dict[str, Any]:
    """Explain a model: feature importance, partial dependence, coefficients.

    Examples
    --------
      pegasos explain my.model my.csv
      pegasos explain my.model my.csv --metric average-precision -o explained.html

    The importance of a column is how much worse the metric becomes when its values are permuted
    among rows that are not training rows, with a 95 % interval. Coefficients of linear models
    are in the units of the columns.
    """
    from pegasos.explaining import explain
    from pegasos.program.commands.evaluate import metric_for
    from pegasos.program.pages import report
    from pegasos.program.saved_models import SavedModel

    if out is not None:
        console.check_output(out, model, data, what="a page")
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
    return {"model": model, "data": data, "new_rows": fresh, "explanation": found, "page": out}


def show(found: dict[str, Any]) -> None:
    """Print the importance of columns, partial dependence and coefficients."""
    from pegasos.metrics import measure_of
    from pegasos.program.pages.explanation_section import unit
    from pegasos.program.pages.wording import number_text
    from pegasos.program.views import value_text

    explanation: Explanation = found["explanation"]
    metric = explanation.metric
    text = partial(value_text, measure=measure_of(metric))
    kind = "that are not training rows" if found["new_rows"] else "that may include training rows"
    on = f"{explanation.rows} rows of {found['data']} {kind}"
    console.heading(f"{found['model']} on {on}: {metric} {text(explanation.figure.value)}", "")
    rows = [
        (each.column, text(each.value), f"{text(each.low)} to {text(each.high)}")
        for each in explanation.importance[:_LINES]
    ]
    console.table(("permuted column", f"loss in {metric}", "95 % interval"), rows)
    if len(explanation.importance) > _LINES:
        console.show(f"... and {len(explanation.importance) - _LINES} more columns in --json")
    _show_dependence(explanation)
    if explanation.effects:
        gains = [
            (
                each.column,
                unit(explanation, each.column) if each.value is None else each.value,
                *map(number_text, each.gains[:_CLASSES]),
            )
            for each in explanation.effects[: 2 * _LINES]
        ]
        heads = [f"for {label}" for label in explanation.classes[:_CLASSES]]
        console.show()
        console.table(("coefficient", "unit", *heads), gains, left=2)
    if found["page"] is not None:
        console.show("", f"written: {found['page']}")


def _show_dependence(explanation: Explanation) -> None:
    """Print for each column some values, and the mean prediction at each of them."""
    from pegasos.program.pages.wording import number_text, value_text
    from pegasos.program.tables.cells import day

    for each in explanation.dependence:
        text = day if each.column in explanation.dates else value_text
        step = -(-len(each.values) // _POINTS)
        values = [text(value) for value in each.values[::step]]
        rows = [
            (f"{each.what} of {label}", *map(number_text, means[::step]))
            for label, means in zip(each.classes, each.means[:_CLASSES], strict=False)
        ]
        console.show()
        console.table((each.column, *values), rows)
