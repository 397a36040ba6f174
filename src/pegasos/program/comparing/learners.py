"""Who is compared: two families of ours, tuned within each training part, and scikit-learn's learners as they come."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.utils.validation import has_fit_parameter

from pegasos.engine.runtime.interruption import Interrupted
from pegasos.learners.catalogue import make_learner
from pegasos.metrics import PROBABILITIES, Metric, answers, guesses
from pegasos.program.grids import GridRequest, default_models, make_grid, weights_to_try
from pegasos.program.pages.wording import setting_text, weight_words
from pegasos.program.pipelines import make_recipe
from pegasos.program.tables.dataset import Dataset
from pegasos.search.advice import SweepWarning
from pegasos.search.racing import RacingCV

#: Folds within a training part, by which our settings are chosen; fewer where no class has so many rows.
INNER_FOLDS = 5


@dataclass(frozen=True)
class Fitted:
    """A fitted pipeline; the setting that was chosen for it, and whether its solver stopped before it was done."""

    model: Any
    choice: str | None = None
    early: bool = False


@dataclass(frozen=True)
class Task:
    """What all learners are asked for: the metric, the seed, and the seconds that are left (None: any)."""

    metric: Metric
    seed: int
    left: float | None = None


@dataclass(frozen=True)
class Learner:
    """A name, words for people, and how it is fitted to rows; `refuses` says why it cannot take part."""

    name: str
    words: str
    ours: bool
    fit: Callable[[Dataset, Task], Fitted]
    probabilities: bool = True

    def refuses(self, metric: Metric) -> str | None:
        if metric.kind.needs == PROBABILITIES and not self.probabilities:
            return f"it has no probabilities, which {metric.name} needs"
        return None


def folds(count: int, rows: Dataset, seed: int) -> list[tuple[Any, Any]]:
    """Stratified folds, whole groups where there are any, of shuffled rows."""
    kind = StratifiedKFold if rows.groups is None else StratifiedGroupKFold
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")
        return list(
            kind(count, shuffle=True, random_state=seed).split(
                np.zeros(len(rows)), rows.labels, rows.groups
            )
        )


def _tuned(kernels: bool) -> Callable[[Dataset, Task], Fitted]:
    """The linear or the kernel part of tune's default grid, raced within the rows."""

    def fit(rows: Dataset, task: Task) -> Fitted:
        models = default_models(len(rows), task.metric.kind.needs == PROBABILITIES)
        recipe = make_recipe(rows, make_learner(models[0], {}))
        weights = weights_to_try(task.metric, models, rows.labels)
        grid = make_grid(GridRequest(models, values=weights, seed=task.seed), recipe, rows)
        family = [
            each for each in grid if (each[f"{recipe.prefix}learner__kernel"] != [None]) is kernels
        ]
        groups = {} if rows.groups is None else {"groups": rows.groups}
        most = np.unique(rows.labels, return_counts=True)[1].max()
        most = most if rows.groups is None else min(most, len(np.unique(rows.groups)))
        search = RacingCV(
            recipe.estimator,
            family,
            cv=folds(int(min(INNER_FOLDS, most)), rows, task.seed),
            scoring=None if task.metric.name == "error" else task.metric,
            max_time=task.left,
            warm_path=True,
            n_jobs=1,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SweepWarning)
            warnings.simplefilter(
                "ignore", ConvergenceWarning
            )  # of cells; the choice is told by its error
            search.fit(rows.X, rows.y, **recipe.weights_of(rows), **groups)
        if not search.completed_:
            raise Interrupted
        setting = search.settings_[search.best_index_]
        named = {
            "kernel": "linear" if setting.kernel is None else setting.kernel,
            "lam": float(f"{setting.lam:.1e}"),
        }
        words = [setting_text(named).replace("\u00a0", " "), weight_words(setting)]
        return Fitted(search.best_estimator_, ", ".join(filter(None, words)))

    return fit


def _as_it_comes(make: Callable[[Dataset, Task], Any]) -> Callable[[Dataset, Task], Fitted]:
    """A learner of scikit-learn with its default settings, behind the same preparation."""

    def fit(rows: Dataset, task: Task) -> Fitted:
        learner = make(rows, task)
        model = make_recipe(rows, learner).estimator
        weighted = rows.weights is not None and has_fit_parameter(learner, "sample_weight")
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always", ConvergenceWarning)
            model.fit(
                rows.X, rows.y, **({"learner__sample_weight": rows.weights} if weighted else {})
            )
        return Fitted(
            model, early=any(issubclass(each.category, ConvergenceWarning) for each in heard)
        )

    return fit


def _guessing(rows: Dataset, task: Task) -> DummyClassifier:
    """Always the class that is best by the metric, or the shares of classes where it looks at scores or probabilities."""
    classes, codes = np.unique(rows.labels, return_inverse=True)
    _, best = guesses(
        task.metric,
        answers(classes, rows.labels, rows.labels),
        np.bincount(codes, weights=rows.weights),
    )
    return (
        DummyClassifier(strategy="prior")
        if best is None
        else DummyClassifier(strategy="constant", constant=best)
    )


def _forest(rows: Dataset, task: Task) -> RandomForestClassifier:
    return RandomForestClassifier(random_state=task.seed)


def _boosting(rows: Dataset, task: Task) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(random_state=task.seed)


#: The cheapest first: where time is short, later ones may not be done.
LEARNERS = {
    each.name: each
    for each in (
        Learner("guess", "always guessing", False, _as_it_comes(_guessing)),
        Learner(
            "logistic",
            "logistic regression",
            False,
            _as_it_comes(lambda rows, task: LogisticRegression(max_iter=1000)),
        ),
        Learner(
            "neighbours",
            "5 nearest neighbours",
            False,
            _as_it_comes(lambda rows, task: KNeighborsClassifier()),
        ),
        Learner("svc", "SVC", False, _as_it_comes(lambda rows, task: SVC()), probabilities=False),
        Learner("forest", "random forest", False, _as_it_comes(_forest)),
        Learner("linear", "linear, tuned", True, _tuned(kernels=False)),
        Learner("kernel", "kernel, tuned", True, _tuned(kernels=True)),
        Learner("boosting", "boosting", False, _as_it_comes(_boosting)),
    )
}
