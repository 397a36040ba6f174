"""The grids that `tune` searches: the requested values, and defaults for the other settings."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.base import clone

from pegasos.engine.kernels.base import DistanceKernel, Kernel
from pegasos.engine.kernels.elementwise import as_rows
from pegasos.engine.kernels.standard import Gaussian, Polynomial
from pegasos.engine.walk.losses import PROBABILISTIC
from pegasos.learners.catalogue import MODELS, make_learner
from pegasos.metrics import LABELS, SCORES, Metric
from pegasos.program.pipelines import Recipe, expansion
from pegasos.program.tables.dataset import Dataset
from pegasos.program.tables.description import is_unbalanced
from pegasos.search.anatomy import anatomy

#: Most rows on which settings are compared.
SEARCH_ROWS = 20_000
#: Defaults for SDCA in a search: relative duality gap at which it stops, and most epochs. On our
#: data smaller gaps or more epochs changed no error; results.csv shows the gap of each setting.
SEARCH_TOLERANCE, SEARCH_EPOCHS = 0.01, 50

#: In order of decreasing success: under a time limit, the last ones may not be reached.
_VARIANCES = ("1 scale", "0.5 scale", "2.5 scale", "0.25 scale", "6 scale", "0.1 scale")
_CONSTANTS = (1 / 3, 3.0)
#: Costs c: λ = typical K(x, x)/(c m), which makes c independent of the units of the features.
_LINEAR_COSTS = (0.01, 0.1, 1.0, 10.0, 100.0)
_LOGISTIC_COSTS = (*_LINEAR_COSTS, 1000.0)
#: On chile (1,417 rows) cubic kernels with costs 1000 and 10,000 took 22 of 31 processor seconds of
#: the first stage; on six public tables the best cubic kernel had a cost of at most 10.
_INNER_COSTS = (0.1, 1.0, 10.0, 100.0)
_DISTANCE_COSTS = (0.1, 1.0, 10.0, 100.0, 1000.0)
#: Rows for typical values of K(x, x).
_SAMPLE_ROWS = 2000


def weights_to_try(metric: Metric | None, models: list[str], labels: Any) -> dict[str, list[Any]]:
    """Return class weights as an axis of a grid if the classes are unbalanced and weights may help.

    They may for metrics of labels other than the error. For metrics of scores they may help the
    hinge loss, whose minimizer is the same score for every row if the common class is always more
    probable; the logistic loss ranks such rows without weights.
    """
    counts = np.unique(labels, return_counts=True)[1]
    if metric is None or metric.name == "error" or not is_unbalanced(counts):
        return {}
    orders = all(MODELS[model][1].fixed.get("loss") in PROBABILISTIC for model in models)
    wanted = metric.kind.needs == LABELS or (metric.kind.needs == SCORES and not orders)
    return {"class_weight": [None, "balanced"]} if wanted else {}


def make_grid(
    recipe: Recipe,
    dataset: Dataset,
    models: Sequence[str] = ("sdca",),
    kernels: Sequence[Kernel | None] = (),
    expand: Sequence[int | None] = (None,),
    landmarks: Sequence[int | None] = (None,),
    given: Mapping[str, list[Any]] = MappingProxyType({}),
    *,
    linear: Collection[str] = (),
    fixed: Mapping[str, Any] = MappingProxyType({}),
) -> list[dict[str, list[Any]]]:
    """Return a grid for SweepCV: one dictionary per model, expansion and family of kernels.

    Defaults take the place of kernels and of values that are not `given`. Models in `linear` get
    linear predictors only; `fixed` are settings of all learners.
    """
    grid, mapped = [], list(landmarks) != [None]
    for degree in expand:
        sample = _prepared_sample(recipe, dataset, degree, mapped)
        for model in models:
            names = MODELS[model][0].options
            values = {name: each for name, each in given.items() if name in names}
            tried = list(kernels) or _default_kernels(degree, sample, mapped)
            for family in _families([None] if model in linear else tried):
                axes = {"kernel": family, **_stops(model, values), **values}
                if "lam" in names and "lam" not in axes:
                    axes["lam"] = _strengths(model, family[0], sample, len(dataset))
                cells = {"expand": [expansion(degree)], **_cells(model, axes, fixed)}
                if mapped:
                    cells["nystroem__kernel"] = cells.pop("learner__kernel")
                    cells["nystroem__landmarks"] = list(landmarks)
                grid.append({recipe.prefix + name: each for name, each in cells.items()})
    return grid


def _cells(
    model: str, axes: dict[str, list[Any]], fixed: Mapping[str, Any]
) -> dict[str, list[Any]]:
    """Return the learner, with settings of a single value, and the axes of the other settings."""
    names = MODELS[model][0].options
    single = {
        name: values[0]
        for name, values in axes.items()
        if len(values) == 1 and name not in ("kernel", "lam")
    }
    varied = {f"learner__{names[each]}": axes[each] for each in axes if each not in single}
    return {"learner": [make_learner(model, {**single, **fixed})], **varied}


def _default_kernels(degree: int | None, sample: Any, mapped: bool) -> list[Kernel | None]:
    """Return linear, Gaussian and cubic kernels, the cheapest first.

    Expanded features get the linear predictor only, Nyström features Gaussians only. The constant
    of (coef0 + x·z)³ weighs the lower terms against the cubic ones, in units of a typical x·x: on
    ten standardized features the error was 1.9 % with 1, and 1.5 % with 28.
    """
    if mapped:
        return [Gaussian(variance) for variance in _VARIANCES]
    if degree is not None:
        return [None]
    typical = float(np.median(Polynomial(1, 0.0).diagonal(sample))) or 1.0
    cubics = [Polynomial(3, float(f"{factor * typical:.2g}")) for factor in _CONSTANTS]
    return [None, *(Gaussian(variance) for variance in _VARIANCES), *cubics]


def _families(kernels: list[Kernel | None]) -> list[list[Kernel | None]]:
    """Group kernels that share a grid of λ: all distance kernels, and every other kernel alone."""
    families: dict[Any, list[Kernel | None]] = {}
    for kernel in kernels:
        family = DistanceKernel if isinstance(kernel, DistanceKernel) else kernel
        families.setdefault(family, []).append(kernel)
    return list(families.values())


def _stops(model: str, given: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return the default stopping criteria of a model."""
    declaration = MODELS[model][0]
    names = {parameter: name for name, parameter in declaration.options.items()}
    if declaration.tolerance is not None:
        return {
            names[declaration.tolerance]: [SEARCH_TOLERANCE],
            names[declaration.stops[0]]: [SEARCH_EPOCHS],
        }
    if any(names[stop] in given for stop in declaration.stops):
        return {}
    return {"epochs": list(declaration.usual_epochs)}


