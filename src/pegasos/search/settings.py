"""A setting: the identity of a cell, from options to the store, the table of results, charts, and the lines that reproduce it.

Settings are equal if they mean the same fit. Text is made from a setting where people read it; it is never read back.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.kernels.standard import KERNELS, as_kernel
from pegasos.learners.catalogue import MODELS, Declaration, learner_class, model_of
from pegasos.search.anatomy import Anatomy, anatomy

#: Parameters of learners that change no result of a cell.
_CIRCUMSTANCES = ("checkpoints", "client", "max_time", "memory", "random_state", "warm_start")


@dataclass(frozen=True, repr=False)
class Part:
    """A step before the learner by its class and the parameters that differ from the class's own."""

    path: str
    params: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def home(self) -> str:
        """The public module of the class: the path without private modules."""
        return ".".join(takewhile(lambda each: not each.startswith("_"), self.path.split(".")[:-1]))

    def get(self, name: str, default: Any = None) -> Any:
        """A parameter, or what it is where nothing was said."""
        return dict(self.params).get(name, default)

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in self.params)})"


@dataclass(frozen=True)
class Table:
    """A dictionary as a value, such as the weights of classes."""

    pairs: tuple[tuple[Any, Any], ...]


@dataclass(frozen=True, repr=False)
class Opaque:
    """Something that has no form of its own here (a function, an array): told apart by itself, and described by a text."""

    text: str
    thing: Any = None

    def __repr__(self) -> str:
        return f"<{self.text}>"


@dataclass(frozen=True)
class Stop:
    """The parameter that ends a walk, and its value."""

    parameter: str
    count: int

    @property
    def name(self) -> str:
        """What people call it: steps are n_iter, passes are epochs, whether at most or exactly so many."""
        return "epochs" if self.parameter == "max_epochs" else self.parameter


@dataclass(frozen=True)
class Setting:
    """Model, kernel (None: linear), λ or C, stop, other parameters that differ from their defaults, and preparation."""

    model: str
    kernel: Any = None
    lam: float | None = None
    stop: Stop | None = None
    options: tuple[tuple[str, Any], ...] = ()
    preparation: tuple[tuple[str, Any], ...] = ()
    C: float | None = None

    @classmethod
    def of(cls, estimator: Any) -> Setting:
        """The setting of an estimator, fitted or not."""
        return cls.read(anatomy(estimator))

    @classmethod
    def read(cls, parts: Anatomy) -> Setting:
        """The setting of an estimator that was read already."""
        from pegasos.learners.task import is_precomputed

        learner = parts.learner
        learner._check_parameters()
        declaration, fresh = learner.declaration, type(learner)()
        left = {*_CIRCUMSTANCES, *declaration.shared, *declaration.stops, "kernel", "loss"}
        options = {
            name: freeze(value)
            for name, value in learner.get_params(deep=False).items()
            if name not in left and freeze(value) != freeze(getattr(fresh, name))
        }
        kernel = (
            learner.kernel if is_precomputed(learner.kernel) else freeze(as_kernel(learner.kernel))
        )
        preparation = tuple((stage.name, freeze(stage.part)) for stage in parts.stages)
        name, stop = model_of(learner).name, Stop(*learner._stop)
        strength = dict([] if learner._strength is None else [learner._strength])
        given = (stop, tuple(sorted(options.items())), preparation)
        return cls(name, kernel, strength.get("lam"), *given, strength.get("C"))

    @property
    def declaration(self) -> Declaration:
        return MODELS[self.model][0]

    @property
    def walk(self) -> Setting:
        """Return what all cells of one walk share: everything but λ or C and the stop."""
        return dataclasses.replace(self, lam=None, C=None, stop=None)

    def cost(self, total_weight: float) -> float | None:
        """Return C where the training rows have this Σω; None without regularization."""
        return self.C if self.lam is None else 1 / (self.lam * total_weight)

    def named(self) -> dict[str, Any]:
        """Every value by the name that people use, the learner's before those of preparation; "linear" is no kernel."""
        found: dict[str, Any] = {
            "model": self.model,
            "kernel": "linear" if self.kernel is None else self.kernel,
        }
        if self.lam is not None:
            found["lam"] = self.lam
        if self.C is not None:
            found["C"] = self.C
        if self.stop is not None:
            found[self.stop.name] = self.stop.count
        return {**found, **dict(self.options), **dict(self.preparation)}

    def get(self, name: str) -> Any:
        """One of them; a parameter of the learner that has its default answers that, what is not there None."""
        found = self.named()
        if name in found:
            return found[name]
        if self.stop is not None and name == self.stop.parameter:
            return self.stop.count
        if name == "loss":
            return MODELS[self.model][1].fixed.get(name)
        return freeze(getattr(learner_class(self.declaration)(), name, None))

    def to_json(self) -> dict[str, Any]:
        """Only what JSON has."""
        return {each.name: thaw(getattr(self, each.name)) for each in dataclasses.fields(self)}

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Setting:
        """The setting that `to_json` wrote; what was opaque is told apart by its text from then on."""
        return cls(**{name: _from_json(value) for name, value in found.items()})

    def key(self) -> str:
        """A text for stores: equal for equal settings, in every process."""
        return json.dumps(self.to_json(), sort_keys=True, ensure_ascii=False)


