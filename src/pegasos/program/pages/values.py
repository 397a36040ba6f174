"""Texts of numbers, kernels and settings on axes, in tables and in sentences."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from pegasos.engine.kernels.base import DistanceKernel, Kernel
from pegasos.engine.kernels.standard import KERNELS
from pegasos.search.settings import FrozenDict, Opaque, Part, Setting

_TITLES = {"lam": "λ", "n_iter": "steps (T)", "expand": "degree of expansion", "param": "parameter"}
#: Spaces at which no line may break.
_JOINED = re.compile(r" (?=[=×%])|(?<=[=×±]) |(?<=\(C) ")


def title_of(name: str) -> str:
    """Return the title of a parameter on an axis."""
    return _TITLES.get(name, name)


def named_values(settings: list[Setting]) -> list[dict[str, Any]]:
    """Return the parameters of each setting that tables show.

    These are model, kernel, λ, the stopping criterion, and every other parameter that differs
    between settings of one model.
    """
    found = [setting.named() for setting in settings]
    names = {name for each in found for name in each}
    seen = {(name, setting.model, setting.get(name)) for setting in settings for name in names}
    counts = Counter((name, model) for name, model, _ in seen)
    varying = {name for (name, _), many in counts.items() if many > 1}
    answer = []
    for setting, named in zip(settings, found, strict=True):
        shown = {"model", "kernel", "lam", *varying}
        # Learners with a tolerance stop by their certificate, and their stop is only a limit.
        if setting.stop is not None and setting.declaration.tolerance is None:
            shown.add(setting.stop.name)
        order = [*(name for name in named if name in shown), *sorted(shown - set(named))]
        values = {name: setting.get(name) for name in order}
        for name, value in values.items():
            if isinstance(value, Part) and value.name == "PolynomialFeatures":
                values[name] = value.get("degree", 2)
        answer.append(values)
    return answer


def is_number(value: Any) -> bool:
    """Tell whether a value has a place on a numeric axis."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def value_text(value: Any, digits: int = 3) -> str:
    """Return the text of a parameter value; a dash for a parameter that a setting lacks."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number_text(value, digits)
    if isinstance(value, Kernel):
        return kernel_text(value)
    if isinstance(value, Part):
        params = (f"{name}={value_text(each)}" for name, each in value.params)
        return " ".join([value.name, *params])
    if isinstance(value, FrozenDict):
        return ", ".join(f"{value_text(name)}: {value_text(each)}" for name, each in value.pairs)
    if isinstance(value, tuple):
        return ", ".join(map(value_text, value))
    return value.text if isinstance(value, Opaque) else str(value)


def number_text(value: float, digits: int = 3) -> str:
    """Return a number with few digits, and with an exponent below 0.001 and from 100,000 on.

    >>> [number_text(value) for value in (1e-5, 0.0001, 2.5e-7, 0.001, 10.0, 0.0, 1004.0, 1e6)]
    ['1e-5', '1e-4', '2.5e-7', '0.001', '10', '0', '1000', '1e6']
    """
    if 10**digits <= abs(value) < 1e5:
        return f"{float(f'{value:.{digits}g}'):.0f}"
    text = f"{value:.{digits - 1}e}" if 0 < abs(value) < 0.001 else f"{value:.{digits}g}"
    mantissa, mark, power = text.partition("e")
    return f"{float(mantissa):.{digits}g}e{int(power)}" if mark else text


def kernel_text(kernel: Any) -> str:
    """Return the name of a kernel, its main parameter, and others that differ from the default.

    >>> from pegasos.kernels import Gaussian, Polynomial
    >>> kernel_text(Gaussian(2.0)), kernel_text(Polynomial(2, coef0=5.0))
    ('gaussian, variance 2', 'polynomial, degree 2, coef0 5')
    >>> kernel_text(Gaussian("0.5 scale")), kernel_text(None)
    ("gaussian, 0.5 × data's scale", 'linear')
    """
    if not isinstance(kernel, Kernel):
        return "linear" if kernel is None else value_text(kernel)
    if KERNELS.get(kernel.name) is not type(kernel):
        return repr(kernel)
    if kernel.main is None:
        return f"{kernel.name} kernel"
    usual = type(kernel)().get_params()
    parts = [kernel.name, f"{kernel.main} {value_text(getattr(kernel, kernel.main), 6)}"]
    if isinstance(kernel, DistanceKernel) and kernel.factor is not None:
        parts[1] = f"{kernel.factor:g} × data's scale"
    for name, value in kernel.get_params().items():
        if name != kernel.main and value != usual[name]:
            parts.append(f"{name} {value_text(value, 6)}")
    return ", ".join(parts)


def cost_text(cost: float | None) -> str:
    """Return the C beside a λ, if it is known."""
    return "" if cost is None else f" (C {number_text(cost)})"


def setting_text(values: dict[str, Any], cost: float | None = None) -> str:
    """Return a setting in one line, texts before numbers."""
    parts = []
    for name, value in sorted(values.items(), key=lambda each: is_number(each[1])):
        if value is not None:
            text = value_text(value) + (cost_text(cost) if name == "lam" else "")
            title = "" if name in ("model", "kernel") else f"{title_of(name).split(' ')[0]} = "
            parts.append(title + text)
    return unbroken(", ".join(parts))


def unbroken(text: str) -> str:
    r"""Join parts that belong together, as in λ = 1e-8 (C 7), with spaces that do not break.

    >>> unbroken("λ = 1e-8 (C 7): 3 %")
    'λ\xa0=\xa01e-8 (C\xa07): 3\xa0%'
    """
    return _JOINED.sub("\u00a0", text)


def count(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> count(1, "row"), count(2000, "class")
    ('1 row', '2,000 classes')
    """
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{number:,} {noun if number == 1 else plural}"


def duration(seconds: float | None) -> str:
    """Return a time in seconds, or in minutes from two minutes on."""
    if seconds is None:
        return ""
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"
