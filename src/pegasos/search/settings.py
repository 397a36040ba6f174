"""Setting: the identity of a cell for stores, tables of results, charts and reproduction.

Settings are equal if they mean the same fit.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.engine.kernels.base import DistanceKernel, Kernel
from pegasos.engine.kernels.standard import KERNELS, as_kernel
from pegasos.learners.catalogue import MODELS, Declaration, learner_class, model_of
from pegasos.search.anatomy import anatomy

#: Parameters of learners that change no result of a cell.
_WITHOUT_EFFECT = ("checkpoints", "client", "max_time", "memory", "random_state", "warm_start")


@dataclass(frozen=True, repr=False)
class Part:
    """Class of a step before the learner, and its parameters that differ from the defaults."""

    path: str
    params: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        """Name of the class."""
        return self.path.rpartition(".")[2]

    def get(self, name: str, default: Any = None) -> Any:
        """Return a parameter value, or its default."""
        return dict(self.params).get(name, default)

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in self.params)})"


@dataclass(frozen=True)
class FrozenDict:
    """Hashable dictionary, such as class weights."""

    pairs: tuple[tuple[Any, Any], ...]


@dataclass(frozen=True, repr=False)
class Opaque:
    """Value without a plain form, such as a function: compared by identity, shown as a text."""

    text: str
    value: Any = None

    def __repr__(self) -> str:
        return f"<{self.text}>"


@dataclass(frozen=True)
class Stop:
    """Parameter that ends a walk, and its value."""

    parameter: str
    count: int

    @property
    def name(self) -> str:
        """Name for display: "epochs" also for `max_epochs`."""
        return "epochs" if self.parameter == "max_epochs" else self.parameter


@dataclass(frozen=True)
class Setting:
    """Model, kernel (None: linear), λ or C, stop, other options, and preparation of a fit.

    `options` holds the parameters of the learner that differ from their defaults.
    """

    model: str
    kernel: Any = None
    lam: float | None = None
    stop: Stop | None = None
    options: tuple[tuple[str, Any], ...] = ()
    preparation: tuple[tuple[str, Any], ...] = ()
    C: float | None = None

    @classmethod
    def of(cls, estimator: Any) -> Setting:
        """Return the setting of an estimator, fitted or not."""
        from pegasos.learners.task import is_precomputed

        parts = anatomy(estimator)
        learner, kernel = parts.learner, parts.learner.kernel
        learner._check_parameters()
        by_walk = {*learner.declaration.shared, *learner.declaration.stops}
        excluded = {*_WITHOUT_EFFECT, *by_walk, "kernel", "loss"}
        return cls(
            model=model_of(learner).name,
            kernel=kernel if is_precomputed(kernel) else freeze(as_kernel(kernel)),
            stop=Stop(*learner._stop),
            options=tuple(each for each in _given(learner) if each[0] not in excluded),
            preparation=tuple((stage.name, freeze(stage.part)) for stage in parts.stages),
            **dict([] if learner._strength is None else [learner._strength]),
        )

    @property
    def declaration(self) -> Declaration:
        """Declaration of the learner."""
        return MODELS[self.model][0]

    @property
    def walk(self) -> Setting:
        """Setting without λ, C and stop, which all cells of one walk share."""
        return dataclasses.replace(self, lam=None, C=None, stop=None)

    @property
    def strength(self) -> float:
        """Number that grows with the regularization: λ or 1/C; 0 without any."""
        return self.lam or (1 / self.C if self.C else 0.0)

    @property
    def width(self) -> float | None:
        """Variance or scale of a distance kernel, absolute or relative; None for other kernels."""
        kernel = self.kernel
        if not isinstance(kernel, DistanceKernel):
            return None
        return float(getattr(kernel, str(kernel.main)) if kernel.factor is None else kernel.factor)

    def named(self) -> dict[str, Any]:
        """Return all values by name; a linear predictor has the kernel "linear"."""
        kernel = "linear" if self.kernel is None else self.kernel
        numbers = {"lam": self.lam, "C": self.C}
        if self.stop is not None:
            numbers[self.stop.name] = self.stop.count
        known = {name: value for name, value in numbers.items() if value is not None}
        given = {"model": self.model, "kernel": kernel, **known}
        return {**given, **dict(self.options), **dict(self.preparation)}

    def get(self, name: str) -> Any:
        """Return a value by name, or the default of the learner's parameter (else None)."""
        found = self.named()
        if name in found:
            return found[name]
        if self.stop is not None and name == self.stop.parameter:
            return self.stop.count
        if name == "loss":
            return MODELS[self.model][1].fixed.get(name)
        return freeze(getattr(learner_class(self.declaration)(), name, None))

    def to_json(self) -> dict[str, Any]:
        """Return the setting as JSON values."""
        return {each.name: thaw(getattr(self, each.name)) for each in dataclasses.fields(self)}

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Setting:
        """Return the setting that `to_json` wrote; opaque values are then compared by text."""
        return cls(**{name: _from_json(value) for name, value in found.items()})

    def key(self) -> str:
        """Return a text that is equal for equal settings, in every process."""
        return json.dumps(self.to_json(), sort_keys=True, ensure_ascii=False)


