"""The charts of a grid of cells and of a confusion matrix, described once: the page fills them anew at every pick.

No name of a field comes from data: whatever a file calls its columns and classes stays a value, and is drawn as text.
"""

from __future__ import annotations

from typing import Any

import altair as alt

Spec = dict[str, Any]

#: Colours that colour-blind readers can tell apart (after Okabe and Ito; the last two are added).
CLASSES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6bb1", "#b8a200", "#7f7f7f", "#222255"]


def spec_of(chart: Any, rows: list[dict[str, Any]]) -> Spec:
    """The chart as Vega-Lite with its rows; they are put in afterwards, since checking each of them would take seconds."""
    found: Spec = chart.to_dict(validate=False)  # tests check all charts against the schema
    found.pop("datasets", None)
    found.pop("config", None)
    for layer in found.get("layer", []):  # each layer brought its empty rows along, which would hide the chart's
        layer.pop("data", None)
    found["data"] = {"values": rows}
    return found


def base() -> Any:
    """A chart whose rows come later."""
    return alt.Chart(alt.InlineData(values=[]))


def by_order(field: str, order: str) -> Any:
    """Sort a word axis by another field."""
    return alt.EncodingSortField(field=order, op="min", order="ascending")


def heat(rows: list[dict[str, Any]], x: str, y: str, view: dict[str, Any]) -> Spec:
    """Cells by two axes: colour and number are the value; the choice and the simplest cell that is as good have a frame.

    Rows have x, y and their places xr, yr, shade in 0..1 (0 is best), label, told (the value in words), spread, mark, cell.
    """
    across = alt.X(
        "x:N", sort=by_order("x", "xr"), title=x, axis=alt.Axis(labelAngle=view["angle"], labelLimit=140, labelOverlap="greedy")
    )
    down = alt.Y("y:N", sort=by_order("y", "yr"), title=y, axis=alt.Axis(labelLimit=150))
    tooltip = [
        alt.Tooltip("setting:N", title="setting"),
        alt.Tooltip("told:N", title=view["measure"]),
        alt.Tooltip("spread:N", title="over folds"),
        alt.Tooltip("mark:N", title="note"),
    ]
    legend = alt.Legend(
        title=None, orient="top", gradientLength=160, gradientThickness=8, values=[0, 0.5, 1], tickCount=3, labelExpr=_LEGEND
    )
    color = alt.Color("shade:Q", scale=alt.Scale(scheme="viridis", reverse=True, domain=[0, 1]), legend=legend)
    rect = (
        base()
        .mark_rect(cursor="pointer", stroke="transparent", strokeWidth=2)
        .encode(x=across, y=down, color=color, tooltip=tooltip, description="spoken:N")
    )
    ink = alt.condition("datum.shade < 0.55", alt.value("#111"), alt.value("#fff"))
    number = (
        base()
        .mark_text(fontSize=11, aria=False, fontWeight=500, cursor="pointer")
        .encode(x=across, y=down, text="label:N", color=ink, tooltip=tooltip)
    )
    frame = (
        base()
        .mark_rect(fill=None, strokeWidth=3, aria=False)
        .encode(
            x=across,
            y=down,
            stroke=alt.Stroke(
                "mark:N",
                scale=alt.Scale(domain=["choice", "least error", "one standard error"], range=["#d50032", "#d50032", "#ff9f1c"]),
                legend=None,
            ),
        )
        .transform_filter("datum.mark !== ''")
    )
    chart = alt.layer(rect, frame, number).properties(width=alt.Step(view["across"]), height=alt.Step(view["down"]))
    found = spec_of(chart, rows)
    found["params"] = [{"name": name, "value": view[name]} for name in ("low", "high", "logarithmic", "columns", "percent")]
    return found


#: A number on an axis: 1e-5, 0.01, 300, 25k.
TICK = (
    "datum.value > 0 && datum.value < 0.001 || datum.value >= 1e6 ? replace(format(datum.value, '.2~e'), '+', '') : "
    "datum.value >= 1000 ? format(datum.value, '~s') : format(datum.value, '~g')"
)

