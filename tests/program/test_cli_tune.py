"""Test `tune`: the default grid, the folder, and reproducibility."""

from __future__ import annotations

import csv
import html
import re
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from command_line import call, fine, messy, numbers, written
from pegasos import SweepCV
from pegasos.kernels import Gaussian, Polynomial
from pegasos.program import views
from pegasos.program.files import only_one
from pegasos.program.modelfile import load
from pegasos.program.pages import wording
from pegasos.program.records.codec import from_json
from pegasos.program.records.codec import load as load_record
from pegasos.program.records.runs import TuneRecord
from pegasos.program.terminal.grammar import parse_kernels
from pegasos.program.terminal.reproduction import expansion_degree
from pegasos.search.grid import Advice

#: A grid that takes no time.
SMALL = (
    "--no-page",
    "--kernel",
    "linear",
    "--kernel",
    "gaussian:1s",
    "--lam",
    "1e-3:1e-1:2",
    "--cv",
    "3",
)


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return written(numbers(), tmp_path / "table.csv")


def without_times(result):
    return {
        name: value
        for name, value in result.items()
        if name not in ("seconds", "folder", "model", "command")
    }


def test_without_options_on_a_messy_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(messy(), tmp_path / "messy.csv")
    answer = fine("tune", "messy.csv")
    for word in ("linear", "polynomial, degree 3", "gaussian, ", "choice:", "bias-corrected"):
        assert word in answer.out
    assert "missing numbers in width" in answer.err
    assert "text column city" in answer.err
    following = [
        line.split("pegasos ", 1)[1]
        for line in answer.out.splitlines()
        if re.search(r"^(next:)? +pegasos ", line)
    ]
    assert following == [
        "show runs/messy/best.model",
        "evaluate runs/messy/best.model messy.csv",
        "predict runs/messy/best.model NEW.csv -o labels.csv",
    ]
    assert "page:  runs/messy/report.html" in answer.out
    page = (tmp_path / "runs/messy/report.html").read_text(encoding="utf-8")
    assert "pegasos tune messy.csv" in page
    assert len(page) < 5e6
    summary = load_record(TuneRecord, tmp_path / "runs/messy/summary.json")
    assert {"training", "test"} == set(summary.errors)
    with (tmp_path / "runs/messy/results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(summary.cells)
    for row, cell in zip(rows, summary.cells, strict=True):
        assert parse_kernels([row["kernel"]]) == [cell.setting.kernel]
        assert float(row["C"]) == pytest.approx(1 / (float(row["lam"]) * summary.training_rows))
        done = [fold for fold in cell.folds if fold is not None]
        assert int(row["folds"]) == len(done)
        assert float(row["error"]) == cell.value == pytest.approx(np.mean(done), abs=1e-12)
        assert len(done) == 5 and int(row["stage"]) == cell.stage and cell.first is None
    assert {type(cell.setting.kernel) for cell in summary.cells} == {
        type(None),
        Polynomial,
        Gaussian,
    }
    assert summary.choice.value == min(
        cell.value for cell in summary.cells if cell.value is not None
    )
    steps = sum(cell.stage == 3 for cell in summary.cells)
    assert (len(summary.cells) - steps, sum(cell.stage == 2 for cell in summary.cells)) == (49, 0)
    words = (
        f"Stage 2 compared {steps} variations of the best ones on {summary.training_rows:,} rows"
    )
    assert words in answer.out and words in page
    assert {cell.setting.model for cell in summary.cells} == {"sdca", "sdca-logistic"}
    assert load(tmp_path / "runs/messy/best.model").predict(messy().drop("species")).shape == (150,)


def test_every_lam_in_print_has_its_cost(table):
    for line in fine("tune", table, *SMALL).out.splitlines():
        assert line.count("λ = ") == line.count("(C ")


def test_the_folder_goes_on_where_it_was(table, monkeypatch):
    first = fine("tune", table, *SMALL, "-o", "here", "--json").json
    walked = []
    monkeypatch.setattr(
        "pegasos.search.schedule.Schedule.run",
        lambda self, units, *rest: walked.extend(units) or True,
    )
    refused = call("tune", table, *SMALL, "-o", "here")
    assert refused.code == 2 and "here has a finished run: --force replaces it" in refused.err
    again = fine("tune", table, *SMALL, "-o", "here", "--force", "--json").json
    assert walked == []
    assert without_times(again) == without_times(first)


def test_a_larger_grid_reuses_finished_cells(table):
    fine("tune", table, *SMALL, "-o", "here")
    more = fine(
        "tune", table, *SMALL, "--kernel", "polynomial:2", "-o", "here", "--force", "--json"
    ).json
    assert len(more["cells"]) == 6
    assert without_times(more) == without_times(
        fine("tune", table, *SMALL, "--kernel", "polynomial:2", "-o", "new", "--json").json
    )


def test_a_folder_of_other_data_is_refused_with_a_way_out(table, tmp_path):
    fine("tune", table, *SMALL, "-o", "here")
    (tmp_path / "here/summary.json").unlink()
    given = ("tune", written(numbers(seed=1), tmp_path / "other.csv"), *SMALL)
    answer = call(*given, "-o", "here")
    assert answer.code == 2
    assert "here keeps a run on other data" in answer.err
    assert "-o" in answer.err
    replaced = fine(*given, "-o", "here", "--force", "--json").json
    assert without_times(replaced) == without_times(fine(*given, "-o", "new", "--json").json)


def test_cost_is_the_same_number_everywhere(table):
    found = fine("tune", table, "-m", "sdca", "--kernel", "linear", "--C", "3", "--json").json
    assert found["choice"]["cost"] == pytest.approx(3)
    assert found["decision"]["saved_rows"] > found["training_rows"]  # refitted on all rows
    told = fine("show", found["model"]).out
    assert "(C = 3)" in told
    assert fine("show", found["model"], "--json").json["learner"]["cost"] == pytest.approx(3)
    fine("report", found["model"], "--data", table, "-o", "model.html")
    assert re.search(r"C\W+3\b", Path("model.html").read_text(encoding="utf-8"))


def test_the_table_shows_epochs_and_training_errors_of_models_without_a_certificate(table):
    told = fine("tune", table, "-m", "perceptron", "--kernel", "linear", "--epochs", "2,9").out
    head, row = told.splitlines()[2:4]
    assert re.split(r"  +", head)[1:3] == ["training error", "cv error"]
    setting, training = re.split(r"  +", row)[:2]
    assert re.search(r"epochs = [29]$", setting) and "%" in training
    certified = fine("tune", table, *SMALL, "-m", "sdca", "-o", "certified").out
    head = certified.splitlines()[2]
    assert "cv error" in head and "training error" not in head and "epochs =" not in certified


@pytest.mark.parametrize("model", ["perceptron", "pegasos", "sdca"])
def test_the_command_of_a_cell_trains_it_exactly(table, model):
    given = ("-m", model, "--epochs", "3", "--kernel", "gaussian:2", "--no-refit-all")
    strength = () if model == "perceptron" else ("--lam", "0.01")
    found = fine("tune", table, *given, *strength, "-o", "run", "--json").json
    page = Path("run/report.html").read_text(encoding="utf-8")
    line = html.unescape(re.search(rf"pegasos (train [^<\"]*-m {model}[^<\"]*)", page)[1])
    again = fine(*shlex.split(line), "-o", "cell.model", "--json").json
    assert again["errors"] == found["errors"]


def test_a_second_search_in_the_same_folder_is_refused(table):
    with only_one("here"):
        answer = call("tune", table, *SMALL, "-o", "here")
    assert answer.code == 2 and "another process uses here" in answer.err
    fine("tune", table, *SMALL, "-o", "here")


@pytest.mark.parametrize("more", [(), ("--group", "person")])
def test_a_validation_part_instead_of_folds(tmp_path, monkeypatch, more):
    monkeypatch.chdir(tmp_path)
    frame = numbers().with_columns(person=np.arange(150) // 2)
    path = written(frame, tmp_path / "table.csv")
    given = ("tune", path, *SMALL[:-2], "--label", "y", *more)
    answer = fine(*given, "--validation", "0.25").out
    assert "on one validation part" in answer and "folds" not in answer
    found = fine(*given, "--validation", "0.25", "--force", "--json").json
    assert found["folds"] == 1 and all(len(cell["folds"]) == 1 for cell in found["cells"])
    rows = found["figures"]["out of fold"]["rows"]
    assert rows == pytest.approx(0.25 * found["training_rows"], abs=2)
    shares = [cell["value"] * rows for cell in found["cells"]]
    assert shares == pytest.approx([round(each) for each in shares])


def test_jobs_never_change_a_result(table):
    one = fine(
        "tune", table, *SMALL, "-m", "pegasos", "-m", "sdca", "--jobs", "1", "-o", "one", "--json"
    ).json
    two = fine(
        "tune", table, *SMALL, "-m", "pegasos", "-m", "sdca", "--jobs", "2", "-o", "two", "--json"
    ).json
    assert without_times(one) == without_times(two)


def test_several_models_and_expansions(table):
    options = (
        "-m",
        "perceptron",
        "-m",
        "pegasos",
        "-m",
        "pegasos-logistic",
        "--expand",
        "1,2,3",
        "--kernel",
        "linear",
        "--epochs",
        "1,3",
    )
    answer = fine("tune", table, *options, "--cv", "3", "--json").json
    record = from_json(TuneRecord, answer, "the answer")
    families = {(cell.setting.model, expansion_degree(cell.setting)) for cell in record.leading()}
    assert families == {
        (model, degree)
        for model in ("perceptron", "pegasos", "pegasos-logistic")
        for degree in (None, 2, 3)
    }
    assert (
        answer["choice"]["value"]
        == record.leading()[0].value
        == min(cell.value for cell in record.cells)
    )


def test_more_families_than_a_table_shows(table):
    kernels = [each for degree in range(1, 4) for each in ("--kernel", f"polynomial:{degree}")]
    models = (
        "-m",
        "perceptron",
        "-m",
        "pegasos",
        "-m",
        "pegasos-logistic",
        "-m",
        "sdca",
        "--epochs",
        "1",
    )
    answer = fine("tune", table, *models, *kernels, "--expand", "1,2,3,4", "--cv", "2")
    assert "4 more in" in answer.out


def test_cv_and_scoring(table):
    """Scorers of scikit-learn with a metric here are mapped to it; others have no baseline."""
    answer = fine("tune", table, *SMALL[:-2], "--cv", "4", "--scoring", "f1_macro", "--json").json
    assert (answer["folds"], answer["metric"], answer["better_than_baseline"]) == (
        4,
        "f1-macro",
        True,
    )
    other = fine(
        "tune",
        table,
        *SMALL[:-2],
        *("--cv", "4", "--scoring", "jaccard_macro", "--force", "--json"),
    ).json
    assert (other["metric"], other["better_than_baseline"]) == ("jaccard_macro", None)
    refused = call("tune", table, *SMALL, "--scoring", "roc_auc_ovr", "-o", "other")
    assert refused.code == 2
    assert "--metric roc_auc_ovr does not work here" in refused.err


def test_time_that_is_up(table):
    """Any time limit gives a usable model and a statement about it."""
    told = fine("tune", table, *SMALL, "--max-time", "1e-9", "-o", "asked")
    assert (
        "Time limit reached (1e-09 s): the saved model was trained on the training rows only"
        in told.out
    )
    found = fine(
        "tune",
        written(numbers(2700), table.with_name("more.csv")),
        "--no-page",
        "--max-time",
        "1e-9",
        "--json",
    ).json
    assert found["complete"] is False
    assert found["decision"]["by"] == "sample"
    assert found["decision"]["fitted_rows"] == found["decision"]["saved_rows"] == 400
    assert found["choice"]["setting"]["kernel"] is None
    assert found["choice"]["value"] < 0.25
    assert found["errors"]["test"]["rows"] == 540
    words = wording.decision_words(from_json(TuneRecord, found, ""))
    assert any("the choice is that of the first stage" in line for line in words)
    assert any("trained on 400 of 2,160 training rows" in line for line in words)


def test_a_class_with_test_rows_only_is_not_trained_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = numbers().drop("y").to_numpy(), numbers()["y"].to_numpy().astype(object)
    y[120] = "stray"
    np.savez(
        "own.npz", X=X[:100], y=y[:100].astype("U"), X_test=X[100:], y_test=y[100:].astype("U")
    )
    found = fine("tune", "own.npz", *SMALL, "--json").json
    assert (found["decision"]["fitted_rows"], found["decision"]["saved_rows"]) == (100, 149)
    assert found["errors"]["test"]["rows"] == 50 and found["errors"]["test"]["mistakes"] >= 1
    assert load(found["model"]).classes_.tolist() == ["no", "yes"]


@pytest.mark.parametrize("strays", [1, 6])
def test_stray_labels_in_a_file(tmp_path, monkeypatch, strays):
    monkeypatch.chdir(tmp_path)
    table = numbers()
    labels = table["y"].to_list()
    for place in range(strays):
        labels[7 * place] = "maybe"
    clean = fine("tune", written(table, tmp_path / "clean.csv"), *SMALL, "--json").json
    path = written(table.with_columns(y=pl.Series(labels)), tmp_path / "stray.csv")
    found = fine("tune", path, *SMALL, "--json").json
    assert found["choice"]["value"] <= clean["choice"]["value"] + strays / 120 + 0.04


def test_one_vs_one_where_a_fold_lacks_a_class(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels = ["rare", *numbers()["y"].to_list()[1:]]
    path = written(numbers().with_columns(y=pl.Series(labels)), tmp_path / "rare.csv")
    answer = fine("tune", path, *SMALL, "--multiclass", "one-vs-one", "--page")
    assert "the rarest class has 1 training row, so" in answer.err
    assert (tmp_path / "runs" / "rare" / "report.html").is_file()


def test_the_saved_model_is_refitted_on_all_rows(table):
    """The test error is that of a model trained without the test rows, and is labelled so."""
    told = fine("tune", table, *SMALL, "-o", "all")
    assert "refitted after that, on all 150 rows" in told.out
    first = fine("tune", table, *SMALL, "-o", "all", "--force", "--json").json
    kept = fine("tune", table, *SMALL, "-o", "kept", "--no-refit-all", "--json").json
    assert first["errors"] == kept["errors"]
    assert (kept["decision"]["fitted_rows"], kept["decision"]["saved_rows"]) == (120, 120)
    assert (first["decision"]["fitted_rows"], first["decision"]["saved_rows"]) == (120, 150)
    assert fine("run", kept["model"], table, "--json").json["errors"] == kept["errors"]
    again = fine("run", first["model"], table, "--json").json
    assert list(again["errors"]) == ["training"]
    assert again["notes"][0].startswith("All of these rows were used in training")
    assert "test error of" in again["notes"][1]
    assert "on 30 test rows" in again["notes"][1]
    shown = fine("show", first["model"]).out
    assert "refitted: on all 150 rows, after the errors below were measured" in shown
    assert "outliers" not in shown
    assert "refitted" not in fine("show", kept["model"]).out
    none = fine("tune", table, *SMALL, "--test-size", "0", "-o", "none", "--json").json
    assert none["decision"]["saved_rows"] == none["decision"]["fitted_rows"] == 150


def test_the_test_group_of_the_file_joins_the_final_refit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = numbers().drop("y").to_numpy()
    y = (numbers()["y"] == "yes").to_numpy().astype(int)
    np.savez("own.npz", X=X[:100], y=y[:100], X_test=X[100:], y_test=y[100:])
    found = fine("tune", "own.npz", *SMALL, "--json").json
    assert (found["errors"]["training"]["rows"], found["errors"]["test"]["rows"]) == (100, 50)
    assert found["decision"]["saved_rows"] == 150


def test_groups_stay_together_in_every_fold(table, tmp_path, monkeypatch):
    frame = numbers().with_columns(person=pl.Series(np.arange(150) // 5))
    path = written(frame, tmp_path / "people.csv")
    seen = {}
    original = SweepCV.fit

    def fit(self, X, y, **params):
        seen["splits"] = [
            (params["groups"][train], params["groups"][test])
            for train, test in self.cv.split(X, y, params["groups"])
        ]
        return original(self, X, y, **params)

    monkeypatch.setattr(SweepCV, "fit", fit)
    fine("tune", path, *SMALL, "--group", "person", "--label", "y")
    assert len(seen["splits"]) == 3
    for train, test in seen["splits"]:
        assert not set(train) & set(test)
    few = written(frame.with_columns(person=pl.col("person") % 3), tmp_path / "few.csv")
    answer = call("tune", few, *SMALL, "--group", "person", "--label", "y")
    assert answer.code == 3
    assert "2 groups in the training rows" in answer.err


def test_weights_and_class_weights_have_an_effect(tmp_path, monkeypatch):
    """A class with almost no weight is never predicted."""
    monkeypatch.chdir(tmp_path)
    frame = numbers().with_columns(w=pl.when(pl.col("y") == "yes").then(0.001).otherwise(1000.0))
    path = written(frame, tmp_path / "weighted.csv")
    options = ("--kernel", "gaussian:1s", "--lam", "0.1", "--cv", "3", "--label", "y")
    new = written(frame, tmp_path / "new.csv")

    def share(*more):
        model = fine(
            "tune", path, *options, *more, "-o", f"run{len(list(tmp_path.iterdir()))}", "--json"
        ).json["model"]
        return fine("predict", model, new).out.count("yes") / len(frame)

    assert share("--drop", "w") > 0.3
    assert share("--weight", "w") < 0.02
    assert share("--drop", "w", "--class-weight", "yes=0.001,no=1000") < 0.02
    assert share("--drop", "w", "--class-weight", "balanced") > 0.3


def test_outliers_are_dropped_in_every_fold(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = (*SMALL, "--drop-outliers", "1.5", "--no-refit-all", "--json")
    answer = fine("tune", written(messy(), tmp_path / "messy.csv"), *options).json
    model = load(answer["model"])
    assert [name for name, _ in model.steps] == ["encode", "drop"]
    assert fine("run", answer["model"], "messy.csv", "--json").json["errors"] == answer["errors"]
    learned = fine("show", answer["model"], "--json").json["learner"]["rows"]
    assert learned < answer["training_rows"]
    assert answer["choice"]["cost"] == pytest.approx(
        1 / (answer["choice"]["setting"]["lam"] * learned)
    )


def test_rare_classes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = numbers(60).with_columns(
        y=pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("rare")).otherwise(pl.col("y"))
    )
    answer = fine("tune", written(frame, tmp_path / "rare.csv"), *SMALL[:-2])
    assert "the rarest class has" in answer.err
    tiny = call("tune", written(numbers(6), tmp_path / "tiny.csv"), *SMALL[:-2])
    assert tiny.code == 3
    assert "give fewer folds" in tiny.err


@pytest.mark.parametrize(
    "options",
    [
        ["-m", "sdac"],
        ["--cv", "1"],
        ["--lam", "x"],
        ["-m", "perceptron", "--lam", "1"],
        ["--n-iter", "5"],
    ],
)
def test_misuse(table, options):
    assert call("tune", table, *options).code == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("smaller", "--lam 0.5 is at the border of the grid: try smaller"),
        ("more", "--lam 0.5 is the largest of the grid, and larger values would"),
    ],
)
def test_advice_names_the_option(change, words):
    assert words in views.advice_words(Advice("lam", 0.5, change))


def test_one_vs_one_is_tried_where_there_are_several_classes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    X, y = random.normal(size=(90, 2)), np.repeat(["a", "b", "c"], 30)
    X[:, 0] += 3 * np.repeat([0, 1, 2], 30)
    rows = pl.DataFrame({"u": X[:, 0], "v": X[:, 1], "y": y})
    found = fine("tune", written(rows, tmp_path / "three.csv"), "--json").json
    paired = [cell for cell in found["cells"] if "one-vs-one" in str(cell["setting"]["options"])]
    assert {cell["stage"] for cell in paired} == {3} and len(found["cells"]) > 49
    assert min(cell["value"] for cell in paired) < 0.25
    two = fine("tune", written(numbers(), tmp_path / "two.csv"), "--no-page", "--json").json
    assert not any("multiclass" in str(cell["setting"]["options"]) for cell in two["cells"])


def test_heavy_tails_are_scaled_by_quartiles_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = numbers()
    name = table.columns[0]
    far = table[name].to_numpy().copy()
    far[3] = 1e5
    path = written(table.with_columns(pl.Series(name, far)), tmp_path / "heavy.csv")
    small = ("--no-page", "--cv", "2", "--json")
    found = fine("tune", path, *small).json
    scales = [str(cell["setting"]["preparation"]) for cell in found["cells"]]
    assert not any("RobustScaler" in each for each in scales[:49])
    assert any("RobustScaler" in each for each in scales[49:])
    assert found["scale"] in ("standardize", "robust")
    plain = fine("tune", path, *small, "--scale", "robust", "-o", "plain").json
    assert all("RobustScaler" in str(cell["setting"]["preparation"]) for cell in plain["cells"])
    assert plain["scale"] == "robust"
    assert load(plain["model"]).predict(table.drop("y").to_numpy()).shape == (150,)