def freeze(value: Any) -> Any:
    """A value that can be compared and hashed: what scikit-learn and Python mean by the parameter, not how it is written."""
    if isinstance(value, np.generic):
        return freeze(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return Opaque(str(value))  # nan equals itself, and neither nan nor infinity is JSON
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Kernel):
        known = KERNELS.get(value.name) is type(value)
        return (
            type(value)(**{name: freeze(each) for name, each in value.get_params().items()})
            if known
            else _opaque(value)
        )
    if isinstance(value, dict):
        return Table(tuple((freeze(name), freeze(each)) for name, each in value.items()))
    if isinstance(value, list | tuple):
        return tuple(freeze(each) for each in value)
    if isinstance(value, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:16]
        return Opaque(f"array of shape {value.shape}, {value.dtype}, {digest}")
    from sklearn.base import (
        BaseEstimator,
    )  # not for the plain values of records, which no learner is loaded for

    if isinstance(value, BaseEstimator):
        return Part(f"{type(value).__module__}.{type(value).__qualname__}", tuple(_given(value)))
    return _opaque(value)


def _given(estimator: Any) -> Iterator[tuple[str, Any]]:
    """The parameters that differ from the defaults; without what is none of a step's own, or changes no result of it."""
    from pegasos.nystroem import Nystroem
    from pegasos.preprocessing import DropOutliers

    defaults = {
        name: each.default for name, each in inspect.signature(type(estimator)).parameters.items()
    }
    for name, value in sorted(estimator.get_params(deep=False).items()):
        if (isinstance(estimator, DropOutliers) and name == "estimator") or (
            isinstance(estimator, Nystroem) and name == "memory"
        ):
            continue
        frozen = freeze(value)
        if defaults.get(name) is inspect.Parameter.empty or frozen != freeze(defaults.get(name)):
            yield name, frozen


def _opaque(value: Any) -> Opaque:
    """A thing by itself; its text tells where a function stands and, as two lambdas may stand in one line, what it does."""
    text = repr(value)
    function = getattr(value, "function", value)
    code = getattr(function, "__code__", None)
    if callable(function) and hasattr(function, "__qualname__"):
        text = f"{function.__module__}.{function.__qualname__}"
    if code is not None:
        text += f" {hashlib.sha256(code.co_code + repr(code.co_consts).encode()).hexdigest()[:8]}"
    try:
        hash(value)
    except TypeError:
        return Opaque(text, id(value))
    return Opaque(text, value)


def thaw(value: Any) -> Any:
    """A frozen value as JSON has it."""
    if isinstance(value, Kernel):
        return {"kernel": value.name, **value.get_params()}
    if isinstance(value, Stop):
        return {"stop": value.parameter, "count": value.count}
    if isinstance(value, Part):
        return {"part": value.path, "params": thaw(value.params)}
    if isinstance(value, Table):
        return {"table": thaw(value.pairs)}
    if isinstance(value, Opaque):
        return {"text": value.text}
    return [thaw(each) for each in value] if isinstance(value, tuple) else value


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_from_json(each) for each in value)
    if not isinstance(value, dict):
        return value
    if "kernel" in value:
        return KERNELS[value["kernel"]](
            **{name: each for name, each in value.items() if name != "kernel"}
        )
    if "stop" in value:
        return Stop(value["stop"], value["count"])
    if "part" in value:
        return Part(value["part"], _from_json(value["params"]))
    return Table(_from_json(value["table"])) if "table" in value else Opaque(value["text"])
