"""Section about the grid: a heatmap for each family of kernels, and a table of settings."""

from __future__ import annotations

import math
from typing import Any

from pegasos.metrics import Measure
from pegasos.program.pages import vega
from pegasos.program.pages.blocks import Block, Chart, Table, Text, columns
from pegasos.program.pages.grid import Axis, Grid, Point, axes_of, place, view
from pegasos.program.pages.vega import Rows, Spec, chart, mark, number, tooltip, word
from pegasos.program.pages.wording import is_number, score_text, title_of, unbroken, value_text
from pegasos.program.records.runs import is_sampled

#: Rows of the table of settings: about 1 MB of page.
MOST_ROWS = 2000
#: Pixels of a column of a heatmap by their number, pixels of a line, columns with numbers inside.
_COLUMN, _LINE, _NUMBERED = ((6, 46), (24, 36), (10**9, 16)), 26, 24
#: Ratio of values from which on a scale is logarithmic.
_WIDE = 5.0
#: Frames of the choice, and of the simplest setting within one standard error of it.
_RED, _ORANGE = "#d50032", "#ff9f1c"


def grid_blocks(grid: Grid, clickable: bool) -> list[Block]:
    """Return the heatmaps of all families with more than one setting, and the tables."""
    families, blocks = grid.families(), list[Block]()
    for part in ("test", "train"):
        for family in families:
            if len(family) > 1 and any(_measured(point, part)[0] is not None for point in family):
                blocks.append(_heat_block(grid, family, part))
    if blocks:
        blocks.insert(0, Text(_remark(grid, clickable), small=True))
    if len(families) > 1:
        best = [grid.choice if grid.choice in each else grid.best_at(each)[0] for each in families]
        blocks.append(_cell_table(grid, best, "families", "The best of each family", clickable))
    ranked, title = (
        sorted(grid.points, key=lambda p: grid.measure.rank(p.cell.value)),
        "All settings",
    )
    if len(ranked) > MOST_ROWS:
        title = f"The best {MOST_ROWS} of {len(ranked)} settings"
    return [*blocks, _cell_table(grid, ranked[:MOST_ROWS], "cells", title, clickable)]


def _remark(grid: Grid, clickable: bool) -> str:
    """Explain numbers, frames and marks of the heatmaps."""
    unit = " in %" if grid.measure.percent else ""
    where = "cross-validated: mean over folds"
    if is_sampled([point.cell for point in grid.points]):
        where += " of stage 1, on rows that all settings share"
    parts = [f"{grid.measure.name.capitalize()}{unit}, {where}.", "Red frame: the choice."]
    if not grid.choice.in_grid:
        value = score_text(grid.choice.cell.value, grid.measure)
        parts[-1] = f"Red frame: the setting of which the choice is a variation ({value})."
    if grid.simplest != grid.best:
        parts.append("Orange frame: the simplest setting within one standard error of it.")
    if any(point.cell.stage > 1 for point in grid.points):
        parts.append("*: evaluated again in stage 2, itself or a variation of it.")
    if clickable:
        parts.append("Click a cell, or its number in the table, for its confusion matrix.")
    return " ".join(parts)


def _heat_block(grid: Grid, family: list[Point], part: str) -> Chart:
    """Return the heatmap of a family on test or on training rows of the folds."""
    axes = axes_of(family)
    across, down = view(axes)
    spec, name = heatmap(grid, family, across, down, part), grid.title(family)
    if part == "train":
        return Chart(f"heat training {name}", f"{name}: training rows", spec, layout="fit")
    caption = f"Best: {score_text(grid.best_at(family)[0].estimate, grid.measure)}."
    hidden = [axis.title for axis in axes if axis not in (across, down)]
    if hidden:
        caption += f" Each cell is the best over {' and '.join(hidden)}."
    return Chart(f"heat {name}", name, spec, caption, layout="fit")


def _cell_table(grid: Grid, points: list[Point], name: str, title: str, clickable: bool) -> Table:
    """Return a table of settings."""
    names = list(dict.fromkeys(name for point in grid.points for name in point.values))
    form = "percent" if grid.measure.percent else "number"
    listed = columns("number", cell="cell")
    listed += columns("text", **{f"p {name}": title_of(name) for name in names})
    listed += columns("number", cost="C", freedom="C·K(x, x)")
    listed += columns(form, value=grid.measure.name, deviation="std", train="training")
    listed += columns("number", support_vectors="support vectors", gap="gap")
    if any(point.cell.stage > 1 for point in grid.points):
        listed += columns(form, first=f"{grid.measure.name} in stage 1")
        listed += columns("number", stage="stage")
    rows = []
    for point in points:
        row = {**vars(point.cell), "cell": point.cell.number, "freedom": point.freedom}
        row["stage"] = min(2, point.cell.stage)
        if point.cell.setting.kernel is None:  # one vector, however many rows determine it
            row["support_vectors"] = None
        for parameter, value in point.values.items():
            is_plain = value is None or is_number(value)
            row[f"p {parameter}"] = value if is_plain else value_text(value)
        rows.append({key: row.get(key) for key, _, _ in listed})
    return Table(name, title, listed, rows, picks="cell" if clickable else None)


# -- heatmap ---------------------------------------------------------------------------------------


def color_scale(grid: Grid, part: str = "test") -> Spec:
    """Return the color scale of all heatmaps, which spans at least two standard errors."""
    inside = (_measured(point, part)[0] for point in grid.points if point.in_grid)
    found = [value for value in inside if value is not None] or [0.0, 1.0]
    low, high, least = min(found), max(found), grid.measure.least
    best, *_ = [*grid.best_at(grid.points), grid.choice]
    folds = sum(value is not None for value in best.cell.folds)
    missing = 2 * (best.std or 0.0) / math.sqrt(max(1, folds)) - (high - low)
    if missing > 0:
        low, high = low - missing / 2, high + missing / 2
        if least and low < 0:
            low, high = 0.0, high - low
    kind = "log" if low > 0 and high / low > _WIDE else "linear"
    domain = [low, high if high > low else low + 1e-6]
    return {"type": kind, "domain": domain, "scheme": "viridis", "reverse": least}


