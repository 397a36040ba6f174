"""The page about a tuning run: the choice and its honest error, the grid, the chosen cell, the rows."""

from __future__ import annotations

from typing import Any

from pegasos.program.pages import grid_charts
from pegasos.program.pages.blocks import Block, CellPanel, Explorer, Section, Table, Text, Tiles
from pegasos.program.pages.grid_views import Grid, Point, points_of
from pegasos.program.pages.shared_sections import (
    boundary_section,
    class_section,
    curve_section,
    error_table,
    feature_section,
    map_section,
    reproduction_section,
)
from pegasos.program.pages.wording import (
    count,
    data_text,
    duration,
    interval,
    is_number,
    percent,
    score_text,
    title_of,
    value_text,
)
from pegasos.program.records.codec import to_json
from pegasos.program.records.pages import PageRecord
from pegasos.program.records.runs import CellRecord
from pegasos.program.terminal.reproduction import command_line

#: Rows that a table of cells may have.
MOST_ROWS = 2000


def build(record: PageRecord) -> tuple[str, str, list[Section], dict[str, Any]]:
    """Title, subtitle, sections and the data of the scripts."""
    commands = [command_line(cell.setting, record.data.source, record.seed, record.options) for cell in record.cells]
    grid = Grid(points_of(record.cells, commands), record.measure, record.best, record.simplest)
    reason = "The rows were not given to this page, so it has no confusion matrix: pegasos.report(sweep, X, y) shows them."
    panel: list[Block] = [confusion_panel(record)] if record.kept else [Text(reason, small=True)]
    chosen = next(cell for cell in record.cells if cell.number == record.best)
    sections = [
        Section("summary", "Summary", _summary(record, grid)),
        Section("grid", "The grid", [explorer(grid, bool(record.kept))]),
        Section("cell", "The chosen setting", panel),
        Section("families", "The best of each family", [_families(grid)]),
        Section("learning", "Learning", curve_section(record)),
        Section("boundary", "Decision boundary", boundary_section(record)),
        Section("map", "A map of the rows", map_section(record)),
        Section("rows", "The data", [*class_section(record.data), *feature_section(record)]),
        reproduction_section(record, chosen.setting),
    ]
    size = f"{count(len(record.cells), 'setting')} × {count(record.folds, 'fold')} on {data_text(record.data)}"
    took = f", {duration(record.seconds)}" if record.seconds else ""
    return f"{record.data.name}: tuning run", f"{size}{took}.", sections, {**scripts_data(record), "grid": grid.described}


def _summary(record: PageRecord, grid: Grid) -> list[Block]:
    """What was found, in words a person would use."""
    measure, honest, test = record.measure, record.honest, record.errors.get("test")
    best, simplest = (next(cell for cell in record.cells if cell.number == at) for at in (record.best, record.simplest))
    texts = {cell["cell"]: cell["setting"] for cell in grid.described["cells"]}
    model, _, rest = texts[best.number].partition(", ")
    spread = "" if best.deviation is None else f"± {score_text(best.deviation, measure)} over folds; "
    tiles = [
        ("Choice", model, rest),
        (f"Cross-validated {measure}", score_text(best.value, measure), f"{spread}optimistic, since it was chosen by it"),
    ]
    if honest is not None and measure == "error":
        method = f"{interval(honest.low, honest.high)}; {honest.method}"
        tiles.append(("Honest error of the choice", percent(honest.error), method))
    if test is not None and test.error is not None:
        counted = f"{test.mistakes} of {test.rows:,} rows that took no part; {interval(test.low, test.high)}"
        tiles.append(("Test error", percent(test.error), counted))
    blocks: list[Block] = [Tiles(tiles)]
    if simplest is not best:
        simpler = f"{texts[simplest.number]} ({score_text(simplest.value, measure)})"
        blocks.append(Text(f"Simpler, and within one standard error of the choice: {simpler}."))
    if not record.complete:
        blocks.append(Text("Time was up before all cells were done: the choice is among the finished ones.", warning=True))
    blocks += [Text(advice, warning=True) for advice in record.advice]
    late = sum(map(_is_late, record.cells))
    if late:
        cells = f"{late} of {count(len(record.cells), 'cell')}"
        blocks.append(Text(f"{cells} did not reach their tolerance: raise the epochs or tol.", warning=True))
    return [*blocks, *error_table(record.errors), *(Text(note, small=True) for note in record.data.notes)]


def _is_late(cell: CellRecord) -> bool:
    """Whether a learner with a certificate ended before its tolerance, on the mean of folds."""
    tolerance = cell.setting.declaration.tolerance
    return cell.gap is not None and tolerance is not None and cell.gap > float(cell.setting.get(tolerance))


def explorer(grid: Grid, kept: bool) -> Explorer:
    """The grid with its pickers, its table, and figures for files."""
    parts = [f"Red frame: the {grid.mark}."]
    if grid.simplest != grid.best:
        parts.append("Orange frame: the simplest cell within one standard error of it.")
    if kept:
        parts.append(
            "Click a cell (or move with the arrow keys and press Enter) for its confusion matrix, mistakes and command line."
        )
    points, title = grid.points, "All cells"
    if len(points) > MOST_ROWS:
        known = [point for point in points if point.value is not None]
        ranked = sorted(known, key=lambda point: point.value or 0.0, reverse=grid.measure != "error")
        points, title = ranked[:MOST_ROWS], f"The best {MOST_ROWS} of {len(points)} cells"
    return Explorer(grid.figures, cell_table(grid, points, "cells", title), " ".join(parts))


def cell_table(grid: Grid, points: list[Point], name: str, title: str) -> Table:
    """Every cell as a row."""
    names = list(dict.fromkeys(name for point in grid.points for name in point.values))
    form = "percent" if grid.measure == "error" else "number"
    columns = [(f"p {name}", title_of(name), "text") for name in names]
    columns += [("cost", "C", "number"), ("value", grid.measure, form), ("deviation", "±", form), ("train", "training", form)]
    columns += [("support_vectors", "support vectors", "number"), ("gap", "gap", "number")]
    rows = [{**vars(point), **{f"p {name}": _value(point.values.get(name)) for name in names}} for point in points]
    return Table(name, title, columns, rows)


def _families(grid: Grid) -> Table:
    return cell_table(grid, grid.families(30), "families", "The best of each family")


def _value(value: Any) -> Any:
    return value if value is None or is_number(value) else value_text(value)


def confusion_panel(record: PageRecord, best: int | None = None, alone: bool = False) -> CellPanel:
    """The panel of the chosen cell, with the confusion matrix of the best one for files."""
    kept = record.kept.get(str(record.best if best is None else best))
    figures = {} if kept is None else {"confusion": grid_charts.confusion(kept.confusion, record.data.classes)}
    return CellPanel(figures, alone=alone)


def scripts_data(record: PageRecord) -> dict[str, Any]:
    """What the scripts need besides the grid: the confusion matrix without rows, and what was kept."""
    rows, classes = record.rows, record.data.classes
    kept = {"kept": to_json(record.kept), "rows": to_json(rows.shown), "shape": rows.shape, "columns": rows.columns}
    return {"measure": record.measure, "classes": classes, "confusion": grid_charts.confusion([], classes), **kept}
