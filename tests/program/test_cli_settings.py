"""Test options of train and tune: refusals and meaning."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from command_line import call, fine, numbers, written
from pegasos.program.errors import UsageError
from pegasos.program.modelfile import read_model
from pegasos.program.terminal import option_values
from pegasos.program.terminal.options import LearningOptions


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return written(numbers(), tmp_path / "table.csv")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            ["-m", "perceptron", "--lam", "1"],
            "--lam does not apply to perceptron; it is for pegasos",
        ),
        (["-m", "perceptron", "--n-iter", "10"], "--n-iter does not apply to perceptron"),
        (
            ["-m", "sdca", "--average", "yes"],
            "--average does not apply to sdca; it is for perceptron, pegasos, pegasos-logistic",
        ),
        (["-m", "pegasos", "--tol", "0.1"], "--tol does not apply to pegasos"),
        (["-m", "sdca", "--projection"], "--projection does not apply to sdca"),
        (["-m", "sdca", "--batch-size", "3"], "--batch-size does not apply to sdca"),
        (["--lam", "1,2"], "--lam has 2 values, and train takes one"),
        (["--C", "1:10:3"], "--lam has 3 values"),
        (["--kernel", "gaussian:1,2"], "--kernel has 2 values"),
        (["--kernel", "linear", "--kernel", "gaussian"], "--kernel has 2 values"),
        (["--expand", "2,3"], "--expand has 2 values"),
        (["--lam", "1", "--C", "1"], "give --lam or --C, not both"),
        (
            ["-m", "pegasos", "--n-iter", "9", "--epochs", "9"],
            "give --n-iter (steps) or --epochs (passes), not both",
        ),
        (["--lam", "0"], "--lam must be a finite number above 0"),
        (["--C", "-1"], "--C must be a finite number above 0"),
        (["--C", "1e308"], "λ = 1/(C m) must be"),
        (["--tol", "0"], "'--tol': must be"),
        (["--drop-outliers", "-1"], "'--drop-outliers': must be"),
        (
            ["--sampling", "sorted"],
            "--sampling must be uniform, permutation, fixed-permutation or in-order",
        ),
        (
            ["-m", "perceptron", "--sampling", "uniform"],
            "--sampling of perceptron must be permutation or in-order",
        ),
        (["-m", "pegasos", "--learning-rate", "2"], "--learning-rate does not apply to pegasos"),
        (["-m", "perceptron", "--learning-rate", "0"], "'--learning-rate': must be"),
        (["--intercept", "maybe"], "--intercept must be yes, no or free"),
        (
            ["-m", "pegasos", "--intercept", "free"],
            "--intercept free is for sdca, sdca-logistic; pegasos takes yes or no",
        ),
        (["-m", "logistic"], "sdca-logistic finds the exact optimum"),
        (["--cost", "2"], "there is no option --cost: use --error-cost COSTS, or --C C"),
        (["--folds", "3"], "use --cv K"),
        (["--degree", "3"], "use --kernel polynomial:N, or --expand N"),
        (["--gamma", "3"], "use --kernel gaussian:gamma=G"),
        (
            ["--kernel", "linear", "--landmarks", "9"],
            "--landmarks approximates a kernel",
        ),
        (["--scale", "standard"], "--scale must be none, normalize, standardize or robust"),
        (["-m", "pegasos", "--average", "2"], "--average must be no, yes or a share"),
        (["--memory", "lots"], "'--memory': must be a size such as 2GB"),
        (["-m", "sdac"], "Did you mean 'sdca'?"),
        (["--class-weight", "maybe=2"], "classes no, yes"),
        (["--class-weight", "yes"], "CLASS=WEIGHT"),
        (["--class-weight", "yes=0"], "--class-weight must be"),
        (["--test-size", "2"], "--test-size"),
        (["--seed", "-1"], "--seed"),
        (["--lamda", "1"], "--lam"),
    ],
)
def test_misuse_ends_with_2_and_writes_nothing(table, options, why):
    answer = call("train", table, *options)
    assert answer.code == 2
    assert why in answer.err
    assert answer.out == ""
    assert [each.name for each in table.parent.iterdir()] == ["table.csv"]


def test_misuse_is_found_before_data_are_read():
    assert "does not apply" in call("train", "nowhere.csv", "-m", "perceptron", "--lam", "1").err
    assert "has 2 values" in call("train", "nowhere.csv", "--lam", "1,2").err
    assert "nor a scorer of scikit-learn" in call("tune", "nowhere.csv", "--scoring", "beauty").err


def test_an_expansion_that_no_memory_holds_is_refused_before_it_is_tried(table):
    answer = call("train", table, "--expand", "100000")
    assert answer.code == 1
    assert "the kernel polynomial:100000" in answer.err


def test_cost_is_exactly_that_of_svc(table):
    """λ = 1/(C m), so the objective is that of SVC with equal C and kernel."""
    answer = fine(
        "train",
        table,
        "--C",
        "2",
        "--kernel",
        "gaussian:3",
        "--tol",
        "1e-6",
        "--test-size",
        "0.2",
        "--json",
    ).json
    rows = answer["errors"]["training"]["rows"]
    assert answer["learner"]["lam"] == pytest.approx(1 / (2 * rows), rel=1e-12)
    assert answer["learner"]["cost"] == pytest.approx(2, rel=1e-12)

    model = read_model(answer["model"])
    frame = numbers()
    X, y = frame.select("a", "b", "c").to_numpy(), frame["y"].to_numpy()
    ours = model.estimator.decision_function(X)
    # The intercept of SVC is not regularized, so scores and signs agree approximately.
    theirs = (
        SVC(C=2, gamma=1 / 6)
        .fit(StandardScaler().fit_transform(X), y)
        .decision_function(StandardScaler().fit_transform(X))
    )
    assert np.mean(np.sign(ours) == np.sign(theirs)) > 0.9


def test_cost_counts_the_rows_that_are_left_without_outliers(table):
    answer = fine("train", table, "--C", "2", "--drop-outliers", "1.6", "--json").json
    model = read_model(answer["model"])
    learned = model.card["split"]["learned_rows"]
    assert learned == answer["learner"]["rows"]
    assert 0 < learned < answer["errors"]["training"]["rows"]
    assert answer["learner"]["lam"] == pytest.approx(1 / (2 * learned), rel=1e-12)
    assert "outliers" in fine("show", answer["model"]).out
    assert fine("show", answer["model"], "--json").json["learner"]["cost"] == pytest.approx(
        2, rel=1e-12
    )


def test_options_reach_the_learner(table):
    options = [
        "-m",
        "pegasos",
        "--lam",
        "0.01",
        "--n-iter",
        "500",
        "--average",
        "0.5",
        "--batch-size",
        "2",
        "--sampling",
        "uniform",
    ]
    more = [
        "--projection",
        "--seed",
        "5",
        "--class-weight",
        "yes=2,no=1",
        "--kernel",
        "polynomial:2:coef0=0",
    ]
    found = read_model(
        fine("train", table, *options, *more, "--json").json["model"]
    ).estimator.steps[-1][1]
    wanted = {
        "lam": 0.01,
        "n_iter": 500,
        "average": 0.5,
        "batch_size": 2,
        "sampling": "uniform",
        "projection": True,
    }
    assert {name: found.get_params()[name] for name in wanted} == wanted
    assert found.random_state == 5
    assert {str(key): value for key, value in found.class_weight.items()} == {"yes": 2.0, "no": 1.0}
    assert repr(found.kernel) == "Polynomial(degree=2, coef0=0.0)"


def test_perceptron_of_the_reports(table):
    """Rows in order, a learning rate, no intercept, the last vector."""
    options = ("--sampling", "in-order", "--learning-rate", "0.5", "--intercept", "no")
    answer = fine("train", table, "-m", "perceptron", *options, "--average", "no", "--json").json
    found = read_model(answer["model"]).estimator.steps[-1][1]
    assert (found.shuffle, found.learning_rate, found.fit_intercept) == (False, 0.5, False)
    assert found.average is False
    assert np.all(found.intercept_ == 0)


@pytest.mark.parametrize("model", ["pegasos", "sdca", "sdca-logistic"])
def test_rows_in_order_and_no_intercept(table, model):
    options = ("-m", model, "--sampling", "in-order", "--intercept", "no", "--json")
    found = read_model(fine("train", table, *options).json["model"]).estimator.steps[-1][1]
    assert found.sampling == "in-order"
    assert np.all(found.intercept_ == 0)


def test_free_intercept_is_that_of_svc(table):
    options = ("--intercept", "free", "--C", "2", "--kernel", "gaussian:3", "--tol", "1e-6")
    model = read_model(fine("train", table, *options, "--test-size", "0", "--json").json["model"])
    frame = numbers()
    X, y = frame.select("a", "b", "c").to_numpy(), frame["y"].to_numpy()
    scaled = StandardScaler().fit_transform(X)
    theirs = SVC(C=2, gamma=1 / 6, tol=1e-8).fit(scaled, y).decision_function(scaled)
    np.testing.assert_allclose(model.estimator.decision_function(X), theirs, atol=1e-2)


@pytest.mark.parametrize(
    ("text", "value"), [("no", False), ("yes", True), ("0.25", 0.25), ("True", True)]
)
def test_average(text, value):
    assert option_values.grids(LearningOptions(average=text), 10)["average"] == [value]


def test_classes_get_their_own_type_in_class_weight():
    assert option_values.parse_class_weight("1=2,-1=3", np.array([-1, 1])) == {1: 2.0, -1: 3.0}
    assert option_values.parse_class_weight("a=b=2", np.array(["a=b", "c"])) == {"a=b": 2.0}
    with pytest.raises(UsageError, match=r"classes 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 20 more"):
        option_values.parse_class_weight("x=1", np.arange(30))
