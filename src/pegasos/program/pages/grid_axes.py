"""The axes of a grid of cells: parameters that vary, the cost in place of λ, and the numbers of kernels beside their names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pegasos.engine.kernels.base import DistanceKernel, Kernel
from pegasos.program.pages import wording
from pegasos.program.pages.wording import is_number, value_text
from pegasos.search.narrowing import Ended

#: The axis that stands for λ where kernels have λ of their own: C times a typical K(x, x).
COST = "cost"
#: Costs that differ by less are one place on that axis: λ are rounded to two digits.
_ALIKE = 1.25


@dataclass
class Point:
    """A cell as charts have it: its values by name, what was measured, and the command line that trains it.

    The command is None where no command line can express the cell, and empty where none is known.
    """

    number: int
    values: dict[str, Any]
    value: float | None = None
    deviation: float | None = None
    train: float | None = None
    train_deviation: float | None = None
    support_vectors: float | None = None
    gap: float | None = None
    cost: float | None = None
    #: C times a typical K(x, x): the same number is the same freedom, whatever the kernel and its units are.
    freedom: float | None = None
    ended: Ended | None = None
    command: str | None = ""
    #: The lines of Python that train it, where no command line can.
    #: Its place on the axes; what is given there is what varies, `values` is what people read.
    at: dict[str, Any] = field(default_factory=dict)


@dataclass
class Axis:
    """A parameter that varies: its values in order, and their labels; a `part` is a number that only kernels of one name have."""

    name: str
    title: str
    values: list[Any]
    labels: list[str]
    part: bool = False

    @property
    def numeric(self) -> bool:
        return all(value is None or is_number(value) for value in self.values)

    def described(self) -> dict[str, Any]:
        """For scripts and charts; `long`: labels do not fit beside each other; `ticks`: all values, where they are few."""
        numbers = [value for value in self.values if value is not None] if self.numeric else []
        scale: dict[str, Any] = {"zero": False, "nice": False}
        if numbers and numbers[0] > 0 and numbers[-1] / numbers[0] > 20:
            scale = {"type": "log", "nice": False}
        known = {
            "name": self.name,
            "title": self.title,
            "numeric": self.numeric,
            "labels": self.labels,
            "part": self.part,
        }
        values, ticks = (
            self.values if self.numeric else None,
            numbers if len(numbers) <= 12 else None,
        )
        long = any(len(line) > 9 for label in self.labels for line in label.split("\n"))
        return {**known, "numbers": values, "scale": scale, "ticks": ticks, "long": long}


def axes_of(points: list[Point]) -> list[Axis]:
    """The parameters that vary, λ (or the cost) and numbers of steps first; puts every point on them."""
    for point in points:
        point.at = dict(point.values)
    titles = _costs_for_lam(points)
    parts = _kernel_numbers(points)
    found = []
    for name in dict.fromkeys(name for point in points for name in point.at):
        values = list(dict.fromkeys(point.at.get(name) for point in points))
        if len(values) < 2:
            continue
        if all(value is None or is_number(value) for value in values):
            values.sort(key=lambda value: (value is None, value or 0))
        elif name == "kernel":
            values.sort(key=wording.order_of)
        labels: list[str] = []
        for digits in (3, 6, 15):  # as many as tell values apart
            if len(set(labels)) < len(values):
                labels = [value_text(value, digits) for value in values]
        title = {**titles, **parts}.get(name) or wording.title_of(name)
        found.append(
            Axis(
                name,
                title,
                values,
                labels,
                name in parts and "kernel" in {n for p in points for n in p.at},
            )
        )
    rank = {"lam": 0, COST: 0, "n_iter": 1, "epochs": 2}
    return sorted(
        found, key=lambda axis: 4 if axis.part else rank.get(axis.name, 3 if axis.numeric else 5)
    )


def _costs_for_lam(points: list[Point]) -> dict[str, str]:
    """Put the cost in the place of λ, if kernels have λ of their own, so that a grid over λ would be blank for the most part."""
    known = [point for point in points if point.values.get("lam") is not None]
    if not known or any(point.freedom is None for point in known):
        return {}
    costs = _gathered(point.freedom for point in known if point.freedom is not None)
    strengths = {point.values["lam"] for point in known}
    seen = {
        (
            tuple((name, v) for name, v in point.values.items() if name != "lam"),
            costs[point.freedom],
        )
        for point in known
        if point.freedom is not None
    }
    if len(set(costs.values())) >= len(strengths) or len(seen) < len(known):
        return {}
    for point in points:
        point.at.pop("lam", None)
        point.at[COST] = None if point.freedom is None else costs[point.freedom]
    return {COST: "cost, C·K(x, x)"}


def _gathered(costs: Iterable[float]) -> dict[float, float]:
    """Each cost with the round number that stands for it and all that are nearly equal."""
    groups: list[list[float]] = []
    for cost in sorted(set(costs)):
        if groups and cost < groups[-1][0] * _ALIKE:
            groups[-1].append(cost)
        else:
            groups.append([cost])
    return {cost: _round(group[len(group) // 2]) for group in groups for cost in group}


def _round(cost: float) -> float:
    rough = float(f"{cost:.0e}")
    return rough if abs(rough / cost - 1) < 0.12 else float(f"{cost:.1e}")


def _kernel_numbers(points: list[Point]) -> dict[str, str]:
    """An axis for the one number in which kernels of a name differ (a width); where all have that name, in their stead."""
    named: dict[str, set[Any]] = defaultdict(set)
    for point in points:
        kernel = point.values.get("kernel")
        named[kernel.name if isinstance(kernel, Kernel) else ""].add(kernel)
    titles: dict[str, str] = {}
    for name, kernels in named.items():
        numbers = {kernel: _numbers(kernel) for kernel in kernels if isinstance(kernel, Kernel)}
        varying = {
            key
            for one in numbers.values()
            for key in one
            if len({each.get(key) for each in numbers.values()}) > 1
        }
        if len(kernels) < 2 or len(varying) != 1 or len(numbers) < len(kernels):
            continue
        key = varying.pop()
        if not all(is_number(each.get(key)) for each in numbers.values()):
            continue
        titles[f"{name} {key}"] = f"{name} {key}"
        for point in points:
            if point.values.get("kernel") in numbers:
                point.at[f"{name} {key}"] = numbers[point.values["kernel"]][key]
                if len(named) == 1:
                    del point.at["kernel"]
    return titles


def _numbers(kernel: Kernel) -> dict[str, Any]:
    """The parameters of a kernel; a width that is relative counts by its factor."""
    params = kernel.get_params()
    if isinstance(kernel, DistanceKernel) and kernel.factor is not None and kernel.main is not None:
        return {
            **{name: value for name, value in params.items() if name != kernel.main},
            f"{kernel.main} / usual": kernel.factor,
        }
    return params
