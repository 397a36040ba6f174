"""Page of a study: verdicts, printed and our numbers, claims, and figures."""

from __future__ import annotations

import base64

from pegasos.program.pages import vega
from pegasos.program.pages.blocks import Block, Chart, Gallery, Section, Table, Text, Tiles, columns
from pegasos.program.pages.page import Page
from pegasos.program.pages.vega import Rows, Spec, chart, mark, number, tooltip, word
from pegasos.program.pages.wording import count, duration
from pegasos.program.terminal.console import percent
from pegasos.studies.results import VERDICTS, Figure, JudgedNumber, StudyResult

_VERDICT_COLORS = dict(zip(VERDICTS, ["#009e73", "#0072b2", "#e69f00", "#d55e00"], strict=True))
_VERDICTS = (
    "Exact: all printed digits agree. Within noise: inside the central 95 % of our distribution "
    "over seeds. Undecided: between 95 % and 99 %, or no distribution. Differs: outside 99 %."
)


def study_page(study: StudyResult) -> Page:
    """Return the page of a study."""
    total, summary, claims = len(study.numbers), list[Block](), list[Block]()
    tiles = [("Best error found", percent(best.error), best.what, None) for best in study.best]
    shares = [
        (verdict.capitalize(), f"{many} of {total}", "printed numbers", many / total)
        for verdict, many in study.counts().items()
        if total
    ]
    if shares or tiles:
        summary.append(Tiles([*shares, *tiles]))
    summary += [Text(study.protocol), *(Text(note) for note in study.notes)]
    if study.claims:
        names = {name: name for name in ("claim", "verdict", "evidence", "source")}
        rows = [vars(claim) for claim in study.claims]
        claims.append(
            Table("claims", "Claims of the report, and ours", columns("text", **names), rows)
        )
    figures = [
        block
        for place, figure in enumerate(study.figures, start=1)
        for block in figure_blocks(figure, f"figure-{place}")
    ]
    sections = [
        Section("summary", "Summary", summary),
        Section("claims", "Claims", claims),
        Section("numbers", "Printed numbers and ours", _numbers(study)),
        Section("figures", "Figures", figures),
    ]
    size = f"{study.rows:,} rows of {study.data}, {count(study.seeds, 'seed')}"
    return Page(study.title, f"{study.study}: {size}, {duration(study.seconds)}.", sections)


def _numbers(study: StudyResult) -> list[Block]:
    if not study.numbers:
        return []
    listed = columns("text", id="number") + columns("exact", printed="printed")
    listed += columns("number", ours="ours", noise="noise", low="2.5 %", high="97.5 %")
    listed += columns("text", verdict="verdict", reason="reason")
    rows = [vars(each) for each in study.numbers]
    table = Table("numbers", "Every printed number", listed, rows)
    errors = [each for each in study.numbers if 0 <= each.printed <= 1 and 0 <= each.ours <= 1]
    if len(errors) < 5:
        return [table, Text(_VERDICTS, small=True)]
    caption = f"Vertical lines: the central 95 % of our distribution over seeds. {_VERDICTS}"
    return [Chart("printed-ours", "Printed and ours", numbers_chart(errors), caption), table]


def numbers_chart(numbers: list[JudgedNumber]) -> Spec:
    """Return a chart of printed numbers against ours, with the central 95 % of our distribution."""
    rows: Rows = []
    for each in numbers:
        low, high = (each.ours if end is None else end for end in (each.low, each.high))
        rows.append({**vars(each), "low": low, "high": high})
    shown = [verdict for verdict in VERDICTS if any(row["verdict"] == verdict for row in rows)]
    scale = {"domain": shown, "range": [_VERDICT_COLORS[verdict] for verdict in shown]}
    legend = {"orient": "top", "title": None, "symbolOpacity": 1}
    color = word("verdict", scale=scale, legend=legend)
    x, y = (number(name, title=name, axis={"labelExpr": vega.TICK}) for name in ("printed", "ours"))
    both = {"printed": ("printed", ".12~g"), "ours": ("ours", ".6~g")}
    hints = tooltip(id="number", **both, verdict="verdict")
    ends: Spec = {"y": number("low"), "y2": {"field": "high"}}
    printed = [row["printed"] for row in rows]
    equal = [{"printed": each, "ours": each} for each in (min(printed), max(printed))]
    dashed = {"color": "gray", "strokeDash": [4, 4], "strokeWidth": 1}
    layers = [
        {"data": {"values": equal}, **mark("line", x=x, y=number("ours"), **dashed)},
        mark("rule", ends, x=x, color=color, opacity=0.4),
        mark("point", x=x, y=y, color=color, tooltip=hints, filled=True, size=40, opacity=0.9),
    ]
    return chart(rows, *layers, height=360)


