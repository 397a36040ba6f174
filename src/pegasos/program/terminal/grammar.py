"""The small language of grids: numbers such as 1e-6:1e-2:9, kernels such as gaussian:0.1s:10s:7."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from pegasos.program.tables.messages import near
from pegasos.program.terminal.usage_error import UsageError

if TYPE_CHECKING:
    from pegasos.engine.kernels import Kernel

#: Values that one option may stand for.
_MOST = 1000
_HIGHEST_DEGREE = 1000
_LARGEST_COUNT = 10**12

KERNEL_GRAMMAR = """\
linear | NAME[:VALUES][:coef0=C], repeatable. VALUES are a,b,c or lo:hi:count (logarithmic).
gaussian: variances v of exp(-|x-z|^2/(2v)), `2s` twice the data's own scale, or gamma=g for exp(-g|x-z|^2);
exponential, laplacian: scales; polynomial: degrees d of (coef0 + x.z)^d."""


def parse_numbers(text: str, option: str) -> list[float]:
    """Numbers from a,b,c or lo:hi:count, the latter in equal ratios.

    >>> parse_numbers("1,5,20", "--epochs"), parse_numbers("1e-4:1e-2:3", "--lam")
    ([1.0, 5.0, 20.0], [0.0001, 0.001, 0.01])
    """
    parts = text.split(":")
    if len(parts) == 3:
        low, high = (_number(part, text, option) for part in parts[:2])
        return spread(low, high, _count(parts[2], text, option), text, option)
    if len(parts) == 1:
        return [_number(part, text, option) for part in text.split(",")]
    raise _misuse(text, option, "write a,b,c or lo:hi:count")


def parse_counts(text: str, option: str) -> list[int]:
    """Whole numbers >= 1 in the same two forms.

    >>> parse_counts("1000:16000:3", "--n-iter")
    [1000, 4000, 16000]
    """
    values = []
    for value in parse_numbers(text, option):
        rounded = round(value)
        if rounded < 1 or (":" not in text and rounded != value):
            raise _misuse(text, option, f"{value:g} is not a whole number >= 1")
        if rounded > _LARGEST_COUNT:
            raise _misuse(text, option, f"{value:g} is more than {_LARGEST_COUNT:g}")
        values.append(rounded)
    return list(dict.fromkeys(values))


def spread(low: float, high: float, count: int, text: str, option: str) -> list[float]:
    """So many numbers from low to high, each the same multiple of the one before, to 12 digits."""
    if not 0 < low < high:
        raise _misuse(text, option, "lo:hi:count needs 0 < lo < hi")
    if count < 2:
        raise _misuse(text, option, "lo:hi:count needs a count of at least 2")
    begin, end = math.log(low), math.log(high)
    if end - begin < 1e-9 * count:
        raise _misuse(text, option, "lo and hi are too near to each other")
    steps = (begin + (end - begin) * place / (count - 1) for place in range(1, count - 1))
    return [low, *(float(f"{math.exp(step):.12g}") for step in steps), high]


def parse_kernels(texts: Sequence[str]) -> list[Kernel | None]:
    """Kernels of all --kernel options; None stands for the linear predictor itself.

    >>> parse_kernels(["linear", "gaussian:2,0.5s", "polynomial:2,3:coef0=0"])  # doctest: +NORMALIZE_WHITESPACE
    [None, Gaussian(variance=2.0), Gaussian(variance='0.5 scale'), Polynomial(degree=2, coef0=0.0),
     Polynomial(degree=3, coef0=0.0)]
    """
    kernels = [kernel for text in texts for kernel in _parse_kernel(text)]
    return list(dict.fromkeys(kernels))


def _parse_kernel(text: str) -> list[Kernel | None]:
    from pegasos.engine.kernels import ALIASES, KERNELS, Gaussian, Polynomial

    option = "--kernel"
    name, *parts = text.split(":")
    name = ALIASES.get(name.lower(), name.lower())
    if name not in KERNELS:
        raise UsageError(
            f"{text!r} in {option}: there is no kernel {name!r}; there are {', '.join(KERNELS)}.{near(name, KERNELS)}"
        )
    values, extra = _sorted_out(parts, text)
    if name == "linear":
        if parts:
            raise _misuse(text, option, "the linear kernel has no values")
        return [None]
    kind = KERNELS[name]
    if kind is Polynomial:
        coef0 = _number(extra.pop("coef0", "1"), text, option)
        _refuse(extra, text, "coef0")
        degrees = parse_counts(values, option) if values else [3]
        if max(degrees) > _HIGHEST_DEGREE:
            raise _misuse(text, option, f"the degree {max(degrees):g} is above {_HIGHEST_DEGREE}")
        return [Polynomial(degree, coef0) for degree in degrees]
    if kind is Gaussian and "gamma" in extra:
        gammas = extra.pop("gamma")
        _refuse(extra, text, "gamma")
        if values:
            raise _misuse(text, option, "give variances or gamma=..., not both")
        return [Gaussian(1 / (2 * _positive(gamma, text))) for gamma in parse_numbers(gammas, option)]
    _refuse(extra, text, "gamma" if kind is Gaussian else "")
    make = cast("Callable[[float | str], Kernel]", kind)
    return [make(width) for width in (_widths(values, text) if values else ["scale"])]


def _sorted_out(parts: list[str], text: str) -> tuple[str, dict[str, str]]:
    """Values, and what is given by name; lo:hi:count after a name belongs to it."""
    values: list[str] = []
    extra: dict[str, str] = {}
    name = ""
    for part in parts:
        if "=" in part:
            name, _, value = part.partition("=")
            if name in extra:
                raise _misuse(text, "--kernel", f"{name}= is given twice")
            extra[name] = value
        elif name == "gamma":
            extra[name] += f":{part}"
        else:
            values.append(part)
    return ":".join(values), extra


def _widths(values: str, text: str) -> list[float | str]:
    """Widths as numbers, or as texts for multiples of the data's own scale."""
    parts = values.split(":")
    if len(parts) == 3 and not any(part.endswith("s") for part in parts):
        return [_positive(value, text) for value in parse_numbers(values, "--kernel")]
    if len(parts) == 3:
        if not all(part.endswith("s") for part in parts[:2]):
            raise _misuse(text, "--kernel", "both ends are multiples of the scale, such as 0.1s:10s:7, or none is")
        low, high = (_number(part.removesuffix("s"), text, "--kernel") for part in parts[:2])
        factors = spread(low, high, _count(parts[2], text, "--kernel"), text, "--kernel")
        return [f"{factor:g} scale" for factor in factors]
    if len(parts) != 1:
        raise _misuse(text, "--kernel", "write a,b,c or lo:hi:count")
    widths: list[float | str] = []
    for part in values.split(","):
        if part == "scale":
            widths.append(part)
            continue
        number = _positive(_number(part.removesuffix("s"), text, "--kernel"), text)
        widths.append(f"{number:g} scale" if part.endswith("s") else number)
    return widths


def _positive(value: float, text: str) -> float:
    if not 1e-150 < value < 1e150:
        raise _misuse(text, "--kernel", f"{value:g} must be above 0, and neither tiny nor huge")
    return value


def _refuse(extra: dict[str, str], text: str, known: str) -> None:
    for name in extra:
        raise _misuse(text, "--kernel", f"unknown {name!r}" + (f"; known is {known}=..." if known else ""))


def _number(part: str, text: str, option: str) -> float:
    try:
        value = float(part)
    except ValueError:
        raise _misuse(text, option, f"{part!r} is not a number") from None
    if not math.isfinite(value):
        raise _misuse(text, option, f"{part!r} is not a finite number")
    return value


def _count(part: str, text: str, option: str) -> int:
    value = _number(part, text, option)
    if value != int(value) or not 1 <= value <= _MOST:
        raise _misuse(text, option, f"the count {part!r} must be a whole number from 1 to {_MOST}")
    return int(value)


def _misuse(text: str, option: str, why: str) -> UsageError:
    return UsageError(f"{text!r} in {option}: {why}.")
