"""Estimators as records of model files: how each class is described, checked and rebuilt.

A record contains the parameters of the constructor, the fitted attributes, and number and names of
the columns. A `Part` knows which fitted attributes a class has, and rebuilds an estimator from
checked ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from pegasos.program.errors import BadModel, short
from pegasos.program.modelfile.values import Record, is_scalar

Check = Callable[[Any], bool]

#: Features of one part: SciPy's own indices end here.
MOST_FEATURES = 2**31 - 1
#: Cells of a table that a part of scikit-learn transforms when it is built again.
MOST_CELLS = 2**21
#: Number of output columns of a learner.
LEARNER = 0
FLOATS: tuple[Any, ...] = (np.float64, np.float32)
NUMBERS: tuple[Any, ...] = (*FLOATS, np.int64, np.int32)


def of_type(*types: type) -> Check:
    """Return a check for values of exactly these types, so that True is not a number."""
    return lambda value: type(value) in types


def is_array(value: Any) -> bool:
    """Return whether a value is an array."""
    return isinstance(value, np.ndarray)


def number(value: Any) -> bool:
    """Return whether a value is a finite number."""
    return type(value) in (int, float) and math.isfinite(value)


def count(value: Any) -> bool:
    """Return whether a value is a nonnegative integer of at most 63 bits."""
    return type(value) is int and 0 <= value < 2**63


def optional(check: Check) -> Check:
    """Return a check that None passes, too."""
    return lambda value: value is None or check(value)


def list_of(check: Check) -> Check:
    """Return a check for lists whose items all pass a check."""
    return lambda value: type(value) is list and all(map(check, value))


def weights(value: Any) -> bool:
    """Return whether a value is a dict of finite numbers."""
    return type(value) is dict and all(map(is_scalar, value)) and all(map(number, value.values()))


@dataclass(frozen=True)
class Built:
    """Rebuilt estimator with its numbers of input and output columns.

    A Pipeline without any fitted step takes any number of columns, which is None.
    """

    estimator: Any = field(repr=False)  # the text of nested pipelines takes exponential time
    inputs: Any
    outputs: int | None


@dataclass
class Fields:
    """Values of an estimator in a file, each of which is taken once."""

    values: dict[str, Any]
    place: str
    #: Number and names of the columns.
    width: int = 0
    names: list[str] | None = None

    def require(self, condition: Any, fault: str) -> None:
        """Raise BadModel unless a condition holds."""
        if not condition:
            raise BadModel(f"{self.place}: {fault}. The file was not written by this pegasos.")

    def take(self, name: str, check: Check) -> Any:
        """Remove and return a field that passes a check."""
        self.require(name in self.values, f"{name} is missing")
        value = self.values.pop(name)
        self.require(check(value), f"{name}={short(value)} is not possible")
        return value

    def array(
        self, name: str, dtypes: Any, *shape: int | None, finite: bool = True, or_csr: bool = False
    ) -> Any:
        """Return an array of one of these dtypes; None in the shape stands for any length."""
        array = self.take(
            name, lambda value: is_array(value) or (or_csr and sparse.issparse(value))
        )
        if shape:
            self.check_shape(name, array, *shape)
        self.require(array.dtype.type in dtypes, f"{name} has the dtype {array.dtype}")
        if finite:
            numbers = array.data if sparse.issparse(array) else array
            self.require(np.isfinite(numbers).all(), f"{name} holds numbers that are not finite")
        return array

    def check_shape(self, name: str, array: Any, *shape: int | None) -> None:
        """Raise BadModel unless an array has a shape."""
        found = array.shape
        fits = len(found) == len(shape) and all(
            want in (None, have) for want, have in zip(shape, found, strict=True)
        )
        wanted = str(shape).replace("None", "any")
        self.require(fits, f"{name} has the shape {found} instead of {wanted}")


@dataclass(frozen=True)
class Part(Record):
    """A class of estimators: how they are described and rebuilt."""

    #: Fitted attributes; parts whose attributes need more than a name override `_describe`.
    attributes: tuple[str, ...] = ()
    #: Parameters that files do not contain: threads, messages, caches, parts.
    left_out: tuple[str, ...] = ()
    most_features: int = MOST_CELLS

    def _describe(self, estimator: Any, place: str) -> dict[str, Any]:
        """Return the fitted attributes to write."""
        return {name: getattr(estimator, name, None) for name in self.attributes}

    def _build(self, params: dict[str, Any], fields: Fields) -> Built:
        """Return the estimator with these parameters and fitted attributes."""
        raise NotImplementedError

    def fields(self, value: Any, place: str) -> dict[str, Any]:
        """Return parameters, fitted attributes and columns of an estimator."""
        output = getattr(value, "_sklearn_output_config", {}).get("transform", "default")
        if output != "default":
            raise BadModel(f"{place} has set_output({output!r}): set 'default', and fit again.")
        params = {name: getattr(value, name) for name in self._parameters()}
        if not isinstance(params.get("random_state"), int | np.integer | None):
            params["random_state"] = getattr(value, "_seed", None)  # drawn from the generator
        names = getattr(value, "feature_names_in_", None)
        columns = {
            "n_features_in_": int(value.n_features_in_),
            "feature_names_in_": None if names is None else list(names),
        }
        return params | self._describe(value, place) | columns

    def build(self, fields: dict[str, Any], place: str) -> Built:
        """Check the values of a file, and return the estimator."""
        found = Fields(fields, place)
        params = {name: fields.pop(name) for name in self._parameters() if name in fields}
        found.width = found.take(
            "n_features_in_", lambda value: count(value) and 1 <= value <= self.most_features
        )
        found.names = found.take("feature_names_in_", optional(list_of(of_type(str))))
        has_names = found.names is None or len(found.names) == found.width
        found.require(has_names, "it does not have a name for each column")
        built = self._build(params, found)
        if fields:
            raise BadModel(
                f"{place}: {self.cls.__name__} has no setting {short(min(fields))} "
                "in this version of pegasos and scikit-learn."
            )
        built.estimator.n_features_in_ = found.width
        if found.names is not None:
            built.estimator.feature_names_in_ = np.array(found.names, dtype=object)
        return built

    def _parameters(self) -> list[str]:
        """Return the names of the parameters that files contain."""
        return [name for name in self.cls._get_param_names() if name not in self.left_out]
