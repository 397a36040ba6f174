"""Sections that pages share: the rows, the map, the boundary, curves, and how to reproduce a run."""

from __future__ import annotations

from typing import Any

from pegasos.metrics import Measure
from pegasos.program.pages import row_charts as draw
from pegasos.program.pages.blocks import (
    Block,
    Chart,
    Code,
    Facts,
    Gallery,
    Section,
    Table,
    Text,
    Tile,
    columns,
)
from pegasos.program.pages.boundary_picture import fields, picture
from pegasos.program.pages.vega import Spec, class_colours
from pegasos.program.pages.wording import duration, interval, percent
from pegasos.program.records.pages import (
    Boundary,
    Certificate,
    Curve,
    DataRecord,
    FeatureRecord,
    PageRecord,
    Statistics,
    Weights,
)
from pegasos.program.records.runs import ErrorCount
from pegasos.program.terminal.reproduction import python_lines
from pegasos.search.estimates import Estimate
from pegasos.search.figures import Figure
from pegasos.search.settings import Setting

#: Labels up to this length are drawn on maps themselves.
SHORT = 2


def common_sections(record: PageRecord, setting: Setting) -> list[Section]:
    """How a model learned, what it makes of the rows, and how to make it again."""
    blocks: list[Block] = (
        [] if record.command is None else [Code("The command of this run", record.command)]
    )
    blocks.append(Code("The model in Python", python_lines(setting, record.seed)))
    blocks.append(Facts({"seed": record.seed, "duration": duration(record.seconds), **record.made}))
    return [
        Section("weights", "Weights", _weights(record.weights)),
        Section(
            "learning",
            "Learning",
            [
                *curve_blocks([(None, each) for each in record.curves]),
                *_certificates(record.certificates),
            ],
        ),
        Section("boundary", "Decision boundary", _boundary(record)),
        Section("map", "A map of the rows", map_section(record)),
        Section("rows", "The data", [*_classes(record.data), *feature_section(record)]),
        Section("again", "Reproduce this run", blocks),
    ]


def honest_tile(honest: Estimate | None, guess: float | None = None) -> list[Tile]:
    """What the choice is worth, where that was estimated; the bar is its part of what guessing gives."""
    if honest is None:
        return []
    words = f"{interval(honest.low, honest.high)}; {honest.method}"
    return [
        ("Error to expect on new rows", percent(honest.error), words, share_of(honest.error, guess))
    ]


def share_of(error: float, guess: float | None) -> float | None:
    """An error as a part of what guessing gives, for a bar."""
    return None if not guess else min(1.0, error / guess)


def _classes(data: DataRecord) -> list[Block]:
    if not data.counts:
        return []
    rows, title = class_rows(data.classes, data.counts), "Rows of each class"
    listed = (
        columns("text", **{"class": "class"})
        + columns("number", rows="rows")
        + columns("percent", share="share")
    )
    return [Chart("classes", title, draw.counts(rows), "", Table("classes", title, listed, rows))]


def class_rows(classes: list[str], counts: list[int]) -> list[dict[str, Any]]:
    """Rows of a chart of counts."""
    total, pairs = sum(counts) or 1, zip(classes, counts, strict=True)
    return [
        {"class": name, "rows": many, "share": many / total, "order": at}
        for at, (name, many) in enumerate(pairs)
    ]


_COLUMNS = columns("text", name="feature", kind="kind")
_COLUMNS += columns(
    "number", mean="mean", std="deviation", min="least", quartile1="1st quartile", median="median"
)
_COLUMNS += columns(
    "number",
    quartile3="3rd quartile",
    max="greatest",
    missing="missing",
    outliers="|z| >= 3",
    distinct="words",
)
_COLUMNS += columns("percent", between="variance between classes")


def feature_section(record: PageRecord) -> list[Block]:
    """Statistics and correlations of features; for pictures each class's mean."""
    statistics, shape = record.rows.statistics, record.rows.shape
    blocks: list[Block] = []
    if record.rows.means and shape:
        pictures = [
            (each, f"class {name}")
            for each, name in zip(record.rows.means, record.data.classes, strict=False)
        ]
        blocks.append(Gallery("The mean of each class", (shape[0], shape[1]), pictures))
    if statistics is None:
        return blocks
    what = "pixels" if shape else "features"
    table = Table(
        "features",
        f"Statistics of {what}",
        _COLUMNS,
        [vars(each) for each in statistics.features],
        folded=bool(shape),
    )
    boxes = [
        _box(each, order)
        for order, each in enumerate(statistics.features)
        if each.std and each.mean is not None
    ]
    if shape:
        blocks.append(table)
    else:
        caption = (
            "Boxes hold the middle half, lines reach to the least and greatest value (cut at ±6); "
        )
        caption += "colour: the share of the variance that lies between classes."
        blocks.append(
            Chart("features", "Features", draw.features(boxes), caption, table) if boxes else table
        )
        blocks += _correlations(statistics)
    return [*blocks, *(Text(note, small=True) for note in statistics.notes)]


