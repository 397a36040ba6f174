"""The search of `tune`: the grid from options, the metric, the folds, and the search itself."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import (
    GroupShuffleSplit,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from pegasos.engine.rows.plan import budget_bytes
from pegasos.learners.catalogue import MODELS, ONE_VS_ONE, make_learner
from pegasos.metrics import METRICS, PROBABILITIES, Metric
from pegasos.nystroem import Nystroem
from pegasos.program import pipelines
from pegasos.program.errors import UsageError
from pegasos.program.grids import SEARCH_ROWS, make_grid, weights_to_try
from pegasos.program.learning.tables import Choice, TrainingTable
from pegasos.program.pages.wording import count
from pegasos.program.tables.dataset import BadData, Dataset
from pegasos.program.tables.description import baseline_words, fitting_words, is_unbalanced
from pegasos.program.tables.labels import label_text
from pegasos.program.terminal import console, option_values, options
from pegasos.search.grid import SweepWarning
from pegasos.search.store import OtherQuestion
from pegasos.search.two_stage import TwoStageSearchCV

#: The share of the time for the search; the rest is for the refit on all rows.
_SEARCH_SHARE = 0.8
#: Least bytes for a search: kernels need a few.
_LEAST_MEMORY = 64 * 10**6
#: Models that are tried beside SDCA with the hinge loss, with linear predictors only.
_LINEAR_TOO = ("sdca-logistic",)
#: Numbers of classes with which one-vs-one is tried, too.
_PAIRED_CLASSES = range(3, 26)


@dataclass(frozen=True)
class TuneJob:
    """Options of tune."""

    data: str
    folder: str
    search: options.SearchOptions
    judging: options.JudgingOptions
    learning: options.LearningOptions
    reading: options.ReadingOptions
    running: options.RunningOptions

    @property
    def metric(self) -> str:
        """Name of the metric that settings are compared by."""
        return option_values.check_metric(self.judging, self.search.threshold)

    @property
    def asks_for_a_grid(self) -> bool:
        """Whether every setting is evaluated on every fold.

        So it is if settings are listed, or compared by a scorer of scikit-learn.
        """
        given = self.learning
        listed = (given.kernel, given.lam, given.cost, given.n_iter, given.epochs)
        several = ("," in (each or "") for each in (given.average, given.expand, given.landmarks))
        return any(listed) or any(several) or self.metric not in METRICS


def explore(job: TuneJob, table: TrainingTable, until: float | None, client: Any) -> Choice:
    """Search the rows that the table gives for it, and return the choice."""
    rows, _ = table.search_rows
    share, memory, seconds = table.search_share, job.running.memory, None
    if share < 1.0:
        memory = f"{max(int(share * budget_bytes(memory)), _LEAST_MEMORY)}B"
    if until is not None:
        seconds = max(1e-9, _SEARCH_SHARE * share * (until - time.monotonic()))
    # A scale that depends on the rows is that of the sample for all rows, too.
    learning = replace(job.learning, scale=pipelines.chosen_scale(rows, job.learning.scale))
    metric = _metric(job, rows)
    models = _models(job, metric)
    nystroem = None
    if learning.landmarks:
        nystroem = Nystroem(memory=memory, random_state=job.running.seed)
    learner, drop = make_learner(models[0], {}), learning.drop_outliers
    recipe = pipelines.make_recipe(rows, learner, learning.scale, None, drop, nystroem)
    learned = pipelines.learned_rows(rows, drop)
    values = option_values.grids(learning, learned, np.unique(rows.labels))
    for note in option_values.ignored_settings(models, values):
        console.say(f"note: {note}")
    for name, each in weights_to_try(metric, models, rows.labels).items():
        values.setdefault(name, each)
    degrees = values.pop("expand", [None])
    for degree in degrees:
        pipelines.check_expansion(rows, degree)
    grid = make_grid(
        recipe,
        rows,
        models,
        values.pop("kernel", []),
        degrees,
        values.pop("landmarks", [None]),
        values,
        linear=() if job.search.models or len(models) == 1 else _LINEAR_TOO,
        fixed={"seed": job.running.seed, "memory": memory},
    )
    # The learners' own score is the error, and faster.
    by_error = metric is not None and metric.name == "error"
    search = TwoStageSearchCV(
        recipe.estimator,
        grid,
        cv=_folds(job, rows),
        scoring=None if by_error else metric or job.metric,
        # Errors on training rows tell whether a model without a certificate has converged.
        return_train_score=any(MODELS[model][0].tolerance is None for model in models),
        n_jobs=job.search.jobs,
        store=job.folder,
        memory=memory,
        client=client,
        max_time=seconds,
        verbose=0 if console.state.quiet else 1,
        exhaustive=job.asks_for_a_grid,
        max_rows=SEARCH_ROWS,
        variants=_variants(job, rows, recipe.prefix) if share == 1.0 else [],
        warm_path=not job.asks_for_a_grid,
    )
    fitted = _run(job, search, metric, rows, recipe.weights_of(rows))
    return Choice(fitted, metric, recipe, learning, learned, job.search.refit_all, until, client)


def _run(
    job: TuneJob, search: Any, metric: Metric | None, rows: Dataset, weights: dict[str, Any]
) -> Any:
    """Run the search; with --force, again without the cells of an earlier run on other data."""
    given = weights if rows.groups is None else {**weights, "groups": rows.groups}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SweepWarning)  # shown with the result
        warnings.filterwarnings("ignore", "The least populated class")  # _folds says so
        try:
            return search.fit(rows.X, rows.y, **given)
        except OtherQuestion as error:
            if not job.search.force:
                what = f"{job.folder} keeps a run on other {', '.join(error.different)}"
                remedy = "--force replaces it, or give another folder with -o"
                raise UsageError(f"{what}: {remedy}.") from error
        except (ValueError, AttributeError) as error:
            if metric is not None:
                raise
            # A scorer of scikit-learn may ask for probabilities that a model lacks.
            raise UsageError(f"--metric {job.metric} does not work here: {error}") from error
    for path in Path(job.folder).glob("sweep.sqlite*"):
        path.unlink()
    return _run(job, search, metric, rows, weights)


def _metric(job: TuneJob, rows: Dataset) -> Metric | None:
    """Return the metric; if none is given and classes are unbalanced, recommend one."""
    classes, counts = np.unique(rows.labels, return_counts=True)
    metric = option_values.make_metric(job.judging, rows.labels, job.search.threshold)
    if metric is not None and metric.name == "error" and is_unbalanced(counts):
        common = label_text(classes[counts.argmax()])
        baseline = baseline_words(common, 1 - counts.max() / counts.sum())
        console.say(f"note: {baseline}; {fitting_words(len(classes))}.")
    return metric


def _models(job: TuneJob, metric: Metric | None) -> list[str]:
    """Return the models to compare.

    By default these are SDCA with the hinge loss and, for linear predictors, the logistic loss.
    """
    if job.search.models:
        return job.search.models
    if metric is not None and metric.kind.needs == PROBABILITIES:
        return ["sdca-logistic"]
    one = job.asks_for_a_grid or job.learning.landmarks
    return ["sdca"] if one else ["sdca", *_LINEAR_TOO]


def _variants(job: TuneJob, rows: Dataset, prefix: str) -> list[dict[str, Any]]:
    """Return what only the second stage tries: one-vs-one, and scaling by quartiles.

    On digits (1,005 rows) one-vs-one took 16 of 22 processor seconds as a part of the grid.
    """
    learning = job.learning
    if job.asks_for_a_grid:
        return []
    found: list[dict[str, Any]] = []
    paired = len(np.unique(rows.labels)) in _PAIRED_CLASSES
    if paired and not (job.search.models or learning.multiclass):
        found.append({f"{prefix}learner__multiclass": ONE_VS_ONE})
    plain = not (learning.expand or learning.landmarks or learning.drop_outliers)
    if plain and learning.scale == "auto" and pipelines.has_heavy_tails(rows):
        found.append({f"{prefix}scale": pipelines.make_scaler(rows, "robust")})
    return found


def _folds(job: TuneJob, rows: Dataset) -> Any:
    """Return the splitter: folds, or one validation part."""
    share, seed, cv = job.search.validation, job.running.seed, job.search.cv
    _, counts = np.unique(rows.labels, return_counts=True)
    if share is not None and rows.groups is not None:
        return GroupShuffleSplit(1, test_size=share, random_state=seed)
    if share is not None:
        by_class = counts.min() > 1 and min(share, 1 - share) * len(rows) >= len(counts)
        kind = StratifiedShuffleSplit if by_class else ShuffleSplit
        return kind(1, test_size=share, random_state=seed)
    if counts.max() < cv:
        few = f"no class has {cv} training rows"
        raise BadData(f"{rows.name}: {few}; give fewer folds (--cv) or more rows.")
    if counts.min() < cv:
        few = f"the rarest class has {count(int(counts.min()), 'training row')}"
        console.say(f"note: {few}, so it is missing in some of the {cv} folds.")
    groups = cv if rows.groups is None else len(np.unique(rows.groups))
    if groups < cv:
        few = f"{groups} groups in the training rows"
        raise BadData(f"{rows.name}: {few}; give at most as many folds (--cv).")
    folds = StratifiedKFold if rows.groups is None else StratifiedGroupKFold
    return folds(cv, shuffle=True, random_state=seed)
