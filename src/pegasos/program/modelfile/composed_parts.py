"""Estimators made of estimators: Pipeline, ColumnTransformer and DropOutliers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from pegasos.preprocessing import DropOutliers
from pegasos.program.errors import BadModel, short
from pegasos.program.modelfile.checks import (
    count,
    either,
    flag,
    list_of,
    nothing,
    number,
    text,
    weights,
)
from pegasos.program.modelfile.tree import MOST_FEATURES, Built, Draft, Node, Part, register

_REST = "remainder"


class Steps(Part):
    """Pipeline: each step transforms the output of the previous one."""

    def describe(self, estimator: Any, draft: Draft) -> dict[str, Any]:
        """Return the names and nodes of the steps."""
        steps: list[Any] = []
        for index, (name, step) in enumerate(estimator.steps):
            passing = step is None or isinstance(step, str)
            steps.append(
                [name, "passthrough" if passing else draft.child(step, index, f"step {name!r}")]
            )
        return {"steps": steps}

    def build(self, node: Node, width: int | None) -> Built:
        """Return the pipeline of a node."""
        described = _named(node, node.items("steps"), 2)
        inputs, steps, learner = width, list[tuple[str, Any]](), False
        for index, (name, step) in enumerate(described):
            if learner:
                raise node.bad("a learner stands before the last step")
            if step == "passthrough":
                steps.append((name, step))
                continue
            built = node.child(step, index, f"step {short(name)}", width)
            inputs = built.inputs if inputs is None else inputs
            width, learner = built.outputs, built.learner
            steps.append((name, built.estimator))
        return Built(Pipeline(steps), inputs, width, learner)


class Columns(Part):
    """ColumnTransformer: the columns of each transformer, by position, and by name if chosen so."""

    def describe(self, estimator: Any, draft: Draft) -> dict[str, Any]:
        """Return the names, nodes and columns of the transformers."""
        positions = estimator._transformer_to_input_indices  # includes the remaining columns
        fitted = {name: part for name, part, _ in estimator.transformers_}
        given = {name: part for name, part, _ in estimator.transformers}
        words = draft.place.words
        if _REST in given:
            raise BadModel(
                f"{words} has a transformer named 'remainder', which scikit-learn confuses; rename it."
            )
        columns = []
        for index, (name, part) in enumerate({**given, _REST: estimator.remainder}.items()):
            taken = [int(column) for column in positions[name]]
            node: Any = part if isinstance(part, str) else "drop"  # not fitted without columns
            if taken and not isinstance(part, str):
                node = draft.child(fitted[name], index, f"{words}, columns {name!r}")
            columns.append([name, node, taken])
        by_name = [name for name, _, chosen in estimator.transformers if _are_names(chosen)]
        return {"sparse": bool(estimator.sparse_output_), "by_name": by_name, "columns": columns}

    def build(self, node: Node, width: int | None) -> Built:
        """Return the column transformer of a node."""
        described = _named(node, node.items("columns"), 3)
        by_name = node.take("by_name", list_of(text, None if node.names else 0))
        sparse = node.take("sparse", flag)
        built, slices, outputs = dict[str, Any](), {}, 0
        for index, (name, part, columns) in enumerate(described):
            if not list_of(lambda place: count(place) and place < node.inputs)(columns):
                raise node.bad(f"the columns {short(name)} are {short(columns)}, of {node.inputs}")
            given = len(columns) if part == "passthrough" else 0
            if columns and not isinstance(part, str):
                words = f"{node.place.words}, columns {short(name)}"
                child = node.child(part, index, words, len(columns))
                if child.learner:
                    raise node.bad("a learner stands where columns are transformed")
                built[name], given = child.estimator, child.outputs or 0
            elif part not in ("passthrough", "drop"):
                raise node.bad(f"the columns {short(name)} get {short(part)}")
            slices[name] = slice(outputs, outputs + given) if given else slice(0, 0)
            outputs += given
        used = {column for _, _, columns in described[:-1] for column in columns}
        if described[-1][0] != _REST or len(used) + len(described[-1][2]) != node.inputs:
            raise node.bad("the remaining columns are not those that no transformer takes")
        if not outputs:
            raise node.bad("it gives no columns")
        # A fit with "passthrough" in place of each part sets the output positions of all columns.
        plain = [(n, "passthrough" if n in built else part, taken) for n, part, taken in described]
        estimator = ColumnTransformer(plain[:-1], remainder=plain[-1][1], **node.params)
        estimator.set_params(transformer_weights=None).fit(np.zeros((1, node.inputs)))
        if list(estimator._transformer_to_input_indices[_REST]) != described[-1][2]:
            raise node.bad("the remaining columns are not those that no transformer takes")
        estimator.transformers_ = [
            (name, built.get(name, part), columns)
            for name, part, columns in estimator.transformers_
        ]
        estimator.sparse_output_, estimator.output_indices_ = sparse, slices
        unfitted: list[tuple[str, Any, Any]] = [
            (
                name,
                clone(built[name]) if name in built else part,
                [(node.names or [])[i] for i in columns] if name in by_name else columns,
            )
            for name, part, columns in plain
        ]
        weights = node.params.get("transformer_weights")
        estimator.set_params(
            transformers=unfitted[:-1], remainder=unfitted[-1][1], transformer_weights=weights
        )
        return Built(estimator, node.inputs, outputs)


class Dropping(Part):
    """DropOutliers: the estimator that was fitted to the kept rows."""

    def describe(self, estimator: Any, draft: Draft) -> dict[str, Any]:
        """Return the node of the inner estimator, and keep the mask of the kept rows."""
        draft.keep("kept_", estimator.kept_)
        return {
            "estimator": draft.child(
                estimator.estimator_, 0, f"{draft.place.words}, the estimator of DropOutliers"
            )
        }

    def build(self, node: Node, width: int | None) -> Built:
        """Return the DropOutliers of a node."""
        if any(place >= node.inputs for place in node.params.get("columns") or ()):
            raise node.bad(
                f"its columns {short(node.params['columns'])} are not among the {node.inputs} that it gets"
            )
        words = f"{node.place.words}, the estimator of DropOutliers"
        inner = node.child(node.state.pop("estimator", None), 0, words, node.inputs)
        if not inner.learner:
            raise node.bad("its estimator is not a learner")
        estimator = DropOutliers(clone(inner.estimator), **node.params)
        estimator.estimator_, estimator.classes_ = inner.estimator, inner.estimator.classes_
        estimator.kept_ = node.array("kept_", ("BOOL",), (None,))
        return Built(estimator, node.inputs, None, learner=True)


def _named(node: Node, described: list[Any], length: int) -> list[Any]:
    """Return lists of a length that begin with a name each, or raise an error if names repeat."""
    if not described or not all(
        isinstance(one, list) and len(one) == length and text(one[0]) for one in described
    ):
        raise node.bad("its parts are missing, or have no names")
    names = [one[0] for one in described]
    if len(set(names)) < len(names) or any("__" in name for name in names):
        raise node.bad(f"the names of its parts are {short(names)}")
    return described


def _is_plain_format(value: Any) -> bool:
    """Return whether a format string has no fields beyond the two that scikit-learn fills in."""
    rest = (
        value.replace("{transformer_name}", "").replace("{feature_name}", "")
        if isinstance(value, str)
        else "{"
    )
    return "{" not in rest and "}" not in rest


def _are_names(columns: Any) -> bool:
    return (
        isinstance(columns, list | tuple | np.ndarray)
        and len(columns) > 0
        and all(isinstance(name, str) for name in columns)
    )


_WEIGHTS, _FORMAT = either(nothing, weights(text)), either(flag, _is_plain_format)
_COLUMNS = {
    "sparse_threshold": number,
    "transformer_weights": _WEIGHTS,
    "verbose_feature_names_out": _FORMAT,
}
_DROPPING = {"threshold": number, "columns": either(nothing, list_of(count))}

register(
    Steps(Pipeline, left_out=("steps", "memory", "verbose"), has_columns=False),
    Columns(
        ColumnTransformer,
        _COLUMNS,
        left_out=("transformers", "remainder", "n_jobs", "verbose", "force_int_remainder_cols"),
    ),
    Dropping(DropOutliers, _DROPPING, left_out=("estimator",), most_features=MOST_FEATURES),
)
