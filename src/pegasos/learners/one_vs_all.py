"""Base of all learners: read input, publish fitted attributes, predict new rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy.special import expit, log_expit
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.kernels.distances import Pairs, fill_matrix, largest_square, squared_norms
from pegasos.engine.rows.features import MappedRows
from pegasos.engine.runtime.interruption import deadline
from pegasos.engine.walk.losses import PROBABILISTIC
from pegasos.learners.calibration import Calibration
from pegasos.learners.catalogue import ONE_VS_ONE, ONE_VS_REST, Declaration
from pegasos.learners.one_vs_one import class_pairs, class_scores, couple_probabilities
from pegasos.learners.parameters import SharedParameters, reporting
from pegasos.learners.task import (
    PRECOMPUTED,
    Task,
    combined_weights,
    draw_seed,
    encode_classes,
    fingerprint,
    is_precomputed,
    open_task,
    positive,
)

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before version 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand-in for a class that this version of scikit-learn lacks."""

    def with_callbacks(method: Any) -> Any:
        """Return the method itself."""
        return method


if TYPE_CHECKING:  # solvers are imported where a fit starts: predictions need none
    from pegasos.engine.walk.solvers import Solver

Array = np.ndarray[Any, Any]

#: How rows of explicit features are checked: dense or CSR, in one of two precisions.
ROWS: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": (np.float64, np.float32),
    "order": "C",
}
#: Attributes of a kernel predictor or a linear one, of which a fit sets some.
_VECTORS = ("coef_", "dual_coef_", "support_", "support_vectors_", "kernel_")
#: Numbers of a kernel matrix that are held at once when scoring new rows (16 MB in float32); larger
#: pieces were not faster.
_SCORED_AT_ONCE = 1 << 22


@dataclass(eq=False)
class NotFinite(ValueError):  # noqa: N818 - it names the state of the scores
    """Scores of some rows are not finite, although the rows are."""

    #: Positions of these rows, and whether the first of them is longer than any training row.
    rows: Array
    far_away: bool

    def __str__(self) -> str:
        which = f"row {self.rows[0]} has"
        if len(self.rows) > 1:
            which = f"row {self.rows[0]} and {len(self.rows) - 1} more have"
        reason = "the model is damaged"
        if self.far_away:
            reason = "the row is larger than any training row"
        return f"{which} no finite score: {reason}. Check it, or scale it as in training."


def gives_probabilities(estimator: Any) -> bool:
    """Tell whether an estimator has probabilities, or raise AttributeError (for `available_if`)."""
    if not estimator.has_probabilities:
        names, kind = " or ".join(map(repr, PROBABILISTIC)), type(estimator).__name__
        raise AttributeError(
            f"{kind} has predict_proba only with loss={names}, or after SweepCV.calibrate()."
        )
    return True


