"""SweepCV: a grid search whose cells share solvers, kernel matrices and distances."""

from __future__ import annotations

import time
import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import indexable

from pegasos.learners.task import draw_seed, encode_classes
from pegasos.metrics import Metric
from pegasos.search.evaluation import Evaluation
from pegasos.search.finished import FinishedSearch
from pegasos.search.grid import Cell, make_cells
from pegasos.search.store import Store
from pegasos.search.units import Problem
from pegasos.sklearn_private import check_method_params

Array = np.ndarray[Any, Any]


class OutOfTime(TimeoutError):  # noqa: N818 - it describes an event
    """Time ran out before any cell was complete."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"no cell was complete within max_time={seconds:g} seconds: raise it, or make the grid "
            "smaller."
        )
        self.seconds = seconds


@dataclass(eq=False, repr=False)
class SweepCV(FinishedSearch):
    """Evaluate all settings of a grid by cross-validation, in one walk for each kernel and fold.

    The interface is that of GridSearchCV. Each cell is exactly what its estimator alone would give
    (where SDCA solves by other methods than coordinate ascent: within `tol`, as certified). Values
    of λ, and numbers of steps (Pegasos) or epochs (Perceptron, SDCA), share a walk; kernels share
    distances; folds share kernel matrices.

    Parameters
    ----------
    estimator : Pegasos, Perceptron, SDCA, Pipeline or DropOutliers
        The classifier, alone, at the end of a Pipeline, or inside DropOutliers.
    param_grid : dict or list of dict
        As in GridSearchCV, like `cv`, `refit` and `return_train_score`.
    scoring : str, callable, list, tuple, dict or Metric, optional
        As in GridSearchCV; or a `pegasos.metrics.Metric` or its name ("balanced-error", "f1",
        "average-precision", ...). More is better, so losses are negative. "log-loss" and "brier"
        take a cell's own probabilities; where it has none (hinge loss), those of sigmoids of its
        out-of-fold scores, each fitted to other rows.
    n_jobs : int, optional
        Threads; None means as many as BLAS may use. It never changes a result.
    store : str or Path, optional
        Folder that keeps finished cells: the same call resumes there after an interruption, and a
        changed grid uses the cells that are there.
    memory : int or str, optional
        Bytes (or "2GB") for all arrays together, X excluded; by default half of the memory.
    max_time : float, optional
        Seconds after which the search ends; cells that are complete by then are compared.
    warm_path : bool, default=False
        Let SDCA with a kernel start each λ from the solution of the next larger one. Faster; cells
        have the duality gap that their `tol` asks for, but differ in their last digits.
    client : distributed.Client, optional
        Run kernels and folds on its workers, with the same results; `memory` is per worker then,
        and `n_jobs` has no effect.
    verbose : int, default=0
        1 shows progress on a terminal or in a notebook. The logger "pegasos.search" always gets it.

    Attributes
    ----------
    cv_results_, best_index_, best_params_, best_score_, best_estimator_, n_splits_, ...
        As in GridSearchCV. `best_score_` is optimistic, because the cell was chosen by it: see
        `honest_estimate`. `cv_results_` also has `mean_support_vectors` and `mean_gap` (SDCA's
        largest relative duality gap).
    simplest_index_ : int
        The simplest (smoothest) cell within one standard error of the best one.
    advice_ : list of Advice
        Suggested changes of the grid.
    cells_, settings_ : list
        The cells with their estimators, and the `Setting` of each, equal for equal fits.
    labels_ : ndarray of shape (n_cells, n_samples)
        Out-of-fold class codes (-1 where a row was never tested).
    seed_ : int
        Seed of all draws.
    plan_ : str
        Source of rows: "explicit" (features or a given kernel matrix), "shared" (kernel matrices
        from shared distances), "gram" (kernel matrices one by one), "on the fly" (kernel rows).
    time_ : float
        Seconds of the search, without the refit.
    completed_ : bool
        False if time was over before all cells were done.
    metric_ : Metric or None
        The metric of `scoring`, with its positive class.

    See Also
    --------
    TwoStageSearchCV : Search on a sample first, then refine around the best setting.
    pegasos.dask.DaskSweepCV : Search on rows that are on a Dask cluster.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pegasos import Pegasos, SweepCV
    >>> X, y = load_digits(return_X_y=True)
    >>> grid = {"kernel": ["linear", "gaussian"], "lam": [1e-5, 1e-4], "n_iter": [500, 5000]}
    >>> sweep = SweepCV(Pegasos(random_state=0), grid, cv=3).fit(X[:600], y[:600])
    >>> sweep.best_params_["kernel"], len(sweep.cv_results_["params"])
    ('gaussian', 8)
    """

    #: Parameters of GridSearchCV that are none here.
    error_score, pre_dispatch = "raise", None

    estimator: Any
    param_grid: Any
    _: KW_ONLY
    cv: Any = 5
    scoring: Any = None
    n_jobs: int | None = None
    refit: Any = True
    store: Any = None
    return_train_score: bool = False
    memory: Any = None
    max_time: float | None = None
    warm_path: bool = False
    client: Any = None
    verbose: int = 0

    def fit(self, X: Any, y: Any = None, **params: Any) -> SweepCV:
        """Run the search.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : array of shape (n_samples,)
            Labels.
        **params : dict
            `groups` for the splitter, `sample_weight` for the learner (`step__sample_weight` in a
            pipeline) and for scorers that take it.

        Returns
        -------
        SweepCV
            The fitted search.
        """
        begin = time.perf_counter()
        scorers, metric = self._get_scorers()
        X, y = indexable(X, y)
        if y is None:
            raise ValueError("SweepCV requires y to be passed, but the target y is None.")
        routed = self._get_routed_params_for_fit(check_method_params(X, params=params))
        for name in routed.estimator.fit:
            if name.rpartition("__")[2] != "sample_weight":
                raise ValueError(f"SweepCV passes on sample_weight only, not {name!r}.")
        weights = next(iter(routed.estimator.fit.values()), None)
        weights = None if weights is None else np.asarray(weights, dtype=np.float64)
        self._checked_cv_orig = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        splits = self._checked_cv_orig.split(X, y, **routed.splitter.split)
        splits = [(np.asarray(train), np.asarray(test)) for train, test in splits]
        cells = make_cells(self.estimator, self.param_grid)
        self.metric_ = scorers.settled(y) if isinstance(scorers, Metric) else None
        scorers = self.metric_ or scorers
        self.seed_ = self._fix_seed(cells)
        classes, codes = encode_classes(np.asarray(y))
        X = X if hasattr(X, "shape") else np.asarray(X)
        problem = Problem(X, y, classes, codes, weights, splits)
        evaluation = self._search(cells, problem, (scorers, routed.scorer.score))
        self.time_ = time.perf_counter() - begin
        self._choose(evaluation, metric)
        if self.refit:
            self._refit(X, y, routed.estimator.fit)
        self.scorer_ = getattr(scorers, "_scorers", scorers)
        return self

    def _fix_seed(self, cells: list[Cell]) -> int:
        """Return one seed for all cells, if possible that of an earlier run in the store."""
        states = [cell.learner.random_state for cell in cells]
        if any(state is not states[0] and state != states[0] for state in states):
            raise ValueError("random_state cannot be an axis of the grid: run one sweep per seed.")
        if states[0] is None and self.store is not None:
            states[0] = Store.recorded_seed(self.store)
        return draw_seed(states[0])

    def _search(self, cells: list[Cell], problem: Problem, scoring: tuple[Any, Any]) -> Evaluation:
        """Evaluate all cells; return the evaluation from which the best one is chosen."""
        until = None if self.max_time is None else time.monotonic() + self.max_time
        with Evaluation(self, cells, problem, scoring) as evaluation:
            self.completed_ = evaluation.run(cells, until)
        return evaluation

    def _choose(self, evaluation: Evaluation, metric: Any) -> None:
        cells, complete, problem = evaluation.cells, evaluation.complete(), evaluation.problem
        if not complete.any():
            raise OutOfTime(self.max_time or 0.0)
        self.n_splits_, self.labels_ = evaluation.folds, evaluation.labels()
        self._scores, self._complete = evaluation.scores(), complete
        self._classes, self._truth, self._cut = problem.classes, problem.codes, 0.0
        for stale in ("calibrated_", "threshold_", "scale_warning_"):
            self.__dict__.pop(stale, None)
        support = {"mean_support_vectors": evaluation.numbers("support").mean(axis=1)}
        given = (evaluation.fold_results(), support, evaluation.numbers("gap"), metric)
        with warnings.catch_warnings():
            if not complete.all():  # cells without a score are expected
                warnings.filterwarnings("ignore", "One or more of the (test|train) scores")
            self._choose_best(cells, *given)

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
