"""Fewer support vectors: the best predictor that some of them can carry, and what it costs on rows that it does not know."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted

from pegasos.engine.kernels.landmarks import KernelColumns, StoredColumns, pursue
from pegasos.engine.optimum.history import no_course
from pegasos.learners.sdca import SDCA
from pegasos.learners.task import is_precomputed
from pegasos.nystroem import CUTS, Nystroem, whitening
from pegasos.search.anatomy import anatomy
from pegasos.search.decisions import carry_over
from pegasos.search.estimates import Estimate, held_out, mcnemar
from pegasos.sklearn_private import safe_indexing

Array = np.ndarray[Any, Any]

#: Share of rows that are set aside where no others are given, and how many numbers a curve has by default.
TEST_SHARE, POINTS = 0.2, 8
#: A curve begins with this many support vectors.
_FEWEST = 8
#: Kernel values, of support vectors on training rows, by which they are chosen; of more rows a sample is taken.
_NUMBERS = 40_000_000
#: More support vectors than these are chosen in the kernel's space alone: their products on rows would take too long.
_MOST_VECTORS = 8_000


@dataclass(frozen=True)
class Point:
    """A model of so many support vectors on held-out rows: its error, and rows on which only it, or only the whole one, errs."""

    support_vectors: int
    error: Estimate
    worse: int = 0
    better: int = 0
    #: Exact p-value of "it errs as often as the whole model".
    p_value: float = 1.0


@dataclass(frozen=True)
class Curve:
    """Error against the number of support vectors: the whole model, smaller ones, and on which rows that was counted."""

    before: Point
    points: tuple[Point, ...]
    rows: int
    #: Whether rows were set aside, so that the whole model was fitted without them, too, to count its errors.
    set_aside: bool

    def price(self, count: int) -> float:
        """How much more a model with so many support vectors errs."""
        return (
            next(each for each in self.points if each.support_vectors == count).error.error
            - self.before.error.error
        )


@dataclass(frozen=True)
class Shrunk:
    """A model with fewer support vectors, and the curve that tells what it costs."""

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
    """A fitted kernel model with `keep` of its support vectors, refitted to the rows that it was trained on.

    Chosen are those that carry most of what the model says of the training rows (orthogonal least squares, all classes together);
    then the model's own objective is solved exactly among the predictors Σ_chosen b_i K(x_i, ·): a linear SDCA on
    their Nyström features, same λ and loss, with the weights of rows that training had (`sample_weight`). A Perceptron, which has
    no objective, is projected. `curve` tells the error of this and of other sizes (`counts`) on held-out rows: `test`, rows that
    the model does not know, or else a fifth of X that is set aside, for which the model is fitted once more without them.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SDCA(kernel="gaussian", lam=1e-3, random_state=0).fit(X[::2], y[::2])
    >>> small = shrink(model, X[::2], y[::2], keep=8, test=(X[1::2], y[1::2]))
    >>> len(small.model.support_), round(small.curve.price(8), 2)
    (8, 0.0)
    """
    model = getattr(model, "best_estimator_", model)
    given: Any = {
        "sample_weight": sample_weight,
        "test": test,
        "counts": [*counts, keep],
        "random_state": random_state,
    }
    curve = shrinking_curve(model, X, y, **given)
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
    """Error on held-out rows against the number of support vectors; see `shrink`. Without `counts` sizes double."""
    y, weights = np.asarray(y), None if sample_weight is None else np.asarray(sample_weight)
    fitted = model
    if test is None:
        rows = np.arange(len(y))
        known, new = train_test_split(
            rows, test_size=TEST_SHARE, random_state=random_state, stratify=y
        )
        test = safe_indexing(X, new), y[new]
        X, y, weights = (
            safe_indexing(X, known),
            y[known],
            None if weights is None else weights[known],
        )
        fitted = clone(model).fit(
            X, y, **({} if weights is None else {anatomy(model).weight_name: weights})
        )
    whole = kernel_learner(fitted)
    sizes = [
        count
        for count in sorted(set(counts) or set(usual_counts(len(whole.support_))))
        if count < len(whole.support_)
    ]
    X_test, y_test = test[0], np.asarray(test[1])
    wrong = np.asarray(fitted.predict(X_test) != y_test)
    before = Point(len(whole.support_), held_out(wrong))
    shrinking = Shrinking(fitted, X, y, max(sizes, default=1), weights)
    points = []
    for count in sizes:
        less = np.asarray(shrinking.model(count).predict(X_test) != y_test)
        worse, better = int((less & ~wrong).sum()), int((wrong & ~less).sum())
        points.append(Point(count, held_out(less), worse, better, mcnemar(less, wrong)))
    return Curve(before, tuple(points), len(y_test), fitted is not model)


def usual_counts(support_vectors: int) -> list[int]:
    """Sizes for a curve: half of the support vectors, a quarter, and so on.

    >>> usual_counts(1000)
    [15, 31, 62, 125, 250, 500]
    """
    return sorted({support_vectors >> step for step in range(1, POINTS + 1)} - set(range(_FEWEST)))


def kernel_learner(model: Any) -> Any:
    """The fitted learner of a model that has support vectors to leave out."""
    learner: Any = anatomy(model, fitted=True).learner
    check_is_fitted(learner)
    if learner.kernel is None:
        raise ValueError(
            "a linear model has no support vectors: it is one vector a class, and cannot be smaller."
        )
    if learner.has_pairs(learner.classes_):
        raise ValueError(
            "a one-vs-one model cannot be shrunk: its pairs are trained on different rows. Fit it with "
            "multiclass='one-vs-rest', or shrink the estimators of scikit-learn's OneVsOneClassifier."
        )
    if is_precomputed(learner.kernel):
        raise ValueError(
            "a model with a precomputed kernel does not know its rows, so none can be chosen among them."
        )
    return learner


class Shrinking:
    """Support vectors of a model in the order in which they are worth keeping, and models with the first of them."""

    def __init__(self, model: Any, X: Any, y: Any, most: int, sample_weight: Any = None) -> None:
        self._model, self._learner = model, kernel_learner(model)
        if most < 1:
            raise ValueError(f"keep must be at least 1, got {most}.")
        learner, self._y = self._learner, np.asarray(y)
        unknown = ~np.isin(self._y, learner.classes_)
        if unknown.any():
            raise ValueError(
                f"y has classes unknown to the model: {np.unique(self._y[unknown])!r}."
            )
        weights = None if sample_weight is None else np.asarray(sample_weight)
        self._rows, self._y, self._weights = _seen_by_learner(model, X, self._y, weights)
        self.order = _order(learner, self._rows, min(most, len(learner.support_)))

    def model(self, count: int) -> Any:
        """A copy of the model with so many support vectors (fewer where the others add nothing), refitted."""
        found = copy.deepcopy(self._model)
        learner: Any = anatomy(found, fitted=True).learner
        chosen = np.sort(self.order[:count])
        landmarks = learner.support_vectors_[chosen]
        dtype = np.dtype(landmarks.dtype).name
        weights, values = whitening(learner.kernel_, landmarks, CUTS[dtype])
        refitted = (
            self._refitted(learner, landmarks, weights, values)
            if hasattr(learner, "lam_")
            else None
        )
        vectors = (
            self._projected(learner, landmarks, weights)
            if refitted is None
            else refitted.coef_.T.astype(np.float64)
        )
        learner.dual_coef_ = np.ascontiguousarray(
            (weights @ vectors).T.astype(learner.dual_coef_.dtype)
        )
        if refitted is not None:
            learner.intercept_ = refitted.intercept_.astype(learner.intercept_.dtype)
        learner.support_, learner.support_vectors_ = learner.support_[chosen], landmarks
        _forget(learner, refitted)
        scores, others = (
            np.asarray(each.decision_function(self._rows)) for each in (self._learner, learner)
        )
        carry_over(self._learner, learner, scores, others)
        return found

    def _refitted(self, learner: Any, landmarks: Any, weights: Array, values: Array) -> SDCA:
        """The optimum among w·φ, φ the features of these landmarks."""
        mapped = Nystroem(
            learner.kernel_,
            len(weights),
            dtype=np.dtype(landmarks.dtype).name,
            memory=learner.memory,
        )
        mapped.kernel_, mapped.landmarks_, mapped.weights_, mapped.eigenvalues_ = (
            learner.kernel_,
            landmarks,
            weights,
            values,
        )
        mapped.n_features_in_ = landmarks.shape[1]
        return SDCA(
            learner.loss,
            lam=learner.lam_,
            class_weight=learner.class_weight,
            fit_intercept=learner.fit_intercept,
            memory=learner.memory,
            random_state=0,
        ).fit(mapped.transform(self._rows), self._y, self._weights)

    @staticmethod
    def _projected(learner: Any, landmarks: Any, weights: Array) -> Array:
        """The nearest function that the landmarks carry: Wᵀ K(L, S) a."""
        values = learner.kernel_.matrix(landmarks, learner.support_vectors_).astype(np.float64)
        return np.asarray(weights.T @ (values @ learner.dual_coef_.T.astype(np.float64)))


def _order(learner: Any, rows: Any, most: int) -> Array:
    """Support vectors in the order in which they carry what the model says of the training rows: orthogonal least squares, each
    support vector being its kernel values on the rows, so that the model is matched where rows are.

    A Perceptron is projected in the kernel's space, so its are chosen there; as are more where none adds anything on the rows.
    """
    kernel, vectors, coefficients = learner.kernel_, learner.support_vectors_, learner.dual_coef_
    count, on_rows = vectors.shape[0], np.empty(0, dtype=np.intp)
    if hasattr(learner, "lam_") and count <= _MOST_VECTORS:
        some = np.sort(
            np.random.default_rng(0).permutation(rows.shape[0])[: max(1, _NUMBERS // count)]
        )
        values = kernel.matrix(vectors, safe_indexing(rows, some)).astype(np.float64)
        on_rows = pursue(StoredColumns(values @ values.T), coefficients, most)
    if len(on_rows) == most:
        return on_rows
    order = pursue(KernelColumns(kernel, vectors), coefficients, most)
    return np.concatenate([on_rows, order[~np.isin(order, on_rows)]])[: len(order)]


def _seen_by_learner(
    model: Any, X: Any, y: Array, weights: Array | None
) -> tuple[Any, Array, Array | None]:
    """Training rows, labels and weights as the learner gets them, without those that a filter drops."""
    for stage in anatomy(model, fitted=True).stages:
        if stage.drops:
            kept = stage.part.kept_rows(X)
            X, y, weights = (
                safe_indexing(X, np.flatnonzero(kept)),
                y[kept],
                None if weights is None else weights[kept],
            )
        else:
            X = stage.part.transform(X)
    return X, y, weights


def _forget(learner: Any, refitted: SDCA | None) -> None:
    """What was known of the whole model only: stages, certificate, calibration, the state of learning.

    The objective is that of the refit: Σ b_i K(x_i, ·) has the same norm and the same scores as w·φ.
    """
    columns, dtype = len(learner.intercept_), learner.intercept_.dtype
    learner.checkpoints_ = []
    learner._stage_vectors = np.empty((0, columns, len(learner.support_)), dtype=dtype)
    learner._stage_bias = np.empty((0, columns), dtype=dtype)
    learner._saved = learner._mark = None
    learner.calibration_, learner.threshold_ = None, 0.0
    if hasattr(learner, "gap_") and refitted is not None:
        learner.gap_, learner.objective_ = float("nan"), refitted.objective_
        learner.dual_objective_ = np.full_like(learner.objective_, np.nan)
        learner.objective_curve_ = no_course()
