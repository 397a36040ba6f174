"""Base of all learners: read input, publish fitted attributes, predict new rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.kernels.distances import Pairs, fill_matrix, largest_square, squared_norms
from pegasos.engine.rows.features import MappedRows
from pegasos.engine.walk.losses import PROBABILISTIC
from pegasos.learners.calibration import Calibration
from pegasos.learners.catalogue import ONE_VS_ONE, ONE_VS_REST, Declaration
from pegasos.learners.foreign_names import refuse_foreign_names
from pegasos.learners.one_vs_one import class_pairs, class_scores, couple_probabilities
from pegasos.learners.scaling import warn_if_badly_scaled
from pegasos.learners.task import (
    PRECOMPUTED,
    Task,
    combined_weights,
    encode_classes,
    fingerprint,
    is_precomputed,
    open_task,
)

if TYPE_CHECKING:  # solvers are imported where a fit starts: predictions need none
    from pegasos.engine.walk.solvers import Solver
    from pegasos.engine.walk.walk import Walk

Array = np.ndarray[Any, Any]

_FLOATS = (np.float64, np.float32)
#: Stands for rows that no later fit can be sure to see again: those of partial_fit.
OTHER_ROWS = "other rows"
#: Numbers of a kernel matrix that are held at once when scoring new rows (16 MB in float32); larger pieces were not faster.
_SCORED_AT_ONCE = 1 << 22


def is_linear(estimator: Any) -> bool:
    """For `available_if`: learning goes on with rows never seen before."""
    if estimator.kernel is not None:
        raise AttributeError(
            "partial_fit exists only for kernel=None: a kernel predictor needs all training rows at once."
        )
    return True


def gives_probabilities(estimator: Any) -> bool:
    """For `available_if`: scores mean probabilities."""
    if not estimator.has_probabilities:
        names, kind = " or ".join(map(repr, PROBABILISTIC)), type(estimator).__name__
        raise AttributeError(
            f"predict_proba exists only for loss={names}, or after SweepCV.calibrate(); {kind} has neither."
        )
    return True


class NotFinite(ValueError):  # noqa: N818 - it names what the scores are
    """Rows of finite numbers to which a model gives scores that are not; `rows` are their places.

    square, reach  the squared length of the first of them, and of the longest row in training (None: not known)
    """

    def __init__(self, rows: Array, square: float, reach: float | None) -> None:
        super().__init__(rows, square, reach)
        self.rows, self.square, self.reach = rows, square, reach

    @property
    def far_away(self) -> bool:
        """Whether the row is longer than any that the model has learned from."""
        return self.reach is None or not self.square <= 1.001 * self.reach

    def __str__(self) -> str:
        others = f", nor have {len(self.rows) - 1} others" if len(self.rows) > 1 else ""
        why = (
            "it is larger than any row in training"
            if self.far_away
            else "what was learned is damaged"
        )
        return f"row {self.rows[0]} has no finite score{others}: {why}. Check the numbers in this row, or scale as in training."


def resume(walk: Walk, saved: dict[str, Any]) -> None:
    """Go on with a walk; sums for averages and norms for projection must have been kept from the first step on."""
    for option, key, needed in (
        ("average", "sums", walk.method.averaging),
        ("projection", "norm", walk.method.projecting),
    ):
        if needed and key not in saved:
            raise ValueError(
                f"{option} must be asked for from the first step on; what was learned so far was learned without."
            )
    walk.resume(saved)


def is_plain(X: Any, y: Any) -> bool:
    """Whether these are arrays just as they should be, finite rows and whole labels: scikit-learn's checks change nothing then.

    (For rows as few as digits' those checks take a twentieth of a fit.)
    """
    if (
        type(X) is not np.ndarray
        or type(y) is not np.ndarray
        or X.ndim != 2
        or y.shape != X.shape[:1]
        or not X.size
    ):
        return False
    if X.dtype not in _FLOATS or not X.flags.c_contiguous or y.dtype.kind not in "iu":
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(
            np.isfinite(X.sum(dtype=np.float64))
        )  # of numbers that are not finite no sum is


class OneVsAllClassifier(ClassifierMixin, BaseEstimator):
    """One linear or kernel predictor a class (one in all for two classes); the class with the highest score wins.

    Every learner is one of these. What a search asks of a learner stands first; `fit` and `partial_fit` are its own.
    """

    declaration: ClassVar[Declaration]
    #: "one-vs-one" for learners that have it: then each pair of classes has a predictor.
    multiclass: str = ONE_VS_REST

    def __new__(cls, *args: Any, **params: Any) -> Self:
        refuse_foreign_names(cls.__name__, params, cls._get_param_names())
        return super().__new__(cls)

    #: What makes probabilities of scores, and the score above which a row is called the second of two classes: set by a search
    #: that has out-of-fold scores, None and 0 after a fit.
    calibration_: Calibration | None
    threshold_: float
    kernel_: Any
    _saved: Any
    _mark: str | None
    #: The largest x·x of a training row (of a precomputed kernel its largest number); None where it is not known.
    _reach: float | None = None

    def _check_parameters(self) -> None:
        """Raise ValueError where a parameter makes no sense."""
        raise AssertionError("each learner has its own parameters")

    @property
    def _strength(self) -> tuple[str, float] | None:
        """The parameter that regularizes ("lam" or "C") and its value; None for a learner without one."""
        return None

    def _lam_for(self, total_weight: float) -> Any:
        """Return λ where the training rows have this Σω; None for a learner without one."""
        return None

    @property
    def _stop(self) -> tuple[str, int]:
        """The parameter that ends a walk, and its value."""
        (name,) = self.declaration.stops
        return name, getattr(self, name)

    def _planned_stop(self, m: int) -> int:
        """Where a walk over m rows ends at the latest, in the declared unit."""
        return self._stop[1]

    def _make_solvers(self, task: Task, lams: Array, stops: list[int], seed: int) -> list[Solver]:
        """Solvers for all λ at once that are read at these stops: one, or one a class where each has its own draws."""
        raise AssertionError("each learner walks in its own way")

    def has_pairs(self, classes: Any) -> bool:
        """Whether predictors belong to pairs of these classes; two classes have one predictor in any case."""
        return self.multiclass == ONE_VS_ONE and len(classes) > 2

    def predictor_count(self, classes: Any) -> int:
        """Return the number of predictors for these classes."""
        if self.has_pairs(classes):
            return len(class_pairs(len(classes)))
        return 1 if len(classes) == 2 else len(classes)

    @property
    def couples_pairs(self) -> bool:
        """Whether probabilities come from scores of pairs, which decision values do not contain."""
        return self.multiclass == ONE_VS_ONE and self.has_pairs(self.classes_)

    @property
    def has_probabilities(self) -> bool:
        """Whether scores mean probabilities: logits, or scores that were calibrated."""
        return vars(self).get("calibration_") is not None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags

    def _open(self, X: Any, y: Any, sample_weight: Any) -> Task:
        """The task of checked parameters and rows; sets classes_ and n_features_in_."""
        self._check_parameters()
        before = {
            name: getattr(self, name)
            for name in ("n_features_in_", "feature_names_in_")
            if hasattr(self, name)
        }
        X, y = self._read_rows(X, y)
        classes, codes = encode_classes(y)
        mark = fingerprint(X, classes, codes, self.kernel is None) if self.warm_start else None
        if not self._goes_on:
            self._saved, self._mark = None, mark
        elif mark != self._mark:
            self.__dict__.update(before)  # a refusal leaves the model as it was
            raise ValueError(
                "warm_start goes on with the same rows and classes; refit with warm_start=False for other data."
            )
        self.classes_ = classes
        if not isinstance(X, MappedRows):
            warn_if_badly_scaled(self, X)
        weights = combined_weights(sample_weight, self.class_weight, classes, codes, X)
        task = open_task(self, X, codes, weights, len(classes))
        if (lam := self._lam_for(task.total_weight)) is not None:
            self.lam_ = lam
        return task

    def _read_rows(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Checked rows and labels; features that are computed when they are needed stay as they are."""
        if is_plain(X, y):
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            return X, y
        if not isinstance(X, MappedRows) or self.kernel is not None:
            return validate_data(self, X, y, accept_sparse="csr", dtype=_FLOATS, order="C")
        _, y = validate_data(self, X.X, y, accept_sparse="csr", dtype=_FLOATS, order="C")
        self.n_features_in_ = X.shape[1]
        return X, y

    @property
    def _goes_on(self) -> bool:
        """Whether a fit continues the last one, which kept its state for that."""
        return bool(
            self.warm_start and getattr(self, "_saved", None) is not None and self._mark is not None
        )

    def _open_part(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> tuple[Task, bool]:
        """The same for a part of the rows, in partial_fit, and whether it is the first: classes are those of the first call."""
        self._check_parameters()
        first = getattr(self, "_saved", None) is None
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=_FLOATS, order="C", reset=first)
        if first:
            if classes is None:
                raise ValueError(
                    "the first call of partial_fit needs `classes`: all classes that will ever come."
                )
            self.classes_, _ = encode_classes(np.asarray(classes))
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"`classes` is not what the first call of partial_fit gave ({self.classes_!r})."
            )
        unknown = ~np.isin(y, self.classes_)
        if unknown.any():
            raise ValueError(
                f"y has classes that the first call of partial_fit did not name: {np.unique(y[unknown])!r}."
            )
        if isinstance(self.class_weight, str):
            raise ValueError(
                "class_weight='balanced' cannot be known in partial_fit: give the weights as {class: weight}."
            )
        codes = np.searchsorted(self.classes_, y)
        weights = combined_weights(sample_weight, self.class_weight, self.classes_, codes, X)
        return open_task(self, X, codes, weights, len(self.classes_)), first

    def _publish(
        self, task: Task, stages: list[tuple[Array, Array]], checkpoints: list[int]
    ) -> None:
        """Set the fitted attributes from the predictors (vectors and bias) at the checkpoints and, as the last, of the model."""
        self.plan_, self.checkpoints_ = task.plan, checkpoints
        self._m, self._constant = task.m, task.constant
        self._reach = _joined_reach(
            _reach_of(task), vars(self).get("_reach", 0.0) if self._mark == OTHER_ROWS else 0.0
        )
        vectors = np.stack([stage[0] for stage in stages])
        if not np.isfinite(vectors).all():
            raise ValueError(
                "the fitted coefficients are not finite: the numbers in X are too large for their dtype. "
                "Scale X (for example StandardScaler), use float64, or a larger lam."
            )
        bias = np.stack([stage[1] for stage in stages]).astype(task.X.dtype)
        self.intercept_ = bias[-1]
        for stale in ("coef_", "dual_coef_", "support_", "support_vectors_", "kernel_"):
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

    def decision_function(self, X: Any) -> Array:
        """Scores: (rows,) for two classes, positive for classes_[1]; (rows, classes) for more."""
        return self._shaped(self.predictor_scores(X))

    def predictor_scores(self, X: Any) -> Array:
        """Return the scores of all predictors, rows x predictors: those of pairs with one-vs-one."""
        check_is_fitted(self)
        return self._scores(self._read_new(X), self._vectors, self.intercept_)

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """The scores at each of `checkpoints`, as separate fits that ended there would give them."""
        check_is_fitted(self)
        if not self.checkpoints_:
            raise ValueError(
                "there are no stages: they are kept at `checkpoints`, which was not given when this model was fitted."
            )
        return self._staged(X)

    def _staged(self, X: Any) -> Iterator[Array]:
        X = self._read_new(X)
        stages, columns, width = self._stage_vectors.shape
        scores = self._scores(
            X, self._stage_vectors.reshape(stages * columns, width), self._stage_bias.reshape(-1)
        )
        scores = scores.reshape(X.shape[0], stages, columns)
        for number in range(stages):
            yield self._shaped(scores[:, number])

    def predict(self, X: Any) -> Array:
        """The class of each row."""
        return self.labels_of(self.decision_function(X))

    def labels_of(self, scores: Array) -> Array:
        """The classes that these values of `decision_function` mean, without computing them again."""
        index = (
            (scores > self.threshold_).astype(np.intp)
            if scores.ndim == 1
            else scores.argmax(axis=1)
        )
        return np.asarray(self.classes_[index])

    def probabilities_of(self, scores: Array) -> Array:
        """Return the class probabilities of rows with these values of `decision_function`.

        A model that `couples_pairs` computes them in `predict_proba` only.
        """
        if self.couples_pairs:
            raise ValueError("votes do not determine coupled probabilities: call predict_proba.")
        if self.calibration_ is not None:
            return self.calibration_.probabilities(scores)
        return probabilities(scores)

    def own_probabilities(self, scores: Array) -> Array:
        """Return the probabilities for which scores of the predictors (rows x predictors) are logits."""
        if scores.shape[1] == 1:
            return probabilities(scores[:, 0])
        if self.multiclass == ONE_VS_ONE:
            return couple_probabilities(expit(scores))
        return probabilities(scores)

    def decision_values(self, scores: Array) -> Array:
        """Return one value per class (one in all for two) from scores (... x predictors)."""
        pairs = self.multiclass == ONE_VS_ONE and scores.shape[-1] > 1
        return class_scores(scores) if pairs else scores

    @available_if(gives_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class: as calibrated, else σ(score), normalized over the classes.

        With one-vs-one those of pairs are coupled (Wu, Lin, Weng 2004); the class of the highest
        probability need not be the one with most votes, which `predict` returns.
        """
        check_is_fitted(self)
        if not self.couples_pairs:
            return self.probabilities_of(self.decision_function(X))
        scores = self.predictor_scores(X)
        if self.calibration_ is not None:
            return self.calibration_.probabilities(scores)
        return self.own_probabilities(scores)

    def _read_new(self, X: Any) -> Any:
        if isinstance(X, MappedRows):
            if X.shape[1] != self.n_features_in_:
                raise ValueError(
                    f"X has {X.shape[1]} features, but {type(self).__name__} was fitted to {self.n_features_in_}."
                )
            return X if self.kernel is None else np.asarray(X)
        return validate_data(self, X, accept_sparse="csr", dtype=_FLOATS, order="C", reset=False)

    @property
    def _vectors(self) -> Array:
        return self.coef_ if hasattr(self, "coef_") else self.dual_coef_

    def _scores(self, X: Any, vectors: Array, bias: Array) -> Array:
        """Finite scores of all rows, or NotFinite."""
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self._products(X, vectors) + bias
        if not np.isfinite(scores).all():
            rows = np.flatnonzero(~np.isfinite(scores).all(axis=1))
            row = X[rows[:1]]
            precomputed = hasattr(self, "kernel_") and self.kernel_ == PRECOMPUTED
            square = (
                np.abs(row).max()
                if precomputed
                else squared_norms(np.asarray(row) if isinstance(X, MappedRows) else row)[0]
            )
            raise NotFinite(rows, float(square), self._reach)
        return scores

    def _shaped(self, scores: Array) -> Array:
        values = self.decision_values(scores)
        return values[:, 0] if values.shape[1] == 1 else values

    def _products(self, X: Any, vectors: Array) -> Array:
        """rows·vectorsᵀ for explicit features, K(rows, support vectors)·vectorsᵀ for a kernel."""
        if hasattr(self, "coef_"):
            return np.asarray(X @ vectors.T)
        if self.kernel_ == PRECOMPUTED:
            return np.asarray(X[:, self.support_] @ vectors.T)
        if not len(self.support_):
            return np.zeros((X.shape[0], len(vectors)), dtype=vectors.dtype)
        scores = np.empty((X.shape[0], len(vectors)), dtype=vectors.dtype)
        step = max(1, _SCORED_AT_ONCE // len(self.support_))
        for start in range(0, X.shape[0], step):
            part = slice(start, min(start + step, X.shape[0]))
            scores[part] = (
                kernel_columns(self.kernel_, self.support_vectors_, X[part]).T @ vectors.T
            )
        return scores


def kernel_columns(kernel: Kernel, support: Any, X: Any) -> Array:
    """K(support, X): distances are centred at the support vectors, so that a row's scores do not depend on its neighbours.

    Rows too far away for their distances to be numbers get NaN.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        X = X.astype(support.dtype, copy=False)
        if kernel.measure is None:
            return kernel(X, support).T
        if kernel.measure != "squared":
            return fill_matrix(Pairs(kernel.measure, support, X), kernel.transform)
        beyond = ~(squared_norms(X) <= np.finfo(X.dtype).max / 32)
        if not beyond.any():
            return fill_matrix(Pairs(kernel.measure, support, X), kernel.transform)
        values = np.full((support.shape[0], X.shape[0]), np.nan, dtype=support.dtype)
        values[:, ~beyond] = fill_matrix(
            Pairs(kernel.measure, support, X[~beyond]), kernel.transform
        )
        return values


def _reach_of(task: Task) -> float | None:
    """The largest x·x of the rows of a task."""
    if task.kernel == PRECOMPUTED:
        largest = float(np.abs(task.X).max(initial=0))
    else:
        largest = (
            float(task.rows.diagonal.max(initial=0))
            if task.kernel is None
            else largest_square(task.X)
        )
    return largest if np.isfinite(largest) else None


def _joined_reach(*each: float | None) -> float | None:
    known = [reach for reach in each if reach is not None]
    return max(known) if len(known) == len(each) else None


def probabilities(scores: Array) -> Array:
    """σ(score) of each class, normalized over the classes; two classes: 1 - σ(s), σ(s)."""
    from scipy.special import expit, log_expit

    if scores.ndim == 1:
        return np.column_stack([expit(-scores), expit(scores)])
    logs = log_expit(scores)  # σ of all of a row's scores may be below the smallest number
    each = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(each / each.sum(axis=1, keepdims=True))
