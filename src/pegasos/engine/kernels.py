"""The kernels: each is an elementwise map of inner products or distances, equal and hashable by value.

The domain of every kernel: finite rows, dense or CSR, float32 or float64 (kept); other numbers become float64.
Parameters are validated when a kernel is used, not when it is built: scikit-learn's clone and set_params expect that a
constructor only stores what it is given.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import numbers
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pegasos.engine.distances import Measure, Pairs, fill_gram, fill_matrix, self_values, squared_norms
from pegasos.engine.elementwise import as_rows, raise_to_power
from pegasos.engine.exponential import decay
from pegasos.engine.moments import variance_of
from pegasos.engine.transposing import mirror_upper

#: What `pegasos.kernels` offers.
__all__ = ["CustomKernel", "Exponential", "Gaussian", "Kernel", "Laplacian", "Linear", "Polynomial"]

#: A number, "scale", or a multiple of it as text: "0.5 scale".
Width = float | str


@dataclass(repr=False, eq=False)
class Kernel(ABC):
    """A similarity K(x, z) of two rows, computed for whole matrices.

    A kernel with a `measure` is `transform` of that measure's values; one without computes its matrix itself.
    """

    measure: ClassVar[Measure | None] = None
    #: The kernel's name, its formula, and what scikit-learn calls the same thing, for people.
    name: ClassVar[str] = ""
    formula: ClassVar[str] = ""
    in_scikit_learn: ClassVar[str] = "none"
    #: The parameter that is given first in words, and those that are whole numbers.
    main: ClassVar[str | None] = None
    counts: ClassVar[tuple[str, ...]] = ()
    #: Other ways to give the main parameter: a name, and what makes the kernel from that number.
    alternatives: ClassVar[Mapping[str, Callable[[float], Kernel]]] = {}

    @property
    def relative(self) -> bool:
        """Whether its numbers depend on the rows that it is resolved for."""
        return False

    @abstractmethod
    def transform(self, values: NDArray[Any]) -> None:
        """Turn the measure's values into kernel values, in place and in their dtype."""

    @property
    def decay_width(self) -> float | None:
        """The w for which `transform` is exp(-values / w), if that is all."""
        return None

    @property
    def positive_semidefinite(self) -> bool | None:
        """Whether every Gram matrix is positive semidefinite; None means unknown."""
        return True

    def rank(self, width: int) -> int | None:
        """Of how many features of `width` columns it is the inner product; None: of too many to count, or unknown."""
        return None

    def resolve(self, X: Any) -> Self:
        """A validated copy in which "scale" is replaced by the number that X suggests."""
        return dataclasses.replace(self)

    def check_range(self, X: Any) -> None:
        """Raise ValueError if values between the rows of X may overflow their dtype."""
        if self.measure != "inner":
            return
        # |x.z| is at most the largest squared norm (Cauchy-Schwarz), so O(n) numbers bound the whole matrix.
        largest = squared_norms(X).max(initial=0)
        extremes = np.array([-largest, largest])
        with np.errstate(over="ignore", invalid="ignore"):
            self.transform(extremes)
        if not np.abs(extremes).max() <= np.finfo(X.dtype).max:
            remedies = "scale X (for example StandardScaler), use a lower degree" + " or float64" * (X.dtype == np.float32)
            raise ValueError(f"values of {self!r} overflow {X.dtype}; {remedies}")

    def __call__(self, X: Any, Z: Any = None) -> NDArray[Any]:
        """The matrix K(x, z) over the rows of X and Z; Z None means X, and an exactly symmetric matrix."""
        X = as_rows(X)
        Z = X if Z is None else as_rows(Z)
        if X.shape[1] != Z.shape[1]:
            raise ValueError(f"X has {X.shape[1]} features, but Z has {Z.shape[1]}")
        kernel = self.resolve(X)
        kernel.check_range(X)
        if Z is not X:
            kernel.check_range(Z.astype(X.dtype, copy=False))
        return kernel.matrix(X, Z)

    def matrix(self, X: Any, Z: Any) -> NDArray[Any]:
        """The same for checked rows and a resolved kernel; symmetric where Z is X."""
        assert self.measure is not None
        pairs = Pairs(self.measure, X, Z)
        return fill_gram(pairs, self.transform, self.decay_width) if Z is X else fill_matrix(pairs, self.transform)

    def diagonal(self, X: Any) -> NDArray[Any]:
        """K(x, x) of each row x of X."""
        X = as_rows(X)
        kernel = self.resolve(X)
        kernel.check_range(X)
        return kernel.lengths(X)

    def lengths(self, X: Any) -> NDArray[Any]:
        """The same for checked rows and a resolved kernel."""
        assert self.measure is not None
        values = self_values(self.measure, X)
        self.transform(values)
        return values

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, as scikit-learn asks for them."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name and return the kernel itself."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known) or 'none'}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={_code(value)}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({parameters})"


