"""Choice of a cell in every search: GridSearchCV's choice, the simplest cell that is as good, and advice."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV

from pegasos.learners.connected import Connected
from pegasos.metrics import as_metric
from pegasos.search.advice import SweepWarning, advise, complexity, warn_user
from pegasos.search.estimates import one_standard_error
from pegasos.search.grid import Cell

Array = np.ndarray[Any, Any]


class CellSearch(Connected, GridSearchCV):
    """A search whose cells are done: which of them is the best."""

    def _get_scorers(self) -> Any:
        """scikit-learn's, and metrics of ours by name."""
        metric = as_metric(self.scoring)
        return super()._get_scorers() if metric is None else (metric, "score")

    def _choose_best(self, cells: list[Cell], results: dict[str, Any], metric: Any) -> None:
        """Set cv_results_ and, where there is a best cell, which it is."""
        self.cv_results_ = results
        if self.refit or not self.multimetric_:
            self.best_index_ = self._best_index(cells, results, metric)
            if not callable(self.refit):
                self.best_score_ = results[f"mean_test_{metric}"][self.best_index_]
                self._look_closer(cells, results, metric)
            self.best_params_ = results["params"][self.best_index_]

    def _look_closer(self, cells: list[Cell], results: dict[str, Any], metric: Any) -> None:
        """The simplest cell that is as good, and what the place of the best one in the grid suggests."""
        mean = results[f"mean_test_{metric}"]
        folds = np.column_stack(
            [results[f"split{fold}_test_{metric}"] for fold in range(self.n_splits_)]
        )
        known = np.flatnonzero(np.isfinite(mean))
        order = [complexity(cells[number], cells[self.best_index_]) for number in known]
        best = int(np.flatnonzero(known == self.best_index_)[0])
        self.simplest_index_ = int(
            known[one_standard_error(-mean[known], folds[known], order, best)]
        )
        self.advice_ = advise(cells, mean, folds, self.best_index_)
        for advice in self.advice_:
            warn_user(SweepWarning(advice))

    def _best_index(self, cells: list[Cell], results: dict[str, Any], metric: Any) -> int:
        """Return GridSearchCV's choice."""
        return int(self._select_best_index(self.refit, metric, results))
