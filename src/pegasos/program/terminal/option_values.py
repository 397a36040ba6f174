"""Parse the options of train and tune into settings of models."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from pegasos.engine.runtime.memory import parse_bytes
from pegasos.learners.catalogue import MODELS, ONE_VS_ONE, ONE_VS_REST
from pegasos.program.errors import UsageError
from pegasos.program.tables.messages import near
from pegasos.program.terminal.grammar import parse_counts, parse_kernels, parse_numbers
from pegasos.program.terminal.options import LearningOptions
from pegasos.program.terminal.reproduction import option_flag

_SAMPLINGS = ("permutation", "fixed-permutation", "uniform")


def grids(learning: LearningOptions, rows: int, classes: Any = None) -> dict[str, list[Any]]:
    """Return the values of each given option.

    Parameters
    ----------
    learning : LearningOptions
        The options.
    rows : int
        Number of training rows, which relates C to λ.
    classes : array-like, optional
        Classes of the data. Before data are read there are none, and class weights are not checked.

    Returns
    -------
    dict
        Values by setting.
    """
    if learning.lam is not None and learning.cost is not None:
        raise UsageError("give --lam or --C, not both: C = 1/(λ m).")
    if learning.n_iter is not None and learning.epochs is not None:
        raise UsageError("give --n-iter (steps) or --epochs (passes), not both.")
    parsers: dict[str, Callable[[Any], list[Any]]] = {
        "kernel": parse_kernels,
        "lam": lambda text: [_positive(value, "--lam") for value in parse_numbers(text, "--lam")],
        "n_iter": lambda text: parse_counts(text, "--n-iter"),
        "epochs": lambda text: parse_counts(text, "--epochs"),
        "average": lambda text: [_average(part) for part in text.split(",")],
        "class_weight": lambda text: _class_weights(text, classes),
        "batch_size": lambda size: [size],
        "sampling": lambda name: [name],
        "multiclass": lambda text: [_multiclass(part.strip()) for part in text.split(",")],
        "projection": lambda flag: [flag],
        "tol": lambda gap: [_positive(gap, "--tol")],
    }
    if learning.sampling not in (None, *_SAMPLINGS):
        raise UsageError(
            f"--sampling must be {' or '.join(_SAMPLINGS)}, got {learning.sampling!r}."
        )
    given = {
        name: value
        for name, value in vars(learning).items()
        if value is not None and value is not False and value != []
    }
    found = {name: parse(given[name]) for name, parse in parsers.items() if name in given}
    if learning.cost is not None:
        costs = [_positive(value, "--C") for value in parse_numbers(learning.cost, "--C")]
        found["lam"] = [_positive(1 / (cost * rows), "λ = 1/(C m)") for cost in costs]
    return found


def _multiclass(name: str) -> str:
    if name not in (ONE_VS_REST, ONE_VS_ONE):
        raise UsageError(f"--multiclass must be {ONE_VS_REST} or {ONE_VS_ONE}, got {name!r}.")
    return name


def check(
    models: Sequence[str], learning: LearningOptions, memory: str | None
) -> dict[str, list[Any]]:
    """Validate the options before data are read, and return their values.

    λ is computed from C for a single row.
    """
    given = grids(learning, rows=1)
    for model in models:
        if model not in MODELS:
            known = f"there are {', '.join(MODELS)} (see `pegasos models`)"
            raise UsageError(f"there is no model {model!r}; {known}.{near(model, MODELS)}")
    refuse_unknown(models, given)
    expand = parse_expand(learning.expand)
    landmarks = parse_landmarks(learning.landmarks)
    if landmarks != [None] and None in given.get("kernel", []):
        raise UsageError(
            "--landmarks is for a kernel, such as --kernel gaussian: a linear predictor needs none."
        )
    if learning.scale not in ("auto", "none", "normalize", "standardize", "robust"):
        raise UsageError(
            f"--scale must be none, normalize, standardize or robust, got {learning.scale!r}."
        )
    if learning.drop_outliers is not None:
        _positive(learning.drop_outliers, "--drop-outliers")
    check_memory(memory)
    return {**given, "expand": expand, "landmarks": landmarks}


def single(values: dict[str, list[Any]]) -> dict[str, Any]:
    """Return the only value of each setting; several values are an error in train."""
    for name, each in values.items():
        if len(each) > 1:
            raise UsageError(
                f"{option_flag(name)} has {len(each)} values, and train takes one: `pegasos tune` compares several."
            )
    return {name: each[0] for name, each in values.items()}


def refuse_unknown(models: Sequence[str], values: dict[str, Any]) -> list[str]:
    """Raise UsageError for a setting that none of the models has.

    Returns
    -------
    list of str
        Notes on settings that only some of the models have.
    """
    notes = []
    for name in values:
        without = [model for model in models if name not in MODELS[model][0].options]
        if without and len(without) == len(models):
            having = ", ".join(each for each in MODELS if name in MODELS[each][0].options)
            raise UsageError(
                f"{option_flag(name)} means nothing to {', '.join(without)}; it is for {having} (choose with -m)."
            )
        if without:
            having = ", ".join(model for model in models if model not in without)
            notes.append(
                f"{option_flag(name)} is for {having}; it means nothing to {', '.join(without)}."
            )
    return notes


def check_memory(memory: str | None) -> None:
    """Raise UsageError if --memory is not a size."""
    try:
        parse_bytes(1 if memory is None else memory)
    except ValueError:
        raise UsageError(
            f"--memory must be a size such as 2GB or 512MiB, got {memory!r}."
        ) from None


def parse_expand(text: str | None) -> list[int | None]:
    """Parse degrees of polynomial expansion; None for no expansion."""
    return (
        [None]
        if text is None
        else [degree if degree > 1 else None for degree in parse_counts(text, "--expand")]
    )


def parse_landmarks(text: str | None) -> list[int | None]:
    """Parse numbers of landmarks; None for the exact kernel."""
    return [None] if text is None else list(parse_counts(text, "--landmarks"))


def parse_class_weight(text: str, classes: Any) -> Any:
    """Parse "balanced" or weights by class name, into weights by class."""
    if text == "balanced":
        return text
    known = {str(label): label for label in classes}
    weights = {}
    for part in text.split(","):
        name, separator, value = part.rpartition("=")
        if not separator or name not in known:
            there = ", ".join(itertools.islice(known, 10)) + (" ..." if len(known) > 10 else "")
            raise UsageError(
                f"{part!r} in --class-weight: write balanced, or CLASS=WEIGHT,... with classes {there}."
            )
        weights[known[name]] = _positive(
            parse_numbers(value, "--class-weight")[0], "--class-weight"
        )
    return weights


def _class_weights(text: str, classes: Any) -> list[Any]:
    """Parse "none" and "balanced", or one table of weights.

    Before data are read there are no classes, and the text is returned.
    """
    parts = text.split(",")
    if all(part in ("none", "balanced") for part in parts):
        return list(dict.fromkeys(None if part == "none" else part for part in parts))
    return [text if classes is None else parse_class_weight(text, classes)]


def _positive(value: float, option: str) -> float:
    if not 0 < value < math.inf:
        raise UsageError(f"{option} must be a finite number above 0, got {value:g}.")
    return value


def _average(text: str) -> bool | float:
    if text.lower() in ("no", "false", "0", "yes", "true", "1"):
        return text.lower() in ("yes", "true", "1")
    value = parse_numbers(text, "--average")[0]
    if not 0 < value < 1:
        raise UsageError(f"--average must be no, yes or a share between 0 and 1, got {text!r}.")
    return value
