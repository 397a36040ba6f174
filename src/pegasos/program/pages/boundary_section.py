"""Section with the decision boundary of a model in a plane, drawn as an image, and some rows."""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.engine.runtime.threads import single_threaded_blas
from pegasos.program.pages import vega
from pegasos.program.pages.blocks import Block, Chart
from pegasos.program.pages.labeled_rows import LabeledRows, brief, feature_names, sample
from pegasos.program.pages.vega import Spec, chart, mark, number, tooltip, word
from pegasos.search.anatomy import anatomy

Array = np.ndarray[Any, Any]

#: Points drawn, side of the grid of scores, and rows above which no boundary is drawn.
POINTS, GRID, MOST_ROWS = 300, 64, 50_000
#: Distance beyond its margin up to which a row counts as on it.
MARGIN_TOLERANCE = 0.01
#: Pixels of the image, and the gray of its lines, which is visible on light and dark pages.
WIDTH, HEIGHT, LINE = 600, 400, (112, 118, 128)


class NoBoundary(ValueError):  # noqa: N818 - a reason, not a fault
    """Model or rows without a decision boundary in a plane."""


@dataclass(frozen=True)
class Boundary:
    """Scores on a square grid from `low` to `high`, and some rows.

    `scores` (grid x classes) belong to the classes `codes`, those that are predicted somewhere;
    with two classes there is one column, above 0 for codes[1]. `holding` tells for each point
    whether it is on or inside its margin (None for models without a margin). `exact` is false for
    a projection.
    """

    titles: list[str]
    low: Array
    high: Array
    codes: list[int]
    scores: Array
    points: Array
    classes: list[int]
    holding: Array | None
    exact: bool


def find_boundary(estimator: Any, rows: LabeledRows) -> Boundary:
    """Return the scores of a model over two features, or over two principal components."""
    dataset = rows.dataset
    if dataset.has_frame or sparse.issparse(dataset.X):
        raise NoBoundary("No decision boundary: rows have categories or gaps, or are sparse.")
    if len(rows) > MOST_ROWS:
        raise NoBoundary(f"No decision boundary: only up to {MOST_ROWS:,} rows.")
    drawn = sample(len(rows), 5000)
    X, _ = rows.numbers(drawn)
    if X.shape[1] != dataset.X.shape[1] or X.shape[1] < 2:
        raise NoBoundary("No decision boundary: it needs two features.")
    exact = X.shape[1] == 2
    titles, origin, plane, flat = feature_names(dataset), np.zeros(2), np.eye(2), X
    if not exact:
        titles = ["first principal component", "second principal component"]
        Z, origin, std = rows.scaled(X)
        with single_threaded_blas():
            _, _, directions = np.linalg.svd(Z, full_matrices=False)
        plane, flat = directions[:2] * std, Z @ directions[:2].T
    low, high = np.quantile(flat, 0.005, axis=0), np.quantile(flat, 0.995, axis=0)
    border = 0.08 * np.where(high > low, high - low, 1.0)
    low, high = low - border, high + border
    learner = anatomy(estimator, fitted=True).learner
    axes = (np.linspace(low[k], high[k], GRID) for k in (0, 1))
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2) @ plane + origin
    inside = np.flatnonzero(((flat >= low) & (flat <= high)).all(axis=1))[:POINTS]
    try:
        scores, own = (
            estimator.decision_function(_named(estimator, each.astype(dataset.X.dtype)))
            for each in (grid, X[inside])
        )
    except ValueError:  # not finite, or too large for a step of the pipeline
        text = "No decision boundary: between these rows the model's scores are not finite."
        raise NoBoundary(text) from None
    known, classes, holding = rows.encode(learner.classes_), rows.codes[drawn[inside]], None
    if scores.ndim == 1:
        codes, scores = known, (scores - learner.threshold_)[:, None]
        if getattr(learner, "loss", "") == "hinge" and learner.threshold_ == 0:
            holding = np.where(classes == known[1], own, -own) <= 1.0 + MARGIN_TOLERANCE
    else:
        best = np.unique(scores.argmax(axis=1))
        codes, scores = known[best], scores[:, best]
    return Boundary(
        titles,
        low.round(5),
        high.round(5),
        codes.tolist(),
        scores,
        flat[inside],
        classes.tolist(),
        holding,
        exact,
    )


