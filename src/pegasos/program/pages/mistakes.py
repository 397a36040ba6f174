"""Confusions and worst mistakes from predicted codes: counted sparsely, since most of a hundred classes are never confused."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from pegasos.program.tables.dataset import Dataset

Array = np.ndarray[Any, Any]

#: Mistakes kept of a cell, feature values kept of a row, and pixels above which a picture is made smaller.
MISTAKES, VALUES, PIXELS = 18, 12, 1024


def confusion(truth: Array, predicted: Array, classes: int) -> list[int]:
    """true, predicted, count; true, predicted, count; ... of all pairs that occur among tested rows (codes >= 0)."""
    tested = predicted >= 0
    counts = np.bincount(truth[tested] * classes + predicted[tested], minlength=classes * classes)
    pairs = np.flatnonzero(counts)
    counts = counts[pairs]
    return np.column_stack([pairs // classes, pairs % classes, counts]).reshape(-1).astype(int).tolist()


def worst(truth: Array, predicted: Array, scores: Array | None, hard: Array | None = None) -> list[dict[str, Any]]:
    """The mistakes with the largest margin of the wrong class over the right one.

    Where scores were not kept: those rows on which most cells err (`hard` is their share).
    """
    wrong = np.flatnonzero((predicted != truth) & (predicted >= 0))
    if scores is not None and scores.ndim == 2 and scores.shape[1] == 1:
        scores = np.column_stack([-scores[:, 0], scores[:, 0]])
    if scores is not None:
        margin = scores[wrong, predicted[wrong]] - scores[wrong, truth[wrong]]
    else:
        margin = np.zeros(len(wrong)) if hard is None else hard[wrong]
    order = wrong[np.argsort(-np.nan_to_num(margin), kind="stable")[:MISTAKES]]
    found = []
    for row in order:
        each: dict[str, Any] = {"row": int(row), "true": int(truth[row]), "guess": int(predicted[row])}
        if scores is not None:
            best = np.argsort(-scores[row], kind="stable")[:3]
            listed = dict.fromkeys([int(predicted[row]), int(truth[row]), *best.tolist()])
            each["scores"] = [[code, round(float(scores[row, code]), 3)] for code in listed][:4]
        elif hard is not None:
            each["share"] = round(float(hard[row]), 3)
        found.append(each)
    return found


class Rows:
    """Rows of the data as a page shows them: pictures as base64 of bytes, others as a few values."""

    def __init__(self, dataset: Dataset, columns: Array) -> None:
        self._X, self._columns = dataset.X, columns
        self._frame = dataset.has_frame
        self.image = None if dataset.image is None else (int(dataset.image[0]), int(dataset.image[1]))
        self._step = 1
        if self.image is not None:
            height, width = self.image
            while (height // self._step) * (width // self._step) > PIXELS:
                self._step += 1
            self._low, self._high = _range(dataset.X)

    @property
    def shape(self) -> tuple[int, int] | None:
        """Height and width of the pictures that are kept."""
        if self.image is None:
            return None
        return -(-self.image[0] // self._step), -(-self.image[1] // self._step)

    def one(self, row: int) -> Any:
        """A picture, or the values of the shown columns."""
        if self.image is not None:
            return self.picture(_dense(self._X[[row]])[0])
        if self._frame:
            return [_short(self._X[int(row), int(column)]) for column in self._columns]
        values = _dense(self._X[[row]])[0]
        return [_short(values[column]) for column in self._columns]

    def picture(self, values: Array) -> str:
        """Grey values in 0..255."""
        assert self.image is not None
        grey = np.asarray(values, dtype=np.float64).reshape(self.image)[:: self._step, :: self._step]
        scaled = 255 * (grey - self._low) / ((self._high - self._low) or 1.0)
        return base64.b64encode(np.clip(np.nan_to_num(scaled), 0, 255).round().astype(np.uint8).tobytes()).decode()


def _dense(part: Any) -> Array:
    return np.asarray(part.toarray() if hasattr(part, "toarray") else part)


def _range(X: Any) -> tuple[float, float]:
    some = _dense(X[:: max(1, X.shape[0] // 2000)])
    return float(some.min(initial=0.0)), float(some.max(initial=1.0))


def _short(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.4g}") if np.isfinite(value) else None
    return value if value is None or isinstance(value, int) else str(value)[:60]
