"""Section with a sample of rows in two dimensions, by class and by error."""

from __future__ import annotations

from pegasos.program.pages.blocks import Block, Chart, Table
from pegasos.program.pages.vega import (
    Rows,
    Spec,
    chart,
    class_color,
    either,
    mark,
    number,
    tooltip,
    word,
)
from pegasos.program.records.pages import PageRecord

#: Labels up to this length are drawn themselves.
_SHORT = 2
_COLUMNS = [
    ("row", "row", "number"),
    ("class", "class", "text"),
    ("x", "x", "number"),
    ("y", "y", "number"),
    ("verdict", "predicted", "text"),
]


def map_blocks(record: PageRecord) -> list[Block]:
    """Return the map in the colors of classes, and in those of right and wrong predictions."""
    place = record.rows.map
    if place is None:
        return []
    names, rows = record.data.classes, []
    known = zip(place.rows, place.classes, place.places, place.wrong, strict=True)
    for row, code, (x, y), wrong in known:
        verdict = "wrong" if wrong else "right"
        one = {"row": row + 1, "class": names[code], "order": code, "x": x, "y": y}
        rows.append({**one, "wrong": wrong, "verdict": verdict})
    size = f"{len(rows):,} rows"
    if len(rows) < place.of:
        size = f"a sample of {len(rows):,} of {place.of:,} rows"
    table = Table("map", "The map", _COLUMNS, rows[:200])
    title, spec = "Map of rows, by class", _by_class(rows, len(names))
    crosses = "The same places; crosses are misclassified rows."
    return [
        Chart("map-classes", title, spec, f"By {place.method}: {size}.", table, half=True),
        Chart("map-errors", "Map of rows, by error", _by_error(rows), crosses, half=True),
    ]


def _places() -> Spec:
    """Return channels whose axes have no meaning and are not drawn."""
    scale = {"zero": False, "nice": False, "padding": 8}
    bare = {"labels": False, "ticks": False, "grid": False, "domain": False}
    hints = tooltip(**{"class": "class"}, row=("row", "d"), verdict="predicted")
    axes = {name: number(name, title=None, scale=scale, axis=bare) for name in "xy"}
    return {**axes, "tooltip": hints}


def _by_class(rows: Rows, classes: int) -> Spec:
    letters = 2 < classes <= 10 and all(len(row["class"]) <= _SHORT for row in rows)
    places = {**_places(), "color": class_color(classes, legend=not letters)}
    if letters:
        text = mark("text", {**places, "text": word("class")}, fontSize=11, fontWeight=600)
        return chart(rows, text, height=380)
    return chart(rows, mark("point", places, filled=True, size=28, opacity=0.8), height=380)


def _by_error(rows: Rows) -> Spec:
    """Return right rows pale, and wrong ones large and drawn last."""
    domain, wrong = ["right", "wrong"], "datum.verdict === 'wrong'"
    colors = {"domain": domain, "range": ["#9aa5b1", "#d55e00"]}
    shapes = {"domain": domain, "range": ["circle", "cross"]}
    looks = {
        "color": word("verdict", scale=colors, legend=None),
        "shape": word("verdict", scale=shapes, legend=None),
        "size": either(wrong, 90, 16),
        "opacity": either(wrong, 1, 0.55),
        "order": number("wrong"),
    }
    return chart(rows, mark("point", {**_places(), **looks}, filled=True), height=380)
