"""Cells of a grid and the axes of their heatmaps: parameters that vary, with numbers of kernels as axes of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pegasos.engine.kernels.base import DistanceKernel, Kernel
from pegasos.program.pages import wording
from pegasos.program.pages.wording import cost_text, is_number, named_values, value_text
from pegasos.program.records.runs import CellRecord, is_sampled

#: The axis that replaces λ where kernels have λ of their own: C times a typical K(x, x).
COST = "cost"
#: Costs that differ by less share a place on that axis: λ are rounded to two digits.
_ALIKE = 1.25
_STEPS = ("n_iter", "epochs")


@dataclass
class Point:
    """A cell with its values as people read them (`values`) and as coordinates on axes (`at`).

    `estimate` and `spread` are its value and deviation on rows that all cells of the grid share. `freedom` is C times a typical
    K(x, x), comparable between kernels. `command` trains the cell; it is None where no command line can express it.
    """

    cell: CellRecord
    values: dict[str, Any]
    estimate: float | None = None
    spread: float | None = None
    freedom: float | None = None
    command: str | None = None
    at: dict[str, Any] = field(default_factory=dict)

    @property
    def number(self) -> int:
        return self.cell.number

    @property
    def value(self) -> float | None:
        return self.cell.value

    @property
    def in_grid(self) -> bool:
        """Whether the cell belongs to the grid; variants and half steps do not."""
        return self.cell.stage != 3

    @property
    def text(self) -> str:
        return wording.setting_text(self.values, self.cell.cost)

    @property
    def support_vectors(self) -> float | None:
        """Number of support vectors; a linear predictor is one vector, whatever its rows."""
        return None if self.cell.setting.kernel is None else self.cell.support_vectors


@dataclass
class Axis:
    """A parameter that varies: its values in order, and their labels."""

    name: str
    title: str
    values: list[Any]
    labels: list[str]

    @property
    def numeric(self) -> bool:
        return all(value is None or is_number(value) for value in self.values)


def points_of(
    cells: list[CellRecord],
    commands: Sequence[str | None] = (),
    typical: Sequence[float | None] = (),
) -> list[Point]:
    """Return the cells of a sweep; `typical` is K(x, x) of usual rows for each of them, where that is known."""
    values = named_values([cell.setting for cell in cells])
    points = [Point(cell, named) for cell, named in zip(cells, values, strict=True)]
    sampled = is_sampled(cells)
    for point, cell in zip(points, cells, strict=True):
        point.estimate = cell.first if sampled else cell.value
        point.spread = cell.first_deviation if sampled else cell.deviation
    for point, command in zip(points, commands, strict=False):
        point.command = command
    for point, own in zip(points, typical, strict=False):
        point.freedom = None if own is None or point.cell.cost is None else own * point.cell.cost
    return points


def axes_of(points: list[Point]) -> list[Axis]:
    """Return the parameters that vary in the grid of one family, and set the coordinates of its points.

    λ (or the cost) comes first, then other numbers, the ones with most values first, then words. Variants and
    half steps get the coordinates of the nearest place.
    """
    every = points
    points = [point for point in every if point.in_grid]
    for point in points:
        point.at = dict(point.values)
    titles = _costs_for_lam(points) | _kernel_numbers(points)
    found = []
    for name in dict.fromkeys(name for point in points for name in point.at):
        values = list(dict.fromkeys(point.at.get(name) for point in points))
        if len(values) < 2:
            continue
        if all(value is None or is_number(value) for value in values):
            values.sort(key=lambda value: (value is None, value or 0))
        elif name == "kernel":
            values.sort(key=wording.order_of)
        title = titles.get(name) or wording.title_of(name)
        found.append(Axis(name, title, values, _labels(name, values, points)))

    def rank(axis: Axis) -> tuple[int, int, bool]:
        kind = 0 if axis.name in ("lam", COST) else 1 if axis.numeric else 2
        return kind, -len(axis.values), axis.name not in _STEPS

    for point in every:
        if not point.in_grid:
            point.at = {axis.name: _nearest(point, axis) for axis in found}
    return sorted(found, key=rank)


def _nearest(point: Point, axis: Axis) -> Any:
    """Return the value of an axis that is nearest to a variation, by the ratio of positive numbers."""
    value: Any = point.freedom if axis.name == COST else point.values.get(axis.name)
    kernel = point.values.get("kernel")
    if isinstance(kernel, Kernel) and axis.title.startswith(f"{kernel.name} "):
        value = _numbers(kernel).get(axis.title.removeprefix(f"{kernel.name} "))
    if not is_number(value) or value <= 0 or not axis.numeric:
        return value
    known = [each for each in axis.values if each is not None and each > 0]
    return min(known, key=lambda each: abs(math.log(each / value)), default=None)


def _labels(name: str, values: list[Any], points: list[Point]) -> list[str]:
    """Return texts with as many digits as tell the values apart; a λ has its C beside it where there is one."""
    labels: list[str] = []
    for digits in (3, 6, 15):
        if len(set(labels)) < len(values):
            labels = [value_text(value, digits) for value in values]
    if name != "lam":
        return labels
    costs = [{p.cell.cost for p in points if p.at.get("lam") == value} for value in values]
    if any(None in each or max(each) > 1.01 * min(each) for each in costs):  # type: ignore[type-var,operator]
        return labels
    return [label + cost_text(min(each)) for label, each in zip(labels, costs, strict=True)]  # type: ignore[type-var]


def _costs_for_lam(points: list[Point]) -> dict[str, str]:
    """Replace λ by the cost where kernels have λ of their own, so that a grid over λ would be mostly empty."""
    known = [point for point in points if point.values.get("lam") is not None]
    if not known or any(point.freedom is None for point in known):
        return {}
    costs = _gathered({point.freedom for point in known if point.freedom is not None})

    def rest(point: Point) -> tuple[Any, ...]:
        return tuple((name, value) for name, value in point.values.items() if name != "lam")

    places = {(rest(point), costs[point.freedom or 0.0]) for point in known}
    strengths = {point.values["lam"] for point in known}
    if len(set(costs.values())) >= len(strengths) or len(places) < len(known):
        return {}
    for point in points:
        point.at.pop("lam", None)
        point.at[COST] = None if point.freedom is None else costs[point.freedom]
    return {COST: "cost, C·K(x, x)"}


def _gathered(costs: set[float]) -> dict[float, float]:
    """Return for each cost the round number that represents it and all nearly equal ones."""
    groups: list[list[float]] = []
    for cost in sorted(costs):
        if groups and cost < groups[-1][0] * _ALIKE:
            groups[-1].append(cost)
        else:
            groups.append([cost])
    return {cost: _round(group[len(group) // 2]) for group in groups for cost in group}


def _round(cost: float) -> float:
    rough = float(f"{cost:.0e}")
    return rough if abs(rough / cost - 1) < 0.12 else float(f"{cost:.1e}")


def _kernel_numbers(points: list[Point]) -> dict[str, str]:
    """Replace kernels that differ in one number by that number; return the title of its axis."""
    kernels = {point.values.get("kernel") for point in points}
    numbers = {kernel: _numbers(kernel) for kernel in kernels if isinstance(kernel, Kernel)}
    every = {name for each in numbers.values() for name in each}
    varying = [n for n in every if len({each.get(n) for each in numbers.values()}) > 1]
    if len(varying) != 1 or len(numbers) < len(kernels) or len({k.name for k in numbers}) > 1:
        return {}
    (name,) = varying
    if not all(is_number(each.get(name)) for each in numbers.values()):
        return {}
    title = f"{next(iter(numbers)).name} {name}"
    for point in points:
        point.at[title] = numbers[point.at.pop("kernel")][name]
    return {title: title}


def _numbers(kernel: Kernel) -> dict[str, Any]:
    """Return the parameters of a kernel; a relative width counts by its factor."""
    params = kernel.get_params()
    if isinstance(kernel, DistanceKernel) and kernel.factor is not None and kernel.main is not None:
        rest = {name: value for name, value in params.items() if name != kernel.main}
        return {**rest, f"{kernel.main} / usual": kernel.factor}
    return params
