"""Test grids on real clusters: `SweepCV` with a client, and `DaskSweepCV`."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import f1_score
from sklearn.model_selection import PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clusters import in_blocks, same, three_classes
from pegasos import SDCA, Pegasos, SweepCV
from pegasos.dask import DaskSDCA, DaskSweepCV
from pegasos.dask.blocks import draw_folds
from pegasos.kernels import Gaussian
from pegasos.metrics import Metric
from pegasos.search.settings import Setting

Array = np.ndarray[Any, Any]
pytestmark = [
    pytest.mark.xdist_group("dask"),
    pytest.mark.filterwarnings("ignore:the best cell lies on the border"),
]
BOTH = pytest.mark.parametrize("loss", ["hinge", "logistic"])


@pytest.fixture(scope="module")
def rows() -> tuple[Array, Array]:
    return three_classes()


# The units of a sweep on workers

GRIDS = {
    "kernels": (
        SDCA(random_state=0),
        {"kernel": [Gaussian(2.0), Gaussian(8.0), "linear"], "lam": [1e-3, 1e-2]},
    ),
    "pipeline": (
        make_pipeline(StandardScaler(), Pegasos(n_iter=300, random_state=0)),
        {"pegasos__lam": [1e-3, 1e-2, 1e-1]},
    ),
}


@pytest.mark.parametrize(("estimator", "grid"), GRIDS.values(), ids=GRIDS)
def test_sweep_on_workers_equals_sweep_in_memory(
    estimator: Any, grid: Any, rows: Any, client: Client, tmp_path: Path
) -> None:
    """Results are bitwise equal, and a store is shared with a search in memory."""
    here = SweepCV(estimator, grid, cv=3).fit(*rows)
    there = SweepCV(estimator, grid, cv=3, client=client, store=tmp_path / "store").fit(*rows)
    for name, values in here.cv_results_.items():
        if "time" not in name and name != "params":
            assert_array_equal(values, there.cv_results_[name], err_msg=name)
    assert_array_equal(here.labels_, there.labels_)
    assert_array_equal(
        here.out_of_fold_scores(here.best_index_), there.out_of_fold_scores(here.best_index_)
    )
    again = SweepCV(estimator, grid, cv=3, store=tmp_path / "store").fit(*rows)
    assert_array_equal(
        again.cv_results_["mean_fit_time"], there.cv_results_["mean_fit_time"]
    )  # nothing was computed anew
    assert clone(there).client is client
    assert pickle.loads(pickle.dumps(there)).client is None


def test_sweep_on_workers_respects_max_time_and_raises_errors(rows: Any, client: Client) -> None:
    X, y = rows
    grid = {"lam": [1e-3, 1e-2]}
    with pytest.raises(ValueError, match="one class only"):
        SweepCV(
            SDCA(random_state=0), grid, cv=PredefinedSplit((y == "ash") - 1), client=client
        ).fit(X, np.where(y == "ash", 1, 0))
    with pytest.raises(TimeoutError, match="max_time"):
        SweepCV(SDCA(random_state=0), grid, cv=3, client=client, max_time=0.0).fit(X, y)


# λ and folds in shared passes


def drawn(y: Array, size: int, count: int, seed: int = 0) -> Array:
    """Return the folds of all rows in blocks of this size."""
    parts = [y[start : start + size] for start in range(0, len(y), size)]
    return np.concatenate(
        [draw_folds(count, seed, number, part) for number, part in enumerate(parts)]
    )


def check_cells(
    sweep: DaskSweepCV, X: Array, y: Array, folds: Array, weights: Array | None = None
) -> None:
    """Compare each cell and fold with SDCA in memory: gaps, objectives and errors."""
    for number, params in enumerate(sweep.cv_results_["params"]):
        for fold in range(sweep.n_splits_):
            inside, outside = folds != fold, folds == fold
            given = {**sweep.estimator.get_params(), **params}
            del given["client"]
            local = SDCA(**given).fit(
                X[inside], y[inside], None if weights is None else weights[inside]
            )
            known = np.isfinite(sweep.objective_[number, fold])
            objective, bound = (
                sweep.objective_[number, fold][known],
                sweep.dual_objective_[number, fold][known],
            )
            assert np.all(objective - bound <= given["tol"] * objective)
            assert sweep.cv_results_[f"split{fold}_gap"][number] <= given["tol"]
            assert np.all(bound <= local.objective_ * (1 + 1e-12))
            assert np.all(local.dual_objective_ <= objective * (1 + 1e-12))
            counts = sweep.counts_[number, fold]
            assert counts.sum() == outside.sum()
            assert_allclose(
                sweep.cv_results_[f"split{fold}_test_score"][number],
                np.trace(counts) / counts.sum(),
            )
            assert (
                abs(np.trace(counts) / counts.sum() - local.score(X[outside], y[outside])) <= 0.03
            )


@BOTH
def test_cells_are_those_of_sdca_on_the_same_folds(loss: str, rows: Any, client: Client) -> None:
    X, y = rows
    grid = {"lam": [1e-2, 1e-1]}
    sweep = DaskSweepCV(DaskSDCA(loss), grid, cv=3, client=client).fit(*in_blocks(X, y, 300))
    check_cells(sweep, X, y, drawn(y, 300, 3))
    best = max(range(2), key=lambda number: sweep.cv_results_["mean_test_score"][number])
    assert sweep.best_index_ == best and sweep.best_params_ == {"lam": grid["lam"][best]}
    assert sweep.settings_[best] == Setting.of(SDCA(loss, **sweep.best_params_))
    same(
        sweep.best_estimator_,
        DaskSDCA(loss, client=client, **sweep.best_params_).fit(*in_blocks(X, y, 300)),
    )
    guess = sweep.predict(da.from_array(X, chunks=(300, -1)))
    assert_array_equal(
        client.gather(client.compute(guess)), sweep.best_estimator_.to_local().predict(X)
    )


def test_weights_classes_and_given_folds(rows: Any, client: Client) -> None:
    """Balanced weights are those of a training part, which may lack a class."""
    X, y = rows
    weights = np.random.default_rng(3).integers(0, 4, 600).astype(float)
    folds = np.where(y == "cedar", 1, np.arange(600) % 4 - 1)  # without fold 1 there is no cedar
    estimator = DaskSDCA("logistic", class_weight="balanced", client=client)
    A, b = in_blocks(X, y, 200)
    sweep = DaskSweepCV(estimator, {"lam": [0.1, 0.01]}, cv=da.from_array(folds, chunks=200)).fit(
        A, b, weights
    )
    check_cells(sweep, X, y, folds, weights)
    assert np.isnan(sweep.objective_[:, 1]).sum() == 2 * 2  # ash against birch is one predictor
    assert not np.isnan(sweep.objective_[:, 0]).any()
    parts = [
        [dask.delayed(each[start : start + 200]) for start in (0, 200, 400)]
        for each in (X, y, folds, weights)
    ]
    again = DaskSweepCV(estimator, {"lam": [0.1, 0.01]}, cv=parts[2]).fit(
        parts[0], parts[1], parts[3]
    )
    assert_array_equal(again.objective_, sweep.objective_)
    assert_array_equal(again.counts_, sweep.counts_)


@pytest.mark.slow
def test_other_parameters_are_axes_too_and_wide_rows_have_their_methods(
    rows: Any, client: Client
) -> None:
    X, y = rows
    y = np.where(y == "ash", 1, 0)
    grid = {
        "lam": [0.1, 1e-2],
        "loss": ["hinge", "logistic"],
        "class_weight": [None, {0: 1.0, 1: 3.0}],
    }
    narrow = DaskSweepCV(DaskSDCA(), grid, cv=2, client=client).fit(*in_blocks(X, y, 150))
    check_cells(narrow, X, y, drawn(y, 150, 2))
    wide = np.pad(X, ((0, 0), (0, 2000)))
    del grid["class_weight"]
    found = DaskSweepCV(DaskSDCA(), grid, cv=2, refit=False, client=client).fit(
        *in_blocks(wide, y, 300)
    )
    check_cells(found, wide, y, drawn(y, 300, 2))
    assert found.plan_.method.startswith("cutting planes, L-BFGS, ")


def test_scores_of_labels(rows: Any, client: Client) -> None:
    X, y = rows
    scoring = {"f": "f1_macro", "a": "accuracy"}
    estimator, grid = DaskSDCA("logistic", client=client), {"lam": [0.1, 0.01]}
    given = in_blocks(X, y, 300)
    sweep = DaskSweepCV(
        estimator, grid, cv=2, scoring=scoring, refit="f", return_train_score=True
    ).fit(*given)
    folds = drawn(y, 300, 2)
    local = SDCA("logistic", 0.1).fit(
        X[folds == 0], y[folds == 0]
    )  # fold 0 is not in the training part of fold 0
    assert sweep.counts_[0, 1].sum() == (folds == 1).sum()
    for name, score in (
        ("f", lambda t, p: f1_score(t, p, average="macro")),
        ("a", lambda t, p: np.mean(t == p)),
    ):
        for kind, fold in (("test", 1), ("train", 0)):
            found = sweep.cv_results_[f"split1_{kind}_{name}"][0]
            assert abs(found - score(y[folds == fold], local.predict(X[folds == fold]))) < 0.02, (
                name,
                kind,
            )
    with pytest.raises(ValueError, match="scoring must be a metric of labels"):
        DaskSweepCV(estimator, grid, cv=2, scoring="roc_auc_ovr").fit(*given)


def test_metrics_take_the_rarer_class_as_positive(rows: Any, client: Client) -> None:
    """The positive class is the one with fewer rows."""
    X, y = rows
    y = np.where(y == "ash", "ash", "zelkova")
    assert (y == "ash").mean() < 0.5
    estimator, grid = DaskSDCA("logistic", client=client), {"lam": [0.1]}
    for scoring in (Metric("f1"), "balanced-error"):
        sweep = DaskSweepCV(estimator, grid, cv=2, scoring=scoring, refit=False).fit(
            *in_blocks(X, y, 300)
        )
        for fold in range(2):
            (hit, missed), (alarm, right) = sweep.counts_[0, fold]
            value = 2 * hit / (2 * hit + missed + alarm)
            if scoring == "balanced-error":
                value = -0.5 * (missed / (hit + missed) + alarm / (alarm + right))
            assert_allclose(sweep.cv_results_[f"split{fold}_test_score"][0], value)


def test_invalid_folds_are_refused(rows: Any, client: Client) -> None:
    X, y = rows
    A, b = in_blocks(X, y, 300)
    grid = {"lam": [0.1]}
    for estimator, cv, message in (
        (DaskSDCA(), 1, "at least 2 folds"),
        (SDCA(), 2, "compares settings of a DaskSDCA, got SDCA"),
        (DaskSDCA(), np.where(y == "ash", 0, 1), "training part of fold 1 has one class only"),
        (
            DaskSDCA(),
            np.where(y == "ash", 0.5, 1),
            "block . of cv must hold numbers of folds",
        ),
        (DaskSDCA(), da.from_array(np.zeros(500, int)), "X has 600 rows, cv has 500"),
        (DaskSDCA(), np.full(600, -1), "cv has no folds"),
        (DaskSDCA(), np.arange(600) % 2 * 2, "cv has no rows of fold 1"),
        (DaskSDCA(), np.zeros(600, int), "training part of fold 0 has no rows"),
    ):
        with pytest.raises(ValueError, match=message):
            DaskSweepCV(estimator, grid, cv=cv, client=client).fit(A, b)


def test_each_block_draws_its_folds() -> None:
    y = np.repeat(["a", "b", "c"], [50, 31, 9])
    found = draw_folds(4, 7, 3, y)
    for label in "abc":
        counts = np.bincount(found[y == label], minlength=4)
        assert counts.max() - counts.min() <= 1
    assert_array_equal(found, draw_folds(4, 7, 3, y))
    assert not np.array_equal(found, draw_folds(4, 7, 4, y))
    alone = [int(draw_folds(4, 7, number, np.array(["a"]))[0]) for number in range(400)]
    assert np.bincount(alone).min() > 60  # blocks of one row favor no fold


def test_parameters_are_those_of_a_sweep() -> None:
    ours, theirs = (inspect.signature(each.__init__).parameters for each in (DaskSweepCV, SweepCV))
    assert set(ours) - set(theirs) == {"random_state"}
    for name in set(ours) & set(theirs):
        assert (ours[name].default, ours[name].kind) == (theirs[name].default, theirs[name].kind), (
            name
        )
    documented = (DaskSweepCV.__doc__ or "").split("Attributes")[0].replace(",", " ").split()
    assert set(ours) - {"self"} <= set(documented)
