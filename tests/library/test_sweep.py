"""Compare every cell of a sweep with a separate fit, and test estimates of the choice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from pegasos import SDCA, Pegasos, Perceptron, SweepCV
from pegasos.estimates import bootstrap_choice, held_out
from pegasos.kernels import Gaussian, Laplacian, Polynomial
from pegasos.metrics import Metric
from pegasos.preprocessing import DropOutliers
from pegasos.search.grid import SweepWarning
from pegasos.search.store import StoreFailure
from pegasos.shrinking import mcnemar
from samples import digits, quadric_like

pytestmark = pytest.mark.filterwarnings(
    "ignore::pegasos.search.grid.SweepWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)

X, y = digits()
X, y = X[:500] / 16, y[:500]
X, y = X[y < 4], y[y < 4]
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)
KERNELS = [None, Polynomial(3), Gaussian(2.0), Gaussian(), Laplacian(20.0)]
LAMS = [1e-4, 1e-2, 1.0]

CASES = {
    "pegasos, last vector": (
        Pegasos(average=False),
        {"kernel": KERNELS[:3], "lam": LAMS[:2], "n_iter": [50, 300]},
    ),
    "pegasos, suffix": (Pegasos(), {"kernel": KERNELS, "lam": LAMS, "n_iter": [50, 300]}),
    "pegasos, logistic": (
        Pegasos("logistic", average=True),
        {"kernel": KERNELS[:3], "lam": LAMS, "epochs": [1, 2]},
    ),
    "pegasos, own draws": (
        Pegasos(draws="independent", sampling="uniform"),
        {"kernel": [None, Gaussian(2.0)], "lam": LAMS},
    ),
    "pegasos, batches": (
        Pegasos(projection=True),
        {"kernel": [None, Gaussian(2.0)], "lam": LAMS, "batch_size": [1, 8]},
    ),
    "perceptron": (Perceptron(), {"kernel": KERNELS, "epochs": [1, 2, 30]}),
    "sdca": (SDCA(), {"kernel": KERNELS[:3], "lam": [1e-3, 1e-1], "max_epochs": [2, 30]}),
    "sdca, logistic": (
        SDCA("logistic"),
        {"kernel": [None, Gaussian(2.0)], "lam": [1e-3, 1e-1], "max_epochs": [2, 20]},
    ),
    "list of grids": (Pegasos(), [{"lam": LAMS}, {"kernel": [Gaussian(1.0)], "n_iter": [300]}]),
}


def assert_same_scores(
    estimator: Any, grid: Any, X: Any, y: Any, cv: Any = FOLDS, **options: Any
) -> tuple[SweepCV, GridSearchCV]:
    estimator = clone(estimator)
    learner = {name: 0 for name in estimator.get_params() if name.split("__")[-1] == "random_state"}
    estimator.set_params(**learner)
    sweep = SweepCV(estimator, grid, cv=cv, refit=False, **options).fit(X, y)
    alone = GridSearchCV(
        estimator, grid, cv=cv, refit=False, return_train_score=sweep.return_train_score
    ).fit(X, y)
    assert sweep.cv_results_["params"] == alone.cv_results_["params"]
    for key, values in alone.cv_results_.items():
        if "_time" not in key and key.startswith(("mean_", "std_", "split", "rank_")):
            np.testing.assert_array_equal(sweep.cv_results_[key], values, err_msg=key)
        assert key in sweep.cv_results_
    assert sweep.best_index_ == alone.best_index_
    return sweep, alone


@pytest.mark.parametrize("name", CASES)
def test_every_cell_equals_its_estimator_alone(name: str) -> None:
    estimator, grid = CASES[name]
    assert_same_scores(estimator, grid, X, y)


def test_parameters_print_as_they_are_written() -> None:
    X, y = load_iris(return_X_y=True)
    grid = {"kernel": [Gaussian(np.float64(13.2))], "C": np.array([10.0])}
    sweep = SweepCV(SDCA(random_state=0), grid, cv=3).fit(X, y)
    assert repr(sweep.best_params_) == "{'C': 10.0, 'kernel': Gaussian(variance=13.2)}"
    assert (
        repr(sweep.best_estimator_)
        == "SDCA(C=10.0, kernel=Gaussian(variance=13.2), random_state=0)"
    )


@pytest.mark.parametrize("kernel", [None, "gaussian"])
@pytest.mark.parametrize("learner", [Pegasos(n_iter=200), SDCA(tol=1e-6)], ids=repr)
def test_a_grid_over_c_equals_separate_fits(learner: Any, kernel: Any) -> None:
    """The λ of a fold is 1/(C Σω) with the weights of its training rows."""
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    learner = clone(learner).set_params(kernel=kernel, class_weight="balanced", random_state=0)
    costs, folds = [0.1, 1.0, 10.0], StratifiedKFold(3)
    sweep = SweepCV(learner, {"C": costs}, cv=folds).fit(X, y, sample_weight=weights)
    assert sweep.best_params_.keys() == {"C"}
    for cell, C in enumerate(costs):
        scores = sweep.out_of_fold_scores(cell)
        for train, test in folds.split(X, y):
            alone = clone(learner).set_params(C=C).fit(X[train], y[train], weights[train])
            np.testing.assert_allclose(
                scores[test], alone.decision_function(X[test]), rtol=0, atol=0.02
            )


@pytest.mark.parametrize("intercept", [True, "free"])
def test_a_warm_path_keeps_its_certificates(intercept: bool | str, tmp_path: Any) -> None:
    """Gaps agree with separate fits, and a store keeps warm and cold results apart."""
    grid = {"kernel": [Gaussian(2.0), Gaussian(20.0)], "lam": np.geomspace(1e-6, 1e-1, 6)}
    learner = SDCA(tol=1e-4, max_epochs=5, fit_intercept=intercept, random_state=0)
    options: dict[str, Any] = {"cv": FOLDS, "refit": False, "store": tmp_path}
    cold, warm = (
        SweepCV(learner, grid, warm_path=path, **options).fit(X, y) for path in (False, True)
    )
    for sweep in (cold, warm):
        assert (sweep.cv_results_["mean_gap"] <= 1e-4).all()
    assert not np.array_equal(cold.cv_results_["mean_gap"], warm.cv_results_["mean_gap"])
    np.testing.assert_allclose(
        warm.cv_results_["mean_test_score"], cold.cv_results_["mean_test_score"], atol=0.02
    )
    again = SweepCV(learner, grid, warm_path=True, **options).fit(X, y)
    np.testing.assert_array_equal(again.cv_results_["mean_gap"], warm.cv_results_["mean_gap"])


def test_training_scores_sparse_rows_and_weights() -> None:
    grid = {"kernel": [None, Gaussian(2.0)], "lam": LAMS[:2], "n_iter": [60, 300]}
    assert_same_scores(Pegasos(), grid, X, y, return_train_score=True)
    assert_same_scores(Pegasos(), grid, sparse.csr_array(X), y)
    weights = np.random.default_rng(0).random(len(y))
    one = SweepCV(Pegasos(random_state=0), grid, cv=FOLDS).fit(X, y, sample_weight=weights)
    two = GridSearchCV(Pegasos(random_state=0), grid, cv=FOLDS).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    names = np.array([f"digit {label}" for label in y])
    heavy = Pegasos(random_state=0, class_weight={"digit 3": 20.0})
    one, two = (
        SweepCV(heavy, grid, cv=FOLDS).fit(X, names),
        GridSearchCV(heavy, grid, cv=FOLDS).fit(X, names),
    )
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )


def test_preprocessing_is_fitted_on_each_folds_training_rows() -> None:
    X, y = quadric_like(400)
    grid = {
        "pegasos__kernel": [None, Gaussian(5.0), Gaussian()],
        "pegasos__lam": LAMS,
        "pegasos__n_iter": [60, 500],
    }
    assert_same_scores(make_pipeline(StandardScaler(), Pegasos()), grid, X, y)
    both = make_pipeline(StandardScaler(), Pegasos())
    assert_same_scores(
        both,
        {"standardscaler": [StandardScaler(), MinMaxScaler(), "passthrough"], "pegasos__lam": LAMS},
        X,
        y,
    )


def test_outliers_are_dropped_from_training_rows_only() -> None:
    X, y = quadric_like(400)
    grid = {
        "estimator__kernel": [None, Gaussian()],
        "estimator__lam": LAMS,
        "threshold": [2.5, 3.0],
    }
    assert_same_scores(DropOutliers(Pegasos()), grid, X, y)
    inner = make_pipeline(StandardScaler(), DropOutliers(Pegasos()))
    assert_same_scores(
        inner, {"dropoutliers__estimator__lam": LAMS, "dropoutliers__threshold": [2.5]}, X, y
    )


@pytest.mark.parametrize(
    "cv", [KFold(4), ShuffleSplit(3, test_size=0.3, random_state=1), GroupKFold(3)]
)
def test_any_splitter(cv: Any) -> None:
    grid = {"kernel": [Gaussian(2.0)], "lam": LAMS}
    groups = np.arange(len(y)) // 10
    extra = {"groups": groups} if isinstance(cv, GroupKFold) else {}
    one = SweepCV(Pegasos(random_state=0), grid, cv=cv, refit=False).fit(X, y, **extra)
    two = GridSearchCV(Pegasos(random_state=0), grid, cv=cv, refit=False).fit(X, y, **extra)
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )


def test_any_scorer_several_at_once() -> None:
    scoring = {
        "accuracy": "accuracy",
        "f1": "f1_macro",
        "auc": "roc_auc_ovr",
        "log": "neg_log_loss",
    }
    grid = {"kernel": [None, Gaussian(2.0)], "lam": LAMS}
    common = {"cv": FOLDS, "scoring": scoring, "refit": "f1"}
    one = SweepCV(Pegasos("logistic", random_state=0), grid, **common).fit(X, y)
    two = GridSearchCV(Pegasos("logistic", random_state=0), grid, **common).fit(X, y)
    for name in scoring:
        np.testing.assert_allclose(
            one.cv_results_[f"mean_test_{name}"], two.cv_results_[f"mean_test_{name}"], rtol=1e-8
        )
    assert one.best_params_ == two.best_params_
    single = SweepCV(Pegasos(random_state=0), grid, cv=FOLDS, scoring="balanced_accuracy").fit(X, y)
    other = GridSearchCV(Pegasos(random_state=0), grid, cv=FOLDS, scoring="balanced_accuracy").fit(
        X, y
    )
    assert single.best_score_ == other.best_score_


def test_float32_is_within_two_examples() -> None:
    grid = {"kernel": KERNELS[1:4], "lam": LAMS, "n_iter": [50, 700]}
    narrow = X.astype(np.float32)
    one = SweepCV(Pegasos(random_state=0), grid, cv=FOLDS, refit=False).fit(narrow, y)
    two = GridSearchCV(Pegasos(random_state=0), grid, cv=FOLDS, refit=False).fit(narrow, y)
    for fold, (_, test) in enumerate(FOLDS.split(X, y)):
        difference = np.abs(
            one.cv_results_[f"split{fold}_test_score"] - two.cv_results_[f"split{fold}_test_score"]
        )
        assert difference.max() * len(test) <= 2.001


def test_threads_and_memory_change_nothing() -> None:
    grid = {
        "kernel": [Polynomial(2), Gaussian(2.0), Gaussian(1.0)],
        "lam": LAMS[:2],
        "n_iter": [100, 300],
    }
    labels = {}
    for name, options in {
        "one": {"n_jobs": 1},
        "three": {"n_jobs": 3},
        "fly": {"memory": 500_000},
    }.items():
        sweep = SweepCV(Pegasos(random_state=0), grid, cv=FOLDS, refit=False, **options).fit(X, y)
        labels[name] = sweep.labels_
        assert sweep.plan_ == ("on the fly" if name == "fly" else "shared")
    np.testing.assert_array_equal(labels["one"], labels["three"])
    np.testing.assert_array_equal(labels["one"], labels["fly"])


def _own_gaussian(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return Gaussian(2.0)(a, b)


def test_precomputed_and_callable_kernels() -> None:
    K = Gaussian(2.0)(X)
    one = SweepCV(Pegasos(random_state=0, kernel="precomputed"), {"lam": LAMS}, cv=FOLDS).fit(K, y)
    two = SweepCV(Pegasos(random_state=0, kernel=Gaussian(2.0)), {"lam": LAMS}, cv=FOLDS).fit(X, y)
    three = SweepCV(Pegasos(random_state=0, kernel=_own_gaussian), {"lam": LAMS}, cv=FOLDS).fit(
        X, y
    )
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.labels_, three.labels_)


def test_inside_cross_val_score_and_refit() -> None:
    sweep = SweepCV(Pegasos(random_state=0), {"lam": LAMS, "kernel": [Gaussian(2.0)]}, cv=2)
    plain = GridSearchCV(Pegasos(random_state=0), {"lam": LAMS, "kernel": [Gaussian(2.0)]}, cv=2)
    np.testing.assert_array_equal(
        cross_val_score(sweep, X, y, cv=FOLDS), cross_val_score(plain, X, y, cv=FOLDS)
    )
    fitted = sweep.fit(X, y)
    assert fitted.best_estimator_.random_state == 0
    np.testing.assert_array_equal(
        fitted.decision_function(X), fitted.best_estimator_.decision_function(X)
    )


@pytest.mark.parametrize(
    ("estimator", "grid", "message"),
    [
        (LogisticRegression(), {"C": [1.0]}, "Pegasos, Perceptron or SDCA"),
        (Pegasos(), {"lam": [1e-3, -1.0]}, "lam must be"),
        (Pegasos(), {"random_state": [0, 1]}, "random_state cannot be an axis"),
        (Pegasos(), {"loss": ["hinge", "squared"]}, "loss must be one of"),
    ],
)
def test_clear_errors(estimator: Any, grid: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        SweepCV(estimator, grid, cv=FOLDS).fit(X, y)


def test_time_that_is_up_keeps_complete_cells() -> None:
    grid = {"kernel": [Polynomial(d) for d in range(1, 9)], "lam": LAMS, "n_iter": [60_000]}
    with pytest.raises(TimeoutError, match="raise it"):
        SweepCV(Pegasos(random_state=0), grid, cv=FOLDS, max_time=1e-4).fit(X, y)
    sweep = SweepCV(Pegasos(random_state=0), grid, cv=FOLDS, max_time=3600).fit(X, y)
    assert sweep.completed_


def test_scores_of_leading_cells_are_kept(tmp_path: Path) -> None:
    grid = {"kernel": [Gaussian(2.0)], "lam": LAMS, "n_iter": [100, 1000]}
    sweep = SweepCV(Pegasos(random_state=0), grid, cv=FOLDS, store=tmp_path).fit(X, y)
    again = SweepCV(Pegasos(random_state=0), grid, cv=FOLDS, store=tmp_path).fit(X, y)
    for found in (sweep, again):
        scores = found.out_of_fold_scores(found.best_index_)
        np.testing.assert_array_equal(scores.argmax(axis=1), found.labels_[found.best_index_])
    with pytest.raises(ValueError, match="no comparable scores"):
        sweep.out_of_fold_scores(999)


# honest choice


def test_on_noise_only_the_corrected_interval_covers_chance() -> None:
    random = np.random.default_rng(3)
    noise, labels = random.normal(size=(300, 20)), random.integers(0, 2, 300)
    grid = {
        "kernel": [Gaussian(v) for v in (1.0, 4.0, 16.0, 64.0)],
        "lam": np.logspace(-6, 0, 10),
        "n_iter": [30, 100, 300, 600, 2000],
    }
    sweep = SweepCV(Pegasos(random_state=0), grid, cv=5, refit=False).fit(noise, labels)
    assert len(sweep.cv_results_["params"]) == 200
    raw = 1 - sweep.best_score_
    honest = sweep.honest_estimate()
    spread = np.sqrt(0.25 / 300)
    assert raw < 0.5 - 1.5 * spread
    assert honest.low < 0.5 < honest.high
    assert honest.error > raw


def test_bootstrap_is_nearly_unbiased_where_nothing_is_chosen() -> None:
    wrong = np.random.default_rng(0).random((1, 2000)) < 0.2
    estimate = bootstrap_choice(wrong, rounds=300)
    assert abs(estimate.error - wrong.mean()) < 0.005
    assert estimate.low < wrong.mean() < estimate.high


def test_the_corrected_error_is_that_of_the_choice() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3))
    y = np.where(X[:, 0] + random.normal(size=300) > 1.5, "rare", "usual")
    weights = {"class_weight": [None, {"rare": 9.0, "usual": 1.0}]}
    sweep = SweepCV(
        SDCA(random_state=0),
        weights,
        cv=3,
        scoring=Metric("cost", costs=(("rare", "usual", 50.0),)),
    ).fit(X, y)
    assert sweep.best_index_ == 1
    codes = (y == "usual").astype(int)
    other, own = (sweep.labels_ != codes).mean(axis=1)
    assert own > other + 0.05
    assert sweep.honest_estimate(rounds=200).error == pytest.approx(own, abs=0.01)


def test_held_out_interval_is_clopper_pearson() -> None:
    estimate = held_out(np.arange(100) < 7)
    assert estimate.error == 0.07
    np.testing.assert_allclose(
        [estimate.low, estimate.high], [0.0286, 0.1389], atol=1e-4
    )  # the usual tables
    assert held_out(np.zeros(10) > 0).low == 0.0 and held_out(np.ones(10) > 0).high == 1.0


def test_mcnemar() -> None:
    assert mcnemar(np.zeros(5) > 0, np.zeros(5) > 0) == 1.0
    sweep = SweepCV(
        Pegasos(random_state=0),
        {"kernel": [Gaussian(2.0)], "lam": [1e-4, 10.0], "n_iter": [3, 2000]},
        cv=FOLDS,
    ).fit(X, y)
    codes = np.searchsorted(np.unique(y), y)
    assert mcnemar(sweep.labels_[0] != codes, sweep.labels_[1] != codes) < 1e-3


def test_advice_on_borders_and_steps() -> None:
    X, y = digits()
    X, y = X[:400] / 16, y[:400]
    with pytest.warns(SweepWarning, match="border of the grid: lam"):
        SweepCV(
            Pegasos(random_state=0),
            {"kernel": [Gaussian(2.0)], "lam": [1e-2, 1.0, 100.0]},
            cv=FOLDS,
        ).fit(X, y)
    with pytest.warns(SweepWarning, match="more steps would clearly help"):
        SweepCV(
            Pegasos(random_state=0), {"kernel": [Gaussian(2.0)], "n_iter": [5, 20, 80]}, cv=FOLDS
        ).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SweepWarning)
        sweep = SweepCV(
            Pegasos(random_state=0),
            {"kernel": [Gaussian(2.0)], "n_iter": [3000, 4000, 5000]},
            cv=FOLDS,
        ).fit(X, y)
    assert sweep.advice_ == []
    simplest = sweep.cv_results_["params"][sweep.simplest_index_]
    assert simplest["n_iter"] <= sweep.best_params_["n_iter"]


# the store

GRID: dict[str, Any] = {"kernel": [Polynomial(2), Gaussian(2.0)], "lam": LAMS, "n_iter": [50, 300]}


def _table(sweep: SweepCV) -> dict[str, Any]:
    return {
        key: value
        for key, value in sweep.cv_results_.items()
        if "_time" not in key and key != "params"
    }


def _assert_same_table(one: SweepCV, two: SweepCV) -> None:
    for key, value in _table(one).items():
        if not key.startswith("param_"):
            assert np.asarray(value).tobytes() == np.asarray(two.cv_results_[key]).tobytes(), key
    assert one.labels_.tobytes() == two.labels_.tobytes()


def test_a_store_is_used_again_and_a_changed_grid_uses_what_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = SweepCV(Pegasos(), GRID, cv=FOLDS, store=tmp_path / "run").fit(X, y)
    from pegasos.search import schedule

    ran = []
    original = schedule.UnitRun
    monkeypatch.setattr(
        schedule, "UnitRun", lambda *args: ran.append(len(args[0])) or original(*args)
    )
    second = SweepCV(Pegasos(), GRID, cv=FOLDS, store=tmp_path / "run").fit(X, y)
    assert ran == []
    assert second.seed_ == first.seed_
    _assert_same_table(first, second)
    SweepCV(Pegasos(), {**GRID, "lam": [*LAMS, 0.1]}, cv=FOLDS, store=tmp_path / "run").fit(X, y)
    assert sorted(ran) == [2] * 6  # two new cells for each kernel and fold


@pytest.mark.parametrize(
    ("change", "name"),
    [("X", "data"), ("y", "labels"), ("cv", "splits"), ("weights", "weights"), ("seed", "seed")],
)
def test_a_store_of_another_question_is_refused(tmp_path: Path, change: str, name: str) -> None:
    SweepCV(Pegasos(random_state=0), GRID, cv=FOLDS, store=tmp_path).fit(X, y)
    other_X, other_y = X.copy(), y.copy()
    if change == "X":
        other_X[5, 5] += 1e-9
    if change == "y":
        other_y[0] = (other_y[0] + 1) % 4
    folds = StratifiedKFold(3, shuffle=True, random_state=1 if change == "cv" else 0)
    if change == "y":
        folds = [(a, b) for a, b in FOLDS.split(X, y)]
    weights = {"sample_weight": np.ones(len(y))} if change == "weights" else {}
    learner = Pegasos(random_state=1 if change == "seed" else 0)
    with pytest.raises(ValueError, match=f"other .*{name}"):
        SweepCV(learner, GRID, cv=folds, store=tmp_path).fit(other_X, other_y, **weights)


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sweep.sqlite").write_bytes(b"not a database at all, just bytes" * 40)
    with pytest.raises(StoreFailure, match=r"damaged. Delete it, or take another folder"):
        SweepCV(Pegasos(random_state=0), GRID, cv=FOLDS, store=tmp_path).fit(X, y)


SCRIPT = """
import sys, numpy as np, warnings
warnings.simplefilter("ignore")
from sklearn.datasets import load_digits
from pegasos import Pegasos, SweepCV
from pegasos.kernels import Gaussian, Polynomial
X, y = load_digits(return_X_y=True)
grid = {"kernel": [Polynomial(2), Polynomial(3), Gaussian(2.0), Gaussian(8.0)], "lam": [1e-4, 1e-2, 1.0], "n_iter": [500, 20_000]}
print("ready", flush=True)
sweep = SweepCV(Pegasos(), grid, cv=4, store=sys.argv[1], refit=False).fit(X[:900] / 16, y[:900])
kept = {k: v for k, v in sweep.cv_results_.items() if k.startswith(("mean_test", "std_test", "split", "rank", "mean_support"))}
np.savez(sys.argv[2], labels=sweep.labels_, seed=sweep.seed_, **kept)
"""


def _start(code: str, store: Path, out: Path) -> subprocess.Popen[str]:
    """Start the script, and wait until it has imported its modules."""
    command = [sys.executable, "-c", code, str(store), str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def _end(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for the end; return the exit code and stderr."""
    _, said = process.communicate(timeout=120)
    return process.returncode, said


