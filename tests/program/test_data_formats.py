"""Test properties of Parquet, HDF5, npz and svmlight files."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import polars as pl
import pytest
from scipy import sparse

from pegasos.program.tables.dataset import BadData, Column, ReadOptions
from pegasos.program.tables.reading import find_format, read, stream


def _table(folder: Path) -> Path:
    path = folder / "rows.parquet"
    pl.DataFrame({"a": np.linspace(0, 1, 60), "y": np.arange(60) % 2}).write_parquet(path)
    return path


# ---- Parquet


def test_parquet_kinds(tmp_path: Path) -> None:
    path = tmp_path / "kinds.parquet"
    frame = pl.DataFrame(
        {
            "flag": [True, False, True],
            "gap": [1, None, 3],
            "word": pl.Series(["u", "v", "u"], dtype=pl.Categorical),
            "hour": [datetime.time(hour) for hour in (1, 2, 3)],
            "y": ["p", "q", "p"],
        }
    )
    frame.write_parquet(path)
    with pytest.raises(
        BadData,
        match=r"column 'hour' is of type 'Time', neither numbers nor words; .* --drop 'hour'",
    ):
        read(path)
    found = read(path, ReadOptions(drop=("hour",)))
    assert found.columns == [Column("flag"), Column("gap"), Column("word", "text")]
    assert found.X.rows() == [(1.0, 1.0, "u"), (0.0, None, "v"), (1.0, 3.0, "u")]
    frame.select(pl.col("gap").fill_null(0).cast(pl.Float32), "y").write_parquet(path)
    assert read(path).X.dtype == np.float32
    pl.DataFrame({"a": [1.0, np.inf], "y": [0, 1]}).write_parquet(path)
    with pytest.raises(BadData, match="row 2, column 'a': the number is infinite"):
        read(path)


def test_parquet_pages_of_impossible_sizes(tmp_path: Path) -> None:
    """Polars aborts the process if a page declares a negative number of values."""
    path = tmp_path / "rows.parquet"
    frame = pl.DataFrame({"a": np.arange(7) / 8, "y": [0.0, 1, 0, 1, 0, 1, 0]})
    frame.write_parquet(path, compression="uncompressed")
    content = path.read_bytes()
    assert len(read(path)) == 7
    path.write_bytes(content.replace(b"\x2c\x15\x0e", b"\x2c\x15\x0f", 1))
    with pytest.raises(BadData, match=r"is damaged: .*a page declares a size that it cannot have"):
        read(path)


def test_parquet_dates_and_times_are_days(tmp_path: Path) -> None:
    """Dates equal those written as text; zoned times count in UTC."""
    path = tmp_path / "days.parquet"
    noon = pl.Series([datetime.datetime(1970, 1, day, 12) for day in (1, 2, 9)])
    frame = pl.DataFrame(
        {
            "day": [datetime.date(1970, 1, day) for day in (1, 2, 9)],
            "noon": noon,
            "there": noon.dt.replace_time_zone("Asia/Tokyo"),
            "y": ["p", "q", "p"],
        }
    )
    frame.write_parquet(path)
    found = read(path)
    assert found.columns == [Column(name, "date") for name in ("day", "noon", "there")]
    np.testing.assert_allclose(found.X, [[0, 0.5, 0.125], [1, 1.5, 1.125], [8, 8.5, 8.125]])


def test_parquet_labels_of_a_model(tmp_path: Path) -> None:
    path = tmp_path / "labels.parquet"
    for labels, message in (([np.inf, 1.0], "row 1, column 'y': .* infinite"),):
        pl.DataFrame({"a": [1.0, 2.0], "y": labels}).write_parquet(path)
        with pytest.raises(BadData, match=message):
            list(stream(path, [Column("a")], label_name="y"))


def test_damaged_parquet(tmp_path: Path) -> None:
    path = _table(tmp_path)
    path.write_bytes(path.read_bytes()[:-200] + b"\xff" * 192 + b"\x10\0\0\0PAR1")
    with pytest.raises(BadData, match="is damaged: the Parquet decoder stopped"):
        read(path)


# ---- HDF5


def test_hdf5_groups_are_pooled_and_marked(tmp_path: Path) -> None:
    path = tmp_path / "usps.h5"
    pixels = np.linspace(0, 1, 10 * 256, dtype=np.float32).reshape(10, 256)
    with h5py.File(path, "w") as file:
        for name, part in (("train", slice(0, 7)), ("test", slice(7, 10))):
            group = file.create_group(name)
            group["data"], group["target"] = pixels[part], np.arange(10)[part] % 2
    found = read(path)
    np.testing.assert_array_equal(found.X, pixels)
    assert found.X.dtype == np.float32 and found.image == (16, 16)
    assert found.test is not None and found.test.tolist() == [False] * 7 + [True] * 3


def test_files_of_arrays_are_closed(tmp_path: Path) -> None:
    path = tmp_path / "rows.h5"
    for count in (4, 6):
        with h5py.File(path, "w") as file:  # fails if the file is open
            file["X"], file["y"] = np.eye(count), np.arange(count) % 2
        found = read(path)
        assert len(found) == count and found.at(1).endswith("row 2")
        (part,) = stream(path, found.columns)
        assert len(part) == count


def _external(file: h5py.File) -> None:
    file["X"] = h5py.ExternalLink("other.h5", "X")


def _soft(file: h5py.File) -> None:
    file["X"] = h5py.SoftLink("/y")


def _virtual(file: h5py.File) -> None:
    layout = h5py.VirtualLayout(shape=(2, 2), dtype="f8")
    layout[:] = h5py.VirtualSource("other.h5", "X", shape=(2, 2))
    file.create_virtual_dataset("X", layout)


def _elsewhere(file: h5py.File) -> None:
    file.create_dataset("X", shape=(2, 2), dtype="f8", external=[("other.bin", 0, 32)])


def _words(file: h5py.File) -> None:
    file["X"] = ["words", "of any length"]


def _empty(file: h5py.File) -> None:
    file.create_dataset("X", shape=(10**7, 1000), dtype="f8", chunks=(100, 100))


@pytest.mark.parametrize(
    ("fill", "message"),
    [
        (_external, "X is an external link"),
        (_soft, "X is a soft link"),
        (_virtual, "X has its values in other files"),
        (_elsewhere, "X has its values in other files"),
        (_words, "X is of type object"),
        (_empty, "takes more than 1 GB once read; give it more memory"),
    ],
)
def test_hdf5_that_is_refused(tmp_path: Path, fill: Any, message: str) -> None:
    path = tmp_path / "bad.h5"
    with h5py.File(path, "w") as file:
        fill(file)
        file["y"] = [0, 1]
    with pytest.raises(BadData, match=message):
        read(path, ReadOptions(limit=10**9))


# ---- npz


def test_npz_with_a_test_part(tmp_path: Path) -> None:
    path = tmp_path / "parts.npz"
    weights = np.arange(5.0)
    np.savez(
        path,
        X=np.eye(3),
        y=[0, 1, 0],
        X_test=np.ones((2, 3)),
        y_test=[1, 1],
        weights=weights,
        groups=["u", "v", "u", "v", "v"],
    )
    found = read(path)
    assert found.test is not None and found.test.tolist() == [False] * 3 + [True] * 2
    assert found.weights is not None and found.weights.tolist() == weights.tolist()
    assert found.groups is not None and found.groups.tolist() == ["u", "v", "u", "v", "v"]


def test_npz_with_gaps(tmp_path: Path) -> None:
    path = tmp_path / "gaps.npz"
    np.savez(path, X=[[1.0, np.nan], [2.0, 3.0]], y=["p", "q"])
    found = read(path)
    assert (
        found.X.rows() == [(1.0, None), (2.0, 3.0)]
        and "missing numbers in x2 (1)" in found.notes[-1]
    )
    np.savez(path, X=[[1.0, np.inf], [2.0, 3.0]], y=["p", "q"])
    with pytest.raises(BadData, match="row 1, column 'x2': the number is infinite"):
        read(path)


@pytest.mark.parametrize(
    ("arrays", "options", "message"),
    [
        ({"X": np.array([None, 1], dtype=object), "y": [0, 1]}, {}, "'X' holds object"),
        ({"X": np.eye(2), "y": [0, 1, 1]}, {}, r"2 rows, but 'y' of shape \(3,\)"),
        (
            {"A": np.eye(2), "y": [0, 1]},
            {},
            "no arrays called X and y, or data and target; it has A, y",
        ),
        (
            {"X": np.zeros((1000, 1000)), "y": np.arange(1000) % 2},
            {"limit": 10**6},
            "takes more than 1 MB once read; give it more memory",
        ),
        (
            {"X": np.zeros((2, 2, 2, 2)), "y": [0, 1]},
            {},
            "shape .2, 2, 2, 2.; rows and features are needed",
        ),
        ({"X": np.eye(2)}, {}, "has rows .'X'., but no labels; add an array called y"),
        (
            {"X": np.eye(2), "y": [0, 1]},
            {"label": "Y"},
            "no array called 'Y'; it has X, y. Did you mean 'y'",
        ),
        (
            {"X": np.eye(2), "y": [0, 1], "X_test": np.eye(3), "y_test": [0, 1, 1]},
            {},
            r"'X_test' has the shape \(3, 3\), and 'X' \(2, 2\)",
        ),
        (
            {"X": np.eye(2), "y": [0, 1], "X_test": np.eye(2), "y_test": [0]},
            {},
            r"2 rows, but 'y_test' of shape \(1,\)",
        ),
        (
            {"X": np.eye(2), "y": [0, 1]},
            {"drop": ("x3",)},
            "no column 'x3' .--drop.; its columns are x1, x2",
        ),
    ],
)
def test_npz_that_is_refused(
    tmp_path: Path, arrays: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    path = tmp_path / "bad.npz"
    np.savez(path, **arrays)
    with pytest.raises(BadData, match=message):
        read(path, ReadOptions(**options))


def test_an_npz_beyond_memory_is_not_streamed(tmp_path: Path) -> None:
    """Rows of an archive cannot be read without those before them."""
    np.savez_compressed(tmp_path / "rows.npz", X=np.zeros((10_000, 20)), y=np.arange(10_000) % 2)
    columns, options = [Column(f"x{j + 1}") for j in range(20)], ReadOptions(limit=10**6)
    with pytest.raises(
        BadData, match=r"'X' takes 1.6 MB, more than the memory limit of 1 MB; write it as Parquet"
    ):
        list(stream(tmp_path / "rows.npz", columns, options))


def test_a_sparse_npz_is_refused_with_a_remedy(tmp_path: Path) -> None:
    sparse.save_npz(tmp_path / "rows.npz", sparse.csr_matrix(np.eye(3)))
    with pytest.raises(
        BadData, match=r"is a sparse matrix, which is not read; write it with .*dump_svmlight_file"
    ):
        read(tmp_path / "rows.npz")


def test_npz_with_words_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    for code in (0x110000, 0xD800):
        np.savez(path, X=np.eye(2), y=np.array([code, 98], dtype=np.uint32).view("<U1"))
        with pytest.raises(BadData, match="is damaged: the npz decoder"):
            read(path)


def test_square_rows_are_images_only_with_levels_of_grey(tmp_path: Path) -> None:
    path = tmp_path / "digits.npz"
    for top, image in ((16, (8, 8)), (255, (8, 8)), (1.0, (8, 8)), (40.5, None)):
        np.savez(
            path, X=np.linspace(0, top, 128).reshape(2, 64).round(0 if top != 40.5 else 3), y=[0, 1]
        )
        assert read(path).image == image


# ---- svmlight


def test_svmlight_counts_from_zero_or_one(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("# made by hand\n1 qid:3 0:2 2:5 # a comment\n-1 1:7\n")
    found = read(path)
    assert (
        found.X.toarray().tolist() == [[2, 0, 5], [0, 7, 0]]
        and found.y is not None
        and found.y.tolist() == [1, -1]
    )
    assert [column.name for column in found.columns] == [
        "x0",
        "x1",
        "x2",
    ] and "query ids (qid) are ignored" in found.notes
    path.write_text("1 2:5 9:1\n")
    (part,) = stream(path, [Column("x1"), Column("x2")])
    assert part.X.toarray().tolist() == [[0, 5]]  # the model never saw index 9


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1:2\n0 1:x\n", "line 2: '0 1:x' is not a label with pairs index:value .*float: b'x'"),
        ("1 1:2\nred 1:2\n", "line 2: 'red 1:2' is not a label with pairs"),
        ("1 1:2\n0,2 1:2\n", "line 2: '0,2 1:2' is not a label"),
        ("1 1:2\n0 3:1 2:1\n", "line 2: '0 3:1 2:1' .*indices .* should be sorted and unique"),
        ("1 1:2\n0 1000000000000000:1\n", "line 2: '0 1000000000000000:1' .*too large"),
        (
            "1 1:2\n0 100000000:1\n",
            "the index 100000000 is too large: a model of so many numbers would not fit into 64 MB",
        ),
        ("1 1:2\n0 1:1e999\n", "line 2: '0 1:1e999' .*a number is not finite"),
        ("1 1:2\n1 1:3\n", "two classes are needed"),
    ],
)
def test_svmlight_that_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.svm"
    path.write_text(text)
    with pytest.raises(BadData, match=message):
        read(path, ReadOptions(limit=64 * 10**6))


def test_a_line_of_commas_is_recognized_at_once() -> None:
    """The pattern of svmlight took time exponential in the number of commas."""
    assert find_format(b"1" + b"," * 60_000 + b" x:y\n") == "csv"
