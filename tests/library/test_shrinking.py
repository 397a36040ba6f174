"""Test the reduction of support vectors: selection, refit, and the curve of its price."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import reference
from command_line import call, fine, messy, numbers, written
from pegasos import SDCA, Pegasos, Perceptron, load, save, shrink
from pegasos.engine.kernels.standard import KERNELS
from pegasos.engine.rows.kernel_rows import KernelRows
from pegasos.engine.rows.landmarks import pursue
from pegasos.kernels import Gaussian
from pegasos.learners.calibration import fit_calibration
from pegasos.preprocessing import DropOutliers
from pegasos.shrinking import Shrinking, shrinking_curve, usual_counts
from samples import usps


def rows(count: int = 160, classes: int = 3, seed: int = 0):
    random = np.random.default_rng(seed)
    y = random.integers(classes, size=count)
    return random.normal(size=(count, 4)) + y[:, None] * [1.5, -1.0, 0.5, 0.0], y


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_next_row_takes_most_of_what_is_left(kernel):
    X, y = rows(40)
    model = SDCA(kernel=kernel, lam=0.05, random_state=0).fit(X, y)
    matrix = model.kernel_(model.support_vectors_)
    most = (
        3 if kernel == "linear" else 12
    )  # of 4 features: the fourth row, whichever it is, takes all that is left
    found = pursue(KernelRows(model.kernel_, model.support_vectors_), model.dual_coef_, most)
    assert found.tolist() == reference.pursue(matrix, model.dual_coef_, most)


def test_kept_rows_are_selected_by_orthogonal_least_squares():
    """Compare with orthogonal least squares over rows; a Perceptron is projected."""
    X, y = rows(60)
    model = SDCA(kernel=Gaussian(2.0), lam=0.05, random_state=0).fit(X, y)
    values = model.kernel_.matrix(model.support_vectors_, X)
    expected = reference.pursue(values @ values.T, model.dual_coef_, 12)
    assert Shrinking(model, X, y, 12).order.tolist() == expected
    assert (
        expected
        != pursue(KernelRows(model.kernel_, model.support_vectors_), model.dual_coef_, 12).tolist()
    )
    walked = Perceptron(kernel=Gaussian(2.0), random_state=0).fit(X, y)
    order = pursue(KernelRows(walked.kernel_, walked.support_vectors_), walked.dual_coef_, 12)
    assert Shrinking(walked, X, y, 12).order.tolist() == order.tolist()


def test_rows_that_add_nothing_are_not_chosen():
    X, y = rows(60)
    linear = SDCA(kernel="linear", lam=0.05, random_state=0).fit(X, y)
    assert (
        len(pursue(KernelRows(linear.kernel_, linear.support_vectors_), linear.dual_coef_, 30)) == 4
    )
    assert len(Shrinking(linear, X, y, 30).model(30).support_) == 4


def test_a_linear_kernel_loses_nothing():
    """Four vectors span the feature space of a linear kernel, so the refit is the optimum."""
    X, y = rows()
    model = SDCA(kernel="linear", lam=0.01, tol=1e-6, random_state=0).fit(X, y)
    small = Shrinking(model, X, y, 4).model(4)
    np.testing.assert_allclose(small.objective_, model.objective_, rtol=2e-3)


def test_weights_of_rows_count_in_the_refit():
    """The weighted optimum is found again; without weights it differs."""
    X, y = rows(classes=2)
    weights = np.where(y == 0, 5.0, np.arange(len(y)) % 2)
    model = DropOutliers(SDCA(kernel="linear", lam=0.01, tol=1e-6, random_state=0), 2.5).fit(
        X, y, sample_weight=weights
    )
    whole = model.estimator_.objective_
    small = Shrinking(model, X, y, 4, weights).model(4).estimator_
    np.testing.assert_allclose(small.objective_, whole, rtol=2e-3)
    assert abs(Shrinking(model, X, y, 4).model(4).estimator_.objective_ - whole) > 0.05 * whole
    curve = shrinking_curve(model, X, y, sample_weight=weights, counts=[4], random_state=1)
    assert curve.set_aside and curve.points[0].worse == curve.points[0].better == 0


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_the_refit_is_the_optimum_among_predictors_of_the_kept_rows(loss):
    """Small changes of coefficients do not lower the objective by more than the gap."""
    X, y = rows(100, classes=2)
    model = SDCA(loss, kernel=Gaussian(2.0), lam=0.02, random_state=0).fit(X, y)
    small = Shrinking(model, X, y, 10).model(10)
    K, B = np.ones((100, 11)), np.eye(11)  # the constant feature comes last
    K[:, :10] = small.kernel_(X, small.support_vectors_)
    B[:10, :10] = small.kernel_(small.support_vectors_)
    b = np.append(small.dual_coef_[0], small.intercept_[0])
    signs = np.where(y == 1, 1.0, -1.0)

    def objective(b):
        margins = signs * (K @ b)
        losses = np.maximum(0, 1 - margins) if loss == "hinge" else np.logaddexp(0, -margins)
        return 0.01 * b @ B @ b + losses.mean()

    best = objective(b)
    assert best == pytest.approx(small.objective_[0], rel=1e-6)
    random = np.random.default_rng(0)
    size = np.abs(b).mean()
    nearby = [
        objective(b + random.normal(size=11) * size * step)
        for step in (1e-3, 1e-2, 0.1)
        for _ in range(50)
    ]
    assert min(nearby) > best * (1 - 1.1e-3)
    assert best < objective(np.zeros(11))


def test_every_learner_and_what_stands_before_it(tmp_path):
    X, y = rows()
    for learner in (
        Pegasos(kernel="gaussian", n_iter=2000, lam=0.01, random_state=0),
        Perceptron(kernel="gaussian", random_state=0),
    ):
        model = DropOutliers(make_pipeline(StandardScaler(), learner), 2.6).fit(X, y)
        found = shrink(model, X, y, keep=20, random_state=1)
        learned = found.model.estimator_[-1]
        assert len(learned.support_) == 20
        assert set(learned.support_) < set(model.estimator_[-1].support_)
        kept = np.isin(np.flatnonzero(model.kept_), np.flatnonzero(model.kept_)[learned.support_])
        scores = [each.decision_function(X[model.kept_][kept]) for each in (model, found.model)]
        if isinstance(
            learner, Perceptron
        ):  # its projection is equal to it at the rows that are kept
            np.testing.assert_allclose(scores[1], scores[0], atol=1e-6 * np.abs(scores[0]).max())
        else:
            assert (scores[1].argmax(axis=1) == scores[0].argmax(axis=1)).mean() > 0.7
        save(found.model, tmp_path / "small.model")
        np.testing.assert_array_equal(
            load(tmp_path / "small.model").decision_function(X), found.model.decision_function(X)
        )
        assert len(model.estimator_[-1].support_) > 20, "the model itself is as it was"


def test_calibration_and_threshold_come_along():
    X, y = rows(400, classes=2)
    model = SDCA(kernel="gaussian", lam=0.01, random_state=0).fit(X, y)
    model.calibration_ = fit_calibration("sigmoid", model.decision_function(X), y)
    model.threshold_ = 0.5
    small = Shrinking(model, X, y, 60).model(60)
    assert np.abs(small.predict_proba(X) - model.predict_proba(X)).mean() < 0.03
    assert (small.predict(X) == model.predict(X)).mean() > 0.95
    assert "gap_" in vars(small) and np.isnan(small.gap_)


def test_the_curve_counts_errors_of_predict():
    X, y = rows(500)
    model = SDCA(kernel="gaussian", lam=1e-3, random_state=0).fit(X[:300], y[:300])
    curve = shrinking_curve(
        model, X[:300], y[:300], test=(X[300:], y[300:]), counts=[5, 40, 10_000]
    )
    assert [each.support_vectors for each in curve.points] == [5, 40]
    small = shrink(model, X[:300], y[:300], keep=40, test=(X[300:], y[300:]))
    wrong, less = model.predict(X[300:]) != y[300:], small.model.predict(X[300:]) != y[300:]
    point = curve.points[1]
    assert (curve.before.error.error, point.error.error) == (wrong.mean(), less.mean())
    assert (point.worse, point.better) == ((less & ~wrong).sum(), (wrong & ~less).sum())
    assert curve.price(40) == pytest.approx(less.mean() - wrong.mean())
    assert not curve.set_aside
    assert shrinking_curve(model, X, y).set_aside


def test_what_cannot_be_shrunk_is_refused():
    X, y = rows()
    with pytest.raises(ValueError, match="a linear model has no support vectors"):
        shrink(SDCA(random_state=0).fit(X, y), X, y, keep=3)
    with pytest.raises(ValueError, match="precomputed"):
        shrink(
            SDCA(kernel="precomputed", random_state=0).fit(X @ X.T, y),
            X @ X.T,
            y,
            keep=3,
            test=(X @ X.T, y),
        )
    model = SDCA(kernel="gaussian", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="at least 1"):
        shrink(model, X, y, keep=0, test=(X, y))
    with pytest.raises(ValueError, match="unknown to the model"):
        shrink(model, X, y + 1, keep=3, test=(X, y))
    assert usual_counts(20) == [10]


def test_shrink_on_the_command_line(place):
    written(messy(400), Path("t.csv"))
    fine("train", "t.csv", "--kernel", "gaussian", "--lam", "1e-3", "-o", "t.model")
    before = sorted(Path().iterdir())
    told = fine("shrink", "t.model")
    assert "error on 80 rows of t.csv that are not training rows" in told.out
    assert "Nothing was written; --keep N writes a model of that size." in told.out
    assert sorted(Path().iterdir()) == before
    answer = fine("shrink", "t.model", "t.csv", "--keep", "12", "--json").json
    assert answer["written"] == "t-12.model"
    assert answer["price"] == pytest.approx(
        next(
            each["error"]["error"]
            for each in answer["curve"]["points"]
            if each["support_vectors"] == 12
        )
        - answer["curve"]["before"]["error"]["error"]
    )
    tested = fine("run", "t-12.model", "t.csv", "--json").json["errors"]["test"]
    assert tested["rows"] == 80
    assert tested["error"] == pytest.approx(
        answer["price"] + answer["curve"]["before"]["error"]["error"]
    )
    assert fine("show", "t-12.model", "--json").json["learner"]["support_vectors"] == 12
    told = fine("shrink", "t.model", "--keep", "12", "-o", "other.model").out
    assert told.index("95 % interval") < told.index("written: other.model")


def test_shrink_uses_the_weights_of_training(place):
    frame = numbers(150).with_columns(
        w=pl.when(pl.col("y") == "no").then(9).otherwise(pl.int_range(pl.len()) % 2)
    )
    written(frame, Path("t.csv"))
    reading = ("--label", "y", "--weight", "w")
    fine(
        "train",
        "t.csv",
        *reading,
        "--kernel",
        "polynomial:1",
        "--lam",
        0.01,
        "--tol",
        1e-5,
        "--test-size",
        0,
        "-o",
        "t.model",
    )
    fine("shrink", "t.model", "t.csv", *reading, "--keep", 4, "-o", "small.model")
    one, other = (load(name)[-1].objective_ for name in ("t.model", "small.model"))
    np.testing.assert_allclose(one, other, rtol=5e-3)
    assert "has no column 'v' (--weight)" in call("shrink", "t.model", "t.csv", "--weight", "v").err


def test_a_model_of_all_rows_and_too_high_costs(place):
    written(messy(300), Path("t.csv"))
    fine(
        "train",
        "t.csv",
        "--kernel",
        "gaussian",
        "--lam",
        "1e-3",
        "--test-size",
        "0",
        "-o",
        "t.model",
    )
    assert "60 rows of t.csv held out from both models" in fine("shrink", "t.model").out
    refused = call("shrink", "t.model", "--keep", "1", "--at-most", "0.001")
    assert refused.code == 2
    assert "nothing is written: with 1 support vectors" in refused.err
    assert not Path("t-1.model").exists()


def test_what_shrink_needs_is_said(place):
    written(messy(100), Path("t.csv"))
    fine("train", "t.csv", "-o", "linear.model")
    assert "a linear model has no support vectors" in call("shrink", "linear.model").err
    fine("train", "t.csv", "--kernel", "gaussian", "-o", "t.model")
    assert "--keep must be between 1 and" in call("shrink", "t.model", "--keep", "1000").err
    assert "need --keep N" in call("shrink", "t.model", "-o", "a.model").err
    written(messy(100, seed=5), Path("other.csv"))
    assert "was not trained on rows of other.csv" in call("shrink", "t.model", "other.csv").err
    pl.read_csv("t.csv")[:90].write_csv("t.csv")
    assert "has changed since" in call("shrink", "t.model").err
    Path("t.csv").unlink()
    assert (
        "give the training rows of the model as DATA: t.csv does not exist"
        in call("shrink", "t.model").err
    )


@pytest.mark.slow
def test_the_curve_of_usps():
    """Half of the support vectors keep the error, a tenth does not (docs/shrinking.md)."""
    X, y = usps()
    model = SDCA(kernel=Gaussian("1 scale"), lam=1e-5, random_state=0).fit(X[:7291], y[:7291])
    count = len(model.support_)
    sizes = [count // 40, count // 10, count // 2]
    curve = shrinking_curve(model, X[:7291], y[:7291], test=(X[7291:], y[7291:]), counts=sizes)
    few, tenth, half = (curve.price(size) for size in sizes)
    assert few > tenth > half
    assert half <= 0.005
    assert tenth <= 0.015
