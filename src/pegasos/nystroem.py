"""Nyström features: a kernel as explicit features, so that linear methods can learn with it from millions of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from scipy.optimize import minimize_scalar
from scipy.special import xlogy
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, validate_data

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.kernels.landmarks import SELECTIONS, choose
from pegasos.engine.kernels.standard import as_kernel
from pegasos.engine.optimum.problem import Intercept
from pegasos.engine.rows.mapped import FeatureMap, MappedRows
from pegasos.engine.rows.plan import budget_bytes
from pegasos.engine.runtime.interruption import check_interruption
from pegasos.engine.runtime.threads import single_threaded_blas
from pegasos.learners.sdca import SDCA
from pegasos.learners.task import combined_weights, draw_seed, intercept_of, one_of, whole_number

Array = np.ndarray[Any, Any]

#: Eigenvalues of K(landmarks, landmarks) below this share of the largest are noise in this precision, and are cut.
CUTS = {"float32": 1e-6, "float64": 1e-12}
#: Kernel values that are held at once for the bound of the full kernel.
_VALUES_AT_ONCE = 1 << 23


class Nystroem(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Features φ(x) = Wᵀ K(landmarks, x) whose inner products are nearly the kernel: φ(x)·φ(z) = k(x)ᵀ K(L,L)⁺ k(z) ~ K(x, z).

    W = U Λ^(-1/2) from the eigendecomposition K(L,L) = U Λ Uᵀ; eigenvalues below 1e-6 (float32; float64: 1e-12) of the largest
    are cut. With all rows as landmarks φ is the kernel exactly. A linear `SDCA` on φ ends with its own certificate, and
    `pegasos.full_kernel_bound` tells how far it is from the optimum of the whole kernel.

    Parameters
    ----------
    kernel : a kernel object or its name, or a function (X, Z) -> matrix; widths such as "scale" are taken from the rows of `fit`.
    landmarks : how many rows stand for all; more than there are rows means all of them.
    selection : "kmeans++" (spread out, in the kernel's space), "leverage" (rows that others say little about) or "uniform". All
        choose from a sample of at most 20,000 rows, one after the other: the first k of more landmarks are those of k landmarks.
    dtype : "float32" or "float64", in which rows are read and features are computed.
    memory : what features may take, such as "2GB"; by default half of the machine's memory. Features that take more are given as
        rows that are computed in every pass: `SDCA` learns from them as they are, np.asarray makes the numbers.
    random_state : of the choice.

    Attributes
    ----------
    landmarks_ : the rows chosen; landmark_indices_ : their positions among the rows of `fit`.
    kernel_ : with its numbers; weights_ : W; eigenvalues_ : of K(L,L), those that were kept, largest first.

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

    def __init__(
        self,
        kernel: Any = "gaussian",
        landmarks: int = 500,
        selection: str = "kmeans++",
        *,
        dtype: str = "float32",
        memory: Any = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.landmarks = landmarks
        self.selection = selection
        self.dtype = dtype
        self.memory = memory
        self.random_state = random_state

    def _check_parameters(self) -> None:
        """Raise ValueError where a parameter makes no sense."""
        whole_number("landmarks", self.landmarks)
        one_of("selection", self.selection, SELECTIONS)
        one_of("dtype", self.dtype, tuple(CUTS))
        budget_bytes(self.memory)
        if as_kernel(self.kernel) is None:
            raise ValueError(
                "kernel=None is linear: its features are the rows themselves, and need no map."
            )

    def fit(self, X: Any, y: Any = None) -> Nystroem:
        """Choose landmarks among these rows (dense or CSR)."""
        self._check_parameters()
        X = validate_data(self, X, accept_sparse="csr", dtype=np.dtype(self.dtype), order="C")
        given = as_kernel(self.kernel)
        assert given is not None
        self.kernel_ = given.resolve(X)
        self.kernel_.check_range(X)
        self._seed = draw_seed(self.random_state)
        self.landmark_indices_ = choose(
            self.kernel_, X, min(self.landmarks, X.shape[0]), self.selection, self._seed
        )
        self.landmarks_ = X[self.landmark_indices_]
        self.weights_, self.eigenvalues_ = whitening(
            self.kernel_, self.landmarks_, CUTS[self.dtype]
        )
        return self

    def transform(self, X: Any) -> Any:
        """φ of each row: an array, or `MappedRows` where that would not fit the memory."""
        check_is_fitted(self)
        X = validate_data(
            self, X, accept_sparse="csr", dtype=np.dtype(self.dtype), order="C", reset=False
        )
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
    """U Λ^(-1/2) and Λ of the eigenvalues that are no noise, largest first; in float64, signs always the same."""
    landmarks = landmarks.astype(np.float64)
    matrix = kernel.matrix(landmarks, landmarks)
    with single_threaded_blas():
        values, vectors = linalg.eigh(
            matrix, overwrite_a=True, driver="evd"
        )  # ten times faster than the default here
    values, vectors = values[::-1], vectors[:, ::-1]
    if not values[0] > 0.0:
        raise ValueError(
            f"{kernel!r} is zero or negative between the landmarks: no features can have it as inner products."
        )
    kept = int((values > cut * values[0]).sum())
    values, vectors = values[:kept], vectors[:, :kept]
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(kept)])
    return np.ascontiguousarray(vectors * (signs / np.sqrt(values))), values.copy()


@dataclass(frozen=True)
class FullKernelBound:
    """For each column (class): lower <= the optimum of the problem with the full kernel <= upper, both as `SDCA.objective_`."""

    lower: Array
    upper: Array

    @property
    def gap(self) -> float:
        """The largest relative gap: so far at most is the Nyström predictor from the best that the full kernel could do."""
        return float(((self.upper - self.lower) / self.upper).max())


def full_kernel_bound(
    pipeline: Pipeline, X: Any, y: Any, sample_weight: Any = None
) -> FullKernelBound:
    """How far a fitted pipeline that ends with Nystroem and SDCA is from the optimum of the full kernel on its training rows.

    The Nyström predictor w·φ(x) = Σ β_l K(l, x), β = W w, is a function of the full kernel's space with the same norm, as
    βᵀ K(L,L) β = |w|²: its objective is an upper bound. Its dual coefficients a are feasible for the full kernel's dual, too:
    D(t a) is a lower bound for every t, and the best t is taken (hinge: t = min(1, Σ a/aᵀYKYa)). That takes the kernel between
    all rows with a > 0, block by block: time in proportion to their number squared. The dual coefficients are those that
    warm_start=True has kept; without it the linear problem is solved once more.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(
    ...     Nystroem(landmarks=50, random_state=0), SDCA(lam=0.01, tol=1e-4, random_state=0)
    ... ).fit(X, y)
    >>> bool(full_kernel_bound(model, X, y).gap < 0.01)
    True
    """
    steps = pipeline.steps if isinstance(pipeline, Pipeline) else []
    if (
        len(steps) < 2
        or not isinstance(steps[-2][1], Nystroem)
        or not isinstance(steps[-1][1], SDCA)
    ):
        raise ValueError(
            "full_kernel_bound takes a fitted Pipeline whose last two steps are Nystroem and SDCA."
        )
    mapped, learner = steps[-2][1], steps[-1][1]
    check_is_fitted(learner)
    rows = pipeline[:-2].transform(X) if len(steps) > 2 else X
    rows = validate_data(
        mapped, rows, accept_sparse="csr", dtype=np.float64, order="C", reset=False
    )
    codes = np.searchsorted(learner.classes_, y)
    weights = combined_weights(sample_weight, learner.class_weight, learner.classes_, codes, rows)
    if not (
        learner.warm_start
        and learner._saved is not None
        and learner._saved["coefficients"].shape[1] == len(codes)
    ):
        learner = (
            clone(learner).set_params(warm_start=True).fit(mapped.transform(rows), y, sample_weight)
        )
    columns = np.array([1]) if len(learner.classes_) == 2 else np.arange(len(learner.classes_))
    signs = np.where(codes[None, :] == columns[:, None], 1.0, -1.0)
    bounds = weights / (learner.lam_ * weights.sum())
    a = np.clip(signs * learner._saved["coefficients"], 0.0, bounds)
    intercept = intercept_of(learner)
    if intercept is Intercept.FREE:  # Σ a y = 0: the heavier side shrinks
        sides = [np.where(signs * side > 0, a, 0.0).sum(axis=1, keepdims=True) for side in (1, -1)]
        a *= np.where(
            signs > 0, np.minimum(1.0, sides[1] / sides[0]), np.minimum(1.0, sides[0] / sides[1])
        )
    squares = _squared_norms(mapped.kernel_, rows, signs * a)
    if intercept is Intercept.AUGMENTED:
        squares += (signs * a).sum(axis=1) ** 2
    best = [
        _best_dual(learner._loss.name, each, bounds, float(square))
        for each, square in zip(a, squares, strict=True)
    ]
    return FullKernelBound(learner.lam_ * np.array(best), np.asarray(learner.objective_))


def _squared_norms(kernel: Kernel, X: Any, coefficients: Array) -> Array:
    """cᵀ K c for each line c, from the rows that some line has."""
    index = np.flatnonzero(coefficients.any(axis=0))
    rows, coefficients, found = X[index], coefficients[:, index], np.zeros(len(coefficients))
    step = max(1, _VALUES_AT_ONCE // max(1, len(index)))
    for start in range(0, len(index), step):
        check_interruption()
        part = slice(start, start + step)
        found += np.einsum(
            "ij,ij->i", coefficients[:, part], coefficients @ kernel.matrix(rows, rows[part])
        )
    return found


def _best_dual(loss: str, a: Array, bounds: Array, squared: float) -> float:
    """max over t of Σ d(t a, C) - t² squared/2."""
    if not a.any():
        return 0.0
    if loss == "hinge":
        t = min(1.0, float(a.sum()) / squared) if squared > 0.0 else 1.0
        return t * float(a.sum()) - 0.5 * t * t * squared

    def value(t: float) -> float:
        terms = (
            xlogy(bounds, bounds)
            - xlogy(t * a, t * a)
            - xlogy(bounds - t * a, np.maximum(bounds - t * a, 0.0))
        )
        return float(terms.sum()) - 0.5 * t * t * squared

    return value(float(minimize_scalar(lambda t: -value(t), bounds=(0.0, 1.0), method="bounded").x))
