"""Text forms of option values: numbers such as 1e-6:1e-2:9, kernels such as gaussian:0.1s:10s:7."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pegasos.program.errors import UsageError
from pegasos.program.tables.messages import near

if TYPE_CHECKING:
    from pegasos.engine.kernels.base import Kernel

#: Maximum number of values of an option, and largest integer parameter of a kernel.
_MOST = _HIGHEST_COUNT = 1000
_LARGEST_COUNT = 10**12
#: A comma before a word separates kernels, others separate values.
_NEXT_KERNEL = re.compile(r",(?=[^\W\d_])(?!(?:scale|inf|nan)(?:,|$))")
#: A colon before NAME= separates parameters, others belong to values.
_NEXT_PARAMETER = re.compile(r":(?=\w+=)")


def parse_numbers(text: str, option: str) -> list[float]:
    """Parse numbers as a,b,c or lo:hi:count; the latter is spaced logarithmically.

    >>> parse_numbers("1,5,20", "--epochs"), parse_numbers("1e-4:1e-2:3", "--lam")
    ([1.0, 5.0, 20.0], [0.0001, 0.001, 0.01])
    """
    parts = text.split(":")
    if len(parts) == 1:
        return [_number(part, text, option) for part in text.split(",")]
    if len(parts) != 3:
        raise _misuse(text, option, "write a,b,c or lo:hi:count")
    low, high, count = (_number(part, text, option) for part in parts)
    if count != int(count) or not 1 <= count <= _MOST:
        why = f"the count {parts[2]!r} must be a whole number from 1 to {_MOST}"
        raise _misuse(text, option, why)
    if not 0 < low < high:
        raise _misuse(text, option, "lo:hi:count needs 0 < lo < hi")
    if count < 2:
        raise _misuse(text, option, "lo:hi:count needs a count of at least 2")
    begin, end = math.log(low), math.log(high)
    if end - begin < 1e-9 * count:
        raise _misuse(text, option, "lo and hi are too close to each other")
    steps = (begin + (end - begin) * place / (count - 1) for place in range(1, int(count) - 1))
    return [low, *(float(f"{math.exp(step):.12g}") for step in steps), high]


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
    each = (part for text in texts for part in _NEXT_KERNEL.split(text))
    return list(dict.fromkeys(kernel for part in each for kernel in _parse_kernel(part)))


def _parse_kernel(text: str) -> list[Kernel | None]:
    """Parse the text of one kernel into a kernel for each listed value."""
    from pegasos.engine.kernels.standard import ALIASES, KERNELS, Linear

    head, *named = _NEXT_PARAMETER.split(text)
    word, _, values = head.lower().partition(":")
    given = dict(each.split("=", 1) for each in named)
    if len(given) < len(named):
        raise _misuse(text, "--kernel", "a parameter is given twice")
    if word == "rbf" and values:
        raise _misuse(
            text,
            "--kernel",
            f"specify which number that is: gaussian:gamma={values} for exp(-γ|x-z|²), as in "
            f"scikit-learn, or gaussian:{values} for a variance, exp(-|x-z|²/(2v))",
        )
    name = ALIASES.get(word, word)
    if name not in KERNELS:
        why = f"there is no kernel {name!r}; there are {', '.join(KERNELS)}"
        raise UsageError(f"{text!r} in --kernel: {why}.{near(name, KERNELS)}")
    kind = KERNELS[name]
    known = [each.name for each in dataclasses.fields(kind) if each.name != kind.main]
    for each in given:
        if each not in (*known, *kind.alternatives):
            listed = ", ".join((*known, *kind.alternatives))
            why = f"unknown {each!r}" + (f"; known is {listed}" if listed else "")
            if each in (kind.main, "width", "sigma"):
                why += f"; write {name}:V for the {kind.main} V"
            raise _misuse(text, "--kernel", why)
    if values and kind.main is None:
        raise _misuse(text, "--kernel", f"the {name} kernel has no values")
    if kind is Linear:
        return [None]
    made = [kind()]
    if values:
        made = [kind(**{str(kind.main): value}) for value in _main_values(kind, values, text)]
    for alternative, make in kind.alternatives.items():
        if alternative in given:
            if values:
                raise _misuse(text, "--kernel", f"give {kind.main}s or {alternative}=..., not both")
            numbers = parse_numbers(given.pop(alternative), "--kernel")
            made = [make(_positive(number, text)) for number in numbers]
    as_in_svc = {"coef0": 0.0, "gamma": "scale"} if word == "poly" else {}
    fixed = as_in_svc | {
        each: value if value == "scale" else _number(value, text, "--kernel")
        for each, value in given.items()
    }
    return [kernel.set_params(**fixed) for kernel in made]


def _main_values(kind: type[Kernel], values: str, text: str) -> Sequence[float | str]:
    """Parse the values of a kernel's main parameter.

    They are integers, numbers or, for distance kernels, also multiples of the data's scale.
    """
    from pegasos.engine.kernels.base import DistanceKernel

    if kind.main in kind.counts:
        counts = parse_counts(values, "--kernel")
        if max(counts) > _HIGHEST_COUNT:
            why = f"the {kind.main} {max(counts):g} is above {_HIGHEST_COUNT}"
            raise _misuse(text, "--kernel", why)
        return counts
    if not issubclass(kind, DistanceKernel):
        return parse_numbers(values, "--kernel")
    if ":" not in values:
        return [part if part == "scale" else _multiple(part, text) for part in values.split(",")]
    relative = values.count("s:") == 2
    if "s" in values and not relative:
        why = "both ends are multiples of the data's scale, such as 0.1s:10s:7, or none is"
        raise _misuse(text, "--kernel", why)
    numbers = parse_numbers(values.replace("s:", ":"), "--kernel")
    return [f"{each:g} scale" if relative else _positive(each, text) for each in numbers]


def _multiple(part: str, text: str) -> float | str:
    """Parse a number, or a multiple of the data's scale such as 0.5s."""
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


def option_flag(setting: str) -> str:
    """Return the option of a setting."""
    return f"--{setting.replace('_', '-')}"


def kernel_option(kernel: Any) -> str | None:
    """Return a kernel as a value of --kernel; None if no value expresses it.

    >>> from pegasos.kernels import Gaussian, Polynomial
    >>> kernel_option(Gaussian(2.0)), kernel_option(Polynomial(3, coef0=5.0)), kernel_option(None)
    ('gaussian:2', 'polynomial:3:coef0=5', 'linear')
    """
    from pegasos.engine.kernels.base import DistanceKernel, Kernel
    from pegasos.engine.kernels.standard import KERNELS

    if kernel is None:
        return "linear"
    if not isinstance(kernel, Kernel) or KERNELS.get(kernel.name) is not type(kernel):
        return None
    params, usual = kernel.get_params(), type(kernel)().get_params()
    texts = [kernel.name]
    if kernel.main is not None:
        main = value_option(params.pop(kernel.main))
        relative = isinstance(kernel, DistanceKernel) and kernel.factor is not None
        texts.append(f"{kernel.factor:.12g}s" if relative else main)  # type: ignore[attr-defined]
    texts += [
        f"{name}={value_option(each)}" for name, each in params.items() if each != usual[name]
    ]
    return ":".join(texts)


def value_option(value: Any) -> str:
    """Return the value of a setting as an option takes it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.12g}" if isinstance(value, float) else str(value)
