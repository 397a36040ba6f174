"""Reduce the number of support vectors of a kernel model.

A subset of the support vectors is chosen, the model is refitted on it, and the cost is measured on
test rows.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted

from pegasos.engine.optimum.problem import empty_history
from pegasos.engine.rows.kernel_rows import KernelRows
from pegasos.engine.rows.landmarks import pursue
from pegasos.engine.rows.sources import GramRows
from pegasos.estimates import Estimate, held_out
from pegasos.learners.calibration import carry_over
from pegasos.learners.sdca import SDCA
from pegasos.learners.task import is_precomputed, known_codes
from pegasos.nystroem import CUTS, Nystroem, whitening
from pegasos.search.anatomy import anatomy
from pegasos.sklearn_private import safe_indexing

Array = np.ndarray[Any, Any]

#: Share of rows held out if no test rows are given, and default number of points of a curve.
TEST_SHARE, POINTS = 0.2, 8
#: Smallest number of support vectors on a curve.
_FEWEST = 8
#: Kernel values between support vectors and training rows that are used for the selection; of more
#: rows a sample is taken.
_NUMBERS = 40_000_000
#: More support vectors than these are selected in the feature space of the kernel, without training
#: rows: the products on rows would take too long.
_MOST_VECTORS = 8_000


@dataclass(frozen=True)
class Point:
    """Error on test rows of a model with a given number of support vectors.

    `worse` counts rows that only this model misclassifies, `better` those that only the full model
    does.
    """

    support_vectors: int
    error: Estimate
    worse: int = 0
    better: int = 0
    #: Exact p-value of McNemar's test against the full model.
    p_value: float = 1.0


@dataclass(frozen=True)
class Curve:
    """Error against the number of support vectors, for the full model and smaller ones.

    Attributes
    ----------
    before : Point
        The full model.
    points : tuple of Point
        Smaller models, by increasing number of support vectors.
    rows : int
        Number of test rows.
    set_aside : bool
        Whether the test rows were held out of X, and the full model refitted without them.
    """

    before: Point
    points: tuple[Point, ...]
    rows: int
    set_aside: bool

    def price(self, count: int) -> float:
        """Return the increase in error of the model with `count` support vectors."""
        smaller = next(each for each in self.points if each.support_vectors == count)
        return smaller.error.error - self.before.error.error


@dataclass(frozen=True)
class Shrunk:
    """Model with fewer support vectors, and the curve of its costs."""

    model: Any
    curve: Curve


def shrink(
    model: Any,
    X: Any,
    y: Any,
    *,
    keep: int,
    sample_weight: Any = None,
    test: tuple[Any, Any] | None = None,
    counts: Sequence[int] = (),
    random_state: int = 0,
) -> Shrunk:
    """Return a kernel model refitted on `keep` of its support vectors.

    Support vectors are selected by orthogonal least squares, jointly for all classes, so that they
    reproduce the decision function on the training rows. The model's objective is then minimized
    exactly over Σ b_i K(x_i, ·), summed over the selected vectors: a linear `SDCA` on their Nyström
    features, with the λ, loss and weights of the model. A Perceptron has no objective and is
    projected instead.

    Parameters
    ----------
    model : estimator
        Fitted kernel classifier, pipeline or search.
    X, y : array-like
        Training rows and labels of the model.
    keep : int
        Number of support vectors to keep.
    sample_weight : array-like, optional
        Weights of the training rows.
    test : tuple of (X, y), optional
        Test rows and labels. By default a fifth of X is held out, and the full model is refitted
        without it to measure the curve.
    counts : sequence of int, optional
        Further sizes whose errors are measured.
    random_state : int, default=0
        Seed of the split.

    Returns
    -------
    Shrunk
        The model, and the error on test rows against the number of support vectors.

    See Also
    --------
    Nystroem : Explicit features that approximate a kernel.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SDCA(kernel="gaussian", lam=1e-3, random_state=0).fit(X[::2], y[::2])
    >>> small = shrink(model, X[::2], y[::2], keep=8, test=(X[1::2], y[1::2]))
    >>> len(small.model.support_), round(small.curve.price(8), 2)
    (8, 0.0)
    """
    model = getattr(model, "best_estimator_", model)
    given: Any = {"sample_weight": sample_weight, "test": test, "random_state": random_state}
    curve = shrinking_curve(model, X, y, counts=[*counts, keep], **given)
    return Shrunk(Shrinking(model, X, y, keep, sample_weight).model(keep), curve)


def shrinking_curve(
    model: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    test: tuple[Any, Any] | None = None,
    counts: Sequence[int] = (),
    random_state: int = 0,
) -> Curve:
    """Return the error on test rows against the number of support vectors.

    Without `test`, a fifth of X is held out, and the full model is refitted without it. By default
    each of `counts` is half of the next.
    """
    y, weights = np.asarray(y), None if sample_weight is None else np.asarray(sample_weight)
    fitted = model
    if test is None:
        options: Any = {"test_size": TEST_SHARE, "random_state": random_state, "stratify": y}
        known, new = train_test_split(np.arange(len(y)), **options)
        test = safe_indexing(X, new), y[new]
        X, y, weights = _some(X, y, weights, known)
        params = {} if weights is None else {anatomy(model).weight_name: weights}
        fitted = clone(model).fit(X, y, **params)
    most = len(kernel_learner(fitted).support_)
    sizes = [count for count in sorted(set(counts or usual_counts(most))) if count < most]
    X_test, y_test = test[0], np.asarray(test[1])
    wrong = np.asarray(fitted.predict(X_test) != y_test)
    shrinking = Shrinking(fitted, X, y, max(sizes, default=1), weights)
    points = []
    for count in sizes:
        less = np.asarray(shrinking.model(count).predict(X_test) != y_test)
        worse, better = int((less & ~wrong).sum()), int((wrong & ~less).sum())
        points.append(Point(count, held_out(less), worse, better, mcnemar(less, wrong)))
    return Curve(Point(most, held_out(wrong)), tuple(points), len(y_test), fitted is not model)


def usual_counts(support_vectors: int) -> list[int]:
    """Return default sizes of a curve: half of the support vectors, a quarter, and so on.

    >>> usual_counts(1000)
    [15, 31, 62, 125, 250, 500]
    """
    return sorted({support_vectors >> step for step in range(1, POINTS + 1)} - set(range(_FEWEST)))


def kernel_learner(model: Any) -> Any:
    """Return the fitted kernel learner of a model, or raise ValueError if it cannot be shrunk."""
    learner: Any = anatomy(model, fitted=True).learner
    check_is_fitted(learner)
    if learner.kernel is None:
        raise ValueError(
            "a linear model has no support vectors: it has one vector per class, and cannot be "
            "smaller."
        )
    if learner.has_pairs(learner.classes_):
        raise ValueError(
            "a one-vs-one model cannot be shrunk: its pairs are trained on different rows. Fit it "
            "with multiclass='one-vs-rest', or shrink the estimators of scikit-learn's "
            "OneVsOneClassifier."
        )
    if is_precomputed(learner.kernel):
        raise ValueError(
            "a model with a precomputed kernel cannot be shrunk: it does not contain its rows."
        )
    return learner


class Shrinking:
    """Selection order of a model's support vectors, and models with the first of them."""

    def __init__(self, model: Any, X: Any, y: Any, most: int, sample_weight: Any = None) -> None:
        self._model, self._learner = model, kernel_learner(model)
        if most < 1:
            raise ValueError(f"keep must be at least 1, got {most}.")
        learner, self._y = self._learner, np.asarray(y)
        known_codes(self._y, learner.classes_)
        weights = None if sample_weight is None else np.asarray(sample_weight)
        self._rows, self._y, self._weights = _seen_by_learner(model, X, self._y, weights)
        self.order = _order(learner, self._rows, min(most, len(learner.support_)))

    def model(self, count: int) -> Any:
        """Return a copy of the model refitted on `count` support vectors.

        There are fewer if further ones add nothing.
        """
        found = copy.deepcopy(self._model)
        learner: Any = anatomy(found, fitted=True).learner
        chosen = np.sort(self.order[:count])
        landmarks = learner.support_vectors_[chosen]
        weights, values = whitening(learner.kernel_, landmarks, CUTS[landmarks.dtype.name])
        refitted = None
        if hasattr(learner, "lam_"):
            refitted = self._refitted(learner, landmarks, weights, values)
            vectors = refitted.coef_.T.astype(np.float64)
            learner.intercept_ = refitted.intercept_.astype(learner.intercept_.dtype)
        else:
            vectors = self._projected(learner, landmarks, weights)
        dual = (weights @ vectors).T.astype(learner.dual_coef_.dtype)
        learner.dual_coef_ = np.ascontiguousarray(dual)
        learner.support_, learner.support_vectors_ = learner.support_[chosen], landmarks
        _reset(learner, refitted)
        both = self._learner, learner
        scores, others = (np.asarray(each.decision_function(self._rows)) for each in both)
        carry_over(self._learner, learner, scores, others)
        return found

    def _refitted(self, learner: Any, landmarks: Any, weights: Array, values: Array) -> SDCA:
        """Return the optimum over w·φ with the Nyström features φ of the landmarks."""
        options = {"dtype": landmarks.dtype.name, "memory": learner.memory}
        mapped = Nystroem(learner.kernel_, len(weights), **options)
        mapped.kernel_, mapped.landmarks_ = learner.kernel_, landmarks
        mapped.weights_, mapped.eigenvalues_ = weights, values
        mapped.n_features_in_ = landmarks.shape[1]
        same = {
            name: getattr(learner, name) for name in ("class_weight", "fit_intercept", "memory")
        }
        linear = SDCA(learner.loss, lam=learner.lam_, random_state=0, **same)
        return linear.fit(mapped.transform(self._rows), self._y, self._weights)

    @staticmethod
    def _projected(learner: Any, landmarks: Any, weights: Array) -> Array:
        """Return the projection on the span of the landmarks, Wᵀ K(L, S) a."""
        values = learner.kernel_.matrix(landmarks, learner.support_vectors_).astype(np.float64)
        return np.asarray(weights.T @ (values @ learner.dual_coef_.T.astype(np.float64)))


