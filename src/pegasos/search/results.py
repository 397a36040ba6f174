"""The table of a sweep: cells x folds, filled unit by unit, from walks or from the store."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from pegasos.learners.calibration import SIGMOID
from pegasos.metrics import PROBABILITIES, Metric
from pegasos.search.decisions import cross_fitted
from pegasos.search.grid import Cell
from pegasos.search.problem import Problem
from pegasos.search.schedule import Unit
from pegasos.search.units import FoldAnswers, ProbableAnswers, UnitResult
from pegasos.sklearn_private import check_method_params, is_passthrough_scorer, safe_indexing

Array = np.ndarray[Any, Any]

#: Cells of a unit whose decision values are kept.
KEPT_SCORES = 10


class Table:
    """Cells x folds in the layout of cv_results_; rows of labels and scores are those of the problem."""

    def __init__(
        self, cells: list[Cell], problem: Problem, scorers: Any, score_params: Any, training: bool
    ) -> None:
        self.problem, self.cells = problem, list[Cell]()
        self._X, self._y, self._splits = problem.X, problem.y, problem.splits
        self._classes, self._scorers, self._training = problem.classes, scorers, training
        self._score_params = score_params
        self._out: list[list[dict[str, Any] | None]] = []
        self.support = self.gaps = np.empty((0, len(problem.splits)))
        self.labels = np.empty((0, len(problem.codes)), dtype=np.int32)
        self.scores: dict[int, dict[int, tuple[Array, Array]]] = {}
        self.extend(cells)

    def like(self, cells: list[Cell], problem: Problem) -> Table:
        """Return an empty table of other cells or folds."""
        return Table(cells, problem, self._scorers, self._score_params, self._training)

    def extend(self, cells: list[Cell]) -> None:
        """Append cells that no fold knows yet; their numbers go on where those of the table end."""
        self.cells += cells
        self._out += [[None] * len(self._splits) for _ in cells]
        empty = np.full((len(cells), len(self._splits)), np.nan)
        self.support, self.gaps = np.vstack([self.support, empty]), np.vstack([self.gaps, empty])
        unknown = np.full((len(cells), self.labels.shape[1]), -1, dtype=np.int32)
        self.labels = np.vstack([self.labels, unknown])

    @property
    def folds(self) -> int:
        return len(self._splits)

    @property
    def tolerances(self) -> Array:
        """Return the gap that each cell should reach."""
        named = [(cell.learner, cell.learner.declaration.tolerance) for cell in self.cells]
        return np.array(
            [np.inf if name is None else float(getattr(learner, name)) for learner, name in named]
        )

    def take(self, unit: Unit, result: UnitResult) -> None:
        """Score every cell of a finished unit."""
        test = self._splits[unit.fold][1]
        share = result.seconds / len(unit.group.cells)
        for position, cell in enumerate(unit.group.cells):
            begin = time.perf_counter()
            answers = self._answers(
                cell, result.classes, test, result.labels[position], result.scores[position]
            )
            scores = {"test_scores": self._score(answers, test)}
            if result.train_labels is not None and result.train_scores is not None:
                train = self._splits[unit.fold][0]
                own = result.train_labels[position], result.train_scores[position]
                answers = self._answers(cell, result.classes, train, *own)
                scores["train_scores"] = self._score(answers, train)
            times = {"fit_time": share, "score_time": time.perf_counter() - begin}
            self._fill(
                cell,
                unit,
                {**scores, **times},
                result.support[position],
                result.gaps[position],
                result.labels[position],
            )

        for position in self._leading(unit):
            self.scores.setdefault(unit.group.cells[position].number, {})[unit.fold] = (
                test,
                result.scores[position].copy(),
            )

    def _leading(self, unit: Unit) -> list[int]:
        """The unit's best cells, whose scores are kept."""

        def score(position: int) -> float:
            out = self._out[unit.group.cells[position].number][unit.fold]
            assert out is not None
            value = out["test_scores"]
            return float(next(iter(value.values())) if isinstance(value, dict) else value)

        return sorted(range(len(unit.group.cells)), key=score, reverse=True)[:KEPT_SCORES]

    def _fill(
        self, cell: Cell, unit: Unit, out: dict[str, Any], support: float, gap: float, labels: Array
    ) -> None:
        self._out[cell.number][unit.fold] = out
        self.support[cell.number, unit.fold] = support
        self.gaps[cell.number, unit.fold] = gap
        self.labels[cell.number, self._splits[unit.fold][1]] = labels

    def record(self, cell: Cell, unit: Unit) -> dict[str, Any]:
        """Return what the store keeps of a cell on a fold."""
        kept = self.scores.get(cell.number, {}).get(unit.fold)
        return {
            "out": self._out[cell.number][unit.fold],
            "support": float(self.support[cell.number, unit.fold]),
            "gap": float(self.gaps[cell.number, unit.fold]),
            "labels": self.labels[cell.number, self._splits[unit.fold][1]],
            **({} if kept is None else {"scores": kept[1]}),
        }

    def restore(self, cell: Cell, unit: Unit, found: dict[str, Any]) -> None:
        """Put back what the store kept."""
        self._fill(cell, unit, found["out"], found["support"], found["gap"], found["labels"])
        if "scores" in found:
            self.scores.setdefault(cell.number, {})[unit.fold] = (
                self._splits[unit.fold][1],
                found["scores"],
            )

    def _answers(
        self, cell: Cell, classes: Array, rows: Array, labels: Array, scores: Array
    ) -> FoldAnswers:
        """Return the answers of a cell with these class codes on rows."""
        values = cell.learner.decision_values(scores)
        said = self._classes[classes], self._classes[labels], values
        if not self._gives_probabilities(cell):
            return FoldAnswers(*said)
        return ProbableAnswers(*said, lambda: self._probabilities(cell, classes, rows, scores))

    def _gives_probabilities(self, cell: Cell) -> bool:
        """Whether a cell has its own, or cells are compared by probabilities: then all of them get some."""
        wanted = isinstance(self._scorers, Metric) and self._scorers.kind.needs == PROBABILITIES
        return wanted or cell.learner.has_probabilities

    def _probabilities(self, cell: Cell, classes: Array, rows: Array, scores: Array) -> Array:
        if cell.learner.has_probabilities:
            return cell.learner.own_probabilities(scores)
        codes = np.searchsorted(self._classes, safe_indexing(self._y, rows))
        return calibrated_in_fold(scores, codes, classes, cell.learner.has_pairs(classes))

    def _score(self, answers: FoldAnswers, rows: Array) -> Any:
        truth = safe_indexing(self._y, rows)
        if is_passthrough_scorer(self._scorers) and not self._score_params:
            return float(np.mean(np.asarray(truth) == answers.labels))
        params = check_method_params(self._X, params=self._score_params, indices=rows)
        return self._scorers(answers, safe_indexing(self._X, rows), truth, **params)

    def complete(self) -> Array:
        """Which cells have all folds."""
        return np.array([all(out is not None for out in row) for row in self._out])

    def values(self, metric: str | None = None) -> Array:
        """Return the scores of cells x folds (nan where there is none yet); of several metrics those of one."""

        def value(out: dict[str, Any] | None) -> float:
            found = np.nan if out is None else out["test_scores"]
            return float(found[metric or next(iter(found))] if isinstance(found, dict) else found)

        shape = (len(self.cells), len(self._splits))
        return np.array([[value(out) for out in row] for row in self._out]).reshape(shape)

    def first_scores(self) -> Any:
        """The scores of some finished cell: a number, or a dictionary for several metrics."""
        return next(out["test_scores"] for row in self._out for out in row if out is not None)

    def best(self) -> float | None:
        """Return the best mean score of a complete cell so far, where there is one metric."""
        complete = self.complete()
        if not complete.any() or isinstance(self.first_scores(), dict):
            return None
        return float(self.values()[complete].mean(axis=1).max())

    def out(self) -> list[dict[str, Any]]:
        """One dictionary for each cell and fold; missing ones have scores that are not numbers."""
        known = next(out for row in self._out for out in row if out is not None)
        empty = {
            key: (dict.fromkeys(value, np.nan) if isinstance(value, dict) else np.nan)
            for key, value in known.items()
            if key.endswith("_scores")
        }
        return [
            out or {**empty, "fit_time": np.nan, "score_time": np.nan}
            for row in self._out
            for out in row
        ]


def calibrated_in_fold(scores: Array, codes: Array, classes: Array, pairs: bool = False) -> Array:
    """Probabilities from the scores of one fold's model (rows, or rows x `classes`, which are codes): each row by a sigmoid that
    was fitted to other rows of the fold, so that they are honest, and folds need no common scale.
    """
    places = np.searchsorted(classes, codes).clip(max=len(classes) - 1)
    return cross_fitted(SIGMOID, scores, np.where(classes[places] == codes, places, -1), pairs)
