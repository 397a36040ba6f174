"""The kernels, their names, and the warning about unsuitable parameters."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pegasos.engine.kernels.base import DistanceKernel, Kernel, is_number, plain, positive
from pegasos.engine.kernels.distances import Measure, Pairs
from pegasos.engine.kernels.elementwise import decay, mirror_upper, raise_to_power, variance_of
from pegasos.engine.runtime.threads import single_threaded_blas

#: What `pegasos.kernels` offers.
__all__ = ["CustomKernel", "Exponential", "Gaussian", "Kernel", "Laplacian", "Linear", "Polynomial"]

#: A number, "scale", or a multiple of it as text: "0.5 scale".
Width = float | str


@dataclass(repr=False, unsafe_hash=True)
class Polynomial(Kernel):
    """The polynomial kernel (coef0 + gamma x.z)^degree, degree a whole number >= 1.

    Parameters
    ----------
    degree : int, default=3
        The degree.
    coef0 : float, default=1.0
        Constant; with coef0 < 0 the kernel is not positive semidefinite.
    gamma : float or "scale", default=1.0
        Factor; "scale" is 1/(n_features X.var()), as in SVC (1 where X is constant).

    See Also
    --------
    Gaussian : The kernel of SVC's default.

    Examples
    --------
    >>> Polynomial(degree=2)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    measure: ClassVar[Measure | None] = "inner"
    name = "polynomial"
    formula = "(coef0 + gamma x·z)^degree"
    in_scikit_learn = "SVC(kernel='poly', degree=d, gamma=1, coef0=1)"
    main = "degree"
    counts = ("degree",)
    degree: int = 3
    coef0: float = 1.0
    gamma: float | str = 1.0

    def transform(self, values: NDArray[Any]) -> None:
        """Map inner products to kernel values, in place."""
        if self.gamma != 1.0:
            values *= positive("gamma", self.gamma)
        values += float(self.coef0)
        raise_to_power(values, int(self.degree))

    @property
    def positive_semidefinite(self) -> bool:
        """Whether every Gram matrix is positive semidefinite."""
        return self.coef0 >= 0

    def rank(self, width: int) -> int:
        """Return the dimension of the feature space."""
        return math.comb(width + self.degree, self.degree)

    @property
    def relative(self) -> bool:
        """Whether gamma depends on the data."""
        return isinstance(self.gamma, str)

    def resolve(self, X: Any) -> Self:
        """Return a validated copy without "scale"."""
        if not is_number(self.degree) or self.degree < 1 or self.degree != int(self.degree):
            raise ValueError(f"degree must be a whole number >= 1, got {self.degree!r}")
        if not is_number(self.coef0):
            raise ValueError(f"coef0 must be a finite number, got {self.coef0!r}")
        gamma = self.gamma
        if gamma == "scale":
            variance = variance_of(X)
            gamma = 1 / (X.shape[1] * variance) if variance > 0 else 1.0
        gamma = positive("gamma", gamma)
        return dataclasses.replace(
            self, degree=int(self.degree), coef0=plain(self.coef0), gamma=gamma
        )

    def __repr__(self) -> str:
        return super().__repr__().replace(", gamma=1.0)", ")")


@dataclass(repr=False, unsafe_hash=True)
class Linear(Kernel):
    """The linear kernel x.z; `kernel=None` gives the same predictors with a weight per feature.

    See Also
    --------
    Polynomial : Products of features, too.

    Examples
    --------
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    measure: ClassVar[Measure | None] = "inner"
    name = "linear"
    formula = "x·z"
    in_scikit_learn = "SVC(kernel='linear')"

    def transform(self, values: NDArray[Any]) -> None:
        """Inner products are the kernel's values already."""

    def rank(self, width: int) -> int:
        """Return the dimension of the feature space."""
        return width


@dataclass(repr=False, unsafe_hash=True)
class Gaussian(DistanceKernel):
    """The Gaussian kernel exp(-||x - z||^2 / (2 variance)), variance > 0.

    Parameters
    ----------
    variance : float or str, default="scale"
        The variance; "scale" is n_features X.var() / 2, scikit-learn's gamma="scale" (0.5, its
        gamma 1, where X is constant), and "0.5 scale" is half of it.

    See Also
    --------
    Exponential : A kernel with heavier tails.

    Examples
    --------
    >>> Gaussian(variance=8)([[0.0, 0.0]], [[0.0, 4.0]]).round(4)
    array([[0.3679]])
    """

    measure: ClassVar[Measure | None] = "squared"
    name = "gaussian"
    formula = "exp(-|x-z|²/(2 variance))"
    in_scikit_learn = (
        "SVC(kernel='rbf', gamma=1/(2 v)); gaussian:gamma=g is gamma=g; "
        "gaussian alone is gamma='scale'"
    )
    main = "variance"
    variance: Width = "scale"

    @classmethod
    def from_gamma(cls, gamma: float) -> Self:
        """Return the kernel exp(-gamma ||x - z||^2), gamma > 0 as in scikit-learn.

        >>> Gaussian.from_gamma(0.25)
        Gaussian(variance=2.0)
        """
        return cls(variance=1 / (2 * positive("gamma", gamma)))

    def transform(self, values: NDArray[Any]) -> None:
        """Map distances to kernel values, in place."""
        decay(values, 2 * positive("variance", self.variance))

    @staticmethod
    def suggest(n_features: int, variance: float) -> float:
        """Return the data's scale, the value of "scale"."""
        return n_features * variance / 2 if variance > 0 else 0.5