def _order(learner: Any, rows: Any, most: int) -> Array:
    """Return the support vectors in selection order.

    Orthogonal least squares reproduces the decision function on the training rows, where each
    support vector is represented by its kernel values. A Perceptron is projected in the feature
    space of the kernel, so its support vectors are selected there, as are further ones once none
    adds anything on the rows.
    """
    kernel, vectors, coefficients = learner.kernel_, learner.support_vectors_, learner.dual_coef_
    count, on_rows = vectors.shape[0], np.empty(0, dtype=np.intp)
    if hasattr(learner, "lam_") and count <= _MOST_VECTORS:
        largest = max(1, _NUMBERS // count)
        some = np.sort(np.random.default_rng(0).permutation(rows.shape[0])[:largest])
        values = kernel.matrix(vectors, safe_indexing(rows, some)).astype(np.float64)
        on_rows = pursue(GramRows(values @ values.T), coefficients, most)
    if len(on_rows) == most:
        return on_rows
    order = pursue(KernelRows(kernel, vectors), coefficients, most)
    return np.concatenate([on_rows, order[~np.isin(order, on_rows)]])[: len(order)]


def _seen_by_learner(
    model: Any, X: Any, y: Array, weights: Array | None
) -> tuple[Any, Array, Array | None]:
    """Return training rows, labels and weights as the learner receives them.

    Rows dropped by a filter are left out.
    """
    for stage in anatomy(model, fitted=True).stages:
        if stage.drops:
            X, y, weights = _some(X, y, weights, np.flatnonzero(stage.part.kept_rows(X)))
        else:
            X = stage.part.transform(X)
    return X, y, weights


def _some(X: Any, y: Array, weights: Array | None, rows: Array) -> tuple[Any, Array, Array | None]:
    return safe_indexing(X, rows), y[rows], None if weights is None else weights[rows]


def _reset(learner: Any, refitted: SDCA | None) -> None:
    """Reset state of the full model: stages, certificate, calibration and solver state.

    The objective is that of the refit: Σ b_i K(x_i, ·) has the norm and the scores of w·φ.
    """
    learner._forget_training()
    if hasattr(learner, "gap_") and refitted is not None:
        learner.gap_, learner.objective_ = float("nan"), refitted.objective_
        learner.dual_objective_ = np.full_like(learner.objective_, np.nan)
        learner.objective_curve_ = empty_history()


def mcnemar(wrong_one: Array, wrong_two: Array) -> float:
    """Return the exact two-sided p-value of McNemar's test that two models err equally often.

    >>> mcnemar(np.array([1, 1, 1, 1, 1, 1, 0, 0]) > 0, np.zeros(8) > 0)
    0.03125
    """
    from scipy.stats import binomtest

    only_one, discordant = int(np.sum(wrong_one & ~wrong_two)), int(np.sum(wrong_one != wrong_two))
    return 1.0 if discordant == 0 else float(binomtest(only_one, discordant, 0.5).pvalue)
