"""The cells of a sweep in words: model, kernel, λ, stop and whatever else the grid varies; and how to train one of them."""

from __future__ import annotations

import math
import shlex
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from pegasos.engine.kernels import Exponential, Gaussian, Laplacian, Polynomial
from pegasos.learners.catalogue import model_of
from pegasos.preprocessing import DropOutliers
from pegasos.search.anatomy import anatomy
from pegasos.search.grid import Cell, make_cells

#: Settings that are told of every learner, in this order, and their names on the command line.
_TOLD = ("kernel", "lam", "n_iter", "epochs", "max_epochs")
_OPTIONS = {
    "lam": "--lam",
    "n_iter": "--n-iter",
    "epochs": "--epochs",
    "max_epochs": "--epochs",
    "batch_size": "--batch-size",
    "sampling": "--sampling",
    "tol": "--tol",
}


def describe(search: Any) -> list[dict[str, Any]]:
    """Each cell with its parameters in words, its value on test (and training) rows, and the value in each fold."""
    results, metric = search.cv_results_, metric_of(search)
    sign = -1.0 if counts_errors(search) else 1.0
    base = 1.0 if counts_errors(search) else 0.0
    cells = []
    for cell in make_cells(search.estimator, search.param_grid):
        number = cell.number
        folds = [results[f"split{fold}_test_{metric}"][number] for fold in range(search.n_splits_)]
        row: dict[str, Any] = {
            "cell": number,
            "params": words(cell),
            "value": _number(base + sign * results[f"mean_test_{metric}"][number]),
            "std": _number(results[f"std_test_{metric}"][number]),
            "folds": [_number(base + sign * value) for value in folds],
            "support": _number(results["mean_support_vectors"][number], 1),
            "gap": _number(results["mean_gap"][number]),
        }
        if isinstance(row["params"].get("lam"), float):
            row["C"] = 1 / (row["params"]["lam"] * search.labels_.shape[1])  # on all rows of the sweep, as the refit has it
        if f"mean_train_{metric}" in results:
            row["train"] = _number(base + sign * results[f"mean_train_{metric}"][number])
            row["train_std"] = _number(results[f"std_train_{metric}"][number])
        cells.append(row)
    return cells


def metric_of(search: Any) -> str:
    """The score that cells are compared by, as cv_results_ calls it."""
    if "mean_test_score" in search.cv_results_:
        return "score"
    if isinstance(search.refit, str):
        return search.refit
    return next(name for name in search.cv_results_ if name.startswith("mean_test_")).removeprefix("mean_test_")


def counts_errors(search: Any) -> bool:
    """Whether the score is an accuracy, so that errors can be told."""
    return search.scoring in (None, "accuracy") or type(search.scoring).__name__ == "DecodedAccuracy"


def _number(value: Any, digits: int = 6) -> float | None:
    return round(float(value), digits) if np.isfinite(value) else None


def words(cell: Cell) -> dict[str, Any]:
    """The parameters of a cell that a person would name."""
    learner, values = cell.learner, cell.learner.get_params(deep=False)
    named: dict[str, Any] = {"model": model_of(learner).name}
    given = {name.rpartition("__")[2] for name in cell.params}
    for name in _TOLD:
        # SDCA ends by its gap: how many epochs it may take is told only where the grid varies it.
        if name in values and (name != "max_epochs" or name in given):
            named["epochs" if name == "max_epochs" else name] = _plain(values[name], name)
    for name, value in cell.params.items():
        last = name.rpartition("__")[2]
        if isinstance(value, BaseEstimator) and "PolynomialFeatures" in type(value).__name__:
            named[last] = value.degree
        elif isinstance(value, str) and value == "passthrough":
            named[last] = None
        elif last not in (*_TOLD, "learner") and value is not learner and type(value) is not type(learner):
            named[last] = _plain(value, last)
    return named


def _plain(value: Any, name: str) -> Any:
    """Numbers as they are, all else as text."""
    if value is None:
        return "linear" if name == "kernel" else None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, bool | int | float | str) else repr(value)


# -- how to train a cell ---------------------------------------------------------------------------------------------


