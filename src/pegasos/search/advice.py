"""Advice from the position of the best cell in its grid."""

from __future__ import annotations

import numbers
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pegasos.engine.kernels.base import DistanceKernel
from pegasos.engine.kernels.standard import Polynomial

if TYPE_CHECKING:
    from pegasos.search.grid import Cell
    from pegasos.search.settings import Setting

Array = np.ndarray[Any, Any]


class SweepWarning(UserWarning):
    """The grid should be changed before the choice is trusted; its argument is an `Advice`."""


def warn_user(warning: Warning) -> None:
    """Warn at the line of the user's code that called us, through whatever scikit-learn wraps around it."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in (
        "pegasos",
        "sklearn",
    ):
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)


@dataclass(frozen=True)
class Advice:
    """A change of the grid that the place of the best cell suggests: which parameter, its value there, and where to go."""

    parameter: str
    value: float
    change: str

    def __str__(self) -> str:
        if self.change == "more":
            return f"more steps would clearly help: the best cell has the largest {self.parameter} = {self.value:g}."
        return f"the best cell lies on the border of the grid: {self.parameter} = {self.value:g}. Try {self.change} values."


def complexity(cell: Cell, best: Cell) -> tuple[float, float, float, float] | None:
    """Where a cell stands among those that are simpler than the best one, which means smoother; None for one that is not.

    Simpler is, with the same model and preparation: a linear predictor instead of a kernel, a lower degree, a wider kernel at a λ
    that is no smaller, or, with the same kernel, a larger λ or fewer steps.
    """
    one, other = cell.setting, best.setting
    if (one.model, one.preparation, one.options) != (other.model, other.preparation, other.options):
        return None
    rough, limit = roughness(one.kernel), roughness(other.kernel)
    steps, lam = (1.0 if one.stop is None else float(one.stop.count)), strength(one)
    comparable = type(one.kernel) is type(other.kernel) and not isinstance(one.kernel, Polynomial)
    if rough > limit or (rough[0] == limit[0] == _UNKNOWN and one.kernel != other.kernel):
        return None
    if (comparable or one.kernel == other.kernel) and (
        lam < strength(other) or steps > (other.stop.count if other.stop else 1)
    ):
        return None
    return (*rough, steps, -lam)


def strength(setting: Setting) -> float:
    """Return a number that grows with the regularization: λ or 1/C."""
    return setting.lam or (1 / setting.C if setting.C else 0.0)


#: The rank of kernels of which it is not known how smooth they are.
_UNKNOWN = 3.0


def roughness(kernel: Any) -> tuple[float, float]:
    """Linear, polynomial by degree, of a distance by width."""
    if kernel is None:
        return 0.0, 0.0
    if isinstance(kernel, Polynomial):
        return 1.0, float(kernel.degree)
    if isinstance(kernel, DistanceKernel):
        return 2.0, -float(getattr(kernel, kernel.main) if kernel.factor is None else kernel.factor)
    return _UNKNOWN, 0.0


def advise(cells: list[Cell], mean: Array, folds: Array, best: int) -> list[Advice]:
    """Border of a numeric axis, and steps that were still helping at the end of theirs."""
    chosen, stop = cells[best].setting.named(), cells[best].setting.stop
    others = {number: cell.setting.named() for number, cell in enumerate(cells)}
    found = []
    for name, value in chosen.items():
        values = _numbers(others.values(), name)
        if not _is_number(value) or len(values) < 3 or value not in (values[0], values[-1]):
            continue
        inner = values[1] if value == values[0] else values[-2]
        neighbour = next(
            (number for number, other in others.items() if other == {**chosen, name: inner}), None
        )
        if stop is not None and name == stop.name:
            if (
                value == values[-1]
                and neighbour is not None
                and _gain(mean, folds, best, neighbour, standard_errors=2)
            ):
                found.append(Advice(name, value, "more"))
        elif neighbour is None or _gain(mean, folds, best, neighbour, standard_errors=1):
            found.append(Advice(name, value, "smaller" if value == values[0] else "larger"))
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _numbers(named: Iterable[dict[str, Any]], name: str) -> list[float]:
    """The distinct values of an axis in order."""
    return sorted({float(each[name]) for each in named if _is_number(each.get(name))})


def _gain(mean: Array, folds: Array, best: int, other: int, standard_errors: int) -> bool:
    """Whether the best cell is better than another by more than so many standard errors of their difference over folds."""
    differences = folds[best] - folds[other]
    error = (
        differences.std(ddof=1) / np.sqrt(folds.shape[1]) if folds.shape[1] > 1 else np.inf
    )  # of one split nothing is known
    return bool(mean[best] - mean[other] > standard_errors * error)
