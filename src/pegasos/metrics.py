"""Metrics for model selection and evaluation, each declared once.

The parser, help, search, records and pages read this table. Heavy packages are imported inside
functions to keep the help fast.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

#: Model output that a metric needs: predicted classes, the ranking by scores, or probabilities.
LABELS, SCORES, PROBABILITIES = "labels", "scores", "probabilities"
#: Largest cost: sums over rows and their squares stay finite.
MOST_COST = 1e100
#: Binary labels of which the second is positive, by scikit-learn's convention.
_USUAL_PAIRS = ({0, 1}, {-1, 1}, {"0", "1"}, {"-1", "1"})


@dataclass(frozen=True)
class Kind:
    """Declaration of a metric."""

    name: str
    #: Formula in words.
    words: str
    #: Whether lower values are better.
    least: bool
    #: Model output that it needs: LABELS, SCORES or PROBABILITIES.
    needs: str
    #: Corresponding scorer of scikit-learn.
    in_scikit_learn: str
    #: Whether it is a fraction, displayed in percent.
    percent: bool = False
    #: Whether it is defined for a positive class. With more than two classes and no positive class,
    #: it is averaged over classes, or refused if `binary`.
    one_class: bool = False
    binary: bool = False


_KINDS = (
    Kind("error", "share of rows with a wrong label", True, LABELS, "1 - accuracy", True),
    Kind(
        "balanced-error",
        "mean over classes of the error in each",
        True,
        LABELS,
        "1 - balanced_accuracy",
        percent=True,
    ),
    Kind(
        "f1",
        "2 pr/(p + r), precision p and recall r of the positive class",
        False,
        LABELS,
        "f1",
        one_class=True,
        binary=True,
    ),
    Kind("f1-macro", "mean over classes of their F1", False, LABELS, "f1_macro"),
    Kind(
        "roc-auc",
        "chance that a positive row scores above a negative one",
        False,
        SCORES,
        "roc_auc",
        one_class=True,
    ),
    Kind(
        "average-precision",
        "mean precision over all recalls",
        False,
        SCORES,
        "average_precision",
        one_class=True,
    ),
    Kind("log-loss", "mean of -log p(true class)", True, PROBABILITIES, "-neg_log_loss"),
    Kind(
        "brier",
        "mean squared distance of probabilities from the truth",
        True,
        PROBABILITIES,
        "-neg_brier_score",
    ),
    Kind("cost", "mean cost of the answers, by true and answered class", True, LABELS, "none"),
)
METRICS = {kind.name: kind for kind in _KINDS}


@dataclass(frozen=True)
class Measure:
    """Display properties of a metric: name, direction, and whether it is a fraction.

    >>> measure_of("balanced-error"), measure_of("accuracy").name, measure_of("r2").least
    (Measure(name='balanced-error', least=True, percent=True), 'error', False)
    """

    name: str
    least: bool = True
    percent: bool = True

    def text(self, value: float) -> str:
        """Format a value; a non-breaking space joins number and percent sign."""
        return f"{100 * value:.2f}\u00a0%" if self.percent else f"{value:.4g}"

    def rank(self, value: float | None) -> float:
        """Return the sort key of a value: better values first, None last."""
        return math.inf if value is None else value if self.least else -value

    def label(self, value: float) -> str:
        """Format a value for a heatmap cell: an error in percent, without the percent sign."""
        if self.percent:
            return f"{100 * value:.2f}" if value < 0.0995 else f"{100 * value:.1f}"
        return f"{value:.3f}".replace("0.", ".", 1) if 0 <= value < 1 else f"{value:.3g}"


def measure_of(scoring: Any) -> Measure:
    """Return how to display a scoring: a metric, a scorer of scikit-learn, or its name.

    "accuracy" and None are displayed as error.
    """
    if scoring is None or scoring == "accuracy":
        return Measure("error")
    name = scoring.name if isinstance(scoring, Metric) else scoring
    kind = METRICS.get(name) if isinstance(name, str) else None
    if kind is not None:
        return Measure(kind.name, kind.least, kind.percent)
    return Measure(scoring if isinstance(scoring, str) else "score", least=False, percent=False)


def shown_value(scoring: Any, score: float) -> float:
    """Convert a score to its displayed value.

    Accuracy becomes error, and the negative score of a loss becomes the loss.
    """
    if scoring is None or scoring == "accuracy":
        return 1 - score
    metric = as_metric(scoring)
    return -score if metric is not None and metric.kind.least else score


def as_metric(scoring: Any) -> Metric | None:
    """Return a metric of this package given as object or name, and None for other scorings."""
    if isinstance(scoring, Metric):
        return scoring
    return Metric(scoring) if isinstance(scoring, str) and scoring in METRICS else None


@dataclass(frozen=True)
class Answers:
    """Output of a model for labeled rows.

    `truth` and `labels` are codes of the sorted `classes`; scores and probabilities (rows x
    classes) are present if needed.
    """

    classes: Array
    truth: Array
    labels: Array
    scores: Array | None = None
    probabilities: Array | None = None

    def __len__(self) -> int:
        return len(self.truth)


@dataclass(frozen=True)
class Metric:
    """Metric with its options, usable as a scorer in scikit-learn.

    As a scorer it returns higher values for better models: losses are negated.

    Parameters
    ----------
    name : str
        Name of the metric, a key of METRICS.
    positive : object, optional
        Positive class of F1, ROC AUC and average precision. By default 1 of 0 and 1, else the less
        frequent of two classes in the scored rows. Name it where frequencies may differ, as between
        the folds of GridSearchCV.
    costs : tuple of (true, predicted, cost)
        Costs of the metric "cost"; pairs that are not listed cost nothing.

    See Also
    --------
    sklearn.metrics.make_scorer : Scorers of scikit-learn, which searches take as well.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "yes", "no", "yes"]
    >>> Metric("cost", costs=(("yes", "no", 20.0), ("no", "yes", 1.0)))(
    ...     LogisticRegression().fit(X, y), X, y
    ... )
    -5.25
    """

    name: str
    positive: Any = None
    costs: tuple[tuple[Any, Any, float], ...] = ()

    def __post_init__(self) -> None:
        if self.name not in METRICS:
            raise ValueError(f"there is no metric {self.name!r}; there are {', '.join(METRICS)}.")
        if (self.name == "cost") != bool(self.costs):
            raise ValueError("the metric 'cost' needs costs, and no other metric has them.")
        if any(not 0 <= cost <= MOST_COST for _, _, cost in self.costs):
            raise ValueError(f"costs must be numbers from 0 to {MOST_COST:g}.")

    @property
    def kind(self) -> Kind:
        """Declaration of the metric."""
        return METRICS[self.name]

    def settled(self, y: Any, classes: Any = ()) -> Metric:
        """Return the metric with its positive class fixed.

        Parameters
        ----------
        y : array-like
            Labels that determine the positive class if none is named.
        classes : array-like, optional
            Further classes, which `y` may lack.

        Returns
        -------
        Metric
            The metric with a positive class, if it needs one.
        """
        import numpy as np

        if not self.kind.one_class and not self.costs:
            return self
        y = np.asarray(y)
        known = (np.union1d(y, classes) if len(classes) else np.unique(y)).tolist()
        named = [] if self.positive is None else [self.positive]
        for label in (*named, *(each for pair in self.costs for each in pair[:2])):
            if label not in known:
                raise ValueError(
                    f"there is no class {label!r}; there are {', '.join(map(repr, known[:10]))}."
                )
        if not self.kind.one_class or self.positive is not None:
            return self
        if len(known) > 2:
            if self.kind.binary:
                raise ValueError(
                    f"{self.name} needs a positive class if there are {len(known)} classes: name "
                    "one, or use f1-macro."
                )
            return self
        usual = set(known) in _USUAL_PAIRS or (y == known[0]).sum() >= (y == known[-1]).sum()
        return replace(self, positive=known[-1] if usual else known[0])

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the score of a fitted classifier, as scikit-learn's scorers do.

        Parameters
        ----------
        estimator : classifier
            Fitted classifier.
        X, y : array-like
            Rows and labels.
        sample_weight : array-like, optional
            Weights of the rows.

        Returns
        -------
        float
            The metric, negated if lower values are better.
        """
        value = self.settled(y, estimator.classes_).value(self.ask(estimator, X, y), sample_weight)
        return -value if self.kind.least else value

    def ask(self, estimator: Any, X: Any, y: Any) -> Answers:
        """Return the predictions of a fitted classifier that this metric needs.

        Parameters
        ----------
        estimator : classifier
            Fitted classifier.
        X, y : array-like
            Rows and labels.

        Returns
        -------
        Answers
            Labels, and scores or probabilities if needed.
        """
        needs = self.kind.needs
        scores = estimator.decision_function(X) if needs == SCORES else None
        probabilities = estimator.predict_proba(X) if needs == PROBABILITIES else None
        return answers(estimator.classes_, y, estimator.predict(X), scores, probabilities)

    def value(self, found: Answers, weights: Any = None) -> float:
        """Return the metric of predictions.

        Parameters
        ----------
        found : Answers
            Predictions for labeled rows.
        weights : array-like, optional
            Weights of the rows.

        Returns
        -------
        float
            The metric; nan if the rows do not determine it.
        """
        import numpy as np

        count = len(found.classes)
        weights = None if weights is None else np.asarray(weights, dtype=float)
        if not len(found) or (weights is not None and not weights.sum() > 0):
            return math.nan
        if self.kind.needs == PROBABILITIES:
            return self._of_probabilities(found, weights)
        if self.kind.needs == SCORES:
            return self._of_scores(found, weights)
        flat = np.bincount(found.truth * count + found.labels, weights, count**2)
        return self._of_counts(flat.reshape(count, count).astype(float), found.classes.tolist())

    def _of_scores(self, found: Answers, weights: Any) -> float:
        """Return the metric of the positive class, or the mean over all classes."""
        import numpy as np
        from sklearn.metrics import average_precision_score, roc_auc_score

        assert found.scores is not None
        score = roc_auc_score if self.name == "roc-auc" else average_precision_score
        rows = np.ones(len(found)) if weights is None else weights
        values = []
        for code, label in enumerate(found.classes.tolist()):
            own = found.truth == code
            if self.positive in (None, label) and 0 < rows[own].sum() < rows.sum():
                values.append(score(own, found.scores[:, code], sample_weight=weights))
        return float(np.mean(values)) if values else math.nan

    def _of_counts(self, counts: Array, classes: list[Any]) -> float:
        """Return the metric of a confusion matrix, true class x predicted class.

        A bootstrap evaluates it thousands of times, and scikit-learn's functions validate labels
        each time.
        """
        import numpy as np

        right, total = np.diag(counts), counts.sum()
        true, answered = counts.sum(axis=1), counts.sum(axis=0)
        if self.name == "error":
            return float(1 - right.sum() / total)
        if self.name == "cost":
            costs = np.zeros_like(counts)
            for one, other, cost in self.costs:
                costs[classes.index(one), classes.index(other)] = cost
            return float((costs * counts).sum() / total)
        there = true > 0
        if self.name == "balanced-error":
            return float(1 - np.mean(right[there] / true[there]))
        there |= answered > 0
        each = np.divide(2 * right, true + answered, out=np.zeros(len(true)), where=there)
        if self.positive is not None:
            return float(each[classes.index(self.positive)])
        return float(each[there].mean())

    def _of_probabilities(self, found: Answers, weights: Any) -> float:
        import numpy as np

        p = found.probabilities
        assert p is not None
        if self.name == "log-loss":
            p = np.asarray(p, dtype=np.float64)
            each = -np.log(np.clip(p[np.arange(len(p)), found.truth], np.finfo(p.dtype).eps, 1.0))
        else:
            each = np.square(p - np.eye(p.shape[1])[found.truth]).sum(axis=1)
            each /= 2 if p.shape[1] == 2 else 1  # of two classes one is counted, by convention
        return float(np.average(each, weights=weights))


