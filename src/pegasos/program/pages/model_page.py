"""The page about one model: what it is, its errors, its weights, and how it looks on rows."""

from __future__ import annotations

from typing import Any

from pegasos.program.pages import row_charts as draw
from pegasos.program.pages.blocks import Block, CellPanel, Chart, Facts, Section, Table, Text, Tiles
from pegasos.program.pages.grid_views import number_text, short_kernel
from pegasos.program.pages.shared_sections import (
    again_section,
    boundary_section,
    class_section,
    curve_section,
    data_words,
    duration,
    error_table,
    feature_section,
    map_section,
    percent,
)
from pegasos.program.pages.sweep_page import confusion_figure, scripts_data


def build(found: dict[str, Any]) -> tuple[str, str, list[Section], dict[str, Any]]:
    """Title, subtitle, sections and the data of the scripts."""
    learner = dict(found["learner"])
    learner["kernel"] = short_kernel(learner["kernel"])
    if "lam" in learner:
        lam, rows = learner.pop("lam"), (found.get("split") or {}).get("learned_rows")
        learner["λ"] = number_text(lam) + (f" (C {1 / (lam * rows):.3g})" if isinstance(rows, int) and rows > 0 else "")
    panel: list[Block] = [CellPanel(lambda: confusion_figure(found), alone=True)] if found.get("kept") else []
    if not panel:
        panel = [Text("No rows were given, so there is no confusion matrix: give rows with labels to see one.", small=True)]
    sections = [
        Section(
            "summary", "Summary", [*_tiles(found), Facts(learner), *error_table(found.get("errors") or {}, "Errors", folded=True)]
        ),
        Section("confusion", "Confusions and mistakes", panel),
        Section("weights", "Weights", _weights(found)),
        Section("learning", "Learning", curve_section(found)),
        Section("boundary", "Decision boundary", boundary_section(found)),
        Section("map", "A map of the rows", map_section(found)),
        Section("rows", "The rows", [*class_section(found["data"]), *feature_section(found)]),
        again_section(found),
    ]
    title = found.get("file") or f"{found['data']['name']}: a model"
    subtitle = f"{learner['class']}, {learner['kernel']}, for {data_words(found['data'])}"
    took = f", trained in {duration(found['seconds'])}" if found.get("seconds") else ""
    return title, subtitle + took + ".", sections, {**scripts_data(found), "first": 0}


def _tiles(found: dict[str, Any]) -> list[Block]:
    tiles = []
    for name, each in (found.get("errors") or {}).items():
        interval = "" if each.get("low") is None else f"; 95 %: {percent(each['low'])} to {percent(each['high'])}"
        if each.get("error") is not None:
            heading = f"Error on {name}" if name.endswith("rows") else f"Error on {name} rows"
            tiles.append((heading, percent(each["error"]), f"{each['mistakes']} of {each['rows']:,} rows{interval}"))
    honest = found.get("honest")
    if honest and honest.get("error") is not None:
        interval = f"95 %: {percent(honest.get('low'))} to {percent(honest.get('high'))}; {honest.get('method', '')}"
        tiles.append(("Honest error of the choice", percent(honest["error"]), interval))
    return [Tiles(tiles)] if tiles else []


def _weights(found: dict[str, Any]) -> list[Block]:
    weights = found.get("weights")
    if not weights:
        return []
    rows = [
        {"feature": feature, "order": place, "class": name, "place": line, "weight": values[place]}
        for line, (name, values) in enumerate(zip(weights["classes"], weights["weights"], strict=True))
        for place, feature in enumerate(weights["features"])
    ]
    columns = [("feature", "feature", "text"), ("class", "for class", "text"), ("weight", "weight", "number")]
    some = "" if weights["of"] == len(weights["features"]) else f"The {len(weights['features'])} largest of {weights['of']:,}. "
    caption = some + "Of the features as the learner sees them, after scaling."
    if len(weights["classes"]) == 1:
        caption += f" Positive weights speak for {weights['classes'][0]}."
    chart = draw.weights(rows, len(weights["features"]), len(weights["classes"]))
    return [Chart("weights", "Weights of features", chart, caption, Table("weights", "Weights", columns, rows))]
