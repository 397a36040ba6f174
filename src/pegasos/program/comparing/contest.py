"""All learners on the same splits, repeat after repeat, the cheapest first."""

from __future__ import annotations

import contextlib
import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from pegasos.engine.runtime.interruption import Interrupted, listening
from pegasos.metrics import PROBABILITIES, SCORES, Answers, Metric, answers
from pegasos.program.comparing.learners import Learner, Task, folds
from pegasos.program.pages.wording import count as counted
from pegasos.program.records.comparisons import LeftOut
from pegasos.program.tables.dataset import BadData, Dataset, take
from pegasos.program.tables.messages import plain


@dataclass(frozen=True)
class Trial:
    """One learner on one split."""

    value: float
    fit_seconds: float
    predict_seconds: float
    bytes: int
    choice: str | None
    early: bool


@dataclass
class Trials:
    """What a contest has so far: by learner the trials of each complete repeat, and who is out and why."""

    of: dict[str, list[list[Trial]]] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)

    def common(self) -> dict[str, list[Trial]]:
        """The trials of the repeats that all learners have which have one."""
        repeats = min(len(each) for each in self.of.values())
        return {
            name: [trial for part in each[:repeats] for trial in part]
            for name, each in self.of.items()
        }


@dataclass(frozen=True)
class Contest:
    """The rows, what is asked of them, and how they are split: `repeats` times `cv` folds."""

    rows: Dataset
    metric: Metric
    learners: list[Learner]
    cv: int
    repeats: int
    seed: int
    until: float | None = None

    def run(self, done: Callable[[], None] = lambda: None) -> Trials:
        """All learners, or those that time allows: the first one always."""
        found, waiting = Trials(), []
        for learner in self.learners:
            reason = learner.refuses(self.metric)
            if reason is None:
                waiting.append(learner)
            else:
                found.left_out.append(LeftOut(learner.name, learner.words, reason))
        for repeat in range(self.repeats):
            splits = folds(self.cv, self.rows, self.seed + repeat)
            for place, learner in enumerate(list(waiting)):
                try:
                    trials = self._repeat(
                        learner,
                        splits,
                        found.of.get(learner.name, []),
                        free=not place and not repeat,
                        done=done,
                    )
                except Interrupted:
                    self._end(found, waiting)
                    return found
                except (ValueError, TypeError, MemoryError) as error:
                    if learner.ours:
                        raise
                    waiting.remove(learner)
                    found.of.pop(learner.name, None)
                    found.left_out.append(
                        LeftOut(learner.name, learner.words, plain(f"it failed: {error}", 200))
                    )
                else:
                    found.of.setdefault(learner.name, []).append(trials)
        return found

    def _end(self, found: Trials, waiting: list[Learner]) -> None:
        """Time is up: who has no complete repeat is out."""
        late = [
            LeftOut(each.name, each.words, "time was up")
            for each in waiting
            if each.name not in found.of
        ]
        found.left_out.extend(late)

    def _repeat(
        self,
        learner: Learner,
        splits: list[Any],
        before: list[list[Trial]],
        free: bool,
        done: Callable[[], None],
    ) -> list[Trial]:
        trials: list[Trial] = []
        for train, test in splits:
            known = [*(trial for part in before for trial in part), *trials]
            left = None if self.until is None or free else self.until - time.monotonic()
            if left is not None and left <= max(
                (trial.fit_seconds for trial in known), default=0.0
            ):
                raise Interrupted  # the next fit would not be done in time
            trials.append(self._try(learner, take(self.rows, train), take(self.rows, test), left))
            done()
        return trials

    def _try(self, learner: Learner, train: Dataset, test: Dataset, left: float | None) -> Trial:
        begin = time.perf_counter()
        with threadpool_limits(
            1
        ):  # one thread for everybody: times can be compared, and a busy machine changes them least
            with listening(lambda gap, tol: None):  # what is counted here are fits
                fitted = learner.fit(train, Task(self.metric, self.seed, left))
            fit_seconds, begin = time.perf_counter() - begin, time.perf_counter()
            labels = fitted.model.predict(test.X)
            predict_seconds = time.perf_counter() - begin
        value = self.metric.value(_answers(fitted.model, test, labels, self.metric))
        size = len(pickle.dumps(fitted.model, protocol=pickle.HIGHEST_PROTOCOL))
        return Trial(
            value,
            fit_seconds,
            1000 * predict_seconds / len(test),
            size,
            fitted.choice,
            fitted.early,
        )


def check_splits(rows: Dataset, cv: int, repeats: int, seed: int) -> None:
    """Refuse what cannot be split, before anything is fitted."""
    classes, counts = np.unique(rows.labels, return_counts=True)
    if len(classes) < 2:
        raise BadData(
            f"{rows.name}: all rows are of class {plain(classes[0])!r}; two classes are needed."
        )
    if counts.max() < cv:
        raise BadData(f"{rows.name}: no class has {cv} rows; give fewer folds (cv) or more rows.")
    groups = cv if rows.groups is None else len(np.unique(rows.groups))
    if groups < cv:
        raise BadData(
            f"{rows.name}: there are {counted(groups, 'group')}; give at most as many folds (cv)."
        )
    for train, _ in (
        split for repeat in range(repeats) for split in folds(cv, rows, seed + repeat)
    ):
        there = np.unique(rows.labels[train])
        if len(there) < 2:
            missing = next(code for code, each in enumerate(classes) if each not in there)
            rare = (
                f"the {counted(int(counts[missing]), 'row')} of class {plain(classes[missing])!r}"
            )
            more = "more rows" if rows.groups is None else "more rows, in more than one group"
            raise BadData(
                f"{rows.name}: {rare} can be in one fold only, and the others then have one class. It needs {more}."
            )


def _answers(model: Any, rows: Dataset, labels: Any, metric: Metric) -> Answers:
    """What a metric needs of a model; where it has no scores, its probabilities order rows as well."""
    scores = probabilities = None
    if metric.kind.needs == PROBABILITIES:
        probabilities = model.predict_proba(rows.X)
    elif metric.kind.needs == SCORES:
        with contextlib.suppress(AttributeError):
            scores = model.decision_function(rows.X)
        scores = model.predict_proba(rows.X) if scores is None else scores
    return answers(model.classes_, rows.labels, labels, scores, probabilities)
