"""The small language of grids: numbers such as 1e-6:1e-2:9, kernels such as gaussian:0.1s:10s:7."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pegasos.cli.misuse import Misuse

if TYPE_CHECKING:
    from pegasos.kernels import Kernel

#: Values that one option may stand for.
_MOST = 1000

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
        values.append(rounded)
    return list(dict.fromkeys(values))


def spread(low: float, high: float, count: int, text: str, option: str) -> list[float]:
    """So many numbers from low to high, each the same multiple of the one before; round where that is exact enough."""
    if not 0 < low < high:
        raise _misuse(text, option, "lo:hi:count needs 0 < lo < hi")
    if count < 2:
        raise _misuse(text, option, "lo:hi:count needs a count of at least 2")
    ratio = math.log(high / low) / (count - 1)
    return [low, *(float(f"{low * math.exp(ratio * place):.6g}") for place in range(1, count - 1)), high]


def parse_kernels(texts: Sequence[str]) -> list[Kernel | None]:
    """Kernels of all --kernel options; None stands for the linear predictor itself.

    >>> parse_kernels(["linear", "gaussian:2,0.5s", "polynomial:2,3:coef0=0"])  # doctest: +NORMALIZE_WHITESPACE
    [None, Gaussian(variance=2.0), Gaussian(variance='0.5 scale'), Polynomial(degree=2, coef0=0.0),
     Polynomial(degree=3, coef0=0.0)]
    """
    kernels = [kernel for text in texts for kernel in _parse_kernel(text)]
    return list(dict.fromkeys(kernels))


def _parse_kernel(text: str) -> list[Kernel | None]:
    from pegasos.kernels import ALIASES, KERNELS, Gaussian, Polynomial

    option = "--kernel"
    name, *parts = text.split(":")
    name = ALIASES.get(name.lower(), name.lower())
    if name not in KERNELS:
        raise _misuse(text, option, f"there is no kernel {name!r}; there are {', '.join(KERNELS)}")
    extra = dict(part.split("=", 1) for part in parts if "=" in part)
    values = ":".join(part for part in parts if "=" not in part)
    if name == "linear":
        if parts:
            raise _misuse(text, option, "the linear kernel has no values")
        return [None]
    kind = KERNELS[name]
    if kind is Polynomial:
        coef0 = _number(extra.pop("coef0", "1"), text, option)
        _refuse(extra, text, "coef0")
        return [Polynomial(degree, coef0) for degree in (parse_counts(values, option) if values else [3])]
    if kind is Gaussian and "gamma" in extra and not values:
        gammas = extra.pop("gamma")
        _refuse(extra, text, "gamma")
        return [Gaussian.from_gamma(gamma) for gamma in parse_numbers(gammas, option)]
    _refuse(extra, text, "gamma" if kind is Gaussian else "")
    return [kind(width) for width in (_widths(values, text) if values else ["scale"])]


def _widths(values: str, text: str) -> list[float | str]:
    """Widths as numbers, or as texts for multiples of the data's own scale."""
    relative = values.endswith("s") or "s:" in values or "s," in values
    if not relative:
        return [_positive(value, text) for value in parse_numbers(values, "--kernel")]
    parts = values.split(":")
    if len(parts) == 3:
        low, high = (_number(part.removesuffix("s"), text, "--kernel") for part in parts[:2])
        factors = spread(low, high, _count(parts[2], text, "--kernel"), text, "--kernel")
        return [f"{factor:g} scale" for factor in factors]
    if len(parts) != 1:
        raise _misuse(text, "--kernel", "write a,b,c or lo:hi:count")
    widths: list[float | str] = []
    for part in values.split(","):
        number = _positive(_number(part.removesuffix("s"), text, "--kernel"), text)
        widths.append(f"{number:g} scale" if part.endswith("s") else number)
    return widths


def _positive(value: float, text: str) -> float:
    if not value > 0:
        raise _misuse(text, "--kernel", f"a width must be above 0, got {value:g}")
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


def _misuse(text: str, option: str, why: str) -> Misuse:
    return Misuse(f"{text!r} in {option}: {why}.")
