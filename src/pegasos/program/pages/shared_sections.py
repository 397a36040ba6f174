"""Sections that pages share: the rows, the map, the boundary, curves, and how to do it again."""

from __future__ import annotations

from typing import Any

from pegasos.program.pages import row_charts as draw
from pegasos.program.pages.blocks import Block, Chart, Code, Facts, Gallery, Section, Table, Text

#: Points that a map may have in each direction of the page's data; labels up to this length are drawn themselves.
_SHORT = 2


def count(number: Any, noun: str) -> str:
    """1 row, 2,000 rows."""
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{number:,} {noun if number == 1 else plural}"


def percent(value: Any) -> str:
    """An error as a person reads it."""
    return "" if value is None else f"{100 * value:.2f} %"


def duration(seconds: Any) -> str:
    """Seconds, or minutes where there are many."""
    if seconds is None:
        return ""
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def data_words(data: dict[str, Any]) -> str:
    """The data in a few words."""
    parts = [data["name"]]
    if data.get("rows") is not None:
        parts.append(count(data["rows"], "row"))
    if data.get("features") is not None:
        parts.append(count(data["features"], "feature"))
    if data.get("classes"):
        parts.append(count(len(data["classes"]), "class"))
    return ", ".join(parts)


def class_section(data: dict[str, Any]) -> list[Block]:
    """Counts of classes."""
    names, numbers = data.get("classes"), data.get("counts")
    if not names or not numbers:
        return []
    total = sum(numbers) or 1
    rows = [
        {"class": name, "rows": int(number), "share": number / total, "order": place}
        for place, (name, number) in enumerate(zip(names, numbers, strict=True))
    ]
    columns = [("class", "class", "text"), ("rows", "rows", "number"), ("share", "share", "percent")]
    return [Chart("classes", "Rows of each class", draw.counts(rows), "", Table("classes", "Rows of each class", columns, rows))]


_COLUMNS = [
    ("name", "feature", "text"),
    ("kind", "kind", "text"),
    ("mean", "mean", "number"),
    ("std", "deviation", "number"),
    ("min", "least", "number"),
    ("quartile1", "1st quartile", "number"),
    ("median", "median", "number"),
    ("quartile3", "3rd quartile", "number"),
    ("max", "greatest", "number"),
    ("missing", "missing", "number"),
    ("outliers", "|z| >= 3", "number"),
    ("distinct", "words", "number"),
    ("between", "variance between classes", "percent"),
]


def feature_section(found: dict[str, Any]) -> list[Block]:
    """Statistics and correlations of features; for pictures each class's mean."""
    statistics = found.get("statistics")
    blocks: list[Block] = []
    if found.get("means") and found.get("picture"):
        names = found["data"]["classes"]
        pictures = [(each, f"class {name}") for each, name in zip(found["means"], names, strict=False)]
        blocks.append(Gallery("The mean of each class", tuple(found["picture"]), pictures))
    if not statistics:
        return blocks
    listed = statistics["features"]
    table = Table("features", "Statistics of features", _COLUMNS, listed)
    rows = [row for order, each in enumerate(listed) if (row := _box(each, order)) is not None]
    if found.get("picture"):
        blocks.append(Table("features", "Statistics of pixels", _COLUMNS, listed, folded=True))
    else:
        if rows:
            caption = (
                "Boxes hold the middle half, lines reach to the least and greatest value (cut at ±6); colour: the share of the "
                "variance that lies between classes."
            )
            blocks.append(Chart("features", "Features", draw.features(rows), caption, table))
        else:
            blocks.append(table)
        blocks += _correlations(statistics)
    blocks += [Text(note, small=True) for note in statistics["notes"]]
    return blocks


def _box(each: dict[str, Any], order: int) -> dict[str, Any] | None:
    if not each.get("std") or each.get("mean") is None:
        return None

    def place(value: Any) -> float:
        return round(max(-6.0, min(6.0, ((value or 0.0) - each["mean"]) / each["std"])), 3)

    ends = {"low": place(each["min"]), "high": place(each["max"]), "first": place(each["quartile1"])}
    return {**each, "order": order, **ends, "third": place(each["quartile3"]), "middle": place(each["median"])}


def _correlations(statistics: dict[str, Any]) -> list[Block]:
    names, r = statistics["matrix"]["names"], statistics["matrix"]["r"]
    if len(names) < 2:
        return []
    rows = [
        {"one": names[a], "two": names[b], "a": a, "b": b, "r": r[a][b]}
        for a in range(len(names))
        for b in range(len(names))
        if a != b
    ]
    pairs = [{"one": a, "two": b, "r": value} for a, b, value in statistics["pairs"]]
    table = Table(
        "correlations",
        "The strongest correlations",
        [("one", "feature", "text"), ("two", "and", "text"), ("r", "r", "number")],
        pairs,
    )
    caption = "" if len(names) == statistics["count"] else f"{len(names)} of {statistics['count']} features."
    return [Chart("correlations", "Correlations of features", draw.correlations(rows, len(names)), caption, table)]


