"""Section about training: recorded curves, and objectives with their certified bounds."""

from __future__ import annotations

import math

from pegasos.program.pages.blocks import Block, Chart, Table, columns
from pegasos.program.pages.vega import (
    CLASSES,
    TICK,
    Rows,
    Spec,
    calculated,
    chart,
    mark,
    number,
    tooltip,
    word,
)
from pegasos.program.records.pages import Certificate, Curve

_LINE: Spec = {"strokeWidth": 2, "point": {"size": 14, "filled": True}}
#: Numbers that fall by a larger factor are drawn on a logarithmic scale.
_WIDE = 10.0


def learning_blocks(curves: list[Curve], certificates: list[Certificate]) -> list[Block]:
    """Return a chart for each recorded curve, and the table of certificates."""
    blocks: list[Block] = []
    for place, curve in enumerate(curves, start=1):
        rows: Rows = [{"x": x, "y": y} for x, y in zip(curve.steps, curve.values, strict=True)]
        for row, bound in zip(rows, curve.bounds, strict=False):
            row["bound"] = bound
        listed = columns("number", x=curve.unit, y=curve.what, bound="certified lower bound")
        title = curve.what[0].upper() + curve.what[1:]
        table = Table(f"curve-{place}", title, listed, rows[:1000])
        caption = "Dashed: certified lower bound." if curve.bounds else ""
        chart = curve_chart(rows, curve.unit, curve.what)
        blocks.append(Chart(f"curve-{place}", title, chart, caption, table, half=True))
    return [*blocks, *_certificates(certificates)]


def _certificates(found: list[Certificate]) -> list[Block]:
    rows = [
        {**vars(each), "gap": (each.objective - each.bound) / max(abs(each.objective), 1e-300)}
        for each in found
    ]
    listed = columns("text", of="class")
    listed += columns(
        "number", objective="objective", bound="certified lower bound", gap="relative gap"
    )
    title = "Objective and certified lower bound"
    return [Table("certificates", title, listed, rows)] if rows else []


def curve_chart(rows: Rows, x: str, y: str) -> Spec:
    """Return a recorded number against steps or epochs, with its lower bound (dashed) if there is one."""
    across = {"x": _steps(rows, x)}
    if "bound" not in rows[0]:
        down = number("y", **_falling([row["y"] for row in rows], y))
        hints = tooltip(x=(x, ","), y=(y, ".4~g"))
        return chart(
            rows, mark("line", {**across, "y": down, "tooltip": hints}, **_LINE), height=240
        )
    least, most = min(row["y"] for row in rows), max(row["y"] for row in rows)
    floor = least / 30 if _is_wide([least, most]) else 0.0  # a bound near zero is drawn there
    limits = _falling([max(floor, row["bound"]) for row in rows] + [most], y)
    hints = tooltip(x=(x, ","), y=(y, ".5~g"), bound=("certified lower bound", ".5~g"))
    places = {**across, "tooltip": hints}
    above = {**places, "y": number("y", **limits), "color": {"value": CLASSES[0]}}
    below = {**places, "y": number("lower", **limits), "color": {"value": CLASSES[1]}}
    layers = [
        mark("area", {**below, "y2": {"field": "y"}}, opacity=0.12, aria=False),
        mark("line", above, **_LINE),
        mark("line", below, **_LINE, strokeDash=[6, 3]),
    ]
    return chart(
        rows, *layers, height=240, transform=calculated(lower=f"max(datum.bound, {floor:.4g})")
    )


def times(rows: Rows, x: str, y: str, line: str) -> Spec:
    """Return lines over numbers, both axes logarithmic."""
    values = sorted({row["x"] for row in rows})
    axis = {"labelExpr": TICK, "labelOverlap": "greedy", "values": values}
    scale = {"type": "log", "nice": False}
    legend = {"labelLimit": 220, "orient": "top", "columns": 2}
    encoding = {
        "x": number("x", title=x, scale=scale, axis=axis),
        "y": number("y", title=y, scale=scale, axis={"labelExpr": TICK, "tickCount": 5}),
        "color": word("line", title=line, scale={"range": CLASSES}, legend=legend),
        "tooltip": tooltip(line=line, x=(x, ","), y=(y, ".4~g")),
    }
    point = {"size": 40, "filled": True}
    return chart(rows, mark("line", encoding, strokeWidth=2, point=point), height=260)


def _steps(rows: Rows, title: str) -> Spec:
    first, last = min(row["x"] for row in rows), max(row["x"] for row in rows)
    ticks: Spec = {"tickCount": 6, "tickMinStep": 1}
    if last - first <= 6:
        ticks = {"values": list(range(first, last + 1))}
    return number("x", title=title, scale={"nice": False}, axis={"labelExpr": TICK, **ticks})


def _is_wide(values: list[float]) -> bool:
    return min(values) > 0 and max(values) / min(values) > _WIDE


def _falling(values: list[float], title: str) -> Spec:
    """Return a linear axis, or a logarithmic one with a tick per power of ten, or three where there are few powers."""
    axis: Spec = {"labelExpr": TICK, "labelOverlap": "greedy"}
    if not _is_wide(values):
        scale = {"type": "linear", "zero": False, "nice": True}
        return {"title": title, "scale": scale, "axis": {**axis, "tickCount": 5}}
    low, high = min(values), max(values)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1,) if math.log10(high / low) > 3 else (1, 2, 5)
    marks = (factor * 10.0**power for power in powers for factor in factors)
    shown = [
        float(f"{each:.3g}") for each in marks if low <= each * 1.0001 and each <= high * 1.0001
    ]
    scale = {"type": "log", "nice": False}
    return {"title": title, "scale": scale, "axis": {**axis, "values": shown}}
