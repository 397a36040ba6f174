"""The tree of parts that a model is: how each part is described, checked and built again.

A part is a node {"type", "params", "state"}; `Part` knows what all parts have in common, and is by itself all that a scaler
needs: the table of its settings and the names of its arrays. Others say in a few hooks what is special about them. Building
goes through the tree once: what a node says is checked before its arrays are read or anything is made from it.
"""

from __future__ import annotations

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
#: Of a scaler: how many rows it saw, as one number, or as one a feature.
SEEN = "n_samples_seen_"


@dataclass(frozen=True)
class Place:
    """Where in the tree: a path for the names of arrays, and words for messages."""

    path: str = "model"
    words: str = "the model"
    depth: int = 0

    def child(self, index: int, words: str) -> Place:
        """The place of a part within this one."""
        if self.depth >= _MOST_DEPTH:
            raise BadModel(
                f"{words} is nested more than {_MOST_DEPTH} levels deep; a model file does not go that far."
            )
        return Place(f"{self.path}/{index}", words, self.depth + 1)


@dataclass(frozen=True)
class Draft:
    """A part on its way into a file: its place, and the arrays of all parts."""

    place: Place = field(default_factory=Place)
    arrays: dict[str, Array] = field(default_factory=dict)

    def keep(self, name: str, values: Any) -> None:
        """Keep an array, in one of the few dtypes that files hold."""
        values = np.asarray(values, order="C")
        if values.dtype not in DTYPES.values():
            raise BadModel(
                f"{self.place.words}: {name} has the dtype {values.dtype}, which a model file cannot hold."
            )
        self.arrays[f"{self.place.path}/{name}"] = values

    def child(self, estimator: Any, index: int, words: str) -> dict[str, Any]:
        """A part within this one as a node."""
        return describe(estimator, Draft(self.place.child(index, words), self.arrays))


@dataclass
class Node:
    """A part as a file describes it: settings that were checked, and the state, from which each thing is taken once."""

    params: dict[str, Any]
    state: dict[str, Any]
    place: Place
    file: Container
    #: Columns that the part takes, known before the part is built (of a Pipeline, only if something stands before it).
    inputs: int = 0
    names: list[str] | None = None

    def take(self, name: str, check: Check) -> Any:
        """A value of the state, decoded and checked."""
        if name not in self.state:
            raise self.bad(f"{name} is missing")
        value = decode(self.state.pop(name), f"{self.place.words}: {name}")
        if not check(value):
            raise self.bad(f"{name}={short(value)} is not possible")
        return value

    def items(self, name: str) -> list[Any]:
        """A list of the state, as it is."""
        value = self.state.pop(name, None)
        if not isinstance(value, list):
            raise self.bad(f"{name} is missing or is not a list")
        return value

    def array(
        self,
        name: str,
        dtypes: tuple[str, ...],
        *shapes: tuple[int | None, ...],
        finite: bool = True,
    ) -> Array:
        """An array of this part; see `Container.read`."""
        values = self.file.read(f"{self.place.path}/{name}", dtypes, *shapes)
        if finite and not np.isfinite(values).all():
            raise self.bad(f"{name} holds numbers that are not finite")
        return values

    def child(self, described: Any, index: int, words: str, width: int | None) -> Built:
        """A part within this one, which gets `width` columns."""
        return build(described, self.place.child(index, words), self.file, width)

    def bad(self, why: str) -> BadModel:
        return BadModel(
            f"{self.place.words}: {why}. The file was not written by this version of pegasos."
        )


@dataclass(frozen=True)
class Built:
    """A fitted estimator, with its columns in and out (None: any number). A learner ends a pipeline."""

    estimator: Any
    inputs: int | None
    outputs: int | None
    learner: bool = False


@dataclass(frozen=True)
class Part:
    """One kind of part: its class, the settings that files hold with what each may be, and its arrays of a number a feature."""

    cls: Any
    settings: dict[str, Check] = field(default_factory=dict)
    arrays: tuple[str, ...] = ()
    #: Settings that are no part of a model (threads, messages, caches), or that the state describes.
    left_out: tuple[str, ...] = ()
    most_features: int = MOST_CELLS
    #: Whether the part itself knows its columns (a Pipeline asks its first step).
    has_columns: bool = True

    def describe(self, estimator: Any, draft: Draft) -> dict[str, Any]:
        """The state of a fitted part as JSON; its arrays go to the draft."""
        for name in self.arrays:
            if getattr(estimator, name) is not None:
                draft.keep(name, getattr(estimator, name))
        return {}

    def build(self, node: Node, width: int | None) -> Built:
        """The part of a node which gets `width` columns; a row of zeros shows whether it has all that it needs."""
        estimator = self.cls(**node.params)
        for name in self.arrays:
            values: Any = None
            if name == SEEN:
                values = node.array(name, NUMBERS, (), (node.inputs,))
                values = values if values.ndim else values[()]
            elif f"{node.place.path}/{name}" in node.file:
                values = node.array(name, FLOATS, (node.inputs,), finite=False)
                if np.isinf(values).any():  # a column without any value has NaN
                    raise node.bad(f"{name} holds numbers that are not finite")
            setattr(estimator, name, values)
        with np.errstate(all="ignore"):
            return Built(
                estimator, node.inputs, estimator.transform(np.zeros((1, node.inputs))).shape[1]
            )


