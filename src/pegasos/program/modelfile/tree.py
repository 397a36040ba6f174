"""The tree of parts that a model is: how each part is told, checked and built again.

A part is a node {"type", "params", "state"}. Reading has two passes. The first, `plan`, checks every name, shape and width of the
whole tree and allocates nothing; the second, `build`, reads the arrays and makes the estimators.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import signature
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from pegasos.program.modelfile.container import DTYPES, Container
from pegasos.program.modelfile.errors import BadModel, short
from pegasos.program.modelfile.values import decode, encode

Array = np.ndarray[Any, Any]
Check = Callable[[Any], bool]

MOST_DEPTH = 12
#: Features of one part: SciPy's own indices end here.
MOST_FEATURES = 2**31 - 1
#: Cells of a table that a part of scikit-learn is fitted to when it is built again.
MOST_CELLS = 2**21


@dataclass(frozen=True)
class Place:
    """Where in the tree: a path for the names of arrays, and words for messages."""

    path: str = "model"
    words: str = "the model"
    depth: int = 0

    def child(self, index: int, words: str) -> Place:
        """The place of a part within this one."""
        if self.depth >= MOST_DEPTH:
            raise BadModel(f"{words} is nested more than {MOST_DEPTH} levels deep; a model file does not go that far.")
        return Place(f"{self.path}/{index}", words, self.depth + 1)

    def array(self, name: str) -> str:
        """The name of an array of this part."""
        return f"{self.path}/{name}"


@dataclass
class Arrays:
    """Arrays on their way into a file."""

    named: dict[str, Array] = field(default_factory=dict)

    def add(self, name: str, values: Any, what: str) -> None:
        """Keep an array under a name, in one of the few dtypes that files hold."""
        values = np.asarray(values)
        if values.dtype not in DTYPES.values():
            raise BadModel(f"{what} has the dtype {values.dtype}, which a model file cannot hold.")
        self.named[name] = np.ascontiguousarray(values)


@dataclass(frozen=True)
class Planned:
    """A part that was checked: features in and out (None: no matter), and how to build it. A learner ends a pipeline."""

    inputs: int | None
    outputs: int | None
    build: Callable[[], Any]
    learner: bool = False


@dataclass(frozen=True)
class Node:
    """A part as a file tells it, with its settings decoded and checked."""

    params: dict[str, Any]
    state: State
    place: Place
    file: Container

    def child(self, told: Any, index: int, words: str, width: int | None, parts: dict[str, Part]) -> Planned:
        """The plan of a part within this one."""
        return plan(told, self.place.child(index, words), self.file, width, parts)


class Part(Protocol):
    """One kind of part."""

    @property
    def cls(self) -> Any:
        """The class."""
        ...

    @property
    def params(self) -> dict[str, Check]:
        """The settings that files hold, with what each may be."""
        ...

    @property
    def left_out(self) -> tuple[str, ...]:
        """Settings that are no part of a model (threads, messages, caches) or told by the state."""
        ...

    def describe(self, estimator: Any, place: Place, arrays: Arrays) -> dict[str, Any]:
        """The state of a fitted part as JSON; its arrays go to `arrays`."""
        ...

    def plan(self, node: Node, width: int | None) -> Planned:
        """Check a part which gets `width` features (None: it says itself how many)."""
        ...


class State:
    """A part's state: JSON that is asked for by name and kind; what nobody asked for is refused."""

    def __init__(self, told: dict[str, Any], place: Place) -> None:
        self._told, self._place = dict(told), place

    def take(self, name: str) -> Any:
        """Anything."""
        if name not in self._told:
            raise self.bad(f"{name} is missing")
        return self._told.pop(name)

    def whole(self, name: str, least: int = 0, most: int = 2**63 - 1) -> int:
        """A whole number."""
        value = self.take(name)
        if type(value) is not int or not least <= value <= most:
            raise self.bad(f"{name}={short(value)} is not a whole number from {least} to {most}")
        return value

    def flag(self, name: str) -> bool:
        """True or False."""
        value = self.take(name)
        if not isinstance(value, bool):
            raise self.bad(f"{name}={short(value)} is not true or false")
        return value

    def places(self, name: str, most: int, increasing: bool = True) -> list[int]:
        """Whole numbers below `most`."""
        values = self.take(name)
        if not isinstance(values, list) or not all(type(value) is int and 0 <= value < most for value in values):
            raise self.bad(f"{name} is {short(values)} instead of whole numbers below {most}")
        if increasing and any(one >= other for one, other in pairwise(values)):
            raise self.bad(f"{name} is not in increasing order")
        return values

    def items(self, name: str) -> list[Any]:
        """A list."""
        value = self.take(name)
        if not isinstance(value, list):
            raise self.bad(f"{name}={short(value)} is not a list")
        return value

    def done(self) -> None:
        """All of it was asked for."""
        if self._told:
            raise self.bad(f"it tells unknown things ({short(sorted(self._told))})")

    def bad(self, why: str) -> BadModel:
        """The error."""
        return BadModel(f"{self._place.words}: {why}. The file is damaged or was not written by pegasos.")


