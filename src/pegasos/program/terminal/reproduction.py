"""Commands and Python code that train a setting again."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.kernels.standard import as_kernel
from pegasos.learners.catalogue import MODELS
from pegasos.nystroem import Nystroem
from pegasos.program.terminal.grammar import kernel_option, option_flag, value_option
from pegasos.search.settings import FrozenDict, Opaque, Part, Setting

#: Parameters of Nyström features that have an option.
_NYSTROEM = {"kernel", "landmarks", "random_state"}
#: Scalers that have an option.
_SCALERS = {"StandardScaler": "standardize", "MinMaxScaler": "normalize", "RobustScaler": "robust"}


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
    parts += [] if setting.C is None else ["--C", value_option(setting.C)]
    for parameter, value in values.items():
        name = names[parameter]
        translated = setting.declaration.translations.get(name, {})
        texts = [text for text, each in translated.items() if each == value] or [_text(value)]
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
    >>> next_commands("runs/my.model", "my.csv", again="pegasos tune my.csv --force")[0]
    'pegasos tune my.csv --metric balanced-error --force'
    """
    data = shlex.quote("DATA" if source in (None, "-") else str(source))
    file = shlex.quote(model)
    again = "" if again is None else again.replace(" --force", "")
    return [
        *([f"{again} --metric balanced-error --force"] if again else []),
        f"pegasos show {file}",
        f"pegasos evaluate {file} {data}",
        f"pegasos predict {file} NEW.csv -o labels.csv",
    ]


def _text(value: Any) -> str:
    """Return the value of a setting as its option takes it; class weights as A=1,B=5."""
    if isinstance(value, FrozenDict):
        return ",".join(f"{name}={value_option(each)}" for name, each in value.pairs)
    return value_option(value)


def _preparation(setting: Setting) -> list[str] | None:
    """Return scaling, expansion and outlier removal as options; None if none express them."""
    rest = []
    for _, part in setting.preparation:
        if part.name == "ColumnTransformer" or part.name in _SCALERS:
            continue  # encodes categories and missing values, or scales
        if part.name == "PolynomialFeatures" and part.get("include_bias", True) is False:
            rest += ["--expand", str(part.get("degree", 2))]
        elif part.name == "Nystroem" and set(dict(part.params)) <= _NYSTROEM:
            rest += ["--landmarks", str(part.get("landmarks", Nystroem().landmarks))]
        elif part.name == "DropOutliers":
            rest += ["--drop-outliers", value_option(part.get("threshold", 3.0))]
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


def nystroem_of(setting: Setting) -> Nystroem | None:
    """Return the Nyström features of a setting, or None."""
    steps = (part for _, part in setting.preparation if part.name == "Nystroem")
    part = next(steps, None)
    return None if part is None else Nystroem(**dict(part.params))


def expansion_degree(setting: Setting) -> int | None:
    """Return the degree of polynomial expansion, or None."""
    steps = (part for _, part in setting.preparation if part.name == "PolynomialFeatures")
    return next((part.get("degree", 2) for part in steps), None)


def effective_kernel(setting: Setting) -> str | None:
    """Return the kernel of the learner, or of its Nyström features, as a value of --kernel."""
    features = nystroem_of(setting)
    return kernel_option(setting.kernel if features is None else as_kernel(features.kernel))


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
    estimator = Part(f"pegasos.{declaration.learner}", tuple(params.items()))
    steps: list[tuple[str, Part]] = []
    for name, part in reversed(setting.preparation):
        if part.name == "DropOutliers":
            inner = ("estimator", _pipeline(steps, estimator))
            estimator, steps = Part(part.path, (inner, *part.params)), []
        else:
            steps.insert(0, (name, part))
    imports: dict[str, set[str]] = {}
    text = _code(_pipeline(steps, estimator), imports)
    lines = [f"from {home} import {', '.join(sorted(imports[home]))}" for home in sorted(imports)]
    return "\n".join([*lines, "", f"model = {text}", "model.fit(X, y)"])


def _pipeline(steps: list[tuple[str, Part]], learner: Part) -> Part:
    """Return a pipeline of steps and a learner, or the learner alone."""
    listed = (*steps, ("learner", learner))
    return Part("sklearn.pipeline.Pipeline", (("steps", listed),)) if steps else learner


def _code(value: Any, imports: dict[str, set[str]]) -> str:
    """Return a value as a Python expression, and add the names that it imports by module."""
    if isinstance(value, Part):
        public = takewhile(lambda each: not each.startswith("_"), value.path.split(".")[:-1])
        imports.setdefault(".".join(public), set()).add(value.name)
        given = (f"{name}={_code(each, imports)}" for name, each in value.params)
        return f"{value.name}({', '.join(given)})"
    if isinstance(value, FrozenDict):
        pairs = (f"{_code(name, imports)}: {_code(each, imports)}" for name, each in value.pairs)
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, tuple):  # a step of a pipeline, or a list
        is_step = any(isinstance(each, Part) for each in value)
        items = ", ".join(_code(each, imports) for each in value)
        return f"({items})" if is_step else f"[{items}]"
    if isinstance(value, Kernel):
        imports.setdefault("pegasos.kernels", set()).add(type(value).__name__)
    if isinstance(value, Opaque):
        home, _, name = value.text.rpartition(".")
        if name.isidentifier() and hasattr(sys.modules.get(home), name):
            imports.setdefault(home, set()).add(name)
            return name
    return repr(value)
