"""The charts of data and of one model: classes, features, correlations, maps, boundaries, curves, times."""

from __future__ import annotations

import math
from typing import Any

from pegasos.program.pages.vega import (
    CLASSES,
    TICK,
    Rows,
    Spec,
    calculated,
    chart,
    class_colours,
    either,
    mark,
    number,
    signed,
    tooltip,
    word,
)

_CLASS = {"class": "class"}


def class_color(count: int, legend: bool = True) -> Spec:
    """Colours of classes: a palette for the colour-blind as far as it reaches, else an ordered scale."""
    scale: Spec = {"range": class_colours(count)}
    shown = (
        {"title": "class", "labelLimit": 160, "columns": 1, "symbolOpacity": 1}
        if legend and count <= 30
        else None
    )
    return word("class", "order", scale=scale, legend=shown)


def _names(field: str, order: str, limit: int, **axis: Any) -> Spec:
    """Words along an axis without a title, no longer than so many pixels."""
    return word(field, order, title=None, axis={"labelLimit": limit, **axis})


def counts(rows: Rows) -> Spec:
    """Rows of each class as bars."""
    x = number("rows", title="rows", axis={"labelExpr": TICK, "tickCount": 5})
    places = {"x": x, "y": _names("class", "order", 160)}
    bars = mark(
        "bar",
        {**places, "tooltip": tooltip(**_CLASS, rows=("rows", ","), share=("share", ".1%"))},
        color="#4c78a8",
    )
    text = mark(
        "text", {**places, "text": number("rows", format=",")}, align="left", dx=4, aria=False
    )
    return chart(rows, bars, text, height=(20 if len(rows) <= 30 else 11) * len(rows))


def features(rows: Rows) -> Spec:
    """Quartiles, least and greatest value of each feature, in deviations from its mean (cut at ±6)."""
    y, title = {"y": _names("name", "order", 150)}, "deviations from the mean"
    names = ("mean", "std", "min", "quartile1", "median", "quartile3", "max")
    legend = {
        "title": "between classes",
        "format": ".0%",
        "orient": "top",
        "gradientLength": 140,
        "gradientThickness": 8,
    }
    # from grey to orange: the more it tells classes apart the more it stands out, on light and on dark
    color = number("between", scale={"range": ["#8a94a0", "#e08600"]}, legend=legend)
    hints = tooltip(name="feature", **{name: (name, ".4~g") for name in names})
    box = {
        "x": number("first", title=title),
        "x2": {"field": "third"},
        **y,
        "color": color,
        "tooltip": hints,
    }
    whisker = mark(
        "rule",
        {
            "x": number("low", title=title, axis={"tickCount": 7, "format": "~g"}),
            "x2": {"field": "high"},
            **y,
        },
    )
    middle = mark(
        "tick", {"x": number("middle", title=title), **y}, thickness=2, size=11, color="#fff"
    )
    return chart(rows, whisker, mark("bar", box, size=9), middle, height=17 * len(rows))


def correlations(rows: Rows, count: int) -> Spec:
    """r of pairs of features, blue below zero and orange above."""
    places = {"x": _names("one", "a", 110, labelAngle=-60), "y": _names("two", "b", 110)}
    looks = signed("r", 1.0)
    hints = {"tooltip": tooltip(one="feature", two="and", r=("r", ".2f"))}
    rect = mark("rect", {**places, **looks["encoding"], **hints})
    ink = either("abs(datum.r) > 0.7", "#fff", "currentColor")
    text = mark(
        "text", {**places, "text": number("r", format=".1f"), "color": ink}, fontSize=9, aria=False
    )
    step = [44 if count <= 12 else 24]
    return chart(rows, rect, text, width=step, height=step, transform=looks["transform"])


def _places() -> Spec:
    """A map's axes mean nothing, and are not drawn."""
    scale = {"zero": False, "nice": False, "padding": 8}
    bare = {"labels": False, "ticks": False, "grid": False, "domain": False}
    hints = tooltip(**_CLASS, row=("row", "d"), verdict="predicted")
    return {
        **{name: number(name, title=None, scale=scale, axis=bare) for name in "xy"},
        "tooltip": hints,
    }