def heatmap(grid: Grid, points: list[Point], across: Axis, down: Axis, part: str = "test") -> Spec:
    """Return the heatmap of settings over two axes, with the choice in a red frame."""
    scale, axes, measure = color_scale(grid, part), (across, down), grid.measure
    frames: dict[Any, str] = {}
    for cell, name in ((grid.simplest, "one standard error"), (grid.best, "choice")):
        frames |= {place(point, axes): name for point in points if point.cell.number == cell}
    second = {place(point, axes) for point in points if point.cell.stage > 1}
    rows: Rows = []
    for point in grid.best_at(points, *axes):
        row = _row(point, measure, part)
        row["mark"] = row["note"] = frames.get(place(point, axes), "")
        if row["mark"] == "choice" and point.cell.number != grid.best:
            row["note"] = f"choice, a variation of this one: {grid.choice.text}"
        row["label"] += "*" if place(point, axes) in second and row["label"] else ""
        for axis, name in ((across, "x"), (down, "y")):
            order = axis.values.index(point.at.get(axis.name))
            row |= {name: axis.labels[order], f"{name}r": order}
        rows.append(row)
    many, lines = (len({row[order] for row in rows}) for order in ("xr", "yr"))
    width = next(step for most, step in _COLUMN if many <= most)
    tilted = many > 1 and 6.2 * max(len(row["x"]) for row in rows) > width
    angle = {"labelAngle": -40 if tilted else 0, "labelLimit": 180}
    x = word("x", "xr", title=across.title, axis=angle)
    places = {"x": x, "y": word("y", "yr", title=down.title, axis={"labelLimit": 230})}
    legend = {"orient": "top", "gradientLength": 130, "gradientThickness": 8}
    legend |= {"title": measure.name, "values": scale["domain"], "format": _format(measure)}
    colors = {"domain": ["choice", "one standard error"], "range": [_RED, _ORANGE]}
    stroke = word("mark", scale=colors, legend=None)
    frame = mark("rect", places, stroke=stroke, fill=None, strokeWidth=3, aria=False)
    frame["transform"] = [{"filter": "datum.mark !== ''"}]
    return vega.heatmap(
        rows,
        {**places, "tooltip": [*_hints(measure), *tooltip(note="note")]},
        {"color": number("value", scale=scale, legend=legend)},
        vega.ON_CELLS,
        None if many > _NUMBERED else word("label"),
        frame,
        width=[width],
        height=[_LINE if lines <= 30 else 16],
    )


def _measured(point: Point, part: str) -> tuple[float | None, float | None]:
    """Return the value on test or training rows, and its std over folds."""
    cell = point.cell
    return (point.estimate, point.std) if part == "test" else (cell.train, cell.train_deviation)


def _row(point: Point, measure: Measure, part: str = "test") -> dict[str, Any]:
    """Return the value of a setting, its texts, and those of the tooltip."""
    value, std = _measured(point, part)
    label = "" if value is None else measure.label(value)
    row = {"cell": point.cell.number, "setting": point.text, "label": label}
    row["value"] = None if value is None else round(value, 6)
    row["spread"] = "" if std is None else unbroken(f"± {score_text(std, measure)}")
    return row | {"shown": score_text(value, measure)}


def _hints(measure: Measure) -> list[Spec]:
    return tooltip(setting="setting", shown=measure.name, spread="std over folds")


def _format(measure: Measure) -> str:
    return ".3~p" if measure.percent else ".3~g"


# -- lines -----------------------------------------------------------------------------------------


def lines(grid: Grid, points: list[Point], along: Axis, other: Axis) -> Spec:
    """Return a line chart of estimates over one axis, with a line for each value of another.

    Bands show one std over folds. At least one line must have two points.
    """
    rows: Rows = []
    for point in grid.best_at(points, along, other):
        at, order = point.at.get(along.name), other.values.index(point.at.get(other.name))
        if at is not None and point.estimate is not None:
            row = {"at": at, "y": other.labels[order], "yr": order, **_row(point, grid.measure)}
            std = point.std or 0.0
            rows.append({**row, "low": point.estimate - std, "high": point.estimate + std})
    if len(rows) <= len({row["yr"] for row in rows}):
        raise ValueError("no parameter of this grid has numbers to draw a curve along.")
    title, values = grid.measure.name, [row["value"] for row in rows]
    at = {"x": vega.quantity("at", along.title, [row["at"] for row in rows])}
    # Errors are compared with no error at all, scores with each other.
    at["y"] = vega.quantity("value", title, values, zero=grid.measure.least)
    at["y"]["axis"] = {"format": _format(grid.measure), "tickCount": 5}
    if at["y"]["scale"]["type"] == "log":
        for row in rows:
            row["low"] = max(row["low"], row["value"] / 10)
    legend = {"symbolType": "stroke", "labelLimit": 230, "columns": 1}
    named: Spec = {"title": other.title, "legend": legend if len(other.values) > 1 else None}
    at["color"] = word("y", "yr", scale={"scheme": "viridis"}, **named)
    low, hints = number("low", title=title), _hints(grid.measure)
    layers = [
        mark("area", at, y=low, y2={"field": "high"}, opacity=0.15, aria=False),
        mark("line", at, strokeWidth=2, aria=False),
        mark("point", at, tooltip=hints, filled=True, size=36, opacity=1),
    ]
    return chart(rows, *layers, height=250)
