"""Syntax of grids: numbers such as 1e-6:1e-2:9, kernels such as gaussian:0.1s:10s:7."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pegasos.program.errors import UsageError
from pegasos.program.tables.messages import near

if TYPE_CHECKING:
    from pegasos.engine.kernels.base import Kernel

#: Maximum number of values of an option, and largest integer parameter of a kernel.
_MOST = _HIGHEST_COUNT = 1000
_LARGEST_COUNT = 10**12
_WORDS_FOR_NUMBERS = ("scale", "inf", "nan")

KERNEL_GRAMMAR = """\
linear, gaussian, polynomial, ... (see `pegasos models`), as NAME[:VALUES][:PARAMETER=VALUE].
VALUES are a,b,c or lo:hi:count (logarithmic); a width of 2s is twice the data's default width.
Separate several kernels by commas, or repeat the option."""


def parse_numbers(text: str, option: str) -> list[float]:
    """Parse numbers as a,b,c or lo:hi:count; the latter is spaced logarithmically.

    >>> parse_numbers("1,5,20", "--epochs"), parse_numbers("1e-4:1e-2:3", "--lam")
    ([1.0, 5.0, 20.0], [0.0001, 0.001, 0.01])
    """
    parts = text.split(":")
    if len(parts) == 3:
        low, high, count = (_number(part, text, option) for part in parts)
        if count != int(count) or not 1 <= count <= _MOST:
            raise _misuse(
                text, option, f"the count {parts[2]!r} must be a whole number from 1 to {_MOST}"
            )
        return spread(low, high, int(count), text, option)
    if len(parts) == 1:
        return [_number(part, text, option) for part in text.split(",")]
    raise _misuse(text, option, "write a,b,c or lo:hi:count")


def parse_counts(text: str, option: str) -> list[int]:
    """Parse integers >= 1 as a,b,c or lo:hi:count.

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
    """Return logarithmically spaced numbers from low to high, rounded to 12 digits."""
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
    """Parse the kernels of all --kernel options; None is the linear predictor.

    >>> parse_kernels(
    ...     ["linear", "gaussian:2,0.5s", "polynomial:2,3:coef0=0"]
    ... )  # doctest: +NORMALIZE_WHITESPACE
    [None, Gaussian(variance=2.0), Gaussian(variance='0.5 scale'), Polynomial(degree=2, coef0=0.0),
     Polynomial(degree=3, coef0=0.0)]
    >>> parse_kernels(["poly"]) == parse_kernels(["polynomial:coef0=0:gamma=scale"])
    True
    """
    return list(
        dict.fromkeys(
            kernel for text in texts for each in _listed(text) for kernel in _parse_kernel(each)
        )
    )


def _listed(text: str) -> list[str]:
    """Split an option into kernels: a comma before a word separates kernels, others values.

    >>> _listed("linear,gaussian:scale,2s,polynomial:2,3")
    ['linear', 'gaussian:scale,2s', 'polynomial:2,3']
    """
    found: list[str] = []
    for part in text.split(","):
        if found and not (part[:1].isalpha() and part not in _WORDS_FOR_NUMBERS):
            found[-1] += f",{part}"
        else:
            found.append(part)
    return found


