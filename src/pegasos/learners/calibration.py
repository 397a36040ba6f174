"""Probabilities from scores: sigmoids or isotonic regression, fitted to out-of-fold scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit

from pegasos.learners.one_vs_one import class_count, couple_probabilities, pair_labels

Array = np.ndarray[Any, Any]

SIGMOID, ISOTONIC = "sigmoid", "isotonic"
#: Bounds of the power that sharpens probabilities of several classes.
POWERS = (0.2, 10.0)
#: Most steps of Newton's method for a sigmoid (about ten are needed), and the shortest one.
NEWTON_STEPS, SMALLEST_STEP = 100, 1e-3


@dataclass(frozen=True)
class Calibration:
    """Map from scores to probabilities: one for each column of scores.

    Two classes have one column, that of the second class. Each of several classes is calibrated
    against the rest, raised to a `power`, and all are normalized: p_k^power / Σ p_j^power. Without
    the power, probabilities are underconfident, because each map uses only its own score.

    A column is the slope and the offset of a sigmoid σ(slope s + offset), or knots (score,
    probability) of a nondecreasing line. With `pairs` columns belong to pairs of classes, whose
    probabilities are coupled.

    >>> Calibration("sigmoid", (np.array([2.0, 0.0]),)).probabilities(
    ...     np.array([-1.0, 0.0, 1.0])
    ... ).round(2).tolist()
    [[0.88, 0.12], [0.5, 0.5], [0.12, 0.88]]
    """

    kind: str
    columns: tuple[Array, ...]
    power: float = 1.0
    pairs: bool = False

    def probabilities(self, scores: Array) -> Array:
        """Return probabilities (rows x classes) for scores of a decision function."""
        scores = np.asarray(scores, dtype=np.float64).reshape(len(scores), -1)
        each = np.column_stack([*map(self._one, self.columns, scores.T)])
        if each.shape[1] == 1:
            return np.column_stack([1 - each, each])
        if self.pairs:
            return couple_probabilities(each)
        each = each**self.power
        total = each.sum(axis=1, keepdims=True)
        return np.where(total > 0, each / np.where(total > 0, total, 1.0), 1 / each.shape[1])

    def rescaled(self, slopes: Array, offsets: Array) -> Calibration:
        """Return the map for scores s of another model, whose slope s + offset are those here."""

        def moved(column: Array, slope: float, offset: float) -> Array:
            if self.kind == SIGMOID:
                return np.array([column[0] * slope, column[0] * offset + column[1]])
            return np.column_stack([(column[:, 0] - offset) / slope, column[:, 1]])

        return replace(self, columns=tuple(map(moved, self.columns, slopes, offsets)))

    def _one(self, column: Array, scores: Array) -> Array:
        if self.kind == SIGMOID:
            with np.errstate(over="ignore"):
                return np.asarray(expit(column[0] * scores + column[1]))
        # Between knots that nearly meet the interpolation may overflow.
        return np.clip(np.interp(scores, column[:, 0], column[:, 1]), 0.0, 1.0)


def fit_calibration(kind: str, scores: Array, codes: Array, pairs: bool = False) -> Calibration:
    """Fit a calibration to scores (rows, or rows x columns) and class codes of rows.

    With `pairs` there is a column for each pair of classes, fitted to the rows of these two.
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
    maps = (fit(own, codes == code) for code, own in enumerate(scores.T))
    found = Calibration(kind, tuple(maps))

    def loss(power: float) -> float:
        p = replace(found, power=power).probabilities(scores)[np.arange(len(codes)), codes]
        return float(-np.log(np.maximum(p, np.finfo(float).eps)).mean())

    return replace(found, power=float(minimize_scalar(loss, bounds=POWERS, method="bounded").x))


def _sigmoid(scores: Array, positive: Array) -> Array:
    """Return slope and offset of Platt's sigmoid, by Newton's method with step halving.

    Targets are a little inside of 0 and 1. A search fits thousands of these; scikit-learn's fit
    waits for threads on a busy machine.
    """
    if not len(scores):  # a pair of classes without rows: both are equally likely
        return np.zeros(2)
    yes, rows, spread, center = int(positive.sum()), len(scores), scores.std(), scores.mean()
    targets = np.where(positive, (yes + 1) / (yes + 2), 1 / (rows - yes + 2))
    z = np.column_stack([(scores - center) / (spread or 1.0) * (spread > 0), np.ones(rows)])

    def loss(line: Array) -> float:
        margins = z @ line
        return float((np.logaddexp(0.0, margins) - targets * margins).sum())

    line = np.array([0.0, logit(targets.mean())])
    least = loss(line)
    for _ in range(NEWTON_STEPS):
        p = expit(z @ line)
        hessian = (z.T * (p * (1 - p))) @ z + 1e-12 * rows * np.eye(2)
        step, size = np.linalg.solve(hessian, z.T @ (p - targets)), 1.0
        while not (found := loss(line - size * step)) < least and size > SMALLEST_STEP:
            size /= 2
        if not found < least:
            break
        line, least = line - size * step, found
    slope = line[0] / spread if spread > 0 else 0.0
    return np.array([slope, line[1] - slope * center])


def _isotonic(scores: Array, positive: Array) -> Array:
    from sklearn.isotonic import IsotonicRegression

    model = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    model.fit(scores, positive.astype(float))
    return np.column_stack([model.X_thresholds_, model.y_thresholds_])


def carry_over(known: Any, fresh: Any, scores: Array, others: Array) -> None:
    """Copy calibration and threshold of one learner to another that was fitted to more rows.

    A linear map of each column, from the scores of both for the same rows, accounts for different
    scales: with few rows of a class and strong regularization scores may be nearly constant, and
    small shifts would change every decision.
    """
    if known.calibration_ is None and not known.threshold_:
        return
    old, new = (np.asarray(each, np.float64).reshape(len(each), -1) for each in (scores, others))
    spread, shared = new.var(axis=0), ((new - new.mean(axis=0)) * (old - old.mean(axis=0))).mean(0)
    slopes = shared / np.where(spread > 0, spread, 1.0)
    slopes = np.where(slopes > 0, slopes, 1.0)  # scores that do not grow together
    offsets = old.mean(axis=0) - slopes * new.mean(axis=0)
    if known.calibration_ is not None:
        fresh.calibration_ = known.calibration_.rescaled(slopes, offsets)
    if known.threshold_:
        fresh.threshold_ = float((known.threshold_ - offsets[0]) / slopes[0])
