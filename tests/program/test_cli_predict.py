"""Test `predict`: contents, order of rows, and atomic output."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from command_line import call, fine, messy, numbers, written
from pegasos.learners import one_vs_all
from pegasos.program import saved_models
from pegasos.program.commands import predict
from pegasos.program.modelfile import load


@pytest.fixture
def models(tmp_path, monkeypatch):
    """Return models of a plain and a messy table, of two and three classes."""
    monkeypatch.chdir(tmp_path)
    plain, mixed = (
        written(numbers(), tmp_path / "plain.csv"),
        written(messy(), tmp_path / "messy.csv"),
    )
    fine("train", plain, "-m", "pegasos-logistic", "--kernel", "gaussian", "-o", "plain.model")
    fine("train", mixed, "-m", "pegasos-logistic", "-o", "messy.model")
    fine("train", plain, "-m", "sdca", "-o", "hinge.model")
    return tmp_path


def lines(answer):
    return list(csv.DictReader(io.StringIO(answer.out)))


def test_labels_are_those_of_the_estimator_in_the_order_of_rows(models):
    for name, frame in (("plain", numbers()), ("messy", messy())):
        labels = [row["label"] for row in lines(fine("predict", f"{name}.model", f"{name}.csv"))]
        features = frame.drop(frame.columns[-1])
        assert (
            labels
            == load(f"{name}.model")
            .predict(features if name == "messy" else features.to_numpy())
            .tolist()
        )


def test_scores_of_two_classes_are_one_column_positive_for_the_second(models):
    found = lines(fine("predict", "plain.model", "plain.csv", "--what", "scores"))
    assert list(found[0]) == ["label", "score"]
    scores = load("plain.model").decision_function(numbers().drop("y").to_numpy())
    np.testing.assert_array_equal([float(row["score"]) for row in found], scores)
    assert all((row["label"] == "yes") == (float(row["score"]) > 0) for row in found)


def test_scores_and_probabilities_of_three_classes(models):
    for what, prefix in (("scores", "score_"), ("probabilities", "p_")):
        found = lines(fine("predict", "messy.model", "messy.csv", "--what", what))
        names = [f"{prefix}kind {number}" for number in range(3)]
        assert list(found[0]) == ["label", *names]
        values = np.array([[float(row[name]) for name in names] for row in found])
        assert [row["label"] for row in found] == [
            f"kind {place}" for place in values.argmax(axis=1)
        ]
        if what == "probabilities":
            np.testing.assert_allclose(values.sum(axis=1), 1)


@pytest.mark.parametrize("what", ["labels", "scores", "probabilities"])
def test_kernel_values_are_computed_once_whatever_is_written(models, monkeypatch, what):
    asked = []
    original = one_vs_all.kernel_columns
    monkeypatch.setattr(
        one_vs_all,
        "kernel_columns",
        lambda kernel, support, X: asked.append(len(X)) or original(kernel, support, X),
    )
    found = lines(fine("predict", "plain.model", "plain.csv", "--what", what))
    assert sum(asked) == len(found) == 150
    assert [row["label"] for row in found] == load("plain.model").predict(
        numbers().drop("y").to_numpy()
    ).tolist()


def test_a_model_without_probabilities_says_what_has_them(models):
    answer = call("predict", "hinge.model", "plain.csv", "--what", "probabilities")
    assert answer.code == 2
    assert "logistic" in answer.err
    assert call("predict", "hinge.model", "plain.csv", "--what", "colours").code == 2


def test_json_lines_hold_the_same(models):
    text = fine("predict", "plain.model", "plain.csv", "--what", "scores", "--json").out
    found = [json.loads(line) for line in text.splitlines()]
    told = lines(fine("predict", "plain.model", "plain.csv", "--what", "scores"))
    assert [(row["label"], repr(row["score"])) for row in found] == [
        (row["label"], row["score"]) for row in told
    ]


def test_columns_in_any_order_and_further_ones(models):
    wanted = fine("predict", "messy.model", "messy.csv").out
    changed = messy().select("city", "width", "length").with_columns(more=pl.lit("x"))
    assert fine("predict", "messy.model", written(changed, models / "changed.csv")).out == wanted
    assert (
        fine("predict", "messy.model", written(changed, models / "changed.parquet")).out == wanted
    )


def test_missing_columns_are_named(models):
    answer = call(
        "predict",
        "messy.model",
        written(messy().drop("width").rename({"city": "town"}), models / "less.csv"),
    )
    assert answer.code == 3
    assert "width, city" in answer.err
    assert answer.out == ""


def test_unseen_categories_and_gaps_are_fine(models):
    frame = pl.DataFrame({"length": [1.0, None], "width": [None, 2.0], "city": ["atlantis", None]})
    assert len(lines(fine("predict", "messy.model", written(frame, models / "odd.csv")))) == 2


def test_a_gap_where_training_had_none_is_named(models):
    answer = call(
        "predict",
        "plain.model",
        written(
            pl.DataFrame({"a": [1.0, None], "b": [1.0, 2.0], "c": [0.0, 0.0]}), models / "g.csv"
        ),
    )
    assert answer.code == 3
    assert "column 'a'" in answer.err
    assert "line 3" in answer.err


@pytest.mark.parametrize("name", ["plain", "messy"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_chunks_equal_the_whole_table(models, monkeypatch, name, ending):
    frame = numbers() if name == "plain" else messy()
    path = written(frame, models / f"again.{ending}")
    wanted = fine("predict", f"{name}.model", path, "--what", "probabilities").out
    whole, parts = saved_models.stream, []

    def in_chunks(*args, **options):
        for part in whole(*args, **options, chunk=700):
            parts.append(len(part))
            yield part

    monkeypatch.setattr(saved_models, "stream", in_chunks)
    found = lines_of(fine("predict", f"{name}.model", path, "--what", "probabilities").out)
    assert len(parts) > 1
    assert sum(parts) == len(frame)
    np.testing.assert_allclose(found[1], lines_of(wanted)[1], rtol=1e-12)
    assert found[0] == lines_of(wanted)[0]


def lines_of(text):
    found = list(csv.reader(io.StringIO(text)))
    return [row[0] for row in found], np.array(
        [[float(value) for value in row[1:]] for row in found[1:]]
    )


def test_a_file_is_written_whole_or_not_at_all(models, monkeypatch):
    answer = fine("predict", "plain.model", "plain.csv", "-o", "new/labels.csv")
    assert answer.out == ""
    assert "150 rows: new/labels.csv" in answer.err
    assert (models / "new/labels.csv").read_text() == fine(
        "predict", "plain.model", "plain.csv"
    ).out

    whole = saved_models.stream

    def fails(*args, **options):
        yield from whole(*args, **options)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(saved_models, "stream", fails)
    (models / "old.csv").write_text("old")
    for name in ("old.csv", "unborn.csv"):
        assert call("predict", "plain.model", "plain.csv", "-o", name).code == 1
    assert (models / "old.csv").read_text() == "old"
    assert not (models / "unborn.csv").exists()
    assert not [each for each in models.iterdir() if "part" in each.name]


def test_inputs_are_never_overwritten(models):
    for name in ("plain.csv", "plain.model"):
        before = (models / name).read_bytes()
        assert call("predict", "plain.model", "plain.csv", "-o", name).code == 2
        assert call("predict", "plain.model", "plain.csv", "-o", f"./{name}").code == 2
        assert (models / name).read_bytes() == before
    assert call("train", "plain.csv", "-o", "plain.csv").code == 2
    assert call("train", "plain.csv", "-o", "/dev/null").code == 2
    fine("predict", "plain.model", "plain.csv", "-o", "/dev/null")


def test_a_terminal_gets_no_control_characters_but_a_file_gets_the_labels():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for file, shown in ((Terminal(), "a\\x1b[31m"), (io.StringIO(), "a\x1b[31m")):
        predict._writer(file, ["label"])([["a\x1b[31m"]])
        assert file.getvalue().splitlines()[1] == shown


def test_a_named_set(models):
    fine("train", "moons", "-o", "moons.model")
    assert len(lines(fine("predict", "moons.model", "moons"))) == 1000
    answer = call("predict", "moons.model", "digits")
    assert answer.code == 3
    assert "x1" in answer.err


#: Modules of ours that a prediction loads at most; the goal is 60.
MOST_MODULES = 86
PREDICT = """
import sys
from pegasos.program.app import run
code = run(sys.argv[1:])
print(*(name for name in sys.modules if name.split(".")[0] == "pegasos"), file=sys.stderr)
sys.exit(code)
"""


def test_predicting_imports_no_solver(models):
    done = subprocess.run(
        [sys.executable, "-c", PREDICT, "predict", "plain.model", "plain.csv"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = done.stderr.splitlines()[-1].split()
    optimum = {name for name in loaded if name.startswith("pegasos.engine.optimum.")}
    # Objectives of a fitted model, the history that its file keeps, and kinds of intercepts.
    assert optimum <= {
        f"pegasos.engine.optimum.{name}" for name in ("certificate", "history", "problem")
    }
    assert "pegasos.engine.walk.loops" not in loaded
    assert len(loaded) <= MOST_MODULES, sorted(loaded)
