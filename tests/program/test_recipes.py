"""Test pipelines around a learner, grids for a sweep, and the outlier filter."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from command_line import messy, numbers
from pegasos import SDCA, Pegasos, Perceptron, SweepCV
from pegasos.kernels import Gaussian, Polynomial
from pegasos.learners.catalogue import MODELS, learner_class, make_learner
from pegasos.preprocessing import DropOutliers
from pegasos.program.grids import make_grid
from pegasos.program.modelfile import load, read_model, save
from pegasos.program.pipelines import check_expansion, chosen_scale, learned_rows, make_recipe
from pegasos.program.tables.dataset import NUMBER, TEXT, Column, Dataset
from pegasos.program.terminal.reproduction import command_line
from pegasos.search.anatomy import anatomy
from pegasos.search.settings import Setting


def frame_data() -> Dataset:
    frame = messy()
    columns = [Column("length"), Column("width"), Column("city", TEXT)]
    return Dataset("messy", frame.drop("species"), columns, frame["species"].to_numpy())


def array_data() -> Dataset:
    frame = numbers()
    return Dataset(
        "numbers",
        frame.drop("y").to_numpy(),
        [Column(name) for name in "abc"],
        frame["y"].to_numpy(),
    )


def thresholds_of(estimator: Any) -> list[float]:
    return [stage.part.threshold for stage in anatomy(estimator, fitted=True).stages if stage.drops]


def sparse_data() -> Dataset:
    dense = array_data()
    return Dataset("sparse", sparse.csr_matrix(np.maximum(dense.X, 0)), dense.columns, dense.y)


KINDS = pytest.mark.parametrize("make", [frame_data, array_data, sparse_data])


@KINDS
@pytest.mark.parametrize("drop", [None, 1.7])
@pytest.mark.parametrize("expand", [None, 2])
def test_a_pipeline_learns_is_saved_and_predicts_the_same(make, drop, expand, tmp_path):
    data = make()
    recipe = make_recipe(data, make_learner("sdca", {"lam": 0.01, "seed": 0}), "auto", expand, drop)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(data))
    recipe.estimator.fit(data.X, data.y, **recipe.weights_of(replace(data, weights=weights)))
    assert thresholds_of(recipe.estimator) == [drop] * (drop is not None)
    save(recipe.estimator, tmp_path / "a.model")
    again = load(tmp_path / "a.model")
    np.testing.assert_array_equal(again.predict(data.X), recipe.estimator.predict(data.X))
    np.testing.assert_allclose(
        again.decision_function(data.X), recipe.estimator.decision_function(data.X), rtol=1e-12
    )
    assert read_model(tmp_path / "a.model").n_features == 3
    assert thresholds_of(again) == [drop] * (drop is not None)


@KINDS
@pytest.mark.parametrize("drop", [None, 2.0])
def test_weights_reach_the_learner(make, drop):
    """A class with fifty times the weight is predicted more often."""
    data = make()
    scores = []
    for weights in (np.ones(len(data)), np.where(data.y == np.unique(data.y)[0], 50.0, 1.0)):
        recipe = make_recipe(
            data, make_learner("sdca", {"lam": 0.1, "seed": 0}), "auto", None, drop
        )
        recipe.estimator.fit(data.X, data.y, **recipe.weights_of(replace(data, weights=weights)))
        scores.append(np.mean(recipe.estimator.predict(data.X) == np.unique(data.y)[0]))
    assert scores[1] > scores[0] + 0.05


@KINDS
@pytest.mark.parametrize("drop", [None, 2.0])
def test_the_count_of_training_rows_is_correct(make, drop):
    data = make()
    recipe = make_recipe(data, make_learner("perceptron", {"epochs": 1}), "auto", None, drop)
    recipe.estimator.fit(data.X, data.y)
    last = (
        recipe.estimator.steps[-1][1]
        if isinstance(recipe.estimator, Pipeline)
        else recipe.estimator
    )
    assert learned_rows(data, drop) == (len(data) if drop is None else last.kept_.sum())


def test_scales():
    assert chosen_scale(array_data()) == "standardize"
    assert chosen_scale(sparse_data()) == "none"
    image = Dataset("image", np.zeros((2, 4)), [], image=(2, 2))
    assert chosen_scale(image) == "none"
    assert chosen_scale(image, "normalize") == "normalize"
    with pytest.raises(ValueError, match="would fill a sparse table"):
        make_recipe(sparse_data(), Perceptron(), "normalize")
    with pytest.raises(ValueError, match="scale must be none, normalize, standardize, robust"):
        make_recipe(array_data(), Perceptron(), "huge")
    scaled = (
        make_recipe(array_data(), Perceptron(), "normalize")
        .estimator[:-1]
        .fit_transform(array_data().X)
    )
    assert (scaled.min(), scaled.max()) == (0, 1)


@pytest.mark.parametrize("scale", ["standardize", "normalize", "robust", "none"])
def test_only_numbers_are_scaled(scale):
    """One-hot columns and missing-value indicators are not scaled."""
    data = frame_data()
    recipe = make_recipe(data, Perceptron(), scale)
    prepared = recipe.estimator[:-1].fit_transform(data.X)
    lengths, marks = prepared[:, :2], prepared[:, 2:]
    plain = recipe.estimator["encode"].transform(data.X)
    np.testing.assert_array_equal(marks, plain[:, 2:])
    assert set(np.unique(marks)) == {0.0, 1.0}
    scaler = {
        "standardize": StandardScaler(),
        "normalize": MinMaxScaler(),
        "robust": RobustScaler(),
    }.get(scale)
    expected = plain[:, :2] if scaler is None else scaler.fit_transform(plain[:, :2])
    np.testing.assert_allclose(lengths, expected, atol=1e-12)
    assert f"--scale {scale} " in str(command_line(Setting.of(recipe.estimator), "my.csv", 0))
    words = Dataset("words", data.X.select("city"), data.columns[2:], data.y)
    assert make_recipe(words, Perceptron(), scale).estimator["scale"] == "passthrough"
    step = make_recipe(array_data(), Perceptron(), scale).estimator["scale"]
    assert step == "passthrough" if scaler is None else type(step) is type(scaler)


def test_rare_categories_are_no_outliers():
    """The one-hot column of a rare text has z = 7, but only numbers are checked."""
    frame = pl.DataFrame({"x": np.linspace(-1, 1, 50), "city": ["rare"] + ["usual"] * 49})
    data = Dataset("rare", frame, [Column("x", NUMBER), Column("city", TEXT)], np.arange(50) % 2)
    recipe = make_recipe(data, Perceptron(), "auto", None, 3.0)
    assert recipe.estimator.fit(data.X, data.y).steps[-1][1].kept_.all()


def test_only_dropped_columns_are_excluded():
    X = np.column_stack([np.r_[np.zeros(8), 1.0, 100.0], np.r_[100.0, 1.0, np.zeros(8)]])
    y = np.arange(10) % 2
    assert DropOutliers(Perceptron(), 2.5, columns=[0]).fit(X, y).kept_.tolist() == [True] * 9 + [
        False
    ]
    assert DropOutliers(Perceptron(), 2.5).fit(X, y).kept_.sum() == 8
    assert DropOutliers(Perceptron(), 2.5, columns=[]).fit(X, y).kept_.all()
    same = DropOutliers(Perceptron(random_state=0), 2.5, columns=(1,)).fit(sparse.csr_matrix(X), y)
    assert same.kept_.tolist() == [False] + [True] * 9
    assert clone(same).columns == (1,)


def test_weights_of_dropped_rows_are_dropped_with_them():
    rng = np.random.default_rng(0)
    X, y, weights = rng.normal(size=(60, 2)), np.arange(60) % 2, rng.uniform(0, 2, 60)
    X[7] = 50
    for inner in (
        SDCA(lam=0.1, random_state=0),
        Pipeline([("s", StandardScaler()), ("learner", SDCA(lam=0.1, random_state=0))]),
    ):
        found = DropOutliers(inner, 4.0).fit(X, y, sample_weight=weights)
        rows = np.delete(np.arange(60), 7)
        name = "sample_weight" if isinstance(inner, SDCA) else "learner__sample_weight"
        alone = clone(inner).fit(X[rows], y[rows], **{name: weights[rows]})
        np.testing.assert_array_equal(found.decision_function(X), alone.decision_function(X))


@pytest.mark.parametrize("model", MODELS)
def test_every_setting_of_every_model_is_a_parameter(model):
    learner = learner_class(MODELS[model][0])()
    assert set(MODELS[model][0].options.values()) <= set(learner.get_params())


def test_an_unknown_setting_is_refused_by_name():
    with pytest.raises(ValueError, match="the model perceptron has no setting 'lam'"):
        make_learner("perceptron", {"lam": 1.0})


def test_expansions_beyond_memory():
    check_expansion(array_data(), 3)
    check_expansion(array_data(), None)
    check_expansion(sparse_data(), 3)
    with pytest.raises(ValueError, match="polynomial:99999, which needs none of them"):
        check_expansion(array_data(), 99999)


def test_the_default_grid_has_linear_cubic_and_gaussian_families():
    data = array_data()
    grid = make_grid(make_recipe(data, SDCA()), data)
    kernels = [kernel for each in grid for kernel in each["learner__kernel"]]
    assert None in kernels
    assert any(isinstance(kernel, Polynomial) and kernel.degree == 3 for kernel in kernels)
    assert sum(isinstance(kernel, Gaussian) for kernel in kernels) >= 3
    for each in grid:
        assert len(each["learner__lam"]) >= 3
        assert all(lam > 0 for lam in each["learner__lam"])


def test_models_can_be_tried_with_linear_predictors_only():
    data = array_data()
    recipe, models = make_recipe(data, SDCA()), ["sdca", "sdca-logistic"]
    grid = make_grid(recipe, data, models, linear=("sdca-logistic",))
    kernels = {loss: [] for loss in ("hinge", "logistic")}
    for each in grid:
        kernels[each["learner"][0].loss] += each["learner__kernel"]
    assert kernels["logistic"] == [None] and len(kernels["hinge"]) > 5


@KINDS
@pytest.mark.parametrize("model", MODELS)
def test_a_grid_of_every_model_can_be_swept(make, model):
    data = make()
    recipe = make_recipe(data, make_learner(model, {}), "auto", None, 3.0)
    values = (
        {"lam": [0.01, 0.1], "epochs": [2]}
        if "lam" in MODELS[model][0].options
        else {"epochs": [1, 2]}
    )
    grid = make_grid(recipe, data, [model], [None, Polynomial(2)], [None, 2], given=values)
    sweep = SweepCV(recipe.estimator, grid, cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        sweep.fit(data.X, data.y)
    assert len(sweep.cv_results_["params"]) == 8
    learner = sweep.best_params_[f"{recipe.prefix}learner"]
    assert isinstance(
        learner,
        {"perceptron": Perceptron, "pegasos": Pegasos, "pegasos-logistic": Pegasos}.get(
            model, SDCA
        ),
    )
