"""What a search whose cells are done can tell of them: errors to expect, metrics, probabilities, thresholds, comparisons."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pegasos.metrics import LABELS, PROBABILITIES, Answers, Metric, answers, as_metric, measure_of
from pegasos.search.advice import warn_user
from pegasos.search.anatomy import anatomy
from pegasos.search.choosing import CellSearch
from pegasos.search.decisions import (
    Aim,
    Calibrated,
    Threshold,
    choose_calibration,
    choose_threshold,
    scale_warning,
)
from pegasos.search.estimates import Estimate, bootstrap_choice, held_out, mcnemar
from pegasos.search.figures import Figure, measured
from pegasos.search.notebook import as_html
from pegasos.search.results import calibrated_in_fold

Array = np.ndarray[Any, Any]


class FinishedSearch(CellSearch):
    """The answers of a search to whoever asks afterwards, from the predictions that it kept."""

    #: Which rows each complete cell got wrong (-1: not tested), and where cells stand in that.
    _wrong: Array
    _position: dict[int, int]
    #: Of leading cells, for each fold: the rows tested and their scores.
    _scores: dict[int, dict[int, tuple[Array, Array]]]
    #: The classes, the code of each row, and the score from which the choice says the second of two classes (0: no threshold).
    _classes: Array
    _truth: Array
    _cut: float

    def _repr_html_inner(self) -> str:
        """For notebooks: what was found; before that scikit-learn's diagram."""
        diagram: str = super()._repr_html_inner()
        return (
            as_html(self, diagram)
            if hasattr(self, "best_params_") and hasattr(self, "best_score_")
            else diagram
        )

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        return {**bundle, "text/html": self._repr_html_inner()} if "text/html" in bundle else bundle

    def honest_estimate(self, X: Any = None, y: Any = None, rounds: int = 1000) -> Estimate:
        """The error to expect of the choice, with a 95 % interval.

        From rows X, y that took no part in the sweep; without them from a bootstrap over the out-of-fold predictions that
        corrects for having chosen the best of many by their error. Where the choice was made by another metric, the bootstrap
        is over its own predictions.
        """
        check_is_fitted(self, "cv_results_")
        if X is not None:
            return held_out(self.best_estimator_.predict(X) != np.asarray(y))
        tested = (self._wrong >= 0).all(axis=0)
        by_error = (
            self.multimetric_
            or measure_of(self.scoring).name == "error"
            or not hasattr(self, "best_index_")
        )
        cells = slice(None) if by_error else [self._position[self.best_index_]]
        return bootstrap_choice(self._wrong[cells][:, tested] > 0, rounds=rounds)

    def out_of_fold_scores(self, cell: int) -> Array:
        """Decision values of a leading cell, rows x columns (nan where a row was never tested).

        Kept are the best ten cells of each walk; where folds have different classes, columns cannot be joined.
        """
        scores = self._out_of_fold_predictors(cell)
        return np.asarray(self.cells_[cell].learner.decision_values(scores))

    def _out_of_fold_predictors(self, cell: int) -> Array:
        """Return the scores of a leading cell's predictors (rows x predictors)."""
        check_is_fitted(self, "cv_results_")
        parts = self._scores.get(cell, {})
        if (
            len(parts) < self.n_splits_
            or len({values.shape[1] for _, values in parts.values()}) != 1
        ):
            raise ValueError(
                f"the scores of cell {cell} were not kept in every fold: only those of leading cells are."
            )
        columns = next(iter(parts.values()))[1].shape[1]
        scores = np.full((self.labels_.shape[1], columns), np.nan)
        for test, values in parts.values():
            scores[test] = values
        return scores

    def out_of_fold_answers(self, cell: int, probable: bool = True) -> Answers:
        """What a leading cell answers on the rows that it was tested on, each by a model that did not learn from it.

        Probabilities are those of `calibrate()` for the choice once that was called; else a cell's own, and where it has none,
        those of sigmoids, each fitted to other rows of the same fold. They take their time: `probable=False` leaves them out.
        """
        check_is_fitted(self, "cv_results_")
        tested = np.flatnonzero(self.labels_[cell] >= 0)
        try:
            scores = self.out_of_fold_scores(cell)[tested]
        except ValueError:  # then there are labels only
            scores = None
        scores = scores[:, 0] if scores is not None and scores.shape[1] == 1 else scores
        p = (
            None
            if scores is None or not probable
            else self._out_of_fold_probabilities(cell)[tested]
        )
        labels = self.labels_[cell, tested]
        if scores is not None and self._cut and cell == self.best_index_:
            labels = (scores > self._cut).astype(
                np.intp
            )  # as the choice decides, now that a threshold was chosen
        return answers(
            self._classes, self._classes[self._truth[tested]], self._classes[labels], scores, p
        )

    def _out_of_fold_probabilities(self, cell: int) -> Array:
        """Rows x classes, of a cell whose scores were kept in every fold."""
        p = np.full((self.labels_.shape[1], len(self._classes)), np.nan)
        if hasattr(self, "calibrated_") and cell == self.best_index_:
            p[self.labels_[cell] >= 0] = self.calibrated_.probabilities
            return p
        learner, everyone = self.cells_[cell].learner, np.arange(len(self._classes))
        for test, scores in self._scores[cell].values():
            if learner.has_probabilities:
                p[test] = learner.own_probabilities(scores)
                continue
            pairs = learner.has_pairs(everyone)
            p[test] = calibrated_in_fold(scores, self._truth[test], everyone, pairs)
        return p

    def out_of_fold_metric(self, metric: Any = None) -> Figure:
        """A metric (by default that of `scoring`, else the error) of the choice out of fold, with its noise, and beside it what
        always guessing would give.

        The choice was made on the same rows, so it is optimistic; `better` asks for more than that.
        """
        check_is_fitted(self, "cv_results_")
        wanted = as_metric(metric) or self.metric_ or Metric("error")
        found = self.out_of_fold_answers(
            self.best_index_, probable=wanted.kind.needs == PROBABILITIES
        )
        if wanted.kind.needs != LABELS and found.scores is None:
            raise ValueError(
                f"the scores of the choice were not kept in every fold, so its {wanted.name} is not known."
            )
        return measured(wanted.settled(self._classes[self._truth]), found)

    def calibrate(self) -> Calibrated:
        """Give `best_estimator_` probabilities that mean something: predict_proba exists afterwards, whatever the loss.

        Sigmoid or isotonic steps, whichever has the smaller Brier score in cross-validation over the out-of-fold scores of the
        choice; the own probabilities of a logistic model stay where neither is better.
        """
        check_is_fitted(self, "best_estimator_")
        scores = self._out_of_fold_predictors(self.best_index_)
        tested = np.isfinite(scores).all(axis=1)
        scores, codes = scores[tested], self._truth[tested]
        learner = anatomy(self.best_estimator_, fitted=True).learner
        chosen = self.cells_[self.best_index_].learner
        own = chosen.own_probabilities(scores) if chosen.has_probabilities else None
        pairs = chosen.has_pairs(self._classes)
        self.calibrated_ = choose_calibration(scores, codes, own, pairs)
        learner.calibration_ = self.calibrated_.calibration
        self._warn_of_scales()
        return self.calibrated_

    def choose_threshold(self, aim: Aim | str) -> Threshold:
        """Let `best_estimator_` call rows positive from that score on which is best for the aim, on out-of-fold scores.

        The aim may be a text: "precision=0.99", "recall=0.8", "f1".
        For two classes. The positive class is that of the aim's metric, or of `scoring`, else the usual one (see Metric).
        """
        aim = Aim.parse(aim) if isinstance(aim, str) else aim
        scores, codes = self.out_of_fold_scores_and_codes()
        if len(self._classes) != 2:
            raise ValueError(f"a threshold is for two classes; there are {len(self._classes)}.")
        sign = 1 if self.positive_class(aim) == self._classes[1] else -1
        found = choose_threshold(aim, sign * scores, codes == (1 if sign > 0 else 0))
        self.threshold_ = found
        self._cut = sign * found.value
        anatomy(self.best_estimator_, fitted=True).learner.threshold_ = self._cut
        if not hasattr(self, "calibrated_"):  # else it was said
            self._warn_of_scales()
        return found

    def _warn_of_scales(self) -> None:
        self.scale_warning_ = scale_warning(
            scores for _, scores in self._scores[self.best_index_].values()
        )
        if self.scale_warning_ is not None:
            warn_user(self.scale_warning_)

    def positive_class(self, aim: Aim | None = None) -> Any:
        """The class that is looked at: that of an aim, of `scoring`, else the usual one of two (None of more)."""
        for metric in (None if aim is None else aim.metric, self.metric_):
            if metric is not None and metric.positive is not None:
                return metric.positive
        return (
            None
            if len(self._classes) > 2
            else Metric("f1").settled(self._classes[self._truth]).positive
        )

    def out_of_fold_scores_and_codes(self) -> tuple[Array, Array]:
        """Scores and codes of the rows that the choice was tested on."""
        check_is_fitted(self, "best_estimator_")
        scores = self.out_of_fold_scores(self.best_index_)
        tested = np.isfinite(scores).all(axis=1)
        scores = scores[tested]
        return scores[:, 0] if scores.shape[1] == 1 else scores, self._truth[tested]

    def mcnemar_p_value(self, first: int, second: int) -> float:
        """Exact McNemar test: the p-value of "cells `first` and `second` err equally often", from their out-of-fold labels."""
        check_is_fitted(self, "cv_results_")
        one, two = self._position[first], self._position[second]
        tested = (self._wrong[one] >= 0) & (self._wrong[two] >= 0)
        return mcnemar(self._wrong[one, tested] > 0, self._wrong[two, tested] > 0)
