"""Results of a search: a table of cells x folds, filled from finished units or the store."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from pegasos.learners.calibration import SIGMOID
from pegasos.metrics import PROBABILITIES, Metric
from pegasos.search.decisions import cross_fitted
from pegasos.search.folds import Problem
from pegasos.search.grid import Cell
from pegasos.search.schedule import Unit
from pegasos.search.units import FoldAnswers, UnitResult
from pegasos.sklearn_private import check_method_params, is_passthrough_scorer, safe_indexing

Array = np.ndarray[Any, Any]

#: Best cells of a unit, for which decision values are kept.
KEPT_SCORES = 10


class Table:
    """Results of cells x folds.

    A result is a dictionary, as the store keeps it: `out` (the scores and times that GridSearchCV
    formats), `support`, `gap`, `labels` of the test rows, and for leading cells their `scores`.
    """

    def __init__(
        self, cells: list[Cell], problem: Problem, scorers: Any, score_params: Any, training: bool
    ) -> None:
        self.problem, self.cells = problem, list[Cell]()
        self._splits, self._classes = problem.splits, problem.classes
        self._scorers, self._score_params, self._training = scorers, score_params, training
        self._results: list[list[dict[str, Any] | None]] = []
        self.extend(cells)

    def make_empty(self, cells: list[Cell], problem: Problem) -> Table:
        """Return an empty table of other cells or folds."""
        return Table(cells, problem, self._scorers, self._score_params, self._training)

    def extend(self, cells: list[Cell]) -> None:
        """Append cells, numbered from the end of the table."""
        self.cells += cells
        self._results += [[None] * self.folds for _ in cells]

    @property
    def folds(self) -> int:
        """Number of folds."""
        return len(self._splits)

    # -- writing -----------------------------------------------------------------------------------

    def add(self, unit: Unit, result: UnitResult) -> list[dict[str, Any]]:
        """Score every cell of a finished unit, and return their results."""
        train, test = self._splits[unit.fold]
        size, found = len(test), list[dict[str, Any]]()
        for position, cell in enumerate(unit.cells):
            labels, scores = result.labels[position], result.scores[position]
            own, begin = (cell, result.classes), time.perf_counter()
            out = {"test_scores": self._score(*own, test, labels[:size], scores[:size])}
            if self._training:
                out["train_scores"] = self._score(*own, train, labels[size:], scores[size:])
            out["fit_time"] = result.seconds / len(unit.cells)
            out["score_time"] = time.perf_counter() - begin
            kept = {"out": out, "labels": labels[:size].copy()}
            kept |= {"support": float(result.support[position])}
            kept |= {"gap": float(result.gaps[position])}
            self._results[cell.number][unit.fold] = kept
            found.append(kept)
        values = [-_number(kept["out"]["test_scores"]) for kept in found]
        for position in np.argsort(values, kind="stable")[:KEPT_SCORES]:
            found[position]["scores"] = result.scores[position, :size].copy()
        return found

    def restore(self, cell: Cell, unit: Unit, found: dict[str, Any]) -> None:
        """Add a stored result; raise an error if it is damaged."""
        size = len(self._splits[unit.fold][1])
        _ = _number(found["out"]["test_scores"]), found["support"], found["gap"]
        if any(len(found[name]) != size for name in {"labels", "scores"} & {*found, "labels"}):
            raise ValueError("the stored arrays belong to other rows")
        self._results[cell.number][unit.fold] = found

    def _score(
        self, cell: Cell, classes: Array, rows: Array, labels: Array, scores: Array
    ) -> float | dict[str, float]:
        """Return the scores of a cell with these class codes on rows."""
        problem, learner = self.problem, cell.learner
        truth, predicted = safe_indexing(problem.y, rows), self._classes[labels]
        if is_passthrough_scorer(self._scorers) and not self._score_params:
            return float(np.mean(np.asarray(truth) == predicted))

        def probabilities() -> Array:
            return fold_probabilities(learner, scores, problem.codes[rows], classes)

        # If cells are compared by probabilities, all of them need some.
        wanted = isinstance(self._scorers, Metric) and self._scorers.kind.needs == PROBABILITIES
        known = probabilities if wanted or learner.has_probabilities else None
        values = learner.decision_values(scores)
        answers = FoldAnswers(self._classes[classes], predicted, values, known)
        params = check_method_params(problem.X, params=self._score_params, indices=rows)
        found: float | dict[str, float] = self._scorers(
            answers, safe_indexing(problem.X, rows), truth, **params
        )
        return found

    # -- reading -----------------------------------------------------------------------------------

    def complete(self) -> Array:
        """Tell which cells have results for all folds."""
        return np.array([None not in row for row in self._results])

    def values(self, metric: str | None = None) -> Array:
        """Return test scores (cells x folds, nan if unknown), by default of the first metric."""
        return self._of(lambda found: _number(found["out"]["test_scores"], metric))

    def numbers(self, name: str) -> Array:
        """Return "support" (number of vectors) or "gap" (largest relative one), cells x folds."""
        return self._of(lambda found: found[name])

    def _of(self, value: Any) -> Array:
        found = [[np.nan if each is None else value(each) for each in row] for row in self._results]
        return np.array(found, dtype=np.float64).reshape(len(self.cells), self.folds)

    @property
    def labels(self) -> Array:
        """Class codes of out-of-fold predictions, cells x rows (-1 if unknown)."""
        labels = np.full((len(self.cells), len(self.problem.codes)), -1, dtype=np.int32)
        for number, row in enumerate(self._results):
            for (_, test), found in zip(self._splits, row, strict=True):
                if found is not None:
                    labels[number, test] = found["labels"]
        return labels

    @property
    def scores(self) -> dict[int, dict[int, tuple[Array, Array]]]:
        """Test rows and their scores, of each leading cell and fold."""
        found: dict[int, dict[int, tuple[Array, Array]]] = {}
        for number, row in enumerate(self._results):
            for fold, each in enumerate(row):
                if each is not None and "scores" in each:
                    train, test = self._splits[fold]
                    kept = self._for_all_classes(number, train, each["scores"])
                    found.setdefault(number, {})[fold] = test, kept
        return found

    def _for_all_classes(self, cell: int, train: Array, scores: Array) -> Array:
        """Return scores with a low column for each class that the training rows lack.

        Scores of pairs of classes are returned unchanged.
        """
        codes = np.unique(self.problem.codes[train])
        wide = np.column_stack([-scores, scores]) if scores.shape[1] == 1 else scores
        is_complete = len(codes) == len(self._classes)
        pairs = self.cells[cell].learner.has_pairs(self._classes)
        if is_complete or pairs or wide.shape[1] != len(codes):
            return scores
        found = np.full((len(wide), len(self._classes)), min(-1.0, float(wide.min())))
        found[:, codes] = wide
        return found

    def best(self) -> float | None:
        """Return the best mean score of a complete cell so far, where there is one metric."""
        complete = self.complete()
        if not complete.any() or isinstance(self.fold_results()[0]["test_scores"], dict):
            return None
        return float(self.values()[complete].mean(axis=1).max())

    def fold_results(self) -> list[dict[str, Any]]:
        """Return a dictionary for each cell and fold, for GridSearchCV; unknown values are nan."""
        known = next(each for row in self._results for each in row if each)["out"]
        empty = {
            key: dict.fromkeys(value, np.nan) if isinstance(value, dict) else np.nan
            for key, value in known.items()
        }
        return [empty if each is None else each["out"] for row in self._results for each in row]


def _number(scores: Any, metric: str | None = None) -> float:
    """Return a score: of several metrics the given one, or the first."""
    return float(scores[metric or next(iter(scores))] if isinstance(scores, dict) else scores)


def fold_probabilities(learner: Any, scores: Array, codes: Array, classes: Array) -> Array:
    """Return a learner's own probabilities of a fold, or those of sigmoids if it has none."""
    if learner.has_probabilities:
        return np.asarray(learner.own_probabilities(scores))
    return calibrated_in_fold(scores, codes, classes, learner.has_pairs(classes))


def calibrated_in_fold(scores: Array, codes: Array, classes: Array, pairs: bool = False) -> Array:
    """Return probabilities from scores of one fold's model, cross-fitted within the fold.

    Each row gets those of a sigmoid fitted to other rows of the fold, so that folds need no common
    scale. `classes` are the codes to which columns of the scores belong.
    """
    places = np.searchsorted(classes, codes).clip(max=len(classes) - 1)
    return cross_fitted(SIGMOID, scores, np.where(classes[places] == codes, places, -1), pairs)