class OneVsAllClassifier(CallbackSupportMixin, ClassifierMixin, SharedParameters):
    """Linear or kernel classifier with a predictor for each class, or one for two classes.

    Each learner defines `_learn` and the methods that a search calls: `_check_parameters`,
    `_strength`, `_lam_for`, `_stop`, `_planned_stop` and `_make_solvers`.
    """

    declaration: ClassVar[Declaration]
    #: Seconds after which a fit returns its present predictors, for learners that have it.
    max_time: float | None = None
    #: "one-vs-one" for learners that have it: then each pair of classes has a predictor.
    multiclass: str = ONE_VS_REST
    #: Map from scores to probabilities, and score above which a row belongs to the second of two
    #: classes: set by a search that has out-of-fold scores, None and 0 after a fit.
    calibration_: Calibration | None
    threshold_: float
    kernel_: Any
    #: Histories, which a fit that continues extends.
    loss_curve_: Any
    loss_curve_steps_: Any
    mistakes_: Any
    gap_curve_: Any
    _courses: Any
    #: State of the last fit from which another one can go on, and the hash of its rows.
    _saved: Any = None
    _mark: str | None = None
    #: Largest x·x of a training row (of a precomputed kernel its largest number), if it is known.
    _reach: float | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags

    def _learn(self, task: Task, saved: Any) -> None:
        """Fit the task, from the saved state of the last fit if there is one."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        """Raise ValueError where a parameter makes no sense."""
        raise NotImplementedError

    def _make_solvers(self, task: Task, lams: Array, stops: list[int], seed: int) -> list[Solver]:
        """Return solvers for all λ at once: one, or one per class where each has its own draws."""
        raise NotImplementedError

    @property
    def _strength(self) -> tuple[str, float] | None:
        """The parameter that regularizes ("lam" or "C") and its value, if there is one."""
        return None

    def _lam_for(self, total_weight: float) -> Any:
        """Return λ where the training rows have this Σω, if the learner has one."""
        return None

    @property
    def _stop(self) -> tuple[str, int]:
        """The parameter that ends a fit, and its value."""
        (name,) = self.declaration.stops
        return name, getattr(self, name)

    def _planned_stop(self, m: int) -> int:
        """Return where a fit to m rows ends at the latest, in the declared unit."""
        return self._stop[1]

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows; with a precomputed kernel the square matrix of kernel values.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, at least 0.

        Returns
        -------
        self
            The fitted classifier.
        """
        seconds = math.inf if self.max_time is None else positive("max_time", self.max_time)
        with deadline(seconds), reporting(self, X, y):
            task = self._open(X, y, sample_weight)
            saved = self._saved if self._goes_on else None
            if saved is None:
                self._seed = draw_seed(self.random_state)
            self._learn(task, saved)
        return self

    def _open(self, X: Any, y: Any, sample_weight: Any) -> Task:
        """Check parameters and rows, set classes_, n_features_in_ and lam_, and return the task."""
        self._check_parameters()
        X, y = self._read_rows(X, y)
        classes, codes = encode_classes(y)
        mark = None
        if self.warm_start:
            mark = fingerprint(X, classes, codes, [self.kernel is None])
        if not self._goes_on:
            self._saved, self._mark = None, mark
        elif mark != self._mark:
            raise ValueError(
                "warm_start needs the rows and classes of the last fit; use warm_start=False for "
                "others."
            )
        self.classes_ = classes
        weights = combined_weights(sample_weight, self.class_weight, classes, codes, X)
        task = open_task(self, X, codes, weights, len(classes))
        if (lam := self._lam_for(task.total_weight)) is not None:
            self.lam_ = lam
        return task

    def _read_rows(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Return checked rows and labels; lazy features stay lazy."""
        if not isinstance(X, MappedRows) or self.kernel is not None:
            # A refusal to go on leaves the fitted attributes as they were.
            return validate_data(self, X, y, **ROWS, reset=not self._goes_on)
        _, y = validate_data(self, X.X, y, **ROWS)
        self.n_features_in_ = X.shape[1]
        return X, y

    @property
    def _goes_on(self) -> bool:
        """Whether a fit continues the last one, which kept its state for that."""
        return bool(self.warm_start and self._saved is not None and self._mark is not None)

    def _publish(
        self, task: Task, stages: list[tuple[Array, Array]], checkpoints: list[int]
    ) -> None:
        """Set the fitted attributes.

        `stages` are vectors and bias of the predictors at the checkpoints and at the end.
        """
        self.plan_, self.checkpoints_ = task.plan, checkpoints
        self._m, self._constant, self._reach = task.m, task.constant, _largest_square(task)
        vectors = np.stack([stage[0] for stage in stages])
        if not np.isfinite(vectors).all():
            raise ValueError(
                "the fitted coefficients are not finite: scale X, or use float64 or a larger lam."
            )
        bias = np.stack([stage[1] for stage in stages]).astype(task.X.dtype)
        self.intercept_ = bias[-1]
        for stale in _VECTORS:
            self.__dict__.pop(stale, None)
        self.calibration_, self.threshold_ = None, 0.0
        if task.kernel is None:
            self.coef_ = vectors[-1]
        else:
            self.kernel_ = task.kernel
            self.support_ = np.flatnonzero(vectors.any(axis=(0, 1)))
            vectors = np.ascontiguousarray(vectors[:, :, self.support_])
            self.dual_coef_ = vectors[-1]
            empty = np.empty((0, task.X.shape[1]), dtype=task.X.dtype)
            self.support_vectors_ = empty if task.kernel == PRECOMPUTED else task.X[self.support_]
        self._stage_vectors, self._stage_bias = vectors[:-1], bias[:-1]

    def _forget_training(self) -> None:
        """Drop stages, calibration, and the state from which a fit continues."""
        vectors = self._vectors
        self._stage_vectors = np.empty((0, *vectors.shape), vectors.dtype)
        self._stage_bias = np.empty((0, len(vectors)), vectors.dtype)
        self.checkpoints_, self._saved, self._mark = [], None, None
        self.calibration_, self.threshold_ = None, 0.0

    def has_pairs(self, classes: Any) -> bool:
        """Tell whether each pair of these classes has a predictor; two classes share one anyway."""
        return self.multiclass == ONE_VS_ONE and len(classes) > 2

    def predictor_count(self, classes: Any) -> int:
        """Return the number of predictors for these classes."""
        if self.has_pairs(classes):
            return len(class_pairs(len(classes)))
        return 1 if len(classes) == 2 else len(classes)

    @property
    def couples_pairs(self) -> bool:
        """Whether probabilities come from scores of pairs, which decision values do not contain."""
        return self.has_pairs(self.classes_)

    @property
    def has_probabilities(self) -> bool:
        """Whether there are probabilities: scores are logits, or were calibrated."""
        return vars(self).get("calibration_") is not None

    def predict(self, X: Any) -> Array:
        """Return the class of each row."""
        return self.labels_of(self.decision_function(X))

    def labels_of(self, scores: Array) -> Array:
        """Return the classes of rows with these values of `decision_function`."""
        above = scores > self.threshold_ if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[above.astype(np.intp)])

    def decision_function(self, X: Any) -> Array:
        """Return scores (rows x classes); for two classes one score, positive for classes_[1]."""
        return self._shaped(self.predictor_scores(X))

    def predictor_scores(self, X: Any) -> Array:
        """Return the scores of all predictors (rows x predictors), with one-vs-one of all pairs."""
        check_is_fitted(self)
        return self._scores(self._read_new(X), self._vectors, self.intercept_)

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Return the scores at each of `checkpoints`, equal to those of fits that end there."""
        check_is_fitted(self)
        if not self.checkpoints_:
            raise ValueError("the model has no stages: fit it with `checkpoints`.")
        X, vectors = self._read_new(X), np.concatenate(self._stage_vectors)
        scores = self._scores(X, vectors, self._stage_bias.reshape(-1))
        parts = np.split(scores, len(self._stage_bias), axis=1)
        return (self._shaped(part) for part in parts)

    @available_if(gives_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class.

        Scores are mapped as calibrated, else by σ, and normalized over the classes. With one-vs-one
        the probabilities of pairs are coupled (Wu, Lin, Weng 2004); the class of the highest
        probability need not be the one with most votes, which `predict` returns.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        return self._calibrated(self.predictor_scores(X))

    def probabilities_of(self, scores: Array) -> Array:
        """Return the class probabilities of rows with these values of `decision_function`.

        A model that `couples_pairs` computes them in `predict_proba` only.
        """
        if self.couples_pairs:
            raise ValueError("votes do not determine coupled probabilities: call predict_proba.")
        return self._calibrated(scores.reshape(len(scores), -1))

    def _calibrated(self, scores: Array) -> Array:
        if self.calibration_ is not None:
            return self.calibration_.probabilities(scores)
        return self.own_probabilities(scores)

    def own_probabilities(self, scores: Array) -> Array:
        """Return probabilities from the logits of the predictors (rows x predictors)."""
        if self.multiclass == ONE_VS_ONE and scores.shape[1] > 1:
            return couple_probabilities(expit(scores))
        return probabilities(scores)

    def decision_values(self, scores: Array) -> Array:
        """Return a value per class, one column for two classes, from scores (... x predictors)."""
        pairs = self.multiclass == ONE_VS_ONE and scores.shape[-1] > 1
        return class_scores(scores) if pairs else scores

    def _shaped(self, scores: Array) -> Array:
        values = self.decision_values(scores)
        return values[:, 0] if values.shape[1] == 1 else values

    def _read_new(self, X: Any) -> Any:
        if not isinstance(X, MappedRows):
            return validate_data(self, X, **ROWS, reset=False)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return X if self.kernel is None else np.asarray(X)

    @property
    def _vectors(self) -> Array:
        return self.coef_ if hasattr(self, "coef_") else self.dual_coef_

    def _scores(self, X: Any, vectors: Array, bias: Array) -> Array:
        """Return finite scores of all rows, or raise NotFinite."""
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self._products(X, vectors) + bias
        if np.isfinite(scores).all():
            return scores
        rows = np.flatnonzero(~np.isfinite(scores).all(axis=1))
        row = np.asarray(X[rows[:1]]) if isinstance(X, MappedRows) else X[rows[:1]]
        precomputed = hasattr(self, "kernel_") and self.kernel_ == PRECOMPUTED
        square = np.abs(row).max() if precomputed else squared_norms(row)[0]
        raise NotFinite(rows, self._reach is None or not square <= 1.001 * self._reach)

    def _products(self, X: Any, vectors: Array) -> Array:
        """Return X·vectorsᵀ for explicit features, K(X, support vectors)·vectorsᵀ for a kernel."""
        if hasattr(self, "coef_"):
            return np.asarray(X @ vectors.T)
        if self.kernel_ == PRECOMPUTED:
            return np.asarray(X[:, self.support_] @ vectors.T)
        scores = np.zeros((X.shape[0], len(vectors)), dtype=vectors.dtype)
        step = max(1, _SCORED_AT_ONCE // max(1, len(self.support_)))
        for start in range(0, X.shape[0] if len(self.support_) else 0, step):
            part = slice(start, min(start + step, X.shape[0]))
            K = kernel_columns(self.kernel_, self.support_vectors_, X[part])
            scores[part] = K.T @ vectors.T
        return scores


def kernel_columns(kernel: Kernel, support: Any, X: Any) -> Array:
    """Return K(support, X), with NaN for rows whose distances overflow.

    Distances are centered at the support vectors, so that the scores of a row do not depend on
    other rows.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        X = X.astype(support.dtype, copy=False)
        if kernel.measure is None:
            return kernel(X, support).T
        near = np.ones(X.shape[0], dtype=bool)
        if kernel.measure == "squared":
            near = squared_norms(X) <= np.finfo(X.dtype).max / 32
        if near.all():
            return fill_matrix(Pairs(kernel.measure, support, X), kernel.transform)
        values = np.full((support.shape[0], X.shape[0]), np.nan, dtype=support.dtype)
        values[:, near] = fill_matrix(Pairs(kernel.measure, support, X[near]), kernel.transform)
        return values


def _largest_square(task: Task) -> float | None:
    if task.kernel == PRECOMPUTED:
        largest = float(np.abs(task.X).max(initial=0))
    elif task.kernel is None:
        largest = float(task.rows.diagonal.max(initial=0))
    else:
        largest = largest_square(task.X)
    return largest if np.isfinite(largest) else None


def probabilities(scores: Array) -> Array:
    """Return σ(score) of each class, normalized over the classes; for two 1 - σ(s) and σ(s)."""
    if scores.ndim == 1 or scores.shape[1] == 1:
        return np.column_stack([expit(-scores), expit(scores)])
    logs = log_expit(scores)  # σ of all of a row's scores may be below the smallest number
    each = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(each / each.sum(axis=1, keepdims=True))
