"""Labels, groups and weights from columns, with what cannot be meant refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pegasos.program.tables.dataset import Array, BadData
from pegasos.program.tables.messages import shown

#: From row counted from 0 to words such as "line 12".
Where = Callable[[int], str]


def cast(values: Any, dtype: Any) -> Any:
    """Another type without warnings: what overflows becomes infinite, and is found by those who look for that."""
    with np.errstate(all="ignore"):
        return values.astype(dtype, copy=False)


def simplest(values: Array) -> Array:
    """Numbers as whole numbers if they all are, words as words."""
    if values.dtype.kind in "iub":
        return values.astype(np.int64)
    if values.dtype.kind == "f":
        values = cast(values, np.float64)
        if np.all(np.abs(values) < 2**53) and np.all(values == np.rint(values)):
            return values.astype(np.int64)
        return values
    if values.dtype.kind == "S":
        return np.char.decode(values, "utf-8", "replace")
    return values.astype(str)


def checked_labels(values: Array, name: str, file: str, where: Where) -> Array:
    """Labels of a training file: some classes, not one and not one a row."""
    y = simplest(values)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        row = int(np.argmin(np.isfinite(y)))
        raise BadData(f"{file}, {where(row)}: the label (column {shown(name)}) is missing or infinite.")
    classes = np.unique(y)
    if len(classes) < 2:
        found = f"only {shown(classes[0])}" if len(classes) else "nothing"
        raise BadData(f"{file}: column {shown(name)} holds {found}; two classes are needed. Is it the label? Say --label COLUMN.")
    count = len(classes)
    if y.dtype.kind == "f" and count > 20 and count > len(y) / 20:
        raise BadData(
            f"{file}: column {shown(name)} looks continuous ({count} different numbers in {len(y)} rows), and this program "
            "classifies. Say with --label which column holds the classes."
        )
    if count > max(100, len(y) / 2):
        raise BadData(
            f"{file}: column {shown(name)} has {count} different values in {len(y)} rows: an ID or a measurement rather "
            "than classes. Say with --label which column holds the classes."
        )
    return y


def checked_weights(values: Any, name: str, file: str, where: Where) -> Array:
    """Weights: finite, not negative, not all zero."""
    weights = np.asarray(values)
    if weights.dtype.kind not in "iufb":
        raise BadData(f"{file}: column {shown(name)} (--weight) holds words; weights are numbers.")
    weights = cast(weights, np.float64)
    wrong = ~np.isfinite(weights) | (weights < 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise BadData(
            f"{file}, {where(row)}: the weight (column {shown(name)}) is {weights[row]}; it must be 0 or more, and finite."
        )
    if not weights.any():
        raise BadData(f"{file}: all weights (column {shown(name)}) are 0.")
    return weights