def freeze(value: Any) -> Any:
    """Return a hashable value that is equal for parameter values of equal meaning."""
    if isinstance(value, np.generic):
        return freeze(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return Opaque(str(value))  # nan equals itself, and neither nan nor infinity is JSON
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Kernel):
        if KERNELS.get(value.name) is not type(value):
            return _opaque(value)
        return type(value)(**{name: freeze(each) for name, each in value.get_params().items()})
    if isinstance(value, dict):
        return FrozenDict(tuple((freeze(name), freeze(each)) for name, each in value.items()))
    if isinstance(value, list | tuple):
        return tuple(freeze(each) for each in value)
    if isinstance(value, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:16]
        return Opaque(f"array of shape {value.shape}, {value.dtype}, {digest}")
    from sklearn.base import BaseEstimator  # records with plain values load no scikit-learn

    if isinstance(value, BaseEstimator):
        return Part(f"{type(value).__module__}.{type(value).__qualname__}", tuple(_given(value)))
    return _opaque(value)


def _given(estimator: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parameters that differ from their defaults and matter for results."""
    from pegasos.nystroem import Nystroem
    from pegasos.preprocessing import DropOutliers

    signature = inspect.signature(type(estimator)).parameters
    ignored = {DropOutliers: "estimator", Nystroem: "memory"}.get(type(estimator))
    for name, value in sorted(estimator.get_params(deep=False).items()):
        default = signature[name].default if name in signature else None
        if name != ignored and freeze(value) != freeze(default):
            yield name, freeze(value)


def _opaque(value: Any) -> Opaque:
    """Return a value compared by identity; a function's text has a hash of its code."""
    text = repr(value)
    function = getattr(value, "function", value)
    code = getattr(function, "__code__", None)
    if callable(function) and hasattr(function, "__qualname__"):
        text = f"{function.__module__}.{function.__qualname__}"
    if code is not None:  # distinguishes lambdas of the same qualified name
        text += f" {hashlib.sha256(code.co_code + repr(code.co_consts).encode()).hexdigest()[:8]}"
    try:
        hash(value)
    except TypeError:
        return Opaque(text, id(value))
    return Opaque(text, value)


#: Names in JSON of the fields of frozen values; no type has a name of another one.
_JSON: dict[type[Any], dict[str, str]] = {
    Stop: {"stop": "parameter", "count": "count"},
    Part: {"part": "path", "params": "params"},
    FrozenDict: {"table": "pairs"},
    Opaque: {"text": "text"},
}


def thaw(value: Any) -> Any:
    """Return a frozen value as JSON."""
    if isinstance(value, Kernel):
        return {"kernel": value.name, **value.get_params()}
    if type(value) in _JSON:
        return {name: thaw(getattr(value, own)) for name, own in _JSON[type(value)].items()}
    return [thaw(each) for each in value] if isinstance(value, tuple) else value


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_from_json(each) for each in value)
    if not isinstance(value, dict):
        return value
    if "kernel" in value:
        params = {name: each for name, each in value.items() if name != "kernel"}
        return KERNELS[value["kernel"]](**params)
    kind = {frozenset(names): kind for kind, names in _JSON.items()}[frozenset(value)]
    return kind(**{own: _from_json(value[name]) for name, own in _JSON[kind].items()})
