"""Section about the largest weights of a linear predictor."""

from __future__ import annotations

from pegasos.program.pages.blocks import Block, Chart, Table, columns
from pegasos.program.pages.vega import (
    Rows,
    Spec,
    chart,
    either,
    mark,
    number,
    signed,
    tooltip,
    word,
)
from pegasos.program.records.pages import Weights


def weight_blocks(weights: Weights | None) -> list[Block]:
    """Return bars for two classes, else a heatmap of features by classes."""
    if weights is None:
        return []
    rows = [
        {"feature": feature, "order": place, "class": name, "place": line, "weight": values[place]}
        for line, (name, values) in enumerate(zip(weights.classes, weights.weights, strict=True))
        for place, feature in enumerate(weights.features)
    ]
    binary = len(weights.classes) == 1
    count = len(weights.features)
    caption = "" if weights.of == count else f"The {count} largest of {weights.of:,}. "
    caption += "Of the features as the learner sees them, after scaling. "
    caption += (
        f"Positive weights increase the score of {weights.classes[0]}."
        if binary
        else "Orange increases the score of a class, blue decreases it."
    )
    listed = columns("text", **{"feature": "feature", "class": "for class"})
    table = Table("weights", "Weights", listed + columns("number", weight="weight"), rows)
    spec = _bars(rows) if binary else _heatmap(rows, len(weights.classes))
    return [Chart("weights", "Weights of features", spec, caption, table, narrow=binary)]


def _places() -> Spec:
    hints = tooltip(feature="feature", **{"class": "for class"}, weight=("weight", ".4~g"))
    return {"y": word("feature", "order", title=None, axis={"labelLimit": 150}), "tooltip": hints}


def _bars(rows: Rows) -> Spec:
    ink = either("datum.weight < 0", "#0072b2", "#e69f00")
    bars = {**_places(), "x": number("weight", axis={"format": "~g"}), "color": ink}
    return chart(rows, mark("bar", bars), height=18 * len(rows))


def _heatmap(rows: Rows, classes: int) -> Spec:
    looks = signed("weight", max(abs(row["weight"]) for row in rows) or 1.0)
    axis = {"labelAngle": 0 if classes <= 12 else -60, "labelLimit": 90}
    places = {**_places(), "x": word("class", "place", axis=axis), **looks["encoding"]}
    width = [44 if classes <= 20 else 14]
    return chart(rows, mark("rect", places), width=width, height=[18], transform=looks["transform"])
