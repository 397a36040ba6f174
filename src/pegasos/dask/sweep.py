"""`DaskSweepCV`: cross-validation over grids of linear models on a cluster, in shared passes."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from pegasos.dask.blocks import Counted, draw_folds
from pegasos.dask.sdca import DaskSDCA
from pegasos.dask.table import Table, current_client, open_table
from pegasos.engine.optimum.passes.passes import Column
from pegasos.engine.optimum.problem import Optimum
from pegasos.engine.rows.blocks import Block, Part
from pegasos.learners.from_passes import predictors, solve, training_lam
from pegasos.learners.task import column_codes, draw_seed, whole_number
from pegasos.metrics import Metric
from pegasos.search.evaluation import FoldAnswers
from pegasos.search.finished import CellSearch
from pegasos.search.grid import Cell, make_cells
from pegasos.search.settings import Setting

Array = np.ndarray[Any, Any]
#: Certified predictors by cell, fold and column.
Answers = list[list[list[Optimum]]]


class DaskSweepCV(CellSearch):
    """Cross-validated grid search over `DaskSDCA`, in shared passes over rows on a Dask cluster.

    Folds and classes are columns of the same passes: the test rows of a fold have zero weight for
    its predictors. Values of λ are solved from large to small, each warm-started from its
    predecessor. A whole grid thus takes a few times as many passes as one fit, instead of cells x
    folds times as many. Each cell reaches the duality gap that its `tol` requires, but is not
    bitwise identical to a separate fit. One more pass counts the predicted labels of test rows. The
    same blocks give bitwise identical results on any number of workers.

    No row moves between workers: each block draws stratified folds from the seed and its own
    number. Other blocks therefore have other folds.

    Parameters
    ----------
    estimator : DaskSDCA
        The classifier.
    param_grid : dict or list of dicts
        Any parameters of the classifier; cells that differ only in `lam` share passes.
    cv : int or array, default=5
        Number of folds, or the fold of each row (0, 1, ...; -1 for rows of every training part that
        are never tested), in the blocks of y.
    scoring : str, callable, list, tuple or dict, optional
        As in `SweepCV`, restricted to metrics of labels, such as "accuracy" (None),
        "balanced-error" or "f1_macro": scores are computed from confusion matrices.
    refit, return_train_score
        As in GridSearchCV; the refit is a `DaskSDCA` on all rows.
    random_state : int, default=0
        Seed of the folds.
    client : distributed.Client, optional
        By default the client of the estimator, or the current one.

    Attributes
    ----------
    cv_results_, best_index_, best_params_, best_score_, best_estimator_, n_splits_, ...
        As in GridSearchCV. cv_results_ also has split0_gap, ... (largest relative duality gap of a
        column) and mean_gap.
    simplest_index_, advice_, settings_, cells_
        As in `SweepCV`.
    objective_, dual_objective_ : ndarray of shape (n_cells, n_folds, n_columns)
        Primal and dual objective of each predictor; nan for a class without training rows.
    counts_ : ndarray of shape (n_cells, n_folds, n_classes, n_classes)
        Confusion matrices of the test rows: true class x predicted class.
    passes_ : int
        Number of passes over the rows, without the refit.
    plan_ : Plan
        Storage of the rows and methods used.
    time_ : float
        Seconds of the search, without the refit.

    See Also
    --------
    SweepCV : Grid search for rows in memory.
    DaskSDCA : The classifier that is searched over.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> with Client(processes=False, n_workers=1, dashboard_address=None) as client:
    ...     X = da.from_array(X / 16, chunks=(600, -1))
    ...     sweep = DaskSweepCV(DaskSDCA("logistic"), {"lam": [1e-5, 1e-4, 1e-3]}, cv=3).fit(X, y)
    >>> sweep.best_params_, round(float(sweep.best_score_), 2)
    ({'lam': 0.0001}, 0.96)
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        cv: Any = 5,
        scoring: Any = None,
        refit: Any = True,
        return_train_score: bool = False,
        random_state: Any = 0,
        client: Any = None,
    ) -> None:
        options = {"return_train_score": return_train_score, "error_score": "raise"}
        super().__init__(estimator, param_grid, scoring=scoring, refit=refit, cv=cv, **options)
        self.random_state = random_state
        self.client = client

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> DaskSweepCV:
        """Run the search.

        Parameters
        ----------
        X : Dask array, Dask DataFrame or list of delayed objects
            Rows, in dense or CSR blocks.
        y : Dask array, Dask Series or list of delayed objects
            Labels, in the same blocks as X.
        sample_weight : Dask array, Dask Series or list of delayed objects, optional
            Weights of the training rows; scores are unweighted.

        Returns
        -------
        DaskSweepCV
            The fitted search.
        """
        begin = time.perf_counter()
        scorers, metric = self._get_scorers()
        cells = make_cells(self.estimator, self.param_grid)
        others = [cell.estimator for cell in cells if not isinstance(cell.estimator, DaskSDCA)]
        if others:
            raise ValueError(
                f"DaskSweepCV compares settings of a DaskSDCA, got {type(others[0]).__name__}: "
                "prepare rows block by block before (map_blocks), or use SweepCV for rows that fit "
                "into memory."
            )
        client = current_client(self.client if self.client is not None else self.estimator.client)
        table = open_table(client, X, y, sample_weight, self.estimator.memory, self._folds())
        self.n_splits_ = len(table.training)
        if not table.training:
            raise ValueError("cv has no folds: all its numbers are -1.")
        if isinstance(scorers, Metric):
            # Each class once, and the most frequent class twice: the positive class is rarer.
            often = table.whole.counts == table.whole.counts.max()
            scorers = scorers.settled(np.repeat(table.classes, 1 + often))
        answers, objectives, seconds, methods = _solve(cells, table)
        counts = {"test": _count(table, answers, inside=False)}
        if self.return_train_score:
            counts["train"] = _count(table, answers, inside=True)
        self.passes_ = 1 + table.count  # the first pass counts classes
        method = f"{methods}, {self.passes_} passes over the rows"
        self.plan_ = replace(table.plan, method=method)
        self.time_ = time.perf_counter() - begin
        self.counts_ = counts["test"].astype(np.int64)
        self.objective_, self.dual_objective_ = objectives
        scores: list[dict[str, Any]] = [
            {
                f"{part}_scores": _score(scorers, table.classes, each[place])
                for part, each in counts.items()
            }
            | {"fit_time": seconds[place[0]], "score_time": 0.0}
            for place in np.ndindex(len(cells), self.n_splits_)
        ]
        gaps = np.array([[max(each.relative for each in own) for own in cell] for cell in answers])
        more = {f"split{fold}_gap": gaps[:, fold] for fold in range(self.n_splits_)}
        self._choose_best(cells, scores, more, gaps, metric)
        self.scorer_ = getattr(scorers, "_scorers", scorers)
        if self.refit:
            again = time.perf_counter()
            self.best_estimator_ = clone(cells[self.best_index_].estimator)._fit_table(table, X)
            self.refit_time_ = time.perf_counter() - again
            if hasattr(self.best_estimator_, "feature_names_in_"):
                self.feature_names_in_ = self.best_estimator_.feature_names_in_
        return self

    def _folds(self) -> Any:
        if not isinstance(self.cv, int | np.integer):
            return self.cv
        whole_number("cv", self.cv)
        if self.cv < 2:
            raise ValueError(f"cv={self.cv}: there must be at least 2 folds.")
        return partial(draw_folds, int(self.cv), draw_seed(self.random_state))


