"""Section about training: recorded curves, and objectives with their certified bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pegasos.learners.one_vs_one import pair_names
from pegasos.program.pages.blocks import Block, Chart, Table, columns
from pegasos.program.pages.labeled_rows import brief
from pegasos.program.pages.vega import CLASSES, TICK, Rows, Spec, chart, mark, number, tooltip, word
from pegasos.program.tables.labels import label_texts
from pegasos.search.anatomy import anatomy

_LINE: Spec = {"strokeWidth": 2, "point": {"size": 14, "filled": True}}
#: Ratio of values from which on an axis is logarithmic.
_WIDE = 10.0
#: Points of a curve, and rows of its table.
_POINTS, _ROWS = 300, 1000


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
    charts: list[Chart] = []
    what = {"loss_curve_": "mean loss of the drawn examples"}
    what["gap_curve_"] = "largest relative duality gap"
    for name, title in what.items():
        if name not in declaration.fitted_arrays or not len(getattr(learner, name)):
            continue
        values = np.asarray(getattr(learner, name), dtype=np.float64)
        values = values.reshape(len(values), -1)
        line = values.max(axis=1) if name == "gap_curve_" else values.mean(axis=1)
        stepped = name == "loss_curve_" and "loss_curve_steps_" in declaration.fitted_arrays
        at = np.asarray(learner.loss_curve_steps_) if stepped else np.arange(1, len(line) + 1)
        known = np.flatnonzero(np.isfinite(line))[:: max(1, len(line) // _POINTS)]
        if len(known) > 1:
            unit, place = "step" if stepped else "epoch", len(charts) + 1
            rows = _rows(x=at[known].astype(int).tolist(), y=brief(line[known].tolist()))
            charts.append(_curve(place, rows, title, unit))
    return charts


def _objective_curves(course: Any, predictors: int) -> list[Chart]:
    """Return the objective with its best lower bound so far (at least 0), and the gap."""
    steps, objectives = course[:, 0].astype(int).tolist(), course[:, 1]
    bounds = np.maximum.accumulate(np.maximum(course[:, 2], 0.0))
    gaps = np.maximum(0.0, objectives - bounds) / np.maximum(objectives, 1e-300)
    what = "objective" if predictors == 1 else f"objective, mean of {predictors} predictors"
    both = {"y": brief(objectives.tolist(), 6), "bound": brief(bounds.tolist(), 6)}
    unit, gap = "epoch or round", _rows(x=steps, y=brief(gaps.tolist()))
    first = _curve(1, _rows(x=steps, **both), what, unit, "Dashed: lower bound.")
    return [first, _curve(2, gap, "relative duality gap", unit)]


def _rows(**lists: list[Any]) -> Rows:
    return [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]


def _curve(place: int, rows: Rows, what: str, unit: str, caption: str = "") -> Chart:
    name, title = f"curve-{place}", what[0].upper() + what[1:]
    listed = columns("number", x=unit, y=what, bound="certified lower bound")
    table = Table(name, title, listed, rows[:_ROWS])
    return Chart(name, title, curve_chart(rows, unit, what), caption, table, "half")


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


# -- charts ----------------------------------------------------------------------------------------


def curve_chart(rows: Rows, x: str, y: str) -> Spec:
    """Return a number against steps or epochs, with its lower bound (dashed) if there is one."""
    across = {"x": _steps(rows, x)}
    if "bound" not in rows[0]:
        down = number("y", **_falling([row["y"] for row in rows], y))
        hints = tooltip(x=(x, ","), y=(y, ".4~g"))
        line = mark("line", {**across, "y": down, "tooltip": hints}, **_LINE)
        return chart(rows, line, height=240)
    least, most = min(row["y"] for row in rows), max(row["y"] for row in rows)
    floor = least / 30 if _is_wide([least, most]) else 0.0  # a bound near zero is drawn there
    limits = _falling([max(floor, row["bound"]) for row in rows] + [most], y)
    hints = tooltip(x=(x, ","), y=(y, ".5~g"), bound=("certified lower bound", ".5~g"))
    places = {**across, "tooltip": hints}
    above = {**places, "y": number("y", **limits), "color": {"value": CLASSES[0]}}
    below = {**places, "y": number("lower", **limits), "color": {"value": CLASSES[1]}}
    layers = [
        mark("area", {**below, "y2": {"field": "y"}}, opacity=0.12, aria=False),
        mark("line", above, **_LINE),
        mark("line", below, **_LINE, strokeDash=[6, 3]),
    ]
    lower = {"calculate": f"max(datum.bound, {floor:.4g})", "as": "lower"}
    return chart(rows, *layers, height=240, transform=[lower])


def times(rows: Rows, x: str, y: str, line: str) -> Spec:
    """Return lines over numbers, both axes logarithmic."""
    values = sorted({row["x"] for row in rows})
    axis = {"labelExpr": TICK, "labelOverlap": "greedy", "values": values}
    scale = {"type": "log", "nice": False}
    legend = {"labelLimit": 220, "orient": "top", "columns": 2}
    encoding = {
        "x": number("x", title=x, scale=scale, axis=axis),
        "y": number("y", title=y, scale=scale, axis={"labelExpr": TICK, "tickCount": 5}),
        "color": word("line", title=line, scale={"range": CLASSES}, legend=legend),
        "tooltip": tooltip(line=line, x=(x, ","), y=(y, ".4~g")),
    }
    point = {"size": 40, "filled": True}
    return chart(rows, mark("line", encoding, strokeWidth=2, point=point), height=260)


def _steps(rows: Rows, title: str) -> Spec:
    first, last = min(row["x"] for row in rows), max(row["x"] for row in rows)
    ticks: Spec = {"tickCount": 6, "tickMinStep": 1}
    if last - first <= 6:
        ticks = {"values": list(range(first, last + 1))}
    return number("x", title=title, scale={"nice": False}, axis={"labelExpr": TICK, **ticks})


def _is_wide(values: list[float]) -> bool:
    return min(values) > 0 and max(values) / min(values) > _WIDE


def _falling(values: list[float], title: str) -> Spec:
    """Return a linear axis, or a logarithmic one with one or three ticks per power of ten."""
    axis: Spec = {"labelExpr": TICK, "labelOverlap": "greedy"}
    if not _is_wide(values):
        scale = {"type": "linear", "zero": False, "nice": True}
        return {"title": title, "scale": scale, "axis": {**axis, "tickCount": 5}}
    low, high = min(values), max(values)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1,) if math.log10(high / low) > 3 else (1, 2, 5)
    marks = (float(f"{factor * 10.0**power:.3g}") for power in powers for factor in factors)
    ticks = [each for each in marks if low <= each * 1.0001 and each <= high * 1.0001]
    scale = {"type": "log", "nice": False}
    return {"title": title, "scale": scale, "axis": {**axis, "values": ticks}}