_LEGEND = (
    "columns ? (datum.value == 0 ? 'column best' : datum.value == 1 ? 'worst' : '') : "
    "format(logarithmic ? low * pow(high / low, datum.value) : low + (high - low) * datum.value, percent ? '.3~p' : '.3~g')"
)


def lines(rows: list[dict[str, Any]], x: str, line: str, view: dict[str, Any]) -> Spec:
    """Values against one axis, a line for each value of the other, bands over folds."""
    scale = alt.Scale(type="log", nice=False) if view["logarithmic_x"] else alt.Scale(nice=False, zero=False)
    ticks = {"values": view["at"]} if view.get("at") else {}
    across = alt.X("at:Q", title=x, scale=scale, axis=alt.Axis(labelExpr=TICK, labelOverlap="greedy", **ticks))
    limits = alt.Scale(type="log", nice=False) if view["logarithmic"] else alt.Scale(type="linear", nice=True)
    form = ".3~p" if view["percent"] else ".3~g"
    down = alt.Y("value:Q", title=view["measure"], scale=limits, axis=alt.Axis(format=form, tickCount=5))
    color = alt.Color(
        "line:N",
        sort=by_order("line", "order"),
        title=line,
        scale=alt.Scale(scheme="viridis"),
        legend=alt.Legend(symbolType="stroke", labelLimit=170, columns=1, symbolOpacity=1, symbolStrokeWidth=3, symbolLimit=14),
    )
    tooltip = [
        alt.Tooltip("setting:N", title="setting"),
        alt.Tooltip("told:N", title=view["measure"]),
        alt.Tooltip("spread:N", title="over folds"),
    ]
    band = (
        base()
        .mark_area(opacity=0.15, aria=False)
        .encode(x=across, y=alt.Y("low:Q", title=view["measure"]), y2="high:Q", color=color)
    )
    stroke = base().mark_line(strokeWidth=2, aria=False).encode(x=across, y=down, color=color)
    points = base().mark_point(filled=True, size=36, opacity=1).encode(x=across, y=down, color=color, tooltip=tooltip)
    return spec_of(alt.layer(band, stroke, points).properties(width="container", height=250), rows)


def confusion(rows: list[dict[str, Any]], classes: int) -> Spec:
    """True classes down, predicted ones across; colour is the share of the true class, the number a count or a rate."""
    step = 72 if classes <= 4 else 36 if classes <= 12 else 28 if classes <= 20 else 14 if classes <= 50 else 8
    ticks = alt.Axis(labelLimit=90, labels=classes <= 50, ticks=classes <= 50, labelAngle=0 if classes <= 12 else -60)
    across = alt.X("guess:N", sort=by_order("guess", "gr"), title="predicted", axis=ticks)
    down = alt.Y(
        "true:N",
        sort=by_order("true", "tr"),
        title="true",
        axis=alt.Axis(labelLimit=90, labels=classes <= 50, ticks=classes <= 50),
    )
    color = alt.Color("rate:Q", scale=alt.Scale(type="sqrt", scheme="blues", domain=[0, 1]), legend=None)
    tooltip = [alt.Tooltip("true:N"), alt.Tooltip("guess:N", title="predicted"), alt.Tooltip("told:N", title="rows")]
    rect = base().mark_rect().encode(x=across, y=down, color=color, tooltip=tooltip, description="told:N")
    chart = alt.layer(rect)
    if classes <= 20:
        ink = alt.condition("datum.rate > 0.25", alt.value("#fff"), alt.value("#111"))
        chart = alt.layer(rect, base().mark_text(fontSize=11, aria=False).encode(x=across, y=down, text="label:N", color=ink))
    return spec_of(chart.properties(width=alt.Step(step), height=alt.Step(step)), rows)
