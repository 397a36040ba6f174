"""One-vs-one: a predictor for each pair of classes, trained on the rows of these two; pairs vote.

References
----------
Wu, Lin, Weng (2004), Probability estimates for multi-class classification by pairwise coupling.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from pegasos.engine.kernels.base import Kernel
from pegasos.engine.rows.features import MappedFeatures, MappedRows, explicit_rows
from pegasos.learners.task import Task

Array = np.ndarray[Any, Any]

#: Probabilities of a pair are kept this far from 0 and 1 before they are coupled, as libsvm does.
LEAST_PROBABILITY = 1e-7
#: Numbers in the matrices that are solved at once by pairwise coupling (8 MB).
COUPLED_AT_ONCE = 1 << 20


def class_pairs(n_classes: int) -> Array:
    """Return the pairs (first, second) of class codes; scores above 0 are votes for the second.

    >>> class_pairs(3).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    return np.array(list(combinations(range(n_classes), 2)))


def pair_labels(codes: Array, n_classes: int) -> Array:
    """Return labels (pairs x rows): -1 and 1 for the classes of a pair, 0 for others.

    >>> pair_labels(np.array([0, 2]), 3).astype(int).tolist()
    [[-1, 0], [-1, 1], [0, 1]]
    """
    first, second = class_pairs(n_classes).T[..., None]
    return np.asarray((codes == second) - 1.0 * (codes == first))


def class_count(pairs: int) -> int:
    """Return the number of classes from the number of their pairs.

    >>> class_count(45)
    10
    """
    return (1 + math.isqrt(1 + 8 * pairs)) // 2


def sum_over_pairs(values: Array) -> Array:
    """Return for each class the sum over its pairs, with the sign of its side (classes x ...).

    >>> sum_over_pairs(np.array([1.0, 2.0, 4.0])).tolist()
    [-3.0, -3.0, 6.0]
    """
    classes = class_count(len(values))
    return np.asarray(np.tensordot(pair_labels(np.arange(classes), classes).T, values, axes=1))


def pair_names(classes: Sequence[str]) -> list[str]:
    """Return the names of all pairs, the class of positive scores first.

    >>> pair_names(["a", "b", "c"])
    ['b vs a', 'c vs a', 'c vs b']
    """
    return [f"{second} vs {first}" for first, second in combinations(classes, 2)]


def class_scores(scores: Array) -> Array:
    """Return decision values of classes (... x classes) from those of pairs (... x pairs).

    They are the votes of each class, plus its summed scores mapped to -1/3 .. 1/3, which break
    ties, as in `decision_function` of SVC and OneVsOneClassifier.

    >>> class_scores(np.array([[-2.0, -1.0, 3.0]])).round(2).tolist()
    [[2.25, -0.28, 1.22]]
    """
    classes = class_count(scores.shape[-1])
    signs = pair_labels(np.arange(classes), classes)
    wide = np.asarray(scores, dtype=np.float64)
    votes = (np.where(wide > 0, 1.0, -1.0) @ signs + (classes - 1)) / 2
    sums = wide @ signs
    return np.asarray(votes + sums / (3 * (np.abs(sums) + 1)), dtype=scores.dtype)


def couple_probabilities(p: Array) -> Array:
    """Return class probabilities from those of the second class of each pair (rows x pairs).

    Minimizes the sum over pairs of (r_ji p_i - r_ij p_j)², where r_ij is the probability of class i
    among i and j, subject to Σ p_i = 1 (second method of Wu, Lin, Weng, which libsvm uses).

    >>> couple_probabilities(np.array([[0.5, 0.2, 0.2]])).round(2).tolist()
    [[0.44, 0.44, 0.11]]
    """
    classes = class_count(p.shape[1])
    first, second = class_pairs(classes).T
    p = np.clip(np.asarray(p, dtype=np.float64), LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    found = np.empty((len(p), classes))
    size, diagonal = max(1, COUPLED_AT_ONCE // classes**2), np.arange(classes)
    for start in range(0, len(p), size):
        part = p[start : start + size]
        r = np.zeros((len(part), classes, classes))
        r[:, second, first], r[:, first, second] = part, 1 - part
        # Q p = -b 1 and Σ p = 1 give (Q + 1 1ᵀ) p ∝ 1, and this matrix is positive definite.
        matrix = 1 - r * r.swapaxes(1, 2)
        matrix[:, diagonal, diagonal] += np.square(r).sum(axis=1)
        solution = np.linalg.solve(matrix, np.ones((classes, 1)))[..., 0]
        found[start : start + size] = np.maximum(solution, 0.0)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def split_pairs(task: Task, lams: Array) -> Iterator[tuple[Task, Array]]:
    """Yield the task of each pair of classes, the second against the first, on their rows, and λ.

    C = 1/(λ Σω) is that of the whole task: Σω, and so λ, are those of the rows of the pair.
    """
    for first, second in class_pairs(len(task.columns)):
        members = np.flatnonzero((task.codes == first) | (task.codes == second))
        if not task.weights[members].sum() > 0:
            raise ValueError(
                f"all rows of classes_[{first}] and classes_[{second}] have weight zero: remove "
                "these rows, or use multiclass='one-vs-rest'."
            )
        codes = (task.codes == second).astype(np.int64)
        part = replace(task, codes=codes, columns=np.array([1]), members=members)
        yield part, lams * (task.total_weight / part.total_weight)


def on_own_rows(task: Task, hinge: bool) -> Task:
    """Return the task of a pair on a copy of its rows, unless its solver reads few of them.

    Working sets read few rows of a stored kernel matrix. A copy of the pair's part of the matrix
    takes longer than they do: on USPS 0.40 s of 1.15 s for all 45 pairs.
    """
    index, rows = task.members, task.rows
    assert index is not None
    if rows.dual and rows.stored and hinge:
        return task
    own = replace(task, codes=task.codes[index], weights=task.weights[index], members=None)
    if not rows.dual:
        X = task.X[index]
        if isinstance(X, MappedRows):
            return replace(own, X=X, rows=MappedFeatures(X))
        return replace(own, X=X, rows=explicit_rows(X), plan=replace(task.plan, walk="by rows"))
    kernel = task.kernel if isinstance(task.kernel, Kernel) else None
    size = len(index) ** 2 * rows.dtype.itemsize
    if not rows.stored and task.plan.bytes + size > task.plan.budget:
        return replace(own, rows=rows.some(index))
    K = rows.between(index, index) if rows.stored else None
    X = None if kernel is None else task.X[index]
    from pegasos.engine.rows.sources import GramRows

    return replace(own, rows=GramRows(K, kernel, X))
