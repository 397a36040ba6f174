"""Kernels as ONNX operators: a distance or inner product, then an elementwise function of it.

Squared distances are |x|² + |z|² - 2 x·z of centered rows in float64; rounding errors of equal rows
are set to 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto
from scipy import sparse

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.kernels.standard import Exponential, Gaussian, Laplacian, Linear, Polynomial
from pegasos.program.errors import BadModel
from pegasos.program.onnxfile.graph import Graph, check_size

Array = np.ndarray[Any, Any]

#: Squared distances below this share of the squared norms are rounding errors of equal rows.
_EQUAL = 2.0**-46


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
    found = ""
    for place, values in enumerate(support.T):
        difference = graph.call("Sub", graph.columns(rows, [place]), values[None, :])
        distance = graph.call("Abs", difference)
        found = graph.call("Add", found, distance) if found else distance
    return found


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
