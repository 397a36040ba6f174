"""Test tune on a churn table: metrics, baseline, thresholds, dates, identifiers."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from command_line import call, fine, numbers
from pegasos.estimates import Estimate
from pegasos.program.pages.wording import unlike_words
from pegasos.program.records.runs import ErrorCount

USELESS = ("--lam", "10", "--drop", "customer", "-o", "m.model")
LINEAR = ("--kernel", "linear", "--lam", "1e-2,1e-1", "--force")


def churn(rows: int = 1200, seed: int = 7) -> pl.DataFrame:
    """Return a table in which one row in ten churned, with weakly informative columns."""
    random = np.random.default_rng(seed)
    tenure, calls = random.integers(0, 72, rows), random.poisson(1.3, rows)
    contract = random.choice(["month", "year"], rows)
    leaning = (
        0.4 * calls - 0.03 * tenure + 0.9 * (contract == "month") + random.logistic(0, 1.3, rows)
    )
    left = leaning >= np.sort(leaning)[-round(0.0985 * rows)]
    since = np.datetime64("2019-01-01") + random.integers(0, 1800, rows)
    return pl.DataFrame(
        {
            "customer": random.permutation(rows) + 5_000,
            "since": [str(day) for day in since],
            "tenure": tenure,
            "calls": calls,
            "contract": contract,
            "status": np.where(left, "churned", "stayed"),
        }
    )


@pytest.fixture
def table(tmp_path, monkeypatch) -> str:
    monkeypatch.chdir(tmp_path)
    churn().write_csv("churn.csv")
    return "churn.csv"


def test_a_useless_model_of_train_is_called_that(table):
    assert (
        "This model is no better than the baseline: error 10.00"
        in fine("train", table, *USELESS).out
    )
    assert fine("train", table, *USELESS, "--json").json["figures"]["test"]["better"] is False


def test_a_useless_model_is_called_that(table):
    told = fine("tune", table, "--kernel", "linear", "--lam", "10", "--drop", "customer")
    assert "note: always predicting 'stayed' has an error of 9.79 %" in told.err
    assert "--metric balanced-error, f1 or average-precision" in told.err
    assert "This model is no better than the baseline: error " in told.out
    page = Path("runs/churn/report.html").read_text()
    assert "This model is no better than the baseline" in page
    assert page.index("This model is no better than the baseline") < page.index('id="section-grid"')
    again = f"pegasos tune {table} --kernel linear --lam 10 --drop customer --metric balanced-error --force"
    assert f"next:  {again}" in told.out and again in page
    answer = fine(
        "tune",
        table,
        "--kernel",
        "linear",
        "--lam",
        "10",
        "--drop",
        "customer",
        "--json",
        "--no-page",
        "--force",
    ).json
    assert answer["better_than_baseline"] is False
    assert answer["errors"]["test"]["baseline"] == pytest.approx(0.1, abs=0.01)
    later = fine("run", "runs/churn/best.model", table)
    assert "baseline" in later.out
    churn(seed=8).write_csv("later.csv")
    assert (
        "This model is no better than the baseline"
        in fine("run", "runs/churn/best.model", "later.csv").out
    )


def test_a_useful_model_is_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    numbers(300).write_csv("t.csv")
    answer = fine("tune", "t.csv", *LINEAR)
    assert "is no better than the baseline" not in answer.out
    assert "baseline: always predicting" in answer.out and "next:  pegasos show" in answer.out
    assert "is no better than the baseline" not in Path("runs/t/report.html").read_text()


@pytest.mark.parametrize(
    ("options", "metric", "positive"),
    [
        (("--metric", "f1"), "f1", "churned"),
        pytest.param(
            ("--scoring", "f1", "--positive", "stayed"), "f1", "stayed", marks=pytest.mark.slow
        ),
        pytest.param(("--metric", "brier"), "brier", None, marks=pytest.mark.slow),
        pytest.param(
            ("--scoring", "average_precision"),
            "average-precision",
            "churned",
            marks=pytest.mark.slow,
        ),
        (("--error-cost", "churned>stayed:9,stayed>churned:1"), "cost", None),
    ],
)
def test_metrics_are_chosen_by_and_shown(table, options, metric, positive):
    given = ("tune", table, *LINEAR, "--drop", "customer", *options)
    told = fine(*given, "--no-page").out
    assert f"{metric}:" in told
    answer = fine(*given, "--json").json
    assert (answer["metric"], answer["positive"]) == (metric, positive)
    assert set(answer["figures"]) == {"out of fold", "training", "test"}
    for figure in answer["figures"].values():
        assert figure["low"] <= figure["value"] <= figure["high"]
    assert answer["choice"]["setting"]["model"] == (
        "sdca-logistic" if metric == "brier" else "sdca"
    )
    page = Path("runs/churn/report.html").read_text()
    assert f"Test {metric}" in page
    assert "Baseline" in page
    ran = fine("run", answer["model"], table, "--json").json
    assert (ran["metric"], ran["positive"]) == (metric, positive)
    shown = fine("run", answer["model"], table, "--metric", "roc-auc").out
    assert "roc-auc of 'churned'" in shown


@pytest.mark.slow
def test_class_weights_are_an_axis(table):
    answer = fine(
        "tune",
        table,
        *LINEAR,
        "--class-weight",
        "none,balanced",
        "--metric",
        "balanced-error",
        "--json",
    ).json
    assert len(answer["cells"]) == 4
    assert ["class_weight", "balanced"] in answer["choice"]["setting"]["options"]
    told = fine(
        "tune",
        table,
        *LINEAR,
        "--class-weight",
        "balanced",
        "--metric",
        "balanced-error",
        "--no-page",
    ).out
    assert "choice: sdca, linear, class_weight = balanced, λ = " in told
    usual = fine("tune", table, *LINEAR, "--metric", "balanced-error", "-o", "usual", "--json").json
    assert (
        len(usual["cells"]) == 4
    )  # where classes are unbalanced, that is the default for such metrics
    ordered = fine(
        "tune", table, *LINEAR, "--metric", "average-precision", "-o", "ordered", "--json"
    ).json
    assert (
        len(ordered["cells"]) == 4
    )  # the hinge loss alone has no reason to order rows that are all likelier to stay
    logistic = ("-m", "sdca-logistic", *LINEAR, "--metric", "average-precision")
    assert len(fine("tune", table, *logistic, "-o", "logistic", "--json").json["cells"]) == 2
    assert "train takes one" in call("train", table, "--class-weight", "none,balanced").err


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--metric", "blance"), "Did you mean 'balanced-error'?"),
        (
            ("--metric", "f1", "--positive", "gone"),
            "there is no class 'gone'; there are churned, stayed.",
        ),
        (("--positive", "churned"), "--positive is for metrics of one class"),
        (("--metric", "cost"), "--metric cost needs --error-cost"),
        (
            ("--metric", "f1", "--error-cost", "a>b:1"),
            "--error-cost is for the metric cost, not for f1",
        ),
        (("--error-cost", "churned>gone:1"), "there is no class 'gone'"),
        (("--error-cost", "churned>stayed:-1"), "a cost must be >= 0"),
        (("--error-cost", "costs.csv"), "No such file"),
        (("--error-cost", ">:"), "write true>predicted:cost"),
        (("--threshold", "beauty"), "precision=0.9 or recall=0.8"),
        (("--threshold", "precision=2"), "precision=0.9 or recall=0.8"),
        (
            ("--metric", "matthews_corrcoef", "--positive", "churned"),
            "--positive is for metrics of one class",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(table, options, why):
    answer = call("tune", table, *LINEAR, *options)
    assert answer.code == 2
    assert why in answer.err


@pytest.mark.slow
def test_costs_come_from_a_file_too(table):
    Path("costs.csv").write_text("true,predicted,cost\nchurned,stayed,9\nstayed,churned,1\n")
    one = fine("tune", table, *LINEAR, "--error-cost", "costs.csv", "--json", "-o", "one").json
    other = fine(
        "tune",
        table,
        *LINEAR,
        "--error-cost",
        "churned>stayed:9,stayed>churned:1",
        "--json",
        "-o",
        "other",
    ).json
    assert one["choice"]["value"] == other["choice"]["value"]


def test_thresholds_and_probabilities_from_table_to_predictions(table):
    given = (
        "tune",
        table,
        *("-m", "sdca-logistic"),  # hinge scores of rare classes are equal up to the tolerance
        *LINEAR,
        "--drop",
        "customer",
        "--threshold",
        "recall=0.7",
        "--positive",
        "churned",
    )
    told = fine(*given).out
    assert "probabilities: " in told
    assert "for recall >= 0.7; out of fold" in told
    summary = fine(*given, "--json", "--no-page").json
    assert summary["threshold"]["recall"] >= 0.7
    assert summary["calibration"]["error"] < 0.05 + summary["calibration"]["by_chance"]
    model = summary["model"]
    assert "threshold:" in fine("show", model).out
    lines = fine(
        "predict", model, table, "--what", "probabilities", "--keep", "customer"
    ).out.splitlines()
    assert lines[0] == "customer,label,p_churned,p_stayed"
    rows = [line.split(",") for line in lines[1:]]
    assert [row[0] for row in rows[:2]] == [str(each) for each in churn()["customer"][:2]]
    assert np.mean([float(row[2]) for row in rows]) == pytest.approx(0.0985, abs=0.02)
    called = [row[1] == "churned" for row in rows]
    assert np.mean(called) == pytest.approx(summary["threshold"]["share"], abs=0.08)
    page = Path("runs/churn/report.html").read_text()
    for words in (
        "Probabilities and thresholds",
        "ROC curve",
        'id="threshold"',
        "Reliability diagram",
    ):
        assert words in page
    brier = fine("run", model, table, "--metric", "brier", "--json").json["figures"]["training"]
    assert brier["better"]


def test_models_without_probabilities_say_so(table):
    fine("train", table, "-o", "plain.model")
    answer = call("predict", "plain.model", table, "--what", "probabilities")
    assert answer.code == 2
    assert "this model (sdca) has no probabilities" in answer.err
    answer = call("run", "plain.model", table, "--metric", "brier")
    assert answer.code == 2
    assert "has no probabilities" in answer.err


def test_models_without_probabilities_are_compared_by_calibrated_ones(table):
    models = ("-m", "perceptron", "-m", "sdca-logistic", "--epochs", "5")
    given = ("tune", table, *models, "--metric", "log-loss", "--kernel", "linear", "--force")
    told = fine(*given).out
    assert "Probabilities of perceptron for the log-loss come from cross-fitted sigmoids" in told
    assert "come from cross-fitted sigmoids" in Path("runs/churn/report.html").read_text()
    answer = fine(*given, "--json", "--no-page").json
    assert {cell["setting"]["model"] for cell in answer["cells"]} == {"perceptron", "sdca-logistic"}
    assert all(0.2 < cell["value"] < 0.7 for cell in answer["cells"])


# seen by new users


@pytest.mark.slow
def test_examples_of_tune_work(table):
    """Options apply to the models that support them, with a note."""
    told = fine("tune", "--help").out
    examples = [
        line.strip()
        for line in told.splitlines()
        if line.strip().startswith("pegasos tune my.csv -m")
    ]
    assert examples
    for example in examples:
        arguments = shlex.split(example)[1:]
        answer = fine(*(table if each == "my.csv" else each for each in arguments), "--cv", "2")
        assert "--n-iter is for pegasos; it means nothing to perceptron." in answer.err
    assert "means nothing to" in call("tune", table, "-m", "perceptron", "--lam", "1").err


def test_dates_are_days_and_identifiers_are_flagged(table):
    said = fine("train", table, "-o", "m.model").err
    assert "dates in since: read as days since 1970-01-01" in said
    assert "customer is excluded as a likely ID" in said
    assert "since" not in said.partition("text column")[2].splitlines()[0]
    pl.read_csv(table).with_columns(since=pl.lit("soon")).write_csv("bad.csv")
    answer = call("predict", "m.model", "bad.csv")
    assert answer.code == 3
    assert "column 'since': 'soon' is not a date such as 2024-05-31" in answer.err
    words = fine("train", table, "--text", "since", "-o", "w.model").err
    assert "dates" not in words


def test_describe_speaks_in_options(table):
    told = fine("describe", table).out
    assert "--metric balanced-error, f1 or average-precision" in told
    assert "--class-weight none,balanced" in told
    assert "--scale standardize" in told
    assert "class_weight=" not in told


def test_predictions_carry_columns_along(table):
    fine("train", table, "--drop", "customer", "-o", "m.model")
    lines = fine(
        "predict", "m.model", table, "--keep", "customer", "--keep", "since"
    ).out.splitlines()
    assert lines[0] == "customer,since,label"
    assert lines[1].startswith(",".join(str(each) for each in churn().row(0)[:2]))
    assert "has no column 'name'" in call("predict", "m.model", table, "--keep", "name").err
    fine("train", "digits", "-o", "d.model")
    assert "--keep needs a table" in call("predict", "d.model", "digits", "--keep", "x1").err


def test_rbf_with_a_number_names_the_parameter(table):
    answer = call("train", table, "--kernel", "rbf:0.1")
    assert answer.code == 2
    assert (
        "gaussian:gamma=0.1 for exp(-γ|x-z|²), as in scikit-learn, or gaussian:0.1 for a variance"
        in answer.err
    )
    assert fine("train", table, "--kernel", "rbf:gamma=0.1", "-o", "m.model").code == 0


def test_test_rows_from_another_file_are_reported():
    honest = Estimate(0.023, 0.0185, 0.0278, "m")
    test = ErrorCount.counted(2007, 106)
    assert "rely on the test error" in unlike_words(honest, test, "the file's own test group")
    assert unlike_words(honest, test, "random, by class") is None
    assert unlike_words(honest, ErrorCount.counted(2007, 46), "the file's own test group") is None


@pytest.mark.parametrize("stray", [["gone?"], ["gone?", "Stayed", "churn", "left", "new", "n/k"]])
def test_stray_labels_leave_choice_and_probabilities(table, stray):
    frame = pl.read_csv(table)
    labels = frame["status"].to_list()
    labels[: 40 * len(stray) : 40] = stray
    frame.with_columns(status=pl.Series(labels)).write_csv("stray.csv")
    given = ("-m", "sdca-logistic", *LINEAR, "--drop", "customer", "--no-page", "--json")
    clean, answer = (fine("tune", name, *given) for name in (table, "stray.csv"))
    asked = "class 'gone?' has 1 row: a typo?"
    several = f"{len(stray)} classes have fewer than 5 rows"
    assert (asked if len(stray) == 1 else several) in answer.err
    found, wanted = answer.json, clean.json
    assert found["choice"]["value"] == pytest.approx(wanted["choice"]["value"], abs=0.02)
    assert found["calibration"] is not None
    options = ("--what", "probabilities", "-o", "p.csv")
    fine("predict", found["model"], table, *options)
    p = pl.read_csv("p.csv").select(pl.col("^p_.*$"))
    assert p.width == 2 + len(stray)
    np.testing.assert_allclose(p.sum_horizontal(), 1)
    assert p.drop("p_churned", "p_stayed").to_numpy().max() < 0.1
