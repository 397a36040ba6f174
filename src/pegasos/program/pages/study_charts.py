"""Charts of a study's figures. Rows are copied to fixed field names: no name of a field comes from data."""

from __future__ import annotations

import base64
from typing import Any

from pegasos.program.pages.blocks import Block, Chart, Gallery, Table, Text, columns
from pegasos.program.pages.learning_section import times
from pegasos.program.pages.vega import (
    CLASSES,
    TICK,
    Rows,
    Spec,
    chart,
    class_colors,
    either,
    mark,
    number,
    tooltip,
    word,
)
from pegasos.studies.results import VERDICTS, Figure, JudgedNumber

_VERDICT_COLORS = ["#009e73", "#0072b2", "#e69f00", "#d55e00"]


def figure_blocks(figure: Figure, name: str) -> list[Block]:
    """Return the blocks that show a figure: its caption, its chart, and the table behind it."""
    if figure.kind == "images":
        height, width = figure.shape
        pictures = [
            (base64.b64encode(bytes(row["pixels"])).decode(), str(row["label"]))
            for row in figure.rows
        ]
        return [Gallery(figure.title, (height, width), pictures)]
    titles = {str(key): str(key) for row in figure.rows for key in row}
    table = Table(name, figure.title, columns("number", **titles), figure.rows)
    if figure.kind == "table":
        return [*([Text(figure.caption)] if figure.caption else []), table]
    spec = {"heatmap": _heatmap, "lines": _lines, "bars": _bars, "points": _points}[figure.kind]
    half = figure.kind == "heatmap"
    behind = None if figure.kind == "points" else table
    return [Chart(name, figure.title, spec(figure), figure.caption, behind, half=half)]


def _heatmap(figure: Figure) -> Spec:
    """Draw a number as a color over two axes; dark is larger."""
    rows: Rows = []
    orders = {
        axis: list(dict.fromkeys(row[axis] for row in figure.rows)) for axis in (figure.x, figure.y)
    }
    for row in figure.rows:
        x, y, value = row[figure.x], row[figure.y], row[figure.color]
        place = {"xr": orders[figure.x].index(x), "yr": orders[figure.y].index(y)}
        rows.append({"x": str(x), "y": str(y), "v": value, **place})
    middle = sum(sorted(row["v"] for row in rows)[-2:]) / 4
    places = {
        "x": word("x", "xr", title=figure.x, axis={"labelAngle": 0}),
        "y": word("y", "yr", title=figure.y),
    }
    hints = tooltip(y=figure.y, x=figure.x, v=(figure.color, ".4f"))
    color = number("v", scale={"scheme": "viridis", "reverse": True, "type": "log"}, legend=None)
    rect = mark("rect", {**places, "color": color, "tooltip": hints})
    ink = either(f"datum.v < {middle:g}", "#111", "#fff")
    text = mark("text", {**places, "text": number("v", format=".3f"), "color": ink}, fontSize=11)
    return chart(rows, rect, text, height=[24])


def _lines(figure: Figure) -> Spec:
    rows = [
        {"x": row[figure.x], "y": row[figure.y], "line": str(row[figure.color])}
        for row in figure.rows
    ]
    return times(rows, figure.x, figure.y, figure.color)


def _bars(figure: Figure) -> Spec:
    rows = [
        {"x": str(row[figure.x]), "y": row[figure.y], "order": order}
        for order, row in enumerate(figure.rows)
    ]
    places = {
        "y": word("x", "order", title=None, axis={"labelLimit": 230}),
        "x": number("y", title=figure.y, axis={"labelExpr": TICK, "tickCount": 5}),
    }
    hints = tooltip(x=figure.x, y=(figure.y, ".4~g"))
    bars = mark("bar", {**places, "tooltip": hints}, color=CLASSES[0])
    text = mark(
        "text", {**places, "text": number("y", format=".4~g")}, align="left", dx=4, aria=False
    )
    return chart(rows, bars, text, height=[20])


def _points(figure: Figure) -> Spec:
    rows = [
        {"x": row[figure.x], "y": row[figure.y], "class": str(row[figure.color])}
        for row in figure.rows
    ]
    names = sorted({row["class"] for row in rows})
    axis = {"labels": False, "ticks": False, "domain": False}
    color = word("class", title=figure.color, scale={"range": class_colors(len(names))})
    places = {name: number(name, title=None, axis=axis) for name in ("x", "y")}
    text = {
        **places,
        "color": color,
        "text": word("class"),
        "tooltip": tooltip(**{"class": figure.color}),
    }
    return chart(rows, mark("text", text, fontSize=10), height=420)


def numbers_chart(numbers: list[JudgedNumber]) -> Spec:
    """Draw every printed number against ours, with the central 95 % of our distribution."""
    rows: Rows = [
        {
            "id": each.id,
            "printed": each.printed,
            "ours": each.ours,
            "low": each.ours if each.low is None else each.low,
            "high": each.ours if each.high is None else each.high,
            "verdict": each.verdict,
        }
        for each in numbers
    ]
    shown = [verdict for verdict in VERDICTS if any(row["verdict"] == verdict for row in rows)]
    colors = [_VERDICT_COLORS[VERDICTS.index(verdict)] for verdict in shown]
    color: Any = word(
        "verdict",
        scale={"domain": shown, "range": colors},
        legend={"orient": "top", "title": None, "symbolOpacity": 1},
    )
    x = number("printed", title="printed", axis={"labelExpr": TICK})
    places = {"x": x, "y": number("ours", title="ours", axis={"labelExpr": TICK}), "color": color}
    hints = tooltip(
        id="number", printed=("printed", ".6~g"), ours=("ours", ".6~g"), verdict="verdict"
    )
    bars = mark(
        "rule", {"x": x, "y": number("low"), "y2": {"field": "high"}, "color": color}, opacity=0.4
    )
    dots = mark("point", {**places, "tooltip": hints}, filled=True, size=40, opacity=0.9)
    low = min(row["printed"] for row in rows)
    high = max(row["printed"] for row in rows)
    line = {
        "data": {"values": [{"printed": low, "ours": low}, {"printed": high, "ours": high}]},
        **mark(
            "line", {"x": x, "y": number("ours")}, color="gray", strokeDash=[4, 4], strokeWidth=1
        ),
    }
    return chart(rows, line, bars, dots, height=360)