def map_section(found: dict[str, Any]) -> list[Block]:
    """A sample of rows in two dimensions, by class and by error."""
    place = found.get("map")
    if not place:
        return []
    names = found["data"]["classes"]
    wrong = place.get("wrong") or [None] * len(place["rows"])
    rows = [
        {"x": x, "y": y, "row": row + 1, "class": names[code], "order": code, "wrong": bad, "verdict": _verdict(bad)}
        for (x, y), row, code, bad in zip(place["places"], place["rows"], place["classes"], wrong, strict=True)
    ]
    size = f"{len(rows):,} rows" if len(rows) == place["of"] else f"a sample of {len(rows):,} of {place['of']:,} rows"
    method = place["method"]
    caption = f"By {method}: {size}."
    letters = 2 < len(names) <= 10 and all(len(name) <= _SHORT for name in names)
    columns = [
        ("row", "row", "number"),
        ("class", "class", "text"),
        ("x", "x", "number"),
        ("y", "y", "number"),
        ("verdict", "predicted", "text"),
    ]
    table = Table("map", "The map", columns, rows[:200])
    blocks: list[Block] = [
        Chart("map-classes", "A map of rows, by class", draw.map_of_classes(rows, len(names), letters), caption, table, half=True)
    ]
    if wrong[0] is not None:
        caption = "The same places; crosses are rows that the chosen model predicts wrongly."
        blocks.append(Chart("map-errors", "The map, by error", draw.map_of_errors(rows), caption, half=True))
    return blocks


def _verdict(bad: Any) -> str:
    return "" if bad is None else "wrong" if bad else "right"


def boundary_section(found: dict[str, Any]) -> list[Block]:
    """Where the model changes its mind."""
    edge = found.get("boundary")
    if not edge:
        return []
    if isinstance(edge, str):
        return [Text(edge, small=True)]
    names = found["data"]["classes"]
    side = round(len(edge["grid"]) ** 0.5)
    width, height = ((edge["high"][k] - edge["low"][k]) / (side - 1) for k in (0, 1))
    cells = []
    for line in range(side):
        codes = edge["grid"][line * side : (line + 1) * side]
        start = 0
        for at in range(1, side + 1):  # neighbours of one class are one rectangle
            if at == side or codes[at] != codes[start]:
                left, low = edge["low"][0] + (start - 0.5) * width, edge["low"][1] + (line - 0.5) * height
                right = edge["low"][0] + (at - 0.5) * width
                cells.append({"x": left, "x2": right, "y": low, "y2": low + height, "class": names[codes[start]]})
                start = at
    points = [{"x": x, "y": y, "class": names[code]} for (x, y), code in zip(edge["points"], edge["classes"], strict=True)]
    if edge["exact"]:
        caption = "Areas: what the model predicts. Points: some of the rows, in the colour of their own class."
    else:
        caption = (
            "Areas: what the model predicts in the plane of the two first principal components through the mean. Points: some of "
            "the rows, projected on to that plane; a point may lie in a foreign area without being an error."
        )
    shares = [edge["grid"].count(code) / len(edge["grid"]) for code in range(len(names))]
    listed = [{"class": name, "share": share} for name, share in zip(names, shares, strict=True) if share]
    table = Table(
        "boundary", "Shares of the plane", [("class", "class", "text"), ("share", "share of the plane", "percent")], listed
    )
    return [Chart("boundary", "Decision boundary", draw.boundary(cells, points, edge["titles"], names), caption, table)]


def curve_section(found: dict[str, Any]) -> list[Block]:
    """What the learner recorded while it learned."""
    blocks: list[Block] = []
    for number, curve in enumerate(found.get("curves") or []):
        rows = [{"x": x, "y": y} for x, y in curve["points"]]
        title = curve["what"][0].upper() + curve["what"][1:]
        table = Table(f"curve-{number + 1}", title, [("x", curve["x"], "number"), ("y", curve["what"], "number")], rows)
        blocks.append(Chart(f"curve-{number + 1}", title, draw.curve(rows, curve["x"], curve["what"]), "", table, half=True))
    return blocks


def again_section(found: dict[str, Any]) -> Section:
    """Commands, Python lines, versions."""
    blocks: list[Block] = []
    if found.get("command"):
        blocks.append(Code("The command of this run", found["command"]))
    if found.get("python"):
        blocks.append(Code("The model in Python", found["python"]))
    told = {"seed": found.get("seed"), "duration": duration(found.get("seconds")), **found.get("made", {})}
    blocks.append(Facts({name: value for name, value in told.items() if value is not None}))
    return Section("again", "Do it again", blocks)


def error_table(errors: dict[str, Any], title: str = "Errors of the refitted choice", folded: bool = False) -> list[Block]:
    """Counted errors with their intervals."""
    rows = [
        {"rows of": name, **each} for name, each in errors.items() if isinstance(each, dict) and each.get("error") is not None
    ]
    columns = [
        ("rows of", "", "text"),
        ("rows", "rows", "number"),
        ("mistakes", "mistakes", "number"),
        ("error", "error", "percent"),
    ]
    columns += [("low", "95 % from", "percent"), ("high", "to", "percent")]
    return [Table("errors", title, columns, rows, folded=folded)] if rows else []
