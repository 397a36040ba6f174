"""Section about columns: permutation importance, partial dependence, coefficients, and decisive support vectors."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.explaining import Dependence, Explanation, explain
from pegasos.metrics import measure_of
from pegasos.program.pages.blocks import Block, Chart, Table, Text, columns
from pegasos.program.pages.vega import CLASSES, TICK, Rows, Spec, chart, mark, number, tooltip, word
from pegasos.program.pages.wording import value_text
from pegasos.program.tables.dataset import DATES, Dataset
from pegasos.program.tables.labels import label_texts

#: Columns that are drawn, classes that have a curve and a column of a table each, and shuffles behind a page.
_DRAWN, _CLASSES, _REPEATS = 20, 10, 3
_BLUE, _GREY = "#0072b2", "#9aa5b1"


def explained(
    estimator: Any,
    dataset: Dataset,
    rows: Any = None,
    training: tuple[Dataset, Any] | None = None,
    metric: str = "error",
) -> Explanation | None:
    """Return the explanation of a model on labeled rows; None for images, whose pixels have no meaning of their own."""
    if dataset.y is None or dataset.image is not None or not len(dataset):
        return None
    known = dict(
        zip(
            label_texts(estimator.classes_).tolist(),
            np.asarray(estimator.classes_).tolist(),
            strict=True,
        )
    )
    texts = label_texts(dataset.labels).tolist()
    if not set(texts) <= set(known):
        return None  # a class that the model does not know
    y = np.array([known[text] for text in texts])
    own = (
        None if training is None else (training[0].X, label_texts(training[0].labels), training[1])
    )
    with contextlib.suppress(
        ValueError
    ):  # rows too wide to look at; the rest of the page stands without it
        names = [column.name for column in dataset.columns]
        found = explain(
            estimator,
            dataset.X if rows is None else rows,
            y,
            metric=metric,
            repeats=_REPEATS,
            training=own,
            names=names,
        )
        return replace(
            found, dates=[column.name for column in dataset.columns if column.kind in DATES]
        )
    return None


def explanation_blocks(found: Explanation | None) -> list[Block]:
    """Return importance first, then curves of the leading columns, then coefficients or support vectors."""
    if found is None:
        return []
    blocks: list[Block] = [_importance(found)] if found.importance else []
    blocks += [
        _dependence(found, each, place) for place, each in enumerate(found.dependence, start=1)
    ]
    return [*blocks, *_effects(found), *_deciding(found)]


def _importance(found: Explanation) -> Chart:
    percent = measure_of(found.metric).percent
    form, form_of_table = (".1%", "percent") if percent else (".3~g", "number")
    drawn = found.importance[:_DRAWN]
    rows = [
        {
            "column": each.column,
            "order": order,
            "value": each.value,
            "low": each.low,
            "high": each.high,
            "sure": each.sure,
        }
        for order, each in enumerate(drawn)
    ]
    places = {"y": word("column", "order", title=None, axis={"labelLimit": 150})}
    axis = {"format": form, "tickCount": 5}
    change = "increase" if measure_of(found.metric).least else "decrease"
    title = f"{change} of {found.metric} when the column is permuted"
    hints = tooltip(
        column="column", value=(change, form), low=("95 % from", form), high=("to", form)
    )
    ink = {"condition": {"test": "datum.sure", "value": _BLUE}, "value": _GREY}
    bars = mark(
        "bar",
        {**places, "x": number("value", title=title, axis=axis), "color": ink, "tooltip": hints},
    )
    whiskers = mark(
        "rule",
        {**places, "x": number("low", title=title), "x2": {"field": "high"}},
        strokeWidth=2,
        color="#d55e00",
        aria=False,
    )
    some = (
        ""
        if len(drawn) == len(found.importance)
        else f"The {len(drawn)} leading ones of {len(found.importance)} columns. "
    )
    caption = f"{some}On {found.rows:,} rows; lines are 95 % intervals, gray bars are within noise. Permuting a column that"
    caption += " other columns can replace costs little."
    listed = columns("text", column="column") + columns(
        form_of_table, value=change, low="95 % from", high="to"
    )
    table = Table(
        "importance", "Importance of columns", listed, [vars(each) for each in found.importance]
    )
    return Chart(
        "importance",
        "Permutation importance",
        chart(rows, bars, whiskers, height=20 * len(rows)),
        caption,
        table,
    )


def unit(found: Explanation, column: str) -> str:
    """What the score of a linear model is told per."""
    return "per day" if column in found.dates else "per unit"


def _value(found: Explanation, column: str, value: Any) -> str:
    if column in found.dates:
        from pegasos.program.tables.dates import day

        return day(value)
    return value_text(value, 6)


def _dependence(explanation: Explanation, found: Dependence, place: int) -> Chart:
    what = f"mean {found.what}"
    lines = list(zip(found.classes, found.means, strict=True))[:_CLASSES]
    date = found.column in explanation.dates
    rows: Rows = [
        {"value": value, "at": at, "class": str(label), "order": order, "mean": mean}
        for order, (label, means) in enumerate(lines)
        for at, (value, mean) in enumerate(zip(found.values, means, strict=True))
    ]
    for row in rows if date else ():
        row["moment"], row["value"] = (
            86_400_000 * row["value"],
            _value(explanation, found.column, row["value"]),
        )
    axis = {
        "tickCount": 5,
        **({"format": ".2~%"} if found.what == "probability" else {"labelExpr": TICK}),
    }
    down = number("mean", title=what, axis=axis, scale={"zero": False})
    counts = found.numeric and not date
    hints = tooltip(
        value=(found.column, ".4~g") if counts else found.column,
        mean=(what, ".3~g"),
        **{"class": "class"},
    )
    look: Spec = {"y": down, "tooltip": hints}
    if len(lines) > 1:
        legend = {"title": "class", "labelLimit": 120, "orient": "bottom", "columns": 5}
        look["color"] = word(
            "class", "order", scale={"range": CLASSES[: len(lines)]}, legend=legend
        )
    title = f"Partial dependence on {found.column}"
    if found.numeric:
        line = mark(
            "line",
            {**look, "x": _across(found.column, date)},
            strokeWidth=2,
            point={"size": 20, "filled": True},
        )
        spec = chart(rows, line, height=220)
    else:
        across = word("value", "at", title=found.column, axis={"labelLimit": 90, "labelAngle": -40})
        spec = chart(
            rows, mark("point", {**look, "x": across}, filled=True, size=70, opacity=1), height=220
        )
    of = f" of {lines[0][0]}" if len(lines) == 1 else ""
    caption = f"Mean {found.what}{of} over all rows, with this value in each of them."
    listed = columns("number" if counts else "text", value=found.column) + columns(
        "text", **{"class": "class"}
    )
    table = Table(f"dependence-{place}", title, listed + columns("number", mean=what), rows)
    return Chart(f"dependence-{place}", title, spec, caption, table, half=True)


def _across(column: str, date: bool) -> Spec:
    """The axis of a column of numbers, or of dates."""
    if date:
        return {
            "field": "moment",
            "type": "temporal",
            "title": column,
            "scale": {"type": "utc"},
            "axis": {"tickCount": 5},
        }
    return number(
        "value",
        title=column,
        scale={"zero": False, "nice": False},
        axis={"tickCount": 5, "labelExpr": TICK},
    )


def _by_class(found: Explanation, numbers: list[float]) -> dict[str, float]:
    return {f"class {place}": value for place, value in enumerate(numbers[:_CLASSES])}


def _class_columns(found: Explanation) -> list[tuple[str, str, str]]:
    return [
        (f"class {place}", f"for {label}", "number")
        for place, label in enumerate(found.classes[:_CLASSES])
    ]


def _effects(found: Explanation) -> list[Block]:
    if not found.effects:
        return []
    rows = [
        {
            "column": each.column,
            "value": unit(found, each.column) if each.value is None else each.value,
            **_by_class(found, each.gains),
        }
        for each in found.effects
    ]
    listed = [*columns("text", column="column", value="value"), *_class_columns(found)]
    text = "Change of the score per unit of a number, or for this category against the mean of the rows."
    return [
        Table("effects", "Coefficients in the units of the columns", listed, rows),
        Text(text, small=True),
    ]


def _deciding(found: Explanation) -> list[Block]:
    if not found.deciding:
        return []
    rows: Rows = []
    for each in found.deciding:
        known = dict(zip(found.columns, each.values, strict=False))
        shown = ", ".join(
            f"{name} {_value(found, name, value)}"
            for name, value in list(known.items())[:8]
            if value is not None
        )
        more = ", ..." if len(known) > 8 else ""
        row = None if each.row is None else each.row + 1
        rows.append(
            {
                "number": each.number,
                "row": row,
                "label": each.label,
                **_by_class(found, each.coefficients),
                "what": shown + more,
            }
        )
    listed = [
        *columns("text", number="training row", row="row", label="class"),
        *_class_columns(found),
    ]
    table = Table(
        "deciding",
        "Support vectors with the largest coefficients",
        [*listed, *columns("text", what="values")],
        rows,
    )
    text = "These rows are hard to classify, and often outliers or mislabeled."
    return [table, Text(text, small=True)]


def metric_loss(found: Explanation, value: float) -> str:
    """A loss of the metric as a person reads it."""
    return f"{100 * value:.2f} %" if measure_of(found.metric).percent else f"{value:.4g}"
