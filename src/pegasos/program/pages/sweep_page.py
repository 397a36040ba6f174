"""The page about a tuning run: the choice and its honest error, the grid, the chosen cell, the rows."""

from __future__ import annotations

from typing import Any

from pegasos.program.pages import grid_charts, wording
from pegasos.program.pages.blocks import (
    Block,
    Code,
    Explorer,
    Panel,
    Section,
    Table,
    Text,
    Tile,
    Tiles,
    columns,
)
from pegasos.program.pages.decision_section import decision_blocks
from pegasos.program.pages.grid_axes import Point
from pegasos.program.pages.grid_views import Grid, points_of
from pegasos.program.pages.shared_sections import (
    common_sections,
    error_table,
    figure_table,
    honest_tile,
    share_of,
)
from pegasos.program.pages.wording import count, is_number, score_text, value_text
from pegasos.program.records.codec import to_json
from pegasos.program.records.pages import PageRecord
from pegasos.program.records.runs import OUT_OF_FOLD, leading_cells
from pegasos.program.terminal.reproduction import command_line, next_commands

#: Rows that a table of cells may have.
MOST_ROWS = 2000


def build(record: PageRecord) -> tuple[str, str, list[Section], dict[str, Any]]:
    """Title, subtitle, sections and the data of the scripts."""
    commands = [
        command_line(cell.setting, record.data.source, record.seed, record.options)
        for cell in record.cells
    ]
    grid = Grid(
        points_of(record.cells, commands, record.typical),
        record.measure,
        record.best,
        record.simplest,
    )
    reason = "The rows were not given to this page, so it has no confusion matrix: pegasos.report(sweep, X, y) shows them."
    panel: list[Block] = [confusion_panel(record)] if record.kept else [Text(reason, small=True)]
    if record.threshold is not None:
        panel.insert(
            0,
            Text(
                "Confusions of a cell are those at score 0; further below thresholds have theirs.",
                small=True,
            ),
        )
    chosen = next(cell for cell in record.cells if cell.number == record.best)
    leading = {
        cell.number: place
        for place, cell in enumerate(leading_cells(record.cells, record.measure.least))
    }
    firsts = sorted(
        (point for point in grid.points if point.number in leading),
        key=lambda point: leading[point.number],
    )
    best = cell_table(grid, firsts, "families", "The best of each family")
    sections = [
        Section("summary", "Summary", _summary(record, grid)),
        Section("grid", "The grid", [explorer(grid, bool(record.kept))]),
        Section("cell", "The chosen setting", panel),
        Section("families", "The best of each family", [best]),
        Section("decisions", "Probabilities and thresholds", decision_blocks(record)),
        *common_sections(record, chosen.setting),
    ]
    ended = sum(cell.ended is not None for cell in record.cells)
    race = f" ({ended} of them ended early)" if ended else ""
    size = f"{count(len(record.cells), 'setting')}{race} × {count(record.folds, 'fold')} on {wording.data_text(record.data)}"
    took = f", {wording.duration(record.seconds)}" if record.seconds else ""
    return (
        f"{record.data.name}: tuning run",
        f"{size}{took}.",
        sections,
        {**scripts_data(record), "grid": grid.described},
    )


def _summary(record: PageRecord, grid: Grid) -> list[Block]:
    """What was found, in words a person would use."""
    measure, test = record.measure, record.errors.get("test")
    best, simplest = (
        next(cell for cell in record.cells if cell.number == at)
        for at in (record.best, record.simplest)
    )
    texts = {cell["cell"]: cell["setting"] for cell in grid.described["cells"]}
    model, _, rest = texts[best.number].partition(", ")
    spread = (
        "" if best.deviation is None else f"± {score_text(best.deviation, measure)} over folds; "
    )
    how = (
        "Cross-validated"
        if record.decision is None or record.decision.by == "folds"
        else "Of a first look:"
    )
    choice, tested = record.figures.get(OUT_OF_FOLD), record.figures.get("test")
    guess = choice.guess if choice is not None and measure.name == "error" else None
    tiles: list[Tile] = [
        ("Choice", model, rest, None),
        *honest_tile(record.honest if measure.name == "error" else None, guess),
    ]
    if choice is not None:
        words, _, value = wording.guess_words(choice, measure).rpartition(": ")
        tiles.append(
            ("Without a model", value, f"{measure.name} of {words}", None if guess is None else 1.0)
        )
    if tested is not None and measure.name != "error":
        interval = f"{score_text(tested.low, measure)} to {score_text(tested.high, measure)}"
        beside = f"{interval}; {wording.guess_words(tested, measure)}"
        unseen = f"{tested.rows:,} rows that took no part; {beside}"
        tiles.append((f"Test {measure.name}", score_text(tested.value, measure), unseen, None))
    if test is not None and test.error is not None:
        counted = f"{test.mistakes} of {test.rows:,} rows that took no part; {wording.interval(test.low, test.high)}"
        counted += "" if test.guess is None else f"; always guessing: {wording.percent(test.guess)}"
        tiles.append(
            ("Test error", wording.percent(test.error), counted, share_of(test.error, test.guess))
        )
    optimistic = f"{spread}optimistic, since it was chosen by it"
    tiles.append((f"{how} {measure.name}", score_text(best.value, measure), optimistic, None))
    split = "" if record.decision is None else record.decision.split
    verdicts = (
        wording.verdict_words(choice, measure, tested),
        wording.unlike_words(record.honest, test, split),
    )
    blocks: list[Block] = [
        *(Text(line, warning=True) for line in verdicts if line),
        Tiles(tiles),
        _next(record),
    ]
    blocks += [Text(line) for line in wording.probability_words(measure, record.cells)]
    blocks += [Text(advice, warning=True) for advice in record.advice]
    if simplest is not best:
        simpler = f"{texts[simplest.number]} ({score_text(simplest.value, measure)})"
        how = "Simpler (smoother: a larger λ, a wider kernel, fewer terms), and within one standard error of the choice"
        blocks.append(Text(f"{how}: {simpler}."))
    if record.decision is not None:
        known = record.data.rows or record.decision.fitted_rows
        told = wording.decision_words(record.decision, record.folds, known, record.cells)
        blocks += [Text(line, warning=line.startswith("Time was up")) for line in told]
    elif not record.complete:
        blocks.append(
            Text(
                "Time was up before all cells were done: the choice is among the finished ones.",
                warning=True,
            )
        )
    tolerances = [(cell, cell.setting.declaration.tolerance) for cell in record.cells]
    # Learners with a certificate that ended before their tolerance, on the mean of folds.
    late = sum(
        cell.gap > float(cell.setting.get(name))
        for cell, name in tolerances
        if cell.gap is not None and name is not None
    )
    if late:
        cells = f"{late} of {count(len(record.cells), 'cell')}"
        blocks.append(
            Text(f"{cells} did not reach their tolerance: raise the epochs or tol.", warning=True)
        )
    refitted = record.decision is not None and record.decision.refitted
    title = (
        "Errors of the choice before it was refitted on all rows"
        if refitted
        else "Errors of the refitted choice"
    )
    tables = [
        *error_table(record.errors, title),
        *figure_table(record.figures, measure, record.positive),
    ]
    return [*blocks, *tables, *(Text(note, small=True) for note in record.data.notes)]