def command_line(estimator: Any, source: str | None, seed: int | None, options: list[str]) -> str:
    """The command that trains this estimator, as far as options can say it."""
    learner = anatomy(estimator).learner
    parts = ["pegasos", "train", source or "DATA", "-m", model_of(learner).name]
    values = learner.get_params(deep=False)
    fresh = type(learner)().get_params(deep=False)
    kernel = kernel_option(values.get("kernel"))
    if kernel != "linear":
        parts += ["--kernel", kernel]
    for name, option in _OPTIONS.items():
        if name in values and values[name] is not None and (values[name] != fresh.get(name) or name == "lam"):
            parts += [option, _text(values[name])]
    if "average" in values and values["average"] != fresh["average"]:
        parts += ["--average", {True: "yes", False: "no"}.get(values["average"], _text(values["average"]))]
    if values.get("class_weight") is not None:
        parts += ["--class-weight", _class_weight(values["class_weight"])]
    if values.get("projection"):
        parts.append("--projection")
    parts += _preparation(estimator)
    return shlex.join([*parts, *options, *([] if seed is None else ["--seed", str(seed)])])


def _text(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _class_weight(weights: Any) -> str:
    return ",".join(f"{name}={_text(value)}" for name, value in weights.items()) if isinstance(weights, dict) else str(weights)


def kernel_option(kernel: Any) -> str:
    """A kernel as the option --kernel says it."""
    if kernel is None:
        return "linear"
    if isinstance(kernel, str):
        return kernel
    names: dict[type, str] = {
        Polynomial: "degree",
        Gaussian: "variance",
        Exponential: "scale",
        Laplacian: "scale",
    }
    width = getattr(kernel, names.get(type(kernel), ""), None)
    told = "" if width is None else f":{_width(width)}"
    coef0 = getattr(kernel, "coef0", 1.0)
    return type(kernel).__name__.lower() + told + ("" if coef0 == 1.0 else f":coef0={_text(coef0)}")


def _width(width: Any) -> str:
    """ "0.5 scale" is said 0.5s, and "scale" 1s."""
    return f"{width.replace('scale', '').strip() or '1'}s" if isinstance(width, str) else _text(width)


def _preparation(estimator: Any) -> list[str]:
    """Scaling, expansion and outliers as options."""
    parts: list[str] = []
    if isinstance(estimator, DropOutliers):
        return ["--drop-outliers", _text(estimator.threshold), *_preparation(estimator.estimator)]
    if not isinstance(estimator, Pipeline):
        return ["--scale", "none"]
    scale = None
    for _, step in estimator.steps[:-1]:
        kind = type(step).__name__
        scale = {"StandardScaler": "standardize", "MinMaxScaler": "normalize"}.get(kind, scale)
        if kind == "PolynomialFeatures":
            parts += ["--expand", str(step.degree)]
    last = estimator.steps[-1][1]
    inner = _preparation(last) if isinstance(last, DropOutliers | Pipeline) else ["--scale", scale or "none"]
    return [*parts, *inner]


def python_lines(estimator: Any) -> str:
    """The same in Python: what to import, and the estimator as it would be written."""
    text = estimator.__repr__(N_CHAR_MAX=100_000)
    known = {
        **dict.fromkeys(("Pegasos", "Perceptron", "SDCA"), "pegasos"),
        **dict.fromkeys(("Gaussian", "Polynomial", "Exponential", "Laplacian", "Linear"), "pegasos.engine.kernels"),
        "DropOutliers": "pegasos.preprocessing",
        "Pipeline": "sklearn.pipeline",
        **dict.fromkeys(("StandardScaler", "MinMaxScaler", "PolynomialFeatures", "OneHotEncoder"), "sklearn.preprocessing"),
        "ColumnTransformer": "sklearn.compose",
        "SimpleImputer": "sklearn.impute",
    }
    homes: dict[str, list[str]] = {}
    for name, home in known.items():
        if f"{name}(" in text:
            homes.setdefault(home, []).append(name)
    lines = [f"from {home} import {', '.join(names)}" for home, names in homes.items()]
    return "\n".join([*lines, "", f"model = {text}", "model.fit(X, y)"])
