"""From scores to probabilities that mean something: sigmoids or isotonic steps, fitted to scores that no model learned from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit

from pegasos.learners.one_vs_one import class_count, couple_probabilities, pair_labels

Array = np.ndarray[Any, Any]

SIGMOID, ISOTONIC = "sigmoid", "isotonic"
#: Between these the power is sought by which probabilities of several classes are sharpened.
POWERS = (0.2, 10.0)
#: Steps of Newton's method for a sigmoid, of which about ten are needed, and the smallest part of one.
NEWTON_STEPS, SMALLEST_STEP = 100, 1e-3


@dataclass(frozen=True)
class Calibration:
    """One map for each column of scores: σ(slope s + offset), or a line through knots (score, probability) that never falls.

    Two classes have one column, that of the second class. Of more each is calibrated against the rest, raised to a `power`, and
    all are normalized: p_k^power / Σ p_j^power. Without the power they would be too timid, since each knows only its own score.

    >>> Calibration("sigmoid", (np.array([2.0, 0.0]),)).probabilities(
    ...     np.array([-1.0, 0.0, 1.0])
    ... ).round(2).tolist()
    [[0.88, 0.12], [0.5, 0.5], [0.12, 0.88]]
    """

    kind: str
    #: Of a sigmoid slope and offset, of steps the knots, (knots, 2).
    columns: tuple[Array, ...]
    power: float = 1.0
    #: Whether columns belong to pairs of classes, whose probabilities are coupled.
    pairs: bool = False

    def probabilities(self, scores: Array) -> Array:
        """Rows x classes, for the values of a decision function."""
        scores = np.asarray(scores, dtype=np.float64).reshape(len(scores), -1)
        each = np.column_stack(
            [self._one(column, scores[:, place]) for place, column in enumerate(self.columns)]
        )
        if each.shape[1] == 1:
            return np.column_stack([1 - each, each])
        if self.pairs:
            return couple_probabilities(each)
        each = each**self.power
        total = each.sum(axis=1, keepdims=True)
        return np.where(total > 0, each / np.where(total > 0, total, 1.0), 1 / each.shape[1])

    def rescaled(self, slopes: Array, offsets: Array) -> Calibration:
        """The same map for scores s of another model, where slope s + offset (one each a column) are the scores of this one."""
        pairs = zip(self.columns, slopes, offsets, strict=True)
        if self.kind == SIGMOID:
            return replace(
                self, columns=tuple(np.array([c[0] * a, c[0] * b + c[1]]) for c, a, b in pairs)
            )
        return replace(
            self, columns=tuple(np.column_stack([(c[:, 0] - b) / a, c[:, 1]]) for c, a, b in pairs)
        )

    def _one(self, column: Array, scores: Array) -> Array:
        if self.kind == SIGMOID:
            with np.errstate(over="ignore"):
                return np.asarray(expit(column[0] * scores + column[1]))
        return np.clip(
            np.interp(scores, column[:, 0], column[:, 1]), 0.0, 1.0
        )  # between knots that nearly meet it may overflow


def fit_calibration(kind: str, scores: Array, codes: Array, pairs: bool = False) -> Calibration:
    """Return the map of this kind for scores (rows, or rows x classes) of rows with these codes of classes.

    With `pairs` there is a column for each pair of classes, which is fitted to the rows of these two.
    """
    scores = np.asarray(scores, dtype=np.float64).reshape(len(scores), -1)
    fit = _sigmoid if kind == SIGMOID else _isotonic
    if scores.shape[1] == 1:
        return Calibration(kind, (fit(scores[:, 0], codes == 1),))
    if pairs:
        sides = pair_labels(codes, class_count(scores.shape[1]))
        columns = zip(sides, scores.T, strict=True)
        maps = (fit(own[side != 0], side[side != 0] > 0) for side, own in columns)
        return Calibration(kind, tuple(maps), pairs=True)
    found = Calibration(
        kind, tuple(fit(scores[:, code], codes == code) for code in range(scores.shape[1]))
    )

    def loss(power: float) -> float:
        p = replace(found, power=power).probabilities(scores)[np.arange(len(codes)), codes]
        return float(-np.log(np.maximum(p, np.finfo(float).eps)).mean())

    return replace(found, power=float(minimize_scalar(loss, bounds=POWERS, method="bounded").x))


def _sigmoid(scores: Array, positive: Array) -> Array:
    """Platt's sigmoid: Newton's method for slope and offset, towards targets a little inside of 0 and 1.

    The same as scikit-learn's, whose loops on all cores wait for each other on a busy machine: a sweep fits thousands of these.
    """
    if not len(scores):  # a pair of classes without rows: both are equally likely
        return np.zeros(2)
    yes, rows, spread = int(positive.sum()), len(scores), float(scores.std())
    targets = np.where(positive, (yes + 1) / (yes + 2), 1 / (rows - yes + 2))
    centre = float(scores.mean())
    z = (scores - centre) / spread if spread > 0 else np.zeros(rows)

    def loss(slope: float, offset: float) -> float:
        margins = slope * z + offset
        return float((np.logaddexp(0.0, margins) - targets * margins).sum())

    slope, offset = 0.0, float(logit(targets.mean()))
    least = loss(slope, offset)
    for _ in range(NEWTON_STEPS):
        p = expit(slope * z + offset)
        away, curvature = p - targets, p * (1 - p)
        gradient = np.array([(away * z).sum(), away.sum()])
        mixed = (curvature * z).sum()
        hessian = np.array(
            [[(curvature * z * z).sum(), mixed], [mixed, curvature.sum()]]
        ) + 1e-12 * rows * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        size = 1.0
        while (
            not (found := loss(slope - size * step[0], offset - size * step[1])) < least
            and size > SMALLEST_STEP
        ):
            size /= 2
        if not found < least:
            break
        slope, offset, least = slope - size * step[0], offset - size * step[1], found
    slope = slope / spread if spread > 0 else 0.0
    return np.array([slope, offset - slope * centre])


def _isotonic(scores: Array, positive: Array) -> Array:
    from sklearn.isotonic import IsotonicRegression

    model = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(
        scores, positive.astype(float)
    )
    return np.column_stack([model.X_thresholds_, model.y_thresholds_])
