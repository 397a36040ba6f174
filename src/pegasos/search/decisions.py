"""Decisions from out-of-fold scores: calibration of probabilities, and a threshold for an aim."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pegasos.estimates import resamples
from pegasos.metrics import METRICS, Metric, answers

if TYPE_CHECKING:
    from pegasos.learners.calibration import Calibration

Array = np.ndarray[Any, Any]

#: Kind of calibration: the model's own probabilities.
OWN = "own"
#: Folds in which calibrations are compared, and rows that a class needs at least.
PARTS, LEAST_ROWS = 5, 10
#: Rows from which on isotonic regression is tried: with fewer it overfits.
ISOTONIC_ROWS = 1000
#: Aims besides metrics: as much recall as possible at a minimum precision, or vice versa.
WISHES = ("precision", "recall")
#: Metrics that a threshold can be chosen for.
AIMS = tuple(name for name in METRICS if name in ("error", "balanced-error", "f1", "cost"))
#: Scores of two folds have no common scale if their spreads differ by a larger factor.
SPREAD = 3.0


@dataclass(eq=False)
class ScaleWarning(UserWarning):
    """Scores of folds cannot be joined: do not trust probabilities or thresholds from them."""

    fact: str

    def __str__(self) -> str:
        return f"{self.fact}; try the logistic loss, or balanced class weights."


def scale_warning(folds: Iterable[Array]) -> ScaleWarning | None:
    """Return a warning if the scores of the folds have no common scale.

    That happens if a class is rare and nowhere the more probable one: the hinge loss is minimal for
    equal scores of all rows, and the small differences that remain vary between folds.
    """
    spreads = [float(np.std(scores, axis=0).max()) for scores in folds if len(scores) >= LEAST_ROWS]
    if not spreads or max(spreads) <= SPREAD * min(spreads):
        return None
    ratio = f"{max(spreads) / min(spreads):.0f}" if min(spreads) > 0 else "infinitely many"
    return ScaleWarning(
        f"scores have no common scale, in one fold they spread {ratio} times as far as in another: "
        "trust neither probabilities nor a threshold here"
    )


@dataclass(frozen=True)
class Calibrated:
    """Chosen calibration (None: the model's own probabilities) and the Brier score of each kind.

    `probabilities` are cross-fitted: those of each row are from a map fitted to other rows.
    """

    calibration: Calibration | None
    kind: str
    briers: dict[str, float]
    probabilities: Array


def choose_calibration(
    scores: Array, codes: Array, own: Array | None = None, pairs: bool = False
) -> Calibrated:
    """Fit the calibration with the best cross-validated Brier score by the one-standard-error rule.

    Of the model's probabilities (`own`, None if it has none), a sigmoid and isotonic regression,
    in this order, the first is chosen that is within one standard error of the best Brier score.
    """
    from pegasos.learners.calibration import ISOTONIC, SIGMOID, fit_calibration

    counts = _class_counts(scores, codes, pairs)
    if (counts >= LEAST_ROWS).sum() < 2:
        raise ValueError(f"calibration needs two classes with {LEAST_ROWS} scored rows each.")
    found = {} if own is None else {OWN: own}
    # Sigmoids are regularized, and suit classes of few rows.
    many = len(codes) >= ISOTONIC_ROWS and counts.min() >= LEAST_ROWS
    for kind in (SIGMOID, ISOTONIC) if many else (SIGMOID,):
        found[kind] = cross_fitted(kind, scores, codes, pairs)
    classes, truth = np.arange(len(counts)), np.eye(len(counts))[codes]
    outputs = {kind: answers(classes, codes, codes, None, p) for kind, p in found.items()}
    briers = {kind: Metric("brier").value(each) for kind, each in outputs.items()}
    losses = {kind: np.square(p - truth).sum(axis=1) for kind, p in found.items()}
    least = losses[min(briers, key=lambda kind: briers[kind])]
    behind = {kind: loss - least for kind, loss in losses.items()}
    noise = {kind: each.std() / np.sqrt(len(codes)) for kind, each in behind.items()}
    best = next(kind for kind in found if behind[kind].mean() <= noise[kind])
    calibration = None if best == OWN else fit_calibration(best, scores, codes, pairs)
    return Calibrated(calibration, best, briers, found[best])


def cross_fitted(kind: str, scores: Array, codes: Array, pairs: bool = False) -> Array:
    """Return probabilities (rows x classes), each from a calibration fitted to other rows.

    Rows with a negative code belong to a class without scores; no calibration is fitted to them.
    With too few rows of all classes, every row gets the shares of the classes.
    """
    from sklearn.model_selection import StratifiedKFold

    from pegasos.learners.calibration import fit_calibration

    known = codes >= 0
    counts = _class_counts(scores, codes[known], pairs)
    columns = len(counts)
    if counts.max() < PARTS:
        return np.tile((counts + 1) / (known.sum() + columns), (len(codes), 1))
    p = np.empty((len(codes), columns))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")
        parts = list(StratifiedKFold(PARTS, shuffle=True, random_state=0).split(codes, codes))
    for train, test in parts:
        train = train[known[train]]
        fitted = fit_calibration(kind, scores[train], codes[train], pairs)
        p[test] = fitted.probabilities(scores[test])
    return p


def fold_probabilities(learner: Any, scores: Array, codes: Array, classes: Array) -> Array:
    """Return a learner's own probabilities of a fold, or those of sigmoids if it has none.

    The sigmoid of each row is fitted to other rows of the fold, so that folds need no common scale.
    `classes` are the codes to which columns of the scores belong.
    """
    from pegasos.learners.calibration import SIGMOID

    if learner.has_probabilities:
        return np.asarray(learner.own_probabilities(scores))
    places = np.searchsorted(classes, codes).clip(max=len(classes) - 1)
    known = np.where(classes[places] == codes, places, -1)
    return cross_fitted(SIGMOID, scores, known, learner.has_pairs(classes))


def _class_counts(scores: Array, codes: Array, pairs: bool) -> Array:
    """Return the number of rows of each class that scores have columns for."""
    from pegasos.learners.one_vs_one import class_count

    columns = 2 if scores.ndim == 1 else max(2, scores.shape[1])
    return np.bincount(codes, minlength=class_count(columns) if pairs else columns)


@dataclass(frozen=True)
class Aim:
    """Aim of a threshold: a metric to optimize, or a minimum of "precision" or "recall" (`wish`).

    With a wish, the metric only names the positive class.
    """

    metric: Metric | None = None
    wish: str | None = None
    least: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Aim:
        """Return the aim of a text: "precision=0.99", "recall=0.8" or a metric such as "f1".

        >>> Aim.parse("precision=0.99")
        Aim(metric=None, wish='precision', least=0.99)
        """
        name, sign, value = text.partition("=")
        if name in AIMS and not sign:
            return cls(Metric(name))
        with contextlib.suppress(ValueError):
            if name in WISHES and 0 < float(value) <= 1:
                return cls(wish=name, least=float(value))
        known = f"{', '.join(AIMS)}, precision=0.9 or recall=0.8"
        raise ValueError(f"a threshold is chosen for {known}, got {text!r}.")

    def __str__(self) -> str:
        if self.metric is None or self.wish is not None:
            return f"{self.wish} >= {self.least:g}"
        return self.metric.name

    def loss(self, rates: Rates) -> Array:
        """Return a loss for each threshold; infinite where the minimum is not reached."""
        hits, alarms, missed = rates.hits, rates.alarms, rates.positives - rates.hits
        if self.metric is None or self.wish is not None:
            asked, other = np.nan_to_num(rates.precision), rates.recall
            asked, other = (asked, other) if self.wish == "precision" else (other, asked)
            return np.where(asked >= self.least, -other, np.inf)
        if self.metric.name == "error":
            return missed + alarms
        if self.metric.name == "balanced-error":
            return 1 - rates.recall + alarms / max(rates.negatives, 1e-300)
        if self.metric.name == "f1":
            return -2 * hits / (rates.positives + hits + alarms)
        costs, positive = self.metric.costs, self.metric.positive
        miss = sum(cost for true, _, cost in costs if true == positive)
        return miss * missed + sum(cost for true, _, cost in costs if true != positive) * alarms


@dataclass(frozen=True)
class Threshold:
    """Score above which rows are predicted positive, with a 95 % interval, and resulting rates.

    `precision`, `recall` and the `share` of rows above it are those of the rows it was chosen on.
    """

    value: float
    low: float
    high: float
    aim: str
    precision: float
    recall: float
    share: float


def choose_threshold(aim: Aim, scores: Array, positive: Array) -> Threshold:
    """Return the best threshold for an aim, in the middle between two scores.

    `scores` are those of the positive class.

    >>> scores, positive = np.array([-2.0, -1.0, 0.5, 1.0, 3.0]), np.array([0, 0, 1, 0, 1]) > 0
    >>> choose_threshold(Aim(wish="precision", least=0.99), scores, positive).value
    2.0
    """
    rates = Rates.of(scores, positive)
    best = _best(aim, rates)
    if best is None:
        most = np.nanmax(rates.precision if aim.wish == "precision" else rates.recall)
        raise ValueError(
            f"no threshold gives {aim.wish} {aim.least:g} here; the most is {most:.3g}."
        )
    again = (Rates.of(scores, positive, weights) for weights in resamples(len(scores)))
    drawn = [each.thresholds[place] for each in again if (place := _best(aim, each)) is not None]
    low, high = np.quantile(drawn, [0.025, 0.975]) if drawn else (np.nan, np.nan)
    return Threshold(
        value=float(rates.thresholds[best]),
        low=float(low),
        high=float(high),
        aim=str(aim),
        precision=float(np.nan_to_num(rates.precision[best])),
        recall=float(rates.recall[best]),
        share=float((rates.hits[best] + rates.alarms[best]) / len(scores)),
    )


def _best(aim: Aim, rates: Rates) -> int | None:
    """Return the index of the best threshold, the middle one of ties; None if none is feasible."""
    losses = aim.loss(rates)
    best = np.flatnonzero(losses == losses.min())
    return int(best[(len(best) - 1) // 2]) if np.isfinite(losses).any() else None


@dataclass(frozen=True)
class Rates:
    """True positives (hits) and false positives (alarms) above each threshold, by weight."""

    thresholds: Array
    hits: Array
    alarms: Array
    positives: float
    negatives: float

    @classmethod
    def of(cls, scores: Array, positive: Array, weights: Array | None = None) -> Rates:
        """Return the rates of all thresholds, from above all scores to below all of them."""
        weights = np.ones(len(scores)) if weights is None else weights
        order = np.argsort(-scores, kind="stable")
        ranked, is_hit, each = scores[order].astype(np.float64), positive[order], weights[order]
        ends = np.flatnonzero(np.append(np.diff(ranked) != 0, True))  # equal scores fall together
        middles = np.append((ranked[ends[:-1]] + ranked[ends[1:]]) / 2, ranked[-1] - 1.0)
        hits, alarms = (np.append(0.0, np.cumsum(each * k)[ends]) for k in (is_hit, ~is_hit))
        thresholds = np.append(ranked[0] + 1.0, middles)
        return cls(thresholds, hits, alarms, float(each @ is_hit), float(each @ ~is_hit))

    @property
    def recall(self) -> Array:
        """Share of the positive rows above each threshold."""
        return self.hits / max(self.positives, 1e-300)

    @property
    def precision(self) -> Array:
        """Share of positive rows among those above each threshold; nan above all scores."""
        above = self.hits + self.alarms
        return np.divide(self.hits, above, out=np.full(len(above), np.nan), where=above > 0)
