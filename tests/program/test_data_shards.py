"""Test several files as one table: selection, order, and messages about differences."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from command_line import call, fine, messy, numbers
from pegasos.program.datasets import stem
from pegasos.program.tables.dataset import BadData, Dataset, ReadOptions
from pegasos.program.tables.reading import read, stream
from pegasos.program.tables.sources import files_of

KINDS = ["csv", "csv.gz", "bare", "parquet", "svmlight", "npz", "hdf5"]


def _shards(folder: Path, frame: pl.DataFrame, kind: str, cuts: list[int]) -> Path:
    """Write the rows of a frame as part-1, part-2, ..."""
    folder.mkdir(exist_ok=True)
    X, y = frame.drop("y").to_numpy(), frame["y"].to_numpy()
    for number, (start, stop) in enumerate(zip([0, *cuts], [*cuts, frame.height], strict=True), 1):
        part, path = frame[start:stop], folder / f"part-{number}.{kind}"
        if kind == "csv.gz":
            path.write_bytes(gzip.compress(part.write_csv().encode()))
        elif kind in ("csv", "bare"):
            part.write_csv(path, include_header=kind == "csv")
        elif kind == "parquet":
            part.write_parquet(path)
        elif kind == "svmlight":
            dump_svmlight_file(X[start:stop], y[start:stop], str(path), zero_based=False)
        elif kind == "npz":
            np.savez(path, X=X[start:stop], y=y[start:stop], feature_names=frame.columns[:-1])
        else:
            with h5py.File(path, "w") as file:
                file["data"], file["target"] = X[start:stop], y[start:stop]
    return folder


def _values(found: Dataset) -> list[Any]:
    X = (
        found.X.toarray()
        if sparse.issparse(found.X)
        else found.X.to_numpy()
        if found.has_frame
        else found.X
    )
    return X.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_files_are_one_table(kind: str, tmp_path: Path) -> None:
    frame = numbers(60).with_columns(
        y=pl.Series(np.arange(60) // 20)
    )  # sorted by label: a file may have one class
    folder = _shards(tmp_path / "all", frame, kind, [20, 40])
    found = read(folder)
    assert _values(found) == frame.drop("y").to_numpy().tolist()
    assert found.labels.tolist() == frame["y"].to_list() and found.name == str(folder)
    assert f"{len(list(folder.iterdir()))} files in the order of their names" in found.notes[0]
    parts = list(stream(f"{folder}/part-*", found.columns, label_name=found.label_name, chunk=500))
    assert [row for part in parts for row in _values(part)] == _values(found)
    assert np.concatenate([part.labels for part in parts]).tolist() == found.labels.tolist()


def test_what_belongs_to_a_folder_and_in_which_order(tmp_path: Path) -> None:
    for name in (
        "part-10.csv",
        "part-2.csv",
        "part-1.csv",
        ".hidden.csv",
        "_SUCCESS",
        "more/part-3.csv",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a,y\n1,0\n")

    def names(source: Any) -> list[str]:
        return [str(path.relative_to(tmp_path)) for path in files_of(source) or []]

    assert names(tmp_path) == names(f"{tmp_path}/*") == ["part-1.csv", "part-2.csv", "part-10.csv"]
    assert names(f"{tmp_path}/**/*.csv") == [
        "more/part-3.csv",
        "part-1.csv",
        "part-2.csv",
        "part-10.csv",
    ]
    assert names(f"{tmp_path}/_*") == ["_SUCCESS"]
    assert files_of(tmp_path / "part-1.csv") is None
    (tmp_path / "odd[1].csv").write_text(
        "a,y\n1,0\n2,1\n"
    )  # a file with the signs of a pattern in its name is a file
    assert len(read(tmp_path / "odd[1].csv")) == 2


def test_names_for_what_comes_of_it() -> None:
    given = (
        "flights/*.parquet",
        "a/flights/year=*/x.csv",
        "*.csv",
        "flights/",
        "my.csv",
        "digits",
        ".",
    )
    assert [stem(each) for each in given] == [
        "flights",
        "flights",
        "data",
        "flights",
        "my",
        "digits",
        "data",
    ]


def test_text_columns_and_gaps_are_those_of_all_files(tmp_path: Path) -> None:
    """A column with text in any file is text in all files."""
    rows = [
        f"{1.0 + i / 8},{f'0{i}' if i < 20 else 'x'},{'' if i % 7 == 0 else i},{i % 2}"
        for i in range(40)
    ]
    (tmp_path / "all.csv").write_text("\n".join(["a,code,b,y", *rows]))
    (tmp_path / "parts").mkdir()
    for part, start in enumerate(range(0, 40, 8)):
        (tmp_path / "parts" / f"{part}.csv").write_text(
            "\n".join(["a,code,b,y", *rows[start : start + 8]])
        )
    whole, found = read(tmp_path / "all.csv"), read(tmp_path / "parts")
    assert found.X.equals(whole.X) and found.X["code"][3] == "03" and found.columns == whole.columns
    assert found.notes[1:] == whole.notes


def test_columns_in_another_order(tmp_path: Path) -> None:
    for kind in ("csv", "parquet"):
        folder = _shards(tmp_path / kind, numbers(20), kind, [10])
        turned, path = numbers(30, seed=1).select("c", "y", "a", "b"), folder / f"part-3.{kind}"
        turned.write_csv(path) if kind == "csv" else turned.write_parquet(path)
        expected = pl.concat([numbers(20), numbers(30, seed=1)]).drop("y")
        assert _values(read(folder, ReadOptions(label="y"))) == expected.to_numpy().tolist()


def test_a_column_of_nothing_has_any_type(tmp_path: Path) -> None:
    frame = messy(30).with_columns(city=pl.lit(None))  # a file in which polars knows no type
    frame.write_parquet(tmp_path / "1.parquet")
    messy(30).write_parquet(tmp_path / "2.parquet")
    found = read(tmp_path)
    assert found.X["city"].to_list() == [None] * 30 + messy(30)["city"].to_list()
    messy(30).with_columns(city=pl.lit(1.5)).write_parquet(tmp_path / "3.parquet")
    with pytest.raises(
        BadData,
        match=r"3.parquet: column 'city' holds numbers, and words in files before; write it as one",
    ):
        read(tmp_path)


def test_files_without_rows_are_passed_over(tmp_path: Path) -> None:
    folder = _shards(tmp_path / "csv", numbers(30), "csv", [15])
    (folder / "part-0.csv").write_bytes(b"")
    (folder / "part-3.csv").write_text("a,b,c,y\n")
    (folder / "part-4.csv").write_text("\n\n")
    found = read(folder)
    assert len(found) == 30
    (note,) = [note for note in found.notes if "without rows" in note]
    assert all(f"part-{number}.csv" in note for number in (0, 3, 4))
    assert sum(map(len, stream(folder, found.columns))) == 30
    folder = _shards(tmp_path / "parquet", numbers(30), "parquet", [0, 15])
    found = read(folder)
    assert len(found) == 30 and any(
        "passed over" in note and "part-1.parquet" in note for note in found.notes
    )
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "a.csv").write_bytes(b"")
    with pytest.raises(BadData, match="all of its files are empty"):
        read(tmp_path / "none")
    for name in "ab":
        (tmp_path / "none" / f"{name}.csv").write_text("\n")
    with pytest.raises(BadData, match="none of its 2 files holds a row"):
        read(tmp_path / "none")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "3.csv",
            "a,b,y\n1,2,0\n",
            r"3.csv lacks 'c', unlike .*part-1.csv: the files of one table have the same columns. Mend",
        ),
        ("3.csv", "a,b,c,d,y\n1,2,3,4,0\n", r"3.csv also has 'd', unlike .*part-1.csv"),
        (
            "3.csv",
            "1,2,3,no\n1,2,4,yes\n",
            r"3.csv begins without names of columns, unlike .*part-1.csv",
        ),
        (
            "3.csv",
            "a,b,c,y\n1,2,3,no\n1,2,no\n",
            r"3.csv, line 3: 3 fields where other lines have 4",
        ),
        (
            "3.csv",
            "a,b,c,y\n1,2,3,no\n1,x,3,no\n",
            r"line 3 of .*3.csv, column 'b': 'x' is not a number, but 41 of 42",
        ),
        (
            "3.txt",
            "1 1:2 2:3\n",
            r"3.txt is svmlight, and .*part-1.csv is csv: the files of one table have one format",
        ),
        (
            "3.bin",
            "\0\0\1\2",
            r"3.bin is in no format that is known.*name the files that belong together by a pattern",
        ),
    ],
)
def test_a_file_that_differs_is_named(
    name: str, content: str, message: str, tmp_path: Path
) -> None:
    folder = _shards(tmp_path / "all", numbers(40), "csv", [25])
    (folder / f"part-{name}").write_text(content)
    with pytest.raises(BadData, match=message):
        read(folder)


def test_rows_of_binary_files_are_named(tmp_path: Path) -> None:
    frame = numbers(30).with_columns(y=pl.Series([0.0, 1.0] * 15), w=1.0)
    for kind, name in (("parquet", "part-2.parquet"), ("npz", "part-2.npz")):
        bad = frame.with_columns(
            a=pl.when(pl.int_range(pl.len()) == 12).then(float("inf")).otherwise("a")
        ).select(*"abcy")
        with pytest.raises(
            BadData, match=rf"row 3 of .*{name}, column 'a': the number is infinite"
        ):
            read(_shards(tmp_path / kind, bad, kind, [10]))
    folder = _shards(tmp_path / "npz2", frame.select(*"abcy"), "npz", [10])
    np.savez(folder / "part-3.npz", X=np.ones((4, 2)), y=np.ones(4))
    with pytest.raises(
        BadData, match=r"part-3.npz has 2 features, not 3, unlike .*part-1.npz: the files of one"
    ):
        read(folder)


def test_nothing_to_read(tmp_path: Path) -> None:
    (tmp_path / "within" / "deep").mkdir(parents=True)
    with pytest.raises(BadData, match=r"deep is a folder without files of data"):
        read(tmp_path / "within" / "deep")
    with pytest.raises(
        BadData, match=r"name files inside it by a pattern, such as '.*\*\*/\*.csv'"
    ):
        read(tmp_path / "within")
    (tmp_path / "rows.csv").write_text("a,y\n1,0\n")
    with pytest.raises(BadData, match=r"no file has such a name; in .* there are rows.csv, within"):
        read(tmp_path / "*.parquet")
    with pytest.raises(BadData, match="there is no folder"):
        read(tmp_path / "no" / "*.parquet")


def test_every_command_takes_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = _shards(Path("flights"), numbers(120), "csv", [50, 90])
    numbers(120).write_csv("whole.csv")
    (folder / "_SUCCESS").write_bytes(b"")
    said = fine("train", "flights/*.csv").err
    assert (
        "3 files in the order of their names, flights/part-1.csv to flights/part-3.csv" in said
        and "'flights/*.csv'" in said
    )
    fine("train", "whole.csv", "-o", "whole.model")
    pairs = (("flights.model", "flights"), ("whole.model", "whole.csv"))
    runs = [fine("run", model, data, "--json").json for model, data in pairs]
    assert runs[0]["errors"] == runs[1]["errors"] and set(runs[0]["errors"]) == {"training", "test"}
    assert (
        fine("predict", "flights.model", "flights").out
        == fine("predict", "whole.model", "whole.csv").out
    )
    assert fine("describe", "flights", "--json").json["rows"] == 120
    answer = call("predict", "flights.model", "flights", "-o", "flights/part-2.csv")
    assert answer.code == 2 and "is also an input" in answer.err
