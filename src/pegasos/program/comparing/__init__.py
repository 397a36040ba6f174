"""Our tuned families beside scikit-learn's learners, on the same splits: errors, noise, time and size."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from pegasos.metrics import METRICS, Metric, measure_of
from pegasos.program.comparing.advice import advice
from pegasos.program.comparing.contest import Contest, Trial, check_splits
from pegasos.program.comparing.learners import LEARNERS
from pegasos.program.comparing.resampled import holm, mean_interval, paired_p
from pegasos.program.pages.row_samples import as_dataset
from pegasos.program.records.comparisons import Comparison, Contender, LeftOut
from pegasos.program.tables.dataset import Dataset

__all__ = ["LEARNERS", "Comparison", "Contender", "LeftOut", "compare", "compare_rows"]

#: Metrics without an upper end.
_UNBOUNDED = ("log-loss", "brier", "cost")


def compare(
    X: Any,
    y: Any,
    *,
    models: Sequence[str] = (),
    metric: Metric | str = "error",
    cv: int = 5,
    repeats: int = 2,
    groups: Any = None,
    sample_weight: Any = None,
    max_time: float | None = None,
    random_state: int = 0,
    name: str = "the data",
    image: tuple[int, int] | None = None,
) -> Comparison:
    """Our linear and kernel models beside scikit-learn's learners, on the same splits.

    Ours are tuned within every training part, as `pegasos tune` would; scikit-learn's have their default settings. All get the
    same numbers: gaps of a frame are imputed, words are one-hot, numbers are standardized, fitted to training rows only.

    models    some of "guess", "logistic", "neighbours", "svc", "forest", "linear", "kernel", "boosting"; none: all.
    cv, repeats  stratified folds (whole `groups`), and how often they are drawn anew.
    image     height and width where a row is a picture: pixels stay as they are.
    max_time  seconds: the cheapest learners come first; who has no complete repeat when they are up is in `left_out`.

    Intervals and tests are those of the corrected resampled t (Nadeau and Bengio 2003), p corrected by Holm.
    `pegasos.report(comparison)` is its page.

    >>> from sklearn.datasets import load_iris
    >>> found = compare(*load_iris(return_X_y=True), models=["guess", "linear"], repeats=1)
    >>> [each.name for each in found.contenders], found.contenders[1].near
    (['linear', 'guess'], False)
    """
    check_classification_targets(y)
    rows = as_dataset(X, y, {"name": name, "image": image})
    assert rows is not None
    for part, what in ((y, "y"), (groups, "groups"), (sample_weight, "sample_weight")):
        if part is not None and len(part) != len(rows):
            raise ValueError(
                f"X has {len(rows)} rows and {what} {len(part)} values; there must be as many."
            )
    if isinstance(rows.X, np.ndarray) and rows.X.dtype.kind == "f" and np.isnan(rows.X).any():
        raise ValueError("X has gaps (nan): give a pandas or polars frame, whose gaps are imputed.")
    own, weights = (None if each is None else np.asarray(each) for each in (groups, sample_weight))
    rows = replace(rows, groups=own, weights=weights)
    chosen = Metric(metric) if isinstance(metric, str) else metric
    return compare_rows(
        rows, chosen.settled(rows.labels), models, cv, repeats, max_time, random_state
    )


def compare_rows(
    rows: Dataset,
    metric: Metric,
    models: Sequence[str] = (),
    cv: int = 5,
    repeats: int = 2,
    max_time: float | None = None,
    seed: int = 0,
    done: Callable[[], None] = lambda: None,
) -> Comparison:
    """The same for rows as a reader gives them; `done` is called after each fit."""
    begin = time.monotonic()
    if cv < 2 or repeats < 1:
        raise ValueError(f"cv must be at least 2 and repeats at least 1, got {cv} and {repeats}.")
    for each in models:
        if each not in LEARNERS:
            raise ValueError(f"there is no {each!r} to compare; there are {', '.join(LEARNERS)}.")
    check_splits(rows, cv, repeats, seed)
    learners = [learner for learner in LEARNERS.values() if not models or learner.name in models]
    until = None if max_time is None else begin + max_time
    trials = Contest(rows, metric, learners, cv, repeats, seed, until).run(done)
    if not trials.of:
        raise ValueError(
            f"nothing could be compared: {'; '.join(f'{each.name}: {each.reason}' for each in trials.left_out)}."
        )
    common = trials.common()
    contenders = judged(common, metric, ratio=1 / (cv - 1))
    return Comparison(
        data=rows.name,
        rows=len(rows),
        features=int(rows.X.shape[1]),
        classes=len(np.unique(rows.labels)),
        metric=metric.name,
        positive=None if metric.positive is None else str(metric.positive),
        folds=cv,
        repeats=len(next(iter(common.values()))) // cv,
        asked=repeats,
        grouped=rows.groups is not None,
        seed=seed,
        seconds=time.monotonic() - begin,
        contenders=contenders,
        left_out=trials.left_out,
        advice=advice(contenders, trials.left_out, measure_of(metric.name)),
    )


def judged(trials: dict[str, list[Trial]], metric: Metric, ratio: float) -> list[Contender]:
    """Each learner with its interval, and its paired test against the best; the best first."""
    sign = 1.0 if METRICS[metric.name].least else -1.0
    values = {name: np.array([trial.value for trial in each]) for name, each in trials.items()}
    means = {name: mean_interval(each, ratio) for name, each in values.items()}
    order = sorted(trials, key=lambda name: (np.isnan(means[name][0]), sign * means[name][0]))
    behind = {name: sign * (values[name] - values[order[0]]) for name in order[1:]}
    corrected = dict(
        zip(behind, holm([paired_p(each, ratio) for each in behind.values()]), strict=True)
    )
    return [
        Contender(
            name=name,
            words=LEARNERS[name].words,
            ours=LEARNERS[name].ours,
            values=values[name].tolist(),
            value=means[name][0],
            low=max(0.0, means[name][1]),
            high=means[name][2] if metric.name in _UNBOUNDED else min(1.0, means[name][2]),
            behind=float(np.nanmean(behind[name])) if name in behind else None,
            p=corrected.get(name),
            **_costs(trials[name]),
        )
        for name in order
    ]


def _costs(trials: list[Trial]) -> dict[str, Any]:
    choices = Counter(trial.choice for trial in trials if trial.choice is not None)
    early = sum(trial.early for trial in trials)
    return {
        "fit_seconds": float(np.median([trial.fit_seconds for trial in trials])),
        "predict_seconds": float(np.median([trial.predict_seconds for trial in trials])),
        "bytes": int(np.median([trial.bytes for trial in trials])),
        "choice": choices.most_common(1)[0][0] if choices else None,
        "note": f"not converged on {early} of {len(trials)} splits" if early else None,
    }
