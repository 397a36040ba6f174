"""Compare the two-stage search with nested loops; time limits, stores and rare classes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, ParameterGrid, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pegasos import SDCA, SweepCV, TwoStageSearchCV
from pegasos.engine.runtime.interruption import Interrupted
from pegasos.kernels import Gaussian
from pegasos.search.two_stage import fit_in_time, limited
from pegasos.search.units import Problem, stratified

pytestmark = pytest.mark.filterwarnings(
    "ignore::pegasos.search.grid.SweepWarning",
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore:The least populated class:UserWarning",
)

Array = np.ndarray[Any, Any]
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
LEARNER = SDCA(tol=1e-3, max_epochs=200, random_state=0)
WIDTHS, LAMS = [0.05, 0.5, 5.0, 50.0], [1e-4, 1e-2, 1.0]
GRID = {"kernel": [None, *map(Gaussian, WIDTHS)], "lam": LAMS}


def rings(rows: int, seed: int = 0) -> tuple[Array, Array]:
    """Return two rings with 10 % label noise, which no linear predictor separates."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 2))
    return X, ((X**2).sum(axis=1) > 1.4).astype(int) ^ (random.random(rows) < 0.1)


SMALL, LARGE = rings(200), rings(600)


def search(data: tuple[Array, Array], **options: Any) -> TwoStageSearchCV:
    return TwoStageSearchCV(LEARNER, GRID, cv=FOLDS, **{"first_rows": 250, **options}).fit(*data)


def accuracies(params: dict[str, Any], X: Array, y: Array, splits: Any) -> list[float]:
    """Return the accuracy on the test rows of each fold, by separate fits."""
    return [
        clone(LEARNER).set_params(**params).fit(X[train], y[train]).score(X[test], y[test])
        for train, test in splits
    ]


