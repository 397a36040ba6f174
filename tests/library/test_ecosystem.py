"""Test learners with scikit-learn's frames, metadata routing, searches and ensembles."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 - so it is asked for
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.inspection import permutation_importance
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_validate,
    learning_curve,
    validation_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pegasos import SDCA, Nystroem, Pegasos, Perceptron, SweepCV, TwoStageSearchCV, load_set
from pegasos.kernels import Gaussian
from pegasos.preprocessing import DropOutliers
from samples import needs_scikit_learn

FRAMES = pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
LAMS = [1e-3, 1e-2, 1e-1]
X, Y = load_set("moons", rows=120, return_X_y=True)
#: Rows of the second class count a lot: whoever loses weights on the way says something else.
WEIGHTS = np.where(Y == 1, 20.0, 1.0)


def learners() -> list:
    return [
        SDCA(lam=1e-2, random_state=0),
        Pegasos(n_iter=300, random_state=0),
        Perceptron(epochs=5, random_state=0),
    ]


# frames


def table(frame):
    return frame({"length": X[:, 0], "width": X[:, 1]})


@FRAMES
@pytest.mark.parametrize(
    "learner", [*learners(), SDCA(kernel="gaussian"), DropOutliers(SDCA(random_state=0))], ids=repr
)
def test_frames_are_rows_with_names(frame, learner):
    named, plain = clone(learner).fit(table(frame), Y), clone(learner).fit(X, Y)
    assert named.feature_names_in_.tolist() == ["length", "width"] and not hasattr(
        plain, "feature_names_in_"
    )
    np.testing.assert_array_equal(named.decision_function(table(frame)), plain.decision_function(X))
    with pytest.raises(ValueError, match="feature names should match"):
        named.predict(table(frame)[["width", "length"]])
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        named.predict(X)


@FRAMES
@pytest.mark.parametrize("search", [SweepCV, TwoStageSearchCV])
def test_sweeps_take_frames_and_know_their_names(frame, search):
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*feature names")
        found = search(SDCA(random_state=0), {"lam": LAMS}, cv=3).fit(table(frame), pd.Series(Y))
        found.predict(table(frame))
    assert found.feature_names_in_.tolist() == ["length", "width"]
    plain = search(SDCA(random_state=0), {"lam": LAMS}, cv=3).fit(X, Y)
    np.testing.assert_array_equal(
        found.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"]
    )


@pytest.mark.parametrize(
    ("library", "kind"),
    [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("default", np.ndarray)],
)
def test_frames_come_out_on_request(library, kind):
    steps = make_pipeline(
        StandardScaler(), Nystroem(Gaussian(1.0), landmarks=5, random_state=0)
    ).set_output(transform=library)
    out = steps.fit_transform(X)
    assert isinstance(out, kind)
    if kind is not np.ndarray:
        assert list(out.columns) == [f"nystroem{number}" for number in range(5)]
    model = make_pipeline(*steps, SDCA(random_state=0)).set_output(transform=library).fit(X, Y)
    bare = make_pipeline(*clone(steps).set_output(transform="default"), SDCA(random_state=0)).fit(
        X, Y
    )
    np.testing.assert_allclose(model.decision_function(X), bare.decision_function(X), atol=1e-5)
    assert hasattr(model[-1], "feature_names_in_") == (library != "default")


@pytest.mark.parametrize(
    "cities",
    [
        pd.Series(["Nice", "Oslo"] * 60, dtype="category"),
        pl.Series(["Nice", "Oslo"] * 60, dtype=pl.Categorical),
    ],
    ids=["pandas", "polars"],
)
def test_categories_are_chosen_by_name(cities):
    rows = (pd if isinstance(cities, pd.Series) else pl).DataFrame(
        {"length": X[:, 0], "city": cities}
    )
    steps = make_column_transformer(
        (StandardScaler(), ["length"]), (OneHotEncoder(handle_unknown="ignore"), ["city"])
    )
    labels = np.where(np.asarray(cities) == "Oslo", "cold", "warm")
    found = SweepCV(make_pipeline(steps, SDCA(random_state=0)), {"sdca__lam": LAMS}, cv=3).fit(
        rows, labels
    )
    assert found.best_score_ == 1 and found.feature_names_in_.tolist() == ["length", "city"]
    assert found.predict(rows).tolist() == labels.tolist()


# routing of metadata


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("learner", learners(), ids=repr)
def test_weights_are_routed_through_cross_validate(learner):
    asking = (
        clone(learner).set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
    )
    found = cross_validate(
        asking,
        X,
        Y,
        cv=3,
        params={"sample_weight": WEIGHTS},
        return_estimator=True,
        return_indices=True,
    )
    for fitted, rows in zip(found["estimator"], found["indices"]["train"], strict=True):
        alone = clone(learner).fit(X[rows], Y[rows], sample_weight=WEIGHTS[rows])
        np.testing.assert_array_equal(fitted.decision_function(X), alone.decision_function(X))


@needs_scikit_learn("1.8", "does not route the weights of a pipeline's score")
@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("search", [GridSearchCV, SweepCV])
def test_weights_are_routed_through_searches(search):
    learner = (
        SDCA(random_state=0)
        .set_fit_request(sample_weight=True)
        .set_score_request(sample_weight=True)
    )
    steps = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), learner)
    found = search(steps, {"sdca__lam": LAMS}, cv=3).fit(X, Y, sample_weight=WEIGHTS)
    light = search(steps, {"sdca__lam": LAMS}, cv=3).fit(X, Y)
    assert np.mean(found.predict(X)) > np.mean(light.predict(X))
    expected = GridSearchCV(steps, {"sdca__lam": LAMS}, cv=3).fit(X, Y, sample_weight=WEIGHTS)
    np.testing.assert_allclose(
        found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"], atol=1e-12
    )


@pytest.mark.usefixtures("routing")
def test_unrequested_weights_are_refused():
    with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="sample_weight"):
        cross_validate(SDCA(), X, Y, params={"sample_weight": WEIGHTS}, error_score="raise")


# searches and judgements


@pytest.mark.parametrize(
    "options", [{}, {"resource": "n_iter", "max_resources": 400, "min_resources": 100}]
)
def test_halving_searches(options):
    grid = {"kernel": [Gaussian(0.1), Gaussian(1.0)], "lam": LAMS}
    found = HalvingGridSearchCV(
        Pegasos(random_state=0), grid, cv=3, factor=2, random_state=0, **options
    ).fit(X, Y)
    assert found.n_iterations_ > 1 and found.best_score_ > 0.85


def test_parameters_of_kernels_are_parameters_of_learners():
    model = SDCA(kernel=Gaussian(2.0))
    assert model.get_params()["kernel__variance"] == 2.0
    assert clone(model).set_params(kernel__variance=5.0).kernel == Gaussian(
        5.0
    ) and model.kernel == Gaussian(2.0)
    widths = [0.05, 0.5, 5.0]
    by_name = GridSearchCV(
        SDCA(kernel=Gaussian(), random_state=0), {"kernel__variance": widths}, cv=3
    ).fit(X, Y)
    by_kernel = SweepCV(
        SDCA(random_state=0), {"kernel": [Gaussian(width) for width in widths]}, cv=3
    ).fit(X, Y)
    np.testing.assert_allclose(
        by_name.cv_results_["mean_test_score"], by_kernel.cv_results_["mean_test_score"]
    )


def test_curves_over_rows_and_over_parameters():
    sizes, train, test = learning_curve(
        SDCA(random_state=0), X, Y, train_sizes=[20, 80], cv=3, shuffle=True, random_state=0
    )
    assert sizes.tolist() == [20, 80] and train.shape == test.shape == (2, 3)
    options = {"param_name": "kernel__variance", "param_range": [1e-6, 0.5], "cv": 3}
    _, test = validation_curve(SDCA(kernel=Gaussian(), lam=1e-4, random_state=0), X, Y, **options)
    assert test.mean(axis=1)[1] > test.mean(axis=1)[0] + 0.05


def test_a_sweep_is_judged_by_an_outer_cross_validation():
    found = cross_validate(
        SweepCV(SDCA(kernel="gaussian", random_state=0), {"lam": LAMS}, cv=3),
        X,
        Y,
        cv=3,
        scoring=["accuracy", "roc_auc", "f1"],
        return_estimator=True,
    )
    assert (found["test_accuracy"] > 0.85).all() and (
        found["test_roc_auc"] > found["test_accuracy"]
    ).all()
    assert all(hasattr(each, "best_params_") for each in found["estimator"])


def test_permutation_importance_of_a_sweep():
    noisy = np.column_stack([X, np.random.default_rng(0).normal(size=len(X))])
    sweep = SweepCV(SDCA(kernel="gaussian", random_state=0), {"lam": LAMS}, cv=3).fit(noisy, Y)
    found = permutation_importance(sweep, noisy, Y, n_repeats=3, random_state=0).importances_mean
    assert found[:2].min() > found[2] + 0.02


# ensembles and what is put around a learner


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("learner", learners(), ids=repr)
def test_scores_are_calibrated(learner, method):
    p = cross_val_predict(
        CalibratedClassifierCV(learner, method=method, cv=3), X, Y, cv=3, method="predict_proba"
    )
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert brier_score_loss(Y, p[:, 1]) < 0.16


def test_learners_are_stacked():
    parts = [
        ("kernel", SDCA(kernel="gaussian", random_state=0)),
        ("line", Perceptron(random_state=0)),
    ]
    stack = StackingClassifier(parts, SDCA("logistic", random_state=0), cv=3).fit(X, Y)
    assert stack.score(X, Y) > 0.93 and stack.predict_proba(X).shape == (len(X), 2)
    assert stack.final_estimator_.coef_[0, 0] > stack.final_estimator_.coef_[0, 1]


BLOBS = load_set("blobs", rows=90, return_X_y=True)


@pytest.mark.parametrize(
    "around",
    [
        BaggingClassifier(SDCA(), n_estimators=3, random_state=0),
        VotingClassifier(
            [("one", SDCA()), ("two", Pegasos(n_iter=500, random_state=0)), ("three", Perceptron())]
        ),
        VotingClassifier(
            [("one", SDCA("logistic")), ("two", Pegasos("logistic", n_iter=500))], voting="soft"
        ),
        OneVsOneClassifier(SDCA()),
        OneVsRestClassifier(Perceptron()),
        make_pipeline(SelectFromModel(SDCA("logistic"), max_features=2, threshold=-np.inf), SDCA()),
        RFE(SDCA(), n_features_to_select=2),
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_is_put_around_learners(around):
    assert clone(around).fit(*BLOBS).score(*BLOBS) > 0.9


def test_thresholds_are_tuned():
    rare = np.flatnonzero((Y == 0) | (np.arange(len(Y)) % 6 == 0))
    found = TunedThresholdClassifierCV(
        SDCA("logistic", random_state=0), scoring="balanced_accuracy", cv=3
    ).fit(X[rare], Y[rare])
    plain = SDCA("logistic", random_state=0).fit(X[rare], Y[rare])
    assert found.predict(X).mean() > plain.predict(X).mean()
