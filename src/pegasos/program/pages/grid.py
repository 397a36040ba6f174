"""Settings of a search as points of a grid, and the axes of its heatmaps."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pegasos.engine.kernels.base import DistanceKernel, Kernel
from pegasos.metrics import Measure
from pegasos.program.pages.wording import cost_text, is_number, setting_text, title_of, value_text
from pegasos.program.records.runs import CellRecord, SearchRecord, comparable
from pegasos.search.settings import Part, Setting

#: Axis that replaces λ if each kernel has its own λ: the dimensionless cost C·K(x, x).
COST = "cost"
#: Costs that differ by a smaller factor share a place on that axis: λ are rounded to two digits.
_ALIKE = 1.25
_STEPS = ("n_iter", "epochs")


@dataclass
class Point:
    """Cell with its parameters (`values`) and its coordinates on the axes of a heatmap (`at`).

    `estimate` and `std` come from rows that all cells of the grid share. `freedom` is C times a
    typical K(x, x), which is comparable between kernels. Variants and half steps (`in_grid` is
    false) do not belong to the grid.
    """

    cell: CellRecord
    values: dict[str, Any]
    estimate: float | None
    std: float | None
    freedom: float | None
    at: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.in_grid = self.cell.stage != 3
        self.text = setting_text(self.values, self.cell.cost)


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


def named_values(settings: list[Setting]) -> list[dict[str, Any]]:
    """Return the parameters of each setting that tables show.

    These are model, kernel, λ, the stopping criterion, and every other parameter that differs
    between settings of one model.
    """
    found = [setting.named() for setting in settings]
    names = {name for each in found for name in each}
    seen = {(name, setting.model, setting.get(name)) for setting in settings for name in names}
    counts = Counter((name, model) for name, model, _ in seen)
    varying = {name for (name, _), many in counts.items() if many > 1}
    answer = []
    for setting, named in zip(settings, found, strict=True):
        shown = {"model", "kernel", "lam", *varying}
        # Learners with a tolerance stop by their certificate, and their stop is only a limit.
        if setting.stop is not None and setting.declaration.tolerance is None:
            shown.add(setting.stop.name)
        order = [*(name for name in named if name in shown), *sorted(shown - set(named))]
        values = {name: setting.get(name) for name in order}
        for name, value in values.items():
            if isinstance(value, Part) and value.name == "PolynomialFeatures":
                values[name] = value.get("degree", 2)
        answer.append(values)
    return answer


def points_of(cells: list[CellRecord], typical: Sequence[float | None] = ()) -> list[Point]:
    """Return the points of cells; `typical` is K(x, x) of typical rows, if it is known."""
    named = named_values([cell.setting for cell in cells])
    points = []
    for cell, values, found, own in itertools.zip_longest(cells, named, comparable(cells), typical):
        freedom = None if own is None or cell.cost is None else own * cell.cost
        estimate, std = found
        points.append(Point(cell, values, estimate, std, freedom))
    return points


@dataclass
class Grid:
    """Results of a grid search: its points, metric, choice, and simplest comparable cell."""

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

    def best_at(self, points: list[Point], *axes: Axis) -> list[Point]:
        """Return the best point of the grid at each place of some axes; the choice comes first."""

        def rank(point: Point) -> tuple[bool, float]:
            return point.cell.number != self.best, self.measure.rank(point.estimate)

        firsts: dict[Any, Point] = {}
        for point in sorted((point for point in points if point.in_grid), key=rank):
            firsts.setdefault(place(point, axes), point)
        return list(firsts.values())

    def families(self) -> list[list[Point]]:
        """Return the points of each model, kind of kernel and preparation, best family first.

        Variants with another preparation belong to the family that they vary.
        """
        groups: dict[Any, list[Point]] = {}
        for point in sorted(self.points, key=lambda point: not point.in_grid):
            setting = point.cell.setting
            key = setting.model, type(setting.kernel), setting.preparation
            if key not in groups and not point.in_grid:
                key = next((each for each in groups if each[:2] == key[:2]), key)
            groups.setdefault(key, []).append(point)
        return sorted(
            groups.values(), key=lambda each: min(self.measure.rank(p.estimate) for p in each)
        )

    def family_of_choice(self) -> list[Point]:
        """Return the family of the chosen setting."""
        return next(each for each in self.families() if self.choice in each)

    def title(self, family: list[Point]) -> str:
        """Return what distinguishes a family from the others."""
        one, shown = family[0].values, []
        for name in dict.fromkeys(name for point in self.points for name in point.values):
            all_texts, own = (
                {value_text(point.values.get(name)) for point in points}
                for points in (self.points, family)
            )
            if name == "kernel" and len(all_texts) > 1:
                kernel = family[0].cell.setting.kernel
                shown.append("linear" if kernel is None else getattr(kernel, "name", "own kernel"))
            elif len(all_texts) > len(own) == 1 and name not in ("lam", "n_iter"):
                if one.get(name) is not None:
                    shown.append(own.pop() if name == "model" else f"{name} {own.pop()}")
        return ", ".join(shown) or "All settings"


def place(point: Point, axes: Sequence[Axis]) -> tuple[Any, ...]:
    """Return the coordinates of a point on some axes."""
    return tuple(point.at.get(axis.name) for axis in axes)


# -- axes ------------------------------------------------------------------------------------------


def axes_of(points: list[Point]) -> list[Axis]:
    """Return the parameters that vary in a family of kernels, and place its points on them.

    λ (or the cost) comes first, then numeric parameters by decreasing number of values, then texts.
    Points outside of the grid get the coordinates of the nearest grid point.
    """
    inside = [point for point in points if point.in_grid]
    for point in points:
        point.at = dict(point.values)
    titles = _replace_lam(points, inside) | _replace_kernels(points, inside)
    found = []
    for name in dict.fromkeys(name for point in inside for name in point.at):
        values = list(dict.fromkeys(point.at.get(name) for point in inside))
        if len(values) < 2:
            continue
        axis = Axis(name, titles.get(name) or title_of(name), values, [])
        if axis.numeric:
            values.sort(key=lambda value: (value is None, value or 0))
        axis.labels = _labels(axis, inside)
        found.append(axis)
        for point in points:
            if not point.in_grid:
                point.at[name] = _nearest(point.at.get(name), axis)

    def rank(axis: Axis) -> tuple[int, int, bool]:
        kind = 0 if axis.name in ("lam", COST) else 1 if axis.numeric else 2
        return kind, -len(axis.values), axis.name not in _STEPS

    return sorted(found, key=rank)


def view(axes: list[Axis]) -> tuple[Axis, Axis]:
    """Return the horizontal and vertical axes of a heatmap: λ is vertical if it fits."""
    down, across, *_ = [*axes, NO_AXIS, NO_AXIS]
    if len(across.values) > max(8, len(down.values)):
        return down, across
    return across, down


def _nearest(value: Any, axis: Axis) -> Any:
    """Return the value of an axis that is nearest to another one, by the ratio of numbers."""
    if not is_number(value) or value <= 0 or not axis.numeric:
        return value
    known = [each for each in axis.values if each is not None and each > 0]
    return min(known, key=lambda each: abs(math.log(each / value)), default=None)


def _labels(axis: Axis, points: list[Point]) -> list[str]:
    """Return texts with enough digits to tell values apart; a λ is followed by its C."""
    labels: list[str] = []
    for digits in (3, 6, 15):
        if len(set(labels)) < len(axis.values):
            labels = [value_text(value, digits) for value in axis.values]
    costs = [[p.cell.cost for p in points if p.at.get("lam") == value] for value in axis.values]
    if axis.name != "lam" or any(
        None in each or max(filter(None, each)) > 1.01 * min(filter(None, each)) for each in costs
    ):
        return labels
    return [label + cost_text(each[0]) for label, each in zip(labels, costs, strict=True)]


def _replace_lam(points: list[Point], inside: list[Point]) -> dict[str, str]:
    """Replace λ by the cost if each kernel has its own λ; return the title of that axis.

    A heatmap over λ would be mostly empty.
    """
    known = [point for point in inside if point.values.get("lam") is not None]
    if not known or any(point.freedom is None for point in known):
        return {}
    costs, near = dict[float | None, float](), 0.0
    for cost in sorted({point.freedom or 0.0 for point in known}):
        if cost >= near * _ALIKE:
            one, two = float(f"{cost:.0e}"), float(f"{cost:.1e}")
            near = one if abs(one / cost - 1) < 0.12 else two
        costs[cost] = near
    others = ({**point.values, "lam": costs[point.freedom]} for point in known)
    places = {tuple(each.items()) for each in others}
    lams = {point.values["lam"] for point in known}
    if len(set(costs.values())) >= len(lams) or len(places) < len(known):
        return {}
    for point in points:
        point.at.pop("lam", None)
        point.at[COST] = costs.get(point.freedom, point.freedom)
    return {COST: "cost, C·K(x, x)"}


def _replace_kernels(points: list[Point], inside: list[Point]) -> dict[str, str]:
    """Replace kernels that differ in one number by that number; return the title of its axis."""
    kernels = {point.values.get("kernel") for point in inside}
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
        point.at[title] = _kernel_numbers(point.at.pop("kernel")).get(name)
    return {title: title}


def _kernel_numbers(kernel: Any) -> dict[str, Any]:
    """Return the parameters of a kernel; a relative width counts by its factor."""
    params = kernel.get_params() if isinstance(kernel, Kernel) else {}
    if isinstance(kernel, DistanceKernel) and kernel.factor is not None and kernel.main is not None:
        del params[kernel.main]
        params[f"{kernel.main} / data's scale"] = kernel.factor
    return params
