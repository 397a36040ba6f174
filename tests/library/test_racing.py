"""The race: cells that run are exactly SweepCV's, cells that end were behind, and time that is up leaves a choice."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pegasos import SDCA, RacingCV, SweepCV
from pegasos.engine.runtime.interruption import Interrupted
from pegasos.kernels import Gaussian
from pegasos.search.narrowing import by_class, going_on, look_sizes, make_look
from pegasos.search.racing import fit_in_time, limited

pytestmark = pytest.mark.filterwarnings(
    "ignore::pegasos.search.advice.SweepWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
LEARNER = SDCA(tol=0.05, max_epochs=20, random_state=0)
GRID = {"kernel": [None, Gaussian(0.5), Gaussian(2.0), Gaussian(50.0)], "lam": [1e-4, 1e-2, 1.0]}


def rings(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Inside or outside of a circle, one label in ten wrong: no linear predictor is any good."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 2))
    return X, ((X**2).sum(axis=1) > 1.4).astype(int) ^ (random.random(rows) < 0.1)


SMALL, LARGE = rings(300), rings(1100)


def race(data: tuple[np.ndarray, np.ndarray], **options: Any) -> RacingCV:
    return RacingCV(LEARNER, GRID, cv=FOLDS, **options).fit(*data)


@pytest.mark.parametrize("data", [SMALL, LARGE], ids=["without looks", "with a look"])
def test_cells_that_run_are_those_of_the_sweep(data: Any) -> None:
    found, whole = race(data), SweepCV(LEARNER, GRID, cv=FOLDS).fit(*data)
    assert found.completed_ and found.n_splits_ == 5
    assert set(found.ended_) == set(np.flatnonzero(np.isnan(found.cv_results_["mean_test_score"])))
    assert {0, 1, 2} <= set(found.ended_) < set(range(12))  # the linear predictor is hopeless
    for number, setting in enumerate(found.settings_):
        assert setting == whole.settings_[number]
        tested = found.labels_[number] >= 0
        np.testing.assert_array_equal(found.labels_[number, tested], whole.labels_[number, tested])
        assert tested.all() == (number not in found.ended_)
    assert whole.best_score_ - found.best_score_ < 0.01
    np.testing.assert_array_equal(
        found.predict(data[0]), clone(found.best_estimator_).fit(*data).predict(data[0])
    )


def test_what_ended_was_behind_on_the_same_rows() -> None:
    found = race(LARGE)
    for ended in found.ended_.values():
        assert ended.value >= ended.leader
        assert (ended.learned, ended.tested) in {(400, 660), (880, 220), (880, 440)}
    assert 400 in {ended.learned for ended in found.ended_.values()}


def test_threads_change_nothing_and_the_store_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = race(LARGE, n_jobs=1, store=tmp_path), race(LARGE, n_jobs=2)
    walked: list[Any] = []
    monkeypatch.setattr(
        "pegasos.search.sweep.Schedule.run", lambda self, units, *rest: walked.extend(units) or True
    )
    again = race(LARGE, store=tmp_path)
    assert walked == []
    for other in (two, again):
        assert other.ended_ == one.ended_
        assert other.best_index_ == one.best_index_
        np.testing.assert_array_equal(other.labels_, one.labels_)


def test_without_narrowing_it_is_the_sweep() -> None:
    found, whole = (
        race(SMALL, narrow=False, max_time=3600),
        SweepCV(LEARNER, GRID, cv=FOLDS).fit(*SMALL),
    )
    assert found.ended_ == {}
    np.testing.assert_array_equal(found.labels_, whole.labels_)
    np.testing.assert_array_equal(
        found.cv_results_["mean_test_score"], whole.cv_results_["mean_test_score"]
    )
    assert found.best_index_ == whole.best_index_


# -- time ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("narrow", [True, False])
def test_no_time_at_all(narrow: bool) -> None:
    """The first group is looked at in any case; the model learns from few rows."""
    found = race(LARGE, max_time=1e-9, narrow=narrow)
    assert not found.completed_
    assert (found.decided_by_, found.n_splits_) == ("look", 1)
    assert found.settings_[found.best_index_].kernel is None
    assert found.refit_rows_ == 400
    assert found.predict(LARGE[0]).shape == (1100,)
    assert 0 < found.honest_estimate(rounds=20).error < 1
    small = race(SMALL, max_time=1e-9, narrow=narrow)
    assert (small.decided_by_, small.n_splits_, small.refit_rows_) == ("folds", 1, 300)


@pytest.mark.parametrize(
    ("rounds", "folds", "decided"), [(0, 1, "look"), (1, 1, "folds"), (2, 2, "folds")]
)
def test_time_that_is_up_between_rounds(
    monkeypatch: pytest.MonkeyPatch, rounds: int, folds: int, decided: str
) -> None:
    """The choice is the best on the folds that all cells have which are left."""
    original, calls = SweepCV._walk_units, []

    def walk(self: Any, work: Any, units: Any, limit: Any) -> bool:
        if isinstance(self, RacingCV):
            calls.append(units)
            if len(calls) > rounds:
                # at first one of them is still done; later that may be a whole fold of all cells that are left
                original(self, work, [] if rounds else units[:1], limit)
                return False
        return original(self, work, units, limit)

    monkeypatch.setattr(SweepCV, "_walk_units", walk)
    found = race(LARGE, max_time=3600)
    assert not found.completed_
    assert (found.n_splits_, found.decided_by_) == (folds, decided)
    known = found.cv_results_["mean_test_score"]
    assert found.best_score_ == np.nanmax(known) == known[found.best_index_]
    assert found.best_index_ not in found.ended_
    assert found.refit_rows_ == 1100


def test_a_fit_that_takes_too_long_is_made_on_fewer_rows() -> None:
    class Slow(SDCA):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            if len(X) > 400:
                raise Interrupted
            return super().fit(X, y, sample_weight)

    X, y = LARGE
    weights = {"sample_weight": np.ones(len(y))}
    model, rows = fit_in_time(Slow(max_epochs=3), X, y, y, weights, time.monotonic() + 60)
    assert rows == 400
    assert model.predict(X).shape == y.shape


def test_a_walk_ends_at_its_moment() -> None:
    X, y = rings(3000)
    begin = time.monotonic()
    with pytest.raises(Interrupted), limited(begin + 0.3):
        SDCA(kernel=Gaussian(0.01), lam=1e-9, tol=1e-12, max_epochs=10**6, finish=False).fit(X, y)
    assert time.monotonic() - begin < 20
    with limited(None):
        SDCA(max_epochs=1).fit(X[:50], y[:50])


# -- looks -----------------------------------------------------------------------------------------------------------


def test_groups_stay_apart_in_a_look() -> None:
    X, y = LARGE
    groups = np.arange(len(y)) // 11
    splits = list(GroupKFold(5).split(X, y, groups))
    look = make_look(splits, y, 400)
    assert look is not None
    assert len(look.train) == 400
    assert not set(groups[look.train]) & set(groups[look.test])
    assert make_look([(np.arange(9), np.arange(9))], y, 3) is None  # nothing is left to test on
    assert make_look(splits, np.zeros(len(y), dtype=int), 400) is None


def test_rows_by_class() -> None:
    codes = np.repeat([0, 1, 2], [900, 90, 10])
    chosen = by_class(np.arange(1000), codes, 100)
    assert np.bincount(codes[chosen]).tolist() == [90, 9, 1]
    assert len(set(chosen)) == 100
    assert look_sizes(799) == [] and look_sizes(800) == [400]


def test_noise_ends_nobody() -> None:
    """Cells that are equally good, tested on the same rows: hardly one of them ends."""
    wrong = np.random.default_rng(0).random((40, 500)) < 0.3
    assert len(going_on(wrong, most=40, behind=2.5)) > 25
    worse = np.vstack([wrong, np.random.default_rng(1).random((5, 500)) < 0.45])
    assert set(going_on(worse, most=45)).isdisjoint(range(40, 45))


def test_weights_and_pipelines_take_part_in_looks() -> None:
    """Rows of one class that count nearly nothing: no cell predicts it, in looks neither."""
    X, y = LARGE
    pipeline = make_pipeline(StandardScaler(), clone(LEARNER))
    grid = {f"sdca__{name}": values for name, values in GRID.items()}
    search = RacingCV(pipeline, grid, cv=FOLDS).fit(
        X, y, sdca__sample_weight=np.where(y == 1, 1e-4, 1.0)
    )
    assert set(search.predict(X)) == {0}
    share = float(np.mean(y))
    assert all(abs(ended.leader - share) < 0.05 for ended in search.ended_.values())


def test_scikit_learn_can_copy_it() -> None:
    search = RacingCV(LEARNER, GRID, looks=(100,), narrow=False, max_time=3.0)
    assert {name: clone(search).get_params()[name] for name in ("looks", "narrow", "max_time")} == {
        "looks": (100,),
        "narrow": False,
        "max_time": 3.0,
    }