def answers(
    known: Any, y: Any, labels: Any, scores: Any = None, probabilities: Any = None
) -> Answers:
    """Return `Answers` from true labels y and the output of a model with classes `known`.

    Scores are those of decision_function. Codes and columns are for the union of `known` and the
    classes in y.
    """
    import numpy as np

    known, y, labels = np.asarray(known), np.asarray(y), np.asarray(labels)
    classes = np.union1d(known, y)
    at = np.searchsorted(classes, known)

    def widened(values: Any) -> Any:
        if values is None:
            return None
        values = np.asarray(values)
        if values.ndim == 1 or values.shape[1] == 1:
            values = np.column_stack([-values, values])
        full = np.zeros((len(values), len(classes)), dtype=values.dtype)
        full[:, at] = values
        return full

    codes = np.searchsorted(classes, y), np.searchsorted(classes, labels)
    return Answers(classes, *codes, widened(scores), widened(probabilities))


def baseline_answers(metric: Metric, found: Answers, counts: Array) -> tuple[Answers, Any]:
    """Return the best constant prediction, the baseline of a metric, for the rows of `found`.

    It is the best single class (which is returned, too), the class frequencies for metrics of
    probabilities, and equal scores for metrics of rankings. `counts` are the rows of each class in
    the table that determines the baseline.
    """
    import numpy as np

    rows, count = len(found), len(found.classes)
    shares = np.asarray(counts, dtype=float) / max(1, np.sum(counts))
    if metric.kind.needs == PROBABILITIES:
        return replace(found, probabilities=np.broadcast_to(shares, (rows, count))), None
    if metric.kind.needs == SCORES:
        return replace(found, scores=np.zeros((rows, count))), None
    sign, values = 1 if metric.kind.least else -1, []
    for code in np.flatnonzero(shares):
        table = np.zeros((count, count))
        table[:, code] = shares
        value = sign * metric._of_counts(table, found.classes.tolist())
        values.append((value, -shares[code], int(code)))
    best = min(values)[2]
    return replace(found, labels=np.full(rows, best)), found.classes[best]