def describe(estimator: Any, place: Place, arrays: Arrays, parts: dict[str, Part]) -> dict[str, Any]:
    """The node of a fitted estimator."""
    name = type(estimator).__name__
    part = parts.get(name)
    if part is None or type(estimator) is not part.cls:
        raise BadModel(f"{place.words} is a {name}, which model files do not hold. They hold {', '.join(parts)}.")
    config = getattr(estimator, "_sklearn_output_config", {})
    if config.get("transform", "default") != "default":
        raise BadModel(
            f"{place.words} has set_output(transform={config['transform']!r}): set it to 'default', fit again, and save."
        )
    params = {}
    defaults = {key: parameter.default for key, parameter in signature(part.cls).parameters.items()}
    for key, value in estimator.get_params(deep=False).items():
        what = f"{place.words}: {name}'s {key}"
        if key == "random_state" and not isinstance(value, int | np.integer | None):
            value = getattr(estimator, "_seed", None)  # what was drawn from the generator gives the same model again
        if key in part.params:
            params[key] = encode(value, what)
            if not part.params[key](decode(params[key], what)):
                raise BadModel(f"{what}={short(value)} is not a setting that model files hold.")
        elif key not in part.left_out and not _same(value, defaults[key]):
            raise BadModel(f"{what}={short(value)} cannot be saved: a model file has no place for it.")
    return {"type": name, "params": params, "state": part.describe(estimator, place, arrays)}


def plan(told: Any, place: Place, file: Container, width: int | None, parts: dict[str, Part]) -> Planned:
    """Check a node and all below it."""
    if not isinstance(told, dict) or set(told) != {"type", "params", "state"}:
        raise BadModel(f"{place.words} is {short(told)} instead of type, params and state: the file is damaged.")
    name, params, state = told["type"], told["params"], told["state"]
    if not isinstance(name, str) or name not in parts:
        raise BadModel(f"{place.words} is of the unknown type {short(name)}. Known are {', '.join(parts)}.")
    if not isinstance(params, dict) or not isinstance(state, dict):
        raise BadModel(f"{place.words} has no params or no state: the file is damaged.")
    part = parts[name]
    known = part.cls._get_param_names()
    decoded = {}
    for key, value in params.items():
        if key not in part.params or key not in known:
            raise BadModel(f"{place.words}: {name} has no setting {short(key)} in this version of pegasos and scikit-learn.")
        decoded[key] = decode(value, f"{place.words}: {name}'s {key}")
        if not part.params[key](decoded[key]):
            raise BadModel(f"{place.words}: {name} takes no {key}={short(decoded[key])}.")
    node = Node(decoded, State(state, place), place, file)
    planned = part.plan(node, width)
    node.state.done()
    return planned


def checked_width(state: State, width: int | None, most: int = MOST_FEATURES) -> int:
    """The features that a part takes: what it says must be what it gets."""
    inputs = state.whole("n_features", 1, most)
    if width is not None and inputs != width:
        raise state.bad(f"it takes {inputs} features, but gets {width}")
    return inputs


def tell_names(estimator: Any, place: Place) -> dict[str, Any]:
    """Number of features, and their names if there were any."""
    told: dict[str, Any] = {"n_features": int(estimator.n_features_in_), "names": None}
    if hasattr(estimator, "feature_names_in_"):
        told["names"] = [encode(name, f"{place.words}: a column name") for name in estimator.feature_names_in_]
        if len(set(told["names"])) < len(told["names"]):
            raise BadModel(f"{place.words} was fitted to a table in which column names occur twice; give each its own name.")
    return told


def checked_names(state: State, inputs: int) -> list[str] | None:
    """The names of the features, if the file tells them."""
    names = state.take("names")
    if names is None:
        return None
    if not isinstance(names, list) or len(names) != inputs or not all(isinstance(name, str) for name in names):
        raise state.bad(f"its column names are not {inputs} texts")
    if len(set(names)) < inputs:
        raise state.bad("a column name occurs twice")
    return names


def set_names(estimator: Any, names: list[str] | None) -> None:
    """Column names where scikit-learn looks for them."""
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)


def _same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and isinstance(one, bool | int | float | str) and one == other)
