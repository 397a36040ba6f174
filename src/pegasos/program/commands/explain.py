from __future__ import annotations

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
    from pegasos.program.jobs.explaining import ExplainRecord

PLACE = 61
SHORT = "Which columns and rows a model rests on."

#: Lines of a table, points of a curve, and classes beside each other in the terminal.
_LINES, _POINTS, _CLASSES = 20, 8, 6


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
    """What a model looks at: columns that it needs, how its answer moves with them, coefficients, and the rows that decide.

    \b
    Examples:
      pegasos explain my.model my.csv
      pegasos explain my.model my.csv --metric average-precision -o explained.html

    A column is shuffled among rows that the model does not know, as it comes in, with all that encoding makes of it; told is how
    much worse the metric gets, with a 95 % interval. Coefficients of linear models are in the units of the columns. The rows that
    decide are the support vectors with the largest coefficients.
    """
    from pegasos.program.jobs.explaining import explain_model
    from pegasos.program.jobs.views import give

    found = explain_model(model, data, out, repeats, features, seed, reading, judging)
    give(found, talking.as_json, lambda: _show(found))


def _show(found: ExplainRecord) -> None:
    from pegasos.program.pages.explanation_section import metric_loss

    told = found.explanation
    kind = "that it does not know" if found.new_rows else "of which it may know some"
    console.heading(
        f"{found.model} on {told.rows} rows of {found.data} {kind}: {told.metric} {metric_loss(told, told.figure.value)}",
        "",
    )
    rows = [
        (
            each.column,
            metric_loss(told, each.value),
            f"{metric_loss(told, each.low)} to {metric_loss(told, each.high)}",
        )
        for each in told.importance[:_LINES]
    ]
    console.table(("shuffled", f"{told.metric} worse by", "95 % interval"), rows)
    if len(told.importance) > _LINES:
        console.show(f"... and {len(told.importance) - _LINES} more columns in --json")
    _show_curves(told)
    _show_effects(told)
    _show_rows(told)
    if found.page is not None:
        console.show("", f"written: {found.page}")


def _show_curves(told: Explanation) -> None:
    for each in told.dependence:
        step = max(1, -(-len(each.values) // _POINTS))
        values, shown = each.values[::step], [means[::step] for means in each.means[:_CLASSES]]
        console.show()
        head = (each.column, *(_shown(told, each.column, value) for value in values))
        console.table(
            head,
            [
                (f"{each.what} of {label}", *map(_short, line))
                for label, line in zip(each.classes, shown, strict=False)
            ],
        )


def _show_effects(told: Explanation) -> None:
    from pegasos.program.pages.explanation_section import unit

    if told.effects:
        console.show()
        rows = [
            (
                each.column,
                unit(told, each.column) if each.value is None else each.value,
                *map(_short, each.gains[:_CLASSES]),
            )
            for each in told.effects[: 2 * _LINES]
        ]
        console.table(
            ("score gains", "", *(f"for {label}" for label in told.classes[:_CLASSES])),
            rows,
            left=2,
        )


def _show_rows(told: Explanation) -> None:
    if told.deciding:
        console.show()
        rows = [
            (
                f"{each.number} of those learned from" if each.row is None else each.row + 1,
                "" if each.label is None else each.label,
                *map(_short, each.coefficients[:_CLASSES]),
                ", ".join(
                    f"{name} {_shown(told, name, value)}"
                    for name, value in zip(told.columns[:6], each.values, strict=False)
                    if value is not None
                ),
            )
            for each in told.deciding
        ]
        head = (
            "deciding row",
            "class",
            *(f"for {label}" for label in told.classes[:_CLASSES]),
            "values",
        )
        console.table(head, rows, left=2)


def _shown(told: Explanation, column: str, value: Any) -> str:
    """A value of a column."""
    from pegasos.program.tables.dates import day

    return day(value) if column in told.dates and value is not None else _short(value)


def _short(value: Any) -> str:
    """A number in few digits; large ones whole."""
    return (
        str(value)
        if not isinstance(value, float)
        else f"{value:.3g}"
        if abs(value) < 1000
        else f"{value:.0f}"
    )
