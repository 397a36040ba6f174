"""Estimators made of estimators: Pipeline, ColumnTransformer and DropOutliers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from pegasos.preprocessing import DropOutliers
from pegasos.program.errors import BadModel, short
from pegasos.program.modelfile import checks
from pegasos.program.modelfile.checks import Check, count, either, flag, list_of, nothing, text
from pegasos.program.modelfile.tree import MOST_FEATURES, Built, Draft, Node, Part, register

_REST = "remainder"


class Steps(Part):
    """Pipeline: each step transforms the output of the previous one."""

    def _describe(self, estimator: Any, draft: Draft) -> dict[str, Any]:
        steps: list[Any] = []
        for index, (name, step) in enumerate(estimator.steps):
            passing = step is None or isinstance(step, str)
            node = "passthrough" if passing else draft.child(step, index, f"step {name!r}")
            steps.append([name, node])
        return {"steps": steps}

    def _build(self, node: Node, width: int | None) -> Built:
        inputs, steps, learner = width, list[tuple[str, Any]](), False
        for index, (name, step) in enumerate(_named(node, "steps", 2)):
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

    def _describe(self, estimator: Any, draft: Draft) -> dict[str, Any]:
        positions = estimator._transformer_to_input_indices  # includes the remaining columns
        fitted = {name: part for name, part, _ in estimator.transformers_}
        given = {name: part for name, part, _ in estimator.transformers}
        words = draft.place.words
        if _REST in given:
            what = "has a transformer named 'remainder', which scikit-learn confuses"
            raise BadModel(f"{words} {what}; rename it.")
        columns = []
        for index, (name, part) in enumerate({**given, _REST: estimator.remainder}.items()):
            taken = [int(column) for column in positions[name]]
            node: Any = part if isinstance(part, str) else "drop"  # not fitted without columns
            if taken and not isinstance(part, str):
                node = draft.child(fitted[name], index, f"{words}, columns {name!r}")
            columns.append([name, node, taken])
        by_name = [
            name
            for name, _, chosen in estimator.transformers
            if isinstance(chosen, list | tuple | np.ndarray)
            and len(chosen)
            and all(isinstance(each, str) for each in chosen)
        ]
        return {"sparse": bool(estimator.sparse_output_), "by_name": by_name, "columns": columns}

    def _build(self, node: Node, width: int | None) -> Built:
        described = _named(node, "columns", 3)
        by_name = node.take("by_name", list_of(text, None if node.names else 0))
        sparse = node.take("sparse", flag)
        fitted, slices, outputs = dict[str, Any](), {}, 0
        for index, (name, part, columns) in enumerate(described):
            if not list_of(lambda place: count(place) and place < node.inputs)(columns):
                raise node.bad(f"the columns {short(name)} are {short(columns)}, of {node.inputs}")
            given = len(columns) if part == "passthrough" else 0
            if columns and not isinstance(part, str):
                words = f"{node.place.words}, columns {short(name)}"
                child = node.child(part, index, words, len(columns))
                if child.learner:
                    raise node.bad("a learner stands where columns are transformed")
                fitted[name], given = child.estimator, child.outputs or 0
            elif part not in ("passthrough", "drop"):
                raise node.bad(f"the columns {short(name)} get {short(part)}")
            slices[name] = slice(outputs, outputs + given) if given else slice(0, 0)
            outputs += given
        used = {column for _, _, columns in described[:-1] for column in columns}
        rest = [column for column in range(node.inputs) if column not in used]
        if described[-1][0] != _REST or described[-1][2] != rest or not outputs:
            raise node.bad("the remaining columns are not those that no transformer takes")
        estimator = _column_transformer(node, described, fitted, by_name)
        estimator.sparse_output_, estimator.output_indices_ = sparse, slices
        return Built(estimator, node.inputs, outputs)


def _column_transformer(
    node: Node, described: list[Any], fitted: dict[str, Any], by_name: list[str]
) -> ColumnTransformer:
    """Return a transformer that is fitted with "passthrough" in place of each fitted part."""
    plain = [(n, "passthrough" if n in fitted else part, taken) for n, part, taken in described]
    estimator = ColumnTransformer(plain[:-1], remainder=plain[-1][1], **node.params)
    estimator.set_params(transformer_weights=None).fit(np.zeros((1, node.inputs)))
    estimator.transformers_ = [
        (name, fitted.get(name, part), columns) for name, part, columns in estimator.transformers_
    ]
    unfitted: list[Any] = []
    for name, part, columns in plain:
        given = [(node.names or [])[i] for i in columns] if name in by_name else columns
        unfitted.append((name, clone(fitted[name]) if name in fitted else part, given))
    weights = node.params.get("transformer_weights")
    return estimator.set_params(
        transformers=unfitted[:-1], remainder=unfitted[-1][1], transformer_weights=weights
    )


class Dropping(Part):
    """DropOutliers: the estimator that was fitted to the kept rows."""

    def _describe(self, estimator: Any, draft: Draft) -> dict[str, Any]:
        draft.keep("kept_", estimator.kept_)
        words = f"{draft.place.words}, the estimator of DropOutliers"
        return {"estimator": draft.child(estimator.estimator_, 0, words)}

    def _build(self, node: Node, width: int | None) -> Built:
        words = f"{node.place.words}, the estimator of DropOutliers"
        inner = node.child(node.item("estimator"), 0, words, node.inputs)
        if not inner.learner:
            raise node.bad("its estimator is not a learner")
        estimator = DropOutliers(clone(inner.estimator), **node.params)
        estimator.estimator_, estimator.classes_ = inner.estimator, inner.estimator.classes_
        estimator.kept_ = node.array("kept_", ("BOOL",), (None,))
        return Built(estimator, node.inputs, None, learner=True)


def _named(node: Node, name: str, length: int) -> list[Any]:
    """Return lists of a length that begin with a name each, all different."""
    described, is_list = node.items(name), list_of(checks.anything, length)
    if not described or not all(is_list(one) and text(one[0]) for one in described):
        raise node.bad("its parts are missing, or have no names")
    names = [one[0] for one in described]
    if len(set(names)) < len(names) or any("__" in name for name in names):
        raise node.bad(f"the names of its parts are {short(names)}")
    return described


_COLUMNS: dict[str, Check] = {
    "sparse_threshold": checks.number,
    "transformer_weights": either(nothing, checks.weights(text)),
    "verbose_feature_names_out": flag,
}
_ELSEWHERE = ("transformers", "remainder", "n_jobs", "verbose", "force_int_remainder_cols")
_DROPPING: dict[str, Check] = {
    "threshold": checks.number,
    "columns": either(nothing, list_of(count)),
}

register(
    Steps(Pipeline, left_out=("steps", "memory", "verbose"), has_columns=False),
    Columns(ColumnTransformer, _COLUMNS, left_out=_ELSEWHERE),
    Dropping(DropOutliers, _DROPPING, left_out=("estimator",), most_features=MOST_FEATURES),
)
