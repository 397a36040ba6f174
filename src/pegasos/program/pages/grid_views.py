"""Cells as a grid over axes, described once with all texts: the page's script and the figures for files only pick and regroup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from pegasos.metrics import Measure
from pegasos.program.pages import grid_charts, wording
from pegasos.program.pages.grid_axes import Point, axes_of
from pegasos.program.pages.grid_charts import NO_AXIS
from pegasos.program.pages.vega import Rows, Spec
from pegasos.program.pages.wording import cost_text, named_values, score_text, value_text
from pegasos.program.records.runs import CellRecord, best_of_families

#: What stands across, and what down, where both vary.
_ACROSS = ("n_iter", "epochs", "T")

#: What grey cells of a figure are; the page says how many there are.
_GREY = "grey: ended early, with the value that it had then"


def points_of(
    cells: list[CellRecord], commands: Sequence[str | None], typical: Sequence[float | None] = ()
) -> list[Point]:
    """The cells of a tuning run; `typical` is K(x, x) of usual rows for each of them, where that is known."""
    measured = {field.name for field in fields(Point)} & {
        field.name for field in fields(CellRecord)
    }
    found = [{name: getattr(cell, name) for name in measured} for cell in cells]
    named = zip(found, named_values([cell.setting for cell in cells]), commands, strict=True)
    points = [
        Point(**numbers, values=values, command=command) for numbers, values, command in named
    ]
    for point, cell in zip(points, cells, strict=True):
        if cell.setting.kernel is None:  # a linear predictor is one vector, whatever rows hold it
            point.support_vectors = None
    for point, own in zip(points, typical, strict=False):
        point.freedom = None if own is None or point.cost is None else own * point.cost
    return points


class Grid:
    """Cells, their axes, and everything that the page's script is given of them.

    `mark` is the word for the best cell, `tested` the rows that values come from, `spread` what deviations are over.
    """

    def __init__(
        self,
        points: list[Point],
        measure: Measure,
        best: int,
        simplest: int,
        mark: str = "choice",
        tested: str = "test rows of the folds",
        spread: str = "folds",
    ) -> None:
        self.points, self.measure, self.best, self.simplest, self.mark = (
            points,
            measure,
            best,
            simplest,
            mark,
        )
        self.axes = axes_of(points)
        self.words = [axis.name for axis in self.axes if not axis.numeric]
        self._spread = spread
        parts = {
            "test": [point.value for point in points],
            "train": [point.train for point in points],
        }
        self._logarithmic = {part: _is_wide(values) for part, values in parts.items()}
        places = [{value: place for place, value in enumerate(axis.values)} for axis in self.axes]
        self._cells = [self._described(point, places) for point in points]
        self.described: dict[str, Any] = {
            "axes": [axis.described() for axis in self.axes],
            "cells": self._cells,
            "first": {
                self._key(anchor): self.first_axes(anchor) for anchor in self.families(most=None)
            },
            "best": best,
            "title": f"{_capital(measure.name)}{' in %' if measure.percent else ''} on {tested}",
            "against": _capital(measure.name),
            "spread": spread,
            "logarithmic": self._logarithmic,
            "sizes": grid_charts.SIZES,
            # Charts without rows, for the script to fill.
            "heat": self._heat([], NO_AXIS, NO_AXIS),
            "lines": self._lines([], NO_AXIS, NO_AXIS),
        }

    def _described(self, point: Point, places: list[dict[Any, int]]) -> dict[str, Any]:
        mark = (
            self.mark
            if point.number == self.best
            else "one standard error"
            if point.number == self.simplest
            else ""
        )
        at = [place[point.at.get(axis.name)] for axis, place in zip(self.axes, places, strict=True)]
        text = wording.setting_text(point.values, point.cost)
        cell: dict[str, Any] = {"cell": point.number, "p": at, "setting": text, "mark": mark}
        if (lam := point.values.get("lam")) is not None:
            cell |= {"C": cost_text(point.cost).strip(), "product": (point.cost or 0.0) * lam}
        measured = (
            ("test", point.value, point.deviation),
            ("train", point.train, point.train_deviation),
        )
        cell |= {
            part: self._texts(part, value, spread)
            for part, value, spread in measured
            if value is not None
        }
        if point.ended is not None and point.value is None:
            told = wording.ended_text(point.ended, self.measure)
            label = self.measure.label(point.ended.value)
            cell["test"] = {
                "value": None,
                "label": label,
                "shown": f"ended early: {told}",
                "spread": "",
            }
        return cell if point.command == "" else {**cell, "command": point.command}

    def _texts(self, part: str, value: float, deviation: float | None) -> dict[str, Any]:
        spread, shown = deviation or 0.0, score_text(value, self.measure)
        low = max(value - spread, value / 10) if self._logarithmic[part] else value - spread
        numbers = {"value": round(value, 6), "low": round(low, 6), "high": round(value + spread, 6)}
        around = (
            ""
            if deviation is None
            else wording.unbroken(f"± {score_text(deviation, self.measure)}")
        )
        return {**numbers, "label": self.measure.label(value), "shown": shown, "spread": around}

    # -- views: a choice of two axes, and the cells that are equal in all others --------------------------------------

    def families(self, most: int | None = 12) -> list[Point]:
        """The best cell of each combination of words (model, kernel, ...), the best of them first."""
        return best_of_families(
            self.points, self._family, lambda point: point.value, self.measure.least
        )[:most]

    def _family(self, point: Point, but: str = "") -> tuple[Any, ...]:
        """The words of a cell, or all but one of them."""
        return tuple(point.at.get(name) for name in self.words if name != but)

    def first_axes(self, anchor: Point) -> tuple[str, str]:
        """T across and λ down where both vary around the anchor; else what varies, numbers first; "" where nothing does."""

        def varies(name: str, points: list[Point]) -> bool:
            return len({point.at.get(name) for point in points}) > 1

        others = {name: self._family(anchor, name) for name in self.words}
        near = [point for point in self.points if self._family(point) == self._family(anchor)]
        numbers = [
            axis.name
            for axis in self.axes
            if axis.numeric and not axis.part and varies(axis.name, near)
        ]
        if len(numbers) >= 2:
            across = next((name for name in numbers if name in _ACROSS), numbers[1])
            return across, next(name for name in numbers if name != across)
        kernel_first = sorted(self.words, key=lambda name: name != "kernel")
        words = [
            name
            for name in kernel_first
            if varies(name, [p for p in self.points if self._family(p, name) == others[name]])
        ]
        across, down, *_ = [*([*numbers, *words] or kernel_first), "", ""]
        return across, down

    def _key(self, point: Point) -> str:
        """The places of a cell's words: what the script calls a family."""
        places = next(cell["p"] for cell in self._cells if cell["cell"] == point.number)
        return " ".join(
            str(place) for place, axis in zip(places, self.axes, strict=True) if not axis.numeric
        )

    def _rows(
        self, cells: list[dict[str, Any]], one: str, two: str, part: str
    ) -> list[dict[str, Any]]:
        """Rows of charts, as the script's `rowsOf` makes them: x, place xr and number at from one axis, y and yr from another.

        A λ has its C below it where each has one: cells that learned from differently many rows have several.
        """
        names, found, one_cost = [axis.name for axis in self.axes], [], _product(cells) is not None
        for cell in (cell for cell in cells if part in cell):
            row = {
                **cell[part],
                "cell": cell["cell"],
                "setting": cell["setting"],
                "mark": cell["mark"],
                "at": None,
            }
            for name, mark in ((one, "x"), (two, "y")):
                place = cell["p"][names.index(name)] if name else 0
                below = f"\n{cell['C']}" if name == "lam" and one_cost and "C" in cell else ""
                row |= {
                    mark: self.axes[names.index(name)].labels[place] + below if name else "",
                    f"{mark}r": place,
                }
            if one and self.axes[names.index(one)].numeric:
                row["at"] = self.axes[names.index(one)].values[row["xr"]]
            found.append(row)
        return found

    def figures(self) -> dict[str, Any]:
        """Heatmaps and lines of every family, for files; of kernels that differ in one number also one over that number."""
        figures: dict[str, Any] = {}
        parts = [axis.name for axis in self.axes if axis.part]
        for anchor in self.families():
            across, down = self.first_axes(anchor)
            views = [
                (across, down),
                *(
                    (part, across)
                    for part in parts
                    if anchor.at.get(part) is not None and across != part
                ),
            ]
            for one, two in views:
                tail = self._tail(anchor, one, two)
                for part, what in (("test", "test"), ("train", "training")):
                    if (heat := self.heat_of(anchor, one, two, part)) is not None:
                        figures.setdefault(f"heat {what} {tail}".strip(), heat)
                for along, other in ((one, two), (two, one)):
                    if (lines := self.lines_of(anchor, along, other)) is not None:
                        figures.setdefault(f"lines {along} {tail}".strip(), lines)
        return figures

    def heat_of(self, anchor: Point, one: str, two: str, part: str = "test") -> Spec | None:
        """The heatmap of the cells around an anchor, one axis across and another down; None where nothing is known of them."""
        rows = self._rows(self._shown(anchor, one, two), one, two, part)
        if all(row["value"] is None for row in rows):
            return None
        title = self._titled(
            self.described["title"] if part == "test" else "Training", anchor, one, two
        )
        told = (
            title
            if all(row["value"] is not None for row in rows)
            else {"text": title, "subtitle": _GREY}
        )
        return {**self._heat(rows, self._axis(one), self._axis(two), part), "title": told}

    def lines_of(self, anchor: Point, along: str, other: str) -> Spec | None:
        """Values against the numbers of an axis, a line for each value of another; None where no line has two points."""
        shown = self._shown(anchor, along, other)
        rows = self._rows(shown, along, other, "test")
        rows = [row for row in rows if None not in (row["at"], row["value"])]
        if len({(row["yr"], row["at"]) for row in rows}) <= len({row["yr"] for row in rows}):
            return None
        against = f"{self.described['against']} against {self._axis(along)['title']}"
        product = _product(shown) if along == "lam" else None
        lines = self._lines(rows, self._axis(along), self._axis(other), product)
        return {**lines, "title": self._titled(against, anchor, along, other)}

    def _axis(self, name: str) -> Spec:
        return next((axis for axis in self.described["axes"] if axis["name"] == name), NO_AXIS)

    def _titled(self, title: str, anchor: Point, one: str, two: str) -> str:
        tail = self._tail(anchor, one, two)
        return f"{title}{': ' if tail else ''}{tail}"

    def _tail(self, anchor: Point, one: str, two: str) -> str:
        """The words that a view shows one value of."""
        shown = [axis.name for axis in self.axes if axis.part and axis.name in (one, two)]
        free = (one, two, *["kernel"] * bool(shown))
        return " ".join(
            [*(value_text(anchor.at.get(name)) for name in self.words if name not in free), *shown]
        )

    def _shown(self, anchor: Point, one: str, two: str) -> list[dict[str, Any]]:
        """The cells of a view, as the script's `pickedCells` finds them: equal to the anchor in all axes that are not shown.

        Where a kernel's number is shown, kernels that have none are left out, and the others may differ in it.
        """
        parts = {axis.name for axis in self.axes if axis.part}
        shown = parts & {one, two}
        rest = [
            axis.name
            for axis in self.axes
            if axis.name not in {one, two, *parts, "kernel" if shown else ""}
        ]
        numbers = {
            point.number
            for point in self.points
            if all(point.at.get(name) == anchor.at.get(name) for name in rest)
            and all(point.at.get(n) is not None for n in shown)
        }
        return [cell for cell in self._cells if cell["cell"] in numbers]

    def _heat(self, rows: Rows, across: Spec, down: Spec, part: str = "test") -> Spec:
        return grid_charts.heat(
            rows, across, down, self.measure, self._spread, self._logarithmic[part]
        )

    def _lines(self, rows: Rows, along: Spec, other: Spec, product: float | None = None) -> Spec:
        return grid_charts.lines(
            rows, along, other, self.measure, self._spread, self._logarithmic["test"], product
        )


def _product(cells: list[dict[str, Any]]) -> float | None:
    """λ·C, one over the number of rows, where all cells that have a λ learned from equally many; as the script's `productOf`."""
    products = [cell["product"] for cell in cells if "product" in cell]
    return products[0] if products and 0 < max(products) < 1.01 * min(products) else None


def _capital(name: str) -> str:
    return name[0].upper() + name[1:]


def _is_wide(values: list[float | None]) -> bool:
    """Whether values are better seen on a logarithmic scale."""
    known = [value for value in values if value is not None]
    return bool(known) and min(known) > 0 and max(known) / min(known) > 5
