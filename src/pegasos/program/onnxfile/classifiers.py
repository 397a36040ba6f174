"""Classifiers and kernels as ONNX operators: scores, labels, and probabilities if available.

A kernel is a distance or inner product, then an elementwise function of it. Squared distances are
|x|² + |z|² - 2 x·z of centered rows in float64; rounding errors of equal rows are set to 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto, helper, parser
from scipy import sparse

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.kernels.standard import Exponential, Gaussian, Laplacian, Linear, Polynomial
from pegasos.learners.calibration import SIGMOID, Calibration
from pegasos.learners.one_vs_one import LEAST_PROBABILITY, class_pairs, pair_labels
from pegasos.learners.task import is_precomputed
from pegasos.program.errors import BadModel
from pegasos.program.onnxfile.graph import Graph, check_size

Array = np.ndarray[Any, Any]

#: Squared distances below this share of the squared norms are rounding errors of equal rows.
_EQUAL = 2.0**-46
#: One step of `_manhattan`, which adds the distances in one column.
_ADD_COLUMN = """
manhattan (double[R, S] sum, double[R] x, double[S] z) => (double[R, S] new_sum)
<int64[1] first = {0}, int64[1] second = {1}> {
    left = Unsqueeze(x, second)
    right = Unsqueeze(z, first)
    difference = Sub(left, right)
    distance = Abs(difference)
    new_sum = Add(sum, distance)
}
"""


def add_outputs(graph: Graph, learner: Any, rows: str, names: dict[str, str]) -> None:
    """Add labels, scores and probabilities of the rows as outputs with these names."""
    classes, shape = plain_classes(learner.classes_), [len(learner.classes_)]
    raw = graph.call("Add", _products(graph, learner, rows), learner.intercept_)
    found = scores = _decision_values(graph, learner, raw)
    if shape == [2]:
        scores = graph.call("Squeeze", found, graph.integers([1]))
        is_second = graph.call("Greater", scores, float(learner.threshold_))
        place = graph.call("Cast", is_second, to=TensorProto.INT64)
    else:
        place = graph.call("ArgMax", found, axis=1, keepdims=0)
    is_text = classes.dtype.kind == "U"
    kind = TensorProto.STRING if is_text else helper.np_dtype_to_tensor_dtype(classes.dtype)
    label = graph.call("Gather", graph.constant(classes), place, axis=0)
    graph.add_output(names["label"], label, kind)
    graph.add_output(names["scores"], scores, TensorProto.DOUBLE, *([] if shape == [2] else shape))
    if "probabilities" in names:
        coupled = learner.couples_pairs
        p = _coupled(graph, learner, raw) if coupled else _probabilities(graph, learner, found)
        graph.add_output(names["probabilities"], p, TensorProto.DOUBLE, *shape)


def _products(graph: Graph, learner: Any, rows: str) -> str:
    if hasattr(learner, "coef_"):
        return graph.call("MatMul", rows, learner.coef_.T)
    coefficients, support = learner.dual_coef_.T, learner.support_vectors_
    if not len(learner.support_):  # the model consists of its intercept only
        zeros = np.zeros((learner.n_features_in_, coefficients.shape[1]))
        return graph.call("MatMul", rows, zeros)
    if is_precomputed(learner.kernel_):
        values = graph.columns(rows, learner.support_)
    else:
        values = kernel_values(graph, learner.kernel_, rows, support)
    return graph.call("MatMul", values, coefficients)


def _decision_values(graph: Graph, learner: Any, found: str) -> str:
    """Return the decision values, rows x columns.

    Two classes have one column. More classes have one column each, computed from the votes of the
    pairs with one-vs-one.
    """
    classes = len(learner.classes_)
    if not learner.has_pairs(learner.classes_):
        return found
    signs = graph.numbers(pair_labels(np.arange(classes), classes))
    won = graph.call("Greater", found, 0.0)
    won = graph.call("Where", won, 1.0, -1.0)
    votes = graph.call("Add", graph.call("MatMul", won, signs), classes - 1.0)
    votes = graph.call("Mul", votes, 0.5)
    sums = graph.call("MatMul", found, signs)
    size = graph.call("Add", graph.call("Abs", sums), 1.0)
    ties = graph.call("Div", sums, graph.call("Mul", size, 3.0))
    return graph.call("Add", votes, ties)


def _coupled(graph: Graph, learner: Any, found: str) -> str:
    """Return class probabilities, coupled as in `one_vs_one.couple_probabilities`.

    The linear systems of all rows are solved together by Gauss-Jordan elimination, one step per
    class; the matrices are positive definite, so no pivoting is needed.
    """
    k = len(learner.classes_)
    first, second = class_pairs(k).T
    calibration = learner.calibration_
    p = graph.call("Sigmoid", found) if calibration is None else _each(graph, calibration, found)
    p = graph.call("Clip", p, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    other = graph.call("Sub", 1.0, p)
    zero = graph.call("Mul", graph.columns(p, [0]), 0.0)
    places = np.full((k, k), 2 * len(first))
    places[second, first] = np.arange(len(first))
    places[first, second] = len(first) + np.arange(len(first))
    flat = graph.columns(graph.joined([p, other, zero]), places.reshape(-1))
    r = graph.call("Reshape", flat, graph.integers([-1, k, k]))
    products = graph.call("Mul", r, graph.call("Transpose", r, perm=[0, 2, 1]))
    squares = graph.call("ReduceSum", graph.call("Mul", r, r), graph.integers([1]), keepdims=1)
    diagonal = graph.call("Mul", squares, np.eye(k))
    matrix = graph.call("Add", graph.call("Sub", 1.0, products), diagonal)
    ones = graph.call("Add", graph.call("Mul", squares, 0.0), 1.0)
    ones = graph.call("Transpose", ones, perm=[0, 2, 1])
    system = graph.call("Concat", matrix, ones, axis=2)
    for step in range(k):
        place = graph.integers([step])
        row, column = (graph.call("Gather", system, place, axis=axis) for axis in (1, 2))
        row = graph.call("Div", row, graph.call("Gather", row, place, axis=2))
        column = graph.call("Sub", column, np.eye(k)[:, [step]])
        system = graph.call("Sub", system, graph.call("Mul", column, row))
    solution = graph.call("Gather", system, graph.constant(np.array(k)), axis=2)
    return _normalized(graph, graph.call("Max", solution, 0.0))


def plain_classes(classes: Array) -> Array:
    """Convert classes to a type that ONNX runtimes support: text, int64, float64 or bool."""
    if classes.dtype.kind == "O":  # always text
        return classes.astype(str)
    if classes.dtype.kind in "Ub":
        return classes
    if classes.dtype.kind == "f":
        return classes.astype(np.float64)
    if int(classes.max()) > np.iinfo(np.int64).max:
        raise BadModel(f"the class {classes.max()} is too large for ONNX: make the labels text.")
    return classes.astype(np.int64)


def _probabilities(graph: Graph, learner: Any, found: str) -> str:
    """Return probabilities, rows x classes: calibrated ones, else those of logits."""
    if learner.calibration_ is not None:
        return _calibrated(graph, learner.calibration_, found)
    if len(learner.classes_) == 2:
        other = graph.call("Sigmoid", graph.call("Neg", found))
        return graph.joined([other, graph.call("Sigmoid", found)])
    # log σ(s) = min(s, 0) - log(1 + exp(-|s|)): σ may underflow for all scores of a row
    tail = graph.call("Exp", graph.call("Neg", graph.call("Abs", found)))
    logs = graph.call("Log", graph.call("Add", tail, 1.0))
    logs = graph.call("Sub", graph.call("Min", found, 0.0), logs)
    highest = graph.call("ReduceMax", logs, graph.integers([1]), keepdims=1)
    return _normalized(graph, graph.call("Exp", graph.call("Sub", logs, highest)))


def _normalized(graph: Graph, each: str) -> str:
    return graph.call("Div", each, graph.row_sums(each))


def _each(graph: Graph, calibration: Calibration, found: str) -> str:
    """Return the calibrated probability of each column."""
    if calibration.kind == SIGMOID:
        slopes, offsets = np.array(calibration.columns).T
        scaled = graph.call("Mul", found, slopes)
        return graph.call("Sigmoid", graph.call("Add", scaled, offsets))
    columns = [graph.columns(found, [place]) for place in range(len(calibration.columns))]
    pairs = zip(columns, calibration.columns, strict=True)
    return graph.joined([_interpolated(graph, column, knots) for column, knots in pairs])


def _calibrated(graph: Graph, calibration: Calibration, found: str) -> str:
    each = _each(graph, calibration, found)
    if len(calibration.columns) == 1:
        return graph.joined([graph.call("Sub", 1.0, each), each])
    each = graph.call("Pow", each, float(calibration.power))
    total = graph.row_sums(each)
    some = graph.call("Greater", total, 0.0)
    shares = graph.call("Div", each, graph.call("Where", some, total, 1.0))
    return graph.call("Where", some, shares, 1 / len(calibration.columns))


def _interpolated(graph: Graph, column: str, knots: Array) -> str:
    """Interpolate linearly between knots (score, probability), constant beyond them."""
    x, p = knots[:, 0].astype(np.float64), knots[:, 1].astype(np.float64)
    inside = graph.call("Clip", column, x[0], x[-1])
    if len(x) == 1:
        return graph.call("Add", graph.call("Mul", inside, 0.0), p[0])
    # A score's segment is the number of inner knots at or below it; a knot at infinity adds none.
    inner = np.append(x[1:-1], np.inf)
    passed = graph.call("GreaterOrEqual", inside, inner[None, :])
    passed = graph.call("Cast", passed, to=TensorProto.INT64)
    piece = graph.call("ReduceSum", passed, graph.integers([1]), keepdims=1)

    def at(values: Array) -> str:
        return graph.call("Gather", values, piece, axis=0)

    slopes = np.diff(p) / np.diff(x)
    step = graph.call("Mul", graph.call("Sub", inside, at(x[:-1])), at(slopes))
    return graph.call("Add", at(p[:-1]), step)


def kernel_values(graph: Graph, kernel: Kernel, rows: str, support: Any) -> str:
    """Return the tensor K(x, z), rows x support vectors."""
    if type(kernel) not in _MAPS:
        known = ", ".join(kind.name for kind in _MAPS)
        raise BadModel(f"{kernel!r} has no form in ONNX; supported kernels are {known}.")
    check_size(support.shape[0] * support.shape[1] * support.dtype.itemsize)
    support = support.toarray() if sparse.issparse(support) else support
    if support.dtype == np.float32:  # prediction rounds rows to the precision of the fit
        rows = graph.as_numbers(graph.call("Cast", rows, to=TensorProto.FLOAT))
    return _MAPS[type(kernel)](graph, kernel, _MEASURES[str(kernel.measure)](graph, rows, support))


def _inner(graph: Graph, rows: str, support: Array) -> str:
    return graph.call("MatMul", rows, np.ascontiguousarray(support.T))


def _squared(graph: Graph, rows: str, support: Array) -> str:
    center = support.mean(axis=0, dtype=np.float64)
    centered = graph.call("Sub", rows, center)
    others = graph.call("Sub", support, center)
    lengths = np.square(support - center).sum(axis=1)
    both = graph.call("Add", graph.row_sums(graph.call("Mul", centered, centered)), lengths)
    products = graph.call("MatMul", centered, graph.call("Transpose", others, perm=[1, 0]))
    squares = graph.call("Sub", both, graph.call("Mul", products, 2.0))
    apart = graph.call("Greater", squares, graph.call("Mul", both, _EQUAL))
    return graph.call("Where", apart, squares, 0.0)


def _manhattan(graph: Graph, rows: str, support: Array) -> str:
    """Return Σ_j |x_j - z_j|, summed column by column.

    All differences at once would need rows x support vectors x columns of memory.
    """
    zeros = graph.call("Mul", graph.columns(rows, [0]), np.zeros((1, len(support))))
    columns = graph.call("Transpose", rows, perm=[1, 0])
    body = parser.parse_graph(_ADD_COLUMN)
    return graph.call("Scan", zeros, columns, support.T, body=body, num_scan_inputs=2)


def _polynomial(graph: Graph, kernel: Any, values: str) -> str:
    """Raise to a power by repeated squaring, as the engine does."""
    if kernel.gamma != 1.0:
        values = graph.call("Mul", values, float(kernel.gamma))
    base = power = graph.call("Add", values, float(kernel.coef0))
    for bit in bin(kernel.degree)[3:]:
        power = graph.call("Mul", power, power)
        if bit == "1":
            power = graph.call("Mul", power, base)
    return power


def _decay(graph: Graph, values: str, width: float) -> str:
    return graph.call("Exp", graph.call("Div", values, -float(width)))


_MEASURES: dict[str, Callable[[Graph, str, Array], str]] = {
    "inner": _inner,
    "squared": _squared,
    "manhattan": _manhattan,
}
_MAPS: dict[type[Kernel], Callable[[Graph, Any, str], str]] = {
    Linear: lambda graph, kernel, values: values,
    Polynomial: _polynomial,
    Gaussian: lambda graph, kernel, values: _decay(graph, values, 2 * kernel.variance),
    Exponential: lambda graph, kernel, values: _decay(
        graph, graph.call("Sqrt", values), kernel.scale
    ),
    Laplacian: lambda graph, kernel, values: _decay(graph, values, kernel.scale),
}
