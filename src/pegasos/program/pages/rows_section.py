"""Section about the data: rows of each class, statistics and correlations of features, mean images."""

from __future__ import annotations

from typing import Any

from pegasos.program.pages.blocks import Block, Chart, Gallery, Table, Text, columns
from pegasos.program.pages.vega import (
    TICK,
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
from pegasos.program.records.pages import DataRecord, FeatureRecord, PageRecord, Statistics

#: Deviations from the mean at which boxes are cut.
_CUT = 6.0
_COLUMNS = columns("text", name="feature", kind="kind")
_COLUMNS += columns("number", mean="mean", std="std", min="min", quartile1="25 %", median="median")
_COLUMNS += columns("number", quartile3="75 %", max="max", missing="missing")
_COLUMNS += columns("number", outliers="|z| >= 3", distinct="categories")
_COLUMNS += columns("percent", between="variance between classes")


def data_blocks(record: PageRecord) -> list[Block]:
    """Return the classes, and what is known of the features."""
    return [*_classes(record.data), *_features(record)]


def _classes(data: DataRecord) -> list[Block]:
    if not data.counts:
        return []
    total, title = sum(data.counts) or 1, "Rows of each class"
    rows: Rows = [
        {"class": name, "rows": many, "share": many / total, "order": place}
        for place, (name, many) in enumerate(zip(data.classes, data.counts, strict=True))
    ]
    listed = columns("text", **{"class": "class"}) + columns("number", rows="rows")
    table = Table("classes", title, listed + columns("percent", share="share"), rows)
    x = number("rows", title="rows", axis={"labelExpr": TICK, "tickCount": 5})
    places = {"x": x, "y": _names("class", "order", 160)}
    hints = tooltip(**{"class": "class"}, rows=("rows", ","), share=("share", ".1%"))
    bars = mark("bar", {**places, "tooltip": hints}, color="#4c78a8")
    labels = {**places, "text": number("rows", format=",")}
    text = mark("text", labels, align="left", dx=4, aria=False)
    spec = chart(rows, bars, text, height=(20 if len(rows) <= 30 else 11) * len(rows))
    return [Chart("classes", title, spec, "", table)]


def _features(record: PageRecord) -> list[Block]:
    """Return statistics and correlations of features, and of images the mean of each class."""
    statistics, shape = record.rows.statistics, record.rows.shape
    blocks: list[Block] = []
    if record.rows.means and shape:
        named = zip(record.rows.means, record.data.classes, strict=False)
        pictures = [(each, f"class {name}") for each, name in named]
        blocks.append(Gallery("The mean of each class", (shape[0], shape[1]), pictures))
    if statistics is None:
        return blocks
    title = f"Statistics of {'pixels' if shape else 'features'}"
    rows = [vars(each) for each in statistics.features]
    table = Table("features", title, _COLUMNS, rows, folded=bool(shape))
    boxes = [
        _box(each, order)
        for order, each in enumerate(statistics.features)
        if each.std and each.mean is not None
    ]
    if shape or not boxes:
        blocks.append(table)
    else:
        caption = f"Boxes: quartiles; lines: minimum and maximum (cut at ±{_CUT:g}). "
        caption += "Color: share of the variance between classes."
        blocks.append(Chart("features", "Features", _boxes(boxes), caption, table))
    if not shape:
        blocks += _correlations(statistics)
    return [*blocks, *(Text(note, small=True) for note in statistics.notes)]


def _box(each: FeatureRecord, order: int) -> dict[str, Any]:
    """Return the quartiles of a feature in deviations from its mean."""
    mean, deviation = each.mean or 0.0, each.std or 1.0
    values = (each.min, each.quartile1, each.median, each.quartile3, each.max)
    names = ("low", "first", "middle", "third", "high")
    places = {
        name: round(max(-_CUT, min(_CUT, ((value or 0.0) - mean) / deviation)), 3)
        for name, value in zip(names, values, strict=True)
    }
    return {**vars(each), "order": order, **places}


def _boxes(rows: Rows) -> Spec:
    y, title = {"y": _names("name", "order", 150)}, "deviations from the mean"
    legend: Spec = {"title": "between classes", "format": ".0%", "orient": "top"}
    legend |= {"gradientLength": 140, "gradientThickness": 8}
    # From gray to orange: what separates classes stands out, on light and on dark.
    color = number("between", scale={"range": ["#8a94a0", "#e08600"]}, legend=legend)
    names = ("mean", "std", "min", "quartile1", "median", "quartile3", "max")
    hints = tooltip(name="feature", **{name: (name, ".4~g") for name in names})
    low = number("low", title=title, axis={"tickCount": 7, "format": "~g"})
    first, middle = (number(name, title=title) for name in ("first", "middle"))
    box = {"x": first, "x2": {"field": "third"}, **y, "color": color, "tooltip": hints}
    layers = [
        mark("rule", {"x": low, "x2": {"field": "high"}, **y}),
        mark("bar", box, size=9),
        mark("tick", {"x": middle, **y}, thickness=2, size=11, color="#fff"),
    ]
    return chart(rows, *layers, height=17 * len(rows))


def _correlations(statistics: Statistics) -> list[Block]:
    names = statistics.names
    if len(names) < 2:
        return []
    rows: Rows = [
        {"one": one, "two": two, "a": a, "b": b, "r": statistics.matrix[a][b]}
        for a, one in enumerate(names)
        for b, two in enumerate(names)
        if a != b
    ]
    listed = columns("text", one="feature", two="and") + columns("number", r="r")
    strongest = [{"one": one, "two": two, "r": r} for one, two, r in statistics.pairs]
    table = Table("correlations", "The strongest correlations", listed, strongest)
    some = f"{len(names)} of {statistics.count} features."
    caption = "" if len(names) == statistics.count else some
    places = {"x": _names("one", "a", 110, labelAngle=-60), "y": _names("two", "b", 110)}
    looks = signed("r", 1.0)
    hints = {"tooltip": tooltip(one="feature", two="and", r=("r", ".2f"))}
    ink = either("abs(datum.r) > 0.7", "#fff", "currentColor")
    text = {**places, "text": number("r", format=".1f"), "color": ink}
    layers = [
        mark("rect", {**places, **looks["encoding"], **hints}),
        mark("text", text, fontSize=9, aria=False),
    ]
    step = [44 if len(names) <= 12 else 24]
    spec = chart(rows, *layers, width=step, height=step, transform=looks["transform"])
    return [Chart("correlations", "Correlations of features", spec, caption, table)]


def _names(field: str, order: str, limit: int, **axis: Any) -> Spec:
    """Return an axis of words without a title, cut at a number of pixels."""
    return word(field, order, title=None, axis={"labelLimit": limit, **axis})
