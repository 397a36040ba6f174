"""Page of a tuning run: the choice and its errors, the grid, one setting, the columns, the rows."""

from __future__ import annotations

from pegasos.program.pages import wording
from pegasos.program.pages.blocks import Block, Code, Section, Text, Tile, Tiles
from pegasos.program.pages.common_sections import common_sections
from pegasos.program.pages.confusion_section import confusion_blocks
from pegasos.program.pages.decision_section import decision_blocks
from pegasos.program.pages.error_section import (
    error_table,
    error_tile,
    figure_table,
    honest_tile,
)
from pegasos.program.pages.explanation_section import explanation_blocks
from pegasos.program.pages.grid_axes import points_of
from pegasos.program.pages.grid_charts import Grid
from pegasos.program.pages.grid_section import grid_blocks
from pegasos.program.pages.wording import count, score_text
from pegasos.program.records.pages import PageRecord
from pegasos.program.records.runs import OUT_OF_FOLD
from pegasos.program.terminal.reproduction import command_line, next_commands


def build(record: PageRecord) -> tuple[str, str, list[Section]]:
    """Return title, subtitle and sections."""
    source, options = record.data.source, record.options
    commands = [command_line(cell.setting, source, record.seed, options) for cell in record.cells]
    points = points_of(record.cells, commands, record.typical)
    grid = Grid(points, record.measure, record.best, record.simplest)
    sections = [
        Section("summary", "Summary", _summary(record, grid)),
        Section("grid", "The grid", grid_blocks(grid, bool(record.kept))),
        Section("cell", "Confusion matrix and mistakes", confusion_blocks(record, grid)),
        Section("explanation", "Which columns matter", explanation_blocks(record.explanation)),
        Section("decisions", "Probabilities and thresholds", decision_blocks(record)),
        *common_sections(record, grid.choice.cell.setting),
    ]
    size = f"{count(len(record.cells), 'setting')} × {count(record.folds, 'fold')}"
    took = f", {wording.duration(record.seconds)}" if record.seconds else ""
    title = f"{record.data.name}: tuning run"
    return title, f"{size} on {wording.data_text(record.data)}{took}.", sections


def _summary(record: PageRecord, grid: Grid) -> list[Block]:
    """Return the choice and its errors, what to do next, and what a reader must know of them."""
    measure = record.measure
    choice, tested = record.figures.get(OUT_OF_FOLD), record.figures.get("test")
    split = "" if record.decision is None else record.decision.split
    verdicts = (
        wording.verdict_words(choice, measure, tested),
        wording.unlike_words(record.honest, record.errors.get("test"), split),
    )
    blocks: list[Block] = [Text(line, warning=True) for line in verdicts if line]
    blocks += [Tiles(_tiles(record, grid)), _next(record)]
    blocks += [Text(line) for line in wording.probability_words(measure, record.cells)]
    blocks += [Text(advice, warning=True) for advice in record.advice]
    blocks += _simplest(grid) + _decision(record) + _unconverged(record)
    refitted = record.decision is not None and record.decision.refitted
    title = "Errors of the choice" + (" before the refit on all rows" if refitted else "")
    blocks += error_table(record.errors, title)
    blocks += figure_table(record.figures, measure, record.positive)
    return [*blocks, *(Text(note, small=True) for note in record.data.notes)]


def _tiles(record: PageRecord, grid: Grid) -> list[Tile]:
    """Return the choice, its errors on unseen rows, and the baseline."""
    measure, best, test = record.measure, grid.choice.cell, record.errors.get("test")
    choice, tested = record.figures.get(OUT_OF_FOLD), record.figures.get("test")
    errors = measure.name == "error"
    baseline = choice.guess if choice is not None and errors else None
    model, _, rest = grid.choice.text.partition(", ")
    tiles: list[Tile] = [("Choice", model, rest, None)]
    if errors:
        tiles += honest_tile(record.honest, baseline)
    if choice is not None:
        words, _, value = wording.guess_words(choice, measure).rpartition(": ")
        share = None if baseline is None else 1.0
        tiles.append(("Baseline", value, f"{measure.name} of {words}", share))
    if tested is not None and not errors:
        interval = f"{score_text(tested.low, measure)} to {score_text(tested.high, measure)}"
        words = f"{tested.rows:,} test rows; 95 %: {interval}"
        words += f"; baseline: {score_text(tested.guess, measure)}"
        tiles.append((f"Test {measure.name}", score_text(tested.value, measure), words, None))
    if test is not None and test.error is not None:
        tiles.append(error_tile("Test error", test, "test rows"))
    spread = (
        "" if best.deviation is None else f"± {score_text(best.deviation, measure)} over folds; "
    )
    sampled = record.decision is not None and record.decision.by != "folds"
    name = f"Cross-validated {measure.name}{' on a sample' if sampled else ''}"
    remark = f"{spread}optimistic: it was used to choose the model"
    return [*tiles, (name, score_text(best.value, measure), remark, None)]


def _simplest(grid: Grid) -> list[Block]:
    if grid.simplest == grid.best:
        return []
    point = next(point for point in grid.points if point.number == grid.simplest)
    value = score_text(point.value, grid.measure)
    how = "Simplest setting within one standard error of the choice (larger λ, wider kernel, fewer terms)"
    return [Text(f"{how}: {point.text} ({value}).")]


def _decision(record: PageRecord) -> list[Block]:
    """Return how the choice was made, and which rows the saved model was fitted to."""
    if record.decision is None:
        late = "Time was up before all settings were evaluated: the choice is among the evaluated ones."
        return [] if record.complete else [Text(late, warning=True)]
    known = record.data.rows or record.decision.fitted_rows
    lines = wording.decision_words(record.decision, record.folds, known, record.cells)
    return [Text(line, warning=line.startswith("Time was up")) for line in lines]


def _unconverged(record: PageRecord) -> list[Block]:
    """Return a warning about settings whose mean duality gap over folds is above their tolerance."""
    tolerances = ((cell, cell.setting.declaration.tolerance) for cell in record.cells)
    late = sum(
        cell.gap > float(cell.setting.get(name))
        for cell, name in tolerances
        if cell.gap is not None and name is not None
    )
    text = f"{late} of {count(len(record.cells), 'setting')} did not reach their tolerance: raise the epochs or tol."
    return [Text(text, warning=True)] if late else []


def _next(record: PageRecord) -> Block:
    """Return commands that use the choice."""
    if record.saved is None:
        lines = ["model = sweep.best_estimator_", "model.predict(X_new)"]
        return Code("What to do next", "\n".join([*lines, "pegasos.save(model, 'my.model')"]))
    choice, tested = record.figures.get(OUT_OF_FOLD), record.figures.get("test")
    lost = wording.loses_rare_classes(choice, record.measure, tested)
    again = record.command if lost else None
    return Code(
        "What to do next", "\n".join(next_commands(record.saved, record.data.source, again))
    )