def _strengths(model: str, kernel: Kernel | None, sample: Any, rows: int) -> list[float]:
    """Return the default values of λ for a model and a kernel, one per cost."""
    costs: tuple[float, ...]
    costs = _DISTANCE_COSTS if isinstance(kernel, DistanceKernel) else _INNER_COSTS
    if kernel is None:
        probabilistic = MODELS[model][1].fixed.get("loss") in PROBABILISTIC
        costs = _LOGISTIC_COSTS if probabilistic else _LINEAR_COSTS
    kernel = kernel or Polynomial(1)  # x·x + 1: the constant feature is part of a linear predictor
    typical = float(np.median(kernel.diagonal(sample))) or 1.0
    return [float(f"{typical / (cost * rows):.1e}") for cost in costs]


def _prepared_sample(recipe: Recipe, dataset: Dataset, degree: int | None, mapped: bool) -> Any:
    """Return a sample of rows, transformed as for the learner or the landmarks of its kernel."""
    X = dataset.X[:: max(1, len(dataset) // _SAMPLE_ROWS)]
    steps = {f"{recipe.prefix}expand": expansion(degree)}
    if mapped:
        steps[f"{recipe.prefix}nystroem"] = "passthrough"
    estimator = clone(recipe.estimator).set_params(**steps)
    for stage in anatomy(estimator).stages:
        X = X if stage.drops else stage.part.fit_transform(X)
    return as_rows(X).astype(np.float64)
