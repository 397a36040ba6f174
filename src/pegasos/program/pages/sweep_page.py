"""Page of a search: the choice and its errors, the grid, one setting, the columns, the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.program.pages import wording
from pegasos.program.pages.blocks import Block, Code, Section, Text, Tile, Tiles
from pegasos.program.pages.error_section import error_table, error_tile, figure_table, honest_tile
from pegasos.program.pages.grid import Grid
from pegasos.program.pages.grid_section import grid_blocks
from pegasos.program.pages.labeled_rows import LabeledRows, sample
from pegasos.program.pages.page import Page
from pegasos.program.pages.reproduction_section import reproduction_blocks
from pegasos.program.pages.values import count, duration
from pegasos.program.pages.wording import score_text
from pegasos.program.records.runs import (
    OUT_OF_FOLD,
    CellRecord,
    SearchRecord,
    TuneRecord,
    out_of_fold,
    search_record,
)
from pegasos.program.tables.dataset import Dataset
from pegasos.program.terminal.reproduction import next_commands


def record_page(record: SearchRecord) -> Page:
    """Return the page of a search of which only the record is left: summary and grid."""
    grid = Grid.of(record)
    return _page(record, [_summary(record, grid), _grid(grid, False), _reproduction(record, grid)])


def search_page(
    record: SearchRecord,
    search: Any,
    dataset: Dataset | None,
    *,
    options: Sequence[str] = (),
    positions: Any = None,
    tsne: bool = True,
    test: Dataset | None = None,
    X: Any = None,
) -> Page:
    """Return the page of a fitted search.

    Parameters
    ----------
    record : SearchRecord
        What is known of the search.
    search : SweepCV
        The search.
    dataset : Dataset, optional
        Rows it was fitted to; without them the page has no confusion matrices.
    options : sequence of str
        Options of every command line, such as --label.
    positions : array, optional
        Row of the source for each row.
    tsne : bool, default=True
        Whether to draw the map by t-SNE, which takes seconds.
    test : Dataset, optional
        Rows without part in the search, on which the choice is explained.
    X : array or frame, optional
        The rows in the form that the search takes, if not that of the data set.
    """
    model = getattr(search, "best_estimator_", None)
    rows = None
    if dataset is not None and dataset.y is not None:
        rows = LabeledRows.of(dataset, positions)
        typical = typical_kernel_values(search, dataset.X if X is None else X)
        grid = Grid.of(record, options, typical)
    else:
        grid = Grid.of(record, options)
    sections = [_summary(record, grid, dataset), _grid(grid, rows is not None)]
    if rows is not None:
        sections += _row_sections(record, grid, search, rows, tsne, test)
    else:
        text = "No confusion matrix: no rows were given. Use pegasos.report(sweep, X, y)."
        blocks: list[Block] = [Text(text, small=True)]
        sections.append(Section("cell", "Confusion matrix and mistakes", blocks))
    from pegasos.program.pages.decision_section import decision_blocks, search_rates

    where = "Out-of-fold scores: each row by a model that was not trained on it."
    rates = search_rates(search, record.threshold)
    decisions = decision_blocks(record.calibration, record.threshold, rates, where)
    sections.append(Section("decisions", "Probabilities and thresholds", decisions))
    if model is not None:
        from pegasos.program.pages.model_sections import model_sections

        sections += model_sections(model, rows)
    return _page(record, [*sections, _reproduction(record, grid)], rows)


def _row_sections(
    record: SearchRecord,
    grid: Grid,
    search: Any,
    rows: LabeledRows,
    tsne: bool,
    test: Dataset | None,
) -> list[Section]:
    """Return the sections that need the rows of the search."""
    from pegasos.program.pages.data_section import Separation, data_blocks
    from pegasos.program.pages.explanation_section import explain_rows, explanation_blocks
    from pegasos.program.pages.map_section import map_blocks
    from pegasos.program.pages.panel_section import search_panel

    ranked, model, found = Separation(rows), getattr(search, "best_estimator_", None), None
    if model is not None and test is not None:
        training = rows.dataset, rows.positions
        found = explain_rows(model, test, training=training, metric=record.measure.name)
    labels = search.labels_[record.best]
    wrong = (labels != rows.codes) & (labels >= 0)
    panel = search_panel(record, grid, search, rows, ranked)
    return [
        Section("cell", "Confusion matrix and mistakes", panel),
        Section("explanation", "Which columns matter", explanation_blocks(found)),
        Section("map", "Map of the rows", map_blocks(rows, wrong, tsne)),
        Section("rows", "The data", data_blocks(rows, ranked)),
    ]


def _page(record: SearchRecord, sections: list[Section], rows: LabeledRows | None = None) -> Page:
    size = f"{count(len(record.cells), 'setting')} × {count(record.folds, 'fold')}"
    took = f", {duration(record.seconds)}" if record.seconds else ""
    data = [record.data, count(record.training_rows, "row")]
    if rows is not None:
        data = [record.data, count(len(rows), "row")]
        data += [count(rows.dataset.X.shape[1], "feature"), count(len(rows.names), "class")]
    title = f"{record.data}: tuning run"
    return Page(title, f"{size} on {', '.join(data)}{took}.", sections)


def report_search(
    search: Any, dataset: Dataset | None, *, rows: Any = None, tsne: bool = True, **facts: Any
) -> Page:
    """Return the page of a search in Python; `facts` are fields of its record."""
    known: dict[str, Any] = {} if dataset is None else {"data": dataset.name}
    record = search_record(search, **{"figures": out_of_fold(search), **known, **facts})
    if record.honest is None and record.measure.name == "error":
        # Each round draws all rows anew.
        rounds = int(np.clip(2e7 / search.labels_.shape[1], 50, 1000))
        honest = search.honest_estimate(rounds=rounds)
        record = replace(record, honest=honest)
    return search_page(record, search, dataset, X=rows, tsne=tsne)


# -- sections --------------------------------------------------------------------------------------


def _grid(grid: Grid, clickable: bool) -> Section:
    return Section("grid", "The grid", grid_blocks(grid, clickable))


def _reproduction(record: SearchRecord, grid: Grid) -> Section:
    setting = grid.choice.cell.setting
    blocks = reproduction_blocks(setting, record.command, record.seed, record.seconds)
    return Section("again", "Reproduce this run", blocks)


def _summary(record: SearchRecord, grid: Grid, dataset: Dataset | None = None) -> Section:
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
    blocks += [*_simplest(grid), *_decision(record), *_unconverged(record.cells)]
    refitted = record.decision is not None and record.decision.refitted
    title = "Errors of the choice" + (" before the refit on all rows" if refitted else "")
    blocks += error_table(record.errors, title)
    blocks += figure_table(record.figures, measure, record.positive)
    notes = [] if dataset is None else dataset.notes
    return Section("summary", "Summary", [*blocks, *(Text(note, small=True) for note in notes)])


def _tiles(record: SearchRecord, grid: Grid) -> list[Tile]:
    """Return the choice, its errors on unseen rows, and the baseline."""
    measure, best, test = record.measure, grid.choice.cell, record.errors.get("test")
    choice, tested = record.figures.get(OUT_OF_FOLD), record.figures.get("test")
    by_error = measure.name == "error"
    baseline = choice.guess if choice is not None and by_error else None
    model, _, rest = grid.choice.text.partition(", ")
    tiles: list[Tile] = [("Choice", model, rest, None)]
    if by_error:
        tiles += honest_tile(record.honest, baseline)
    if choice is not None:
        words, _, value = wording.guess_words(choice, measure).rpartition(": ")
        share = None if baseline is None else 1.0
        tiles.append(("Baseline", value, f"{measure.name} of {words}", share))
    if tested is not None and not by_error:
        ends = f"95 %: {score_text(tested.low, measure)} to {score_text(tested.high, measure)}"
        words = f"{count(tested.rows, 'test row')}; {ends}"
        words += f"; baseline: {score_text(tested.guess, measure)}"
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


def _simplest(grid: Grid) -> list[Block]:
    if grid.simplest == grid.best:
        return []
    point = next(point for point in grid.points if point.number == grid.simplest)
    value = score_text(point.value, grid.measure)
    how = "Simplest setting within one standard error of the choice"
    return [Text(f"{how} (larger λ, wider kernel, fewer terms): {point.text} ({value}).")]


def _decision(record: SearchRecord) -> list[Block]:
    """Return how the choice was made, and which rows the saved model was trained on."""
    if record.decision is None:
        late = "Time limit reached before all settings were evaluated: others may be better."
        return [] if record.complete else [Text(late, warning=True)]
    is_whole = isinstance(record, TuneRecord) and record.whole is not None
    known = record.decision.fitted_rows if is_whole else record.training_rows
    lines = wording.decision_words(record.decision, record.folds, known, record.cells)
    return [Text(line, warning=line.startswith("Time limit")) for line in lines]


def _unconverged(cells: list[CellRecord]) -> list[Block]:
    """Return a warning about settings whose mean duality gap exceeds their tolerance."""
    late = 0
    for cell in cells:
        name = cell.setting.declaration.tolerance
        if name is not None and cell.gap is not None:
            late += cell.gap > float(cell.setting.get(name))
    text = f"{late} of {count(len(cells), 'setting')} did not reach their tolerance."
    return [Text(f"{text} Raise --epochs or --tol.", warning=True)] if late else []


def _next(record: SearchRecord) -> Block:
    """Return commands that use the choice."""
    if record.model is None:
        lines = ["model = sweep.best_estimator_", "model.predict(X_new)"]
        return Code("Next steps", "\n".join([*lines, "pegasos.save(model, 'my.model')"]))
    choice, tested = record.figures.get(OUT_OF_FOLD), record.figures.get("test")
    lost = wording.loses_rare_classes(choice, record.measure, tested)
    again = record.command if lost else None
    return Code("Next steps", "\n".join(next_commands(record.model, record.source, again)))


# -- the dimensionless cost ------------------------------------------------------------------------


def typical_kernel_values(search: Any, X: Any) -> list[float | None]:
    """Return the median of K(x, x) for each cell, which makes costs of kernels comparable.

    The list is empty for a single kernel; a value is None if it is unknown.
    """
    from sklearn.base import clone

    from pegasos.engine.kernels.base import DistanceKernel
    from pegasos.engine.kernels.elementwise import as_rows
    from pegasos.engine.kernels.standard import Polynomial
    from pegasos.search.anatomy import anatomy
    from pegasos.search.settings import Opaque
    from pegasos.sklearn_private import num_samples, safe_indexing

    kinds = [(setting.kernel, setting.preparation) for setting in search.settings_]
    if len(set(kinds)) < 2:
        return []
    some, prepared = safe_indexing(X, sample(num_samples(X), 200)), dict[Any, Any]()
    found: dict[Any, float | None] = {}
    for (kernel, steps), params in zip(kinds, search.cv_results_["params"], strict=True):
        if (kernel, steps) in found:
            continue
        if isinstance(kernel, DistanceKernel):
            found[kernel, steps] = 1.0
        elif any(part.name == "Nystroem" for _, part in steps) or isinstance(kernel, Opaque):
            found[kernel, steps] = None
        else:
            if steps not in prepared:
                rows = some
                for stage in anatomy(clone(search.estimator).set_params(**params)).stages:
                    rows = rows if stage.drops else stage.part.fit_transform(rows)
                prepared[steps] = as_rows(rows).astype(np.float64)
            # x·x + 1: the constant feature is part of a linear predictor.
            values = (kernel or Polynomial(1)).diagonal(prepared[steps])
            found[kernel, steps] = float(np.median(values)) or None
    return [found[kind] for kind in kinds]
