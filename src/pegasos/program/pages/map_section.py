"""Section with rows in two dimensions, by class and by error."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from pegasos.engine.runtime.threads import single_threaded_blas
from pegasos.program.pages import vega
from pegasos.program.pages.blocks import Block, Chart
from pegasos.program.pages.labeled_rows import LabeledRows, brief, sample
from pegasos.program.pages.vega import Rows, Spec, chart, either, mark, number, tooltip, word

Array = np.ndarray[Any, Any]

#: Rows of a map. Of sparse rows with more columns than this no map is drawn.
MAP_ROWS, SPARSE_COLUMNS = 2000, 2000
#: Labels up to this length are drawn themselves.
_SHORT = 2


def map_blocks(rows: LabeledRows, wrong: Array, tsne: bool) -> list[Block]:
    """Return the map in the colors of classes, and the same map with misclassified rows marked."""
    found = place_rows(rows, tsne)
    if found is None:
        return []
    method, places, shown = found
    points: Rows = []
    for row, (x, y) in zip(shown.tolist(), brief(places.tolist()), strict=True):
        code = int(rows.codes[row])
        point = {"row": rows.number(row), "class": rows.names[code], "order": code, "x": x, "y": y}
        is_wrong = bool(wrong[row])
        points.append({**point, "wrong": is_wrong, "verdict": "wrong" if is_wrong else "right"})
    size = f"{len(points):,} rows"
    if len(points) < len(rows):
        size = f"a sample of {len(points):,} of {len(rows):,} rows"
    title, spec = "Map of rows, by class", _by_class(points, len(rows.names))
    crosses = "The same map; crosses are misclassified rows."
    return [
        Chart.with_rows("map-classes", title, spec, f"By {method}: {size}.", "half"),
        Chart("map-errors", "Map of rows, by error", _by_error(points), crosses, layout="half"),
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
            method, places = "t-SNE", _tsne(left[:, :30] * sizes[:30])
    return method, 100 * places / (np.abs(places).max() or 1.0), shown


def _tsne(X: Array) -> Array:
    """Return t-SNE of rows; 30 components keep the neighborhoods, at a fraction of the time."""
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    perplexity = max(5.0, min(30.0, len(X) / 5))
    learner = TSNE(init="pca", random_state=0, perplexity=perplexity, max_iter=500)
    with threadpool_limits(1):  # its threads wait for each other on a busy machine
        return np.asarray(learner.fit_transform(X), dtype=np.float64)


def _places() -> Spec:
    """Return channels whose axes have no meaning and are not drawn."""
    scale = {"zero": False, "nice": False, "padding": 8}
    bare = {"labels": False, "ticks": False, "grid": False, "domain": False}
    hints = tooltip(**{"class": "class"}, row=("row", "d"), verdict="predicted")
    axes = {name: number(name, title=None, scale=scale, axis=bare) for name in "xy"}
    return {**axes, "tooltip": hints}


def _by_class(rows: Rows, classes: int) -> Spec:
    letters = 2 < classes <= 10 and all(len(row["class"]) <= _SHORT for row in rows)
    places = {**_places(), "color": vega.class_color(classes, legend=not letters)}
    if letters:
        text = mark("text", {**places, "text": word("class")}, fontSize=11, fontWeight=600)
        return chart(rows, text, height=380)
    return chart(rows, mark("point", places, filled=True, size=28, opacity=0.8), height=380)


def _by_error(rows: Rows) -> Spec:
    """Return correct rows pale, and wrong ones large and drawn last."""
    domain, wrong = ["right", "wrong"], "datum.verdict === 'wrong'"
    colors = {"domain": domain, "range": [vega.GRAY, vega.ORANGE]}
    shapes = {"domain": domain, "range": ["circle", "cross"]}
    looks = {
        "color": word("verdict", scale=colors, legend=None),
        "shape": word("verdict", scale=shapes, legend=None),
        "size": either(wrong, 90, 16),
        "opacity": either(wrong, 1, 0.55),
        "order": number("wrong"),
    }
    return chart(rows, mark("point", {**_places(), **looks}, filled=True), height=380)
