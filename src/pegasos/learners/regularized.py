"""Learners that minimize a regularized loss: probabilities and certificates."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigvalsh
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.optimum.problem import Certificate, Intercept, certificate_of
from pegasos.engine.walk.losses import LOSSES, PROBABILISTIC, Loss
from pegasos.learners.catalogue import LOSS_ALIASES
from pegasos.learners.one_vs_all import OneVsAllClassifier
from pegasos.learners.one_vs_one import pair_labels
from pegasos.learners.task import (
    PRECOMPUTED,
    column_codes,
    column_labels,
    combined_weights,
    intercept_of,
    known_codes,
    one_of,
    positive,
)

Array = np.ndarray[Any, Any]

_EIGENVALUE_ROWS = 300


@dataclass(eq=False, repr=False)
class RegularizedClassifier(OneVsAllClassifier):
    """Learner with the parameters loss, lam, C and sampling."""

    loss: str = "hinge"
    lam: float | None = None
    kernel: Any = None
    _: KW_ONLY
    C: float | None = None
    sampling: Any = "permutation"

    #: Whether `sampling` may be an array of row indices, or a function that returns one.
    accepts_explicit_draws = False

    def _check_parameters(self) -> None:
        from pegasos.engine.walk.draws import SAMPLINGS

        one_of("loss", self.loss, (*self.declaration.losses, *LOSS_ALIASES))
        if isinstance(self.sampling, str) or not self.accepts_explicit_draws:
            one_of("sampling", self.sampling, SAMPLINGS)
        _ = self._strength

    @property
    def _strength(self) -> tuple[str, float]:
        if self.lam is not None and self.C is not None:
            raise ValueError("give C or lam, not both: lam = 1/(C Σω).")
        if self.lam is not None:
            return "lam", positive("lam", self.lam)
        return self._usual_strength if self.C is None else ("C", positive("C", self.C))

    @property
    def _usual_strength(self) -> tuple[str, float]:
        """The strength of regularization if neither C nor lam is given."""
        return "C", 1.0

    def _lam_for(self, total_weight: float) -> float:
        name, value = self._strength
        return value if name == "lam" else 1.0 / (value * total_weight)

    @property
    def _loss(self) -> Loss:
        return LOSSES[LOSS_ALIASES.get(self.loss, self.loss)]

    @property
    def has_probabilities(self) -> bool:
        """Whether there are probabilities: scores are logits, or were calibrated."""
        return self._loss.name in PROBABILISTIC or super().has_probabilities

    def certificate(self, X: Any, y: Any, sample_weight: Any = None) -> Certificate:
        """Compute the objective of each predictor and a lower bound of its minimum.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), optional
            Their weights.

        Returns
        -------
        Certificate
            `primal` and `dual`, one number per predictor.
        """
        check_is_fitted(self)
        X, y = self._read_new(X), column_or_1d(y)
        check_consistent_length(X, y)
        if hasattr(self, "dual_coef_"):
            if self.kernel_ == PRECOMPUTED and sparse.issparse(X):
                X = X.toarray()
            if not has_certificate(self.kernel_, X):
                raise ValueError(
                    "the kernel is not positive semidefinite, so that there is no certificate."
                )
            if (rows := X.shape[0]) != self._m:
                raise ValueError(
                    f"a kernel model's certificate needs its {self._m} training rows, got {rows}."
                )
        codes, count = known_codes(y, self.classes_), len(self.classes_)
        weights = combined_weights(sample_weight, self.class_weight, self.classes_, codes, X)
        pairs = self.has_pairs(self.classes_)
        labels = pair_labels(codes, count) if pairs else column_labels(codes, column_codes(count))
        return _certificate(self, X, labels, weights)


def has_certificate(kernel: Kernel | str | None, X: Any) -> bool:
    """Return whether K is positive semidefinite, so that the dual bounds the primal.

    If the kernel does not declare it, the eigenvalues of K on a sample of the rows decide.
    """
    if kernel is None:
        return True
    if isinstance(kernel, Kernel) and kernel.positive_semidefinite is not None:
        return kernel.positive_semidefinite
    sample = np.unique(np.linspace(0, X.shape[0] - 1, _EIGENVALUE_ROWS).astype(int))
    K = X[np.ix_(sample, sample)] if isinstance(kernel, str) else kernel(X[sample])
    values = eigvalsh(np.asarray(K, dtype=np.float64))
    precision = np.finfo(K.dtype).eps * len(K)
    return bool(values[0] >= -10 * precision * max(abs(values[0]), abs(values[-1])))


def _certificate(estimator: Any, X: Any, labels: Array, weights: Array) -> Certificate:
    """Return P(w) of each column on these rows, and the best lower bound derived from w.

    Dual candidates are a_i = -C_i ℓ'(y_i w·x_i), scaled to the best length for the hinge loss, and
    with kernels also the dual coefficients clipped to [0, C_i]. All are feasible (with a free
    intercept: after `balanced`), so each dual objective is a lower bound. A row labeled 0 does not
    belong to a column and has weight 0 there; C_i is computed from the weights of all rows.
    """
    loss, free = estimator._loss, intercept_of(estimator) is Intercept.FREE
    bounds = (weights / (estimator.lam_ * weights.sum())) * (labels != 0)
    weights, lam = weights * (labels != 0), 1.0 / bounds.sum(axis=1)
    bias, vectors = estimator.intercept_.astype(np.float64), estimator._vectors
    scores = np.ascontiguousarray(estimator._products(X, vectors).T + bias[:, None])

    def objectives(scores: Array, coefficients: Array) -> Certificate:
        found = [
            certificate_of(loss, lam[[k]], weights[k], labels[[k]], scores[[k]], coefficients[[k]])
            for k in range(len(lam))
        ]
        primal, dual = np.array([(each.primal[0], each.dual[0]) for each in found]).T
        return Certificate(primal, dual)

    candidates = [-bounds * loss.slopes(labels * scores)]
    if hasattr(estimator, "dual_coef_"):
        full = np.zeros_like(bounds)
        full[:, estimator.support_] = vectors
        candidates.append(np.clip(labels * full, 0.0, bounds))
        regularized = scores[:, estimator.support_] - (bias[:, None] if free else 0.0)
        squared_norm = np.einsum("ij,ij->i", vectors, regularized, dtype=np.float64)
    else:
        squared_norm = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
        squared_norm += 0.0 if free else bias**2
    best = np.full(len(lam), -np.inf)
    for a in candidates:
        a = balanced(a, labels) if free else a
        own = _scores_of(estimator, X, labels * a)
        if loss.linear_dual:
            length, total = np.einsum("ij,ij->i", a * labels, own, dtype=np.float64), a.sum(axis=1)
            factor = np.divide(total, length, out=np.ones_like(length), where=length > 0)
            a, own = (each * factor.clip(0.0, 1.0)[:, None] for each in (a, own))
        best = np.maximum(best, objectives(own, labels * a).dual)
    mean_loss = objectives(scores, np.zeros_like(scores)).primal
    return Certificate(lam / 2 * squared_norm + mean_loss, best)


def balanced(a: Array, labels: Array) -> Array:
    """Shrink dual coefficients (columns x rows) of the heavier class, so that Σ a_i y_i = 0."""
    sides = np.where(labels > 0, a, 0.0), np.where(labels > 0, 0.0, a)
    weights = [side.sum(axis=1, keepdims=True) for side in sides]
    least = np.minimum(*weights)
    shares = [np.divide(least, own, out=np.zeros_like(own), where=own > 0) for own in weights]
    return np.asarray(sides[0] * shares[0] + sides[1] * shares[1])


def _scores_of(estimator: Any, X: Any, coefficients: Array) -> Array:
    """Return the scores of all rows under w = Σ c_i x_i, c columns x rows."""
    if hasattr(estimator, "coef_"):
        products = np.asarray(X @ (coefficients @ X).T).T
    elif estimator.kernel_ == PRECOMPUTED:
        products = coefficients @ X
    else:  # in tiles: the matrix itself may not fit into memory
        from pegasos.engine.rows.kernel_rows import KernelRows

        products = np.empty(coefficients.shape, dtype=X.dtype)
        KernelRows(estimator.kernel_, X).products(coefficients.astype(X.dtype), out=products)
    return np.asarray(products + estimator._constant * coefficients.sum(axis=1, keepdims=True))
