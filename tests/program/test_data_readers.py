"""Test round trips of every format, whole and in blocks, and refusals."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from pegasos.program.files import replacing, write_text
from pegasos.program.tables.columns import places_of
from pegasos.program.tables.dataset import BadData, Column, Dataset, ReadOptions
from pegasos.program.tables.reading import OPENERS, read, stream

ROWS = np.random.default_rng(0).normal(size=(57, 4)).round(4)
ROWS[np.abs(ROWS) < 0.3] = 0
LABELS = np.arange(57) % 3
FRAME = pl.DataFrame(ROWS, schema=list("abcd")).with_columns(y=pl.Series(LABELS))


def _write(kind: str, folder: Path) -> Path:
    path = folder / f"rows.{kind}"
    if kind in ("csv", "bare"):
        FRAME.write_csv(path, include_header=kind == "csv")
    elif kind == "parquet":
        FRAME.write_parquet(path, row_group_size=10)
    elif kind == "svmlight":
        dump_svmlight_file(ROWS, LABELS, str(path), zero_based=False)
    elif kind == "npz":
        np.savez_compressed(path, X=ROWS, y=LABELS, feature_names=list("abcd"))
    elif kind == "fortran":
        np.savez(path.with_suffix(".npz"), x=np.asfortranarray(ROWS), y=LABELS)
        return path.with_suffix(".npz")
    else:
        with h5py.File(path, "w") as file:
            file["data"], file["target"] = ROWS, LABELS
    return path


KINDS = ["csv", "bare", "parquet", "svmlight", "npz", "fortran", "hdf5"]


def _dense(X: Any) -> Any:
    return X.toarray() if sparse.issparse(X) else X.to_numpy() if isinstance(X, pl.DataFrame) else X


@pytest.mark.parametrize("kind", KINDS)
def test_there_and_back(kind: str, tmp_path: Path) -> None:
    path = _write(kind, tmp_path)
    nameless = path.rename(tmp_path / "nameless")  # the content tells
    found = read(nameless)
    np.testing.assert_array_equal(_dense(found.X), ROWS)
    assert found.y is not None and found.y.dtype == np.int64
    np.testing.assert_array_equal(found.y, LABELS)
    assert len(found.columns) == 4 and len(found) == 57 and not found.has_frame


@pytest.mark.parametrize(("chunk", "frame"), [(1, False), (97, True), (700, False), (10**7, True)])
@pytest.mark.parametrize("kind", KINDS)
def test_chunks_make_the_whole(kind: str, chunk: int, frame: bool, tmp_path: Path) -> None:
    path = _write(kind, tmp_path)
    whole = read(path)
    parts = list(stream(path, whole.columns, label_name=whole.label_name, chunk=chunk, frame=frame))
    assert all(isinstance(part.X, pl.DataFrame) == frame for part in parts)
    np.testing.assert_array_equal(
        np.concatenate([_dense(part.X) for part in parts]), _dense(whole.X)
    )
    np.testing.assert_array_equal(np.concatenate([part.y for part in parts]), whole.y)
    assert (len(parts) > 1) == (chunk < 10**6)


def test_csv_is_tried_last() -> None:
    assert list(OPENERS) == ["hdf5", "npz", "parquet", "svmlight", "csv"]


def test_standard_input(tmp_path: Path) -> None:
    script = "from pegasos.program.tables.reading import read; found = read('-'); print(found.X.tolist(), found.y.tolist())"
    for kind in ("csv", "npz"):
        data = _write(kind, tmp_path).read_bytes()
        answer = subprocess.run(
            [sys.executable, "-c", script], input=data, capture_output=True, check=True
        ).stdout
        assert answer.decode().strip() == f"{ROWS.tolist()} {LABELS.tolist()}"


def test_options_load_nothing_heavy() -> None:
    script = "import sys, pegasos.program.tables.dataset; print({'polars', 'sklearn', 'scipy'} & set(sys.modules))"
    assert (
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, check=True
        ).stdout.strip()
        == b"set()"
    )


# ---- columns of a model


def _stream(path: Path, columns: list[Column], **options: Any) -> list[Dataset]:
    return list(stream(path, columns, **options))


def test_columns_are_found_by_name_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    path.write_text("extra,b,y,a\n9,2,0,x\n9,4,1,7\n")
    (part,) = _stream(path, [Column("a", "text"), Column("b")], frame=True, label_name="y")
    assert (
        part.X.to_dict(as_series=False) == {"a": ["x", "7"], "b": [2.0, 4.0]} and part.y is not None
    )
    assert part.y.tolist() == [0, 1]
    with pytest.raises(BadData, match=r"lacks 2 of the model's 3 columns: c, d\. It has"):
        _stream(path, [Column("c"), Column("b"), Column("d")])


def test_where_columns_are() -> None:
    assert places_of(["b", "a"], ["a", "x", "b"], "new.csv") == [2, 0]
    assert places_of(["b"], ["a", "a", "b"], "new.csv") == [2]
    with pytest.raises(
        BadData,
        match=r"new.csv lacks 2 of the model's 3 columns: Height, mass. .* Did you mean 'height'",
    ):
        places_of(["Height", "mass", "a"], ["a", "height", "b"], "new.csv")
    with pytest.raises(BadData, match="more than one column called 'a'"):
        places_of(["a"], ["a", "a"], "new.csv")
    with pytest.raises(BadData, match="and 30 more"):
        places_of([f"c{i}" for i in range(50)], [], "new.csv")


def test_columns_are_found_by_position(tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    path.write_text("1,2\n3,4\n")
    (part,) = _stream(path, [Column("a"), Column("b")])
    assert part.X.tolist() == [[1, 2], [3, 4]] and part.y is None
    (part,) = _stream(path, [Column("a")])
    assert part.X.tolist() == [[1], [3]] and part.y is not None and part.y.tolist() == [2, 4]
    (part,) = _stream(path, [Column("x2")])  # trained on a file whose first column was the label
    assert part.X.tolist() == [[2], [4]] and part.y is not None and part.y.tolist() == [1, 3]
    with pytest.raises(
        BadData, match="matched by position; but it has 2 columns, and the model has 4"
    ):
        _stream(path, [Column(name) for name in "abcd"])


def test_what_a_model_cannot_take(tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    path.write_text("a,b\n1,2\n3,\n")
    with pytest.raises(
        BadData,
        match="line 3: column 'b' has no number; the model was trained without missing values",
    ):
        _stream(path, [Column("a"), Column("b")])
    path.write_text("a,b\n1,2\n3,x\n")
    with pytest.raises(
        BadData, match="line 3, column 'b': 'x' is not a number, as the model needs it"
    ):
        _stream(path, [Column("a"), Column("b")], frame=True)


def test_a_large_table_passes_through_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    line = ",".join(["0.123456789"] * 20) + "\n"
    with path.open("w") as file:
        for _ in range(50):
            file.write(line * 4000)
    script = (
        "import resource, sys\n"
        "from pegasos.program.tables.reading import stream\n"
        "from pegasos.program.tables.dataset import Column\n"
        "columns = [Column(f'x{i}') for i in range(1, 21)]\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024\n"
        "parts = stream(sys.argv[1], columns); rows = len(next(parts)); first = peak()\n"
        "rows += sum(len(part) for part in parts); print(rows, peak() - first)"
    )
    pytest.importorskip("resource")
    rows, growth = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, check=True
    ).stdout.split()
    assert int(rows) == 200_000 and int(growth) < 150  # the file has 48 MB


# ---- files


def test_files_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("a,y\n1,0\n")
    with pytest.raises(BadData, match=r"tain.csv does not exist. Did you mean 'train.csv'"):
        read(tmp_path / "tain.csv")
    with pytest.raises(BadData, match="nor does its folder"):
        read(tmp_path / "no" / "train.csv")
    with pytest.raises(BadData, match=r"cannot be read|does not exist"):
        read("a\0b")
    with pytest.raises(BadData, match="no format called 'xls'"):
        read(tmp_path / "train.csv", ReadOptions(format="xls"))


def test_the_content_wins_over_the_name(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    buffer = io.BytesIO()
    FRAME.write_parquet(buffer)
    path.write_bytes(buffer.getvalue())
    assert len(read(path)) == 57
    path = tmp_path / "rows.parquet"
    FRAME.write_csv(path)
    assert len(read(path)) == 57
    path.write_bytes(b"PK\x03\x04" + bytes(30))
    with pytest.raises(BadData, match="damaged"):
        read(path)
    with pytest.raises(BadData, match=r"no format that is known; .* save the sheet as CSV"):
        read(path.rename(tmp_path / "sheet.xlsx"))


# ---- writing


def test_a_file_is_replaced_when_all_went_well(tmp_path: Path) -> None:
    target, link = tmp_path / "a.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    with replacing(link) as unfinished:
        unfinished.write_text("new")
        assert target.read_text() == "old"
    assert link.is_symlink() and target.read_text() == "new"

    def refuse(path: Path) -> None:
        path.write_text("newer")
        raise ValueError(f"{path.read_text()} is refused")

    with pytest.raises(ValueError, match="newer is refused"), replacing(target) as unfinished:
        refuse(unfinished)
    with pytest.raises(KeyboardInterrupt), replacing(target) as unfinished:
        raise KeyboardInterrupt
    assert target.read_text() == "new" and sorted(tmp_path.iterdir()) == [target, link]
    with (
        pytest.raises(IsADirectoryError, match="is a folder; give the name of a file"),
        replacing(tmp_path),
    ):
        pass
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "nowhere" / "a.txt"):
        pass


def test_a_new_file_has_the_usual_rights(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write_text(tmp_path / "new" / "a.txt", "text")
    finally:
        os.umask(old)
    assert (tmp_path / "new" / "a.txt").stat().st_mode & 0o777 == 0o640
