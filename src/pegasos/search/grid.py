"""Cells of a grid, and groups of cells that share solvers: equal except for λ and the stop."""

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
    """Point of a grid: its number, GridSearchCV's parameters, and the estimator with them."""

    number: int
    params: dict[str, Any]
    estimator: Any
    parts: Anatomy
    setting: Setting

    @classmethod
    def of(cls, number: int, estimator: Any, params: dict[str, Any]) -> Cell:
        """Return the cell of an estimator with other parameters."""
        candidate = clone(estimator).set_params(**clone(params, safe=False))
        parts = anatomy(candidate)
        return cls(number, params, candidate, parts, Setting.read(parts))

    @property
    def learner(self) -> OneVsAllClassifier:
        """Learner of the estimator."""
        return self.parts.learner


@dataclass
class Group:
    """Cells with equal preparation, kernel and options."""

    setting: Setting
    cells: list[Cell] = field(default_factory=list)

    @property
    def parts(self) -> Anatomy:
        """Anatomy of the estimator of one cell."""
        return self.cells[0].parts

    @property
    def learner(self) -> OneVsAllClassifier:
        """Learner of one cell."""
        return self.cells[0].learner


def make_cells(estimator: Any, param_grid: Any) -> list[Cell]:
    """Return all cells of a grid, in GridSearchCV's order."""
    # NumPy's numbers would print as np.float64(0.1)
    grid = [{k: plain(v) for k, v in given.items()} for given in ParameterGrid(param_grid)]
    return [Cell.of(number, estimator, params) for number, params in enumerate(grid)]


def make_groups(cells: list[Cell]) -> list[Group]:
    """Return the groups of some cells."""
    groups: dict[Setting, Group] = {}
    for cell in cells:
        groups.setdefault(cell.setting.walk, Group(cell.setting.walk)).cells.append(cell)
    return list(groups.values())