def map_of_classes(rows: Rows, classes: int, letters: bool) -> Spec:
    """Places of rows in the colour of their class; short labels are drawn themselves, which needs no legend."""
    places = {**_places(), "color": class_color(classes, legend=not letters)}
    if letters:
        return chart(
            rows,
            mark("text", {**places, "text": word("class")}, fontSize=11, fontWeight=600),
            height=380,
        )
    return chart(rows, mark("point", places, filled=True, size=28, opacity=0.8), height=380)


def map_of_errors(rows: Rows) -> Spec:
    """The same places: right rows pale, wrong ones large and drawn last."""
    domain, wrong = ["right", "wrong"], "datum.verdict === 'wrong'"
    looks = {
        "color": word(
            "verdict", scale={"domain": domain, "range": ["#9aa5b1", "#d55e00"]}, legend=None
        ),
        "shape": word(
            "verdict", scale={"domain": domain, "range": ["circle", "cross"]}, legend=None
        ),
        "size": either(wrong, 90, 16),
        "opacity": either(wrong, 1, 0.55),
        "order": number("wrong"),
    }
    return chart(rows, mark("point", {**_places(), **looks}, filled=True), height=380)


def boundary(
    image: str, points: Rows, titles: list[str], ends: list[list[float]], classes: list[str]
) -> Spec:
    """The plane as a picture, and some rows in the colour of their own class, those that hold the boundary in a ring."""
    legend = (
        {"title": "class", "labelLimit": 160, "symbolOpacity": 1} if len(classes) <= 30 else None
    )
    color = {
        "color": word(
            "class", scale={"domain": classes, "range": class_colours(len(classes))}, legend=legend
        )
    }
    axis = {"grid": False, "tickCount": 6, "labelExpr": TICK}
    scales = [
        {"nice": False, "zero": False, "domain": [low, high]}
        for low, high in zip(*ends, strict=True)
    ]
    places = {
        name: number(name, title=titles[k], scale=scales[k], axis=axis)
        for k, name in enumerate("xy")
    }
    size = {"width": {"expr": "width"}, "height": {"expr": "height"}}
    plane = mark(
        "image",
        {"x": {"value": 0}, "y": {"value": 0}, "url": {"value": image}},
        aspect=False,
        align="left",
        baseline="top",
        aria=False,
        **size,
    )
    dots = mark(
        "point",
        {**places, **color, "tooltip": tooltip(**_CLASS)},
        filled=True,
        size=34,
        opacity=1,
        stroke="#fff",
        strokeWidth=0.7,
    )
    rings = mark(
        "point",
        places,
        filled=False,
        size=110,
        opacity=0.75,
        stroke="currentColor",
        strokeWidth=1.1,
        aria=False,
    )
    layers = [
        {**plane, "data": {"values": [{}]}},
        {**rings, "transform": [{"filter": "datum.holds"}]},
        dots,
    ]
    return chart(points, *layers, height=440)


def curve(rows: Rows, x: str, y: str, line: str | None = None) -> Spec:
    """A recorded number against steps or epochs, logarithmic where it falls by more than a digit; `line`: what lines are."""
    encoding = {
        **_watched(rows, x, line),
        "y": number("y", **_falling([row["y"] for row in rows], y)),
    }
    encoding["tooltip"] = tooltip(**({"line": line} if line else {}), x=(x, ","), y=(y, ".4~g"))
    return chart(rows, mark("line", encoding, **_LINE), height=240 if line is None else 320)


def course(rows: Rows, x: str, y: str, line: str | None = None) -> Spec:
    """Objectives with the bounds below them (dashed) closing in, logarithmic where an objective falls by more than a digit."""
    least, most = min(row["y"] for row in rows), max(row["y"] for row in rows)
    floor = (
        least / 30 if _is_wide([least, most]) else 0.0
    )  # a bound that is nearly nothing stands on it
    down = _falling([max(floor, row["bound"]) for row in rows] + [most], y)
    hints = tooltip(
        **({"line": line} if line else {}),
        x=(x, ","),
        y=(y, ".5~g"),
        bound=("certified lower bound", ".5~g"),
    )
    places = {**_watched(rows, x, line), "tooltip": hints}
    inks = [{"color": {"value": colour}} if line is None else {} for colour in CLASSES[:2]]
    above = mark("line", {**places, **inks[0], "y": number("y", **down)}, **_LINE)
    below = mark(
        "line", {**places, **inks[1], "y": number("lower", **down)}, **_LINE, strokeDash=[6, 3]
    )
    between = {**places, **inks[1], "y": number("lower", **down), "y2": {"field": "y"}}
    shade = mark("area", between, opacity=0.12, aria=False)
    lower = calculated(lower=f"max(datum.bound, {floor:.4g})")
    return chart(rows, shade, above, below, height=240 if line is None else 320, transform=lower)


