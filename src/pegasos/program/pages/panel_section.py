"""Confusion matrix and worst mistakes of a setting; readers pick the setting of a search."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from pegasos.program.pages import vega
from pegasos.program.pages.blocks import Block, Chart, Panel, Text
from pegasos.program.pages.data_section import Images, row_values
from pegasos.program.pages.grid import Grid
from pegasos.program.pages.labeled_rows import LabeledRows, dense, feature_names
from pegasos.program.pages.vega import Rows, Spec, either, number, tooltip, word
from pegasos.program.pages.wording import score_text, unbroken
from pegasos.program.records.runs import SearchRecord
from pegasos.program.terminal.reproduction import command_line

Array = np.ndarray[Any, Any]

#: Settings whose mistakes are kept, and the numbers that all confusion matrices together may take.
LEADING, CONFUSION_NUMBERS = 12, 90_000
#: Mistakes kept of a setting, and columns shown of a row.
MISTAKES, VALUES = 18, 12
#: Settings in the list, and classes up to which the confusion matrix is a table.
MOST_LISTED, MOST_CLASSES = 40, 30
#: Pixels of a cell by the number of classes.
_CELLS = ((4, 72), (12, 36), (20, 28), (50, 14), (10**9, 8))


def model_panel(rows: LabeledRows, predicted: Array, scores: Array | None) -> list[Block]:
    """Return the panel of a model, from the codes that it predicts and its scores."""
    flat = confusion_counts(rows.codes, predicted, len(rows.names))
    kept = {"0": {"confusion": flat, "mistakes": worst_mistakes(rows.codes, predicted, scores)}}
    return _panel(rows, kept, 0, {})


def search_panel(
    record: SearchRecord, grid: Grid, search: Any, rows: LabeledRows, options: Sequence[str]
) -> list[Block]:
    """Return the panel of a search: confusion matrices of as many settings as the page can hold.

    Mistakes are kept of the leading settings only: the choice, the simplest, and the best ones,
    of each model and kernel first. `options` are repeated on every command line.
    """
    codes, measure, labels = rows.codes, record.measure, search.labels_
    known = (cell for cell in record.cells if cell.value is not None)
    cells = sorted(known, key=lambda cell: measure.rank(cell.value))
    firsts: dict[Any, int] = {}
    for cell in cells:
        firsts.setdefault((cell.setting.model, cell.setting.kernel), cell.number)
    ranked = [*list(firsts.values())[: LEADING - 4], *(cell.number for cell in cells)]
    leading = list(dict.fromkeys([record.best, record.simplest, *ranked]))[:LEADING]
    wrong = (labels != codes) & (labels >= 0)  # negative: not evaluated
    hard = wrong[[cell.number for cell in cells[:50]]].mean(axis=0)
    kept, room = dict[str, Any](), CONFUSION_NUMBERS
    for place in dict.fromkeys([*leading, *(cell.number for cell in cells)]):
        flat = confusion_counts(codes, labels[place], len(rows.names))
        if not flat:  # evaluated in the first stage only, which keeps no predictions
            continue
        room -= len(flat)
        if room < 0 and place not in leading:
            break
        scores, mistakes = None, None
        if place in leading:
            with contextlib.suppress(ValueError):  # not kept
                scores = search.out_of_fold_scores(place)
            if scores is not None and scores.shape[1] not in (len(rows.names), 1):
                scores = None
            mistakes = worst_mistakes(codes, labels[place], scores, hard)
        kept[str(place)] = {"confusion": flat, "mistakes": mistakes}
    shown = {}
    for point in grid.points:
        value = f"{measure.name} {score_text(point.cell.value, measure)}"
        if point.cell.deviation is not None:
            value += f" ± {score_text(point.cell.deviation, measure)} (std over folds)"
        command = command_line(point.cell.setting, record.source, record.seed, options)
        texts = {"setting": point.text, "value": unbroken(value), "command": command}
        shown[str(point.cell.number)] = texts
    order = [cell.number for cell in cells if str(cell.number) in kept][:MOST_LISTED]
    blocks = _panel(rows, kept, record.best, {"cells": shown, "order": order})
    if record.threshold is None:
        return blocks
    return [Text("Confusion matrices of settings are those at score 0.", small=True), *blocks]


def _panel(
    rows: LabeledRows, kept: dict[str, Any], best: int, settings: dict[str, Any]
) -> list[Block]:
    """Return the panel with the rows of all mistakes, and for many classes a chart."""
    dataset, names = rows.dataset, feature_names(rows.dataset)
    images = None if dataset.image is None else Images(dataset)
    features = sorted(rows.separation.order[:VALUES])
    shown = {}
    for row in sorted({each["row"] for cell in kept.values() for each in cell["mistakes"] or ()}):
        picture = "" if images is None else images.picture(dense(dataset.X[[row]]))
        values = row_values(dataset, row, features) if images is None else []
        shown[str(row)] = {"number": rows.number(row), "picture": picture, "values": values}
    data: dict[str, Any] = {"best": best, "cells": {}, "order": [], **settings}
    data |= {"classes": rows.names, "kept": kept, "rows": shown, "most": MOST_CLASSES}
    data["shape"] = None if images is None else images.shape
    data["columns"] = [names[j] for j in features]
    panel = Panel(data, alone=not settings)
    if str(best) not in kept:
        return [panel]
    spec = confusion_chart(kept[str(best)]["confusion"], rows.names)
    if len(rows.names) <= MOST_CLASSES:
        panel.figures = {"confusion": spec}
        return [panel]
    title = "Confusion matrix" + (" of the choice" if settings else "")
    return [Chart("confusion", title, spec, "Color: share of the true class."), panel]


def confusion_counts(truth: Array, predicted: Array, classes: int) -> list[int]:
    """Return (true, predicted, count) of all pairs that occur, as one flat list.

    Rows with a negative prediction were not evaluated.
    """
    tested = predicted >= 0
    pairs, counts = np.unique(truth[tested] * classes + predicted[tested], return_counts=True)
    found = np.column_stack([pairs // classes, pairs % classes, counts])
    return found.reshape(-1).astype(int).tolist()


def worst_mistakes(
    truth: Array, predicted: Array, scores: Array | None, hard: Array | None = None
) -> list[dict[str, Any]]:
    """Return the mistakes with the largest lead of the predicted class over the true one.

    Without scores these are the rows that most settings misclassify; `hard` is their share. Each
    mistake has its row, the codes of both classes, and scores of some classes: of two classes the
    score of the second one.
    """
    wrong = np.flatnonzero((predicted != truth) & (predicted >= 0))
    lead = np.zeros(len(wrong)) if hard is None else hard[wrong]
    one = scores is not None and scores.shape[1] == 1
    if scores is not None:
        scores = np.column_stack([-scores[:, 0], scores[:, 0]]) if one else scores
        lead = scores[wrong, predicted[wrong]] - scores[wrong, truth[wrong]]
    found = []
    for row in wrong[np.argsort(-np.nan_to_num(lead), kind="stable")[:MISTAKES]].tolist():
        true, given = int(truth[row]), int(predicted[row])
        mistake: dict[str, Any] = {"row": row, "true": true, "given": given}
        mistake |= {"codes": [], "scores": [], "share": None}
        if scores is not None:
            best = np.argsort(-scores[row], kind="stable")[:3].tolist()
            codes = [1] if one else list(dict.fromkeys([given, true, *best]))[:4]
            shown = [round(float(scores[row, code]), 3) for code in codes]
            mistake |= {"codes": codes, "scores": shown}
        elif hard is not None:
            mistake["share"] = round(float(hard[row]), 3)
        found.append(mistake)
    return found


def confusion_chart(flat: list[int], names: list[str], rates: bool = False) -> Spec:
    """Return a chart of true classes (down) and predicted ones (across), as counts or rates.

    Color is the share of the true class.
    """
    classes, triples = len(names), np.reshape(flat, (-1, 3))
    totals = np.bincount(triples[:, 0], triples[:, 2], classes).astype(int).tolist()
    rows: Rows = []
    for true, given, many in triples.tolist():
        rate = many / totals[true]
        label = f"{100 * rate:.1f}" if rate < 0.0995 else f"{100 * rate:.0f}"
        what = f"rows of {names[true]} predicted as {names[given]}"
        row = {"tr": true, "gr": given, "count": many, "rate": rate}
        row |= {"shown": f"{many} of {totals[true]} {what} ({rate:.1%})"}
        row |= {"true": names[true], "given": names[given], "label": label if rates else str(many)}
        rows.append(row)
    step = next(pixels for most, pixels in _CELLS if classes <= most)
    ticks = {"labelLimit": 90, "labels": classes <= 50, "ticks": classes <= 50}
    tilted = {**ticks, "labelAngle": 0 if classes <= 12 else -60}
    x = word("given", "gr", title="predicted", axis=tilted)
    places: Spec = {"x": x, "y": word("true", "tr", title="true", axis=ticks)}
    places["tooltip"] = tooltip(true="true", given="predicted", shown="rows")
    # Small rates are close to the background, so that dark pages have no bright spots.
    scale = {"type": "sqrt", "domain": [0, 1], "range": [0.06, 1]}
    shade = {"opacity": number("rate", scale=scale, legend=None), "color": {"value": "#0b5fa5"}}
    shade["description"] = word("shown")
    ink = either("datum.rate > 0.2", "#fff", "currentColor")
    texts = word("label") if classes <= 20 else None
    return vega.heatmap(rows, places, shade, ink, texts, width=[step], height=[step])
