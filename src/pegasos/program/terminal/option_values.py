"""Values of options: settings of models, metrics and thresholds, checked before data are read."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.engine.walk.draws import SAMPLINGS
from pegasos.learners.catalogue import MODELS, ONE_VS_ONE, ONE_VS_REST
from pegasos.metrics import METRICS, Metric
from pegasos.program.errors import UsageError
from pegasos.program.pipelines import SCALES
from pegasos.program.tables.labels import label_text, label_texts
from pegasos.program.tables.messages import listed, near
from pegasos.program.terminal.grammar import option_flag, parse_counts, parse_kernels, parse_numbers
from pegasos.program.terminal.options import JudgingOptions, LearningOptions
from pegasos.search.decisions import AIMS, WISHES, Aim

_INTERCEPTS = {"yes": True, "no": False, "free": "free"}
#: Scikit-learn scorers that equal one of our metrics, which have baselines and test estimates.
_SCORERS = {
    kind.in_scikit_learn.removeprefix("1 - ").removeprefix("-"): name
    for name, kind in METRICS.items()
    if name != "cost"
}

# -- settings of models ---------------------------------------------------------------------------


def grids(learning: LearningOptions, rows: int, classes: Any = None) -> dict[str, list[Any]]:
    """Return the values of each given setting, with λ for a C and this number of training rows.

    Without classes, as before data are read, names in class weights are not checked.
    """
    if learning.lam is not None and learning.cost is not None:
        raise UsageError("give --lam or --C, not both: C = 1/(λ m).")
    if learning.n_iter is not None and learning.epochs is not None:
        raise UsageError("give --n-iter (steps) or --epochs (passes), not both.")
    parsers: dict[str, Callable[[Any], list[Any]]] = {
        "kernel": parse_kernels,
        "lam": lambda text: _positive_numbers(text, "--lam"),
        "n_iter": lambda text: parse_counts(text, "--n-iter"),
        "epochs": lambda text: parse_counts(text, "--epochs"),
        "average": lambda text: [_average(part) for part in text.split(",")],
        "class_weight": lambda text: _class_weights(text, classes),
        # A degree of 1 is no expansion.
        "expand": lambda text: [d if d > 1 else None for d in parse_counts(text, "--expand")],
        "landmarks": lambda text: parse_counts(text, "--landmarks"),
        "sampling": lambda name: [_one_of(name, SAMPLINGS, "--sampling")],
        "intercept": lambda name: [_INTERCEPTS[_one_of(name, _INTERCEPTS, "--intercept")]],
        "multiclass": lambda text: [
            _one_of(part.strip(), (ONE_VS_REST, ONE_VS_ONE), "--multiclass")
            for part in text.split(",")
        ],
    }
    for single in ("batch_size", "learning_rate", "projection", "tol"):
        parsers[single] = lambda value: [value]
    found = {}
    for name, parse in parsers.items():
        value = getattr(learning, name)
        if not (value is None or value is False or value == []):
            found[name] = parse(value)
    if learning.cost is not None:
        strengths = [1 / (cost * rows) for cost in _positive_numbers(learning.cost, "--C")]
        found["lam"] = [_positive(each, "λ = 1/(C m)") for each in strengths]
    return found


def check(models: Sequence[str], learning: LearningOptions) -> dict[str, list[Any]]:
    """Validate the options before data are read, and return their values, with λ for one row."""
    given = grids(learning, rows=1)
    for model in models:
        if model == "logistic":
            raise UsageError(
                "there are two logistic models: sdca-logistic finds the exact optimum, "
                "pegasos-logistic takes stochastic steps."
            )
        if model not in MODELS:
            known = f"there are {', '.join(MODELS)} (see `pegasos models`)"
            raise UsageError(f"there is no model {model!r}; {known}.{near(model, MODELS)}")
    ignored_settings(models, given)
    for model in models:
        declaration = MODELS[model][0]
        for name, values in declaration.translations.items():
            for value in given.get(name, []):
                _one_of(value, values, f"{option_flag(name)} of {model}")
        if "free" in given.get("intercept", []) and not declaration.free_intercept:
            able = ", ".join(name for name, (each, _) in MODELS.items() if each.free_intercept)
            raise UsageError(f"--intercept free is for {able}; {model} takes yes or no.")
    if learning.landmarks is not None and None in given.get("kernel", []):
        raise UsageError(
            "--landmarks approximates a kernel, such as --kernel gaussian, not linear."
        )
    _one_of(learning.scale, ("auto", *SCALES), "--scale")
    return given


def single(values: dict[str, list[Any]]) -> dict[str, Any]:
    """Return the only value of each setting; several values are an error in train."""
    for name, each in values.items():
        if len(each) > 1:
            raise UsageError(
                f"{option_flag(name)} has {len(each)} values, and train takes one: "
                "`pegasos tune` compares several."
            )
    return {name: each[0] for name, each in values.items()}


def ignored_settings(models: Sequence[str], values: dict[str, Any]) -> list[str]:
    """Return notes on settings that some of the models lack; refuse those that all of them lack."""
    notes = []
    for name in values:
        able = [each for each in MODELS if name in MODELS[each][0].options]
        if not able:  # a setting of the steps before the learner
            continue
        without = [model for model in models if model not in able]
        if models and len(without) == len(models):
            raise UsageError(
                f"{option_flag(name)} does not apply to {', '.join(models)}; "
                f"it is for {', '.join(able)} (choose with -m)."
            )
        if without:
            notes.append(f"{option_flag(name)} is ignored by {', '.join(without)}.")
    return notes


def parse_class_weight(text: str, classes: Any) -> Any:
    """Parse "balanced" or weights by class name, into weights by class."""
    if text == "balanced":
        return text
    known = {str(label): label for label in classes}
    weights = {}
    for part in text.split(","):
        name, separator, value = part.rpartition("=")
        if not separator or name not in known:
            raise UsageError(
                f"{part!r} in --class-weight: write balanced, or CLASS=WEIGHT,... "
                f"with classes {listed(known, 10)}."
            )
        weights[known[name]] = _positive_numbers(value, "--class-weight")[0]
    return weights


def _class_weights(text: str, classes: Any) -> list[Any]:
    """Parse "none" and "balanced", or one table of weights if classes are known."""
    parts = text.split(",")
    if all(part in ("none", "balanced") for part in parts):
        return list(dict.fromkeys(None if part == "none" else part for part in parts))
    return [text if classes is None else parse_class_weight(text, classes)]


def _positive(value: float, option: str) -> float:
    if not 0 < value < math.inf:
        raise UsageError(f"{option} must be a finite number above 0, got {value:g}.")
    return value


def _positive_numbers(text: str, option: str) -> list[float]:
    return [_positive(value, option) for value in parse_numbers(text, option)]


def _average(text: str) -> bool | float:
    if text.lower() in ("no", "false", "0", "yes", "true", "1"):
        return text.lower() in ("yes", "true", "1")
    value = parse_numbers(text, "--average")[0]
    if not 0 < value < 1:
        raise UsageError(f"--average must be no, yes or a share between 0 and 1, got {text!r}.")
    return value


def _one_of(name: str, known: Any, option: str) -> str:
    if name not in known:
        *rest, last = (each for each in known if each != "auto")
        raise UsageError(f"{option} must be {', '.join(rest)} or {last}, got {name!r}.")
    return name


# -- metrics and thresholds -----------------------------------------------------------------------


def check_metric(judging: JudgingOptions, threshold: str | None = None) -> str:
    """Validate metric and --threshold before data are read, and return the metric's name."""
    if threshold is not None:
        _parse_aim(threshold)
    name = judging.metric or ("cost" if judging.costs else "error")
    name = _SCORERS.get(name, name)
    if judging.costs is not None and name != "cost":
        raise UsageError(f"--error-cost is for the metric cost, not for {name}.")
    if name == "cost" and judging.costs is None:
        raise UsageError(
            "--metric cost needs --error-cost 'true>predicted:cost,...' or a CSV file of costs."
        )
    if name not in METRICS:
        from sklearn.metrics import get_scorer_names

        if name not in get_scorer_names():
            hint = near(name, [*METRICS, *get_scorer_names()])
            raise UsageError(
                f"--metric {name!r} is neither one of {', '.join(METRICS)} "
                f"nor a scorer of scikit-learn.{hint}"
            )
    one_class = name in METRICS and (METRICS[name].one_class or threshold is not None)
    if judging.positive is not None and not one_class:
        able = ", ".join(each for each, kind in METRICS.items() if kind.one_class)
        raise UsageError(f"--positive is for metrics of one class ({able}), not for {name}.")
    return name


