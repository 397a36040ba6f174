"""Section about training: recorded curves, and objectives with their certified bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.learners.one_vs_one import pair_names
from pegasos.program.pages.blocks import Block, Chart, Table, columns
from pegasos.program.pages.labeled_rows import brief
from pegasos.program.pages.vega import CLASSES, Rows, Spec, chart, mark, number, quantity, tooltip
from pegasos.program.tables.labels import label_texts
from pegasos.search.anatomy import anatomy

_LINE: Spec = {"strokeWidth": 2, "point": {"size": 14, "filled": True}}
#: Points of a curve.
_POINTS = 300


def learning_blocks(estimator: Any) -> list[Block]:
    """Return the curves of a fitted model, and the table of its certificates."""
    learner = anatomy(estimator, fitted=True).learner
    return [*curves_of(learner), *_certificates(estimator, learner)]


def curves_of(learner: Any) -> list[Chart]:
    """Return the recorded curves of a learner.

    These are objective, lower bound and gap; or else the mean loss of drawn examples, or the
    largest gap.
    """
    declaration = learner.declaration
    course = getattr(learner, declaration.fitted_course or "", ())
    if len(course) > 1:
        return _objective_curves(course, len(learner.intercept_))
    known, curves = declaration.fitted_arrays, []
    if "loss_curve_" in known and len(learner.loss_curve_):
        losses = np.asarray(learner.loss_curve_, dtype=np.float64).reshape(
            len(learner.loss_curve_), -1
        )
        stepped = "loss_curve_steps_" in known
        at = np.asarray(learner.loss_curve_steps_) if stepped else None
        title, unit = "mean loss of the drawn examples", "step" if stepped else "epoch"
        curves.append((losses.mean(axis=1), title, unit, at))
    if "gap_curve_" in known and len(learner.gap_curve_):
        gaps = np.asarray(learner.gap_curve_, dtype=np.float64).reshape(len(learner.gap_curve_), -1)
        curves.append((gaps.max(axis=1), "largest relative duality gap", "epoch", None))
    charts: list[Chart] = []
    for line, title, unit, at in curves:
        at = np.arange(1, len(line) + 1) if at is None else at
        shown = np.flatnonzero(np.isfinite(line))[:: max(1, len(line) // _POINTS)]
        if len(shown) > 1:
            pairs = zip(at[shown].tolist(), brief(line[shown].tolist()), strict=True)
            rows = [{"x": int(x), "y": y} for x, y in pairs]
            charts.append(_curve(len(charts) + 1, rows, title, unit))
    return charts


def _objective_curves(course: Any, predictors: int) -> list[Chart]:
    """Return the objective with its best lower bound so far (at least 0), and the gap."""
    steps, objectives = course[:, 0].astype(int).tolist(), course[:, 1]
    bounds = np.maximum.accumulate(np.maximum(course[:, 2], 0.0))
    gaps = np.maximum(0.0, objectives - bounds) / np.maximum(objectives, 1e-300)
    what = "objective" if predictors == 1 else f"objective, mean of {predictors} predictors"
    listed = zip(steps, *(brief(each.tolist(), 6) for each in (objectives, bounds)), strict=True)
    first = [{"x": x, "y": y, "bound": bound} for x, y, bound in listed]
    second = [{"x": x, "y": y} for x, y in zip(steps, brief(gaps.tolist()), strict=True)]
    unit = "epoch or round"
    return [
        _curve(1, first, what, unit, "Dashed: lower bound."),
        _curve(2, second, "relative duality gap", unit),
    ]


def _curve(place: int, rows: Rows, what: str, unit: str, caption: str = "") -> Chart:
    title, spec = what[0].upper() + what[1:], curve_chart(rows, unit, what)
    return Chart.with_rows(f"curve-{place}", title, spec, caption, "half")


def _certificates(estimator: Any, learner: Any) -> list[Block]:
    """Return the objective of each predictor and its certified lower bound, if there is one."""
    if "dual_objective_" not in learner.declaration.fitted_arrays or not np.isfinite(learner.gap_):
        return []
    labels = label_texts(estimator.classes_).tolist()
    names = pair_names(labels) if learner.has_pairs(labels) else labels
    both = np.column_stack([np.ravel(learner.objective_), np.ravel(learner.dual_objective_)])
    names = names[1:] if len(both) == 1 else names
    rows: Rows = [
        {"of": name, "objective": p, "bound": d, "gap": (p - d) / max(abs(p), 1e-300)}
        for name, (p, d) in zip(names, both.astype(float).tolist(), strict=True)
    ]
    listed = columns("text", of="class") + columns("number", objective="objective")
    listed += columns("number", bound="certified lower bound", gap="relative gap")
    return [Table("certificates", "Objective and certified lower bound", listed, rows)]


def curve_chart(rows: Rows, x: str, y: str) -> Spec:
    """Return a line chart of `y` by step or epoch, with its lower bound (dashed) if present."""
    axis = {"format": "~s", "tickCount": 6, "tickMinStep": 1}
    across = {"x": number("x", title=x, scale={"nice": False}, axis=axis)}
    values = [row["y"] for row in rows]
    if "bound" not in rows[0]:
        hints = tooltip(x=(x, ","), y=(y, ".4~g"))
        line = {**across, "y": quantity("y", y, values), "tooltip": hints}
        return chart(rows, mark("line", line, **_LINE), height=240)
    floor = min(values) / 30 if max(values) > 10 * min(values) else 0.0
    values += [max(floor, row["bound"]) for row in rows]  # a bound near zero is drawn at the floor
    hints = tooltip(x=(x, ","), y=(y, ".5~g"), bound=("certified lower bound", ".5~g"))
    places = {**across, "tooltip": hints}
    above = {**places, "y": quantity("y", y, values), "color": {"value": CLASSES[0]}}
    below = {**places, "y": quantity("lower", y, values), "color": {"value": CLASSES[1]}}
    layers = [
        mark("area", {**below, "y2": {"field": "y"}}, opacity=0.12, aria=False),
        mark("line", above, **_LINE),
        mark("line", below, **_LINE, strokeDash=[6, 3]),
    ]
    lower = {"calculate": f"max(datum.bound, {floor:.4g})", "as": "lower"}
    return chart(rows, *layers, height=240, transform=[lower])
