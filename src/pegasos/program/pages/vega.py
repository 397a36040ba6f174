"""Vega-Lite in a few words: charts are plain dictionaries, which tests check against its schema.

No name of a field comes from data: whatever a file calls its columns and classes stays a value, and is drawn as text.
"""

from __future__ import annotations

from typing import Any

Spec = dict[str, Any]
Rows = list[dict[str, Any]]

#: Colors that color-blind readers can tell apart, on light and on dark (after Okabe and Ito; the last four are
#: those of many tried that stay furthest from all others for every kind of color blindness).
CLASSES = [
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#d55e00",
    "#976efe",
    "#6b6c4c",
    "#a7286e",
    "#c20a1f",
]
#: An ordered scale for more classes than that (viridis without its ends, which are too dark or too bright for some papers).
_MANY = (
    (71, 44, 122),
    (59, 81, 139),
    (44, 113, 142),
    (33, 144, 141),
    (39, 173, 129),
    (92, 200, 99),
    (170, 210, 50),
)


def ticked(value: str) -> str:
    """An expression for the text of a number on an axis: 1e-5, 0.01, 300, 25k."""
    powers = f"{value} > 0 && {value} < 0.001 || {value} >= 1e6 ? replace(format({value}, '.2~e'), '+', '')"
    return f"({powers} : {value} >= 1000 ? format({value}, '~s') : format({value}, '.4~g'))"


#: The number that stands at a tick.
TICK = ticked("datum.value")


def class_colors(count: int) -> list[str]:
    """Return a color for each class.

    >>> class_colors(2), class_colors(99)[::49]
    (['#0072b2', '#e69f00'], ['#472c7a', '#21908d', '#aad232'])
    """
    if count <= len(CLASSES):
        return CLASSES[:count]
    found = []
    for at in range(count):
        place, rest = divmod(at * (len(_MANY) - 1), count - 1)
        one, two = _MANY[place], _MANY[min(place + 1, len(_MANY) - 1)]
        mixed = (round(a + (b - a) * rest / (count - 1)) for a, b in zip(one, two, strict=True))
        found.append("#" + "".join(f"{part:02x}" for part in mixed))
    return found


def class_color(count: int, legend: bool = True) -> Spec:
    """Return the color channel of classes."""
    look = {"title": "class", "labelLimit": 160, "columns": 1, "symbolOpacity": 1}
    shown = look if legend and count <= 30 else None
    return word("class", "order", scale={"range": class_colors(count)}, legend=shown)


def signed(field: str, most: float) -> Spec:
    """Channels for a number around zero: orange above, blue below, and the nearer to zero the nearer to the paper."""
    shade = [{"calculate": f"abs(datum.{field})", "as": "size"}]
    opacity = number("size", scale={"domain": [0, most], "range": [0.03, 1]}, legend=None)
    return {
        "transform": shade,
        "encoding": {
            "color": either(f"datum.{field} < 0", "#0072b2", "#d98200"),
            "opacity": opacity,
        },
    }


def number(field: str, **more: Any) -> Spec:
    """A channel of numbers."""
    return {"field": field, "type": "quantitative", **more}


def word(field: str, order: str | None = None, **more: Any) -> Spec:
    """A channel of words, sorted by another field."""
    sort = {} if order is None else {"sort": {"field": order, "op": "min", "order": "ascending"}}
    return {"field": field, "type": "nominal", **sort, **more}


def either(test: str, yes: Any, no: Any) -> Spec:
    """One value where a test of the row holds, else another."""
    return {"condition": {"test": test, "value": yes}, "value": no}


def tooltip(**titles: str | tuple[str, str]) -> list[Spec]:
    """Fields with their titles; a field of numbers has a title and a format."""
    return [
        word(field, title=title)
        if isinstance(title, str)
        else number(field, title=title[0], format=title[1])
        for field, title in titles.items()
    ]


def mark(kind: str, encoding: Spec, **more: Any) -> Spec:
    """A layer: points, lines, bars, ... at the places of an encoding."""
    return {"mark": {"type": kind, **more}, "encoding": encoding}


def calculated(**formulas: str) -> list[Spec]:
    """New fields, each from the ones before it."""
    return [{"calculate": formula, "as": field} for field, formula in formulas.items()]


def grouped(by: str, field: str, **names: str) -> Spec:
    """New fields: sums, least values, ... of a field over the rows that are equal in another."""
    return {
        "joinaggregate": [{"op": op, "field": field, "as": name} for op, name in names.items()],
        "groupby": [by],
    }


def chart(
    rows: Rows, *layers: Spec, width: Any = "container", height: Any = None, **more: Any
) -> Spec:
    """Layers over the same rows; sizes are pixels, those in a list the step of a word axis."""
    sizes = {
        name: {"step": size[0]} if isinstance(size, list) else size
        for name, size in (("width", width), ("height", height))
    }
    return {
        "data": {"values": rows},
        **({"layer": list(layers)} if len(layers) > 1 else layers[0]),
        **sizes,
        **more,
    }
