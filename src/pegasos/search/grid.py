"""Cells of a grid, and the groups of cells that one walk serves: equal but for λ and the number of steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from pegasos.engine.kernels.base import plain
from pegasos.learners.one_vs_all import OneVsAllClassifier
from pegasos.search.anatomy import Anatomy, anatomy
from pegasos.search.settings import Setting


@dataclass
class Cell:
    """One point of the grid: its number, GridSearchCV's parameters, the estimator that has them, and what that means."""

    number: int
    params: dict[str, Any]
    estimator: Any
    parts: Anatomy
    setting: Setting

    @property
    def learner(self) -> OneVsAllClassifier:
        return self.parts.learner


@dataclass
class Group:
    """Cells that share preparation, kernel and all else but λ and the stop."""

    setting: Setting
    cells: list[Cell] = field(default_factory=list)

    @property
    def parts(self) -> Anatomy:
        return self.cells[0].parts

    @property
    def learner(self) -> OneVsAllClassifier:
        return self.cells[0].learner


def make_cells(estimator: Any, param_grid: Any) -> list[Cell]:
    """All cells, in GridSearchCV's order."""
    cells = []
    for number, given in enumerate(ParameterGrid(param_grid)):
        # NumPy's numbers would print as np.float64(0.1)
        params = {name: plain(value) for name, value in given.items()}
        candidate = clone(estimator).set_params(**clone(params, safe=False))
        parts = anatomy(candidate)
        cells.append(Cell(number, params, candidate, parts, Setting.read(parts)))
    return cells


def make_groups(cells: list[Cell]) -> list[Group]:
    """Cells by what one walk can serve."""
    groups: dict[Setting, Group] = {}
    for cell in cells:
        groups.setdefault(cell.setting.walk, Group(cell.setting.walk)).cells.append(cell)
    return list(groups.values())
