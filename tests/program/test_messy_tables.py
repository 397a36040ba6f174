"""Tables as people have them: missing labels, stray classes, amounts of money, columns that give the label away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from command_line import call, fine
from pegasos.program.tables.dataset import BadData, Column
from pegasos.program.tables.read_options import ReadOptions
from pegasos.program.tables.reading import read, stream

#: Options under which a table is read whole, and under which it does not fit.
SIZES = [(), ("--memory", "15kB")]


def frame(rows: int = 400, seed: int = 0) -> pl.DataFrame:
    """Two informative numbers, and a label that they tell up to some noise."""
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


# -- rows without a label ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES, ids=["memory", "larger"])
@pytest.mark.parametrize("name", ["table.csv", "table.parquet"])
def test_rows_without_a_label_are_ignored_and_counted(
    size: tuple[str, ...], name: str, tmp_path: Path
) -> None:
    """The model is that of the table without these rows."""
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
    """Whole stretches of a file without labels: at the beginning, between others, and at the end."""
    gaps = [*range(150), *range(200, 350), *range(390, 400)]
    path = written(with_gaps(frame(), gaps), tmp_path / "table.csv")
    columns = [Column("a"), Column("b")]
    parts = list(stream(path, columns, ReadOptions(label="y"), chunk=500, labelled=True))
    assert sum(part.unlabelled for part in parts) == len(gaps)
    assert [len(part) for part in parts if not len(part)] == []
    assert sum(map(len, parts)) == 400 - len(gaps)
