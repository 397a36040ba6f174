"""Floating point numbers as the integers that their bits are, in compiled code: a maximum of integers runs in vector registers.

(One of floating point numbers does not: NaN is in the way.) Where the maximum is, is found in the same pass: the last bits of a
number make way for its place. So numbers of float32 that differ by less than a hundredth count as equal, and the first is found.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from pegasos.engine.runtime.compiling import compiled

#: Places that a key has room for, less one.
LAST_PLACE = 2**16 - 1
_INTEGERS: dict[Any, Any] = {types.float32: types.int32, types.float64: types.int64}


@intrinsic
def bits_of(typing: Any, number: Any) -> Any:
    """In compiled code, the integer of the same size whose bits are those of a number; of numbers >= 0 it has their order."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(signature.return_type.bitwidth))

    return _INTEGERS[number](number), generate


@intrinsic
def number_of(typing: Any, bits: Any) -> Any:
    """In compiled code, the number that has these bits."""
    number = types.float64 if bits == types.int64 else types.float32

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(number))

    return number(bits), generate


@intrinsic
def ordered_bits_of(typing: Any, number: Any) -> Any:
    """In compiled code, the integer of the same size that has the order of the numbers, whatever their sign."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        width = signature.return_type.bitwidth
        return _ordered(builder, builder.bitcast(arguments[0], ir.IntType(width)), width)

    return _INTEGERS[number](number), generate


@intrinsic
def number_of_ordered(typing: Any, bits: Any) -> Any:
    """In compiled code, the number whose `ordered_bits_of` these are."""
    number = types.float64 if bits == types.int64 else types.float32

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(
            _ordered(builder, arguments[0], bits.bitwidth), context.get_value_type(number)
        )

    return number(bits), generate


def _ordered(builder: Any, bits: Any, width: int) -> Any:
    """The larger a negative number, the smaller its bits without the sign. (Twice is as before.)"""
    whole = ir.IntType(width)
    return builder.xor(bits, builder.lshr(builder.ashr(bits, whole(width - 1)), whole(1)))


@intrinsic
def key_of(typing: Any, number: Any, place: Any) -> Any:
    """In compiled code, an integer that has the order of the numbers and tells the place, which is at most `LAST_PLACE`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        width = signature.return_type.bitwidth
        whole = ir.IntType(width)
        bits = _ordered(builder, builder.bitcast(arguments[0], whole), width)
        place = arguments[1] if width == 64 else builder.trunc(arguments[1], whole)
        return builder.or_(
            builder.and_(bits, whole(~LAST_PLACE)), builder.sub(whole(LAST_PLACE), place)
        )

    return _INTEGERS[number](number, types.intp), generate


@compiled
def place_of(key: int) -> int:
    """The place that a key tells."""
    return LAST_PLACE - (key & LAST_PLACE)
