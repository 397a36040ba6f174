"""A graph of ONNX operators while it grows: tensors have names that nobody else has, and numbers are float64."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from pegasos.program.errors import BadModel

Array = np.ndarray[Any, Any]

#: Texts can be compared from this version of the operators on (2023); the format of the file is that of the same time.
OPSET, FORMAT = 19, 9
#: Bytes of numbers: a message of protobuf, which an ONNX file is, has at most 2 GiB.
_MOST_BYTES = 2**31 - 2**24


class Graph:
    """Nodes and constants in the order in which they are made; `taken` are names that it must not use."""

    def __init__(self, taken: set[str]) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._taken, self._bytes, self._count = set(taken), 0, 0

    def call(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """The tensor that an operator makes of others."""
        (name,) = self.call_many(operator, *inputs, **attributes)
        return name

    def call_many(
        self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any
    ) -> list[str]:
        names = [self._name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(operator, inputs, names, **attributes))
        return names

    def rename(self, tensor: str, name: str) -> None:
        """Give a tensor a second name, under which it leaves the graph."""
        self.nodes.append(helper.make_node("Identity", [tensor], [name]))

    def numbers(self, values: Any) -> str:
        """A constant of float64; numbers that were learned in float32 take their four bytes in the file."""
        values = np.asarray(values)
        if values.dtype == np.float32:
            return self.call("Cast", self._keep(values), to=TensorProto.DOUBLE)
        return self._keep(values.astype(np.float64))

    def wholes(self, values: Any) -> str:
        """A constant of int64."""
        return self._keep(np.asarray(values, dtype=np.int64))

    def words(self, values: list[str], shape: tuple[int, ...]) -> str:
        """A constant of texts."""
        name = self._name()
        self.constants.append(
            helper.make_tensor(name, TensorProto.STRING, shape, [word.encode() for word in values])
        )
        self._count_bytes(sum(len(word) for word in values))
        return name

    def values(self, values: Array) -> str:
        """A constant of any kind that classes have."""
        return (
            self.words(values.tolist(), values.shape)
            if values.dtype.kind == "U"
            else self._keep(values)
        )

    def as_numbers(self, tensor: str) -> str:
        """0 and 1 for false and true, as float64."""
        return self.call("Cast", tensor, to=TensorProto.DOUBLE)

    def columns(self, tensor: str, places: Any) -> str:
        """Some columns of a matrix."""
        return self.call("Gather", tensor, self.wholes(places), axis=1)

    def joined(self, tensors: list[str]) -> str:
        """Matrices side by side."""
        return tensors[0] if len(tensors) == 1 else self.call("Concat", *tensors, axis=1)

    def row_sums(self, tensor: str) -> str:
        """Σ of each row, as one column."""
        return self.call("ReduceSum", tensor, self.wholes([1]), keepdims=1)

    def _keep(self, values: Array) -> str:
        name = self._name()
        self._count_bytes(values.nbytes)
        self.constants.append(
            numpy_helper.from_array(np.ascontiguousarray(values).reshape(values.shape), name)
        )
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
    """Refuse what the format cannot hold, before it is made."""
    if count > _MOST_BYTES:
        raise BadModel(
            f"the model takes {count / 1e9:.1f} GB as ONNX, whose files hold at most 2 GB. `pegasos shrink` makes a model with "
            "fewer support vectors; of very wide sparse rows only linear models can be exported."
        )


@dataclass(frozen=True)
class Block:
    """Rows on their way through the steps: one matrix of numbers, or columns (each rows x 1) of numbers and of words."""

    graph: Graph
    matrix: str | None = None
    width: int = 0
    parts: list[tuple[str, bool]] = field(default_factory=list)

    def take(self, places: list[int]) -> Block:
        """Some of the columns."""
        if self.matrix is None:
            return Block(self.graph, None, len(places), [self.parts[place] for place in places])
        if places == list(range(self.width)):
            return self
        return Block(self.graph, self.graph.columns(self.matrix, places), len(places))

    def numbers(self, what: str) -> str:
        """All columns as one matrix; `what` needs numbers."""
        if self.matrix is not None:
            return self.matrix
        if any(text for _, text in self.parts):
            raise BadModel(
                f"{what} gets columns of words, of which no numbers can be made in an ONNX file."
            )
        return self.graph.joined([tensor for tensor, _ in self.parts])

    def column(self, place: int) -> tuple[str, bool]:
        """One column, and whether it holds words."""
        return (
            self.parts[place]
            if self.matrix is None
            else (self.graph.columns(self.matrix, [place]), False)
        )