@dataclass(repr=False, unsafe_hash=True)
class Exponential(DistanceKernel):
    """The exponential kernel exp(-||x - z|| / scale), scale > 0.

    Parameters
    ----------
    scale : float or str, default="scale"
        Distances are divided by it; "scale" is sqrt(n_features X.var()), or 1 where X is constant,
        and "0.5 scale" is half of it.

    See Also
    --------
    Laplacian : The same function of the sum of absolute differences.

    Examples
    --------
    >>> Exponential(scale=5)([[0.0, 0.0]], [[3.0, 4.0]]).round(4)
    array([[0.3679]])
    """

    measure: ClassVar[Measure | None] = "squared"
    name = "exponential"
    formula = "exp(-|x-z|/scale)"
    main = "scale"
    scale: Width = "scale"

    def transform(self, values: NDArray[Any]) -> None:
        """Map distances to kernel values, in place."""
        np.sqrt(values, out=values)
        decay(values, positive("scale", self.scale))

    @staticmethod
    def suggest(n_features: int, variance: float) -> float:
        """Return the data's scale, the value of "scale"."""
        return math.sqrt(n_features * variance) if variance > 0 else 1.0


@dataclass(repr=False, unsafe_hash=True)
class Laplacian(DistanceKernel):
    """The Laplacian kernel exp(-||x - z||_1 / scale), scale > 0.

    Parameters
    ----------
    scale : float or str, default="scale"
        Distances are divided by it; "scale" is n_features sqrt(X.var()), or 1 where X is constant,
        and "0.5 scale" is half of it.

    See Also
    --------
    Exponential : The same function of the Euclidean distance.

    Examples
    --------
    >>> Laplacian(scale=7)([[0.0, 0.0]], [[3.0, 4.0]]).round(4)
    array([[0.3679]])
    """

    measure: ClassVar[Measure | None] = "manhattan"
    name = "laplacian"
    formula = "exp(-|x-z|₁/scale)"
    in_scikit_learn = "metrics.pairwise.laplacian_kernel(gamma=1/s)"
    main = "scale"
    scale: Width = "scale"

    def transform(self, values: NDArray[Any]) -> None:
        """Map distances to kernel values, in place."""
        decay(values, positive("scale", self.scale))

    @staticmethod
    def suggest(n_features: int, variance: float) -> float:
        """Return the data's scale, the value of "scale"."""
        return n_features * math.sqrt(variance) if variance > 0 else 1.0


@dataclass(repr=False, unsafe_hash=True)
class CustomKernel(Kernel):
    """Kernel given by a function.

    Parameters
    ----------
    function : callable
        Function of X and Z that returns finite numbers (rows of X x rows of Z).

    See Also
    --------
    Kernel : Base of kernels that are defined as classes.

    Examples
    --------
    >>> CustomKernel(lambda X, Z: np.minimum(X, Z.T))([[1.0], [2.0]])
    array([[1., 1.],
           [1., 2.]])
    """

    function: Callable[[Any, Any], Any]

    @property
    def positive_semidefinite(self) -> None:
        """None: unknown."""
        return None

    def resolve(self, X: Any) -> Self:
        """Return a validated copy without "scale"."""
        if not callable(self.function):
            raise TypeError(f"a custom kernel needs a function of X and Z, got {self.function!r}")
        return dataclasses.replace(self)

    def transform(self, values: NDArray[Any]) -> None:
        """Raise TypeError: a function is no map of inner products or distances."""
        raise TypeError(
            "a custom kernel is not a map of inner products or distances; call it with rows"
        )

    def lengths(self, X: Any) -> NDArray[Any]:
        """Return K(x, x) of checked rows."""
        values = np.empty(X.shape[0], dtype=X.dtype)
        for start in range(0, len(values), 64):
            part = X[start : start + 64]
            values[start : start + 64] = self.matrix(part, part).diagonal()
        return values

    def matrix(self, X: Any, Z: Any) -> NDArray[Any]:
        """Return the checked matrix of the function."""
        result = self.function(X, Z)
        with np.errstate(over="ignore"):
            # A copy: the function may have handed out an array of its own, which mirroring would
            # change.
            matrix = np.array(
                result.toarray() if sparse.issparse(result) else result, dtype=X.dtype, order="C"
            )
        shape = (X.shape[0], Z.shape[0])
        if matrix.shape != shape:
            raise ValueError(f"{self!r} must return shape {shape}, got {matrix.shape}")
        if not np.isfinite(matrix).all():
            raise ValueError(f"{self!r} returned values that are not finite in {X.dtype}")
        if Z is X:
            mirror_upper(matrix)
        return matrix


