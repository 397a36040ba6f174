"""exp(-values / width) of whole arrays in vector registers, where NumPy has them for one dtype or some processors only.

    exp(x) = 2^n exp(r),   n = round(x / log 2),   r = x - n log 2 in [-log(2)/2, log(2)/2]

exp(r) is a polynomial. x / log 2 plus MAGIC, 1.5 times the number from which on floating point numbers are whole ones, has n in
its last bits: shifted to the place of the exponent they are 2^n. log 2 is subtracted in two parts, the first of which has so few
digits that its product with n is exact. Errors are below 1 unit in the last place in float64, and below 1.1 in float32.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from pegasos.engine.runtime.compiling import announced, compiled

LOG2_E = 1 / math.log(2)
#: Of each dtype the least finite number, and the logarithm of the least normal one (asking NumPy takes longer than many a tile).
RANGES = {
    np.dtype(kind): (float(np.finfo(kind).min), kind(math.log(np.finfo(kind).tiny)))
    for kind in (np.float32, np.float64)
}
#: How far exp(-values / width) in float32 is from the true one at most, if the values are whole numbers times a step: the five
#: roundings on the way to the exponent -x are worth 5 x e^-x units of 2^-24, and with the error of the exponential itself, for
#: any x, that is at most 2.31.
SINGLE_ERROR = 2.35 * 2.0**-24


@intrinsic
def power_of_two(typing: Any, shifted: Any) -> Any:
    """In compiled code, 2^n for a number n + MAGIC."""
    width, digits, bias = (64, 52, 1023) if shifted == types.float64 else (32, 23, 127)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = ir.IntType(width)
        exponent = builder.shl(builder.bitcast(arguments[0], whole), whole(digits))
        return builder.bitcast(builder.add(exponent, whole(bias << digits)), arguments[0].type)

    return shifted(shifted), generate


@intrinsic
def fused(typing: Any, first: Any, second: Any, third: Any) -> Any:
    """In compiled code, first·second + third, rounded once: the same bits in a vector register and at the end of an array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return first(first, first, first), generate


@compiled
def decay_double(values: NDArray[Any], factor: Any, smallest: Any) -> None:
    """values become exp(factor values), and 0 where that is below the normal numbers."""
    magic = 6755399441055744.0
    for k in range(values.size):
        exact = values[k] * factor
        x = max(exact, smallest)
        shifted = fused(x, LOG2_E, magic)
        n = shifted - magic
        r = fused(n, -1.9082149292705877e-10, fused(n, -0.6931471803691238, x))
        p = fused(2.0914717341716378e-09, r, 2.5105259538448494e-08)
        p = fused(p, r, 2.755727357010214e-07)
        p = fused(p, r, 2.7557255297969643e-06)
        p = fused(p, r, 2.4801587325605324e-05)
        p = fused(p, r, 0.0001984126987490126)
        p = fused(p, r, 0.001388888888888373)
        p = fused(p, r, 0.008333333333326112)
        p = fused(p, r, 0.04166666666666667)
        p = fused(p, r, 0.1666666666666667)
        p = fused(p, r, 0.5)
        value = (1.0 + fused(p, r * r, r)) * power_of_two(shifted)
        values[k] = value if exact >= smallest else (0.0 if exact < smallest else exact)


@compiled
def decay_single(values: NDArray[Any], factor: Any, smallest: Any) -> None:
    """The same in float32."""
    single = np.float32
    magic = single(12582912.0)
    for k in range(values.size):
        exact = values[k] * factor
        x = max(exact, smallest)
        shifted = fused(x, single(LOG2_E), magic)
        n = shifted - magic
        r = fused(n, single(2.12194440e-4), fused(n, single(-0.693359375), x))
        p = fused(single(0.0013926213466332444), r, single(0.008363202971575855))
        p = fused(p, r, single(0.04166655443768594))
        p = fused(p, r, single(0.16666576845993977))
        p = fused(p, r, single(0.5))
        value = (single(1.0) + fused(p, r * r, r)) * power_of_two(shifted)
        values[k] = value if exact >= smallest else (single(0.0) if exact < smallest else exact)


def decay_values(values: NDArray[Any], factor: Any, smallest: Any) -> None:
    """In compiled code, that of the two that fits the values."""
    raise AssertionError("for compiled code only")


@overload(decay_values, strict=False)
def _decay_of_type(values: Any, factor: Any, smallest: Any) -> Any:
    function = decay_double if values.dtype == types.float64 else decay_single

    def work(values: Any, factor: Any, smallest: Any) -> None:
        function(values, factor, smallest)

    return work


def decay(values: NDArray[Any], width: float) -> None:
    """exp(-values / width) in place, for values that are not negative.

    Subnormal numbers make every later product slow on many processors, and are 0 here.

    >>> values = np.array([0.0, 1.0, 2000.0])
    >>> decay(values, 2.0)
    >>> values.round(4)
    array([1.    , 0.6065, 0.    ])
    """
    if not values.flags.c_contiguous:
        copy = np.ascontiguousarray(values)
        decay(copy, width)
        values[...] = copy
        return
    work = decay_double if values.dtype == np.float64 else decay_single
    with announced(work.__name__):
        work(values.reshape(-1), *range_of(values.dtype, width))


def range_of(dtype: Any, width: float) -> tuple[Any, Any]:
    """The factor of values, and the least exponent of a normal number, in this dtype."""
    # A finite factor, so that distance 0 stays 0 even at a width below the dtype's range.
    least, smallest = RANGES[dtype]
    return smallest.dtype.type(max(-1 / width, least)), smallest
