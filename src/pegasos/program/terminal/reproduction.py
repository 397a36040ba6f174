"""Commands and Python code that train a setting again."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from pegasos.engine.kernels.base import DistanceKernel, Kernel
from pegasos.engine.kernels.standard import KERNELS, as_kernel
from pegasos.learners.catalogue import MODELS
from pegasos.search.settings import Opaque, Part, Setting, Table

#: Scalers that have an option.
_SCALERS = {"StandardScaler": "standardize", "MinMaxScaler": "normalize", "RobustScaler": "robust"}


def option_flag(setting: str) -> str:
    """Return the option of a setting."""
    return f"--{setting.replace('_', '-')}"


def command_line(
    setting: Setting, source: str | None, seed: int | None, options: Sequence[str] = ()
) -> str | None:
    """Return the command that trains a setting; None if no options express it.

    >>> from pegasos.kernels import Gaussian
    >>> command_line(Setting("pegasos", Gaussian("0.5 scale"), 1e-4), "my.csv", 0)
    'pegasos train my.csv -m pegasos --kernel gaussian:0.5s --lam 0.0001 --scale none --seed 0'
    """
    kernel, prepared = effective_kernel(setting), _preparation(setting)
    names = {each: name for name, each in setting.declaration.options.items()}
    values = {**({} if setting.lam is None else {"lam": setting.lam}), **dict(setting.options)}
    # The default limit of a learner with a certificate is not repeated.
    if setting.stop is not None and setting.stop.count != setting.declaration.usual_limit:
        values[setting.stop.parameter] = setting.stop.count
    if kernel is None or prepared is None or not set(values) <= set(names):
        return None
    parts = ["pegasos", "train", source or "DATA", "-m", setting.model]
    parts += [] if kernel == "linear" else ["--kernel", kernel]
    parts += [] if setting.C is None else ["--C", _value(setting.C)]
    for parameter, value in values.items():
        name = names[parameter]
        translated = setting.declaration.translations.get(name, {})
        texts = [text for text, each in translated.items() if each == value] or [_value(value)]
        parts += [option_flag(name), *([] if name == "projection" else texts)]
    return shlex.join(
        [*parts, *prepared, *options, *([] if seed is None else ["--seed", str(seed)])]
    )


def next_commands(model: str, source: str | None, again: str | None = None) -> list[str]:
    """Return commands that show, evaluate and use a saved model.

    `again` is the command of a search whose choice never predicts the rare classes: repeating it
    with balanced error then comes first.

    >>> next_commands("runs/my.model", "my.csv")[-1]
    'pegasos predict runs/my.model NEW.csv -o labels.csv'
    >>> next_commands("runs/my.model", "my.csv", again="pegasos tune my.csv")[0]
    'pegasos tune my.csv --metric balanced-error --force'
    """
    data = shlex.quote("DATA" if source in (None, "-") else str(source))
    file = shlex.quote(model)
    first = [] if again is None else [f"{again} --metric balanced-error --force"]
    return [
        *first,
        f"pegasos show {file}",
        f"pegasos evaluate {file} {data}",
        f"pegasos predict {file} NEW.csv -o labels.csv",
    ]


def kernel_option(kernel: Any) -> str | None:
    """Return a kernel as a value of --kernel; None if no value expresses it.

    >>> from pegasos.kernels import Gaussian, Polynomial
    >>> kernel_option(Gaussian(2.0)), kernel_option(Polynomial(3, coef0=5.0)), kernel_option(None)
    ('gaussian:2', 'polynomial:3:coef0=5', 'linear')
    """
    if kernel is None:
        return "linear"
    if not isinstance(kernel, Kernel) or KERNELS.get(kernel.name) is not type(kernel):
        return None
    params, fresh = kernel.get_params(), type(kernel)().get_params()
    texts = [kernel.name]
    if kernel.main is not None:
        relative = isinstance(kernel, DistanceKernel) and kernel.factor is not None
        texts.append(f"{kernel.factor:.12g}s" if relative else _value(params.pop(kernel.main)))  # type: ignore[attr-defined]
        params.pop(kernel.main, None)
    return ":".join(
        [
            *texts,
            *(f"{name}={_value(value)}" for name, value in params.items() if value != fresh[name]),
        ]
    )


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Table):
        return ",".join(f"{name}={_value(each)}" for name, each in value.pairs)
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _preparation(setting: Setting) -> list[str] | None:
    """Return scaling, expansion and outlier removal as options; None if none express them."""
    rest = []
    for _, part in setting.preparation:
        if part.name == "ColumnTransformer" or part.name in _SCALERS:
            continue  # encodes categories and missing values, or scales
        if part.name == "PolynomialFeatures" and part.get("include_bias", True) is False:
            rest += ["--expand", str(part.get("degree", 2))]
        elif part.name == "Nystroem" and {name for name, _ in part.params} <= {
            "kernel",
            "landmarks",
            "random_state",
        }:
            rest += ["--landmarks", str(_of_nystroem(part, "landmarks"))]
        elif part.name == "DropOutliers":
            rest += ["--drop-outliers", _value(part.get("threshold", 3.0))]
        else:
            return None
    return ["--scale", scale_of(setting), *rest]


def scale_of(setting: Setting) -> str:
    """Return the value of --scale for a setting."""
    found = "none"
    for _, part in setting.preparation:
        inner = [getattr(each, "name", "") for _, each, *_ in part.get("transformers", ())]
        found = next((_SCALERS[name] for name in (part.name, *inner) if name in _SCALERS), found)
    return found


def landmarks_of(setting: Setting) -> Part | None:
    """Return the Nyström step of a setting, or None."""
    return _step(setting, "Nystroem")


def expansion_degree(setting: Setting) -> int | None:
    """Return the degree of polynomial expansion, or None."""
    part = _step(setting, "PolynomialFeatures")
    return None if part is None else part.get("degree", 2)


def _step(setting: Setting, name: str) -> Part | None:
    return next((part for _, part in setting.preparation if part.name == name), None)


def _of_nystroem(part: Part, name: str) -> Any:
    """Return a parameter of the Nyström step, or its default."""
    from pegasos.nystroem import Nystroem

    return part.get(name, getattr(Nystroem(), name))


def effective_kernel(setting: Setting) -> str | None:
    """Return the kernel of the learner, or of its Nyström features, as a value of --kernel."""
    part = landmarks_of(setting)
    kernel = setting.kernel if part is None else as_kernel(_of_nystroem(part, "kernel"))
    return kernel_option(kernel)


def kernel_words(setting: Setting) -> str | None:
    """Return the kernel for display, with the number of landmarks."""
    part, kernel = landmarks_of(setting), effective_kernel(setting)
    if part is None or kernel is None:
        return kernel
    return f"{kernel}, {_of_nystroem(part, 'landmarks')} landmarks"


def python_lines(setting: Setting, seed: int | None = None) -> str:
    """Return Python code that trains a setting, with its imports.

    >>> print(python_lines(Setting("sdca", lam=0.01)))
    from pegasos import SDCA
    <BLANKLINE>
    model = SDCA(loss='hinge', lam=0.01)
    model.fit(X, y)
    """
    declaration, model = MODELS[setting.model]
    params = {**model.fixed, **({} if setting.kernel is None else {"kernel": setting.kernel})}
    params |= {} if setting.lam is None else {"lam": setting.lam}
    params |= {} if setting.C is None else {"C": setting.C}
    params |= {} if setting.stop is None else {setting.stop.parameter: setting.stop.count}
    params |= {**dict(setting.options), **({} if seed is None else {"random_state": seed})}
    inner, steps = _call(declaration.learner, list(params.items())), list[str]()
    homes = {
        ("pegasos", declaration.learner),
        *_homes(tuple(params.values())),
        *_homes(setting.preparation),
    }
    for name, part in reversed(setting.preparation):
        if part.name == "DropOutliers":
            inner, steps = (
                _call(
                    "DropOutliers", [("estimator", _Text(_pipeline(steps, inner))), *part.params]
                ),
                [],
            )
        else:
            steps.insert(0, f"({name!r}, {_code(part)})")
    if any(part.name != "DropOutliers" for _, part in setting.preparation):
        homes.add(("sklearn.pipeline", "Pipeline"))
    modules = sorted({home for home, _ in homes})
    lines = [
        f"from {home} import {', '.join(sorted(name for at, name in homes if at == home))}"
        for home in modules
    ]
    return "\n".join([*lines, "", f"model = {_pipeline(steps, inner)}", "model.fit(X, y)"])


class _Text(str):
    """Python code, inserted as it is."""


def _pipeline(steps: list[str], learner: str) -> str:
    return f"Pipeline([{', '.join(steps)}, ('learner', {learner})])" if steps else learner


def _call(name: str, params: Sequence[tuple[str, Any]]) -> str:
    return f"{name}({', '.join(f'{key}={_code(value)}' for key, value in params)})"


def _code(value: Any) -> str:
    """Return a value as Python code."""
    if isinstance(value, _Text):
        return str(value)
    if isinstance(value, Part):
        return _call(value.name, value.params)
    if isinstance(value, Table):
        return "{" + ", ".join(f"{_code(name)}: {_code(each)}" for name, each in value.pairs) + "}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_code, value))}]"
    if isinstance(value, Opaque):
        home = _home(value)
        return repr(value) if home is None else home[1]
    return repr(value)


def _home(value: Opaque) -> tuple[str, str] | None:
    """Return module and name of a function or class with a public name, or None."""
    module, _, name = value.text.rpartition(".")
    return (
        (module, name) if name.isidentifier() and hasattr(sys.modules.get(module), name) else None
    )


def _homes(value: Any) -> Iterator[tuple[str, str]]:
    """Yield module and name of each class in a value."""
    if isinstance(value, Part):
        yield value.home, value.name
        for _, each in value.params:
            yield from _homes(each)
    elif isinstance(value, Kernel):
        yield "pegasos.kernels", type(value).__name__
    elif isinstance(value, Table):
        yield from _homes(value.pairs)
    elif isinstance(value, Opaque) and (home := _home(value)) is not None:
        yield home
    elif isinstance(value, tuple):
        for each in value:
            yield from _homes(each)
