"""Test convergence histories: every point is a valid bound, whatever method recorded it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import reference
from pegasos import SDCA, load, save
from pegasos.engine.optimum.passes.passes import LabelledBlocks
from pegasos.engine.optimum.problem import MOST_POINTS, summarize_histories
from pegasos.engine.walk.draws import Draws
from pegasos.kernels import Gaussian
from pegasos.learners.from_passes import fit_in_passes

Array = np.ndarray[Any, Any]


def data(classes: int, m: int, d: int, seed: int = 0) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    y = np.arange(m) % classes
    return random.normal(size=(classes, d))[y] + random.normal(size=(m, d)), y


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_every_epoch_as_the_plain_algorithm_has_it(loss: str) -> None:
    X, y = data(3, 30, 2)
    epochs, lam, kernel = 6, 0.02, Gaussian(1.5)
    with pytest.warns(ConvergenceWarning):
        clf = SDCA(
            loss, lam, kernel, 1e-15, epochs, finish=False, fit_intercept=False, random_state=4
        ).fit(X, y)
    K = reference.gram(reference.gaussian, X, variance=1.5)
    stops = [30 * epoch for epoch in range(1, epochs + 1)]
    pairs = np.zeros((epochs, 2))
    drawn = Draws("permutation", 30, 4).take(0, 30 * epochs)
    for column in range(3):
        labels = np.where(y == column, 1.0, -1.0)
        run = reference.sdca_kernel(K, labels, drawn, lam, loss=loss, checkpoints=stops)
        for epoch, stop in enumerate(stops):
            c = run.snapshots[stop]
            pairs[epoch, 0] += reference.primal_kernel(loss, K, labels, c, lam) / 3
            pairs[epoch, 1] += reference.dual(loss, K, labels, labels * c, lam) / 3
    np.testing.assert_allclose(
        clf.objective_curve_, np.column_stack([np.arange(1, epochs + 1), pairs]), rtol=1e-9
    )


#: Which method is at work, the learner, and its rows (classes, rows, features).
WAYS: dict[str, tuple[dict[str, Any], tuple[int, int, int]]] = {
    "interior point": ({"lam": 1e-4}, (3, 300, 4)),
    "interior point, free intercept": ({"lam": 1e-4, "fit_intercept": "free"}, (2, 300, 4)),
    "most rows held": ({"lam": 1e-5}, (2, 20_001, 3)),
    "Newton": ({"lam": 1e-4, "loss": "logistic"}, (3, 300, 4)),
    "gradients": ({"lam": 1e-2, "loss": "logistic"}, (2, 400, 310)),
    "working sets": ({"lam": 1e-5, "kernel": Gaussian(1.5)}, (2, 300, 3)),
    "working sets, then a factor": ({"lam": 1e-10, "kernel": Gaussian(60.0)}, (2, 200, 2)),
    "Newton with conjugate gradients": (
        {"lam": 1e-6, "kernel": Gaussian(1.5), "loss": "logistic"},
        (2, 200, 3),
    ),
    "epochs, then sets": ({"lam": 2e-3, "kernel": Gaussian(1.5)}, (3, 300, 3)),
}


@pytest.mark.parametrize("way", WAYS)
def test_no_bound_is_above_an_objective(way: str) -> None:
    given, size = WAYS[way]
    X, y = data(*size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf = SDCA(**given, tol=1e-4, random_state=0).fit(X, y)
        best = SDCA(**given, tol=1e-8, random_state=0).fit(X, y)
    iterations, objectives, bounds = clf.objective_curve_.T
    assert 1 < len(iterations) <= MOST_POINTS
    assert iterations[0] == 1 and (np.diff(iterations) > 0).all()
    assert (objectives >= best.dual_objective_.mean() * (1 - 1e-6)).all()
    assert (bounds <= best.objective_.mean() * (1 + 1e-6)).all()
    assert (objectives[-1], bounds[-1]) == pytest.approx(
        (clf.objective_.mean(), clf.dual_objective_.mean()), rel=1e-12
    )
    assert objectives[-1] - bounds[-1] < objectives[0] - bounds[0]


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_passes_keep_theirs(loss: str) -> None:
    X, y = data(3, 300, 4)
    clf = SDCA(loss, lam=0.01, tol=1e-4, max_epochs=200)
    clf.lam_ = 0.01
    blocks = LabelledBlocks(X, y, np.ones(300))
    fit_in_passes(
        clf, blocks, np.arange(3), np.full(3, 100.0), 300, np.full(3, 100), 1.0, np.float64
    )
    assert clf.gap_curve_.shape == (clf.n_iter_, 3)
    iterations, objectives, bounds = clf.objective_curve_.T
    assert iterations[-1] == clf.n_iter_
    assert (objectives[-1], bounds[-1]) == pytest.approx(
        (clf.objective_.mean(), clf.dual_objective_.mean())
    )
    assert (np.diff(objectives) <= 0).all() and (np.diff(bounds) >= 0).all()


def test_a_long_history_is_thinned() -> None:
    way = np.column_stack([np.linspace(2, 1, 5000), np.linspace(0, 1, 5000)])
    found = summarize_histories([way], np.array([1.0]), np.array([0.9]))
    assert len(found) <= MOST_POINTS
    assert found[[0, -1]].tolist() == [[1, 2, 0], [5000, 1, 0.9]]
    assert (way[found[1:-1, 0].astype(int) - 1] == found[1:-1, 1:]).all()


def test_points_that_are_no_numbers_are_left_out() -> None:
    way = np.array([[np.inf, 0.0], [3.0, 1.0], [2.0, 1.5]])
    assert summarize_histories([way], np.array([2.0]), np.array([1.9])).tolist() == [
        [2, 3, 1],
        [3, 2, 1.9],
    ]


def test_without_a_bound_there_is_no_history() -> None:
    X, y = data(2, 30, 3)
    with pytest.warns(ConvergenceWarning, match="not positive semidefinite"):
        clf = SDCA(lam=0.1, kernel=lambda A, B: np.abs(A @ B.T - 1.0), max_epochs=3).fit(X, y)
    assert clf.objective_curve_.shape == (0, 3)


def test_a_fit_that_goes_on_goes_on_in_its_history() -> None:
    X, y = data(2, 40, 3)
    clf = SDCA(
        lam=0.001,
        kernel=Gaussian(1.5),
        tol=1e-15,
        max_epochs=4,
        finish=False,
        warm_start=True,
        random_state=0,
    )
    whole = SDCA(
        lam=0.001, kernel=Gaussian(1.5), tol=1e-15, max_epochs=8, finish=False, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf.fit(X, y).fit(X, y)
        whole.fit(X, y)
    np.testing.assert_allclose(clf.objective_curve_, whole.objective_curve_, rtol=1e-9)


def test_model_files_keep_it(tmp_path: Path) -> None:
    X, y = data(2, 100, 3)
    clf = SDCA(lam=1e-3, kernel=Gaussian(1.5)).fit(X, y)
    save(clf, tmp_path / "new.model")
    np.testing.assert_array_equal(
        load(tmp_path / "new.model").objective_curve_, clf.objective_curve_
    )
