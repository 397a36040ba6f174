"""Ways of splitting rows that studies use, each a function of labels and seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split

Array = np.ndarray[Any, Any]
Splits = Callable[[Array, int], list[tuple[Array, Array]]]


def folds(count: int) -> Splits:
    """So many folds, by class, shuffled by the seed."""
    return lambda y, seed: list(
        StratifiedKFold(count, shuffle=True, random_state=seed).split(np.zeros((len(y), 1)), y)
    )


def train_test(share: float) -> Splits:
    """One split, by class: this share of the rows is the test."""
    return lambda y, seed: [
        tuple(train_test_split(np.arange(len(y)), test_size=share, stratify=y, random_state=seed))
    ]
