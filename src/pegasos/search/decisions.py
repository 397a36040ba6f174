"""From out-of-fold scores to decisions: which calibration, and from which score on a row is called positive."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pegasos.metrics import METRICS, Metric, answers
from pegasos.search.figures import resamples

if TYPE_CHECKING:
    from pegasos.learners.calibration import Calibration

Array = np.ndarray[Any, Any]

#: A model's own probabilities, where it has some.
OWN = "own"
#: Parts of the rows in which calibrations are compared, and rows that a class needs at least.
PARTS, LEAST_ROWS = 5, 10
#: Rows from which on isotonic steps are tried: with fewer they fit the rows rather than what is behind them.
ISOTONIC_ROWS = 1000
#: What a threshold can be chosen for besides metrics: as much recall as possible at a precision, or the other way round.
WISHES = ("precision", "recall")


#: Scores of one fold may spread so many times as far as those of another; farther, they have no common scale.
SPREAD = 3.0


class ScaleWarning(UserWarning):
    """Scores of folds cannot be put together, so neither probabilities nor a threshold that come from them can be trusted."""

    def __init__(self, fact: str) -> None:
        super().__init__(fact)  # what a copy in another process is made of
        self.fact = fact

    def __str__(self) -> str:
        return f"{self.fact}; try the logistic loss, or balanced class weights."


def scale_warning(folds: Iterable[Array]) -> ScaleWarning | None:
    """A warning where the scores that the models of the folds give have no common scale.

    So it is where one class is rare and no row is more likely of it than not: the best answer of the hinge loss is then the same
    score for all rows, and what little they differ by is another in each fold.
    """
    spreads = [float(np.std(scores, axis=0).max()) for scores in folds if len(scores) >= LEAST_ROWS]
    if not spreads or max(spreads) <= SPREAD * min(spreads):
        return None
    times = (
        f"{max(spreads) / min(spreads):.0f} times as far as"
        if min(spreads) > 0
        else "and are all the same"
    )
    fact = f"scores have no common scale, in one fold they spread {times} in another"
    return ScaleWarning(f"{fact}: trust neither probabilities nor a threshold here")


@dataclass(frozen=True)
class Calibrated:
    """The calibration that was chosen (None: the model's own probabilities), the Brier score of each kind, and probabilities of
    all rows, each from a map that was fitted without it.
    """

    calibration: Calibration | None
    kind: str
    briers: dict[str, float]
    probabilities: Array


def choose_calibration(
    scores: Array, codes: Array, own: Array | None = None, pairs: bool = False
) -> Calibrated:
    """The kind whose Brier score is least in cross-validation over these rows, fitted to all of them.

    `own` are the model's own probabilities, if it has some. Own ones go before a sigmoid, and this before steps, which have many
    numbers to fit: what comes later must be better by more than a standard error of the difference.
    """
    from pegasos.learners.calibration import ISOTONIC, SIGMOID, fit_calibration

    counts = np.bincount(codes)
    if counts.min() < LEAST_ROWS:
        raise ValueError(
            f"a class has {counts.min()} rows with out-of-fold scores; to calibrate, {LEAST_ROWS} are needed."
        )
    found = {} if own is None else {OWN: own}
    for kind in (SIGMOID, ISOTONIC) if len(codes) >= ISOTONIC_ROWS else (SIGMOID,):
        found[kind] = cross_fitted(kind, scores, codes, pairs)
    classes = np.arange(len(counts))
    briers = {
        kind: Metric("brier").value(answers(classes, codes, codes, None, p))
        for kind, p in found.items()
    }
    losses = {
        kind: np.square(p - np.eye(len(counts))[codes]).sum(axis=1) for kind, p in found.items()
    }
    least = losses[min(briers, key=lambda kind: briers[kind])]
    best = next(
        kind
        for kind, each in losses.items()
        if (each - least).mean() <= (each - least).std() / np.sqrt(len(codes))
    )
    return Calibrated(
        None if best == OWN else fit_calibration(best, scores, codes, pairs),
        best,
        briers,
        found[best],
    )


def cross_fitted(kind: str, scores: Array, codes: Array, pairs: bool = False) -> Array:
    """Probabilities of all rows (rows x classes), each from a map that was fitted to others; a code below 0 is a class without
    scores, to which no map is fitted. Every row the shares of the classes where there are too few rows to leave some out.
    """
    from sklearn.model_selection import StratifiedKFold

    from pegasos.learners.calibration import fit_calibration
    from pegasos.learners.one_vs_one import class_count

    columns = 2 if scores.ndim == 1 else max(2, scores.shape[1])
    columns = class_count(columns) if pairs else columns
    known = codes >= 0
    if np.bincount(codes[known], minlength=columns).max() < PARTS:
        shares = (np.bincount(codes[known], minlength=columns) + 1) / (known.sum() + columns)
        return np.tile(shares, (len(codes), 1))
    p = np.empty((len(codes), columns))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")
        parts = list(StratifiedKFold(PARTS, shuffle=True, random_state=0).split(codes, codes))
    for rest, part in parts:
        learned = rest[known[rest]]
        fitted = fit_calibration(kind, scores[learned], codes[learned], pairs)
        p[part] = fitted.probabilities(scores[part])
    return p


def carry_over(known: Any, fresh: Any, scores: Array, others: Array) -> None:
    """Give a learner that was fitted to more rows what out-of-fold scores taught of another: calibration and threshold.

    Both learners' scores of the same rows tell how far their scales differ, which a line brings together: with few rows of a
    class and much regularization scores may be nearly the same for all rows, and small shifts would change every decision.
    """
    if known.calibration_ is None and not known.threshold_:
        return
    scores, others = (
        np.asarray(each, dtype=np.float64).reshape(len(each), -1) for each in (scores, others)
    )
    varies = others.std(axis=0) > 0
    together = ((others - others.mean(axis=0)) * (scores - scores.mean(axis=0))).mean(axis=0)
    slopes = together / np.where(varies, others.var(axis=0), 1.0)
    slopes = np.where(
        slopes > 0, slopes, 1.0
    )  # scores that do not grow together have no common scale
    offsets = scores.mean(axis=0) - slopes * others.mean(axis=0)
    if known.calibration_ is not None:
        fresh.calibration_ = known.calibration_.rescaled(slopes, offsets)
    if known.threshold_:
        fresh.threshold_ = float((known.threshold_ - offsets[0]) / slopes[0])


def reliability(p: Array, true: Array, bins: int = 10) -> list[tuple[float, float, int]]:
    """Mean probability, share that was true, and rows, for bins of equally many rows.

    >>> reliability(np.array([0.1, 0.1, 0.9, 0.9]), np.array([False, False, True, False]), bins=2)
    [(0.1, 0.0, 2), (0.9, 0.5, 2)]
    """
    parts = np.array_split(np.argsort(p, kind="stable"), bins)
    return [
        (float(p[part].mean()), float(true[part].mean()), len(part)) for part in parts if len(part)
    ]


def expected_calibration_error(bins: list[tuple[float, float, int]]) -> float:
    """The mean distance of probabilities from shares over the rows of all bins."""
    total = sum(rows for _, _, rows in bins)
    return sum(rows * abs(p - share) for p, share, rows in bins) / total


@dataclass(frozen=True)
class Aim:
    """What a threshold is chosen for: a metric; or, with a wish, "precision" or "recall" of at least so much of its class."""

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
        try:
            least = float(value)
        except ValueError:
            least = 0.0
        if name not in WISHES or not 0 < least <= 1:
            raise ValueError(
                f"a threshold is chosen for {', '.join(AIMS)}, precision=0.9 or recall=0.8, got {text!r}."
            )
        return cls(wish=name, least=least)

    def __str__(self) -> str:
        return (
            f"{self.wish} >= {self.least:g}"
            if self.wish is not None or self.metric is None
            else self.metric.name
        )


@dataclass(frozen=True)
class Threshold:
    """A score from which on rows are called positive, its 95 % interval, and what that gave on the rows it was chosen on."""

    value: float
    low: float
    high: float
    aim: str
    precision: float
    recall: float
    #: The share of rows above it.
    share: float


def choose_threshold(aim: Aim, scores: Array, positive: Array) -> Threshold:
    """The best threshold for an aim; scores are those of the positive class. Between two scores it lies in the middle.

    >>> scores = np.array([-2.0, -1.0, 0.5, 1.0, 3.0])
    >>> choose_threshold(
    ...     Aim(wish="precision", least=0.99), scores, np.array([False, False, True, False, True])
    ... ).value
    2.0
    """
    rates = Rates.of(scores, positive)
    best = _best(aim, rates)
    if best is None:
        most = np.nanmax(rates.precision if aim.wish == "precision" else rates.recall)
        raise ValueError(
            f"no threshold gives {aim.wish} {aim.least:g} here; the most is {most:.3g}."
        )
    drawn = []
    for weights in resamples(len(scores)):
        again = Rates.of(scores, positive, weights)
        place = _best(aim, again)
        if place is not None:
            drawn.append(again.thresholds[place])
    low, high = np.quantile(drawn, [0.025, 0.975]) if drawn else (np.nan, np.nan)
    found = float(rates.thresholds[best]), float(low), float(high), str(aim)
    share = float((rates.hits[best] + rates.alarms[best]) / (rates.positives + rates.negatives))
    return Threshold(
        *found, float(np.nan_to_num(rates.precision[best])), float(rates.recall[best]), share
    )


@dataclass(frozen=True)
class Rates:
    """What each threshold gives: rows above it that are positive (hits) and that are not (alarms), and how many there are."""

    thresholds: Array
    hits: Array
    alarms: Array
    positives: float
    negatives: float

    @classmethod
    def of(cls, scores: Array, positive: Array, weights: Array | None = None) -> Rates:
        """From none of the rows above the threshold to all of them; rows may count more or less."""
        weights = np.ones(len(scores)) if weights is None else weights
        order = np.argsort(-scores, kind="stable")
        ranked, mine, each = scores[order].astype(np.float64), positive[order], weights[order]
        ends = np.flatnonzero(np.append(np.diff(ranked) != 0, True))  # equal scores fall together
        middles = np.append((ranked[ends[:-1]] + ranked[ends[1:]]) / 2, ranked[-1] - 1.0)
        hits, alarms = np.cumsum(each * mine)[ends], np.cumsum(each * ~mine)[ends]
        thresholds = np.concatenate([[ranked[0] + 1.0], middles])
        return cls(
            thresholds,
            np.append(0.0, hits),
            np.append(0.0, alarms),
            float(each @ mine),
            float(each @ ~mine),
        )

    @property
    def recall(self) -> Array:
        return self.hits / max(self.positives, 1e-300)

    @property
    def precision(self) -> Array:
        """Not a number where no row is above the threshold."""
        above = self.hits + self.alarms
        return np.divide(self.hits, above, out=np.full(len(above), np.nan), where=above > 0)


def _best(aim: Aim, rates: Rates) -> int | None:
    """The place of the best threshold; of equal ones the middle one. None where a wish cannot be had."""
    if aim.wish is None:
        assert aim.metric is not None
        values = _LOSSES[aim.metric.name](rates, aim.metric)
    else:
        asked, other = (
            (rates.precision, rates.recall)
            if aim.wish == "precision"
            else (rates.recall, rates.precision)
        )
        values = np.where(np.nan_to_num(asked) >= aim.least, -np.nan_to_num(other), np.inf)
    if not np.isfinite(values).any():
        return None
    best = np.flatnonzero(values == values.min())
    return int(best[(len(best) - 1) // 2])


def _errors(rates: Rates, metric: Metric) -> Array:
    return rates.positives - rates.hits + rates.alarms


def _balanced(rates: Rates, metric: Metric) -> Array:
    return 1 - rates.recall + rates.alarms / max(rates.negatives, 1e-300)


def _f1(rates: Rates, metric: Metric) -> Array:
    return -2 * rates.hits / (rates.positives + rates.hits + rates.alarms)


def _cost(rates: Rates, metric: Metric) -> Array:
    missed = sum(cost for true, _, cost in metric.costs if true == metric.positive)
    alarm = sum(cost for true, _, cost in metric.costs if true != metric.positive)
    return missed * (rates.positives - rates.hits) + alarm * rates.alarms


#: Metrics that a threshold can be chosen for, as losses of all thresholds at once.
_LOSSES: dict[str, Callable[[Rates, Metric], Array]] = {
    "error": _errors,
    "balanced-error": _balanced,
    "f1": _f1,
    "cost": _cost,
}
AIMS = tuple(name for name in METRICS if name in _LOSSES)
