"""What the studies of digits share: pixels in [0, 1], and things shown around the numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.program.published._shared import shown
from pegasos.program.studies.results import Context
from pegasos.program.tables.dataset import Dataset

#: Rows of the real set, on which the printed errors were counted.
ROWS = 9298


def unit_pixels(dataset: Dataset) -> Dataset:
    """Pixels in [0, 1] as float32, whatever the set's own range is."""
    X = np.asarray(dataset.X, dtype=np.float32)
    return replace(dataset, X=X / X.max() if X.max() > 1 else X)


def class_counts(context: Context) -> dict[str, Any]:
    """How many rows each class has."""
    labels, counts = np.unique(context.dataset.labels, return_counts=True)
    rows = [{"class": int(label), "rows": int(count)} for label, count in zip(labels, counts, strict=True)]
    return shown(rows)


def sanity(context: Context) -> dict[str, Any]:
    """Labels, range of pixels, shapes."""
    X, y = context.dataset.X, context.dataset.labels
    facts = [
        {"check": "labels", "found": f"{np.unique(y).tolist()}", "holds": np.unique(y).tolist() == list(range(10))},
        {"check": "pixels", "found": f"{X.min():g} to {X.max():g}", "holds": bool(X.min() >= 0 and X.max() <= 1)},
        {"check": "shapes", "found": f"{X.shape} and {np.shape(y)}", "holds": X.shape[0] == np.shape(y)[0]},
    ]
    return shown(facts)


def heatmap(context: Context, experiment: str, decoding: str, lams: list[float], steps: list[int]) -> dict[str, Any]:
    """Test errors as a table, λ down and T across."""
    rows = []
    for lam in lams:
        key = {"experiment": experiment, "decoding": decoding, "split": "test", "lam": lam}
        cells = {f"T = {each}": round(context.results.mean(**key, n_iter=each), 4) for each in steps}
        rows.append({"λ": f"{lam:g}", **cells})
    return shown(rows)


def gallery(context: Context, each: int = 8) -> dict[str, Any]:
    """Some images of every class, as pixels in 0..255, for the report's page."""
    X, codes = context.dataset.X, context.codes
    random = np.random.default_rng(0)
    images = {}
    for code in np.unique(codes):
        rows = random.choice(np.flatnonzero(codes == code), size=each, replace=False)
        images[int(code)] = (255 * X[rows]).round().astype(int).tolist()
    shape = context.dataset.image
    return {"images": images, "shape": shape, "text": f"{each} images of each class, {shape}; results.json holds them."}


def tsne(context: Context, rows: int = 1500) -> dict[str, Any]:
    """A map of a sample of rows in two dimensions."""
    from sklearn.manifold import TSNE

    random = np.random.default_rng(0)
    kept = np.sort(random.permutation(len(context.dataset))[:rows])
    places = TSNE(init="pca", random_state=0, perplexity=30, max_iter=500).fit_transform(context.dataset.X[kept])
    near = _own_neighbours(places, context.codes[kept])
    return {
        "rows": kept,
        "places": places.round(2),
        "classes": context.codes[kept],
        "text": f"{len(kept)} rows placed by t-SNE; {near:.1%} of them have a nearest neighbour of their own class on the map.",
    }


def _own_neighbours(places: Any, codes: Any) -> float:
    from sklearn.neighbors import KNeighborsClassifier

    nearest = KNeighborsClassifier(2).fit(places, codes).kneighbors(places, return_distance=False)[:, 1]
    return float((codes[nearest] == codes).mean())
