"""The page about a sweep: the choice and its honest error, the grid, the chosen cell, the rows."""

from __future__ import annotations

from typing import Any

from pegasos.program.pages import grid_charts, grid_views
from pegasos.program.pages.blocks import Block, CellPanel, Explorer, Section, Table, Text, Tiles
from pegasos.program.pages.shared_sections import (
    again_section,
    boundary_section,
    class_section,
    count,
    curve_section,
    data_words,
    duration,
    error_table,
    feature_section,
    map_section,
    percent,
)

#: Rows that a table of cells may have.
MOST_ROWS = 2000


def build(found: dict[str, Any]) -> tuple[str, str, list[Section], dict[str, Any]]:
    """Title, subtitle, sections and the data of the scripts."""
    cells = found["cells"]
    best = next(cell for cell in cells if cell["cell"] == found["best"])
    data = found["data"]
    grid, explorer = grid_of(found)
    panel: list[Block] = [CellPanel(lambda: confusion_figure(found))] if found.get("kept") else [_no_panel()]
    sections = [
        Section("summary", "Summary", summary(found, best)),
        Section("grid", "The grid", [explorer]),
        Section("cell", "One cell", panel),
        Section("families", "The best of each family", [_families(found)]),
        Section("learning", "Learning", curve_section(found)),
        Section("boundary", "Decision boundary", boundary_section(found)),
        Section("map", "A map of the rows", map_section(found)),
        Section("rows", "The rows", [*class_section(data), *feature_section(found)]),
        again_section(found),
    ]
    subtitle = f"{count(len(cells), 'setting')} × {count(found['folds'], 'fold')} on {data_words(data)}"
    took = f", {duration(found['seconds'])}" if found.get("seconds") else ""
    return f"{data['name']}: a sweep", subtitle + took + ".", sections, {**scripts_data(found), "grid": grid}


def _no_panel() -> Text:
    return Text(
        "The rows were not given to this page, so it has no confusion matrix: pegasos.report(sweep, X, y) shows them.", small=True
    )


def summary(found: dict[str, Any], best: dict[str, Any]) -> list[Block]:
    """What was found, in words a person would use."""
    measure, honest = found["measure"], found.get("honest")
    simplest = next(cell for cell in found["cells"] if cell["cell"] == found["simplest"])
    spread = "" if best["std"] is None else f"± {grid_views.told(best['std'], measure)} over folds; "
    tiles = [
        ("Choice", grid_views.setting(best).split(", ")[0], grid_views.setting(best).partition(", ")[2]),
        (f"Cross-validated {measure}", grid_views.told(best["value"], measure), spread + "optimistic, since it was chosen by it"),
    ]
    if honest and measure == "error":
        interval = f"95 %: {percent(honest['low'])} to {percent(honest['high'])}; {honest['method']}"
        tiles.append(("Honest error of the choice", percent(honest["error"]), interval))
    test = (found.get("errors") or {}).get("test")
    if test and test.get("error") is not None:
        counted = f"{test['mistakes']} of {test['rows']:,} rows that took no part"
        interval = f"{counted}; 95 %: {percent(test['low'])} to {percent(test['high'])}"
        tiles.append(("Test error", percent(test["error"]), interval))
    blocks: list[Block] = [Tiles(tiles)]
    if simplest["cell"] != best["cell"]:
        told = f"{grid_views.setting(simplest)} ({grid_views.told(simplest['value'], measure)})"
        blocks.append(Text(f"Simpler, and within one standard error of the choice: {told}."))
    if not found.get("complete", True):
        blocks.append(Text("Time was up before all cells were done: the choice is among the finished ones.", warning=True))
    blocks += [Text(advice, warning=True) for advice in found.get("advice", [])]
    if found.get("late"):
        told = f"{found['late']} of {count(len(found['cells']), 'cell')}"
        blocks.append(Text(f"{told} did not reach their tolerance: raise the epochs or tol.", warning=True))
    blocks += error_table(found.get("errors") or {})
    blocks += [Text(note, small=True) for note in found["data"].get("notes", [])]
    return blocks


def grid_of(
    found: dict[str, Any], tested: str = "test rows of the folds", spread: str = "folds"
) -> tuple[dict[str, Any], Explorer]:
    """The grid for the scripts, and its block with figures for files."""
    cells, axes = found["cells"], grid_views.axes_of(found["cells"])
    names = [axis["name"] for axis in axes]
    places = {axis["name"]: {value: place for place, value in enumerate(axis["values"])} for axis in axes}
    listed = []
    for cell in cells:
        row = {
            "c": cell["cell"],
            "p": [places[name][cell["params"].get(name)] for name in names],
            "v": cell["value"],
            "s": cell["std"],
        }
        row |= {short: cell[name] for short, name in (("t", "train"), ("ts", "train_std")) if cell.get(name) is not None}
        listed.append(row | ({"command": cell["command"]} if cell.get("command") else {}))
    fixed = {name: value for name, value in cells[0]["params"].items() if name not in (*names, "experiment", "decoding")}
    grid = {
        "axes": [{key: axis[key] for key in ("name", "title", "numeric", "labels", "numbers")} for axis in axes],
        "cells": listed,
        "best": found["best"],
        "mark": found.get("best_mark", "choice"),
        "simplest": found["simplest"],
        "fixed": [part for part in grid_views.setting({"params": fixed}).split(", ") if part],
        "tested": tested,
        "spread": spread,
    }
    return grid, Explorer(lambda: _figures(found, axes), cell_table(found), _remark(found))


