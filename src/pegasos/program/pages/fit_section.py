"""Sections about a fitted model: its largest weights, its convergence, and its certificates."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError

from pegasos.learners.one_vs_one import pair_names, sum_over_pairs
from pegasos.program.pages import vega
from pegasos.program.pages.blocks import Block, Chart, Table, columns
from pegasos.program.pages.labeled_rows import brief
from pegasos.program.pages.vega import Rows, Spec, chart, either, mark, number, tooltip, word
from pegasos.program.tables.labels import label_texts
from pegasos.search.anatomy import anatomy

#: Features whose weights are shown, and points of a curve.
MOST_FEATURES, _POINTS = 20, 300
#: Names of the indicators of missing numbers and categories.
_MISSING = re.compile(r"^(?:missingindicator_(.*)|(.*)_(?:None|nan))$")
_LINE: Spec = {"strokeWidth": 2, "point": {"size": 14, "filled": True}}


# -- weights ---------------------------------------------------------------------------------------


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
    labels = label_texts(estimator.classes_).tolist()[len(W) == 1 :]
    shown = np.sort(np.argsort(-np.abs(W).max(axis=0), kind="stable")[:MOST_FEATURES]).tolist()
    rows: Rows = []
    for line, label in enumerate(labels):
        for order, j in enumerate(shown):
            row = {"feature": names[j], "order": order, "class": label, "place": line}
            rows.append({**row, "weight": brief(float(W[line, j]))})
    caption = "" if len(shown) == W.shape[1] else f"The {len(shown)} largest of {W.shape[1]:,}. "
    caption += "Features are scaled and encoded as for the learner. "
    hints = tooltip(feature="feature", **{"class": "for class"}, weight=("weight", ".4~g"))
    places: Spec = {"y": vega.names("feature", "order", 150), "tooltip": hints}
    if len(W) == 1:
        caption += f"Positive weights increase the score of {labels[0]}."
        x = number("weight", axis={"format": "~g", "tickCount": 6})
        color = either("datum.weight < 0", vega.BLUE, "#e69f00")
        spec = chart(rows, mark("bar", places, x=x, color=color), height=18 * len(rows))
    else:
        caption += "Orange increases the score of a class, blue decreases it."
        looks = vega.signed("weight", max(abs(row["weight"]) for row in rows) or 1.0)
        axis = {"labelAngle": 0 if len(labels) <= 12 else -60, "labelLimit": 90}
        places["x"] = word("class", "place", axis=axis)
        more: Spec = {"width": [44 if len(labels) <= 20 else 14], "height": [18]}
        more["transform"] = looks["transform"]
        spec = vega.heatmap(rows, places, looks["encoding"], {}, None, **more)
    layout = "narrow" if len(W) == 1 else "full"
    return [Chart.with_rows("weights", "Weights of features", spec, caption, layout)]


def feature_names_of(estimator: Any, count: int) -> list[str] | None:
    """Return the names of the features that the learner sees; None if a step has no names."""
    names = getattr(estimator, "feature_names_in_", None)
    for stage in anatomy(estimator, fitted=True).stages:
        if stage.drops:
            continue
        if names is None and hasattr(stage.part, "n_features_in_"):
            names = _numbered(stage.part.n_features_in_)
        try:
            names = stage.part.get_feature_names_out(names)
        except (AttributeError, ValueError, NotFittedError):
            return None
        if isinstance(stage.part, ColumnTransformer):
            # Without the step before "__", and with readable names of missing-value indicators.
            plain = (str(name).partition("__")[2] for name in names)
            names = np.array([_MISSING.sub(r"\1\2 missing", name) for name in plain], dtype=object)
    names = _numbered(count) if names is None else names
    return [str(name) for name in names] if len(names) == count else None


def _numbered(count: int) -> Any:
    return np.array([f"x{j + 1}" for j in range(count)], dtype=object)


# -- convergence -----------------------------------------------------------------------------------


def learning_blocks(estimator: Any) -> list[Block]:
    """Return the curves of a fitted model, and the table of its certificates."""
    learner = anatomy(estimator, fitted=True).learner
    blocks: list[Block] = [*curves_of(learner)]
    if "dual_objective_" not in learner.declaration.fitted_arrays or not np.isfinite(learner.gap_):
        return blocks
    labels = label_texts(estimator.classes_).tolist()
    names = pair_names(labels) if learner.has_pairs(labels) else labels
    both = np.column_stack([np.ravel(learner.objective_), np.ravel(learner.dual_objective_)])
    rows: Rows = [
        {"of": name, "objective": p, "bound": d, "gap": (p - d) / max(abs(p), 1e-300)}
        for name, (p, d) in zip(names[len(both) == 1 :], both.astype(float).tolist(), strict=True)
    ]
    listed = columns("text", of="class") + columns("number", objective="objective")
    listed += columns("number", bound="certified lower bound", gap="relative gap")
    return [*blocks, Table("certificates", "Objective and certified lower bound", listed, rows)]


def curves_of(learner: Any) -> list[Chart]:
    """Return the recorded curves of a learner.

    These are the objective with its best lower bound so far (at least 0), and the gap; or else the
    mean loss of drawn examples.
    """
    declaration = learner.declaration
    course: Any = getattr(learner, declaration.fitted_course or "", ())
    if len(course) > 1:
        steps, objectives = course[:, 0].astype(int).tolist(), course[:, 1]
        bounds = np.maximum.accumulate(np.maximum(course[:, 2], 0.0))
        gaps = np.maximum(0.0, objectives - bounds) / np.maximum(objectives, 1e-300)
        predictors, unit = len(learner.intercept_), "epoch or round"
        what = "objective" if predictors == 1 else f"objective, mean of {predictors} predictors"
        both = (brief(each.tolist(), 6) for each in (objectives, bounds))
        first = [{"x": x, "y": y, "bound": bound} for x, y, bound in zip(steps, *both, strict=True)]
        second = [{"x": x, "y": y} for x, y in zip(steps, brief(gaps.tolist()), strict=True)]
        return [
            _curve(1, first, what, unit, "Dashed: lower bound."),
            _curve(2, second, "relative duality gap", unit),
        ]
    losses = getattr(learner, "loss_curve_", ())
    if "loss_curve_" not in declaration.fitted_arrays or not len(losses):
        return []
    line = np.asarray(losses, dtype=np.float64).reshape(len(losses), -1).mean(axis=1)
    stepped = "loss_curve_steps_" in declaration.fitted_arrays
    at = np.asarray(learner.loss_curve_steps_) if stepped else np.arange(1, len(line) + 1)
    shown = np.flatnonzero(np.isfinite(line))[:: max(1, len(line) // _POINTS)]
    if len(shown) < 2:
        return []
    pairs = zip(at[shown].tolist(), brief(line[shown].tolist()), strict=True)
    rows = [{"x": int(x), "y": y} for x, y in pairs]
    return [_curve(1, rows, "mean loss of the drawn examples", "step" if stepped else "epoch")]


def _curve(place: int, rows: Rows, what: str, unit: str, caption: str = "") -> Chart:
    title, spec = what[0].upper() + what[1:], curve_chart(rows, unit, what)
    return Chart.with_rows(f"curve-{place}", title, spec, caption, "half")


def curve_chart(rows: Rows, x: str, y: str) -> Spec:
    """Return a line chart of `y` by step or epoch, with its lower bound (dashed) if present."""
    axis = {"format": "~s", "tickCount": 6, "tickMinStep": 1}
    across = number("x", title=x, scale={"nice": False}, axis=axis)
    values = [row["y"] for row in rows]
    if "bound" not in rows[0]:
        hints = tooltip(x=(x, ","), y=(y, ".4~g"))
        line = mark("line", x=across, y=vega.quantity("y", y, values), tooltip=hints, **_LINE)
        return chart(rows, line, height=240)
    floor = min(values) / 30 if max(values) > 10 * min(values) else 0.0
    values += [max(floor, row["bound"]) for row in rows]  # a bound near zero is drawn at the floor
    hints = tooltip(x=(x, ","), y=(y, ".5~g"), bound=("certified lower bound", ".5~g"))
    above, below = (
        {
            "x": across,
            "tooltip": hints,
            "y": vega.quantity(name, y, values),
            "color": {"value": ink},
        }
        for name, ink in zip(("y", "lower"), vega.CLASSES, strict=False)
    )
    layers = [
        mark("area", below, y2={"field": "y"}, opacity=0.12, aria=False),
        mark("line", above, **_LINE),
        mark("line", below, **_LINE, strokeDash=[6, 3]),
    ]
    lower = {"calculate": f"max(datum.bound, {floor:.4g})", "as": "lower"}
    return chart(rows, *layers, height=240, transform=[lower])