def reference(X: Array, y: Array, first_rows: int) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Return the scores of both stages by nested loops; settings are (width or None, λ)."""

    def params(key: tuple[Any, float], times: float = 1.0) -> dict[str, Any]:
        return {"kernel": None if key[0] is None else Gaussian(key[0]), "lam": key[1] * times}

    splits = list(FOLDS.split(X, y))
    chosen = set(stratified(y, first_rows).tolist())
    inside = [[[row for row in part if row in chosen] for part in split] for split in splits]
    grid = [(width, lam) for width in [None, *WIDTHS] for lam in LAMS]
    times = len(y) / len(chosen)
    first = {key: np.array(accuracies(params(key, times), X, y, inside)) for key in grid}
    leader = max(grid, key=lambda key: first[key].mean())
    leading = {}
    for linear in (True, False):
        best = max(
            (key for key in grid if (key[0] is None) == linear), key=lambda key: first[key].mean()
        )
        behind = first[leader] - first[best]
        if behind.mean() <= 2 * behind.std(ddof=1) / np.sqrt(5):
            leading[best] = first[best].mean()
    second = {}
    for width, lam in leading:
        row, column = LAMS.index(lam), None if width is None else WIDTHS.index(width)
        near = [(width, LAMS[each]) for each in (row - 1, row, row + 1) if 0 <= each < len(LAMS)]
        if column is not None:
            near += [
                (WIDTHS[each], lam) for each in (column - 1, column + 1) if 0 <= each < len(WIDTHS)
            ]
        second |= {key: np.array(accuracies(params(key), X, y, splits)) for key in near}
    half = np.sqrt(
        10
    )  # both axes of the grid have steps of a factor of 10 to 100: half of their median
    for _ in range(3):
        best = max(second, key=lambda key: second[key].mean())
        before = second[best]
        for width in (1, 1 / half, half):
            for factor in (1, 0.1, 10):  # half of the steps of λ, which are factors of 100
                key = float(f"{best[0] * width:.3g}"), float(f"{best[1] * factor:.3g}")
                same = (one for one in second if one[0] and np.allclose(one, key, rtol=0.02))
                if next(same, None) is None:
                    second[key] = np.array(accuracies(params(key), X, y, splits))
        gain = max(second.values(), key=np.mean) - before
        if gain.mean() <= gain.std(ddof=1) / np.sqrt(5):
            break
    return first, second


@pytest.mark.parametrize("data", [LARGE, rings(600, seed=3)])
def test_both_stages_are_those_of_nested_loops(data: Any) -> None:
    found = search(data)
    first, second = reference(*data, first_rows=250)
    results = found.cv_results_
    keys = [
        (None if each.kernel is None else each.kernel.variance, each.lam)
        for each in found.settings_
    ]
    for place, key in enumerate(keys):
        if key in first and place < len(first):
            own = [results[f"split{fold}_first_score"][place] for fold in range(5)]
            np.testing.assert_allclose(own, first[key], atol=0.021)  # a row of a test part
            assert results["mean_first_score"][place] == pytest.approx(np.mean(own))
        else:
            assert results["stage"][place] == 3
    later = {key: place for place, key in enumerate(keys) if results["stage"][place] > 1}
    assert set(later) == set(second)
    for key, place in later.items():
        own = [results[f"split{fold}_test_score"][place] for fold in range(5)]
        np.testing.assert_allclose(own, second[key], atol=0.0085)
    assert found.best_score_ == np.nanmax(results["mean_test_score"])
    best = max(second.values(), key=np.mean).mean()
    assert second[keys[found.best_index_]].mean() == pytest.approx(best, abs=0.002)
    again = clone(LEARNER).set_params(**found.best_params_).fit(*data)
    np.testing.assert_array_equal(found.predict(data[0]), again.predict(data[0]))
    assert (found.first_rows_, found.search_rows_, found.refit_rows_) == (250, 600, 600)


def test_a_small_table_is_searched_completely() -> None:
    found, whole = search(SMALL), SweepCV(LEARNER, GRID, cv=FOLDS).fit(*SMALL)
    np.testing.assert_array_equal(found.labels_[:15], whole.labels_)
    np.testing.assert_array_equal(
        found.cv_results_["mean_test_score"][:15], whole.cv_results_["mean_test_score"]
    )
    assert found.cv_results_["stage"][:15].tolist() == [1] * 15
    assert set(found.cv_results_["stage"][15:]) == {3}
    assert found.best_score_ >= whole.best_score_
    assert "mean_first_score" not in found.cv_results_


def test_an_exhaustive_search_is_the_sweep() -> None:
    found = search(LARGE, exhaustive=True, max_time=3600)
    whole = SweepCV(LEARNER, GRID, cv=FOLDS).fit(*LARGE)
    assert found.completed_ and len(found.settings_) == 15
    np.testing.assert_array_equal(found.labels_, whole.labels_)
    assert found.best_score_ == whole.best_score_
    assert np.isfinite(found.cv_results_["mean_first_score"]).all()
    without = search(LARGE, exhaustive=True)
    assert "mean_first_score" not in without.cv_results_
    np.testing.assert_array_equal(without.labels_, whole.labels_)


def test_of_equal_settings_the_smoothest_is_chosen() -> None:
    X = np.repeat([[0.0], [1.0]], 30, axis=0)
    grid = {"kernel": [Gaussian(0.5), Gaussian(1.0), None], "lam": [1e-3, 1e-2]}
    found = TwoStageSearchCV(LEARNER, grid, cv=3, refinements=0).fit(X, np.repeat([0, 1], 30))
    assert found.best_score_ == 1.0
    assert found.best_params_ == {"kernel": None, "lam": 1e-2}


def test_half_steps_leave_the_grid_where_the_best_lies_on_its_border() -> None:
    grid = {"kernel": [Gaussian(8.0), Gaussian(32.0)], "lam": [0.1, 1.0]}
    found = TwoStageSearchCV(LEARNER, grid, cv=FOLDS).fit(*LARGE)
    refined = [
        each
        for each, stage in zip(found.settings_, found.cv_results_["stage"], strict=True)
        if stage == 3
    ]
    assert {each.kernel.variance for each in refined} >= {4.0, 16.0}
    assert min(each.lam for each in refined) <= 0.0317
    assert found.best_params_["kernel"].variance < 8 or found.best_params_["lam"] < 0.1
    alone = TwoStageSearchCV(LEARNER, {"kernel": [Gaussian(8.0)], "lam": [0.1]}, cv=3).fit(*SMALL)
    assert len(alone.settings_) == 1  # an axis with one value is not refined


def test_more_rows_than_the_second_stage_takes() -> None:
    found = search(LARGE, max_rows=400)
    assert (found.search_rows_, found.refit_rows_) == (400, 600)
    tested = found.labels_[found.best_index_] >= 0
    np.testing.assert_array_equal(np.flatnonzero(tested), stratified(LARGE[1], 400))
    best = {name: value for name, value in found.best_params_.items() if name == "kernel"}
    best["lam"] = found.best_params_["lam"] * 600 / 400  # the same C
    inside = [
        [np.intersect1d(part, np.flatnonzero(tested)) for part in split]
        for split in FOLDS.split(*LARGE)
    ]
    assert found.best_score_ == pytest.approx(np.mean(accuracies(best, *LARGE, inside)), abs=0.006)


# stores, threads, weights, groups


def same(one: TwoStageSearchCV, other: TwoStageSearchCV) -> None:
    assert one.settings_ == other.settings_ and one.best_index_ == other.best_index_
    np.testing.assert_array_equal(one.labels_, other.labels_)
    for name in ("mean_test_score", "mean_first_score", "stage"):
        np.testing.assert_array_equal(one.cv_results_[name], other.cv_results_[name])


def test_threads_change_nothing_and_a_store_resumes(tmp_path: Path, monkeypatch: Any) -> None:
    from pegasos.search.schedule import Schedule

    whole, run, done = search(LARGE, n_jobs=2), Schedule.run, [0]

    def interrupted(self: Any, units: Any, take: Any, *rest: Any) -> bool:
        def count(unit: Any, result: Any) -> None:
            take(unit, result)
            done[0] += 1
            if done[0] in (7, 40):
                raise KeyboardInterrupt

        return run(self, units, count, *rest)

    monkeypatch.setattr(Schedule, "run", interrupted)
    for _ in range(2):  # in the first stage, then later
        with pytest.raises(KeyboardInterrupt):
            search(LARGE, store=tmp_path, n_jobs=1)
    same(search(LARGE, store=tmp_path, n_jobs=1), whole)
    walked: list[Any] = []
    monkeypatch.setattr(Schedule, "run", lambda self, units, *rest: walked.extend(units) or True)
    same(search(LARGE, store=tmp_path), whole)
    assert walked == []


def test_weights_and_pipelines() -> None:
    """A class whose rows have almost no weight is never predicted, in either stage."""
    X, y = LARGE
    pipeline = make_pipeline(StandardScaler(), clone(LEARNER))
    grid = {f"sdca__{name}": values for name, values in GRID.items()}
    found = TwoStageSearchCV(pipeline, grid, cv=FOLDS, first_rows=250)
    found.fit(X, y, sdca__sample_weight=np.where(y == 1, 1e-4, 1.0))
    assert set(found.predict(X)) == {0}
    assert found.cv_results_["mean_first_score"][0] == pytest.approx(1 - y.mean(), abs=0.02)


def test_groups_stay_apart_in_a_sample() -> None:
    X, y = LARGE
    groups = np.arange(len(y)) // 11
    splits = list(GroupKFold(5).split(X, y, groups))
    problem = Problem(X, y, np.array([0, 1]), y, None, splits)
    rows = stratified(y, 250)
    sampled = problem.restrict(rows)
    assert sum(len(test) for _, test in sampled.splits) == 250
    for train, test in sampled.splits:
        assert not set(groups[train]) & set(groups[test])
    local = sampled.take(rows)
    for (train, _), (inner, _) in zip(sampled.splits, local.splits, strict=True):
        np.testing.assert_array_equal(X[train], local.X[inner])
    found = TwoStageSearchCV(LEARNER, GRID, cv=GroupKFold(5), first_rows=250).fit(
        X, y, groups=groups
    )
    assert found.decided_by_ == "folds"


def test_rows_by_class() -> None:
    codes = np.repeat([0, 1, 2], [900, 90, 10])
    chosen = stratified(codes, 100)
    assert np.bincount(codes[chosen]).tolist() == [90, 9, 1]
    assert len(set(chosen)) == 100


@pytest.mark.parametrize("scoring", ["balanced-error", "f1_macro", "log-loss"])
def test_both_stages_use_the_metric(scoring: str) -> None:
    X, y = rings(500)
    rare = np.flatnonzero(y == 1)[40:]
    X, y = np.delete(X, rare, axis=0), np.delete(y, rare)
    grid = {"kernel": [Gaussian(0.5)], "lam": [1e-3, 1e-1, 1.0], "class_weight": [None, "balanced"]}
    found = TwoStageSearchCV(LEARNER, grid, cv=3, scoring=scoring, first_rows=150).fit(X, y)
    whole = SweepCV(LEARNER, grid, cv=3, scoring=scoring).fit(X, y)
    assert found.best_score_ >= whole.best_score_ - 0.05
    if scoring == "balanced-error":
        assert found.best_params_["class_weight"] == "balanced"


# rare classes


@pytest.mark.parametrize("strays", [1, 6])
@pytest.mark.parametrize("first_rows", [250, 2000])
def test_stray_labels_do_not_change_the_choice(strays: int, first_rows: int) -> None:
    """A class missing from a training part is compared through the classes of the fold."""
    X, y = LARGE
    clean = search((X, y), first_rows=first_rows)
    spoiled = np.where(y == 1, "yes", "no").astype(object)
    spoiled[np.random.default_rng(0).choice(len(y), strays, replace=False)] = "maybe"
    found = search((X, spoiled), first_rows=first_rows)
    expected = (1 - clean.best_score_) + strays / len(y)
    assert 1 - found.best_score_ == pytest.approx(expected, abs=0.02)
    assert np.mean(found.predict(X) == np.where(y == 1, "yes", "no")) > 0.85
    rows = spoiled != "maybe"
    errors = found.labels_[found.best_index_][rows] != np.where(y == 1, 2, 1)[rows]
    assert errors.mean() < 1 - clean.best_score_ + 0.02


# time


@pytest.mark.parametrize("exhaustive", [True, False])
def test_no_time_at_all(exhaustive: bool) -> None:
    """The first kernel is always evaluated; the model is then trained on few rows."""
    data = rings(1000)
    found = search(data, max_time=1e-9, exhaustive=exhaustive)
    assert not found.completed_ and found.decided_by_ == "sample"
    assert found.settings_[found.best_index_].kernel is None
    assert found.refit_rows_ == 400
    assert set(found.cv_results_["stage"]) == {1}
    assert 0 < found.honest_estimate(rounds=20).error < 1
    small = search(SMALL, max_time=1e-9, exhaustive=exhaustive)
    assert (small.completed_, small.decided_by_, small.refit_rows_) == (False, "folds", 200)


@pytest.mark.parametrize(("calls", "decided"), [(2, "sample"), (3, "folds")])
def test_time_is_over_between_stages(monkeypatch: Any, calls: int, decided: str) -> None:
    from pegasos.search.evaluation import Evaluation

    original, done = Evaluation.run, [0]

    def run(self: Any, cells: Any, until: Any = None) -> bool:
        done[0] += 1
        return original(self, cells, until) if done[0] <= calls else False

    monkeypatch.setattr(Evaluation, "run", run)
    found = search(LARGE, max_time=3600)
    assert found.decided_by_ == decided and not found.completed_
    scores = found.cv_results_["mean_test_score"]
    assert found.best_score_ == np.nanmax(scores) == scores[found.best_index_]
    assert found.refit_rows_ == 600


def test_a_fit_that_takes_too_long_is_made_on_fewer_rows() -> None:
    class Slow(SDCA):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            if len(X) > 400:
                raise Interrupted
            return super().fit(X, y, sample_weight)

    X, y = rings(1100)
    weights = {"sample_weight": np.ones(len(y))}
    model, rows = fit_in_time(Slow(max_epochs=3), X, y, y, weights, time.monotonic() + 60)
    assert rows == 400
    assert model.predict(X).shape == y.shape


def test_a_fit_ends_at_its_moment() -> None:
    X, y = rings(3000)
    begin = time.monotonic()
    with pytest.raises(Interrupted), limited(begin + 0.3):
        SDCA(kernel=Gaussian(0.01), lam=1e-9, tol=1e-12, max_epochs=10**6, finish=False).fit(X, y)
    assert time.monotonic() - begin < 20
    with limited(None):
        SDCA(max_epochs=1).fit(X[:50], y[:50])


def test_scikit_learn_can_copy_it() -> None:
    given = {
        "first_rows": 100,
        "max_rows": 500,
        "refinements": 1,
        "exhaustive": True,
        "max_time": 3.0,
    }
    params = clone(TwoStageSearchCV(LEARNER, GRID, **given)).get_params()
    assert {name: params[name] for name in given} == given
    assert len(list(ParameterGrid(params["param_grid"]))) == 15


def test_a_grid_over_c() -> None:
    grid = {"kernel": [Gaussian(0.5), Gaussian(5.0)], "C": [0.01, 1.0, 100.0]}
    found = TwoStageSearchCV(LEARNER, grid, cv=FOLDS, first_rows=250).fit(*LARGE)
    rows = stratified(LARGE[1], 250)
    inside = [[np.intersect1d(part, rows) for part in split] for split in FOLDS.split(*LARGE)]
    place = next(n for n, each in enumerate(found.settings_) if each.C == 1.0)
    expected = accuracies(found.cv_results_["params"][place], *LARGE, inside)
    np.testing.assert_allclose(
        found.cv_results_["mean_first_score"][place], np.mean(expected), atol=0.01
    )
    steps = [
        each.C
        for each, stage in zip(found.settings_, found.cv_results_["stage"], strict=True)
        if stage == 3
    ]
    assert {found.settings_[place].lam for place in range(6)} == {None}
    assert steps and min(abs(np.log10(each) % 1) for each in steps) < 0.01


def test_new_settings_that_are_equal_are_evaluated_once() -> None:
    """A variant that makes two leading families equal is one new setting."""
    grid = {"kernel": [None, Gaussian(50.0)], "lam": [1e-2]}
    options = {"cv": FOLDS, "variants": [{"kernel": None, "tol": 1e-4}], "refinements": 0}
    X = np.random.default_rng(0).normal(size=(80, 2))
    found = TwoStageSearchCV(LEARNER, grid, **options).fit(X, X[:, 0] > 0)
    assert len(found.cells_) == 3 and found.cv_results_["stage"].tolist() == [1, 1, 3]
