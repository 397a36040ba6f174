"""Nyström features: explicit features that approximate a kernel.

Linear methods can thus learn with a kernel from millions of rows.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import linalg
from scipy.optimize import minimize_scalar
from scipy.special import xlogy
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, validate_data

from pegasos.engine.kernels.standard import as_kernel
from pegasos.engine.optimum.problem import Intercept
from pegasos.engine.rows.features import FeatureMap, MappedRows
from pegasos.engine.rows.plan import budget_bytes
from pegasos.engine.runtime.threads import single_threaded_blas
from pegasos.learners.regularized import balanced
from pegasos.learners.sdca import SDCA
from pegasos.learners.task import (
    column_codes,
    column_labels,
    combined_weights,
    draw_seed,
    intercept_of,
    one_of,
    whole_number,
)

Array = np.ndarray[Any, Any]

#: Eigenvalues of K(landmarks, landmarks) below this share of the largest are rounding noise in this
#: precision and are cut off.
CUTS = {"float32": 1e-6, "float64": 1e-12}


@dataclass(eq=False, repr=False)
class Nystroem(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Nyström features φ(x) = Wᵀ K(landmarks, x), whose inner products approximate a kernel.

    φ(x)·φ(z) = k(x)ᵀ K(L,L)⁺ k(z) ≈ K(x, z), with W = U Λ^(-1/2) from the eigendecomposition K(L,L)
    = U Λ Uᵀ. Eigenvalues below 1e-6 (float32) or 1e-12 (float64) of the largest are cut off. With
    all rows as landmarks the approximation is exact. A linear `SDCA` on φ has its own certificate,
    and `pegasos.full_kernel_bound` bounds its distance from the optimum of the full kernel.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="gaussian"
        Kernel object, its name, or a function (X, Z) -> matrix. Widths such as "scale" are computed
        from the rows of `fit`.
    landmarks : int, default=500
        Number of landmarks; at most all rows are used.
    selection : {"kmeans++", "leverage", "uniform"}, default="kmeans++"
        Spread out in the feature space of the kernel, by leverage scores, or at random. All methods
        select sequentially from a sample of at most 20,000 rows: the first k of more landmarks are
        those of k landmarks.
    dtype : {"float32", "float64"}, default="float32"
        Precision of rows and features.
    memory : int or str, optional
        Memory budget for features, such as "2GB"; half of the machine's memory by default. Features
        beyond it are returned as lazy rows that are recomputed in every pass: `SDCA` accepts them,
        and np.asarray computes the values.
    random_state : int, RandomState or None, optional
        Seed of the selection.

    Attributes
    ----------
    landmarks_ : ndarray or sparse matrix
        The selected rows.
    landmark_indices_ : ndarray
        Their positions among the rows of `fit`.
    kernel_ : Kernel
        Kernel with its computed parameters.
    weights_ : ndarray
        The matrix W.
    eigenvalues_ : ndarray
        Kept eigenvalues of K(L,L), largest first.

    See Also
    --------
    full_kernel_bound : Distance from the optimum of the full kernel.

    Examples
    --------
    >>> from pegasos import SDCA
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(
    ...     Nystroem(landmarks=300, random_state=0), SDCA(lam=1e-4, random_state=0)
    ... )
    >>> model = model.fit(X[:1000] / 16, y[:1000])
    >>> round(model.score(X[1000:] / 16, y[1000:]), 2)
    0.96
    """

    kernel: Any = "gaussian"
    landmarks: int = 500
    selection: str = "kmeans++"
    _: KW_ONLY
    dtype: str = "float32"
    memory: Any = None
    random_state: Any = None

    def _check_parameters(self) -> None:
        """Raise ValueError if a parameter is invalid."""
        from pegasos.engine.rows.landmarks import SELECTIONS

        whole_number("landmarks", self.landmarks)
        one_of("selection", self.selection, SELECTIONS)
        one_of("dtype", self.dtype, tuple(CUTS))
        budget_bytes(self.memory)
        if as_kernel(self.kernel) is None:
            raise ValueError(
                "kernel=None is linear: its features are the rows themselves, and need no map."
            )

    def fit(self, X: Any, y: Any = None) -> Nystroem:
        """Choose landmarks among the rows.

        Parameters
        ----------
        X : array-like or CSR matrix
            Rows.
        y : None
            Ignored.

        Returns
        -------
        Nystroem
            The fitted transformer.
        """
        from pegasos.engine.rows.landmarks import choose

        self._check_parameters()
        X = validate_data(self, X, accept_sparse="csr", dtype=np.dtype(self.dtype), order="C")
        given = as_kernel(self.kernel)
        assert given is not None
        self.kernel_ = given.resolve(X)
        self.kernel_.check_range(X)
        self._seed = draw_seed(self.random_state)
        count, cut = min(self.landmarks, X.shape[0]), CUTS[self.dtype]
        self.landmark_indices_ = choose(self.kernel_, X, count, self.selection, self._seed)
        self.landmarks_ = X[self.landmark_indices_]
        self.weights_, self.eigenvalues_ = whitening(self.kernel_, self.landmarks_, cut)
        return self

    def transform(self, X: Any) -> Any:
        """Return the features φ(x) of each row.

        Parameters
        ----------
        X : array-like or CSR matrix
            Rows.

        Returns
        -------
        ndarray or MappedRows
            Lazy rows if the features would exceed the memory budget.
        """
        check_is_fitted(self)
        dtype = np.dtype(self.dtype)
        X = validate_data(self, X, accept_sparse="csr", dtype=dtype, order="C", reset=False)
        rows = MappedRows(FeatureMap(self.kernel_, self.landmarks_, self.weights_), X)
        fits = rows.shape[0] * rows.shape[1] * rows.dtype.itemsize <= budget_bytes(self.memory)
        return np.asarray(rows) if fits else rows

    @property
    def _n_features_out(self) -> int:
        return int(self.weights_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def whitening(kernel: Any, landmarks: Any, cut: float) -> tuple[Array, Array]:
    """Return U Λ^(-1/2) and Λ of the eigenvalues above the cut, largest first.

    Both are float64, and the signs of the eigenvectors are normalized.
    """
    landmarks = landmarks.astype(np.float64)
    matrix = kernel.matrix(landmarks, landmarks)
    with single_threaded_blas():
        # "evd" is ten times faster than the default driver.
        values, vectors = linalg.eigh(matrix, overwrite_a=True, driver="evd")
    values, vectors = values[::-1], vectors[:, ::-1]
    if not values[0] > 0.0:
        raise ValueError(
            f"{kernel!r} is zero or negative between the landmarks, so features "
            "cannot represent it: use another kernel."
        )
    kept = int((values > cut * values[0]).sum())
    values, vectors = values[:kept], vectors[:, :kept]
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(kept)])
    return np.ascontiguousarray(vectors * (signs / np.sqrt(values))), values.copy()


