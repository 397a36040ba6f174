"""The tree of estimators in a model file: how each part is described, checked and rebuilt.

A part is a node {"type", "params", "state"}. The class `Part` suffices for scalers, which need only
the names of their settings and arrays; other estimators override `_describe` and `_build`. A tree
is built in one traversal: each node is checked before its arrays are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

import numpy as np

from pegasos.program.errors import BadModel, short
from pegasos.program.modelfile import bounds, checks
from pegasos.program.modelfile.checks import Check
from pegasos.program.modelfile.container import DTYPES, FLOATS, NUMBERS, Container
from pegasos.program.modelfile.values import decode, encode

Array = np.ndarray[Any, Any]

_MOST_DEPTH = 12
#: Features of one part: SciPy's own indices end here.
MOST_FEATURES = 2**31 - 1
#: Cells of a table that a part of scikit-learn is fitted to when it is built again.
MOST_CELLS = 2**21
#: Attribute of scalers: the number of training rows, as one number or as one per feature.
SEEN = "n_samples_seen_"


@dataclass(frozen=True)
class Place:
    """Position in the tree: a path for the names of arrays, and a description for messages."""

    path: str = "model"
    words: str = "the model"
    depth: int = 0

    def child(self, index: int, words: str) -> Place:
        """Return the place of a part within this one."""
        if self.depth >= _MOST_DEPTH:
            raise BadModel(f"{words} is nested more than {_MOST_DEPTH} levels deep.")
        return Place(f"{self.path}/{index}", words, self.depth + 1)


@dataclass(frozen=True)
class Draft:
    """A part that is being described: its place, and the arrays of all parts so far."""

    place: Place = field(default_factory=Place)
    arrays: dict[str, Array] = field(default_factory=dict)

    def keep(self, name: str, values: Any) -> None:
        """Add an array, whose dtype must be one of `DTYPES`."""
        values = np.asarray(values, order="C")
        if values.dtype not in DTYPES.values():
            raise BadModel(
                f"{self.place.words}: {name} has the dtype {values.dtype}, "
                "which a model file cannot hold."
            )
        self.arrays[f"{self.place.path}/{name}"] = values

    def encode(self, value: Any, name: str) -> Any:
        """Return a value of the state as JSON; messages give it this name."""
        return encode(value, f"{self.place.words}: {name}")

    def child(self, estimator: Any, index: int, words: str) -> dict[str, Any]:
        """Return the node of a part within this one."""
        return describe(estimator, Draft(self.place.child(index, words), self.arrays))


@dataclass
class Node:
    """A part as described by a file: its checked settings, and its state, each entry taken once."""

    params: dict[str, Any]
    state: dict[str, Any]
    place: Place
    file: Container
    #: Number of input columns; 0 for a Pipeline that is the first part, whose first step has it.
    inputs: int = 0
    names: list[str] | None = None

    def take(self, name: str, check: Check) -> Any:
        """Return a value of the state, decoded and checked."""
        value = decode(self.item(name), f"{self.place.words}: {name}")
        if not check(value):
            raise self.bad(f"{name}={short(value)} is not possible")
        return value

    def item(self, name: str) -> Any:
        """Return an entry of the state as it is."""
        if name not in self.state:
            raise self.bad(f"{name} is missing")
        return self.state.pop(name)

    def items(self, name: str) -> list[Any]:
        """Return a list of the state, without decoding its items."""
        value = self.item(name)
        if not isinstance(value, list):
            raise self.bad(f"{name} is not a list")
        return value

    def has_array(self, name: str) -> bool:
        """Return whether the file has an array of this part."""
        return f"{self.place.path}/{name}" in self.file

    def array(
        self,
        name: str,
        dtypes: tuple[str, ...],
        *shapes: tuple[int | None, ...],
        finite: bool = True,
    ) -> Array:
        """Return an array of this part; see `Container.read`."""
        values = self.file.read(f"{self.place.path}/{name}", dtypes, *shapes)
        if finite and not np.isfinite(values).all():
            raise self.bad(f"{name} holds numbers that are not finite")
        return values

    def child(self, described: Any, index: int, words: str, width: int | None) -> Built:
        """Return the part of a node within this one; its input has `width` columns."""
        return build(described, self.place.child(index, words), self.file, width)

    def bad(self, why: str) -> BadModel:
        """Return the error of a node that cannot be rebuilt."""
        return BadModel(
            f"{self.place.words}: {why}. The file was not written by this version of pegasos."
        )


@dataclass(frozen=True)
class Built:
    """A rebuilt estimator with its numbers of input and output columns (None: any number)."""

    estimator: Any
    inputs: int | None
    outputs: int | None
    learner: bool = False


@dataclass(frozen=True)
class Part:
    """One kind of part: how an estimator of a class is described and rebuilt."""

    cls: Any
    #: Checks of the settings that files contain.
    settings: Mapping[str, Check] = field(default_factory=dict)
    #: Names of the fitted arrays with one number per feature.
    arrays: tuple[str, ...] = ()
    #: Settings that do not belong to a model (threads, messages, caches) or are part of the state.
    left_out: tuple[str, ...] = ()
    most_features: int = MOST_CELLS
    #: Whether the part has n_features_in_ of its own; a Pipeline takes it from its first step.
    has_columns: bool = True

    def _describe(self, estimator: Any, draft: Draft) -> dict[str, Any]:
        """Return the state of a fitted part as JSON, and add its arrays to the draft."""
        for name in self.arrays:
            if getattr(estimator, name) is not None:
                draft.keep(name, getattr(estimator, name))
        return {}

    def _build(self, node: Node, width: int | None) -> Built:
        """Return the part of a node whose input has `width` columns (None: any number).

        The part transforms a row of zeros, which fails if one of its attributes is missing.
        """
        estimator = self.cls(**node.params)
        for name in self.arrays:
            values: Any = None
            if name == SEEN:
                values = node.array(name, NUMBERS, (), (node.inputs,))[()]
            elif node.has_array(name):
                values = node.array(name, FLOATS, (node.inputs,), finite=False)
                if np.isinf(values).any():  # a column without any value has NaN
                    raise node.bad(f"{name} holds numbers that are not finite")
            setattr(estimator, name, values)
        with np.errstate(all="ignore"):
            zeros = estimator.transform(np.zeros((1, node.inputs)))
        return Built(estimator, node.inputs, zeros.shape[1])


#: The parts that files may contain, by the name of their class; see `register`.
PARTS: dict[str, Part] = {}


def register(*parts: Part) -> None:
    """Add parts to those that files may contain."""
    PARTS.update({part.cls.__name__: part for part in parts})


def describe(estimator: Any, draft: Draft) -> dict[str, Any]:
    """Return the node of a fitted estimator, or raise an error that names the unsupported part."""
    name, words = type(estimator).__name__, draft.place.words
    part = PARTS.get(name)
    if part is None or type(estimator) is not part.cls:
        raise BadModel(
            f"{words} is a {name}, which model files do not support. "
            f"They support {', '.join(PARTS)}."
        )
    transform = getattr(estimator, "_sklearn_output_config", {}).get("transform", "default")
    if transform != "default":
        raise BadModel(
            f"{words} has set_output(transform={transform!r}): "
            "set it to 'default', fit again, and save."
        )
    state = part._describe(estimator, draft)
    if part.has_columns:
        names = getattr(estimator, "feature_names_in_", None)
        state["names"] = None if names is None else draft.encode(names, "a column name")
        state["n_features"] = int(estimator.n_features_in_)
    return {"type": name, "params": _described_settings(part, estimator, words), "state": state}


def _described_settings(part: Part, estimator: Any, words: str) -> dict[str, Any]:
    """Return the settings of an estimator as JSON; others must have their defaults."""
    params = {}
    for key, parameter in signature(part.cls).parameters.items():
        value = getattr(estimator, key)
        what, default = f"{words}: {type(estimator).__name__}'s {key}", parameter.default
        if key == "random_state" and not isinstance(value, int | np.integer | None):
            value = getattr(estimator, "_seed", None)  # drawn from the generator: same model
        if key in part.settings:
            params[key] = encode(value, what)
            known = part.settings[key](decode(params[key], what))
        else:
            known = key in part.left_out or (type(value), value) == (type(default), default)
        if not known:
            raise BadModel(f"{what}={short(value)} is not a setting that model files support.")
    return params


def build(described: Any, place: Place, file: Container, width: int | None) -> Built:
    """Check a node and its descendants, and return the estimator.

    `width` is the number of input columns; None: as many as the node says.
    """
    if not isinstance(described, dict) or set(described) != {"type", "params", "state"}:
        raise BadModel(f"{place.words} is {short(described)} instead of type, params and state.")
    name, params, state = described["type"], described["params"], described["state"]
    if not isinstance(name, str) or name not in PARTS:
        known = ", ".join(PARTS)
        raise BadModel(f"{place.words} is of the unknown type {short(name)}. Known are {known}.")
    if not isinstance(params, dict) or not isinstance(state, dict):
        raise BadModel(f"{place.words} has no params or no state.")
    part = PARTS[name]
    node = Node(_built_settings(part, params, place), dict(state), place, file, width or 0)
    if part.has_columns:
        node.inputs = node.take(
            "n_features", lambda value: checks.count(value) and 1 <= value <= part.most_features
        )
        if width not in (None, node.inputs):
            raise node.bad(f"it takes {node.inputs} features, but gets {width}")
        are_names = checks.list_of(checks.text, node.inputs)
        node.names = node.take("names", checks.either(checks.nothing, are_names))
    built = part._build(node, width)
    if node.state:
        raise node.bad(f"its state has unknown entries ({short(sorted(node.state))})")
    if part.has_columns:
        built.estimator.n_features_in_ = node.inputs
    if (wrong := bounds.fault(built.estimator)) is not None:
        raise node.bad(wrong)
    if node.names is not None:
        built.estimator.feature_names_in_ = np.array(node.names, dtype=object)
    return built


def _built_settings(part: Part, params: dict[str, Any], place: Place) -> dict[str, Any]:
    """Return the decoded and checked settings of a node."""
    name, decoded = part.cls.__name__, {}
    known = part.settings.keys() & part.cls._get_param_names()
    for key, value in params.items():
        if key not in known:
            raise BadModel(
                f"{place.words}: {name} has no setting {short(key)} "
                "in this version of pegasos and scikit-learn."
            )
        decoded[key] = decode(value, f"{place.words}: {name}'s {key}")
        if not part.settings[key](decoded[key]):
            raise BadModel(f"{place.words}: {name} cannot have {key}={short(decoded[key])}.")
    return decoded
