"""A grid of cells by families of kernels: heatmaps with one color scale, and lines along a parameter."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pegasos.metrics import Measure
from pegasos.program.pages.grid_axes import Axis, Point
from pegasos.program.pages.vega import (
    TICK,
    Rows,
    Spec,
    chart,
    mark,
    number,
    tooltip,
    word,
)
from pegasos.program.pages.wording import score_text, unbroken, value_text
from pegasos.program.records.runs import best_of_families

#: Pixels of a column of a heatmap by the number of columns, and of a line; with more columns numbers are left out.
_COLUMN, _LINE, _NUMBERED = ((6, 46), (24, 36), (10**9, 16)), 26, 24
#: Values whose ratio is larger are drawn on a logarithmic scale.
_WIDE = 5.0


@dataclass
class Grid:
    """Cells of a sweep with what they were compared by, the choice, and the simplest cell within one standard error."""

    points: list[Point]
    measure: Measure
    best: int
    simplest: int

    @property
    def choice(self) -> Point:
        return next(point for point in self.points if point.number == self.best)

    def families(self) -> list[list[Point]]:
        """Return the cells of each model, kind of kernel and preparation; the family with the best cell first.

        Variants with a preparation of their own belong to the family of the grid that they vary.
        """
        groups: dict[Any, list[Point]] = {}
        for point in sorted(self.points, key=lambda point: not point.in_grid):
            key = _family(point)
            if key not in groups and not point.in_grid:
                key = next((each for each in groups if each[:2] == key[:2]), key)
            groups.setdefault(key, []).append(point)
        family_of = {point.number: key for key, points in groups.items() for point in points}
        known = best_of_families(
            self.points,
            lambda point: family_of[point.number],
            lambda point: point.estimate,
            self.measure.least,
        )
        first = {family_of[point.number]: place for place, point in enumerate(known)}
        return sorted(
            groups.values(), key=lambda each: first.get(family_of[each[0].number], len(first))
        )

    def family_of_choice(self) -> list[Point]:
        return next(each for each in self.families() if self.choice in each)

    def title(self, family: list[Point]) -> str:
        """Return the words that a family does not share with all others."""
        one, shown = family[0].values, []
        for name in dict.fromkeys(name for point in self.points for name in point.values):
            if len({value_text(point.values.get(name)) for point in self.points}) < 2:
                continue
            own = {value_text(point.values.get(name)) for point in family}
            if name == "kernel":
                kernel = family[0].cell.setting.kernel
                shown.append("linear" if kernel is None else getattr(kernel, "name", "own kernel"))
            elif len(own) == 1 and one.get(name) is not None and name not in ("lam", "n_iter"):
                text = own.pop()
                shown.append(text if name == "model" else f"{name} {text}")
        return ", ".join(shown) or "All settings"

    def scale(self, part: str = "test") -> Spec:
        """Return the color scale of all heatmaps: it spans at least two standard errors."""
        grid = (_part(point, part)[0] for point in self.points if point.in_grid)
        found = [value for value in grid if value is not None]
        low, high = (min(found), max(found)) if found else (0.0, 1.0)
        missing = 2 * self.standard_error - (high - low)
        if missing > 0:
            low, high = low - missing / 2, high + missing / 2
            if self.measure.least and low < 0:
                low, high = 0.0, high - low
        kind = "log" if low > 0 and high / low > _WIDE else "linear"
        domain = [low, high if high > low else low + 1e-6]
        return {"type": kind, "domain": domain, "scheme": "viridis", "reverse": self.measure.least}

    @property
    def standard_error(self) -> float:
        """Standard error of the best estimate: its deviation over folds by the root of their number."""
        best = self.best_at(self.points)
        if not best or best[0].spread is None:
            return 0.0
        folds = sum(value is not None for value in best[0].cell.folds)
        return best[0].spread / max(1, folds) ** 0.5

    def best_at(self, points: list[Point], *axes: Axis | None) -> list[Point]:
        """Return the cell of the grid with the best estimate at each place of some axes; the choice has precedence."""

        def value(point: Point) -> float:
            worst = math.inf if self.measure.least else -math.inf
            if point.number == self.best:
                return -worst
            return worst if point.estimate is None else point.estimate

        known = [point for point in points if point.in_grid]
        return best_of_families(known, lambda point: _place(point, axes), value, self.measure.least)

    # -- charts ------------------------------------------------------------------------------------------------------

    def heat(
        self, points: list[Point], across: Axis | None, down: Axis | None, part: str = "test"
    ) -> Spec:
        """Return the heatmap of cells over two axes; the choice has a red frame, the simplest cell as good an orange one."""
        scale, rows, axes = self.scale(part), [], (across, down)
        marks = {
            _place(point, axes): name
            for number, name in ((self.simplest, "one standard error"), (self.best, "choice"))
            for point in points
            if point.number == number
        }
        second = {_place(point, axes) for point in points if point.cell.stage > 1}
        for point in self.best_at(points, *axes):
            place = _place(point, axes)
            row = {"cell": point.number, "setting": point.text, **_texts(point, part, self.measure)}
            row["mark"] = row["note"] = marks.get(place, "")
            if row["mark"] == "choice" and point.number != self.best:
                row["note"] = f"choice, a variation of this one: {self.choice.text}"
            row["label"] += "*" if place in second and row["label"] else ""
            row["dark"] = row["value"] is not None and _shade(row["value"], scale) > 0.55
            for axis, name in ((across, "x"), (down, "y")):
                at = 0 if axis is None else axis.values.index(point.at.get(axis.name))
                row |= {name: "" if axis is None else axis.labels[at], f"{name}r": at}
            rows.append(row)
        return _heat(rows, across, down, self.measure, scale)

    def lines(self, points: list[Point], along: Axis, other: Axis | None) -> Spec | None:
        """Return values against the numbers of an axis, a line for each value of another; None without two points on a line."""
        rows: Rows = []
        for point in self.best_at(points, along, other):
            at, place = point.at.get(along.name), 0
            if at is None or point.estimate is None:
                continue
            if other is not None:
                place = other.values.index(point.at.get(other.name))
            texts = _texts(point, "test", self.measure)
            line = "" if other is None else other.labels[place]
            spread = point.spread or 0.0
            ends = {"low": point.estimate - spread, "high": point.estimate + spread}
            rows.append({**texts, **ends, "setting": point.text, "at": at, "y": line, "yr": place})
        if len(rows) <= len({row["yr"] for row in rows}):
            return None
        return _lines(rows, along, other, self.measure)


def view(axes: list[Axis]) -> tuple[Axis | None, Axis | None]:
    """Return the axes across and down: λ down, and never many columns where few would do."""
    down, across, *_ = [*axes, None, None]
    if across is not None and down is not None and len(across.values) > max(8, len(down.values)):
        return down, across
    return across, down


def _family(point: Point) -> Any:
    setting = point.cell.setting
    return setting.model, type(setting.kernel), setting.preparation


def _place(point: Point, axes: tuple[Axis | None, ...]) -> tuple[Any, ...]:
    return tuple(point.at.get(axis.name) for axis in axes if axis is not None)


def _part(point: Point, part: str) -> tuple[float | None, float | None]:
    """Return the estimate on test or the value on training rows, and its deviation over folds."""
    cell = point.cell
    return (point.estimate, point.spread) if part == "test" else (cell.train, cell.train_deviation)


def _texts(point: Point, part: str, measure: Measure) -> dict[str, Any]:
    value, deviation = _part(point, part)
    label = "" if value is None else measure.label(value)
    spread = "" if deviation is None else unbroken(f"± {score_text(deviation, measure)}")
    rounded = None if value is None else round(value, 6)
    return {"value": rounded, "label": label, "shown": score_text(value, measure), "spread": spread}


def _shade(value: float, scale: Spec) -> float:
    """Return the place of a value on a color scale, 0 bright and 1 dark."""
    low, high = scale["domain"]
    if scale["type"] == "log":
        share = math.log(value / low) / math.log(high / low)
    else:
        share = (value - low) / (high - low)
    return share if scale["reverse"] else 1 - share


def _heat(
    rows: Rows, across: Axis | None, down: Axis | None, measure: Measure, scale: Spec
) -> Spec:
    """Return the layers of a heatmap: rectangles, frames, numbers."""
    columns = len({row["xr"] for row in rows})
    width = next(step for most, step in _COLUMN if columns <= most)
    labels = [row["x"] for row in rows]
    tilted = columns > 1 and 6.2 * max(map(len, labels), default=0) > width
    x = word(
        "x",
        "xr",
        title=None if across is None else across.title,
        axis={"labelAngle": -40 if tilted else 0, "labelLimit": 180},
    )
    title = None if down is None else down.title
    places = {"x": x, "y": word("y", "yr", title=title, axis={"labelLimit": 230})}
    hints = {
        "tooltip": tooltip(setting="setting", shown=measure.name, spread="over folds", note="note")
    }
    form = ".3~p" if measure.percent else ".3~g"
    legend = {"orient": "top", "gradientLength": 130, "gradientThickness": 8, "format": form}
    legend |= {"title": measure.name, "values": scale["domain"]}
    color = number("value", scale=scale, legend=legend)
    frames = {"domain": ["choice", "one standard error"], "range": ["#d50032", "#ff9f1c"]}
    framed = {**places, "stroke": word("mark", scale=frames, legend=None)}
    ink = {"condition": {"test": "datum.dark", "value": "#fff"}, "value": "#111"}
    text = {**places, "text": word("label"), "color": ink, **hints}
    layers = [
        mark("rect", {**places, "color": color, **hints}, cursor="pointer"),
        {
            **mark("rect", framed, fill=None, strokeWidth=3, aria=False),
            "transform": [{"filter": "datum.mark !== ''"}],
        },
        mark("text", text, fontSize=11, fontWeight=500, aria=False, cursor="pointer"),
    ]
    shown = layers[: 3 if columns <= _NUMBERED else 2]
    lines = len({row["yr"] for row in rows})
    return chart(rows, *shown, width=[width], height=[_LINE if lines <= 30 else 16])


def _lines(rows: Rows, along: Axis, other: Axis | None, measure: Measure) -> Spec:
    """Return lines with bands of one deviation over folds."""
    values = sorted({row["at"] for row in rows})
    wide = values[0] > 0 and values[-1] / values[0] > 20
    ticks = {"values": values} if len(values) <= 12 else {}
    axis = {"labelExpr": TICK, "labelOverlap": "greedy", **ticks}
    scale = {"type": "log", "nice": False} if wide else {"zero": False, "nice": False}
    x = number("at", title=along.title, scale=scale, axis=axis)
    least, most = min(row["value"] for row in rows), max(row["value"] for row in rows)
    if least > 0 and most / least > _WIDE:
        limits: Spec = {"type": "log", "nice": False}
        for row in rows:
            row["low"] = max(row["low"], row["value"] / 10)
    else:  # errors are compared with none at all, scores with each other
        limits = {"type": "linear", "nice": True, "zero": measure.least}
    form = ".3~p" if measure.percent else ".3~g"
    y = number("value", title=measure.name, scale=limits, axis={"format": form, "tickCount": 5})
    legend = None if other is None else {"symbolType": "stroke", "labelLimit": 230, "columns": 1}
    title = None if other is None else other.title
    at = {"x": x, "y": y}
    at["color"] = word("y", "yr", title=title, scale={"scheme": "viridis"}, legend=legend)
    band = {**at, "y": number("low", title=measure.name), "y2": {"field": "high"}}
    hints = {"tooltip": tooltip(setting="setting", shown=measure.name, spread="over folds")}
    return chart(
        rows,
        mark("area", band, opacity=0.15, aria=False),
        mark("line", at, strokeWidth=2, aria=False),
        mark("point", {**at, **hints}, filled=True, size=36, opacity=1),
        height=250,
    )
