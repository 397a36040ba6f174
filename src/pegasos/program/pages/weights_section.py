"""Section about the largest weights of a linear predictor."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError

from pegasos.learners.one_vs_one import sum_over_pairs
from pegasos.program.pages import vega
from pegasos.program.pages.blocks import Block, Chart
from pegasos.program.pages.labeled_rows import brief
from pegasos.program.pages.vega import Rows, Spec, chart, either, mark, number, tooltip, word
from pegasos.program.tables.labels import label_texts
from pegasos.search.anatomy import anatomy

#: Features that are shown.
MOST_FEATURES = 20


def weight_blocks(estimator: Any) -> list[Block]:
    """Return bars for two classes, else a heatmap of features by classes.

    Features are those that the learner sees; without their names there is no chart.
    """
    learner = anatomy(estimator, fitted=True).learner
    if learner.kernel is not None or sparse.issparse(learner.coef_):
        return []
    W = np.atleast_2d(np.asarray(learner.coef_, dtype=np.float64))
    W = sum_over_pairs(W) if learner.has_pairs(estimator.classes_) else W
    names = feature_names_of(estimator, W.shape[1])
    if names is None:
        return []
    labels = label_texts(estimator.classes_).tolist()
    binary, total = len(W) == 1, W.shape[1]
    labels = labels[1:] if binary else labels
    shown = np.sort(np.argsort(-np.abs(W).max(axis=0), kind="stable")[:MOST_FEATURES]).tolist()
    rows: Rows = [
        {"feature": names[j], "order": order, "class": label, "place": line, "weight": W[line, j]}
        for line, label in enumerate(labels)
        for order, j in enumerate(shown)
    ]
    for row in rows:
        row["weight"] = brief(float(row["weight"]))
    caption = "" if len(shown) == total else f"The {len(shown)} largest of {total:,}. "
    caption += "Features are scaled and encoded as for the learner. "
    hints = tooltip(feature="feature", **{"class": "for class"}, weight=("weight", ".4~g"))
    names_axis = word("feature", "order", title=None, axis={"labelLimit": 150})
    places: Spec = {"y": names_axis, "tooltip": hints}
    if binary:
        caption += f"Positive weights increase the score of {labels[0]}."
        places["x"] = number("weight", axis={"format": "~g", "tickCount": 6})
        places["color"] = either("datum.weight < 0", vega.BLUE, "#e69f00")
        spec = chart(rows, mark("bar", places), height=18 * len(rows))
    else:
        caption += "Orange increases the score of a class, blue decreases it."
        looks = vega.signed("weight", max(abs(row["weight"]) for row in rows) or 1.0)
        many = len(labels)
        axis = {"labelAngle": 0 if many <= 12 else -60, "labelLimit": 90}
        places["x"] = word("class", "place", axis=axis)
        more: Spec = {"width": [44 if many <= 20 else 14], "height": [18]}
        more["transform"] = looks["transform"]
        spec = vega.heatmap(rows, places, looks["encoding"], {}, None, **more)
    layout = "narrow" if binary else "full"
    return [Chart.with_rows("weights", "Weights of features", spec, caption, layout)]


def feature_names_of(estimator: Any, count: int) -> list[str] | None:
    """Return the names of the features that the learner sees; None if a step has no names."""
    names = getattr(estimator, "feature_names_in_", None)
    names = None if names is None else np.asarray(names, dtype=object)
    for stage in anatomy(estimator, fitted=True).stages:
        if stage.drops:
            continue
        known = getattr(stage.part, "n_features_in_", None)
        if names is None and known is not None:
            names = _numbered(known)
        try:
            names = stage.part.get_feature_names_out(names)
        except (AttributeError, ValueError, NotFittedError):
            return None
        if isinstance(stage.part, ColumnTransformer):
            names = _plain_names(stage.part, names)
    names = _numbered(count) if names is None else names
    return [str(name) for name in names] if len(names) == count else None


def _numbered(count: int) -> Any:
    return np.array([f"x{j + 1}" for j in range(count)], dtype=object)


def _plain_names(part: ColumnTransformer, names: Any) -> Any:
    """Return names without the step before "__", and readable names of missing-value indicators."""
    missing: dict[str, str] = {}
    for _, encoder, _ in part.transformers_:
        columns_ = getattr(encoder, "feature_names_in_", ())
        found = getattr(encoder, "categories_", ())
        for column, categories in zip(columns_, found, strict=False):
            gaps = (each for each in categories if each is None or each != each)
            missing |= {f"{column}_{gap}": f"{column} missing" for gap in gaps}
    plain, mark_ = [str(name).partition("__")[2] for name in names], "missingindicator_"
    for place, name in enumerate(plain):
        if name.startswith(mark_):
            plain[place] = f"{name.removeprefix(mark_)} missing"
    return np.array([missing.get(name, name) for name in plain], dtype=object)
