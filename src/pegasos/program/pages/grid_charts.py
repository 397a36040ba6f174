"""The charts of a grid of cells and of a confusion matrix, described once: the page's script fills them anew at every pick."""

from __future__ import annotations

from typing import Any

from pegasos.metrics import Measure
from pegasos.program.pages.vega import (
    TICK,
    Rows,
    Spec,
    calculated,
    chart,
    either,
    grouped,
    mark,
    number,
    ticked,
    tooltip,
    word,
)

#: Pixels of a column and of a line of a heatmap by how many there are at most; beyond so many columns numbers are left out.
SIZES: dict[str, Any] = {
    "across": [[12, 46], [24, 40], [1e9, 16]],
    "down": [[12, 32], [30, 26], [1e9, 16]],
    "numbers": 24,
}
#: Where nothing varies.
NO_AXIS: dict[str, Any] = {"title": None, "long": False, "scale": {}, "ticks": None}
#: From a value to its shade in 0..1 (0 is best), between the least and greatest value shown, or of its own column.
_SHADE = [
    grouped("xr", "value", min="least", max="most"),
    *calculated(
        **{"from": "columns ? datum.least : low", "to": "columns ? datum.most : high"},
        share="datum.to <= datum.from ? (least ? 0 : 1) : logarithmic ? log(datum.value / datum.from) / "
        "log(datum.to / datum.from) : (datum.value - datum.from) / (datum.to - datum.from)",
        shade="least ? datum.share : 1 - datum.share",
        spoken="datum.setting + ': ' + datum.shown + ' ' + datum.spread + ' ' + datum.mark",
    ),
]
#: The value that a shade stands for.
_LEGEND = (
    "columns ? (datum.value == 0 ? 'column best' : datum.value == 1 ? 'worst' : '') : "
    "format(logarithmic ? low * pow(high / low, least ? datum.value : 1 - datum.value) : "
    "low + (high - low) * (least ? datum.value : 1 - datum.value), percent ? '.3~p' : '.3~g')"
)


def heat(
    rows: Rows, across: Spec, down: Spec, measure: Measure, spread: str, logarithmic: bool
) -> Spec:
    """Cells by two axes: colour and number are the value; the choice and the simplest cell that is as good have a frame.

    Rows have x, y and their places xr, yr, the cell's number, setting and mark, and its value with label, shown and spread.
    """
    columns, lines = len({row["xr"] for row in rows}), len({row["yr"] for row in rows})
    split = "split(datum.label, '\\n')"  # λ, and its C below
    labels = {
        "labelAngle": -40 if across["long"] or columns > 12 else 0,
        "labelLimit": 180,
        "labelOverlap": "greedy",
    }
    labels["labelExpr"] = split
    y = word("y", "yr", title=down["title"], axis={"labelLimit": 230, "labelExpr": split})
    places = {"x": word("x", "xr", title=across["title"], axis=labels), "y": y}
    hints = {
        "tooltip": tooltip(
            setting="setting", shown=measure.name, spread=f"over {spread}", mark="note"
        )
    }
    unit = measure.name + (" (dark is worse)" if measure.least else " (dark is less)")
    bar = {"title": unit, "orient": "top", "gradientLength": 160, "gradientThickness": 8}
    legend = {**bar, "values": [0, 0.5, 1], "tickCount": 3, "labelExpr": _LEGEND}
    color = number(
        "shade", scale={"scheme": "viridis", "reverse": True, "domain": [0, 1]}, legend=legend
    )
    # What ended early is grey: its number is of fewer rows than those it would be compared with.
    color["condition"] = {"test": "datum.value === null", "value": "rgba(128, 128, 128, 0.16)"}
    frames = {
        "domain": ["choice", "least error", "one standard error"],
        "range": ["#d50032", "#d50032", "#ff9f1c"],
    }
    framed = mark(
        "rect",
        {**places, "stroke": word("mark", scale=frames, legend=None)},
        fill=None,
        strokeWidth=3,
        aria=False,
    )
    ink = either("datum.shade < 0.55", "#111", "#fff")
    ink["condition"] = [{"test": "datum.value === null", "value": "currentColor"}, ink["condition"]]
    faint = either("datum.value === null", 0.6, 1)
    text = {**places, "text": word("label"), "color": ink, "opacity": faint, **hints}
    rect = {**places, "color": color, **hints, "description": word("spoken")}
    layers = [
        mark("rect", rect, cursor="pointer", stroke="transparent", strokeWidth=2),
        {**framed, "transform": [{"filter": "datum.mark !== ''"}]},
        mark("text", text, fontSize=11, aria=False, fontWeight=500, cursor="pointer"),
    ]
    known = [row["value"] for row in rows if row["value"] is not None]
    given = {"values": known, "logarithmic": logarithmic, "columns": False}
    given |= {"least": measure.least, "percent": measure.percent}
    params = [{"name": name, "value": value} for name, value in given.items()]
    params += [
        {"name": name, "expr": f"extent(values)[{at}]"} for at, name in enumerate(("low", "high"))
    ]
    sizes = (("across", columns), ("down", lines))
    width, height = (
        [next(step for most, step in SIZES[direction] if count <= most)]
        for direction, count in sizes
    )
    shown = layers[: 3 if columns <= SIZES["numbers"] else 2]
    return chart(rows, *shown, width=width, height=height, params=params, transform=_SHADE)


