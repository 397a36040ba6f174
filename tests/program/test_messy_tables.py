"""Test messy tables: missing labels, stray classes, amounts of money, leaks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn import datasets

from command_line import call, fine
from pegasos import Perceptron, load
from pegasos.preprocessing import DropOutliers
from pegasos.program.tables.dataset import BadData, Column, ReadOptions
from pegasos.program.tables.description import leaks
from pegasos.program.tables.reading import read, stream

#: Options under which a table is read whole, and under which it does not fit.
SIZES = [(), ("--memory", "15kB")]


def frame(rows: int = 400, seed: int = 0) -> pl.DataFrame:
    """Return two informative numbers and a noisy label."""
    random = np.random.default_rng(seed)
    a, b = random.normal(size=(2, rows))
    yes = a + b + 0.7 * random.normal(size=rows) > 0
    return pl.DataFrame(
        {"a": a, "b": b, "city": [f"town {n}" for n in random.integers(3, size=rows)]}
    ).with_columns(pl.Series("y", np.where(yes, "yes", "no")))


def with_gaps(table: pl.DataFrame, rows: list[int]) -> pl.DataFrame:
    labels: list[Any] = table["y"].to_list()
    for row in rows:
        labels[row] = None
    return table.with_columns(pl.Series("y", labels))


def written(table: pl.DataFrame, path: Path) -> Path:
    (table.write_parquet if path.suffix == ".parquet" else table.write_csv)(path)
    return path


# rows without a label


@pytest.mark.parametrize("size", SIZES, ids=["memory", "larger"])
@pytest.mark.parametrize("name", ["table.csv", "table.parquet"])
def test_rows_without_a_label_are_ignored_and_counted(
    size: tuple[str, ...], name: str, tmp_path: Path
) -> None:
    """The model equals that of the table without these rows."""
    gaps = [0, 7, *range(100, 140)]
    holes = written(with_gaps(frame(), gaps), tmp_path / name)
    kept = frame()[[row for row in range(400) if row not in gaps]]
    whole = written(kept, tmp_path / f"whole-{name}")
    words = "42 of 400 rows have no label and are ignored"
    answer = fine("describe", holes, *size)
    assert words in answer.err + answer.out
    found = []
    for data in (holes, whole):
        model = tmp_path / f"{data.name}.model"
        told = fine("train", data, "-m", "sdca", "--test-size", "0", *size, "-o", model).err
        assert (words in told) is (data is holes)
        evaluated = fine("evaluate", model, data, "--json")
        assert (words in evaluated.err) is (data is holes)
        found.append(json.loads(evaluated.out)["confusion"])
    assert found[0] == found[1]
    predicted = fine("predict", tmp_path / f"{name}.model", holes).out.split()
    assert len(predicted) == 401
    refused = call("train", holes, "-m", "sdca", "--drop", "city", "--strict", *size)
    assert refused.code == 3 and "42 of 400 rows have no label" in refused.err


def test_arrays_with_missing_labels(tmp_path: Path) -> None:
    X, y = np.arange(12.0).reshape(6, 2), np.array([0, 1, np.nan, 1, np.nan, 0])
    np.savez(tmp_path / "data.npz", X=X, y=y)
    found = read(tmp_path / "data.npz")
    np.testing.assert_array_equal(found.X, X[[0, 1, 3, 5]])
    assert found.labels.tolist() == [0, 1, 1, 0] and found.unlabelled == 2
    assert found.at(2).endswith("row 4")
    assert "2 of 6 rows have no label and are ignored" in found.notes
    columns = [Column("x1"), Column("x2")]
    (part,) = stream(tmp_path / "data.npz", columns, ReadOptions(label="y"), labelled=True)
    np.testing.assert_array_equal(part.X, X[[0, 1, 3, 5]])
    with pytest.raises(BadData, match="2 of 6 rows have no label"):
        read(tmp_path / "data.npz", ReadOptions(strict=True))


def test_rows_are_named_by_their_place_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,y\n1,\n2,p\n3,q\n4,\n1e999,p\n")
    with pytest.raises(BadData, match="line 6"):
        read(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("a,y\n1,\n2,\n")
    assert "2 rows, 1 feature" in fine("describe", tmp_path / "t.csv").out
    with pytest.raises(BadData, match="no row has a label in column 'y'"):
        read(tmp_path / "t.csv")


def test_chunks_without_any_label_are_left_out(tmp_path: Path) -> None:
    """Long runs of rows without labels are skipped anywhere in a file."""
    gaps = [*range(150), *range(200, 350), *range(390, 400)]
    path = written(with_gaps(frame(), gaps), tmp_path / "table.csv")
    columns = [Column("a"), Column("b")]
    parts = list(stream(path, columns, ReadOptions(label="y"), chunk=500, labelled=True))
    assert sum(part.unlabelled for part in parts) == len(gaps)
    assert [len(part) for part in parts if not len(part)] == []
    assert sum(map(len, parts)) == 400 - len(gaps)


# stray classes


@pytest.mark.parametrize("size", SIZES, ids=["memory", "larger"])
def test_a_stray_class_is_questioned(size: tuple[str, ...], tmp_path: Path) -> None:
    """A stray class does not prevent a stratified split and training."""
    labels = frame()["y"].to_list()
    labels[17] = "maybe"
    data = written(frame().with_columns(pl.Series("y", labels)), tmp_path / "table.csv")
    words = "class 'maybe' has 1 row: a typo?"
    assert words in fine("describe", data, *size).out
    model = tmp_path / "a.model"
    told = fine("train", data, "-m", "sdca", *size, "-o", model)
    assert words in told.err
    assert fine("evaluate", model, data).out
    if not size:  # all rows of the test are of classes that training has
        assert "random, by class" in fine("show", model).out


def test_a_class_that_only_the_test_group_has(tmp_path: Path) -> None:
    labels = frame()["y"].to_list()
    group = np.repeat(np.arange(20), 20)
    for row in range(20):
        labels[row] = "elsewhere"  # all rows of one group
    table = frame().with_columns(pl.Series("y", labels), pl.Series("group", group))
    data = written(table, tmp_path / "table.csv")
    absent = 0
    for seed in range(8):
        model = tmp_path / f"{seed}.model"
        fine("train", data, "-m", "sdca", "--group", "group", "--seed", seed, "-o", model)
        fine("evaluate", model, data)
        absent += load(model).classes_.tolist() == ["no", "yes"]
    assert absent
    one = written(table[20:], tmp_path / "one.csv")  # a model without the class, and rows of it
    fine("train", one, "-m", "sdca", "--drop", "group", "-o", tmp_path / "two.model")
    answer = fine("evaluate", tmp_path / "two.model", data, "--json")
    assert "elsewhere" in answer.out


# columns


@pytest.mark.parametrize("size", SIZES, ids=["memory", "larger"])
def test_amounts_are_numbers(size: tuple[str, ...], tmp_path: Path) -> None:
    table = frame()
    price = [f"${1000 * abs(value):,.2f}" for value in table["a"]]
    share = [f"{value:.1f} %" for value in table["b"]]
    plain = written(
        pl.DataFrame(
            {
                "price": [float(each[1:].replace(",", "")) for each in price],
                "share": [float(each[:-2]) for each in share],
                "y": table["y"],
            }
        ),
        tmp_path / "plain.csv",
    )
    columns = {"price": price, "share": share, "y": table["y"]}
    data = written(pl.DataFrame(columns), tmp_path / "table.csv")
    found, wanted = (fine("describe", path, "--json", *size) for path in (data, plain))
    assert json.loads(found.out)["columns"] == json.loads(wanted.out)["columns"]
    assert "amounts such as $1,234.50 or 12 % are read as numbers in price, share" in found.err
    for path in (data, plain):
        fine("train", path, "-m", "sdca", *size, "-o", path.with_suffix(".model"))
    predicted = [
        fine("predict", tmp_path / "plain.model", path, "--what", "scores").out
        for path in (data, plain)
    ]
    assert predicted[0] == predicted[1]


def test_amounts_with_decimal_commas(tmp_path: Path) -> None:
    lines = ["a;b;y", "1,5 €;$1,234.50;p", "12 %;-$2;q", "-3;7;p"]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    found = read(tmp_path / "t.csv")
    np.testing.assert_array_equal(found.X, [[1.5, 1234.5], [12, -2], [-3, 7]])


def test_amounts_in_a_label_stay_text(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,y\n1,10 %\n2,20 %\n3,10 %\n")
    assert read(tmp_path / "t.csv").labels.tolist() == ["10 %", "20 %", "10 %"]


@pytest.mark.parametrize("size", SIZES, ids=["memory", "larger"])
def test_the_rarer_of_two_values_is_no_outlier(size: tuple[str, ...], tmp_path: Path) -> None:
    rare = np.zeros(400)
    rare[:8] = 1
    table = frame().select(pl.Series("phone", rare), "y")
    data = written(table, tmp_path / "table.csv")
    found = json.loads(fine("describe", data, "--json", *size).out)
    assert found["outlier_rows"] == 0 and not any("Outliers" in each for each in found["advice"])
    if not size:
        rows = DropOutliers(Perceptron()).kept_rows(np.column_stack([rare, rare]))
        assert rows.all()


@pytest.mark.parametrize("size", SIZES, ids=["memory", "larger"])
def test_columns_that_could_be_the_label_are_listed(size: tuple[str, ...], tmp_path: Path) -> None:
    """No column has a usual name, and the last one is a measurement."""
    random = np.random.default_rng(0)
    table = pl.DataFrame(
        {
            "smoker": random.choice(["yes", "no"], size=400),
            "level": random.integers(3, size=400),
            "price": random.normal(size=400),
        }
    )
    data = written(table, tmp_path / "table.csv")
    words = "Columns that could: smoker (2 values), level (3 values)."
    answer = call("train", data, "-m", "sdca", *size)
    assert answer.code == 3 and words in answer.err
    described = fine("describe", data, *size)
    assert "price" in described.out and words in described.err


def test_unseen_categories_are_counted(tmp_path: Path) -> None:
    data = written(frame(), tmp_path / "table.csv")
    fine("train", data, "-m", "sdca", "-o", tmp_path / "a.model")
    cities = ["atlantis", "atlantis", *frame()["city"].to_list()[2:]]
    new = written(frame().with_columns(pl.Series("city", cities)), tmp_path / "new.csv")
    answer = fine("predict", tmp_path / "a.model", new)
    words = "column 'city': 2 rows have a category that is not in the training rows (atlantis)"
    assert words in answer.err
    assert "trained on" not in fine("predict", tmp_path / "a.model", data).err


@pytest.mark.parametrize("text", ['[{"a": 1, "y": 0}]', '{"a": 1, "y": 0}\n{"a": 2, "y": 1}\n'])
@pytest.mark.parametrize("name", ["rows.json", "rows.txt"])
def test_json_is_refused_clearly(text: str, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    answer = call("train", tmp_path / name, "-m", "sdca")
    assert answer.code == 3 and "is JSON, which is not read; polars.read_json" in answer.err


# leaks


@pytest.mark.parametrize("size", SIZES, ids=["memory", "larger"])
@pytest.mark.parametrize("kind", ["numbers", "words", "pair", "none"])
def test_columns_that_give_the_label_away(size: tuple[str, ...], kind: str, tmp_path: Path) -> None:
    table, random = frame(600), np.random.default_rng(1)
    yes = (table["y"] == "yes").to_numpy()
    if kind == "numbers":
        table = table.with_columns(paid=np.where(yes, 3.0, 0.0) + random.random(600))
    elif kind == "words":
        table = table.with_columns(
            pl.Series("paid", np.where(yes, "refund", "none")).set(pl.Series(range(600)) == 5, None)
        )
    elif kind == "pair":  # begin - end tells the label, neither does so alone
        begin = random.normal(size=600)
        table = table.with_columns(begin=begin, end=begin + np.where(yes, 0.1, -0.1))
    table = table.select(*(name for name in table.columns if name != "y"), "y")
    data = written(table, tmp_path / "table.csv")
    told = {
        "numbers": "column 'paid' alone predicts the label",
        "words": "column 'paid' alone predicts the label",
        "pair": "columns 'begin' and 'end' alone predict the label",
    }
    out = fine("describe", data, *size).out
    assert (told.get(kind, "Leak:") in out) is (kind in told)
    if kind == "numbers":
        run = tmp_path / "run"
        options = ["-m", "sdca", "--lam", "0.01", "--cv", "3", "--no-page", "--jobs", "1"]
        assert told[kind] in fine("tune", data, *options, *size, "-o", run).err


@pytest.mark.parametrize("name", ["iris", "breast_cancer", "digits"])
def test_public_tables_have_no_leak(name: str) -> None:
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    assert leaks(X, [], y) == []


# pixels


@pytest.mark.parametrize("size", [(), ("--memory", "100kB")], ids=["memory", "larger"])
@pytest.mark.parametrize("high", [16, 255, 16.5])
def test_pixels_are_scaled_to_one(size: tuple[str, ...], high: float, tmp_path: Path) -> None:
    """describe, train and tune agree; with one fraction the columns are measurements."""
    X, y = datasets.load_digits(return_X_y=True)
    X = np.where(X[:600, 10:40] == 16, high, X[:600, 10:40])
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    data = written(pl.DataFrame({**columns, "y": y[:600] % 2}), tmp_path / "table.csv")
    scale = "standardize" if high == 16.5 else "normalize"
    assert ("which is the default for pixels" in fine("describe", data, *size).out) is (
        scale == "normalize"
    )
    model = tmp_path / "a.model"
    told = fine("train", data, "-m", "sdca", "--test-size", "0", *size, "-o", model).err
    words = " (the columns are pixels, scaled to 0..1)" if scale == "normalize" else ""
    assert f"scale: {scale}{words}" in told
    if scale == "normalize" and high == 16:
        options = ("-m", "sdca", "--kernel", "linear", "--lam", "0.1", "--cv", "2", "--no-page")
        run = tmp_path / "run"
        assert f"scale: {scale}{words}" in fine("tune", data, *options, *size, "-o", run).err
        assert type(load(run / "best.model")["scale"]).__name__ == "MinMaxScaler"
    scaler = type(load(model)["scale"]).__name__
    assert scaler == ("MinMaxScaler" if scale == "normalize" else "StandardScaler")
