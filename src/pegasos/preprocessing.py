"""Outlier removal as a meta-estimator.

Transformers of scikit-learn cannot drop rows, so rows are dropped around an estimator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from pegasos.sklearn_private import safe_indexing

Array = np.ndarray[Any, Any]


def _inner_has(name: str) -> Any:
    def check(self: Any) -> bool:
        getattr(self.estimator_ if hasattr(self, "estimator_") else self.estimator, name)
        return True

    return check


@dataclass(eq=False, repr=False)
class DropOutliers(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Meta-estimator that drops outliers from the training rows.

    A training row is dropped if |z| >= threshold for any feature, z = (x - mean)/std over the
    training rows. Features of at most two distinct values have z = 0, since the rarer value would
    otherwise always be an outlier. Rows are never dropped at prediction.

    Parameters
    ----------
    estimator : estimator
        Classifier to fit.
    threshold : float, default=3.0
        Rows with |z| below it in all features are kept.
    columns : array-like of int, optional
        Positions of the features to check; all by default.

    Attributes
    ----------
    estimator_ : estimator
        The fitted classifier.
    kept_ : ndarray of bool
        Mask of the training rows that were kept.
    classes_ : ndarray
        Classes of the fitted classifier.

    See Also
    --------
    sklearn.preprocessing.RobustScaler : Scaling that outliers do not influence.

    Examples
    --------
    >>> from pegasos import Perceptron
    >>> X, y = np.array([[0.0], [1.0], [0.5], [0.4], [90.0]]), np.array([0, 1, 1, 0, 0])
    >>> DropOutliers(Perceptron(random_state=0), threshold=1.9).fit(X, y).kept_
    array([ True,  True,  True,  True, False])
    """

    estimator: Any
    threshold: float = 3.0
    columns: Any = None

    def kept_rows(self, X: Any) -> Array:
        """Return a mask of the training rows that are not outliers.

        Parameters
        ----------
        X : array-like or sparse matrix
            Training rows.

        Returns
        -------
        ndarray of bool
            Mask of the kept rows.
        """
        X = X if self.columns is None else X[:, np.asarray(self.columns, dtype=np.intp)]
        X = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        if not self.threshold > 0:
            raise ValueError(f"threshold must be above 0, got {self.threshold!r}.")
        deviation = X.std(axis=0)
        z = np.abs(X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
        binary = ((X.min(axis=0) == X) | (X.max(axis=0) == X)).all(axis=0)
        kept = ((z < self.threshold) | binary).all(axis=1)
        if not kept.any():
            raise ValueError(f"all rows are outliers at threshold={self.threshold:g}: raise it.")
        return np.asarray(kept)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DropOutliers:
        """Fit the estimator to the rows that are not outliers.

        Parameters
        ----------
        X : array-like or CSR matrix
            Rows.
        y : array-like
            Labels.
        sample_weight : array-like, optional
            Weights of the rows.

        Returns
        -------
        DropOutliers
            The fitted meta-estimator.
        """
        checked, _ = validate_data(self, X, y, accept_sparse="csr", dtype=(np.float64, np.float32))
        self.kept_ = self.kept_rows(checked)
        rows, fit_params = np.flatnonzero(self.kept_), {}
        if sample_weight is not None:
            is_pipeline = isinstance(self.estimator, Pipeline)  # which needs the name of its step
            step = f"{self.estimator.steps[-1][0]}__" if is_pipeline else ""
            fit_params = {f"{step}sample_weight": safe_indexing(sample_weight, rows)}
        known = safe_indexing(X, rows), safe_indexing(y, rows)
        self.estimator_ = clone(self.estimator).fit(*known, **fit_params)
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: Any) -> Array:
        """Return the class of each row that the fitted estimator predicts."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    @available_if(_inner_has("decision_function"))
    def decision_function(self, X: Any) -> Array:
        """Return the scores of the fitted estimator."""
        check_is_fitted(self)
        return self.estimator_.decision_function(X)

    @available_if(_inner_has("predict_proba"))
    def predict_proba(self, X: Any) -> Array:
        """Return the class probabilities of the fitted estimator."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
