"""Build an ONNX file from a fitted model, and compare it with the model.

Columns become inputs, preprocessing steps and the classifier become operators, and labels, scores
and probabilities become outputs.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper
from sklearn.compose import ColumnTransformer

from pegasos.program.errors import BadModel
from pegasos.program.files import write_bytes
from pegasos.program.modelfile import Model, fitted_model, read_model
from pegasos.program.onnxfile.classifiers import add_outputs, plain_classes
from pegasos.program.onnxfile.graph import FORMAT, OPSET, Block, Graph
from pegasos.program.onnxfile.transformers import MISSING_TEXT, branches, text_columns, transformed
from pegasos.search.anatomy import anatomy

Array = np.ndarray[Any, Any]

#: Name of the input if all columns are numeric, and names of the outputs.
MATRIX, LABEL, SCORES, PROBABILITIES = "X", "label", "scores", "probabilities"


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
    steps = [stage.part for stage in parts.stages if not stage.drops]
    learner: Any = parts.learner
    inputs = _inputs(saved.card, steps[0] if steps else learner)
    outputs = _outputs(learner, {each.name for each in inputs})
    graph = Graph({*(each.name for each in inputs), *outputs.values()})
    block = _input_block(graph, inputs, float32)
    for step in steps:
        block = transformed(step, block)
    add_outputs(graph, learner, block.numbers(), outputs)
    classes = plain_classes(learner.classes_).tolist()
    facts = {
        "version": version("pegasos"),
        "steps": " -> ".join([*(each.label for each in parts.stages), type(learner).__name__]),
        "kernel": "linear" if learner.kernel is None else repr(learner.kernel_),
        "classes": json.dumps(classes, ensure_ascii=False),
        "inputs": json.dumps([asdict(each) for each in inputs], ensure_ascii=False),
        "outputs": json.dumps(outputs),
    }
    if len(classes) == 2:
        facts["threshold"] = repr(float(learner.threshold_))
    if learner.calibration_ is not None:
        facts["calibration"] = learner.calibration_.kind
    content = _content(graph, facts)
    write_bytes(path, content)
    numbers = "float32" if float32 else "float64"
    return Exported(os.fspath(path), len(content), inputs, outputs, classes, numbers)


def _inputs(card: dict[str, Any], first: Any) -> list[Input]:
    """Return one matrix input if all columns are numeric, else one input per column used.

    Names and kinds of columns are those of the card of a model file, or of the first step.
    """
    width, texts = int(first.n_features_in_), text_columns(first)
    listed: Any = card.get("columns")
    are_columns = isinstance(listed, list) and {type(each) for each in listed} == {dict}
    if are_columns and len(listed) == width:
        columns = [(str(each.get("name")), str(each.get("kind"))) for each in listed]
    else:
        names = getattr(first, "feature_names_in_", [f"x{place + 1}" for place in range(width)])
        columns = [(str(name), "number") for name in names]
    if not texts:
        return [Input(MATRIX, "number", [name for name, _ in columns])]
    used: Any = range(width)
    if isinstance(first, ColumnTransformer):
        used = {place for _, _, places in branches(first) for place in places}
    if len({name or f"x{place + 1}" for place, (name, _) in enumerate(columns)}) < width:
        raise BadModel("two columns have the same name; in an ONNX file each needs its own.")
    return [
        Input(name or f"x{place + 1}", "text" if place in texts else kind, [name], place)
        for place, (name, kind) in enumerate(columns)
        if place in used
    ]


def _outputs(learner: Any, taken: set[str]) -> dict[str, str]:
    """Return the output names; an output whose name is also a column gets an underscore."""
    found = {}
    for name in (LABEL, SCORES, *([PROBABILITIES] if learner.has_probabilities else [])):
        free = name
        while free in taken:
            free += "_"
        found[name] = free
    return found


def _input_block(graph: Graph, inputs: list[Input], float32: bool) -> Block:
    """Declare the inputs, and return them as text and float64 numbers."""
    number = TensorProto.FLOAT if float32 else TensorProto.DOUBLE
    columns: dict[int, tuple[str, bool]] = {}
    for each in inputs:
        is_text = each.kind == "text"
        graph.add_input(each.name, TensorProto.STRING if is_text else number, len(each.columns))
        tensor = graph.as_numbers(each.name) if float32 and not is_text else each.name
        if each.place is None:
            return Block(graph, tensor)
        columns[each.place] = (tensor, is_text)
    return Block(graph, columns=columns)


def _content(graph: Graph, facts: dict[str, str]) -> bytes:
    """Return the content of the file, with the facts as its metadata."""
    file = helper.make_model(
        helper.make_graph(graph.nodes, "pegasos", graph.inputs, graph.outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="pegasos",
        producer_version=facts["version"],
        ir_version=FORMAT,
        doc_string=f"Written by pegasos {facts['version']}: {facts['steps']}, classes "
        f"{facts['classes']}. metadata_props describe inputs and outputs.",
    )
    helper.set_model_props(file, {f"pegasos.{name}": fact for name, fact in facts.items()})
    onnx.checker.check_model(file, full_check=True)
    return bytes(file.SerializeToString())


@dataclass(frozen=True)
class Agreement:
    """Differences between an ONNX file and its model on the same rows.

    `labels` counts differing labels; `scores` and `probabilities` are the largest differences.
    """

    rows: int = 0
    labels: int = 0
    scores: float = 0.0
    #: None for a model without probabilities.
    probabilities: float | None = None

    def __add__(self, other: Agreement) -> Agreement:
        """Return the differences on the rows of both."""
        known = [each.probabilities for each in (self, other) if each.probabilities is not None]
        numbers = max(self.scores, other.scores), max(known) if known else None
        return Agreement(self.rows + other.rows, self.labels + other.labels, *numbers)


class OnnxModel:
    """Session of onnxruntime for a file written by `export_onnx`.

    Rows are arrays or polars frames, as for `predict`.
    """

    def __init__(self, exported: Exported) -> None:
        import onnxruntime

        self.exported = exported
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            os.fspath(exported.path), options, providers=["CPUExecutionProvider"]
        )

    def __call__(self, X: Any) -> dict[str, Array]:
        """Return labels, scores and probabilities of the rows."""
        names = list(self.exported.outputs.values())
        return dict(zip(self.exported.outputs, self._session.run(names, self.feed(X)), strict=True))

    def feed(self, X: Any) -> dict[str, Array]:
        """Return the inputs in the file's types: one matrix, or one array per column."""
        number, first = np.dtype(self.exported.numbers), self.exported.inputs[0]
        if first.place is None:
            for convert in ("toarray", "to_numpy"):  # CSR rows, frames
                X = getattr(X, convert)() if hasattr(X, convert) else X
            return {first.name: np.asarray(X, dtype=number)}
        found = {}
        for each in self.exported.inputs:
            values = X[:, each.place]
            column = np.asarray(values.to_list() if hasattr(X, "get_column") else values, object)
            missing = np.array([value is None or value != value for value in column], dtype=bool)
            if each.kind == "text":
                found[each.name] = np.where(missing, MISSING_TEXT, column)[:, None]
            else:
                found[each.name] = np.where(missing, np.nan, column).astype(number)[:, None]
        return found

    def agreement(self, learner: Any, X: Any, scores: Array, p: Array | None) -> Agreement:
        """Return how far predictions of the file differ from these scores and probabilities."""
        answers = self(X)
        wrong = int((answers[LABEL] != learner.labels_of(scores)).sum())
        apart = None if p is None else _apart(answers[PROBABILITIES], p)
        return Agreement(len(scores), wrong, _apart(answers[SCORES], scores), apart)


def _apart(one: Array, other: Array) -> float:
    return float(np.abs(one - other).max(initial=0.0))
