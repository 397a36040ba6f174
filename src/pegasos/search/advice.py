"""What the place of the best cell in its grid suggests."""

from __future__ import annotations

import numbers
import sys
import warnings
from typing import Any

import numpy as np

from pegasos.search.grid import Cell

Array = np.ndarray[Any, Any]


class SweepWarning(UserWarning):
    """The grid should be changed before the choice is trusted."""


def warn_user(text: str, category: type[Warning]) -> None:
    """Warn at the line of the user's code that called us, through whatever scikit-learn wraps around it."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("pegasos", "sklearn"):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def complexity(cell: Cell, support_vectors: float) -> tuple[float, float, float]:
    """Simpler is smaller: fewer support vectors, fewer steps, more regularization."""
    params = cell.learner.get_params(deep=False)
    stops = [float(params[name]) for name in type(cell.learner).sweep_axes if name != "lam" and params[name] is not None]
    return (support_vectors, max(stops, default=0.0), -float(cell.learner.lam_ or 0.0))


def advise(cells: list[Cell], mean: Array, folds: Array, best: int) -> list[str]:
    """Border of a numeric axis, and steps that were still helping at the end of theirs."""
    texts = []
    chosen = cells[best].params
    for name, values in numeric_axes(cells).items():
        if name not in chosen or len(values) < 3:
            continue
        value = chosen[name]
        stop = name.rsplit("__", 1)[-1] in ("n_iter", "epochs", "max_epochs")
        if value == values[-1] and stop:
            if _still_helping(cells, mean, folds, best, name, values):
                texts.append(f"more steps would clearly help: the best cell has the largest {name} = {value:g}.")
        elif not stop and value in (values[0], values[-1]) and not _flat(cells, mean, folds, best, name, values):
            side = "smaller" if value == values[0] else "larger"
            texts.append(f"the best cell lies on the border of the grid: {name} = {value:g}. Try {side} values.")
    return texts


def numeric_axes(cells: list[Cell]) -> dict[str, list[float]]:
    """Axes of numbers, each with its sorted distinct values."""
    axes: dict[str, set[float]] = {}
    for cell in cells:
        for name, value in cell.params.items():
            if isinstance(value, numbers.Real) and not isinstance(value, bool):
                axes.setdefault(name, set()).add(float(value))
    return {name: sorted(values) for name, values in axes.items()}


def _neighbour(cells: list[Cell], best: int, name: str, value: float) -> int | None:
    """The cell that differs from the best one in this axis only."""
    wanted = {**cells[best].params, name: value}
    return next((cell.number for cell in cells if cell.params == wanted), None)


def _difference(mean: Array, folds: Array, best: int, other: int) -> tuple[float, float]:
    """Mean difference over folds, and its standard error."""
    differences = folds[best] - folds[other]
    error = differences.std(ddof=1) / np.sqrt(folds.shape[1]) if folds.shape[1] > 1 else np.inf  # of one split nothing is known
    return float(mean[best] - mean[other]), float(error)


def _still_helping(cells: list[Cell], mean: Array, folds: Array, best: int, name: str, values: list[float]) -> bool:
    other = _neighbour(cells, best, name, values[-2])
    if other is None:
        return False
    gain, error = _difference(mean, folds, best, other)
    return gain > 2 * error


def _flat(cells: list[Cell], mean: Array, folds: Array, best: int, name: str, values: list[float]) -> bool:
    """Whether the axis hardly matters at the border: the next value inside is within a standard error."""
    inner = values[1] if cells[best].params[name] == values[0] else values[-2]
    other = _neighbour(cells, best, name, inner)
    if other is None:
        return False
    gain, error = _difference(mean, folds, best, other)
    return gain <= error
