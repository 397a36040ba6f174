"""Test `evaluate`: training rows and test rows are reported separately and completely."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from command_line import call, fine, messy, numbers, written
from pegasos import SDCA, Perceptron
from pegasos.program.modelfile import read_model, save
from pegasos.program.records.codec import to_json
from pegasos.program.records.fitted import ModelCard
from pegasos.program.records.runs import ErrorCount


@pytest.fixture(params=[numbers, messy], ids=["numbers", "messy"])
def trained(request, tmp_path, monkeypatch):
    """Return a table, its file, a model trained on 80 % of it, and the output."""
    monkeypatch.chdir(tmp_path)
    frame = request.param()
    path = written(frame, tmp_path / "table.csv")
    label = frame.columns[-1]
    told = fine(
        "train", path, "--label", label, "--kernel", "gaussian", "-o", "table.model", "--json"
    ).json
    return frame, path, told["errors"]


def errors(path, model="table.model", *options):
    answer = fine("run", model, path, "--json", *options).json
    return answer["errors"], answer["notes"]


def test_on_the_same_file_the_errors_are_those_of_training(trained):
    _, path, told = trained
    assert errors(path) == (told, [])


def test_evaluate_is_the_same_command(trained):
    _, path, told = trained
    assert fine("evaluate", "table.model", path, "--json").json["errors"] == told


def test_neither_order_nor_further_columns_nor_format_matter(trained, tmp_path):
    frame, _, told = trained
    changed = (
        frame.sample(fraction=1, shuffle=True, seed=1)
        .select(*reversed(frame.columns))
        .with_columns(extra=pl.lit("more"))
    )
    for name in ("other.csv", "other.parquet"):
        assert errors(written(changed, tmp_path / name))[0] == told


def test_a_named_set_is_known_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = fine("train", "xor", "--kernel", "gaussian", "--json").json
    assert errors("xor", told["model"])[0] == told["errors"]
    frame = pl.DataFrame(np.load(_xor_as_npz(tmp_path))["data"], schema=["x1", "x2", "y"])
    assert errors(written(frame, tmp_path / "xor.parquet"), told["model"])[0] == told["errors"]


def _xor_as_npz(folder):
    from pegasos.program.tables.named_sets import read_set

    data = read_set("xor")
    np.savez(folder / "both.npz", data=np.column_stack([data.X, data.y]))
    return folder / "both.npz"


def test_only_the_test_rows(trained, tmp_path):
    frame, _, told = trained
    new = _rows(frame, training=False)
    found, notes = errors(written(new, tmp_path / "new.csv"))
    assert found == {"test": told["test"]}
    assert notes == []


def test_only_training_rows_have_no_test_error(trained, tmp_path):
    frame, _, told = trained
    old = _rows(frame, training=True)
    found, notes = errors(written(old, tmp_path / "old.csv"))
    assert found == {"training": told["training"]}
    assert "not a test error" in notes[0]
    assert not any(
        line.startswith("test")
        for line in fine("run", "table.model", tmp_path / "old.csv").out.splitlines()
    )


def test_training_rows_among_new_ones_are_reported_separately(trained, tmp_path):
    frame, _, told = trained
    old = _rows(frame, training=True)
    mixed = pl.concat([old[:7], _rows(frame, training=False)])
    found, notes = errors(written(mixed, tmp_path / "mixed.csv"))
    assert found["test"] == told["test"]
    assert found["training"]["rows"] == 7
    assert "7 rows equal training rows" in notes[0]


def test_copies_across_the_split_are_counted_individually(tmp_path, monkeypatch):
    """A row that is k times in training is known k times; other copies are test rows."""
    monkeypatch.chdir(tmp_path)
    frame = pl.concat([numbers(60), numbers(60)])
    told = fine(
        "train", written(frame, tmp_path / "twice.csv"), "-o", "twice.model", "--json"
    ).json["errors"]
    found, _ = errors(tmp_path / "twice.csv", "twice.model")
    assert found == told
    assert (found["training"]["rows"], found["test"]["rows"]) == (96, 24)
    three, _ = errors(
        written(pl.concat([frame, numbers(60)]), tmp_path / "thrice.csv"), "twice.model"
    )
    assert (three["training"]["rows"], three["test"]["rows"]) == (96, 84)


def _rows(frame, training):
    """Return the rows on one side of the stratified split with seed 0."""
    from sklearn.model_selection import train_test_split

    sides = train_test_split(
        np.arange(len(frame)),
        test_size=0.2,
        random_state=0,
        stratify=frame[frame.columns[-1]].to_numpy(),
    )
    return frame[np.sort(sides[0 if training else 1])]


def test_the_same_label_written_otherwise_is_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = numbers().with_columns(y=(pl.col("y") == "yes").cast(pl.Int64))
    told = fine("train", written(frame, tmp_path / "whole.csv"), "-o", "m.model", "--json").json[
        "errors"
    ]
    floats = written(frame.with_columns(pl.col("y").cast(pl.Float64)), tmp_path / "floats.parquet")
    assert errors(floats, "m.model")[0] == told


def test_fractional_labels_are_compared_as_numbers_in_every_chunk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = (
        numbers(400)
        .with_columns(y=pl.when(pl.col("y") == "yes").then(1.0).otherwise(1.5))
        .sort("y")
    )
    told = fine("train", written(frame, tmp_path / "halves.csv"), "-o", "m.model", "--json").json[
        "errors"
    ]
    _in_small_chunks(monkeypatch)
    assert errors(tmp_path / "halves.csv", "m.model")[0] == told


def test_chunks_do_not_matter(trained, monkeypatch):
    _, path, told = trained
    _in_small_chunks(monkeypatch)
    assert errors(path)[0] == told


def _in_small_chunks(monkeypatch):
    from pegasos.program import saved_models

    whole = saved_models.stream
    monkeypatch.setattr(
        saved_models, "stream", lambda *args, **options: whole(*args, **options, chunk=500)
    )


def test_a_file_without_a_header_whose_label_is_not_the_last(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    numbers().select("y", "a", "b", "c").write_csv("bare.csv", include_header=False)
    told = fine("train", "bare.csv", "--label", "1", "--json").json["errors"]
    assert errors("bare.csv", "bare.model")[0] == told


def test_a_model_without_row_hashes_says_so(tmp_path):
    frame = numbers()
    X = frame.select("a", "b", "c").to_numpy()
    save(Perceptron(random_state=0).fit(X, frame["y"].to_numpy()), tmp_path / "python.model")
    path = written(frame.rename({"a": "x1", "b": "x2", "c": "x3"}), tmp_path / "new.csv")
    answer = fine("run", tmp_path / "python.model", path, "--label", "y", "--json").json
    assert list(answer["errors"]) == ["all (training rows unknown)"]
    assert "does not list its training rows" in answer["notes"][0]
    assert answer["errors"]["all (training rows unknown)"]["rows"] == len(frame)


def test_a_pipeline_that_python_saved_takes_tables_with_words(tmp_path):
    frame = messy()
    numbers_and_words = ColumnTransformer(
        [
            ("numbers", SimpleImputer(), ["length", "width"]),
            ("words", OneHotEncoder(handle_unknown="ignore"), ["city"]),
        ]
    )
    pipeline = make_pipeline(numbers_and_words, SDCA(lam=0.01)).fit(
        frame.drop("species"), frame["species"].to_numpy()
    )
    save(pipeline, tmp_path / "python.model")
    path = written(frame, tmp_path / "messy.csv")
    found = fine("run", tmp_path / "python.model", path, "--label", "species", "--json").json[
        "errors"
    ]
    wrong = int((pipeline.predict(frame.drop("species")) != frame["species"].to_numpy()).sum())
    assert found["all (training rows unknown)"]["mistakes"] == wrong
    assert "C = 1/(λ m), m unknown" in fine("show", tmp_path / "python.model").out


def test_a_card_of_ones_own_is_no_obstacle(tmp_path):
    frame = numbers()
    learner = Perceptron(random_state=0).fit(
        frame.select("a", "b", "c").to_numpy(), frame["y"].to_numpy()
    )
    strange = {
        "data": "mine",
        "split": 7,
        "classes": ["x"],
        "errors": {"test": 3},
        "label": 5,
        "frame": "yes",
        "command": None,
    }
    save(learner, tmp_path / "python.model", card=strange)
    path = written(frame.rename({"a": "x1", "b": "x2", "c": "x3"}), tmp_path / "new.csv")
    assert "C = 1/(λ m)" not in fine("show", tmp_path / "python.model").out
    assert fine("show", tmp_path / "python.model", "--json").json["card"]["data"] == "mine"
    fine("run", tmp_path / "python.model", path, "--label", "y")
    fine("predict", tmp_path / "python.model", path)


def test_what_does_not_fit_a_card_is_left_out():
    known = ModelCard(
        label="y", image=(2, 3), errors={"test": ErrorCount(5, 1, 0.2, 0.1, 0.3)}, classes={"a": 1}
    )
    assert ModelCard.read(to_json(known)) == known
    strange = {
        "image": [1, 2, 3],
        "frame": 1,
        "errors": {"test": {"rows": 1}},
        "classes": {"a": "b"},
        "score": "high",
        "more": [],
    }
    assert ModelCard.read({**to_json(known), **strange}) == ModelCard(label="y")


def test_damaged_lists_of_columns_are_bad_models(tmp_path):
    frame = numbers()
    learner = Perceptron(random_state=0).fit(
        frame.select("a", "b", "c").to_numpy(), frame["y"].to_numpy()
    )
    for columns in (
        [{"name": "a", "kind": "number"}],
        [1, 2, 3],
        [{"name": "a", "kind": "code"}] * 3,
    ):
        save(learner, tmp_path / "odd.model", card={"columns": columns})
        assert call("show", tmp_path / "odd.model").code == 4


def test_a_files_own_test_group_is_honoured(tmp_path, monkeypatch):
    h5py = pytest.importorskip("h5py")
    monkeypatch.chdir(tmp_path)
    frame = numbers(200)
    X, y = frame.select("a", "b", "c").to_numpy(), (frame["y"] == "yes").to_numpy().astype(int)
    with h5py.File("own.h5", "w") as file:
        for group, part in (("train", slice(None, 130)), ("test", slice(130, None))):
            file[f"{group}/data"], file[f"{group}/target"] = X[part], y[part]
    told = fine("train", "own.h5", "--json").json["errors"]
    assert (told["training"]["rows"], told["test"]["rows"]) == (130, 70)
    assert errors("own.h5", "own.model")[0] == told
    fine("train", "own.h5", "--test-size", "0.2", "-o", "inner.model")
    found, _ = errors("own.h5", "inner.model")
    assert {name: each["rows"] for name, each in found.items()} == {
        "training": 104,
        "test group": 70,
        "other new rows": 26,
    }


def test_the_same_in_npz(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = numbers(200)
    X, y = frame.select("a", "b", "c").to_numpy(), (frame["y"] == "yes").to_numpy().astype(int)
    np.savez("own.npz", X=X[:130], y=y[:130], X_test=X[130:], y_test=y[130:])
    told = fine("train", "own.npz", "--json").json["errors"]
    assert (told["training"]["rows"], told["test"]["rows"]) == (130, 70)
    assert errors("own.npz", "own.model")[0] == told


def test_pool_uses_all_rows_of_a_file_with_its_own_test_group(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = numbers(200)
    X, y = frame.select("a", "b", "c").to_numpy(), (frame["y"] == "yes").to_numpy().astype(int)
    np.savez("own.npz", X=X[:130], y=y[:130], X_test=X[130:], y_test=y[130:])
    told = fine("train", "own.npz", "--pool", "--json").json["errors"]
    assert (told["training"]["rows"], told["test"]["rows"]) == (160, 40)
    every = fine("train", "own.npz", "--pool", "--test-size", "0", "-o", "every.model", "--json")
    assert every.json["errors"]["training"]["rows"] == 200


def test_groups_stay_together(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = numbers(200).with_columns(person=pl.Series(np.arange(200) // 8))
    told = fine(
        "train",
        written(frame, tmp_path / "people.csv"),
        "--group",
        "person",
        "--label",
        "y",
        "--json",
    ).json
    assert errors("people.csv", told["model"])[0] == told["errors"]
    model = read_model(told["model"])
    assert model.card["split"]["kind"] == "random groups"
    from pegasos.program.tables.row_hashes import hash_rows

    known = np.isin(
        hash_rows(frame.select("a", "b", "c").to_numpy(), frame["y"].to_numpy()), model.rows
    )
    for person in range(25):
        assert len(set(known[np.arange(200) // 8 == person])) == 1


def test_predicting_a_file_without_labels_is_reported(trained, tmp_path):
    frame, _, _ = trained
    label = frame.columns[-1]
    answer = call("run", "table.model", written(frame.drop(label), tmp_path / "bare.csv"))
    assert answer.code == 3
    assert f"has no column '{label}'" in answer.err
    renamed = written(frame.rename({label: "truth"}), tmp_path / "renamed.csv")
    assert errors(renamed, "table.model", "--label", "truth")[0] == trained[2]
