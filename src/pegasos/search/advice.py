"""Advice on the grid if the best cell is on its border, and the one-standard-error rule."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from pegasos.engine.kernels.standard import Polynomial

if TYPE_CHECKING:
    from pegasos.search.grid import Cell
    from pegasos.search.settings import Setting

Array = np.ndarray[Any, Any]

#: Rank of kernels of unknown smoothness.
_UNKNOWN = 3.0


class SweepWarning(UserWarning):
    """The grid should be changed before the choice is trusted; its argument is an `Advice`."""


@dataclass(frozen=True)
class Advice:
    """Suggested change of the grid: a parameter, its best value, and in which direction to go."""

    parameter: str
    value: float
    change: str

    def __str__(self) -> str:
        value = f"{self.parameter} = {self.value:g}"
        if self.change == "more":
            return f"more steps would clearly help: the best cell has the largest {value}."
        return f"the best cell lies on the border of the grid: {value}. Try {self.change} values."


def advise(cells: list[Cell], folds: Array, best: int) -> list[Advice]:
    """Return advice for numeric axes with the best cell on their border.

    `folds` holds the scores (cells x folds).
    """
    settings, stop = [cell.setting.named() for cell in cells], cells[best].setting.stop
    mean, found = folds.mean(axis=1), list[Advice]()

    def is_better_than(other: int, errors: int) -> bool:
        gain = folds[best] - folds[other]
        return len(gain) > 1 and bool(mean[best] - mean[other] > errors * standard_error(gain))

    for name, value in settings[best].items():
        values = sorted(each for each in {each.get(name) for each in settings} if _is_number(each))
        if not _is_number(value) or len(values) < 3 or value not in (values[0], values[-1]):
            continue
        near = {**settings[best], name: values[1] if value == values[0] else values[-2]}
        neighbor = settings.index(near) if near in settings else None
        if stop is not None and name == stop.name:
            if value == values[-1] and neighbor is not None and is_better_than(neighbor, 2):
                found.append(Advice(name, value, "more"))
        elif neighbor is None or is_better_than(neighbor, 1):
            found.append(Advice(name, value, "smaller" if value == values[0] else "larger"))
    return found


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def standard_error(values: Array) -> float:
    """Return the standard error of a mean over folds; 0 for a single fold."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def simplest_as_good(cells: list[Cell], folds: Array, best: int) -> int:
    """Return the simplest cell within one standard error of the best one."""
    rank, mean = {}, folds.mean(axis=1)
    for number in np.flatnonzero(mean >= mean[best] - standard_error(folds[best])).tolist():
        if (order := complexity(cells[number], cells[best])) is not None:
            rank[number] = order, -mean[number]
    return min(rank, key=lambda number: rank[number])


def complexity(cell: Cell, best: Cell) -> tuple[float, float, float, float] | None:
    """Return the complexity of a cell that is simpler (smoother) than the best one, else None.

    With the same model and preparation simpler means: a linear predictor instead of a kernel, a
    lower degree, a wider kernel with no smaller λ, or a larger λ or fewer steps with the same
    kernel.
    """
    one, other = cell.setting, best.setting
    if (one.model, one.preparation, one.options) != (other.model, other.preparation, other.options):
        return None
    rough, limit = roughness(one), roughness(other)
    if rough > limit or (rough[0] == limit[0] == _UNKNOWN and one.kernel != other.kernel):
        return None
    steps, most = (float(each.stop.count) if each.stop else 1.0 for each in (one, other))
    comparable = type(one.kernel) is type(other.kernel) and not isinstance(one.kernel, Polynomial)
    if comparable or one.kernel == other.kernel:
        if one.strength < other.strength or steps > most:
            return None
    return (*rough, steps, -one.strength)


def roughness(setting: Setting) -> tuple[float, float]:
    """Return a sort key: linear, polynomial by degree, distance kernels from wide to narrow."""
    if setting.kernel is None:
        return 0.0, 0.0
    if isinstance(setting.kernel, Polynomial):
        return 1.0, float(setting.kernel.degree)
    return (_UNKNOWN, 0.0) if setting.width is None else (2.0, -setting.width)