def _remark(found: dict[str, Any]) -> str:
    parts = [f"Red frame: the {found.get('best_mark', 'choice')}."]
    if found["simplest"] != found["best"]:
        parts.append("Orange frame: the simplest cell within one standard error of it.")
    if found.get("kept"):
        parts.append(
            "Click a cell (or move with the arrow keys and press Enter) for its confusion matrix, mistakes and command line."
        )
    return " ".join(parts)


def _figures(found: dict[str, Any], axes: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Heatmap and lines of every family, for files."""
    figures: dict[str, dict[str, Any]] = {}
    words = [axis["name"] for axis in axes if not axis["numeric"]]
    titles = {axis["name"]: axis["title"] for axis in axes} | {"": ""}
    better = 1.0 if found["measure"] == "error" else -1.0
    for anchor in grid_views.families(found["cells"], axes, better):
        across, down = grid_views.first_axes(found["cells"], axes, anchor)
        shown = grid_views.picked(found["cells"], axes, anchor, across, down)
        tail = " ".join(grid_views.value_text(name, anchor["params"].get(name)) for name in words if name not in (across, down))
        for field, what in (("value", "test"), ("train", "training")):
            rows, view = grid_views.heat_rows(shown, axes, across, down, found, field)
            if rows:
                figures.setdefault(f"heat {what} {tail}", grid_charts.heat(rows, titles[across], titles[down], view))
        for along, other in ((across, down), (down, across)):
            made = grid_views.line_rows(shown, axes, along, other, found) if along else None
            if made is not None:
                figures.setdefault(f"lines {along} {tail}", grid_charts.lines(made[0], titles[along], titles[other], made[1]))
    return figures


def confusion_figure(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The confusion matrix of the choice, for files."""
    kept = found["kept"].get(str(found["best"]))
    return {} if kept is None else {"confusion": grid_charts.confusion(_confusion_rows(kept["confusion"], found), _count(found))}


def _count(found: dict[str, Any]) -> int:
    return len(found["data"]["classes"])


def _confusion_rows(flat: list[int], found: dict[str, Any]) -> list[dict[str, Any]]:
    names = found["data"]["classes"]
    triples = list(zip(flat[::3], flat[1::3], flat[2::3], strict=True))
    totals: dict[int, int] = {}
    for true, _, number in triples:
        totals[true] = totals.get(true, 0) + number
    return [
        {
            "true": names[true],
            "guess": names[guess],
            "tr": true,
            "gr": guess,
            "rate": number / totals[true],
            "label": str(number),
            "told": f"{number} of {totals[true]}",
        }
        for true, guess, number in triples
    ]


def scripts_data(found: dict[str, Any]) -> dict[str, Any]:
    """What the scripts need besides the grid: templates of charts without rows, and what was kept."""
    view = {"low": 0, "high": 1, "logarithmic": False, "columns": False, "percent": found["measure"] == "error", "angle": 0}
    view |= {"across": 52, "down": 32, "measure": found["measure"], "logarithmic_x": False}
    templates = {"heat": grid_charts.heat([], "", "", view), "lines": grid_charts.lines([], "", "", view)}
    if found["data"].get("classes"):
        templates["confusion"] = grid_charts.confusion([], _count(found))
    names = ("kept", "rows", "positions", "picture", "columns")
    kept = {name: found[name] for name in names if found.get(name) is not None}
    return {"measure": found["measure"], "classes": found["data"].get("classes", []), "templates": templates, **kept}


def cell_table(found: dict[str, Any]) -> Table:
    """Every cell as a row; of thousands the best, so that the page stays small."""
    cells, title = found["cells"], "All cells"
    if len(cells) > MOST_ROWS:
        sign = 1.0 if found["measure"] == "error" else -1.0
        known = sorted((cell for cell in cells if cell["value"] is not None), key=lambda cell: sign * cell["value"])
        cells, title = known[:MOST_ROWS], f"The best {MOST_ROWS} of {len(cells)} cells"
    names = list(dict.fromkeys(name for cell in found["cells"] for name in cell["params"]))
    form = "percent" if found["measure"] == "error" else "number"
    columns = [(f"p {name}", grid_views.title_of(name), "text") for name in names]
    columns += [("C", "C", "number")] if any(cell.get("C") for cell in cells) else []
    columns += [("value", found["measure"], form), ("std", "±", form), ("train", "training", form)]
    columns += [("support", "support vectors", "number"), ("gap", "gap", "number")]
    rows = [{**cell, **{f"p {name}": _value(name, cell["params"].get(name)) for name in names}} for cell in cells]
    return Table("cells", title, columns, rows)


def _value(name: str, value: Any) -> Any:
    return grid_views.short_kernel(value) if name == "kernel" and isinstance(value, str) else value


def _families(found: dict[str, Any]) -> Table:
    axes = grid_views.axes_of(found["cells"])
    better = 1.0 if found["measure"] == "error" else -1.0
    best = grid_views.families(found["cells"], axes, better, 30)
    table = cell_table({**found, "cells": best})
    return Table("families", "The best of each family", table.columns, table.rows)
