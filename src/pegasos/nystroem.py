"""Nyström features: a kernel as explicit features, so that linear methods can learn with it from millions of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from pegasos.engine.kernels import as_kernel
from pegasos.engine.landmarks import SELECTIONS, choose
from pegasos.engine.mapped_rows import FeatureMap, MappedRows
from pegasos.engine.plan import budget_bytes
from pegasos.engine.threads import single_threaded_blas
from pegasos.learners.task import draw_seed, one_of, whole_number

Array = np.ndarray[Any, Any]

#: Eigenvalues of K(landmarks, landmarks) below this share of the largest are noise in this precision, and are cut.
CUTS = {"float32": 1e-6, "float64": 1e-12}


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
    memory : what features may take, such as "2GB"; by default half of what is free. Features that take more are given as rows
        that are computed in every pass: `SDCA` learns from them as they are, np.asarray makes the numbers.
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
    >>> model = make_pipeline(Nystroem(landmarks=300, random_state=0), SDCA(random_state=0)).fit(X[:1000] / 16, y[:1000])
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

    def check_parameters(self) -> None:
        """Raise ValueError where a parameter makes no sense."""
        whole_number("landmarks", self.landmarks)
        one_of("selection", self.selection, SELECTIONS)
        one_of("dtype", self.dtype, tuple(CUTS))
        budget_bytes(self.memory)
        if as_kernel(self.kernel) is None:
            raise ValueError("kernel=None is linear: its features are the rows themselves, and need no map.")

    def fit(self, X: Any, y: Any = None) -> Nystroem:
        """Choose landmarks among these rows (dense or CSR)."""
        self.check_parameters()
        X = validate_data(self, X, accept_sparse="csr", dtype=np.dtype(self.dtype), order="C")
        given = as_kernel(self.kernel)
        assert given is not None
        self.kernel_ = given.resolve(X)
        self.kernel_.check_range(X)
        self._seed = draw_seed(self.random_state)
        self.landmark_indices_ = choose(self.kernel_, X, min(self.landmarks, X.shape[0]), self.selection, self._seed)
        self.landmarks_ = X[self.landmark_indices_]
        self.weights_, self.eigenvalues_ = _whitening(self.kernel_, self.landmarks_, CUTS[self.dtype])
        return self

    def transform(self, X: Any) -> Any:
        """φ of each row: an array, or `MappedRows` where that would not fit the memory."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.dtype(self.dtype), order="C", reset=False)
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


def _whitening(kernel: Any, landmarks: Any, cut: float) -> tuple[Array, Array]:
    """U Λ^(-1/2) and Λ of the eigenvalues that are no noise, largest first; in float64, signs always the same."""
    landmarks = landmarks.astype(np.float64)
    matrix = kernel.matrix(landmarks, landmarks)
    with single_threaded_blas():
        values, vectors = linalg.eigh(matrix, overwrite_a=True)
    values, vectors = values[::-1], vectors[:, ::-1]
    if not values[0] > 0.0:
        raise ValueError(f"{kernel!r} is zero or negative between the landmarks: no features can have it as inner products.")
    kept = int((values > cut * values[0]).sum())
    values, vectors = values[:kept], vectors[:, :kept]
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(kept)])
    return np.ascontiguousarray(vectors * (signs / np.sqrt(values))), values.copy()