def make_metric(judging: JudgingOptions, y: Any, threshold: str | None = None) -> Metric | None:
    """Return the metric for a table with these labels; None for a scorer of scikit-learn."""
    name = check_metric(judging, threshold)
    if name not in METRICS:
        return None
    classes = np.unique(y)
    known = dict(zip(label_texts(classes).tolist(), classes.tolist(), strict=True))

    def label(text: str, option: str) -> Any:
        found = label_text(text)
        if found not in known:
            raise UsageError(
                f"{option}: there is no class {text!r}; there are {listed(known, 10)}."
                f"{near(found, list(known))}"
            )
        return known[found]

    costs = tuple(
        (label(true, "--error-cost"), label(predicted, "--error-cost"), cost)
        for true, predicted, cost in ([] if judging.costs is None else parse_costs(judging.costs))
    )
    positive = None if judging.positive is None else label(judging.positive, "--positive")
    metric = Metric(name, positive if METRICS[name].one_class else None, costs)
    try:
        return metric.settled(y)
    except ValueError as error:
        raise UsageError(f"--metric {name}: {error}") from None


def make_aim(threshold: str, judging: JudgingOptions, y: Any) -> Aim:
    """Return the criterion for choosing a threshold, for a table with these labels."""
    name, least = _parse_aim(threshold)
    if (many := len(np.unique(y))) != 2:
        raise UsageError(f"--threshold is for two classes, and there are {many}.")
    one_class = make_metric(replace(judging, metric="f1", costs=None), y)
    assert one_class is not None
    if name in WISHES:
        return Aim(one_class, name, least)
    metric = make_metric(replace(judging, metric=name, positive=None), y)
    assert metric is not None
    return Aim(replace(metric, positive=one_class.positive))


