"""Settings of a search as points of a grid, and the axes of its heatmaps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pegasos.engine.kernels.base import DistanceKernel, Kernel
from pegasos.metrics import Measure
from pegasos.program.pages import values as texts
from pegasos.program.pages.values import cost_text, is_number, named_values, value_text
from pegasos.program.records.runs import CellRecord, SearchRecord, best_of_families, is_sampled

#: Axis that replaces λ if each kernel has its own λ: the dimensionless cost C·K(x, x).
COST = "cost"
#: Costs that differ by a smaller factor share a place on that axis: λ are rounded to two digits.
_ALIKE = 1.25
_STEPS = ("n_iter", "epochs")


@dataclass
class Point:
    """Cell with its parameters (`values`) and its coordinates on the axes of a heatmap (`at`).

    `estimate` and `std` come from rows that all cells of the grid share. `freedom` is C times a
    typical K(x, x), which is comparable between kernels.
    """

    cell: CellRecord
    values: dict[str, Any]
    estimate: float | None = None
    std: float | None = None
    freedom: float | None = None
    at: dict[str, Any] = field(default_factory=dict)

    @property
    def in_grid(self) -> bool:
        """Whether the cell belongs to the grid; variants and half steps do not."""
        return self.cell.stage != 3

    @property
    def text(self) -> str:
        """Setting in one line."""
        return texts.setting_text(self.values, self.cell.cost)


@dataclass
class Axis:
    """Parameter that varies: its values in order, and their labels."""

    name: str
    title: str
    values: list[Any]
    labels: list[str]

    @property
    def numeric(self) -> bool:
        """Whether all values are numbers."""
        return all(value is None or is_number(value) for value in self.values)


#: Axis with one place, for grids of fewer than two parameters.
NO_AXIS = Axis("", "", [None], [""])


def points_of(cells: list[CellRecord], typical: Sequence[float | None] = ()) -> list[Point]:
    """Return the points of cells; `typical` is K(x, x) of typical rows, if it is known."""
    named, sampled = named_values([cell.setting for cell in cells]), is_sampled(cells)
    points = []
    for cell, values, own in itertools.zip_longest(cells, named, typical):
        freedom = None if own is None or cell.cost is None else own * cell.cost
        found = (cell.first, cell.first_deviation) if sampled else (cell.value, cell.deviation)
        points.append(Point(cell, values, *found, freedom))
    return points


@dataclass
class Grid:
    """Points of a search, the metric, the choice, and the simplest cell as good as it."""

    points: list[Point]
    measure: Measure
    best: int
    simplest: int

    @classmethod
    def of(cls, record: SearchRecord, typical: Sequence[float | None] = ()) -> Grid:
        """Return the grid of a search."""
        return cls(points_of(record.cells, typical), record.measure, record.best, record.simplest)

    @property
    def choice(self) -> Point:
        """Point of the chosen setting."""
        return next(point for point in self.points if point.cell.number == self.best)

    @property
    def standard_error(self) -> float:
        """Standard error of the best estimate, from its std over folds."""
        best = self.best_at(self.points)
        if not best or best[0].std is None:
            return 0.0
        folds = sum(value is not None for value in best[0].cell.folds)
        return best[0].std / math.sqrt(max(1, folds))

    def families(self) -> list[list[Point]]:
        """Return the points of each model, kind of kernel and preparation, best family first.

        Variants with another preparation belong to the family that they vary.
        """
        groups: dict[Any, list[Point]] = {}
        for point in sorted(self.points, key=lambda point: not point.in_grid):
            setting = point.cell.setting
            kind = setting.model, type(setting.kernel)
            key = next((each for each in groups if each[:2] == kind), None)
            if key is None or point.in_grid or (*kind, setting.preparation) in groups:
                key = (*kind, setting.preparation)
            groups.setdefault(key, []).append(point)
        sign = 1 if self.measure.least else -1

        def rank(family: list[Point]) -> float:
            found = [sign * point.estimate for point in family if point.estimate is not None]
            return min(found, default=math.inf)

        return sorted(groups.values(), key=rank)

    def family_of_choice(self) -> list[Point]:
        """Return the family of the chosen setting."""
        return next(each for each in self.families() if self.choice in each)

    def title(self, family: list[Point]) -> str:
        """Return what distinguishes a family from the others."""
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

    def best_at(self, points: list[Point], *axes: Axis) -> list[Point]:
        """Return the best point of the grid at each place of some axes; the choice comes first."""

        def value(point: Point) -> float:
            worst = math.inf if self.measure.least else -math.inf
            if point.cell.number == self.best:
                return -worst
            return worst if point.estimate is None else point.estimate

        known = [point for point in points if point.in_grid]
        return best_of_families(known, lambda point: place(point, axes), value, self.measure.least)


def place(point: Point, axes: Sequence[Axis]) -> tuple[Any, ...]:
    """Return the coordinates of a point on some axes."""
    return tuple(point.at.get(axis.name) for axis in axes)


# -- axes ------------------------------------------------------------------------------------------


def axes_of(points: list[Point]) -> list[Axis]:
    """Return the parameters that vary in a family, and set the coordinates of its points.

    λ (or the cost) comes first, then other numbers, the ones with most values first, then texts.
    Variants and half steps get the coordinates of the nearest place.
    """
    inside = [point for point in points if point.in_grid]
    for point in inside:
        point.at = dict(point.values)
    titles = _replace_lam(inside) | _replace_kernels(inside)
    found = []
    for name in dict.fromkeys(name for point in inside for name in point.at):
        values = list(dict.fromkeys(point.at.get(name) for point in inside))
        if len(values) < 2:
            continue
        if all(value is None or is_number(value) for value in values):
            values.sort(key=lambda value: (value is None, value or 0))
        elif name == "kernel":
            values.sort(key=texts.kernel_order)
        title = titles.get(name) or texts.title_of(name)
        found.append(Axis(name, title, values, _labels(name, values, inside)))

    def rank(axis: Axis) -> tuple[int, int, bool]:
        kind = 0 if axis.name in ("lam", COST) else 1 if axis.numeric else 2
        return kind, -len(axis.values), axis.name not in _STEPS

    for point in points:
        if not point.in_grid:
            point.at = {axis.name: _nearest(point, axis) for axis in found}
    return sorted(found, key=rank)


def view(axes: list[Axis]) -> tuple[Axis, Axis]:
    """Return the horizontal and vertical axes of a heatmap: λ is vertical if it fits."""
    down, across, *_ = [*axes, NO_AXIS, NO_AXIS]
    if len(across.values) > max(8, len(down.values)):
        return down, across
    return across, down


def _nearest(point: Point, axis: Axis) -> Any:
    """Return the value of an axis that is nearest to a point, by the ratio of positive numbers."""
    value: Any = point.freedom if axis.name == COST else point.values.get(axis.name)
    kernel = point.values.get("kernel")
    if isinstance(kernel, Kernel) and axis.title.startswith(f"{kernel.name} "):
        value = _kernel_numbers(kernel).get(axis.title.removeprefix(f"{kernel.name} "))
    if not is_number(value) or value <= 0 or not axis.numeric:
        return value
    known = [each for each in axis.values if each is not None and each > 0]
    return min(known, key=lambda each: abs(math.log(each / value)), default=None)


def _labels(name: str, values: list[Any], points: list[Point]) -> list[str]:
    """Return texts with enough digits to tell values apart; a λ has its C beside it."""
    labels: list[str] = []
    for digits in (3, 6, 15):
        if len(set(labels)) < len(values):
            labels = [value_text(value, digits) for value in values]
    if name != "lam":
        return labels
    found = []
    for label, value in zip(labels, values, strict=True):
        costs = [p.cell.cost for p in points if p.at.get("lam") == value]
        known = [cost for cost in costs if cost is not None]
        if len(known) < len(costs) or max(known) > 1.01 * min(known):
            return labels
        found.append(label + cost_text(min(known)))
    return found


def _replace_lam(points: list[Point]) -> dict[str, str]:
    """Replace λ by the cost if each kernel has its own λ; return the title of that axis.

    A heatmap over λ would be mostly empty.
    """
    known = [point for point in points if point.values.get("lam") is not None]
    freedoms = sorted({point.freedom for point in known if point.freedom is not None})
    if not known or any(point.freedom is None for point in known):
        return {}
    groups: list[list[float]] = []
    for cost in freedoms:
        if groups and cost < groups[-1][0] * _ALIKE:
            groups[-1].append(cost)
        else:
            groups.append([cost])
    costs: dict[float, float] = {}
    for group in groups:
        middle = group[len(group) // 2]
        one, two = float(f"{middle:.0e}"), float(f"{middle:.1e}")
        costs |= dict.fromkeys(group, one if abs(one / middle - 1) < 0.12 else two)
    places = {
        (costs[point.freedom or 0.0], *(each for each in point.values.items() if each[0] != "lam"))
        for point in known
    }
    if len(groups) >= len({point.values["lam"] for point in known}) or len(places) < len(known):
        return {}
    for point in points:
        point.at.pop("lam", None)
        point.at[COST] = None if point.freedom is None else costs[point.freedom]
    return {COST: "cost, C·K(x, x)"}


def _replace_kernels(points: list[Point]) -> dict[str, str]:
    """Replace kernels that differ in one number by that number; return the title of its axis."""
    kernels = {point.values.get("kernel") for point in points}
    numbers = {each: _kernel_numbers(each) for each in kernels if isinstance(each, Kernel)}
    names = {name for each in numbers.values() for name in each}
    varying = [name for name in names if len({each.get(name) for each in numbers.values()}) > 1]
    if len(varying) != 1 or len(numbers) < len(kernels) or len({k.name for k in numbers}) > 1:
        return {}
    (name,) = varying
    if not all(is_number(each.get(name)) for each in numbers.values()):
        return {}
    title = f"{next(iter(numbers)).name} {name}"
    for point in points:
        point.at[title] = numbers[point.at.pop("kernel")][name]
    return {title: title}


def _kernel_numbers(kernel: Kernel) -> dict[str, Any]:
    """Return the parameters of a kernel; a relative width counts by its factor."""
    params = kernel.get_params()
    if isinstance(kernel, DistanceKernel) and kernel.factor is not None and kernel.main is not None:
        del params[kernel.main]
        params[f"{kernel.main} / usual"] = kernel.factor
    return params