def _box(each: FeatureRecord, order: int) -> dict[str, Any]:
    mean, deviation = each.mean or 0.0, each.std or 1.0
    values = {
        "low": each.min,
        "first": each.quartile1,
        "middle": each.median,
        "third": each.quartile3,
        "high": each.max,
    }
    places = {
        name: round(max(-6.0, min(6.0, ((value or 0.0) - mean) / deviation)), 3)
        for name, value in values.items()
    }
    return {**vars(each), "order": order, **places}


def _correlations(statistics: Statistics) -> list[Block]:
    names = statistics.names
    if len(names) < 2:
        return []
    places = [(a, b) for a in range(len(names)) for b in range(len(names)) if a != b]
    rows = [
        {"one": names[a], "two": names[b], "a": a, "b": b, "r": statistics.matrix[a][b]}
        for a, b in places
    ]
    listed = columns("text", one="feature", two="and") + columns("number", r="r")
    strongest = [{"one": one, "two": two, "r": r} for one, two, r in statistics.pairs]
    table = Table("correlations", "The strongest correlations", listed, strongest)
    caption = (
        "" if len(names) == statistics.count else f"{len(names)} of {statistics.count} features."
    )
    return [
        Chart(
            "correlations",
            "Correlations of features",
            draw.correlations(rows, len(names)),
            caption,
            table,
        )
    ]


PLACES = [
    ("row", "row", "number"),
    ("class", "class", "text"),
    ("x", "x", "number"),
    ("y", "y", "number"),
]


def map_section(record: PageRecord) -> list[Block]:
    """A sample of rows in two dimensions, by class and by error."""
    place = record.rows.map
    if place is None:
        return []
    names, rows = record.data.classes, []
    for row, code, (x, y), wrong in zip(
        place.rows, place.classes, place.places, place.wrong, strict=True
    ):
        known = {"row": row + 1, "class": names[code], "order": code, "x": x, "y": y}
        rows.append({**known, "wrong": wrong, "verdict": "wrong" if wrong else "right"})
    size = (
        f"{len(rows):,} rows"
        if len(rows) == place.of
        else f"a sample of {len(rows):,} of {place.of:,} rows"
    )
    table = Table("map", "The map", [*PLACES, ("verdict", "predicted", "text")], rows[:200])
    title, crosses = (
        "A map of rows, by class",
        "The same places; crosses are rows that the chosen model predicts wrongly.",
    )
    return [
        Chart(
            "map-classes",
            title,
            class_map(rows, len(names)),
            f"By {place.method}: {size}.",
            table,
            half=True,
        ),
        Chart("map-errors", "The map, by error", draw.map_of_errors(rows), crosses, half=True),
    ]


def class_map(rows: list[dict[str, Any]], classes: int) -> dict[str, Any]:
    """Rows at their places; a few short labels are drawn themselves."""
    letters = 2 < classes <= 10 and all(len(row["class"]) <= SHORT for row in rows)
    return draw.map_of_classes(rows, classes, letters)


def _boundary(record: PageRecord) -> list[Block]:
    edge, names = record.boundary, record.data.classes
    if edge is None:
        return [Text(record.no_boundary, small=True)] if record.no_boundary else []
    caption = "Areas: what the model predicts, the stronger the larger the lead. Points: some rows, in the colour of their class."
    if not edge.exact:
        caption = "Areas: what the model predicts in the plane of the two first principal components through the mean. Points: "
        caption += "some of the rows, projected on to that plane; a point may lie in a foreign area without being an error."
    if edge.holding:
        caption += " Dashed: the margins. In a ring: support vectors, on or inside their margin."
    best, _ = fields(edge)
    shares = [
        {"class": names[code], "share": float((best == place).mean())}
        for place, code in enumerate(edge.codes)
    ]
    columned = columns("text", **{"class": "class"}) + columns(
        "percent", share="share of the plane"
    )
    table = Table(
        "boundary", "Shares of the plane", columned, [row for row in shares if row["share"]]
    )
    return [
        Chart(
            "boundary",
            "Decision boundary",
            boundary_chart(edge, names),
            caption,
            table,
            narrow=True,
        )
    ]


