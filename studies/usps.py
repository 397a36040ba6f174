"""Shared parts of the three studies of USPS digits: figures of the data, and the best error."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from pegasos import SDCA, Pegasos, SweepCV
from pegasos.kernels import Gaussian
from pegasos.studies import Run
from studies import common
from studies.common import Array, Split

ROWS = 9298
#: Widths of the Gaussian kernel, in units of the mean squared distance of two rows.
WIDTHS = (0.12, 0.17, 0.24, 0.34)
BLURS = (1.4, 1.8)
COST, INNER_ROWS = 13.0, 3000
#: One-vs-rest kernel Pegasos; each class has its own draws.
LEARNER = Pegasos(sampling="uniform", draws="independent", average=False, fit_intercept=False)


@dataclass(frozen=True)
class DecodedAccuracy:
    """Scorer that turns one-vs-rest scores into labels by the rule of a report.

    "argmax" takes the class with the largest score, "absolute" that with the largest |score|, and
    "first" the first class with a positive score, or class 0.
    """

    decoding: str

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Return the accuracy."""
        scores = estimator.decision_function(X)
        if self.decoding == "absolute":
            scores = np.abs(scores)
        elif self.decoding == "first":
            scores = scores > 0
        return float((estimator.classes_[scores.argmax(axis=1)] == y).mean())


def check_data(run: Run) -> None:
    """Check labels, range of the pixels and shapes, and show the data."""
    labels, counts = np.unique(run.y, return_counts=True)
    if run.X.shape != (ROWS, 256) or labels.tolist() != list(range(10)):
        raise ValueError(
            f"USPS has {ROWS} rows of 256 pixels and the labels 0 to 9, got {run.X.shape}."
        )
    if run.X.min() < 0 or run.X.max() > 1:
        raise ValueError("the pixels of USPS are in [0, 1].")
    classes = [{"digit": str(k), "rows": int(n)} for k, n in zip(labels, counts, strict=True)]
    run.figure("bars", "Rows per class", classes, x="digit", y="rows")


def show_digits(run: Run, each: int = 8) -> None:
    """Add a gallery of some digits of every class."""
    random = np.random.default_rng(0)
    rows = [
        {"label": str(digit), "pixels": (255 * run.X[i]).round().astype(int).tolist()}
        for digit in range(10)
        for i in random.choice(np.flatnonzero(run.y == digit), size=each, replace=False)
    ]
    run.figure("images", "Some digits of each class", rows, shape=[16, 16])


def show_map(run: Run) -> None:
    """Add a t-SNE map of all rows."""
    from sklearn.manifold import TSNE

    run.log("t-SNE map")
    places = TSNE(init="pca", random_state=0, max_iter=500).fit_transform(run.X)
    points = [
        {"x": round(float(x), 1), "y": round(float(y), 1), "digit": str(label)}
        for (x, y), label in zip(places, run.y, strict=True)
    ]
    run.figure("points", "t-SNE map of all rows", points, x="x", y="y", color="digit")


def reach_best(run: Run, splits: Iterable[Split]) -> None:
    """Add the error of SDCA on edge directions; blur and variance are chosen by nested folds."""
    edges = cache(partial(_edges, run.X.reshape(-1, 16, 16)))
    model = SDCA(tol=0.01, fit_intercept=False, random_state=0)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)

    def predict(train: Array, test: Array) -> Array:
        kept = np.random.default_rng(0).permutation(train)[:INNER_ROWS]
        accuracies: dict[tuple[float, float], float] = {}
        inner = clone(model).set_params(lam=1 / (COST * len(kept)))
        for blur in BLURS:
            distance = _mean_distance(edges(blur)[kept])
            grid = {"kernel": [Gaussian(width * distance) for width in WIDTHS]}
            search = SweepCV(inner, grid, cv=folds, refit=False).fit(edges(blur)[kept], run.y[kept])
            for width, score in zip(WIDTHS, search.cv_results_["mean_test_score"], strict=True):
                accuracies[blur, width] = score
        blur, width = max(accuracies, key=lambda setting: accuracies[setting])
        rows = edges(blur)
        kernel = Gaussian(width * _mean_distance(rows[train]))
        outer = clone(model).set_params(lam=1 / (COST * len(train)), kernel=kernel)
        return np.asarray(outer.fit(rows[train], run.y[train]).predict(rows[test]))

    what = (
        "SDCA with a Gaussian kernel on directions of edges; blur and variance chosen inside the "
        "training rows"
    )
    common.reach_best(run, what, predict, splits)


def _mean_distance(rows: Array) -> float:
    """Return the mean squared distance of two rows."""
    return 2 * float(rows.var(axis=0, dtype=np.float64).sum())


def _edges(images: Array, blur: float, directions: int = 8) -> Array:
    """Return the positive slopes of images in each direction, blurred, at every second pixel.

    Rows are scaled to length 1.
    """
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    across = (padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2]) / 2
    down = (padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1]) / 2
    maps = []
    for angle in 2 * np.pi * np.arange(directions) / directions:
        rise = np.maximum(0, across * np.cos(angle) + down * np.sin(angle))
        smooth = gaussian_filter(rise, (0, blur, blur), mode="constant")
        maps.append(smooth[:, ::2, ::2].reshape(len(images), -1))
    rows = np.concatenate(maps, axis=1)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)
