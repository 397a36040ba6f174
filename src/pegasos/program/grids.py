"""The grids that `tune` tries: what was asked for, and sensible values of what was not."""

from __future__ import annotations

from dataclasses import dataclass, field
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

#: Rows on which settings are compared at most.
SEARCH_ROWS = 20_000
#: The relative duality gap at which SDCA stops in a search, and its epochs at most, where nothing is asked for: on our data more
#: of either changed no error, and a cell that stops early says so by its gap.
SEARCH_TOLERANCE, SEARCH_EPOCHS = 0.01, 50

#: The likeliest first: where time is short, later ones may not be tried.
_WIDTHS = ("1 scale", "0.5 scale", "2.5 scale", "0.25 scale", "6 scale", "0.1 scale")
_CONSTANTS = (1 / 3, 3.0)
#: Costs c: λ = typical K(x, x)/(c m). The same c means the same freedom, whatever the features' units are.
_LINEAR_COSTS = (0.01, 0.1, 1.0, 10.0, 100.0)
_LOGISTIC_COSTS = (*_LINEAR_COSTS, 1000.0)
#: On chile (1,417 rows) cubic kernels of the costs 1000 and 10,000 took 22 of 31 processor seconds of the first stage; on six
#: public tables the best cubic kernel had a cost of at most 10.
_INNER_COSTS = (0.1, 1.0, 10.0, 100.0)
_DISTANCE_COSTS = (0.1, 1.0, 10.0, 100.0, 1000.0)


@dataclass(frozen=True)
class GridRequest:
    """What was asked for: models, kernels (None is the linear predictor) and values of settings; empty means default."""

    models: list[str] = field(default_factory=list)
    kernels: list[Kernel | None] = field(default_factory=list)
    expand: list[int | None] = field(default_factory=lambda: [None])
    values: dict[str, list[Any]] = field(default_factory=dict)
    seed: int = 0
    memory: str | None = None
    #: Landmarks of Nyström features for the kernels; None where they are taken as they are.
    landmarks: list[int | None] = field(default_factory=lambda: [None])
    #: Models that are tried with linear predictors only.
    linear: tuple[str, ...] = ()

    @property
    def mapped(self) -> bool:
        return self.landmarks != [None]


def weights_to_try(metric: Metric | None, models: list[str], labels: Any) -> dict[str, list[Any]]:
    """Weights of classes as an axis of a grid, where classes are unbalanced and a metric looks at more than errors.

    A metric of scores wants them for the hinge loss only: where every row is likelier to be of the common class, its best
    answer is the same score for all of them. The logistic loss orders them all the same.
    """
    if (
        metric is None
        or metric.name == "error"
        or not is_unbalanced(np.unique(labels, return_counts=True)[1])
    ):
        return {}
    orders = all(MODELS[model][1].fixed.get("loss") in PROBABILISTIC for model in models)
    wanted = metric.kind.needs == LABELS or (metric.kind.needs == SCORES and not orders)
    return {"class_weight": [None, "balanced"]} if wanted else {}


def make_grid(request: GridRequest, recipe: Recipe, dataset: Dataset) -> list[dict[str, list[Any]]]:
    """A grid for SweepCV: one dictionary for each model, expansion and family of kernels."""
    grid = []
    for degree in request.expand:
        sample = _prepared_sample(recipe, dataset, degree, request.mapped)
        for model in request.models or ["sdca"]:
            tried = request.kernels or _default_kernels(degree, sample, request.mapped)
            for kernels in _families([None] if model in request.linear else tried):
                values = {
                    name: each
                    for name, each in request.values.items()
                    if name in MODELS[model][0].options
                }
                axes = {"kernel": kernels, **_stops(model, values), **values}
                if "lam" in MODELS[model][0].options and "lam" not in axes:
                    axes["lam"] = _strengths(model, kernels[0], sample, len(dataset))
                grid.append(_cells(model, axes, degree, request, recipe.prefix))
    return grid


def _cells(
    model: str, axes: dict[str, list[Any]], degree: int | None, request: GridRequest, prefix: str
) -> dict[str, list[Any]]:
    """One dictionary in the words of the learner; what has one value goes into the learner itself."""
    names = MODELS[model][0].options
    fixed = {
        name: values[0]
        for name, values in axes.items()
        if len(values) == 1 and name not in ("kernel", "lam")
    }
    learner = make_learner(model, {**fixed, "seed": request.seed, "memory": request.memory})
    varied = {
        f"{prefix}learner__{names[name]}": values
        for name, values in axes.items()
        if name not in fixed
    }
    if request.mapped:
        varied[f"{prefix}nystroem__kernel"] = varied.pop(f"{prefix}learner__kernel")
        varied[f"{prefix}nystroem__landmarks"] = request.landmarks
    return {f"{prefix}expand": [expansion(degree)], f"{prefix}learner": [learner], **varied}


def _default_kernels(degree: int | None, sample: Any, mapped: bool) -> list[Kernel | None]:
    """Linear, Gaussian and cubic, the cheapest first; expanded features are meant for a linear predictor, landmarks for a width.

    The constant of (coef0 + x·z)³ weighs the lower terms against the cubic ones, in units of a typical x·x: with 1 on ten
    standardized features the error was 1.9 %, with 28 it was 1.5 %.
    """
    if mapped:
        return [Gaussian(width) for width in _WIDTHS]
    if degree is not None:
        return [None]
    typical = float(np.median(Polynomial(1, 0.0).diagonal(sample))) or 1.0
    cubics = [Polynomial(3, float(f"{factor * typical:.2g}")) for factor in _CONSTANTS]
    return [None, *(Gaussian(width) for width in _WIDTHS), *cubics]


def _families(kernels: list[Kernel | None]) -> list[list[Kernel | None]]:
    """Kernels that share a grid of λ: all that are 1 at distance 0; each other one has values of its own."""
    families: dict[Any, list[Kernel | None]] = {}
    for kernel in kernels:
        families.setdefault(
            DistanceKernel if isinstance(kernel, DistanceKernel) else kernel, []
        ).append(kernel)
    return list(families.values())


def _stops(model: str, given: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """When to stop, where nothing is asked for."""
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
    """λ for every cost that suits such a kernel."""
    costs: tuple[float, ...]
    costs = _DISTANCE_COSTS if isinstance(kernel, DistanceKernel) else _INNER_COSTS
    if kernel is None:
        probabilistic = MODELS[model][1].fixed.get("loss") in PROBABILISTIC
        costs = _LOGISTIC_COSTS if probabilistic else _LINEAR_COSTS
    kernel = kernel or Polynomial(1)  # x·x + 1: the constant feature is part of a linear predictor
    typical = float(np.median(kernel.diagonal(sample))) or 1.0
    return [float(f"{typical / (cost * rows):.1e}") for cost in costs]


def _prepared_sample(
    recipe: Recipe, dataset: Dataset, degree: int | None, mapped: bool, most: int = 2000
) -> Any:
    """Some rows as the learner, or its kernel's landmarks, would see them."""
    X = dataset.X[:: max(1, len(dataset) // most)]
    steps = {
        f"{recipe.prefix}expand": expansion(degree),
        **({f"{recipe.prefix}nystroem": "passthrough"} if mapped else {}),
    }
    estimator = clone(recipe.estimator).set_params(**steps)
    for stage in anatomy(estimator).stages:
        X = X if stage.drops else stage.part.fit_transform(X)
    return as_rows(X).astype(np.float64)
