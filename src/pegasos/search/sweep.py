"""SweepCV: scikit-learn's search interface over shared walks."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import indexable
from sklearn.utils.multiclass import check_classification_targets

from pegasos.learners.convergence import CellsNotConverged
from pegasos.learners.task import draw_seed
from pegasos.metrics import Metric
from pegasos.search.advice import warn_user
from pegasos.search.finished import FinishedSearch
from pegasos.search.grid import Cell, make_cells
from pegasos.search.problem import Problem
from pegasos.search.results import Table
from pegasos.search.running import Filling
from pegasos.search.store import Store
from pegasos.sklearn_private import check_method_params

Array = np.ndarray[Any, Any]


class OutOfTime(TimeoutError):  # noqa: N818 - it is what happened
    """Time was up before a single cell was complete."""

    def __init__(self, seconds: float | None) -> None:
        super().__init__(seconds)
        self.seconds = seconds

    def __str__(self) -> str:
        return f"no cell was complete within max_time={self.seconds:g} seconds: raise it, or make the grid smaller."


class SweepCV(FinishedSearch):
    """All settings of a grid by cross-validation, in one walk for each kernel and fold.

    The interface is GridSearchCV's; the estimator is Pegasos, Perceptron or SDCA, alone, at the end of a Pipeline, or inside
    DropOutliers. Each cell is exactly what its estimator alone would give (where SDCA solves columns by other methods than its
    walk: within `tol`, as certified): λ and the number of steps (Pegasos) or of epochs (Perceptron, SDCA) share a walk, kernels
    share distances, folds share kernel matrices.

    Parameters
    ----------
    estimator, param_grid, cv, refit, return_train_score : as in GridSearchCV.
    scoring : as in GridSearchCV; or a `pegasos.metrics.Metric`, or the name of one ("balanced-error", "f1" whatever the labels
        are called, "average-precision", ...). As with all scorers more is better, so losses are negative. "log-loss" and "brier"
        take a cell's own probabilities; where it has none (the hinge loss), those of a sigmoid of its out-of-fold scores, each
        row by one that was fitted to other rows.
    n_jobs : threads; None means as many as BLAS may use. It never changes a result.
    store : a folder in which finished cells are kept: the same call goes on where a killed one was, a changed grid uses
        what is there.
    memory : bytes (or "2GB") for all arrays of the sweep together, X excluded; None: half of the machine's memory.
    max_time : seconds after which the sweep ends; the cells that are complete by then are compared.
    warm_path : SDCA with kernels: each λ starts from the solution of the next larger one. Faster; each cell has the certificate
        that its `tol` asks for, but is no longer bit for bit what its estimator alone would give. (Nor is it without, where
        working sets solve the hinge loss: smaller C may begin with the solution of the largest one.)
    client : a distributed.Client: kernels and folds go to its workers, the rows once to each of them. Results, store and resuming
        are as on one machine, bit for bit; `n_jobs` says nothing then, and `memory` is for each worker.
    verbose : 1 shows progress on a terminal or in a notebook, 0 nothing; log records go to the logger "pegasos.search" always.

    Attributes
    ----------
    cv_results_, best_index_, best_params_, best_score_, best_estimator_, n_splits_, ... : as in GridSearchCV; best_score_ is
        optimistic, because the cell was chosen by it: see `honest_estimate`.
    cv_results_ also has mean_support_vectors and mean_gap (SDCA's largest relative duality gap).
    simplest_index_ : the simplest (smoothest) cell within one standard error of the best. advice_ : how to change the grid.
    settings_ : the `Setting` of each cell, the same thing for equal fits. cells_ : the cells with their estimators.
    labels_ : out-of-fold codes of the sorted classes, cells x rows (-1 where a row was never tested).
    seed_ : the seed of all draws. plan_ : where rows came from. time_ : seconds of the sweep itself.
    completed_ : False if time was up before all cells were done. metric_ : the Metric of `scoring`, with its positive class.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pegasos import Pegasos, SweepCV
    >>> X, y = load_digits(return_X_y=True)
    >>> grid = {"kernel": ["linear", "gaussian"], "lam": [1e-5, 1e-4, 1e-3], "n_iter": [500, 5000]}
    >>> sweep = SweepCV(Pegasos(random_state=0), grid, cv=3).fit(X[:600], y[:600])
    >>> sweep.best_params_["kernel"], len(sweep.cv_results_["params"])
    ('gaussian', 12)
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
        store: Any = None,
        return_train_score: bool = False,
        memory: Any = None,
        max_time: float | None = None,
        warm_path: bool = False,
        client: Any = None,
        verbose: int = 0,
    ) -> None:
        options = {
            "return_train_score": return_train_score,
            "error_score": "raise",
            "verbose": verbose,
        }
        super().__init__(
            estimator, param_grid, scoring=scoring, n_jobs=n_jobs, refit=refit, cv=cv, **options
        )
        self.store = store
        self.memory = memory
        self.max_time = max_time
        self.warm_path = warm_path
        self.client = client

    def fit(self, X: Any, y: Any = None, **params: Any) -> SweepCV:
        """Run the sweep; `groups` goes to the splitter, `sample_weight` to the learner (and to scorers that take it)."""
        begin = time.perf_counter()
        scorers, metric = self._get_scorers()
        X, y = indexable(X, y)
        if y is None:
            raise ValueError(
                "SweepCV requires y to be passed, but the target y is None: it compares classifiers."
            )
        check_classification_targets(y)
        params = check_method_params(X, params=params)
        routed = self._get_routed_params_for_fit(params)
        weights = _sample_weight(routed.estimator.fit)
        self._checked_cv_orig = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        splits = [
            (np.asarray(a), np.asarray(b))
            for a, b in self._checked_cv_orig.split(X, y, **routed.splitter.split)
        ]
        cells = make_cells(self.estimator, self.param_grid)
        self.metric_ = scorers.settled(y) if isinstance(scorers, Metric) else None
        scorers = self.metric_ or scorers
        self.seed_ = self._fix_seed(cells)
        classes, codes = np.unique(np.asarray(y), return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"y has one class only ({classes[0]!r}); a classifier needs examples of at least two classes."
            )
        X = X if hasattr(X, "shape") else np.asarray(X)
        problem = Problem(X, y, classes, codes.reshape(-1), weights, splits)
        table = self._search(
            Table(cells, problem, scorers, routed.scorer.score, self.return_train_score)
        )
        self.time_ = time.perf_counter() - begin
        self._choose(table, metric)
        if self.refit:
            self._refit(X, y, routed.estimator.fit)
        self.scorer_ = getattr(scorers, "_scorers", scorers)
        return self

    # -- the run -----------------------------------------------------------------------------------------------------

    def _fix_seed(self, cells: list[Cell]) -> int:
        """One seed for all cells, recorded so that the run can be repeated."""
        states = [cell.learner.random_state for cell in cells]
        if any(state is not states[0] and state != states[0] for state in states):
            raise ValueError(
                "random_state cannot be an axis of the grid: run one sweep for each seed."
            )
        if states[0] is None and self.store is not None:
            states[0] = Store.recorded_seed(self.store)
        return draw_seed(states[0])

    def _search(self, table: Table) -> Table:
        """Fill the table, and return the one to choose from."""
        until = None if self.max_time is None else time.monotonic() + self.max_time
        with Filling(self, table) as filling:
            self.completed_ = filling.run(table.cells, until)
        return table

    # -- the choice --------------------------------------------------------------------------------------------------

    def _choose(self, table: Table, metric: Any) -> None:
        cells, complete, codes = table.cells, table.complete(), table.problem.codes
        if not complete.any():
            raise OutOfTime(self.max_time)
        self.n_splits_ = table.folds
        with warnings.catch_warnings():
            if not complete.all():  # cells without a score are expected
                warnings.simplefilter("ignore", UserWarning)
            results = self._format_results(
                [cell.params for cell in cells], self.n_splits_, table.out()
            )
        results["mean_support_vectors"] = table.support.mean(axis=1)
        results["mean_gap"] = table.gaps.mean(axis=1)
        self.labels_, self.cells_, self.settings_ = (
            table.labels,
            cells,
            [cell.setting for cell in cells],
        )
        self._scores, self._classes, self._truth = table.scores, table.problem.classes, codes
        self._cut = 0.0  # where the choice says yes
        for stale in ("calibrated_", "threshold_", "scale_warning_"):
            self.__dict__.pop(stale, None)
        first = table.first_scores()
        self.multimetric_ = isinstance(first, dict)
        if callable(self.scoring) and self.multimetric_:
            self._check_refit_for_multimetric(first)
            metric = self.refit
        self._wrong = np.where(table.labels < 0, -1, table.labels != codes)[complete].astype(
            np.int8
        )
        self._position = {int(number): row for row, number in enumerate(np.flatnonzero(complete))}
        self._choose_best(cells, results, metric)
        late = int((table.gaps > table.tolerances[:, None]).any(axis=1).sum())
        if late:
            warn_user(CellsNotConverged(late, len(cells)))

    def _refit(self, X: Any, y: Any, fit_params: Any) -> None:
        begin = time.perf_counter()
        best = self.cells_[self.best_index_]
        best.learner.set_params(random_state=self.seed_)
        self.best_estimator_ = self._fit_best(best.estimator, X, y, fit_params)
        self.refit_time_ = time.perf_counter() - begin
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_

    def _fit_best(self, estimator: Any, X: Any, y: Any, fit_params: Any) -> Any:
        return clone(estimator).fit(X, y, **fit_params)


def _sample_weight(fit_params: dict[str, Any]) -> Array | None:
    """The weights among the parameters of fit: `sample_weight`, or `step__sample_weight` for a learner in a pipeline."""
    found = None
    for name, value in fit_params.items():
        if name != "sample_weight" and not name.endswith("__sample_weight"):
            raise ValueError(f"SweepCV passes on sample_weight only, not {name!r}.")
        found = None if value is None else np.asarray(value, dtype=np.float64)
    return found
