"""One set for predictors of several classes: taken where gains are spread, left where they are not, and the same optimum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from pegasos.engine.optimum.hinge import common_sets, working_sets
from pegasos.engine.optimum.hinge.common_sets import common_rows
from pegasos.engine.optimum.hinge.lines import StoredLines
from pegasos.engine.optimum.hinge.working_sets import WorkingSets
from pegasos.engine.optimum.problem import Intercept, Optimum, Target
from pegasos.kernels import Gaussian

Array = np.ndarray[Any, Any]


@pytest.fixture
def small_sets(monkeypatch):
    monkeypatch.setattr(common_sets, "COMMON_ROWS", 40)
    monkeypatch.setattr("pegasos.engine.optimum.hinge.set_predictor.SMALLEST_SET", 40)


@pytest.fixture
def taken(monkeypatch):
    """How many rows each common set had (0: there was none)."""
    found: list[int] = []

    def note(gains: list[Array]) -> Array | None:
        rows = common_rows(gains)
        found.append(0 if rows is None else len(rows))
        return rows

    monkeypatch.setattr(working_sets, "common_rows", note)
    return found


def solved(
    width: float, classes: int, intercept: Intercept = Intercept.AUGMENTED
) -> tuple[Array, list[Target], list[Optimum]]:
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 5))
    labels = np.argmax(X[:, :classes] + 0.5 * random.normal(size=(400, classes)), axis=1)
    K = Gaussian(width)(X).astype(np.float32)
    targets = [Target(np.where(labels == k, 1.0, -1.0), np.full(400, 20.0)) for k in range(classes)]
    return K, targets, WorkingSets(StoredLines(K), np.ones(400), intercept).solve(targets, 1e-4)


@pytest.mark.parametrize("intercept", Intercept, ids=lambda kind: kind.value)
def test_the_same_optimum(intercept, small_sets, taken, monkeypatch):
    monkeypatch.setattr(common_sets, "OWN_SHARE", 1.1)  # whatever the gains
    monkeypatch.setattr(common_sets, "COMMON_SHARE", 0.0)
    *_, together = solved(0.3, 4, intercept)
    assert any(taken)
    monkeypatch.setattr(working_sets, "LEAST_CLASSES", 5)
    *_, apart = solved(0.3, 4, intercept)
    for one, other in zip(together, apart, strict=True):
        assert one.relative <= 1e-4
        assert one.primal == pytest.approx(other.primal, rel=2e-4)


def test_the_same_bits_for_any_number_of_threads(small_sets, taken):
    with threadpool_limits(1):
        *_, alone = solved(0.3, 4)
    with threadpool_limits(2):
        *_, together = solved(0.3, 4)
    assert any(taken)
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one.vector, other.vector)


def test_own_sets_where_gains_are_few_or_elsewhere(small_sets):
    random, rows = np.random.default_rng(0), np.arange(1000)
    few = [np.where(rows % 100 == k, 1.0, 0.0) for k in range(4)]
    assert common_rows(few) is None  # a set of each holds them all
    elsewhere = [np.where(rows // 250 == k, 1.0, 1e-3) for k in range(4)]
    assert common_rows(elsewhere) is None  # what is good for one is of no use for the others
    everywhere = [random.uniform(0.5, 1, 1000) for _ in range(4)]
    found = common_rows(everywhere)
    assert len(found) == 40
    assert sum(each[found].sum() for each in everywhere) > 40 * 4 * 0.75
    assert common_rows([*everywhere, np.zeros(1000)]) is None  # somebody has arrived
    assert common_rows([each[:80] for each in everywhere]) is None  # nearly all rows are a set


def test_rounds_with_one_set_end(small_sets, taken, monkeypatch):
    monkeypatch.setattr(working_sets, "COMMON_ROUNDS", 1)
    *_, found = solved(0.3, 4)
    assert taken == [40]
    assert max(optimum.relative for optimum in found) <= 1e-4