Gaussian.alternatives = {"gamma": Gaussian.from_gamma}

KERNELS: dict[str, type[Kernel]] = {
    kind.name: kind for kind in (Linear, Polynomial, Gaussian, Exponential, Laplacian)
}
#: SVC's names; "poly" has SVC's coef0=0 and gamma="scale".
ALIASES = {"poly": "polynomial", "rbf": "gaussian"}


def as_kernel(spec: Any) -> Kernel | None:
    """Return a kernel from None (linear), a kernel, its name, or a function of X and Z.

    >>> as_kernel("rbf")
    Gaussian(variance='scale')
    """
    if spec is None or isinstance(spec, Kernel):
        return spec
    if isinstance(spec, str) and spec == "precomputed":
        raise ValueError("'precomputed' is handled by the learners: it is not a kernel of rows")
    if isinstance(spec, str) and spec == "poly":
        return Polynomial(3, 0.0, "scale")
    if isinstance(spec, str) and ALIASES.get(spec, spec) in KERNELS:
        return KERNELS[ALIASES.get(spec, spec)]()
    # A class can be called too, but Gaussian(X, Z) is not what the user of Gaussian instead of
    # Gaussian() means.
    if callable(spec) and not isinstance(spec, type):
        return CustomKernel(spec)
    names = ", ".join(map(repr, [*KERNELS, *ALIASES]))
    raise ValueError(
        f"kernel must be None, a kernel object, a function of X and Z or one of {names}; "
        f"got {spec!r}"
    )


#: Evenly spaced rows that are compared.
SAMPLE = 256
#: Similarities below this count as 0, and as close to 1 as equal rows; and the share of pairs that
#: may be similar although every row counts as similar only to itself.
ALMOST_NOTHING, FEW_PAIRS = 1e-6, 1e-3


class CollapsedKernelWarning(UserWarning):
    """The kernel sees no difference, or no similarity, between any two examples."""


def warn_if_collapsed(kernel: Kernel, X: Any) -> None:
    """Warn if all of 256 sampled rows are similar to each other, or each only to itself.

    Judged by K(x, z) / sqrt(K(x, x) K(z, z)) over distinct rows: >= 99.9 % below 1e-6, or all
    above 1 - 1e-6.

    >>> from pegasos.kernels import Gaussian
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warn_if_collapsed(Gaussian(variance=1e-3), np.array([[1.0], [2.0], [3.0]]))
    >>> print(caught[0].message)
    Gaussian(variance=0.001): every example is similar only to itself; raise variance (the data
    suggest about 0.333)
    """
    if not isinstance(kernel, DistanceKernel | Polynomial):
        return
    kernel = kernel.resolve(X)
    with single_threaded_blas():
        similarities = _similarities(kernel, _distinct_sample(X))
    if similarities.size == 0:
        return
    alike = bool((similarities > 1 - ALMOST_NOTHING).all())
    alone = bool((similarities < ALMOST_NOTHING).mean() >= 1 - FEW_PAIRS)
    problem = "all examples look alike" if alike else "every example is similar only to itself"
    if isinstance(kernel, DistanceKernel) and (alike or alone):
        suggestion = kernel.suggest(X.shape[1], variance_of(X))
        verb = "lower" if alike else "raise"
        remedy = f"{verb} {kernel.main} (the data suggest about {suggestion:.3g})"
    elif alike:
        remedy = "scale X (for example StandardScaler) or lower coef0"
    else:
        return
    warnings.warn(f"{kernel!r}: {problem}; {remedy}", CollapsedKernelWarning, stacklevel=2)


def _spread(X: Any, most: int) -> NDArray[np.int64]:
    """Return evenly spaced row numbers, the first and the last among them."""
    count = min(most, X.shape[0])
    return np.arange(count) * max(0, X.shape[0] - 1) // max(1, count - 1)


def _distinct_sample(X: Any) -> Any:
    sample = X[_spread(X, SAMPLE)].astype(np.float64)
    equal = Pairs("squared", sample).tile(slice(None), slice(None)) == 0
    return sample[~np.triu(equal, k=1).any(axis=0)]


def _similarities(kernel: Kernel, rows: Any) -> NDArray[np.float64]:
    """Return normalized values of all pairs of distinct rows for which K(x, x) > 0."""
    assert kernel.measure is not None
    matrix = Pairs(kernel.measure, rows).tile(slice(None), slice(None))
    kernel.transform(matrix)
    diagonal = matrix.diagonal()
    matrix = matrix[np.ix_(diagonal > 0, diagonal > 0)]
    lengths = np.sqrt(diagonal[diagonal > 0])
    values: NDArray[np.float64] = (matrix / lengths / lengths[:, None])[
        ~np.eye(len(matrix), dtype=bool)
    ]
    return values
