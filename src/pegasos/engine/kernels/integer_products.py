"""Squared distances between rows of small whole numbers: exact, and faster than products of floating point numbers.

Processors with AVX-512 VNNI multiply 64 pairs of bytes, or 32 pairs of 16-bit numbers, in one instruction and add them to sums of
32 bits. A word of 32 bits holds a few features of one row, a panel the words of 32 rows side by side:

    sums[r, c] = Σ_k first[k, r]·second[k, c]   over words k, for 8 rows r of one panel and the 32 rows c of another one

The instruction for bytes multiplies unsigned with signed numbers: the second side gets 128 more there, which is taken back
with the norms of the first. (Measured on one core, products of 512 rows with 784 features, in thousand million operations a
second: float32 101, 16 bits 230, bytes 460.)
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.codegen import get_host_cpu_features
from numba.extending import intrinsic
from numpy.typing import NDArray

from pegasos.engine.kernels.whole_numbers import whole_numbers
from pegasos.engine.runtime.compiling import announced, compiled

Array = NDArray[Any]
Index = slice | NDArray[np.integer[Any]]

#: Numbers of a vector, rows of a panel, and rows of another panel that meet them at once: 16 sums stay in registers.
LANES, PANEL, GROUP = 16, 32, 8
#: The instruction for each type of numbers, and what it adds to the numbers of its second side.
INSTRUCTIONS = {"int8": "llvm.x86.avx512.vpdpbusd.512", "int16": "llvm.x86.avx512.vpdpwssd.512"}
SHIFT = {"int8": 128, "int16": 0}
#: Squared norms and features up to which sums of 32 bits have room.
MOST_SQUARED, MOST_FEATURES = 2**29, 2**16
#: Features, and pairs of rows, from which on looking for whole numbers pays.
LEAST_FEATURES, LEAST_PAIRS = 32, 2**18
#: The share of columns that must be left for a copy of them to pay.
WORTH_LEAVING_OUT = 0.95


@cache
def can_multiply() -> bool:
    """Whether code is compiled for a processor that has the instructions."""
    asked = (
        numba.config.CPU_FEATURES
    )  # what NUMBA_CPU_FEATURES or NUMBA_CPU_NAME say instead of the processor
    return {"+avx512f", "+avx512vnni"} <= set(
        (get_host_cpu_features() if asked is None else asked).split(",")
    )


@intrinsic
def multiply(typing: Any, first: Any, group: Any, second: Any, sums: Any) -> Any:
    """In compiled code, the products of 8 rows of the first panel, from row `group` on, with the second one go to `sums`."""
    number, place = ir.IntType(32), ir.IntType(64)
    vector = ir.VectorType(number, LANES)
    name = INSTRUCTIONS[str(first.dtype)]
    flipped = 0x80808080 if SHIFT[str(first.dtype)] else 0

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def start(k: int) -> Any:
            array = context.make_array(signature.args[k])(context, builder, arguments[k])
            return builder.bitcast(array.data, number.as_pointer()), builder.extract_value(
                array.shape, 0
            )

        def vector_at(pointer: Any, where: Any) -> Any:
            return builder.bitcast(builder.gep(pointer, [where]), vector.as_pointer())

        (a, words), (b, _), (out, _) = start(0), start(2), start(3)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector] * 3), name
        )
        undefined, zero = ir.Constant(vector, ir.Undefined), ir.Constant(vector, [0] * LANES)
        flip = ir.Constant(vector, [flipped] * LANES)
        before, loop, after = (
            builder.block,
            builder.append_basic_block("words"),
            builder.append_basic_block("done"),
        )
        builder.branch(loop)
        builder.position_at_end(loop)
        k, totals = builder.phi(place), [builder.phi(vector) for _ in range(2 * GROUP)]
        word = builder.mul(k, place(PANEL))
        halves = [
            builder.load(vector_at(b, builder.add(word, place(LANES * h))), align=4)
            for h in range(2)
        ]
        halves = [builder.xor(half, flip) for half in halves]
        for r in range(GROUP):
            one = builder.load(
                builder.gep(a, [builder.add(builder.add(word, arguments[1]), place(r))])
            )
            everywhere = builder.shuffle_vector(
                builder.insert_element(undefined, one, number(0)), undefined, zero
            )
            for h in range(2):
                total = totals[2 * r + h]
                total.add_incoming(zero, before)
                total.add_incoming(builder.call(function, [total, halves[h], everywhere]), loop)
        following = builder.add(k, place(1))
        k.add_incoming(place(0), before)
        k.add_incoming(following, loop)
        builder.cbranch(builder.icmp_signed("<", following, words), loop, after)
        builder.position_at_end(after)
        for part, total in enumerate(totals):
            builder.store(total.incomings[1][0], vector_at(out, place(LANES * part)), align=4)
        return context.get_dummy_value()

    return types.void(first, types.intp, second, sums), generate


@compiled
def fill_panels(
    first: Array, second: Array, first_norms: Array, second_norms: Array, factor: Any, out: Array
) -> None:
    """out = factor (|a|² + |b|² - 2 a·b) for the rows a and b of these panels; what fills up the last panel has no place."""
    sums = np.empty((GROUP, PANEL), dtype=np.int32)
    for q in range(second.shape[0]):
        left = q * PANEL
        norms = second_norms[left : left + PANEL]
        for top in range(0, out.shape[0], GROUP):
            multiply(first[top // PANEL], top % PANEL, second[q], sums)
            for i in range(min(GROUP, out.shape[0] - top)):
                own, products, target = (
                    first_norms[top + i],
                    sums[i],
                    out[top + i, left : left + PANEL],
                )
                for j in range(target.size):
                    target[j] = factor * (own + norms[j] - 2 * np.int64(products[j]))


@compiled
def pack(words: Array, index: Array) -> Array:
    """Rows of words side by side, in panels; the last one is filled up with zeros."""
    panels = np.zeros((-(-index.size // PANEL), words.shape[1], PANEL), dtype=np.int32)
    for place in range(index.size):
        panel, column, row = panels[place // PANEL], place % PANEL, words[index[place]]
        for k in range(row.size):
            panel[k, column] = row[k]
    return panels


@compiled
def _norms_and_sums(numbers: Array, norms: Array, sums: Array) -> None:
    for i in range(numbers.shape[0]):
        row, square, total = numbers[i], np.int64(0), np.int64(0)
        for j in range(row.size):
            square += np.int32(row[j]) * np.int32(row[j])
            total += np.int32(row[j])
        norms[i], sums[i] = square, total


@compiled
def _collect_differences(numbers: Array, first: Array, bits: Array) -> None:
    """The bits in which the numbers of a column differ from that of the first row are set for it."""
    for i in range(numbers.shape[0]):
        row = numbers[i]
        for j in range(row.size):
            bits[j] |= row[j] ^ first[j]


class _Side:
    """The rows of one side: as words, in panels, and their squared norms."""

    def __init__(self, whole: Array) -> None:
        self.count, self._kind = len(whole), whole.dtype
        each = 4 // whole.itemsize
        if whole.shape[1] % each:
            whole = np.pad(whole, ((0, 0), (0, -whole.shape[1] % each)))
        self.words = whole.view(np.int32)
        self.norms, sums = (
            np.empty(self.count, dtype=np.int64),
            np.empty(self.count, dtype=np.int64),
        )
        _norms_and_sums(whole, self.norms, sums)
        #: Without what the numbers of another side have more.
        self.shifted_norms = self.norms + 2 * SHIFT[whole.dtype.name] * sums
        self._panels = self._packed(np.arange(self.count))

    def _packed(self, index: Array) -> Array:
        return pack(self.words, index).view(self._kind)

    def panels(self, index: Index) -> Array:
        """Those of some rows."""
        if not isinstance(index, slice):
            return self._packed(index)
        start, stop, step = index.indices(self.count)
        if start % PANEL or step != 1:
            return self._packed(np.arange(start, stop, step))
        return self._panels[start // PANEL : -(-stop // PANEL)]


class IntegerSquares:
    """Squared distances between rows of whole numbers, times the square of their step."""

    def __init__(self, first: _Side, second: _Side, factor: float) -> None:
        self._first, self._second, self.factor = first, second, factor
        self.largest = int(max(first.norms.max(), second.norms.max()))

    def fit(self, dtype: Any) -> bool:
        """Whether numbers of this type have room for them."""
        numbers = np.finfo(dtype)
        return self.factor >= float(numbers.tiny) and 4.0 * self.largest * self.factor <= float(
            numbers.max
        )

    def fill(self, rows: Index, columns: Index, out: Array) -> None:
        """Those between these rows of the first and of the second side."""
        with announced("integers", out.dtype):
            fill_panels(*self.panels(rows, columns), out.dtype.type(self.factor), out)

    def words(self) -> tuple[Array, Array, Array, Array]:
        """All rows of both sides as words, and their squared norms."""
        return self._first.words, self._second.words, self._first.shifted_norms, self._second.norms

    @property
    def no_numbers(self) -> Array:
        """None of them, in their type."""
        return self._first.panels(slice(0, 0)).reshape(-1)

    def panels(self, rows: Index, columns: Index) -> tuple[Array, Array, Array, Array]:
        """Both sides in panels, and their squared norms, as `fill_panels` takes them."""
        first, second = self._first, self._second
        return (
            first.panels(rows),
            second.panels(columns),
            first.shifted_norms[rows],
            second.norms[columns],
        )


def integer_squares(X: Array, Z: Array) -> IntegerSquares | None:
    """Squared distances between the rows of X and Z (both dense) by whole numbers; None if they are not, or it does not pay."""
    if (
        X.shape[1] < LEAST_FEATURES
        or X.shape[1] > MOST_FEATURES
        or len(X) * len(Z) < LEAST_PAIRS
        or not can_multiply()
    ):
        return None
    found = whole_numbers([X] if Z is X else [X, Z])
    if found is None:
        return None
    matrices, factor = _without_constants(found[0]), found[1] ** 2
    sides = [_Side(whole) for whole in matrices]
    squares = IntegerSquares(sides[0], sides[-1], factor)
    # what does not fit the dtype is told by whoever computes with it
    return squares if squares.largest <= MOST_SQUARED and squares.fit(X.dtype) else None


def _without_constants(matrices: list[Array]) -> list[Array]:
    """Columns that are the same in all rows, such as edges of pictures, add nothing to a distance."""
    bits = np.zeros(matrices[0].shape[1], dtype=np.int16)
    for whole in matrices:
        _collect_differences(whole, matrices[0][0], bits)
    used = bits != 0
    if not used.any() or np.count_nonzero(used) > WORTH_LEAVING_OUT * len(used):
        return matrices
    return [np.compress(used, whole, axis=1) for whole in matrices]