#: A λ on an axis with its C below it, in a chart whose parameter `product` is λ·C; without one the number alone.
_TICKS = f"product ? [{TICK}, 'C ' + {ticked('(product / datum.value)')}] : {TICK}"


def lines(
    rows: Rows,
    along: Spec,
    other: Spec,
    measure: Measure,
    spread: str,
    logarithmic: bool,
    product: float | None = None,
) -> Spec:
    """Values against the numbers of one axis (at), a line for each value of the other (y), bands over folds (low, high).

    `product`: λ·C where the axis is that of λ and one C belongs to each.
    """
    ticks = {} if along["ticks"] is None else {"values": along["ticks"]}
    x = number(
        "at",
        title=along["title"],
        scale=along["scale"],
        axis={"labelExpr": _TICKS, "labelOverlap": "greedy", **ticks},
    )
    # errors are read against none at all, scores against each other
    limits = (
        {"type": "log", "nice": False}
        if logarithmic
        else {"type": "linear", "nice": True, "zero": measure.least}
    )
    form = ".3~p" if measure.percent else ".3~g"
    y = number("value", title=measure.name, scale=limits, axis={"format": form, "tickCount": 5})
    key = {
        "symbolType": "stroke",
        "labelLimit": 230,
        "columns": 1,
        "symbolOpacity": 1,
        "symbolStrokeWidth": 3,
        "symbolLimit": 14,
    }
    legend = None if rows and other["title"] is None else key
    color = word("y", "yr", title=other["title"], scale={"scheme": "viridis"}, legend=legend)
    at = {"x": x, "y": y, "color": color}
    band = {**at, "y": number("low", title=measure.name), "y2": {"field": "high"}}
    hints = {"tooltip": tooltip(setting="setting", shown=measure.name, spread=f"over {spread}")}
    area, line = (
        mark("area", band, opacity=0.15, aria=False),
        mark("line", at, strokeWidth=2, aria=False),
    )
    points = mark("point", {**at, **hints}, filled=True, size=36, opacity=1)
    return chart(
        rows, area, line, points, height=250, params=[{"name": "product", "value": product}]
    )


def confusion(flat: list[int], names: list[str]) -> Spec:
    """True classes down, predicted ones across; colour is the share of the true class, the number a count or a rate.

    Rows have the codes tr (true), gr (predicted) and a count; the chart itself counts shares and writes texts.
    """
    classes = len(names)
    step = (
        72
        if classes <= 4
        else 36
        if classes <= 12
        else 28
        if classes <= 20
        else 14
        if classes <= 50
        else 8
    )
    ticks = {"labelLimit": 90, "labels": classes <= 50, "ticks": classes <= 50}
    x = word(
        "guess", "gr", title="predicted", axis={**ticks, "labelAngle": 0 if classes <= 12 else -60}
    )
    places = {"x": x, "y": word("true", "tr", title="true", axis=ticks)}
    # Towards the paper where rates are small, so that dark pages have no bright spots.
    shade = number(
        "rate", scale={"type": "sqrt", "domain": [0, 1], "range": [0.06, 1]}, legend=None
    )
    hints = {
        "tooltip": tooltip(true="true", guess="predicted", shown="rows"),
        "description": word("shown"),
    }
    text = {
        **places,
        "text": word("label"),
        "color": either("datum.rate > 0.2", "#fff", "currentColor"),
    }
    layers = [
        mark("rect", {**places, "opacity": shade, **hints}, color="#0b5fa5"),
        mark("text", text, fontSize=11, aria=False),
    ]
    words = "' rows of ' + datum.true + ' predicted as ' + datum.guess + ' (' + format(datum.rate, '.1%') + ')'"
    label = (
        "rates ? format(100 * datum.rate, datum.rate < 0.0995 ? '.1f' : '.0f') : '' + datum.count"
    )
    texts = {"true": "names[datum.tr]", "guess": "names[datum.gr]", "label": label}
    fields = calculated(
        rate="datum.count / datum.total",
        **texts,
        shown=f"datum.count + ' of ' + datum.total + {words}",
    )
    params = [{"name": "names", "value": names}, {"name": "rates", "value": False}]
    rows = [
        {"tr": true, "gr": guess, "count": many}
        for true, guess, many in zip(*[iter(flat)] * 3, strict=True)
    ]
    shown, transform = (
        layers if classes <= 20 else layers[:1],
        [grouped("tr", "count", sum="total"), *fields],
    )
    return chart(rows, *shown, width=[step], height=[step], params=params, transform=transform)
