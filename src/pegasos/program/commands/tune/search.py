"""What tune searches: a grid from options, the metric, the folds, and the search itself."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from pegasos.learners.catalogue import ONE_VS_ONE, make_learner
from pegasos.metrics import METRICS, PROBABILITIES, Metric
from pegasos.nystroem import Nystroem
from pegasos.program.errors import UsageError
from pegasos.program.grids import SEARCH_ROWS, GridRequest, make_grid, weights_to_try
from pegasos.program.large.optimum import Cluster
from pegasos.program.pipelines import (
    Recipe,
    check_expansion,
    has_heavy_tails,
    learned_rows,
    make_recipe,
    make_scaler,
)
from pegasos.program.tables.dataset import BadData, Dataset
from pegasos.program.tables.description import fitting_words, guessing_words, is_unbalanced
from pegasos.program.tables.labels import label_text
from pegasos.program.terminal import console, option_values
from pegasos.program.terminal.options import (
    HERE,
    ClusterOptions,
    JudgingOptions,
    LearningOptions,
    ReadingOptions,
    RunningOptions,
)
from pegasos.search.advice import SweepWarning
from pegasos.search.store import OtherQuestion
from pegasos.search.two_stage import TwoStageSearchCV

#: The share of --max-time after which the model whose error is told should be there; what is left is for the refit on all rows.
TOLD_SHARE = 0.8
#: Models that are tried beside SDCA with the hinge loss, with linear predictors only.
_LINEAR_TOO = ("sdca-logistic",)
#: Numbers of classes with which one-vs-one is tried, too.
_PAIRED_CLASSES = range(3, 26)


@dataclass(frozen=True)
class TuneJob:
    """Everything that the command line asks of tune."""

    data: str
    folder: str
    models: list[str]
    cv: int
    judging: JudgingOptions
    jobs: int | None
    max_time: float | None
    learning: LearningOptions
    reading: ReadingOptions
    running: RunningOptions
    page: bool = True
    refit_all: bool = True
    #: What the threshold is chosen for, as the option says it.
    threshold: str | None = None
    #: Rows to search on where the table does not fit into memory.
    sample: int | None = None
    where: ClusterOptions = HERE

    @property
    def metric(self) -> str:
        """What settings are compared by, by name."""
        return option_values.check_metric(self.judging, self.threshold)

    @property
    def asks_for_a_grid(self) -> bool:
        """Whether settings were listed, or a score of scikit-learn's: then every one of them is run on every fold."""
        listed = (
            self.learning.kernel,
            self.learning.lam,
            self.learning.cost,
            self.learning.n_iter,
            self.learning.epochs,
        )
        several = any(
            "," in (each or "")
            for each in (self.learning.average, self.learning.expand, self.learning.landmarks)
        )
        return any(listed) or several or self.metric not in METRICS


class Explored(NamedTuple):
    """A search that is done: its metric (None: a scorer of scikit-learn), its pipeline, and how many rows a learner saw."""

    search: Any
    metric: Metric | None
    recipe: Recipe
    learned: int


def explore(job: TuneJob, rows: Dataset, until: float | None, cluster: Cluster | None) -> Explored:
    """The search on these rows."""
    metric = _metric(job, rows)
    models = _models(job, metric)
    nystroem = (
        Nystroem(memory=job.running.memory, random_state=job.running.seed)
        if job.learning.landmarks
        else None
    )
    recipe = make_recipe(
        rows,
        make_learner(models[0], {}),
        job.learning.scale,
        None,
        job.learning.drop_outliers,
        nystroem,
    )
    learned = learned_rows(rows, job.learning.drop_outliers)
    request = _request(job, metric, models, rows, learned)
    for degree in request.expand:
        check_expansion(rows, degree)
    search = _search(job, metric, recipe, make_grid(request, recipe, rows), rows, until, cluster)
    return Explored(search, metric, recipe, learned)


def _metric(job: TuneJob, rows: Dataset) -> Metric | None:
    """What settings are compared by; and where classes are unbalanced and nothing was asked for, what might fit better."""
    classes, counts = np.unique(rows.labels, return_counts=True)
    found = option_values.make_metric(job.judging, classes, job.threshold)
    try:
        metric = None if found is None else found.settled(rows.labels)
    except ValueError as error:
        raise UsageError(f"--metric {job.metric}: {error}") from None
    if metric is not None and metric.name == "error" and is_unbalanced(counts):
        common = label_text(classes[counts.argmax()])
        console.say(
            f"note: {guessing_words(common, 1 - counts.max() / counts.sum())}; {fitting_words(len(classes))}."
        )
    return metric


