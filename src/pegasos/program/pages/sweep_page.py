"""Page of a search: the choice and its errors, the grid, one setting, the columns, the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from pegasos.engine.kernels.base import DistanceKernel
from pegasos.engine.kernels.elementwise import as_rows
from pegasos.engine.kernels.standard import Polynomial
from pegasos.program.pages import model_page, wording
from pegasos.program.pages.blocks import Block, Code, Section, Table, Text, Tile, Tiles, columns
from pegasos.program.pages.decision_section import decision_blocks, search_rates
from pegasos.program.pages.explanation_section import explain_rows, explanation_blocks
from pegasos.program.pages.grid import Grid
from pegasos.program.pages.grid_section import grid_blocks
from pegasos.program.pages.labeled_rows import LabeledRows, sample
from pegasos.program.pages.page import Page
from pegasos.program.pages.panel_section import search_panel
from pegasos.program.pages.wording import count, duration, score_text
from pegasos.program.records.fitted import out_of_fold, search_record
from pegasos.program.records.runs import OUT_OF_FOLD, SearchRecord
from pegasos.program.tables.dataset import Dataset
from pegasos.program.terminal.reproduction import next_commands
from pegasos.search.anatomy import anatomy
from pegasos.search.settings import Opaque
from pegasos.sklearn_private import num_samples, safe_indexing


def search_page(
    record: SearchRecord,
    search: Any = None,
    dataset: Dataset | None = None,
    *,
    options: Sequence[str] = (),
    positions: Any = None,
    tsne: bool = True,
    test: Dataset | None = None,
    X: Any = None,
) -> Page:
    """Return the page of a search; without the search itself it has summary and grid only.

    `dataset` are the rows that it was fitted to, `X` the same in the form that the search takes,
    and `positions` their places in the source. `options`, such as --label, are repeated on every
    command line. `test` are rows without part in the search, on which the choice is explained.
    """
    rows, wrong, found = None, None, None
    model, typical = getattr(search, "best_estimator_", None), list[float | None]()
    if dataset is not None and dataset.y is not None:
        rows = LabeledRows(dataset, positions)
        typical = typical_kernel_values(search, dataset.X if X is None else X)
        labels = search.labels_[record.best]
        wrong = (labels != rows.codes) & (labels >= 0)
        if model is not None and test is not None:
            metric, positive = record.measure.name, search.positive_class()
            found = explain_rows(model, test, metric=metric, positive=positive)
    grid = Grid.of(record, typical)
    text = "No confusion matrix: no rows were given. Use pegasos.report(sweep, X, y)."
    panel: list[Block] = [] if search is None else [Text(text, small=True)]
    if rows is not None:
        panel = search_panel(record, grid, search, rows, options)
    rates = None if search is None else search_rates(search, record.threshold)
    where = "Out-of-fold scores: each row by a model that was not trained on it."
    decisions = decision_blocks(record.calibration, record.threshold, rates, where)
    setting = grid.choice.cell.setting
    again = model_page.reproduction_blocks(setting, record.command, record.seed, record.seconds)
    sections = [
        Section("summary", "Summary", summary_blocks(record, grid, dataset)),
        Section("grid", "The grid", grid_blocks(grid, clickable=rows is not None)),
        Section("cell", "Confusion matrix and mistakes", panel),
        Section("explanation", "Which columns matter", explanation_blocks(found)),
        Section("decisions", "Probabilities and thresholds", decisions),
        *model_page.model_sections(model, rows, wrong, tsne),
        Section("again", "Reproduce this run", again),
    ]
    size = f"{count(len(record.cells), 'setting')} × {count(record.folds, 'fold')}"
    data = f"{record.data}, {count(record.training_rows if rows is None else len(rows), 'row')}"
    if rows is not None:
        features = count(rows.dataset.X.shape[1], "feature")
        data += f", {features}, {count(len(rows.names), 'class')}"
    took = f", {duration(record.seconds)}" if record.seconds else ""
    return Page(f"{record.data}: tuning run", f"{size} on {data}{took}.", sections)


def report_search(
    search: Any, dataset: Dataset | None, *, rows: Any = None, tsne: bool = True, **facts: Any
) -> Page:
    """Return the page of a search in Python; `facts` are fields of its record."""
    known: dict[str, Any] = {} if dataset is None else {"data": dataset.name}
    record = search_record(search, **{"figures": out_of_fold(search), **known, **facts})
    if record.honest is None and record.measure.name == "error":
        # Each round draws all rows again.
        rounds = int(np.clip(2e7 / search.labels_.shape[1], 50, 1000))
        record = replace(record, honest=search.honest_estimate(rounds=rounds))
    return search_page(record, search, dataset, X=rows, tsne=tsne)


def typical_kernel_values(search: Any, X: Any) -> list[float | None]:
    """Return the median of K(x, x) for each cell, which makes costs of kernels comparable.

    The list is empty for a single kernel; a value is None if it is unknown.
    """
    kinds = [(setting.kernel, setting.preparation) for setting in search.settings_]
    if len(set(kinds)) < 2:
        return []
    some, found = safe_indexing(X, sample(num_samples(X), 200)), dict[Any, float | None]()
    for (kernel, steps), params in zip(kinds, search.cv_results_["params"], strict=True):
        if (kernel, steps) in found:
            continue
        if isinstance(kernel, DistanceKernel):
            found[kernel, steps] = 1.0
        elif any(part.name == "Nystroem" for _, part in steps) or isinstance(kernel, Opaque):
            found[kernel, steps] = None
        else:
            rows = some
            for stage in anatomy(clone(search.estimator).set_params(**params)).stages:
                rows = rows if stage.drops else stage.part.fit_transform(rows)
            # x·x + 1: the constant feature is part of a linear predictor.
            values = (kernel or Polynomial(1)).diagonal(as_rows(rows).astype(np.float64))
            found[kernel, steps] = float(np.median(values)) or None
    return [found[kind] for kind in kinds]


# -- the choice ------------------------------------------------------------------------------------


def summary_blocks(record: SearchRecord, grid: Grid, dataset: Dataset | None) -> list[Block]:
    """Return blocks with the choice, its errors, advice, and limits of these results."""
    measure, decision = record.measure, record.decision
    choice, tested = record.figures.get(OUT_OF_FOLD), record.figures.get("test")
    verdicts = (
        wording.verdict_words(choice, measure, tested),
        wording.unlike_words(
            record.honest, record.errors.get("test"), "" if decision is None else decision.split
        ),
    )
    blocks: list[Block] = [Text(line, warning=True) for line in verdicts if line]
    blocks.append(Tiles(_tiles(record, grid)))
    lines = ["model = sweep.best_estimator_", "model.predict(X_new)"]
    lines.append("pegasos.save(model, 'my.model')")
    if record.model is not None:
        lost = wording.loses_rare_classes(choice, measure, tested)
        lines = next_commands(record.model, record.source, record.command if lost else None)
    blocks.append(Code("Next steps", "\n".join(lines)))
    blocks += [Text(line) for line in wording.probability_words(measure, record.cells)]
    blocks += [Text(str(advice), warning=True) for advice in record.advice]
    if grid.simplest != grid.best:
        point = next(point for point in grid.points if point.cell.number == grid.simplest)
        how = "Simplest setting within one standard error of the choice"
        value = score_text(point.cell.value, measure)
        blocks.append(Text(f"{how} (larger λ, wider kernel, fewer terms): {point.text} ({value})."))
    for line in wording.decision_words(record):
        blocks.append(Text(line, warning=line.startswith("Time limit")))
    limits = [(cell.gap, cell.setting, cell.setting.declaration.tolerance) for cell in record.cells]
    missed = sum(
        gap > float(each.get(name)) for gap, each, name in limits if name and gap is not None
    )
    if missed:
        text = f"{missed} of {count(len(record.cells), 'setting')} did not reach their tolerance."
        blocks.append(Text(f"{text} Raise --epochs or --tol.", warning=True))
    refit = " before the refit on all rows" if decision is not None and decision.refitted else ""
    blocks += model_page.error_table(record.errors, f"Errors of the choice{refit}")
    blocks += _figure_table(record)
    notes = [] if dataset is None else dataset.notes
    return [*blocks, *(Text(note, small=True) for note in notes)]


def _tiles(record: SearchRecord, grid: Grid) -> list[Tile]:
    """Return tiles with the choice, its errors on unseen rows, and the baseline."""
    measure, best, test = record.measure, grid.choice.cell, record.errors.get("test")
    choice, tested = record.figures.get(OUT_OF_FOLD), record.figures.get("test")
    by_error = measure.name == "error"
    baseline = choice.baseline if choice is not None and by_error else None
    model, _, rest = grid.choice.text.partition(", ")
    tiles: list[Tile] = [("Choice", model, rest, None)]
    if by_error and record.honest is not None:
        name = "Expected error on new rows"
        tiles.append(model_page.error_tile(name, record.honest, baseline))
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
        tiles.append(model_page.error_tile("Test error", test, rows="test rows"))
    spread = ""
    if best.deviation is not None:
        spread = f"std over folds {score_text(best.deviation, measure)}; "
    sampled = record.decision is not None and record.decision.by != "folds"
    name = f"Cross-validated {measure.name}{' on a sample' if sampled else ''}"
    remark = f"mean over folds; {spread}optimistic: it was used to choose the model"
    return [*tiles, (name, score_text(best.value, measure), remark, None)]


def _figure_table(record: SearchRecord) -> list[Block]:
    """Return a table of the metric on training and test rows."""
    measure = record.measure
    if measure.name == "error" or not record.figures:
        return []
    rows = [
        {"of": name, **vars(each), "verdict": "" if each.better else "within noise"}
        for name, each in record.figures.items()
    ]
    form, named = "percent" if measure.percent else "number", {"value": measure.name}
    listed = columns("text", of="") + columns("number", rows="rows")
    listed += columns(form, **named, low="95 % from", high="to", baseline="baseline")
    listed += columns("text", verdict="difference from the baseline")
    of = "" if record.positive is None else f" of {record.positive}"
    return [Table("figures", f"{measure.name}{of}", listed, rows)]