def _next(record: PageRecord) -> Block:
    """What one does with the choice."""
    if record.saved is None:
        return Code(
            "What to do next",
            "model = sweep.best_estimator_\nmodel.predict(X_new)\npegasos.save(model, 'my.model')",
        )
    lost = wording.loses_rare_classes(
        record.figures.get(OUT_OF_FOLD), record.measure, record.figures.get("test")
    )
    return Code(
        "What to do next",
        "\n".join(
            next_commands(record.saved, record.data.source, record.command if lost else None)
        ),
    )


def explorer(grid: Grid, kept: bool) -> Explorer:
    """The grid with its pickers, its table, and figures for files."""
    parts = [f"Red frame: the {grid.mark}."]
    if grid.simplest != grid.best:
        parts.append("Orange frame: the simplest cell within one standard error of it.")
    if kept:
        keys = "or move with the arrow keys and press Enter"
        parts.append(f"Click a cell ({keys}) for its confusion matrix, mistakes and command line.")
    points, title = grid.points, "All cells"
    if len(points) > MOST_ROWS:
        known = [point for point in points if point.value is not None]
        ranked = sorted(known, key=lambda point: point.value or 0.0, reverse=not grid.measure.least)
        points, title = ranked[:MOST_ROWS], f"The best {MOST_ROWS} of {len(points)} cells"
    return Explorer(grid.figures, cell_table(grid, points, "cells", title), " ".join(parts))


def cell_table(grid: Grid, points: list[Point], name: str, title: str) -> Table:
    """Every cell as a row."""
    names = list(dict.fromkeys(name for point in grid.points for name in point.values))
    form = "percent" if grid.measure.percent else "number"
    listed = columns("text", **{f"p {name}": wording.title_of(name) for name in names}) + columns(
        "number", cost="C"
    )
    listed += columns(form, value=grid.measure.name, deviation="±", train="training")
    listed += columns("number", support_vectors="support vectors", gap="gap")
    if any(point.ended is not None for point in points):
        listed += columns("text", ended="ended early at")
    rows = []
    for point in points:
        plain = {
            name: value if value is None or is_number(value) else value_text(value)
            for name, value in point.values.items()
        }
        told = {
            "ended": wording.ended_text(point.ended, grid.measure),
            **{f"p {name}": value for name, value in plain.items()},
        }
        rows.append({**vars(point), **told})
    return Table(name, title, listed, rows)


def confusion_panel(record: PageRecord, alone: bool = False) -> Panel:
    """The panel of the chosen cell, with the confusion matrix of the best one for files."""
    kept = record.kept.get(str(record.best))
    figures = (
        {}
        if kept is None
        else {"confusion": grid_charts.confusion(kept.confusion, record.data.classes)}
    )
    return Panel(figures, alone=alone)


def scripts_data(record: PageRecord) -> dict[str, Any]:
    """What the scripts need besides the grid: the confusion matrix without rows, and what was kept."""
    rows, classes = record.rows, record.data.classes
    kept = {
        "kept": to_json(record.kept),
        "rows": to_json(rows.shown),
        "shape": rows.shape,
        "columns": rows.columns,
    }
    return {
        "measure": record.measure.name,
        "least": record.measure.least,
        "classes": classes,
        "confusion": grid_charts.confusion([], classes),
        **kept,
    }
