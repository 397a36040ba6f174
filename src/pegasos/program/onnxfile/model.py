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
from pegasos.program.onnxfile.transformers import MISSING_TEXT, branches, text_columns, transformed
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

    See Also
    --------
    pegasos.save : Write a model file, from which `load` returns the estimator.

    Notes
    -----
    A file has one input matrix `X`, or, if some columns are text, one input of shape (rows, 1) per
    column: text with "" for missing values, numbers with NaN for missing values, and dates as days
    since 1970-01-01. Its outputs are `label`, `scores` (those of `decision_function`) and, if the
    model has them, `probabilities`. All models that model files support can be exported. The
    package onnx is required: pip install '.[onnx]' in a clone.

    Examples
    --------
    >>> import tempfile
    >>> import pegasos
    >>> model = pegasos.SDCA().fit([[0.0], [1.0]], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     exported = pegasos.export_onnx(model, f"{folder}/my.onnx")
    >>> exported.outputs, exported.classes
    ({'label': 'label', 'scores': 'scores'}, ['a', 'b'])
    """
    is_file = isinstance(model, str | os.PathLike)
    saved = read_model(model) if is_file else Model(fitted_model(model), 0)
    parts = anatomy(saved.estimator, fitted=True)
    columns = _columns(saved, parts)
    texts = text_columns(_first(parts)) if parts.stages else set[int]()
    inputs = _inputs(parts, columns, texts)
    outputs = _outputs(parts.learner, {each.name for each in inputs})
    graph = Graph({*(each.name for each in inputs), *outputs.values()})
    _fill(graph, parts, inputs, outputs, len(columns), float32)
    facts = _facts(parts, inputs, outputs, float32)
    content = _file(graph, parts.learner, inputs, outputs, facts)
    write_bytes(path, content)
    classes = decisions.plain_classes(parts.learner.classes_).tolist()
    numbers = facts["pegasos.numbers"]
    return Exported(os.fspath(path), len(content), inputs, outputs, classes, numbers)


def _first(parts: Anatomy) -> Any:
    """Return the first step that transforms the input columns."""
    return next((stage.part for stage in parts.stages if not stage.drops), None)


def _columns(saved: Model, parts: Anatomy) -> list[tuple[str, str]]:
    """Return name and kind of each column, from the card of a model file or the estimator."""
    first: Any = _first(parts) or parts.learner
    width = int(first.n_features_in_)
    listed: Any = saved.card.get("columns", [])
    are_columns = isinstance(listed, list) and all(isinstance(each, dict) for each in listed)
    if are_columns and len(listed) == width:
        return [(str(each.get("name")), str(each.get("kind"))) for each in listed]
    names = getattr(first, "feature_names_in_", [f"x{place + 1}" for place in range(width)])
    return [(str(name), "number") for name in names]


def _inputs(parts: Anatomy, columns: list[tuple[str, str]], texts: set[int]) -> list[Input]:
    """Return one matrix input if all columns are numeric, else one input per column used."""
    if not texts:
        return [Input(MATRIX, "number", [name for name, _ in columns])]
    first = _first(parts)
    used: Any = range(len(columns))
    if isinstance(first, ColumnTransformer):
        used = {place for _, _, places in branches(first) for place in places}
    names = [name or f"x{place + 1}" for place, (name, _) in enumerate(columns)]
    if len(set(names)) < len(names):
        raise BadModel(
            "two columns have the same name: an ONNX file has one input per column, "
            "and each needs its own name."
        )
    kinds = ["text" if place in texts else kind for place, (_, kind) in enumerate(columns)]
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
    is_binary = len(learner.classes_) == 2
    graph.rename(decisions.labels(graph, learner, found), outputs[LABEL])
    graph.rename(decisions.single(graph, found) if is_binary else found, outputs[SCORES])
    if PROBABILITIES in outputs and learner.couples_pairs:
        graph.rename(decisions.coupled(graph, learner, raw), outputs[PROBABILITIES])
    elif PROBABILITIES in outputs:
        graph.rename(decisions.probabilities(graph, learner, found), outputs[PROBABILITIES])


def _file(
    graph: Graph, learner: Any, inputs: list[Input], outputs: dict[str, str], facts: dict[str, str]
) -> bytes:
    """Return the checked content of the file."""
    is_single = facts["pegasos.numbers"] == "float32"
    number = TensorProto.FLOAT if is_single else TensorProto.DOUBLE
    value, count = helper.make_tensor_value_info, len(learner.classes_)
    declared = [
        value(
            each.name,
            TensorProto.STRING if each.kind == "text" else number,
            ["rows", len(each.columns)],
        )
        for each in inputs
    ]
    label = _KINDS[decisions.plain_classes(learner.classes_).dtype.kind]
    scores = ["rows"] if count == 2 else ["rows", count]
    made = [value(outputs[LABEL], label, ["rows"])]
    made += [value(outputs[SCORES], TensorProto.DOUBLE, scores)]
    if PROBABILITIES in outputs:
        made += [value(outputs[PROBABILITIES], TensorProto.DOUBLE, ["rows", count])]
    shape = "one input per column, rows x 1" if inputs[0].place is not None else "one matrix"
    file = helper.make_model(
        helper.make_graph(graph.nodes, "pegasos", declared, made, graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="pegasos",
        producer_version=version("pegasos"),
        ir_version=FORMAT,
        doc_string=f"Written by pegasos {version('pegasos')}: {facts['pegasos.model']}, kernel "
        f"{facts['pegasos.kernel']}, classes {facts['pegasos.classes']}. Inputs: {shape}; "
        "see metadata_props.",
    )
    helper.set_model_props(file, facts)
    onnx.checker.check_model(file, full_check=True)
    return bytes(file.SerializeToString())


def _facts(
    parts: Anatomy, inputs: list[Input], outputs: dict[str, str], float32: bool
) -> dict[str, str]:
    """Return the metadata of the file; values that are not plain text are JSON."""
    learner: Any = parts.learner
    classes = decisions.plain_classes(learner.classes_).tolist()
    found = {
        "model": model_of(learner).name,
        "learner": type(learner).__name__,
        "kernel": "linear" if learner.kernel is None else repr(learner.kernel_),
        "steps": " -> ".join([*(stage.label for stage in parts.stages), type(learner).__name__]),
        "classes": json.dumps(classes, ensure_ascii=False),
        "inputs": json.dumps([asdict(each) for each in inputs], ensure_ascii=False),
        "outputs": json.dumps(outputs, ensure_ascii=False),
        "numbers": "float32" if float32 else "float64",
        "missing": json.dumps(
            {"number": "NaN", "text": MISSING_TEXT, "date": "days since 1970-01-01"}
        ),
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
