"""The charts of a grid of cells and of a confusion matrix, described once: the page fills them anew at every pick.

No name of a field comes from data: whatever a file calls its columns and classes stays a value, and is drawn as text.
"""

from __future__ import annotations

from typing import Any

import altair as alt

Spec = dict[str, Any]
Rows = list[dict[str, Any]]

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


#: Pixels of a column and of a line of a heatmap by how many there are at most; beyond so many columns numbers are left out.
SIZES: dict[str, Any] = {"across": [[12, 52], [24, 40], [1e9, 16]], "down": [[12, 32], [30, 26], [1e9, 16]], "numbers": 24}
#: Where nothing varies.
NO_AXIS: dict[str, Any] = {"title": None, "long": False, "scale": {}, "ticks": None}

#: A number on an axis: 1e-5, 0.01, 300, 25k.
TICK = (
    "datum.value > 0 && datum.value < 0.001 || datum.value >= 1e6 ? replace(format(datum.value, '.2~e'), '+', '') : "
    "datum.value >= 1000 ? format(datum.value, '~s') : format(datum.value, '~g')"
)
#: From a value to its shade in 0..1 (0 is best), between the least and greatest value shown, or of its own column.
_SHADE = [
    {
        "joinaggregate": [{"op": "min", "field": "value", "as": "least"}, {"op": "max", "field": "value", "as": "most"}],
        "groupby": ["xr"],
    },
    {"calculate": "columns ? datum.least : low", "as": "from"},
    {"calculate": "columns ? datum.most : high", "as": "to"},
    {
        "calculate": "datum.to <= datum.from ? (errors ? 0 : 1) : logarithmic ? log(datum.value / datum.from) / "
        "log(datum.to / datum.from) : (datum.value - datum.from) / (datum.to - datum.from)",
        "as": "share",
    },
    {"calculate": "errors ? datum.share : 1 - datum.share", "as": "shade"},
    {"calculate": "datum.setting + ': ' + datum.shown + ' ' + datum.spread + ' ' + datum.mark", "as": "spoken"},
]
#: The value that a shade stands for.
_LEGEND = (
    "columns ? (datum.value == 0 ? 'column best' : datum.value == 1 ? 'worst' : '') : "
    "format(logarithmic ? low * pow(high / low, errors ? datum.value : 1 - datum.value) : "
    "low + (high - low) * (errors ? datum.value : 1 - datum.value), errors ? '.3~p' : '.3~g')"
)


def step_of(direction: str, count: int) -> int:
    """Pixels between neighbours, for so many of them."""
    return next(step for most, step in SIZES[direction] if count <= most)


def heat(rows: Rows, across: dict[str, Any], down: dict[str, Any], measure: str, spread: str, logarithmic: bool) -> Spec:
    """Cells by two axes: colour and number are the value; the choice and the simplest cell that is as good have a frame.

    Rows have x, y and their places xr, yr, the cell's number, setting and mark, and its value with label, shown and spread.
    """
    columns, lines = len({row["xr"] for row in rows}), len({row["yr"] for row in rows})
    angle = -40 if across["long"] or columns > 12 else 0
    labels = alt.Axis(labelAngle=angle, labelLimit=140, labelOverlap="greedy")
    x = alt.X("x:N", sort=by_order("x", "xr"), title=across["title"], axis=labels)
    y = alt.Y("y:N", sort=by_order("y", "yr"), title=down["title"], axis=alt.Axis(labelLimit=150))
    tooltip = [*_tooltip(measure, spread), alt.Tooltip("mark:N", title="note")]
    legend = alt.Legend(
        title=None, orient="top", gradientLength=160, gradientThickness=8, values=[0, 0.5, 1], tickCount=3, labelExpr=_LEGEND
    )
    color = alt.Color("shade:Q", scale=alt.Scale(scheme="viridis", reverse=True, domain=[0, 1]), legend=legend)
    rect = base().mark_rect(cursor="pointer", stroke="transparent", strokeWidth=2)
    frames = alt.Scale(domain=["choice", "least error", "one standard error"], range=["#d50032", "#d50032", "#ff9f1c"])
    frame = base().mark_rect(fill=None, strokeWidth=3, aria=False)
    ink = alt.condition("datum.shade < 0.55", alt.value("#111"), alt.value("#fff"))
    number = base().mark_text(fontSize=11, aria=False, fontWeight=500, cursor="pointer")
    layers = [
        rect.encode(x=x, y=y, color=color, tooltip=tooltip, description="spoken:N"),
        frame.encode(x=x, y=y, stroke=alt.Stroke("mark:N", scale=frames, legend=None)).transform_filter("datum.mark !== ''"),
        number.encode(x=x, y=y, text="label:N", color=ink, tooltip=tooltip),
    ]
    shown = layers if columns <= SIZES["numbers"] else layers[:-1]
    chart = alt.layer(*shown).properties(width=alt.Step(step_of("across", columns)), height=alt.Step(step_of("down", lines)))
    found = spec_of(chart, rows)
    found["transform"] = _SHADE
    given = {"values": [row["value"] for row in rows], "logarithmic": logarithmic, "columns": False, "errors": measure == "error"}
    found["params"] = [
        *({"name": name, "value": value} for name, value in given.items()),
        {"name": "low", "expr": "extent(values)[0]"},
        {"name": "high", "expr": "extent(values)[1]"},
    ]
    return found