def _killed(process: subprocess.Popen[str], seconds: float) -> bool:
    """Return whether the process still worked after the delay and was killed by SIGKILL."""
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
    return _end(process)[0] == -signal.SIGKILL


def _assert_same_files(one: Path, two: Path) -> None:
    with np.load(one) as first, np.load(two) as second:
        assert set(first.files) == set(second.files)
        for name in first.files:
            assert first[name].tobytes() == second[name].tobytes(), name


@pytest.mark.slow
def test_a_killed_search_resumes_to_the_same_table(
    tmp_path: Path,
) -> None:
    """Kill up to twenty times, as long as the work lasts."""
    store, out, quiet = tmp_path / "killed", tmp_path / "killed.npz", tmp_path / "quiet.npz"
    random = np.random.default_rng(0)
    moments = iter(random.uniform(0.02, 0.35, 20))
    kills = 0
    while (moment := next(moments, None)) is not None and _killed(
        _start(SCRIPT, store, out), moment
    ):
        kills += 1
    assert _end(_start(SCRIPT, store, out))[0] == 0
    assert kills >= 3
    with np.load(out) as disturbed:
        code = SCRIPT.replace("Pegasos()", f"Pegasos(random_state={int(disturbed['seed'])})")
    assert _end(_start(code, tmp_path / "quiet", quiet))[0] == 0
    _assert_same_files(quiet, out)


