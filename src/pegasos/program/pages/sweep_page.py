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
from pegasos.program.pages.blocks import Block, Section, Text
from pegasos.program.pages.decision_section import decision_blocks, search_rates
from pegasos.program.pages.explanation_section import explain_rows, explanation_blocks
from pegasos.program.pages.grid import Grid
from pegasos.program.pages.grid_section import grid_blocks
from pegasos.program.pages.labeled_rows import LabeledRows, sample
from pegasos.program.pages.model_sections import model_sections
from pegasos.program.pages.page import Page
from pegasos.program.pages.panel_section import search_panel
from pegasos.program.pages.reproduction_section import reproduction_blocks
from pegasos.program.pages.summary_section import summary_blocks
from pegasos.program.pages.values import count, duration
from pegasos.program.records.runs import SearchRecord, out_of_fold, search_record
from pegasos.program.tables.dataset import Dataset
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
        rows = LabeledRows.of(dataset, positions)
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
    again = reproduction_blocks(setting, record.command, record.seed, record.seconds)
    sections = [
        Section("summary", "Summary", summary_blocks(record, grid, dataset)),
        Section("grid", "The grid", grid_blocks(grid, clickable=rows is not None)),
        Section("cell", "Confusion matrix and mistakes", panel),
        Section("explanation", "Which columns matter", explanation_blocks(found)),
        Section("decisions", "Probabilities and thresholds", decisions),
        *model_sections(model, rows, wrong, tsne),
        Section("again", "Reproduce this run", again),
    ]
    size = f"{count(len(record.cells), 'setting')} × {count(record.folds, 'fold')}"
    data = f"{record.data}, {count(record.training_rows, 'row')}"
    if rows is not None:
        data = f"{record.data}, {count(len(rows), 'row')}"
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
        # Each round draws all rows anew.
        rounds = int(np.clip(2e7 / search.labels_.shape[1], 50, 1000))
        honest = search.honest_estimate(rounds=rounds)
        record = replace(record, honest=honest)
    return search_page(record, search, dataset, X=rows, tsne=tsne)


def typical_kernel_values(search: Any, X: Any) -> list[float | None]:
    """Return the median of K(x, x) for each cell, which makes costs of kernels comparable.

    The list is empty for a single kernel; a value is None if it is unknown.
    """
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