#: A name in a file means one of these, or nothing. The modules of parts put theirs in.
PARTS: dict[str, Part] = {}


def register(*parts: Part) -> None:
    """Parts that files may hold from now on."""
    PARTS.update({part.cls.__name__: part for part in parts})


def describe(estimator: Any, draft: Draft) -> dict[str, Any]:
    """A fitted estimator as a node; what no file can hold is refused by name."""
    name, words = type(estimator).__name__, draft.place.words
    part = PARTS.get(name)
    if part is None or type(estimator) is not part.cls:
        raise BadModel(
            f"{words} is a {name}, which model files do not hold. They hold {', '.join(PARTS)}."
        )
    transform = getattr(estimator, "_sklearn_output_config", {}).get("transform", "default")
    if transform != "default":
        raise BadModel(
            f"{words} has set_output(transform={transform!r}): set it to 'default', fit again, and save."
        )
    params = {}
    for key, parameter in signature(part.cls).parameters.items():
        value, what = getattr(estimator, key), f"{words}: {name}'s {key}"
        if key == "random_state" and not isinstance(value, int | np.integer | None):
            value = getattr(
                estimator, "_seed", None
            )  # what was drawn from the generator gives the same model again
        if key in part.settings:
            params[key] = encode(value, what)
            if not part.settings[key](decode(params[key], what)):
                raise BadModel(f"{what}={short(value)} is not a setting that model files hold.")
        elif key not in part.left_out and (type(value), value) != (
            type(parameter.default),
            parameter.default,
        ):
            raise BadModel(
                f"{what}={short(value)} cannot be saved: a model file has no place for it."
            )
    state = part.describe(estimator, draft)
    if part.has_columns:
        state |= {"n_features": int(estimator.n_features_in_), "names": _names(estimator, words)}
    return {"type": name, "params": params, "state": state}


def build(described: Any, place: Place, file: Container, width: int | None) -> Built:
    """Check a node and all below it, and make the estimators; it gets `width` columns (None: it says itself how many)."""
    if not isinstance(described, dict) or set(described) != {"type", "params", "state"}:
        raise BadModel(f"{place.words} is {short(described)} instead of type, params and state.")
    name, params, state = described["type"], described["params"], described["state"]
    if not isinstance(name, str) or name not in PARTS:
        raise BadModel(
            f"{place.words} is of the unknown type {short(name)}. Known are {', '.join(PARTS)}."
        )
    if not isinstance(params, dict) or not isinstance(state, dict):
        raise BadModel(f"{place.words} has no params or no state.")
    part = PARTS[name]
    node, known = (
        Node({}, dict(state), place, file, width or 0),
        part.settings.keys() & part.cls._get_param_names(),
    )
    for key, value in params.items():
        if key not in known:
            raise BadModel(
                f"{place.words}: {name} has no setting {short(key)} in this version of pegasos and scikit-learn."
            )
        node.params[key] = decode(value, f"{place.words}: {name}'s {key}")
        if not part.settings[key](node.params[key]):
            raise BadModel(f"{place.words}: {name} cannot have {key}={short(node.params[key])}.")
    if part.has_columns:
        node.inputs = node.take(
            "n_features", lambda value: checks.count(value) and 1 <= value <= part.most_features
        )
        if width not in (None, node.inputs):
            raise node.bad(f"it takes {node.inputs} features, but gets {width}")
        node.names = node.take(
            "names", checks.either(checks.nothing, checks.list_of(checks.text, node.inputs))
        )
        if node.names is not None and len(set(node.names)) < node.inputs:
            raise node.bad("a column name occurs twice")
    built = part.build(node, width)
    if node.state:
        raise node.bad(f"its state holds unknown things ({short(sorted(node.state))})")
    if part.has_columns:
        built.estimator.n_features_in_ = node.inputs
    if (wrong := bounds.fault(built.estimator)) is not None:
        raise node.bad(wrong)
    if node.names is not None:
        built.estimator.feature_names_in_ = np.array(node.names, dtype=object)
    return built


def _names(estimator: Any, words: str) -> list[str] | None:
    """The names of the columns that a part was fitted to, if they had any."""
    if not hasattr(estimator, "feature_names_in_"):
        return None
    names = [encode(name, f"{words}: a column name") for name in estimator.feature_names_in_]
    if len(set(names)) < len(names):
        raise BadModel(
            f"{words} was fitted to a table in which column names occur twice; give each its own name."
        )
    return names
