"""Section with the decision boundary in a plane, drawn as an image, and some rows."""

from __future__ import annotations

from pegasos.program.pages.blocks import Block, Chart, Table, columns
from pegasos.program.pages.boundary_picture import fields, picture
from pegasos.program.pages.vega import TICK, Spec, chart, class_colors, mark, number, tooltip, word
from pegasos.program.records.pages import Boundary, PageRecord


def boundary_blocks(record: PageRecord) -> list[Block]:
    """Return the boundary, if there is one."""
    edge, names = record.boundary, record.data.classes
    if edge is None:
        return []
    caption = "Areas: the predicted class, stronger where it leads by more. "
    if edge.exact:
        caption += "Points: some rows, in the color of their class."
    else:
        caption += "The plane of the first two principal components through the mean. Points: some rows, projected; a point in "
        caption += "the area of another class need not be an error."
    if edge.holding:
        caption += " Dashed: margins. Ringed: support vectors, on or inside their margin."
    best, _ = fields(edge)
    shares = [
        {"class": names[code], "share": float((best == place).mean())}
        for place, code in enumerate(edge.codes)
    ]
    listed = columns("text", **{"class": "class"}) + columns("percent", share="share of the plane")
    rows = [row for row in shares if row["share"]]
    table = Table("boundary", "Shares of the plane", listed, rows)
    title, spec = "Decision boundary", boundary_chart(edge, names)
    return [Chart("boundary", title, spec, caption, table, narrow=True)]


def boundary_chart(edge: Boundary, names: list[str]) -> Spec:
    """Return the plane as an image, and rows in the color of their own class; `names` are those of all classes."""
    colors = class_colors(len(names))
    holding = edge.holding or [False] * len(edge.points)
    listed = zip(edge.points, edge.classes, holding, strict=True)
    points = [
        {"x": x, "y": y, "class": names[code], "holds": holds} for (x, y), code, holds in listed
    ]
    legend = {"title": "class", "labelLimit": 160, "symbolOpacity": 1} if len(names) <= 30 else None
    color = {"color": word("class", scale={"domain": names, "range": colors}, legend=legend)}
    axis = {"grid": False, "tickCount": 6, "labelExpr": TICK}
    places = {}
    for k, name in enumerate("xy"):
        scale = {"nice": False, "zero": False, "domain": [edge.low[k], edge.high[k]]}
        places[name] = number(name, title=edge.titles[k], scale=scale, axis=axis)
    whole = {"x": {"value": 0}, "y": {"value": 0}, "url": {"value": picture(edge, colors)}}
    size = {"width": {"expr": "width"}, "height": {"expr": "height"}}
    look = {"aspect": False, "align": "left", "baseline": "top", "aria": False}
    ring = {"filled": False, "size": 110, "opacity": 0.75, "stroke": "currentColor"}
    hints = {"tooltip": tooltip(**{"class": "class"})}
    dot = {"filled": True, "size": 34, "opacity": 1, "stroke": "#fff", "strokeWidth": 0.7}
    layers = [
        {**mark("image", whole, **look, **size), "data": {"values": [{}]}},
        {
            **mark("point", places, **ring, strokeWidth=1.1, aria=False),
            "transform": [{"filter": "datum.holds"}],
        },
        mark("point", {**places, **color, **hints}, **dot),
    ]
    return chart(points, *layers, height=440)
