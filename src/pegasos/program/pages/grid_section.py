"""Sections about the cells of a sweep: the best of each family, a heatmap for each family, and a sortable table of all cells."""

from __future__ import annotations

import math
from typing import Any

from pegasos.program.pages import wording
from pegasos.program.pages.blocks import Block, Chart, Table, Text, columns
from pegasos.program.pages.grid_axes import Axis, Point, axes_of
from pegasos.program.pages.grid_charts import Grid, view
from pegasos.program.pages.wording import is_number, score_text, value_text
from pegasos.program.records.runs import is_sampled

#: Rows of the table of cells: about 1 MB of page.
MOST_ROWS = 2000


def grid_blocks(grid: Grid, clickable: bool) -> list[Block]:
    """Return the heatmaps of all families with more than one cell, and the tables."""
    families = grid.families()
    best = [
        grid.choice if grid.choice in family else grid.best_at(family)[0] for family in families
    ]
    several = [
        each for each in families if len(each) > 1 and any(p.estimate is not None for p in each)
    ]
    trained = [family for family in several if any(p.cell.train is not None for p in family)]
    heats = [_heat(grid, family, "test") for family in several]
    heats += [_heat(grid, family, "train") for family in trained]
    blocks: list[Block] = [Text(_remark(grid, clickable), small=True)] if heats else []
    blocks += heats
    if len(families) > 1:
        blocks.append(cell_table(grid, best, "families", "The best of each family", clickable))
    sign = 1 if grid.measure.least else -1
    ranked = sorted(grid.points, key=lambda p: math.inf if p.value is None else sign * p.value)
    title = "All settings"
    if len(ranked) > MOST_ROWS:
        title = f"The best {MOST_ROWS} of {len(ranked)} settings"
    return [*blocks, cell_table(grid, ranked[:MOST_ROWS], "cells", title, clickable)]


def _remark(grid: Grid, clickable: bool) -> str:
    """Return what numbers, frames and marks of the heatmaps mean."""
    unit = " in %" if grid.measure.percent else ""
    where = "test rows of the folds"
    if is_sampled([point.cell for point in grid.points]):
        where += " of stage 1, the same for all settings"
    parts = [f"{grid.measure.name.capitalize()}{unit} on {where}.", "Red frame: the choice"]
    if not grid.choice.in_grid:
        parts[-1] += f", a variation of it ({score_text(grid.choice.value, grid.measure)})"
    parts[-1] += "."
    if grid.simplest != grid.best:
        parts.append("Orange frame: the simplest setting within one standard error of it.")
    if any(point.cell.stage > 1 for point in grid.points):
        parts.append("*: evaluated in stage 2, there or in a variation.")
    if clickable:
        parts.append("Click a cell, or its number in the table, for its confusion matrix.")
    return " ".join(parts)


def _heat(grid: Grid, family: list[Point], part: str) -> Chart:
    """Return the heatmap of a family on test or on training rows."""
    axes = axes_of(family)
    across, down = view(axes)
    spec, name = grid.heat(family, across, down, part), grid.title(family)
    if part == "train":
        return Chart(f"heat training {name}", f"{name}: training rows", spec, fit=True)
    hidden = [axis for axis in axes if axis not in (across, down)]
    return Chart(
        f"heat {name}", name, spec, _caption(grid, grid.best_at(family)[0], hidden), fit=True
    )


def _caption(grid: Grid, best: Point, hidden: list[Axis]) -> str:
    words = f"Best: {score_text(best.estimate, grid.measure)}."
    if hidden:
        names = " and ".join(axis.title for axis in hidden)
        words += f" Each cell is the best over {names}."
    return words


def cell_table(grid: Grid, points: list[Point], name: str, title: str, clickable: bool) -> Table:
    """Return cells as rows."""
    names = list(dict.fromkeys(name for point in grid.points for name in point.values))
    form = "percent" if grid.measure.percent else "number"
    listed = columns("number", cell="cell")
    listed += columns("text", **{f"p {name}": wording.title_of(name) for name in names})
    listed += columns("number", cost="C")
    listed += columns(form, value=grid.measure.name, deviation="±", train="training")
    listed += columns("number", support_vectors="support vectors", gap="gap")
    if any(point.cell.stage > 1 for point in grid.points):
        listed += columns(form, first=f"{grid.measure.name} in stage 1")
        listed += columns("number", stage="stage")
    return Table(
        name, title, listed, [_row(point) for point in points], picks="cell" if clickable else None
    )


def _row(point: Point) -> dict[str, Any]:
    cell = point.cell
    plain = {
        f"p {name}": value if value is None or is_number(value) else value_text(value)
        for name, value in point.values.items()
    }
    return {
        "cell": point.number,
        **plain,
        "cost": cell.cost,
        "value": cell.value,
        "deviation": cell.deviation,
        "train": cell.train,
        "support_vectors": point.support_vectors,
        "gap": cell.gap,
        "first": cell.first,
        "stage": min(2, cell.stage),
    }
