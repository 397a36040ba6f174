"""What the studies of digits share: pixels in [0, 1], and things shown around the numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.program.published._shared import shown
from pegasos.program.studies.results import Context
from pegasos.program.studies.study import Key, Number
from pegasos.program.tables.dataset import Dataset

#: Rows of the real set, on which the printed errors were counted.
ROWS = 9298


def unit_pixels(dataset: Dataset) -> Dataset:
    """Pixels in [0, 1] as float32, whatever the set's own range is."""
    X = np.asarray(dataset.X, dtype=np.float32)
    return replace(dataset, X=X / X.max() if X.max() > 1 else X)


#: The data of the studies of digits, as a Study declares them.
SET: dict[str, Any] = {"data": "usps", "stand_in": "digits", "prepare": unit_pixels}


def number(
    row: dict[str, str], keys: dict[str, Key], group: str = "all", half_unit: float = 0.0005
) -> Number:
    """A printed error and the settings beside it."""
    fields = {
        name: value for name, value in row.items() if name in ("kernel", "param", "lam", "n_iter")
    }
    return Number(fields, float(row["cv_test_error"]), ROWS, keys, group, half_unit)


def class_counts(context: Context) -> dict[str, Any]:
    """How many rows each class has."""
    labels, counts = np.unique(context.dataset.labels, return_counts=True)
    return shown(
        [
            {"class": int(label), "rows": int(count)}
            for label, count in zip(labels, counts, strict=True)
        ]
    )


def sanity(context: Context) -> dict[str, Any]:
    """Labels, range of pixels, shapes."""
    X, y = context.dataset.X, context.dataset.labels
    facts = [
        {
            "check": "labels",
            "found": f"{np.unique(y).tolist()}",
            "holds": np.unique(y).tolist() == list(range(10)),
        },
        {
            "check": "pixels",
            "found": f"{X.min():g} to {X.max():g}",
            "holds": bool(X.min() >= 0 and X.max() <= 1),
        },
        {
            "check": "shapes",
            "found": f"{X.shape} and {np.shape(y)}",
            "holds": X.shape[0] == np.shape(y)[0],
        },
    ]
    return shown(facts)


def heatmap(
    context: Context, experiment: str, decoding: str, lams: list[float], steps: list[int]
) -> dict[str, Any]:
    """Test errors as a table, λ down and T across."""
    rows = []
    for lam in lams:
        key = {"experiment": experiment, "decoding": decoding, "split": "test", "lam": lam}
        cells = {
            f"T = {each}": round(context.results.mean(**key, n_iter=each), 4) for each in steps
        }
        rows.append({"λ": f"{lam:g}", **cells})
    return shown(rows)


def gallery(context: Context, each: int = 8) -> dict[str, Any]:
    """Some images of every class, as pixels in 0..255, for the report's page."""
    codes, shape, random = context.codes, context.dataset.image, np.random.default_rng(0)
    chosen = {
        int(code): random.choice(np.flatnonzero(codes == code), size=each, replace=False)
        for code in np.unique(codes)
    }
    images = {
        code: (255 * context.dataset.X[rows]).round().astype(int).tolist()
        for code, rows in chosen.items()
    }
    return {
        "images": images,
        "shape": shape,
        "text": f"{each} images of each class, {shape}; results.json holds them.",
    }


def tsne(context: Context, rows: int = 1500) -> dict[str, Any]:
    """A map of a sample of rows in two dimensions."""
    from sklearn.manifold import TSNE
    from sklearn.neighbors import NearestNeighbors

    kept = np.sort(np.random.default_rng(0).permutation(len(context.dataset))[:rows])
    places, codes = (
        TSNE(init="pca", random_state=0, max_iter=500).fit_transform(context.dataset.X[kept]),
        context.codes[kept],
    )
    nearest = NearestNeighbors(n_neighbors=1).fit(places).kneighbors(return_distance=False)[:, 0]
    near = float((codes[nearest] == codes).mean())
    text = f"{len(kept)} rows placed by t-SNE; {near:.1%} of them have a nearest neighbour of their own class on the map."
    return {"rows": kept, "places": places.round(2), "classes": codes, "text": text}
