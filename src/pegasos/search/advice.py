"""Advice on the grid if the best cell is on its border, and the one-standard-error rule."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from pegasos.engine.kernels.base import DistanceKernel
from pegasos.engine.kernels.standard import Polynomial

if TYPE_CHECKING:
    from pegasos.search.grid import Cell

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


def advise(cells: list[Cell], mean: Array, folds: Array, best: int) -> list[Advice]:
    """Return advice for numeric axes with the best cell on their border.

    `mean` holds the scores of cells, `folds` those of each fold (cells x folds).
    """
    chosen, stop = cells[best].setting.named(), cells[best].setting.stop
    others = {number: cell.setting.named() for number, cell in enumerate(cells)}

    def is_better_than(other: int, standard_errors: int) -> bool:
        gain = folds[best] - folds[other]
        error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.inf
        return bool(mean[best] - mean[other] > standard_errors * error)

    found = []
    for name, value in chosen.items():
        known = {each.get(name) for each in others.values()}
        values = sorted(each for each in known if _is_number(each))
        if not _is_number(value) or len(values) < 3 or value not in (values[0], values[-1]):
            continue
        inner = values[1] if value == values[0] else values[-2]
        near = {**chosen, name: inner}
        neighbor = next((number for number, other in others.items() if other == near), None)
        if stop is not None and name == stop.name:
            if value == values[-1] and neighbor is not None and is_better_than(neighbor, 2):
                found.append(Advice(name, value, "more"))
        elif neighbor is None or is_better_than(neighbor, 1):
            found.append(Advice(name, value, "smaller" if value == values[0] else "larger"))
    return found


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def one_standard_error(errors: Array, deviations: Array, complexity: list[Any], best: int) -> int:
    """Return the simplest cell whose error is within one standard error of the best one's.

    `deviations` are scores (cells x folds); a complexity of None marks cells that are not simpler
    than the best one.
    """
    folds = deviations.shape[1]
    error = deviations[best].std(ddof=1) / np.sqrt(folds) if folds > 1 else 0.0
    good = np.flatnonzero(errors <= errors[best] + error).tolist()
    comparable = [each for each in good if complexity[each] is not None]
    return int(min(comparable, key=lambda number: (complexity[number], errors[number])))


def complexity(cell: Cell, best: Cell) -> tuple[float, float, float, float] | None:
    """Return the complexity of a cell that is simpler (smoother) than the best one, else None.

    With the same model and preparation simpler means: a linear predictor instead of a kernel, a
    lower degree, a wider kernel with no smaller λ, or a larger λ or fewer steps with the same
    kernel.
    """
    one, other = cell.setting, best.setting
    if (one.model, one.preparation, one.options) != (other.model, other.preparation, other.options):
        return None
    rough, limit = roughness(one.kernel), roughness(other.kernel)
    if rough > limit or (rough[0] == limit[0] == _UNKNOWN and one.kernel != other.kernel):
        return None
    steps, most = (float(each.stop.count) if each.stop else 1.0 for each in (one, other))
    comparable = type(one.kernel) is type(other.kernel) and not isinstance(one.kernel, Polynomial)
    if comparable or one.kernel == other.kernel:
        if one.strength < other.strength or steps > most:
            return None
    return (*rough, steps, -one.strength)


def roughness(kernel: Any) -> tuple[float, float]:
    """Return a sort key: linear, polynomial by degree, distance kernels from wide to narrow."""
    if kernel is None:
        return 0.0, 0.0
    if isinstance(kernel, Polynomial):
        return 1.0, float(kernel.degree)
    if isinstance(kernel, DistanceKernel):
        return 2.0, -float(getattr(kernel, kernel.main) if kernel.factor is None else kernel.factor)
    return _UNKNOWN, 0.0
