"""A fold's rows: preprocessing fitted on its training rows, and kernel matrices shared by all that can share them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.kernels.distances import Pairs, fill_gram
from pegasos.engine.kernels.standard import as_kernel
from pegasos.engine.rows.features import explicit_rows
from pegasos.engine.rows.kernel_rows import KernelRows
from pegasos.engine.rows.mapped import MappedFeatures, MappedRows
from pegasos.engine.rows.sources import GramRows
from pegasos.learners.task import is_precomputed
from pegasos.search.anatomy import Anatomy
from pegasos.sklearn_private import safe_indexing

Array = np.ndarray[Any, Any]


@dataclass
class Prepared:
    """All rows as the learner sees them in one fold, and which of them it learns from."""

    X: Any
    members: Array


def prepare(parts: Anatomy, X: Any, y: Any, train: Array) -> Prepared:
    """Fit the steps before the learner on the training rows only, and bring all rows through them."""
    members = train
    for drops, stages in groupby(parts.stages, key=lambda stage: stage.drops):
        if drops:
            for stage in stages:
                members = members[stage.part.kept_rows(safe_indexing(X, members))]
        else:
            steps = clone(Pipeline([(stage.name, stage.part) for stage in stages]))
            X = steps.fit(safe_indexing(X, members), safe_indexing(y, members)).transform(X)
    if isinstance(X, MappedRows):
        return Prepared(X, members)
    return Prepared(
        check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32), order="C"), members
    )


class Shared:
    """Values that several units use: made once, by the first that asks, and let go after the last has used them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: dict[Any, threading.Lock] = {}
        self._values: dict[Any, Any] = {}
        self._uses: Counter[Any] = Counter()

    def expect(self, keys: Iterable[Any]) -> None:
        """Announce one use of each."""
        self._uses.update(keys)

    def last_use(self, key: Any) -> bool:
        """Whether one use is left."""
        return self._uses[key] <= 1

    def get(self, key: Any, make: Callable[[], Any]) -> Any:
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._values:
                self._values[key] = make()
            return self._values[key]

    def release(self, key: Any) -> None:
        """One use is over."""
        with self._lock:
            self._uses[key] -= 1
            if self._uses[key] <= 0:
                self._values.pop(key, None)
                self._locks.pop(key, None)


def resolved_kernel(learner: Any, prepared: Prepared) -> Kernel | str | None:
    """The kernel with numbers, as a fit on the training rows alone would have it."""
    if learner.kernel is None or is_precomputed(learner.kernel):
        return learner.kernel
    kernel = as_kernel(learner.kernel)
    assert kernel is not None
    resolved = kernel.resolve(prepared.X[prepared.members])
    resolved.check_range(prepared.X)
    return resolved


def make_rows(
    kernel: Kernel | str | None,
    X: Any,
    on_the_fly: bool,
    base: Callable[[], tuple[Array, bool]] | None,
) -> Any:
    """Rows over all of X, so that test scores come with the training. `base` gives the measure's values, and if they are free."""
    if kernel is None:
        return MappedFeatures(X) if isinstance(X, MappedRows) else explicit_rows(X)
    if isinstance(kernel, str):
        return GramRows(X.toarray() if sparse.issparse(X) else X)
    if on_the_fly:
        return KernelRows(kernel, X)
    if base is None:
        return GramRows(kernel.matrix(X, X), kernel, X)  # now: several threads will look at it
    values, free = base()
    K = values if free else values.copy()
    for start in range(0, len(K), 256):  # in pieces that stay in the cache
        kernel.transform(K[start : start + 256])
    return GramRows(K, kernel, X)  # of low rank they go through a factor, which needs X


def base_values(kernel: Kernel, X: Any) -> Array:
    """The measure between all rows: what every kernel of that measure is a map of."""
    assert kernel.measure is not None
    return fill_gram(Pairs(kernel.measure, X), lambda tile: None)
