"""Section about columns: importance, partial dependence and coefficients."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.explaining import Dependence, Explanation, explain
from pegasos.metrics import METRICS, Metric, measure_of
from pegasos.program.pages import vega
from pegasos.program.pages.blocks import Block, Chart, Table, Text, columns
from pegasos.program.pages.vega import Rows, Spec, chart, either, mark, number, tooltip, word
from pegasos.program.tables.cells import day
from pegasos.program.tables.dataset import DATES, Dataset
from pegasos.program.tables.labels import label_texts

#: Columns drawn, classes with a curve and a column of a table, and permutations of a column.
_DRAWN, _CLASSES, _REPEATS = 20, 10, 3


def explain_rows(
    estimator: Any, dataset: Dataset, rows: Any = None, metric: str = "error", positive: Any = None
) -> Explanation | None:
    """Return the explanation of a model on labeled rows.

    `rows` are the rows in the form that the model takes. `positive` is by default the rarer of two
    classes. The result is None for images, whose pixels have no meaning of their own, and for
    classes unknown to the model.
    """
    if dataset.y is None or dataset.image is not None or not len(dataset):
        return None
    labels = np.asarray(estimator.classes_).tolist()
    known = dict(zip(label_texts(estimator.classes_).tolist(), labels, strict=True))
    texts = label_texts(dataset.labels).tolist()
    if not set(texts) <= set(known):
        return None
    y = np.array([known[text] for text in texts])
    if len(labels) == 2 and positive is None:
        positive = Metric("f1").settled(y, estimator.classes_).positive
    # Costs are not part of a record.
    chosen = Metric(metric if metric in METRICS and metric != "cost" else "error", positive)
    X, names = dataset.X if rows is None else rows, [column.name for column in dataset.columns]
    with contextlib.suppress(ValueError):  # too many columns
        found = explain(estimator, X, y, metric=chosen, repeats=_REPEATS, names=names)
        dates = [column.name for column in dataset.columns if column.kind in DATES]
        return replace(found, dates=dates)
    return None


def explanation_blocks(found: Explanation | None) -> list[Block]:
    """Return blocks with importance, curves of the leading columns, and coefficients."""
    if found is None:
        return []
    blocks: list[Block] = [_importance(found)] if found.importance else []
    for place, each in enumerate(found.dependence, start=1):
        blocks.append(_dependence(found, each, place))
    if found.effects:
        titles = {f"class {k}": f"for {each}" for k, each in enumerate(found.classes[:_CLASSES])}
        rows = []
        for effect in found.effects:
            value = unit(found, effect.column) if effect.value is None else effect.value
            gains = dict(zip(titles, effect.gains, strict=False))
            rows.append({"column": effect.column, "value": value, **gains})
        listed = columns("text", column="column", value="value") + columns("number", **titles)
        blocks.append(Table("effects", "Coefficients in the units of the columns", listed, rows))
        change = "Change of the score per unit of a number"
        words = f"{change}, or for a category compared with the mean row."
        blocks.append(Text(words, small=True))
    return blocks


def _importance(found: Explanation) -> Chart:
    measure = measure_of(found.metric)
    form = ".1%" if measure.percent else ".3~g"
    change = "increase" if measure.least else "decrease"
    every: Rows = [{**vars(each), "sure": each.sure} for each in found.importance]
    rows: Rows = [{**each, "order": order} for order, each in enumerate(every[:_DRAWN])]
    y, ends = vega.names("column", "order", 150), {"x2": {"field": "high"}}
    title = f"{change} of {found.metric} when the column is permuted"
    x = number("value", title=title, axis={"format": form, "tickCount": 5})
    numbers = {"value": (change, form), "low": ("95 % from", form), "high": ("to", form)}
    hints, color = tooltip(column="column", **numbers), either("datum.sure", vega.BLUE, vega.GRAY)
    look = {"strokeWidth": 2, "color": vega.ORANGE, "aria": False}
    layers = [
        mark("bar", x=x, y=y, color=color, tooltip=hints),
        mark("rule", ends, x=number("low", title=title), y=y, **look),
    ]
    caption = f"On {found.rows:,} rows; lines are 95 % intervals, gray bars are within noise. "
    caption += "Columns that carry the same information share their importance."
    if len(rows) < len(every):
        caption = f"The first {len(rows)} of {len(every)} columns. {caption}"
    kind, listed = "percent" if measure.percent else "number", columns("text", column="column")
    listed += columns(kind, value=change, low="95 % from", high="to")
    table = Table("importance", "Importance of columns", listed, every)
    spec = chart(rows, *layers, height=20 * len(rows))
    return Chart("importance", "Permutation importance", spec, caption, table)


def _dependence(explanation: Explanation, found: Dependence, place: int) -> Chart:
    """Return the curve of a column of numbers or dates, or a point for each category."""
    what, is_date = f"mean {found.what}", found.column in explanation.dates
    lines = list(zip(found.classes, found.means, strict=True))[:_CLASSES]
    rows: Rows = []
    for order, (label, means) in enumerate(lines):
        for at, (value, mean) in enumerate(zip(found.values, means, strict=True)):
            row = {"value": value, "at": at, "class": str(label), "order": order, "mean": mean}
            dates = {"moment": 86_400_000 * value, "value": day(value)} if is_date else {}
            rows.append({**row, **dates})
    axis: Spec = {"tickCount": 5}
    if not found.numeric:
        axis = {"labelLimit": 90, "labelAngle": -40}
        across = word("value", "at", title=found.column, axis=axis)
    elif is_date:
        time = {"field": "moment", "type": "temporal", "scale": {"type": "utc"}}
        across = {**time, "title": found.column, "axis": axis}
    else:
        scale: Spec = {"zero": False, "nice": False}
        ticks = {**axis, "labelExpr": vega.TICK}
        across = number("value", title=found.column, scale=scale, axis=ticks)
    form = {"format": ".2~%"} if found.what == "probability" else {"labelExpr": vega.TICK}
    down = number("mean", title=what, axis={"tickCount": 5, **form}, scale={"zero": False})
    is_plain = found.numeric and not is_date
    hint: Any = (found.column, ".4~g") if is_plain else found.column
    hints = tooltip(value=hint, mean=(what, ".3~g"), **{"class": "class"})
    look: Spec = {"x": across, "y": down, "tooltip": hints}
    if len(lines) > 1:
        legend = {"title": "class", "labelLimit": 120, "orient": "bottom", "columns": 5}
        scale = {"range": vega.CLASSES[: len(lines)]}
        look["color"] = word("class", "order", scale=scale, legend=legend)
    layer = mark("point", look, filled=True, size=70, opacity=1)
    if found.numeric:
        layer = mark("line", look, strokeWidth=2, point={"size": 20, "filled": True})
    of = f" of {lines[0][0]}" if len(lines) == 1 else ""
    caption = f"Mean {found.what}{of} if all rows had this value."
    title, spec = f"Partial dependence on {found.column}", chart(rows, layer, height=220)
    return Chart.with_rows(f"dependence-{place}", title, spec, caption, "half")


def unit(found: Explanation, column: str) -> str:
    """Return the unit of a coefficient."""
    return "per day" if column in found.dates else "per unit"
