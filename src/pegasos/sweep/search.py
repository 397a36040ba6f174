"""SweepCV: scikit-learn's search interface over shared walks."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics._scorer import _PassthroughScorer
from sklearn.model_selection import GridSearchCV, check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_method_params, _num_samples

from pegasos.learners.task import draw_seed
from pegasos.sweep.cells import Cell, make_cells, make_groups
from pegasos.sweep.schedule import RunOptions, Schedule, Unit
from pegasos.sweep.units import FoldAnswers, LogisticAnswers, UnitResult

Array = np.ndarray[Any, Any]


class SweepCV(GridSearchCV):
    """All settings of a grid by cross-validation, in one walk for each kernel and fold.

    The interface is GridSearchCV's; the estimator is Pegasos, Perceptron or SDCA, alone, at the end of a Pipeline, or inside
    DropOutliers. Each cell is exactly what its estimator alone would give: λ and the number of steps (Pegasos), of epochs
    (Perceptron, SDCA) share a walk, kernels share distances, folds share kernel matrices.

    Parameters
    ----------
    estimator, param_grid, cv, scoring, refit, return_train_score : as in GridSearchCV.
    n_jobs : threads; None means as many as BLAS may use. It never changes a result.
    memory : bytes (or "2GB") for all arrays of the sweep together, X excluded; None: half of what is free.
    max_time : seconds after which no new unit starts; the cells that are complete by then are compared.
    verbose : 1 shows progress on a terminal, 0 nothing.

    Attributes
    ----------
    cv_results_, best_index_, best_params_, best_score_, best_estimator_, n_splits_, ... : as in GridSearchCV.
    cv_results_ also has mean_support_vectors and mean_gap (SDCA's largest relative duality gap).
    labels_ : out-of-fold codes of classes_, cells x rows (-1 where a row was never tested).
    seed_ : the seed of all draws. plan_ : how rows were had. time_ : seconds of the sweep itself.
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        cv: Any = 5,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        return_train_score: bool = False,
        memory: Any = None,
        max_time: float | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator,
            param_grid,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            error_score="raise",
            return_train_score=return_train_score,
        )
        self.memory = memory
        self.max_time = max_time

    def fit(self, X: Any, y: Any = None, **params: Any) -> SweepCV:
        """Run the sweep; `groups` goes to the splitter, `sample_weight` to the learner."""
        begin = time.perf_counter()
        scorers, metric = self._get_scorers()
        X, y = indexable(X, y)
        if y is None:
            raise ValueError("SweepCV requires y to be passed, but the target y is None: it compares classifiers.")
        check_classification_targets(y)
        params = _check_method_params(X, params=params)
        routed = self._get_routed_params_for_fit(params)
        weights = _sample_weight(routed.estimator.fit)
        self._checked_cv_orig = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        self.n_splits_ = self._checked_cv_orig.get_n_splits(X, y, **routed.splitter.split)
        splits = [(np.asarray(a), np.asarray(b)) for a, b in self._checked_cv_orig.split(X, y, **routed.splitter.split)]
        cells = make_cells(self.estimator, self.param_grid)
        self.seed_ = self._fix_seed(cells)
        for cell in cells:
            cell.learner._check_parameters()
        self._sweep_classes, codes = np.unique(np.asarray(y), return_inverse=True)
        if len(self._sweep_classes) < 2:
            raise ValueError(f"y has one class only ({self._sweep_classes[0]!r}); a classifier needs at least two classes.")
        X = X if hasattr(X, "shape") else np.asarray(X)
        schedule = Schedule(make_groups(cells), X, y, codes.reshape(-1), weights, splits, self.memory, self.seed_)
        table = _Table(cells, X, y, splits, self._sweep_classes, scorers, routed.scorer.score, self.return_train_score)
        options = RunOptions.of(self.n_jobs, self.return_train_score, self.max_time)
        self.completed_ = schedule.run(schedule.units, table.take, options)
        self.plan_ = schedule.way
        self.time_ = time.perf_counter() - begin
        self._choose(cells, table, metric, callable(self.scoring))
        if self.refit:
            self._refit(X, y, cells, routed.estimator.fit)
        self.scorer_ = getattr(scorers, "_scorers", scorers)
        return self

    def _fix_seed(self, cells: list[Cell]) -> int:
        """One seed for all cells whose estimator has none, recorded so that the run can be repeated."""
        seed = draw_seed(cells[0].learner.random_state)
        for cell in cells:
            if cell.learner.random_state != cells[0].learner.random_state:
                raise ValueError("random_state cannot be an axis of the grid: run one sweep for each seed.")
        return seed

    def _choose(self, cells: list[Cell], table: _Table, metric: Any, is_callable: bool) -> None:
        results = self._format_results([cell.params for cell in cells], self.n_splits_, table.out())
        results["mean_support_vectors"] = table.support.mean(axis=1)
        results["mean_gap"] = table.gaps.mean(axis=1)
        self.labels_ = table.labels
        first = next(out["test_scores"] for out in table.out() if out["fit_time"] >= 0)
        self.multimetric_ = isinstance(first, dict)
        if is_callable and self.multimetric_:
            self._check_refit_for_multimetric(first)
            metric = self.refit
        if self.refit or not self.multimetric_:
            self.best_index_ = self._select_best_index(self.refit, metric, results)
            if not callable(self.refit):
                self.best_score_ = results[f"mean_test_{metric}"][self.best_index_]
            self.best_params_ = results["params"][self.best_index_]
        self.cv_results_ = results
        late = int((table.gaps > table.tolerances[:, None]).any(axis=1).sum())
        if late:
            warnings.warn(
                f"{late} of {len(cells)} cells did not reach their tolerance in some fold (see cv_results_['mean_gap']): "
                "raise max_epochs or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _refit(self, X: Any, y: Any, cells: list[Cell], fit_params: Any) -> None:
        begin = time.perf_counter()
        best = cells[self.best_index_]
        best.learner.set_params(random_state=self.seed_)
        self.best_estimator_ = clone(best.estimator).fit(X, y, **fit_params)
        self.refit_time_ = time.perf_counter() - begin
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_


def _sample_weight(fit_params: dict[str, Any]) -> Array | None:
    """The weights among the parameters of fit: `sample_weight`, or `step__sample_weight` for a learner in a pipeline."""
    found = None
    for name, value in fit_params.items():
        if name != "sample_weight" and not name.endswith("__sample_weight"):
            raise ValueError(f"SweepCV passes on sample_weight only, not {name!r}.")
        found = None if value is None else np.asarray(value, dtype=np.float64)
    return found


class _Table:
    """Collects units into the layout of cv_results_: cells x folds."""

    def __init__(
        self,
        cells: list[Cell],
        X: Any,
        y: Any,
        splits: list[Any],
        classes: Array,
        scorers: Any,
        score_params: Any,
        training: bool,
    ) -> None:
        self._X, self._y, self._splits, self._classes = X, y, splits, classes
        self._scorers, self._score_params, self._training = scorers, score_params, training
        shape = (len(cells), len(splits))
        self._out: list[list[dict[str, Any] | None]] = [[None] * len(splits) for _ in cells]
        self.support, self.gaps = np.full(shape, np.nan), np.full(shape, np.nan)
        self.labels = np.full((len(cells), _num_samples(X)), -1, dtype=np.int32)
        self.tolerances = np.array([getattr(cell.learner, "tol", np.inf) for cell in cells])

    def take(self, unit: Unit, result: UnitResult) -> None:
        """Score every cell of a finished unit."""
        train, test = self._splits[unit.fold]
        share = result.seconds / len(unit.group.cells)
        for position, cell in enumerate(unit.group.cells):
            begin = time.perf_counter()
            answers = self._answers(cell, result, result.labels[position], result.scores[position])
            scores = {"test_scores": self._score(answers, test)}
            if self._training and result.train_labels is not None and result.train_scores is not None:
                answers = self._answers(cell, result, result.train_labels[position], result.train_scores[position])
                scores["train_scores"] = self._score(answers, train)
            times = {"fit_time": share, "score_time": time.perf_counter() - begin}
            self._out[cell.number][unit.fold] = {**scores, **times}
            self.support[cell.number, unit.fold] = result.support[position]
            self.gaps[cell.number, unit.fold] = result.gaps[position]
            self.labels[cell.number, test] = result.labels[position]

    def _answers(self, cell: Cell, result: UnitResult, labels: Array, scores: Array) -> FoldAnswers:
        kind = LogisticAnswers if getattr(cell.learner, "loss", "") == "logistic" else FoldAnswers
        return kind(self._classes[result.classes], self._classes[labels], scores)

    def _score(self, answers: FoldAnswers, rows: Array) -> Any:
        truth = _safe_indexing(self._y, rows)
        if isinstance(self._scorers, _PassthroughScorer) and not self._score_params:
            return float(np.mean(np.asarray(truth) == answers.labels))
        params = _check_method_params(self._X, params=self._score_params, indices=rows)
        return self._scorers(answers, _safe_indexing(self._X, rows), truth, **params)

    def out(self) -> list[dict[str, Any]]:
        """One dictionary for each cell and fold, missing ones with scores that are not numbers."""
        known = next((out for row in self._out for out in row if out is not None), None)
        if known is None:
            raise TimeoutError("no unit was finished within max_time: raise it, or make the grid smaller.")
        empty = {
            key: (dict.fromkeys(value, np.nan) if isinstance(value, dict) else np.nan)
            for key, value in known.items()
            if key.endswith("_scores")
        }
        return [out or {**empty, "fit_time": np.nan, "score_time": np.nan} for row in self._out for out in row]