def boundary_chart(edge: Boundary, names: list[str]) -> Spec:
    """The plane with its rows; `names` are those of all classes."""
    holding = edge.holding or [False] * len(edge.points)
    listed = zip(edge.points, edge.classes, holding, strict=True)
    points = [
        {"x": x, "y": y, "class": names[code], "holds": holds} for (x, y), code, holds in listed
    ]
    return draw.boundary(
        picture(edge, class_colours(len(names))), points, edge.titles, [edge.low, edge.high], names
    )


def curve_blocks(named: list[tuple[str | None, Curve]], caption: str = "") -> list[Block]:
    """What learners recorded, those of one kind in one chart; learners have names where there are several."""
    together: dict[tuple[str, str, bool], list[dict[str, Any]]] = {}
    for name, curve in named:
        own = {} if name is None else {"line": name}
        rows: list[dict[str, Any]] = [
            own | {"x": x, "y": y} for x, y in zip(curve.steps, curve.values, strict=True)
        ]
        for row, bound in zip(rows, curve.bounds, strict=False):
            row["bound"] = bound
        together.setdefault((curve.what, curve.unit, bool(curve.bounds)), []).extend(rows)
    blocks: list[Block] = []
    for number, ((what, unit, bounded), rows) in enumerate(together.items(), start=1):
        line = "model" if "line" in rows[0] else None
        title = what[0].upper() + what[1:]
        listed = (columns("text", line=line) if line else []) + columns("number", x=unit, y=what)
        listed += columns("number", bound="certified lower bound") if bounded else []
        told = f"Dashed: no predictor is below. {caption}".strip() if bounded else caption
        chart = (
            draw.course(rows, unit, what, line) if bounded else draw.curve(rows, unit, what, line)
        )
        table = Table(f"curve-{number}", title, listed, rows[:1000])
        blocks.append(Chart(f"curve-{number}", title, chart, told, table, half=True))
    return blocks


def _weights(weights: Weights | None) -> list[Block]:
    if weights is None:
        return []
    rows = [
        {"feature": feature, "order": place, "class": name, "place": line, "weight": values[place]}
        for line, (name, values) in enumerate(zip(weights.classes, weights.weights, strict=True))
        for place, feature in enumerate(weights.features)
    ]
    listed = columns("text", **{"feature": "feature", "class": "for class"}) + columns(
        "number", weight="weight"
    )
    some = (
        ""
        if weights.of == len(weights.features)
        else f"The {len(weights.features)} largest of {weights.of:,}. "
    )
    caption = some + "Of the features as the learner sees them, after scaling."
    if len(weights.classes) > 1:
        caption += " Orange speaks for a class, blue against it."
    else:
        caption += f" Positive weights speak for {weights.classes[0]}."
    chart = draw.weights(rows, len(weights.classes))
    table = Table("weights", "Weights", listed, rows)
    return [
        Chart(
            "weights",
            "Weights of features",
            chart,
            caption,
            table,
            narrow=len(weights.classes) == 1,
        )
    ]


def _certificates(found: list[Certificate]) -> list[Block]:
    """Objectives beside the bounds below them."""
    rows = [
        {**vars(each), "gap": (each.objective - each.bound) / max(abs(each.objective), 1e-300)}
        for each in found
    ]
    listed = columns("text", of="predictor of") + columns(
        "number", objective="objective", bound="no predictor is below"
    )
    title = "The objective, and what is certified"
    return (
        [Table("certificates", title, listed + columns("number", gap="relative gap"), rows)]
        if rows
        else []
    )


def error_table(
    errors: dict[str, ErrorCount],
    title: str = "Errors of the refitted choice",
    folded: bool = False,
) -> list[Block]:
    """Counted errors with their intervals."""
    rows = [
        {"rows of": name, **vars(each)} for name, each in errors.items() if each.error is not None
    ]
    listed = columns("text", **{"rows of": ""}) + columns(
        "number", rows="rows", mistakes="mistakes"
    )
    listed += columns("percent", error="error", low="95 % from", high="to", guess="always guessing")
    return [Table("errors", title, listed, rows, folded=folded)] if rows else []


def figure_table(figures: dict[str, Figure], measure: Measure, positive: str | None) -> list[Block]:
    """The metric on each kind of rows beside what guessing would give; the error has a table of its own."""
    if measure.name == "error":
        return []
    rows = [
        {"rows of": name, **vars(each), "verdict": "" if each.better else "no better"}
        for name, each in figures.items()
    ]
    listed = columns("text", **{"rows of": ""}) + columns("number", rows="rows")
    listed += columns(
        "percent" if measure.percent else "number",
        value=measure.name,
        low="95 % from",
        high="to",
        guess="guessing",
    )
    listed += columns("text", verdict="than guessing")
    of = "" if positive is None else f" of {positive}"
    return [Table("figures", f"{measure.name}{of}", listed, rows)] if rows else []
