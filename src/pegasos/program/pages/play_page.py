"""The page on which one sees the algorithms work: points in the plane, and learners that run in the browser."""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.program.pages.html_page import HtmlPage
from pegasos.program.pages.rendering import render_play
from pegasos.program.pages.row_samples import as_dataset, feature_names, part_of, place
from pegasos.program.tables.dataset import NUMBER, BadData, Dataset
from pegasos.program.tables.labels import label_texts

Array = np.ndarray[Any, Any]

#: Classes that have a colour and a shape on the page, points to begin with, and where nearly all of them shall lie.
MOST_CLASSES, USUAL_POINTS, WINDOW = 10, 200, 2.2


class PlayPage(HtmlPage):
    """A page to play with: `save(path)`, or shown by Jupyter."""


def play(X: Any = None, y: Any = None, **facts: Any) -> PlayPage:
    """A page that runs Perceptron, Pegasos and SDCA in the browser, step by step, on points that one can move.

    X, y: rows and labels whose first two principal components (or two features) are its points, at most 1,000; without them
    it has generated sets only. `facts`: name (of the data), columns (names of features).

    >>> play()
    PlayPage('pegasos play', 0.2 MB)
    """
    dataset = as_dataset(X, y, facts)
    if facts:
        raise TypeError(
            f"play() takes X, y, name, image and columns; got {', '.join(sorted(facts))}."
        )
    title = "pegasos play" if dataset is None else f"pegasos play: {dataset.name}"
    return PlayPage(title, render_play(title, None if dataset is None else points_of(dataset)))


def points_of(dataset: Dataset) -> dict[str, Any]:
    """A sample of rows as points of the plane, in random order, and what a reader should know of them."""
    notes = []
    classes, codes = np.unique(np.asarray(dataset.labels), return_inverse=True)
    if len(classes) > MOST_CLASSES:
        kept = np.sort(np.argsort(-np.bincount(codes), kind="stable")[:MOST_CLASSES])
        notes.append(f"the {MOST_CLASSES} most frequent of {len(classes)} classes")
        dataset = part_of(dataset, np.flatnonzero(np.isin(codes, kept)))
        classes, codes = np.unique(np.asarray(dataset.labels), return_inverse=True)
    if len(classes) < 2:
        raise BadData(f"{dataset.name}: all rows are of one class; there is nothing to tell apart.")
    found = place(dataset, codes, np.zeros(len(codes), dtype=bool), tsne=False)
    if found is None:
        raise BadData(
            f"{dataset.name}: a plane needs at least 3 rows and 2 columns of numbers (sparse rows: at most 2,000)."
        )
    two = found.method == "two features"
    if two:
        named = [
            name
            for name, column in zip(feature_names(dataset), dataset.columns, strict=False)
            if column.kind == NUMBER
        ]
        notes.append(f"across: {named[0]}, up: {named[1]}" if len(named) == 2 else "two features")
    else:
        notes.append(f"the first two principal components of {dataset.X.shape[1]} features")
    if len(found.rows) < found.of:
        notes.append(f"{len(found.rows):,} of {found.of:,} rows")
    places = _in_window(np.asarray(found.places, dtype=np.float64), apart=two)
    order = np.random.default_rng(0).permutation(len(places))
    points = [
        {"x": x, "y": y, "c": code}
        for (x, y), code in zip(
            places[order].tolist(), codes[found.rows][order].tolist(), strict=True
        )
    ]
    names = [str(name) for name in label_texts(classes)]
    return {
        "name": dataset.name,
        "points": points,
        "classes": names,
        "n": min(USUAL_POINTS, len(points)),
        "notes": notes,
    }


def _in_window(places: Array, apart: bool) -> Array:
    """Points around their middle, in units of the window: each coordinate by itself, or both alike; three decimals."""
    centred = places - np.median(places, axis=0)
    extent = np.quantile(np.abs(centred), 0.98, axis=0)
    if not apart:
        extent = np.full(2, extent.max())
    return np.asarray(
        (WINDOW * centred / np.where(extent > 0, extent, 1.0)).clip(-9.0, 9.0).round(3)
    )
