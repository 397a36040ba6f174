"""Confusion matrix and worst mistakes of a setting; of a sweep the page shows those of any setting that is picked."""

from __future__ import annotations

import math
from typing import Any

from pegasos.program.pages.blocks import Block, Chart, Panel, Text
from pegasos.program.pages.grid_charts import Grid
from pegasos.program.pages.vega import Spec, chart, either, mark, number, tooltip, word
from pegasos.program.pages.wording import score_text
from pegasos.program.records.codec import to_json
from pegasos.program.records.pages import PageRecord

#: Classes up to which the page shows the matrix as a table.
MOST_CLASSES = 30
#: Settings that can be chosen in a list.
MOST_LISTED = 40
#: Pixels of a cell by the number of classes.
_CELLS = ((4, 72), (12, 36), (20, 28), (50, 14), (10**9, 8))


def confusion_blocks(record: PageRecord, grid: Grid | None = None) -> list[Block]:
    """Return the panel of the choice, or of a model; a sentence where rows were not given."""
    if not record.kept:
        how = "pegasos.report(sweep, X, y)" if grid else "pegasos.report(model, X, y)"
        return [Text(f"No confusion matrix: no rows were given. {how} shows it.", small=True)]
    blocks: list[Block] = []
    if record.threshold is not None:
        blocks.append(Text("Confusion matrices of settings are those at score 0.", small=True))
    kept, classes = record.kept.get(str(record.best)), record.data.classes
    drawn = {} if kept is None else {"confusion": confusion_chart(kept.confusion, classes)}
    if drawn and len(classes) > MOST_CLASSES:
        title = "Confusion matrix of the choice" if grid else "Confusion matrix"
        blocks.append(
            Chart("confusion", title, drawn.pop("confusion"), "Color: share of the true class.")
        )
    return [*blocks, Panel(drawn, _panel_data(record, grid), alone=grid is None)]


def _panel_data(record: PageRecord, grid: Grid | None) -> dict[str, Any]:
    """Return what the script of the panel needs: the settings, and confusions and mistakes of those that were kept."""
    rows, cells = record.rows, {}
    for point in () if grid is None else grid.points:
        found = score_text(point.value, record.measure)
        around = point.cell.deviation
        if around is not None:
            found += f" ± {score_text(around, record.measure)} over folds"
        value = f"{record.measure.name} {found}".replace(" ± ", "\u00a0±\u00a0")
        cells[point.number] = {"setting": point.text, "value": value, "command": point.command}
    sign = 1 if record.measure.least else -1
    ranked = [point for point in (grid.points if grid else ()) if str(point.number) in record.kept]
    ranked.sort(key=lambda point: math.inf if point.value is None else sign * point.value)
    return {
        "best": record.best,
        "cells": cells,
        "order": [point.number for point in ranked[:MOST_LISTED]],
        "classes": record.data.classes,
        "kept": to_json(record.kept),
        "rows": to_json(rows.shown),
        "shape": rows.shape,
        "columns": rows.columns,
        "most": MOST_CLASSES,
    }


def confusion_chart(flat: list[int], names: list[str], rates: bool = False) -> Spec:
    """Return true classes down and predicted ones across; color is the share of the true class, numbers are counts or rates."""
    classes = len(names)
    triples = list(zip(*[iter(flat)] * 3, strict=True))
    totals = dict.fromkeys(range(classes), 0)
    for true, _, many in triples:
        totals[true] += many
    rows = []
    for true, guess, many in triples:
        rate = many / totals[true]
        label = f"{100 * rate:.1f}" if rate < 0.0995 else f"{100 * rate:.0f}"
        shown = f"{many} of {totals[true]} rows of {names[true]} predicted as {names[guess]} ({rate:.1%})"
        row = {"tr": true, "gr": guess, "count": many, "rate": rate, "shown": shown}
        row |= {"true": names[true], "guess": names[guess], "label": label if rates else str(many)}
        rows.append(row)
    step = next(pixels for most, pixels in _CELLS if classes <= most)
    ticks = {"labelLimit": 90, "labels": classes <= 50, "ticks": classes <= 50}
    tilted = {**ticks, "labelAngle": 0 if classes <= 12 else -60}
    x = word("guess", "gr", title="predicted", axis=tilted)
    places = {"x": x, "y": word("true", "tr", title="true", axis=ticks)}
    # Small rates are close to the background, so that dark pages have no bright spots.
    scale = {"type": "sqrt", "domain": [0, 1], "range": [0.06, 1]}
    hints = {
        "tooltip": tooltip(true="true", guess="predicted", shown="rows"),
        "description": word("shown"),
    }
    shade = {**places, "opacity": number("rate", scale=scale, legend=None), **hints}
    ink = either("datum.rate > 0.2", "#fff", "currentColor")
    layers = [
        mark("rect", shade, color="#0b5fa5"),
        mark("text", {**places, "text": word("label"), "color": ink}, fontSize=11, aria=False),
    ]
    return chart(rows, *layers[: 2 if classes <= 20 else 1], width=[step], height=[step])