def _named(estimator: Any, rows: Array) -> Any:
    """Return rows as a frame if the model was fitted to one."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return rows
    import polars as pl

    return pl.DataFrame(rows, schema=list(map(str, names)))


def boundary_blocks(estimator: Any, rows: LabeledRows) -> list[Block]:
    """Return the boundary of a model, if it has one in a plane."""
    try:
        edge = find_boundary(estimator, rows)
    except NoBoundary:
        return []
    caption = "Areas: predicted class, stronger where its score leads by more. "
    if edge.exact:
        caption += "Points: some rows, in the color of their class."
    else:
        caption += "The plane of the first two principal components through the mean. "
        caption += "Points: some rows, projected; one in another area need not be an error."
    if edge.holding is not None:
        caption += " Dashed: margins. Ringed: support vectors, on or inside their margin."
    spec = boundary_chart(edge, rows.names)
    return [Chart.with_rows("boundary", "Decision boundary", spec, caption, "narrow")]


def boundary_chart(edge: Boundary, names: list[str]) -> Spec:
    """Return the plane as an image, and rows in the colors of their classes `names`."""
    colors = vega.class_colors(len(names))
    holding = [False] * len(edge.points) if edge.holding is None else edge.holding.tolist()
    listed = zip(brief(edge.points.tolist()), edge.classes, holding, strict=True)
    points = [
        {"x": x, "y": y, "class": names[code], "holds": holds} for (x, y), code, holds in listed
    ]
    legend = {"title": "class", "labelLimit": 160, "symbolOpacity": 1} if len(names) <= 30 else None
    color = {"color": word("class", scale={"domain": names, "range": colors}, legend=legend)}
    axis, places = {"grid": False, "tickCount": 6, "labelExpr": vega.TICK}, {}
    for k, name in enumerate("xy"):
        ends = [float(edge.low[k]), float(edge.high[k])]
        scale = {"nice": False, "zero": False, "domain": ends}
        places[name] = number(name, title=edge.titles[k], scale=scale, axis=axis)
    whole = {"x": {"value": 0}, "y": {"value": 0}, "url": {"value": picture(edge, colors)}}
    size = {"width": {"expr": "width"}, "height": {"expr": "height"}}
    look = {"aspect": False, "align": "left", "baseline": "top", "aria": False}
    ring = {"filled": False, "size": 110, "opacity": 0.75, "stroke": "currentColor"}
    rings = mark("point", places, **ring, strokeWidth=1.1, aria=False)
    x, y = ((title, ".4~g") for title in edge.titles)
    hints = {"tooltip": tooltip(**{"class": "class"}, x=x, y=y)}
    dot = {"filled": True, "size": 34, "opacity": 1, "stroke": "#fff", "strokeWidth": 0.7}
    layers = [
        {**mark("image", whole, **look, **size), "data": {"values": [{}]}},
        {**rings, "transform": [{"filter": "datum.holds"}]},
        mark("point", {**places, **color, **hints}, **dot),
    ]
    return chart(points, *layers, height=440)


# -- the image -------------------------------------------------------------------------------------


def fields(edge: Boundary) -> tuple[Array, Array]:
    """Return for each pixel the index of the leading class in `codes`, and its lead.

    Of two classes the lead is the absolute score.
    """
    from scipy import ndimage

    zoom = (HEIGHT / GRID, WIDTH / GRID)
    parts = [each.reshape(GRID, GRID)[::-1] for each in edge.scores.T]  # upper lines first
    grown = np.stack([ndimage.zoom(each, zoom, order=3, mode="nearest") for each in parts])
    if len(grown) == 1:
        return (grown[0] > 0).astype(int) * (len(edge.codes) > 1), np.abs(grown[0])
    ordered = np.sort(grown, axis=0)
    return np.argmax(grown, axis=0), ordered[-1] - ordered[-2]


def picture(edge: Boundary, colors: list[str]) -> str:
    """Return the image as a data URL; `colors` are those of all classes."""
    best, lead = fields(edge)
    inks = np.array([vega.rgb(colors[code]) for code in edge.codes], dtype=np.float64)
    has_margin = edge.holding is not None
    strength = 0.14 + 0.36 * np.tanh(lead / (2 if has_margin else np.median(lead) + 1e-12))
    alpha = np.round(48 * strength) / 48  # few steps compress well
    line = _near(lead, 0.0, 1.1)
    if has_margin:
        down, across = np.indices(lead.shape)
        line = np.maximum(line, 0.85 * _near(lead, 1.0, 0.8) * ((across + down) % 12 < 7))
    mixed = line[..., None] * np.array(LINE) + (1 - line[..., None]) * inks[best]
    opaque = 255 * (line + (1 - line) * alpha)[..., None]
    pixels = np.concatenate([mixed, opaque], axis=2).round().astype(np.uint8)
    return "data:image/png;base64," + base64.b64encode(_png(pixels)).decode()


def _near(values: Array, level: float, width: float) -> Array:
    """Return 1 where values are within `width` pixels of a level, fading to 0 beyond."""
    steep = np.zeros_like(values)
    for axis in (0, 1):  # the steeper side: at a boundary the lead has a kink
        slope = np.abs(np.diff(values, axis=axis))
        before, after = [(0, 0), (0, 0)], [(0, 0), (0, 0)]
        before[axis], after[axis] = (1, 0), (0, 1)
        steep = np.hypot(steep, np.maximum(np.pad(slope, before), np.pad(slope, after)))
    distance = np.abs(values - level) / np.maximum(steep, 1e-12)
    return np.asarray(np.clip(width + 0.5 - distance, 0.0, 1.0))


def _png(pixels: Array) -> bytes:
    """Return red, green, blue and alpha as a PNG file."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    height, width, _ = pixels.shape
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0))
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)
    data = chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + header + data
