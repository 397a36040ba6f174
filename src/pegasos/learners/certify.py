"""A certificate for a fitted predictor on its training rows: exact objective, and a bound that no predictor can beat."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigvalsh
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from pegasos.engine.certificate import Certificate, box, certificate_of
from pegasos.engine.kernels import Kernel
from pegasos.engine.losses import LOSSES
from pegasos.engine.rows import KernelRows
from pegasos.learners.task import PRECOMPUTED, column_codes, combined_weights

Array = np.ndarray[Any, Any]

_EIGENVALUE_ROWS = 300


def has_certificate(kernel: Kernel | str | None, X: Any) -> bool:
    """Whether the dual bounds the primal: K must be positive semidefinite (a sample is tried where that is not known)."""
    if kernel is None:
        return True
    if isinstance(kernel, Kernel) and kernel.positive_semidefinite is not None:
        return kernel.positive_semidefinite
    sample = np.unique(np.linspace(0, X.shape[0] - 1, _EIGENVALUE_ROWS).astype(int))
    K = X[np.ix_(sample, sample)] if isinstance(kernel, str) else kernel(X[sample])
    values = eigvalsh(np.asarray(K, dtype=np.float64))
    precision = np.finfo(K.dtype).eps * len(K)
    return bool(values[0] >= -10 * precision * max(abs(values[0]), abs(values[-1])))


def certify(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """P(w) of each column on these rows, and the best of the dual values that w itself suggests.

    Candidates: the coefficients clipped to what the dual allows (kernel predictors), and a_i = -C_i ℓ'(y_i w·x_i), for the hinge
    loss shrunk to its best length. All are feasible, so each bounds the optimum from below.
    """
    check_is_fitted(estimator)
    X = estimator._read_new(X)
    y = column_or_1d(y)
    check_consistent_length(X, y)
    if hasattr(estimator, "dual_coef_"):
        if estimator.kernel_ == PRECOMPUTED and sparse.issparse(X):
            X = X.toarray()
        if not has_certificate(estimator.kernel_, X):
            raise ValueError("the kernel is not positive semidefinite: its dual bounds nothing, there is no certificate.")
        if X.shape[0] != estimator._m:
            raise ValueError(f"the certificate of a kernel predictor needs its {estimator._m} training rows, got {X.shape[0]}.")
    unknown = ~np.isin(y, estimator.classes_)
    if unknown.any():
        raise ValueError(f"y has classes unknown to the model: {np.unique(y[unknown])!r}.")
    codes = np.searchsorted(estimator.classes_, y)
    weights = combined_weights(sample_weight, estimator.class_weight, estimator.classes_, codes, X)
    labels = np.where(codes[None, :] == column_codes(len(estimator.classes_))[:, None], 1.0, -1.0)
    return _certificate(estimator, X, labels, weights)


def _certificate(estimator: Any, X: Any, labels: Array, weights: Array) -> Certificate:
    loss = LOSSES[estimator.loss]
    lam = np.full(len(labels), float(estimator.lam_))
    bias = estimator.intercept_.astype(np.float64)
    constant = estimator._constant
    dual = hasattr(estimator, "dual_coef_")
    vectors = estimator.dual_coef_ if dual else estimator.coef_
    scores = np.ascontiguousarray(estimator._products(X, vectors).T + bias[:, None])
    if dual:
        squared_norm = np.einsum("ij,ij->i", vectors, scores[:, estimator.support_], dtype=np.float64)
    else:
        squared_norm = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64) + bias**2
    mean_loss = certificate_of(loss, lam, weights, labels, scores, np.zeros_like(scores)).primal
    bounds = box(lam, weights)
    candidates = [-bounds * loss.slopes(labels * scores)]
    if dual:
        full = np.zeros_like(bounds)
        full[:, estimator.support_] = vectors
        candidates.append(np.clip(labels * full, 0.0, loss.upper(bounds)))
    best = np.full(len(lam), -np.inf)
    for a in candidates:
        own = _scores_of(estimator, X, labels * a, constant)
        if loss.linear_dual:
            length = np.einsum("ij,ij->i", a * labels, own, dtype=np.float64)
            factor = np.divide(a.sum(axis=1), length, out=np.ones_like(length), where=length > 0).clip(0.0, 1.0)
            a, own = a * factor[:, None], own * factor[:, None]
        best = np.maximum(best, certificate_of(loss, lam, weights, labels, np.ascontiguousarray(own), labels * a).dual)
    return Certificate(lam / 2 * squared_norm + mean_loss, best)


def _scores_of(estimator: Any, X: Any, coefficients: Array, constant: float) -> Array:
    """The scores of all rows under w = Σ c_i x_i, c columns x rows."""
    if hasattr(estimator, "coef_"):
        products = np.asarray(X @ (coefficients @ X).T).T
    elif estimator.kernel_ == PRECOMPUTED:
        products = coefficients @ X
    else:  # in tiles: the matrix itself may not fit into memory
        products = np.empty(coefficients.shape, dtype=X.dtype)
        KernelRows(estimator.kernel_, X).products(coefficients.astype(X.dtype), out=products)
    return np.asarray(products + constant * coefficients.sum(axis=1, keepdims=True))
