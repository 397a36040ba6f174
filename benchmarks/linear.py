"""What the three linear benchmarks share: a whole fit of ours and of SGDClassifier, with as many epochs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from sklearn.linear_model import SGDClassifier

from benchmarks.harness import Row, ratio
from pegasos import Pegasos

EPOCHS = 5


def compare(
    case: str, X: Any, y: Any, repeats: int, goal: float, lam: float = 1e-4
) -> Iterator[Row]:
    """Ours as it is by default (the mean of the last half of the steps) and with the last vector, as SGDClassifier's is."""
    theirs = SGDClassifier(
        loss="hinge", alpha=lam, max_iter=EPOCHS, tol=None, shuffle=True, random_state=0
    )
    for words, average in (("last vector", False), ("default: average of the last half", 0.5)):
        ours = Pegasos(lam=lam, epochs=EPOCHS, average=average, random_state=0)
        row = ratio(
            f"{case}, {words}",
            partial(ours.fit, X, y),
            partial(theirs.fit, X, y),
            repeats,
            goal=goal,
        )
        accuracy = f"{ours.score(X, y):.3f} / {theirs.score(X, y):.3f}"
        yield row.noting(f"an epoch: {row.milliseconds(EPOCHS)}; training accuracy {accuracy}")
