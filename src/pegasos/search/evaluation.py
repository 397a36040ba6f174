"""Evaluation of cells on folds: their results, scored as units end, and kept in a store."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

from pegasos.learners.task import fingerprint
from pegasos.metrics import PROBABILITIES, Metric
from pegasos.search.decisions import fold_probabilities
from pegasos.search.display import Progress
from pegasos.search.grid import Cell
from pegasos.search.schedule import Schedule
from pegasos.search.settings import freeze, thaw
from pegasos.search.store import ALGORITHMS, Store, check_storable, failing_clearly
from pegasos.search.units import Outcome, Problem, Unit
from pegasos.sklearn_private import check_method_params, is_passthrough_scorer, safe_indexing

if TYPE_CHECKING:
    from pegasos.search.sweep import SweepCV

Array = np.ndarray[Any, Any]

#: Best cells of a unit, for which decision values are kept.
KEPT_SCORES = 10


class Evaluation:
    """Results of cells x folds; a context manager, which keeps the store open.

    A result is a dictionary, as the store keeps it: `out` (the scores and times that GridSearchCV
    formats), `support`, `gap`, `labels` of the test rows and, for leading cells (the best ten of
    each unit), `scores` of these rows. `scoring` are scorers and their parameters. If the folds
    have only some `rows` of the problem, their results have a separate folder within the store.
    """

    def __init__(
        self,
        search: SweepCV,
        cells: list[Cell],
        problem: Problem,
        scoring: tuple[Any, Any],
        rows: Array | None = None,
    ) -> None:
        self.cells, self.problem, self._search = list[Cell](), problem, search
        self._splits, self._classes = problem.splits, problem.classes
        self.folds = len(problem.splits)
        self._scorers, self._score_params = scoring
        self._results: list[list[dict[str, Any] | None]] = []
        self.extend(cells)
        self._trained, self._times, folder = problem, 1.0, search.store
        if rows is not None:
            self._trained, self._times = problem.take(rows), len(problem.codes) / len(rows)
            folder = None if folder is None else Path(folder) / f"rows-{len(rows)}"
        self._store = None if folder is None else self._open(folder)
        self._progress = Progress(search.verbose > 0)

    def extend(self, cells: list[Cell]) -> None:
        """Append cells, numbered from the end."""
        self.cells += cells
        self._results += [[None] * self.folds for _ in cells]

    def _open(self, folder: str | Path) -> Store:
        for cell in self.cells:
            check_storable(cell.learner)
        trained = self._trained
        question = {
            "data": fingerprint(trained.X),
            "labels": fingerprint(trained.y),
            "weights": "none" if trained.weights is None else fingerprint(trained.weights),
            "splits": fingerprint(*(part for split in trained.splits for part in split)),
            "seed": str(self._search.seed_),
            "version of the algorithms": str(ALGORITHMS),
        }
        return Store(folder, question)

    def __enter__(self) -> Evaluation:
        """Return the evaluation itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        """Close the store; after Ctrl-C report what it contains."""
        folder = self._search.store
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            kept = f"finished cells are kept in {folder}; the same call resumes there"
            kept = kept if folder is not None else "nothing is kept without a `store`"
            self._progress.warn(f"interrupted: {kept}")
        self._progress.close()
        if self._store is not None:
            self._store.close()

    def run(self, cells: list[Cell], until: float | None = None) -> bool:
        """Evaluate cells, with the same C on fewer rows; return False if time ran out."""
        search, fewer = self._search, [cell.for_fewer_rows(self._times) for cell in cells]
        options = (search.memory, search.return_train_score, search.warm_path)
        schedule = Schedule(fewer, self._trained, search.seed_, *options)
        search.plan_ = schedule.source
        units = [
            Unit(missing, unit.fold)
            for unit in schedule.units
            if (missing := [cell for cell in unit.cells if not self._restore(cell, unit.fold)])
        ]
        fits = sum(len(unit.cells) for unit in units)
        about = f"rows {schedule.source}, budget {schedule.budget / 1e9:.1f} GB"
        self._progress.expect(fits, f"{fits} fits in {len(units)} walks, {about}")
        if not units:
            return True
        if search.client is not None:
            return schedule.run_on_cluster(units, self._add, search.client, until)
        return schedule.run(units, self._add, search.n_jobs, until)

    def _add(self, unit: Unit, outcomes: list[Outcome]) -> None:
        """Score every cell of a finished unit, and keep the results."""
        found = [self._result(*each, unit.fold) for each in zip(unit.cells, outcomes, strict=True)]
        values = [-_number(result["out"]["test_scores"]) for result in found]
        for place in np.argsort(values, kind="stable")[:KEPT_SCORES]:
            found[place]["scores"] = outcomes[place].scores[: len(found[place]["labels"])].copy()
        for cell, result in zip(unit.cells, found, strict=True):
            self._results[cell.number][unit.fold] = result
        if self._store is not None:
            rows = zip(unit.cells, found, strict=True)
            self._store.save((self._key(cell), unit.fold, each) for cell, each in rows)
        means, what = self.values().mean(axis=1), f"{unit.learner!r} fold {unit.fold + 1}"
        best = None if np.isnan(means).all() else float(np.nanmax(means))
        self._progress.advance(len(unit.cells), what, best)

    def _result(self, cell: Cell, outcome: Outcome, fold: int) -> dict[str, Any]:
        (train, test), begin = self._splits[fold], time.perf_counter()
        here, after = slice(len(test)), slice(len(test), None)
        out: dict[str, Any] = {"test_scores": self._score(cell, outcome, test, here)}
        if self._search.return_train_score:
            out["train_scores"] = self._score(cell, outcome, train, after)
        out |= {"fit_time": outcome.seconds, "score_time": time.perf_counter() - begin}
        kept = {"out": out, "labels": outcome.labels[here].copy()}
        return {**kept, "support": outcome.support, "gap": outcome.gap}

    def _score(self, cell: Cell, outcome: Outcome, rows: Array, part: slice) -> Any:
        """Return the score of a cell on rows, a dictionary if there are several scorers."""
        problem, learner, scores = self.problem, cell.learner, outcome.scores[part]
        truth, predicted = safe_indexing(problem.y, rows), self._classes[outcome.labels[part]]
        if is_passthrough_scorer(self._scorers) and not self._score_params:
            return float(np.mean(np.asarray(truth) == predicted))

        def probabilities() -> Array:
            return fold_probabilities(learner, scores, problem.codes[rows], outcome.classes)

        # If cells are compared by probabilities, all of them need some.
        wanted = isinstance(self._scorers, Metric) and self._scorers.kind.needs == PROBABILITIES
        known = probabilities if wanted or learner.has_probabilities else None
        values = learner.decision_values(scores)
        answers = FoldAnswers(self._classes[outcome.classes], predicted, values, known)
        params = check_method_params(problem.X, params=self._score_params, indices=rows)
        return self._scorers(answers, safe_indexing(problem.X, rows), truth, **params)

    def _key(self, cell: Cell) -> str:
        search = self._search
        asked = {"scoring": thaw(freeze(search.scoring)), "training": search.return_train_score}
        asked |= {"warm path": True} if search.warm_path else {}
        return f"{cell.setting.key()} {json.dumps(asked, sort_keys=True)}"

    def _restore(self, cell: Cell, fold: int) -> bool:
        """Take the result of a cell from the store, if it is there."""
        found = None if self._store is None else self._store.load(self._key(cell), fold)
        if self._store is None or found is None:
            return False
        with failing_clearly(self._store.path):
            size = len(self._splits[fold][1])
            _ = _number(found["out"]["test_scores"]), found["support"], found["gap"]
            if any(len(found[name]) != size for name in {"labels", "scores"} & {*found, "labels"}):
                raise ValueError("the stored arrays belong to other rows")
        self._results[cell.number][fold] = found
        return True

    def complete(self) -> Array:
        """Tell which cells have results for all folds."""
        return np.array([None not in row for row in self._results])

    def values(self) -> Array:
        """Return test scores (cells x folds, nan if unknown), of the metric of `refit`."""
        metric = self._search.refit if isinstance(self._search.refit, str) else None
        return self._of(lambda found: _number(found["out"]["test_scores"], metric))

    def numbers(self, name: str) -> Array:
        """Return "support" (number of vectors) or "gap" (largest relative one), cells x folds."""
        return self._of(lambda found: found[name])

    def _of(self, value: Any) -> Array:
        found = [[np.nan if each is None else value(each) for each in row] for row in self._results]
        return np.array(found, dtype=np.float64).reshape(len(self.cells), self.folds)

    def labels(self) -> Array:
        """Return class codes of out-of-fold predictions, cells x rows (-1 if unknown)."""
        labels = np.full((len(self.cells), len(self.problem.codes)), -1, dtype=np.int32)
        for number, row in enumerate(self._results):
            for (_, test), found in zip(self._splits, row, strict=True):
                if found is not None:
                    labels[number, test] = found["labels"]
        return labels

    def scores(self) -> dict[int, dict[int, tuple[Array, Array]]]:
        """Return test rows and their scores, of each leading cell and fold."""
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


@dataclass(eq=False, repr=False)
class FoldAnswers(ClassifierMixin, BaseEstimator):
    """Predictions of one cell on some rows, as a fitted classifier for scikit-learn's scorers.

    Decision values and probabilities (a function, called on request) are optional.
    """

    classes_: Any = None
    labels: Any = None
    scores: Any = None
    probabilities: Any = None

    def predict(self, X: Any) -> Any:
        """Return the predicted labels of the rows."""
        return self.labels

    @available_if(lambda self: self.scores is not None)
    def decision_function(self, X: Any) -> Any:
        """Return the decision values of the rows."""
        return self.scores[:, 0] if self.scores.shape[1] == 1 else self.scores

    @available_if(lambda self: self.probabilities is not None)
    def predict_proba(self, X: Any) -> Any:
        """Return the class probabilities of the rows."""
        return self.probabilities()
