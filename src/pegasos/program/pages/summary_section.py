"""Section with the choice of a search, its errors, and what limits these results."""

from __future__ import annotations

from pegasos.program.pages import wording
from pegasos.program.pages.blocks import Block, Code, Text, Tile, Tiles
from pegasos.program.pages.error_section import error_table, error_tile, figure_table, honest_tile
from pegasos.program.pages.grid import Grid
from pegasos.program.pages.values import count
from pegasos.program.pages.wording import score_text
from pegasos.program.records.runs import OUT_OF_FOLD, SearchRecord, TuneRecord
from pegasos.program.tables.dataset import Dataset
from pegasos.program.terminal.reproduction import next_commands


def summary_blocks(record: SearchRecord, grid: Grid, dataset: Dataset | None) -> list[Block]:
    """Return the choice and its errors, what to do next, and what limits these results."""
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
    blocks += [Text(str(advice), warning=True) for advice in record.advice]
    if grid.simplest != grid.best:
        point = next(point for point in grid.points if point.cell.number == grid.simplest)
        how = "Simplest setting within one standard error of the choice"
        value = score_text(point.cell.value, measure)
        blocks.append(Text(f"{how} (larger λ, wider kernel, fewer terms): {point.text} ({value})."))
    blocks += _decision(record)
    limits = [(cell, cell.setting.declaration.tolerance) for cell in record.cells]
    late = sum(
        cell.gap > float(cell.setting.get(name))
        for cell, name in limits
        if name is not None and cell.gap is not None
    )
    if late:
        text = f"{late} of {count(len(record.cells), 'setting')} did not reach their tolerance."
        blocks.append(Text(f"{text} Raise --epochs or --tol.", warning=True))
    refitted = record.decision is not None and record.decision.refitted
    title = "Errors of the choice" + (" before the refit on all rows" if refitted else "")
    blocks += error_table(record.errors, title)
    blocks += figure_table(record.figures, measure, record.positive)
    notes = [] if dataset is None else dataset.notes
    return [*blocks, *(Text(note, small=True) for note in notes)]


def _tiles(record: SearchRecord, grid: Grid) -> list[Tile]:
    """Return the choice, its errors on unseen rows, and the baseline."""
    measure, best, test = record.measure, grid.choice.cell, record.errors.get("test")
    choice, tested = record.figures.get(OUT_OF_FOLD), record.figures.get("test")
    by_error = measure.name == "error"
    baseline = choice.baseline if choice is not None and by_error else None
    model, _, rest = grid.choice.text.partition(", ")
    tiles: list[Tile] = [("Choice", model, rest, None)]
    if by_error:
        tiles += honest_tile(record.honest, baseline)
    if choice is not None:
        words, _, value = wording.baseline_text(choice, measure).rpartition(": ")
        share = None if baseline is None else 1.0
        tiles.append(("Baseline", value, f"{measure.name} of {words}", share))
    if tested is not None and not by_error:
        ends = f"95 %: {score_text(tested.low, measure)} to {score_text(tested.high, measure)}"
        words = f"{count(tested.rows, 'test row')}; {ends}"
        words += f"; baseline: {score_text(tested.baseline, measure)}"
        tiles.append((f"Test {measure.name}", score_text(tested.value, measure), words, None))
    if test is not None and test.error is not None:
        tiles.append(error_tile("Test error", test, "test rows"))
    spread = ""
    if best.deviation is not None:
        spread = f"std over folds {score_text(best.deviation, measure)}; "
    sampled = record.decision is not None and record.decision.by != "folds"
    name = f"Cross-validated {measure.name}{' on a sample' if sampled else ''}"
    remark = f"mean over folds; {spread}optimistic: it was used to choose the model"
    return [*tiles, (name, score_text(best.value, measure), remark, None)]


def _decision(record: SearchRecord) -> list[Block]:
    """Return how the choice was made, and which rows the saved model was trained on."""
    if record.decision is None:
        late = "Time limit reached before all settings were evaluated: others may be better."
        return [] if record.complete else [Text(late, warning=True)]
    is_whole = isinstance(record, TuneRecord) and record.whole is not None
    known = record.decision.fitted_rows if is_whole else record.training_rows
    lines = wording.decision_words(record.decision, record.folds, known, record.cells)
    return [Text(line, warning=line.startswith("Time limit")) for line in lines]


def _next(record: SearchRecord) -> Block:
    """Return commands that use the choice."""
    if record.model is None:
        lines = ["model = sweep.best_estimator_", "model.predict(X_new)"]
        return Code("Next steps", "\n".join([*lines, "pegasos.save(model, 'my.model')"]))
    choice, tested = record.figures.get(OUT_OF_FOLD), record.figures.get("test")
    lost = wording.loses_rare_classes(choice, record.measure, tested)
    again = record.command if lost else None
    return Code("Next steps", "\n".join(next_commands(record.model, record.source, again)))