def _parse_aim(threshold: str) -> tuple[str, float]:
    """Parse --threshold: a metric, or a minimum precision or recall."""
    name, sign, value = threshold.partition("=")
    if name in AIMS and not sign:
        return name, 0.0
    if name in WISHES and sign:
        least = parse_numbers(value, "--threshold")[0]
        if 0 < least <= 1:
            return name, least
    form = f"{', '.join(AIMS)}, precision=0.9 or recall=0.8"
    raise UsageError(f"--threshold {threshold!r}: write {form}.")


def parse_costs(text: str) -> list[tuple[str, str, float]]:
    """Parse costs by true and predicted class, from text or a CSV file of these three columns.

    >>> parse_costs("fraud>ok:20,ok>fraud:1")
    [('fraud', 'ok', 20.0), ('ok', 'fraud', 1.0)]
    """
    form = (
        "write true>predicted:cost, several separated by commas, "
        "or name a CSV file with the columns true, predicted, cost"
    )
    if ">" in text:
        pairs = [part.rpartition(":") for part in text.split(",")]
        lines = [[*pair.partition(">")[::2], cost] for pair, _, cost in pairs]
    else:
        try:
            with open(text, encoding="utf-8-sig", newline="") as file:
                lines = [line for line in csv.reader(file) if line]
        except OSError as error:
            raise UsageError(f"--error-cost {text!r}: {error.strerror or error}; {form}.") from None
        lines = lines[1:] if lines and lines[0][0].strip() == "true" else lines
    found = []
    for line in lines:
        cells = [cell.strip() for cell in line]
        if len(cells) != 3 or not all(cells):
            raise UsageError(f"{','.join(cells)!r} in --error-cost: {form}.")
        true, predicted, cost = cells[0], cells[1], parse_numbers(cells[2], "--error-cost")[0]
        if cost < 0 or true == predicted:
            raise UsageError(
                f"{','.join(cells)!r} in --error-cost: a cost must be >= 0, "
                "and correct predictions cost nothing."
            )
        found.append((true, predicted, cost))
    if not found:
        raise UsageError(f"--error-cost {text!r} lists no costs; {form}.")
    return found
