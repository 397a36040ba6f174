"""Test the contract of public estimators: defaults, names, fitted attributes, reprs."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold

import pegasos
from pegasos import SDCA, Pegasos, Perceptron, SweepCV, TwoStageSearchCV
from pegasos.engine.kernels.standard import __all__ as kernel_names
from pegasos.kernels import Gaussian

LEARNERS = (SDCA, Pegasos, Perceptron)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = (X[:, 0] + 0.5 * RNG.normal(size=120) > 0.8).astype(int)
CV = StratifiedKFold(3, shuffle=True, random_state=0)


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize("kernel", [None, "gaussian"])
def test_the_intercept_is_on_by_default(kind: Any, kernel: Any) -> None:
    assert kind().fit_intercept is True
    found = kind(kernel=kernel, random_state=0).fit(X, Y)
    asked = kind(kernel=kernel, random_state=0, fit_intercept=True).fit(X, Y)
    assert found.intercept_[0] == asked.intercept_[0] != 0
    for old in ("auto", "augment"):
        with pytest.raises(ValueError, match="fit_intercept"):
            kind(fit_intercept=old).fit(X, Y)


@pytest.mark.parametrize("kind", LEARNERS)
def test_nothing_is_fitted_before_a_fit(kind: Any) -> None:
    fitted = [each for each in dir(kind()) if each.endswith("_") and not each.startswith("_")]
    assert [each for each in fitted if hasattr(kind(), each)] == []


@pytest.mark.parametrize("search", [SweepCV, TwoStageSearchCV])
def test_nothing_of_a_search_is_fitted_before_a_fit(search: Any) -> None:
    fresh = search(SDCA(), {"C": [1.0]})
    names = [each for each in dir(fresh) if each.endswith("_") and not each.startswith("_")]
    assert [each for each in names if hasattr(fresh, each)] == []


@pytest.mark.parametrize("kind", LEARNERS)
def test_numbers_of_numpy_are_printed_as_numbers(kind: Any) -> None:
    numbers = {"C": np.float64(0.1), "random_state": np.int64(3)}
    given = {name: each for name, each in numbers.items() if name in kind().get_params()}
    text = repr(kind(kernel=Gaussian(np.float64(13.2)), **given))
    assert "np." not in text and "Gaussian(variance=13.2)" in text and "random_state=3" in text


@pytest.mark.parametrize("search", [SweepCV, TwoStageSearchCV])
def test_choices_are_printed_as_numbers(search: Any) -> None:
    grid = {"C": np.logspace(-1, 1, 3), "kernel": [Gaussian(np.float32(0.5)), Gaussian(13.2)]}
    found = search(SDCA(random_state=0), grid, cv=CV).fit(X, Y)
    assert "np." not in repr(found.best_params_) + repr(found.best_estimator_)
    assert not {"figure", "compare", "positive", "scored"} & set(dir(found))


@pytest.mark.parametrize("kernel", [None, Gaussian(2.0)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_each_fold_of_a_grid_over_c_is_a_fit_at_that_c(kernel: Any, weighted: bool) -> None:
    weights = RNG.integers(1, 4, len(Y)).astype(float) if weighted else None
    params = {} if weights is None else {"sample_weight": weights}
    learner, costs = SDCA(kernel=kernel, tol=1e-6, random_state=0), [0.01, 1.0, 30.0]
    sweep = SweepCV(learner, {"C": costs}, cv=CV).fit(X, Y, **params)
    grid = GridSearchCV(learner, {"C": costs}, cv=CV).fit(X, Y, **params)
    for number, cost in enumerate(costs):
        scores = np.empty(len(Y))
        for train, test in CV.split(X, Y):
            own = None if weights is None else weights[train]
            fitted = clone(learner).set_params(C=cost).fit(X[train], Y[train], own)
            total = len(train) if own is None else own.sum()
            assert fitted.lam_ == pytest.approx(1 / (cost * total))
            scores[test] = fitted.decision_function(X[test])
        found = sweep.out_of_fold_scores(number)[:, 0]
        np.testing.assert_allclose(found, scores, atol=0.01 * np.abs(scores).max())
    np.testing.assert_allclose(
        sweep.cv_results_["mean_test_score"], grid.cv_results_["mean_test_score"], atol=0.01
    )


def test_a_threshold_for_a_precision() -> None:
    search = SweepCV(SDCA(random_state=0), {"C": [0.1, 1.0]}, cv=CV).fit(X, Y)
    found = search.choose_threshold("precision=0.99")
    answers = search.out_of_fold_answers()
    scores, codes = answers.scores[:, 1], answers.truth
    above = scores > found.value
    assert found.precision >= 0.99 and codes[above].mean() == pytest.approx(found.precision)
    assert found.recall == pytest.approx(codes[above].sum() / codes.sum())
    assert search.best_estimator_.threshold_ == pytest.approx(found.value)
    with pytest.raises(ValueError, match=r"precision=0\.9 or recall=0\.8"):
        search.choose_threshold("precision=99")


@settings(max_examples=30, deadline=None)
@given(
    loss=st.sampled_from(["hinge", "logistic"]),
    kernel=st.sampled_from([None, Gaussian(2.0)]),
    intercept=st.sampled_from([True, False, "free"]),
    class_weight=st.sampled_from([None, "balanced", {0: 3.0}, {0: 0.5, 2: 2.0}]),
    classes=st.sampled_from([2, 3]),
    seed=st.integers(0, 1000),
)
def test_the_optimum_of_weighted_rows_is_that_of_repeated_rows(
    loss: str, kernel: Any, intercept: Any, class_weight: Any, classes: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    rows, y = random.normal(size=(40, 3)), np.arange(40) % classes
    if isinstance(class_weight, dict):
        class_weight = {code: each for code, each in class_weight.items() if code < classes}
    times = random.integers(0, 4, 40)
    times[:classes] = 1
    options = {"kernel": kernel, "fit_intercept": intercept, "class_weight": class_weight}
    learner = SDCA(loss, C=0.5, tol=1e-7, random_state=0, **options)
    weighted = clone(learner).fit(rows, y, times)
    repeated = clone(learner).fit(np.repeat(rows, times, axis=0), np.repeat(y, times))
    assert max(weighted.gap_, repeated.gap_) <= 1e-7
    assert weighted.lam_ == pytest.approx(repeated.lam_)
    np.testing.assert_allclose(weighted.objective_, repeated.objective_, rtol=2e-7)


@pytest.mark.parametrize("kind", [Pegasos, Perceptron])
def test_balanced_classes_have_equal_weights_however_rows_are_repeated(kind: Any) -> None:
    """Class weights of weighted rows are those of repeated rows; draws differ."""
    from pegasos.learners.task import combined_weights, encode_classes

    times = RNG.integers(0, 4, len(Y))
    classes, codes = encode_classes(Y)
    weighted = combined_weights(times, "balanced", classes, codes, X)
    rows = np.repeat(np.arange(len(Y)), times)
    repeated = combined_weights(None, "balanced", classes, codes[rows], X[rows])
    np.testing.assert_allclose(weighted, np.bincount(rows, repeated, minlength=len(Y)))
    each = np.where(Y == 1, weighted[Y == 1].sum() / times[Y == 1].sum(), 0)
    assert each.any()
    balanced = kind(class_weight="balanced", random_state=0).fit(X, Y, times)
    by_hand = kind(random_state=0).fit(X, Y, weighted)
    np.testing.assert_allclose(balanced.coef_, by_hand.coef_)


def public_names() -> list[tuple[str, str]]:
    """Return the modules and names in docs/reference.md, and the kernels."""
    lines = (Path(__file__).parents[2] / "docs" / "reference.md").read_text().splitlines()
    found, module = [], ""
    for line in lines:
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif re.fullmatch(r"   [A-Za-z_.]+", line) and line != "   kernels":
            found.append((module, line.strip()))
    return [*found, *(("pegasos.kernels", name) for name in kernel_names)]


@pytest.mark.parametrize(("module", "name"), public_names())
def test_the_reference_is_complete(module: str, name: str) -> None:
    """Public names have parameters or attributes, what is returned, an example and See Also."""
    pytest.importorskip(module)
    home, _, name = f"{module}.{name}".rpartition(".")
    thing = getattr(importlib.import_module(home), name)
    text, signature = inspect.getdoc(thing) or "", inspect.signature(thing)
    assert "See Also\n---" in text and "Examples\n---" in text and ">>> " in text
    if signature.parameters:
        assert "Parameters\n---" in text or "Attributes\n---" in text
    if inspect.isfunction(thing) and signature.return_annotation not in ("None", None):
        assert "Returns\n---" in text


def test_public_names_are_reachable_and_documented() -> None:
    for name in pegasos.__all__:
        assert getattr(pegasos, name).__doc__, name
    assert {"kernels", "metrics"} <= set(pegasos.__all__)
    assert {name for _, name in public_names()} >= set(pegasos.__all__) - {
        "kernels",
        "metrics",
        "plot",
        "DropOutliers",
    }


class Watcher:
    """Callback that records the tasks of a fit, and may stop it."""

    def __init__(self, stops: bool = False) -> None:
        self.stops, self.tasks, self.gaps = stops, [], []

    def setup(self, estimator: Any, context: Any) -> None:
        self.tasks.append("setup")

    def teardown(self, estimator: Any, context: Any) -> None:
        self.tasks.append("teardown")

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        self.tasks.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator: Any, context: Any, *, metadata: Any) -> bool:
        self.tasks.append(f"end {context.task_name}")
        self.gaps += [] if metadata is None else [metadata["gap"]]
        return self.stops


@pytest.mark.parametrize("kind", LEARNERS)
def test_callbacks_of_scikit_learn_see_a_fit(kind: Any) -> None:
    pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")
    watcher = Watcher()
    watched = kind(random_state=0).set_callbacks(watcher).fit(X, Y)
    plain = kind(random_state=0).fit(X, Y)
    np.testing.assert_array_equal(watched.coef_, plain.coef_)
    assert watcher.tasks[:2] == ["setup", "begin fit"]
    assert watcher.tasks[-2:] == ["end fit", "teardown"]


@pytest.mark.parametrize("kernel", [None, Gaussian(0.5)], ids=str)
def test_a_callback_sees_gaps_and_stops_a_fit(kernel: Any) -> None:
    pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")
    watcher, learner = Watcher(), SDCA(C=100, kernel=kernel, tol=1e-8, random_state=0)
    whole = clone(learner).set_callbacks(watcher).fit(X, Y)
    assert whole.gap_ <= 1e-8 and len(watcher.gaps) > 1
    stopped = clone(learner).set_callbacks(Watcher(stops=True)).fit(X, Y)
    assert 1e-8 < stopped.gap_ < np.inf
    np.testing.assert_allclose(stopped.objective_, stopped.certificate(X, Y).primal, rtol=1e-9)
    assert stopped.dual_objective_ <= whole.objective_ <= stopped.objective_  # the gap is true
    assert clone(learner).fit(X, Y).gap_ <= 1e-8  # the deadline ends with the fit
