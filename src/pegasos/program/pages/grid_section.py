"""Section about the grid: a heatmap for each family of kernels, and a table of settings."""

from __future__ import annotations

import math
from typing import Any

from pegasos.metrics import Measure
from pegasos.program.pages import values as texts
from pegasos.program.pages import vega
from pegasos.program.pages.blocks import Block, Chart, Table, Text, columns
from pegasos.program.pages.grid import Axis, Grid, Point, axes_of, place, view
from pegasos.program.pages.values import is_number, unbroken, value_text
from pegasos.program.pages.vega import Rows, Spec, chart, either, mark, number, tooltip, word
from pegasos.program.pages.wording import score_text
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
    families = grid.families()
    several = [
        each for each in families if len(each) > 1 and any(p.estimate is not None for p in each)
    ]
    trained = [family for family in several if any(p.cell.train is not None for p in family)]
    heats = [_heat_block(grid, family, "test") for family in several]
    heats += [_heat_block(grid, family, "train") for family in trained]
    blocks: list[Block] = [Text(_remark(grid, clickable), small=True)] if heats else []
    blocks += heats
    if len(families) > 1:
        best = [grid.choice if grid.choice in each else grid.best_at(each)[0] for each in families]
        blocks.append(_cell_table(grid, best, "families", "The best of each family", clickable))
    sign = 1 if grid.measure.least else -1
    ranked = sorted(
        grid.points, key=lambda p: math.inf if p.cell.value is None else sign * p.cell.value
    )
    title = "All settings"
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
    best = grid.best_at(family)[0]
    caption = f"Best: {score_text(best.estimate, grid.measure)}."
    hidden = [axis.title for axis in axes if axis not in (across, down)]
    if hidden:
        caption += f" Each cell is the best over {' and '.join(hidden)}."
    return Chart(f"heat {name}", name, spec, caption, layout="fit")


def _cell_table(grid: Grid, points: list[Point], name: str, title: str, clickable: bool) -> Table:
    """Return settings as rows."""
    names = list(dict.fromkeys(name for point in grid.points for name in point.values))
    form = "percent" if grid.measure.percent else "number"
    listed = columns("number", cell="cell")
    listed += columns("text", **{f"p {name}": texts.title_of(name) for name in names})
    listed += columns("number", cost="C", freedom="C·K(x, x)")
    listed += columns(form, value=grid.measure.name, deviation="std", train="training")
    listed += columns("number", support_vectors="support vectors", gap="gap")
    if any(point.cell.stage > 1 for point in grid.points):
        listed += columns(form, first=f"{grid.measure.name} in stage 1")
        listed += columns("number", stage="stage")
    picks = "cell" if clickable else None
    return Table(name, title, listed, [_row(point) for point in points], picks=picks)


def _row(point: Point) -> dict[str, Any]:
    cell, row = point.cell, dict[str, Any](cell=point.cell.number)
    for name, value in point.values.items():
        is_plain = value is None or is_number(value)
        row[f"p {name}"] = value if is_plain else value_text(value)
    row |= {"cost": cell.cost, "freedom": point.freedom, "value": cell.value}
    row |= {"deviation": cell.deviation, "train": cell.train, "gap": cell.gap}
    # A linear predictor is one vector, however many rows determine it.
    linear = cell.setting.kernel is None
    row["support_vectors"] = None if linear else cell.support_vectors
    return row | {"first": cell.first, "stage": min(2, cell.stage)}


# -- heatmap ---------------------------------------------------------------------------------------


def color_scale(grid: Grid, part: str = "test") -> Spec:
    """Return the color scale of all heatmaps, which spans at least two standard errors."""
    inside = (_measured(point, part)[0] for point in grid.points if point.in_grid)
    found = [value for value in inside if value is not None]
    low, high = (min(found), max(found)) if found else (0.0, 1.0)
    missing = 2 * grid.standard_error - (high - low)
    if missing > 0:
        low, high = low - missing / 2, high + missing / 2
        if grid.measure.least and low < 0:
            low, high = 0.0, high - low
    kind = "log" if low > 0 and high / low > _WIDE else "linear"
    domain = [low, high if high > low else low + 1e-6]
    return {"type": kind, "domain": domain, "scheme": "viridis", "reverse": grid.measure.least}