def _tooltip(measure: str, spread: str) -> list[Any]:
    titles = {"setting": "setting", "shown": measure, "spread": f"over {spread}"}
    return [alt.Tooltip(f"{name}:N", title=title) for name, title in titles.items()]


def lines(rows: Rows, along: dict[str, Any], other: dict[str, Any], measure: str, spread: str, logarithmic: bool) -> Spec:
    """Values against the numbers of one axis (at), a line for each value of the other (y), bands over folds (low, high)."""
    ticks = {} if along["ticks"] is None else {"values": along["ticks"]}
    axis = alt.Axis(labelExpr=TICK, labelOverlap="greedy", **ticks)
    across = alt.X("at:Q", title=along["title"], scale=alt.Scale(**along["scale"]), axis=axis)
    limits = alt.Scale(type="log", nice=False) if logarithmic else alt.Scale(type="linear", nice=True)
    form = ".3~p" if measure == "error" else ".3~g"
    down = alt.Y("value:Q", title=measure, scale=limits, axis=alt.Axis(format=form, tickCount=5))
    key = alt.Legend(symbolType="stroke", labelLimit=170, columns=1, symbolOpacity=1, symbolStrokeWidth=3, symbolLimit=14)
    color = alt.Color(
        "y:N",
        sort=by_order("y", "yr"),
        title=other["title"],
        scale=alt.Scale(scheme="viridis"),
        legend=None if rows and other["title"] is None else key,
    )
    band = base().mark_area(opacity=0.15, aria=False)
    stroke = base().mark_line(strokeWidth=2, aria=False)
    points = base().mark_point(filled=True, size=36, opacity=1)
    layers = [
        band.encode(x=across, y=alt.Y("low:Q", title=measure), y2="high:Q", color=color),
        stroke.encode(x=across, y=down, color=color),
        points.encode(x=across, y=down, color=color, tooltip=_tooltip(measure, spread)),
    ]
    return spec_of(alt.layer(*layers).properties(width="container", height=250), rows)


def confusion(flat: list[int], names: list[str]) -> Spec:
    """True classes down, predicted ones across; colour is the share of the true class, the number a count or a rate.

    Rows have the codes tr (true), gr (predicted) and a count; the chart itself counts shares and writes texts.
    """
    classes = len(names)
    step = 72 if classes <= 4 else 36 if classes <= 12 else 28 if classes <= 20 else 14 if classes <= 50 else 8
    ticks: dict[str, Any] = {"labelLimit": 90, "labels": classes <= 50, "ticks": classes <= 50}
    turned = alt.Axis(**ticks, labelAngle=0 if classes <= 12 else -60)
    across = alt.X("guess:N", sort=by_order("guess", "gr"), title="predicted", axis=turned)
    down = alt.Y("true:N", sort=by_order("true", "tr"), title="true", axis=alt.Axis(**ticks))
    color = alt.Color("rate:Q", scale=alt.Scale(type="sqrt", scheme="blues", domain=[0, 1]), legend=None)
    tooltip = [alt.Tooltip("true:N"), alt.Tooltip("guess:N", title="predicted"), alt.Tooltip("shown:N", title="rows")]
    layers = [base().mark_rect().encode(x=across, y=down, color=color, tooltip=tooltip, description="shown:N")]
    if classes <= 20:
        ink = alt.condition("datum.rate > 0.25", alt.value("#fff"), alt.value("#111"))
        layers.append(base().mark_text(fontSize=11, aria=False).encode(x=across, y=down, text="label:N", color=ink))
    triples = zip(flat[::3], flat[1::3], flat[2::3], strict=True)
    rows = [{"tr": true, "gr": guess, "count": number} for true, guess, number in triples]
    found = spec_of(alt.layer(*layers).properties(width=alt.Step(step), height=alt.Step(step)), rows)
    words = "' rows of ' + datum.true + ' predicted as ' + datum.guess + ' (' + format(datum.rate, '.1%') + ')'"
    found["params"] = [{"name": "names", "value": names}, {"name": "rates", "value": False}]
    found["transform"] = [
        {"joinaggregate": [{"op": "sum", "field": "count", "as": "total"}], "groupby": ["tr"]},
        {"calculate": "datum.count / datum.total", "as": "rate"},
        {"calculate": "names[datum.tr]", "as": "true"},
        {"calculate": "names[datum.gr]", "as": "guess"},
        {"calculate": "rates ? format(100 * datum.rate, datum.rate < 0.0995 ? '.1f' : '.0f') : '' + datum.count", "as": "label"},
        {"calculate": f"datum.count + ' of ' + datum.total + {words}", "as": "shown"},
    ]
    return found