def _parse_kernel(text: str) -> list[Kernel | None]:
    """Parse one kernel, which has as many values as are listed."""
    from pegasos.engine.kernels.standard import ALIASES, KERNELS, Linear

    name, *parts = text.split(":")
    if name.lower() == "rbf" and parts and "=" not in parts[0]:
        rest = ":".join(parts)
        raise _misuse(
            text,
            "--kernel",
            f"specify which number that is: gaussian:gamma={rest} for exp(-γ|x-z|²), as in "
            f"scikit-learn, or gaussian:{rest} for a variance, exp(-|x-z|²/(2v))",
        )
    as_in_svc = {"coef0": 0.0, "gamma": "scale"} if name.lower() == "poly" else {}
    name = ALIASES.get(name.lower(), name.lower())
    if name not in KERNELS:
        why = f"there is no kernel {name!r}; there are {', '.join(KERNELS)}"
        raise UsageError(f"{text!r} in --kernel: {why}.{near(name, KERNELS)}")
    kind = KERNELS[name]
    values, given = _sorted_out(parts, kind, text)
    if (values and kind.main is None) or (parts and kind is Linear):
        raise _misuse(text, "--kernel", f"the {name} kernel has no values")
    if kind is Linear:
        return [None]
    others = [each.name for each in dataclasses.fields(kind) if each.name != kind.main]
    unknown = [each for each in given if each not in (*others, *kind.alternatives)]
    if unknown:
        known = ", ".join((*others, *kind.alternatives))
        why = f"unknown {unknown[0]!r}" + (f"; known is {known}" if known else "")
        raise _misuse(text, "--kernel", why)
    made = [kind()]
    if values:
        made = [kind(**{str(kind.main): value}) for value in _main_values(kind, values, text)]
    for alternative, make in kind.alternatives.items():
        if alternative in given:
            if values:
                raise _misuse(text, "--kernel", f"give {kind.main}s or {alternative}=..., not both")
            numbers = parse_numbers(given.pop(alternative), "--kernel")
            made = [make(_positive(number, text)) for number in numbers]
    fixed = as_in_svc | {
        each: value if value == "scale" else _number(value, text, "--kernel")
        for each, value in given.items()
    }
    return [kernel.set_params(**fixed) for kernel in made]


def _sorted_out(parts: list[str], kind: type[Kernel], text: str) -> tuple[str, dict[str, str]]:
    """Separate values from named parameters.

    After the name of an alternative parameter, lo:hi:count belongs to it.
    """
    values: list[str] = []
    given: dict[str, str] = {}
    name = ""
    for part in parts:
        if "=" in part:
            name, _, value = part.partition("=")
            if name in given:
                raise _misuse(text, "--kernel", f"{name}= is given twice")
            given[name] = value
        elif name in kind.alternatives:
            given[name] += f":{part}"
        else:
            values.append(part)
    return ":".join(values), given


def _main_values(kind: type[Kernel], values: str, text: str) -> Sequence[float | str]:
    """Parse the values of a kernel's main parameter: integers, widths or numbers."""
    from pegasos.engine.kernels.base import DistanceKernel

    if kind.main in kind.counts:
        counts = parse_counts(values, "--kernel")
        if max(counts) > _HIGHEST_COUNT:
            why = f"the {kind.main} {max(counts):g} is above {_HIGHEST_COUNT}"
            raise _misuse(text, "--kernel", why)
        return counts
    if issubclass(kind, DistanceKernel):
        return _widths(values, text)
    return parse_numbers(values, "--kernel")


def _widths(values: str, text: str) -> list[float | str]:
    """Parse widths: numbers, or texts for multiples of the data's scale."""
    if ":" not in values:
        return [part if part == "scale" else _width(part, text) for part in values.split(",")]
    multiples = [part.endswith("s") for part in values.split(":")]
    if len(multiples) == 3 and any(multiples) and multiples != [True, True, False]:
        why = "both ends are multiples of the scale, such as 0.1s:10s:7, or none is"
        raise _misuse(text, "--kernel", why)
    numbers = parse_numbers(values.replace("s:", ":"), "--kernel")
    return [f"{each:g} scale" if any(multiples) else _positive(each, text) for each in numbers]


def _width(part: str, text: str) -> float | str:
    number = _positive(_number(part.removesuffix("s"), text, "--kernel"), text)
    return f"{number:g} scale" if part.endswith("s") else number


def _positive(value: float, text: str) -> float:
    if not 1e-150 < value < 1e150:
        raise _misuse(text, "--kernel", f"{value:g} must be above 0, and neither tiny nor huge")
    return value


def _number(part: str, text: str, option: str) -> float:
    try:
        value = float(part)
    except ValueError:
        raise _misuse(text, option, f"{part!r} is not a number") from None
    if not math.isfinite(value):
        raise _misuse(text, option, f"{part!r} is not a finite number")
    return value


def _misuse(text: str, option: str, why: str) -> UsageError:
    return UsageError(f"{text!r} in {option}: {why}.")
