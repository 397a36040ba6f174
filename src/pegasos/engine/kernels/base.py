"""Base classes of kernels: similarities of rows, elementwise maps of inner products or distances.

The domain of every kernel: finite rows, dense or CSR, float32 or float64 (kept); other numbers
become float64. Parameters are validated when a kernel is used, not when it is built:
scikit-learn's clone and set_params expect that a constructor only stores what it is given. The
kernels themselves are in `kernels`.
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
from typing import Any, ClassVar, Self, TypeGuard

import numpy as np
from numpy.typing import NDArray

from pegasos.engine.kernels.distances import (
    Measure,
    Pairs,
    fill_gram,
    fill_matrix,
    self_values,
    squared_norms,
)
from pegasos.engine.kernels.elementwise import as_rows, variance_of


@dataclass(repr=False, eq=False)
class Kernel(ABC):
    """A similarity K(x, z) of two rows, computed for whole matrices.

    A kernel with a `measure` is `transform` of that measure's values; one without computes its
    matrix itself.

    Attributes
    ----------
    measure : {"inner", "squared", "manhattan"} or None
        Inner product, squared Euclidean distance, or sum of absolute differences.

    See Also
    --------
    pegasos.kernels.CustomKernel : Kernel given by a function.

    Examples
    --------
    >>> from pegasos.kernels import Gaussian
    >>> isinstance(Gaussian(), Kernel), Gaussian.measure
    (True, 'squared')
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
        """Whether the resolved parameters depend on X."""
        return False

    @abstractmethod
    def transform(self, values: NDArray[Any]) -> None:
        """Map inner products or distances to kernel values, in place and in their dtype."""

    @property
    def positive_semidefinite(self) -> bool | None:
        """Whether every Gram matrix is positive semidefinite; None means unknown."""
        return True

    def rank(self, width: int) -> int | None:
        """Return the dimension of the feature space; None if it is infinite or unknown."""
        return None

    def resolve(self, X: Any) -> Self:
        """Return a validated copy in which "scale" is replaced by a number computed from X."""
        return dataclasses.replace(self)

    def check_range(self, X: Any) -> None:
        """Raise ValueError if kernel values of the rows of X may overflow their dtype."""
        if self.measure != "inner":
            return
        # |x.z| is at most the largest squared norm (Cauchy-Schwarz), so O(n) numbers bound the
        # whole matrix.
        largest = squared_norms(X).max(initial=0)
        extremes = np.array([-largest, largest])
        with np.errstate(over="ignore", invalid="ignore"):
            self.transform(extremes)
        if not np.abs(extremes).max() <= np.finfo(X.dtype).max:
            remedies = (
                "scale X (for example StandardScaler), use a lower degree"
                + " or float64" * (X.dtype == np.float32)
            )
            raise ValueError(f"values of {self!r} overflow {X.dtype}; {remedies}")

    def __call__(self, X: Any, Z: Any = None) -> NDArray[Any]:
        """Return K(x, z) over the rows of X and Z; without Z a symmetric matrix over those of X."""
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
        """Return K(x, z) for checked rows and a resolved kernel; symmetric where Z is X."""
        assert self.measure is not None
        pairs = Pairs(self.measure, X, Z)
        return fill_gram(pairs, self.transform) if Z is X else fill_matrix(pairs, self.transform)

    def diagonal(self, X: Any) -> NDArray[Any]:
        """Return K(x, x) of each row x of X."""
        X = as_rows(X)
        kernel = self.resolve(X)
        kernel.check_range(X)
        return kernel.lengths(X)

    def lengths(self, X: Any) -> NDArray[Any]:
        """Return K(x, x) of checked rows for a resolved kernel."""
        assert self.measure is not None
        values = self_values(self.measure, X)
        self.transform(values)
        return values

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as `get_params` of scikit-learn does."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name and return the kernel itself."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                names = ", ".join(known) or "none"
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {names}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        parameters = ", ".join(
            f"{name}={_code(value)}" for name, value in self.get_params().items()
        )
        return f"{type(self).__name__}({parameters})"


@dataclass(repr=False, eq=False)
class DistanceKernel(Kernel):
    """Kernel that falls from 1 towards 0 with the distance; its parameter may be "scale".

    "scale" is the data's scale, which `suggest` computes, and "0.5 scale" is half of it.
    """

    main: ClassVar[str]

    @property
    def factor(self) -> float | None:
        """The parameter as a multiple of the data's scale; None where it is a number."""
        return _multiple_of_scale(getattr(self, self.main))

    @property
    def relative(self) -> bool:
        """Whether the parameter is a multiple of the data's scale."""
        return self.factor is not None

    @staticmethod
    @abstractmethod
    def suggest(n_features: int, variance: float) -> float:
        """Return the data's scale, from the number of features and the variance of X."""

    def resolve(self, X: Any) -> Self:
        """Return a validated copy whose parameter is a number."""
        width, factor = getattr(self, self.main), self.factor
        if factor is not None:
            variance = variance_of(X)
            found = factor * self.suggest(X.shape[1], variance)
            if not variance < math.inf or not 0 < found < math.inf:
                raise ValueError(
                    f"{self!r} finds no {self.main} for X, whose numbers overflow: "
                    "scale X (for example StandardScaler)"
                )
            return dataclasses.replace(self, **{self.main: found})
        positive(self.main, width)
        return dataclasses.replace(self, **{self.main: plain(width)})


def _multiple_of_scale(width: Any) -> float | None:
    """Return the factor in "scale" (1) or "0.5 scale"; None for anything else."""
    match = (
        re.fullmatch(r"([0-9.]+(?:e[-+]?[0-9]+)?)?\s*scale", width.strip())
        if isinstance(width, str)
        else None
    )
    with contextlib.suppress(ValueError):
        return None if match is None else positive("the multiple of scale", float(match[1] or 1))
    return None


def positive(name: str, value: Any) -> float:
    """Return a value as float after checking that it is finite and above zero."""
    if not is_number(value) or value <= 0:
        raise ValueError(f"{name} must be a finite number > 0, got {value!r}")
    return float(plain(value))


def is_number(value: Any) -> TypeGuard[float]:
    """Tell whether a value is a finite number."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)


def plain(value: Any) -> Any:
    """Convert a NumPy number to a Python number."""
    return value.item() if isinstance(value, np.generic) else value


def _code(value: Any) -> str:
    return getattr(value, "__qualname__", None) or repr(plain(value))