def _solve(cells: list[Cell], table: Table) -> tuple[Answers, Array, list[float], str]:
    """Return the predictors of all cells, their objectives, the seconds of each fit, and methods.

    Cells that differ only in λ share passes: their folds and classes are chains of predictors, one
    for each λ, from large to small. Objectives have the shape (2, cells, folds, columns).
    """
    groups: dict[Setting, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(replace(cell.setting, lam=None, C=None), []).append(cell)
    answers: Answers = [[] for _ in cells]
    columns = len(column_codes(len(table.classes)))
    objectives = np.full((2, len(cells), len(table.training), columns), np.nan)
    seconds, methods = [0.0] * len(cells), []
    for group in groups.values():
        begin = time.perf_counter()
        group.sort(key=lambda cell: -cell.learner._lam_for(1.0))
        folds = [
            _chains(group, table, fold, counted) for fold, counted in enumerate(table.training)
        ]
        learner = group[0].learner
        method, found = solve(learner, table, [chain for each in folds for chain in each])
        methods.append(method)
        rest = iter(found)
        for fold, (chains, counted) in enumerate(zip(folds, table.training, strict=True)):
            solved = [next(rest) for _ in chains]
            places = _codes(counted) if columns > 1 else np.array([0])
            for place, cell in enumerate(group):
                own = [chain[place] for chain in solved]
                answers[cell.number].append(own)
                lam = training_lam(cell.learner, table.classes, counted.sums)
                objectives[0, cell.number, fold, places] = [lam * each.primal for each in own]
                objectives[1, cell.number, fold, places] = [lam * each.bound for each in own]
        for cell in group:
            seconds[cell.number] = (time.perf_counter() - begin) / len(group) / len(folds)
    return answers, objectives, seconds, ", ".join(dict.fromkeys(methods))


def _chains(group: list[Cell], table: Table, fold: int, counted: Counted) -> list[list[Column]]:
    """Return the predictors of a fold: for each column, one for each λ."""
    if counted.counts.sum() == table.whole.counts.sum():
        raise ValueError(
            f"cv has no rows of fold {fold}: folds are numbered 0, 1, ... without a gap."
        )
    present = table.classes[counted.counts > 0]
    if len(present) < 2:
        found = f"one class only ({present[0]!r})" if len(present) else "no rows"
        raise ValueError(f"the training part of fold {fold} has {found}: use other folds.")
    given = (table.classes, _codes(counted), counted.sums, counted.present, fold)
    columns = zip(*(predictors(cell.learner, *given) for cell in group), strict=True)
    return [list(column) for column in columns]


def _codes(counted: Counted) -> Array:
    """Return the class codes that have a predictor."""
    present = np.flatnonzero(counted.counts)
    return np.asarray(present[column_codes(len(present))])


def _count(table: Table, answers: Answers, inside: bool) -> Array:
    """Return the confusion matrices of test parts, or of training parts (`inside`)."""
    folds = []
    for fold, counted in enumerate(table.training):
        vectors = [[np.append(each.vector, each.bias) for each in cell[fold]] for cell in answers]
        folds.append((np.flatnonzero(counted.counts), np.array(vectors)))
    return table.map_sum(_count_block, folds, len(table.classes), inside).sums[0]


def _count_block(block: Block, folds: list[tuple[Array, Array]], size: int, inside: bool) -> Part:
    """Return the confusion matrices of all cells and folds on a block.

    For each fold there are the class codes in its training part, and the predictors trained on it
    (cells x predictors x features + 1). Rows of the fold are counted if `inside` is false, all
    others if it is true. The counts have the shape (cells, folds, true class, predicted class).
    """
    codes, _, own = block.own
    counts = np.zeros((len(folds[0][1]), len(folds), size, size))
    for fold, (present, vectors) in enumerate(folds):
        rows = np.flatnonzero((own != fold) if inside else (own == fold))
        cells, columns, width = vectors.shape
        scores = block.products(vectors.reshape(-1, width))[:, rows]
        scores = scores.reshape(cells, columns, len(rows))
        place = (scores[:, 0] > 0.0).astype(np.int64) if columns == 1 else scores.argmax(axis=1)
        pairs = codes[rows] * size + present[place]
        counts[:, fold] = [
            np.bincount(each, minlength=size**2).reshape(size, size) for each in pairs
        ]
    return Part((counts,))


def _score(scorers: Any, classes: Array, counts: Array) -> Any:
    """Return the scores of scikit-learn's scorers for labels on a confusion matrix.

    Each nonzero count becomes one row with the count as its weight.
    """
    truth, predicted = np.nonzero(counts)
    if not len(truth):
        return float("nan")
    answers = FoldAnswers(classes, classes[predicted])
    given = (answers, np.zeros((len(truth), 1)), classes[truth])
    try:
        return scorers(*given, sample_weight=counts[truth, predicted])
    except (AttributeError, TypeError) as error:
        raise ValueError(
            "scoring must be a metric of labels that takes sample_weight, "
            f"such as 'accuracy' or 'f1_macro': {error}"
        ) from error