def test_two_processes_may_share_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the two processes is the test itself."""
    code = SCRIPT.replace("900", "300").replace("20_000", "4_000")
    assert _killed(_start(code, tmp_path / "store", tmp_path / "none.npz"), 0.2)
    ours, theirs = tmp_path / "ours.npz", tmp_path / "theirs.npz"
    monkeypatch.setattr(sys, "argv", ["-c", str(tmp_path / "store"), str(ours)])
    process = _start(code, tmp_path / "store", theirs)
    exec(code, {})
    assert _end(process)[0] == 0
    _assert_same_files(ours, theirs)


def test_ctrl_c_ends_within_a_second_and_keeps_what_is_done(tmp_path: Path) -> None:
    process = _start(
        SCRIPT.replace("20_000", "2_000_000"), tmp_path / "store", tmp_path / "out.npz"
    )
    time.sleep(1.0)
    start = time.monotonic()
    os.kill(process.pid, signal.SIGINT)
    code, said = _end(process)
    assert (
        time.monotonic() - start < 5.0
    )  # a second on an idle machine; generous here, because tests share one
    assert code != 0
    assert "finished cells are kept in" in said and "resumes there" in said


@parametrize_with_checks(
    [SweepCV(Pegasos(random_state=0), {"lam": [1e-3, 1e-2]}, cv=2)],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "as for the learners, and folds differ",
        "check_sample_weight_equivalence_on_sparse_data": "as for the learners, and folds differ",
    },
)
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


def test_a_single_split_is_enough():
    X, y = quadric_like(200)
    split = [(np.arange(150), np.arange(150, 200))]
    sweep = SweepCV(
        Pegasos(random_state=0), {"lam": [1e-3, 1e-2, 1e-1], "n_iter": [100, 200, 400]}, cv=split
    ).fit(X, y)
    assert (
        sweep.simplest_index_ == sweep.best_index_
        or sweep.cv_results_["mean_test_score"][sweep.simplest_index_] == sweep.best_score_
    )
    assert sweep.advice_ == []


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_probabilities_where_training_rows_of_a_fold_lack_a_class(loss: str) -> None:
    codes = np.append(99, y[1:])  # a class of one row
    sweep = SweepCV(SDCA(loss), {"lam": [1e-2, 1e-1]}, cv=KFold(3)).fit(X, codes)
    p = sweep.out_of_fold_answers().probabilities
    assert p.shape == (len(X), 5)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert 0 < sweep.out_of_fold_metric("log-loss").value < np.inf


def test_simpler_means_smoother() -> None:
    """A simpler cell has no smaller λ, narrower kernel, or other model."""
    from pegasos.search.grid import complexity, make_cells

    grid = {"kernel": [None, Gaussian("1 scale"), Gaussian("4 scale")], "lam": [1e-4, 1e-2]}
    cells = make_cells(SDCA(), grid)
    best = next(
        cell
        for cell in cells
        if cell.setting.kernel == Gaussian("1 scale") and cell.setting.lam == 1e-2
    )
    simpler = {
        (cell.setting.kernel, cell.setting.lam)
        for cell in cells
        if complexity(cell, best) is not None
    }
    assert simpler == {
        (None, 1e-4),
        (None, 1e-2),
        (Gaussian("1 scale"), 1e-2),
        (Gaussian("4 scale"), 1e-2),
    }
    assert complexity(make_cells(SDCA("logistic"), {"lam": [1.0]})[0], best) is None
