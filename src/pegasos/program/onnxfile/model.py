"""Build an ONNX file from a fitted model.

Columns become inputs, preprocessing steps and the classifier become operators, and labels, scores
and probabilities become outputs.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import onnx
from onnx import TensorProto, helper
from sklearn.compose import ColumnTransformer

from pegasos.learners.catalogue import model_of
from pegasos.program.errors import BadModel
from pegasos.program.files import write_bytes
from pegasos.program.modelfile import Model, fitted_model, read_model
from pegasos.program.onnxfile import decisions
from pegasos.program.onnxfile.graph import FORMAT, OPSET, Block, Graph
from pegasos.program.onnxfile.transformers import NO_WORD, branches, transformed, word_columns
from pegasos.search.anatomy import Anatomy, anatomy

#: Name of the input if all columns are numeric, and names of the outputs.
MATRIX, LABEL, SCORES, PROBABILITIES = "X", "label", "scores", "probabilities"
_KINDS = {
    "U": TensorProto.STRING,
    "b": TensorProto.BOOL,
    "i": TensorProto.INT64,
    "f": TensorProto.DOUBLE,
}


@dataclass(frozen=True)
class Input:
    """Input of an ONNX file.

    `kind` is "number", "date" or "text". `place` is the position of its single column, or None if
    the input is a matrix of all `columns`.
    """

    name: str
    kind: str
    columns: list[str]
    place: int | None = None


@dataclass(frozen=True)
class Exported:
    """Description of an ONNX file; `outputs` maps each output to its name in the file."""

    path: str
    bytes: int
    inputs: list[Input]
    outputs: dict[str, str]
    classes: list[Any]
    #: Type of numeric inputs: "float64" or "float32".
    numbers: str


def export_onnx(model: Any, path: str | os.PathLike[str], *, float32: bool = False) -> Exported:
    """Write a fitted model with all its preprocessing to an ONNX file.

    Parameters
    ----------
    model : estimator or path
        Fitted estimator, or the path of a model file.
    path : path
        The ONNX file.
    float32 : bool, default=False
        Whether numeric inputs are float32 instead of float64. Computations are in float64 in both
        cases, so that labels agree with `predict`.

    Returns
    -------
    Exported
        Description of inputs and outputs.

    Raises
    ------
    BadModel
        If the model cannot be represented in ONNX.

    Notes
    -----
    A file has one input matrix `X`, or, if some columns are text, one input of shape (rows, 1) per
    column: text with "" for missing values, numbers with NaN for missing values, and dates as days
    since 1970-01-01. Its outputs are `label`, `scores` (those of `decision_function`) and, if the
    model has them, `probabilities`. All models that model files support can be exported. The
    package onnx is required: pip install '.[onnx]' in a clone.
    """
    saved = (
        read_model(model) if isinstance(model, str | os.PathLike) else Model(fitted_model(model), 0)
    )
    parts = anatomy(saved.estimator, fitted=True)
    columns = _columns(saved, parts)
    words = word_columns(_first(parts)) if parts.stages else set[int]()
    inputs = _inputs(parts, columns, words)
    outputs = _outputs(parts.learner, {each.name for each in inputs})
    graph = Graph({*(each.name for each in inputs), *outputs.values()})
    _fill(graph, parts, inputs, outputs, len(columns), float32)
    number = TensorProto.FLOAT if float32 else TensorProto.DOUBLE
    declared = [_declared_input(each, number) for each in inputs]
    made = helper.make_graph(
        graph.nodes, "pegasos", declared, _declared_outputs(parts.learner, outputs), graph.constants
    )
    facts = _facts(parts, inputs, outputs, float32)
    file = helper.make_model(
        made,
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="pegasos",
        producer_version=version("pegasos"),
        ir_version=FORMAT,
        doc_string=_description(facts, bool(words)),
    )
    helper.set_model_props(file, facts)
    onnx.checker.check_model(file, full_check=True)
    content = file.SerializeToString()
    write_bytes(path, content)
    classes = decisions.plain_classes(parts.learner.classes_).tolist()
    return Exported(
        os.fspath(path), len(content), inputs, outputs, classes, "float32" if float32 else "float64"
    )


def _first(parts: Anatomy) -> Any:
    """Return the first step that transforms the input columns."""
    return next((stage.part for stage in parts.stages if not stage.drops), None)


def _columns(saved: Model, parts: Anatomy) -> list[tuple[str, str]]:
    """Return name and kind of each column, from the card of a model file or the estimator."""
    first = _first(parts)
    width = int((parts.learner if first is None else first).n_features_in_)
    listed = saved.card.get("columns")
    if (
        isinstance(listed, list)
        and len(listed) == width
        and all(isinstance(each, dict) for each in listed)
    ):
        return [(str(each.get("name")), str(each.get("kind"))) for each in listed]
    names = getattr(parts.learner if first is None else first, "feature_names_in_", None)
    known = (
        [f"x{place + 1}" for place in range(width)]
        if names is None
        else [str(name) for name in names]
    )
    return [(name, "number") for name in known]


def _inputs(parts: Anatomy, columns: list[tuple[str, str]], words: set[int]) -> list[Input]:
    """Return one matrix input if all columns are numeric, else one input per column used."""
    if not words:
        return [Input(MATRIX, "number", [name for name, _ in columns])]
    first = _first(parts)
    used: Any = range(len(columns))
    if isinstance(first, ColumnTransformer):
        used = {place for _, _, places in branches(first) for place in places}
    names = [name or f"x{place + 1}" for place, (name, _) in enumerate(columns)]
    if len(set(names)) < len(names):
        raise BadModel(
            "two columns have the same name: an ONNX file has one input a column, and each needs its own name."
        )
    kinds = ["text" if place in words else kind for place, (_, kind) in enumerate(columns)]
    return [Input(names[place], kinds[place], [columns[place][0]], place) for place in sorted(used)]


def _outputs(learner: Any, taken: set[str]) -> dict[str, str]:
    """Return the output names; an output whose name is also a column gets an underscore."""
    found = {}
    for name in (LABEL, SCORES, *([PROBABILITIES] if learner.has_probabilities else [])):
        free = name
        while free in taken:
            free += "_"
        found[name] = free
    return found


def _fill(
    graph: Graph,
    parts: Anatomy,
    inputs: list[Input],
    outputs: dict[str, str],
    width: int,
    float32: bool,
) -> None:
    """Add all operators from the inputs to the outputs."""

    def read(each: Input) -> str:
        return graph.as_numbers(each.name) if float32 and each.kind != "text" else each.name

    if inputs[0].place is None:
        block = Block(graph, read(inputs[0]), width)
    else:
        places = [("", False)] * width
        for each in inputs:
            places[each.place or 0] = (read(each), each.kind == "text")
        block = Block(graph, None, width, places)
    for stage in parts.stages:
        block = block if stage.drops else transformed(stage.part, block)
    learner: Any = parts.learner
    raw = decisions.scores(graph, learner, block.numbers("the learner"))
    found = decisions.decision_values(graph, learner, raw)
    graph.rename(decisions.labels(graph, learner, found), outputs[LABEL])
    graph.rename(
        decisions.single(graph, found) if len(learner.classes_) == 2 else found, outputs[SCORES]
    )
    if PROBABILITIES in outputs:
        p = (
            decisions.coupled(graph, learner, raw)
            if learner.couples_pairs
            else decisions.probabilities(graph, learner, found)
        )
        graph.rename(p, outputs[PROBABILITIES])


def _declared_input(each: Input, number: int) -> Any:
    kind = TensorProto.STRING if each.kind == "text" else number
    return helper.make_tensor_value_info(each.name, kind, ["rows", len(each.columns)])


def _declared_outputs(learner: Any, outputs: dict[str, str]) -> list[Any]:
    count = len(learner.classes_)
    kind = _KINDS[decisions.plain_classes(learner.classes_).dtype.kind]
    shapes: dict[str, Any] = {
        LABEL: ["rows"],
        SCORES: ["rows"] if count == 2 else ["rows", count],
        PROBABILITIES: ["rows", count],
    }
    return [
        helper.make_tensor_value_info(
            name, kind if what == LABEL else TensorProto.DOUBLE, shapes[what]
        )
        for what, name in outputs.items()
    ]


def _facts(
    parts: Anatomy, inputs: list[Input], outputs: dict[str, str], float32: bool
) -> dict[str, str]:
    """Return the metadata of the file; values that are not plain text are JSON."""
    learner: Any = parts.learner
    found = {
        "model": model_of(learner).name,
        "learner": type(learner).__name__,
        "kernel": "linear" if learner.kernel is None else repr(learner.kernel_),
        "steps": " -> ".join([*(stage.label for stage in parts.stages), type(learner).__name__]),
        "classes": json.dumps(
            decisions.plain_classes(learner.classes_).tolist(), ensure_ascii=False
        ),
        "inputs": json.dumps([asdict(each) for each in inputs], ensure_ascii=False),
        "outputs": json.dumps(outputs, ensure_ascii=False),
        "numbers": "float32" if float32 else "float64",
        "missing": json.dumps({"number": "NaN", "text": NO_WORD, "date": "days since 1970-01-01"}),
    }
    if hasattr(learner, "lam_"):
        found["lambda"] = repr(float(learner.lam_))
    if len(learner.classes_) == 2:
        found["threshold"] = repr(float(learner.threshold_))
    if learner.calibration_ is not None:
        found["calibration"] = learner.calibration_.kind
    return {f"pegasos.{name}": value for name, value in found.items()} | {
        "pegasos.version": version("pegasos")
    }


def _description(facts: dict[str, str], columns: bool) -> str:
    what = f"{facts['pegasos.model']}, kernel {facts['pegasos.kernel']}, classes {facts['pegasos.classes']}"
    rows = "one input a column, rows x 1" if columns else "one matrix, rows x columns"
    return f"Written by pegasos {version('pegasos')}: {what}. Takes {rows}; see metadata_props."
