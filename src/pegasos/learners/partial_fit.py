"""Incremental learning: `partial_fit` and the continuation of walks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from pegasos.learners.one_vs_all import ROWS, OneVsAllClassifier
from pegasos.learners.task import Task, combined_weights, encode_classes, known_codes, open_task

if TYPE_CHECKING:  # solvers are imported where a fit starts: predictions need none
    from pegasos.engine.walk.walk import Walk


def _is_linear(estimator: Any) -> bool:
    if estimator.kernel is not None:
        raise AttributeError("partial_fit needs kernel=None: kernels need all rows at once.")
    return True


class PartialFitClassifier(OneVsAllClassifier):
    """Classifier that learns in steps, and continues on new rows with `partial_fit`."""

    def _learn_part(self, task: Task, saved: Any) -> None:
        """Visit the rows of the task once, in their order, from the saved state if there is one."""
        raise NotImplementedError

    @available_if(_is_linear)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Visit these rows once, in their order, from where the last call ended.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like, optional
            All classes that will ever come; needed at the first call.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, which are not scaled to mean 1 here.

        Returns
        -------
        self
            The fitted classifier.
        """
        first, before = self._saved is None, self._reach
        self._check_parameters()
        X, y = validate_data(self, X, y, **ROWS, reset=first)
        if first:
            if classes is None:
                raise ValueError("the first call of partial_fit needs `classes`, all class labels.")
            self.classes_, _ = encode_classes(np.asarray(classes))
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"`classes` differs from that of the first call ({self.classes_!r}).")
        codes = known_codes(y, self.classes_)
        if isinstance(self.class_weight, str):
            raise ValueError("partial_fit needs class_weight as {class: weight}, not 'balanced'.")
        weights = combined_weights(sample_weight, self.class_weight, self.classes_, codes, X)
        self._learn_part(open_task(self, X, codes, weights, len(self.classes_)), self._saved)
        self._mark = "parts of the rows"  # which no later fit has
        if not first:  # the longest row so far, if the lengths of all of them are known
            known = [each for each in (before, self._reach) if each is not None]
            self._reach = max(known) if len(known) == 2 else None
        return self


def resume(walk: Walk, saved: dict[str, Any]) -> None:
    """Continue a walk from its saved state, which must have the sums and norms that it needs."""
    for option, key, needed in (
        ("average", "sums", walk.method.averaging),
        ("projection", "norm", walk.method.projecting),
    ):
        if needed and key not in saved:
            raise ValueError(f"{option} cannot be switched on in a fit that continues; start anew.")
    walk.resume(saved)