# -- figures: rows are copied to fields with fixed names, which never come from data ---------------


def figure_blocks(figure: Figure, name: str) -> list[Block]:
    """Return the blocks of a figure: its caption, its chart, and the table behind it."""
    if figure.kind == "images":
        height, width = figure.shape
        pictures = [
            (base64.b64encode(bytes(row["pixels"])).decode(), str(row["label"]))
            for row in figure.rows
        ]
        return [Gallery(figure.title, (height, width), pictures)]
    if figure.kind == "table":
        titles = {str(key): str(key) for row in figure.rows for key in row}
        table = Table(name, figure.title, columns("number", **titles), figure.rows)
        return [table, *([Text(figure.caption, small=True)] if figure.caption else [])]
    kinds = {"heatmap": _heatmap, "lines": _lines, "bars": _bars, "points": _points}
    spec = kinds[figure.kind](figure)
    if figure.kind == "points":
        return [Chart(name, figure.title, spec, figure.caption)]
    layout = "half" if figure.kind == "heatmap" else "full"
    return [Chart.with_rows(name, figure.title, spec, figure.caption, layout)]


def _heatmap(figure: Figure) -> Spec:
    """Return a heatmap of a number over two axes; dark is larger."""
    across, down = (
        list(dict.fromkeys(row[axis] for row in figure.rows)) for axis in (figure.x, figure.y)
    )
    rows: Rows = []
    for each in figure.rows:
        x, y = each[figure.x], each[figure.y]
        place = {"x": str(x), "y": str(y), "xr": across.index(x), "yr": down.index(y)}
        rows.append({**place, "value": each[figure.color]})
    low, high = (end(row["value"] for row in rows) for end in (min, max))
    scale: Spec = {"type": "log" if low > 0 else "linear", "scheme": "viridis", "reverse": True}
    scale["domain"] = [low, high if high > low else low + 1e-6]
    x_axis = word("x", "xr", title=figure.x, axis={"labelAngle": 0})
    places: Spec = {"x": x_axis, "y": word("y", "yr", title=figure.y)}
    places["tooltip"] = tooltip(y=figure.y, x=figure.x, value=(figure.color, ".4f"))
    color = {"color": number("value", scale=scale, legend=None)}
    label = number("value", format=".3f")
    return vega.heatmap(rows, places, color, vega.ON_CELLS, label, height=[24])


def _lines(figure: Figure) -> Spec:
    """Return a line chart."""
    rows: Rows = [
        {"x": row[figure.x], "y": row[figure.y], "line": str(row[figure.color])}
        for row in figure.rows
    ]
    x, y = (
        vega.quantity(name, title, [row[name] for row in rows])
        for name, title in (("x", figure.x), ("y", figure.y))
    )
    legend = {"labelLimit": 220, "orient": "top", "columns": 2}
    color = word("line", title=figure.color, scale={"range": vega.CLASSES}, legend=legend)
    hints = tooltip(line=figure.color, x=(figure.x, ","), y=(figure.y, ".4~g"))
    look = {"strokeWidth": 2, "point": {"size": 40, "filled": True}}
    return chart(rows, mark("line", x=x, y=y, color=color, tooltip=hints, **look), height=260)


def _bars(figure: Figure) -> Spec:
    rows: Rows = [
        {"x": str(row[figure.x]), "y": row[figure.y], "order": order}
        for order, row in enumerate(figure.rows)
    ]
    hints = tooltip(x=figure.x, y=(figure.y, ".4~g"))
    return vega.bars(rows, "x", "y", hints, ".4~g", [20])


def _points(figure: Figure) -> Spec:
    rows: Rows = [
        {"x": row[figure.x], "y": row[figure.y], "class": str(row[figure.color])}
        for row in figure.rows
    ]
    colors = vega.class_colors(len({row["class"] for row in rows}))
    axis = {"labels": False, "ticks": False, "domain": False}
    places = {name: number(name, title=None, axis=axis) for name in ("x", "y")}
    color = word("class", title=figure.color, scale={"range": colors})
    hints = tooltip(**{"class": figure.color})
    text = mark("text", places, color=color, text=word("class"), tooltip=hints, fontSize=10)
    return chart(rows, text, height=420)
