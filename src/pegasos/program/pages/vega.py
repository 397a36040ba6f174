"""Short names for parts of Vega-Lite charts, which are plain dictionaries.

Names of fields never come from data: names of columns and classes are values, drawn as text.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Spec = dict[str, Any]
Rows = list[dict[str, Any]]

#: Colors of classes that color-blind readers can distinguish, on light and dark pages: those of
#: Okabe and Ito, then the ones that stay furthest from all others for every color blindness.
CLASSES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9"]
CLASSES += ["#d55e00", "#976efe", "#6b6c4c", "#a7286e", "#c20a1f"]
#: Ordered colors for more classes: viridis without its ends, which are too dark or too bright.
_MANY = ["#472c7a", "#3b518b", "#2c718e", "#21908d", "#27ad81", "#5cc863", "#aad232"]
#: Colors of bars, of what is highlighted, and of what is in the background.
BLUE, ORANGE, GRAY = "#0072b2", "#d55e00", "#9aa5b1"
#: Labels on colored cells: white on dark ones.
_DARK = {"test": "luminance(scale('color', datum.value)) < 0.19", "value": "#fff"}
ON_CELLS: Spec = {"condition": _DARK, "value": "#111"}
#: Names of channels.
_CHANNELS = {"x", "x2", "y", "y2", "color", "opacity", "shape", "size", "stroke", "text"}
_CHANNELS |= {"tooltip", "order", "url"}
#: Expression for the number at a tick of an axis: 1e-5, 0.01, 300, 25k.
TICK = (
    "(datum.value > 0 && datum.value < 0.001 || datum.value >= 1e6"
    " ? replace(format(datum.value, '.2~e'), '+', '')"
    " : datum.value >= 1000 ? format(datum.value, '~s') : format(datum.value, '.4~g'))"
)


def class_colors(count: int) -> list[str]:
    """Return a color for each class.

    >>> class_colors(2), class_colors(99)[::49]
    (['#0072b2', '#e69f00'], ['#472c7a', '#21908d', '#aad232'])
    """
    if count <= len(CLASSES):
        return CLASSES[:count]
    places, inks = (
        np.linspace(0, len(_MANY) - 1, count),
        np.array([[*bytes.fromhex(each[1:])] for each in _MANY]),
    )
    mixed = [np.interp(places, range(len(_MANY)), parts) for parts in inks.T]
    return [f"#{bytes(ink).hex()}" for ink in np.column_stack(mixed).round().astype(np.uint8)]


def class_color(count: int, legend: bool = True) -> Spec:
    """Return the color channel of classes; more than 30 have no legend."""
    look = {"title": "class", "labelLimit": 160, "columns": 1, "symbolOpacity": 1}
    shown = look if legend and count <= 30 else None
    return word("class", "order", scale={"range": class_colors(count)}, legend=shown)


def signed(field: str, most: float) -> Spec:
    """Return channels of a number around zero: orange above, blue below, pale near zero."""
    size = {"calculate": f"abs(datum.{field})", "as": "size"}
    opacity = number("size", scale={"domain": [0, most], "range": [0.03, 1]}, legend=None)
    color = either(f"datum.{field} < 0", BLUE, "#d98200")
    return {"transform": [size], "encoding": {"color": color, "opacity": opacity}}


def number(field: str, **more: Any) -> Spec:
    """Return a channel of numbers."""
    return {"field": field, "type": "quantitative", **more}


def quantity(field: str, title: str, values: list[float], zero: bool = False) -> Spec:
    """Return a channel of numbers, logarithmic if they differ by more than a factor of ten."""
    axis: Spec = {"labelExpr": TICK, "labelOverlap": "greedy", "tickCount": 5}
    scale: Spec = {"type": "linear", "zero": zero, "nice": True}
    low, high = min(values), max(values)
    if low > 0 and high > 10 * low:
        scale = {"type": "log", "nice": False}
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        factors = (1,) if high > 1000 * low else (1, 2, 5)
        ticks = (float(f"{factor}e{power}") for power in powers for factor in factors)
        axis["values"] = [each for each in ticks if low <= 1.0001 * each <= 1.0002 * high]
    return number(field, title=title, scale=scale, axis=axis)


def word(field: str, order: str | None = None, **more: Any) -> Spec:
    """Return a channel of texts, sorted by another field."""
    sort = {} if order is None else {"sort": {"field": order, "op": "min", "order": "ascending"}}
    return {"field": field, "type": "nominal", **sort, **more}


def names(field: str, order: str, limit: int, **axis: Any) -> Spec:
    """Return an axis of names without a title; longer names are cut at a number of pixels."""
    return word(field, order, title=None, axis={"labelLimit": limit, **axis})


def either(test: str, yes: Any, no: Any) -> Spec:
    """Return a channel whose value depends on a test of the row."""
    return {"condition": {"test": test, "value": yes}, "value": no}


def tooltip(**titles: str | tuple[str, str]) -> list[Spec]:
    """Return fields with their titles; a field of numbers has a title and a format."""
    return [
        word(field, title=title)
        if isinstance(title, str)
        else number(field, title=title[0], format=title[1])
        for field, title in titles.items()
    ]


def mark(kind: str, *encodings: Spec, **more: Any) -> Spec:
    """Return a layer of marks (points, lines, bars, ...).

    Channels are `encodings`, and all of `more` that are dicts or lists with the name of a channel;
    the rest of `more` are properties of the mark.
    """
    channels = {
        name: value
        for name, value in more.items()
        if name in _CHANNELS and isinstance(value, dict | list)
    }
    look = {name: value for name, value in more.items() if name not in channels}
    encoding = {name: each for channel in (*encodings, channels) for name, each in channel.items()}
    return {"mark": {"type": kind, **look}, "encoding": encoding}


def bars(rows: Rows, name: str, value: str, hints: list[Spec], form: str, height: Any) -> Spec:
    """Return bars in the order of the rows' `order`, with names beside and numbers at the ends."""
    title = next(hint["title"] for hint in hints if hint["field"] == value)
    places = {"y": names(name, "order", 230)}
    places["x"] = number(value, title=title, axis={"labelExpr": TICK, "tickCount": 5})
    text = number(value, format=form)
    layers = [
        mark("bar", places, tooltip=hints, color=BLUE),
        mark("text", places, text=text, align="left", dx=4, aria=False),
    ]
    return chart(rows, *layers, height=height)


def heatmap(
    rows: Rows, places: Spec, color: Spec, ink: Spec, label: Spec | None, *over: Spec, **more: Any
) -> Spec:
    """Return colored cells, layers over them, and on top their labels in the color `ink`.

    `places` are the axes and the tooltip.
    """
    layers = [mark("rect", places, color), *over]
    if label is not None:
        look = {"fontSize": 11, "fontWeight": 500, "aria": False}
        layers.append(mark("text", places, text=label, color=ink, **look))
    return chart(rows, *layers, **more)


def chart(
    rows: Rows, *layers: Spec, width: Any = "container", height: Any = None, **more: Any
) -> Spec:
    """Return a chart of layers over the same rows.

    A size is a number of pixels, or a list with the step of a nominal axis.
    """
    drawn = {"layer": list(layers)} if len(layers) > 1 else layers[0]
    width, height = (
        {"step": size[0]} if isinstance(size, list) else size for size in (width, height)
    )
    return {"data": {"values": rows}, **drawn, "width": width, "height": height, **more}
