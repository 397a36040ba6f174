"""Confusion matrices and worst mistakes from predicted class codes; matrices are sparse, since most pairs never occur."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from pegasos.program.pages import row_samples
from pegasos.program.records.pages import Mistake, ShownRow
from pegasos.program.tables.dataset import DATES, NUMBER, Dataset

Array = np.ndarray[Any, Any]

#: Mistakes kept of a cell, feature values kept of a row, and pixels above which a picture is made smaller.
MISTAKES, VALUES, PIXELS = 18, 12, 1024


def confusion(truth: Array, predicted: Array, classes: int) -> list[int]:
    """Return (true, predicted, count) of all pairs that occur among tested rows (codes >= 0), as one flat list."""
    tested = predicted >= 0
    counts = np.bincount(truth[tested] * classes + predicted[tested])
    pairs = np.flatnonzero(counts)
    return (
        np.column_stack([pairs // classes, pairs % classes, counts[pairs]])
        .reshape(-1)
        .astype(int)
        .tolist()
    )


def worst(
    truth: Array, predicted: Array, scores: Array | None, hard: Array | None = None
) -> list[Mistake]:
    """Return the mistakes with the largest margin of the predicted class over the true one.

    Without scores: the rows that most settings misclassify (`hard` is their share).
    """
    wrong = np.flatnonzero((predicted != truth) & (predicted >= 0))
    one = (
        scores is not None and scores.ndim == 2 and scores.shape[1] == 1
    )  # of two classes: the second one's
    if scores is not None and one:
        scores = np.column_stack([-scores[:, 0], scores[:, 0]])
    if scores is not None:
        margin = scores[wrong, predicted[wrong]] - scores[wrong, truth[wrong]]
    else:
        margin = np.zeros(len(wrong)) if hard is None else hard[wrong]
    order = wrong[np.argsort(-np.nan_to_num(margin), kind="stable")[:MISTAKES]]
    found = []
    for row in order.tolist():
        true, guess = int(truth[row]), int(predicted[row])
        if scores is not None:
            best = np.argsort(-scores[row], kind="stable")[:3]
            codes = [1] if one else list(dict.fromkeys([guess, true, *best.tolist()]))[:4]
            found.append(
                Mistake(
                    row, true, guess, codes, [round(float(scores[row, code]), 3) for code in codes]
                )
            )
        else:
            found.append(
                Mistake(
                    row, true, guess, share=None if hard is None else round(float(hard[row]), 3)
                )
            )
    return found


class RowKeeper:
    """Rows of the data as a page shows them: images as base64 of bytes, others as a few values."""

    def __init__(self, dataset: Dataset, columns: Array, positions: Array | None = None) -> None:
        self._X, self._columns, self._frame, self._positions = (
            dataset.X,
            columns,
            dataset.has_frame,
            positions,
        )
        self._image = dataset.image
        self._kinds = [each.kind for each in dataset.columns] or [NUMBER] * dataset.X.shape[1]
        #: Height and width of the pictures that are kept; None where rows are no pictures.
        self.shape: list[int] | None = None
        if dataset.image is not None:
            height, width = dataset.image
            self._step = next(
                step
                for step in range(1, height + width)
                if (height // step) * (width // step) <= PIXELS
            )
            self.shape = [-(-int(height) // self._step), -(-int(width) // self._step)]
            some = row_samples.dense(dataset.X[:: max(1, dataset.X.shape[0] // 2000)])
            self._low, self._high = float(some.min(initial=0.0)), float(some.max(initial=1.0))

    def one(self, row: int) -> ShownRow:
        """Return an image, or the values of the shown columns."""
        number = 1 + (row if self._positions is None else int(self._positions[row]))
        if self._frame:
            return ShownRow(
                number,
                values=[self._short(self._X[row, int(column)], column) for column in self._columns],
            )
        values = row_samples.dense(self._X[[row]])[0]
        if self.shape is not None:
            return ShownRow(number, self.picture(values))
        return ShownRow(
            number, values=[self._short(values[column], column) for column in self._columns]
        )

    def _short(self, value: Any, column: int) -> Any:
        value = value.item() if isinstance(value, np.generic) else value
        if value is not None and self._kinds[column] in DATES:
            from pegasos.program.tables.dates import day

            return day(value)
        return (
            row_samples.brief(value)
            if value is None or isinstance(value, int | float)
            else str(value)[:60]
        )

    def picture(self, values: Array) -> str:
        """Return gray values in 0..255."""
        gray = np.asarray(values, dtype=np.float64).reshape(self._image)[
            :: self._step, :: self._step
        ]
        scaled = 255 * (gray - self._low) / ((self._high - self._low) or 1.0)
        return base64.b64encode(
            np.clip(np.nan_to_num(scaled), 0, 255).round().astype(np.uint8).tobytes()
        ).decode()