_LINE: Spec = {"strokeWidth": 2, "point": {"size": 14, "filled": True}}


def _watched(rows: Rows, x: str, line: str | None) -> Spec:
    """Steps across, and a colour a line."""
    first, last = min(row["x"] for row in rows), max(row["x"] for row in rows)
    whole = (
        {"values": list(range(first, last + 1))}
        if last - first <= 6
        else {"tickCount": 6, "tickMinStep": 1}
    )
    ticks = {"labelExpr": TICK, **whole}
    across = {"x": number("x", title=x, scale={"nice": False}, axis=ticks)}
    if line is None:
        return across
    colours = class_colours(len({row["line"] for row in rows}))
    legend = {"labelLimit": 230, "symbolOpacity": 1}  # of the lines, not of the shades between them
    return {
        **across,
        "color": word("line", title=line, sort=None, scale={"range": colours}, legend=legend),
    }


def _is_wide(values: list[float]) -> bool:
    return min(values) > 0 and max(values) / min(values) > 10


def _falling(values: list[float], title: str) -> Spec:
    """An axis for numbers of this kind; a logarithmic one with a line a digit, or three where there are few digits."""
    if not _is_wide(values):
        scale: Spec = {"type": "linear", "zero": False, "nice": True}
        return {
            "title": title,
            "scale": scale,
            "axis": {"labelExpr": TICK, "tickCount": 5, "labelOverlap": "greedy"},
        }
    least, most = math.log10(min(values)), math.log10(max(values))
    factors = (1,) if most - least > 3 else (1, 2, 5)
    marks = [
        factor * 10.0**power
        for power in range(math.floor(least), math.ceil(most) + 1)
        for factor in factors
    ]
    shown = [
        float(f"{each:.3g}")
        for each in marks
        if min(values) <= each * 1.0001 and each <= max(values) * 1.0001
    ]
    scale = {"type": "log", "nice": False}
    return {
        "title": title,
        "scale": scale,
        "axis": {"labelExpr": TICK, "values": shown, "labelOverlap": "greedy"},
    }


def _measured(title: str, scale: str) -> Spec:
    return number(
        "y",
        title=title,
        scale={"type": scale, "nice": False},
        axis={"labelExpr": TICK, "tickCount": 5},
    )


def times(rows: Rows, x: str, y: str, line: str) -> Spec:
    """Seconds against T (or rows), a line a kernel, both axes logarithmic."""
    ticks = {
        "labelExpr": TICK,
        "labelOverlap": "greedy",
        "values": sorted({row["x"] for row in rows}),
    }
    legend = {"labelLimit": 220, "orient": "top", "columns": 2}
    across = number("x", title=x, scale={"type": "log", "nice": False}, axis=ticks)
    color = word("line", title=line, scale={"range": CLASSES}, legend=legend)
    hints = tooltip(line=line, x=(x, ","), y=(y, ".4~g"))
    encoding = {"x": across, "y": _measured(y, "log"), "color": color, "tooltip": hints}
    return chart(
        rows, mark("line", encoding, strokeWidth=2, point={"size": 40, "filled": True}), height=260
    )


def weights(rows: Rows, classes: int) -> Spec:
    """Weights of a linear predictor: bars for two classes, else classes across."""
    hints = tooltip(feature="feature", **{"class": "for class"}, weight=("weight", ".4~g"))
    places = {"y": _names("feature", "order", 150), "tooltip": hints}
    if classes == 1:
        ink = either("datum.weight < 0", "#0072b2", "#e69f00")
        bars = {**places, "x": number("weight", axis={"format": "~g"}), "color": ink}
        return chart(rows, mark("bar", bars), height=18 * len(rows))
    looks = signed("weight", max(abs(row["weight"]) for row in rows) or 1.0)
    across = word(
        "class", "place", axis={"labelAngle": 0 if classes <= 12 else -60, "labelLimit": 90}
    )
    rects = mark("rect", {**places, "x": across, **looks["encoding"]})
    return chart(
        rows, rects, width=[44 if classes <= 20 else 14], height=[18], transform=looks["transform"]
    )