def _models(job: TuneJob, metric: Metric | None) -> list[str]:
    """Return the models to compare: by default SDCA with the hinge loss and, for linear predictors, the logistic loss."""
    if metric is not None and metric.kind.needs == PROBABILITIES:
        return job.models or ["sdca-logistic"]
    both = not (job.asks_for_a_grid or job.learning.landmarks)
    return job.models or (["sdca", *_LINEAR_TOO] if both else ["sdca"])


def _request(
    job: TuneJob, metric: Metric | None, models: list[str], rows: Dataset, learned: int
) -> GridRequest:
    values = option_values.grids(job.learning, learned, np.unique(rows.labels))
    for note in option_values.refuse_unknown(models, values):
        console.say(f"note: {note}")
    for name, each in weights_to_try(metric, models, rows.labels).items():
        values.setdefault(name, each)
    expand = option_values.parse_expand(job.learning.expand)
    landmarks = option_values.parse_landmarks(job.learning.landmarks)
    return GridRequest(
        models,
        values.pop("kernel", []),
        expand,
        values,
        job.running.seed,
        job.running.memory,
        landmarks,
        () if job.models or len(models) == 1 else _LINEAR_TOO,
    )


def _variants(job: TuneJob, rows: Dataset, prefix: str) -> list[dict[str, Any]]:
    """Return what only the second stage tries: one-vs-one, and scaling by quartiles.

    On digits (1,005 rows) one-vs-one took 16 of 22 processor seconds as a part of the grid.
    """
    found: list[dict[str, Any]] = []
    paired = len(np.unique(rows.labels)) in _PAIRED_CLASSES
    if paired and not (job.models or job.asks_for_a_grid or job.learning.multiclass):
        found.append({f"{prefix}learner__multiclass": ONE_VS_ONE})
    if _tries_robust_scaling(job, rows):
        found.append({f"{prefix}scale": make_scaler(rows, "robust")})
    return found


def _tries_robust_scaling(job: TuneJob, rows: Dataset) -> bool:
    learning = job.learning
    asked = job.asks_for_a_grid or learning.expand or learning.landmarks or learning.drop_outliers
    return not asked and learning.scale == "auto" and has_heavy_tails(rows)


def _search(
    job: TuneJob,
    metric: Metric | None,
    recipe: Recipe,
    grid: list[dict[str, list[Any]]],
    rows: Dataset,
    until: float | None,
    cluster: Cluster | None,
) -> Any:
    groups = {} if rows.groups is None else {"groups": rows.groups}
    scoring: Any = job.metric if metric is None else metric
    scoring = (
        None if metric is not None and metric.name == "error" else scoring
    )  # the learners' own score is that, and quicker
    search = TwoStageSearchCV(
        recipe.estimator,
        grid,
        cv=_folds(job, rows),
        scoring=scoring,
        n_jobs=job.jobs,
        store=job.folder,
        memory=job.running.memory,
        client=None if cluster is None else cluster.client,
        max_time=None if until is None else max(1e-9, TOLD_SHARE * (until - time.monotonic())),
        verbose=0 if console.state.quiet else 1,
        exhaustive=job.asks_for_a_grid,
        max_rows=SEARCH_ROWS,
        variants=_variants(job, rows, recipe.prefix),
        warm_path=not job.asks_for_a_grid,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SweepWarning)  # shown with the result
        warnings.filterwarnings("ignore", "The least populated class")  # _folds says so
        try:
            return search.fit(rows.X, rows.y, **recipe.weights_of(rows), **groups)
        except OtherQuestion as error:
            remedy = "give another folder with -o, or delete it if no longer wanted"
            raise UsageError(
                f"{job.folder} keeps a run on other {', '.join(error.different)}: {remedy}."
            ) from error
        except (
            ValueError,
            AttributeError,
        ) as error:  # the latter where a scorer asks for probabilities that are not there
            if metric is not None:
                raise
            raise UsageError(f"--metric {scoring} does not work here: {error}") from error


def _folds(job: TuneJob, rows: Dataset) -> Any:
    _, counts = np.unique(rows.labels, return_counts=True)
    if counts.max() < job.cv:
        raise BadData(
            f"{rows.name}: no class has {job.cv} training rows; give fewer folds (--cv) or more rows."
        )
    if counts.min() < job.cv:
        console.say(
            f"note: the rarest class has {counts.min()} training rows, so it is missing in some of the {job.cv} folds."
        )
    groups = job.cv if rows.groups is None else len(np.unique(rows.groups))
    if groups < job.cv:
        raise BadData(
            f"{rows.name}: {groups} groups in the training rows; give at most as many folds (--cv)."
        )
    kind = StratifiedKFold if rows.groups is None else StratifiedGroupKFold
    return kind(job.cv, shuffle=True, random_state=job.running.seed)
