"""Finished searches: the choice of a cell, expected errors, probabilities, and thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.utils.validation import check_is_fitted

from pegasos.estimates import Estimate, Figure, bootstrap_choice, measured
from pegasos.learners.parameters import Connected, NotConverged, warn_user
from pegasos.metrics import LABELS, PROBABILITIES, Answers, Metric, answers, as_metric, measure_of
from pegasos.search.anatomy import anatomy
from pegasos.search.decisions import (
    Aim,
    Calibrated,
    Threshold,
    choose_calibration,
    choose_threshold,
    fold_probabilities,
    scale_warning,
)
from pegasos.search.display import as_html
from pegasos.search.grid import Cell, SweepWarning, advise, simplest_as_good

Array = np.ndarray[Any, Any]


class CellSearch(Connected, GridSearchCV):
    """Search that chooses one of its cells by their scores, and gives advice on the grid."""

    def _get_scorers(self) -> Any:
        metric = as_metric(self.scoring)
        return super()._get_scorers() if metric is None else (metric, "score")

    def _choose_best(
        self,
        cells: list[Cell],
        scores: list[dict[str, Any]],
        more: dict[str, Array],
        gaps: Array,
        metric: Any,
    ) -> None:
        """Set the results of all cells and the best one; warn of borders and of large gaps.

        `scores` has a dictionary for each cell and fold, as GridSearchCV collects them, `more` has
        further results, and `gaps` (cells x folds) are the largest relative duality gaps.
        """
        self.cells_, self.settings_ = cells, [cell.setting for cell in cells]
        results = self._format_results([cell.params for cell in cells], self.n_splits_, scores)
        self.cv_results_ = results | more | {"mean_gap": gaps.mean(axis=1)}
        example = scores[0]["test_scores"]
        self.multimetric_ = isinstance(example, dict)
        if callable(self.scoring) and self.multimetric_:
            self._check_refit_for_multimetric(example)
            metric = self.refit
        if self.refit or not self.multimetric_:
            self.best_index_ = self._best_index(metric)
            self.best_params_ = results["params"][self.best_index_]
            if not callable(self.refit):
                self.best_score_ = results[f"mean_test_{metric}"][self.best_index_]
                each = [results[f"split{fold}_test_{metric}"] for fold in range(self.n_splits_)]
                folds = np.column_stack(each)
                self.simplest_index_ = simplest_as_good(cells, folds, self.best_index_)
                self.advice_ = advise(cells, folds, self.best_index_)
                for advice in self.advice_:
                    warn_user(SweepWarning(advice))
        tolerances = np.array([getattr(cell.learner, "tol", np.inf) for cell in cells])
        if late := int((gaps > tolerances[:, None]).any(axis=1).sum()):
            fact = f"{late} of {len(cells)} cells did not reach their tolerance in some fold."
            remedy = "scale the features, raise lam or tol, or leave finish=True"
            warn_user(NotConverged(fact, f"See cv_results_['mean_gap']; {remedy}"))

    def _best_index(self, metric: Any) -> int:
        return int(self._select_best_index(self.refit, metric, self.cv_results_))


class FinishedSearch(CellSearch):
    """Search that keeps out-of-fold predictions, and computes estimates and decisions from them."""

    #: Whether each cell has all folds; test rows and their scores, by leading cell and fold.
    _complete: Array
    _scores: dict[int, dict[int, tuple[Array, Array]]]
    #: Classes, the code of each row, and the threshold of the choice (0: none).
    _classes: Array
    _truth: Array
    _cut: float

    def _repr_html_inner(self) -> str:
        diagram: str = super()._repr_html_inner()
        return as_html(self, diagram) if hasattr(self, "best_score_") else diagram

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        return {**bundle, "text/html": self._repr_html_inner()} if "text/html" in bundle else bundle

    def honest_estimate(self, rounds: int = 1000) -> Estimate:
        """Estimate the error of the choice on new rows.

        A bootstrap over the out-of-fold predictions corrects for the choice of the best of many
        cells; if the choice was made by another metric than the error, the bootstrap is over the
        predictions of the best cell.

        Parameters
        ----------
        rounds : int, default=1000
            Bootstrap rounds.

        Returns
        -------
        Estimate
            `error` with its 95 % interval, `low` and `high`, and the `method`.
        """
        check_is_fitted(self, "cv_results_")
        is_error = self.multimetric_ or measure_of(self.scoring).name == "error"
        by_error = is_error or not hasattr(self, "best_index_")
        labels = self.labels_[self._complete if by_error else [self.best_index_]]
        tested = (labels >= 0).all(axis=0)
        return bootstrap_choice(labels[:, tested] != self._truth[tested], rounds=rounds)

    def _predictor_scores(self, cell: int) -> tuple[Array, Array]:
        """Return the tested rows, and the predictor scores of one of the best cells for them."""
        check_is_fitted(self, "cv_results_")
        parts = list(self._scores.get(cell, {}).values())
        if len(parts) < self.n_splits_ or len({values.shape[1] for _, values in parts}) != 1:
            raise ValueError(
                f"cell {cell} has no comparable scores in some fold: only the best ten cells of "
                "each walk keep scores, and every fold must contain all classes."
            )
        # Of a row that was tested several times, take the scores of the last fold.
        tested, scores = (np.concatenate(each)[::-1] for each in zip(*parts, strict=True))
        rows, last = np.unique(tested, return_index=True)
        return rows, scores[last]

    def out_of_fold_scores(self, cell: int) -> Array:
        """Return out-of-fold decision values (rows x columns) of one of the best cells.

        Only the best ten cells of each walk keep scores, and they cannot be joined if the training
        parts have different classes. Rows that were never tested have nan.
        """
        tested, scores = self._predictor_scores(cell)
        values = np.asarray(self.cells_[cell].learner.decision_values(scores))
        found = np.full((self.labels_.shape[1], values.shape[1]), np.nan)
        found[tested] = values
        return found

    def out_of_fold_answers(self, probable: bool = True) -> Answers:
        """Return labels, scores and probabilities of the choice for the rows it was tested on.

        Probabilities (if `probable`) are those of `calibrate()` once that was called; else the
        model's own, or those of sigmoids that are each fitted to other rows of the same fold.
        """
        check_is_fitted(self, "cv_results_")
        best, classes, p = self.best_index_, self._classes, None
        tested = np.flatnonzero(self.labels_[best] >= 0)
        labels, truth = self.labels_[best, tested], classes[self._truth[tested]]
        try:
            scores = self.out_of_fold_scores(best)[tested]
        except ValueError:  # they were not kept
            return answers(classes, truth, classes[labels])
        if self._cut:
            labels = (scores[:, 0] > self._cut).astype(np.intp)
        if probable and hasattr(self, "calibrated_"):
            p = self.calibrated_.probabilities
        elif probable:
            learner, each = self.cells_[best].learner, np.empty((len(self._truth), len(classes)))
            for test, found in self._scores[best].values():
                codes = self._truth[test], np.arange(len(classes))
                each[test] = fold_probabilities(learner, found, *codes)
            p = each[tested]
        return answers(classes, truth, classes[labels], scores, p)

    def out_of_fold_metric(self, metric: Any = None) -> Figure:
        """Compute a metric of the choice from its out-of-fold predictions.

        It is optimistic, because the choice was made on the same rows.

        Parameters
        ----------
        metric : Metric or str, optional
            By default that of `scoring`, else the error.

        Returns
        -------
        Figure
            The `value` with its 95 % interval, the `baseline` of the best constant answer,
            and whether the choice is clearly `better` than that.
        """
        check_is_fitted(self, "cv_results_")
        wanted = as_metric(metric) or self.metric_ or Metric("error")
        probable = wanted.kind.needs == PROBABILITIES
        found = self.out_of_fold_answers(probable)
        if wanted.kind.needs != LABELS and found.scores is None:
            raise ValueError(
                f"{wanted.name} needs scores of the chosen cell in every fold: a fold lacks a "
                "class, or its scores were not kept."
            )
        return measured(wanted.settled(self._classes[self._truth]), found)

    def calibrate(self) -> Calibrated:
        """Calibrate `best_estimator_`, so that it has `predict_proba` whatever its loss.

        A sigmoid or isotonic regression is fitted to the out-of-fold scores, whichever has the
        smaller Brier score in cross-validation; the own probabilities of a logistic model remain
        where neither is better.

        Returns
        -------
        Calibrated
            The chosen `kind`, the Brier score of each kind, and probabilities of the tested rows.
        """
        check_is_fitted(self, "best_estimator_")
        tested, scores = self._predictor_scores(self.best_index_)
        chosen, codes = self.cells_[self.best_index_].learner, self._truth[tested]
        own = chosen.own_probabilities(scores) if chosen.has_probabilities else None
        found = choose_calibration(scores, codes, own, chosen.has_pairs(self._classes))
        self.calibrated_ = found
        anatomy(self.best_estimator_, fitted=True).learner.calibration_ = found.calibration
        self._warn_of_scales()
        return found

    def choose_threshold(self, aim: Aim | str) -> Threshold:
        """Choose the decision threshold of `best_estimator_` for an aim, on out-of-fold scores.

        For two classes; the positive class is that of the aim's metric or of `scoring`, else the
        rarer one.

        Parameters
        ----------
        aim : str or Aim
            Such as "precision=0.99" (as much recall as possible at this precision), "recall=0.8",
            "f1", "balanced-error".

        Returns
        -------
        Threshold
            Its `value` with a 95 % interval, and the precision and recall on these rows.
        """
        check_is_fitted(self, "best_estimator_")
        aim = Aim.parse(aim) if isinstance(aim, str) else aim
        if len(self._classes) != 2:
            raise ValueError(f"a threshold is for two classes; there are {len(self._classes)}.")
        tested, scores = self._predictor_scores(self.best_index_)
        code = int(self.positive_class(aim) == self._classes[1])
        sign, positive = (1.0 if code else -1.0), self._truth[tested] == code
        found = choose_threshold(aim, sign * scores[:, 0], positive)
        self.threshold_, self._cut = found, sign * found.value
        anatomy(self.best_estimator_, fitted=True).learner.threshold_ = self._cut
        if not hasattr(self, "calibrated_"):  # else it has warned already
            self._warn_of_scales()
        return found

    def _warn_of_scales(self) -> None:
        folds = self._scores[self.best_index_].values()
        self.scale_warning_ = scale_warning(scores for _, scores in folds)
        if self.scale_warning_ is not None:
            warn_user(self.scale_warning_)

    def positive_class(self, aim: Aim | None = None) -> Any:
        """Return the class of the aim's metric, of `scoring`, or the rarer of two; else None."""
        for metric in (None if aim is None else aim.metric, self.metric_):
            if metric is not None and metric.positive is not None:
                return metric.positive
        labels = self._classes[self._truth]
        return None if len(self._classes) > 2 else Metric("f1").settled(labels).positive
