"""Page of `pegasos play`: points in the plane, and learners that run in the browser."""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.program.pages.labeled_rows import LabeledRows, as_dataset, feature_names
from pegasos.program.pages.page import HtmlPage, fill
from pegasos.program.pages.plane_section import place_rows
from pegasos.program.tables.dataset import NUMBER, BadData, Dataset, take

#: Classes with a color and a shape of their own, most points, points shown first, and the half
#: width of the window that contains nearly all of them.
MOST_CLASSES, MOST_POINTS, USUAL_POINTS, WINDOW = 10, 1000, 200, 2.2


def play(X: Any = None, y: Any = None, **facts: Any) -> HtmlPage:
    """Return a page that runs Perceptron, Pegasos and SDCA in the browser, step by step.

    Parameters
    ----------
    X, y : arrays or frames, default=None
        Rows and labels; two features or the first two principal components of at most 1,000 rows
        become points that can be moved. Without them the page has generated sets only.
    **facts
        Name of the data, columns (names of features), and image (height, width).

    Returns
    -------
    HtmlPage
        Jupyter displays it; `save(path)` writes it.

    See Also
    --------
    pegasos.report : A page about a fitted model.

    Examples
    --------
    >>> play()
    HtmlPage('pegasos play', 0.2 MB)
    """
    dataset = as_dataset(X, y, facts)
    unknown = sorted(facts.keys() - {"rows"})  # the frame itself
    if unknown:
        given = ", ".join(unknown)
        raise TypeError(f"play() takes X, y, name, image and columns; got {given}.")
    title = "pegasos play" if dataset is None else f"pegasos play: {dataset.name}"
    # `web/build.py` builds the template from `web/play`.
    data = None if dataset is None else points_of(dataset)
    return HtmlPage(title, fill("play.html", data, title=title))


def points_of(dataset: Dataset) -> dict[str, Any]:
    """Return a sample of rows as points of the plane, in random order, with notes on them."""
    notes, rows = [], LabeledRows(dataset)
    if len(rows.names) > MOST_CLASSES:
        kept = np.argsort(-np.array(rows.counts), kind="stable")[:MOST_CLASSES]
        notes.append(f"the {MOST_CLASSES} most frequent of {len(rows.names)} classes")
        rows = LabeledRows(take(dataset, np.flatnonzero(np.isin(rows.codes, kept))))
    if len(rows.names) < 2:
        raise BadData(f"{dataset.name}: all rows are of one class; two are needed.")
    found = place_rows(rows, tsne=False, most=MOST_POINTS)
    if found is None:
        raise BadData(
            f"{dataset.name}: a plane needs at least 3 rows and 2 columns of numbers "
            "(sparse rows: at most 2,000)."
        )
    method, places, shown = found
    extent = np.quantile(np.abs(places - np.median(places, axis=0)), 0.98, axis=0)
    if method == "two features":
        listed = zip(feature_names(dataset), dataset.columns, strict=False)
        named = [name for name, column in listed if column.kind == NUMBER]
        notes.append(f"across: {named[0]}, up: {named[1]}" if len(named) == 2 else method)
    else:
        extent = np.full(2, extent.max())  # both directions have one unit
        notes.append(f"the first two principal components of {dataset.X.shape[1]} features")
    if len(shown) < len(rows):
        notes.append(f"{len(shown):,} of {len(rows):,} rows")
    # Points are centered and scaled to the window.
    scaled = WINDOW * (places - np.median(places, axis=0)) / np.where(extent > 0, extent, 1.0)
    places = scaled.clip(-9.0, 9.0).round(3)
    order = np.random.default_rng(0).permutation(len(places))
    listed_points = zip(places[order].tolist(), rows.codes[shown][order].tolist(), strict=True)
    return {
        "name": dataset.name,
        "points": [{"x": x, "y": y, "c": code} for (x, y), code in listed_points],
        "classes": rows.names,
        "n": min(USUAL_POINTS, len(places)),
        "notes": notes,
    }
