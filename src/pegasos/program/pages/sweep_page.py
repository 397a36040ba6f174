"""The page about a tuning run: the choice and its honest error, the grid, the chosen cell, the rows."""

from __future__ import annotations

from pegasos.program.pages import wording
from pegasos.program.pages.blocks import Block, Code, Section, Text, Tile, Tiles
from pegasos.program.pages.confusion_section import confusion_blocks
from pegasos.program.pages.decision_section import decision_blocks
from pegasos.program.pages.explanation_section import explanation_blocks
from pegasos.program.pages.grid_axes import points_of
from pegasos.program.pages.grid_charts import Grid
from pegasos.program.pages.grid_section import grid_blocks
from pegasos.program.pages.shared_sections import (
    common_sections,
    error_table,
    figure_table,
    honest_tile,
    share_of,
)
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
    """What was found, in words a person would use."""
    measure, test = record.measure, record.errors.get("test")
    best, simplest = (
        next(cell for cell in record.cells if cell.number == at)
        for at in (record.best, record.simplest)
    )
    texts = {point.number: point.text for point in grid.points}
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