@dataclass(repr=False, unsafe_hash=True)
class Polynomial(Kernel):
    """The polynomial kernel (coef0 + x.z)^degree, degree a whole number >= 1.

    With coef0 < 0 it is not positive semidefinite.

    >>> Polynomial(degree=2)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    measure: ClassVar[Measure | None] = "inner"
    name = "polynomial"
    formula = "(coef0 + x·z)^degree"
    in_scikit_learn = "SVC(kernel='poly', degree=d, gamma=1, coef0=1)"
    main = "degree"
    counts = ("degree",)
    degree: int = 3
    coef0: float = 1.0

    def transform(self, values: NDArray[Any]) -> None:
        values += float(self.coef0)
        raise_to_power(values, int(self.degree))

    @property
    def positive_semidefinite(self) -> bool:
        return self.coef0 >= 0

    def rank(self, width: int) -> int:
        return math.comb(width + self.degree, self.degree)

    def resolve(self, X: Any) -> Self:
        if not _is_number(self.degree) or self.degree < 1 or self.degree != int(self.degree):
            raise ValueError(f"degree must be a whole number >= 1, got {self.degree!r}")
        if not _is_number(self.coef0):
            raise ValueError(f"coef0 must be a finite number, got {self.coef0!r}")
        return dataclasses.replace(self, degree=int(self.degree), coef0=_plain(self.coef0))


@dataclass(repr=False, unsafe_hash=True)
class Linear(Kernel):
    """The linear kernel x.z.

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
        return width


@dataclass(repr=False, eq=False)
class DistanceKernel(Kernel):
    """A kernel that falls from 1 towards 0 with the distance, at a width that "scale" takes from the data.

    A text such as "0.5 scale" is a multiple of that width.
    """

    main: ClassVar[str]

    @property
    def factor(self) -> float | None:
        """The width as a multiple of the data's own scale; None where it is a number."""
        return _multiple_of_scale(getattr(self, self.main))

    @property
    def relative(self) -> bool:
        return self.factor is not None

    @staticmethod
    @abstractmethod
    def suggest(n_features: int, variance: float) -> float:
        """The width for data with so many features and this variance over all their numbers."""

    def resolve(self, X: Any) -> Self:
        width, factor = getattr(self, self.main), self.factor
        if factor is not None:
            variance = variance_of(X)
            found = factor * self.suggest(X.shape[1], variance)
            if not variance < math.inf or not 0 < found < math.inf:
                raise ValueError(f"{self!r} finds no width for X, whose variance overflows: scale X (for example StandardScaler)")
            return dataclasses.replace(self, **{self.main: found})
        _positive(self.main, width)
        return dataclasses.replace(self, **{self.main: _plain(width)})


@dataclass(repr=False, unsafe_hash=True)
class Gaussian(DistanceKernel):
    """The Gaussian kernel exp(-||x - z||^2 / (2 variance)), variance > 0.

    "scale" is n_features X.var() / 2, scikit-learn's gamma="scale" (0.5, its gamma 1, where X is constant).

    >>> Gaussian(variance=8)([[0.0, 0.0]], [[0.0, 4.0]]).round(4)
    array([[0.3679]])
    """

    measure: ClassVar[Measure | None] = "squared"
    name = "gaussian"
    formula = "exp(-|x-z|²/(2 variance))"
    in_scikit_learn = "SVC(kernel='rbf', gamma=1/(2 v)); gaussian:gamma=g is gamma=g; gaussian alone is gamma='scale'"
    main = "variance"
    variance: Width = "scale"

    @classmethod
    def from_gamma(cls, gamma: float) -> Self:
        """The kernel exp(-gamma ||x - z||^2), gamma > 0 as in scikit-learn.

        >>> Gaussian.from_gamma(0.25)
        Gaussian(variance=2.0)
        """
        return cls(variance=1 / (2 * _positive("gamma", gamma)))

    @property
    def decay_width(self) -> float:
        return 2 * _positive("variance", self.variance)

    def transform(self, values: NDArray[Any]) -> None:
        decay(values, self.decay_width)

    @staticmethod
    def suggest(n_features: int, variance: float) -> float:
        return n_features * variance / 2 if variance > 0 else 0.5


