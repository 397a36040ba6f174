"""Builder for graphs of ONNX operators with unique tensor names and float64 numbers."""

from __future__ import annotations

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

    def __init__(self, taken: set[str]) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._taken, self._bytes, self._count = set(taken), 0, 0

    def call(self, operator: str, *inputs: Any, **attributes: Any) -> str:
        """Add an operator and return its output tensor.

        Inputs are names of tensors, or numbers and arrays, which become float64 constants.
        """
        tensors = [each if isinstance(each, str) else self.numbers(each) for each in inputs]
        name = self._name()
        self.nodes.append(helper.make_node(operator, tensors, [name], **attributes))
        return name

    def rename(self, tensor: str, name: str) -> None:
        """Give a tensor a second name as an output of the graph."""
        self.nodes.append(helper.make_node("Identity", [tensor], [name]))

    def numbers(self, values: Any) -> str:
        """Add a float64 constant; float32 values are stored in four bytes each."""
        values = np.asarray(values)
        if values.dtype == np.float32:
            return self.call("Cast", self._keep(values), to=TensorProto.DOUBLE)
        return self._keep(values.astype(np.float64))

    def integers(self, values: Any) -> str:
        """Add an int64 constant."""
        return self._keep(np.asarray(values, dtype=np.int64))

    def strings(self, values: list[str], shape: tuple[int, ...]) -> str:
        """Add a string constant."""
        name, encoded = self._name(), [text.encode() for text in values]
        self._count_bytes(sum(map(len, encoded)))
        self.constants.append(helper.make_tensor(name, TensorProto.STRING, shape, encoded))
        return name

    def values(self, values: Array) -> str:
        """Add a constant of any type that classes have."""
        is_text = values.dtype.kind == "U"
        return self.strings(values.tolist(), values.shape) if is_text else self._keep(values)

    def as_numbers(self, tensor: str) -> str:
        """Convert booleans to float64 zeros and ones."""
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

    def _keep(self, values: Array) -> str:
        name = self._name()
        self._count_bytes(values.nbytes)
        self.constants.append(numpy_helper.from_array(np.asarray(values, order="C"), name))
        return name

    def _count_bytes(self, count: int) -> None:
        self._bytes += count
        check_size(self._bytes)

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
    """Rows between two steps: one numeric matrix, or separate numeric and text columns."""

    graph: Graph
    matrix: str | None = None
    width: int = 0
    parts: list[tuple[str, bool]] = field(default_factory=list)

    def take(self, places: list[int]) -> Block:
        """Select columns."""
        if self.matrix is None:
            return Block(self.graph, None, len(places), [self.parts[place] for place in places])
        if places == list(range(self.width)):
            return self
        return Block(self.graph, self.graph.columns(self.matrix, places), len(places))

    def numbers(self, what: str) -> str:
        """Return all columns as one matrix; `what` names the step that needs numbers."""
        if self.matrix is not None:
            return self.matrix
        if any(text for _, text in self.parts):
            raise BadModel(f"{what} gets text columns, which ONNX cannot convert to numbers.")
        return self.graph.joined([tensor for tensor, _ in self.parts])

    def column(self, place: int) -> tuple[str, bool]:
        """Return one column, and whether it is text."""
        if self.matrix is None:
            return self.parts[place]
        return self.graph.columns(self.matrix, [place]), False
