"""What train and tune share: from options to a fitted pipeline, its errors, and its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pegasos.learners.catalogue import make_learner
from pegasos.program.jobs.datasets import Split, classes_of, take
from pegasos.program.jobs.model_cards import make_card
from pegasos.program.jobs.scoring import count_errors
from pegasos.program.modelfile import save
from pegasos.program.pipelines import (
    Recipe,
    check_expansion,
    chosen_scale,
    learned_rows,
    make_recipe,
)
from pegasos.program.tables.dataset import Dataset
from pegasos.program.tables.named_sets import is_set
from pegasos.program.terminal import console, option_values
from pegasos.program.terminal.options import LearningOptions, RunningOptions
from pegasos.search.anatomy import anatomy

Array = np.ndarray[Any, Any]


def check(model: str, learning: LearningOptions, running: RunningOptions) -> None:
    """Find mistakes of the call before any data are read."""
    option_values.check_model(model)
    given = option_values.grids(learning, rows=1)
    option_values.refuse_unknown(model, given)
    option_values.check_preparation(learning)
    option_values.check_memory(running.memory)
    option_values.single({**given, "expand": option_values.parse_expand(learning.expand)})


def one_recipe(model: str, learning: LearningOptions, rows: Dataset, running: RunningOptions) -> Recipe:
    """The pipeline of train: one value of each setting."""
    (expand,) = option_values.parse_expand(learning.expand)
    check_expansion(rows, expand)
    values = option_values.single(option_values.grids(learning, learned_rows(rows, learning.drop_outliers)))
    if "class_weight" in values:
        values["class_weight"] = option_values.parse_class_weight(values["class_weight"], classes_of(rows))
    learner = make_learner(model, {**values, "seed": running.seed, "memory": running.memory})
    console.say(f"scale: {chosen_scale(rows, learning.scale)}")
    return make_recipe(rows, learner, learning.scale, expand, learning.drop_outliers)


def fit(recipe: Recipe, rows: Dataset) -> None:
    """Learn, with weights where there are any."""
    weights = {} if rows.weights is None else {recipe.weight_name: rows.weights}
    recipe.estimator.fit(rows.X, rows.y, **weights)


def errors_of(estimator: Any, dataset: Dataset, split: Split) -> dict[str, Any]:
    """Errors on the rows that were learned from, and on those that were not."""
    assert dataset.y is not None
    found = {}
    for name, rows in (("training", split.train), ("test", split.test)):
        if len(rows):
            with console.working(f"predicting {len(rows)} {name} rows"):
                found[name] = count_errors(dataset.y[rows], estimator.predict(dataset.X[rows]))
    return found


def save_model(estimator: Any, path: str | Path, dataset: Dataset, split: Split, errors: dict[str, Any], seconds: float) -> None:
    """The model with its card and the hashes of its training rows."""
    learned = learned_rows(take(dataset, split.train), anatomy(estimator).outlier_threshold)
    card, hashes = make_card(dataset, split, errors, seconds, learned)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    save(estimator, path, card=card, rows=hashes)


def learner_facts(estimator: Any, rows: int | None) -> dict[str, Any]:
    """What a person wants to know of the fitted learner; `rows` are those that it learned from, None where nobody knows."""
    learner = anatomy(estimator, fitted=True).learner
    facts: dict[str, Any] = {"class": type(learner).__name__}
    if hasattr(learner, "loss"):
        facts["loss"] = learner.loss
    facts["kernel"] = repr(learner.kernel_) if hasattr(learner, "kernel_") else "linear"
    if learner.lam_ is not None:
        lam = float(learner.lam_)
        facts |= {"lam": lam, "C": None if rows is None else 1 / (lam * rows)}
    facts["passes" if type(learner).__name__ != "Pegasos" else "steps"] = int(learner.n_iter_)
    if hasattr(learner, "support_"):
        facts["support_vectors"] = len(learner.support_)
    facts["rows"] = rows
    if np.isfinite(getattr(learner, "gap_", np.nan)):
        facts["gap"] = float(learner.gap_)
    return facts


def told_facts(facts: dict[str, Any]) -> dict[str, Any]:
    """The same in words, λ with its C beside it."""
    told: dict[str, Any] = {name: facts[name] for name in ("loss", "kernel") if name in facts}
    if "lam" in facts:
        told["regularization"] = console.lam_with_cost(facts["lam"], facts["C"])
    told |= {name: facts[name] for name in ("passes", "steps") if name in facts}
    if "support_vectors" in facts:
        told["support vectors"] = str(facts["support_vectors"]) + ("" if facts["rows"] is None else f" of {facts['rows']} rows")
    if "gap" in facts:
        told["certified gap"] = f"{facts['gap']:.2g} of the objective at most"
    return told


def stem(data: str) -> str:
    """A name for what comes from this data: that of the set, or of the file without its endings."""
    if data == "-":
        return "stdin"
    return data if is_set(data) else Path(data).name.split(".")[0] or "data"