@dataclass(frozen=True)
class FullKernelBound:
    """Bounds on the optimum of the full kernel problem.

    For each column, lower <= optimum <= upper, on the scale of `SDCA.objective_`.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_columns,)
        The bounds.
    """

    lower: Array
    upper: Array

    @property
    def gap(self) -> float:
        """Largest relative gap between the bounds.

        The objective of the Nyström predictor exceeds the optimum of the full kernel by at most
        this share.
        """
        return float(((self.upper - self.lower) / self.upper).max())


def full_kernel_bound(
    pipeline: Pipeline, X: Any, y: Any, sample_weight: Any = None
) -> FullKernelBound:
    """Bound the distance of a Nyström model from the optimum of the full kernel.

    Parameters
    ----------
    pipeline : Pipeline
        Fitted pipeline whose last two steps are `Nystroem` and `SDCA`.
    X, y : array-like
        Training rows and labels.
    sample_weight : array-like, optional
        Weights of the training rows.

    Returns
    -------
    FullKernelBound
        Lower and upper bound for each column.

    See Also
    --------
    Nystroem : The features.

    Notes
    -----
    The Nyström predictor w·φ(x) = Σ β_l K(l, x), β = W w, lies in the feature space of the full
    kernel and has the same norm there, since βᵀ K(L,L) β = |w|²: its objective is an upper bound.
    Its dual coefficients a are feasible for the dual D of the full kernel, so D(t a) is a lower
    bound for every t, of which the best is used (hinge loss: t = min(1, Σ a/aᵀYKYa)). This needs
    the kernel between all rows with a > 0, computed in blocks: the time is quadratic in their
    number. The dual coefficients are available after a fit with warm_start=True; otherwise the
    linear problem is solved again.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(
    ...     Nystroem(landmarks=50, random_state=0), SDCA(lam=0.01, tol=1e-4, random_state=0)
    ... ).fit(X, y)
    >>> bool(full_kernel_bound(model, X, y).gap < 0.01)
    True
    """
    steps = [each for _, each in pipeline.steps] if isinstance(pipeline, Pipeline) else []
    if [type(each) for each in steps[-2:]] != [Nystroem, SDCA]:
        raise ValueError(
            "full_kernel_bound takes a fitted Pipeline whose last two steps are Nystroem and SDCA."
        )
    mapped, learner = steps[-2:]
    check_is_fitted(learner)
    rows = pipeline[:-2].transform(X) if len(steps) > 2 else X
    options: Any = {"accept_sparse": "csr", "dtype": np.float64, "order": "C", "reset": False}
    rows = validate_data(mapped, rows, **options)
    codes = np.searchsorted(learner.classes_, y)
    weights = combined_weights(sample_weight, learner.class_weight, learner.classes_, codes, rows)
    saved = learner._saved if learner.warm_start else None
    if saved is None or saved["coefficients"].shape[1] != len(codes):
        learner = clone(learner).set_params(warm_start=True)
        learner.fit(mapped.transform(rows), y, sample_weight)
    signs = column_labels(codes, column_codes(len(learner.classes_)))
    bounds = weights / (learner.lam_ * weights.sum())
    a = np.clip(signs * learner._saved["coefficients"], 0.0, bounds)
    intercept = intercept_of(learner)
    a = balanced(a, signs) if intercept is Intercept.FREE else a
    support = np.flatnonzero(a.any(axis=0))
    coefficients = (signs * a)[:, support]
    from pegasos.engine.rows.kernel_rows import KernelRows

    scores = KernelRows(mapped.kernel_, rows[support]).kernel_scores(coefficients, None)
    squares = np.einsum("ij,ij->i", coefficients, scores)
    if intercept is Intercept.AUGMENTED:
        squares += (signs * a).sum(axis=1) ** 2
    loss, pairs = learner._loss.name, zip(a, squares.tolist(), strict=True)
    best = np.array([_best_dual(loss, each, bounds, square) for each, square in pairs])
    return FullKernelBound(learner.lam_ * best, np.asarray(learner.objective_))


def _best_dual(loss: str, a: Array, bounds: Array, squared: float) -> float:
    """Return the maximum over t of Σ d(t a, C) - t² squared/2."""
    if not a.any():
        return 0.0
    if loss == "hinge":
        t = min(1.0, float(a.sum()) / squared) if squared > 0.0 else 1.0
        return t * float(a.sum()) - 0.5 * t * t * squared

    def value(t: float) -> float:
        rest = np.maximum(bounds - t * a, 0.0)
        terms = xlogy(bounds, bounds) - xlogy(t * a, t * a) - xlogy(rest, rest)
        return float(terms.sum()) - 0.5 * t * t * squared

    return value(float(minimize_scalar(lambda t: -value(t), bounds=(0.0, 1.0), method="bounded").x))
