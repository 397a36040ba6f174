"""Cells of a grid, and the groups of cells that one walk serves: equal but for λ and the number of steps."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from pegasos.learners.one_vs_all import OneVsAllClassifier
from pegasos.preprocessing import DropOutliers

Array = np.ndarray[Any, Any]


@dataclass
class Cell:
    """One setting of the grid: its number, its parameters, and the estimator that has them."""

    number: int
    params: dict[str, Any]
    estimator: Any
    learner: OneVsAllClassifier


@dataclass
class Group:
    """Cells that share preprocessing, kernel and all else but λ and the stop."""

    key: str
    preparation: str
    cells: list[Cell] = field(default_factory=list)

    @property
    def estimator(self) -> Any:
        return self.cells[0].estimator

    @property
    def learner(self) -> OneVsAllClassifier:
        return self.cells[0].learner


def find_learner(estimator: Any) -> OneVsAllClassifier:
    """The learner inside pipelines and DropOutliers."""
    inner = estimator
    while not isinstance(inner, OneVsAllClassifier):
        if isinstance(inner, Pipeline):
            inner = inner.steps[-1][1]
        elif isinstance(inner, DropOutliers):
            inner = inner.estimator
        else:
            raise ValueError(
                f"SweepCV needs Pegasos, Perceptron or SDCA, alone, at the end of a Pipeline, or inside DropOutliers; "
                f"got {type(inner).__name__}. For other estimators use GridSearchCV."
            )
    return inner


def make_cells(estimator: Any, param_grid: Any) -> list[Cell]:
    """All cells, in GridSearchCV's order."""
    cells = []
    for number, params in enumerate(ParameterGrid(param_grid)):
        candidate = clone(estimator).set_params(**clone(params, safe=False))
        cells.append(Cell(number, params, candidate, find_learner(candidate)))
    return cells


def make_groups(cells: list[Cell]) -> list[Group]:
    """Cells by what one walk can serve."""
    groups: dict[str, Group] = {}
    for cell in cells:
        shared = dict.fromkeys(type(cell.learner).sweep_axes)
        learner_key = describe({k: v for k, v in cell.learner.get_params().items() if k not in shared and k != "checkpoints"})
        preparation = describe_preparation(cell.estimator)
        key = f"{preparation} | {type(cell.learner).__name__}({learner_key})"
        groups.setdefault(key, Group(key, preparation)).cells.append(cell)
    return list(groups.values())


def describe_preparation(estimator: Any) -> str:
    """All that happens to rows before the learner sees them, as text."""
    if isinstance(estimator, Pipeline):
        steps = ", ".join(f"{type(step).__name__}({describe(_deep(step))})" for _, step in estimator.steps[:-1])
        return f"[{steps}] {describe_preparation(estimator.steps[-1][1])}"
    if isinstance(estimator, DropOutliers):
        return f"DropOutliers({estimator.threshold!r}, {estimator.columns!r}) {describe_preparation(estimator.estimator)}"
    return ""


def _deep(step: Any) -> dict[str, Any]:
    return step.get_params(deep=True) if hasattr(step, "get_params") else {"step": step}


def describe(params: dict[str, Any]) -> str:
    """Parameters as text: equal values give equal texts, and long arrays are told apart by a hash."""
    return ", ".join(f"{name}={_value(value)}" for name, value in sorted(params.items()))


def _value(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array<{value.shape} {value.dtype} {hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:16]}>"
    if isinstance(value, np.generic):
        return repr(value.item())
    if callable(value) and not hasattr(value, "get_params"):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', repr(value))}"
    return repr(value)
