"""Sections with rows in a plane: the decision boundary of a model, and a map of the rows."""

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
from pegasos.program.pages.vega import Rows, Spec, chart, either, mark, number, tooltip, word
from pegasos.search.anatomy import anatomy

Array = np.ndarray[Any, Any]

#: Rows of a map: t-SNE of 1,000 rows takes one processor second, of 2,000 rows two. Of sparse rows
#: with more columns than this no map is drawn.
MAP_ROWS, SPARSE_COLUMNS = 1000, 2000
#: Points drawn, side of the grid of scores, and rows above which no boundary is drawn.
POINTS, GRID, MOST_ROWS = 300, 64, 50_000
#: Distance beyond its margin up to which a row counts as on it.
MARGIN_TOLERANCE = 0.01
#: Pixels of the image, and the gray of its lines, which is visible on light and dark pages.
WIDTH, HEIGHT, LINE = 600, 400, (112, 118, 128)


# -- map -------------------------------------------------------------------------------------------


def map_blocks(rows: LabeledRows, wrong: Array, tsne: bool) -> list[Block]:
    """Return maps of the rows, colored by class, and with misclassified rows marked."""
    found = place_rows(rows, tsne)
    if found is None:
        return []
    (method, places, shown), classes = found, len(rows.names)
    points: Rows = []
    for row, (x, y) in zip(shown.tolist(), brief(places.tolist()), strict=True):
        code, is_wrong = int(rows.codes[row]), bool(wrong[row])
        point = {"row": rows.number(row), "class": rows.names[code], "order": code, "x": x, "y": y}
        points.append({**point, "wrong": is_wrong, "verdict": "wrong" if is_wrong else "right"})
    size = f"{len(points):,} rows"
    if len(points) < len(rows):
        size = f"a sample of {len(points):,} of {len(rows):,} rows"
    # The axes have no meaning and are not drawn.
    scale = {"zero": False, "nice": False, "padding": 8}
    bare = {"labels": False, "ticks": False, "grid": False, "domain": False}
    at: Spec = {name: number(name, title=None, scale=scale, axis=bare) for name in "xy"}
    at["tooltip"] = tooltip(**{"class": "class"}, row=("row", "d"), verdict="predicted")
    # Labels of up to two letters are drawn themselves.
    letters = 2 < classes <= 10 and all(len(name) <= 2 for name in rows.names)
    color = vega.class_color(classes, legend=not letters)
    dots = mark("point", at, color=color, filled=True, size=28, opacity=0.8)
    if letters:
        dots = mark("text", at, color=color, text=word("class"), fontSize=11, fontWeight=600)
    # Correct rows are pale, wrong ones are large and drawn last.
    domain, is_bad = ["right", "wrong"], "datum.verdict === 'wrong'"
    colors = {"domain": domain, "range": [vega.GRAY, vega.ORANGE]}
    shapes = {"domain": domain, "range": ["circle", "cross"]}
    crosses = mark(
        "point",
        at,
        filled=True,
        color=word("verdict", scale=colors, legend=None),
        shape=word("verdict", scale=shapes, legend=None),
        size=either(is_bad, 90, 16),
        opacity=either(is_bad, 1, 0.55),
        order=number("wrong"),
    )
    first, second = chart(points, dots, height=380), chart(points, crosses, height=380)
    words = f"By {method}: {size}.", "The same map; crosses are misclassified rows."
    return [
        Chart.with_rows("map-classes", "Map of rows, by class", first, words[0], "half"),
        Chart("map-errors", "Map of rows, by error", second, words[1], layout="half"),
    ]


def place_rows(
    rows: LabeledRows, tsne: bool, most: int = MAP_ROWS
) -> tuple[str, Array, Array] | None:
    """Return method, places and numbers of a sample of rows in two dimensions.

    Two features are shown as they are; of more features t-SNE of scaled features, or two principal
    components. None if there are too few rows or features.
    """
    X = rows.dataset.X
    if sparse.issparse(X) and X.shape[1] > SPARSE_COLUMNS:
        return None
    shown = sample(len(rows), most)
    X, _ = rows.numbers(shown)
    if len(shown) < 3 or X.shape[1] < 2:
        return None
    if X.shape[1] == 2:
        return "two features", X, shown
    Z, _, _ = rows.scaled(X)
    method = "principal components"
    with single_threaded_blas():
        left, sizes, _ = np.linalg.svd(Z, full_matrices=False)
        places = left[:, :2] * sizes[:2]
        if tsne and len(shown) >= 30:
            from sklearn.manifold import TSNE
            from threadpoolctl import threadpool_limits

            perplexity = max(5.0, min(30.0, len(X) / 5))
            learner = TSNE(init="pca", random_state=0, perplexity=perplexity, max_iter=500)
            # 30 components keep the neighborhoods, at a fraction of the time. Threads of t-SNE
            # wait for each other on a busy machine.
            with threadpool_limits(1):
                embedded = learner.fit_transform(left[:, :30] * sizes[:30])
            method, places = "t-SNE", np.asarray(embedded, dtype=np.float64)
    return method, 100 * places / (np.abs(places).max() or 1.0), shown


