"""Builder for graphs of ONNX operators with unique tensor names and float64 numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from pegasos.program.errors import BadModel

Array = np.ndarray[Any, Any]

#: First operator set (2023) that compares strings, and the file format of the same time.
OPSET, FORMAT = 19, 9
#: Limit on the bytes of constants: an ONNX file is a protobuf message of at most 2 GiB.
_MOST_BYTES = 2**31 - 2**24


class Graph:
    """Nodes and constants in order of creation; names in `taken` are reserved."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self._taken, self._bytes, self._count = set(taken), 0, 0

    def call(self, operator: str, *inputs: Any, **attributes: Any) -> str:
        """Add an operator and return its output tensor.

        Inputs are names of tensors, or numbers and arrays, which become float64 constants.
        """
        tensors = [each if isinstance(each, str) else self.numbers(each) for each in inputs]
        name = self._name()
        self.nodes.append(helper.make_node(operator, tensors, [name], **attributes))
        return name

    def add_input(self, name: str, kind: int, width: int) -> None:
        """Declare an input of rows x width."""
        self.inputs.append(helper.make_tensor_value_info(name, kind, ["rows", width]))

    def add_output(self, name: str, tensor: str, kind: int, *shape: int) -> None:
        """Make a tensor of rows x shape an output with this name."""
        self.nodes.append(helper.make_node("Identity", [tensor], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, kind, ["rows", *shape]))

    def numbers(self, values: Any) -> str:
        """Add a float64 constant; float32 values are stored in four bytes each."""
        values = np.asarray(values)
        if values.dtype == np.float32:
            return self.as_numbers(self.constant(values))
        return self.constant(values.astype(np.float64))

    def integers(self, values: Any) -> str:
        """Add an int64 constant."""
        return self.constant(np.asarray(values, dtype=np.int64))

    def constant(self, values: Array) -> str:
        """Add a constant of numbers, booleans or text."""
        name, is_text = self._name(), values.dtype.kind in "UO"
        encoded = [text.encode() for text in values.ravel()] if is_text else []
        self._bytes += sum(map(len, encoded)) if is_text else values.nbytes
        check_size(self._bytes)
        if is_text:
            tensor = helper.make_tensor(name, TensorProto.STRING, values.shape, encoded)
        else:
            tensor = numpy_helper.from_array(np.asarray(values, order="C"), name)
        self.constants.append(tensor)
        return name

    def as_numbers(self, tensor: str) -> str:
        """Convert booleans or numbers to float64."""
        return self.call("Cast", tensor, to=TensorProto.DOUBLE)

    def columns(self, tensor: str, places: Any) -> str:
        """Select columns of a matrix."""
        return self.call("Gather", tensor, self.integers(places), axis=1)

    def joined(self, tensors: list[str]) -> str:
        """Concatenate matrices horizontally."""
        return tensors[0] if len(tensors) == 1 else self.call("Concat", *tensors, axis=1)

    def row_sums(self, tensor: str) -> str:
        """Return the row sums as a column."""
        return self.call("ReduceSum", tensor, self.integers([1]), keepdims=1)

    def _name(self) -> str:
        while (name := f"t{self._count}") in self._taken:
            self._count += 1
        self._count += 1
        return name


def check_size(count: int) -> None:
    """Raise BadModel if the constants exceed the limit of the format."""
    if count > _MOST_BYTES:
        raise BadModel(
            f"the model takes {count / 1e9:.1f} GB as ONNX, whose files hold at most 2 GB. "
            "`pegasos shrink` makes a model with fewer support vectors; of very wide sparse rows "
            "only linear models can be exported."
        )


@dataclass(frozen=True)
class Block:
    """Rows between two steps: a numeric matrix, or columns, each with whether it is text."""

    graph: Graph
    matrix: str = ""
    columns: Mapping[int, tuple[str, bool]] = field(default_factory=dict)

    def take(self, places: list[int]) -> Block:
        """Select columns."""
        if self.matrix:
            return Block(self.graph, self.graph.columns(self.matrix, places))
        return Block(self.graph, columns={i: self.columns[each] for i, each in enumerate(places)})

    def column(self, place: int) -> tuple[str, bool]:
        """Return one column, and whether it is text."""
        return (self.take([place]).matrix, False) if self.matrix else self.columns[place]

    def numbers(self) -> str:
        """Return all columns as one matrix."""
        if any(is_text for _, is_text in self.columns.values()):
            raise BadModel("a step gets text columns, which ONNX cannot convert to numbers.")
        return self.matrix or self.graph.joined([tensor for tensor, _ in self.columns.values()])
