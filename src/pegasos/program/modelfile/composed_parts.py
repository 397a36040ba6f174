"""Parts that are made of parts: Pipeline, ColumnTransformer and our DropOutliers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from pegasos.preprocessing import DropOutliers
from pegasos.program.modelfile import checks
from pegasos.program.modelfile.errors import BadModel, short
from pegasos.program.modelfile.tree import (
    MOST_CELLS,
    Arrays,
    Check,
    Node,
    Part,
    Place,
    Planned,
    State,
    checked_names,
    checked_width,
    describe,
    set_names,
    tell_names,
)

_WORDS = ("passthrough", "drop")


class Steps:
    """Pipeline: each step takes what the one before gives."""

    cls = Pipeline
    left_out: tuple[str, ...] = ("steps", "memory", "verbose")

    def __init__(self, parts: dict[str, Part]) -> None:
        self.parts, self.params = parts, dict[str, Check]()

    def describe(self, estimator: Any, place: Place, arrays: Arrays) -> dict[str, Any]:
        told = []
        for index, (name, step) in enumerate(estimator.steps):
            if step is None or isinstance(step, str):
                told.append([name, "passthrough"])
            else:
                told.append([name, describe(step, place.child(index, f"step {name!r}"), arrays, self.parts)])
        return {"steps": told}

    def plan(self, node: Node, width: int | None) -> Planned:
        told = _named(node.state, node.state.items("steps"), 2)
        if not told:
            raise node.state.bad("it has no steps")
        inputs, planned = width, list[tuple[str, Planned]]()
        for index, (name, step) in enumerate(told):
            if step == "passthrough":
                planned.append((name, Planned(width, width, lambda: "passthrough")))
                continue
            found = node.child(step, index, f"step {short(name)}", width, self.parts)
            if found.learner and index < len(told) - 1:
                raise node.state.bad("a learner stands before the last step")
            inputs = found.inputs if inputs is None else inputs
            width = found.outputs
            planned.append((name, found))

        def build() -> Any:
            return Pipeline([(name, step.build()) for name, step in planned])

        return Planned(inputs, width, build, planned[-1][1].learner)


class Columns:
    """ColumnTransformer: which columns go where, by position; by name as well if there were names."""

    cls = ColumnTransformer
    left_out: tuple[str, ...] = ("transformers", "remainder", "n_jobs", "verbose", "force_int_remainder_cols")

    def __init__(self, parts: dict[str, Part]) -> None:
        self.parts = parts
        self.params: dict[str, Check] = {
            "sparse_threshold": checks.number,
            "transformer_weights": checks.either(checks.nothing, checks.weights(lambda name: isinstance(name, str))),
            "verbose_feature_names_out": checks.either(checks.flag, _is_plain_format),
        }

    def describe(self, estimator: Any, place: Place, arrays: Arrays) -> dict[str, Any]:
        told = tell_names(estimator, place)
        told["sparse"] = bool(getattr(estimator, "sparse_output_", False))
        places = estimator._transformer_to_input_indices  # read only: the one place that knows the rest's columns, too
        kept = {name: part for name, part, _ in estimator.transformers_}
        kinds = {name: part for name, part, _ in estimator.transformers}
        if "remainder" in kinds:
            raise BadModel(f"{place.words} has a transformer named 'remainder', which scikit-learn confuses; rename it.")
        kinds["remainder"] = estimator.remainder
        told["by_name"] = [name for name, _, columns in estimator.transformers if told["names"] and _are_names(columns)]
        told["columns"] = []
        for index, (name, kind) in enumerate(kinds.items()):
            columns = [int(column) for column in places[name]]
            if isinstance(kind, str) or not columns:
                node: Any = kind if isinstance(kind, str) else "drop"  # without columns nothing was fitted
            else:
                node = describe(kept[name], place.child(index, f"{place.words}, columns {name!r}"), arrays, self.parts)
            told["columns"].append([name, node, columns])
        return told

    def plan(self, node: Node, width: int | None) -> Planned:
        state = node.state
        inputs = checked_width(state, width, MOST_CELLS)
        names = checked_names(state, inputs)
        sparse = state.flag("sparse")
        told = _named(state, state.items("columns"), 3)
        if not told or told[-1][0] != "remainder":
            raise state.bad("it does not say what happens to the remaining columns")
        by_name = state.items("by_name")
        if not all(isinstance(name, str) for name in by_name) or (by_name and names is None):
            raise state.bad("columns by name need names")
        planned: list[tuple[str, Planned | str, list[int]]] = []
        outputs, used, slices = 0, set[int](), {}
        for index, (name, part, columns) in enumerate(told):
            columns = State({"columns": columns}, node.place).places("columns", inputs, increasing=False)
            used.update(columns if name != "remainder" else [])
            if isinstance(part, str) or not columns:
                if part not in _WORDS:
                    raise state.bad(f"the columns {short(name)} get {short(part)}")
                planned.append((name, part, columns))
                given = len(columns) if part == "passthrough" else 0
            else:
                found = node.child(part, index, f"{node.place.words}, columns {short(name)}", len(columns), self.parts)
                if found.learner:
                    raise state.bad("a learner stands where columns are transformed")
                planned.append((name, found, columns))
                given = found.outputs or 0
            slices[name] = slice(outputs, outputs + given) if given else slice(0, 0)
            outputs += given
        if planned[-1][2] != sorted(set(range(inputs)) - used):
            raise state.bad("the remaining columns are not those that no transformer takes")
        if not outputs:
            raise state.bad("it gives no columns")
        return Planned(inputs, outputs, _build_columns(node, planned, inputs, names, set(by_name), sparse, slices))


def _build_columns(
    node: Node,
    planned: list[tuple[str, Planned | str, list[int]]],
    inputs: int,
    names: list[str] | None,
    by_name: set[str],
    sparse: bool,
    slices: dict[str, slice],
) -> Callable[[], Any]:
    def build() -> Any:
        built = {name: part.build() for name, part, _ in planned if isinstance(part, Planned)}
        # A twin that passes all columns on learns where they go; then the parts take their places in it.
        twin = [(name, "passthrough" if name in built else part, columns) for name, part, columns in planned]
        estimator = ColumnTransformer(twin[:-1], remainder=twin[-1][1], **{**node.params, "transformer_weights": None})
        estimator.fit(np.zeros((1, inputs)))
        estimator.transformers_ = [(name, built.get(name, part), columns) for name, part, columns in estimator.transformers_]
        estimator.sparse_output_ = sparse
        estimator.output_indices_ = slices
        set_names(estimator, names)
        unfitted: list[tuple[str, Any, Any]] = []
        for name, part, places in twin:
            columns = [names[place] for place in places] if names is not None and name in by_name else places
            unfitted.append((name, clone(built[name]) if name in built else part, columns))
        weights = node.params.get("transformer_weights")
        return estimator.set_params(transformers=unfitted[:-1], remainder=unfitted[-1][1], transformer_weights=weights)

    return build


class Dropping:
    """DropOutliers: the estimator that was fitted to the kept rows."""

    cls = DropOutliers
    left_out: tuple[str, ...] = ("estimator",)

    def __init__(self, parts: dict[str, Part]) -> None:
        self.parts = parts
        self.params: dict[str, Check] = {
            "threshold": checks.number,
            "columns": checks.either(checks.nothing, checks.list_of(checks.whole)),
        }

    def describe(self, estimator: Any, place: Place, arrays: Arrays) -> dict[str, Any]:
        arrays.add(place.array("kept_"), estimator.kept_, f"{place.words}: kept_")
        inner = describe(
            estimator.estimator_, place.child(0, f"{place.words}, the estimator of DropOutliers"), arrays, self.parts
        )
        return {**tell_names(estimator, place), "estimator": inner}

    def plan(self, node: Node, width: int | None) -> Planned:
        inputs = checked_width(node.state, width)
        names = checked_names(node.state, inputs)
        if any(place >= inputs for place in node.params.get("columns") or ()):
            raise node.state.bad(f"its columns {short(node.params['columns'])} are not among the {inputs} that it gets")
        node.file.expect(node.place.array("kept_"), ("BOOL",), (None,))
        words = f"{node.place.words}, the estimator of DropOutliers"
        inner = node.child(node.state.take("estimator"), 0, words, inputs, self.parts)
        if not inner.learner:
            raise node.state.bad("its estimator is no learner")

        def build() -> Any:
            fitted = inner.build()
            estimator = DropOutliers(clone(fitted), **node.params)
            estimator.estimator_ = fitted
            estimator.classes_ = fitted.classes_
            estimator.kept_ = node.file.read(node.place.array("kept_"))
            estimator.n_features_in_ = inputs
            set_names(estimator, names)
            return estimator

        return Planned(inputs, None, build, learner=True)


def _named(state: State, told: list[Any], length: int) -> list[Any]:
    """Lists that begin with a name each, none twice."""
    if not all(isinstance(one, list) and len(one) == length and isinstance(one[0], str) for one in told):
        raise state.bad("its parts have no names")
    names = [one[0] for one in told]
    if len(set(names)) < len(names) or any("__" in name for name in names):
        raise state.bad(f"the names of its parts are {short(names)}")
    return told


def _is_plain_format(value: Any) -> bool:
    """A text with the two fields that scikit-learn fills in, and no field that could ask for more than the names."""
    if not isinstance(value, str):
        return False
    rest = value.replace("{transformer_name}", "").replace("{feature_name}", "")
    return "{" not in rest and "}" not in rest


def _are_names(columns: Any) -> bool:
    return isinstance(columns, list | tuple | np.ndarray) and len(columns) > 0 and all(isinstance(name, str) for name in columns)
