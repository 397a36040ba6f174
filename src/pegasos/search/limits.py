"""Fits within a time limit."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import clone

from pegasos.engine.runtime.interruption import Interrupted, interruptible
from pegasos.search.problem import stratified
from pegasos.sklearn_private import check_method_params, safe_indexing

Array = np.ndarray[Any, Any]

#: Rows of the first fit within a time limit, and the factor by which each further fit has more: a fit takes at least
#: linear time, so all smaller ones together take at most a third of the time of the largest.
FIRST_ROWS, GROWTH = 400, 4


def fit_in_time(
    estimator: Any, X: Any, y: Any, codes: Array, params: Any, until: float | None
) -> tuple[Any, int]:
    """Fit an estimator to all rows, or to as many as are possible until a moment of the monotonic clock.

    With a limit it is fitted to 400 rows first, whatever the time, then to more; the last fit that ends in time counts.
    Returns the fitted estimator and its number of rows.
    """
    sizes, size = list[int](), FIRST_ROWS
    while until is not None and 2 * size <= len(codes):
        sizes.append(size)
        size *= GROWTH
    least, *larger = [*sizes, len(codes)]
    model, known = _fit_some(estimator, X, y, codes, params, least), least
    for size in larger:
        try:
            with limited(until):
                model, known = _fit_some(estimator, X, y, codes, params, size), size
        except Interrupted:
            break
    return model, known


def _fit_some(estimator: Any, X: Any, y: Any, codes: Array, params: Any, size: int) -> Any:
    if size >= len(codes):
        return clone(estimator).fit(X, y, **params)
    rows = stratified(codes, size)
    given = check_method_params(X, params=params, indices=rows)
    return clone(estimator).fit(safe_indexing(X, rows), safe_indexing(y, rows), **given)


@contextmanager
def limited(until: float | None) -> Iterator[None]:
    """Let fits of this thread end with `Interrupted` at this moment of the monotonic clock."""
    if until is None:
        yield
        return
    if until <= time.monotonic():
        raise Interrupted
    halt = threading.Event()
    timer = threading.Timer(until - time.monotonic(), halt.set)
    timer.daemon = True
    timer.start()
    try:
        with interruptible(halt):
            yield
    finally:
        timer.cancel()