# -- decision boundary -----------------------------------------------------------------------------


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
        raise NoBoundary(
            "No decision boundary: rows have categories or missing values, or are sparse."
        )
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
    low, high = np.quantile(flat, [0.005, 0.995], axis=0)
    border = 0.08 * np.where(high > low, high - low, 1.0)
    low, high = low - border, high + border
    axes = (np.linspace(low[k], high[k], GRID) for k in (0, 1))
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2) @ plane + origin
    inside = np.flatnonzero(((flat >= low) & (flat <= high)).all(axis=1))[:POINTS]
    names = getattr(estimator, "feature_names_in_", None)

    def scores_of(part: Array) -> Array:
        part = part.astype(dataset.X.dtype)
        if names is None:
            return np.asarray(estimator.decision_function(part))
        import polars as pl

        frame = pl.DataFrame(part, schema=list(map(str, names)))
        return np.asarray(estimator.decision_function(frame))

    try:
        scores, own = scores_of(grid), scores_of(X[inside])
    except ValueError:  # not finite, or too large for a step of the pipeline
        text = "No decision boundary: between these rows the model's scores are not finite."
        raise NoBoundary(text) from None
    learner = anatomy(estimator, fitted=True).learner
    codes, classes, holding = rows.encode(learner.classes_), rows.codes[drawn[inside]], None
    if scores.ndim > 1:
        best = np.unique(scores.argmax(axis=1))
        codes, scores = codes[best], scores[:, best]
    else:
        scores = (scores - learner.threshold_)[:, None]
        if getattr(learner, "loss", "") == "hinge" and learner.threshold_ == 0:
            holding = np.where(classes == codes[1], own, -own) <= 1.0 + MARGIN_TOLERANCE
    place = titles, low.round(5), high.round(5)
    return Boundary(*place, codes.tolist(), scores, flat[inside], classes.tolist(), holding, exact)


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
    """Return a chart of the plane as an image, with rows in the colors of their classes."""
    colors = vega.class_colors(len(names))
    holding = [False] * len(edge.points) if edge.holding is None else edge.holding.tolist()
    listed = zip(brief(edge.points.tolist()), edge.classes, holding, strict=True)
    points = [
        {"x": x, "y": y, "class": names[code], "holds": holds} for (x, y), code, holds in listed
    ]
    legend = {"title": "class", "labelLimit": 160, "symbolOpacity": 1} if len(names) <= 30 else None
    color = word("class", scale={"domain": names, "range": colors}, legend=legend)
    axis, at = {"grid": False, "tickCount": 6, "labelExpr": vega.TICK}, {}
    for name, title, *ends in zip("xy", edge.titles, edge.low, edge.high, strict=True):
        scale = {"nice": False, "zero": False, "domain": [float(end) for end in ends]}
        at[name] = number(name, title=title, scale=scale, axis=axis)
    x, y = ((title, ".4~g") for title in edge.titles)
    hints = tooltip(**{"class": "class"}, x=x, y=y)
    dot = {"filled": True, "size": 34, "opacity": 1, "stroke": "#fff", "strokeWidth": 0.7}
    ring = {"filled": False, "size": 110, "opacity": 0.75, "stroke": "currentColor"}
    rings = mark("point", at, **ring, strokeWidth=1.1, aria=False)
    rings["transform"] = [{"filter": "datum.holds"}]
    whole = {"x": {"value": 0}, "y": {"value": 0}, "url": {"value": picture(edge, colors)}}
    size = {"width": {"expr": "width"}, "height": {"expr": "height"}}
    look = {"aspect": False, "align": "left", "baseline": "top", "aria": False}
    image = {**mark("image", whole, **look, **size), "data": {"values": [{}]}}
    dots = mark("point", at, color=color, tooltip=hints, **dot)
    return chart(points, image, rings, dots, height=440)


# -- the image of the boundary ---------------------------------------------------------------------


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
    """Return the image as the data URL of a PNG file; `colors` are those of all classes."""
    best, lead = fields(edge)
    inks = np.array([[*bytes.fromhex(colors[code][1:])] for code in edge.codes], dtype=float)
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
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 6, 0, 0, 0)
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)
    file = b"\x89PNG\r\n\x1a\n"
    for data in (b"IHDR" + header, b"IDAT" + zlib.compress(lines, 9), b"IEND"):
        file += struct.pack(">I", len(data) - 4) + data + struct.pack(">I", zlib.crc32(data))
    return "data:image/png;base64," + base64.b64encode(file).decode()


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