def heatmap(grid: Grid, points: list[Point], across: Axis, down: Axis, part: str = "test") -> Spec:
    """Return the heatmap of settings over two axes, with the choice in a red frame."""
    scale, rows, axes = color_scale(grid, part), [], (across, down)
    marks = {
        place(point, axes): name
        for number, name in ((grid.simplest, "one standard error"), (grid.best, "choice"))
        for point in points
        if point.cell.number == number
    }
    second = {place(point, axes) for point in points if point.cell.stage > 1}
    for point in grid.best_at(points, *axes):
        at = place(point, axes)
        row = {
            "cell": point.cell.number,
            "setting": point.text,
            **_texts(point, part, grid.measure),
        }
        row["mark"] = row["note"] = marks.get(at, "")
        if row["mark"] == "choice" and point.cell.number != grid.best:
            row["note"] = f"choice, a variation of this one: {grid.choice.text}"
        row["label"] += "*" if at in second and row["label"] else ""
        row["dark"] = row["value"] is not None and vega.shade(row["value"], scale) > vega.DARK
        for axis, name in ((across, "x"), (down, "y")):
            order = axis.values.index(point.at.get(axis.name))
            row |= {name: axis.labels[order], f"{name}r": order}
        rows.append(row)
    return _heat_layers(rows, across, down, grid.measure, scale)


def _measured(point: Point, part: str) -> tuple[float | None, float | None]:
    """Return the value on test or training rows, and its std over folds."""
    cell = point.cell
    return (point.estimate, point.std) if part == "test" else (cell.train, cell.train_deviation)


def _texts(point: Point, part: str, measure: Measure) -> dict[str, Any]:
    value, std = _measured(point, part)
    label = "" if value is None else measure.label(value)
    spread = "" if std is None else unbroken(f"± {score_text(std, measure)}")
    rounded = None if value is None else round(value, 6)
    return {"value": rounded, "label": label, "shown": score_text(value, measure), "spread": spread}


def _heat_layers(rows: Rows, across: Axis, down: Axis, measure: Measure, scale: Spec) -> Spec:
    """Return rectangles, frames and numbers."""
    many = len({row["xr"] for row in rows})
    width = next(step for most, step in _COLUMN if many <= most)
    tilted = many > 1 and 6.2 * max((len(row["x"]) for row in rows), default=0) > width
    angle = {"labelAngle": -40 if tilted else 0, "labelLimit": 180}
    x = word("x", "xr", title=across.title, axis=angle)
    places = {"x": x, "y": word("y", "yr", title=down.title, axis={"labelLimit": 230})}
    hints = _hints(measure)
    hints["tooltip"] += tooltip(note="note")
    legend = {"orient": "top", "gradientLength": 130, "gradientThickness": 8}
    legend |= {"title": measure.name, "values": scale["domain"], "format": _format(measure)}
    color = {"color": number("value", scale=scale, legend=legend)}
    frames = {"domain": ["choice", "one standard error"], "range": [_RED, _ORANGE]}
    framed = {**places, "stroke": word("mark", scale=frames, legend=None)}
    frame = mark("rect", framed, fill=None, strokeWidth=3, aria=False)
    frame["transform"] = [{"filter": "datum.mark !== ''"}]
    label, ink = word("label"), either("datum.dark", "#fff", "#111")
    shown = None if many > _NUMBERED else label
    lines = len({row["yr"] for row in rows})
    sizes: Spec = {"width": [width], "height": [_LINE if lines <= 30 else 16]}
    return vega.heatmap(rows, {**places, **hints}, color, ink, shown, frame, **sizes)


def _hints(measure: Measure) -> Spec:
    return {"tooltip": tooltip(setting="setting", shown=measure.name, spread="std over folds")}


def _format(measure: Measure) -> str:
    return ".3~p" if measure.percent else ".3~g"


# -- lines -----------------------------------------------------------------------------------------


def lines(grid: Grid, points: list[Point], along: Axis, other: Axis) -> Spec:
    """Return estimates against the numbers of an axis, a line for each value of another axis.

    Bands are one std over folds; at least one line has two points.
    """
    rows: Rows = []
    for point in grid.best_at(points, along, other):
        at, order = point.at.get(along.name), other.values.index(point.at.get(other.name))
        if at is None or point.estimate is None:
            continue
        row = {"at": at, "y": other.labels[order], "yr": order}
        row |= {"low": point.estimate - (point.std or 0), "high": point.estimate + (point.std or 0)}
        rows.append({**row, **_texts(point, "test", grid.measure), "setting": point.text})
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
    band = {**at, "y": number("low", title=title), "y2": {"field": "high"}}
    layers = [
        mark("area", band, opacity=0.15, aria=False),
        mark("line", at, strokeWidth=2, aria=False),
        mark("point", {**at, **_hints(grid.measure)}, filled=True, size=36, opacity=1),
    ]
    return chart(rows, *layers, height=250)