@dataclass(repr=False, unsafe_hash=True)
class Exponential(DistanceKernel):
    """The exponential kernel exp(-||x - z|| / scale), scale > 0.

    "scale" is sqrt(n_features X.var()), or 1 where X is constant.

    >>> Exponential(scale=5)([[0.0, 0.0]], [[3.0, 4.0]]).round(4)
    array([[0.3679]])
    """

    measure: ClassVar[Measure | None] = "squared"
    name = "exponential"
    formula = "exp(-|x-z|/scale)"
    main = "scale"
    scale: Width = "scale"

    def transform(self, values: NDArray[Any]) -> None:
        np.sqrt(values, out=values)
        decay(values, _positive("scale", self.scale))

    @staticmethod
    def suggest(n_features: int, variance: float) -> float:
        return math.sqrt(n_features * variance) if variance > 0 else 1.0


@dataclass(repr=False, unsafe_hash=True)
class Laplacian(DistanceKernel):
    """The Laplacian kernel exp(-||x - z||_1 / scale), scale > 0.

    "scale" is n_features sqrt(X.var()), or 1 where X is constant.

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
        decay(values, _positive("scale", self.scale))

    @staticmethod
    def suggest(n_features: int, variance: float) -> float:
        return n_features * math.sqrt(variance) if variance > 0 else 1.0


@dataclass(repr=False, unsafe_hash=True)
class CustomKernel(Kernel):
    """A kernel given by a function (X, Z) -> matrix of shape (rows of X, rows of Z), finite numbers.

    >>> CustomKernel(lambda X, Z: np.minimum(X, Z.T))([[1.0], [2.0]])
    array([[1., 1.],
           [1., 2.]])
    """

    function: Callable[[Any, Any], Any]

    @property
    def positive_semidefinite(self) -> None:
        return None

    def resolve(self, X: Any) -> Self:
        if not callable(self.function):
            raise TypeError(f"a custom kernel needs a function of X and Z, got {self.function!r}")
        return dataclasses.replace(self)

    def transform(self, values: NDArray[Any]) -> None:
        raise TypeError("a custom kernel is not a map of inner products or distances; call it with rows")

    def lengths(self, X: Any) -> NDArray[Any]:
        values = np.empty(X.shape[0], dtype=X.dtype)
        for start in range(0, len(values), 64):
            part = X[start : start + 64]
            values[start : start + 64] = self.matrix(part, part).diagonal()
        return values

    def matrix(self, X: Any, Z: Any) -> NDArray[Any]:
        result = self.function(X, Z)
        with np.errstate(over="ignore"):
            # A copy: the function may have handed out an array of its own, which mirroring would change.
            matrix = np.array(result.toarray() if sparse.issparse(result) else result, dtype=X.dtype, order="C")
        shape = (X.shape[0], Z.shape[0])
        if matrix.shape != shape:
            raise ValueError(f"{self!r} must return shape {shape}, got {matrix.shape}")
        if not np.isfinite(matrix).all():
            raise ValueError(f"{self!r} returned values that are not finite in {X.dtype}")
        if Z is X:
            mirror_upper(matrix)
        return matrix


Gaussian.alternatives = {"gamma": Gaussian.from_gamma}

KERNELS: dict[str, type[Kernel]] = {kind.name: kind for kind in (Linear, Polynomial, Gaussian, Exponential, Laplacian)}
ALIASES = {"poly": "polynomial", "rbf": "gaussian"}


def as_kernel(spec: Any) -> Kernel | None:
    """The kernel that a user means: None, a kernel, a name from KERNELS or ALIASES, or a function of X and Z.

    >>> as_kernel("rbf")
    Gaussian(variance='scale')
    """
    if spec is None or isinstance(spec, Kernel):
        return spec
    if isinstance(spec, str) and spec == "precomputed":
        raise ValueError("'precomputed' is handled by the learners: it is not a kernel of rows")
    if isinstance(spec, str) and ALIASES.get(spec, spec) in KERNELS:
        return KERNELS[ALIASES.get(spec, spec)]()
    # A class can be called too, but Gaussian(X, Z) is not what the user of Gaussian instead of Gaussian() means.
    if callable(spec) and not isinstance(spec, type):
        return CustomKernel(spec)
    names = ", ".join(map(repr, [*KERNELS, *ALIASES]))
    raise ValueError(f"kernel must be None, a kernel object, a function of X and Z or one of {names}; got {spec!r}")


def _multiple_of_scale(width: Any) -> float | None:
    """The factor in "scale" (1) or "0.5 scale"; None for anything else."""
    match = re.fullmatch(r"([0-9.]+(?:e[-+]?[0-9]+)?)?\s*scale", width.strip()) if isinstance(width, str) else None
    with contextlib.suppress(ValueError):
        return None if match is None else _positive("the multiple of scale", float(match[1] or 1))
    return None


def _positive(name: str, value: Any) -> float:
    if not _is_number(value) or value <= 0:
        raise ValueError(f"{name} must be a finite number > 0, got {value!r}")
    return float(_plain(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _code(value: Any) -> str:
    return getattr(value, "__qualname__", None) or repr(_plain(value))
